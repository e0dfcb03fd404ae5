"""`sentitok.compat.sentencepiece` against sentencepiece 0.2.3: ids, pieces, places, texts, kinds of errors.

Over every model at hand, and small ones that both libraries train. The cases of SentencePiece's own
suite are in `test_compat_sentencepiece_cases.py`; the compiled rules in `test_compat_sentencepiece_rules.py`.
"""

import io
import pickle
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece as theirs
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from conftest import CORPUS
from sentitok.compat import sentencepiece as ours

FILES = (
    "t5/spiece.model",
    "mistral-7b-v0.1/tokenizer.model",
    "xlnet-base-cased/spiece.model",
    "sentencepiece-botchan-1000/test_model.model",
)
TEXTS = [
    "I saw a girl with a telescope.",
    "",
    "  a ",
    "Hello 日本 😀 w  x",
    "naïve café; 3.14159 ＡＢ①",
    "<s> </s> <unk> ▁▁ x",
    "\u0301a\x00b",
    "日本語のテキスト",
]
Pair = tuple[theirs.SentencePieceProcessor, ours.SentencePieceProcessor]


@pytest.fixture(scope="module", params=FILES)
def both(request: pytest.FixtureRequest) -> Pair:
    file = str(shared_data.folder() / "vocabs" / request.param)
    return theirs.SentencePieceProcessor(model_file=file), ours.SentencePieceProcessor(model_file=file)


def same(both: tuple[Any, Any], call: Any) -> Any:
    """What both give, or the kind of error that both raise."""

    def result(processor: Any) -> Any:
        try:
            return call(processor)
        except Exception as error:
            return type(error)

    expected, found = (result(processor) for processor in both)
    assert expected == found
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_encoding(both: Pair, text: str) -> None:
    for options in (
        {},
        {"out_type": str},
        {"out_type": bytes},
        {"out_type": str, "emit_unk_piece": True},
        {"add_bos": True},
        {"add_eos": True, "out_type": str},
        {"add_eos": True, "reverse": True},
    ):
        same(both, lambda each, options=options: each.encode(text, **options))
        same(both, lambda each, options=options: each.Encode([text, "x", text], **options))
    assert same(both, lambda each: each.encode_as_ids(text)) == both[1].EncodeAsIds(text)
    same(both, lambda each: each.EncodeAsPieces(text))
    same(both, lambda each: each.tokenize(text.encode()))
    same(both, lambda each: each.encode(text, return_type="numpy").tolist())
    same(both, lambda each: each.nbest_encode_as_pieces(text, 1))
    same(both, lambda each: each.NBestEncode([text], nbest_size=1, out_type=int))
    same(both, lambda each: each.normalize(text))
    same(both, lambda each: each.Normalize([text]))


@pytest.mark.parametrize("text", TEXTS)
def test_decoding(both: Pair, text: str) -> None:
    assert isinstance(same(both, lambda each: each.decode(each.encode(text))), str)
    same(both, lambda each: each.decode(each.encode(text), out_type=bytes))
    same(both, lambda each: each.Decode(each.encode([text, "a"])))
    same(both, lambda each: each.decode_pieces(each.encode(text, out_type=str)))
    same(both, lambda each: each.DecodeIds(each.encode(text, return_type="numpy")))


@pytest.mark.parametrize(
    "tokens",
    [
        ["▁zz", "<s>", "</s>", "<unk>", "日"],
        ["▁a", "▁b"],
        ["日", "▁a"],
        ["▁", "▁", "日", "▁b"],
        ["x", "<0xE6>", "日"],
        [b"a", b"b"],
        "▁a",
        5,
        [5, 6],
        [],
        [[]],
        [[5, 6], [7]],
        [[], ["a"]],
        None,
        "",
        ["a", 1],
        [5, 10**7],
        [5, -3],
    ],
    ids=repr,
)
def test_decoding_of_anything(both: Pair, tokens: Any) -> None:
    same(both, lambda each: each.decode(tokens))
    same(both, lambda each: each.Detokenize(tokens, out_type=bytes))


