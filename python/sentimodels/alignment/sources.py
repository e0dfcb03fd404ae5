"""`sources_of`: what an aligned model has been trained on, for `training_data.json`.

That of its base, and the openings or pairs; the parts that judge are named with a role of their own, and
so is the reward's run. Later alignments and guards read it (`seen.py`).
"""

from pathlib import Path
from typing import Any

from ..config import AlignConfig
from ..data.table import Table
from ..lm.directory import SOURCES
from ..runs.directory import read_json
from ..runs.report import records_of

__all__ = ["sources_of"]


def sources_of(config: AlignConfig, tables: dict[str, Table]) -> list[dict[str, Any]]:
    """Returns the sources of a run.

    Args:
        config: names the base and the reward's run.
        tables: what is read here, by role: `train` and `judge`.
    """
    found: list[dict[str, Any]] = list(read_json(Path(config.base) / SOURCES).get("sources", []))
    if config.task.reward_run is not None:
        for record in records_of(Path(config.task.reward_run)):
            found += [
                {"role": "reward", "source": source.source, "sha256": source.sha256, "documents": source.rows}
                for source in record.sources
                if source.role == "train"
            ]
    for role, table in tables.items():
        found.append({
            "role": role, "source": str(table.source), "sha256": table.sha256, "documents": len(table),
        })  # fmt: skip
    return found
