"""A small separate classifier, and texts as ids, for tests of training that no architecture may sway."""

import numpy as np
import torch
from torch import Tensor, nn

from sentimodels.data.encoded import Encoded
from sentimodels.nn.embedding import Mixing

N_WORDS = 40
N_CLASSES = 3


def encoded(n_rows: int, seed: int) -> tuple[Encoded, np.ndarray]:
    """Rows of ids, and a class for each that some of the ids give away."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 9, n_rows)
    labels = rng.integers(0, N_CLASSES, n_rows)
    ids = rng.integers(N_CLASSES, N_WORDS, lengths.sum())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids[offsets[:-1]] = labels
    made = Encoded(
        ids=ids.astype(np.uint16),
        row_offsets=offsets.astype(np.int64),
        text_of_row=np.arange(n_rows),
        n_texts=n_rows,
        text_lengths=lengths,
        max_tokens=8,
        n_cut=0,
        pad_id=N_WORDS,
        fingerprint="plain",
    )
    return made, labels.astype(np.int64)


class PlainModel(Mixing):
    """The mean of word vectors, dropout, one layer."""

    def __init__(self, *, sparse: bool = False, dropout: float = 0.2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_WORDS + 1, 8, sparse=sparse)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(8, N_CLASSES)

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        own = self.own(mask)
        assert own is not None
        x = self.mixed(self.embedding(input_ids) * own[..., None])
        mean = x.sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.head(self.dropout(torch.tanh(mean)))
        return logits
