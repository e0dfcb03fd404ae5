"""`sentitok.compat.tokenizers` and tokenizers itself over the cases of tokenizers' own test suite."""

from pathlib import Path
from types import ModuleType

import pytest
import tokenizers as theirs

import tokenizers_cases
from restated import check_page
from sentitok.compat import tokenizers as ours
from tokenizers_cases import suite

CASES = tokenizers_cases.loaded()
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "compat-tokenizers.md").read_text(
    "utf-8"
)


@pytest.mark.parametrize("name", CASES)
# That the cases hold for the library itself is looked at where they change.
@pytest.mark.parametrize("lib", [ours, pytest.param(theirs, marks=pytest.mark.slow)], ids=["ours", "theirs"])
def test_case(lib: ModuleType, name: str) -> None:
    CASES[name](lib)


def test_every_case_passes_or_is_listed_with_its_reason() -> None:
    assert f"`test_benchmarks.py` ({suite.BENCHMARKS} cases)" in PAGE
    check_page(PAGE, CASES, [*suite.NAMES, "test_benchmarks.py"])