def test_the_vocabulary(both: Pair) -> None:
    for name in (
        "__len__",
        "vocab_size",
        "piece_size",
        "unk_id",
        "bos_id",
        "eos_id",
        "pad_id",
        "serialized_model_proto",
    ):
        same(both, lambda each, name=name: getattr(each, name)())
    ids = list(range(both[0].vocab_size()))
    for name in ("IdToPiece", "get_score", "is_unknown", "IsControl", "is_unused", "is_byte"):
        same(both, lambda each, name=name: getattr(each, name)(ids))
        for id in (3, -1, 10**7, "x", None, [1, 10**7]):
            same(both, lambda each, name=name, at=id: getattr(each, name)(at))
    for piece in ("▁the", "zz▁", ["a", "b"], b"a", 5, ["a", 3]):
        same(both, lambda each, piece=piece: each.piece_to_id(piece))
    assert both[1]["▁the"] == both[0]["▁the"]


def test_wrong_calls(both: Pair) -> None:
    for text in (5, None, [1], ("a", "b"), ["a", 3]):
        same(both, lambda each, text=text: each.encode(text))
    for options in (
        {"out_type": float},
        {"out_type": int, "return_type": int},
        {"num_threads": "x"},
        {"enable_sampling": True, "nbest_size": 1},
        {"enable_sampling": True, "nbest_size": 600},
    ):
        same(both, lambda each, options=options: each.encode("a", **options))
    empty = (theirs.SentencePieceProcessor(), ours.SentencePieceProcessor())
    for call in (
        lambda each: each.encode("a"),
        lambda each: each.load(),
        lambda each: each.load("/no/such/file"),
        lambda each: each.load("a", b"b"),
        lambda each: each.Load(model_proto=b"no model"),
        lambda each: each.load(__file__),
        lambda each: each.unk_id(),
        lambda each: each.get_piece_size(),
    ):
        same(empty, call)


@pytest.mark.parametrize("text", [*TEXTS, "x 日本 y", "\u3000a \u200b b ", "\x01", "ﾊﾞ\u1100\u1161 \ufb01"])
def test_places(both: Pair, text: str) -> None:
    for form in (text, text.encode()):
        same(both, lambda each, form=form: each.encode(form, return_type="serialized_proto"))
        same(both, lambda each, form=form: each.encode(form, return_type="offset_mapping"))
        same(both, lambda each, form=form: each.normalize(form, with_offsets=True))
        same(both, lambda each, form=form: each.normalize([form, form]))
    same(both, lambda each: each.encode([text, "a"], return_type="offset_mapping", return_bytes=True))
    same(both, lambda each: each.parallel_encode(text, chunk_len=100, return_type="serialized_proto"))
    for kind in (int, str, bytes):
        for row in (both[0].encode(text, return_type=kind), both[0].encode([text, "b"], return_type=kind)):
            same(both, lambda each, row=row: each.decode(row, return_type="serialized_proto"))
            same(both, lambda each, row=row: each.decode(row, return_type="offset_mapping"))


@pytest.mark.parametrize("text", ["I saw a girl with a telescope.", "x 日本 y", ""])
def test_places_of_the_best_ways(both: Pair, text: str) -> None:
    if same(both, lambda each: type(each.nbest_encode(text, nbest_size=3))) is RuntimeError:
        return  # BPE
    best, found = (each.nbest_encode_as_proto(text, 3).nbests[0] for each in both)
    assert found.score == pytest.approx(best.score, rel=1e-4)
    read = type(best).FromString(found.SerializeToString())
    read.score = best.score
    assert read == best


@pytest.mark.parametrize(
    "pieces", [["<0xE6>", "<0x97>", "<0xA5>", "▁a"], ["<0xE6>", "▁a", "<0x97>"], ["▁", "▁▁a", "</s>", "▁b"]]
)
def test_places_of_decoded_pieces(both: Pair, pieces: list[str]) -> None:
    """Bytes that are no character, and spaces at the beginning."""
    same(both, lambda each: each.decode(pieces, return_type="serialized_proto"))
    same(both, lambda each: each.decode(pieces))


