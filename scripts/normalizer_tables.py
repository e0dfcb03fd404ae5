r"""Writes the tables of rust/normalizer/{frozen,bert}.rs and of the splitter of Google's BERT.

    pip install unicodedata2==16.0.0 tokenizers==0.23.3
    python scripts/normalizer_tables.py            # writes the files
    python scripts/normalizer_tables.py --check    # fails if a file differs

The effect of the normalizers of tokenizers is computed by tokenizers itself, code
point by code point: it mixes four versions of Unicode, so no table of one version
gives the same. Only the values of combining classes and the two halves of a
composite are taken from Unicode, where they never change once assigned, and
kept where the reference is seen to use them. The mode `google-bert` is frozen
at Unicode 16.0; long lists are differences to the lists of the other modes.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import tokenizers
import unicodedata2 as unicode
from tokenizers import Regex, normalizers, pre_tokenizers

ROOT = Path(__file__).parent.parent / "rust"
UNICODE, TOKENIZERS = "16.0.0", "0.23.3"
POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
SYLLABLES = range(0xAC00, 0xD7A4)

#: Sizes that are known; another version of either package must not slip in.
COUNTS = {
    "marks": 2_097, "BERT nonspacing": 1_567, "BERT dropped": 62 + 1 + 137_468 + 150,
    "BERT padded": 81_264, "Google punctuation": 855,
}  # fmt: skip

Ranges = list[tuple[int, int]]
Mapping = dict[int, str]


def ranges(name: str, points: Iterable[int]) -> Ranges:
    """Sorted points as runs; exits when there are not as many as are known."""
    result: Ranges = []
    points = sorted(points)
    for point in points:
        # Surrogates are not characters; a run may pass over them.
        before = 0xD7FF if point == 0xE000 else point - 1
        if result and result[-1][1] == before:
            result[-1] = (result[-1][0], point)
        else:
            result.append((point, point))
    if len(points) != COUNTS.get(name, len(points)):
        sys.exit(f"{name}: {len(points)} code points, expected {COUNTS[name]}")
    return result


def mapping(normalizer: normalizers.Normalizer) -> Mapping:
    """What each code point that changes becomes, alone; Hangul syllables left out."""
    changed = {}
    for point in POINTS:
        after = normalizer.normalize_str(chr(point))
        if after != chr(point) and point not in SYLLABLES:
            changed[point] = after
    return changed


def bert(**options: bool) -> normalizers.Normalizer:
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**(off | options))


def between(normalizer: normalizers.Normalizer, keep: Callable[[str], bool]) -> list[int]:
    """Code points for which `keep` holds of what `a?b` becomes."""
    return [point for point in POINTS if keep(normalizer.normalize_str(f"a{chr(point)}b"))]


def classes() -> list[tuple[int, int, int]]:
    """Combining classes that the reference uses, as runs.

    A class counts where the order of marks shows it: before U+0345, the last of
    all, or after U+0334, the first. Those two are known to order each other.
    """
    nfd = normalizers.NFD().normalize_str
    if nfd("\u0345\u0334") != "\u0334\u0345":
        sys.exit("U+0345 and U+0334 are not put in order")
    runs: list[tuple[int, int, int]] = []
    for point in POINTS:
        value = unicode.combining(chr(point))
        if not value or unicode.normalize("NFD", chr(point)) != chr(point):
            continue
        last, first = f"\u0345{chr(point)}", f"{chr(point)}\u0334"
        if nfd(last) == last and nfd(first) == first:
            continue
        if runs and runs[-1][1:] == (point - 1, value):
            runs[-1] = (runs[-1][0], point, value)
        else:
            runs.append((point, point, value))
    return runs


def composites() -> list[tuple[int, int, int]]:
    """Pairs that the reference composes, with what they become."""
    nfc = normalizers.NFC().normalize_str
    found = []
    for point in POINTS:
        parts = unicode.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if nfc(chr(first) + chr(second)) == chr(point):
                found.append((first, second, point))
    return sorted(found)


def matched(pattern: str) -> list[int]:
    """Code points that a pattern of one character matches in the reference's engine, of Unicode 16."""
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [point for point in POINTS if len(split.pre_tokenize_str(f"\n{chr(point)}\n")) == 3]


