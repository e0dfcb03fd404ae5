"""`pretrain`: the straight line from a corpus to the run directory of a language model.

    corpus   files -> tokens -> rows of two parts, on the disk
    model    the architecture's backbone and the head of the task
    Trainer  the loop, the same as for classifiers
    scores   loss, perplexity, bits per byte, unigram and gzip beside them
    save     the run directory

No branch on the architecture. Not for printing: what happens is told through `on_record`.
"""

import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch

from sentitok import Tokenizer
from sentitok.datasets import TokenDataset

from ..config import LanguageConfig, MaskedConfig
from ..errors import CheckpointError, ConfigError, DataError, SentiError, TrainingError
from ..models.language import LanguageModule, build_language_model, language_model_shape
from ..nn.recompute import set_recompute
from ..runs.config_warnings import advice
from ..runs.directory import finish_run, goes_on, refuse_run
from ..runs.families import LANGUAGE_MODEL
from ..runs.language_directory import (
    SOURCES,
    begin_language_run,
    end_of_start,
    load_tokenizer,
    load_unfinished,
    tokenizer_of_start,
)
from ..runs.lineage import own_sources, sources_of_start
from ..runs.manifest import read_json
from ..runs.start import start_from
from ..runs.torch_settings import set_torch
from ..tasks.masked import MaskedToken
from ..tasks.next_token import NextToken
from ..text.corpus import Corpus, is_encoded, open_corpus, prepare, shards_hash
from ..text.row_order import RowOrder
from ..text.special_tokens import masked_tokens
from ..training.distributed import Distributed
from ..training.progress import read_records
from ..training.state import STATE
from ..training.task import Task
from ..training.throughput import FORMULA, mfu, peak_of, working_parameters
from ..training.trackers import check_tracker, tracking
from ..training.trainer import Record, Trainer
from ..training.validate import check_possible
from .corpus_warnings import notes_of

__all__ = ["TOKENS", "pretrain", "resume_pretraining"]

# The folder of a run that holds its rows while it goes on.
TOKENS, _CLAIM = "tokens", ".rows"
_Told = Callable[[Record], None] | None