def test_places_that_are_not_there(both: Pair) -> None:
    for option in ("add_bos", "add_eos", "reverse", "emit_unk_piece"):
        for kind in ("proto", "serialized_proto", "offset_mapping"):
            same(
                both,
                lambda each, option=option, kind=kind: each.encode("a", return_type=kind, **{option: True}),
            )
    with pytest.raises(RuntimeError, match="reverse"):
        both[1].encode("a", return_type="proto", reverse=True)
    for call in (
        lambda each: each.encode("a", return_type="immutable_proto"),
        lambda each: each.nbest_encode("a", return_type="offset_mapping"),
        lambda each: each.parallel_encode("a"),
        lambda each: each.parallel_encode("a", chunk_len=0),
        lambda each: each.decode([5], num_threads="x"),
    ):
        same(both, call)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("EncodeAsImmutableProto", "return_type='proto'"),
        ("decode_ids_as_serialized_proto", "return_type='serialized_proto'"),
        ("calculate_entropy", r"entropy\(text, alpha\)"),
        ("SampleEncodeAndScoreAsIds", r"sample\(text, alpha, seed\)"),
        ("override_normalizer_spec", "SentencePieceNormalizer"),
        ("SetVocabulary", "prune"),
    ],
)
def test_calls_of_earlier_versions_name_what_is_here(both: Pair, name: str, remedy: str) -> None:
    assert not hasattr(both[0], name)
    with pytest.raises(NotImplementedError, match=f"{name} is of sentencepiece before 0.2.3: .*{remedy}"):
        getattr(both[1], name)
    with pytest.raises(AttributeError):
        both[1].encode_as_music  # noqa: B018  # 2026-11-24: refused


@given(
    text=st.text(
        st.sampled_from("ab \u3000㍻Ａ①\u0301e\u200b\x07▁.ﾊﾞ日😀\ufb01") | st.characters(codec="utf-8")
    )
)
def test_places_in_any_text(small: Pair, text: str) -> None:
    same(small, lambda each: each.encode(text, return_type="serialized_proto"))
    same(small, lambda each: each.normalize(text.encode(), with_offsets=True))


def test_options_of_the_class_and_pickles(both: Pair) -> None:
    proto = both[0].serialized_model_proto()
    options: dict[str, Any] = {"out_type": str, "add_eos": True, "reverse": True}
    made = (
        theirs.SentencePieceProcessor(model_proto=proto, **options),
        ours.SentencePieceProcessor(model_proto=proto, **options),
    )
    same(made, lambda each: each.encode("this is it"))
    same(made, lambda each: each.encode("this is it", out_type=int, reverse=False))
    assert pickle.loads(pickle.dumps(made[1])).encode("this is it") == made[0].encode("this is it")
    assert ours.SentencePieceProcessor.from_proto(proto).encode("a") == both[0].encode("a")


@given(text=st.text())
def test_any_text(small: Pair, text: str) -> None:
    for kind in (int, str):
        same(small, lambda each, kind=kind: each.encode(text, out_type=kind))
    same(small, lambda each: each.decode(each.encode(text, out_type=str)))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return (CORPUS / "sherlock-holmes.txt").read_bytes().decode("utf-8").split("\n")[:3000]


def trained(lines: list[str], **options: Any) -> Pair:
    """The same call to both, each file read by the library that wrote it."""
    made = []
    for library in (theirs, ours):
        writer = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=writer, minloglevel=2, **options
        )
        made.append(library.SentencePieceProcessor(model_proto=writer.getvalue()))
    return made[0], made[1]


@pytest.fixture(scope="module")
def small(lines: list[str]) -> Pair:
    writer = io.BytesIO()
    theirs.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=writer, vocab_size=500, minloglevel=2
    )
    proto = writer.getvalue()
    return theirs.SentencePieceProcessor(model_proto=proto), ours.SentencePieceProcessor(model_proto=proto)


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
def test_bpe_is_trained_alike(name: str, lines: list[str]) -> None:
    both = trained(lines, model_type="bpe", vocab_size=600, **OPTIONS[name])
    ids = list(range(600))
    for call in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_byte"):
        same(both, lambda each, call=call: getattr(each, call)(ids))
    for call in ("unk_id", "bos_id", "eos_id", "pad_id"):
        same(both, lambda each, call=call: getattr(each, call)())
    for text in [*TEXTS, *lines[:300:7]]:
        same(both, lambda each, text=text: each.encode(text))
    again = theirs.SentencePieceProcessor(model_proto=both[1].serialized_model_proto())
    for text in [*TEXTS, *lines[:300:7]]:
        same((again, both[1]), lambda each, text=text: each.encode(text, out_type=str))
    same((again, both[1]), lambda each: [each.unk_id(), each.bos_id(), each.eos_id(), each.pad_id()])


