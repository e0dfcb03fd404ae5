"""Rows of a fixed number of ids, packed of whole chats by best fit, or of chats that are cut at their ends.

Best fit decreasing: the chats of a buffer, longest first, are each put into the row with the least room that
still has enough, and into a new row where none has. It needs at most 11/9 of the fewest possible rows and one
more (Johnson 1973); with thousands of chats rows are nearly full.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUFFER_TOKENS", "Piece", "best_fit_rows", "cut_rows", "packed_rows"]

#: Ids that are held to be packed together; rows are written when there are more.
BUFFER_TOKENS = 1 << 24
# Chats that are held, at most: each takes some hundred bytes in addition to its ids.
_BUFFER_CHATS = 1 << 18


class Piece(NamedTuple):
    """A chat, or a part of one.

    Attributes:
        ids: its ids.
        mask: whether the assistant wrote each; `None` where that was not asked for.
    """

    ids: NDArray[np.uint32]
    mask: NDArray[np.bool_] | None


def packed_rows(
    pieces: Iterable[Piece], length: int, buffer_tokens: int = BUFFER_TOKENS
) -> Iterator[list[Piece]]:
    """Yields rows of whole pieces, each of which has at most `length` ids.

    Args:
        pieces: what to pack.
        length: ids of a row.
        buffer_tokens: how many ids are packed together.
    """
    held: list[Piece] = []
    n_ids = 0
    for piece in pieces:
        is_full = n_ids + len(piece.ids) > max(buffer_tokens, length) or len(held) == _BUFFER_CHATS
        if held and is_full:
            yield from _fitted(held, length)
            held, n_ids = [], 0
        held.append(piece)
        n_ids += len(piece.ids)
    yield from _fitted(held, length)


def _fitted(held: list[Piece], length: int) -> Iterator[list[Piece]]:
    for row in best_fit_rows([len(piece.ids) for piece in held], length):
        yield [held[number] for number in row]


def best_fit_rows(lengths: list[int], length: int) -> list[list[int]]:
    """Returns which pieces each row has, by their numbers.

    Rows are in the order of their first pieces, and pieces of a row in theirs.

    Args:
        lengths: of the pieces, from 1 to `length`.
        length: ids of a row.
    """
    rows: list[list[int]] = []
    # Rows by the room they have, and a bit for each room that some row has.
    with_room: dict[int, list[int]] = {}
    rooms = 0
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        need = lengths[number]
        fitting = rooms >> need
        if fitting:
            room = (fitting & -fitting).bit_length() - 1 + need
            row = heapq.heappop(with_room[room])
            if not with_room[room]:
                rooms ^= 1 << room
            rows[row].append(number)
        else:
            room, row = length, len(rows)
            rows.append([number])
        if left := room - need:
            heapq.heappush(with_room.setdefault(left, []), row)
            rooms |= 1 << left
    for pieces in rows:
        pieces.sort()
    return sorted(rows)


def cut_rows(pieces: Iterable[Piece], length: int) -> Iterator[list[Piece]]:
    """Yields rows of `length` ids from pieces end to end, cut where a row ends; the last may have fewer."""
    row: list[Piece] = []
    room = length
    for ids, mask in pieces:
        start = 0
        while start < len(ids):
            stop = min(start + room, len(ids))
            row.append(Piece(ids[start:stop], None if mask is None else mask[start:stop]))
            room, start = room - (stop - start), stop
            if not room:
                yield row
                row, room = [], length
    if row:
        yield row
