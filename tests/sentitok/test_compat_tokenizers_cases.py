"""`sentitok.compat.tokenizers` and tokenizers itself over the cases of tokenizers' own test suite."""

from types import ModuleType

import pytest
import tokenizers as theirs

import tokenizers_cases
from sentitok.compat import tokenizers as ours

CASES = tokenizers_cases.loaded().CASES


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lib", [ours, theirs], ids=["ours", "theirs"])
def test_case(lib: ModuleType, name: str) -> None:
    CASES[name](lib)
