"""The cases of tiktoken's own test suite, restated; each runs on any library of its calls.

Source of the cases: openai/tiktoken 0.14, `tests`; the calls and their results are taken as facts,
the words are ours. `suite.NAMES` names all its cases; `docs/reference/compat-tiktoken.md` counts them.
"""

from restated import Cases, Library

__all__ = ["Library", "case", "loaded"]

#: The cases by their names in the suite: `file::test[parameter]`.
case = Cases()


def loaded() -> Cases:
    """The cases of all modules."""
    from . import encoding, properties, special_tokens, vocabularies  # noqa: F401  # 2026-11-24: read for their cases

    return case
