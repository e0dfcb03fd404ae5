"""`train_translation`: the straight line from parallel text to a run directory.

    data     files -> pairs -> ids, once, by one tokenizer of both sides
    model    an encoder-decoder, or a causal model that goes on from a prompt
    Trainer  the loop
    scores   BLEU and chrF of the validation pairs, by the search of the run
    save     the run directory

Not for printing: what happens is told through `on_record`. Validation pairs decide which weights are
kept and are never trained on; pairs that no model may train on are refused.
"""

import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from sentitok import Tokenizer

from ..config import TranslationConfig
from ..data.parallel import ParallelText
from ..data.record import TrainingRecord
from ..errors import CheckpointError, TrainingError
from ..evaluation.translation import can_score, check_scorable, translation_scores
from ..runs.config_warnings import advice
from ..runs.directory import finish_run, goes_on, load_weights, metadata_of, refuse_run
from ..runs.families import TRANSLATOR
from ..runs.language_directory import begin_with, load_tokenizer, load_unfinished
from ..runs.lineage import record_of
from ..runs.manifest import check_unchanged
from ..runs.torch_settings import set_torch
from ..tasks.seq2seq import Seq2Seq
from ..text.pairs import end_of, joint_tokenizer
from ..training.distributed import Distributed
from ..training.trackers import check_tracker, tracking
from ..training.trainer import Record, Trainer
from ..training.validate import check_possible
from ..translator import Translator, build_translation_model, format_of
from .translation_pairs import read_pairs, training_pairs, validation_pairs

__all__ = ["resume_translation", "train_translation"]

_Say = Callable[[str], None]


@dataclass(frozen=True)
class _Told:
    """Whom a run tells of its course, and asks."""

    on_record: Callable[[Record], None] | None
    on_note: _Say | None
    should_stop: Callable[[], bool] | None


