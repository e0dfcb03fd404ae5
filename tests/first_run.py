"""A folder with `reviews.csv` and `runs/first`, made by `senti train`: where tests begin."""

from pathlib import Path

from labelled_reviews import write
from senti_in_process import senti

__all__ = ["SMALL", "make"]

# Options of a small model.
SMALL = [
    *("--arch", "lstm", "--threads", "1", "--set", "model.d_model=16", "--set", "model.d_hidden=16"),
    *("--set", "data.vocab_size=300"),
]


def make(folder: Path) -> Path:
    """Writes both, and what the command said: `summary.txt`, `notes.txt`; returns the folder."""
    write(folder / "reviews.csv")
    args = ["train", "reviews.csv", "--out", "runs/first", "--lr", "0.01", "--epochs", "3", *SMALL]
    done = senti(*args, cwd=folder)
    assert done.code == 0, done.err
    (folder / "summary.txt").write_text(done.out)
    (folder / "notes.txt").write_text(done.err)
    return folder
