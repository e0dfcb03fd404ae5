"""`OnnxReader`: from texts to the inputs of an exported graph, and from its logits to answers.

What a consumer needs in addition to onnxruntime; it does not import torch. Inputs are `input_ids` (B, T)
and `mask` (B, T), and for a run of whole words that composes unknown ones from character n-grams also
`unknown_ngrams` (U, M): the rows of the n-grams of each unknown word of the batch, -1 after the last.
An unknown word's id is `n_ids` plus its place there. A run that reads long texts by windows has a row for
each window, and `windows` (texts, W): the rows of each text, -1 after the last. A bag has `input_ids` (B, T),
the distinct n-grams of each text, and `counts` (B, T) float32, how often each occurs there, 0 for padding.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer

from ...data.encoded import Encoded, encode_texts
from ...data.normalization import prepared
from ...data.opening import read_small
from ...errors import CheckpointError
from ...text.ngrams import NgramIndex
from ...text.vocabulary import OpenVocabulary, Subwords, Vocabulary
from ...text.words import HashedNgrams, WordNgrams

__all__ = ["ABOUT", "FORMAT", "OnnxReader"]

ABOUT = "export.json"
FORMAT = "sentimodels.export.onnx/1"
_SUBWORDS = "tokenizer.json"
_VOCABULARIES: dict[str, type[OpenVocabulary | WordNgrams | HashedNgrams]] = {
    "open-vocabulary.json": OpenVocabulary,
    "words.json": WordNgrams,
    "hashed-ngrams.json": HashedNgrams,
}


@dataclass(frozen=True)
class OnnxReader:
    """An exported folder, less its graph.

    Attributes:
        vocabulary: from texts to ids.
        ngrams: rows of character n-grams, where the graph composes unknown words.
        about: `export.json`.
    """

    vocabulary: Vocabulary
    ngrams: NgramIndex | None
    about: dict[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Reads a folder that `senti export --onnx` wrote.

        Raises:
            CheckpointError: if it is none.
        """
        folder = Path(folder)
        try:
            about = json.loads(read_small(folder / ABOUT))
            if about["format"] != FORMAT:
                raise CheckpointError(f"{folder / ABOUT}: format {about['format']!r}, expected {FORMAT!r}")
            vocabulary: Vocabulary
            if (name := about["vocabulary"]) == _SUBWORDS:
                vocabulary = Subwords(Tokenizer.from_file(folder / name))
            else:
                vocabulary = _VOCABULARIES[name].from_bytes((folder / name).read_bytes())
            ngrams, texts = None, vocabulary.token_texts
            if about["composes"] is not None and texts is not None:
                low, high = about["composes"]["char_ngrams"]
                ngrams = NgramIndex.of(texts, (low, high), about["composes"]["char_buckets"])
            return cls(vocabulary, ngrams, about)
        except (OSError, RecursionError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(f"{folder}: no folder of senti export --onnx: {error}") from error

    @property
    def labels(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return list(self.about["labels"])

    def feed(self, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Returns the inputs of the graph for some texts, at least one."""
        # Exports of versions without `normalize` read texts as they are.
        normalized, lowercase = self.about.get("normalize", False), self.about["lowercase"]
        read = [prepared(text, normalized=normalized, lowercase=lowercase) for text in texts]
        reader = self.vocabulary.reader()
        if not self.vocabulary.in_order:
            return _counted(reader.encode_batch(read))
        encoded = encode_texts(
            read, reader, self.about["max_tokens"], self.about["long"],
            stride=self.about.get("stride", 0), pad_id=self.vocabulary.pad_id,
        )  # fmt: skip
        feed = self._padded(replace(encoded, unknown=tuple(reader.unknown)))
        return feed | ({"windows": _windows(encoded)} if self.about["long"] == "windows" else {})

    def _padded(self, encoded: Encoded) -> dict[str, NDArray[Any]]:
        lengths, n_ids = encoded.lengths, self.vocabulary.vocab_size
        mask = np.arange(int(lengths.max())) < lengths[:, None]
        ids = np.full(mask.shape, encoded.pad_id, np.int64)
        ids[mask] = encoded.ids
        if self.ngrams is None:  # an unknown word is nothing
            return {"input_ids": np.where(ids < n_ids, ids, encoded.pad_id), "mask": mask}
        table = self.ngrams.extended(encoded.unknown)
        counts = np.diff(table.starts[n_ids:])
        # At least one row and one column, which nothing points to.
        rows = np.full((max(1, len(counts)), max(1, int(counts.max(initial=0)))), -1, np.int64)
        rows[: len(counts)][np.arange(rows.shape[1]) < counts[:, None]] = table.rows[table.starts[n_ids] :]
        return {"input_ids": ids, "mask": mask, "unknown_ngrams": rows}

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the calibrated probabilities (n, n_classes) of logits.

        `answers` turns them into labels.
        """
        cooled = logits.astype(np.float64) / np.asarray(self.about["temperature"])
        if self.about.get("several"):  # each label alone; a clip keeps exp within its range
            alone: NDArray[np.float32] = (1 / (1 + np.exp(-np.clip(cooled, -700, 700)))).astype(np.float32)
            return alone
        shares = np.exp(cooled - cooled.max(1, keepdims=True))
        result: NDArray[np.float32] = (shares / shares.sum(1, keepdims=True)).astype(np.float32)
        return result

    def answers(self, probs: NDArray[np.float32], unsure: Any = None) -> list[Any]:
        """Returns the label of each row of probabilities; of several labels a text, the list of its labels.

        The thresholds of the run decide, if it has any; without an answer a text gets `unsure`.
        """
        labels, own = self.labels, self.about.get("thresholds")
        if self.about.get("several"):
            least = np.array(own["least"]) if own else 0.5
            return [[labels[place] for place in np.flatnonzero(row)] for row in probs >= least]
        places = probs.argmax(1)
        if own and own["costs"]:  # a last column is what no answer costs
            places = (probs.astype(np.float64) @ np.array(own["costs"])).argmin(1)
        sure = (probs.max(1, initial=0) >= (own["least"][0] if own else 0)) & (places < len(labels))
        return [labels[place] if ok else unsure for place, ok in zip(places, sure, strict=True)]


def _counted(rows: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Returns the distinct ids of each row and how often each occurs, as the inputs of a bag."""
    found = [np.unique(rows[place], return_counts=True) for place in range(len(rows))]
    width = max(1, *(len(ids) for ids, _ in found))
    feed: dict[str, NDArray[Any]] = {
        "input_ids": np.zeros((len(found), width), np.int64),
        "counts": np.zeros((len(found), width), np.float32),
    }
    for place, (ids, counts) in enumerate(found):
        feed["input_ids"][place, : len(ids)], feed["counts"][place, : len(ids)] = ids, counts
    return feed


def _windows(encoded: Encoded) -> NDArray[np.int64]:
    """Returns the rows of each text, -1 after the last."""
    n_rows = np.bincount(encoded.text_of_row, minlength=encoded.n_texts)
    first = np.cumsum(n_rows) - n_rows
    place = np.arange(int(n_rows.max()))
    windows: NDArray[np.int64] = np.where(place < n_rows[:, None], first[:, None] + place, -1)
    return windows
