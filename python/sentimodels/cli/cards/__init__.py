"""Model cards in Markdown: one template (`layout.py`), and what each kind of run says in it.

Facts (`sentimodels.runs.card`) become sentences and tables here. What no run records (licence, language,
where texts come from) is named as missing, not made up.
"""

from collections.abc import Callable
from typing import Any

from .classifier import ensemble_parts
from .classifier import parts as classifier_parts
from .language import aligned_parts
from .language import parts as language_parts
from .layout import Parts, document
from .translator import parts as translator_parts

__all__ = ["KINDS", "markdown"]

# By the kind that `runs.card` names.
KINDS: dict[str, Callable[[dict[str, Any]], Parts]] = {
    "aligned-model": aligned_parts,
    "classifier": classifier_parts,
    "ensemble": ensemble_parts,
    "language-model": language_parts,
    "translator": translator_parts,
}


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card of a model of any kind."""
    return document(facts, KINDS[facts["kind"]](facts))
