"""Several seeds of one configuration: a folder with a run for each, and what they reach together.

`seeds.json` says what belongs to the folder, so that a stopped group can go on: seeds that have
finished stay, the one that was stopped is resumed, the others begin. Not for one run (`train.py`).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..config import RunConfig
from ..data.opening import read_small
from ..data.writers import write_atomically
from ..errors import CheckpointError
from ..training.trainer import Record
from .config import resolve
from .directory import MANIFEST, STATE, from_anywhere, refuse_run
from .tables import Tables, check_files, read_tables
from .train import resume, train, with_baseline

__all__ = ["is_group", "resume_seeds", "spread", "train_seeds"]

FILE = "seeds.json"
_FORMAT = "sentimodels.seeds/1"


def is_group(folder: Path) -> bool:
    """Whether the folder holds the runs of several seeds."""
    return (folder / FILE).is_file()


def train_seeds(
    config: RunConfig,
    n: int,
    folder: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Trains a run for each of `n` seeds from that of the configuration on.

    Args:
        config: the run; its seed is the first.
        n: seeds.
        folder: gets a run directory `seed-N` for each.
        on_record: as `run.train` has it.
        on_note: told what the user should know, once.
        should_stop: asked after each step.
        baseline: whether to train TF-IDF beside the first; without it as the configuration says.

    Returns:
        `seeds`, what each run's `run.json` holds; `spread`, mean and interval of each score on the
        rows that judge;
        `stopped`, whether some are still to come.

    Raises:
        SentiError: if a file, a setting or the course of training does not allow it.
    """
    check_files(config)
    refuse_run(folder)
    if is_group(folder):
        raise CheckpointError(
            f"{folder}: holds runs of several seeds already; give another --out, or --resume {folder}"
        )
    config = with_baseline(config, baseline)
    tables = read_tables(config)
    seeds = list(range(config.train.seed, config.train.seed + n))
    value = {
        "format": _FORMAT, "seeds": seeds, "data": _hashes(tables), "config": from_anywhere(config).tree(),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE, (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())
    return _go(config, seeds, folder, tables, on_record, on_note, should_stop)


def resume_seeds(
    folder: Path,
    *,
    on_record: Callable[[Record], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Goes on with a stopped group of seeds; see `train_seeds`.

    Raises:
        CheckpointError: if all have finished, or the data has changed.
    """
    path = folder / FILE
    try:
        value = json.loads(read_small(path))
        if value["format"] != _FORMAT:
            raise CheckpointError(f"{path}: written as {value['format']}, expected {_FORMAT}")
        seeds, config = [int(seed) for seed in value["seeds"]], resolve(value["config"])
        hashes = dict(value["data"])
    except CheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: not a group of seeds ({error})") from error
    config = with_baseline(config, baseline)
    if all(_finished(_run_of(folder, seed)) for seed in seeds):
        raise CheckpointError(f"{folder}: all its seeds have finished; nothing to resume")
    tables = read_tables(config)
    if _hashes(tables) != hashes:
        raise CheckpointError(f"{folder}: its data has changed since the first seed began; start a new one")
    return _go(config, seeds, folder, tables, on_record, on_note, should_stop)


def _go(
    config: RunConfig,
    seeds: list[int],
    folder: Path,
    tables: Tables,
    on_record: Callable[[Record], None] | None,
    on_note: Callable[[str], None] | None,
    should_stop: Callable[[], bool] | None,
) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for place, seed in enumerate(seeds):
        run = _run_of(folder, seed)
        if _finished(run):
            found.append(json.loads(read_small(run / "run.json")))
            continue
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": on_note, "should_stop": should_stop,
            "baseline": config.train.baseline and place == 0,
        }  # fmt: skip
        on_note = None
        if (run / "config.toml").is_file():
            found.append(resume(run, **more))
        else:
            of_train = config.train.model_copy(update={"seed": seed})
            found.append(train(config.model_copy(update={"train": of_train}), run, tables=tables, **more))
        if found[-1]["fit"]["stop"] == "stopped":
            break
    stopped = len(found) < len(seeds) or found[-1]["fit"]["stop"] == "stopped"
    return {
        "seeds": found,
        "spread": spread([one[one["judged"]] for one in found if "judged" in one]),
        "stopped": stopped,
    }


def _run_of(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}"


def _finished(run: Path) -> bool:
    return (run / MANIFEST).is_file() and not (run / STATE).is_file()


def _hashes(tables: Tables) -> dict[str, str]:
    named = {"train": tables.train, "valid": tables.valid, "test": tables.test}
    return {name: table.sha256 for name, table in named.items() if table is not None}


def spread(found: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns mean, standard deviation and half the 95 % interval (Student's t) over seeds."""
    from scipy.stats import t

    out = {}
    for name in ("accuracy", "macro_f1", "log_loss", "ece"):
        values = np.array([one[name] for one in found if one.get(name) is not None], dtype=np.float64)
        if len(values):
            deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            factor = float(t.ppf(0.975, len(values) - 1)) if len(values) > 1 else 0.0
            half = factor * deviation / len(values) ** 0.5
            out[name] = {"mean": float(values.mean()), "deviation": deviation, "interval": half}
    return out