def pretrain(
    config: LanguageConfig,
    out: Path,
    *,
    on_record: _Told = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Trains a language model and writes its run directory.

    Where `torchrun` has started several processes, each calls this; the first one writes.

    Args:
        config: the run.
        out: the directory, which must hold no run yet.
        on_record: called with each record of `metrics.jsonl`.
        on_note: called with what the user should know.
        should_stop: asked after each step.

    Returns:
        What `run.json` holds; of a process that is not the first, the course of training alone.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    processes = _processes(config)
    config = _with_end_of_start(_from_anywhere(config))
    with _together(processes) as first:
        if first:
            refuse_run(out)  # before minutes are spent on it
            check_tracker(config.train.track)
            _refuse_impossible(config, processes.world)
            with _rows_in(out):
                tokenizer = prepare(config, out / TOKENS, tokenizer_of_start(config))
                if config.train.init_from is not None:  # weights that do not fit leave no run behind
                    start_from(build_language_model(config, tokenizer.vocab_size), config, tokenizer)
                corpus = open_corpus(out / TOKENS)
                task = _task(config, corpus, tokenizer, bfloat16=False)  # refuses what cannot be scored
                task.course(processes.world)  # and fewer rows than processes
                sources = corpus.facts.sources + sources_of_start(config.train.init_from)
                begin_language_run(out, config, tokenizer, {"sources": sources})
    return _go(config, out, processes, False, on_record, on_note, should_stop)


def resume_pretraining(
    out: Path,
    *,
    on_record: _Told = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Goes on with a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `pretrain`.

    Raises:
        CheckpointError: if there is nothing to resume, or the corpus has changed.
    """
    config = load_unfinished(out, LANGUAGE_MODEL)
    processes = _processes(config)
    config = _shared_anew(config, out, processes.world)
    with _together(processes) as first:
        if first:
            _check_same(config, out)
    return _go(config, out, processes, True, on_record, on_note, should_stop)


def _processes(config: LanguageConfig) -> Distributed:
    """Joins the processes that `torchrun` has started, each with the whole model or a part of it."""
    if config.train.parallel == "ddp":
        return Distributed.start(config.train.device)
    from ..training.fsdp import Sharded

    return Sharded.start(config.train.device)


def _shared_anew(config: LanguageConfig, out: Path, world: int) -> LanguageConfig:
    """Gives each process so many rows that all together have those of the run's batches.

    Raises:
        CheckpointError: if the rows cannot be shared evenly.
    """
    if config.train.parallel == "ddp" or not (out / STATE).is_file():
        return config
    from ..training.fsdp_state import rows_of_state

    rows = rows_of_state(out)
    if rows % world:
        fewer = max(n for n in range(1, world) if rows % n == 0)
        raise CheckpointError(
            f"{out}: {world} processes cannot share its batches of {rows} rows evenly; type: torchrun "
            f"--nproc-per-node {fewer} -m sentimodels pretrain --resume {out}"
        )
    train = config.train.model_copy(update={"batch_size": rows // world})
    return config.model_copy(update={"train": train})


def _with_end_of_start(config: LanguageConfig) -> LanguageConfig:
    """Returns the configuration, with the end of documents of the run that a model starts from.

    That model knows no other. One that is named takes precedence, as does the separator of an encoded corpus.
    """
    tokenizer = tokenizer_of_start(config)
    if tokenizer is None or config.data.end is not None or is_encoded(config):
        return config
    end = end_of_start(config, tokenizer)
    return config.model_copy(update={"data": config.data.model_copy(update={"end": end})})


class _together:  # noqa: N801  # 2026-11-23: used as a block
    """A block that the first process does while the others wait; where it fails, all end."""

    def __init__(self, processes: Distributed) -> None:
        self.processes = processes

    def __enter__(self) -> bool:
        return self.processes.main

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.processes.share(float(kind is None))[0] and kind is None:
            raise DataError("the first process could not prepare the run")


@contextmanager
def _rows_in(out: Path) -> Iterator[None]:
    """A block that writes rows: where it fails, they go, and so does the folder that was made for them.

    Raises:
        CheckpointError: if files lie there that no run has put there.
    """
    folder, was_there = out / TOKENS, out.exists()
    others = folder.is_dir() and any(folder.iterdir()) and not (folder / _CLAIM).is_file()
    if others or folder.is_file():
        raise CheckpointError(
            f"{folder}: is not empty, and the run would keep its rows there and remove them in the end; give "
            "another --out, or move it away"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _CLAIM).touch()
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if not was_there:
            with suppress(OSError):
                out.rmdir()
        raise


def _refuse_impossible(config: LanguageConfig, world: int) -> None:
    """Refuses a model that cannot do the task or be trained so, before the corpus is read."""
    if config.train.parallel == "fsdp":
        from ..training.fsdp import check_sharded

        check_sharded(config, world)
    module = language_model_shape(config, 8)
    check_possible(module, config.optim)
    if config.train.recompute and not set_recompute(module, True):
        raise ConfigError(f"train.recompute: {config.arch} has no blocks to compute again; leave it out")


def _from_anywhere(config: LanguageConfig) -> LanguageConfig:
    """Returns the configuration with absolute paths, so that a run can be resumed from any folder."""
    data = config.data
    paths: dict[str, Any] = {"corpus": tuple(str(Path(path).absolute()) for path in data.corpus)}
    if data.tokenizer is not None:
        paths["tokenizer"] = str(Path(data.tokenizer).absolute())
    train = config.train
    if train.init_from is not None:
        train = train.model_copy(update={"init_from": str(Path(train.init_from).absolute())})
    return config.model_copy(update={"data": data.model_copy(update=paths), "train": train})


def _check_same(config: LanguageConfig, out: Path) -> None:
    """Makes the rows anew where they are gone; refuses a corpus that is not what the run began with.

    Raises:
        CheckpointError: naming the file.
    """
    then = own_sources(read_json(out / SOURCES).get("sources", []))
    for source in then if is_encoded(config) else ():
        if shards_hash(TokenDataset(Path(source["source"]))) != source["sha256"]:
            raise _changed(source)
    with suppress(SentiError):
        if own_sources(open_corpus(out / TOKENS).facts.sources) == then:
            return
    prepare(config, out / TOKENS, load_tokenizer(out), resumed=True)
    now = own_sources(open_corpus(out / TOKENS).facts.sources)
    if now != then:
        shutil.rmtree(out / TOKENS)
        old, new = next(pair for pair in zip_longest(then, now) if pair[0] != pair[1])
        raise _changed(new or old)


def _changed(source: Mapping[str, Any]) -> CheckpointError:
    """Returns the error of a corpus that is not what the run began with."""
    return CheckpointError(
        f"{source['source']}: has changed since the run began; start a new one, with another --out"
    )


def _task(
    config: LanguageConfig, corpus: Corpus, tokenizer: Tokenizer, *, bfloat16: bool
) -> NextToken | MaskedToken:
    order = RowOrder(config, corpus.train.n_rows)
    if isinstance(config.task, MaskedConfig):
        _, tokens = masked_tokens(tokenizer)
        return MaskedToken(corpus, order, config.task, tokens, tokenizer.vocab_size, bfloat16=bfloat16)
    return NextToken(corpus, order, bfloat16=bfloat16)


def _go(
    config: LanguageConfig,
    out: Path,
    processes: Distributed,
    resumed: bool,
    on_record: _Told,
    on_note: Callable[[str], None] | None,
    should_stop: Callable[[], bool] | None,
) -> dict[str, Any]:
    say = on_note if on_note is not None and processes.main else (lambda _: None)
    set_torch(config.train)
    corpus, tokenizer = open_corpus(out / TOKENS), load_tokenizer(out)
    for note in notes_of(config, corpus, tokenizer, resumed=resumed):
        say(note)
    torch.manual_seed(config.train.seed)
    module = build_language_model(config, tokenizer.vocab_size)
    set_recompute(module, config.train.recompute)
    resumes = goes_on(out, resumed, say, writes=processes.main)
    if config.train.init_from is not None and not resumes:
        for note in start_from(module, config, tokenizer):
            say(note)
    try:
        with tracking(config, out, on_record) if processes.main else nullcontext() as told:
            trainer = _trainer(config)(
                config.optim, config.train, distributed=processes, on_record=told, should_stop=should_stop
            )
            task = _task(config, corpus, tokenizer, bfloat16=trainer.bfloat16)
            for note in advice(config.optim, config.train, lambda: task.course(processes.world).steps):
                say(note)
            return _fitted(config, out, trainer, task, module, corpus, tokenizer, resumes)
    finally:
        processes.end()


def _trainer(config: LanguageConfig) -> type[Trainer]:
    if config.train.parallel == "ddp":
        return Trainer
    from ..training.fsdp import ShardedTrainer

    return ShardedTrainer


def _fitted(
    config: LanguageConfig,
    out: Path,
    trainer: Trainer,
    task: NextToken | MaskedToken,
    module: LanguageModule,
    corpus: Corpus,
    tokenizer: Tokenizer,
    resumes: bool,
) -> dict[str, Any]:
    """Trains, scores and saves."""
    failed: TrainingError | None = None
    checked: Task = task
    try:
        fit = trainer.fit(module, checked, folder=out, resume=resumes)
    except TrainingError as error:
        if error.fit is None:
            raise
        fit, failed = error.fit, error
    if config.train.parallel == "fsdp":
        module = _whole(module, config, tokenizer, trainer.distributed)
    if not trainer.distributed.main:
        if failed is not None:
            raise failed
        return {"arch": config.arch, "fit": asdict(fit)}
    stop = _budget(config, fit.stop)
    about: dict[str, Any] = {
        "arch": config.arch,
        "task": config.task.kind,
        "preset": config.preset,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "vocabulary": tokenizer.vocab_size,
        "context": config.data.context,
        "corpus": {
            key: value for key, value in asdict(corpus.facts).items() if key not in ("datasets", "sources")
        },
        "fit": {**asdict(fit), "stop": stop},
        "planned_steps": task.course(trainer.distributed.world).steps,
        "device": str(trainer.device),
        "seconds": {"fit": fit.seconds},
        "speed": _speed(trainer, module, out),
    }
    finish_run(out, module, tokenizer, about, keeps_state=True)  # of use even if it cannot be scored
    scores = task.evaluate(module).scores
    about["valid"] = {name.removeprefix("val_"): value for name, value in scores.items()}
    about["baselines"] = corpus.facts.baselines()
    if stop != "stopped":  # before the state, without which nobody would come back for them
        shutil.rmtree(out / TOKENS, ignore_errors=True)
    finish_run(out, module.cpu(), tokenizer, about, keeps_state=stop == "stopped")
    if failed is not None:  # the best weights so far are a model that answers
        raise failed
    return about


def _whole(
    module: LanguageModule, config: LanguageConfig, tokenizer: Tokenizer, processes: Distributed
) -> LanguageModule:
    """Returns a model of the first process with the weights that lie in all; every process calls it."""
    from ..training.fsdp import whole_weights

    if processes.world == 1:
        return module
    weights = whole_weights(module, processes)
    if not processes.main:
        return module
    whole = build_language_model(config, tokenizer.vocab_size).to(processes.device)
    whole.load_state_dict(weights, strict=False)  # tied weights have one name of several
    return whole


def _budget(config: LanguageConfig, stop: str) -> str:
    """Returns which budget ended a run that went on to its end."""
    train = config.train
    if stop != "epochs" or (train.epochs is not None and train.tokens is None):
        return stop
    return "tokens" if train.tokens is not None else stop


def _speed(trainer: Trainer, module: LanguageModule, run: Path) -> dict[str, Any]:
    """Returns tokens per second, the median of what was recorded, and MFU where the peak is known."""
    key = "tokens_per_second"
    speeds = [record[key] for record in read_records(run) if key in record]
    speed: dict[str, Any] = {key: statistics.median(speeds) if speeds else 0.0}
    if (peak := peak_of(trainer.device, trainer.bfloat16)) is not None:
        each = speed[key] / trainer.distributed.world
        speed |= {"mfu": mfu(working_parameters(module), each, peak), "formula": FORMULA, "peak": peak}
    return speed
