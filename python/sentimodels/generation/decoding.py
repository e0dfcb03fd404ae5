"""`Decoding`: texts that a causal model continues together, a token a step.

The model reads each token once: what it keeps of them is in a cache. Prompts of unequal length are padded on
the left, with a mask and with positions that begin at their first token, so that a row has the tokens that it
has alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..models.language import CausalModel
from ..nn.backbone import Cache
from .sampling import Draws, Sampling

__all__ = ["Decoding", "Step", "TokenProbs", "Watch", "order_for_decoding"]

# Called after each step with its rows, their logits (B, V) and the token of each.
Watch = Callable[[Sequence[int], Tensor, Sequence[int]], None]


class Decoding:
    """Rows of ids, and the next token of each.

    Where a row has more tokens than the context, those of its older half are forgotten, and the
    rest is read again: from then on a step sees between half the context and all of it. A model
    without positions keeps a state of one size, and forgets nothing at once.

    Args:
        model: the model, in evaluation mode.
        texts: the ids of each row, at least one.
        sampling: how a token is taken.
        draws: the numbers that rows draw by; row i of `texts` is row `rows[i]` of these.
        rows: which rows these are.
        context: tokens that the model reads at most; `None`: any number.
        banned: (N,) ids that are never taken, or `None`.
        watch: called with each step, or `None`.

    Attributes:
        texts: the ids of each row that is left, new ones included.
        rows: which rows these are.
    """

    def __init__(
        self,
        model: CausalModel,
        texts: Sequence[Sequence[int]],
        sampling: Sampling,
        draws: Draws,
        rows: Sequence[int],
        *,
        context: int | None = None,
        banned: Tensor | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.texts = [list(text) for text in texts]
        self.rows = list(rows)
        self._model, self._sampling, self._draws = model, sampling, draws
        self._context, self._banned, self._watch = context, banned, watch
        self._device = model.head.table(model.backbone).device
        # Where the part of a row begins that the model still knows.
        self._starts = [0 if context is None else max(0, len(text) - context) for text in self.texts]
        self._cache: Cache | None = None
        self._new: Tensor | None = None  # (B, 1), the tokens not read yet
        self._places: Tensor | None = None  # (B, 1), their positions, where rows differ
        self._seen: Tensor | None = None
        if sampling.penalizes:
            n_words = len(model.head.table(model.backbone))
            self._seen = torch.zeros(len(self.texts), n_words, dtype=torch.bool, device=self._device)
            for place, text in enumerate(self.texts):
                self._seen[place, text] = True

    @torch.inference_mode()
    def step(self) -> list[int]:
        """Takes the next token of each row; returns them."""
        logits = self._logits()
        if self._banned is not None:
            logits = logits.index_fill(1, self._banned, float("-inf"))
        uniform = None
        if not self._sampling.greedy:
            uniform = self._draws.draw(self.rows).to(self._device)
        self._new = self._sampling.take(logits, uniform, self._seen)[:, None]
        if self._seen is not None:
            self._seen.scatter_(1, self._new, True)
        taken: list[int] = self._new[:, 0].tolist()
        if self._watch is not None:
            self._watch(self.rows, logits, taken)
        for text, id in zip(self.texts, taken, strict=True):
            text.append(id)
        return taken

    @torch.inference_mode()
    def keep(self, places: Sequence[int]) -> None:
        """Keeps only some rows, by their places in `rows`."""
        for name in ("texts", "rows", "_starts"):
            values = getattr(self, name)
            setattr(self, name, [values[place] for place in places])
        chosen = torch.tensor(places, dtype=torch.long, device=self._device)
        for name in ("_new", "_places", "_seen"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, value.index_select(0, chosen))
        if self._cache is not None:
            self._cache.take(chosen)

    def _logits(self) -> Tensor:
        """Returns the logits (B, V) of the next token of each row."""
        if self._cache is None or self._slide():
            return self._read_all()
        assert self._new is not None
        if self._places is not None:
            self._places = self._places + 1
        states = self._model(self._new, positions=self._places, cache=self._cache)
        return self._model.logits(states[:, -1])

    def _slide(self) -> bool:
        """Forgets the older half of each row that is full; returns whether there was one."""
        if self._context is None:
            return False
        full = [n for n, text in enumerate(self.texts) if len(text) - self._starts[n] > self._context]
        for place in full:
            self._starts[place] = len(self.texts[place]) - max(1, self._context // 2)
        return bool(full)

    def _read_all(self) -> Tensor:
        """Reads each row from its start, with an empty cache."""
        texts = [text[start:] for text, start in zip(self.texts, self._starts, strict=True)]
        lengths = torch.tensor([len(text) for text in texts], device=self._device)
        width = max(len(text) for text in texts)
        # Padding is hidden, so any id may fill it.
        ids = torch.tensor([[0] * (width - len(text)) + text for text in texts], device=self._device)
        mask, positions, self._places = None, None, None
        if min(len(text) for text in texts) < width:
            mask = torch.arange(width, device=self._device) >= width - lengths[:, None]
            if self._model.backbone.has_positions:
                positions = (mask.cumsum(1) - 1).clamp(min=0)
                self._places = lengths[:, None] - 1
        self._cache = self._model.new_cache()
        states = self._model(ids, mask, positions, self._cache)
        return self._model.logits(states[:, -1])


@dataclass(frozen=True)
class Step:
    """A token that was taken.

    Attributes:
        row: the number of its prompt.
        id: the token.
        p: its probability.
        likely: the likeliest tokens of that place with theirs, likeliest first.
    """

    row: int
    id: int
    p: float
    likely: tuple[tuple[int, float], ...]


class TokenProbs:
    """Keeps the steps of a text that is being written, for `LanguageModel.pieces(watch=...)`.

    Probabilities are the model's own, before temperature and penalties, so that a text shows what the model
    expected and not how it was asked to draw.

    Args:
        n: how many of the likeliest tokens to keep of each step.
    """

    def __init__(self, n: int = 5) -> None:
        self._n = n
        self._steps: list[Step] = []

    def __call__(self, rows: Sequence[int], logits: Tensor, taken: Sequence[int]) -> None:
        """Takes in one step: logits (B, V) of the rows, and the token of each."""
        shares = torch.softmax(logits.double(), dim=-1)
        best, ids = shares.topk(min(self._n, shares.shape[-1]), dim=-1)
        for place, (row, id) in enumerate(zip(rows, taken, strict=True)):
            likely = zip(ids[place].tolist(), best[place].tolist(), strict=True)
            self._steps.append(Step(row, id, float(shares[place, id]), tuple(likely)))

    def take(self) -> list[Step]:
        """Returns the steps since the last call."""
        steps, self._steps = self._steps, []
        return steps


@torch.no_grad()
def order_for_decoding(model: CausalModel) -> None:
    """Puts matrices on the CPU with more rows than columns in order of columns.

    A step of continuing a text multiplies one vector by every matrix, so it costs what reading the matrices
    costs. Torch's product on the CPU reads long stretches faster than short ones. A text is continued 1.28
    times as fast by preset tiny; by nano 1.03 times by the best run and 0.92 by the median (2026-11-29, one
    thread). Shapes and numbers stay the same. Training and GPUs do not use it.
    """
    matrices = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    for matrix in (*matrices, model.head.table(model.backbone)):
        if matrix.device.type == "cpu" and matrix.shape[0] > matrix.shape[1] and matrix.is_contiguous():
            matrix.data = matrix.data.t().contiguous().t()
