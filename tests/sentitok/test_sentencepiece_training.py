"""`train_bpe(method="sentencepiece")` against SentencePiece's own BPE trainer.

Equal settings, equal lines: the same pieces with the same scores in the same
order, so that either library's file serves both.
"""

import io
import lzma
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from conftest import CORPUS
from sentitok import Normalizer, SentitokError, Tokenizer, count, train_bpe

#: Known and unknown characters, spaces of all kinds, text that looks like a token.
TEXTS = [
    "A gripping film; Sherlock saw it twice.",
    " one space",
    "  two   three \u3000 wide\u00a0fixed ",
    "",
    " ",
    "▁",
    "▁▁mark ▁",
    "naïve Ελλάδα 日本語 中文 한국어 😀👍🏽",
    "<s>text</s><unk><0x41>",
    "line\nline\r\n\ttab",
    "𝔘𝔫𝔨 \U0010ffff\u0301\u200d",
    "a" * 200,
]

#: File, size, our options. Theirs have the same names except for one.
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "english": ("sherlock-holmes.txt", 3000, {}),
    "many scripts": ("udhr-23-languages.txt", 3000, {}),
    "bytes": ("udhr-23-languages.txt", 4000, {"byte_fallback": True, "character_coverage": 0.98}),
    "all characters": ("udhr-23-languages.txt", 3000, {"character_coverage": 1.0}),
    "digits": ("sherlock-holmes.txt", 1000, {"split_digits": True, "max_piece_length": 6}),
    "scripts mixed": ("udhr-23-languages.txt", 3000, {"split_by_unicode_script": False}),
    "numbers": ("sherlock-holmes.txt", 1000, {"split_by_number": False}),
    "over spaces": ("pride-and-prejudice.txt", 1000, {"split_by_whitespace": False}),
    "symbols": (
        "sherlock-holmes.txt",
        800,
        {"user_defined_symbols": ["Holmes", " said ", "<X>"], "required_chars": "中©"},
    ),
}


def lines_of(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").split("\n")


def theirs(lines: list[str], vocab_size: int, **options: Any) -> sentencepiece.SentencePieceProcessor:
    if "max_piece_length" in options:
        options["max_sentencepiece_length"] = options.pop("max_piece_length")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        max_sentence_length=1 << 20,
        minloglevel=2,
        **{"remove_extra_whitespaces": False, **options},
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def saved(tokenizer: Tokenizer, folder: Path) -> sentencepiece.SentencePieceProcessor:
    """What SentencePiece reads of our file."""
    tokenizer.save(folder / "bpe.model")
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "bpe.model"))


def pieces(model: sentencepiece.SentencePieceProcessor) -> list[tuple[str, float]]:
    return [(model.id_to_piece(id), model.get_score(id)) for id in range(model.vocab_size())]


@pytest.mark.parametrize("name", CASES)
def test_pieces_equal_sentencepiece(name: str, tmp_path: Path) -> None:
    file, size, options = CASES[name]
    lines = lines_of(CORPUS / file)
    tokenizer = train_bpe(texts=lines, vocab_size=size, method="sentencepiece", **options)
    own, reference = saved(tokenizer, tmp_path), theirs(lines, size, **options)
    assert tokenizer.vocab_size == size
    assert pieces(own) == pieces(reference)
    for text in [*TEXTS, *lines[:300:3]]:
        ids = tokenizer.encode(text).ids.tolist()
        assert ids == own.encode(text) == reference.encode(text), text
        assert tokenizer.decode(ids) == own.decode(ids), text


#: Lines with runs of spaces, as in code.
SPACED = ["  indented   code  = x", "    if  a:   b", "\u3000 x    y", ""]


@pytest.mark.parametrize("split_by_whitespace", [True, False])
@pytest.mark.parametrize("remove_extra_whitespaces", [True, False])
@pytest.mark.parametrize("allow_whitespace_only_pieces", [True, False])
@pytest.mark.parametrize("treat_whitespace_as_suffix", [True, False])
def test_where_spaces_stand(
    treat_whitespace_as_suffix: bool,
    allow_whitespace_only_pieces: bool,
    remove_extra_whitespaces: bool,
    split_by_whitespace: bool,
) -> None:
    lines = lines_of(CORPUS / "sherlock-holmes.txt")[:800] + SPACED * 20
    spaces: dict[str, Any] = {"remove_extra_whitespaces": remove_extra_whitespaces}
    options: dict[str, Any] = {
        "treat_whitespace_as_suffix": treat_whitespace_as_suffix,
        "allow_whitespace_only_pieces": allow_whitespace_only_pieces,
        "split_by_whitespace": split_by_whitespace,
    }
    normalizer = Normalizer.sentencepiece(
        "identity", treat_whitespace_as_suffix=treat_whitespace_as_suffix, **spaces
    )
    tokenizer = train_bpe(
        texts=lines, vocab_size=300, method="sentencepiece", normalizer=normalizer, **options
    )
    reference = theirs(lines, 300, **options, **spaces)
    own = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.to_sentencepiece())
    assert pieces(own) == pieces(reference)
    read = Tokenizer.from_bytes(reference.serialized_model_proto())
    written = sentencepiece.SentencePieceProcessor(model_proto=read.to_sentencepiece())
    for text in [*TEXTS, *SPACED, *lines[:100]]:
        ids = reference.encode(text)
        assert tokenizer.encode(text).ids.tolist() == own.encode(text) == ids, text
        assert read.encode(text).ids.tolist() == written.encode(text) == ids, text
        assert read.decode(ids) == tokenizer.decode(ids) == reference.decode(ids), text


