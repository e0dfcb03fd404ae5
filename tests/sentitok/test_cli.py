"""The command `sentitok`, from outside: every test is a process of its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import sentitok
from commands import environment
from sentitok.cli.app import app
from sentitok.datasets import TokenDataset

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "tests" / "data" / "corpus"

COMMANDS = {command.name: command for command in app.registered_commands}
NAMES = [
    *(
        "train-bpe",
        "train-wordpiece",
        "train-unigram",
        "count",
        "merge-counts",
        "encode",
        "decode",
        "show",
        "info",
        "eval",
        "compare",
        "convert",
    ),
    *("doctor", "prune", "bench", "serve"),
]


@dataclass
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


def run(*args: str | Path, cwd: Path, stdin: bytes = b"", **more: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "sentitok.cli", *map(str, args)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=environment(**more),
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_json(*args: str | Path, cwd: Path, stdin: bytes = b"") -> dict[str, object]:
    done = run(*args, "--json", cwd=cwd, stdin=stdin)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 1
    found: dict[str, object] = json.loads(done.out)
    assert str(found["schema"]).startswith(f"sentitok.{args[0]}/")
    return found


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of `--help` name."""
    folder = tmp_path_factory.mktemp("cli")
    lines = (CORPUS / "pride-and-prejudice.txt").read_text("utf-8").splitlines(keepends=True)
    corpus = folder / "corpus.txt"
    corpus.write_text("".join(lines[200:500]), encoding="utf-8", newline="")
    records = [json.dumps({"text": line.strip()}) for line in lines[500:600]]
    (folder / "reviews.jsonl").write_text("\n".join(records), encoding="utf-8")
    tokenizer = sentitok.train_bpe(corpus, vocab_size=1000)
    tokenizer.save(folder / "tokenizer.json")
    shutil.copy(folder / "tokenizer.json", folder / "theirs.json")
    sentitok.train_bpe(corpus, vocab_size=600).save(folder / "merged.json")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(folder / "ranks.tiktoken")
    sentitok.count(corpus, out=folder / "all.counts")
    for part in (0, 1):
        sentitok.count(corpus, shard=(part, 2), out=folder / f"part-{part}.counts")
    sentitok.merge_counts([folder / "part-0.counts", folder / "part-1.counts"], folder / "merged.counts")
    with contextlib.chdir(folder):
        # A data set knows its sources by the names they were given.
        sentitok.encode_files("corpus.txt", "tokens", tokenizer)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of it, so that tests do not see each other."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


