"""Runs docs/tutorials/tour.md from top to bottom as one session: typed lines give the shown output."""

import doctest
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages import ROOT, commands, prepare, run_one

PAGE = (ROOT / "docs" / "tutorials" / "tour.md").read_text("utf-8")
# Each with its chapter: kinds of blocks, in the order of the page.
BLOCKS = [
    (chapter.partition("\n")[0], language, block)
    for chapter in PAGE.split("\n## ")[1:]
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", chapter, re.M | re.S)
]
OF_MODELS = ("Classify", "Model language")


def test_every_block_is_one_that_is_run() -> None:
    assert {language for _, language, _ in BLOCKS} == {"pycon", "console"}
    assert {chapter for chapter, _, _ in BLOCKS} > set(OF_MODELS)
    shown = [example for _, language, block in BLOCKS if language == "pycon" for example in examples(block)]
    assert len(shown) > 50
    assert sum(bool(example.want) for example in shown) > 30


def examples(block: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(block)


@pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
def test_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(verbose=False)
    for chapter, language, block in BLOCKS:
        if chapter in OF_MODELS and find_spec("torch") is None:
            continue  # no PyTorch for this Python
        if language == "console":
            for command, output in commands(block):
                run_one(command, output, tmp_path)
            continue
        said: list[str] = []
        test = doctest.DocTest(examples(block), names, chapter, "tour.md", 0, block)
        names = test.globs  # a copy, which the next block continues
        runner.run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
