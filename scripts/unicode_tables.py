r"""Writes rust/text/unicode/tables.rs: one byte of flags per code point, in two stages.

    pip install unicodedata2==16.0.0 tokenizers==0.23.3
    python scripts/unicode_tables.py            # writes the file
    python scripts/unicode_tables.py --check    # fails if the file differs

General categories are those of Unicode 16.0, the version inside tiktoken 0.14
and tokenizers 0.23. Three properties are not general categories and are asked
of tokenizers itself, code point by code point, because its behaviour has to be
matched: `\w` of its `Whitespace`, the punctuation of its `BertPreTokenizer`
(a table of Unicode 8, newer punctuation is missing from it), and white space.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import tokenizers
import unicodedata2
from tokenizers import pre_tokenizers

TARGET = Path(__file__).parent.parent / "rust" / "text" / "unicode" / "tables.rs"
UNICODE = "16.0.0"
TOKENIZERS = "0.23.3"

LETTER, NUMBER, MARK, SPACE, UPPER_ISH, LOWER_ISH, WORD, BERT_PUNCTUATION = (1 << bit for bit in range(8))

# Known sizes; another version of either package must not slip in.
COUNTS = {
    "L": 141_028, "N": 1_911, "M": 2_501, "Lu": 1_858, "Ll": 2_258, "Lt": 31, "Lm": 404, "Lo": 136_477,
    "White_Space": 25, "word": 144_667, "bert punctuation": 726,
}  # fmt: skip


def scalar_values() -> list[int]:
    """Every code point but the surrogates."""
    return [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]


def between_letters(pre_tokenizer: pre_tokenizers.PreTokenizer) -> list[int]:
    """Into how many pieces `a?a` falls, for each code point: 1 joins, 2 vanishes, 3 is a separate piece."""
    pieces = [0] * 0x110000
    for point in scalar_values():
        pieces[point] = len(pre_tokenizer.pre_tokenize_str(f"a{chr(point)}a"))
    return pieces


def flags() -> tuple[list[int], Counter[str]]:
    """The flags of each code point, and the counts they were made from."""
    whitespace = between_letters(pre_tokenizers.Whitespace())
    bert = between_letters(pre_tokenizers.BertPreTokenizer())
    result, counts = [0] * 0x110000, Counter[str]()
    for point in scalar_values():
        category = unicodedata2.category(chr(point))
        counts[category] += 1
        counts[category[0]] += 1
        flag = {"L": LETTER, "N": NUMBER, "M": MARK}.get(category[0], 0)
        if category in ("Lu", "Lt", "Lm", "Lo") or category[0] == "M":
            flag |= UPPER_ISH
        if category in ("Ll", "Lm", "Lo") or category[0] == "M":
            flag |= LOWER_ISH
        if (whitespace[point] == 2) != (bert[point] == 2):
            sys.exit(f"U+{point:04X}: the two pre-tokenizers disagree on white space")
        for is_set, bit, name in (
            (whitespace[point] == 2, SPACE, "White_Space"),
            (whitespace[point] == 1, WORD, "word"),
            (bert[point] == 3, BERT_PUNCTUATION, "bert punctuation"),
        ):
            if is_set:
                flag |= bit
                counts[name] += 1
        result[point] = flag
    return result, counts


def two_stages(values: list[int], shift: int) -> tuple[list[int], list[int]]:
    """Block numbers and blocks; block numbers that only repeat the last one are cut off."""
    numbers: dict[tuple[int, ...], int] = {}
    size = 1 << shift
    first = [
        numbers.setdefault(tuple(values[at : at + size]), len(numbers)) for at in range(0, len(values), size)
    ]
    blank = numbers[(0,) * size]
    while first[-1] == blank:
        first.pop()
    return first, [value for block in numbers for value in block]


def table(doc: str, name: str, of: str, values: list[int]) -> str:
    rows = [values[at : at + 32] for at in range(0, len(values), 32)]
    body = "\n".join("    " + ", ".join(map(str, row)) + "," for row in rows)
    return f"/// {doc}\npub(super) static {name}: [{of}; {len(values)}] = [\n{body}\n];\n"


def render() -> str:
    values, counts = flags()
    for name, expected in COUNTS.items():
        if counts[name] != expected:
            sys.exit(f"{name}: {counts[name]} code points, expected {expected}")
    candidates = []
    for shift in range(5, 10):
        first, second = two_stages(values, shift)
        width = 1 if max(first) < 256 else 2
        candidates.append((len(first) * width + len(second), shift, first, second))
    _, shift, first, second = min(candidates)
    return "\n".join([
        "// Written by scripts/unicode_tables.py; do not edit.",
        "",
        "/// The version of the general categories.",
        f'pub(super) const UNICODE_VERSION: &str = "{UNICODE}";',
        "",
        "/// Bits of a code point that select inside a block.",
        f"pub(super) const SHIFT: u32 = {shift};",
        "",
        table("Block of each run of code points; beyond the end no flag is set.", "BLOCKS",
              "u8" if max(first) < 256 else "u16", first),
        table("Flags of each code point of each block.", "FLAGS", "u8", second),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    check = parser.parse_args().check
    if (unicodedata2.unidata_version, tokenizers.__version__) != (UNICODE, TOKENIZERS):
        sys.exit(f"needs unicodedata2=={UNICODE} and tokenizers=={TOKENIZERS}")
    text = render()
    if not check:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET} differs from what this script writes")


if __name__ == "__main__":
    main()
