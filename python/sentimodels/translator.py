"""`Translator`: a translation run that answers: texts in, their best translations out, scored if asked.

Sources of like length are searched together, a bounded number of places at a time; each gets what it
would get alone. An empty text is its own translation, so that lines stay in step.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sentitok import Tokenizer
from sentitok.remote import local_path

from .arguments import texts_of
from .config import LanguageConfig, NextTokenConfig, Seq2SeqConfig, TranslationConfig
from .config.translation import BleuTokenizer
from .data.parallel import ParallelText
from .data.record import TrainingRecord
from .errors import ConfigError, DataError
from .evaluation.translation import check_scorable, translation_scores
from .generation.beam import BeamOptions, Hypothesis, beam_search
from .generation.generate import decoded
from .generation.pair_formats import EncoderDecoder, Prompted
from .models.language import build_language_model
from .models.seq2seq import Seq2SeqModel, Seq2SeqModelConfig
from .runs.families import LANGUAGE_MODEL, SEQ2SEQ, TRANSLATOR
from .runs.language_directory import load_checked
from .tasks.seq2seq import PairFormat
from .text.pairs import Rows, encode_rows, end_of
from .text.vocabulary import Inputs
from .training.device import device_of

__all__ = [
    "Translation",
    "Translator",
    "beam_options",
    "build_translation_model",
    "evaluate_translation",
    "format_of",
    "search",
]

# Padded source tokens times beams of one batch.
_PLACES = 8_192


@dataclass(frozen=True)
class Translation:
    """One translation of a text.

    Attributes:
        text: the translation.
        log_prob: log-probability of its tokens and their end, in nats.
        score: the score it was ranked by; see `generation/beam.py`.
    """

    text: str
    log_prob: float
    score: float


class Translator:
    """A model that translates.

    Attributes:
        config: of the run.
        module: with its weights, in evaluation mode.
        tokenizer: of both languages.
        about: what `run.json` holds.
    """

    def __init__(
        self, config: TranslationConfig, module: nn.Module, tokenizer: Tokenizer, about: dict[str, Any]
    ) -> None:
        self.config, self.module, self.tokenizer, self.about = config, module.eval(), tokenizer, about
        self.format = format_of(config, tokenizer)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> "Translator":
        """Loads a run, after checking every file it reads against the manifest.

        Args:
            folder: the run directory.
            device: where it computes.

        Raises:
            CheckpointError: if a file is missing or altered, or the tokenizer is not the run's.
            CheckpointError: if it is another kind of run.
        """
        run = local_path(folder)
        config, module, tokenizer, about = load_checked(run, TRANSLATOR, build_translation_model)
        return cls(config, module.to(device_of(device)), tokenizer, about)

    def translate(
        self, texts: Sequence[str], *, n_best: int = 1, first: int = 1, **given: Any
    ) -> list[list[Translation]]:
        """Returns the best translations of each text, best first.

        Args:
            texts: in any order; an empty one is its own translation. Sentences, as those trained on: see
                `longer_than_trained`.
            n_best: how many of each, at most as many as beams.
            first: number of the first text, for messages.
            given: `beam`, `norm`, `alpha` or `early_stop`, where they differ from those of the run.

        Raises:
            ConfigError: if a setting is out of range.
            DataError: if a text is longer than the model's positions reach.
            TypeError: if `texts` is not a list of texts.
        """
        texts = texts_of("translate", texts)
        options = beam_options(self.config.task, n_best=n_best, **given)
        asked = [row for row, text in enumerate(texts) if text.strip()]
        translations = [[Translation("", 0.0, 0.0)] for _ in texts]
        rows = encode_rows(self.tokenizer, [texts[row] for row in asked])
        numbers = [row + first for row in asked]
        found = search(self.module, self.format, rows, self.config, options, numbers)
        for row, best in zip(asked, found, strict=True):
            translations[row] = [self._translation(one) for one in best]
        return translations

    def longer_than_trained(self, texts: Sequence[str]) -> list[int]:
        """Returns which texts have more tokens than a source of training may have (`data.max_tokens`).

        Their translations are often cut short, or empty.
        """
        lengths = encode_rows(self.tokenizer, list(texts)).lengths
        rows: list[int] = np.flatnonzero(lengths > self.config.data.max_tokens).tolist()
        return rows

    def _translation(self, one: Hypothesis) -> Translation:
        text = decoded(self.tokenizer, one.tokens).strip()
        return Translation(text, one.log_prob, one.score)


def beam_options(task: Seq2SeqConfig, **given: Any) -> BeamOptions:
    """Returns how a run searches, with given settings instead of the run's.

    Raises:
        ConfigError: if one is out of range.
    """
    own: dict[str, Any] = {"beam": task.beam, "norm": task.norm, "alpha": task.alpha}
    try:
        return BeamOptions(**{**own, **{key: value for key, value in given.items() if value is not None}})
    except ValueError as error:
        raise ConfigError(str(error)) from None


def format_of(config: TranslationConfig, tokenizer: Tokenizer) -> PairFormat:
    """Returns how the model of a run reads pairs."""
    _, end_id = end_of(tokenizer, config.data.end)
    if config.arch == SEQ2SEQ:
        return EncoderDecoder(end_id)
    return Prompted.of(config.task.prompt, tokenizer, end_id)


def build_translation_model(config: TranslationConfig, vocab_size: int) -> nn.Module:
    """Builds the model of a run with the weights it starts from.

    Raises:
        ConfigError: if the architecture cannot be causal.
    """
    if isinstance(config.model, Seq2SeqModelConfig):
        return Seq2SeqModel(config.model, Inputs(vocab_size, 0))
    language: LanguageConfig = LANGUAGE_MODEL.resolve(
        {"arch": config.arch, "preset": config.preset, "task": NextTokenConfig(tied=config.task.tied).plain()}
    )
    return build_language_model(language.model_copy(update={"model": config.model}), vocab_size)


@torch.inference_mode()
def search(
    module: nn.Module,
    format: PairFormat,
    sources: Rows,
    config: TranslationConfig,
    options: BeamOptions,
    numbers: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Returns the best translations of encoded texts, in their order.

    Args:
        module: the model, in evaluation mode.
        format: how it reads pairs.
        sources: as `encode_rows` gives them.
        config: of the run.
        options: how to search.
        numbers: of the texts, for messages; without them they count from 1.

    Raises:
        DataError: if a text is longer than the model's positions reach.
    """
    task, read = config.task, format.sources(sources)
    limits = (sources.lengths * task.length_ratio).astype(np.int64) + task.length_extra
    limits = _within_reach(format.room(module, read), limits, numbers)
    hypotheses: list[list[Hypothesis]] = [[] for _ in range(len(read))]
    for rows in _groups(read.lengths, _PLACES // options.beam, alike=format.alike(module)):
        writer = format.writer(module, read, rows)
        best = beam_search(writer, limits[rows].tolist(), end_id=format.end_id, options=options)
        for row, one in zip(rows.tolist(), best, strict=True):
            hypotheses[row] = one
    return hypotheses


def _within_reach(
    room: NDArray[np.int64] | None, limits: NDArray[np.int64], numbers: Sequence[int] | None
) -> NDArray[np.int64]:
    """Returns the limits of texts as far as the model's positions reach."""
    if room is None:
        return limits
    if len(room) and int(room.min()) < 1:
        row = int(np.argmin(room))
        number = row + 1 if numbers is None else numbers[row]
        raise DataError(
            f"text {number:,} is {1 - int(room[row]):,} tokens longer than the model's positions reach: "
            "cut it into sentences"
        )
    return np.minimum(limits, room)


def _groups(lengths: NDArray[np.int64], places: int, *, alike: bool) -> list[NDArray[np.int64]]:
    """Returns the rows that are searched together, the longest first; if `alike`, of one length each."""
    order = np.argsort(-lengths, kind="stable")
    groups, start = [], 0
    for place in range(1, len(order) + 1):
        longest = int(lengths[order[start]]) + 1
        last = place == len(order)
        full = longest * (place - start + 1) > max(places, longest)
        if last or full or (alike and lengths[order[place]] != lengths[order[start]]):
            groups.append(order[start:place])
            start = place
    return groups


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
