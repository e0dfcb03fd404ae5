"""Compares the answers of every exported classifier with those of its run on real texts."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classifier import Classifier
from ..data.encoded import Cut
from ..errors import CheckpointError, ConfigError, ExportError

__all__ = ["checked_folder", "compare"]

# Texts at once, where answers are compared: the first, the second, ..., all further batches.
_BATCHES = (1, 1, 1, 2, 2, 7, 32, 32, 32, 256)


@contextmanager
def checked_folder(folder: Path, texts: Sequence[str], *, replace: bool) -> Iterator[Path]:
    """Yields a folder to write and to check; its files move to `folder` unless an error is raised.

    Raises:
        CheckpointError: if `folder` exists and its files are not to be replaced.
        ConfigError: if there are no texts to check on.
    """
    if folder.exists() and not replace:
        raise CheckpointError(f"{folder}: exists already; give another folder, or replace=True")
    if not texts:
        raise ConfigError("no texts to compare on; give some by --texts FILE")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # In the same parent folder, so that it can be renamed once it has been checked.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".senti-export-") as scratch:
        made = Path(scratch) / "folder"
        made.mkdir()
        yield made
        folder.mkdir(exist_ok=True)
        for file in made.iterdir():
            file.replace(folder / file.name)


def thresholds_of(classifier: Classifier) -> dict[str, Any]:
    """Returns the thresholds for a folder's files, if the run answers by any."""
    own = classifier.thresholds
    if own is None:
        return {}
    tree = own.tree()
    return {"thresholds": {key: tree[key] for key in ("rule", "least", "costs")}}


def compare(
    classifier: Classifier,
    answer: Callable[[list[str]], NDArray[np.float32]],
    texts: Sequence[str],
    tolerance: float,
) -> dict[str, Any]:
    """Compares the answers of a run with those of the export, to some texts and to an empty one.

    Args:
        classifier: the run.
        answer: returns the probabilities of texts by the export.
        texts: the texts.
        tolerance: by how much a probability may differ.

    Returns:
        `texts`, how many there were; `worst`, the largest difference; `tolerance`; `labels_differ`; and how
        many of them the run cuts (`n_cut`, `unread`).

    Raises:
        ExportError: if a probability differs by more, or a label differs.
    """
    worst, n_other, n_texts, cut = 0.0, 0, 0, Cut()
    for some in _batches(["", *texts]):
        probs, (expected, unread) = answer(some), classifier.read(some)
        cut += Cut.of(unread)
        off = np.abs(probs - expected)
        worst = float(np.maximum(worst, off.max()))  # nan stays, which `max` may drop
        kind = classifier.answers
        # Two labels that are equally likely may change places; of several labels, each is decided alone.
        near = np.ptp(np.sort(expected)[:, -2:], 1) <= 2 * tolerance
        if kind.several:
            near = np.abs(expected - kind.least).min(1) <= tolerance
        other = ~kind.right(kind.decide(probs), kind.decide(expected)) & ~near
        n_other, n_texts = n_other + int(other.sum()), n_texts + len(some)
    if worst > tolerance or n_other or not np.isfinite(worst):
        raise ExportError(
            f"the export differs from the run: in probabilities by up to {worst:.2g} (allowed "
            f"{tolerance:g}), in {n_other} of {n_texts} labels; nothing is written"
        )
    found = {"texts": len(texts), "worst": worst, "tolerance": tolerance, "labels_differ": n_other}
    return found | cut.tree()


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yields texts in batches of rising size, so that an answer that depends on the size is found."""
    start = turn = 0
    while start < len(texts):
        size = _BATCHES[min(turn, len(_BATCHES) - 1)]
        yield list(texts[start : start + size])
        start, turn = start + size, turn + 1
