"""`History`: the records of a run, lines of `metrics.jsonl`; `Progress` and `Fit`: its state and result.

The trainer gives losses and scores; each record has step, epoch, time, tokens and speed too. Of several
processes the first writes, with the tokens of all.
"""

import json
import re
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import device, nn
from torch.cuda import get_device_name

from sentitok.atomic import naming, write

from ..config import TrainingPlan
from .distributed import Distributed
from .optimizer import is_added, is_table

__all__ = [
    "FORMULA",
    "Fit",
    "History",
    "Progress",
    "Record",
    "mfu",
    "peak_of",
    "read_records",
    "working_parameters",
    "write_record",
]

Record = dict[str, Any]


@dataclass
class Progress:
    """The progress of a run; all of it is saved with its state."""

    step: int = 0
    epoch: int = 0
    position: int = 0
    best: float | None = None
    monitor: str | None = None
    best_step: int = 0
    without_gain: int = 0
    seconds: float = 0.0
    tokens: int = 0
    places: int = 0
    losses: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """How training went.

    Attributes:
        stop: why it ended: `epochs`, `max_steps`, `patience`, `stopped` or `not finite`.
        steps: steps taken.
        best_step: the step whose weights were kept.
        best: their score, that of `monitor`, or `None` if nothing was evaluated.
        monitor: the score that stopping followed, or `None`.
        seconds: spent in all, validation included.
        tokens: real tokens seen.
        padding: share of places in the batches that held no token.
    """

    stop: str
    steps: int
    best_step: int
    best: float | None
    monitor: str | None
    seconds: float
    tokens: int
    padding: float


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Adds a line to the `metrics.jsonl` of a run."""
    path = folder / "metrics.jsonl"
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of the `metrics.jsonl` of a run that is being trained."""
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


class History:
    """The records of one call of `fit`.

    Args:
        folder: where `metrics.jsonl` lies, or `None`.
        on_record: called with each record, `total_steps` and `padding` added.
        processes: the processes that train.
        plan: steps in all.
        progress: the progress of the run; it is read at each record.
    """

    def __init__(
        self,
        folder: Path | None,
        on_record: Callable[[Record], None] | None,
        processes: Distributed,
        plan: TrainingPlan,
        progress: Progress,
    ) -> None:
        self.path = None if folder is None else folder / "metrics.jsonl"
        self.folder, self.on_record = folder, on_record
        self.processes, self.plan, self.progress = processes, plan, progress
        self._before = (0, 0.0)  # tokens and seconds at the last record

    def begin(self, module: nn.Module, bfloat16: bool) -> None:
        """Takes the run's beginning, or where it is resumed, as the time that speed counts from."""
        self._peak = peak_of(self.processes.device, bfloat16)
        self._parameters = working_parameters(module)
        self._before = (self.counts()[0], self.progress.seconds)

    def rewind(self) -> None:
        """Takes out the records of steps that will be taken again."""
        if self.path is not None and self.path.is_file() and self.processes.main:
            # A line without an end was not written whole.
            lines = self.path.read_text("utf-8").split("\n")[:-1]
            kept = [line for line in lines if int(json.loads(line).get("step", 0)) <= self.progress.step]
            write(self.path, "".join(f"{line}\n" for line in kept).encode())

    def counts(self) -> tuple[int, int]:
        """Returns the tokens and the places that all processes have seen."""
        tokens, places = self.processes.sum_of(self.progress.tokens, self.progress.places)
        return int(tokens), int(places)

    def padding(self) -> float:
        """Returns the share of places that held no token."""
        tokens, places = self.counts()
        return 1 - tokens / places if places else 0.0

    def speed(self) -> Record:
        """Returns tokens per second since the last record, evaluations left out, and MFU on a GPU."""
        tokens = self.counts()[0] - self._before[0]
        speed = tokens / max(self.progress.seconds - self._before[1], 1e-9)
        record: Record = {"tokens_per_second": round(speed, 1)}
        if self._peak is not None:
            record["mfu"] = mfu(self._parameters, speed / self.processes.world, self._peak)
        return record

    def add(self, values: Record) -> None:
        """Writes a record; every process calls it."""
        at, padding = self.progress, self.padding()
        self._before = (self.counts()[0], at.seconds)
        if not self.processes.main:
            return
        epoch = round(at.epoch + at.position / self.plan.n_batches, 4)
        record = {"step": at.step, "epoch": epoch, **values}
        record |= {"seconds": round(at.seconds, 3), "tokens": self._before[0]}
        if self.folder is not None:
            write_record(self.folder, record)
        if self.on_record is not None:
            self.on_record(record | {"total_steps": self.plan.steps, "padding": padding})


