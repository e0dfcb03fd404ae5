"""`sentences`: the longest phrase of each sentence of a table of phrases.

A table of phrases names the sentence of each by its group; the longest one is the sentence itself. Not
for trees, whose roots are sentences (`sst/trees.py`).
"""

from ..errors import DataError
from .table import Table

__all__ = ["sentences"]


def sentences(table: Table) -> list[str]:
    """Returns the longest text of each group, in the order of the groups; of equals the first.

    A group of blank texts alone has none.

    Raises:
        DataError: if the table has no groups.
    """
    if table.groups is None:
        raise DataError(
            f"{table.source}: no column says which sentence a phrase is of; name it: --group-column NAME"
        )
    longest: dict[str, str] = {}
    for text, group in zip(table.texts, table.groups, strict=True):
        if text.strip() and len(text) > len(longest.get(group, "")):
            longest[group] = text
    return list(longest.values())
