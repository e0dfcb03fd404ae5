"""Bags of n-grams taken apart exactly: an n-gram adds its weight times its value.

The value is that within its text, whose length it is divided by; so the parts of all n-grams and the
bias are the logits. An n-gram that occurs several times has its part shared by its places, and a place
by the words it covers, so that the parts of the words sum up too. What `Tfidf`, `NaiveBayes` and `Bow`
do with ids is said once more here, feature by feature; tests hold the two together.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..classifier import Classifier
from ..data.normalization import is_character
from ..errors import DataError
from ..models.bow import Bow
from ..models.nb import NaiveBayes
from ..models.tfidf import Tfidf
from ..nn.ordinal import CutPoints
from ..text.encoder import Encoder
from ..text.ngrams import ngrams
from ..text.reading import ReadToken, read_tokens
from ..text.words import _BEGIN, _CHARS, _END, HashedNgrams, WordNgrams
from .attribution import Attribution, Feature, scores_of

__all__ = ["Occurrence", "attribute_bag", "is_bag", "occurrences"]


@dataclass(frozen=True)
class Occurrence:
    """An n-gram at a place.

    Attributes:
        id: of the n-gram.
        text: a word, or characters with `…` where the word continues.
        begin: number of its first word.
        end: number after its last word.
    """

    id: int
    text: str
    begin: int
    end: int


def occurrences(encoder: Encoder, text: str) -> tuple[list[Occurrence], int]:
    """Returns the n-grams of a prepared text that a bag knows, and how many words the bag reads in it.

    The vocabularies (`text/words.py`, `text/ngrams.py`) know only which n-grams there are; finding
    their places would slow training. Tests hold the n-grams found here equal to theirs.
    """
    if isinstance(encoder, WordNgrams):
        words = encoder.cutter.cut(text.lower() if encoder.config.lowercase else text)
        sequences = _of_words(encoder, words)
        known = encoder._ids
        kept = [Occurrence(known[one], _named(one), *place) for one, *place in sequences if one in known]
        return kept, len(words)
    assert isinstance(encoder, HashedNgrams)
    pieces = encoder._pieces([text])
    return list(_of_hashes(encoder, pieces)), len(pieces) - 2  # less the two ends


def _of_words(encoder: WordNgrams, words: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yields what `WordNgrams._found` yields, and the words it covers."""
    config, n = encoder.config, len(words)
    low, high = config.ngram_range
    if low == 1:
        yield from ((word, place, place + 1) for place, word in enumerate(words))
    if config.char_ngrams != (0, 0):
        for place, word in enumerate(words):
            for part in ngrams(word, *config.char_ngrams):
                yield _CHARS + part, place, place + 1
    before = int(config.ends)
    padded = [_BEGIN, *words, _END] if config.ends else words
    if len(padded) > 2 or not config.ends:
        for size in range(max(low, 2), high + 1):
            for place in range(len(padded) - size + 1):
                yield " ".join(padded[place : place + size]), *_inside(place - before, size, n)
    if config.char_run > high:
        for alone, run in groupby(enumerate(padded), lambda pair: is_character(pair[1])):
            chars = list(run) if alone else []
            for size in range(high + 1, config.char_run + 1):
                for first in range(len(chars) - size + 1):
                    spelled = " ".join(char for _, char in chars[first : first + size])
                    yield spelled, *_inside(chars[first][0] - before, size, n)


def _inside(begin: int, size: int, n_words: int) -> tuple[int, int]:
    """Returns the words of a window that may reach over an end of the text."""
    return max(begin, 0), min(begin + size, n_words)


def _of_hashes(encoder: HashedNgrams, pieces: list[str]) -> Iterator[Occurrence]:
    ids, _ = encoder._located(pieces)
    # Each piece is replaced by its number, so that the result says where.
    here, n_words = np.arange(len(ids)), len(pieces) - 2
    for place in np.flatnonzero(ids > 0).tolist():
        yield Occurrence(int(ids[place]), pieces[place], place - 1, place)
    for size, (places, buckets) in enumerate(encoder._sequences(ids, here), 2):
        for place, id in zip(places.tolist(), encoder._id_of_bucket[buckets].tolist(), strict=True):
            if id:
                begin, end = _inside(place - 1, size, n_words)
                yield Occurrence(id, " ".join(pieces[begin + 1 : end + 1]), begin, end)
    for places, unknown in encoder._unknown(pieces, ids, here):
        for place, id in zip(places.tolist(), unknown.tolist(), strict=True):
            if id:
                yield Occurrence(id, f"…{pieces[place]}…", place - 1, place)


def _named(ngram: str) -> str:
    """Returns the readable form of an n-gram; the ends of a text are left out."""
    if ngram.startswith(_CHARS):
        inner = ngram.removeprefix(_CHARS)
        head, tail = "" if inner.startswith("<") else "…", "" if inner.endswith(">") else "…"
        return f"{head}{inner.removeprefix('<').removesuffix('>')}{tail}"
    return " ".join(word for word in ngram.split(" ") if word not in (_BEGIN, _END))


