"""`train_unigram(method="sentencepiece")` against SentencePiece's own trainer.

Prose with many short lines: where lines end decides which strings are seeds.
"""

import io
import json
import lzma
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

import shared_data
from conftest import CORPUS
from sentitok import Normalizer, SentitokError, Tokenizer, WordCounts, count, train_bpe, train_unigram

BOOKS = [("sherlock-holmes.txt", 60), ("sherlock-holmes.txt", 78), ("pride-and-prejudice.txt", 70)]
SIZES = (1000, 2000, 4000)
# By default each book with one size; all with all are a larger run of the same.
CASES = [
    pytest.param(*book, size, marks=pytest.mark.slow if place != other else ())
    for place, book in enumerate(BOOKS)
    for other, size in enumerate(SIZES)
]


def wrapped(name: str, width: int) -> list[str]:
    """A book in lines of at most `width` characters, a blank line after each paragraph."""
    paragraphs = (CORPUS / name).read_text("utf-8").split("\n\n")
    return [line for text in paragraphs for line in [*textwrap.wrap(" ".join(text.split()), width), ""]]


def theirs(given: list[str] | Path, vocab_size: int, **options: Any) -> sentencepiece.SentencePieceProcessor:
    """Their model of lines, or of a file: of lines their module takes `\\r` off, too."""
    model = io.BytesIO()
    source = {"input": str(given)} if isinstance(given, Path) else {"sentence_iterator": iter(given)}
    sentencepiece.SentencePieceTrainer.train(
        **source,
        model_writer=model,
        model_type="unigram",
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        max_sentence_length=1 << 20,
        minloglevel=2,
        **{"normalization_rule_name": "identity", "remove_extra_whitespaces": False, **options},
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def share(ours: Tokenizer, reference: sentencepiece.SentencePieceProcessor) -> float:
    """The part of the reference's pieces that are ours, too."""
    pieces = [reference.id_to_piece(id) for id in range(reference.vocab_size())]
    return sum(ours.token_to_id(piece) is not None for piece in pieces) / len(pieces)


@pytest.mark.parametrize(("name", "width", "size"), CASES)
def test_lines_of_prose_give_their_pieces(name: str, width: int, size: int, tmp_path: Path) -> None:
    lines = wrapped(name, width)
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reference = theirs(lines, size)
    ours = train_unigram(path, vocab_size=size, method="sentencepiece")
    assert share(ours, reference) >= 0.97
    tokens = sum(len(ids) for ids in reference.encode(lines))
    assert abs(ours.encode_batch(lines).ids.size / tokens - 1) < 0.003


def test_carriage_returns_are_what_the_normalizer_makes_of_them(tmp_path: Path) -> None:
    """Both take `\\n` off a line and keep `\\r`; SentencePiece's usual rules drop it, and so do they here."""
    lines = wrapped("sherlock-holmes.txt", 70)[:4000]
    with_cr = [f"{line}\r" for line in lines]
    paths = {"lf": tmp_path / "lf.txt", "crlf": tmp_path / "crlf.txt"}
    for name, ends in (("lf", "\n"), ("crlf", "\r\n")):
        paths[name].write_bytes("".join(line + ends for line in lines).encode())
    options: dict[str, Any] = {"vocab_size": 1000, "method": "sentencepiece"}
    # By the plain normalizer it is a character like any other, to both.
    reference = theirs(paths["crlf"], 1000)
    ours = train_unigram(paths["crlf"], **options)
    # Theirs alone has pieces that end a line, such as `▁\r`: docs/explanation/exactness.md.
    assert share(ours, reference) >= 0.95
    assert ours.token_to_id("\r") is not None
    assert reference.piece_to_id("\r") != reference.unk_id()
    tokens = sum(len(ids) for ids in reference.encode(with_cr))
    assert abs(ours.encode_batch(with_cr).ids.size / tokens - 1) < 0.02
    # By SentencePiece's default rules it is nothing at the end of a line.
    rules = {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True}
    usual = theirs(paths["crlf"], 1000, **rules)
    ours = train_unigram(paths["crlf"], normalizer="nmt+nfkc+sentencepiece-collapse", **options)
    other = train_unigram(paths["lf"], normalizer="nmt+nfkc+sentencepiece-collapse", **options)
    assert ours.fingerprint == other.fingerprint
    assert share(ours, usual) >= 0.97
    tokens = sum(len(ids) for ids in usual.encode(with_cr))
    assert abs(ours.encode_batch(with_cr).ids.size / tokens - 1) < 0.003


def test_many_scripts_give_their_pieces(declarations: Path) -> None:
    lines = declarations.read_text("utf-8").split("\n")
    ours = train_unigram(declarations, vocab_size=4000, method="sentencepiece")
    assert share(ours, theirs(lines, 4000)) >= 0.97


def test_text_lines_and_counts_give_one_result(sherlock: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 600, "method": "sentencepiece"}
    first = train_unigram(sherlock, **options, threads=1)
    text = sherlock.read_bytes().decode("utf-8")
    for lines in (text.split("\n"), text.splitlines(keepends=True)):
        assert train_unigram(texts=lines, **options, threads=3).fingerprint == first.fingerprint
    counts = count(sherlock, normalizer="sentencepiece", pre_tokenizer="metaspace-never", line_ends=True)
    assert counts is not None
    assert train_unigram(counts=counts, **options).fingerprint == first.fingerprint
    assert first.report is not None
    assert "\0" not in dict(first.report.dropped)


def test_line_ends_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a b\n\n b\na b", encoding="utf-8")
    options: dict[str, Any] = {"normalizer": "sentencepiece", "pre_tokenizer": "metaspace-never"}
    counts = count(path, line_ends=True, **options)
    assert counts is not None
    assert dict(counts) == {b"\xe2\x96\x81a": 2, b"\xe2\x96\x81": 1, b"\xe2\x96\x81b\0": 3}
    # A line too long for one piece ends where its last part does.
    long = count(texts=["abcdefgh"], line_ends=True, max_piece_bytes=4, **options)
    assert long is not None
    assert b"".join(sorted(long)).count(b"\0") == 1


@pytest.mark.filterwarnings("ignore:SentencePiece sums")
@pytest.mark.parametrize("method", ["sentencepiece", "full"])
def test_the_fingerprint_of_a_saved_model(method: Any, tmp_path: Path) -> None:
    """docs/reference/formats.md names the four parts that differ with the full method."""
    lines = wrapped("sherlock-holmes.txt", 60)[:500]
    trained = train_unigram(texts=lines, vocab_size=200, method=method)
    trained.save(tmp_path / "a.model")
    read = Tokenizer.from_file(tmp_path / "a.model")
    assert (read.fingerprint == trained.fingerprint) == (method == "sentencepiece")
    if method == "full":
        own, back = (json.loads(each.to_bytes().split(b"\n")[0][22:]) for each in (trained, read))
        assert (own["model"].pop("precision"), back["model"].pop("precision")) == ("f64", "f32")
        cuts = (own["pipeline"].pop("pre_tokenizer"), back["pipeline"].pop("pre_tokenizer"))
        assert [cut["type"] for cut in cuts] == ["Metaspace", "Bytes"]
        assert [each.pop("decoder")["type"] for each in (own, back)] == ["Stripped", "SentencePiece"]
        assert own == back
        scores, rounded = (json.loads(each.to_bytes().split(b"\n", 1)[1]) for each in (trained, read))
        pairs = zip(scores["model"].pop("vocab"), rounded["model"].pop("vocab"), strict=True)
        assert all(
            (piece, np.float32(score)) == (same, np.float32(other)) for (piece, score), (same, other) in pairs
        )


@pytest.mark.parametrize("suffix", [True, False])
@pytest.mark.parametrize("only", [True, False])
def test_where_spaces_stand(suffix: bool, only: bool) -> None:
    """Models of theirs are read and written with equal ids; models trained here have their rules."""
    spaced = ["  indented   code  = x", "    if  a:   b", "\u3000 x    y", ""]
    lines = wrapped("sherlock-holmes.txt", 60)[:3000] + spaced * 20
    options: dict[str, Any] = {"treat_whitespace_as_suffix": suffix, "allow_whitespace_only_pieces": only}
    reference = theirs(lines, 600, **options)
    normalizer = Normalizer.sentencepiece(
        "identity", remove_extra_whitespaces=False, treat_whitespace_as_suffix=suffix
    )
    ours = train_unigram(
        texts=lines, vocab_size=600, method="sentencepiece", normalizer=normalizer, **options
    )
    # Of the first character of the next word nothing is counted: as a suffix knows less.
    assert share(ours, reference) >= (0.93 if suffix else 0.97)
    own = sentencepiece.SentencePieceProcessor(model_proto=ours.to_sentencepiece())
    read = Tokenizer.from_bytes(reference.serialized_model_proto())
    written = sentencepiece.SentencePieceProcessor(model_proto=read.to_sentencepiece())
    for text in [*spaced, " ", "▁▁mark ▁", *lines[:300]]:
        ids = reference.encode(text)
        assert read.encode(text).ids.tolist() == written.encode(text) == ids, text
        assert read.decode(ids) == reference.decode(ids), text
        assert ours.encode(text).ids.tolist() == own.encode(text), text
        assert ours.decode(own.encode(text)) == own.decode(own.encode(text)), text
    learnt = [own.id_to_piece(id).strip("▁") for id in range(3, own.vocab_size())]
    placed = [own.id_to_piece(id) for id in range(3, own.vocab_size()) if learnt[id - 3]]
    assert not any(piece[:: -1 if suffix else 1][1:].count("▁") for piece in placed)
    assert only or not any(own.id_to_piece(id) in ("▁▁", "▁▁▁▁") for id in range(3, own.vocab_size()))


@pytest.mark.parametrize("option", ["treat_whitespace_as_suffix", "allow_whitespace_only_pieces"])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "belongs to method='sentencepiece'"),
        ({"method": "sentencepiece", "pre_tokenizer": "metaspace-never"}, "its own way of cutting"),
        ({"method": "sentencepiece", "normalizer": "nfkc"}, "its own way of cutting"),
    ],
)
def test_options_of_spaces_that_do_not_go_together(option: str, more: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {option: True, **more}
    with pytest.raises(SentitokError, match=f"{option} = True: .*{message}"):
        train_unigram(texts=["some text"], vocab_size=20, **options)


def test_spaces_behind_words_are_refused(tmp_path: Path) -> None:
    """Pieces begin with spaces: what writes them behind words would be cut in two."""
    lines = wrapped("sherlock-holmes.txt", 60)[:2000]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=300,
        treat_whitespace_as_suffix=True,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    path = tmp_path / "suffix.model"
    path.write_bytes(model.getvalue())
    normalizer = Tokenizer.from_file(path).normalizer
    for method in ("sentencepiece", "full"):
        with pytest.raises(SentitokError, match="behind words"):
            train_unigram(texts=lines, vocab_size=300, normalizer=normalizer, method=method)
    for cuts in ("metaspace", "metaspace-never", "metaspace-never-unsplit"):
        refused = pytest.raises(SentitokError, match=f"behind words, and the pre-tokenizer {cuts} cuts")
        options: dict[str, Any] = {"normalizer": normalizer, "pre_tokenizer": cuts}
        with refused:
            count(texts=lines, **options)
        with refused:
            count(texts=lines, out=tmp_path / "x.counts", **options)
        with refused:
            WordCounts({"low▁": 1}, **options)
        with refused:
            train_bpe(texts=lines, vocab_size=300, **options)
    assert count(texts=lines, normalizer=normalizer, pre_tokenizer="bytes") is not None


@pytest.mark.parametrize(
    ("file", "size"),
    [
        ("corpora/wikitext-2-raw.valid.txt.xz", 4000),
        ("corpora/tinyshakespeare.txt.xz", 8000),
        pytest.param("corpora/gutenberg-botchan-en.txt.xz", 4000, marks=pytest.mark.slow),
        pytest.param("wmt-en-de-10k/train.de.xz", 1000, marks=pytest.mark.slow),
        ("wmt-en-de-10k/train.de.xz", 8000),
        ("udhr", 8000),
        pytest.param("corpora/gutenberg-1342-pride-and-prejudice.txt.xz", 4000, marks=pytest.mark.slow),
    ],
)
def test_nearly_all_pieces_are_shared(file: str, size: int, declarations: Path) -> None:
    """Six corpora; docs/explanation/exactness.md has those where more of them tie."""
    if file == "udhr":
        text = declarations.read_text("utf-8")
    else:
        with lzma.open(shared_data.folder() / file, "rt", encoding="utf-8", newline="") as opened:
            text = opened.read()
    lines = [line.rstrip("\r") for line in text.split("\n")][: 5000 if size == 8000 else None]
    ours = train_unigram(texts=lines, vocab_size=size, method="sentencepiece")
    reference = theirs(lines, size)
    assert share(ours, reference) >= 0.999
    if "prejudice" in file:  # ends of speech are pieces, which differ in little but their score
        for piece in (".”", "?”"):
            assert reference.id_to_piece(reference.piece_to_id(piece)) == piece
            assert ours.token_to_id(piece) is not None
