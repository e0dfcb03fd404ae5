"""`TrainingRecord`: what a run directory keeps of its data, without the data.

Not a copy of the texts: hashes of the files, and a 64-bit hash of each training text,
so that `evaluate` can refuse a file that was trained on and tell seen rows from
unseen ones. Two files: `training_data.json` and `training_texts.npz` (no pickle).
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckpointError
from .folding import among, fold, text_hashes
from .opening import read_small
from .table import Table
from .writers import write_atomically

JSON_NAME = "training_data.json"
TEXTS_NAME = "training_texts.npz"


@dataclass(frozen=True)
class Source:
    """One table a run used: its role (`train`, `valid`, `test`), file, hash, rows."""

    role: str
    source: str
    sha256: str
    rows: int
    format: str


@dataclass(frozen=True)
class TrainingRecord:
    """The data of a run.

    Attributes:
        sources: the tables used.
        exact: sorted hashes of the training texts, letter for letter.
        folded: sorted hashes of the training texts without case and spacing.
    """

    sources: tuple[Source, ...]
    exact: NDArray[np.uint64]
    folded: NDArray[np.uint64]

    @classmethod
    def of(cls, train: Table, **others: Table | None) -> "TrainingRecord":
        """Records a training table and others by role, as in `valid=table`."""
        tables = {"train": train, **others}
        return cls(
            sources=tuple(
                Source(role, str(table.source), table.sha256, len(table), table.format)
                for role, table in tables.items()
                if table is not None
            ),
            exact=np.unique(text_hashes(train.texts)),
            folded=np.unique(text_hashes(map(fold, train.texts))),
        )

    def files(self) -> dict[str, bytes]:
        """Returns the files to write, by name."""
        import io

        arrays = io.BytesIO()
        np.savez(arrays, exact=self.exact, folded=self.folded)
        text = json.dumps({"schema": "senti.training-data/1", "sources": [asdict(s) for s in self.sources]})
        return {JSON_NAME: (text + "\n").encode(), TEXTS_NAME: arrays.getvalue()}

    def save(self, folder: Path) -> None:
        """Writes both files into a run directory."""
        for name, data in self.files().items():
            write_atomically(folder / name, data)

    @classmethod
    def load(cls, folder: Path) -> "TrainingRecord":
        """Reads both files of a run directory.

        Raises:
            CheckpointError: if one is missing or damaged.
        """
        try:
            value: dict[str, Any] = json.loads(read_small(folder / JSON_NAME))
            sources = tuple(Source(**source) for source in value["sources"])
            with (folder / TEXTS_NAME).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                exact, folded = arrays["exact"], arrays["folded"]
        except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{folder}: its record of the training data is unreadable: {error}"
            ) from error
        if exact.dtype != np.uint64 or folded.dtype != np.uint64:
            raise CheckpointError(f"{folder}: {TEXTS_NAME} holds {exact.dtype}, expected uint64")
        return cls(sources, np.sort(exact), np.sort(folded))

    def trained_on(self, table: Table) -> Source | None:
        """Returns the training source that is this very file, if one is."""
        return next((s for s in self.sources if s.role == "train" and s.sha256 == table.sha256), None)

    def seen(self, table: Table) -> NDArray[np.bool_]:
        """Returns which rows are training texts, compared without case and spacing."""
        return among(text_hashes(map(fold, table.texts)), self.folded)

    def seen_exactly(self, table: Table) -> NDArray[np.bool_]:
        """Returns which rows are training texts letter for letter."""
        return among(text_hashes(table.texts), self.exact)
