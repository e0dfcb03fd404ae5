"""The pages whose commands and Python are run, and what runs them.

A block of commands (`console`) has lines `$ command`, each followed by its output, or by part of it. What
differs from run to run is not compared, and of what `senti` prints only the words are: its numbers are
those of a trained model, and differ a little from machine to machine. A line that is but a call of
`sentitok` or `senti` runs in this process, which has imported all once (`typed`).
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cli_runs import run_inside
from commands import start
from web_server import Client

ROOT = Path(__file__).resolve().parent.parent
# Every page that is in git.
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
# Each in a separate folder, in order: a later block uses what an earlier one wrote.
PAGES = {
    "readme": ROOT / "README.md",
    **{
        name.rpartition("/")[2]: ROOT / "docs" / f"{name}.md"
        for name in (
            "tutorials/tokenizer",
            "tutorials/classifier",
            "tutorials/language-model",
            "how-to/extend",
            "how-to/count-tokens",
            "how-to/stream",
            "how-to/speed",
            "how-to/predict",
            "how-to/train",
            "how-to/classify",
            "how-to/several-labels",
            "how-to/ordered-labels",
            "how-to/wrong-labels",
            "how-to/thresholds",
            "how-to/compare",
            "how-to/reproduce",
            "how-to/long-texts",
            "how-to/from-fasttext",
            "how-to/chats",
            "how-to/languages",
            "explanation/scale",
        )
    },
}

# What differs between two runs or two machines.
VOLATILE = re.compile(r"seconds|peak memory|MB/s|^steps ")
# A call of a command that asks no more of a shell than to write a file, or to print a text into it.
PLAIN = re.compile(
    r"(printf '([^'%]*)' \| )?((?:senti|sentitok) (?:[^|&;<>$`*'\"]|'[^']*'|\"[^\"$`]*\")*?)( > (\S+))?"
)
# A run that is trained less here than on the page; its output has the same words.
LESS = {
    "--arch gpt --preset nano --out": "--arch gpt --preset nano --epochs 2 --out",
    "--max-len 8 --epochs 4": "--max-len 8 --epochs 1",
    "--max-len 8 --windows --epochs 4": "--max-len 8 --windows --epochs 1",
    "--arch cnn --preset nano --epochs 3 --": "--arch cnn --preset nano --epochs 1 --",
    "--steps 300": "--steps 3",
}
NUMBER = re.compile(r"[-+]?\d[\d,.]*( [MG]B\b)?|beats|does not beat| +|─+")


def blocks(page: Path, language: str) -> list[str]:
    """Returns the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Returns each command of a block, without the comment at its end, with its output."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((re.sub(r"  # .*", "", line[2:]), []))
        elif line.strip():
            found[-1][1].append(line.rstrip())
    return found


def words(line: str) -> str:
    """A line without its numbers, their unit where it depends on them, and the spaces between columns."""
    return NUMBER.sub(" ", line).strip()


def prepare(folder: Path) -> None:
    """Has a page's paths lead somewhere in a folder, and puts the commands there."""
    (folder / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    (folder / "bin").mkdir()
    for name, package in (("sentitok", "sentitok.cli"), ("senti", "sentimodels.cli")):
        command = folder / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {package} "$@"\n')
        command.chmod(0o755)


def run_all(found: list[tuple[str, list[str]]], folder: Path) -> None:
    """Runs commands in order; a server runs until the first command that asks it nothing."""
    with ExitStack() as open_server:
        client: Client | None = None
        for command, output in found:
            program = command.split()[0]
            if program == "curl":
                if client is not None:  # else there is no PyTorch, and so no server
                    ask(client, command, output)
                continue
            open_server.close()
            client = None
            if program == "make":  # these set up .venv, test and measure for minutes: the target must exist
                subprocess.run(["make", "-n", command.split()[1]], cwd=ROOT, check=True, capture_output=True)
            elif program == "pip":
                check_extras(command)
            elif "senti " in command and find_spec("torch") is None:
                continue  # no PyTorch for this Python, so no `senti`
            elif re.match(r"(senti|sentitok) serve ", command):
                if find_spec("starlette") is not None:
                    client = open_server.enter_context(server(command, output, folder))
            else:
                run_one(command, output, folder)


def run_one(command: str, output: list[str], folder: Path) -> None:
    """Runs a command, and compares its output with the page."""
    code, out, err = (typed if PLAIN.fullmatch(command) else in_shell)(command, folder)
    assert code == 0, f"{command}\n{err}"
    printed = [line.rstrip() for line in out.splitlines()]
    if "senti " in command:
        printed, output = [words(line) for line in printed], [words(line) for line in output]
    missing = [line for line in output if not VOLATILE.search(line) and line not in printed]
    assert not missing, f"{command}\n{out}"


def in_shell(command: str, folder: Path) -> tuple[int, str, str]:
    """Returns the code of a line of the shell, and what it wrote to stdout and stderr."""
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def typed(command: str, folder: Path) -> tuple[int, str, str]:
    """Runs `[printf TEXT |] COMMAND WORD... [> FILE]` in this process, as `in_shell` runs it."""
    plain = PLAIN.fullmatch(command)
    assert plain is not None
    _, text, line, _, target = plain.groups("")
    for shown, run in LESS.items():
        line = line.replace(shown, run)
    program, *args = shlex.split(line)
    text = text.replace(r"\n", "\n")
    done: Any
    if program == "sentitok":
        done = run_inside(*args, cwd=folder, stdin=text.encode())
    else:
        from senti_in_process import senti

        done = senti(*args, cwd=folder, stdin=text)
    if not target:
        return done.code, done.out, done.err
    (folder / target).write_text(done.out, "utf-8")
    return done.code, "", done.err


def check_extras(command: str) -> None:
    """Checks `pip install "NAME[extra,...]"`: the extras are there, and bring PyTorch."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (named,) = re.findall(r"\[(.+)\]", command)
    brought = {re.split(r"\W", one)[0] for extra in named.split(",") for one in extras[extra]}
    assert "torch" in brought


@contextmanager
def server(command: str, output: list[str], folder: Path) -> Iterator[Client]:
    """Runs a server on a free port, compares what it says, and stops it as Ctrl-C does."""
    program, line = command.split(maxsplit=1)
    with start(f"{line} --port 0", program=program, cwd=folder) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline().decode().rstrip() for _ in output]
            port = next((urlsplit(one.split()[-1]).port for one in said if "http://" in one), None)
            assert port, (said, process.stderr.read() if process.stderr else "")
            assert [one.replace(f":{port}/", ":8000/") for one in said] == output
            yield Client(port)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=180)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    assert process.returncode == 130


def ask(client: Client, command: str, output: list[str]) -> None:
    """Does what a line with `curl` does; the answer has at least the fields and words that are shown."""
    given = [word for word in shlex.split(command)[1:] if not word.startswith("-")]
    answer = client.json(given[0].removeprefix("localhost:8000"), *map(json.loads, given[1:]))
    for line in output:
        shown = json.loads(line)
        part = {name: answer[name] for name in shown}
        assert words(json.dumps(part)) == words(json.dumps(shown)), answer