def google_punctuation() -> tuple[Ranges, Ranges]:
    """What Google's mode isolates and the reference does not, and the reverse."""
    ascii_symbols = {*range(33, 48), *range(58, 65), *range(91, 97), *range(123, 127)}
    categories = {point for point in POINTS if unicode.category(chr(point))[0] == "P"}
    ranges("Google punctuation", categories)
    google = categories | ascii_symbols
    split = pre_tokenizers.BertPreTokenizer()
    theirs = {point for point in POINTS if len(split.pre_tokenize_str(f"a{chr(point)}a")) == 3}
    return ranges("", google - theirs), ranges("", theirs - google)


def of_category(*names: str) -> list[int]:
    return [point for point in POINTS if unicode.category(chr(point)) in names]


def rust_ranges(doc: str, name: str, values: Sequence[tuple[int, ...]]) -> str:
    width = len(values[0]) if values else 2
    kind = "(" + ", ".join(["u32"] * width) + ")"
    cells = ["(" + ", ".join(f"0x{v:X}" for v in value) + ")" for value in values]
    rows = "\n".join("    " + ", ".join(cells[at : at + 6]) + "," for at in range(0, len(cells), 6))
    return f"/// {doc}\npub(super) static {name}: [{kind}; {len(values)}] = [\n{rows}\n];\n"


def rust_mapping(doc: str, name: str, values: Mapping) -> str:
    """Code points with the bytes of their images, and all images in one text."""
    cells = [f"(0x{point:X}, {len(image.encode())})" for point, image in values.items()]
    rows = "\n".join("    " + ", ".join(cells[at : at + 8]) + "," for at in range(0, len(cells), 8))
    images = list(values.values())
    lines = ["".join(images[at : at + 12]) for at in range(0, len(images), 12)]
    text = "\\\n".join("".join(f"\\u{{{ord(c):x}}}" for c in line) for line in lines)
    return (
        f"/// {doc}\npub(super) static {name}: [(u32, u8); {len(values)}] = [\n{rows}\n];\n\n"
        f'/// What they become, one after the other.\npub(super) static {name}_TEXT: &str = "\\\n{text}";\n'
    )


HEAD = "// Written by scripts/normalizer_tables.py; do not edit.\n"


def forms(canonical: Mapping, lower: Mapping) -> str:
    compatible = mapping(normalizers.NFKD())
    compatible = {point: image for point, image in compatible.items() if canonical.get(point) != image}
    strip = between(normalizers.StripAccents(), lambda text: text == "ab")
    return "\n".join([
        HEAD,
        rust_mapping("Canonical decompositions in full, without Hangul.", "CANONICAL", canonical),
        rust_mapping("Compatible ones where they are not the canonical.", "COMPATIBLE", compatible),
        rust_ranges("First, last and combining class.", "CLASSES", classes()),
        rust_ranges("Two characters and the one they compose.", "COMPOSITES", composites()),
        rust_mapping("Lower case, character by character.", "LOWER", lower),
        rust_ranges("What `StripAccents` drops.", "MARKS", ranges("marks", strip)),
    ])  # fmt: skip


