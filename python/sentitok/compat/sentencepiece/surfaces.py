"""`Surfaces`: the decoded text of each piece.

The specification of decoding, piece by piece; `sentitok.Tokenizer.decode` is faster for ids.

Source of the rules: google/sentencepiece 0.2.3, `src/sentencepiece_processor.cc`, `Decode`.
"""

from collections.abc import Iterator, Sequence

from . import protobuf

__all__ = ["MARK", "Surfaces"]

#: The spelling of a space.
MARK = "▁"
_UNK_SURFACE = " \u2047 "


class Surfaces:
    """How a model decodes.

    Args:
        spec: the message of its normalizer.
        trainer: the message of how it was trained.
        pieces: its pieces, by id.
        kinds: their kinds, as `sentitok.SentencePieceModel` names them.
    """

    def __init__(self, spec: bytes, trainer: bytes, pieces: Sequence[str], kinds: Sequence[str]) -> None:
        flags = dict(protobuf.fields(spec))
        self._strips_all = flags.get(4, 1) != 0  # as spaces at the beginning are left out
        self._strips_one = self._strips_all or flags.get(3, 1) != 0  # as one is put in front
        unknown = dict(protobuf.fields(trainer)).get(44, _UNK_SURFACE)
        self._unknown = unknown.decode("utf-8", "replace") if isinstance(unknown, bytes) else _UNK_SURFACE
        self._pieces, self._kinds = pieces, kinds

    def of(self, row: Sequence[tuple[str, int]]) -> list[str]:
        """Returns the surface of each piece with its id; joined, they are the text."""
        surfaces: list[str] = []
        data = bytearray()
        is_first, saw_space, is_empty = True, False, True
        for piece, id in row:
            if self._kinds[id] == "byte":
                data.append(int(piece[3:5], 16))
                continue
            is_empty = is_empty and not data
            surfaces += _of_bytes(bytes(data))
            data.clear()
            is_first = is_first and is_empty and not saw_space
            surface, saw_space = self._of_piece(piece, id, is_first)
            is_empty = is_empty and not surface
            surfaces.append(surface)
        return surfaces + list(_of_bytes(bytes(data)))

    def _of_piece(self, piece: str, id: int, is_first: bool) -> tuple[str, bool]:
        """The surface, and whether the space was left out that a model puts in front."""
        kind = self._kinds[id]
        if kind == "control":
            return "", False
        if kind == "unknown":
            return (self._unknown if piece == self._pieces[id] else piece), False
        strips = is_first and self._strips_one and piece.startswith(MARK)
        surface = piece.removeprefix(MARK) if strips else piece
        return surface.replace(MARK, " "), strips and not self._strips_all


def _of_bytes(data: bytes) -> Iterator[str]:
    """Yields a string for each byte: the character at its last byte, U+FFFD for a byte of no character."""
    at = 0
    while at < len(data):
        size = 1 + (data[at] >= 0xC0) + (data[at] >= 0xE0) + (data[at] >= 0xF0)
        try:
            char = data[at : at + size].decode("utf-8")
        except UnicodeDecodeError:
            char, size = "\ufffd", 1
        yield from [""] * (size - 1)
        yield char
        at += size
