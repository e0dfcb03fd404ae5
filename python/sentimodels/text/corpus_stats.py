"""`Count`: divides the documents of a corpus between its parts and counts what they hold; `Facts` of it.

Documents come from `documents.py`. One pass finds the rows of both parts, the bytes of the validation texts,
what gzip makes of them, and how often each token occurs. `ValidText` and `unigram_loss` give the baselines.
"""

import json
import math
import zlib
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically

from ..config import LanguageConfig, MaskedConfig
from ..errors import DataError
from .documents import Block
from .packed import SplitWriter, held_out

__all__ = ["FACTS", "Count", "Facts", "ValidText", "bits_per_byte", "too_small", "unigram_loss"]

FACTS = "corpus.json"
# Options that make more documents of a corpus, by its format.
_MORE = {"text": "take --format paragraphs", "paragraphs": "take --format lines"}


@dataclass(frozen=True)
class Facts:
    """Statistics of a corpus, complete once it has been read.

    Attributes:
        datasets: the folders of its token shards.
        end: the id that ends a document.
        stride: new tokens of a row.
        documents: in the training and in the validation part.
        tokens: in the same.
        valid_bytes: of the validation texts, in UTF-8.
        gzip_bytes: their size compressed by gzip.
        unigram_loss: of all validation tokens, in nats.
        left_out: held-out lines or documents that were left out.
        sources: the files.
    """

    datasets: list[str]
    end: int
    stride: int
    documents: tuple[int, int]
    tokens: tuple[int, int]
    valid_bytes: int
    gzip_bytes: int
    unigram_loss: float
    left_out: int
    sources: list[dict[str, Any]]

    def baselines(self) -> dict[str, float]:
        """Returns the bits per byte of a unigram model and of gzip on the validation texts."""
        return {
            "unigram": bits_per_byte(self.unigram_loss, self.valid_bytes),
            "gzip": 8 * self.gzip_bytes / max(1, self.valid_bytes),
        }


def _stride(config: LanguageConfig) -> int:
    """Returns how many new tokens a row has: with masked tokens, two or three places are for its frame."""
    if not isinstance(config.task, MaskedConfig):
        return config.data.context
    return config.data.context - (3 if config.task.next_sentence else 2)


class Count:
    """Divides documents between the parts, and counts what they hold, as blocks go by."""

    def __init__(self, config: LanguageConfig, folder: Path, vocab_size: int) -> None:
        self.config, self.stride = config, _stride(config)
        self._open = ExitStack()
        self.train = self._open.enter_context(SplitWriter(folder, "train", self.stride))
        self.valid = self._open.enter_context(SplitWriter(folder, "valid", self.stride))
        self.counts = np.zeros((2, vocab_size), np.int64)
        self.text = ValidText()
        self.n_documents = self.n_tokens = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, block: Block) -> None:
        """Takes in the next documents."""
        data, n = self.config.data, len(block.ends)
        is_valid = held_out(self.n_documents, self.n_documents + n, data.valid_share, data.split_seed)
        starts = np.concatenate((np.zeros(1, np.int64), block.ends[:-1]))
        lengths = block.ends - starts
        scored = is_valid & block.kept
        before = self.valid.total + np.cumsum(lengths * scored) - lengths * scored
        scored &= before < data.valid_tokens
        train = ~is_valid & block.kept
        for part, members, row in ((self.train, train, 0), (self.valid, scored, 1)):
            part.add(starts[members] + self.n_tokens, block.ends[members] + self.n_tokens)
            ids = block.ids[np.repeat(members, lengths)]
            self.counts[row] += np.bincount(ids, minlength=self.counts.shape[1])
        for number in np.flatnonzero(scored).tolist():
            self.text.add(block.texts[number])
        self.n_documents += n
        self.n_tokens += len(block.ids)

    def close(self, datasets: list[Path], end: int, sources: list[dict[str, Any]], left_out: int) -> None:
        """Writes the statistics.

        Raises:
            DataError: if a part has too little.
        """
        self.train.close()
        self.valid.close()
        if self.train.total < self.stride:
            raise too_small(self.config, self.train.total)
        if not self.valid.n_documents:
            raise DataError(
                f"no documents for validation: the corpus has {self.n_documents:,}, of which a share of "
                f"{self.config.data.valid_share:g} is held out; raise --valid-share, or "
                f"{_MORE.get(self.config.data.format or '', 'give more documents')}"
            )
        facts = Facts(
            [str(one.absolute()) for one in datasets], end, self.stride,
            (self.train.n_documents, self.valid.n_documents), (self.train.total, self.valid.total),
            self.text.n_bytes, self.text.gzip_bytes(), unigram_loss(self.counts[0], self.counts[1]),
            left_out, sources,
        )  # fmt: skip
        folder = self.train.folder
        write_atomically(folder / FACTS, json.dumps(asdict(facts), indent=2).encode())


def too_small(config: LanguageConfig, n_tokens: int) -> DataError:
    """Returns the error of a corpus shorter than a row."""
    if not n_tokens:
        return DataError("the training part is empty; give a corpus with text")
    return DataError(
        f"the training part has {n_tokens:,} tokens, fewer than one row of {config.data.context}: "
        "give a longer corpus, or lower --context"
    )


# Level 9 with the header that gzip writes.
_LEVEL, _GZIP = 9, 31


@dataclass
class ValidText:
    """The bytes of the validation texts, and how few gzip makes of them, documents a line apart."""

    n_bytes: int = 0
    _packed: int = 0
    _packer: "zlib._Compress" = field(default_factory=lambda: zlib.compressobj(_LEVEL, wbits=_GZIP))

    def add(self, text: bytes) -> None:
        """Adds a document."""
        self.n_bytes += len(text)
        self._packed += len(self._packer.compress(text + b"\n"))

    def gzip_bytes(self) -> int:
        """Ends the text; returns how many bytes gzip makes of it."""
        self._packed += len(self._packer.flush())
        return self._packed


def unigram_loss(train: NDArray[np.int64], valid: NDArray[np.int64]) -> float:
    """Returns the cross entropy, summed over tokens, of a unigram model; one is added to each count.

    Both as bits per byte of the validation texts, which are the same whatever the tokenizer is; the text's
    bytes are counted before it becomes tokens.

    Args:
        train: how often each id (V,) occurs in training.
        valid: how often it occurs in the scored text.
    """
    log = np.log((train + 1) / (train.sum() + len(train)))
    return float(-(valid * log).sum())


def bits_per_byte(loss: float, n_bytes: int) -> float:
    """Returns a loss in nats, summed over all tokens, as bits for each byte of the text."""
    return loss / math.log(2) / max(1, n_bytes)
