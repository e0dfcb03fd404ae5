"""Steps of a long benchmark: each is a run that begins, resumes where it was stopped, or is there already.

The measurements are in the benchmarks. A step that is cut off, by its time, by Ctrl-C or by a kill, leaves a
run directory that the same command resumes; one that has finished is only read.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sentimodels.cli.launch import Stopper
from sentimodels.config import AlignConfig, LanguageConfig, RunConfig, TranslationConfig
from sentimodels.runs.directory import finished, read_json
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.tables import Tables

SILENT = Callbacks()
AGAIN = "stopped; type the command again to continue"
Stop = Callable[[], bool]
About = dict[str, Any]
_Work = Callable[[Stop], About]


def arguments(about: str | None, out: str) -> argparse.ArgumentParser:
    """Returns the options of a benchmark of steps that chooses on dev, and judges with `--test`."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(out))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--test", action="store_true")
    return parser


def after(seconds: float | None) -> Stop:
    """Returns whether so many seconds have passed since; without a number they never do."""
    until = float("inf") if seconds is None else time.monotonic() + seconds
    return lambda: time.monotonic() > until


def pretrained(config: LanguageConfig, run: Path, stop: Stop, callbacks: Callbacks = SILENT) -> About | None:
    """Returns the facts of a language model once it is trained; `None` where the time ended before."""
    return _step(
        run, stop,
        lambda asked: train(config, run, replace(callbacks, should_stop=asked)),
        lambda asked: resume(run, replace(callbacks, should_stop=asked)),
    )  # fmt: skip


def trained(
    config: RunConfig, run: Path, stop: Stop, tables: Tables | None = None, callbacks: Callbacks = SILENT
) -> About | None:
    """Returns the facts of a classifier once it is trained; `None` where the time ended before."""
    more: dict[str, Any] = {"tables": tables, "baseline": False}
    return _step(
        run, stop,
        lambda asked: train(config, run, replace(callbacks, should_stop=asked), **more),
        lambda asked: resume(run, replace(callbacks, should_stop=asked), **more),
    )  # fmt: skip


def aligned(config: AlignConfig, run: Path, stop: Stop, callbacks: Callbacks = SILENT) -> About | None:
    """Returns the facts of an aligned model once it is trained; `None` where the time ended before."""
    return _step(
        run, stop,
        lambda asked: train(config, run, replace(callbacks, should_stop=asked)),
        lambda asked: resume(run, replace(callbacks, should_stop=asked)),
    )  # fmt: skip


def translated(
    config: TranslationConfig, run: Path, stop: Stop, callbacks: Callbacks = SILENT
) -> About | None:
    """Returns the facts of a translation model once it is trained; `None` where the time ended before."""
    return _step(
        run, stop,
        lambda asked: train(config, run, replace(callbacks, should_stop=asked)),
        lambda asked: resume(run, replace(callbacks, should_stop=asked)),
    )  # fmt: skip


def cpu_seconds(run: Path) -> float:
    """Returns the processor time of all calls that worked on a run, without calls that were killed."""
    path = _beside(run)
    return float(path.read_text("utf-8")) if path.is_file() else 0.0


def _beside(run: Path) -> Path:
    return run.with_name(f"{run.name}.cpu-seconds")


def _step(run: Path, stop: Stop, begin: _Work, go_on: _Work) -> About | None:
    if finished(run):
        return read_json(run / "run.json")
    if stop():
        return None
    before = time.process_time()
    work = go_on if (run / "config.toml").is_file() else begin
    with Stopper() as interrupted:
        about = work(lambda: interrupted() or stop())
    _beside(run).write_text(f"{cpu_seconds(run) + time.process_time() - before:.3f}\n", "utf-8")
    return None if about["fit"]["stop"] == "stopped" else about
