"""Training by `sentitok.compat.sentencepiece` against sentencepiece 0.2.3: options, pieces, errors."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as theirs

from sentencepiece_pairs import LINES, TEXTS, same, trained
from sentitok.compat import sentencepiece as ours

#: Options of both trainers, which train BPE piece for piece alike.
OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "control and user's": {"control_symbols": ["<a>", "<b>"], "user_defined_symbols": "Holmes,<X>"},
    "ids": {"pad_id": 0, "unk_id": 3, "bos_id": 1, "eos_id": 2},
    "ids in the middle": {"unk_id": 5, "pad_id": 599, "bos_id": -1},
    "pieces": {"bos_piece": "[B]", "eos_piece": "[E]", "unk_piece": "[U]", "pad_id": 3, "pad_piece": "[P]"},
    "a user's beginning": {"user_defined_symbols": ["<s>"]},
    "case": {"normalization_rule_name": "nmt_nfkc_cf"},
    "nfkc": {"normalization_rule_name": "nfkc", "remove_extra_whitespaces": False},
    "no space in front": {"add_dummy_prefix": False},
    "bytes": {"byte_fallback": True, "character_coverage": 0.99},
    "characters": {"required_chars": "漢©", "character_coverage": 1.0},
    "digits": {"split_digits": True, "max_sentencepiece_length": 5},
    "numbers": {"split_by_number": False},
    "scripts": {"split_by_unicode_script": False},
    "over spaces": {"split_by_whitespace": False},
    "spaces behind": {"treat_whitespace_as_suffix": True},
    "runs of spaces": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "short lines": {"max_sentence_length": 60},
    "the first lines": {"input_sentence_size": 900, "shuffle_input_sentence": False},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_bpe_is_trained_alike(name: str) -> None:
    both = trained(model_type="bpe", vocab_size=600, **OPTIONS[name])
    ids = list(range(600))
    for call in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_byte"):
        same(both, lambda each, call=call: getattr(each, call)(ids))
    for call in ("unk_id", "bos_id", "eos_id", "pad_id"):
        same(both, lambda each, call=call: getattr(each, call)())
    for text in [*TEXTS, *LINES[:300:7]]:
        same(both, lambda each, text=text: each.encode(text))
    again = theirs.SentencePieceProcessor(model_proto=both[1].serialized_model_proto())
    for text in [*TEXTS, *LINES[:300:7]]:
        same((again, both[1]), lambda each, text=text: each.encode(text, out_type=str))
    same((again, both[1]), lambda each: [each.unk_id(), each.bos_id(), each.eos_id(), each.pad_id()])


def test_bpe_without_a_pair_left_to_merge() -> None:
    """sentencepiece adds pairs that no text has any more; merges and encodings are alike."""
    options: dict[str, Any] = {"model_type": "bpe", "vocab_size": 60, "hard_vocab_limit": False}
    lines = ["ab ab abc"] * 20
    pieces = []
    for library in (theirs, ours):
        made = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=made, minloglevel=2, **options
        )
        model = library.SentencePieceProcessor(model_proto=made.getvalue())
        pieces.append(model.id_to_piece(list(range(model.get_piece_size()))))
        assert model.encode(lines[0], out_type=str) == ["▁ab", "▁ab", "▁abc"]
    merges = ["<unk>", "<s>", "</s>", "ab", "▁ab", "▁abc"]
    characters = ["a", "b", "▁", "c"]
    assert pieces == [[*merges, "bc", "▁a", "abc", *characters], [*merges, *characters]]


@pytest.mark.parametrize(
    "name",
    ["defaults", "control and user's", "ids in the middle", "bytes", "case", "over spaces", "runs of spaces"],
)
def test_unigram_is_trained_with_its_options(name: str) -> None:
    both = trained(vocab_size=600, **OPTIONS[name])
    pieces = [set(each.id_to_piece(list(range(600)))) for each in both]
    assert len(pieces[0] & pieces[1]) >= 0.97 * 600
    again = theirs.SentencePieceProcessor(model_proto=both[1].serialized_model_proto())
    for text in [*TEXTS, *LINES[:300:7]]:
        same((again, both[1]), lambda each, text=text: each.encode(text))
    for call in ("unk_id", "bos_id", "eos_id", "pad_id"):
        same(both, lambda each, call=call: getattr(each, call)())


def test_files_and_flags(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(LINES), "utf-8")
    for library, name in ((theirs, "theirs"), (ours, "ours")):
        library.SentencePieceTrainer.Train(
            f"--input={tmp_path}/text.txt --model_prefix={tmp_path}/{name} --vocab_size=500 --model_type=bpe "
            "--minloglevel=2 --user_defined_symbols=<X>,<Y>"
        )
    assert (tmp_path / "ours.vocab").read_text("utf-8") == (tmp_path / "theirs.vocab").read_text("utf-8")
    model = ours.SentencePieceProcessor(model_file=tmp_path / "ours.model")
    assert model.encode("<X> Holmes") == theirs.SentencePieceProcessor(
        model_file=str(tmp_path / "theirs.model")
    ).encode("<X> Holmes")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"foo": 1}, RuntimeError, "'foo' is not an option"),
        ({"vocab_size": "x"}, ValueError, "cannot be read as int"),
        ({"vocab_size": 9}, RuntimeError, "9"),
        ({"vocab_size": 40_000}, RuntimeError, "too high"),
        ({"model_type": "x"}, ValueError, "'x'"),
        ({"unk_id": -1}, RuntimeError, "unknown token"),
        ({"unk_id": 0, "bos_id": 0}, RuntimeError, "its own"),
        ({"pad_id": 10_000}, RuntimeError, "end at"),
        ({"control_symbols": ["<unk>"]}, RuntimeError, "unknown token"),
        ({"normalization_rule_name": "zzz"}, RuntimeError, "nmt_nfkc"),
        ({"character_coverage": 1.5}, RuntimeError, "0.98"),
        ({"max_sentencepiece_length": 0}, RuntimeError, "1 to 255"),
        ({"input_sentence_size": 5}, RuntimeError, "more than 100"),
        ({"input": "also.txt"}, RuntimeError, "one of them"),
        ({"model_prefix": "also"}, RuntimeError, "one of them"),
    ],
)
def test_what_both_refuse(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {
        "sentence_iterator": iter(LINES[:400]),
        "model_writer": io.BytesIO(),
        "minloglevel": 2,
        **options,
    }
    with pytest.raises(kind):
        theirs.SentencePieceTrainer.train(**arguments)
    with pytest.raises(kind, match=message):
        ours.SentencePieceTrainer.train(**{**arguments, "sentence_iterator": iter(LINES[:400])})


@pytest.mark.parametrize(
    "options",
    [
        {"model_type": "word"},
        {"model_type": "char"},
        {"input_format": "tsv"},
        {"pretokenization_delimiter": "|"},
        {"seed_sentencepieces_file": "seeds.tsv"},
        {"use_all_vocab": True},
        {"pretokenizer": object()},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_is_not_here_is_refused_before_reading(options: dict[str, Any]) -> None:
    def unread() -> Iterator[str]:
        yield "a line"
        raise AssertionError("the corpus was read")

    with pytest.raises(RuntimeError, match=f"(?s){next(iter(options))}.* not here"):
        ours.SentencePieceTrainer.train(sentence_iterator=unread(), model_writer=io.BytesIO(), **options)


def test_a_sample_of_lines_follows_the_seed() -> None:
    made = []
    for seed in (1, 1, 2):
        ours.set_random_generator_seed(seed)
        writer = io.BytesIO()
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES),
            model_writer=writer,
            model_type="bpe",
            vocab_size=400,
            input_sentence_size=800,
        )
        made.append(writer.getvalue())
    assert made[0] == made[1] != made[2]
