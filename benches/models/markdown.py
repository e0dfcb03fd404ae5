"""What pages made from result files have in common: tables, the word for a bar, and of when a result is."""

import re
from typing import Any

MET, MISSED = "met", "missed"


def table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Returns a table, its first columns on the left and all others on the right."""
    align = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, align, *rows])


def plain(text: str) -> str:
    """Returns a text as a cell shows it, letter for letter but for white space."""
    return re.sub(r"([\\`*_\[\]<>|~&#])", r"\\\1", " ".join(text.split()))


def points(gain: dict[str, Any]) -> str:
    """Returns a gain of accuracy in points, with its interval."""
    return f"{100 * gain['value']:+.2f} ({100 * gain['low']:+.2f} to {100 * gain['high']:+.2f})"


def missing(command: str, about: str) -> str:
    """Says what to type for a result that is not there."""
    return f"Not measured; type `{command}` ({about})."


def from_what(result: dict[str, Any]) -> str:
    """Says when, by which commit and how busy the machine was."""
    loads = " and ".join("unknown" if value is None else f"{value:.1f}" for value in result["load"])
    return (
        f"{result['date']}, commit {result['git'][:9]}, torch {result['versions']['torch']}, load {loads}: "
        f"`{result['command']}`."
    )
