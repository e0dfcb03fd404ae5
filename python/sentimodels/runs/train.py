"""`train`: the straight line from files to a run directory.

    data     files -> tables -> ids, once
    models   the architecture's module; what learns by itself does
    Trainer  the loop, for what learns by steps
    metrics  temperature on the validation texts, scores, the baselines beside them
    save     the run directory

No branch on the architecture. Not for printing: what happens is told through `on_record`. A run that
is trained twice, the second time on its validation rows too, is `refit.py`.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..config import DataConfig, RunConfig
from ..data.encoded import Encoded
from ..data.readers import read_as
from ..data.record import TrainingRecord
from ..data.split import count_of
from ..data.table import Table
from ..data.units import Units
from ..errors import CheckpointError, ConfigError, TrainingError
from ..evaluation.calibration import fit_temperature
from ..evaluation.intervals import intervals
from ..evaluation.metrics import per_class, scores
from ..evaluation.predictions import of_logits
from ..inference import text_logits
from ..models import Fits, build
from ..tasks.classification import Classification, evaluation
from ..tasks.distillation import Distillation
from ..text.encoder import TextEncoder, encoder_for, load_encoder, vectors_for
from ..training.distributed import Distributed
from ..training.progress import write_record
from ..training.state import STATE, load_state
from ..training.trackers import check_tracker, tracking
from ..training.trainer import Record, Trainer
from ..training.validate import check_possible
from .baselines import baselines
from .config_warnings import advice
from .crossfit import CrossFit
from .directory import begin_run, finish_run, finished, from_anywhere, goes_on, refuse_run
from .example import example_of
from .families import CLASSIFIER
from .lineage import check_unlearned, record_of
from .processes import check_together
from .soft_labels import check_taught, compared
from .start import encoder_of_start, first_weights
from .tables import Tables, check_files, read_tables
from .tasks import settled_task, task_of
from .torch_settings import set_torch

__all__ = ["Tables", "read_tables", "resume", "train"]

# Replicates of the bootstrap intervals of a run's scores, enough for two digits of their ends.
_REPLICATES = 400


def train(
    config: RunConfig,
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    baseline: bool | None = None,
    tables: Tables | None = None,
    temperature: float = 1.0,
    chosen: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Trains a model once and writes its run directory.

    Where `torchrun` has started several processes, each calls this; the first one writes.

    Args:
        config: the run.
        out: the directory, which must hold no run yet.
        on_record: called with each record of `metrics.jsonl`.
        on_note: called with what the user should know: guesses, leaks, texts cut.
        should_stop: asked after each step.
        baseline: whether to train TF-IDF as a baseline; without it as the configuration says.
        tables: the tables, if they are read already.
        temperature: of the model where no validation texts fit one.
        chosen: what an earlier run on validation texts chose, for `run.json`.

    Returns:
        What `run.json` holds; of a process that is not the first, the course of training alone.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    check_taught(config, tables.taught if tables else None)
    check_together(config)
    processes = Distributed.start(config.train.device)
    if processes.main:  # others may come here once the first has begun the run
        refuse_run(out)  # before minutes are spent on it
    check_tracker(config.train.track)
    tables = tables or read_tables(config)
    tables.check_trainable()
    encoder = encoder_of_start(config) or encoder_for(config, tables.train.texts)
    # What was settled here must be in the run: who loads it has no training texts to settle it by.
    config = config.model_copy(
        update={"data": encoder.data, "task": settled_task(config, tables.labels.names)}
    )
    config = with_baseline(config, baseline)
    with _heard(processes, config, out, on_record) as told:
        return _train(
            config, out, tables, encoder, processes, False, told, on_note, should_stop, temperature, chosen
        )


@contextmanager
def _heard(
    processes: Distributed, config: RunConfig, out: Path, on_record: Callable[[Record], None] | None
) -> Iterator[Callable[[Record], None] | None]:
    """Yields what hears the records of this process, and leaves the others at the end."""
    try:
        with tracking(config, out, on_record) if processes.main else nullcontext() as told:
            yield told
    finally:
        processes.end()


def resume(
    out: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    baseline: bool | None = None,
    tables: Tables | None = None,
    temperature: float = 1.0,
    chosen: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Goes on with a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `train`.

    Raises:
        CheckpointError: if there is nothing to resume, or the data has changed.
    """
    config = with_baseline(CLASSIFIER.load(out), baseline)
    check_taught(config, tables.taught if tables else None)
    if finished(out):
        raise CheckpointError(f"{out}: has finished; nothing to resume")
    check_together(config)
    processes = Distributed.start(config.train.device)
    tables = tables or read_tables(config)
    check_same(out, tables)
    encoder = load_encoder(out, config)
    with _heard(processes, config, out, on_record) as told:
        return _train(
            config, out, tables, encoder, processes, True, told, on_note, should_stop, temperature, chosen
        )


