"""Cases of `numpy_test.py`."""

import gc

import numpy as np
import pytest

from . import Library, case
from .models import english
from .vocabularies import ARRAYS as FILE

TEXT, TEXTS = "This is a test sentence.", ["Hello world", "This is another test."]


def is_array_of(found: object, ids: list[int]) -> None:
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.ndim) == (np.int32, 1)
    assert found.tolist() == ids


@case(FILE + "encode_numpy_single", FILE + "encode_numpy_batch")
def _(lib: Library) -> None:
    sp = english(lib)
    for text in (TEXT, *TEXTS):
        ids = sp.encode(text, return_type=int)
        assert all(isinstance(id, int) for id in ids)
        (in_batch,) = sp.encode([text], return_type="numpy")
        for found in (sp.encode(text, return_type="numpy"), in_batch):
            is_array_of(found, ids)
            with pytest.raises(ValueError, match="read-only"):
                found[0] = 999
    assert len(sp.encode(TEXTS, return_type="numpy")) == 2


@case(FILE + "return_type_validation_and_compat")
def _(lib: Library) -> None:
    sp = english(lib)
    is_array_of(sp.encode(TEXT, return_type="numpy"), sp.encode(TEXT))
    is_array_of(sp.encode(TEXT, out_type="numpy"), sp.encode(TEXT))
    for options in ({"out_type": "numpy"}, {"out_type": int}):
        with pytest.raises(ValueError, match="return_type"):
            sp.encode(TEXT, return_type="numpy", **options)
    with pytest.raises(ValueError, match="return_type"):
        sp.encode(TEXT, return_type="invalid_type")


@case(FILE + "decode_numpy_single_32", FILE + "decode_numpy_single_64")
def _(lib: Library) -> None:
    sp = english(lib)
    for dtype in (np.int32, np.int64):
        assert sp.decode(np.array(sp.encode(TEXT), dtype)) == TEXT
    assert sp.decode(sp.encode(TEXT, return_type="numpy")) == TEXT


@case(FILE + "decode_numpy_batch_list", FILE + "decode_numpy_batch_mixed")
def _(lib: Library) -> None:
    sp = english(lib)
    assert sp.decode(sp.encode(TEXTS, return_type="numpy")) == TEXTS
    one, two = (np.array(ids, np.int32) for ids in sp.encode(TEXTS))
    one.flags.writeable = False
    assert sp.decode([one, two]) == TEXTS


@case(FILE + "decode_numpy_batch_2d")
def _(lib: Library) -> None:
    sp = english(lib)
    ids = sp.encode("Hello world")
    for dtype in (np.int32, np.int64):
        assert sp.decode(np.array([ids, ids], dtype)) == ["Hello world"] * 2


@case(FILE + "decode_numpy_non_contiguous")
def _(lib: Library) -> None:
    sp = english(lib)
    ids = sp.encode(TEXT)
    for dtype in (np.int32, np.int64):
        array = np.array(ids, dtype)
        assert sp.decode(array[::-1]) == sp.decode(ids[::-1])
        assert sp.decode(array[::2]) == sp.decode(ids[::2])


@case(FILE + "decode_numpy_invalid_types")
def _(lib: Library) -> None:
    sp = english(lib)
    for wrong in (np.array([1.0, 2.0], np.float32), np.array([[[1]]], np.int32)):
        with pytest.raises(TypeError):
            sp.decode(wrong)


@case(FILE + "parallel_encode_numpy")
def _(lib: Library) -> None:
    sp = english(lib)
    options = {"chunk_len": 5, "num_threads": 2}
    is_array_of(
        sp.ParallelEncode(TEXT, return_type="numpy", **options),
        sp.ParallelEncode(TEXT, return_type=int, **options),
    )
    found = sp.ParallelEncode(TEXTS, return_type="numpy", **options)
    for array, ids in zip(found, sp.ParallelEncode(TEXTS, return_type=int, **options), strict=True):
        is_array_of(array, ids)


@case(FILE + "nbest_encode_numpy")
def _(lib: Library) -> None:
    sp = english(lib)
    rows = [sp.NBestEncode(TEXT, return_type=kind, nbest_size=5) for kind in ("numpy", int)]
    batches = [sp.NBestEncode(TEXTS, return_type=kind, nbest_size=5) for kind in ("numpy", int)]
    for arrays, ways in (rows, *zip(*batches, strict=True)):
        assert isinstance(arrays, list)
        assert len(arrays) == 5
        for array, ids in zip(arrays, ways, strict=True):
            is_array_of(array, ids)


@case(FILE + "numpy_memory_safety")
def _(lib: Library) -> None:
    sp = english(lib)
    ids = sp.encode("Hello world")
    found = sp.encode("Hello world", return_type="numpy")
    assert found.base is not None
    del sp
    gc.collect()
    is_array_of(found, ids)


@case(FILE + "numpy_empty_input")
def _(lib: Library) -> None:
    sp = english(lib)
    is_array_of(sp.encode("", return_type="numpy"), [])
    assert sp.decode(np.array([], np.int32)) == ""


@case(FILE + "decode_invalid_ids_numpy")
def _(lib: Library) -> None:
    sp = english(lib)
    for ids in (np.array([10000], np.int32), np.array([0, 10000], np.int32), [np.array([10000], np.int32)]):
        with pytest.raises(IndexError):
            sp.decode(ids)
