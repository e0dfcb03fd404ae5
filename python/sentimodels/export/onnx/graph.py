"""`portable`: a classifier as a module that ONNX can hold, for any number of texts and tokens.

A copy: embeddings with their character n-grams added up once for all known tokens, recurrent cells as ONNX's
own operators, and what asks a tensor for its `len`, which an exporter takes for a constant, in other words.
Bags read each distinct id once, with how often it occurs; windows of long texts are averaged in the graph.
Parts that are refused are named in `not_in_onnx` of `models.ARCHITECTURES`.
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...classifier import Classifier
from ...config import RunConfig
from ...errors import ConfigError
from ...models import ARCHITECTURES, architecture
from ...models.bert import Bert
from ...nn.bag import IsLinear, LinearBag
from ...nn.class_head import Pooling, SequenceClassifier
from ...nn.embedding import NgramEmbedding, StaticEmbedding, TokenEmbedding
from ...nn.ordinal import log_probs_of_cuts
from ...nn.recurrent import Recurrent

__all__ = ["portable", "refuse"]


def refuse(config: RunConfig) -> None:
    """Refuses configurations that cannot be exported.

    Raises:
        ConfigError: naming the setting.
    """
    if why := architecture(config.arch).not_in_onnx:
        held = ", ".join(name for name, row in ARCHITECTURES.items() if not row.not_in_onnx)
        raise ConfigError(f"arch {config.arch}: the ONNX export does not hold it: {why}; it holds {held}")


def portable(classifier: Classifier) -> nn.Module:
    """Returns a copy of a classifier's model for export, on the CPU.

    Called as `model(input_ids, mask)`, with `unknown_ngrams` (U, M) and `windows` (B, W) where the run has
    them, or as `model(input_ids, counts)` where it is a bag; see `reader.py`.
    """
    refuse(classifier.config)
    if isinstance(classifier.module, IsLinear):
        with torch.no_grad():
            return _Counted(classifier.module.linear())
    module = copy.deepcopy(classifier.module).cpu().float().eval()
    assert isinstance(module, SequenceClassifier)
    backbone: Any = module.backbone
    n_ids, pad_id = classifier.encoder.vocab_size, classifier.encoder.pad_id
    with torch.no_grad():
        if isinstance(backbone.embedding, NgramEmbedding):
            backbone.embedding = _Composed(backbone.embedding, *_table_of(classifier))
        elif isinstance(backbone.embedding, TokenEmbedding):
            backbone.embedding = _Rows(backbone.embedding.weight)
        if isinstance(static := getattr(backbone, "static", None), StaticEmbedding):
            backbone.static = _Known(static.vectors, n_ids, pad_id)
        for part in module.modules():
            if isinstance(part, Recurrent):
                layers: Any = part.layers
                part.layers = nn.ModuleList(nn.ModuleList(_Cell(cell) for cell in one) for one in layers)
        if module.head.pooling.kind == "last":
            # 2026-11-23: a module in the place of another
            module.head.pooling = _Last(module.head.pooling)  # type: ignore[assignment]
        whole = _Prefixed(module) if backbone.n_prefix else module
        return _Windowed(whole) if classifier.encoder.data.long == "windows" else whole


def _table_of(classifier: Classifier) -> tuple[Tensor, Tensor]:
    index = classifier.encoder.ngrams
    assert index is not None
    return torch.from_numpy(index.table.rows), torch.from_numpy(index.table.starts)


class _Counted(nn.Module):
    """Logits of a bag: of distinct ids (B, T), and how often each occurs in its text, 0 for padding."""

    cuts: Tensor | None

    def __init__(self, bag: LinearBag) -> None:
        super().__init__()
        self.counts, self.length = bag.counts, bag.length
        self.table = nn.Parameter(bag.table.detach().clone(), requires_grad=False)
        self.scale = nn.Parameter(bag.scale.detach().clone()[:, None], requires_grad=False)
        self.bias = nn.Parameter(bag.bias.detach().clone(), requires_grad=False)
        self.register_buffer("cuts", None if bag.cuts is None else bag.cuts.detach().clone())

    def forward(self, input_ids: Tensor, counts: Tensor) -> Tensor:
        scale = F.embedding(input_ids, self.scale).squeeze(-1)
        some = counts.clamp(min=1)
        times = {"count": some, "log": 1 + some.log(), "once": torch.ones_like(some)}[self.counts]
        value = times * scale * (counts > 0)
        square = {"euclidean": value * value, "weighted": value * scale, "none": value}[self.length]
        sums = (value[:, None] @ F.embedding(input_ids, self.table)).squeeze(1)
        if self.length != "none":
            length = square.sum(1, keepdim=True).sqrt()
            sums = sums / torch.where(length > 0, length, 1.0)
        scores = sums + self.bias
        return scores if self.cuts is None else log_probs_of_cuts(scores, self.cuts)


class _Windowed(nn.Module):
    """The mean logits of the rows that are windows of one text: `windows` (B, W), -1 after the last."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, input_ids: Tensor, mask: Tensor, windows: Tensor, **ngrams: Tensor) -> Tensor:
        there = windows >= 0
        rows = F.embedding(windows.clamp(min=0), self.module(input_ids, mask, **ngrams))
        return (rows * there[..., None]).sum(1) / there.sum(1, keepdim=True)


