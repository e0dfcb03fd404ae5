"""Commands of `sentitok` that encode, show, measure, convert and compare, from outside."""

import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sentitok
from cli_runs import run, run_json
from sentitok.datasets import TokenDataset

TEXTS = [
    ("ASCII", b"A gripping film."),
    ("scripts", "naïve 日本語 👍🏽\r\n\tend".encode()),
    ("nothing", b""),
]


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_encode_and_decode_are_inverse(name: str, text: bytes, prepared: Path) -> None:
    ids = run("encode", cwd=prepared, stdin=text)
    assert ids.code == 0, ids.err
    tokenizer = sentitok.Tokenizer.from_file(prepared / "tokenizer.json")
    assert ids.out.split() == [str(id) for id in tokenizer.encode(text).ids]
    back = subprocess.run(
        [sys.executable, "-m", "sentitok.cli", "decode"],
        input=ids.out.encode(),
        capture_output=True,
        cwd=prepared,
        check=True,
    )
    assert back.stdout == text


@pytest.mark.parametrize("command", ["encode", "show"])
def test_stdin_that_is_no_plain_text(command: str, prepared: Path) -> None:
    """One text is read; a file that looks like many texts is noted, a compressed one is refused."""
    compressed = {
        "gzip": gzip.compress(b"A film."),
        "bzip2": bz2.compress(b"A film."),
        "xz": lzma.compress(b"A film."),
        "zstd": b"\x28\xb5\x2f\xfd\x00",
    }
    for kind, data in compressed.items():
        refused = run(command, cwd=prepared, stdin=data)
        assert refused.code == 2
        assert kind in refused.err
        assert "-o DIR" in refused.err
    for text, is_said in (
        (b'{"text": "a"}\n{"text": "b"}\n', True),
        (b'\n {"text": "a"}', True),
        (b"{a}\n", False),
        (b"BZhang read it.", False),
        (b'["a"]\n', False),
    ):
        done = run(command, cwd=prepared, stdin=text)
        assert done.code == 0
        assert ("JSON Lines" in done.err) == is_said, text


def test_show_reads_stdin_named_by_a_dash(prepared: Path) -> None:
    assert run("show", "-", cwd=prepared, stdin=b"A film.") == run("show", cwd=prepared, stdin=b"A film.")


def test_encode_to_a_file_is_refused(prepared: Path) -> None:
    (prepared / "there.bin").write_bytes(b"x")
    refused = run("encode", "corpus.txt", "-o", "there.bin", cwd=prepared)
    assert refused.code == 2
    assert "there.bin" in refused.err
    assert "directory" in refused.err
    assert (prepared / "there.bin").read_bytes() == b"x"


def test_encode_files_and_back(prepared: Path) -> None:
    found = run_json("encode", "corpus.txt", "-o", "out", cwd=prepared)
    assert (prepared / "out" / "manifest.json").exists()
    assert isinstance(found["manifest"], dict)
    back = subprocess.run(
        [sys.executable, "-m", "sentitok.cli", "decode", "out"], capture_output=True, cwd=prepared, check=True
    )
    assert back.stdout == (prepared / "corpus.txt").read_bytes()


def test_encode_says_what_it_left_alone(prepared: Path) -> None:
    """A complete data set is named as such; a pipe is never taken for the one before."""
    assert run_json("encode", "corpus.txt", "-o", "again", cwd=prepared)["skipped"] is False
    assert run_json("encode", "corpus.txt", "-o", "again", cwd=prepared)["skipped"] is True
    assert "--force" in run("encode", "corpus.txt", "-o", "again", cwd=prepared).out
    assert run("encode", "-", "-o", "piped", cwd=prepared, stdin=b"One.\n").code == 0
    refused = run("encode", "-", "-o", "piped", cwd=prepared, stdin=b"Another.\n")
    assert refused.code == 2
    assert "--force" in refused.err
    assert run("encode", "-", "-o", "piped", "--force", cwd=prepared, stdin=b"Another.\n").code == 0
    assert run("decode", "piped", cwd=prepared).out == "Another.\n"


