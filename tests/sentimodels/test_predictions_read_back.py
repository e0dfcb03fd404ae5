"""Answers that `senti predict` writes, read back: any text, in any format, in any parts."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from sentimodels.cli.predict import _written
from sentimodels.data import Labels, read_table
from sentimodels.data.writers import write_texts
from sentimodels.evaluation.one_label import ONE_LABEL
from sentimodels.evaluation.predictions import Predictor

CELLS = [
    "",
    " ",
    "a",
    '"',
    '""',
    "\t",
    ",",
    ";",
    "\n",
    "\r",
    "\r\n",
    "NA",
    "null",
    "é",
    "\0",
    "\ufeff",
    "\ud83d",
]


class Model:
    """Answers by the length of a text."""

    labels = Labels(["N/A", 'a "b", c', "x\ty"])

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.eye(3, dtype=np.float32)[[len(text) % 3 for text in texts]]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("top_k", [None, 2])
def test_answers_read_back_equal(tmp_path: Path, suffix: str, top_k: int | None) -> None:
    rng = random.Random(5)
    for _ in range(60):
        texts = ["".join(rng.choices(CELLS, k=rng.randint(0, 5))) for _ in range(rng.randint(1, 9))]
        parts = iter([texts[:2], texts[2:]] if len(texts) > 2 else [texts])
        path = tmp_path / f"a{suffix}"
        form = "json" if suffix == ".jsonl" else suffix
        written = _written(cast("Predictor", Model()), parts, {}, form, ONE_LABEL.decide, top_k, None)
        write_texts(path, (part for part, _ in written))
        back = read_table(path)
        assert back.texts == [text.replace("\ud83d", "\ufffd") for text in texts]
        assert back.labels == [Model.labels[len(text) % 3] for text in texts]
