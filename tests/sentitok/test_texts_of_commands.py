"""Texts and tokenizers that commands are given: bytes that are not text, stdin, one in the other's place."""

import json
import re
import sys
from pathlib import Path

import pytest

import sentitok
from commands import run

LINES = "low lower lowest newer newest wide wider\n" * 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text(LINES, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"good\nbad \xff\xfe x\n" + "\ufffd\n".encode())
    tokenizer = sentitok.train_bpe(tmp_path / "corpus.txt", vocab_size=270)
    tokenizer.save(tmp_path / "tokenizer.json")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(tmp_path / "ranks.tiktoken")
    (tmp_path / "ranks.bin").write_bytes((tmp_path / "ranks.tiktoken").read_bytes())
    return tmp_path


# Commands that read bad.txt, and the key of the number of invalid places in their JSON.
READERS = [
    ("eval tokenizer.json bad.txt", "eval"),
    ("compare tokenizer.json tokenizer.json bad.txt", "compare"),
    ("convert tokenizer.json new.json --verify bad.txt", "convert"),
    ("doctor tokenizer.json bad.txt", ""),
    ("prune tokenizer.json bad.txt -o small.json", ""),
    ("bench bad.txt --rival sentitok", ""),
]


@pytest.mark.parametrize(("line", "name"), READERS, ids=[line.split()[0] for line, _ in READERS])
def test_what_is_no_utf8_is_counted(line: str, name: str, folder: Path) -> None:
    code, _, err = run(line, cwd=folder)
    assert code == 0, err
    assert "bad.txt: 2 places that are no UTF-8 taken as U+FFFD; --invalid-utf8 error stops there" in err
    for path in folder.glob("*new.json"):
        path.unlink()
    if name:
        found = json.loads(run(f"{line} --json", cwd=folder)[1])
        assert (found["evaluations"][0] if name == "eval" else found)["replaced"] == 2
    for path in folder.glob("*new.json"):
        path.unlink()
    code, _, err = run(f"{line} --invalid-utf8 error", cwd=folder)
    assert (code, "bad.txt: invalid UTF-8 at byte 9 (line 2)" in err) == (2, True), err
    code, _, err = run(f"{line} --invalid-utf8 bytes", cwd=folder)
    assert (code, "--invalid-utf8 bytes: here it is replace or error" in err) == (2, True), err


def test_one_place_is_one_place(folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"a\xffb\n")
    err = run("eval tokenizer.json bad.txt", cwd=folder)[2]
    assert err == "bad.txt: 1 place that is no UTF-8 taken as U+FFFD; --invalid-utf8 error stops there\n"
    assert run("eval tokenizer.json corpus.txt", cwd=folder)[2] == ""


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_stdin_is_a_text(command: str, folder: Path) -> None:
    sentitok.train_bpe(texts=[LINES], vocab_size=300).save(folder / "other.json")
    line = f"{command} tokenizer.json other.json"
    code, named, _ = run(f"{line} corpus.txt --json", cwd=folder)
    piped_code, piped, _ = run(f"{line} - --json", cwd=folder, stdin=LINES.encode())
    assert (code, named.replace("corpus.txt", "-")) == (piped_code, piped)
    assert json.loads(named)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_read_once(folder: Path) -> None:
    import os
    import threading

    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_text(LINES), daemon=True)
    writer.start()
    code, out, err = run("eval tokenizer.json tokenizer.json pipe --json", cwd=folder)
    assert code == 0, err
    assert [row["documents"] for row in json.loads(out)["evaluations"]] == [30, 30]
    writer.join(10)


def test_stdin_that_cannot_be_read(folder: Path) -> None:
    for command in ("eval tokenizer.json", "compare tokenizer.json tokenizer.json", "train-bpe"):
        code, _, err = run(f"{command} - -", cwd=folder, stdin=b"a film\n")
        assert (code, "- is named twice" in err) == (2, True), err


def test_ranks_are_known_by_what_they_hold(folder: Path) -> None:
    expected = json.loads(run("eval tokenizer.json corpus.txt --json", cwd=folder)[1])["evaluations"][0]
    for line in ("eval ranks.tiktoken", "eval ranks.bin", "eval -t ranks.bin"):
        code, out, err = run(f"{line} corpus.txt --pattern gpt2 --json", cwd=folder)
        assert code == 0, err
        assert json.loads(out)["evaluations"][0] == expected | {"tokenizer": line.split()[-1]}
        code, _, err = run(f"{line} corpus.txt", cwd=folder)
        assert (code, "is a .tiktoken file, which does not say how text is cut; add --pattern" in err) == (
            2,
            True,
        )
    assert run("compare tokenizer.json ranks.bin corpus.txt --pattern gpt2", cwd=folder)[0] == 0
    assert run("doctor ranks.bin corpus.txt --pattern gpt2", cwd=folder)[0] == 0
    code, _, err = run("show film -t ranks.bin", cwd=folder)
    assert (code, "sentitok convert FILE tokenizer.json --pattern NAME" in err) == (2, True)


