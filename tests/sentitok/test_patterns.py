r"""Patterns of users and of tokenizer.json against tokenizers: what `\w`, `\b` and the like mean.

Every code point occurs alone and between other characters; the reference is the wheel.
"""

import itertools
import json
import random
from itertools import chain

import pytest
from tokenizers import Regex, pre_tokenizers

from sentitok import FormatError, PreTokenizer, Tokenizer

#: Ideographs, Hangul and higher code points, except for tags, are much alike: of these every 61st.
ALIKE = [range(0x3500, 0x9F00), range(0xAD00, 0xD700), range(0x20100, 0xE0000), range(0xE0200, 0x110000)]
OTHERS = [range(0x3500), range(0x9F00, 0xAD00), range(0xD700, 0xD800), range(0xE000, 0x20100)]
OTHERS.append(range(0xE0000, 0xE0200))
EVERY = "".join(map(chr, sorted([*chain(*OTHERS), *chain(*(some[::61] for some in ALIKE))])))

POSIX = [
    "alnum",
    "alpha",
    "ascii",
    "blank",
    "cntrl",
    "digit",
    "graph",
    "lower",
    "print",
    "punct",
    "space",
    "upper",
    "word",
    "xdigit",
]
CLASSES = [
    *(rf"\{kind}" for kind in "wWdDsShH"),
    *(rf"[\{kind}_]" for kind in "wWdDsShH"),
    r"[^\w]",
    r"[^\W]",
    *(f"[[:{name}:]]" for name in POSIX),
    "[[:^word:]]",
    "[[:^punct:]]",
    "[^[:alnum:]x]",
    *(rf"\p{{{name}}}" for name in ["Word", "Graph", "Print", "Punct", "Alnum", "Blank", "XDigit", "Cntrl"]),
    *(rf"[\p{{{name}}}]" for name in ["Word", "Punct", "Graph"]),
    r"\p{^Word}",
    r"\P{Word}",
    r"\P{^L}",
    r"[\p{^Alnum}]",
    *(
        rf"\p{{{name}}}"
        for name in [
            "L",
            "M",
            "N",
            "P",
            "S",
            "Z",
            "C",
            "Lu",
            "Ll",
            "Lt",
            "Lm",
            "Lo",
            "Nd",
            "Nl",
            "No",
            "Pc",
            "Cf",
            "Cn",
            "Co",
            "LC",
        ]
    ),
    *(
        rf"\p{{{name}}}"
        for name in [
            "Letter",
            "Uppercase_Letter",
            "Alphabetic",
            "Han",
            "Latin",
            "Cyrillic",
            "Arabic",
            "Greek",
        ]
    ),
    *(
        rf"\p{{{name}}}"
        for name in ["Emoji", "Any", "Assigned", "White_Space", "ID_Start", "Math", "Hangul", "Devanagari"]
    ),
    r"(?i)\p{Lu}",
    r"(?i)[\p{Ll}]",
    r"(?i)\w",
    r"(?i)[[:upper:]]",
    r"(?i)\P{Lu}",
    r"(?i)[a-z\u00e0-\u00f6]",
    ".",
    r"\v",
    r"\e",
    r"[\b]",
    r"[]a]",
    r"[^]\w]",
    r"[\w&&[^\d]]",
]


def theirs(pattern: str, text: str) -> list[str]:
    split = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)
    return [piece for piece, _ in split]


def with_split(pattern: str) -> str:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    return json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": model})


@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_holds_the_same_of_every_code_point(pattern: str) -> None:
    # Runs end where membership changes, so equal runs are equal sets.
    ours = PreTokenizer(pattern=f"(?:{pattern})+")
    assert ours.pieces(EVERY) == theirs(f"(?:{pattern})+", EVERY)
    # In tokenizer.json it is read, not refused.
    Tokenizer.from_bytes(with_split(pattern).encode())


@pytest.mark.slow
def test_classes_hold_the_same_of_all_points() -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    for pattern in CLASSES:
        assert PreTokenizer(pattern=f"(?:{pattern})+").pieces(text) == theirs(f"(?:{pattern})+", text), (
            pattern
        )


