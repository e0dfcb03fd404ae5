"""What new users type, and the answers: one that says what to type instead."""

import json
import re
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sentitok
from cli_runs import run_inside as run
from sentitok import FormatError, Tokenizer, TrainError

STORY = "Once upon a time there was a tokenizer that had no path.\n" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("low lower lowest newer newest wide wider\n" * 30, encoding="utf-8")
    sentitok.train_bpe(tmp_path / "corpus.txt", vocab_size=280).save(tmp_path / "tokenizer.json")
    return tmp_path


def with_gap() -> Tokenizer:
    """A tokenizer of which some ids have no token."""
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    return Tokenizer.from_tiktoken(ranks, "gpt2", {"<s>": 300})


def test_vocab_size_is_that_of_an_embedding(tmp_path: Path) -> None:
    tokenizer = with_gap()
    assert (tokenizer.n_tokens, tokenizer.vocab_size) == (257, 301)
    assert len(tokenizer) == tokenizer.vocab_size
    assert len(tokenizer.vocab()) == tokenizer.n_tokens
    ids = tokenizer.encode("a<s>", specials="all").ids
    assert np.zeros(tokenizer.vocab_size)[ids].shape == (2,)
    assert tokenizer.info()["vocab_size"] == 301
    assert tokenizer.info()["n_tokens"] == 257
    assert "257 tokens" in repr(tokenizer)
    tokenizer.save(tmp_path / "gap.sentitok", "sentitok")
    found = json.loads(run("info", "gap.sentitok", "--json", cwd=tmp_path).out)
    assert (found["vocab_size"], found["n_tokens"]) == (301, 257)


@pytest.mark.parametrize(
    "train", [sentitok.train_bpe, sentitok.train_unigram, sentitok.train_wordpiece, sentitok.count]
)
def test_texts_given_as_paths(train: Callable[..., object]) -> None:
    for source in (STORY, [STORY], ["word " * 100], [STORY, STORY]):
        with pytest.raises(TypeError, match=r"is none; pass texts in memory as texts=\[\.\.\.\]") as error:
            train(source)
        assert len(str(error.value)) < 600


def test_a_table_is_no_text(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"text": ["low lower"]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "x.arrow")
    (tmp_path / "x.txt").write_bytes((tmp_path / "x.parquet").read_bytes())
    with pytest.raises(TrainError, match=r"x\.parquet: name the column of text, as in parquet:text"):
        sentitok.train_bpe(tmp_path / "x.parquet", vocab_size=300)
    with pytest.raises(FormatError, match=r"x\.txt: a Parquet file, not text; .*parquet:text"):
        sentitok.train_bpe(tmp_path / "x.txt", vocab_size=300)
    with pytest.raises(FormatError, match=r"x\.arrow: an Arrow file, not text; .*texts="):
        sentitok.train_bpe(tmp_path / "x.arrow", vocab_size=300)
    column = pyarrow.parquet.read_table(tmp_path / "x.parquet", columns=["text"])["text"]
    assert sentitok.train_bpe(texts=column, vocab_size=260).n_tokens == 260


