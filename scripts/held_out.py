"""Writes what `data/sst/guard.py` compares: hashes of the sentences and phrases of SST dev and test.

    python scripts/held_out.py ../shared/data

`held_out.txt` has a hash of each sentence, and one more where SST-2 spells it otherwise (it lost some letters
with accents); `held_out_phrases.txt` of one in eight of the
phrases of 20 letters or more that are neither a sentence nor a phrase of SST train.
`held_out_anchors.txt` has of each of them the hash of one window of its letters, the one that reviews of
IMDB have least often (`data/sst/anchors.py`). The files hold no text.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sentimodels.data import Table, read_table
from sentimodels.data.normalization import text_hash
from sentimodels.data.sst.anchors import WINDOW, codes_of, hashes_of
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


def anchors(keys: Iterable[str], others: Table) -> set[int]:
    """Returns the hash of a window of each key, the one that is rarest in other texts."""
    of_keys = [hashes_of(codes_of(key)) for key in sorted(keys)]
    if short := sum(not len(hashes) for hashes in of_keys):
        raise SystemExit(f"{short} keys have fewer than {WINDOW} letters from a to z")
    windows = np.unique(np.concatenate(of_keys))
    counts = np.zeros(len(windows), np.int64)
    for start in range(0, len(others.texts), 1000):
        hashes = hashes_of(codes_of(" ".join(others.texts[start : start + 1000])))
        places = np.minimum(np.searchsorted(windows, hashes), len(windows) - 1)
        counts += np.bincount(places[windows[places] == hashes], minlength=len(windows))
    found = set()
    for hashes in of_keys:
        of_each = counts[np.searchsorted(windows, hashes)]
        found.add(int(hashes[of_each == of_each.min()].min()))
    return found


def write(name: str, hashes: Iterable[int], digits: int = 16) -> None:
    lines = sorted({f"{value:0{digits}x}\n" for value in hashes})
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
    some = {phrase for phrase in phrases if text_hash(phrase) % ONE_IN == 0}
    write("held_out_phrases.txt", map(text_hash, some))
    reviews = read_table(Path(sys.argv[1]) / "imdb" / "imdb_40k.csv.xz", where="split=train")
    write("held_out_anchors.txt", anchors(sentences | some, reviews), 8)


if __name__ == "__main__":
    main()
