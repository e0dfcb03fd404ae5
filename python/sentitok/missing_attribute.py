"""`error`: the error for a name that another library has, and the package or its module in `compat` does not.

Each module of `compat` lists such names with what to use instead; the pages
docs/reference/compat-*.md show them.
"""

from collections.abc import Mapping

__all__ = ["error"]


def error(owner: str, name: str, elsewhere: Mapping[str, str]) -> AttributeError:
    """Returns the error of a missing attribute.

    Args:
        owner: where it was looked up, such as `"module 'sentitok.compat.tiktoken'"`.
        name: the attribute; case and underscores are ignored, as libraries spell some names both ways.
        elsewhere: what to use instead, by the name in lower case without underscores.
    """
    remedy = elsewhere.get(name.lower().replace("_", ""))
    said = f"{owner} has no attribute {name!r}"
    return AttributeError(f"{said}: {remedy}" if remedy else said)
