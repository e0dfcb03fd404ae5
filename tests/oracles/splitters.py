"""Reference splitters: the published patterns, run by the libraries that publish them.

`reference(name)` gives a function from a text to its pieces, as they come out
of `tokenizers` 0.23.3: strings after any rewriting, gaps left out. Patterns are
run by its engine, Oniguruma, as `Split(Regex(..), "isolated")`; the pre-tokenizers
that are not a pattern are its own classes. `texts_*` are what to compare on.
"""

import itertools
import random
from collections.abc import Callable, Iterator

from tokenizers import Regex, pre_tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# The rewrite in tiktoken 0.14; splits alike.
GPT2_POSSESSIVE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def cl100k(digits: str) -> str:
    """The classic pattern with `\\p{N}` repeated as `digits` says."""
    return (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        + digits
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


def cl100k_possessive(digits: str) -> str:
    """The rewrite in tiktoken 0.14, so spelt that Oniguruma reads it as tiktoken's engine does.

    tiktoken's own has `\\p{N}{1,3}+`, which Oniguruma takes for a repeated group,
    and `$`, which it takes for the end of a line.
    """
    return (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}"
        + digits
        + r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"
    )


CL100K_TIKTOKEN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

_HEAD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = f"{_HEAD}*{_TAIL}+{_CONTRACTION}|{_HEAD}+{_TAIL}*{_CONTRACTION}" + r"|\p{N}{1,3}" + _REST
TEKKEN = f"{_HEAD}*{_TAIL}+|{_HEAD}+{_TAIL}*" + r"|\p{N}" + _REST


def superwords(words: str, rest: str, ends: str = "") -> str:
    """Runs of words and single punctuation characters, then the pattern of the pieces."""
    punctuation = r" ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])"
    return f"(?:{words}|{punctuation}{ends})++|{rest}"


def superwords_across_lines(words: str, rest: str, ends: str, blanks: str, alone: str) -> str:
    """The same with white space, but for the blank before an alternative that stays `alone`."""
    punctuation = r" ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])"
    return f"(?:{words}|{punctuation}{ends}|(?! {alone})(?:{blanks}))++|{rest}"


_CL100K_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_O200K_WORDS = f"{_HEAD}*{_TAIL}+{_CONTRACTION}|{_HEAD}+{_TAIL}*{_CONTRACTION}"
_TEKKEN_WORDS = f"{_HEAD}*{_TAIL}+|{_HEAD}+{_TAIL}*"

#: The pattern of each name that has one, as both engines read it.
PATTERNS = {
    "gpt2": GPT2,
    "r50k": GPT2_POSSESSIVE,
    "cl100k": cl100k("{1,3}"),
    "cl100k-2digit": cl100k("{1,2}"),
    "cl100k-1digit": cl100k(""),
    "cl100k-possessive": cl100k_possessive("{1,3}"),
    "cl100k-possessive-2digit": cl100k_possessive("{1,2}"),
    "cl100k-possessive-1digit": cl100k_possessive(""),
    "o200k": O200K,
    "tekken": TEKKEN,
    "gpt2-superwords": superwords(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+", GPT2),
    **{
        f"{name}-superwords": superwords(words, pattern, r"(?![\r\n])")
        for name, words, pattern in (
            ("cl100k", _CL100K_WORDS, cl100k("{1,3}")),
            ("cl100k-1digit", _CL100K_WORDS, cl100k("")),
            ("o200k", _O200K_WORDS, O200K),
            ("tekken", _TEKKEN_WORDS, TEKKEN),
        )
    },
    "gpt2-superwords-across-lines": superwords_across_lines(
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+", GPT2, "", r"\s+(?!\S)|\s+", r"\S"
    ),
    **{
        f"{name}-superwords-across-lines": superwords_across_lines(
            words, pattern, r"[\r\n]*+" + ends, r"\s*[\r\n]+|\s+(?!\S)|\s+", r"[^\s\p{L}\p{N}]"
        )
        for name, words, pattern, ends in (
            ("cl100k", _CL100K_WORDS, cl100k("{1,3}"), ""),
            ("cl100k-1digit", _CL100K_WORDS, cl100k(""), ""),
            ("o200k", _O200K_WORDS, O200K, "(?!/)"),
            ("tekken", _TEKKEN_WORDS, TEKKEN, "(?!/)"),
        )
    },
}

#: The pre-tokenizers that are not a pattern, or have a fixed one.
CLASSES: dict[str, Callable[[], pre_tokenizers.PreTokenizer]] = {
    "whitespace": pre_tokenizers.Whitespace,
    "whitespace-split": pre_tokenizers.WhitespaceSplit,
    "bert": pre_tokenizers.BertPreTokenizer,
    "unicode-scripts": pre_tokenizers.UnicodeScripts,
    "metaspace": lambda: pre_tokenizers.Metaspace(prepend_scheme="always"),
    "metaspace-words": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    ),
    "metaspace-first": lambda: pre_tokenizers.Metaspace(prepend_scheme="first"),
    "metaspace-never": lambda: pre_tokenizers.Metaspace(prepend_scheme="never"),
    "metaspace-first-unsplit": lambda: pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
    "metaspace-unsplit": lambda: pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
    "metaspace-never-unsplit": lambda: pre_tokenizers.Metaspace(prepend_scheme="never", split=False),
}

