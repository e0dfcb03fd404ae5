"""The modules of benches/models, by name, as a fixture."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benches" / "models"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    sys.path.insert(0, str(FOLDER))
    try:

        class Modules:
            def __getattr__(self, name: str) -> ModuleType:
                return importlib.import_module(name)

        yield Modules()
    finally:
        sys.path.remove(str(FOLDER))