def train_translation(
    config: TranslationConfig,
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: _Say | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Trains a translation model and writes its run directory.

    Args:
        config: the run.
        out: the directory, which must hold no run yet.
        on_record: called with each record of `metrics.jsonl`.
        on_note: called with what the user should know: pairs left out, leaks.
        should_stop: asked after each step.

    Returns:
        What `run.json` holds; of a process that is not the first, the course of training alone.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    _check_installed(config)
    processes = Distributed.start(config.train.device)
    if processes.main:  # others may come here once the first has begun the run
        refuse_run(out)  # before minutes are spent on it
    told = _Told(on_record, on_note if processes.main else None, should_stop)
    try:
        train, valid = read_pairs(config, told.on_note)
        tokenizer = joint_tokenizer(config.data, train.sources, train.targets)
        end, _ = end_of(tokenizer, config.data.end)
        config = _from_anywhere(
            config.model_copy(update={"data": config.data.model_copy(update={"end": end})})
        )
        return _train(config, out, train, valid, tokenizer, processes, told, resumed=False)
    finally:
        processes.end()


def resume_translation(
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: _Say | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Goes on with a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `train_translation`.

    Raises:
        CheckpointError: if there is nothing to resume, or the data has changed.
    """
    config = load_unfinished(out, TRANSLATOR)
    _check_installed(config)
    processes = Distributed.start(config.train.device)
    told = _Told(on_record, on_note if processes.main else None, should_stop)
    try:
        train, valid = read_pairs(config, told.on_note, resumes=True)
        then = TrainingRecord.load(out)
        for source in TrainingRecord.of(train.table(), valid=valid.table()).sources:
            if (source.sha256, source.rows) not in {(old.sha256, old.rows) for old in then.sources}:
                raise CheckpointError(f"{source.source}: has changed since the run began; start a new one")
        return _train(config, out, train, valid, load_tokenizer(out), processes, told, resumed=True)
    finally:
        processes.end()


def _check_installed(config: TranslationConfig) -> None:
    """Refuses what needs an extra that is not there, before minutes are spent on it."""
    check_tracker(config.train.track)
    if config.task.monitor == "bleu" or can_score():
        check_scorable(config.task.bleu_tokenizer)


def _from_anywhere(config: TranslationConfig) -> TranslationConfig:
    """Returns the configuration with absolute paths, so that a run can be resumed from any folder."""
    data, train = config.data, config.train
    files = {
        name: tuple(str(Path(path).absolute()) for path in getattr(data, name)) for name in ("train", "valid")
    }
    given = None if data.tokenizer is None else str(Path(data.tokenizer).absolute())
    start = None if train.init_from is None else str(Path(train.init_from).absolute())
    return config.model_copy(
        update={
            "data": data.model_copy(update={**files, "tokenizer": given}),
            "train": train.model_copy(update={"init_from": start}),
        }
    )


def _train(
    config: TranslationConfig,
    out: Path,
    train: ParallelText,
    valid: ParallelText,
    tokenizer: Tokenizer,
    processes: Distributed,
    told: _Told,
    *,
    resumed: bool,
) -> dict[str, Any]:
    set_torch(config.train)
    seed = config.train.seed
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch.manual_seed(seed)
    began = time.perf_counter()
    module, format = build_translation_model(config, tokenizer.vocab_size), format_of(config, tokenizer)
    check_possible(module, config.optim)
    pairs, left_out = training_pairs(config, format, module, tokenizer, train, told.on_note)
    valid, checked = validation_pairs(config, format, module, tokenizer, valid, told.on_note)
    trainer = Trainer(config.optim, config.train, distributed=processes, should_stop=told.should_stop)

    def scores_of(translations: list[str]) -> dict[str, Any]:
        return translation_scores(translations, valid.targets, tokenizer=config.task.bleu_tokenizer)

    def bleu(model: nn.Module) -> float:
        translations = _translations(config, model, tokenizer, valid, beam=1)
        score: float = scores_of(translations)["bleu"]
        return score

    task = Seq2Seq(config.task, config.train, format, pairs, checked, bleu=bleu)
    for note in advice(config.optim, config.train, lambda: task.course(processes.world).steps):
        if told.on_note is not None:
            told.on_note(note)
    resumes = goes_on(out, resumed, told.on_note or (lambda _: None), writes=processes.main)
    if config.train.init_from is not None and not resumes:
        _start(module, Path(config.train.init_from), tokenizer)
    if not resumed and processes.main:  # once nothing of the data or the settings can be refused any more
        record = TrainingRecord.of(train.table(), valid=valid.table())
        record = record.started_from(record_of(config.train.init_from))
        begin_with(out, config, tokenizer, record.files())
    encoded_s = time.perf_counter() - began
    failed = None
    try:
        with tracking(config, out, told.on_record) if processes.main else nullcontext() as hear:
            trainer.on_record = hear
            fit = trainer.fit(module, task, folder=out, resume=resumes)
    except TrainingError as error:
        if error.fit is None:
            raise
        fit, failed = error.fit, error
    if not processes.main:
        if failed is not None:
            raise failed
        return {"arch": config.arch, "fit": asdict(fit)}
    about: dict[str, Any] = {
        "arch": config.arch,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "vocabulary": tokenizer.vocab_size,
        "pairs": {"train": len(pairs), "valid": len(valid), "left_out": left_out},
        "fit": asdict(fit),
        "device": str(trainer.device),
        "seconds": {"encode": encoded_s, "steps": fit.seconds},
    }
    finish_run(out, module, tokenizer, about, keeps_state=True)  # of use even if it cannot be scored
    evaluation = task.evaluate(module)
    assert evaluation is not None
    about["valid"] = {name.removeprefix("val_"): value for name, value in evaluation.scores.items()}
    if fit.stop not in ("stopped", "not finite"):
        if can_score():
            about["valid"] |= scores_of(_translations(config, module, tokenizer, valid))
        elif told.on_note is not None:
            told.on_note('no BLEU of the validation pairs without sacrebleu: pip install "sentitok[lm]"')
    finish_run(out, module.cpu(), tokenizer, about, keeps_state=fit.stop == "stopped")
    if failed is not None:  # the best weights so far are a run that answers
        raise failed
    return about


def _start(module: nn.Module, base: Path, tokenizer: Tokenizer) -> None:
    """Puts the weights of a base into a model of its shape and its vocabulary.

    Raises:
        CheckpointError: if a file of the base has changed, or its vocabulary is another.
    """
    check_unchanged(base)
    if metadata_of(base).get("tokenizer_sha256") != tokenizer.fingerprint:
        raise CheckpointError(
            f"{base}: its weights belong to another tokenizer than this run has; leave out --tokenizer and "
            "--end, or --init"
        )
    load_weights(module, base)


def _translations(
    config: TranslationConfig, module: nn.Module, tokenizer: Tokenizer, pairs: ParallelText, **given: Any
) -> list[str]:
    """Returns the best translation of each source."""
    best = Translator(config, module, tokenizer, {}).translate(pairs.sources, **given)
    return [ranked[0].text for ranked in best]
