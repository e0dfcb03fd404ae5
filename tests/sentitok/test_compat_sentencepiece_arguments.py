"""`sentitok.compat.sentencepiece`: odd arguments and files give what sentencepiece gives, or its errors.

Source of what differs on purpose: docs/reference/compat-sentencepiece.md.
"""

import io
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

theirs = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")

from sentitok.compat import sentencepiece as ours  # noqa: E402  # 2026-11-29: skipped without sentencepiece

Call = Callable[[Any, Any], Any]

#: `True` is not a number here, and no number is a truth value.
NUMBERS: list[Any] = [
    None, 0, 1, -1, 40, 2**31 - 1, 2**31, 2**32, 2**63, 2**64, -(2**31) - 1, 1.5, "1", "", b"a", [],
    np.int64(1), np.uint8(1), np.int32(-1), np.uint64(2**40),
]  # fmt: skip
TEXTS: list[Any] = [
    None, 1, "a b", b"a b", ["a", "b"], ("a", "b"), [b"a"], ["a", None], ["a", 1], ["a", b"b"], [["a"]], [],
    (), np.array(["a", "b"]), np.array(["a", "b"], dtype=object), pd.Series(["a", "b"]),
    np.str_("a b"), {"a": 1},
]  # fmt: skip
IDS: list[Any] = [
    [1, 5], (1, 5), np.array([1, 5]), np.array([1, 5], np.uint8), np.array([1, 5], np.int32),
    np.array([], int), np.array([1.0]), np.array([[1, 5], [3, 4]]), pd.Series([1, 5]), [1.0], [-1], [40],
    [2**31], [2**32], [2**64], [None], [b"a"], [np.int64(1)], [np.uint64(2**40)], [], range(1, 3), {1, 2},
    [[1, 5], [3]], [(1, 5)],
    [[]], [[1], [None]], [[2**32]], [[-1]],
]  # fmt: skip
#: Rows of ids and pieces in other containers: columns of tables and arrays hold ids alone.
ROWS: list[Any] = [
    pd.Series([[1, 5], [3]]), pd.Series([(1, 5)]), pd.Series([np.array([1, 5])]), pd.Series(["a"]),
    pd.Series([b"a"]), pd.Series([["a"]]), pd.Series(["a"]).astype("category"),
    pd.Series([1, 5], index=[7, 8]),
    pd.Series([1, 5], dtype="Int64"), pd.Series([1, 5], dtype=object), pd.Series([1.0]), pd.Series([None]),
    pd.Series([]), pd.Index([1, 5]), pd.Index(["a"]), pd.DataFrame([[1, 5], [3, 4]]),
    pd.DataFrame({"a": [1]}), [pd.Series([1, 5])], [pd.Series(["a"])], [pd.Series([[1]])],
    np.array(["a", "b"]), np.array(["a", "b"], dtype=object), np.array([1, 5], dtype=object),
    np.array([True]),
    np.array([]), np.zeros((2, 0), int), np.zeros((2, 0)), [np.array([1, 5])] * 2, [np.array(["a"])],
    deque([1, 5]), deque([[1, 5]]), [{1, 5}], {0: 3}, [{0: 1}], [[1], "ab"], [[1], 2],
    ["a", b"b"], [["a"], ["b"]], [["a"], [1]], [[], [1, 5]], [range(1, 3)],
    pa.array([1, 5]), pa.array([], pa.int64()), pa.array([[1, 5], [3]]), pa.array(["a"]), [pa.scalar(5)],
    pa.chunked_array([[1, 5], [3]]), [pa.array([1, 5])], [pa.array(["a"])],
    pd.Series([1, 5], dtype="int64[pyarrow]"), pd.Series(["a"], dtype="string[pyarrow]"),
]  # fmt: skip
LINES = ["the quick brown fox", "a b ab ba abba", "lazy dog jumps"] * 20


@cache
def model() -> bytes:
    made = io.BytesIO()
    theirs.SentencePieceTrainer.Train(
        sentence_iterator=iter(LINES), model_writer=made, vocab_size=34, minloglevel=2
    )
    return made.getvalue()


@cache
def processor(library: Any) -> Any:
    return library.SentencePieceProcessor(model_proto=model())


def method(name: str) -> Call:
    return lambda library, value: getattr(processor(library), name)(value)


def option(name: str) -> Call:
    return lambda library, value: processor(library).encode("a b", **{name: value})


def option_of_class(name: str) -> Call:
    return lambda library, value: library.SentencePieceProcessor(model_proto=model(), **{name: value}).encode(
        "a b"
    )


def trained(library: Any, **options: Any) -> list[str]:
    made = io.BytesIO()
    given = {"model_writer": made, "vocab_size": 34, "model_type": "bpe", "minloglevel": 2, **options}
    library.SentencePieceTrainer.train(**given)
    result = library.SentencePieceProcessor(model_proto=made.getvalue())
    return [result.id_to_piece(id) for id in range(result.get_piece_size())]


def option_of_training(name: str) -> Call:
    return lambda library, value: trained(library, sentence_iterator=iter(LINES), **{name: value})


