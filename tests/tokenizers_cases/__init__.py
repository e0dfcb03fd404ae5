"""The cases of tokenizers' own Python test suite, restated; each runs on any library of its calls.

Source of the cases: huggingface/tokenizers, `bindings/python/tests`, of version 0.23; what is asked
and what comes is taken as facts, the words are ours. `SUITE` names all its cases; `docs/compat.md`
lists those that `sentitok.compat.tokenizers` does not pass, each with its reason.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["CASES", "Library", "case", "pickled"]

Library = Any  # a module with the calls of tokenizers
Case = Callable[[Library], None]

#: The cases by their names in the suite: `file::Class::test`.
CASES: dict[str, Case] = {}


def case(*names: str) -> Callable[[Case], Case]:
    """Registers a function as what cases of the suite ask."""

    def register(function: Case) -> Case:
        for name in names:
            assert name not in CASES, name
            CASES[name] = function
        return function

    return register


def pickled(value: Any) -> Any:
    """A value once through pickle."""
    import pickle

    return pickle.loads(pickle.dumps(value))


def loaded() -> ModuleType:
    """This package with the cases of all its modules."""
    import tokenizers_cases

    from . import (  # noqa: F401
        asynchronous,
        decoding,
        encoding,
        files_and_races,
        kinds,
        models_and_training,
        normalizing,
        pipelines,
        processes,
        processing,
        shown,
        splitting,
        tokenizer,
    )

    return tokenizers_cases
