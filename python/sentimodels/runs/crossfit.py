"""`CrossFit`: a verdict on dev where no row judges a choice that it made.

For runs without a test part: where rows are few, or the user gave validation texts alone. Dev is cut into
two halves, each with its share of the labels; groups and copies of a text stay in one (`data/split.py`). Each
half chooses a step and a temperature by itself, as the whole of dev chooses
those of the run, and the answers of its weights to the other half are kept. What is scored in the end are
those answers: one training, all rows judged. Only when training stops is decided by both halves together.

Not for several trainings (folds), nor for the weights that a run keeps: all of dev chooses these.
"""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..data.split import Units
from ..data.writers import write_atomically
from ..errors import CheckpointError
from ..evaluation.calibration import fit_temperature, softmax
from ..tasks.classification import validation_scores
from .directory import CROSSFIT

__all__ = ["CrossFit"]

_SCORE = "val_macro_f1"


class CrossFit:
    """What each half of dev has chosen so far.

    Args:
        labels: `(n,)` classes of the dev texts.
        units: rows of one unit are in one half; without them each row is alone.
        folder: where it is kept while the run is unfinished, or `None`.
    """

    def __init__(
        self, labels: NDArray[np.int64], units: Units | None = None, folder: Path | None = None
    ) -> None:
        self.labels = labels
        self.half = (units or Units.of_groups(len(labels), None)).halves(labels)
        self.path = None if folder is None else folder / CROSSFIT
        self.best = np.full(2, -np.inf)
        self.chosen: NDArray[np.float32] | None = None

    @property
    def possible(self) -> bool:
        """Whether both halves have rows."""
        return bool(self.half.any() and not self.half.all())

    def unbalanced(self) -> list[int]:
        """Returns the classes of which one half has no row: that half chooses without them."""
        halves = (self.half, ~self.half)
        in_both = set(self.labels[halves[0]].tolist()) & set(self.labels[halves[1]].tolist())
        return sorted(set(self.labels.tolist()) - in_both)

    def load(self) -> None:
        """Goes on from what was kept. An evaluation that is made again changes nothing.

        Raises:
            CheckpointError: if the file is damaged.
        """
        if self.path is None or not self.path.is_file():
            return
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self.best, self.chosen = arrays["best"], arrays["chosen"]
        except (OSError, EOFError, BadZipFile, ValueError, KeyError) as error:
            raise CheckpointError(f"{self.path}: unreadable: {error}") from error

    def update(self, logits: NDArray[np.float32]) -> None:
        """Takes in an evaluation: the logits of all dev texts."""
        if self.chosen is None:
            self.chosen = np.stack([logits, logits])
        better = False
        for side, rows in enumerate((self.half, ~self.half)):
            score = validation_scores(logits[rows], self.labels[rows])[_SCORE] if rows.any() else 0.0
            if score > self.best[side]:
                self.best[side], self.chosen[side], better = score, logits, True
        if better and self.path is not None:
            self._save()

    def _save(self) -> None:
        import io

        data = io.BytesIO()
        arrays: dict[str, Any] = {"best": self.best, "chosen": self.chosen}
        np.savez(data, **arrays)
        assert self.path is not None
        write_atomically(self.path, data.getvalue())

    def logits(self) -> NDArray[np.float32]:
        """Returns logits of each half with step and temperature that the other half chose.

        They are divided by that temperature.
        """
        assert self.chosen is not None
        out: NDArray[np.float32] = np.empty_like(self.chosen[0])
        for side, rows in enumerate((self.half, ~self.half)):
            temperature = fit_temperature(self.chosen[side][rows], self.labels[rows])
            out[~rows] = self.chosen[side][~rows] / temperature
        return out

    def probs(self) -> NDArray[np.float64]:
        """Returns the same as probabilities."""
        return softmax(self.logits().astype(np.float64))