#: Whole numbers whose training ends soon.
COUNTS = [value for value in NUMBERS if not isinstance(value, float | list)]
CALLS: dict[str, tuple[Call, list[Any]]] = {
    **{
        name: (method(name), TEXTS)
        for name in ("encode", "encode_as_ids", "encode_as_pieces", "encode_as_numpy", "nbest_encode")
    },
    "normalize": (method("normalize"), TEXTS),
    "piece_to_id": (method("piece_to_id"), [text for text in TEXTS if not isinstance(text, dict)]),
    **{
        name: (method(name), IDS + NUMBERS)
        for name in (
            "decode", "decode_ids", "id_to_piece", "get_score", "is_unknown", "is_control", "is_byte",
        )
    },
    **{name: (method(name), ROWS) for name in ("detokenize", "decode_pieces")},
    "decode, offset_mapping": (
        lambda library, value: processor(library).decode(value, "offset_mapping"), IDS + ROWS
    ),
    "encode, num_threads": (option("num_threads"), [None, 1, -1, 1.5, "1", [], b"a"]),
    "encode, out_type": (option("out_type"), [None, 1, "x", [], int, str]),
    "class, out_type": (option_of_class("out_type"), [None, 1, "x", [], int, str]),
    "class, add_bos": (option_of_class("add_bos"), [True, False, "1", "x"]),
    "encode, reverse": (option("reverse"), [None, True, False]),
    **{
        f"train, {name}": (option_of_training(name), COUNTS)
        for name in ("input_sentence_size", "bos_id", "max_sentencepiece_length")
    },
    # Theirs looks for 2^31 - 1 tokens for seconds before it refuses them.
    "train, vocab_size": (option_of_training("vocab_size"), [one for one in COUNTS if one != 2**31 - 1]),
    "train, num_threads": (option_of_training("num_threads"), [0, 1, 16, -1, 2**31, "1", "x", np.int64(1)]),
    "train, max_sentence_length": (
        option_of_training("max_sentence_length"), [4192, 2**31, 2**32, 2**64, -(2**31) - 1, "x", "100"]
    ),
    "train, normalization_rule_name": (
        option_of_training("normalization_rule_name"), ["identity", "nfkc", "x", 1, "<a>,<b>"]
    ),
    "train, unk_piece": (option_of_training("unk_piece"), ["<x>", "", [], 1, ["<x>", "<y>"], True]),
    "train, byte_fallback": (option_of_training("byte_fallback"), ["false", False, "x", 5, "no"]),
    "train, user_defined_symbols": (
        option_of_training("user_defined_symbols"), ["<x>", "<x>,<y>", ["<x>", "<y>"], "", []]
    ),
    "train, sentence_iterator": (
        lambda m, v: trained(m, sentence_iterator=iter(v)),
        [
            LINES, np.array(LINES), np.array(LINES, dtype=object), pd.Series(LINES),
            [*map(str.encode, LINES)], [*LINES, None], [*LINES, 1], [*LINES, ["a"]],
            [*LINES, ""], [f"{line}\n" for line in LINES],
            [f"{line}\r\n" for line in LINES], [line.replace(" ", "\n") for line in LINES],
            [line.replace(" ", "\r") for line in LINES], [line.replace(" ", "\t") for line in LINES],
            [*LINES, "\0"], [1], [None],
        ],
    ),
}  # fmt: skip


def outcome(call: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        result = call(*given)
    except Exception as error:
        return type(error)
    return plain(result)


def plain(result: Any) -> Any:
    if isinstance(result, np.ndarray):
        return str(result.dtype), result.tolist()
    return [*map(plain, result)] if isinstance(result, list) else result


@pytest.mark.filterwarnings("ignore")  # 2026-11-29: NumPy's, of the numbers that are tried
@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(name: str) -> None:
    model()  # else each call of both libraries fails by the model's error
    call, values = CALLS[name]
    for value in values:
        expected, found = (outcome(call, library, value) for library in (theirs, ours))
        if isinstance(expected, type) and isinstance(found, type):
            assert issubclass(found, expected), (value, found, expected)
        else:
            assert found == expected, (value, found, expected)


ENDS = [
    b"\r\n", b"\r", b"\n\n", b"\r\r\n", b"\x0b\n", b"\x0c", b"\x1c\n", b"\xc2\x85", b"\xe2\x80\xa8", b"\t\n",
    b"\0\n",
]  # fmt: skip
TEXT = "\n".join(LINES).encode()
FILES = [
    *(TEXT + end for end in (b"", b"\n", b"\r\n", b"\n\n\n")),
    *(TEXT.replace(b"\n", end) for end in ENDS),
    b"\xef\xbb\xbf" + TEXT,
    b"",
    b"\n",
]


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_lines_of_a_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(data)
    options: dict[str, Any] = {"input": str(path), "vocab_size": 36}
    expected, found = (outcome(lambda m=m: trained(m, **options)) for m in (theirs, ours))
    assert found == expected


def test_a_number_is_no_path() -> None:
    """An open file of that number would be read, and closed."""
    for library in (theirs, ours):
        made = library.SentencePieceProcessor()
        for number in (1, 7):
            with pytest.raises(TypeError):
                made.Load(number)
            with pytest.raises(TypeError):
                library.SentencePieceProcessor(model_file=number)