@pytest.mark.parametrize(
    "call", [sentitok.train_bpe, sentitok.train_unigram, sentitok.train_wordpiece, sentitok.count]
)
@pytest.mark.parametrize("threads", [0, -1, 2**80])
def test_threads(call: Callable[..., object], threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads={threads}: it is 1 or more, or None for all"):
        call(texts=["a"], threads=threads)


def test_convert_keeps_what_is_there(folder: Path) -> None:
    (folder / "ranks.tiktoken").write_text("mine")
    before = (folder / "tokenizer.json").read_bytes()
    done = run("convert", "tokenizer.json", "ranks.tiktoken", cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert "ranks.tiktoken exists" in done.err
    assert "--force" in done.err
    assert run("convert", "tokenizer.json", "tokenizer.json", cwd=folder).code == 0
    assert (folder / "ranks.tiktoken").read_text() == "mine"
    assert (folder / "tokenizer.json").read_bytes() == before
    (folder / "model").mkdir()
    (folder / "model" / "vocab.json").write_text("mine")
    done = run("convert", "tokenizer.json", "model", "--to", "gpt2", cwd=folder)
    assert done.code == 2
    assert str(Path("model") / "vocab.json") in done.err
    done = run("convert", "tokenizer.json", "ranks.tiktoken", "--force", cwd=folder)
    assert done.code == 0, done.err
    assert "--verify" in done.out  # the command that is offered runs
    assert (folder / "ranks.tiktoken").read_text() != "mine"


@pytest.mark.parametrize(("vocab", "size"), [("0.3k", 300), ("1K", 1000), ("1_000", 1000), (" 300 ", 300)])
def test_sizes_of_vocabularies(vocab: str, size: int, folder: Path) -> None:
    done = run("train-bpe", "corpus.txt", "--vocab", vocab, "-o", "new.json", cwd=folder)
    assert done.code == 0, done.err
    assert f"of {size:,};" in done.out


@pytest.mark.parametrize("vocab", ["0", "-5", "32kk", "1.5", "k", "nan", "nank", "", "1e400k", "0.0001k"])
def test_no_sizes_of_vocabularies(vocab: str, folder: Path) -> None:
    for command in (["train-bpe", "corpus.txt"], ["prune", "tokenizer.json", "corpus.txt"]):
        done = run(*command, "--vocab", vocab, "-o", "new.json", cwd=folder)
        assert done.code == 2
        assert re.search(r"is not a whole number|is below 1", done.err)
        assert not (folder / "new.json").exists()


def test_a_sentencepiece_model_is_asked_for_by_its_method(folder: Path) -> None:
    done = run("train-unigram", "no-such-corpus.txt", "--normalizer", "nfkc", "-o", "x.model", cwd=folder)
    assert done.code == 2
    assert "take one, or end the name of -o in .json" in " ".join(done.err.split())
    done = run("train-bpe", "no-such-corpus.txt", "-o", "x.model", cwd=folder)
    assert done.code == 2
    assert "--method sentencepiece" in done.err
    assert "no-such-corpus" not in done.err  # said before anything is read
    done = run(
        "train-bpe", "corpus.txt", "--vocab", "60", "--method", "sentencepiece", "-o", "x.model", cwd=folder
    )
    assert done.code == 0, done.err


def test_the_line_for_an_embedding_runs_on_any_table(folder: Path) -> None:
    done = run("prune", "tokenizer.json", "corpus.txt", "-o", "small.json", cwd=folder)
    assert done.code == 0, done.err
    line = re.search(r"next\s+(embedding = .*)", done.out)
    assert line is not None
    small = Tokenizer.from_file(folder / "small.json")
    old = Tokenizer.from_file(folder / "tokenizer.json")
    ids = np.load(folder / "small.ids.npy")
    for rows in (old.vocab_size, old.vocab_size + 9, 512):  # tables are often padded
        names = {"np": np, "embedding": np.arange(rows), "__builtins__": {}}
        exec(line[1].replace("'small.ids.npy'", repr(str(folder / "small.ids.npy"))), names)
        kept = names["embedding"]
        assert isinstance(kept, np.ndarray)
        assert len(kept) == small.vocab_size
        assert [ids[id] for id in kept.tolist()] == list(range(len(kept)))


def test_a_bar_does_not_speak_of_spilling() -> None:
    from sentitok.cli import output

    assert output._STAGES["spill"] == "joining counts"


def test_a_report_of_unigram_has_no_merges() -> None:
    report = sentitok.train_unigram(texts=["low lower lowest " * 9], vocab_size=20).report
    assert "merges" not in repr(report)
    assert "merges from" in repr(sentitok.train_bpe(texts=["low lower"], vocab_size=258).report)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("train-wordpiece -o x.model", "it is WordPiece; SentencePiece knows Unigram and BPE"),
        ("train-wordpiece -o x.tiktoken", "it holds BPE models only, and this is WordPiece"),
        ("train-unigram -o x.tiktoken", "it holds BPE models only, and this is Unigram"),
        ("train-unigram -o vocab.txt", "it holds WordPiece models only, and this is Unigram"),
        ("train-unigram --pre-tokenizer gpt2 -o x.model", "its pre-tokenizer is gpt2, .*; train without it"),
        ("train-bpe -o vocab.txt", "it holds WordPiece models only, and this is BPE"),
        ("train-bpe --byte-fallback -o x.tiktoken", "its tokens are made of characters, not of bytes"),
        ("train-bpe --normalizer nfkc -o x.tiktoken", "it rewrites the text before splitting it"),
    ],
)
def test_what_a_file_cannot_hold_is_said_before_reading(call: str, message: str, folder: Path) -> None:
    done = run(*call.split(), "--", "no-such-corpus.txt", cwd=folder)
    assert done.code == 2
    assert re.search(rf"^sentitok: cannot be written as .*: {message}", done.err), done.err
    assert "no-such-corpus" not in done.err


@pytest.mark.parametrize(
    "call", ["train-unigram -o x.model", "train-bpe -o x.tiktoken", "train-wordpiece -o vocab.txt"]
)
def test_what_a_file_can_hold_is_trained(call: str, folder: Path) -> None:
    done = run(*call.split(), "--vocab", "300", "corpus.txt", cwd=folder)
    assert done.code == 0, done.err


