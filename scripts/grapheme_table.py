"""Writes rust/text/unicode/graphemes/table.rs: what characters do at edges of graphemes, as of Unicode 17.

    python scripts/grapheme_table.py            # writes the file
    python scripts/grapheme_table.py --check    # fails if the file differs

The table is that of unicode-segmentation 1.13.3, with which tokenizers 0.23.3 finds graphemes; cargo
has unpacked its source. Syllables of Hangul are left out: they follow from their number.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "rust" / "text" / "unicode" / "graphemes" / "table.rs"
VERSION = "1.13.3"
UNICODE = "(17, 0, 0)"
HANGUL = range(0xAC00, 0xD7A4)

PAIR = re.compile(r"\('\\u\{(\w+)\}',\s*'\\u\{(\w+)\}'(?:,\s*GC_(\w+))?\)")
CLASSES = {
    "CR": "CarriageReturn", "LF": "LineFeed", "Control": "Control",
    "L": "HangulL", "V": "HangulV", "T": "HangulT",
    "Extend": "Extend", "ZWJ": "Joiner", "SpacingMark": "SpacingMark", "Prepend": "Prepend",
    "InCB_Consonant": "Consonant", "Extended_Pictographic": "Pictographic", "Regional_Indicator": "Regional",
}  # fmt: skip


def source() -> str:
    """The tables of unicode-segmentation.

    Raises:
        SystemExit: if another version is installed.
    """
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for package in json.loads(done.stdout)["packages"]:
        if package["name"] == "unicode-segmentation" and package["version"] == VERSION:
            text = (Path(package["manifest_path"]).parent / "src" / "tables.rs").read_text("utf-8")
            if f"UNICODE_VERSION: (u64, u64, u64) = {UNICODE}" in text:
                return text
    sys.exit(f"unicode-segmentation {VERSION} is not in Cargo.lock")


def between(text: str, start: str, end: str) -> str:
    """Returns the text between two marks."""
    return text.split(start, 1)[1].split(end, 1)[0]


def classes() -> dict[int, str]:
    """The class of each character that has one."""
    text = source()
    found: dict[int, str] = {}
    table = between(text, "const grapheme_cat_table", "];")
    for first, last, name in PAIR.findall(table):
        for point in range(int(first, 16), int(last, 16) + 1):
            if point not in HANGUL:
                found[point] = CLASSES[name]
    if len(PAIR.findall(table)) != table.count("GC_"):
        sys.exit("the table of graphemes is not read whole")
    linkers = {
        int(point, 16) for point in re.findall(r"\\u\{(\w+)\}", between(text, "fn is_incb_linker", "\n}"))
    }
    conjoining = {
        point
        for first, last, _ in PAIR.findall(between(text, "const InCB_Extend_table", "];"))
        for point in range(int(first, 16), int(last, 16) + 1)
    }
    for point in linkers | conjoining:
        if found.get(point) not in ("Extend", "Joiner"):
            sys.exit(f"U+{point:04X} joins consonants and is not a mark")
        if found[point] == "Extend":
            found[point] = "Linker" if point in linkers else "ConjoiningExtend"
    return found


def written() -> str:
    """The file."""
    runs: list[tuple[int, str]] = []
    found = classes()
    for point in range(max(found) + 2):
        class_ = found.get(point, "Other")
        if not runs or runs[-1][1] != class_:
            runs.append((point, class_))
    cells = [f"(0x{first:X}, {class_})" for first, class_ in runs]
    rows = [", ".join(cells[at : at + 6]) for at in range(0, len(cells), 6)]
    return (
        "// Written by scripts/grapheme_table.py; do not edit.\n\n"
        "use super::Class::{self, *};\n\n"
        "/// The first character of each run of one class, without the syllables of Hangul.\n"
        f"pub(super) static RUNS: [(u32, Class); {len(runs)}] = [\n"
        + "".join(f"    {row},\n" for row in rows)
        + "];\n"
    )


def main() -> None:
    """Writes or checks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    if not arguments.check:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(written(), "utf-8")
    elif TARGET.read_text("utf-8") != written():
        sys.exit(f"{TARGET} differs; run python scripts/grapheme_table.py")


if __name__ == "__main__":
    main()
