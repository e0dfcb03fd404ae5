"""`History`: the records of a run as it goes: lines of `metrics.jsonl`, and whoever else listens.

Not for their values, which the trainer gives, but for what stands in each: step, epoch, time, tokens,
speed. Of several processes the first writes, with the tokens of all.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from sentitok.atomic import write

from ..config import TrainingPlan
from .distributed import Distributed
from .progress import Progress, write_record
from .throughput import mfu, peak_of, working_parameters

__all__ = ["History", "Record"]

Record = dict[str, Any]


class History:
    """The records of one call of `fit`.

    Args:
        folder: where `metrics.jsonl` lies, or `None`.
        on_record: called with each record, `total_steps` and `padding` added.
        processes: those that train.
        course: steps in all.
        progress: where the run stands; it is read at each record.
    """

    def __init__(
        self,
        folder: Path | None,
        on_record: Callable[[Record], None] | None,
        processes: Distributed,
        course: TrainingPlan,
        progress: Progress,
    ) -> None:
        self.path = None if folder is None else folder / "metrics.jsonl"
        self.folder, self.on_record = folder, on_record
        self.processes, self.course, self.progress = processes, course, progress
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
        epoch = round(at.epoch + at.position / self.course.n_batches, 4)
        record = {"step": at.step, "epoch": epoch, **values}
        record |= {"seconds": round(at.seconds, 3), "tokens": self._before[0]}
        if self.folder is not None:
            write_record(self.folder, record)
        if self.on_record is not None:
            self.on_record(record | {"total_steps": self.course.steps, "padding": padding})
