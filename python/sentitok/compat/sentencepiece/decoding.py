"""`Decoder`: ids or pieces to text, and a text as the model sees it."""

from itertools import accumulate
from typing import Any

from ...messages import shown
from .inputs import PROTOS, from_arrow, ids_of, is_sequence, spelled, type_of
from .model import Model
from .normalizer import normalized
from .texts import SentencePiece, SentencePieceText
from .threads import ThreadPool, n_threads

__all__ = ["Decoder"]


class Decoder(Model):
    """Decodes, in both spellings (`decode`, `Decode`)."""

    def decode(
        self,
        input: Any,
        return_type: Any = None,
        out_type: Any = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Returns the text of ids or of pieces; of a list of those, a list.

        Args:
            input: an id or a piece, a list or an array of them, or a list of such.
            return_type: `str`, `bytes`, or a text with its pieces: `"proto"`, `"serialized_proto"` or
                `"offset_mapping"`, a dict.
            out_type: another name of it.
            num_threads: taken, and not needed.
            thread_pool: as above.
            return_bytes: whether a dict has bytes, and offsets in bytes; by default if pieces are bytes.

        Raises:
            IndexError: for an id without a piece.
            TypeError: for any other type.
            ValueError: for another type.
        """
        kind = type_of(out_type, return_type, str, return_bytes)
        if kind not in (str, bytes, *PROTOS):
            raise ValueError(f"return_type is {shown(kind)}; decode gives str, bytes, or {', '.join(PROTOS)}")
        n_threads(num_threads, thread_pool, -1)
        if input is None or (isinstance(input, str | bytes) and not input):
            input = []
        input = from_arrow(input)
        if not is_sequence(input):
            input = [input]
        is_batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and is_sequence(input[0])
        rows = [ids_of(input[place]) for place in range(len(input))] if is_batch else [ids_of(input)]
        if len({isinstance(row[0], str | bytes) for row in rows if row}) > 1:
            raise TypeError("some rows are of ids and some of pieces; decode these and those in two calls")
        if kind == "offset_mapping":
            # An empty row is as the first one that is not.
            first = next((row[0] for row in rows if row), "")
            return_bytes = bool(return_bytes) or isinstance(first, bytes)
        texts = [self._decoded(row, kind, return_bytes) for row in rows]
        return texts if is_batch else texts[0]

    def _decoded(self, values: list[Any], kind: Any, return_bytes: bool | None) -> Any:
        self._loaded()
        are_pieces = bool(values) and isinstance(values[0], str | bytes)
        if kind in (str, bytes) and not are_pieces:
            for id in values:
                self._check(id)
            decoded = self.tokenizer.decode(values)
            return decoded if kind is str else decoded.encode("utf-8")
        text = self._text_of(values, are_pieces)
        if kind in PROTOS:
            return text.given_as(kind, bool(return_bytes), with_text=True)
        # Pieces in bytes are a text in bytes.
        in_bytes = kind is bytes or isinstance(values[0], bytes)
        return text.text.encode("utf-8") if in_bytes else text.text

    def _text_of(self, values: list[Any], are_pieces: bool) -> SentencePieceText:
        """The text of a row; a piece that is not in the vocabulary is its own text."""
        if are_pieces:
            row = [(piece, self._ids.get(piece, self._special[0])) for piece in map(spelled, values)]
        else:
            row = [(self._pieces[self._check(id)], int(id)) for id in values]
        surfaces = self._surfaces.of(row)
        ends = list(accumulate(len(surface.encode("utf-8")) for surface in surfaces))
        pieces = [
            SentencePiece(piece, id, surface, begin, end)
            for (piece, id), surface, begin, end in zip(row, surfaces, [0, *ends], ends, strict=False)
        ]
        return SentencePieceText("".join(surfaces), pieces)

    def decode_ids(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Returns the text of ids."""
        return self.decode(input, return_type, **options)

    def decode_pieces(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Returns the text of pieces."""
        return self.decode(input, return_type, **options)

    def decode_ids_as_proto(self, input: Any, **options: Any) -> Any:
        """Returns the text of ids with its pieces."""
        return self.decode(input, return_type="proto", **options)

    def decode_pieces_as_proto(self, input: Any, **options: Any) -> Any:
        """Returns the text of pieces with them."""
        return self.decode(input, return_type="proto", **options)

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Returns a text as the model sees it; of a list, a list.

        Args:
            input: a str or bytes, or a list of them; what comes is of the same type.
            with_offsets: gives pairs of that and the places as in `SentencePieceNormalizer.normalize`.
        """
        return normalized(self._places, input, with_offsets)

    # SentencePiece's other spelling

    Decode = Detokenize = detokenize = decode
    DecodeIds = decode_ids
    DecodePieces = decode_pieces
    DecodeIdsAsProto = decode_ids_as_proto
    DecodePiecesAsProto = decode_pieces_as_proto
    Normalize = normalize
