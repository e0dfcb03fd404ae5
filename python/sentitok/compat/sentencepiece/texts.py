"""`SentencePieceText`: a text with its pieces and their places, as SentencePiece's protocol buffers are.

Attributes are those of the messages; `SerializeToString` gives their bytes, which protobuf's own
classes read. Not those classes: protobuf is not needed.

Source: google/sentencepiece 0.2.3, `src/sentencepiece.proto`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import protobuf
from .places import Places, characters

__all__ = ["NBestSentencePieceText", "SentencePiece", "SentencePieceText", "placed"]


@dataclass(slots=True)
class SentencePiece:
    """A piece of a text.

    Attributes:
        piece: the piece.
        id: its id.
        surface: the part of the text that it represents.
        begin: where that begins, in bytes.
        end: where it ends, in bytes.
    """

    piece: str
    id: int
    surface: str
    begin: int
    end: int
    #: Only the last byte of a character has a surface.
    has_surface: bool = field(default=True, repr=False)

    def serialized(self) -> bytes:
        """Returns the bytes of the message."""
        surface = protobuf.field(3, self.surface) if self.has_surface else b""
        return (
            protobuf.field(1, self.piece)
            + protobuf.field(2, self.id)
            + surface
            + protobuf.field(4, self.begin)
            + protobuf.field(5, self.end)
        )

    SerializeToString = serialized


@dataclass(slots=True)
class SentencePieceText:
    """A text and its pieces.

    Attributes:
        text: the text.
        pieces: its pieces, in order.
        score: the sum of their scores, in a list of ways to cut the text; else 0.
    """

    text: str
    pieces: list[SentencePiece]
    score: float | None = None

    def serialized(self) -> bytes:
        """Returns the bytes of the message."""
        pieces = (protobuf.field(2, piece.SerializeToString()) for piece in self.pieces)
        score = b"" if self.score is None else protobuf.field(3, self.score)
        return protobuf.field(1, self.text) + b"".join(pieces) + score

    SerializeToString = serialized

    def given_as(self, kind: str, return_bytes: bool, *, with_text: bool) -> Any:
        """Returns itself (`"proto"`), its bytes (`"serialized_proto"`) or a dict (`"offset_mapping"`)."""
        if kind == "serialized_proto":
            return self.serialized()
        return self if kind == "proto" else self._offset_mapping(return_bytes, with_text)

    def _offset_mapping(self, return_bytes: bool, with_text: bool) -> dict[str, Any]:
        """Returns ids, pieces and offsets as lists: in characters, or all of it in bytes."""
        places = None if return_bytes else characters(self.text.encode("utf-8"))
        fields: dict[str, Any] = {}
        if with_text:
            fields["text"] = self.text.encode("utf-8") if return_bytes else self.text
        fields["ids"] = [piece.id for piece in self.pieces]
        fields["pieces"] = [
            piece.piece.encode("utf-8") if return_bytes else piece.piece for piece in self.pieces
        ]
        fields["offsets"] = [
            (piece.begin, piece.end) if places is None else (places[piece.begin], places[piece.end])
            for piece in self.pieces
        ]
        return fields


@dataclass(slots=True)
class NBestSentencePieceText:
    """The best ways to cut a text, best first.

    Attributes:
        nbests: the ways, each with its score.
    """

    nbests: list[SentencePieceText]

    def serialized(self) -> bytes:
        """Returns the bytes of the message."""
        return b"".join(protobuf.field(1, text.SerializeToString()) for text in self.nbests)

    SerializeToString = serialized


def placed(
    text: str, row: Iterable[tuple[int, str]], kinds: Sequence[str], places: Places
) -> SentencePieceText:
    """Returns a text with its pieces, of which the ids and what the model saw of each are known.

    Args:
        text: the text.
        row: the id of each piece, and its part of the text.
        kinds: the kind of each id.
        places: where what the model saw comes from.
    """
    source = text.encode("utf-8")
    _, begins = places.of(text)
    pieces: list[SentencePiece] = []
    at = rest = begin = end = 0
    for id, piece in row:
        if kinds[id] != "byte":
            size = len(piece.encode("utf-8"))
            begin, end, at = begins[at], begins[at + size], at + size
            pieces.append(SentencePiece(piece, id, _cut(source, begin, end), begin, end))
            continue
        # Bytes of a character: the last one has its place.
        if not rest:
            lead = int(piece[3:5], 16)
            rest = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
            begin, end, at = begins[at], begins[at + rest], at + rest
        rest -= 1
        if rest:
            pieces.append(SentencePiece(piece, id, "", begin, begin, has_surface=False))
        else:
            pieces.append(SentencePiece(piece, id, _cut(source, begin, end), begin, end))
    return SentencePieceText(text, pieces)


def _cut(source: bytes, begin: int, end: int) -> str:
    return source[begin:end].decode("utf-8", "replace")
