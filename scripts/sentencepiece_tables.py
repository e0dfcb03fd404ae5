r"""Writes rust/normalizer/charsmap/tables.rs: the characters of SentencePiece's rules beyond Unicode 9.

    pip install sentencepiece==0.2.3 sentitok
    python scripts/sentencepiece_tables.py            # writes the file
    python scripts/sentencepiece_tables.py --check    # fails if it differs

The rule sets of SentencePiece (`nfkc`, `nmt_nfkc` and their case-folded kin) follow from normal form KC of
Unicode 17. The tables of rust/normalizer/frozen.rs have that of Unicode 9, so this file has the
rest: characters assigned since, and simple case folding. Both are asked of the library itself, code point by
code point. rust/normalizer/charsmap/rules.rs makes the rules of them and compiles them to published/*.bin:

    SENTITOK_WRITE_TABLES=1 cargo test published_files_hold_the_rules

tests/sentitok/test_sentencepiece_rules.py compares every rule.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path

import sentencepiece

from sentitok import Normalizer

TABLES = Path(__file__).parent.parent / "rust" / "normalizer" / "charsmap" / "tables.rs"
#: Sizes that are known; another version of either package must not slip in.
COUNTS = {"nfkc": 225_232, "nfkc_cf": 226_640}


def rules(name: str) -> dict[str, str]:
    """The rules of a name; exits when there are not as many as are known."""
    found = dict(sentencepiece.SentencePieceNormalizer(rule_name=name).Decompile())
    if len(found) != COUNTS[name]:
        sys.exit(f"{name}: {len(found)} rules, expected {COUNTS[name]}")
    return found


def runs(folds: Mapping[str, str]) -> list[tuple[int, int, int, int]]:
    """Single code points as runs: first, last, step, and the number to add."""
    result: list[tuple[int, int, int, int]] = []
    for point, target in sorted((ord(c), ord(folded)) for c, folded in folds.items()):
        delta = target - point
        if result:
            first, last, step, known = result[-1]
            gap = point - last
            if known == delta and gap in (1, 2) and gap == (step if last > first else gap):
                result[-1] = (first, point, gap, delta)
                continue
        result.append((point, point, 1, delta))
    return result


def composed(found: Mapping[str, str], later: Mapping[str, str]) -> list[tuple[str, str]]:
    """Decompositions whose composed form Unicode 9 does not know."""
    nfkc = Normalizer("nfkc").normalize
    known = {c: [c] for rule in found for c in rule}
    for c, target in later.items():
        known.setdefault(target, [target]).append(c)
    own = {}
    for rule, target in found.items():
        if len(rule) > 1 and nfkc("".join(later.get(c, c) for c in rule)) != target:
            own[rule] = target
    # A rule with a later character follows from the rule with the character that it replaces.
    spread = {
        "".join(variant): target
        for rule, target in own.items()
        for variant in product(*(known.get(c, [c]) for c in rule))
        if "".join(variant) != rule
    }
    return sorted((rule, target) for rule, target in own.items() if rule not in spread)


def spelled(text: str) -> str:
    return '"' + "".join(f"\\u{{{ord(c):X}}}" for c in text) + '"'


def table(doc: str, name: str, kind: str, cells: Iterable[str], width: int) -> str:
    cells = list(cells)
    rows = "\n".join("    " + ", ".join(cells[at : at + width]) + "," for at in range(0, len(cells), width))
    return f"/// {doc}\npub(super) static {name}: [{kind}; {len(cells)}] = [\n{rows}\n];\n"


def written() -> str:
    nfkc = Normalizer("nfkc").normalize
    plain, folded = rules("nfkc"), rules("nfkc_cf")
    later = {rule: target for rule, target in plain.items() if len(rule) == 1 and nfkc(rule) == rule}
    folds = {rule: target for rule, target in folded.items() if len(rule) == 1 and rule not in plain}
    return "\n".join(
        [
            "// Written by scripts/sentencepiece_tables.py; do not edit.\n",
            table(
                "Normal form KC of characters assigned after Unicode 9.",
                "LATER",
                "(char, &str)",
                (f"('\\u{{{ord(c):X}}}', {spelled(target)})" for c, target in sorted(later.items())),
                3,
            ),
            table(
                "Decompositions whose composed form was assigned after Unicode 9.",
                "LATER_COMPOSED",
                "(&str, &str)",
                (f"({spelled(parts)}, {spelled(whole)})" for parts, whole in composed(plain, later)),
                2,
            ),
            table(
                "Simple case folding: first and last of a run, the step between, and the number to add.",
                "FOLDS",
                "(u32, u32, u32, i32)",
                (f"(0x{a:X}, 0x{b:X}, {step}, {delta})" for a, b, step, delta in runs(folds)),
                4,
            ),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail if the file differs")
    text = written()
    if parser.parse_args().check:
        sys.exit(None if TABLES.read_text("utf-8") == text else f"{TABLES} differs")
    TABLES.parent.mkdir(exist_ok=True)
    TABLES.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
