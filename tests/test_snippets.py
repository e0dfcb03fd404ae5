"""Every block of commands or code that a page shows is run by a test, and this table says by which.

Not for running them: those tests do, but for the pages that nobody else runs.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages import ROOT, blocks, commands, prepare, run_all

TESTS = ROOT / "tests"
# The tests that run the blocks of a page, or of a chapter where several tests share a page.
RUN_BY = {
    "README.md": "test_docs.py",
    "docs/exactness.md": "test_snippets.py",
    "docs/senti.md": "test_docs.py",
    "docs/senti-labels.md": "test_docs.py",
    "docs/senti-suspects.md": "test_docs.py",
    "docs/senti-thresholds.md": "test_docs.py",
    "docs/senti-data.md": "sentimodels/test_frames.py",
    "docs/export.md#numpy": "sentimodels/test_numpy_export.py",
    "docs/export.md#ONNX": "sentimodels/test_onnx.py",
    "docs/export.md#transformers": "sentimodels/test_hf_classifiers.py",
    "docs/senti-lm.md#Pre-training": "sentimodels/test_senti_pretrain.py",
    "docs/senti-lm.md#Pre-training, torchrun": "sentimodels/test_sharded.py",
    "docs/senti-lm.md#Generating": "sentimodels/test_senti_lm_page.py",
    "docs/senti-lm.md#From Python": "sentimodels/test_senti_lm_page.py",
    "docs/senti-lm.md#To and from transformers": "sentimodels/test_senti_lm_page.py",
    "docs/senti-lm.md#Translating": "sentimodels/test_translating_page.py",
    "docs/senti-lm.md#Aligning": "sentimodels/test_aligning_page.py",
    "docs/senti-lm.md#Model cards": "sentimodels/test_cards_of_language.py",
    **{
        f"docs/{page}.md": "test_switching.py"
        for page in (
            "switching",
            "from-tiktoken",
            "from-tokenizers",
            "from-sentencepiece",
            "from-transformers",
        )
    },
    "docs/scale.md": "test_docs.py",
    "docs/chats.md": "test_docs.py",
    "docs/superwords.md": "sentitok/test_superwords.py",
    "docs/languages.md": "test_docs.py",
    "docs/switching-classifiers.md": "test_docs.py",
    **{
        f"docs/{page}.md": "sentitok/test_pipelines.py"
        for page in ("ray-data", "daft", "spark", "hugging-face-datasets", "datatrove")
    },
    "docs/tour.md": "test_tour.py",
    "docs/transplant.md": "sentimodels/test_transplant_page.py",
    "docs/tutorial.md": "test_docs.py",
    "docs/web.md": "sentimodels/test_web_runs.py",
}
# Blocks that are no examples, or that take too long.
NOT_RUN = {
    "CONTRIBUTING.md": "sets up, builds, measures and fuzzes for minutes",
    "docs/negative-results.md": "a pattern of commands that old commits knew",
    "docs/reference.md": "signatures, which test_reference.py compares with the stubs",
}
# A language that is run, or a command without a language, which would be overlooked.
LANGUAGES = ("console", "python", "py", "pycon", "sh")
COMMAND = re.compile(r"^(\$ |senti |sentitok |make |pip |cargo |torchrun |import |from \w+ import )", re.M)


def shown() -> set[str]:
    """The pages and chapters that show commands or code."""
    found = set()
    for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]:
        page, chapter = path.relative_to(ROOT).as_posix(), ""
        outside = re.split(r"^(```.*?^```)$", path.read_text("utf-8"), flags=re.M | re.S)
        for number, part in enumerate(outside):
            if number % 2 == 0:
                chapter = (re.findall(r"^## (.+)$", part, re.M) or [chapter])[-1]
                continue
            language, _, block = part.removeprefix("```").partition("\n")
            if language in LANGUAGES or (not language and COMMAND.search(block)):
                torchrun = ", torchrun" if block.startswith("$ torchrun") else ""
                keys = (f"{page}#{chapter}{torchrun}", page)
                found.add(next((key for key in keys if key in RUN_BY), keys[0]))
    return found


def test_every_block_is_run() -> None:
    expected = set(RUN_BY)
    assert {key for key in shown() if key.partition("#")[0] not in NOT_RUN} == expected
    assert {key.partition("#")[0] for key in shown()} - {key.partition("#")[0] for key in RUN_BY} == set(
        NOT_RUN
    )


@pytest.mark.parametrize(("key", "test"), RUN_BY.items(), ids=list(RUN_BY))
def test_the_test_knows_the_page(key: str, test: str) -> None:
    text = (TESTS / test).read_text("utf-8")
    if test == "test_docs.py":  # it reads the names of its pages from there
        text = (TESTS / "pages.py").read_text("utf-8")
    assert Path(key.partition("#")[0]).stem in text


@pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
@pytest.mark.parametrize("page", ["docs/exactness.md"])
def test_commands_of_other_pages(page: str, tmp_path: Path) -> None:
    if find_spec("tokenizers") is None or find_spec("tiktoken") is None:
        pytest.skip("`sentitok bench` is shown beside tokenizers and tiktoken")
    prepare(tmp_path)
    found = [one for block in blocks(ROOT / page, "console") for one in commands(block)]
    assert found
    run_all(found, tmp_path)
