"""`tfidf`: TF-IDF of word n-grams and logistic regression, as a module.

Formulas as in scikit-learn: idf = ln((1 + N) / (1 + df)) + 1 when smooth, weights tf * idf
(or (1 + ln tf) * idf), rows of length 1. `fit` solves the regression with scikit-learn and
moves what it learned into the module, so it is saved, loaded and served like any other.
Of texts with several labels, each label has its own regression against the rest; of ordered labels all have
one, by cut points (`nn/ordinal.py`), with the same penalty.
The model to beat: minutes of training must buy more than these seconds.
"""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ..nn.bag import LinearBag, bag
from ..nn.ordinal import CutPoints, cumulative_loss, start
from ..text.vocabulary import Inputs
from ..text.words import NgramConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.linear_model import LogisticRegression

    from ..data.encoded import Encoded

__all__ = ["Tfidf", "TfidfConfig"]


class TfidfConfig(NgramConfig):
    """TF-IDF and logistic regression."""

    max_features: int = Field(
        default=50_000, ge=1, description="Maximum number of n-grams to keep, the most frequent ones."
    )
    ends: bool = Field(
        default=True, description="Whether the beginning and the end of a text count as words in n-grams."
    )
    sublinear_tf: bool = Field(
        default=False, description="Whether to use 1 + ln(tf) instead of the term frequency tf."
    )
    smooth_idf: bool = Field(
        default=True, description="Whether to compute idf as if one more text contained every n-gram."
    )
    c: float = Field(default=1.5, gt=0, description="Inverse strength of the L2 penalty.")
    solver: Literal["lbfgs", "saga", "newton-cg"] = Field(
        default="saga", description="Solver of scikit-learn: lbfgs, saga or newton-cg."
    )
    tol: float = Field(default=1e-3, gt=0, description="Tolerance at which the solver stops.")
    max_iter: int = Field(default=2000, ge=1, description="Maximum number of iterations of the solver.")


class Tfidf(nn.Module):
    """Logits of a bag of n-gram ids; id 0 is none."""

    idf: Tensor

    def __init__(self, config: TfidfConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        self.vocab_size = inputs.vocab_size
        self.register_buffer("idf", torch.ones(inputs.vocab_size))
        self.weight = nn.Parameter(torch.zeros(inputs.vocab_size, inputs.n_scores))
        self.bias = nn.Parameter(torch.zeros(inputs.n_scores))
        self.cut_points = CutPoints(inputs.n_classes) if inputs.ordered else None

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C)."""
        bags = bag(input_ids, mask, self.vocab_size)
        tf = bags.count.to(self.idf.dtype)
        value = (1 + tf.log() if self.config.sublinear_tf else tf) * self.idf[bags.feature]
        length = bags.sum(value.square()).sqrt().clamp(min=torch.finfo(value.dtype).tiny)
        value = value / length[bags.row]
        scores = bags.sum(value[:, None] * self.weight[bags.feature]) + self.bias
        return scores if self.cut_points is None else self.cut_points(scores)

    def linear(self) -> LinearBag:
        """Returns its trained weights."""
        counts: Literal["count", "log"] = "log" if self.config.sublinear_tf else "count"
        cuts = None if self.cut_points is None else self.cut_points.cuts()
        return LinearBag(self.weight.data, self.idf, self.bias.data, counts, "euclidean", cuts)

    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:
        """Learns idf and weights from the training texts."""
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import normalize

        config = self.config
        shape = (encoded.n_texts, self.vocab_size)
        rows = np.repeat(encoded.text_of_row, encoded.lengths)
        counts = csr_matrix((np.ones(len(rows)), (rows, encoded.ids.astype(np.int64))), shape=shape)
        counts.sum_duplicates()
        keep = np.ones(self.vocab_size)
        keep[0] = 0  # id 0 is not an n-gram
        n_texts = np.bincount(counts.indices, minlength=self.vocab_size)
        smooth = int(config.smooth_idf)
        idf = np.log((encoded.n_texts + smooth) / np.maximum(n_texts + smooth, 1)) + 1
        if config.sublinear_tf:
            counts.data = 1 + np.log(counts.data)
        counts.data *= (idf * keep)[counts.indices]
        # The penalty is a mean over classes and texts, as scikit-learn counts it.
        regression = LogisticRegression(
            C=config.c, solver=config.solver, tol=config.tol, max_iter=config.max_iter, random_state=seed
        )
        features = normalize(counts)
        self.idf.copy_(torch.from_numpy(idf))
        if self.cut_points is not None:
            self._fit_cuts(self.cut_points, features, labels)
            return
        if labels.ndim == 2:
            self._fit_each(regression, features, labels)
            return
        regression.fit(features, labels)
        weight, bias = regression.coef_.T, regression.intercept_
        if weight.shape[1] == 1:  # two classes: one column of log-odds
            weight, bias = np.hstack([-weight / 2, weight / 2]), np.concatenate([-bias / 2, bias / 2])
        # A class without a text stays where it cannot win.
        self.bias.data.fill_(-30.0)
        self.bias.data[regression.classes_] = torch.from_numpy(bias).to(self.bias)
        self.weight.data.zero_()
        self.weight.data[:, regression.classes_] = torch.from_numpy(weight).to(self.weight)

    def _fit_each(self, regression: "LogisticRegression", features: Any, truth: "NDArray[np.int64]") -> None:
        """Learns each label against the rest, of texts that have several or none."""
        self.weight.data.zero_()
        for place, there in enumerate(truth.T):
            n = int(there.sum())
            if 0 < n < len(there):
                regression.fit(features, there)
                self.weight.data[:, place] = torch.from_numpy(regression.coef_[0]).to(self.weight)
                self.bias.data[place] = float(regression.intercept_[0])
            else:  # what every text or none has is answered so
                self.bias.data[place] = 30.0 if n else -30.0

    def _fit_cuts(self, cut_points: CutPoints, features: Any, labels: "NDArray[np.int64]") -> None:
        """Learns one regression and the cut points of ordered labels."""
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

        config, n_features, n_classes = self.config, self.vocab_size, len(cut_points.raw) + 1
        turned = features.T.tocsr()

        def loss(values: "NDArray[np.float64]") -> "tuple[float, NDArray[np.float64]]":
            weight, raw = values[:n_features], values[n_features:]
            of_rows, by_score, by_raw = cumulative_loss(features @ weight, raw, labels)
            slopes = np.concatenate([config.c * (turned @ by_score) + weight, config.c * by_raw])
            return config.c * of_rows + 0.5 * float(np.square(weight).sum()), slopes

        begin = np.concatenate([np.zeros(n_features), start(n_classes)])
        options = {"maxiter": config.max_iter, "ftol": _GAIN}
        with threadpool_limits(1):  # as in `nb`: threads wait for each other next to other programs
            found = minimize(loss, begin, jac=True, method="L-BFGS-B", options=options).x
        self.weight.data[:, 0] = torch.from_numpy(found[:n_features]).to(self.weight)
        cut_points.raw.data.copy_(torch.from_numpy(found[n_features:]))


# The solver of ordered labels stops once the relative gain of a step is smaller.
_GAIN = 1e-6