#: Byte-level characters back to bytes, for the pieces of `ByteLevel`.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(256 + n): byte for n, byte in enumerate(byte for byte in range(256) if byte not in _PRINTABLE)
}

NAMES = [*PATTERNS, *CLASSES, "gpt2-prefix-space"]


def reference(name: str) -> Callable[[str], list[str]]:
    """A function from a text to its pieces."""
    if name == "gpt2-prefix-space" or name == "gpt2":
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=name != "gpt2", use_regex=True)
        return lambda text: [
            bytes(_BYTES[c] for c in piece).decode() for piece, _ in byte_level.pre_tokenize_str(text)
        ]
    if name in CLASSES:
        pre_tokenizer = CLASSES[name]()
    else:
        pre_tokenizer = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    return lambda text: [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text)]


def reference_offsets(name: str) -> Callable[[str], list[tuple[int, int]]]:
    """A function from a text to the character ranges of its pieces in it.

    Does not apply to `gpt2-prefix-space`: a space put in front has no separate range in
    `tokenizers`, which gives it that of the first character.
    """
    if name in CLASSES:
        pre_tokenizer = CLASSES[name]()
    else:
        pre_tokenizer = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    return lambda text: [offsets for _, offsets in pre_tokenizer.pre_tokenize_str(text)]


#: One of each sort of character that the patterns tell apart.
REPRESENTATIVES = [
    " ", "\n", "\r", "\t", "\u00a0", "A", "b", "\u01c5", "\u02b0", "中", "\u0301", "1", "\u2167", "'", "s",
    "S", "\u017f", "l", "r", "e", "!", "/", "_", "\u2581", "\U0001f600",
]  # fmt: skip

CONTEXTS = [("a", "b"), ("A", "b"), (" ", "a"), ("  ", " "), ("1", "1"), ("!", "!"), ("'", "e"), ("\n", "\n")]


def texts_of_code_points(step: int = 1) -> Iterator[str]:
    """Every `step`-th code point alone, then in eight contexts, many to a text."""
    points = [chr(point) for point in range(0, 0x110000, step) if not 0xD800 <= point < 0xE000]
    yield from points
    for at in range(0, len(points), 64):
        for before, after in CONTEXTS:
            yield "\n x\n".join(before + point + after for point in points[at : at + 64])


def texts_of_representatives(longest: int) -> Iterator[str]:
    """All strings of representatives up to a length."""
    for length in range(1, longest + 1):
        yield from map("".join, itertools.product(REPRESENTATIVES, repeat=length))


def texts_at_random(count: int, seed: int = 0) -> Iterator[str]:
    """Mixed strings: representatives, runs of them, contractions, characters from anywhere."""
    choose = random.Random(seed)
    stock = [*REPRESENTATIVES * 4, "'ve", "'LL", "'RE", "  \n ", "don't", "ABCdef", "\u3000", "12345"]
    for _ in range(count):
        parts = []
        for _ in range(choose.randrange(24)):
            kind = choose.random()
            if kind < 0.12:
                point = choose.randrange(0x110000)
                parts.append("" if 0xD800 <= point < 0xE000 else chr(point))
            elif kind < 0.25:
                parts.append(choose.choice(REPRESENTATIVES) * choose.randrange(5))
            else:
                parts.append(choose.choice(stock))
        yield "".join(parts)
