"""`Model`: a file that is read, and what SentencePiece's methods say of its pieces."""

import os
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..._sentitok import SentencePieceModel, SentitokError, Tokenizer
from ...messages import shown
from . import protobuf
from .inputs import from_arrow, is_sequence, message, spelled, whole_file
from .places import Places
from .surfaces import Surfaces

__all__ = ["Model"]

# Ids have 32 bits, one of them for the sign.
_IDS = 1 << 31


class Model:
    """The pieces of a file, in both spellings (`get_score`, `GetScore`)."""

    tokenizer: Tokenizer
    _model: SentencePieceModel

    def __init__(self) -> None:
        self._proto = b""

    def load(self, model_file: str | os.PathLike[str] | None = None, model_proto: Any = None) -> bool:
        """Reads a file or its content, and replaces the loaded model."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto exclude each other; give one")
        if model_proto:
            return self.load_from_serialized_proto(model_proto)
        if model_file:
            return self.load_from_file(model_file)
        raise ValueError("neither model_file nor model_proto is given; give one")

    def load_from_file(self, filename: str | os.PathLike[str]) -> bool:
        """Reads a file."""
        return self.load_from_serialized_proto(whole_file(filename))

    def load_from_serialized_proto(self, serialized: Any) -> bool:
        """Reads the content of a file."""
        data = message(serialized)
        try:
            model = SentencePieceModel(data)
            tokenizer = Tokenizer.from_bytes(data)
        except SentitokError as error:
            raise RuntimeError(str(error)) from error
        self._proto, self._model, self.tokenizer = data, model, tokenizer
        for name in ("_places", "_surfaces"):
            self.__dict__.pop(name, None)
        self._pieces, self._kinds, self._scores = model.pieces, model.kinds, model.scores.tolist()
        self._ids = {piece: id for id, piece in enumerate(self._pieces)}
        unk = self._kinds.index("unknown")
        ids = [self._ids.get(piece, -1) for piece in model.special_pieces[1:]]
        bos, eos, pad = (id if id >= 0 and self._kinds[id] == "control" else -1 for id in ids)
        self._special = (unk, bos, eos, pad)
        return True

    def _loaded(self) -> Tokenizer:
        if not self._proto:
            raise RuntimeError("no model is loaded; call load(model_file)")
        return self.tokenizer

    @cached_property
    def _places(self) -> Places:
        """Where what the model sees of a text comes from."""
        self._loaded()
        symbols = (
            piece for piece, kind in zip(self._pieces, self._kinds, strict=True) if kind == "user_defined"
        )
        return Places(protobuf.joined(self._proto, 3), protobuf.joined(self._proto, 2), symbols)

    @cached_property
    def _surfaces(self) -> Surfaces:
        """The decoded text of each piece."""
        spec, trainer = protobuf.joined(self._proto, 3), protobuf.joined(self._proto, 2)
        return Surfaces(spec, trainer, self._pieces, self._kinds)

    def __len__(self) -> int:
        return self.get_piece_size()

    def __getitem__(self, piece: str | bytes) -> int:
        id: int = self.piece_to_id(piece)
        return id

    def get_piece_size(self) -> int:
        """Returns the number of pieces."""
        return len(self._pieces) if self._proto else 0

    def piece_to_id(self, piece: Any) -> Any:
        """Returns the id of a piece, that of the unknown one if there is none; of a list, a list."""
        self._loaded()
        if is_sequence(piece):
            return [self._ids.get(spelled(each), self._special[0]) for each in piece]
        return self._ids.get(spelled(piece), self._special[0])

    def id_to_piece(self, id: Any) -> Any:
        """Returns the piece of an id; of a list, a list."""
        return self._each(id, self._pieces.__getitem__)

    def get_score(self, id: Any) -> Any:
        """Returns the score of an id; of a list, a list."""
        return self._each(id, self._scores.__getitem__)

    def is_unknown(self, id: Any) -> Any:
        """Whether an id is the unknown token."""
        return self._each(id, lambda at: self._kinds[at] == "unknown")

    def is_control(self, id: Any) -> Any:
        """Whether an id is a control token's."""
        return self._each(id, lambda at: self._kinds[at] == "control")

    def is_unused(self, id: Any) -> Any:
        """Whether an id is not used."""
        return self._each(id, lambda at: self._kinds[at] == "unused")

    def is_byte(self, id: Any) -> Any:
        """Whether an id is a byte token."""
        return self._each(id, lambda at: self._kinds[at] == "byte")

    def _each(self, id: Any, of: Callable[[int], Any]) -> Any:
        id = from_arrow(id)
        if is_sequence(id):
            return [of(self._check(each)) for each in id]
        return of(self._check(id))

    def _check(self, id: Any) -> int:
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not -_IDS <= id < _IDS:
            raise TypeError(f"an id is {shown(id)}; it is an int of 32 bits")
        if not 0 <= id < self.get_piece_size():
            raise IndexError(f"no piece has the id {shown(id)}; ids end at {self.get_piece_size() - 1}")
        return int(id)

    def unk_id(self) -> int:
        """Returns the id of the unknown token."""
        return self._special[0] if self._proto else -1

    def bos_id(self) -> int:
        """Returns the id of the token of the beginning, or -1."""
        return self._special[1] if self._proto else -1

    def eos_id(self) -> int:
        """Returns the id of the token of the end, or -1."""
        return self._special[2] if self._proto else -1

    def pad_id(self) -> int:
        """Returns the id of the token of padding, or -1."""
        return self._special[3] if self._proto else -1

    def serialized_model_proto(self) -> bytes:
        """Returns the content of the file."""
        return self._proto

    # SentencePiece's other spelling

    Load = load
    LoadFromFile = load_from_file
    LoadFromSerializedProto = load_from_serialized_proto
    GetPieceSize = piece_size = vocab_size = get_piece_size
    PieceToId = piece_to_id
    IdToPiece = id_to_piece
    GetScore = get_score
    IsUnknown = is_unknown
    IsControl = is_control
    IsUnused = is_unused
    IsByte = is_byte
