"""Every option of every command acts in every mode of it, or is refused: none is ignored.

Each command runs once per mode, and again with each of its options added. The second run must end
differently: with an error, or with other words or files. Options are found by introspection, so a new
option without a probe here fails.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import sentitok
from cli_runs import run_inside
from sampled_cases import sample
from sentitok.cli.app import app

# Train on text with one byte that is not UTF-8, so that --invalid-utf8 matters everywhere.
READ = ["--invalid-utf8", "replace"]
TRAIN = ["dirty.txt", *READ, "--vocab", "400", "-o", "new.json"]

# Command -> mode -> arguments.
MODES: dict[str, dict[str, list[str]]] = {
    "train-bpe": {
        "files": TRAIN,
        "counts": ["--counts", "all.counts", "--vocab", "400", "-o", "new.json"],
        "extend": ["dirty.txt", *READ, "--extend", "merged.json", "--vocab", "700", "-o", "new.json"],
        "sentencepiece": [*TRAIN, "--method", "sentencepiece"],
        "characters": [*TRAIN, "--unit", "chars"],
        "languages": ["--balance", "parity", "other=reviews.jsonl", *TRAIN],
    },
    "train-wordpiece": {
        "files": TRAIN,
        "counts": ["--counts", "wordpiece.counts", "--vocab", "400", "-o", "new.json"],
    },
    "train-unigram": {
        "files": TRAIN,
        "counts": ["--counts", "unigram.counts", "--vocab", "400", "-o", "new.json"],
        "sentencepiece": [*TRAIN, "--method", "sentencepiece"],
    },
    "count": {"files": ["dirty.txt", *READ, "-o", "new.counts"]},
    "merge-counts": {"files": ["part-0.counts", "part-1.counts", "-o", "new.counts"]},
    "encode": {
        "files": ["dirty.txt", *READ, "-o", "new"],
        "stdin": READ,
        "text": ["--text", "A film <s>.\udcff", *READ],
        "complete": ["corpus.txt", "-o", "tokens", "--separator", "<|endoftext|>"],
        "chats": ["chats.jsonl", "--chat", "model", "-o", "new"],
        "packed": ["chats.jsonl", "--chat", "model", "-o", "new", "--pack", "130", "--truncate", "right"],
    },
    "decode": {"ids": ["0", "72", "73"], "stdin": [], "folder": ["tokens"]},
    "show": {"text": ["A film <s>."], "stdin": []},
    "info": {"tokenizer": ["tokenizer.json"], "counts": ["all.counts"], "folder": ["tokens"]},
    "verify": {"folder": ["tokens"], "counts": ["all.counts"], "tokenizer": ["tokenizer.json"]},
    "eval": {
        "files": ["tokenizer.json", "dirty.txt", "reviews.jsonl"],
        "ranks": ["ranks.tiktoken", "dirty.txt", "--pattern", "gpt2"],
        "languages": ["tokenizer.json", "--parallel", "dirty.txt", "reviews.jsonl"],
    },
    "align": {
        "text": ["tokenizer.json", "merged.json", "A film <s>."],
        "stdin": ["tokenizer.json", "merged.json"],
        "ranks": ["tokenizer.json", "ranks.tiktoken", "A film.", "--pattern", "gpt2"],
    },
    "compare": {
        "files": ["tokenizer.json", "merged.json", "dirty.txt"],
        "ranks": ["tokenizer.json", "ranks.tiktoken", "dirty.txt", "--pattern", "gpt2"],
    },
    "convert": {
        "alone": ["tokenizer.json", "new.json"],
        "ranks": ["ranks.tiktoken", "new.json", "--pattern", "gpt2"],
        "vocab": ["vocab.txt", "new.json"],
        "verify": ["tokenizer.json", "new.json", "--verify", "dirty.txt"],
    },
    "doctor": {"alone": ["tokenizer.json"], "texts": ["tokenizer.json", "dirty.txt"]},
    "prune": {"texts": ["tokenizer.json", "dirty.txt", "-o", "new.json"]},
    "transplant": {
        "folder": ["base", "framed.json", "base", "-o", "new"],
        "random": ["base", "framed.json", "base/model.safetensors", "-o", "new", "--method", "random"],
    },
    "lock": {"folder": ["base"]},
    "check": {"folder": ["locked"]},
    "bench": {
        "files": ["dirty.txt", "--rival", "sentitok"],
        "ranks": ["dirty.txt", "--rival", "sentitok", "-t", "ranks.tiktoken", "--pattern", "gpt2"],
    },
    "serve": {},
}
STDIN = b"Ein Film <s> mit <|endoftext|>.\n" + b"\xff\n"

# Options that change nothing that can be seen, and why.
UNSEEN = {
    "--threads": "no result depends on it",
    "--quiet": "says less",
    "--json": "says it otherwise",
    "--traceback": "acts only where there is an error",
    "--help": "is not an option of the work",
    "--max-memory": "no result depends on it",
    "--engine": "no result depends on it: test_executors.py",
    "--force": "acts only where a file exists: test_existing_outputs.py",
}

# Option -> calls of it of which at least one must be seen; a plain flag is its own.
PROBES: dict[str, list[list[str]]] = {
    "--vocab": [["--vocab", "390"]],
    "--add": [["--add", "9"]],
    "--out": [["-o", "other.json"], ["-o", "other"]],
    "--counts": [["--counts", "all.counts"]],
    "--extend": [["--extend", "merged.json"], ["--extend", "tokenizer.json"]],
    "--normalizer": [["--normalizer", "lowercase"]],
    "--pre-tokenizer": [["--pre-tokenizer", "cl100k"]],
    "--pattern": [["--pattern", "cl100k"], ["--pattern", r"\w+|\W"]],
    "--balance": [["--balance", "parity"], ["--balance", "fair"]],
    "--development": [["--development", "dirty.txt"]],
    "--ratio": [["--ratio", "dirty=2"]],
    "--window": [["--window", "3", "--alpha", "0.5"]],
    "--alpha": [["--alpha", "0.5"]],
    "--global-merges": [["--global-merges", "50"]],
    "--against": [["--against", "reviews"], ["--against", "dirty"]],
    "--special": [["--special", "<new>"], ["--special", "<new>=5000"]],
    "--min-frequency": [["--min-frequency", "300"]],
    "--initial-alphabet": [["--initial-alphabet", "xyz☃"]],
    "--limit-alphabet": [["--limit-alphabet", "3"]],
    "--max-token-length": [["--max-token-length", "2"]],
    "--continuing-subword-prefix": [["--continuing-subword-prefix", "@@"]],
    "--end-of-word-suffix": [["--end-of-word-suffix", "</w>"]],
    "--line-ends": [["--line-ends"]],
    "--unit": [["--unit", "chars"], ["--unit", "bytes"]],
    "--unk-token": [["--unk-token", "<huh>"]],
    "--tie-break": [["--tie-break", "bytes"], ["--tie-break", "sentencepiece"]],
    "--method": [["--method", "sentencepiece"], ["--method", "merges"], ["--method", "full"]],
    "--character-coverage": [["--character-coverage", "0.5"]],
    "--max-piece-length": [["--max-piece-length", "2"]],
    "--user-defined": [["--user-defined", "truth"]],
    "--required-chars": [["--required-chars", "☃"]],
    "--tensor": [["--tensor", "nowhere"]],
    "--token": [["--token", "the=b"]],
    "--pad-to-multiple": [["--pad-to-multiple", "64"]],
    "--score": [["--score", "pmi"]],
    "--format": [["--format", "text"], ["--format", "csv:nowhere"]],
    "--invalid-utf8": [["--invalid-utf8", "error"], ["--invalid-utf8", "replace"]],
    "--max-line-bytes": [["--max-line-bytes", "3"], ["--max-line-bytes", "many"]],
    "--max-piece-bytes": [["--max-piece-bytes", "1"]],
    "--shard": [["--shard", "1/2"]],
    "--sample": [["--sample", "50%"]],
    "--seed": [["--seed", "3"]],
    "--tokenizer": [["-t", "merged.json"]],
    "--text": [["--text", "x"]],
    "--layout": [["--layout", "megatron"]],
    "--separator": [["--separator", "!"]],
    "--chat": [["--chat", "nowhere"]],
    "--chat-template": [["--chat-template", "nowhere"]],
    "--pack": [["--pack", "200"]],
    "--truncate": [["--truncate", "left"]],
    "--pad": [["--pad", "!"]],
    "--shard-tokens": [["--shard-tokens", "50"]],
    "--specials": [["--specials", "all"], ["--specials", "raise"]],
    "--plot": [["--plot", "new.svg"]],
    "--verify": [["--verify", "corpus.txt"]],
    "--to": [["--to", "sentitok"]],
    "--min-count": [["--min-count", "300"]],
    "--id-map": [["--id-map", "new.npy"]],
    "--rival": [["--rival", "tokenizers"]],
    "--address": [["--address", "auto"]],
    "--workers": [["--workers", "2"]],
    "--on-error": [["--on-error", "skip"]],
    "--shard-bytes": [["--shard-bytes", "1M"]],
}


COMMANDS = get_command(app).commands  # type: ignore[attr-defined]  # 2026-11-29: a group


def options(command: str) -> Iterator[list[str]]:
    """The names of each option, both of a switch."""
    for param in COMMANDS[command].params:
        if param.param_type_name == "option":
            yield [*(name for name in param.opts if name.startswith("--")), *param.secondary_opts]


def calls() -> Iterator[tuple[str, str, str]]:
    for command, modes in MODES.items():
        for mode, args in modes.items():
            for names in options(command):
                is_on = names[0] in args and names[0] not in PROBES  # a switch, which once more is the same
                if names[0] not in UNSEEN and not is_on:
                    yield command, mode, names[0]


@pytest.fixture(scope="module")
def folder(named_by_examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Path(shutil.copytree(named_by_examples, tmp_path_factory.mktemp("options") / "work"))
    dirty = (made / "corpus.txt").read_bytes() + (
        b"A \xff byte, and <|endoftext|> said <s> twice.\n" + b"In   1813   or 2026, 2026 or 1813a1b2.\n" * 50
    )
    (made / "dirty.txt").write_bytes(dirty)
    for kind, splitter in (("wordpiece", "bert"), ("unigram", "metaspace-never")):
        sentitok.count(
            made / "dirty.txt",
            invalid_utf8="replace",
            pre_tokenizer=splitter,
            normalizer="hf-bert" if kind == "wordpiece" else "sentencepiece",
            out=made / f"{kind}.counts",
        )
    framed = sentitok.train_wordpiece(made / "corpus.txt", vocab_size=400)
    framed.save(made / "framed.json")
    with pytest.warns(UserWarning, match="lowered"):
        framed.save(made / "vocab.txt")
    tokenizer = sentitok.train_bpe(
        made / "corpus.txt", vocab_size=1000, special_tokens=["<s>", "<|endoftext|>"]
    )
    tokenizer.save(made / "tokenizer.json")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(made / "ranks.tiktoken")
    shutil.rmtree(made / "tokens")
    with contextlib.chdir(made):
        sentitok.encode_files("corpus.txt", "tokens", tokenizer, separator="<|endoftext|>")
    return made


def _snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


_TIMES = re.compile(r"^(seconds|peak memory).*$|[\d.]+ (s|MB/s|MB|kB|GB)\b", re.M)


def outcome(folder: Path, command: str, args: list[str]) -> Any:
    """Runs a command in this process; returns its code, its words and its files, which are removed."""
    before = _snapshot(folder)
    held = {path: path.read_bytes() for path in before}
    done = run_inside(command, *args, cwd=folder, stdin=b"0 72 73" if command == "decode" else STDIN)
    files = {}
    for path, about in _snapshot(folder).items():
        if before.get(path) != about:
            files[str(path.relative_to(folder))] = path.read_bytes()
            path.unlink()
            if path in held:
                path.write_bytes(held[path])
                os.utime(path, ns=(before[path][0],) * 2)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    return done.code, _TIMES.sub("", done.out), _TIMES.sub("", done.err), files


# Options that act only in some company, which both runs get: (command, option) -> arguments.
COMPANY: dict[tuple[str, str, str], list[str]] = {
    **{
        ("train-unigram", mode, "--hard-vocab-limit"): ["--vocab", "30000"]
        for mode in ("files", "counts", "sentencepiece")
    },
    **{
        ("encode", mode, "--add-special-tokens"): ["-t", "framed.json"] for mode in ("files", "stdin", "text")
    },
}
BASES: dict[tuple[str, ...], Any] = {}


@pytest.mark.parametrize(("command", "mode", "option"), sample(60, calls()))
def test_an_option_acts_or_is_refused(command: str, mode: str, option: str, folder: Path) -> None:
    args = MODES[command][mode]
    company = COMPANY.get((command, mode, option), [])
    args = [*args, *company]
    base = BASES.get(key := (command, *args)) or outcome(folder, command, args)
    assert base[0] != 2 or company, base
    BASES[key] = base
    names = next(names for names in options(command) if names[0] == option)
    probes = PROBES.get(option) or [[name] for name in names]
    found = [outcome(folder, command, [*args, *probe]) for probe in probes]
    assert any(one != base for one in found), f"{command} ({mode}): {option} does nothing"


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("train-bpe", ["--tie-break", "coin"]),
        ("train-bpe", ["--unit", "words"]),
        ("train-bpe", ["--normalizer", "nothing-such"]),
        ("train-bpe", ["--method", "magic"]),
        ("train-bpe", ["-o", "x.foo"]),
        ("train-bpe", ["--special", "<a>,<b>"]),
        ("train-wordpiece", ["--score", "luck"]),
        ("train-wordpiece", ["--pre-tokenizer", "nothing-such"]),
        ("train-unigram", ["--method", "magic"]),
        ("train-unigram", ["-o", "x.foo"]),
    ],
    ids=lambda value: "".join(value),
)
def test_a_dry_run_finds_wrong_options(command: str, wrong: list[str], folder: Path) -> None:
    """It estimates the same command, whose options are right or not."""
    call = [command, "corpus.txt", "-o", "new.json", "--dry-run"]
    assert run_inside(*call, cwd=folder).code == 0
    assert run_inside(*call, *wrong, cwd=folder).code == 2
    assert not (folder / "new.json").exists()
