"""`nb`: a linear model over n-grams weighted by naive-Bayes log-count ratios.

After Wang and Manning 2012 ("NB-SVM"): an n-gram that occurs in a text counts once, for each
class times the log ratio of its share in the class and in the rest. All classes are trained at
once: two by squared hinge, as in the paper, more by logistic regression, whose probabilities are
the better ones there (docs/lab/negative-results.md). Strong with two classes; with five it loses to
`tfidf`. Of texts with several labels, each label is one class and the rest the other, by logistic
regression.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ..nn.bag import LinearBag, bag
from ..text.vocabulary import Inputs
from ..text.words import NgramConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from ..data.encoded import Encoded

    Matrix = NDArray[np.float64]

__all__ = ["NaiveBayes", "NaiveBayesConfig"]


class NaiveBayesConfig(NgramConfig):
    """A linear model over naive-Bayes weights."""

    alpha: float = Field(default=1.0, gt=0, description="Smoothing: a number added to each count.")
    unit_length: bool = Field(
        default=True,
        description="Whether to scale each text's features to length 1, so that long texts give no surer "
        "answers.",
    )
    loss: Literal["auto", "logistic", "squared-hinge"] = Field(
        default="auto",
        description="Loss to minimize: logistic, squared-hinge or auto (squared-hinge with two classes, else "
        "logistic).",
    )
    c: float = Field(default=3.0, gt=0, description="Inverse strength of the L2 penalty.")
    tol: float = Field(
        default=1e-6,
        gt=0,
        description="Tolerance: the solver stops once the relative gain of a step is smaller.",
    )
    max_iter: int = Field(default=500, ge=1, description="Maximum number of steps of the solver.")
    beta: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="Interpolation of the weights: 1 for the learned ones, towards 0 their mean size for "
        "every n-gram.",
    )


def _logistic(logits: "Matrix", truth: "Matrix") -> "tuple[float, Matrix]":
    """Cross entropy of the rows, and its slope (N, C)."""
    logits = logits - logits.max(1, keepdims=True)
    total = np.exp(logits).sum(1, keepdims=True)
    return float(np.log(total).sum() - (logits * truth).sum()), np.exp(logits) / total - truth


def _squared_hinge(logits: "Matrix", truth: "Matrix") -> "tuple[float, Matrix]":
    """Half the square of how much each wrong class lacks of a margin of 1 (Weston and Watkins 1999)."""
    own = (logits * truth).sum(1, keepdims=True)
    lack = np.maximum(0, 1 - own + logits) * (1 - truth)
    return 0.5 * float(np.square(lack).sum()), lack - truth * lack.sum(1, keepdims=True)


def _logistic_of_each(logits: "Matrix", truth: "Matrix") -> "tuple[float, Matrix]":
    """Binary cross entropy of each label of the rows, and its slope (N, C)."""
    small = np.exp(-np.abs(logits))
    loss = np.log1p(small) + np.maximum(logits, 0) - logits * truth
    return float(loss.sum()), np.where(logits >= 0, 1.0, small) / (1 + small) - truth


def _squared_hinge_of_each(logits: "Matrix", truth: "Matrix") -> "tuple[float, Matrix]":
    """Half the square of how much each label lacks of a margin of 1 on its side."""
    side = 2 * truth - 1
    lack = np.maximum(0, 1 - side * logits)
    return 0.5 * float(np.square(lack).sum()), -side * lack


# Of several labels a text, which are decided one by one.
_OF_EACH = {"logistic": _logistic_of_each, "squared-hinge": _squared_hinge_of_each}
_LOSSES = {"logistic": _logistic, "squared-hinge": _squared_hinge}


def _equal_columns(seen: "csr_matrix") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Returns a column of each set of rows, and the place among those of every column.

    Args:
        seen: 1 where a row has a feature.
    """
    columns = seen.tocsc()
    columns.eliminate_zeros()
    columns.sort_indices()
    rows, starts = columns.indices, columns.indptr
    # Sums of random numbers of 64 bits that wrap around tell sets apart; equal sums are compared below.
    drawn = np.random.Generator(np.random.PCG64(0)).integers(0, 1 << 64, seen.shape[0], np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), drawn[rows].cumsum(dtype=np.uint64)])
    _, first, group = np.unique(sums[starts[1:]] - sums[starts[:-1]], return_index=True, return_inverse=True)
    length = np.diff(starts)
    shift = starts[first[group]] - starts[:-1]  # from an entry of a column to that of the one it equals
    if (length == length[first[group]]).all():
        entries = np.arange(len(rows))
        if (rows == rows[entries + np.repeat(shift, length)]).all():
            return first, group
    whole = np.arange(seen.shape[1])  # two sets share a sum, which happens once in millions of fits
    return whole, whole


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

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C)."""
        bags = bag(input_ids, mask, self.vocab_size)
        value = self.ratio[bags.feature] * self.weight[bags.feature]
        if self.config.unit_length:
            length = bags.sum(torch.ones_like(value[:, 0])).sqrt()
            value = value / length[bags.row, None]
        return bags.sum(value) + self.bias

    def linear(self) -> LinearBag:
        """Returns its trained weights."""
        length: Literal["euclidean", "none"] = "euclidean" if self.config.unit_length else "none"
        scale = torch.ones(self.vocab_size)
        return LinearBag(self.ratio * self.weight.data, scale, self.bias.data, "once", length)

    # 2026-11-23: nothing is drawn, so `seed` changes nothing.
    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:  # noqa: ARG002
        """Learns ratios and weights from the training texts."""
        from scipy.optimize import minimize
        from scipy.sparse import csr_matrix
        from sklearn.preprocessing import normalize
        from threadpoolctl import threadpool_limits

        config = self.config
        n_texts, n_features, n_classes = encoded.n_texts, self.vocab_size, len(self.bias)
        rows = np.repeat(encoded.text_of_row, encoded.lengths)
        shape = (n_texts, n_features)
        features = csr_matrix((np.ones(len(rows)), (rows, encoded.ids.astype(np.int64))), shape=shape)
        features.sum_duplicates()
        features.data[:] = features.indices != 0
        seen = features.copy()
        if config.unit_length:
            features = normalize(features)
        several = labels.ndim == 2
        if several:
            truth = labels.astype(np.float64)
        else:
            truth = np.zeros((n_texts, n_classes))
            truth[np.arange(n_texts), labels] = 1
        inside = config.alpha + seen.T @ truth  # texts of a class with an n-gram (V, C)
        outside = config.alpha + seen.T @ (1 - truth)
        ratio = np.log(inside / inside.sum(0)) - np.log(outside / outside.sum(0))
        there = truth.any(0)
        ratio[:, ~there] = 0
        # Features of the same texts learn the same weights, so each set of texts is learned once: most
        # n-grams occur in one text. A column that represents k equal ones is scaled by the root of k, which
        # leaves the penalty as it was.
        first, group = _equal_columns(seen)
        root = np.sqrt(np.bincount(group))[:, None]
        features, small = features[:, first].multiply(root.T).tocsr(), ratio[first]
        n_columns = len(first)
        turned = features.T.tocsr()
        auto = "squared-hinge" if n_classes == 2 and not several else "logistic"
        measure = (_OF_EACH if several else _LOSSES)[auto if config.loss == "auto" else config.loss]

        options = {"maxiter": config.max_iter, "ftol": config.tol}

        def solved(ratio: "Matrix", truth: "Matrix") -> "tuple[Matrix, Matrix]":
            """Returns weights (V, C) and biases (C,) of some classes."""
            n_classes = truth.shape[1]

            def loss(values: "Matrix") -> "tuple[float, Matrix]":
                weight, bias = values[:-n_classes].reshape(n_columns, n_classes), values[-n_classes:]
                of_rows, slope = measure(features @ (ratio * weight) + bias, truth)
                of_weight = config.c * ratio * (turned @ slope) + weight
                slopes = np.concatenate([of_weight.ravel(), config.c * slope.sum(0)])
                return config.c * of_rows + 0.5 * float(np.square(weight).sum()), slopes

            start = np.zeros((n_columns + 1) * n_classes)
            share = np.maximum(truth.mean(0), 1e-13)
            start[-n_classes:] = np.log(share / np.maximum(1 - share, 1e-13) if several else share)
            found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
            return found[:-n_classes].reshape(n_columns, n_classes), found[-n_classes:]

        # Sums over long vectors by several threads differ in their last digits, and the threads wait for each
        # other when other programs run: six times as long.
        with threadpool_limits(1):
            if several:  # labels share nothing, and each alone needs fewer steps
                each = [solved(small[:, [i]], truth[:, [i]]) for i in range(n_classes)]
                weight, bias = (np.concatenate(parts, axis=-1) for parts in zip(*each, strict=True))
            else:
                weight, bias = solved(small, truth)
        weight = (weight / root)[group]
        weight = (1 - config.beta) * np.abs(weight).mean(0) + config.beta * weight
        self.ratio.copy_(torch.from_numpy(ratio))
        self.weight.data.copy_(torch.from_numpy(weight))
        # A class without a text stays where it cannot win.
        self.bias.data.copy_(torch.from_numpy(np.where(there, bias, -30.0)))