@pytest.mark.parametrize(
    "name",
    ["defaults", "control and user's", "ids in the middle", "bytes", "case", "over spaces", "runs of spaces"],
)
def test_unigram_is_trained_with_its_options(name: str, lines: list[str]) -> None:
    both = trained(lines, vocab_size=600, **OPTIONS[name])
    pieces = [set(each.id_to_piece(list(range(600)))) for each in both]
    assert len(pieces[0] & pieces[1]) >= 0.97 * 600
    again = theirs.SentencePieceProcessor(model_proto=both[1].serialized_model_proto())
    for text in [*TEXTS, *lines[:300:7]]:
        same((again, both[1]), lambda each, text=text: each.encode(text))
    for call in ("unk_id", "bos_id", "eos_id", "pad_id"):
        same(both, lambda each, call=call: getattr(each, call)())


def test_files_and_flags(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(lines), "utf-8")
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
        ({"foo": 1}, RuntimeError, "'foo' is no option"),
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
def test_what_both_refuse(
    options: dict[str, Any], kind: type[Exception], message: str, lines: list[str]
) -> None:
    arguments = {
        "sentence_iterator": iter(lines[:400]),
        "model_writer": io.BytesIO(),
        "minloglevel": 2,
        **options,
    }
    with pytest.raises(kind):
        theirs.SentencePieceTrainer.train(**arguments)
    with pytest.raises(kind, match=message):
        ours.SentencePieceTrainer.train(**{**arguments, "sentence_iterator": iter(lines[:400])})


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


def test_samples(small: Pair) -> None:
    """Draws are our own; their distribution is the library's."""
    text, n = "the girl", 3000
    drawing: list[dict[str, Any]] = [{"nbest_size": -1, "alpha": 0.5}, {"nbest_size": 4, "alpha": 0.3}]
    for options in drawing:
        counts = []
        for each in small:
            drawn = (tuple(each.sample_encode_as_pieces(text, **options)) for _ in range(n))
            counts.append(Counter(drawn))
        for way in set(counts[0]) | set(counts[1]):
            assert abs(counts[0][way] - counts[1][way]) < 6 * np.sqrt(
                2 * max(counts[0][way], counts[1][way], 9)
            ), way
    found = []
    for _ in range(2):
        ours.set_random_generator_seed(7)
        found.append([small[1].encode(text, enable_sampling=True, alpha=0.3) for _ in range(9)])
    assert found[0] == found[1]
    assert len(set(map(tuple, found[0]))) > 1
    unknown = small[1].sample_encode_as_pieces("日本 x 日", nbest_size=-1, alpha=0.1)
    assert "".join(unknown) == "▁日本▁x▁日"


def test_n_best(small: Pair) -> None:
    for text in ("the girl", "telescope 日"):
        expected = small[0].nbest_encode_as_pieces(text, 5)
        assert sorted(small[1].NBestEncodeAsPieces(text, 5)) == sorted(expected)


def test_dropout(lines: list[str]) -> None:
    both = trained(lines, model_type="bpe", vocab_size=500)
    same(both, lambda each: each.nbest_encode("a"))
    same(both, lambda each: each.encode("the girl", enable_sampling=True, alpha=0.0))
    same(both, lambda each: each.encode("the girl", enable_sampling=True, alpha=1.0, out_type=str))


def test_a_sample_of_lines_follows_the_seed(lines: list[str]) -> None:
    made = []
    for seed in (1, 1, 2):
        ours.set_random_generator_seed(seed)
        writer = io.BytesIO()
        ours.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=writer,
            model_type="bpe",
            vocab_size=400,
            input_sentence_size=800,
        )
        made.append(writer.getvalue())
    assert made[0] == made[1] != made[2]
