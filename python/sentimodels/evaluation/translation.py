"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translations, by sacrebleu (Post 2018).

Nothing of them is computed here: texts go to sacrebleu as they are, and its signatures, which say how
they were cut into words and compared, come back with the scores.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ..errors import ConfigError, DataError

__all__ = ["can_score", "check_scorable", "text_bleu", "translation_scores"]


def can_score() -> bool:
    """Whether sacrebleu is installed."""
    return find_spec("sacrebleu") is not None


def check_scorable() -> None:
    """Refuses to begin what sacrebleu would be needed for.

    Raises:
        ConfigError: if it is not installed.
    """
    if not can_score():
        raise ConfigError('BLEU and chrF need sacrebleu; install the extra: pip install "sentitok[lm]"')


def translation_scores(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Scores translations against one reference each.

    Returns:
        `bleu` and `chrf`, 0 to 100; `pairs`, how many; `signatures`, sacrebleu's, by score.

    Raises:
        ConfigError: if sacrebleu is not installed.
        DataError: if there are not as many references, or none.
    """
    if len(translations) != len(references):
        raise DataError(f"{len(translations):,} translations, but {len(references):,} references")
    if not translations:
        raise DataError("no translations to score")
    check_scorable()
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    scores: dict[str, Any] = {"pairs": len(references)}
    signatures = {}
    for name, metric in (("bleu", BLEU()), ("chrf", CHRF())):
        scores[name] = float(metric.corpus_score(list(translations), [list(references)]).score)
        signatures[name] = str(metric.get_signature())
    return {**scores, "signatures": signatures}


def text_bleu(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """Returns the BLEU of each text alone, 0 to 100; of a short one, of the orders that it has.

    Raises:
        ConfigError: if sacrebleu is not installed.
        DataError: if there are not as many references.
    """
    if len(translations) != len(references):
        raise DataError(f"{len(translations):,} translations, but {len(references):,} references")
    check_scorable()
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    pairs = zip(translations, references, strict=True)
    return [float(metric.sentence_score(one, [other]).score) for one, other in pairs]
