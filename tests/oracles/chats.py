"""What the assistant wrote of a chat, and rows packed of chats, written out one thing after the other."""

from collections.abc import Callable, Sequence
from typing import Any

# Renders messages, with or without a generation prompt.
Render = Callable[[list[Any], bool], str]


def places(render: Render, messages: list[Any]) -> list[tuple[int, int]]:
    """Where each message of the assistant is, of a template that writes one message after the other.

    From the end of the generation prompt to the end of the rendering that ends with it, less white space.
    """
    found = []
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            asked, written = render(messages[:number], True), render(messages[: number + 1], False)
            assert written.startswith(asked)
            assert render(messages, False).startswith(written)
            found.append((len(asked), len(written.rstrip())))
    return found


def mask(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Of each token: whether a character of it lies in a span."""
    inside = {char for start, end in spans for char in range(start, end)}
    return [any(char in inside for char in range(start, end)) for start, end in offsets]


def best_fit(lengths: Sequence[int], length: int) -> list[list[int]]:
    """Rows by best fit decreasing: each piece goes where the least room is, of equals into the earliest."""
    rows: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        rooms = [length - sum(lengths[one] for one in row) for row in rows]
        fitting = [(room, place) for place, room in enumerate(rooms) if room >= lengths[number]]
        if fitting:
            rows[min(fitting)[1]].append(number)
        else:
            rows.append([number])
    return sorted(sorted(row) for row in rows)


def row(pieces: Sequence[tuple[list[int], list[bool]]], length: int, pad_id: int) -> tuple[list[Any], ...]:
    """Ids, mask, positions and boundaries of a row, id by id."""
    ids: list[int] = []
    mask: list[bool] = []
    positions: list[int] = []
    boundaries = [0]
    for piece_ids, piece_mask in pieces:
        for place, (id, is_written) in enumerate(zip(piece_ids, piece_mask, strict=True)):
            ids.append(id)
            mask.append(is_written)
            positions.append(place)
        boundaries.append(len(ids))
    if len(ids) < length:
        positions += range(length - len(ids))
        mask += [False] * (length - len(ids))
        ids += [pad_id] * (length - len(ids))
        boundaries.append(length)
    return ids, mask, positions, boundaries


def cut(
    pieces: Sequence[tuple[list[int], list[bool]]], length: int
) -> list[list[tuple[list[int], list[bool]]]]:
    """Rows of pieces end to end, id by id."""
    rows: list[list[tuple[list[int], list[bool]]]] = []
    n_ids = 0
    for ids, mask in pieces:
        is_new = True
        for id, is_written in zip(ids, mask, strict=True):
            if n_ids % length == 0:
                rows.append([])
                is_new = True
            if is_new:
                rows[-1].append(([], []))
                is_new = False
            rows[-1][-1][0].append(id)
            rows[-1][-1][1].append(is_written)
            n_ids += 1
    return rows
