"""`--dry-run` of the commands that train: what a run would be, and about what it would take.

Not for the estimates (`runs/plan.py`, `runs/plan_group.py`, `recipes/`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sentitok.cli.output import bytes_text, counted, lines, memory_now, number, table

from .command import Output

if TYPE_CHECKING:
    from ..config import LoopConfig

__all__ = ["dry_run_of", "dry_run_of_sweep"]

# What people call some of what is planned.
_NAMES = {"seconds": "time", "operations_of_a_token": "FLOPs per token", "max_steps": "steps"}
_NEXT = ("next", "the same command without --dry-run")


def _planned(plan: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns a plan; to its memory comes that of the program, once it has imported what trains."""
    planned = plan()
    if "memory_bytes" in planned:
        planned["memory_bytes"] += memory_now() or 0
    return planned


def dry_run_of(output: Output, train: "LoopConfig", plan: Callable[[], dict[str, Any]]) -> None:
    """Prints the plan of a run with these settings, and notes what is slow."""
    from ..training.device import slow

    for note in slow(train):
        output.note(note)
    planned = _planned(plan)
    names = {key: _NAMES.get(key, key.removesuffix("_bytes").replace("_", " ")) for key in planned}
    pairs = [(names[key], _said(key, value)) for key, value in planned.items()]
    if "memory_bytes" not in planned:
        pairs.append(("time, memory", "no estimate: a row of this model is too large to be tried here"))
    pairs.append(_NEXT)
    output.result(planned, lines(pairs), str(planned["parameters"]))


def dry_run_of_sweep(output: Output, plan: Callable[[], dict[str, Any]]) -> None:
    """Prints the plan of a sweep: a line for each combination, and what all of them take."""
    planned = _planned(plan)
    some = planned["combinations"]
    keys = list(some[0]["values"])
    text = table(
        [*keys, "parameters", "steps", "seconds"],
        [
            [
                *one["values"].values(),
                number(one["parameters"]),
                number(one["steps"]),
                f"{one['seconds']:.1f}",
            ]
            for one in some
        ],
    )
    if len(some) < planned["runs"]:
        text += f"\n{counted(len(some), 'combination')} of {number(planned['runs'])}, spread over the grid"
    pairs = [
        ("train rows", number(some[0]["train_rows"])), ("valid rows", number(some[0]["valid_rows"])),
        ("runs", number(planned["runs"])), ("seconds", f"{_said('seconds', planned['seconds'])} of CPU"),
        ("memory", _said("memory_bytes", planned["memory_bytes"])),
    ]  # fmt: skip
    if planned["budget"] is not None:
        pairs.append(
            ("budget", f"{_time(planned['budget'])}, about {counted(planned['within_budget'], 'run')}")
        )
    pairs.append(_NEXT)
    output.result(planned, f"{text}\n\n{lines(pairs)}", str(planned["runs"]))


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
