"""Arguments of calls: texts and pieces as str or bytes, messages, files, and the type of the result."""

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...messages import shown

__all__ = [
    "PROTOS",
    "decoded",
    "flag",
    "from_arrow",
    "ids_of",
    "is_sequence",
    "message",
    "spelled",
    "texts_of",
    "type_of",
    "whole_file",
]

#: Types of what comes that have places.
PROTOS = ("proto", "serialized_proto", "offset_mapping")


def decoded(text: str | bytes) -> str:
    """Returns a text as a str."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def spelled(value: Any) -> str:
    """Returns a piece as a str."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"a piece is {shown(value)}; it is str or bytes, as are all of a list")
    return decoded(value)


def texts_of(input: Any) -> Sequence[str | bytes]:
    """Returns a text, or a list of them, as a list."""
    texts = input if isinstance(input, list) else [input]
    for text in texts:
        if not isinstance(text, str | bytes):
            raise TypeError(f"a text is {shown(text)}; it is str or bytes")
    return texts


def is_sequence(value: object) -> bool:
    """Whether a value is a list, a tuple or an array."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def from_arrow(value: Any) -> Any:
    """Returns ids of pyarrow as ints and lists of them, and anything else as it is.

    sentencepiece takes numbers of pyarrow alone: it refuses its texts.
    """
    if isinstance(value, list):
        return [from_arrow(each) for each in value] if value and _is_of_arrow(value[0]) else value
    if not _is_of_arrow(value):
        return value
    return value.to_pylist() if hasattr(value, "to_pylist") else value.as_py()


def _is_of_arrow(value: Any) -> bool:
    return (hasattr(value, "to_pylist") or hasattr(value, "as_py")) and "string" not in str(value.type)


def message(value: Any) -> bytes:
    """Returns the bytes of a protobuf message, or the given bytes."""
    data = value.SerializeToString() if hasattr(value, "SerializeToString") else value
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"a message is {shown(value)}; it is bytes, or has SerializeToString")
    return bytes(data)


def whole_file(path: str | os.PathLike[str]) -> bytes:
    """Returns the content of a file.

    Raises:
        RuntimeError: if it cannot be read.
    """
    try:
        with open(os.fspath(path), "rb") as file:  # not a number, which is an open file
            return file.read()
    except OSError as error:
        raise RuntimeError(f"{shown(os.fspath(path))}: {error.strerror}") from error


def type_of(out_type: Any, return_type: Any, default: Any, return_bytes: bool | None = None) -> Any:
    """Returns the requested type, by either name of the option."""
    if out_type is not None and return_type is not None:
        raise ValueError("out_type and return_type are one option; give one")
    kind = out_type if out_type is not None else return_type
    kind = default if kind is None else kind
    if isinstance(kind, str) and kind == "immutable_proto":
        raise ValueError("return_type='immutable_proto' is of sentencepiece before 0.2.3; pass 'proto'")
    if kind not in (int, str, bytes, "numpy", *PROTOS):
        names = ", ".join(map(repr, ("numpy", *PROTOS)))
        raise ValueError(f"return_type is {shown(kind)}; it is int, str, bytes or one of {names}")
    if return_bytes is not None and kind != "offset_mapping":
        raise ValueError("return_bytes is for return_type='offset_mapping'; return_type=bytes gives bytes")
    return kind


def flag(name: str, value: Any) -> bool:
    """Returns an option that is true or false."""
    if not isinstance(value, bool | np.bool_):
        of_type = "; the type of what comes is return_type=" if isinstance(value, str | type) else ""
        raise TypeError(f"{name} is {shown(value)}; it is True or False{of_type}")
    return bool(value)


def ids_of(values: Any) -> list[Any]:
    """Returns a row of ids or pieces as a list; arrays and columns of tables hold ids alone."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iu":
            raise TypeError(f"an array of ids is of whole numbers, not of {values.dtype}")
        return cast("list[Any]", values.tolist())
    if not hasattr(values, "__getitem__") or isinstance(values, str | bytes | dict):
        raise TypeError(f"a row is {shown(values)}; it is a list of ids or of pieces")
    row = list(values)
    if hasattr(values, "dtype") and (other := [one for one in row if not hasattr(one, "__index__")]):
        raise TypeError(
            f"a {type(values).__name__} holds ids alone, not {shown(other[0])}; give pieces in a list, and "
            "several rows in a list of lists"
        )
    return row