def test_encode_files_knows_specials_if_asked(prepared: Path) -> None:
    tokenizer = sentitok.Tokenizer.from_file(prepared / "tokenizer.json").with_specials(["<|end|>"])
    tokenizer.save(prepared / "special.json")
    (prepared / "marked.txt").write_text("A film.<|end|>\n", encoding="utf-8")
    for what in ("none", "all"):
        run_json(
            "encode",
            "marked.txt",
            "-o",
            f"marked-{what}",
            "-t",
            "special.json",
            "--specials",
            what,
            cwd=prepared,
        )
        ids = TokenDataset(prepared / f"marked-{what}")[0].tolist()
        assert ids == tokenizer.encode("A film.<|end|>\n", specials=what).ids.tolist()
        assert (tokenizer.token_to_id("<|end|>") in ids) == (what == "all")


def test_show_without_colour(prepared: Path) -> None:
    done = run("show", "a \t\n é👍\x1b[31m", cwd=prepared)
    assert done.code == 0
    tokens = done.out.splitlines()
    shown = "".join(tokens[0:-1:2])
    for part in ("⋅", "→", "↵", "│", "\\x1b"):
        assert part in shown
    assert "�" not in done.out
    assert "\x1b" not in done.out
    tokenizer = sentitok.Tokenizer.from_file(prepared / "tokenizer.json")
    ids = [int(id) for line in tokens[1:-1:2] for id in line.split("│")]
    assert ids == tokenizer.encode("a \t\n é👍\x1b[31m").ids.tolist()


def test_show_spells_parts_of_characters(prepared: Path) -> None:
    done = run("show", "\U0001d54f", cwd=prepared)
    assert re.search(r"\\xf0|\\x9d|\\x8f", done.out)


