r"""Writes rust/text/unicode/properties/: what `\p{...}` means in custom patterns, as of Unicode 16.

    python scripts/property_tables.py            # writes the files
    python scripts/property_tables.py --check    # fails if the files differ

Names and classes are those of regex-syntax 0.8.11, whose source cargo has unpacked. They are
copied because a later regex-syntax follows a later Unicode, and would change what a pattern means.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "rust" / "text" / "unicode" / "properties"
VERSION = "0.8.11"
UNICODE = "16.0.0"

Ranges = list[tuple[int, int]]

SURROGATES = range(0xD800, 0xE000)

# Properties with values, by the short names under which they are written.
VALUED = {
    "Age": "age", "General_Category": "gc", "Grapheme_Cluster_Break": "gcb", "Script": "sc",
    "Script_Extensions": "scx", "Sentence_Break": "sb", "Word_Break": "wb",
}  # fmt: skip
# Aliases of properties without classes that are categories when used alone.
CATEGORIES_FIRST = ("cf", "sc", "lc")
CLASSES_IN_BRACES = re.compile(r'\("(\w+)", (\w+)\)')
ALIASES = re.compile(r'\("([^"]+)",\s*"(\w+)",?\s*\)')
RANGE = re.compile(r"\('(\\.[^']*|[^'])', '(\\.[^']*|[^'])'\)")


def source() -> Path:
    """The folder of regex-syntax's tables.

    Raises:
        SystemExit: if another version is installed.
    """
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for package in json.loads(done.stdout)["packages"]:
        if package["name"] == "regex-syntax" and package["version"] == VERSION:
            return Path(package["manifest_path"]).parent / "src" / "unicode_tables"
    sys.exit(f"regex-syntax {VERSION} is not in Cargo.lock")


def point(spelled: str) -> int:
    """The code point of a character as Rust spells it."""
    if spelled.startswith("\\u{"):
        return int(spelled[3:-1], 16)
    if spelled.startswith("\\x"):
        return int(spelled[2:], 16)
    plain = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\0": "\0", "\\'": "'", "\\\\": "\\"}
    return ord(plain.get(spelled, spelled))


def classes(file: Path) -> dict[str, Ranges]:
    """The classes of a file, by name."""
    text = file.read_text("utf-8")
    if f"Unicode version: {UNICODE}." not in text:
        sys.exit(f"{file} is not of Unicode {UNICODE}")
    index, *tables = text.split("pub const ")[1:]
    constants = {}
    for table in tables:
        name, _, body = table.partition(":")
        found = [(point(first), point(last)) for first, last in RANGE.findall(body)]
        if len(found) != body.count("', '"):
            sys.exit(f"{file}: {name} is not read whole")
        constants[name] = found
    return {name: constants[constant] for name, constant in CLASSES_IN_BRACES.findall(index)}


def values(file: Path) -> dict[str, dict[str, str]]:
    """The aliases of each property's values."""
    _, *parts = re.split(r'\(\s*"(\w+)",\s*&\[', file.read_text("utf-8"))
    return {name: dict(ALIASES.findall(body)) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def union(parts: list[Ranges]) -> Ranges:
    """The ranges of several classes together."""
    merged: Ranges = []
    for first, last in sorted(pair for part in parts for pair in part):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def outside(ranges: Ranges) -> Ranges:
    """All characters but these."""
    left, start = [], 0
    for first, last in [*ranges, (0x110000, 0x110000)]:
        if start < first:
            left.append((start, first - 1))
        start = last + 1
    # Surrogates are not characters; a range may only reach across all of them.
    edges = [
        (0xE000 if first in SURROGATES else first, 0xD7FF if last in SURROGATES else last)
        for first, last in left
    ]
    return [(first, last) for first, last in edges if first <= last]


def named(folder: Path) -> dict[tuple[str, str], Ranges]:
    """Each class by property and value; `""` is the property of names used alone."""
    aliases = values(folder / "property_values.rs")
    properties = dict(ALIASES.findall((folder / "property_names.rs").read_text("utf-8")))
    files = {
        "gc": "general_category", "gcb": "grapheme_cluster_break", "sb": "sentence_break", "sc": "script",
        "scx": "script_extension", "wb": "word_break",
    }  # fmt: skip
    found: dict[tuple[str, str], Ranges] = {}
    by_property = {short: classes(folder / f"{file}.rs") for short, file in files.items()}
    categories = by_property["gc"]
    categories["Any"] = [(0, 0x10FFFF)]
    categories["Assigned"] = outside(categories["Unassigned"])
    categories["ASCII"] = [(0, 0x7F)]
    aliases["General_Category"] |= {"any": "Any", "assigned": "Assigned", "ascii": "ASCII"}
    ages = classes(folder / "age.rs")
    version = {name: tuple(map(int, name[1:].split("_"))) for name in ages}
    by_property["age"] = {
        name: union([ages[other] for other in ages if version[other] <= version[name]]) for name in ages
    }
    for name, short in VALUED.items():
        for alias, canonical in aliases[name].items():
            if canonical in by_property[short]:
                found[short, alias] = by_property[short][canonical]
    # Names used alone are properties, then categories, then scripts.
    alone = {alias: ranges for (short, alias), ranges in found.items() if short == "sc"}
    alone |= {alias: ranges for (short, alias), ranges in found.items() if short == "gc"}
    yes_or_no = classes(folder / "property_bool.rs")
    for alias, canonical in properties.items():
        if alias in CATEGORIES_FIRST:
            continue
        alone.pop(alias, None)
        if canonical in yes_or_no:
            alone[alias] = yes_or_no[canonical]
    return found | {("", alias): ranges for alias, ranges in alone.items()}


def number(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    head = bytearray()
    while value >= 0x80:
        head.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*head, value])


def packed(ranges: Ranges) -> bytes:
    """The number of ranges; then how far each begins behind the one before, and its length less one."""
    out, end = number(len(ranges)), 0
    for first, last in ranges:
        out += number(first - end) + number(last - first)
        end = last + 1
    return out


def files() -> dict[Path, bytes]:
    """What each file holds."""
    folder = source()
    places: dict[bytes, int] = {}
    data, rows = b"", []
    for (short, alias), ranges in sorted(named(folder).items()):
        class_ = packed(ranges)
        if class_ not in places:
            places[class_] = len(data)
            data += class_
        rows.append(f'    (("{short}", "{alias}"), {places[class_]}),\n')
    properties = dict(ALIASES.findall((folder / "property_names.rs").read_text("utf-8")))
    valued = {alias: VALUED[name] for alias, name in properties.items() if name in VALUED}
    shorts = [f'    ("{alias}", "{short}"),\n' for alias, short in sorted(valued.items())]
    names = (
        "// Written by scripts/property_tables.py; do not edit.\n\n"
        "/// Names of properties that have values, and the short ones of [`CLASSES`]. Sorted.\n"
        f"pub(super) static PROPERTIES: [(&str, &str); {len(shorts)}] = [\n{''.join(shorts)}];\n\n"
        "/// Where the class of a property and a value, or of a name alone, is in classes.bin. Sorted.\n"
        "#[rustfmt::skip]\n"
        f"pub(super) static CLASSES: [((&str, &str), u32); {len(rows)}] = [\n{''.join(rows)}];\n"
    )
    return {TARGET / "names.rs": names.encode(), TARGET / "classes.bin": data}


def main() -> None:
    """Writes or checks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    for path, content in files().items():
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        elif path.read_bytes() != content:
            sys.exit(f"{path} differs; run python scripts/property_tables.py")


if __name__ == "__main__":
    main()
