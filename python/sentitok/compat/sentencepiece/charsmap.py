"""Custom rules, compiled as a `.model` holds them, and read again.

A file's rules are checked by the extension when it reads them; here they are written, and listed.

Source: the layout of google/sentencepiece's `precompiled_charsmap`, a double array of Darts-clone: a unit
holds its byte, whether a value follows it, and how to come to its children; Aoe 1989.
"""

import struct
from collections.abc import Iterator, Mapping
from itertools import groupby

import numpy as np

from ..._sentitok import FormatError

__all__ = ["compiled", "rules"]

_BLOCK = 256
_MAX_UNITS = 1 << 21
_FREE, _HAS_VALUE = 1 << 31, 1 << 8
# Units to look at in a map with as many rules as any that is published, and ten times more.
_MAX_STEPS = 1 << 22


def compiled(rules: Mapping[str, str]) -> bytes:
    """Returns rules, each a text with its replacement, in bytes.

    Raises:
        ValueError: for no rule, an empty text, NUL, a rule that changes nothing, or too many rules.
    """
    if not rules:
        raise ValueError("there is no rule; name at least one, or take rule_name='identity'")
    places: dict[str, int] = {}
    replacements = bytearray()
    for source, target in sorted(rules.items()):
        if not source or "\0" in source + target:
            raise ValueError(f"a rule is {source!r} to {target!r}; its text is not empty, and holds no NUL")
        if source == target:
            raise ValueError(f"the rule {source!r} to {target!r} changes nothing; leave it out")
        if target not in places:
            places[target] = len(replacements)
            replacements += target.encode("utf-8") + b"\0"
    keys = sorted((source.encode("utf-8"), places[target]) for source, target in rules.items())
    units = _units(keys)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(replacements)


def _units(keys: list[tuple[bytes, int]]) -> list[int]:
    units = [0] + [_FREE] * (_BLOCK - 1)
    bases: set[int] = set()
    # Not recognised by their values: the value 0 is spelled as a free unit is.
    taken = {0}
    # A state: the keys that go through it, how much of them is behind, and the unit that leads to it.
    states = [(0, len(keys), 0, 0)]
    while states:
        first, last, depth, unit = states.pop()
        value = None
        if len(keys[first][0]) == depth:
            value, first = keys[first][1], first + 1
        children = []  # a byte, and the keys in which it comes next
        # 2026-11-23: used before the next turn
        for label, same in groupby(range(first, last), lambda at: keys[at][0][depth]):  # noqa: B023
            numbers = list(same)
            children.append((label, numbers[0], numbers[-1] + 1))
        labels = ([] if value is None else [0]) + [label for label, *_ in children]
        open_block = range(len(units) - _BLOCK, len(units))
        free = (
            base
            for base in open_block
            if base and base not in bases and taken.isdisjoint(base ^ label for label in labels)
        )
        base = next(free, len(units))
        if base == len(units):
            if len(units) >= _MAX_UNITS:
                raise ValueError(f"{len(keys)} rules take more than {_MAX_UNITS} units; leave some out")
            units += [_FREE] * _BLOCK
        bases.add(base)
        taken.update(base ^ label for label in labels)
        units[unit] |= (unit ^ base) << 10
        if value is not None:
            units[unit] |= _HAS_VALUE
            units[base] = value | _FREE
        for label, first, last in children:
            units[base ^ label] = label
            states.append((first, last, depth + 1, base ^ label))
    return units


def rules(data: bytes) -> list[tuple[str, str]]:
    """Returns the rules of a map in bytes, sorted.

    Raises:
        FormatError: if it is not a map, or more rules than any published one has.
    """
    pairs = ((key.decode("utf-8", "replace"), target) for key, target in _entries(data))
    return sorted(pairs, key=lambda rule: [ord(char) for char in rule[0]])


def _entries(data: bytes) -> Iterator[tuple[bytes, str]]:
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size % 4 or not 4 <= size <= len(data) - 4:
        raise FormatError(f"precompiled_charsmap: {len(data)} bytes are not a map; get the model again")
    units = np.frombuffer(data, "<u4", size // 4, 4).astype(np.int64)
    units = np.append(units, np.full(-len(units) % _BLOCK, _FREE))
    labels = units & (_FREE | 0xFF)
    targets = data[4 + size :]
    places = np.arange(_BLOCK)
    waiting = [(0, b"")]
    n_steps = 0
    while waiting:
        at, key = waiting.pop()
        n_steps += 1
        unit = int(units[at])
        base = at ^ ((unit >> 10) << ((unit & (1 << 9)) >> 6))
        if base >= len(units) or n_steps > _MAX_STEPS or len(key) > _BLOCK:
            raise FormatError("precompiled_charsmap: its rules have no end; get the model again")
        if unit & _HAS_VALUE:
            start = int(units[base]) & (_FREE - 1)
            yield key, targets[start : targets.find(b"\0", start)].decode("utf-8", "replace")
        block = base & ~(_BLOCK - 1)
        lead = (block + places) ^ base
        for label in lead[(labels[block : block + _BLOCK] == lead) & (lead > 0)].tolist():
            waiting.append((base ^ label, key + bytes([label])))