def examples() -> list[tuple[str, str]]:
    found = []
    for name, command in COMMANDS.items():
        lines = (command.epilog or "").split("\n\n")
        found += [(str(name), line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]
    return found


def test_all_commands_are_there() -> None:
    assert list(COMMANDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples_that_are_tested(name: str, tmp_path: Path) -> None:
    done = run(name, "--help", cwd=tmp_path, COLUMNS="200")
    assert (done.code, done.err) == (0, "")
    shown = re.findall(r"^\s*\$ (sentitok .*)$", done.out, re.M)
    assert shown == [line for command, line in examples() if command == name]
    assert 2 <= len(shown) <= 3
    for flag in ("--json", "--quiet", "--traceback"):
        assert flag in done.out


@pytest.mark.skipif(os.name == "nt", reason="the examples are lines for a POSIX shell")
@pytest.mark.parametrize(("name", "line"), [one for one in examples() if one[0] != "serve"])
def test_examples(name: str, line: str, folder: Path) -> None:
    command = folder / "bin" / "sentitok"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sentitok.cli "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, env=environment(PATH=path), check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout


# (name, arguments, exit code, part of stderr)
WRONG_CALLS = [
    ("no source", ["train-bpe", "--vocab", "300"], 2, "give text files or --counts"),
    ("both modes", ["train-bpe", "corpus.txt", "--json", "-q"], 2, "exclude each other"),
    ("near miss", ["train-bp", "corpus.txt"], 2, "train-bpe"),
    ("unknown flag", ["show", "x", "--tokeniser", "t"], 2, "No such option"),
    ("no number", ["train-bpe", "corpus.txt", "--vocab", "many"], 2, "not a whole number"),
    ("too small", ["train-bpe", "corpus.txt", "--vocab", "0"], 2, "below 1"),
    ("too large", ["train-bpe", "corpus.txt", "--vocab", str(10**30)], 2, "is above"),
    ("suffix", ["train-bpe", "corpus.txt", "-o", "x.foo"], 2, "end it in .json"),
    ("file as directory", ["train-bpe", "corpus.txt", "-o", "corpus.txt/x.json"], 2, "Not a directory"),
    ("stdout", ["count", "corpus.txt", "-o", "-"], 2, "not to stdout"),
    ("specials", ["show", "x", "--specials", "some"], 2, "none, all or raise"),
    ("column", ["eval", "tokenizer.json", "corpus.txt", "--format", "csv:text"], 2, 'no column "text"'),
    ("vocabulary below the alphabet", ["train-bpe", "corpus.txt", "--vocab", "10"], 2, "256"),
    ("missing file", ["train-bpe", "nowhere.txt"], 2, "nowhere.txt"),
    ("missing tokenizer", ["show", "x", "-t", "nowhere.json"], 2, "nowhere.json"),
    ("no tokenizer", ["show", "x", "-t", "corpus.txt"], 2, "corpus.txt"),
    ("size", ["train-bpe", "corpus.txt", "--max-memory", "2X"], 2, "512M"),
    ("shard", ["count", "corpus.txt", "--shard", "2/2"], 2, "i/n"),
    ("tie rule", ["train-bpe", "corpus.txt", "--tie-break", "coin"], 2, "coin"),
    ("pre-tokenizer", ["train-bpe", "corpus.txt", "--pre-tokenizer", "gpt9"], 2, "gpt9"),
    ("shards without a directory", ["encode", "corpus.txt"], 2, "-o DIR"),
    ("text and files", ["encode", "corpus.txt", "--text", "x"], 2, "one of the two"),
    ("no id", ["decode", "12", "x"], 2, "'x' is no id"),
    ("id too large", ["decode", "99999"], 1, "99999"),
    ("nothing to measure", ["eval", "corpus.txt"], 2, "at least one tokenizer"),
    ("pattern of a rank file", ["convert", "ranks.tiktoken", "x.json"], 2, "--pattern"),
    ("special", ["convert", "ranks.tiktoken", "x.json", "--special", "<s>"], 2, "TOKEN=ID"),
    ("rival", ["bench", "corpus.txt", "--rival", "abacus"], 2, "one of sentitok, tokenizers"),
    ("counts to estimate", ["train-bpe", "--counts", "all.counts", "--dry-run"], 2, "--dry-run"),
]


@pytest.mark.parametrize(("name", "args", "code", "message"), WRONG_CALLS, ids=lambda value: str(value)[:30])
def test_wrong_calls(name: str, args: list[str], code: int, message: str, folder: Path) -> None:
    done = run(*args, cwd=folder)
    assert (done.code, done.out) == (code, ""), done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_error_is_one_line_and_traceback_on_request(folder: Path) -> None:
    assert len(run("info", "nowhere.json", cwd=folder).err.splitlines()) == 1
    done = run("info", "nowhere.json", "--traceback", cwd=folder)
    assert done.code == 2
    assert "Traceback" in done.err


def test_no_box_and_no_colour_without_a_terminal(folder: Path) -> None:
    for args in (["--help"], ["train-bpe", "--help"], ["train-bpe"], ["nonsense"], ["show", "a film"]):
        done = run(*args, cwd=folder)
        assert not re.search("[╭╮╰╯─\x1b]", done.out + done.err)


def test_train_summary(folder: Path) -> None:
    done = run("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    tokenizer = sentitok.Tokenizer.from_file(folder / "new.json")
    for part in ("vocabulary", "400", "merges", "144", "bytes/token", "seconds", "peak memory", "new.json"):
        assert part in done.out
    assert tokenizer.fingerprint in done.out
    assert "sentitok show" in done.out.splitlines()[-1]


def test_train_quiet_and_json(folder: Path) -> None:
    quiet = run("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", "-q", cwd=folder)
    assert (quiet.code, quiet.out, quiet.err) == (0, "new.json\n", "")
    found = run_json("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", cwd=folder)
    assert found["vocab_size"] == 400
    assert found["merges"] == 144
    assert isinstance(found["bytes_per_token"], float)


def test_train_is_the_library_and_the_road_does_not_matter(folder: Path) -> None:
    expected = sentitok.train_bpe(folder / "corpus.txt", vocab_size=500).to_bytes()
    text = (folder / "corpus.txt").read_bytes()
    calls: list[tuple[list[str], bytes]] = [
        (["corpus.txt", "--threads", "2"], b""),
        (["-"], text),
        (["--counts", "all.counts"], b""),
        (["--counts", "part-0.counts", "--counts", "part-1.counts"], b""),
        (["corpus.txt", "--max-memory", "64k"], b""),
    ]
    for args, stdin in calls:
        done = run("train-bpe", *args, "--vocab", "500", "-o", "new.json", cwd=folder, stdin=stdin)
        assert done.code == 0, done.err
        assert sentitok.Tokenizer.from_file(folder / "new.json").to_bytes() == expected


def test_train_options_reach_the_trainer(folder: Path) -> None:
    options = ["--special", "<a>", "--special", "<b>", "--min-frequency", "3", "--max-token-length", "6"]
    options += ["--pre-tokenizer", "cl100k", "--tie-break", "bytes"]
    assert run("train-bpe", "corpus.txt", "--vocab", "450", *options, "-o", "new.json", cwd=folder).code == 0
    expected = sentitok.train_bpe(
        folder / "corpus.txt",
        vocab_size=450,
        special_tokens=["<a>", "<b>"],
        min_frequency=3,
        max_token_length=6,
        pre_tokenizer="cl100k",
        tie_break="bytes",
    )
    assert sentitok.Tokenizer.from_file(folder / "new.json").fingerprint == expected.fingerprint


# Command: flags, and what they mean in Python.
OPTIONS: dict[str, list[tuple[str, str, object]]] = {
    "train-wordpiece": [
        ("--cased", "lowercase", False),
        ("--score=likelihood", "score", "likelihood"),
        ("--min-frequency=2", "min_frequency", 2),
        ("--unk-token=<?>", "unk_token", "<?>"),
        ("--initial-alphabet=ßπ", "initial_alphabet", "ßπ"),
        ("--max-token-length=5", "max_token_length", 5),
    ],
    "train-unigram": [
        ("--unk-token=<?>", "unk_token", "<?>"),
        ("--required-chars=ßπ", "required_chars", "ßπ"),
        ("--join-words", "split_by_whitespace", False),
        ("--pre-tokenizer=metaspace-never-unsplit", "pre_tokenizer", "metaspace-never-unsplit"),
        ("--join-scripts", "split_by_unicode_script", False),
        ("--join-numbers", "split_by_number", False),
        ("--hard-vocab-limit", "hard_vocab_limit", True),
        ("--character-coverage=1", "character_coverage", 1.0),
        ("--max-piece-length=7", "max_piece_length", 7),
    ],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_options_reach_the_trainers(command: str, folder: Path) -> None:
    flags = [flag for flag, _, _ in OPTIONS[command]]
    done = run(command, "corpus.txt", "--vocab", "400", *flags, "-o", "new.json", cwd=folder)
    assert done.code == 0, done.err
    train: Callable[..., sentitok.Tokenizer] = getattr(sentitok, command.replace("-", "_"))
    options = {name: value for _, name, value in OPTIONS[command]}
    train(folder / "corpus.txt", vocab_size=400, **options).save(folder / "expected.json")
    assert (folder / "new.json").read_bytes() == (folder / "expected.json").read_bytes()


def test_extend_keeps_ids(folder: Path) -> None:
    done = run(
        "train-bpe", "corpus.txt", "--extend", "merged.json", "--vocab", "700", "-o", "new.json", cwd=folder
    )
    assert done.code == 0, done.err
    base = sentitok.Tokenizer.from_file(folder / "merged.json")
    longer = sentitok.Tokenizer.from_file(folder / "new.json")
    assert longer.vocab_size == 700
    assert [longer.id_to_bytes(id) for id in range(600)] == [base.id_to_bytes(id) for id in range(600)]


@pytest.mark.parametrize(
    ("command", "normalizer", "pre_tokenizer"),
    [
        ("train-bpe", None, "gpt2"),
        ("train-wordpiece", "hf-bert", "bert"),
        ("train-unigram", "sentencepiece", "metaspace-never"),
    ],
)
def test_dry_run_writes_nothing(
    command: str, normalizer: str | None, pre_tokenizer: str, folder: Path
) -> None:
    found = run_json(command, "corpus.txt", "--dry-run", "-o", "new.json", cwd=folder)
    counted = sentitok.count(folder / "corpus.txt", normalizer=normalizer, pre_tokenizer=pre_tokenizer)
    assert counted is not None
    assert found["estimated_distinct_pieces"] == len(counted)
    assert not (folder / "new.json").exists()


def test_count_skips_what_is_there(folder: Path) -> None:
    before = (folder / "all.counts").stat().st_mtime_ns
    assert run_json("count", "corpus.txt", "-o", "all.counts", cwd=folder)["skipped"] is True
    assert (folder / "all.counts").stat().st_mtime_ns == before
    other = run("count", "corpus.txt", "-o", "all.counts", "--pre-tokenizer", "cl100k", cwd=folder)
    assert other.code == 2
    assert "another pipeline" in other.err
    no_counts = run("count", "corpus.txt", "-o", "reviews.jsonl", cwd=folder)
    assert no_counts.code == 2
    assert "no counts file" in no_counts.err


def test_merge_refuses_another_pipeline(folder: Path) -> None:
    sentitok.count(folder / "corpus.txt", pre_tokenizer="cl100k", out=folder / "other.counts")
    done = run("merge-counts", "all.counts", "other.counts", "-o", "sum.counts", cwd=folder)
    assert done.code == 2
    assert not (folder / "sum.counts").exists()


def test_merged_parts_are_the_whole(folder: Path) -> None:
    assert run("merge-counts", "part-0.counts", "part-1.counts", "-o", "sum.counts", cwd=folder).code == 0
    assert (folder / "sum.counts").read_bytes() == (folder / "all.counts").read_bytes()


# (name, text as bytes)
TEXTS = [
    ("ASCII", b"A gripping film."),
    ("scripts", "naïve 日本語 👍🏽\r\n\tend".encode()),
    ("nothing", b""),
]


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_encode_and_decode_are_inverse(name: str, text: bytes, folder: Path) -> None:
    ids = run("encode", cwd=folder, stdin=text)
    assert ids.code == 0, ids.err
    tokenizer = sentitok.Tokenizer.from_file(folder / "tokenizer.json")
    assert ids.out.split() == [str(id) for id in tokenizer.encode(text).ids]
    back = subprocess.run(
        [sys.executable, "-m", "sentitok.cli", "decode"],
        input=ids.out.encode(),
        capture_output=True,
        cwd=folder,
        check=True,
    )
    assert back.stdout == text


def test_encode_files_and_back(folder: Path) -> None:
    found = run_json("encode", "corpus.txt", "-o", "out", cwd=folder)
    assert (folder / "out" / "manifest.json").exists()
    assert isinstance(found["manifest"], dict)
    back = subprocess.run(
        [sys.executable, "-m", "sentitok.cli", "decode", "out"], capture_output=True, cwd=folder, check=True
    )
    assert back.stdout == (folder / "corpus.txt").read_bytes()


def test_encode_says_what_it_left_alone(folder: Path) -> None:
    """A complete data set is named as such; a pipe is never taken for the one before."""
    assert run_json("encode", "corpus.txt", "-o", "again", cwd=folder)["skipped"] is False
    assert run_json("encode", "corpus.txt", "-o", "again", cwd=folder)["skipped"] is True
    assert "--restart" in run("encode", "corpus.txt", "-o", "again", cwd=folder).out
    assert run("encode", "-", "-o", "piped", cwd=folder, stdin=b"One.\n").code == 0
    refused = run("encode", "-", "-o", "piped", cwd=folder, stdin=b"Another.\n")
    assert refused.code == 2
    assert "--restart" in refused.err
    assert run("encode", "-", "-o", "piped", "--restart", cwd=folder, stdin=b"Another.\n").code == 0
    assert run("decode", "piped", cwd=folder).out == "Another.\n"


def test_encode_files_knows_specials_if_asked(folder: Path) -> None:
    tokenizer = sentitok.Tokenizer.from_file(folder / "tokenizer.json").with_specials(["<|end|>"])
    tokenizer.save(folder / "special.json")
    (folder / "marked.txt").write_text("A film.<|end|>\n", encoding="utf-8")
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
            cwd=folder,
        )
        ids = TokenDataset(folder / f"marked-{what}")[0].tolist()
        assert ids == tokenizer.encode("A film.<|end|>\n", specials=what).ids.tolist()
        assert (tokenizer.token_to_id("<|end|>") in ids) == (what == "all")


def test_show_without_colour(folder: Path) -> None:
    done = run("show", "a \t\n é👍\x1b[31m", cwd=folder)
    assert done.code == 0
    tokens = done.out.splitlines()
    shown = "".join(tokens[0:-1:2])
    for part in ("⋅", "→", "↵", "│", "\\x1b"):
        assert part in shown
    assert "�" not in done.out
    assert "\x1b" not in done.out
    tokenizer = sentitok.Tokenizer.from_file(folder / "tokenizer.json")
    ids = [int(id) for line in tokens[1:-1:2] for id in line.split("│")]
    assert ids == tokenizer.encode("a \t\n é👍\x1b[31m").ids.tolist()


def test_show_spells_parts_of_characters(folder: Path) -> None:
    done = run("show", "\U0001d54f", cwd=folder)
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
def test_colour(name: str, variables: dict[str, str], expected: bool, folder: Path) -> None:
    done = run("show", "A gripping film.", cwd=folder, stdin=b"", **variables)
    assert ("\x1b[" in done.out) is expected


def test_show_json(folder: Path) -> None:
    found = run_json("show", "naïve", cwd=folder)
    tokens = found["tokens"]
    assert isinstance(tokens, list)
    assert b"".join(bytes.fromhex(token["bytes"]) for token in tokens) == "naïve".encode()


def test_info(folder: Path) -> None:
    tokenizer = sentitok.Tokenizer.from_file(folder / "tokenizer.json")
    assert run_json("info", "tokenizer.json", cwd=folder)["fingerprint"] == tokenizer.fingerprint
    assert run("info", "tokenizer.json", "-q", cwd=folder).out.strip() == tokenizer.fingerprint
    counts = run_json("info", "all.counts", cwd=folder)
    assert counts["kind"] == "counts"
    assert "documents" in run("info", "all.counts", cwd=folder).out


def test_eval_side_by_side(folder: Path) -> None:
    found = run_json("eval", "tokenizer.json", "merged.json", "corpus.txt", cwd=folder)
    rows = found["evaluations"]
    assert isinstance(rows, list)
    assert [row["tokenizer"] for row in rows] == ["tokenizer.json", "merged.json"]
    assert rows[0]["bytes_per_token"] > rows[1]["bytes_per_token"]
    shown = run("eval", "tokenizer.json", "merged.json", "corpus.txt", cwd=folder).out
    assert len(shown.splitlines()) == 3


def test_convert_verifies(folder: Path) -> None:
    found = run_json("convert", "tokenizer.json", "new.tiktoken", "--verify", "corpus.txt", cwd=folder)
    assert found["differing"] == 0
    lines = (folder / "corpus.txt").read_text("utf-8").splitlines()
    assert found["documents"] == len(lines)


def test_convert_names_the_fingerprint_of_the_file(folder: Path) -> None:
    """Ranks become merges, so the file is not the tokenizer that was read."""
    found = run_json("convert", "ranks.tiktoken", "ranks.json", "--pattern", "gpt2", cwd=folder)
    assert found["fingerprint"] == run_json("info", "ranks.json", cwd=folder)["fingerprint"]


def test_convert_verifies_a_pattern_of_ones_own(folder: Path) -> None:
    args = ["corpus.txt", "--vocab", "300", "--pattern", r"\w+|\W", "-o", "own.json"]
    assert run("train-bpe", *args, cwd=folder).code == 0
    found = run_json("convert", "own.json", "own.tiktoken", "--verify", "corpus.txt", cwd=folder)
    assert found["differing"] == 0


def test_convert_finds_a_difference(folder: Path) -> None:
    """With another pattern the same ranks give other ids: exit 1, first place shown."""
    args = ["ranks.tiktoken", "new.tiktoken", "--pattern", "whitespace", "--verify", "corpus.txt"]
    done = run("convert", *args, cwd=folder)
    assert done.code in (0, 1)
    text = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    text["model"]["merges"] = text["model"]["merges"][:-300]
    (folder / "fewer.json").write_text(json.dumps(text), encoding="utf-8")
    args = ["fewer.json", "new.tiktoken", "--force", "--verify", "corpus.txt"]
    refused = run("convert", *args, cwd=folder)
    assert refused.code == 1
    assert "new.tiktoken" in refused.err


def test_compare_says_that_ids_are_equal(folder: Path) -> None:
    assert run("convert", "tokenizer.json", "same.sentitok", cwd=folder).code == 0
    found = run_json("compare", "tokenizer.json", "same.sentitok", "corpus.txt", cwd=folder)
    lines = (folder / "corpus.txt").read_text("utf-8").splitlines()
    assert (found["documents"], found["differing"], found["first"]) == (len(lines), 0, None)
    assert isinstance(found["a"], dict)
    assert found["tokens_a"] == found["tokens_b"]
    assert found["a"]["n_tokens"] == found["shared_tokens"]


def test_compare_shows_where_ids_first_differ(folder: Path) -> None:
    """The same vocabulary without its last merge: one token becomes two."""
    written = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    left, right = written["model"]["merges"].pop()
    (folder / "one-less.json").write_text(json.dumps(written), encoding="utf-8")
    whole = sentitok.Tokenizer.from_file(folder / "tokenizer.json")
    merged = written["model"]["vocab"][left + right]
    texts = ["nothing of it", "a", "b"]
    token = whole.decode([merged])
    (folder / "a.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (folder / "b.txt").write_text(f"x\nx{token}x\n", encoding="utf-8")
    args = ("compare", "tokenizer.json", "one-less.json", "a.txt", "b.txt")
    done = run(*args, "--json", cwd=folder)
    found = json.loads(done.out)
    first = found["first"]
    assert done.code == 1
    assert (found["documents"], found["differing"]) == (5, 1)
    assert (first["file"], first["document"]) == ("b.txt", 2)
    assert first["ids_a"][0] == merged
    assert first["tokens_b"][:2] == [left, right]
    shown = run(*args, cwd=folder)
    assert "b.txt, document 2, from token 2 on: " in shown.out
    assert "1 of 5 documents gets other ids from one-less.json" in shown.err


@pytest.mark.parametrize("command", ["compare", "eval"])
def test_arguments_are_looked_at_first(command: str, folder: Path) -> None:
    refused = run(command, "tokenizer.json", "merged.json", "corpus.txt", "nothing.txt", cwd=folder)
    assert (refused.code, refused.out) == (2, "")
    assert "nothing.txt" in refused.err


def test_bench_compares_ids(folder: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    found = run_json("bench", "corpus.txt", "--rival", "tokenizers", cwd=folder)
    rows = found["results"]
    assert isinstance(rows, list)
    assert [(row["rival"], row["ids"]) for row in rows] == [("sentitok", "equal"), ("tokenizers", "equal")]


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_ctrl_c(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "sentitok.cli", "train-bpe", "pipe", "--vocab", "300"]
    # Where the tests run in the background SIGINT is ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    with (tmp_path / "pipe").open("wb") as pipe:
        pipe.write(b"some text\n" * 1000)
        pipe.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        started = time.perf_counter()
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert b"Ctrl-C" in err
    assert b"Traceback" not in err
    assert time.perf_counter() - started < 2
    assert not (tmp_path / "tokenizer.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="pipes are POSIX")
def test_closed_pipe_is_quiet(folder: Path) -> None:
    command = f'"{sys.executable}" -m sentitok.cli decode tokens | head -c 10'
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)
    assert len(done.stdout) == 10
    assert done.stderr == b""


def test_start_is_quick_and_light() -> None:
    code = "import sys; from sentitok.cli.app import app; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {name.split(".")[0] for name in done.stdout.split()} & {"rich", "pydantic", "numpy", "pandas"}
    code = "import sys; from sentitok.cli import main\ntry: main()\nfinally: print('pydantic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "count", "nowhere.txt", "--threads", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == "False\n"


def test_version(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).out == f"sentitok {sentitok.__version__}\n"


def test_parameters_are_read_by_readers_of_our_own() -> None:
    """Through the method that click names for it, not through typer, which would import pydantic."""
    command: Any = typer.main.get_command(app)
    with command.make_context("sentitok", ["count", "x"]) as context:
        count = command.get_command(context, "count")
        params = {param.name: param for param in count.get_params(context)}
    own = {name for name, param in params.items() if "process_value" in vars(param)}
    assert own == params.keys()
