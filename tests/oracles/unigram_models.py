"""Unigram models by chance: small alphabets, tied scores, every kind of piece.

What goes wrong with ties, with pieces that are not used and with characters that
are not pieces shows in such models within a few texts.
"""

import random
import struct
from dataclasses import dataclass
from itertools import product

from . import unigram

#: The kinds of pieces as `.model` files number them.
NUMBERS = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "unused": 5, "byte": 6}
#: Scores by which sums are exact in 32 and in 64 bits, and those by which they are not.
EXACT = [(-1.0, -2.0), (-0.5, -1.0, -1.5), (-1.0, -1.25, -2.5, -3.0), (-0.25, -8.0, -16.0), (0.0, -1.0)]
ROUNDED = [(-0.1, -0.2, -0.3), (-1 / 3, -2 / 3, -1.0), (-0.7, -1.1, -1.8, -2.9)]


@dataclass(frozen=True)
class Model(unigram.Model):
    """A model with what it was made of."""

    alphabet: str = "ab"
    exact: bool = True

    def file(self) -> bytes:
        """The `.model` file: spaces become `▁`, and nothing else changes."""
        entries = zip(self.pieces, self.scores, self.kinds, strict=True)
        pieces = b"".join(
            _bytes(1, _bytes(1, piece.encode()) + _float(2, score) + _number(3, NUMBERS[kind]))
            for piece, score, kind in entries
        )
        unknown = list(self.kinds).index("unknown")
        trainer = _number(3, 1) + _number(35, self.byte_fallback) + _number(40, unknown)
        trainer += b"".join(_number(field, -1) for field in (41, 42, 43))
        normalizer = _bytes(1, b"identity") + _number(3, 0) + _number(4, 0) + _number(5, 1)
        return pieces + _bytes(2, trainer) + _bytes(3, normalizer)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(int(number))


def _float(field: int, number: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", number)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def strings(alphabet: str, longest: int) -> list[str]:
    """All strings over an alphabet, the shortest first."""
    return ["".join(chars) for n in range(1, longest + 1) for chars in product(alphabet, repeat=n)]


def model(rng: random.Random, *, single: bool) -> Model:
    """A `.model` (`single`), or the list of a tokenizer.json, which has no kinds."""
    alphabet = rng.choice(["ab", "abc", "ab▁", "aé"])
    exact = rng.random() < 0.7
    choice = rng.choice(EXACT if exact else ROUNDED)
    possible = strings(alphabet, rng.choice([2, 3, 4]))
    found = rng.sample(possible, min(len(possible), rng.randint(1, 9)))
    rare = rng.choice([0.0, 0.15, 0.3])
    entries = [("<unk>", rng.choice([0.0, -1.0, -20.0]), "unknown")]
    if rng.random() < 0.5:
        entries += [("<s>", rng.choice([0.0, -30.0]), "control")]
    byte_fallback = rng.random() < 0.3
    if byte_fallback:
        entries += [(f"<0x{byte:02X}>", 0.0, "byte") for byte in range(256)]
    for piece in found:
        kind = rng.choice(["unused", "user_defined"]) if single and rng.random() < rare else "normal"
        # A file of SentencePiece's keeps 32 bits.
        score = rng.choice(choice) * (1 if rng.random() < 0.9 else 2)
        entries.append((piece, struct.unpack("<f", struct.pack("<f", score))[0] if single else score, kind))
        # The bonus of a user-defined piece is a tenth a byte.
        exact &= kind != "user_defined" or len(piece.encode()) == 1
    if not any(kind == "normal" for *_, kind in entries):
        entries.append((alphabet[0] * 5, choice[0], "normal"))
    if not byte_fallback:
        rng.shuffle(entries)
    pieces, scores, kinds = (list(column) for column in zip(*entries, strict=True))
    return Model(
        pieces, scores, kinds, single=single, byte_fallback=byte_fallback, alphabet=alphabet, exact=exact
    )


def texts(rng: random.Random, model: Model) -> list[str]:
    """Texts of a model's characters, and some of different ones."""
    found = []
    for unknown in ("", "", "z", "z中"):
        alphabet = model.alphabet.replace("▁", " ") + unknown
        found += ["".join(rng.choices(alphabet, k=rng.randint(0, 14))) for _ in range(3)]
    return found


def ways(model: Model, text: str) -> dict[tuple[int, ...], float]:
    """All ways to cut a text whose characters are pieces, with the sums of their scores."""
    usable = model.usable()
    found: dict[int, dict[tuple[int, ...], float]] = {0: {(): 0.0}}
    for end in range(1, len(text) + 1):
        found[end] = {
            (*way, usable[text[start:end]][0]): score + usable[text[start:end]][1]
            for start in range(end)
            if text[start:end] in usable
            for way, score in found[start].items()
        }
    return found[len(text)]