@pytest.mark.parametrize(("command", "remedy"), [("show", "show < "), ("encode --text", "encode ")])
def test_the_name_of_a_file_as_text(command: str, remedy: str, folder: Path) -> None:
    done = run(*command.split(), "corpus.txt", cwd=folder)
    assert done.code == 0
    assert f"sentitok {remedy}corpus.txt" in done.err
    for text in ("corpus", "a" * 5000, "new\nline"):
        assert run(*command.split(), text, cwd=folder).err == ""


def test_an_encode_that_fails_leaves_no_folder(folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"low lower\n" * 50 + b"\xff\n")
    before = sorted(folder.iterdir())
    for out in ("new", "in/folders"):
        done = run("encode", "bad.txt", "-o", out, cwd=folder)
        assert done.code == 2
        assert "--invalid-utf8 replace or bytes" in done.err
        assert sorted(folder.iterdir()) == before
    (folder / "mine").mkdir()
    assert run("encode", "bad.txt", "-o", "mine", cwd=folder).code == 2
    assert not list((folder / "mine").iterdir())  # a folder that was there stays


def test_commands_name_no_arguments(folder: Path) -> None:
    assert run("encode", "corpus.txt", "-o", "tokens", cwd=folder).code == 0
    (folder / "other.txt").write_text("low\n", "utf-8")
    refused = run("encode", "other.txt", "-o", "tokens", cwd=folder)
    assert (refused.code, "--force" in refused.err, "resume" in refused.err) == (2, True, False)
    assert "sentitok: --out tokens: " in refused.err
    data = (folder / "tokens" / "shard-00000.bin").read_bytes()
    (folder / "tokens" / "shard-00000.bin").write_bytes(data[:-2])
    damaged = run("verify", "tokens", cwd=folder)
    assert (damaged.code, "--force" in damaged.out, "resume" in damaged.out) == (1, True, False)


def test_numbers_that_are_too_long(folder: Path) -> None:
    long = "9" * 5000
    for call in (["encode", "corpus.txt", "-o", "x", "--shard", f"1/{long}"], ["decode", long]):
        done = run(*call, cwd=folder)
        assert done.code == 2
        assert re.search(r"999.* in all, .*(expected i/n|is not an id)", done.err)
        assert len(done.err) < 500


def test_tokens_that_are_no_list() -> None:
    tokenizer = with_gap()
    asks: list[Callable[[], object]] = [
        lambda: tokenizer.with_specials("<x>"),
        lambda: sentitok.train_bpe(texts=["a"], special_tokens="<x>"),
        lambda: sentitok.train_unigram(texts=["a"], user_defined_symbols="<x>"),
    ]
    for ask in asks:
        with pytest.raises(TypeError, match=r"tokens come in a list, as in \[\"<pad>\"\]; this is '<x>'"):
            ask()
    for bad in (3, None, b"<x>"):
        with pytest.raises(TypeError, match=f"a token is a str, not {bad!r}"):
            tokenizer.with_specials([bad])  # type: ignore[list-item]  # 2026-11-24: refused
    for several in (("a", "b"), ["a"]):
        with pytest.raises(TypeError, match=r"a pair is encode\(text, pair\), several texts encode_batch"):
            tokenizer.encode(several)


def test_a_table_where_a_column_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether pyarrow is installed or not, the remedy is a column."""
    frame = pytest.importorskip("pandas").DataFrame({"text": ["a"], "label": [1]})
    tokenizer = with_gap()
    with pytest.raises(ValueError, match=r"table.* select"):
        tokenizer.count_batch(frame)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"table.* select"):
        tokenizer.count_batch(frame)


def test_a_library_to_compare_with_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentitok.cli.bench.find_spec", lambda name: None if name == "tiktoken" else True)
    done = run("bench", "corpus.txt", "--rival", "tiktoken", cwd=folder)
    assert (done.code, "pip install tiktoken" in done.err) == (2, True)


def test_only_what_can_go_is_recommended_to_go(folder: Path) -> None:
    (folder / "small.txt").write_text("low\n", encoding="utf-8")
    said = run("doctor", "tokenizer.json", "small.txt", cwd=folder).out
    assert "sentitok prune tokenizer.json small.txt" in said
    run("prune", "tokenizer.json", "small.txt", "-o", "pruned.json", cwd=folder)
    said = run("doctor", "pruned.json", "small.txt", cwd=folder).out
    assert re.search(r"^removable +0", said, re.M)
    assert "prune" not in said
