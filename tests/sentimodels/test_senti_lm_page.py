"""Runs what docs/how-to/generate.md shows of generating, of Python, and of transformers."""

import re
import shlex
from pathlib import Path

import pytest

from language_runs import language_run
from senti_in_process import senti
from sentitok import train_bpe

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "generate.md").read_text("utf-8")
CHAPTERS = ("Generating", "From Python", "To and from transformers")


def chapter(name: str) -> str:
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert found is not None, name
    return found[1]


def blocks(language: str) -> list[str]:
    return [
        block
        for name in CHAPTERS
        for block in re.findall(rf"^```{language}\n(.*?)^```$", chapter(name), re.M | re.S)
    ]


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    novel = (ROOT / "tests" / "data" / "corpus" / "sherlock-holmes.txt").read_text("utf-8")[:60_000]
    (made / "novel.txt").write_text(novel, "utf-8")
    (made / "prompts.txt").write_text("It was a dark\nThe next morning\n", "utf-8")
    tokenizer = train_bpe(texts=[novel], vocab_size=400, special_tokens=["<|endoftext|>"])
    language_run(made / "runs" / "base", "gpt", 200, tokenizer)
    return made


def test_the_page_has_examples() -> None:
    assert len(COMMANDS) >= 6
    assert len(blocks("python")) == 2


def test_commands(folder: Path) -> None:
    """In order: a later one reads what an earlier one wrote."""
    for line in COMMANDS:
        before, _, command = line.rpartition(" | ")
        words = shlex.split(command)
        assert words[0] == "senti"
        more = ["--vocab", "300", "--threads", "1"] if words[1] == "pretrain" else []
        done = senti(*words[1:], *more, cwd=folder, stdin=shlex.split(before)[1] + "\n" if before else "")
        assert done.code == 0, (line, done.err)
        assert done.out


@pytest.mark.parametrize("block", blocks("python"), ids=range(len(blocks("python"))))
def test_python(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    exec(compile(block, "generate.md", "exec"), {})
