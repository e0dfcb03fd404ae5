r"""Writes tables of scripts: rust/text/unicode/scripts.rs, rust/pre_tokenizer/unicode_scripts/tables.rs.

    pip install fonttools==4.55.0 tokenizers==0.23.3
    python scripts/script_table.py            # writes the files
    python scripts/script_table.py --check    # fails if a file differs

The first is the property `Script` of Unicode 16.0. Code points without one (unassigned,
private) count as `Common`, as SentencePiece counts what its older table does not know.

The second is the table of the pre-tokenizer `UnicodeScripts` of tokenizers, computed by it code
point by code point: an older Unicode, in which kana count as Han, and a space and characters
without a script go with the character before.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import fontTools
import tokenizers
from fontTools.unicodedata import Scripts

ROOT = Path(__file__).parent.parent / "rust"
FONTTOOLS, TOKENIZERS = "4.55.0", "0.23.3"

# Numbers that rust/text/unicode.rs names; the rest follow in the order of their codes.
NAMED = ["Zyyy", "Zinh", "Hani", "Hira", "Kana"]
HEAD = "// Written by scripts/script_table.py; do not edit.\n"

# Classes of the pre-tokenizer, the one without a script left out; another version must not slip in.
N_CLASSES = 135


def rust_runs(runs: Sequence[tuple[int, int]]) -> str:
    """First code point and number of each run of equal scripts, as a table."""
    entries = [f"(0x{start:04X}, {number})" for start, number in runs]
    rows = [", ".join(entries[at : at + 10]) for at in range(0, len(entries), 10)]
    return "\n".join([
        "/// First code point and script of each run of equal scripts.",
        f"pub(super) static RUNS: [(u32, u8); {len(entries)}] = [",
        *(f"    {row}," for row in rows),
        "];",
        "",
    ])  # fmt: skip


def of_unicode() -> str:
    """The table of Unicode's property."""
    starts = dict(zip(Scripts.RANGES, Scripts.VALUES, strict=True))
    scripts = [(start, "Zyyy" if script == "Zzzz" else script) for start, script in sorted(starts.items())]
    runs = [next(group) for _, group in groupby(scripts, key=lambda run: run[1])]
    names = NAMED + sorted({script for _, script in runs} - set(NAMED))
    return "\n".join([
        HEAD,
        f"/// How many scripts there are, {', '.join(NAMED)} the first.",
        "#[cfg(test)]",
        f"pub(super) const N_SCRIPTS: u8 = {len(names)};",
        "",
        rust_runs([(start, names.index(script)) for start, script in runs]),
    ])  # fmt: skip


def of_tokenizers() -> str:
    """The table that the pre-tokenizer goes by: 0 for no script, numbers in the order of code points."""
    pieces = tokenizers.pre_tokenizers.UnicodeScripts().pre_tokenize_str

    def is_one_piece(text: str) -> bool:
        return len(pieces(text)) == 1

    # A character of each class.
    classes = [" "]
    runs: list[tuple[int, int]] = []
    for point in range(0x110000):
        # Surrogates are not characters; a run may pass over them. A space is asked for separately.
        if 0xD800 <= point < 0xE000 or point == 0x20:
            continue
        c = chr(point)
        if is_one_piece(f"a{c}") and is_one_piece(f"я{c}"):
            number = 0
        else:
            last = [runs[-1][1]] if runs and runs[-1][1] else []
            candidates = [*last, *range(1, len(classes))]
            number = next((n for n in candidates if is_one_piece(classes[n] + c)), len(classes))
            if number == len(classes):
                classes.append(c)
        if not runs or runs[-1][1] != number:
            runs.append((point, number))
    if len(classes) - 1 != N_CLASSES:
        sys.exit(f"{len(classes) - 1} classes, expected {N_CLASSES}")
    known = {c: next(number for start, number in reversed(runs) if start <= ord(c)) for c in "!a"}
    return "\n".join([
        HEAD,
        "/// The letters of ASCII.",
        f"pub(super) const LATIN: u8 = {known['a']};",
        "",
        "/// What else is ASCII, but for the space.",
        f"pub(super) const COMMON: u8 = {known['!']};",
        "",
        rust_runs(runs),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    if (fontTools.version, tokenizers.__version__) != (FONTTOOLS, TOKENIZERS):
        sys.exit(f"needs fonttools=={FONTTOOLS} and tokenizers=={TOKENIZERS}")
    targets = {
        ROOT / "text" / "unicode" / "scripts.rs": of_unicode(),
        ROOT / "pre_tokenizer" / "unicode_scripts" / "tables.rs": of_tokenizers(),
    }
    for target, text in targets.items():
        if not check:
            target.write_text(text, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != text:
            sys.exit(f"{target} differs from what this script writes")


if __name__ == "__main__":
    main()
