"""Writes python/sentimodels/data/held_out.txt: a hash of each sentence of SST dev and test.

    python scripts/held_out.py ../shared/data/sst-trees/dev.txt.xz ../shared/data/sst-trees/test.txt.xz

The file holds no text, only what `guard.py` compares.
"""

import sys
from pathlib import Path

from sentimodels.data import read_table
from sentimodels.data.folding import text_hash
from sentimodels.data.guard import sentence_key

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python" / "sentimodels" / "data" / "held_out.txt"


def main() -> None:
    keys = {sentence_key(text) for path in sys.argv[1:] for text in read_table(path, format="sst").texts}
    hashes = sorted(f"{text_hash(key):016x}" for key in keys if key is not None)
    TARGET.write_text("\n".join(hashes) + "\n", encoding="ascii")
    print(f"{TARGET.relative_to(ROOT)}: {len(hashes):,} sentences")


if __name__ == "__main__":
    main()
