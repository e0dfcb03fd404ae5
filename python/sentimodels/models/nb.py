"""`nb`: a linear model over n-grams weighted by naive-Bayes log-count ratios.

After Wang and Manning 2012 ("NB-SVM"), with logistic regression, one class against the
rest: each n-gram that occurs in a text counts once, times the log ratio of its share in
the class and in the rest. Strong with two classes; with five it loses to `tfidf`.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from ..layers.bag import bag
from ..layers.embedding import Inputs
from ..section import Section
from ..words import WordNgrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..data.encoded import Encoded

__all__ = ["NaiveBayes", "NaiveBayesConfig"]


class NaiveBayesConfig(Section):
    """Naive-Bayes weighted logistic regression."""

    ngram_range: tuple[int, int] = Field(default=(1, 2), description="Shortest and longest n-gram, in words.")
    max_features: int = Field(default=1_000_000, ge=1, description="The most frequent n-grams kept.")
    min_df: int = Field(default=1, ge=1, description="Texts an n-gram must occur in.")
    token_pattern: str = Field(default=r"\w+|[^\w\s]", description="Regular expression of a word.")
    lowercase: bool = Field(default=True, description="Whether texts are lower-cased.")
    ends: bool = Field(default=False, description="Whether the ends of a text count as words of n-grams.")
    alpha: float = Field(default=1.0, gt=0, description="Added to each count.")
    c: float = Field(default=1.0, gt=0, description="Inverse strength of the L2 penalty.")
    beta: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="1: the learned weights; towards 0: their mean size for every n-gram.",
    )

    def features(self, texts: "Sequence[str]") -> WordNgrams:
        """Chooses the n-grams of the training texts."""
        return WordNgrams.fit(
            texts,
            ngram_range=self.ngram_range,
            max_features=self.max_features,
            min_df=self.min_df,
            max_df=1.0,
            pattern=self.token_pattern,
            lowercase=self.lowercase,
            ends=self.ends,
        )


class NaiveBayes(nn.Module):
    """Logits of a set of n-gram ids; id 0 is none."""

    ratio: Tensor

    def __init__(self, config: NaiveBayesConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.vocab_size = inputs.vocab_size
        self.register_buffer("ratio", torch.ones(inputs.vocab_size, inputs.n_classes))
        self.weight = nn.Parameter(torch.zeros(inputs.vocab_size, inputs.n_classes))
        self.bias = nn.Parameter(torch.zeros(inputs.n_classes))

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Returns logits (B, C): the logarithm of each class's probability against the rest."""
        found = bag(input_ids, mask, self.vocab_size)
        odds = found.sum(self.ratio[found.feature] * self.weight[found.feature]) + self.bias
        return F.logsigmoid(odds)

    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:
        """Learns ratios and weights from the training texts."""
        from scipy.sparse import csr_matrix, diags_array
        from sklearn.linear_model import LogisticRegression

        config = self.config
        shape = (encoded.n_texts, self.vocab_size)
        rows = np.repeat(encoded.text_of_row, encoded.lengths)
        found = csr_matrix((np.ones(len(rows)), (rows, encoded.ids.astype(np.int64))), shape=shape)
        found.sum_duplicates()
        found.data[:] = found.indices != 0
        for label in range(len(self.bias)):
            is_it = labels == label
            if not is_it.any() or is_it.all():  # nothing to tell apart
                self.bias.data[label] = 30.0 if is_it.any() else -30.0
                continue
            inside = config.alpha + np.asarray(found[is_it].sum(0)).ravel()
            outside = config.alpha + np.asarray(found[~is_it].sum(0)).ravel()
            ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
            solver = LogisticRegression(C=config.c, solver="liblinear", dual=True, random_state=seed)
            solver.fit((found @ diags_array(ratio)).tocsr(), is_it)
            weight = solver.coef_[0]
            weight = (1 - config.beta) * np.abs(weight).mean() + config.beta * weight
            self.ratio[:, label] = torch.from_numpy(ratio).to(self.ratio)
            self.weight.data[:, label] = torch.from_numpy(weight).to(self.weight)
            self.bias.data[label] = float(solver.intercept_[0])
