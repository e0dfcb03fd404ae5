"""`--dry-run` of the commands that train: what a run would be, and about what it would take.

Not for the estimates (`runs/plan.py`, `lm/plan.py`, `lm/translation_plan.py`, `alignment/plan.py`).
"""

from collections.abc import Callable
from typing import Any

from sentitok.cli.output import bytes_text, lines, memory_now, number

from .command import Output

__all__ = ["dry_run_of"]


def dry_run_of(output: Output, plan: Callable[[], dict[str, Any]]) -> None:
    """Prints a plan; to its memory comes that of the program, once it has imported what trains."""
    planned = plan()
    if "memory_bytes" in planned:
        planned["memory_bytes"] += memory_now() or 0
    names = {key: key.removesuffix("_bytes").replace("_", " ") for key in planned}
    pairs = [(names[key], _said(key, value)) for key, value in planned.items()]
    pairs.append(("next", "the same command without --dry-run"))
    output.result(planned, lines(pairs), str(planned["parameters"]))


def _said(key: str, value: object) -> str:
    """Writes a value for people."""
    if key == "memory_bytes" and isinstance(value, int):
        return f"about {bytes_text(value)}"
    if key == "seconds" and isinstance(value, (int, float)):
        return f"about {_time(value)}"
    return number(value) if isinstance(value, int) else str(value)


def _time(seconds: float) -> str:
    """Writes seconds in the unit that suits them."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s"
