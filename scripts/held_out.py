"""Writes what `data/sst/guard.py` compares: hashes of the sentences and phrases of SST dev and test.

    python scripts/held_out.py ../shared/data

`held_out.txt` has a hash of each sentence, and one more where SST-2 spells it otherwise (it lost some letters
with accents); `held_out_phrases.txt` of one in eight of the
phrases of 20 letters or more that are neither a sentence nor a phrase of SST train. The
files hold no text.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from sentimodels.data import Table, read_table
from sentimodels.data.folding import text_hash
from sentimodels.data.sst.guard import sentence_key

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ROOT / "python" / "sentimodels" / "data" / "sst"
# A table of phrases has thousands: an eighth is enough to know it by, and a small file.
ONE_IN = 8


def keys(folder: Path, parts: Iterable[str], format: str) -> set[str]:
    return keys_of(read_table(folder / f"{part}.txt.xz", format=format) for part in parts)


def keys_of(tables: Iterable[Table]) -> set[str]:
    found = {sentence_key(text) for table in tables for text in table.texts}
    return {key for key in found if key is not None}


def write(name: str, hashes: Iterable[int]) -> None:
    lines = sorted(f"{value:016x}\n" for value in hashes)
    (TARGETS / name).write_text("".join(lines), encoding="ascii")
    print(f"{name}: {len(lines):,} hashes")


def main() -> None:
    folder = Path(sys.argv[1]) / "sst-trees"
    binary = Path(sys.argv[1]) / "sst2"
    held_out, train = ("dev", "test"), ("train",)
    sentences = keys(folder, held_out, "sst")
    sentences |= keys_of(read_table(binary / f"{part}.tsv.xz") for part in held_out)
    phrases = keys(folder, held_out, "sst-phrases") - sentences - keys(folder, train, "sst-phrases")
    print(f"{len(phrases):,} phrases that are no sentence and not in SST train")
    write("held_out.txt", map(text_hash, sentences))
    write("held_out_phrases.txt", (value for value in map(text_hash, phrases) if value % ONE_IN == 0))


if __name__ == "__main__":
    main()
