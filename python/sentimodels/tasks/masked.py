"""`MaskedToken`, a task: batches with masked tokens, their loss, and whether a second half follows.

A row is [CLS], tokens, [SEP]; with next-sentence prediction [CLS], a half, [SEP], another half, [SEP],
where the second half continues the first in half of the rows and is of another document in the rest
(Devlin et al. 2019, 3.1). Each row draws its masks and its second half from the seed, the epoch and the
number of the row (Liu et al. 2019, 4.1), so neither the size of a batch, nor the number of processes, nor a
resumed run changes them. Special tokens are never chosen.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import LanguageConfig, MaskedConfig, TrainingPlan
from ..errors import ConfigError
from ..models.language import MaskedModel
from ..nn.cross_entropy import IGNORED
from ..text.corpus import Corpus
from ..text.packed import PackedSplit, RowOrder
from ..text.special_tokens import MaskedTokens, masked_tokens
from ..training.trainer import Evaluation
from .next_token import LanguageRows, evaluating, loss_scores

__all__ = ["MaskedRows", "MaskedToken", "check_halves", "mask", "of_rows", "share_read"]

_Ids = NDArray[np.int64]
# Of the chosen tokens this share is masked, and this much more replaced by any token; the rest stays.
_MASKED, _REPLACED = 0.8, 0.1
# Draws of a second half from another document before the first document is used.
_TRIES = 8
# Rows of a part that represent all, evenly spread.
_LOOKED_AT = 1024
# Used as the epoch where validation rows are drawn.
_VALID = 1 << 32


class MaskedRows(NamedTuple):
    """Rows of ids (B, T), some masked.

    Attributes:
        ids: the input of the model.
        mask: which places hold a token; `None`: all.
        segments: 0 or 1, the half that each token is of; `None`: one segment.
        targets: the token that was chosen, `IGNORED` elsewhere.
        follows: (B,), 0 where the second half follows the first, else 1; `None`: no halves.
        n_targets: how many tokens were chosen.
    """

    ids: Tensor
    mask: Tensor | None
    segments: Tensor | None
    targets: Tensor
    follows: Tensor | None
    n_targets: int

    def inputs(self) -> dict[str, Tensor]:
        """The arguments of the model."""
        given = {"input_ids": self.ids, "mask": self.mask, "segments": self.segments}
        return {name: value for name, value in given.items() if value is not None}


def mask(
    ids: _Ids, rate: float, tokens: MaskedTokens, vocab_size: int, drawn: Sequence[np.random.Generator]
) -> tuple[_Ids, _Ids]:
    """Chooses tokens to be predicted.

    Args:
        ids: (B, T).
        rate: share of the tokens that are chosen, special ones apart.
        tokens: the mask and the special tokens.
        vocab_size: V, ids run below it.
        drawn: a generator for each row.

    Returns:
        What the model reads, and what it is to say, `IGNORED` where nothing was chosen.
    """
    special = np.array(sorted(tokens.special), np.int64)
    ordinary = np.setdiff1d(np.arange(vocab_size), special)
    width = ids.shape[1]
    chosen = np.stack([one.random(width) for one in drawn]) < rate
    chosen &= ~np.isin(ids, special)
    kind = np.stack([one.random(width) for one in drawn])
    replaced = ordinary[np.stack([one.integers(0, len(ordinary), width) for one in drawn])]
    read = np.where(chosen & (kind < _MASKED), tokens.mask, ids)
    read = np.where(chosen & (kind >= _MASKED) & (kind < _MASKED + _REPLACED), replaced, read)
    return read, np.where(chosen, ids, IGNORED)


def check_halves(config: MaskedConfig, corpus: Corpus) -> None:
    """Refuses to tell halves apart where none is of another document.

    Raises:
        ConfigError: naming the part that has one document, or one in all its rows.
    """
    if not config.next_sentence:
        return
    for name, part, n in zip(
        ("training", "validation"), (corpus.train, corpus.valid), corpus.facts.documents, strict=True
    ):
        if n < 2 or _of_one_document(corpus, part):
            more = "" if name == "training" else "hold out more (--valid-share), "
            of = "has one document" if n < 2 else "has the same document in all its rows"
            raise ConfigError(
                f"task.next_sentence: the {name} part {of}, so no half is of another; cut it into more, as "
                f"with --format paragraphs, or into shorter rows (--context), {more}or leave out "
                "--next-sentence"
            )


def _of_one_document(corpus: Corpus, part: PackedSplit) -> bool:
    """Whether the rows of a part are all of one document."""
    found: set[int] = set()
    for row in chain(_some_rows(part), range(part.n_rows)):  # most often the first few decide
        found.add(_piece(corpus, part, row)[1])
        if len(found) > 1:
            return False
    return True


def share_read(corpus: Corpus) -> float:
    """Returns the share of the training part's tokens that rows of two halves read, 0 to 1."""
    rows = _some_rows(corpus.train)
    return sum(len(_piece(corpus, corpus.train, row)[0]) for row in rows) / (len(rows) * corpus.train.stride)


