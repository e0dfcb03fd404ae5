"""Runs what docs/how-to/translate.md shows of translating."""

import re
import shlex
from pathlib import Path

import pytest

from parallel_numbers import TINY, number_pairs, write_pairs
from senti_in_process import senti
from sentimodels.evaluation.translation import can_score

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "translate.md").read_text("utf-8")
CHAPTER = re.search(r"^## Translating\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)


def blocks(language: str) -> list[str]:
    assert CHAPTER is not None
    return re.findall(rf"^```{language}\n(.*?)^```$", CHAPTER[1], re.M | re.S)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    for seed, (name, n) in enumerate({"train": 400, "valid": 40, "test": 40}.items()):
        write_pairs(made, name, n, seed)
    lines = [f"{source},{target}" for source, target in zip(*number_pairs(100, 5), strict=True)]
    (made / "pairs.csv").write_text("\n".join(["en,de", *lines, ""]), "utf-8")
    return made


def test_commands_and_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order: a later one reads what an earlier one wrote."""
    assert len(COMMANDS) == 6
    for line in COMMANDS:
        before, _, command = line.rpartition(" | ")
        words = shlex.split(command)
        assert words[:2] == ["senti", "translate"]
        if words[2] == "evaluate" and not can_score():
            continue  # BLEU is sacrebleu's
        more = [*TINY, "--steps", "20"] if words[2] == "train" else []
        done = senti(*words[1:], *more, cwd=folder, stdin=shlex.split(before)[1] + "\n" if before else "")
        assert done.code == 0, (line, done.err)
    assert len((folder / "test.translated").read_text("utf-8").splitlines()) == 40
    monkeypatch.chdir(folder)
    (block,) = blocks("python")
    exec(compile(block, "translate.md", "exec"), {})
