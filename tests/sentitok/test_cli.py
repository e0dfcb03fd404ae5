"""The command `sentitok`, as a separate process: help, examples, mistakes, manners."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

import sentitok
from cli_runs import run, run_json
from commands import environment
from sentitok.cli.app import app
from sentitok.cli.command import PANELS
from sentitok.cli.output import sized

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
        "verify",
        "eval",
        "compare",
        "align",
        "convert",
    ),
    *("doctor", "prune", "transplant", "lock", "check", "bench", "serve"),
]


def examples() -> list[tuple[str, str]]:
    """Returns the examples of each help page; those of the page of all commands have no name."""
    found = []
    for name, epilog in [("", app.info.epilog), *((it.name, it.epilog) for it in COMMANDS.values())]:
        lines = (epilog or "").split("\n\n")
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
def test_examples(name: str, line: str, prepared: Path) -> None:
    if "train-" in line:
        # The folder may hold a tokenizer of another size by that name.
        (prepared / (line.split(" -o ")[1] if " -o " in line else "tokenizer.json")).unlink(missing_ok=True)
    if not set(line) & set("|><&;*$"):
        done_here = run(*shlex.split(line)[1:], cwd=prepared)
        assert done_here.code == 0, done_here.err
        assert done_here.out
        return
    command = prepared / "bin" / "sentitok"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sentitok.cli "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line, shell=True, cwd=prepared, capture_output=True, env=environment(PATH=path), check=False
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
    ("vocabulary below the alphabet", ["train-bpe", "corpus.txt", "--vocab", "10"], 2, "--vocab 10 is"),
    ("missing file", ["train-bpe", "nowhere.txt"], 2, "nowhere.txt"),
    ("missing tokenizer", ["show", "x", "-t", "nowhere.json"], 2, "nowhere.json"),
    ("no tokenizer", ["show", "x", "-t", "corpus.txt"], 2, "corpus.txt"),
    ("size", ["train-bpe", "corpus.txt", "--max-memory", "2X"], 2, "512M"),
    ("shard", ["count", "corpus.txt", "--shard", "2/2"], 2, "i/n"),
    ("tie rule", ["train-bpe", "corpus.txt", "--tie-break", "coin"], 2, "--tie-break coin: it is"),
    (
        "pre-tokenizer",
        ["train-bpe", "corpus.txt", "--pre-tokenizer", "gpt9"],
        2,
        "--pre-tokenizer gpt9: no such",
    ),
    ("shards without a directory", ["encode", "corpus.txt"], 2, "-o DIR"),
    ("text and files", ["encode", "corpus.txt", "--text", "x"], 2, "one of the two"),
    ("separator", ["encode", "corpus.txt", "-o", "x", "--separator", "<s>"], 2, "no token of tokenizer.json"),
    ("no id", ["decode", "12", "x"], 2, "'x' is not an id"),
    ("id too large", ["decode", "99999"], 1, "99999"),
    ("nothing to measure", ["eval", "corpus.txt"], 2, "at least one tokenizer"),
    ("pattern of a rank file", ["convert", "ranks.tiktoken", "x.json"], 2, "--pattern"),
    ("special", ["convert", "ranks.tiktoken", "x.json", "--special", "<s>"], 2, "TOKEN=ID"),
    ("rival", ["bench", "corpus.txt", "--rival", "abacus"], 2, "one of sentitok, tokenizers"),
]


@pytest.mark.parametrize(("name", "args", "code", "message"), WRONG_CALLS, ids=lambda value: str(value)[:30])
def test_wrong_calls(name: str, args: list[str], code: int, message: str, prepared: Path) -> None:
    done = run(*args, cwd=prepared)
    assert (done.code, done.out) == (code, ""), done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_error_is_one_line_and_traceback_on_request(prepared: Path) -> None:
    assert len(run("info", "nowhere.json", cwd=prepared).err.splitlines()) == 1
    done = run("info", "nowhere.json", "--traceback", cwd=prepared)
    assert done.code == 2
    assert "Traceback" in done.err


def test_no_box_and_no_colour_without_a_terminal(prepared: Path) -> None:
    for args in (["--help"], ["train-bpe", "--help"], ["train-bpe"], ["nonsense"], ["show", "a film"]):
        done = run(*args, cwd=prepared)
        assert not re.search("[╭╮╰╯─\x1b]", done.out + done.err)


@pytest.mark.parametrize("command", ["compare", "eval"])
def test_arguments_are_looked_at_first(command: str, prepared: Path) -> None:
    refused = run(command, "tokenizer.json", "merged.json", "corpus.txt", "nothing.txt", cwd=prepared)
    assert (refused.code, refused.out) == (2, "")
    assert "nothing.txt" in refused.err


def test_bench_compares_ids(prepared: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    found = run_json("bench", "corpus.txt", "--rival", "tokenizers", cwd=prepared)
    rows = found["results"]
    assert isinstance(rows, list)
    assert [(row["rival"], row["ids"]) for row in rows] == [("sentitok", "equal"), ("tokenizers", "equal")]


@pytest.mark.skipif(os.name == "nt", reason="named pipes are POSIX")
def test_what_is_written_is_named_with_its_size(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(bytes(1_500))
    os.mkfifo(tmp_path / "pipe")
    assert sized(tmp_path / "one") == f"{tmp_path / 'one'} (1.5 kB)"
    assert sized(tmp_path) == f"{tmp_path} (3.0 kB)"
    assert sized(tmp_path / "pipe") == f"{tmp_path / 'pipe'}"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_ctrl_c(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "sentitok.cli", "train-bpe", "pipe", "--vocab", "300"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    with (tmp_path / "pipe").open("wb") as pipe:
        pipe.write(b"some text\n" * 1000)
        pipe.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert b"Ctrl-C" in err
    assert b"Traceback" not in err
    assert not (tmp_path / "tokenizer.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="pipes are POSIX")
def test_closed_pipe_is_quiet(prepared: Path) -> None:
    command = f'"{sys.executable}" -m sentitok.cli decode tokens | head -c 10'
    done = subprocess.run(command, shell=True, cwd=prepared, capture_output=True, check=False)
    assert len(done.stdout) == 10
    assert done.stderr == b""


def test_summaries_of_commands_are_whole(tmp_path: Path) -> None:
    """In 80 columns, which a pipe has."""
    listed = run("--help", cwd=tmp_path).out.partition("Train:")[2].partition("Examples:")[0]
    assert [name for name in NAMES if re.search(rf"^  {name} +[A-Z]", listed, re.M)] == NAMES
    assert "..." not in listed


@pytest.mark.parametrize("width", ["80", "120"])
@pytest.mark.parametrize("name", NAMES)
def test_help_is_in_panels(name: str, width: str, tmp_path: Path) -> None:
    shown = run(name, "--help", cwd=tmp_path, COLUMNS=width).out
    assert max(map(len, shown.splitlines())) <= int(width)
    panels = [line.removesuffix(":") for line in re.findall(r"^[A-Z][A-Za-z ]+:$", shown, re.M)]
    options = panels[panels.index("Options") :]
    assert options == sorted(options, key=PANELS.index)
    # The help of the first panel is read; a page of options is not.
    first = shown.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert "--help" in first
    assert len(re.findall(r"^  -", first, re.M)) <= 12


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
