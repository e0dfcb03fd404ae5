"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translations, by sacrebleu (Post 2018).

Nothing of them is computed here: texts go to sacrebleu as they are, and its signatures, which say how
they were cut into words and compared, come back with the scores.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, DataError

__all__ = ["bleu_of_drawn", "can_score", "check_scorable", "text_bleu", "translation_scores"]


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
    _check_as_many(translations, references)
    if not translations:
        raise DataError("no translations to score: give at least one, with its reference")
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
    _check_as_many(translations, references)
    check_scorable()
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    pairs = zip(translations, references, strict=True)
    return [float(metric.sentence_score(one, [other]).score) for one, other in pairs]


def bleu_of_drawn(
    translations: Sequence[Sequence[str]], references: Sequence[str]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Returns BLEU as a function of how often each text is drawn, as `joint_intervals.of_score` asks.

    Args:
        translations: of each seed, one text a reference.
        references: what they should be.

    Returns:
        From weights `(replicates, n_texts)`, whole numbers, to BLEU `(replicates, n_seeds)`, 0 to 100: what
        sacrebleu gives for all texts together, each as often as its weight says.

    Raises:
        ConfigError: if sacrebleu is not installed.
        DataError: if a seed has not as many translations as there are references.
    """
    check_scorable()
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)  # counts are the same without; of one text it is not warned of
    counts = np.zeros((len(translations), len(references), 10))
    for of_seed, texts in zip(counts, translations, strict=True):
        _check_as_many(texts, references)
        for row, text, reference in zip(of_seed, texts, references, strict=True):
            one = metric.sentence_score(text, [reference])
            row[:] = (*one.counts, *one.totals, one.sys_len, one.ref_len)

    def score(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.rint(np.einsum("rt,stk->rsk", weights, counts)).astype(np.int64)
        out = np.empty(sums.shape[:2])
        for place in np.ndindex(out.shape):
            *both, n_given, n_true = sums[place].tolist()
            one = BLEU.compute_bleu(both[:4], both[4:], n_given, n_true, metric.smooth_method)
            out[place] = one.score
        return out

    return score


def _check_as_many(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references):
        raise DataError(f"{len(translations):,} translations, but {len(references):,} references")
