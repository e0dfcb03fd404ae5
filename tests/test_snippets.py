"""Every block of commands or code that a page shows is run by a test, and this table says by which.

Not for running them: those tests do, except for the pages that nobody else runs.
"""

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pages import DOCUMENTS, ROOT, blocks, commands, prepare, run_all

TESTS = ROOT / "tests"
# The tests that run the blocks of a page, or of a chapter where several tests share a page.
RUN_BY = {
    "README.md": "test_docs.py",
    "docs/tutorials/tokenizer.md": "test_docs.py",
    "docs/tutorials/classifier.md": "test_docs.py",
    "docs/tutorials/language-model.md": "test_docs.py",
    "docs/tutorials/tour.md": "test_tour.py",
    **{
        f"docs/how-to/{page}.md": "test_docs.py"
        for page in ("extend", "count-tokens", "stream", "speed", "predict", "train", "classify")
    },
    "docs/how-to/several-labels.md": "test_docs.py",
    "docs/how-to/ordered-labels.md": "test_docs.py",
    "docs/how-to/wrong-labels.md": "test_docs.py",
    "docs/how-to/thresholds.md": "test_docs.py",
    **{f"docs/how-to/{page}.md": "test_docs.py" for page in ("compare", "reproduce", "long-texts")},
    "docs/how-to/export.md#numpy": "sentimodels/test_numpy_export.py",
    "docs/how-to/export.md#One HTML file": "sentimodels/test_export_page.py",
    "docs/how-to/export.md#ONNX": "sentimodels/test_onnx.py",
    "docs/how-to/export.md#transformers": "sentimodels/test_hf_classifiers.py",
    "docs/how-to/pretrain.md": "sentimodels/test_senti_pretrain.py",
    "docs/how-to/pretrain.md, torchrun": "sentimodels/test_sharded.py",
    "docs/how-to/generate.md": "sentimodels/test_senti_lm_page.py",
    "docs/how-to/translate.md": "sentimodels/test_translating_page.py",
    "docs/how-to/align.md": "sentimodels/test_aligning_page.py",
    "docs/how-to/model-cards.md": "sentimodels/test_cards_of_language.py",
    **{
        f"docs/how-to/{page}.md": "test_switching.py"
        for page in ("switch", "from-tiktoken", "from-tokenizers", "from-sentencepiece", "from-transformers")
    },
    "docs/how-to/chats.md": "test_docs.py",
    "docs/how-to/superwords.md": "sentitok/test_superwords.py",
    "docs/how-to/languages.md": "test_docs.py",
    "docs/how-to/from-fasttext.md": "test_docs.py",
    **{
        f"docs/how-to/{page}.md": "sentitok/test_pipelines.py"
        for page in ("ray-data", "daft", "spark", "hugging-face-datasets", "datatrove")
    },
    "docs/how-to/mpi-slurm.md": "sentitok/test_engines.py",
    "docs/how-to/transplant.md": "sentimodels/test_transplant_page.py",
    "docs/how-to/serve.md": "sentimodels/test_web_runs.py",
    "docs/reference/labelled-files.md": "sentimodels/test_frames.py",
    "docs/explanation/encoding.md": "test_snippets.py",
    "docs/explanation/exactness.md": "test_snippets.py",
    "docs/explanation/scale.md": "test_docs.py",
}
# Blocks that are not examples, or that take too long.
NOT_RUN = {
    "CONTRIBUTING.md": "sets up, builds, measures and fuzzes for minutes",
    "docs/lab/negative-results.md": "a pattern of commands that earlier commits had",
}
# A language that is run, or a command without a language, which would be overlooked.
LANGUAGES = ("console", "python", "py", "pycon", "sh")
COMMAND = re.compile(r"^(\$ |senti |sentitok |make |pip |cargo |torchrun |import |from \w+ import )", re.M)


def page_of(key: str) -> str:
    return re.split(r"[#,]", key)[0]


def shown() -> set[str]:
    """The pages and chapters that show commands or code."""
    found = set()
    for path in DOCUMENTS:
        page, chapter = path.relative_to(ROOT).as_posix(), ""
        outside = re.split(r"^(```.*?^```)$", path.read_text("utf-8"), flags=re.M | re.S)
        for number, part in enumerate(outside):
            if number % 2 == 0:
                chapter = (re.findall(r"^## (.+)$", part, re.M) or [chapter])[-1]
                continue
            language, _, block = part.removeprefix("```").partition("\n")
            if language in LANGUAGES or (not language and COMMAND.search(block)):
                torchrun = ", torchrun" if block.startswith("$ torchrun") else ""
                keys = (f"{page}{torchrun}", f"{page}#{chapter}", page)
                found.add(next((key for key in keys if key in RUN_BY), keys[0]))
    return found


def test_every_block_is_run() -> None:
    expected = set(RUN_BY)
    assert {key for key in shown() if page_of(key) not in NOT_RUN} == expected
    assert {page_of(key) for key in shown()} - {page_of(key) for key in RUN_BY} == set(NOT_RUN)


@pytest.mark.parametrize(("key", "test"), RUN_BY.items(), ids=list(RUN_BY))
def test_the_test_knows_the_page(key: str, test: str) -> None:
    text = (TESTS / test).read_text("utf-8")
    if test == "test_docs.py":  # it reads the names of its pages from there
        text = (TESTS / "pages.py").read_text("utf-8")
    assert Path(page_of(key)).stem in text


@pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
@pytest.mark.parametrize("page", ["docs/explanation/exactness.md"])
def test_commands_of_other_pages(page: str, tmp_path: Path) -> None:
    if find_spec("tokenizers") is None or find_spec("tiktoken") is None:
        pytest.skip("`sentitok bench` is shown beside tokenizers and tiktoken")
    prepare(tmp_path)
    found = [one for block in blocks(ROOT / page, "console") for one in commands(block)]
    assert found
    run_all(found, tmp_path)


def test_the_drawing_of_encoding_shows_real_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "explanation" / "encoding.md"
    (block,) = blocks(page, "python")
    names: dict[str, Any] = {}
    exec(compile(block, page.name, "exec"), names)
    drawing = (ROOT / "docs" / "pictures" / "pipeline.svg").read_text("utf-8")
    ids = " ".join(map(str, names["encoding"].ids.tolist()))
    for line in (names["text"], " | ".join(names["pieces"]), ids):
        assert f">{line}</text>" in drawing
    tokens = re.findall(r">([^<]*##[^<]*)</text>", drawing)
    assert tokens[0].replace("| ", "").split() == names["encoding"].tokens[1:-1]