@pytest.mark.parametrize(
    ("name", "variables", "expected"),
    [
        ("asked for", {"FORCE_COLOR": "1"}, True),
        ("refused", {"NO_COLOR": "1"}, False),
        ("refusal wins", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("no terminal", {}, False),
    ],
)
def test_colour(name: str, variables: dict[str, str], expected: bool, prepared: Path) -> None:
    done = run("show", "A gripping film.", cwd=prepared, stdin=b"", **variables)
    assert ("\x1b[" in done.out) is expected


def test_show_json(prepared: Path) -> None:
    found = run_json("show", "naïve", cwd=prepared)
    tokens = found["tokens"]
    assert isinstance(tokens, list)
    assert b"".join(bytes.fromhex(token["bytes"]) for token in tokens) == "naïve".encode()


def test_info(prepared: Path) -> None:
    tokenizer = sentitok.Tokenizer.from_file(prepared / "tokenizer.json")
    assert run_json("info", "tokenizer.json", cwd=prepared)["fingerprint"] == tokenizer.fingerprint
    assert run("info", "tokenizer.json", "-q", cwd=prepared).out.strip() == tokenizer.fingerprint
    counts = run_json("info", "all.counts", cwd=prepared)
    assert counts["kind"] == "counts"
    assert "documents" in run("info", "all.counts", cwd=prepared).out


def test_eval_side_by_side(prepared: Path) -> None:
    found = run_json("eval", "tokenizer.json", "merged.json", "corpus.txt", cwd=prepared)
    rows = found["evaluations"]
    assert isinstance(rows, list)
    assert [row["tokenizer"] for row in rows] == ["tokenizer.json", "merged.json"]
    assert rows[0]["bytes_per_token"] > rows[1]["bytes_per_token"]
    shown = run("eval", "tokenizer.json", "merged.json", "corpus.txt", cwd=prepared).out
    assert len(shown.splitlines()) == 3


def test_convert_verifies(prepared: Path) -> None:
    found = run_json("convert", "tokenizer.json", "new.tiktoken", "--verify", "corpus.txt", cwd=prepared)
    assert found["differing"] == 0
    lines = (prepared / "corpus.txt").read_text("utf-8").splitlines()
    assert found["documents"] == len(lines)


def test_convert_names_the_fingerprint_of_the_file(prepared: Path) -> None:
    """Ranks become merges, so the file is not the tokenizer that was read."""
    found = run_json("convert", "ranks.tiktoken", "ranks.json", "--pattern", "gpt2", cwd=prepared)
    assert found["fingerprint"] == run_json("info", "ranks.json", cwd=prepared)["fingerprint"]


def test_convert_verifies_a_pattern_of_ones_own(prepared: Path) -> None:
    args = ["corpus.txt", "--vocab", "300", "--pattern", r"\w+|\W", "-o", "own.json"]
    assert run("train-bpe", *args, cwd=prepared).code == 0
    found = run_json("convert", "own.json", "own.tiktoken", "--verify", "corpus.txt", cwd=prepared)
    assert found["differing"] == 0


def test_convert_finds_a_difference(prepared: Path) -> None:
    """With another pattern the same ranks give different ids: exit 1, first place shown."""
    args = ["ranks.tiktoken", "new.tiktoken", "--pattern", "whitespace", "--verify", "corpus.txt"]
    done = run("convert", *args, cwd=prepared)
    assert done.code in (0, 1)
    text = json.loads((prepared / "tokenizer.json").read_text("utf-8"))
    text["model"]["merges"] = text["model"]["merges"][:-300]
    (prepared / "fewer.json").write_text(json.dumps(text), encoding="utf-8")
    args = ["fewer.json", "new.tiktoken", "--force", "--verify", "corpus.txt"]
    refused = run("convert", *args, cwd=prepared)
    assert refused.code == 1
    assert "new.tiktoken" in refused.err


def test_compare_says_that_ids_are_equal(prepared: Path) -> None:
    assert run("convert", "tokenizer.json", "same.sentitok", cwd=prepared).code == 0
    found = run_json("compare", "tokenizer.json", "same.sentitok", "corpus.txt", cwd=prepared)
    lines = (prepared / "corpus.txt").read_text("utf-8").splitlines()
    assert (found["documents"], found["differing"], found["first"]) == (len(lines), 0, None)
    assert isinstance(found["a"], dict)
    assert found["tokens_a"] == found["tokens_b"]
    assert found["a"]["n_tokens"] == found["shared_tokens"]


def test_compare_shows_where_ids_first_differ(prepared: Path) -> None:
    """The same vocabulary without its last merge: one token becomes two."""
    written = json.loads((prepared / "tokenizer.json").read_text("utf-8"))
    left, right = written["model"]["merges"].pop()
    (prepared / "one-less.json").write_text(json.dumps(written), encoding="utf-8")
    whole = sentitok.Tokenizer.from_file(prepared / "tokenizer.json")
    merged = written["model"]["vocab"][left + right]
    texts = ["nothing of it", "a", "b"]
    token = whole.decode([merged])
    (prepared / "a.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (prepared / "b.txt").write_text(f"x\nx{token}x\n", encoding="utf-8")
    args = ("compare", "tokenizer.json", "one-less.json", "a.txt", "b.txt")
    done = run(*args, "--json", cwd=prepared)
    found = json.loads(done.out)
    first = found["first"]
    assert done.code == 1
    assert (found["documents"], found["differing"]) == (5, 1)
    assert (first["file"], first["document"]) == ("b.txt", 2)
    assert first["ids_a"][0] == merged
    assert first["tokens_b"][:2] == [left, right]
    shown = run(*args, cwd=prepared)
    assert "b.txt, document 2, from token 2 on: " in shown.out
    assert "1 of 5 documents gets different ids from one-less.json" in shown.err