def check_same(out: Path, tables: Tables) -> None:
    """Refuses rows that are not those a run began with.

    Raises:
        CheckpointError: naming the file.
    """
    then = TrainingRecord.load(out)
    for source in TrainingRecord.of(tables.train, valid=tables.valid, test=tables.test).sources:
        if (source.sha256, source.rows) not in {(old.sha256, old.rows) for old in then.sources}:
            raise CheckpointError(
                f"{source.source}: has changed since the run began, or is divided otherwise; start a new one"
            )


def with_baseline(config: RunConfig, baseline: bool | None) -> RunConfig:
    """Returns the configuration with another wish for the baseline, if there is one."""
    if baseline is None:
        return config
    return config.model_copy(update={"train": config.train.model_copy(update={"baseline": baseline})})


def _train(
    config: RunConfig,
    out: Path,
    tables: Tables,
    encoder: TextEncoder,
    processes: Distributed,
    resumed: bool,
    on_record: Callable[[Record], None] | None,
    on_note: Callable[[str], None] | None,
    should_stop: Callable[[], bool] | None,
    temperature: float,
    chosen: Mapping[str, Any] | None,
) -> dict[str, Any]:
    say = on_note if on_note is not None and processes.main else (lambda _: None)
    start = None if resumed else config.train.init_from
    base = record_of(start)
    of_base = check_unlearned(start, base, tables.train, validation=tables.valid, test=tables.test)
    for note in (*tables.notes, *of_base):
        say(note)
    set_torch(config.train)
    _seed(config.train.seed)
    began = time.perf_counter()
    n_classes, taught = len(tables.labels), tables.taught
    encoded, labels = encoder.encode(tables.train.texts), tables.classes(tables.train)
    valid = valid_labels = None
    if tables.valid is not None:
        valid = encoder.encode(tables.valid.texts)
        if taught is None or tables.valid.labels is not None:
            valid_labels = tables.classes(tables.valid)
    _say_cut(say, "training", encoded, config.data)
    if valid is not None:
        _say_cut(say, "validation", valid, config.data)
    module = build(config.arch, config.model, encoder.inputs(n_classes, _vectors(config, encoder, say)))
    trainer = Trainer(
        config.optim, config.train, distributed=processes, on_record=on_record, should_stop=should_stop
    )
    check_possible(module, config.optim)
    crossed = None
    if tables.valid is not None and valid_labels is not None and not tables.judged_on_test:
        crossed = CrossFit(valid_labels, Units.of(tables.valid, 0.5, 2), out)
        if crossed.possible and (lacking := crossed.unbalanced()):
            counts = Counter(tables.labels.decode(valid_labels.tolist()))
            names = tables.labels.decode(lacking)
            say(f"one half of the validation rows has none of the label {count_of(counts, names)}")
    told = None if crossed is None else crossed.update
    task = task_of(config, tables, encoded, labels, valid, valid_labels, told)
    if isinstance(task, Classification):
        task.check(module)
    for note in advice(config.optim, config.train, lambda: task.course(processes.world).steps):
        say(note)
    resumes = goes_on(out, resumed, say, writes=processes.main)
    if not resumes:
        for note in first_weights(module, config, encoder):
            say(note)
    if not resumed and processes.main:  # once nothing of the data or the settings can be refused any more
        record = TrainingRecord.of(tables.train, valid=tables.valid, test=tables.test)
        record = record if taught is None else record.taught_by(taught.records)
        begin_run(out, from_anywhere(config), encoder, tables.labels, record.started_from(base))
    encoded_s = time.perf_counter() - began
    # A run that is stopped before its first evaluation makes one for its user; it has no part in the run.
    if crossed is not None and resumes and load_state(out / STATE)[1]["best"] is not None:
        crossed.load()
    if isinstance(module, Fits) and not resumes:
        module.fit(encoded, tables.to_fit(), config.train.seed)
    fitted_s = time.perf_counter() - began - encoded_s
    failed = None
    try:
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
        "labels": tables.counts(),
        **_drawn(task, tables),
        **({"estimates": dict(config.estimates)} if config.estimates else {}),
        **({"accuracies": dict(config.accuracies)} if config.accuracies else {}),
        "rows": {
            "train": len(tables.train),
            "valid": 0 if tables.valid is None else len(tables.valid),
            "test": 0 if tables.test is None else len(tables.test),
        },
        "cut": {
            "train": int(encoded.cut.sum()),
            "valid": 0 if valid is None else int(valid.cut.sum()),
        },
        "fit": asdict(fit),
        "device": str(trainer.device),
        "example": example_of(tables.train.texts),
        "read_as": read_as(
            tables.train,
            format=config.data.format,
            separator=config.data.separator,
            header=config.data.header,
            encoding=config.data.encoding,
        ),
        "seconds": {"encode": encoded_s, "fit": fitted_s, "steps": fit.seconds},
        "temperature": temperature,
        **({"chosen": dict(chosen)} if chosen else {}),
    }
    if valid is not None and tables.valid is not None:
        logits = text_logits(module, valid, device=trainer.device, bfloat16=trainer.bfloat16)
        if not fit.steps:  # it learned by itself, so no step has told how it does
            if crossed is not None:
                crossed.update(logits)
            if isinstance(task, Distillation):
                scored = task.evaluation(logits)
            else:
                assert valid_labels is not None  # `classes` has seen to it
                scored = evaluation(logits, valid_labels)
            said = {"step": 0, "epoch": 0.0, **scored.scores, "monitor": scored.monitor}
            said |= {"seconds": round(fitted_s, 3), "tokens": 0}
            write_record(out, said)
            if on_record is not None:
                on_record(said | {"total_steps": 0, "padding": 0.0})
        if valid_labels is not None:
            about["temperature"] = fit_temperature(logits, valid_labels)
            about["valid"] = _scores(tables, tables.valid, logits, about["temperature"])
        if taught is not None and taught.valid is not None:
            cooled = logits / np.float32(about["temperature"])
            about["distilled"] = compared(tables.labels, "valid", tables.valid, cooled, taught.valid)
    judged = judge(tables, crossed)
    if tables.test is not None and judged == "test":
        judging = encoder.encode(tables.test.texts)
        _say_cut(say, "test", judging, config.data)
        about["cut"]["test"] = int(judging.cut.sum())
        answers = text_logits(module, judging, device=trainer.device)
        about["test"] = _scores(tables, tables.test, answers, about["temperature"])
        if taught is not None and taught.test is not None:
            cooled = answers / np.float32(about["temperature"])
            about["distilled"] = compared(tables.labels, "test", tables.test, cooled, taught.test)
        answered = of_logits(tables.labels, answers, tables.test)
    elif crossed is not None and tables.valid is not None and judged == "crossed":
        answered = of_logits(tables.labels, crossed.logits(), tables.valid)
        about["crossed"] = scores(answered)
    if judged is not None:
        about["judged"] = judged
        done = fit.stop not in ("stopped", "not finite")
        with_tfidf = config.train.baseline and config.arch != "tfidf" and done and bool((labels >= 0).all())
        about["baselines"] = baselines(tables, answered, tfidf=with_tfidf)
    finish_run(out, module.cpu(), encoder, about, keeps_state=fit.stop == "stopped")
    if failed is not None:  # the best weights so far are a run that answers
        raise failed
    return about


