"""Runs what docs/how-to/transplant.md shows, with fewer steps of training."""

import re
from pathlib import Path

import pytest

from pages import ROOT, blocks, commands, prepare, run_one

PAGE = ROOT / "docs" / "how-to" / "transplant.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("transplant-page")
    prepare(made)
    for block in blocks(PAGE, "console"):
        for command, output in commands(block):
            run_one(re.sub(r"--steps \d+", "--steps 2 --threads 1", command), output, made)
    return made


def test_commands(folder: Path) -> None:
    assert (folder / "runs" / "adapted" / "run.json").is_file()


def test_python(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    (block,) = blocks(PAGE, "python")
    exec(compile(block, "transplant.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1474 1526 [] ")
