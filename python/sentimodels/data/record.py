"""`TrainingRecord`: a run directory's record of its data, without the data.

Not a copy of the texts: hashes of the files, and a 64-bit hash of each training text,
so that `evaluate` can refuse rows that were trained on and distinguish seen texts from unseen
ones. Rows of one file are identified by their places in it, so its parts may be trained
and scored on. Two files: `training_data.json` and `training_texts.npz` (no pickle).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically

from ..errors import CheckpointError
from .normalization import among, fold, text_hashes
from .opening import read_small
from .table import Table

JSON_NAME = "training_data.json"
TEXTS_NAME = "training_texts.npz"
# Prefixes of the roles of data that a run learned from indirectly: through the teachers of a student, and
# through the run that its weights came from.
TEACHER = "teacher-"
BASE = "base-"
# The role of files which the token shards of a corpus were made from.
ENCODED = "encoded"


@dataclass(frozen=True)
class Source:
    """One table a run used: its role (`train`, `valid`, `test`, `base-0`, ...), file, hash, rows."""

    role: str
    source: str
    sha256: str
    rows: int
    format: str


def _path(source: Path) -> str:
    """Returns the path of a file from any folder, as a resumed run may be in another; other names stay."""
    return str(source.absolute() if source.exists() else source)


@dataclass(frozen=True)
class TrainingRecord:
    """The data of a run.

    Attributes:
        sources: the tables used.
        exact: sorted hashes of the training texts, letter for letter.
        folded: sorted hashes of the folded training texts (`fold`).
        rows: the places of each table's rows in its file, sorted, by role.
    """

    sources: tuple[Source, ...]
    exact: NDArray[np.uint64]
    folded: NDArray[np.uint64]
    rows: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(cls, train: Table, **others: Table | None) -> "TrainingRecord":
        """Records a training table, and further tables by role, as in `valid=table`."""
        tables = {"train": train, **others}
        return cls(
            sources=tuple(
                Source(role, _path(table.source), table.sha256, len(table), table.format)
                for role, table in tables.items()
                if table is not None
            ),
            exact=np.unique(text_hashes(train.texts)),
            folded=np.unique(text_hashes(map(fold, train.texts))),
            rows={
                role: np.unique(np.array(table.numbers, dtype=np.int64))
                for role, table in tables.items()
                if table is not None and table.numbers is not None
            },
        )

    @classmethod
    def of_files(cls, sources: Iterable[Source]) -> "TrainingRecord":
        """Returns a record of files of which neither rows nor texts are known."""
        nothing = np.zeros(0, np.uint64)
        return cls(tuple(sources), nothing, nothing)

    @property
    def learned(self) -> tuple[Source, ...]:
        """The data that the run learned from: its training data, that of its base and of its teachers."""
        return tuple(
            one for one in self.sources if one.role == "train" or one.role.startswith((TEACHER, BASE))
        )

    def taught_by(self, teachers: "Iterable[TrainingRecord]") -> "TrainingRecord":
        """Returns the record of a student: it knows of its teachers' training texts through them."""
        return self._with(list(teachers), TEACHER)

    def started_from(self, base: "TrainingRecord") -> "TrainingRecord":
        """Returns the record of a run whose weights began as another's: its data is included."""
        return self._with([base], BASE)

    def _with(self, others: "Sequence[TrainingRecord]", beginning: str) -> "TrainingRecord":
        sources, rows = list(self.sources), dict(self.rows)
        for other in others:
            for source in other.learned:
                # Two may have been trained on other rows of one file, so each has its own role.
                role = f"{beginning}{sum(one.role.startswith(beginning) for one in sources)}"
                sources.append(replace(source, role=role))
                if source.role in other.rows:
                    rows[role] = other.rows[source.role]
        return replace(
            self,
            sources=tuple(sources),
            exact=np.unique(np.concatenate([self.exact, *(one.exact for one in others)])),
            folded=np.unique(np.concatenate([self.folded, *(one.folded for one in others)])),
            rows=rows,
        )

    def files(self) -> dict[str, bytes]:
        """Returns the files to write, by name."""
        import io

        arrays = io.BytesIO()
        rows = {f"rows_{role}": places for role, places in self.rows.items()}
        # 2026-11-23: of arrays
        np.savez(arrays, exact=self.exact, folded=self.folded, **rows)  # type: ignore[arg-type]
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
                rows = {
                    source.role: arrays[f"rows_{source.role}"]
                    for source in sources
                    if f"rows_{source.role}" in arrays
                }
        except (OSError, EOFError, BadZipFile, RecursionError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{folder}: its record of the training data is unreadable: {error}"
            ) from error
        if exact.dtype != np.uint64 or folded.dtype != np.uint64:
            raise CheckpointError(f"{folder}: {TEXTS_NAME} holds {exact.dtype}, expected uint64")
        return cls(sources, np.sort(exact), np.sort(folded), rows)

    def identity(self, role: str) -> str | None:
        """Returns a key that runs with the same rows in a role share; `None` without rows in it."""
        source = next((one for one in self.sources if one.role == role), None)
        if source is None:
            return None
        places = self.rows.get(role)
        digest = hashlib.sha256(f"{source.sha256} {source.rows} ".encode())
        digest.update(b"" if places is None else places.tobytes())
        return digest.hexdigest()[:12]

    def learned_from(self, table: Table) -> NDArray[np.bool_]:
        """Returns which rows the run, its base or a teacher learned from, by their places in the file."""
        rows = np.zeros(len(table), dtype=np.bool_)
        for source in self.learned:
            rows |= self.shared(source.role, table)
        return rows

    def learner_of(self, table: Table) -> str:
        """Returns who learned from rows of a table, as an error names it."""
        roles = [one.role for one in self.learned if self.shared(one.role, table).any()]
        if "train" in roles:
            return "run"
        return "base of the run" if any(role.startswith(BASE) for role in roles) else "teacher of the run"

    def shared(self, role: str, table: Table) -> NDArray[np.bool_]:
        """Returns which rows are those very rows of a file that the run used as `role`."""
        source = self._source(role, table)
        if source is None:
            return np.zeros(len(table), dtype=np.bool_)
        places = self.rows.get(role)
        # Rows of another format are other rows: the file as a whole is compared.
        if places is None or table.numbers is None or source.format != table.format:
            return np.ones(len(table), dtype=np.bool_)
        return np.isin(np.array(table.numbers, dtype=np.int64), places)

    def _source(self, role: str, table: Table) -> Source | None:
        return next((s for s in self.sources if s.role == role and s.sha256 == table.sha256), None)

    def seen(self, table: Table) -> NDArray[np.bool_]:
        """Returns which rows are training texts, compared without case and spacing."""
        # Earlier versions folded texts with typographic or invisible characters differently, so in their runs
        # such a copy is found letter for letter.
        return among(text_hashes(map(fold, table.texts)), self.folded) | self.seen_exactly(table)

    def seen_exactly(self, table: Table) -> NDArray[np.bool_]:
        """Returns which rows are training texts letter for letter."""
        return among(text_hashes(table.texts), self.exact)