def _drawn(task: Classification | Distillation, tables: Tables) -> dict[str, dict[str, int]]:
    """Returns how many rows of each label an epoch draws, where it is not those there are."""
    rows = task.drawn() if isinstance(task, Classification) else None
    if rows is None:
        return {}
    return {"drawn": dict(zip(tables.labels.names, np.rint(rows).astype(int).tolist(), strict=True))}


def judge(tables: Tables, crossed: CrossFit | None) -> str | None:
    """Returns the part that says what a run is worth: `test`, else dev `crossed`; `None` without either."""
    if tables.judged_on_test:
        return "test"
    return "crossed" if crossed is not None and crossed.possible and crossed.chosen is not None else None


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # for libraries that draw from it
    torch.manual_seed(seed)


def _say_cut(say: Callable[[str], None], part: str, encoded: Encoded, data: DataConfig) -> None:
    if encoded.n_cut:
        share = 100 * encoded.n_cut / encoded.n_texts
        longest = int(encoded.text_lengths.max())
        texts, are = ("text", "is") if encoded.n_cut == 1 else ("texts", "are")
        say(
            f"{encoded.n_cut:,} {part} {texts} ({share:.1f} %) {are} longer than {data.max_tokens} tokens "
            f'(the longest {longest:,}); data.long = "{data.long}"'
        )


def _vectors(config: RunConfig, encoder: TextEncoder, say: Callable[[str], None]) -> torch.Tensor | None:
    path = config.data.vectors
    static = getattr(config.model, "channels", "tuned") != "tuned"
    if path is None:
        if static:
            raise ConfigError("model.channels static or both need data.vectors, a file of word vectors")
        return None
    texts = encoder.token_texts
    if texts is None:
        raise ConfigError(f"data.vectors: {config.arch} has no token embeddings")
    vectors, n_found = vectors_for(Path(path), texts)
    say(f"{n_found:,} of {len(texts):,} tokens have a vector in {path}")
    return vectors


def _scores(tables: Tables, table: Table, logits: NDArray[np.float32], temperature: float) -> dict[str, Any]:
    before = scores(of_logits(tables.labels, logits, table))
    answered = of_logits(tables.labels, logits, table, temperature)
    ends = intervals(answered, n_replicates=_REPLICATES)
    kept = {name: list(ends[name]) for name in ("accuracy", "macro_f1")}
    return {
        **scores(answered), "ece_before": before["ece"], "intervals": kept, "per_class": per_class(answered),
    }  # fmt: skip
