"""Bags of n-grams taken apart exactly: an n-gram adds its weight times its value.

The value is that within its text, whose length it is divided by; so the parts of all n-grams and the
bias are the logits. An n-gram that occurs several times has its part shared by its places, and a place
by the words it covers, so that the parts of the words sum up too. What `Tfidf`, `NaiveBayes` and `Bow`
do with ids is said once more here, feature by feature; tests hold the two together.
"""

from collections import defaultdict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..classifier import Classifier
from ..errors import DataError
from ..models.bow import Bow
from ..models.nb import NaiveBayes
from ..models.tfidf import Tfidf
from ..text.reading import ReadToken, read_tokens
from .attribution import Attribution, Feature, scores_of
from .occurrences import Occurrence, occurrences

__all__ = ["attribute_bag", "is_bag"]


def is_bag(module: nn.Module) -> bool:
    """Whether a model is a bag of n-grams."""
    return isinstance(module, Tfidf | NaiveBayes | Bow)


def attribute_bag(classifier: Classifier, text: str) -> Attribution:
    """Returns what each word adds to the score of each class; see `attribute`."""
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
    each = scores_of(parts.cpu().numpy(), classifier.temperature)
    effects = np.zeros((len(tokens), len(bias)))
    for id, part in zip(ids.tolist(), each, strict=True):
        for one in places[id]:
            effects[one.begin : one.end] += part / len(places[id]) / (one.end - one.begin)
    logits = classifier.predict_logits([text])
    return Attribution(
        tokens=tokens,
        probs=classifier.calibrated(logits)[0],
        scores=scores_of(logits[0], classifier.temperature),
        baseline=scores_of(bias.detach().cpu().numpy(), classifier.temperature),
        effects=effects,
        method="linear",
        features=_features(ids.tolist(), places, each, tokens),
    )


def _features(
    ids: list[int], places: dict[int, list[Occurrence]], each: NDArray[np.float64], tokens: list[ReadToken]
) -> list[Feature]:
    """Returns the n-grams; those that read alike and stand in the same places are one."""
    parts: dict[tuple[str, tuple[tuple[int, int], ...]], list[NDArray[np.float64]]] = defaultdict(list)
    for id, part in zip(ids, each, strict=True):
        where = tuple((tokens[one.begin].start, tokens[one.end - 1].end) for one in places[id])
        parts[places[id][0].text, where].append(part)
    made = [Feature(text, list(where), np.sum(some, axis=0)) for (text, where), some in parts.items()]
    return sorted(made, key=lambda feature: -float(np.abs(feature.effects).max()))


def _parts(module: nn.Module, ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what each feature of a text adds to the logits (n, C), and the bias (C,)."""
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
    raise TypeError(f"{type(module).__name__} is no bag of n-grams")


def _vectors(module: Bow, ids: Tensor) -> Tensor:
    """Returns the vector (n, D) of each id: its own, and the scaled sum of its n-grams'."""
    vectors = [
        module.weight[id] + (own.sum(0) / max(1, len(own)) ** 0.5)
        for id in ids.tolist()
        for own in [module.weight[module.grams[module.gram_starts[id] : module.gram_starts[id + 1]]]]
    ]
    return torch.stack(vectors) if vectors else module.weight[ids]
