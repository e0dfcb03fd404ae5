"""The cases of tokenizers' own Python test suite, restated; each runs on any library of its calls.

Source of the cases: huggingface/tokenizers, `bindings/python/tests`, of version 0.23; the calls
and their results are taken as facts, the words are ours. `suite.NAMES` names all its cases;
`docs/reference/compat-tokenizers.md` lists the failing ones, each with its reason.
"""

from restated import Cases, Library, pickled

__all__ = ["Library", "case", "loaded", "pickled"]

#: The cases by their names in the suite: `file::Class::test`.
case = Cases()


def loaded() -> Cases:
    """The cases of all modules."""
    from . import (  # noqa: F401  # 2026-11-24: read for their cases
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

    return case
