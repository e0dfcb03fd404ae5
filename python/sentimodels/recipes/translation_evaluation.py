"""`evaluate_translation`: a translation run on pairs that it was not trained on, by BLEU and chrF.

Not for the scores themselves (`evaluation/translation.py`).
"""

import time
from pathlib import Path
from typing import Any, get_args

from ..config.translation import BleuTokenizer
from ..data.parallel import ParallelText
from ..data.record import TrainingRecord
from ..errors import ConfigError, DataError
from ..evaluation.translation import check_scorable, translation_scores
from ..translator import Translator, beam_options

__all__ = ["evaluate_translation"]


def evaluate_translation(
    run: Path | str,
    pairs: ParallelText,
    *,
    device: str = "cpu",
    bleu_tokenizer: str | None = None,
    **given: Any,
) -> tuple[dict[str, Any], list[str]]:
    """Translates the sources of pairs and scores them against their targets.

    Args:
        run: the run directory.
        pairs: sources and references.
        device: where it computes.
        bleu_tokenizer: sacrebleu's name of a tokenizer, or `auto`; `None`: that of the run.
        given: `beam`, `norm`, `alpha` or `early_stop`, where they differ from those of the run.

    Returns:
        Scores with their signatures, how it was searched, the seconds that took, and how many of the
        pairs were trained on; and the translations.

    Raises:
        DataError: if the run, or one that it started from, was trained on a file of them.
        ConfigError: if sacrebleu or the tokenizer is not installed, or there is no such tokenizer.
        SentiError: if the run cannot be loaded.
    """
    translator = Translator.load(run, device=device)
    words = bleu_tokenizer or translator.config.task.bleu_tokenizer
    if words not in get_args(BleuTokenizer):
        names = ", ".join(get_args(BleuTokenizer))
        raise ConfigError(f"--bleu-tokenizer {words}: no such tokenizer; expected one of {names}")
    check_scorable(words)
    record, table = TrainingRecord.load(Path(run)), pairs.table()
    for read in (table, *pairs.sides()):
        if record.learned_from(read).any():
            who = str(run) if record.learner_of(read) == "run" else f"the run that {run} started from"
            raise DataError(f"{pairs.name}: {who} was trained on it, so it cannot be scored on it")
    options = beam_options(translator.config.task, **given)
    began = time.perf_counter()
    translations = [ranked[0].text for ranked in translator.translate(pairs.sources, **given)]
    seconds = time.perf_counter() - began
    searched = {"beam": options.beam, "norm": options.norm, "alpha": options.alpha}
    scores = translation_scores(translations, pairs.targets, tokenizer=words)
    seen = int(record.seen(table).sum())
    return {**scores, "seen": seen, "search": searched, "seconds": seconds}, translations