def is_bag(module: nn.Module) -> bool:
    """Whether a model is a bag of n-grams."""
    return isinstance(module, Tfidf | NaiveBayes | Bow)


def attribute_bag(classifier: Classifier, text: str) -> Attribution:
    """Returns the contribution of each word to the score of each class; see `attribute`."""
    encoder = classifier.encoder
    tokens, _ = read_tokens(encoder, text)
    ngrams, n_words = occurrences(encoder.encoder, encoder.prepare(text))
    if n_words != len(tokens):
        raise DataError("model.token_pattern finds words across lines, which cannot be taken apart")
    places: dict[int, list[Occurrence]] = defaultdict(list)
    for one in ngrams:
        places[one.id].append(one)
    ids = torch.tensor(sorted(places), dtype=torch.int64)
    counts = torch.tensor([len(places[id]) for id in ids.tolist()])
    with torch.inference_mode():
        parts, bias = _parts(classifier.module, ids, counts)
    several = classifier.labels.several
    cut_points = getattr(classifier.module, "cut_points", None)
    if cut_points is not None:
        parts, bias = _of_cuts(cut_points, parts, bias)
    each = scores_of(parts.cpu().numpy(), classifier.temperature, several=several)
    effects = np.zeros((len(tokens), len(bias)))
    for id, part in zip(ids.tolist(), each, strict=True):
        for one in places[id]:
            effects[one.begin : one.end] += part / len(places[id]) / (one.end - one.begin)
    logits = classifier.predict_logits([text])
    return Attribution(
        tokens=tokens,
        probs=classifier.calibrated(logits)[0],
        scores=scores_of(logits[0], classifier.temperature, several=several),
        baseline=scores_of(bias.detach().cpu().numpy(), classifier.temperature, several=several),
        effects=effects,
        method="linear",
        features=_features(ids.tolist(), places, each, tokens),
    )


def _features(
    ids: list[int], places: dict[int, list[Occurrence]], each: NDArray[np.float64], tokens: list[ReadToken]
) -> list[Feature]:
    """Returns the n-grams; n-grams with the same text and places are one."""
    parts: dict[tuple[str, tuple[tuple[int, int], ...]], list[NDArray[np.float64]]] = defaultdict(list)
    for id, part in zip(ids, each, strict=True):
        where = tuple((tokens[one.begin].start, tokens[one.end - 1].end) for one in places[id])
        parts[places[id][0].text, where].append(part)
    made = [Feature(text, list(where), np.sum(some, axis=0)) for (text, where), some in parts.items()]
    return sorted(made, key=lambda feature: -float(np.abs(feature.effects).max()))


def _parts(module: nn.Module, ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the contribution of each feature of a text to the logits (n, C), and the bias (C,)."""
    match module:
        case Tfidf():
            device = module.weight.device
            ids, tf = ids.to(device), counts.to(device, module.idf.dtype)
            value = (1 + tf.log() if module.config.sublinear_tf else tf) * module.idf[ids]
            value = value / value.square().sum().sqrt().clamp(min=torch.finfo(value.dtype).tiny)
            return value[:, None] * module.weight[ids], module.bias
        case NaiveBayes():
            ids = ids.to(module.weight.device)
            length = max(1, len(ids)) ** 0.5 if module.config.unit_length else 1.0
            return module.ratio[ids] * module.weight[ids] / length, module.bias
        case Bow():
            ids, times = ids.to(module.weight.device), counts.to(module.weight)
            value = times * module.scale[ids]
            length = (value * module.scale[ids]).sum().sqrt().clamp(min=1e-6)
            return (value / length)[:, None] * (
                _vectors(module, ids) @ module.head.weight.T
            ), module.head.bias
    raise TypeError(f"{type(module).__name__} is not a bag of n-grams")


def _of_cuts(cut_points: CutPoints, parts: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the contribution of each feature to log-probabilities (n, C) cut from one score, and the rest.

    The score is a sum, the log-probabilities are not linear in it: each part has the share of their change
    that it has of the score's. Those are its integrated gradients (Sundararajan et al. 2017).
    """
    with torch.inference_mode():
        total = parts.sum()
        before, after = cut_points(torch.stack((bias, bias + total))).double()
        if abs(float(total)) < _LEVEL:  # parts that cancel: the slope at the score, by a small step
            up, down = cut_points(torch.stack((bias + total + _STEP, bias + total - _STEP))).double()
            return parts * ((up - down) / (2 * _STEP)), before
        return parts * ((after - before) / total), before


# Scores as near as this are one; the step of a slope.
_LEVEL, _STEP = 1e-4, 1e-2


def _vectors(module: Bow, ids: Tensor) -> Tensor:
    """Returns the vector (n, D) of each id: its own, and the scaled sum of its n-grams'."""
    vectors = [
        module.weight[id] + (own.sum(0) / max(1, len(own)) ** 0.5)
        for id in ids.tolist()
        for own in [module.weight[module.grams[module.gram_starts[id] : module.gram_starts[id + 1]]]]
    ]
    return torch.stack(vectors) if vectors else module.weight[ids]