FORMULA = "6 * parameters * tokens_per_second / peak"

# Words of the device's name, the longer first: operations per second in bfloat16, and in float32 without
# tensor cores.
_PEAKS = {
    "B200": (2250e12, 75e12),
    "H200 NVL": (836e12, 60e12),
    "H200": (989e12, 67e12),
    "H100 NVL": (836e12, 60e12),
    "H100 PCIe": (756e12, 51e12),
    "H100": (989e12, 67e12),
    "A100": (312e12, 19.5e12),
    "L40S": (362e12, 91.6e12),
    "L40": (181e12, 90.5e12),
    "L4": (121e12, 30.3e12),
    "A10": (125e12, 31.2e12),
    "RTX 4090": (165e12, 82.6e12),
    "RTX 3090": (71e12, 35.6e12),
}


def working_parameters(module: nn.Module) -> int:
    """Returns how many parameters a token goes through, on average.

    Args:
        module: a model; where a part of it reads some of the tokens alone, `shares_read` has their share by
            the beginning of the names of its parameters, as that of a masked model's `head.`.
    """
    shares: Mapping[str, float] = getattr(module, "shares_read", {})
    tied = {id(p) for part in module.modules() if getattr(part, "tied", False) for p in part.parameters()}
    counted = 0.0
    for name, value in module.named_parameters():
        if (is_table(name) and id(value) not in tied) or is_added(name):
            continue
        reader = "head." if id(value) in tied else name
        share = next((part for begin, part in shares.items() if reader.startswith(begin)), 1.0)
        counted += share * value.numel()
    return round(counted)


def peak_of(on: device, bfloat16: bool) -> float | None:
    """Returns the operations per second a device can do; `None` if that is not known."""
    if on.type != "cuda":
        return None
    name = get_device_name(on)
    if "Laptop" in name:  # the same name, but slower
        return None
    device_peaks = next((peaks for words, peaks in _PEAKS.items() if re.search(rf"\b{words}\b", name)), None)
    return None if device_peaks is None else device_peaks[0 if bfloat16 else 1]


def mfu(parameters: int, tokens_per_second: float, peak: float) -> float:
    """Returns the share of the peak that a run uses.

    MFU = 6 N tokens / (seconds x peak), as PaLM counts it (Chowdhery et al. 2022, appendix B) without
    the attention term: N are the parameters that every token goes through, so tables of rows that ids or
    places choose are left out, unless a head reads them whole, and a head that reads some of the tokens
    counts by their share; 6 operations each, 2 forward and 4 backward. The peak is that of the maker's
    data sheet for dense bfloat16 or float32, without sparsity. A device that is not in the table has no
    MFU.
    """
    return 6 * parameters * tokens_per_second / peak


def speed_of(folder: Path, module: nn.Module, processes: Distributed, bfloat16: bool) -> dict[str, Any]:
    """Returns tokens per second, the median of what a run recorded, and MFU where the peak is known."""
    key = "tokens_per_second"
    speeds = [record[key] for record in read_records(folder) if key in record]
    speed: dict[str, Any] = {key: statistics.median(speeds) if speeds else 0.0}
    if (peak := peak_of(processes.device, bfloat16)) is not None:
        each = speed[key] / processes.world
        speed |= {"mfu": mfu(working_parameters(module), each, peak), "formula": FORMULA, "peak": peak}
    return speed
