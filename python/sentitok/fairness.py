"""How evenly a tokenizer treats languages: the tokens of text that says the same in each of them.

The premium of a language (Petrov et al. 2023) is how many times the tokens of another language it
needs; the Gini coefficient (Foroutan et al. 2025) sums up how uneven the languages are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._sentitok import Tokenizer
from .evaluate import evaluate
from .messages import shown
from .numbers import whole

__all__ = ["Fairness", "fairness"]


@dataclass(frozen=True)
class Fairness:
    """The tokens of text that says the same in several languages.

    Attributes:
        tokens: the tokens of each language.
        against: the language to compare with.
        premium: the tokens of each language divided by those of `against`.
        gini: the Gini coefficient of the tokens: 0 if all languages need the same, near 1 if one needs all.
        worst: the language that needs the most tokens; the first of equals.
        best: the language that needs the fewest.
    """

    tokens: dict[str, int]
    against: str
    premium: dict[str, float]
    gini: float
    worst: str
    best: str

    def as_dict(self) -> dict[str, Any]:
        """Returns the measures by name."""
        return asdict(self)

    @classmethod
    def of_tokens(cls, tokens: Mapping[str, int], against: str | None = None) -> "Fairness":
        """Compares languages whose tokens are counted.

        Args:
            tokens: the tokens of each language.
            against: the language to compare with; if not given, `en`, `eng` or `English`, or else
                the language with the fewest tokens.

        Raises:
            TypeError: for a number of tokens that is not a whole number.
            ValueError: if there is no language, one has no tokens, or `against` is not among them.
        """
        if not tokens:
            raise ValueError("there are no languages; give the text of at least one")
        tokens = {language: whole("tokens", n, "1 or more") for language, n in tokens.items()}
        if empty := [language for language, n in tokens.items() if n <= 0]:
            raise ValueError(f"{shown(empty[0])} has no tokens; give it text, or leave it out")
        worst, best = max(tokens, key=tokens.__getitem__), min(tokens, key=tokens.__getitem__)
        if against is None:
            against = next((name for name in ("en", "eng", "English") if name in tokens), best)
        if against not in tokens:
            raise ValueError(f"against={shown(against)}: no such language; there are {', '.join(tokens)}")
        return cls(
            tokens=dict(tokens),
            against=against,
            premium={language: n / tokens[against] for language, n in tokens.items()},
            gini=_gini(list(tokens.values())),
            worst=worst,
            best=best,
        )


def fairness(
    tokenizer: Tokenizer,
    texts: Mapping[str, Iterable[str]],
    *,
    against: str | None = None,
    threads: int | None = None,
) -> Fairness:
    """Measures how evenly a tokenizer treats languages.

    Args:
        tokenizer: the tokenizer.
        texts: the documents of each language, which say the same in all of them. Those of files are
            quickest as `sentitok.documents.Documents`.
        against: as for `Fairness.of_tokens`.
        threads: threads that encode; the result is the same for any number.

    Raises:
        ValueError: as `Fairness.of_tokens`.
    """
    tokens = {
        language: evaluate(tokenizer, documents, threads=threads).tokens
        for language, documents in texts.items()
    }
    return Fairness.of_tokens(tokens, against)


def _gini(values: list[int]) -> float:
    """The mean difference of two values, divided by twice their mean."""
    ordered = np.sort(np.array(values, np.float64))
    ranks = np.arange(1, len(ordered) + 1)
    return float(((2 * ranks - len(ordered) - 1) * ordered).sum() / (len(ordered) * ordered.sum()))
