"""`TensorFile` and `write_tensors`: files of safetensors, read by parts and written tensor by tensor.

A file is the length of its header (8 bytes, little-endian), the header as JSON, and the bytes of the tensors.
The header is read here because a table of bfloat16 has no type in NumPy, and because tensors that stay are
copied in blocks, so that memory does not grow with the model. The rules are those of the library safetensors,
which tests compare.

Source: https://github.com/huggingface/safetensors, `safetensors/src/tensor.rs`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._sentitok import FormatError
from ..messages import shown

__all__ = ["FLOATS", "Tensor", "TensorFile", "decoded", "encoded", "write_tensors"]

# Bits of an element of each type.
_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64,
    "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
#: Types whose rows can be averaged, and the type of NumPy that holds their bits.
FLOATS = {"BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
_MOST_HEADER_BYTES = 100_000_000
_BLOCK = 1 << 22
_METADATA = "__metadata__"


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file.

    Attributes:
        name: its name.
        dtype: its type as the header spells it: `"F32"`, `"BF16"`, ...
        shape: its shape.
        begin: the position of its first byte in the file.
        n_bytes: its bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    n_bytes: int


class TensorFile:
    """A file of safetensors whose header has been checked against its size.

    Args:
        path: the file.

    Raises:
        FormatError: if it is damaged, or anything else.
        OSError: if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(8)
            n_header = int.from_bytes(head, "little")
            if head[:2] in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
                raise FormatError(
                    f"{path} is a pickle, which can run code when it is opened, and is not read; save the "
                    "model as safetensors"
                )
            if len(head) < 8 or n_header > min(size - 8, _MOST_HEADER_BYTES):
                raise self._damaged(f"a header of {n_header:,} bytes in a file of {size:,}")
            text = file.read(n_header)
        self.metadata: dict[str, str] = {}
        self.tensors: dict[str, Tensor] = {}
        for name, value in self._header(text).items():
            if name == _METADATA:
                self.metadata = self._checked_metadata(value)
            else:
                self.tensors[name] = self._tensor(name, value, 8 + n_header)
        end = 8 + n_header
        for tensor in sorted(self.tensors.values(), key=lambda one: (one.begin, one.n_bytes)):
            if tensor.begin != end:
                raise self._damaged(f"{shown(tensor.name)} begins at byte {tensor.begin:,}, not {end:,}")
            end += tensor.n_bytes
        if end != size:
            raise self._damaged(f"its tensors end at byte {end:,} of {size:,}; it may not be whole")

    def _damaged(self, reason: str) -> FormatError:
        return FormatError(f"{self.path} is not a file of safetensors, or is damaged: {reason}")

    def _header(self, text: bytes) -> dict[str, Any]:
        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            made = dict(pairs)
            if len(made) != len(pairs):
                raise ValueError("a name occurs twice")
            return made

        try:
            header = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"its header: {error}") from error
        if not isinstance(header, dict) or not text.startswith(b"{"):
            raise self._damaged("its header is not an object")
        return header

    def _checked_metadata(self, value: Any) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._damaged("its metadata are not texts")
        return value

    def _tensor(self, name: str, value: Any, data: int) -> Tensor:
        if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
            raise self._damaged(f"{shown(name)} is to have dtype, shape and data_offsets")
        dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
        if not isinstance(dtype, str) or dtype not in _BITS:
            raise self._damaged(f"{shown(name)} has the unknown type {shown(dtype)}")
        if not (_are_sizes(shape) and _are_sizes(offsets) and len(offsets) == 2):
            raise self._damaged(f"{shown(name)} has the shape {shown(shape)} at {shown(offsets)}")
        n_bits, n_bytes = prod(shape) * _BITS[dtype], offsets[1] - offsets[0]
        if n_bits != 8 * n_bytes:
            raise self._damaged(f"{shown(name)}, {dtype} of {shape}, has {n_bytes:,} bytes")
        return Tensor(name, dtype, tuple(shape), data + offsets[0], n_bytes)

    def bits(self, tensor: Tensor) -> NDArray[Any]:
        """Returns a tensor of a type in `FLOATS` as it lies in the file, mapped into memory."""
        dtype = FLOATS[tensor.dtype]
        if not tensor.n_bytes:
            return np.empty(tensor.shape, dtype)
        return np.memmap(self.path, dtype, "r", tensor.begin, tensor.shape)

    def blocks(self, tensor: Tensor) -> Iterator[bytes]:
        """Yields the bytes of a tensor.

        Raises:
            FormatError: if the file became shorter.
            OSError: if it cannot be read.
        """
        with open(self.path, "rb") as file:
            file.seek(tensor.begin)
            left = tensor.n_bytes
            while left:
                block = file.read(min(left, _BLOCK))
                if not block:
                    raise self._damaged("it became shorter while it was read")
                left -= len(block)
                yield block


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 63 for one in value)


def decoded(bits: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Returns the numbers of a tensor's bits, in float64."""
    if dtype == "BF16":
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(np.float64)


def encoded(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Returns the bits of numbers, each rounded to the nearest of the type, and to the even one of two."""
    if dtype != "BF16":
        with np.errstate(over="ignore"):
            return values.astype(FLOATS[dtype])
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding could carry a NaN beyond the exponent.
    return np.where(np.isnan(values), 0x7FC0, rounded).astype("<u2")


def write_tensors(
    path: Path,
    tensors: Sequence[tuple[str, str, tuple[int, ...], Callable[[], Iterable[bytes]]]],
    metadata: Mapping[str, str],
    wrote: Callable[[int], object],
) -> None:
    """Writes a file of safetensors.

    Args:
        path: the file.
        tensors: name, type, shape, and what gives the bytes, of each; in their order, wider types first, so
            that each begins at a multiple of its width.
        metadata: texts by name.
        wrote: called with the number of bytes after each block.

    Raises:
        OSError: if it cannot be written.
    """
    ordered = sorted(tensors, key=lambda one: -_BITS[one[1]])
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    end = 0
    for name, dtype, shape, _ in ordered:
        begin, end = end, end + prod(shape) * _BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, _, _, blocks in ordered:
            for block in blocks():
                file.write(block)
                wrote(len(block))
