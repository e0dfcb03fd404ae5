"""Numbers of a model card, held against the facts that it was made of."""

import re
from typing import Any

__all__ = ["numbers_of", "unknown_numbers"]


def numbers_of(value: Any) -> set[str]:
    """All numbers of a tree, as a card may write them."""
    if isinstance(value, dict):
        return set().union(set(), *(numbers_of(one) for one in value.values()))
    if isinstance(value, list):
        return set().union(set(), *(numbers_of(one) for one in value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set()
    written = {f"{value:.{digits}f}" for digits in (0, 1, 2, 3, 4)} | {f"{value:,}", str(round(value, 6))}
    return written | {f"{100 * value:+.1f}", f"{100 * value:.1f}", f"{value:g}", f"{100 * value:g}"}


def unknown_numbers(text: str, facts: dict[str, Any], said: set[str]) -> set[str]:
    """Returns the numbers that a card has from nowhere, after hashes, names, versions and sizes of files.

    Args:
        text: the card.
        facts: what it was made of.
        said: numbers of its sentences.
    """
    prose = re.sub(r"^```.*?^```$", "", text.partition("# ")[2], flags=re.M | re.S)
    prose = re.sub(r"`[^`]*`|SHA-256|\|? [\d.]+ (bytes|kB|MB) \|", " ", prose)
    prose = re.sub(r"^\| (python|platform|sentitok|torch|numpy|[\w-]+) \| [^|]*\|$", "", prose, flags=re.M)
    given = numbers_of(facts) | said
    found = re.findall(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?", prose)
    return {one for one in found if one.strip(",") not in given}
