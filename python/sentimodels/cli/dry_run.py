"""`--dry-run` of the commands that train: a trial of a few steps, and what was seen (`runs/plan.py`)."""

from typing import TYPE_CHECKING, Any

import typer

from sentitok.cli.output import bytes_text, counted, lines, number, peak_memory, table

from .command import Output

if TYPE_CHECKING:
    from ..config import RunConfig
    from ..runs.execute import Recipe
    from ..runs.tables import Tables

__all__ = ["dry_run_of", "dry_run_of_sweep"]

# What people call some of what is planned.
_NAMES = {
    "seconds": "time", "memory_bytes": "peak memory", "tokens_per_second": "tokens/s",
    "rows_per_second": "rows/s",
}  # fmt: skip
_NEXT = ("next", "the same command without --dry-run")


def dry_run_of(output: Output, recipe: "Recipe[Any]", runs: int = 1) -> None:
    """Tries a run and prints what was seen; of several that differ little, one is tried for all.

    Raises:
        Exit: with 1, if the model does not fit into memory.
    """
    from ..runs.plan import plan

    planned = plan(recipe, output.note)
    if runs > 1:
        planned = {"runs": runs, **planned}
        if "seconds" in planned:
            planned["seconds"] = round(planned["seconds"] * runs, 1)
    planned.setdefault("memory_bytes", peak_memory() or 0)
    fits = planned["fits"]
    shown = {key: value for key, value in planned.items() if key != "fits"}
    pairs = [(_NAMES.get(key, key.replace("_", " ")), _said(key, value)) for key, value in shown.items()]
    if not fits:
        output.note(
            f"does not fit: {bytes_text(planned['memory_bytes'])} and more are needed; take a smaller model "
            "(--preset) or batch (--batch-size), or a device with more memory"
        )
    output.result(planned, lines([*pairs, *([_NEXT] if fits else [])]), str(planned.get("parameters", "")))
    if not fits:
        raise typer.Exit(1)


def dry_run_of_sweep(
    output: Output, choices: "list[tuple[dict[str, Any], RunConfig]]", tables: "Tables", budget: float | None
) -> None:
    """Tries the runs of a sweep: prints a line for each combination, and what all of them take.

    Raises:
        Exit: with 1, if a model does not fit into memory.
    """
    from ..runs.plan import plan_sweep

    planned = plan_sweep(choices, tables, budget)
    planned["memory_bytes"] = max(
        peak_memory() or 0, *(one.get("memory_bytes", 0) for one in planned["combinations"])
    )
    some = planned["combinations"]
    keys = list(some[0]["values"])
    text = table(
        [*keys, "parameters", "steps", "seconds"],
        [
            [
                *one["values"].values(),
                *(number(one[key]) if key in one else "-" for key in ("parameters", "steps")),
                f"{one['seconds']:.1f}" if one["fits"] else "does not fit",
            ]
            for one in some
        ],
    )
    if len(some) < planned["runs"]:
        text += f"\n{counted(len(some), 'combination')} of {number(planned['runs'])}, spread over the grid"
    pairs = [
        ("train rows", number(some[0]["train_rows"])), ("valid rows", number(some[0]["valid_rows"])),
        ("runs", number(planned["runs"])), ("time", _said("seconds", planned["seconds"])),
        ("peak memory", _said("memory_bytes", planned["memory_bytes"])),
    ]  # fmt: skip
    if planned["budget"] is not None:
        pairs.append(
            ("budget", f"{_time(planned['budget'])}, about {counted(planned['within_budget'], 'run')}")
        )
    pairs.append(_NEXT)
    output.result(planned, f"{text}\n\n{lines(pairs)}", str(planned["runs"]))
    if not planned["fits"]:
        raise typer.Exit(1)


def _said(key: str, value: object) -> str:
    """Writes a value for people."""
    if key == "memory_bytes" and isinstance(value, int):
        return bytes_text(value)
    if key == "seconds" and isinstance(value, (int, float)):
        return f"about {_time(value)}"
    return number(value) if isinstance(value, (int, float)) else str(value)


def _time(seconds: float) -> str:
    """Writes seconds in the unit that suits them."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s"