def test_chinese_with_bytes(tmp_path: Path) -> None:
    path = shared_data.folder() / "zh-news" / "peoples-daily-1998-01.txt.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")[::10]
    tokenizer = train_bpe(texts=lines, vocab_size=6000, method="sentencepiece", byte_fallback=True)
    own, reference = saved(tokenizer, tmp_path), theirs(lines, 6000, byte_fallback=True)
    assert pieces(own) == pieces(reference)
    for text in TEXTS + lines[:200]:
        assert tokenizer.encode(text).ids.tolist() == own.encode(text), text


@pytest.fixture(scope="module")
def trained() -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    lines = lines_of(CORPUS / "udhr-23-languages.txt")
    tokenizer = train_bpe(
        texts=lines, vocab_size=2000, method="sentencepiece", byte_fallback=True, character_coverage=0.99
    )
    file = tokenizer.to_bytes()
    assert Tokenizer.from_bytes(file) == tokenizer
    options = {"byte_fallback": True, "character_coverage": 0.99}
    return tokenizer, theirs(lines, 2000, **options)


@given(text=st.one_of(st.text(), st.text(st.sampled_from("ab the▁ 中é1\n"))))
def test_any_text(trained: tuple[Tokenizer, sentencepiece.SentencePieceProcessor], text: str) -> None:
    ours, reference = trained
    assert ours.encode(text).ids.tolist() == reference.encode(text)


def test_a_saved_file_is_the_tokenizer(trained: tuple[Tokenizer, Any], tmp_path: Path) -> None:
    tokenizer, _ = trained
    tokenizer.save(tmp_path / "bpe.model")
    back = Tokenizer.from_file(tmp_path / "bpe.model")
    assert back.fingerprint == tokenizer.fingerprint
    assert (
        back.encode("Déclaration  universelle 😀").tokens
        == tokenizer.encode("Déclaration  universelle 😀").tokens
    )
    with (
        pytest.warns(UserWarning, match="control and unknown tokens"),
        pytest.warns(UserWarning, match="leaves out a space at the start"),
    ):
        tokenizer.save(tmp_path / "tokenizer.json")
    listed = Tokenizer.from_file(tmp_path / "tokenizer.json")
    for text in TEXTS:
        assert listed.encode(text).ids.tolist() == tokenizer.encode(text).ids.tolist(), text


def test_text_counts_and_threads_give_one_result(sherlock: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 700, "method": "sentencepiece"}
    first = train_bpe(sherlock, **options, threads=1)
    counts = count(sherlock, normalizer="sentencepiece", pre_tokenizer="metaspace-never", line_ends=True)
    assert counts is not None
    # A line feed is not part of a line.
    assert train_bpe(texts=lines_of(sherlock), **options).fingerprint == first.fingerprint
    assert train_bpe(counts=counts, **options).fingerprint == first.fingerprint
    for threads in (2, 3, 7):
        assert train_bpe(sherlock, **options, threads=threads).fingerprint == first.fingerprint
    assert first.report is not None
    assert first.report.merges == 700 - 3 - sum(len(first.id_to_token(id) or "") == 1 for id in range(700))
    assert first.info()["order"] == "scores"


def test_a_corpus_that_is_used_up_ends_training() -> None:
    lines = ["ab ab", "abc"]
    tokenizer = train_bpe(texts=lines, vocab_size=60, method="sentencepiece")
    assert tokenizer.report is not None
    assert "pairs of count 0" in tokenizer.report.stop
    # Theirs continues, with pieces that no text has.
    padded = theirs(lines, 60)
    names = [padded.id_to_piece(id) for id in range(padded.vocab_size())]
    assert tokenizer.vocab_size <= len(names)
    assert {tokenizer.id_to_token(id) for id in range(tokenizer.vocab_size)} <= set(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "other"}, "'merges' or 'sentencepiece'"),
        ({"character_coverage": 0.99}, "belongs to method='sentencepiece'"),
        ({"method": "sentencepiece", "tie_break": "bytes"}, "belongs to method='merges'"),
        ({"method": "sentencepiece", "limit_alphabet": 5}, "belongs to method='merges'"),
        ({"method": "sentencepiece", "character_coverage": 1.5}, "more than 0 and at most 1"),
        ({"method": "sentencepiece", "pre_tokenizer": "gpt2"}, "metaspace-never"),
        ({"method": "sentencepiece", "normalizer": "nfkc"}, "sentencepiece-collapse"),
        (
            {"method": "sentencepiece", "split_by_whitespace": False, "pre_tokenizer": "metaspace-never"},
            "splits at each",
        ),
        ({"method": "sentencepiece", "vocab_size": 5}, "5"),
        ({"treat_whitespace_as_suffix": True}, "belongs to method='sentencepiece'"),
        ({"allow_whitespace_only_pieces": True}, "belongs to method='sentencepiece'"),
        (
            {
                "method": "sentencepiece",
                "treat_whitespace_as_suffix": True,
                "normalizer": Normalizer.sentencepiece(),
            },
            "Normalizer.sentencepiece(treat_whitespace_as_suffix=True",
        ),
        (
            {
                "method": "sentencepiece",
                "normalizer": Normalizer.sentencepiece(treat_whitespace_as_suffix=True),
            },
            "behind words",
        ),
        (
            {
                "method": "sentencepiece",
                "allow_whitespace_only_pieces": True,
                "pre_tokenizer": "metaspace-never",
            },
            "leave it out",
        ),
        (
            {"method": "sentencepiece", "special_tokens": ["<x>"], "user_defined_symbols": ["<x>"]},
            "give each token once",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SentitokError, match=message.replace("(", r"\(")):
        train_bpe(texts=["some text"], **options)
