"""`sources_of`: what an aligned model has been trained on, for `training_data.json`.

What its base has learned from, what the reward's run has, and the openings or pairs; the parts that judge
are named too, with a role of their own. Whatever starts from the run reads it (`runs/lineage.py`).
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import AlignConfig
from ..data.table import Table
from ..runs.lineage import record_of, sources_of_start
from ..runs.report import records_of

__all__ = ["Seen", "sources_of"]


def sources_of(config: AlignConfig, tables: dict[str, Table]) -> list[dict[str, Any]]:
    """Returns the sources of a run.

    Args:
        config: names the base and the reward's run.
        tables: what is read here, by role: `train` and `judge`.
    """
    sources = sources_of_start(config.base)
    if config.task.reward_run is not None:
        for record in records_of(Path(config.task.reward_run)):
            sources += [
                {"role": "reward", "source": source.source, "sha256": source.sha256, "documents": source.rows}
                for source in record.learned
            ]
    for role, table in tables.items():
        sources.append({
            "role": role, "source": str(table.source), "sha256": table.sha256, "documents": len(table),
        })  # fmt: skip
    return sources


class Seen:
    """What runs have seen.

    Nothing judges that the base, the reward's run or the alignment itself was trained on; rows that
    judge the reward's run are not trained on. Rows of one file are told apart by their places where a
    run recorded them, texts by their hashes; of a language model's corpus only the file is known.

    Args:
        base: run directory of the language model.
        reward: that of the classifier, or an ensemble's; `None`: there is none.
    """

    def __init__(self, base: Path, reward: Path | None) -> None:
        self.base, self.reward = base, reward
        self._records = [] if reward is None else records_of(reward)
        self._of_base = record_of(base)

    def by_row(self, table: Table) -> tuple[NDArray[np.bool_], str]:
        """Returns the rows of a table that a run was trained on, and which run it was."""
        rows = self._of_base.learned_from(table)
        if rows.any():
            return rows, str(self.base)
        for record in self._records:
            rows |= record.learned_from(table)
        return rows, str(self.reward)

    def by_text(self, table: Table) -> NDArray[np.bool_]:
        """Returns the rows whose text the reward's run was trained on, in whatever file."""
        rows = np.zeros(len(table), np.bool_)
        for record in self._records:
            rows |= record.seen(table)
        return rows

    def sealed(self, table: Table) -> NDArray[np.bool_]:
        """Returns the rows that judge the reward's run."""
        rows = np.zeros(len(table), np.bool_)
        for record in self._records:
            rows |= record.shared("test", table)
        return rows
