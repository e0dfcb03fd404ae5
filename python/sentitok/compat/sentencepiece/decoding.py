"""`Decoder`: ids or pieces to text, and a text as the model sees it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...messages import shown
from .model import MARK, Model, decoded, spelled

__all__ = ["ELSEWHERE", "Decoder", "texts_of", "type_of"]

#: What `out_type` asks for that is not here, with what is.
ELSEWHERE = {
    "proto": "processor.tokenizer.encode(text) has ids, surfaces and offsets()",
    "serialized_proto": "processor.tokenizer.encode(text) has ids, surfaces and offsets()",
    "immutable_proto": "processor.tokenizer.encode(text) has ids, surfaces and offsets()",
    "offset_mapping": "processor.tokenizer.encode(text).offsets() has the place of each token",
}


class Decoder(Model):
    """Decodes, in both spellings (`decode`, `Decode`)."""

    def decode(
        self,
        input: Any,
        return_type: Any = None,
        out_type: Any = None,
        num_threads: int | None = None,
    ) -> Any:
        """Returns the text of ids or of pieces; of a list of those, a list.

        Args:
            input: an id or a piece, a list or an array of them, or a list of such.
            return_type: `str` or `bytes`.
            out_type: another name of it.
            num_threads: taken, and not needed.

        Raises:
            IndexError: for an id without a piece.
            TypeError: for what is neither.
        """
        kind = type_of(out_type, return_type, str)
        if kind not in (str, bytes):
            raise ValueError(f"out_type is {shown(kind)}; decode gives str or bytes")
        if input is None or (isinstance(input, str | bytes) and not input):
            input = []
        if not _is_sequence(input):
            input = [input]
        if len(input) > 0 and _is_sequence(input[0]):
            return [self._text(row, kind) for row in input]
        return self._text(input, kind)

    def _text(self, row: Any, kind: object) -> str | bytes:
        self._loaded()
        values: list[Any] = row.tolist() if isinstance(row, np.ndarray) else list(row)
        if values and isinstance(values[0], str | bytes):
            text = self._of_pieces([spelled(value) for value in values])
            # Pieces in bytes are a text in bytes.
            return text if kind is str and isinstance(values[0], str) else text.encode("utf-8")
        for id in values:
            self._check(id)
        if kind is bytes:
            return self.tokenizer.decode(values).encode("utf-8")
        return self.tokenizer.decode(values)

    def _of_pieces(self, pieces: list[str]) -> str:
        """The text of pieces; one that is not in the vocabulary is its own text."""
        text, known = "", []
        for piece in pieces:
            id = self._ids.get(piece)
            if id is not None:
                known.append(id)
                continue
            text += self._behind(text, known) + piece
            known = []
        return text + self._behind(text, known)

    def _behind(self, before: str, ids: list[int]) -> str:
        """The text of ids; a space in front is left out at the beginning alone."""
        if not before or not ids:
            return self.tokenizer.decode(ids)
        anchor = next(
            id for id, kind in enumerate(self._kinds) if kind == "normal" and MARK not in self._pieces[id]
        )
        return self.tokenizer.decode([anchor, *ids])[len(self._pieces[anchor]) :]

    def decode_ids(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Returns the text of ids."""
        return self.decode(input, return_type, **options)

    def decode_pieces(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Returns the text of pieces."""
        return self.decode(input, return_type, **options)

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Returns a text as the model sees it; of a list, a list."""
        if with_offsets:
            raise NotImplementedError(
                "with_offsets is not here: processor.tokenizer.encode(text).offsets() has each token's place"
            )
        normalizer = self._loaded().normalizer
        rows = [
            text if normalizer is None else normalizer.normalize(decoded(text)) for text in texts_of(input)
        ]
        return rows if isinstance(input, list) else rows[0]

    # SentencePiece's other spelling

    Decode = Detokenize = detokenize = decode
    DecodeIds = decode_ids
    DecodePieces = decode_pieces
    Normalize = normalize


def type_of(out_type: Any, return_type: Any, default: Any) -> Any:
    """What is asked for, by either name of the option."""
    if out_type is not None and return_type is not None:
        raise ValueError("out_type and return_type are one option; give one")
    kind = out_type if out_type is not None else return_type
    kind = default if kind is None else kind
    if isinstance(kind, str) and kind in ELSEWHERE:
        raise NotImplementedError(f"out_type={kind!r} is not here: {ELSEWHERE[kind]}")
    if kind not in (int, str, bytes, "numpy"):
        raise ValueError(f"out_type is {shown(kind)}; it is int, str, bytes or 'numpy'")
    return kind


def texts_of(input: Any) -> Sequence[str | bytes]:
    """A text, or a list of them, as a list."""
    texts = input if isinstance(input, list) else [input]
    for text in texts:
        if not isinstance(text, str | bytes):
            raise TypeError(f"a text is {shown(text)}; it is str or bytes")
    return texts


def _is_sequence(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)