@pytest.mark.parametrize(
    "pattern", [r"\b", r"\B", r"\b\w+\b", r"\B.", r"(?=\w)", r"(?<!\w).", r"\b[^\w\s]+\b"]
)
def test_boundaries_beside_every_code_point(pattern: str) -> None:
    ours = PreTokenizer(pattern=pattern, look_around=True)
    # Bare `(?i)`-like folding is not in play; four contexts a code point.
    text = "".join(f"a{c}- {c}{c}" for c in EVERY[:0x3000] + EVERY[0x3000::397])
    assert ours.pieces(text) == theirs(pattern, text)


@pytest.mark.parametrize(
    "text", ["o\u200cw", "o²w", "می\u200cخواهم", "क\u200dष", "x²+y³", "½ cup", "a_b c\u0301"]
)
def test_words_of_the_report(text: str) -> None:
    for pattern in [r"\w+", r"[\w]+", r"\w+|[^\w\s]+"]:
        assert PreTokenizer(pattern=pattern).pieces(text) == theirs(pattern, text)


def random_pattern(source: random.Random, depth: int = 3) -> str:
    """A pattern that both dialects know; repeated parts never match the empty string."""
    if depth == 0 or source.random() < 0.3:
        return source.choice(
            [r"\w", r"\W", r"\s", r"\d", r"[\w-]", "[^a]", "a", "é", ".", r"\h", r"\p{L}", "[[:punct:]]"]
        )
    part, other = (random_pattern(source, depth - 1) for _ in range(2))
    return (
        source.choice(
            [
                f"{part}{other}",
                f"(?:{part}|{other})",
                f"(?:{part}){source.choice(['+', '*a', '?b', '{1,3}', '+?', '{2}'])}",
                f"(?>{part})",
                f"(?={part}){other}",
                f"(?!{part}){other}",
                rf"\b{part}",
                rf"{part}\B",
                f"(?<=a|é ){part}",
                f"(?<!{source.choice(['a', ' ', '²'])}){part}",
                f"({part}){other}\\1",
            ]
        )
        if depth < 3
        else f"{part}|{other}"
    )


def agree_on_random_patterns(n: int) -> None:
    source = random.Random(7)
    alphabet = "aab  é²1_-.\n\u200cßÉ中"
    for _ in range(n):
        pattern = random_pattern(source)
        if pattern.count(r"\1") > 1:
            continue
        ours = PreTokenizer(pattern=pattern, look_around=True)
        for _ in range(8):
            text = "".join(source.choices(alphabet, k=source.randrange(14)))
            assert ours.pieces(text) == theirs(pattern, text), (pattern, text)


def test_random_patterns_split_as_theirs() -> None:
    agree_on_random_patterns(500)


@pytest.mark.slow
def test_many_random_patterns_split_as_theirs() -> None:
    agree_on_random_patterns(60_000)


def test_all_short_texts() -> None:
    for pattern in [r"\w+", r"\b", r"\B", r"\w*", r"(?:|a)+", r"(?=²)", r"a*?", r"\s+(?!\S)|\s"]:
        ours = PreTokenizer(pattern=pattern, look_around=True)
        for n in range(5):
            for chars in itertools.product("a ²\u200cé", repeat=n):
                text = "".join(chars)
                assert ours.pieces(text) == theirs(pattern, text), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        (r"a{2}+", "repeated group"),
        ("a{2}?", "{n}"),
        (r"\Za", "escape"),
        (r"\<a", "not supported"),
        (r"\pL", "braces"),
        ("(?x)a b", r"\(\?x\)"),
        (r"[[:foo:]]", r"\[:name:\]"),
    ],
)
def test_what_tokenizers_reads_otherwise_is_refused(pattern: str, remedy: str) -> None:
    with pytest.raises(FormatError, match=remedy):
        Tokenizer.from_bytes(with_split(pattern).encode())


def test_boundaries_are_look_around() -> None:
    with pytest.raises(FormatError, match="look_around"):
        PreTokenizer(pattern=r"\bfoo")
    tokenizer = Tokenizer.from_bytes(with_split(r"\bfoo\b").encode())
    assert tokenizer.pre_tokenizer.pieces("foo food") == ["foo", " food"]


def test_a_long_bad_pattern_has_a_short_message() -> None:
    for pattern in ["(" * 60_000, "(" * 200_000, "[é" * 30_000, r"\w" * 40_000]:
        with pytest.raises(FormatError) as error:
            PreTokenizer(pattern=pattern)
        assert len(str(error.value)) < 2000
        with pytest.raises(FormatError) as error:
            Tokenizer.from_bytes(with_split(pattern).encode())
        assert len(str(error.value)) < 2000
