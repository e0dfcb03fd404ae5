"""Runs what README.md and docs/senti.md show: commands, Python, and compares the output.

A block of commands has lines `$ command`, each followed by its output; lines
with times and memory differ from run to run and are not compared, and of what `senti`
prints only the words are: its numbers are those of a trained model, and differ a little
from machine to machine. Beside it: that the links and names of all pages lead somewhere.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Each in a folder of its own, in order: a later block uses what an earlier one wrote.
PAGES = {"readme": ROOT / "README.md", "senti": ROOT / "docs" / "senti.md"}
LINKING = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]

# What differs between two runs or two machines.
VOLATILE = re.compile(r"seconds|peak memory|MB/s|^steps ")
NUMBER = re.compile(r"[-+]?\d[\d,.]*|beats|does not beat| +|─+")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page].read_text("utf-8"), re.M | re.S)


def commands(page: str) -> list[tuple[str, list[str]]]:
    """Each command of a page's blocks with its output."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
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
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Places where a page's paths lead somewhere, and its files can go."""
    made: dict[str, Path] = {}

    def folder(page: str) -> Path:
        if page not in made:
            made[page] = tmp_path_factory.mktemp(page)
            (made[page] / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
            (made[page] / "bin").mkdir()
            for name, package in (("sentitok", "sentitok.cli"), ("senti", "sentimodels.cli")):
                command = made[page] / "bin" / name
                command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {package} "$@"\n')
                command.chmod(0o755)
        return made[page]

    return folder


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_examples(page: str) -> None:
    assert len(commands(page)) >= 4
    assert blocks(page, "python")


@pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
@pytest.mark.parametrize("page", PAGES)
def test_commands(page: str, folder_of: Callable[[str], Path]) -> None:
    """In order: a later command uses what an earlier one wrote."""
    folder = folder_of(page)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command, output in commands(page):
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
@pytest.mark.parametrize(
    ("page", "number"), [(page, number) for page in PAGES for number in range(len(blocks(page, "python")))]
)
def test_python(page: str, number: int, folder_of: Callable[[str], Path]) -> None:
    block = blocks(page, "python")[number]
    if "sentimodels" in block and find_spec("torch") is None:
        pytest.skip("no PyTorch for this Python, so no sentimodels")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=folder_of(page), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def anchors(text: str) -> set[str]:
    """The anchors of a page's titles, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", path.read_text("utf-8"))):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


def test_every_page_is_linked_from_the_readme() -> None:
    readme = PAGES["readme"].read_text("utf-8")
    for page in ROOT.glob("docs/*.md"):
        assert f"(docs/{page.name})" in readme, page.name


def test_every_file_of_the_tree_exists() -> None:
    (tree,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M | re.S)
    names = re.findall(r"^(\S+)  ", tree, re.M)
    assert len(names) > 20
    for name in names:
        assert list(ROOT.glob(name.rstrip("/"))), name
