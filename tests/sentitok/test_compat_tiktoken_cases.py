"""`sentitok.compat.tiktoken` and tiktoken itself over the cases of tiktoken's own test suite."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import tiktoken as theirs

import tiktoken_cache
import tiktoken_cases
from restated import check_page
from sentitok.compat import tiktoken as ours
from tiktoken_cases import suite

CASES = tiktoken_cases.loaded()
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "compat-tiktoken.md").read_text("utf-8")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with tiktoken_cache.filled(tmp_path_factory.mktemp("cache")) as folder:
        yield folder


@pytest.mark.parametrize("name", CASES)
# That the cases hold for the library itself is looked at where they change.
@pytest.mark.parametrize("lib", [ours, pytest.param(theirs, marks=pytest.mark.slow)], ids=["ours", "theirs"])
def test_case(lib: ModuleType, name: str, cache: Path) -> None:
    CASES[name](lib)


def test_every_case_passes_or_is_listed_with_its_reason() -> None:
    check_page(PAGE, CASES, suite.NAMES)
