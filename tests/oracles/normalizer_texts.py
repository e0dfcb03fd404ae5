"""Texts on which normalizers differ: code points in contexts, and random strings."""

import random
from collections.abc import Iterator

#: Around a code point: letters, spaces, Chinese, accents, punctuation, and marks
#: of other classes that stay in the text, so that their order shows.
CONTEXTS = [
    ("a", "b"), ("A", "b"), (" ", "a"), ("中", "中"), ("e\u0301", "\u0301e"), ("!", "!"),
    ("\u302e", "\u0327\u302f"), ("\U0001d15f", "\u0345\U0001d165x"),
]  # fmt: skip
#: What normalizers quarrel over.
ODD = [
    *"aAzZ09 !'#.,中文。，éÉßẞİıΣσςΟΔ가각åÅÅΩΩ한글ﬁ\0\t\n\r",
    *"\u3000\u00a0\u200d\u00ad\u2028\ufffd\u0301\u0327\u0323\u0308\u0345\u302e\u302f\u1d165\u0f73\u0344\u0334",
    "\u0915\u093c", "\u0958", "\u1100\u1161", "\uac00\u11a8", "\u0b4c", "か\u3099", "\U0002f800",
    "\U0001d15f", "\U0001d165", "\U0001d16d", "\U0001d160",
]  # fmt: skip


#: All code points there are; a surrogate is not a character, and left out below.
ALL = range(0x110000)


def code_points(step: int, within: range = ALL) -> Iterator[str]:
    """Every `step`-th code point of a range alone, then in the contexts, many to a text."""
    points = [chr(point) for point in within[::step] if not 0xD800 <= point < 0xE000]
    yield from points
    for at in range(0, len(points), 64):
        for before, after in CONTEXTS:
            yield "\n x\n".join(before + point + after for point in points[at : at + 64])


def odd_texts(count: int, seed: int = 0) -> Iterator[str]:
    """Random strings of odd characters, marks, and characters from anywhere."""
    choose = random.Random(seed)
    blocks = [0x300, 0x590, 0x900, 0xE00, 0x1AB0, 0x1100, 0xA800, 0x10A00, 0x11000, 0x1D100, 0x1E000]
    for _ in range(count):
        parts = []
        for _ in range(choose.randrange(30)):
            kind = choose.random()
            if kind < 0.7:
                parts.append(choose.choice(ODD))
            elif kind < 0.85:
                parts.append(chr(choose.choice(blocks) + choose.randrange(256)))
            else:
                point = choose.randrange(0x110000)
                parts.append("" if 0xD800 <= point < 0xE000 else chr(point))
        yield "".join(parts)