# (a call that takes a text for a tokenizer, or a tokenizer for a text; words of the message)
MIXED_UP = [
    ("eval corpus.txt tokenizer.json", "corpus.txt is not a tokenizer; tokenizers come first"),
    ("eval tokenizer.json", "tokenizer.json: no text is named"),
    ("eval -t corpus.txt corpus.txt", "corpus.txt is not a tokenizer"),
    ("eval -t tokenizer.json tokenizer.json", "where a text is expected"),
    ("compare corpus.txt tokenizer.json corpus.txt", "corpus.txt is not a tokenizer"),
    ("compare tokenizer.json c.jsonl corpus.txt", "c.jsonl is not a tokenizer"),
    ("compare tokenizer.json tokenizer.json ranks.bin", "this is a tokenizer (.tiktoken), where a text"),
    ("convert corpus.txt x.json", "corpus.txt is not a tokenizer"),
    ("convert tokenizer.json x.json --verify tokenizer.json", "this is a tokenizer (tokenizer.json)"),
    ("doctor corpus.txt", "corpus.txt is not a tokenizer"),
    ("doctor tokenizer.json tokenizer.json", "this is a tokenizer (tokenizer.json)"),
    ("prune tokenizer.json tokenizer.json", "this is a tokenizer (tokenizer.json)"),
    ("prune corpus.txt corpus.txt", "corpus.txt is not a tokenizer"),
    ("bench tokenizer.json", "this is a tokenizer (tokenizer.json)"),
    ("bench corpus.txt -t corpus.txt", "corpus.txt is not a tokenizer"),
    ("show film -t corpus.txt", "corpus.txt is not a tokenizer"),
    ("encode corpus.txt -o out -t corpus.txt", "corpus.txt is not a tokenizer"),
    ("encode tokenizer.json -o out", "this is a tokenizer (tokenizer.json)"),
    ("decode 1 -t corpus.txt", "corpus.txt is not a tokenizer"),
    ("train-bpe tokenizer.json -o x.json", "this is a tokenizer (tokenizer.json)"),
    ("train-bpe corpus.txt --extend corpus.txt -o x.json", "corpus.txt is not a tokenizer"),
    ("train-unigram tokenizer.json -o x.json", "this is a tokenizer (tokenizer.json)"),
    ("count ranks.bin -o x.counts", "this is a tokenizer (.tiktoken)"),
    ("train-bpe all.counts -o x.json", "sentitok train-bpe --counts FILE"),
]


@pytest.mark.parametrize(("line", "words"), MIXED_UP, ids=[line for line, _ in MIXED_UP])
def test_one_in_the_place_of_the_other(line: str, words: str, folder: Path) -> None:
    (folder / "c.jsonl").write_text('{"text": "a film"}\n')
    sentitok.count(folder / "corpus.txt", out=folder / "all.counts")
    code, out, err = run(line, cwd=folder)
    assert (code, out, words in err) == (2, "", True), err
    assert len(err.splitlines()) == 1


def test_files_are_read_as_they_are_if_that_is_said(folder: Path) -> None:
    code, out, _ = run("eval -t tokenizer.json tokenizer.json --format text --json", cwd=folder)
    assert code == 0
    assert json.loads(out)["evaluations"][0]["bytes"] == (folder / "tokenizer.json").stat().st_size


@pytest.mark.parametrize("command", ["train-bpe", "train-wordpiece", "train-unigram"])
def test_training_replaces_with_force_and_says_so(command: str, folder: Path) -> None:
    line = f"{command} corpus.txt --vocab 280 -o new.json"
    code, _, err = run(line, cwd=folder)
    assert (code, err) == (0, "")
    code, out, err = run(line, cwd=folder)
    assert code == 0
    assert "new.json exists" in err
    assert json.loads(run(f"{line} --json", cwd=folder)[1])["overwrote"] == []
    found = json.loads(run(f"{line} --json --force", cwd=folder)[1])
    assert found["overwrote"] == ["new.json"]
    assert ("merges" in found) == (command != "train-unigram")
    assert not re.search(r"^merges\s+0$", out, re.M)


def test_one_document_is_no_documents(folder: Path) -> None:
    (folder / "one.txt").write_text("low\n")
    assert "read         1 document, 4 bytes" in run("train-bpe one.txt --vocab 257 -o x.json", cwd=folder)[1]
    assert "1 document, 0 differ" in run("compare tokenizer.json tokenizer.json one.txt", cwd=folder)[1]
    out = run("convert tokenizer.json y.json --verify one.txt", cwd=folder)[1]
    assert "verified     1 document, 0 differ" in out


TRAINED: dict[str, dict[str, object]] = {
    "train_bpe": {"special_tokens": ["the", "a"]},
    "train_unigram": {"special_tokens": ["<s>", "low"], "required_chars": "ß"},
    "train_wordpiece": {"special_tokens": ["[UNK]", "l", "low"]},
}


@pytest.mark.parametrize("train", TRAINED)
@pytest.mark.parametrize("more", [False, True])
def test_the_size_asked_for_is_that_size(train: str, more: bool) -> None:
    text = Path(__file__).parent.parent / "data" / "corpus" / "pride-and-prejudice.txt"
    options = TRAINED[train] if more else {}
    tokenizer = getattr(sentitok, train)(text, vocab_size=600, **options)
    assert tokenizer.report.stop == "the vocabulary has the size asked for"
    assert (tokenizer.n_tokens, tokenizer.vocab_size) == (600, 600)
