"""`sentitok.compat.tiktoken`: odd arguments and files give what tiktoken gives, or its kind of error.

Source of what differs on purpose: docs/reference/compat-tiktoken.md.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

theirs = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
pytest.importorskip("tiktoken.load")

from sentitok.compat import tiktoken as ours  # noqa: E402  # 2026-11-29: skipped where tiktoken is missing

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"a b": 257}
Call = Callable[[Any, Any], Any]


def encoding(library: Any, **options: Any) -> Any:
    given = {"pat_str": r"\w+|\W+", "mergeable_ranks": RANKS, "special_tokens": {"<s>": 301}, **options}
    return library.Encoding("x", **given)


ENCODINGS = {library: encoding(library) for library in (theirs, ours)}

#: `True` is not an id here.
NUMBERS: list[Any] = [
    None, 0, 1, 301, 299, -1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, -(2**31) - 1, 1.0, "1", "", b"a", [],
    np.int64(1), np.uint8(1), np.int32(-1), np.float32(1), np.uint64(2**40),
]  # fmt: skip
#: One text, or the keys of a dict, are not a batch here.
TEXTS: list[Any] = [
    None, 1, b"a b", ["a", "b"], ("a", "b"), [b"a"], ["a", None], ["a", 1], ["a", b"b"], [["a"]], [],
    np.array(["a", "b"]), np.array(["a", "b"], dtype=object), pd.Series(["a", "b"]),
    pd.Series([], dtype=object),
]  # fmt: skip
IDS: list[Any] = [
    [1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], np.uint8), np.array([[1, 2], [3, 4]]),
    np.array([], int), np.array([1.0]), pd.Series([1, 2]), pd.Series([[1, 2], [3]]), [1.0], [-1], [299],
    [2**31], [2**32], [2**64], [None], ["a"],
    [b"a"], [np.int64(1)], [np.uint64(2**40)], [], range(1, 3), {1, 2}, "ab", 5, None,
    [[1, 2], [3]], [(1, 2)], [np.array([1, 2])], [[]], [[1], [None]], [[2**32]], [[-1]],
]  # fmt: skip


def method(name: str) -> Call:
    return lambda library, value: getattr(ENCODINGS[library], name)(value)


CALLS: dict[str, tuple[Call, list[Any]]] = {
    **{name: (method(name), [*TEXTS, "a b"]) for name in ("encode", "encode_ordinary", "encode_to_numpy")},
    **{name: (method(name), TEXTS) for name in ("encode_batch", "encode_ordinary_batch")},
    "encode_single_token": (method("encode_single_token"), [*TEXTS, "a", "zz", b"ab"]),
    **{
        name: (method(name), IDS)
        for name in (
            "decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets", "decode_batch",
            "decode_bytes_batch",
        )
    },
    "decode_single_token_bytes": (method("decode_single_token_bytes"), NUMBERS),
    "errors": (lambda m, v: ENCODINGS[m].decode([200], errors=v), [None, "x", "strict", "ignore", 1]),
    "num_threads": (lambda m, v: ENCODINGS[m].encode_batch(["a"], num_threads=v), [None, 1, 3, 0, -1, "1"]),
    "allowed_special": (
        lambda m, v: ENCODINGS[m].encode("a<s>", allowed_special=v, disallowed_special=()),
        [None, "all", {"<s>"}, frozenset({"<s>"}), {"zz"}, set()],
    ),
    "disallowed_special": (
        lambda m, v: ENCODINGS[m].encode("a<s>", disallowed_special=v),
        [None, "all", {"<s>"}, ["<s>"], (), [], {"zz"}, {1}],
    ),
    "rank": (
        lambda m, v: encoding(m, mergeable_ranks={**RANKS, b"zz": v}).encode("zz"),
        [258, 300, *(value for value in NUMBERS if value not in (0, 1, 301, 2**31, 2**32 - 1))],
    ),
    "special id": (
        lambda m, v: encoding(m, special_tokens={"<s>": v}).encode("<s>", allowed_special="all"),
        [258, 300, *(value for value in NUMBERS if value not in (0, 1, 2**31, 2**32 - 1))],
    ),
    "pat_str": (lambda m, v: encoding(m, pat_str=v).encode("a b"), [None, 1, b"a", "(", r"\p{L}+|."]),
}  # fmt: skip


def outcome(call: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        result = call(*given)
    except Exception as error:
        return type(error)
    return (str(result.dtype), result.tolist()) if isinstance(result, np.ndarray) else result


@pytest.mark.filterwarnings("ignore")  # 2026-11-29: NumPy's, of the numbers that are tried
@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(name: str) -> None:
    call, values = CALLS[name]
    for value in values:
        expected, found = (outcome(call, library, value) for library in (theirs, ours))
        if isinstance(expected, type) and isinstance(found, type):
            assert issubclass(found, expected), (value, found, expected)
        else:
            assert found == expected, (value, found, expected)


FILES = [
    b"YQ== 0\nYg== 1\n", b"YQ== 0\r\nYg== 1\r\n", b"YQ== 0\rYg== 1\r", b"YQ== 0\n\nYg== 1", b"", b"\n",
    b"YQ==\t0\n", b"YQ== 0 x\n", b"YQ==\n", b"YQ== x\n", b"YQ== -1\n", b"YQ== 4294967296\n", b"YQ== 1.0\n",
    b"\xef\xbb\xbfYQ== 0\n", b"YQ==  0\n", b" YQ== 0\n", b"YQ== 0 \n", b"YQ== 0\x0bYg== 1",
    b"YQ== 0\n \nYg== 1", b"YQ== 0\x0cYg== 1\n", b"YQ== 0\xc2\x85Yg== 1\n",
]  # fmt: skip


@pytest.mark.parametrize("data", FILES)
def test_lines_of_a_file_of_ranks(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(data)
    expected, found = (outcome(library.load.load_tiktoken_bpe, str(path)) for library in (theirs, ours))
    assert found == expected or issubclass(found, expected)
