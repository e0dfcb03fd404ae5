"""`sentitok.compat.sentencepiece` and sentencepiece itself over the cases of SentencePiece's own suite."""

from pathlib import Path
from types import ModuleType

import pytest
import sentencepiece as theirs

import sentencepiece_cases
from restated import check_page
from sentencepiece_cases import suite
from sentitok.compat import sentencepiece as ours

CASES = sentencepiece_cases.loaded()
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "compat-sentencepiece.md").read_text(
    "utf-8"
)


@pytest.mark.parametrize("name", CASES)
# That the cases hold for the library itself is looked at where they change.
@pytest.mark.parametrize("lib", [ours, pytest.param(theirs, marks=pytest.mark.slow)], ids=["ours", "theirs"])
def test_case(lib: ModuleType, name: str) -> None:
    CASES[name](lib)


def test_every_case_passes_or_is_listed_with_its_reason() -> None:
    check_page(PAGE, CASES, suite.NAMES)
