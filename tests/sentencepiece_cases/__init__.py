"""The cases of SentencePiece's own Python test suite, restated; each runs on any library of its calls.

Source of the cases: google/sentencepiece, `python/test` of release 0.2.3; the calls and their results
are taken as facts, the words are ours. Options whose defaults differ in 0.2.3 are named.
`suite.NAMES` names all its cases; `docs/reference/compat-sentencepiece.md` lists the failing ones.
"""

from restated import Cases, Library, pickled

__all__ = ["Library", "case", "loaded", "pickled"]

#: The cases by their names in the suite: `file::test`.
case = Cases()


def loaded() -> Cases:
    """The cases of all modules."""
    from . import arrays, normalizing, places, processors, texts, training, vocabularies  # noqa: F401  # 2026-11-24: read for their cases

    return case