def _some_rows(part: PackedSplit) -> range:
    """Returns rows of a part, evenly spread, and of a large one not all."""
    return range(0, part.n_rows, max(1, part.n_rows // _LOOKED_AT))


def _piece(corpus: Corpus, part: PackedSplit, row: int) -> tuple[_Ids, int]:
    """Returns the longest piece of one document in a row, and the document's number."""
    start = part.start(row)
    tokens = part.read(start, part.stride)
    ends = np.concatenate(([-1], np.flatnonzero(tokens == part.end), [len(tokens)]))
    longest = int(np.argmax(np.diff(ends)))
    first = int(ends[longest]) + 1
    piece = tokens[first : int(ends[longest + 1])]
    return piece, corpus.dataset.document_at(part.corpus_place(start + first))


class MaskedToken:
    """Masked tokens from all around them.

    Args:
        corpus: the rows.
        order: which of them make a batch.
        config: the rate, and whether halves have different type ids.
        tokens: [CLS], [SEP], [MASK] and padding.
        vocab_size: V.
        bfloat16: whether validation computes in bfloat16.

    Raises:
        ConfigError: if halves are asked for, and a part has one document, alone or in all its rows, or if no
            validation token is masked.
    """

    def __init__(
        self,
        corpus: Corpus,
        order: RowOrder,
        config: MaskedConfig,
        tokens: MaskedTokens,
        vocab_size: int,
        *,
        bfloat16: bool = False,
    ) -> None:
        check_halves(config, corpus)
        self.corpus, self.order, self.config, self.tokens = corpus, order, config, tokens
        self.vocab_size, self.bfloat16 = vocab_size, bfloat16
        if not any(batch.n_targets for batch in self._valid()):
            raise ConfigError(
                f"none of the {corpus.facts.tokens[1]:,} tokens of the validation part is masked at a rate "
                f"of {config.rate:g}; raise --valid-share or --mask-rate"
            )

    def _valid(self) -> Iterator[MaskedRows]:
        """Yields the batches of the validation part, masked the same way each time."""
        for numbers in self.order.in_order(self.corpus.valid.n_rows):
            yield self.rows(self.corpus.valid, numbers, _VALID)

    def plan(self, world: int) -> TrainingPlan:
        """Returns the batches of an epoch and the steps in all."""
        return self.order.plan(world)

    def batches(self, epoch: int, position: int, rank: int, world: int) -> Iterator[MaskedRows]:
        """Yields this process's rows of each batch."""
        for numbers in self.order.batches(epoch, position, rank, world):
            yield self.rows(self.corpus.train, numbers, epoch)

    def rows(self, part: PackedSplit, numbers: list[int], epoch: int) -> MaskedRows:
        """Returns rows of a part; seed, epoch and its number determine what a row masks."""
        drawn = [np.random.default_rng([self.order.config.train.seed, epoch, row]) for row in numbers]
        if self.config.next_sentence:
            return self._pairs(part, numbers, drawn)
        t = self.tokens
        ids = np.full((len(numbers), part.stride + 2), t.pad, np.int64)
        for place, row in enumerate(numbers):
            tokens = part.read(part.start(row), part.stride)
            ids[place, : len(tokens) + 2] = [t.cls, *tokens, t.sep]
        return self._masked(ids, None, None, drawn)

    def _masked(
        self, ids: _Ids, segments: _Ids | None, follows: _Ids | None, drawn: Sequence[np.random.Generator]
    ) -> MaskedRows:
        read, targets = mask(ids, self.config.rate, self.tokens, self.vocab_size, drawn)
        real = ids != self.tokens.pad
        return MaskedRows(
            torch.from_numpy(read),
            None if real.all() else torch.from_numpy(real),
            None if segments is None else torch.from_numpy(segments),
            torch.from_numpy(targets),
            None if follows is None else torch.from_numpy(follows),
            int((targets != IGNORED).sum()),
        )

    def _pairs(
        self, part: PackedSplit, numbers: list[int], drawn: Sequence[np.random.Generator]
    ) -> MaskedRows:
        """Returns rows of two halves."""
        t = self.tokens
        ids = np.full((len(numbers), part.stride + 3), t.pad, np.int64)
        segments = np.zeros_like(ids)
        follows = np.zeros(len(numbers), np.int64)
        for place, (row, chance) in enumerate(zip(numbers, drawn, strict=True)):
            whole, document = _piece(self.corpus, part, row)
            cut = int(chance.integers(len(whole) // 4, 3 * len(whole) // 4 + 1)) if len(whole) > 1 else 1
            first, second = whole[: max(1, cut)], whole[max(1, cut) :]
            if chance.random() < 0.5 or not len(second):
                other = self._other(part, document, chance)
                if other is not None:
                    room = part.stride - len(first)
                    second, follows[place] = other[:room], 1
            made = np.concatenate(([t.cls], first, [t.sep], second, [t.sep]))
            ids[place, : len(made)] = made
            segments[place, len(first) + 2 : len(made)] = 1
        return self._masked(ids, segments, follows, drawn)

    def _other(self, part: PackedSplit, document: int, drawn: np.random.Generator) -> _Ids | None:
        """Returns a piece of another document; `None` if none was drawn."""
        for _ in range(_TRIES):
            piece, other = _piece(self.corpus, part, int(drawn.integers(part.n_rows)))
            if other != document and len(piece):
                return piece[len(piece) // 2 :]
        return None

    def loss(self, model: nn.Module, batch: MaskedRows) -> tuple[Tensor, int]:
        """Returns the loss summed over the chosen tokens, and how many there are.

        That of the halves, a mean over rows, is added to the mean over tokens, as BERT does.
        """
        loss, halves, _ = self._losses(model, batch)
        return loss + halves * batch.n_targets, batch.n_targets

    def _losses(self, model: nn.Module, batch: MaskedRows) -> tuple[Tensor, Tensor, int]:
        """Returns the losses of the tokens, summed, and of the halves, and how many of these were right."""
        device = next(model.parameters()).device
        states = model(**{name: value.to(device) for name, value in batch.inputs().items()})
        whole = getattr(model, "_orig_mod", model)
        assert isinstance(whole, MaskedModel)
        loss = whole.head.loss(states, batch.targets.to(device), whole.backbone).sum()
        if (
            not batch.n_targets
        ):  # a backward pass all the same: processes that share parameters do it together
            loss = loss + 0 * states.sum()
        if whole.next_sentence is None or batch.follows is None:
            return loss, torch.zeros((), device=device), 0
        logits, follows = whole.next_sentence(states).float(), batch.follows.to(device)
        right = int((logits.argmax(-1) == follows).sum()) if not model.training else 0
        return loss, nn.functional.cross_entropy(logits, follows), right

    def evaluate(self, model: nn.Module) -> Evaluation:
        """Scores the validation part, masked the same way each time."""
        total = halves = 0.0
        n_tokens = n_rows = n_right = 0
        with evaluating(model, bfloat16=self.bfloat16):
            for batch in self._valid():
                loss, of_halves, right = self._losses(model, batch)
                total, n_tokens = total + float(loss), n_tokens + batch.n_targets
                halves, n_rows = halves + float(of_halves) * len(batch.ids), n_rows + len(batch.ids)
                n_right += right
        scores = loss_scores(total, n_tokens)
        if self.config.next_sentence:
            scores |= {
                "val_loss": scores["val_loss"] + halves / n_rows,
                "val_masked_loss": scores["val_loss"],
                "val_next_sentence": n_right / n_rows,
            }
        return Evaluation(scores, "val_loss", higher_is_better=False)


def of_rows(config: LanguageConfig, rows: LanguageRows) -> MaskedToken:
    """Returns the task of a run."""
    assert isinstance(config.task, MaskedConfig)
    _, tokens = masked_tokens(rows.tokenizer)
    size = rows.tokenizer.vocab_size
    return MaskedToken(rows.corpus, rows.order, config.task, tokens, size, bfloat16=rows.bfloat16)