def bert_tables(canonical: Mapping, lower: Mapping) -> str:
    dropped = between(bert(clean_text=True), lambda text: text == "ab")
    spaces = between(bert(clean_text=True), lambda text: text == "a b")
    padded = between(bert(handle_chinese_chars=True), lambda text: len(text) == 5)
    nonspacing = between(bert(strip_accents=True), lambda text: text == "ab")
    newer = {
        point: image
        for point in POINTS
        if point not in SYLLABLES
        and (image := unicode.normalize("NFD", chr(point))) != chr(point)
        and canonical.get(point) != image
    }
    if any(unicode.normalize("NFD", chr(point)) == chr(point) for point in canonical):
        sys.exit("a decomposition of the reference is none of Unicode's")
    known = {point for first, last, _ in classes() for point in range(first, last + 1)}
    newer_classes = [
        (point, point, unicode.combining(chr(point)))
        for point in POINTS
        if point not in known
        and unicode.combining(chr(point))
        and unicode.normalize("NFD", chr(point)) == chr(point)
    ]
    not_lowered = [point for point in lower if unicode.category(chr(point)) == "Cn"]
    controls = [point for point in of_category("Cc", "Cf") if chr(point) not in "\t\n\r"]
    google_padded = [
        *range(0x3400, 0x4DC0),
        *range(0x4E00, 0xA000),
        *range(0xF900, 0xFB00),
        *range(0x20000, 0x2A6E0),
        *range(0x2A700, 0x2B740),
        *range(0x2B740, 0x2B820),
        *range(0x2B820, 0x2CEB0),
        *range(0x2F800, 0x2FA20),
    ]
    return "\n".join([
        HEAD,
        rust_ranges("What clean-up drops.", "DROPPED", ranges("BERT dropped", dropped)),
        rust_ranges("What clean-up makes a space.", "SPACES", ranges("", spaces)),
        rust_ranges("What gets a space on both sides.", "PADDED", ranges("BERT padded", padded)),
        rust_ranges("Marks that are dropped with the accents.", "NONSPACING",
                    ranges("BERT nonspacing", nonspacing)),
        "// From here on: Google's mode, Unicode 16.0.\n",
        rust_ranges("What clean-up drops.", "GOOGLE_DROPPED", ranges("", [*controls, 0xFFFD])),
        rust_ranges("What clean-up makes a space.", "GOOGLE_SPACES",
                    ranges("", [9, 10, 13, *of_category("Zs")])),
        rust_ranges("What gets a space on both sides.", "GOOGLE_PADDED", ranges("", google_padded)),
        rust_ranges("Marks that are dropped with the accents.", "GOOGLE_NONSPACING",
                    ranges("", of_category("Mn"))),
        rust_mapping("Decompositions that the other mode does not know.", "GOOGLE_CANONICAL", newer),
        rust_ranges("Combining classes that the other mode does not know.", "GOOGLE_CLASSES", newer_classes),
        rust_ranges("Letters whose lower case is newer.", "GOOGLE_NOT_LOWERED",
                    ranges("", not_lowered)),
        rust_ranges("The property `Cased`.", "CASED", ranges("", matched(r"\p{Cased}"))),
        rust_ranges("The property `Case_Ignorable`.", "CASE_IGNORABLE",
                    ranges("", matched(r"\p{Case_Ignorable}"))),
    ])  # fmt: skip


def punctuation() -> str:
    more, fewer = google_punctuation()
    return "\n".join([
        HEAD,
        rust_ranges("Punctuation of Unicode 16 that BERT's of Unicode 8 is not.", "MORE", more),
        rust_ranges("The reverse.", "FEWER", fewer),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    if (unicode.unidata_version, tokenizers.__version__) != (UNICODE, TOKENIZERS):
        sys.exit(f"needs unicodedata2=={UNICODE} and tokenizers=={TOKENIZERS}")
    canonical, lower = mapping(normalizers.NFD()), mapping(normalizers.Lowercase())
    for path, text in (
        (ROOT / "normalizer" / "frozen" / "tables.rs", forms(canonical, lower)),
        (ROOT / "normalizer" / "bert" / "tables.rs", bert_tables(canonical, lower)),
        (ROOT / "pre_tokenizer" / "google_bert" / "tables.rs", punctuation()),
    ):
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} differs from what this script writes")


if __name__ == "__main__":
    main()
