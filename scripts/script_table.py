r"""Writes rust/unicode/scripts.rs: the script of every code point, as runs.

    pip install fonttools==4.55.0
    python scripts/script_table.py            # writes the file
    python scripts/script_table.py --check    # fails if the file differs

The property `Script` of Unicode 16.0. Code points without one (unassigned, private)
count as `Common`, as SentencePiece counts what its older table does not know.
"""

import argparse
import sys
from itertools import groupby
from pathlib import Path

import fontTools
from fontTools.unicodedata import Scripts

TARGET = Path(__file__).parent.parent / "rust" / "unicode" / "scripts.rs"
FONTTOOLS = "4.55.0"

# Numbers that rust/unicode.rs names; all others follow in the order of their codes.
NAMED = ["Zyyy", "Zinh", "Hani", "Hira", "Kana"]


def runs() -> list[tuple[int, str]]:
    """First code point and script of each run of equal scripts."""
    starts = dict(zip(Scripts.RANGES, Scripts.VALUES, strict=True))
    scripts = [(start, "Zyyy" if script == "Zzzz" else script) for start, script in sorted(starts.items())]
    return [next(group) for _, group in groupby(scripts, key=lambda run: run[1])]


def render() -> str:
    found = runs()
    names = NAMED + sorted({script for _, script in found} - set(NAMED))
    entries = [f"(0x{start:04X}, {names.index(script)})" for start, script in found]
    rows = [", ".join(entries[at : at + 10]) for at in range(0, len(entries), 10)]
    body = "\n".join(f"    {row}," for row in rows)
    return "\n".join([
        "// Written by scripts/script_table.py; do not edit.",
        "",
        f"/// How many scripts there are, {', '.join(NAMED)} the first.",
        "#[cfg(test)]",
        f"pub(super) const N_SCRIPTS: u8 = {len(names)};",
        "",
        "/// First code point and script of each run of equal scripts.",
        f"pub(super) static RUNS: [(u32, u8); {len(entries)}] = [",
        body,
        "];",
        "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    check = parser.parse_args().check
    if fontTools.version != FONTTOOLS:
        sys.exit(f"needs fonttools=={FONTTOOLS}")
    text = render()
    if not check:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET} differs from what this script writes")


if __name__ == "__main__":
    main()
