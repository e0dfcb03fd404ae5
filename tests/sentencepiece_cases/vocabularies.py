"""Cases about pieces and their ids."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import Library, case
from .models import english, english_file, japanese

FILE = "sentencepiece_test.py::test_"
ARRAYS = "numpy_test.py::test_"
OF_IDS = ("GetScore", "IsUnknown", "IsControl", "IsUnused", "IsByte")


def vocabulary(processor: Any, size: int) -> None:
    for names in (
        ("GetPieceSize", "PieceToId", "IdToPiece"),
        ("get_piece_size", "piece_to_id", "id_to_piece"),
    ):
        n_pieces, to_id, to_piece = (getattr(processor, name) for name in names)
        assert n_pieces() == size
        for id, piece in enumerate(("<unk>", "<s>", "</s>")):
            assert (to_id(piece), to_piece(id)) == (id, piece)
        assert [to_id(to_piece(id)) for id in range(size)] == list(range(size))


@case(FILE + "load")
def _(lib: Library) -> None:
    processor = lib.SentencePieceProcessor()
    assert processor.Load(str(english_file()))
    assert processor.LoadFromSerializedProto(english_file().read_bytes())
    vocabulary(processor, 1000)
    ids = [processor.unk_id(), processor.bos_id(), processor.eos_id(), processor.pad_id()]
    assert ids == [0, 1, 2, -1]


@case(FILE + "ja_load")
def _(lib: Library) -> None:
    vocabulary(japanese(lib), 8000)


@case(FILE + "valid_range")
def _(lib: Library) -> None:
    processor = english(lib)
    for name in ("IdToPiece", *OF_IDS, "DecodeIds"):
        getattr(processor, name)([10, 20, 30])
        with pytest.raises(IndexError):
            getattr(processor, name)([processor.piece_size()])


@case(FILE + "native_batch_piece_to_id")
def _(lib: Library) -> None:
    processor = english(lib)
    pieces = [processor.IdToPiece(id) for id in (3, 4, 5)]
    assert processor.PieceToId(pieces[0]) == 3
    assert processor.PieceToId("unknown_piece_xyz") == 0
    assert processor.PieceToId([*pieces, "unknown_piece_xyz"]) == [3, 4, 5, 0]
    assert processor.PieceToId(tuple(pieces)) == [3, 4, 5]
    for wrong in (123, [123], ["a", 123]):
        with pytest.raises(TypeError):
            processor.PieceToId(wrong)


def of_ids(call: Callable[[Any], Any], size: int, one: Callable[[list[int]], Any]) -> None:
    """Gives a list for `one` of ids, and an error for ids that are none."""
    singles = [call(id) for id in (0, 1, 2)]
    found = call(one([0, 1, 2]))
    assert isinstance(found, list)
    assert found == singles
    for wrong in ([0, -1], [0, size]):
        with pytest.raises(IndexError):
            call(one(wrong))


@case(FILE + "native_batch_id_to_piece")
def _(lib: Library) -> None:
    processor = english(lib)
    assert isinstance(processor.IdToPiece(3), str)
    for wrong in (-1, processor.vocab_size()):
        with pytest.raises(IndexError):
            processor.IdToPiece(wrong)
    for kind in (list, tuple):
        of_ids(processor.IdToPiece, processor.vocab_size(), kind)
    for name in ("a", ["a"]):
        with pytest.raises(TypeError):
            processor.IdToPiece(name)


@case(FILE + "native_batch_other_id_methods")
def _(lib: Library) -> None:
    processor = english(lib)
    for name in OF_IDS:
        call = getattr(processor, name)
        for wrong in (-1, processor.vocab_size()):
            with pytest.raises(IndexError):
                call(wrong)
        for kind in (list, tuple):
            of_ids(call, processor.vocab_size(), kind)


@case(ARRAYS + "native_batch_id_to_piece_numpy", ARRAYS + "native_batch_other_id_methods_numpy")
def _(lib: Library) -> None:
    processor = english(lib)
    for name in ("IdToPiece", *OF_IDS):
        of_ids(getattr(processor, name), processor.vocab_size(), lambda ids: np.array(ids, np.int32))
