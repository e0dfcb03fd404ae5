"""Runs what the README shows: commands, Python, and compares the output.

A block of commands has lines `$ command`, each followed by its output; lines
with times and memory differ from run to run and are not compared, and of what `senti`
prints only the words are: its numbers are those of a trained model, and differ a little
from machine to machine.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")

# What differs between two runs or two machines.
VOLATILE = re.compile(r"seconds|peak memory|MB/s|^steps ")
NUMBER = re.compile(r"[-+]?\d[\d,.]*|beats|does not beat| +|─+")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the README's blocks with its output."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip():
                found[-1][1].append(line.rstrip())
    return found


def words(line: str) -> str:
    """A line without its numbers and the spaces between columns."""
    return NUMBER.sub(" ", line).strip()


def target(command: str) -> str:
    """`make demo   # words` -> `demo`."""
    return command.split("#")[0].split()[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place where the README's paths lead somewhere, and its files can go."""
    made = tmp_path_factory.mktemp("readme")
    (made / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    (made / "bin").mkdir()
    for name, module in (("sentitok", "sentitok.cli"), ("senti", "sentimodels.cli")):
        command = made / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        command.chmod(0o755)
    return made


def test_the_readme_has_commands() -> None:
    assert len(commands()) >= 4
    assert blocks("python")


@pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
def test_commands(folder: Path) -> None:
    """In order: a later command uses what an earlier one wrote."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command, output in commands():
        if command.startswith("make "):
            # These set up .venv, test and measure for minutes: the target must exist.
            subprocess.run(["make", "-n", target(command)], cwd=ROOT, check=True, capture_output=True)
            continue
        if "senti " in command and find_spec("torch") is None:
            continue  # no PyTorch for this Python, so no `senti`
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        if "senti " in command:
            printed, output = [words(line) for line in printed], [words(line) for line in output]
        missing = [line for line in output if not VOLATILE.search(line) and line not in printed]
        assert not missing, f"{command}\n{done.stdout}"


@pytest.mark.skipif(os.name == "nt", reason="the commands before it are lines for a POSIX shell")
@pytest.mark.parametrize("block", blocks("python"), ids=range(len(blocks("python"))))
def test_python(block: str, folder: Path) -> None:
    if "sentimodels" in block and find_spec("torch") is None:
        pytest.skip("no PyTorch for this Python, so no sentimodels")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", README):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link


def test_every_file_of_the_tree_exists() -> None:
    tree = blocks("text")[-1]
    names = re.findall(r"^(\S+)  ", tree, re.M)
    assert len(names) > 20
    for name in names:
        assert list(ROOT.glob(name.rstrip("/"))), name
