"""`error`: what is said of names that another library has and its module of `compat` has not.

Each of these modules names its own, with what takes their place; the pages docs/compat-*.md list them.
Not for names of our own.
"""

from collections.abc import Mapping

__all__ = ["error"]


def error(owner: str, name: str, elsewhere: Mapping[str, str]) -> AttributeError:
    """Returns the error of an attribute that is not there.

    Args:
        owner: what it was asked of, such as `"module 'sentitok.compat.tiktoken'"`.
        name: the attribute; capitals and underscores do not count, as libraries spell some both ways.
        elsewhere: what to use in the place of names, in small letters without underscores.
    """
    remedy = elsewhere.get(name.lower().replace("_", ""))
    said = f"{owner} has no attribute {name!r}"
    return AttributeError(f"{said}: {remedy}" if remedy else said)
