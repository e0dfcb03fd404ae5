"""`sentitok.compat.tokenizers` and tokenizers itself over the cases of tokenizers' own test suite."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import tokenizers as theirs

import tokenizers_cases
from sentitok.compat import tokenizers as ours
from tokenizers_cases import suite

CASES = tokenizers_cases.loaded().CASES
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "compat-tokenizers.md").read_text("utf-8")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lib", [ours, theirs], ids=["ours", "theirs"])
def test_case(lib: ModuleType, name: str) -> None:
    CASES[name](lib)


def listed(section: str) -> list[str]:
    """The cases of a table, each with a reason."""
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| ([^|]+) \|$", section, re.M)
    assert all(len(reason) > 10 for _, reason in rows)
    return [name for name, _ in rows]


def test_every_case_passes_or_is_listed_with_its_reason() -> None:
    _, others, uncounted = PAGE.split("| case | reason |")
    failing = listed(others)
    benchmarks, *aside = listed(uncounted)
    assert sorted([*CASES, *failing, *aside]) == sorted(suite.NAMES)
    assert f"`{benchmarks}` ({suite.BENCHMARKS} cases)" in PAGE
    n = len(CASES) + len(failing)
    share = f"{100 * len(CASES) / n:.1f}"
    assert f"Of {n} cases that are about what the library gives, {len(CASES)} pass ({share} %)." in PAGE
    assert float(share) >= 95
