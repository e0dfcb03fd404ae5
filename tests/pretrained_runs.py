"""What `senti pretrain` makes of small books in a second, for the tests of commands.

`language_runs.py` tests models with drawn weights.
"""

from pathlib import Path

from labelled_reviews import write_books
from senti_in_process import senti

SMALL = [
    *("--preset", "nano", "--vocab", "300", "--context", "32", "--batch-size", "4", "--threads", "1"),
    *("--set", "model.d_model=16", "--set", "model.n_layers=2", "--set", "train.log_every=2"),
]  # fmt: skip

_RUNS = {
    "few": ["--steps", "2", "--set", "model.positions=learned"],
    "more": ["--steps", "30", "--lr", "0.01"],
    "bert": ["--arch", "bert", "--steps", "10", "--next-sentence", "--mask-rate", "0.2"],
    "mamba": ["--arch", "mamba", "--steps", "2", "--set", "model.d_head=8"],
}


def pretrained(folder: Path, *names: str) -> Path:
    """Writes reviews, with labels and without, and the runs of these names, each to `lm/NAME`."""
    write_books(folder)
    for name in names:
        done = senti("pretrain", "books.txt", *SMALL, *_RUNS[name], "-o", f"lm/{name}", cwd=folder)
        assert done.code == 0, done.err
    return folder
