"""`sources_of`: what an aligned model has been trained on, for `training_data.json`.

What its base has learned from, what the reward's run has, and the openings or pairs; the parts that judge
are named too, with a role of their own. Whatever starts from the run reads it (`runs/lineage.py`).
"""

from pathlib import Path
from typing import Any

from ..config import AlignConfig
from ..data.table import Table
from ..runs.lineage import sources_of_start
from ..runs.report import records_of

__all__ = ["sources_of"]


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