class _Last(nn.Module):
    """The state of the last token; features that read from right to left are those of the first."""

    def __init__(self, pooling: Pooling) -> None:
        super().__init__()
        self.width = pooling.forward_width

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        end = (mask * torch.arange(mask.shape[1])).amax(1)
        last = states.gather(1, end[:, None, None].expand(-1, 1, states.shape[2])).squeeze(1)
        both = torch.cat((last[:, : self.width], states[:, 0, self.width :]), -1)
        return both * mask.any(1, keepdim=True)


class _Prefixed(nn.Module):
    """A classifier whose learned first token is put before the vectors of the text."""

    def __init__(self, module: SequenceClassifier) -> None:
        super().__init__()
        backbone: Any = module.backbone
        first = backbone.transformer.cls
        if isinstance(backbone, Bert):  # it adds this to every token, but not to the first
            first = first - backbone.segments.weight[0]
        backbone.embedding = _First(backbone.embedding, first)
        backbone.transformer.cls, backbone.n_prefix = None, 0
        self.module = module

    def forward(self, input_ids: Tensor, mask: Tensor, **ngrams: Tensor) -> Tensor:
        wide = F.pad(input_ids, (1, 0)), F.pad(mask, (1, 0), value=True)
        logits: Tensor = self.module(*wide, **ngrams)
        return logits


class _First(nn.Module):
    """An embedding with one vector in the first place of every text."""

    def __init__(self, embedding: nn.Module, first: Tensor) -> None:
        super().__init__()
        self.embedding = embedding
        self.first = nn.Parameter(first.detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, mask: Tensor, **ngrams: Tensor) -> Tensor:
        x: Tensor = self.embedding(input_ids, mask, **ngrams)
        return torch.where((torch.arange(x.shape[1]) == 0)[:, None], self.first, x)


class _Rows(nn.Module):
    """A row for each id."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table.detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        return F.embedding(input_ids, self.table) * mask[..., None]


class _Known(_Rows):
    """A row for each id, that of padding for an unknown word."""

    def __init__(self, table: Tensor, n_ids: int, pad_id: int) -> None:
        super().__init__(table)
        self.n_ids, self.pad_id = n_ids, pad_id

    def forward(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        return super().forward(torch.where(input_ids < self.n_ids, input_ids, self.pad_id), mask)


class _Composed(_Rows):
    """A row for each known id with its n-grams in it; unknown words are the mean of theirs."""

    def __init__(self, embedding: NgramEmbedding, rows: Tensor, starts: Tensor) -> None:
        means = F.embedding_bag(rows, embedding.gram_weight, starts[:-1], mode="mean")
        super().__init__(embedding.weight + means)
        self.grams = nn.Parameter(embedding.gram_weight.detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, mask: Tensor, unknown_ngrams: Tensor | None = None) -> Tensor:
        if unknown_ngrams is None:  # a tokenizer knows all its tokens
            return super().forward(input_ids, mask)
        there = unknown_ngrams >= 0
        vectors = F.embedding(unknown_ngrams.clamp(min=0), self.grams) * there[..., None]
        means = vectors.sum(1) / there.sum(1, keepdim=True).clamp(min=1)
        return F.embedding(input_ids, torch.cat((self.table, means))) * mask[..., None]


# Places among torch's gates (input, forget, cell, output; reset, update, new) of ONNX's, in its order.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


class _Cell(nn.Module):
    """A recurrent layer in one direction as ONNX's operator, whose gates come in another order."""

    def __init__(self, cell: nn.RNNBase) -> None:
        super().__init__()
        self.kind = cell.mode.split("_")[0]
        self.width = cell.hidden_size
        weights = dict(cell.named_parameters())
        self.w = self._held(weights["weight_ih_l0"])
        self.r = self._held(weights["weight_hh_l0"])
        biases = [self._ordered(weights[name]) for name in ("bias_ih_l0", "bias_hh_l0")]
        self.b = nn.Parameter(torch.cat(biases)[None], requires_grad=False)

    def _ordered(self, weight: Tensor) -> Tensor:
        gates = weight.detach().split(self.width)
        return torch.cat([gates[place] for place in _GATES[self.kind]])

    def _held(self, weight: Tensor) -> nn.Parameter:
        return nn.Parameter(self._ordered(weight)[None], requires_grad=False)

    def forward(self, x: Tensor, _state: None = None) -> tuple[Tensor, None]:
        steps_first = x.transpose(0, 1)
        attributes: dict[str, Any] = {"hidden_size": self.width}
        if self.kind == "GRU":
            attributes["linear_before_reset"] = 1
        shape: Sequence[int | torch.SymInt] = (x.shape[1], 1, x.shape[0], self.width)
        out = torch.onnx.ops.symbolic(
            self.kind, (steps_first, self.w, self.r, self.b), attributes, dtype=x.dtype, shape=shape
        )
        return out.squeeze(1).transpose(0, 1), None
