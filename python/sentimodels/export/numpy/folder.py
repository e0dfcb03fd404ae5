"""`export_numpy`: a run as a folder that numpy and sentitok answer from.

| file | holds |
|---|---|
| `classifier.py` | the reader, with the class `Classifier` |
| `classifier.json` | labels, temperature, how texts are read and scored, how the folder was checked |
| `model.safetensors` | weights in the form that the reader scores with |
| `vocabulary.json` | the words or n-grams of the run; the place of one is its id |
| `tokenizer.json` | the tokenizer of a run of subwords |

What a run alone decides is computed here, so that the reader is short: factors are folded into one table of
weights, known words are hashed, and `source.py` leaves out of the reader what the run does not use.

The folder answers real texts before it is handed out, by its own reader; where a probability is off by more
than the tolerance, or a label differs, there is no folder.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor, nn

from sentitok import Tokenizer
from sentitok.atomic import write as write_atomically

from ...classifier import Classifier
from ...config import RunConfig
from ...data.normalization import normalization_rules
from ...errors import ConfigError
from ...models import ARCHITECTURES, architecture
from ...models.cnn import Cnn
from ...nn.bag import IsLinear
from ...nn.class_head import SequenceClassifier
from ...nn.embedding import NgramEmbedding
from ...runs.directory import manifest_hash, to_json, versions
from ...text.ngrams import hash_texts
from ...text.vocabulary import OpenVocabulary
from ...text.words import WORD, HashedNgrams, NgramConfig, WordNgrams
from ..comparison import checked_folder, compare, thresholds_of
from .source import reader_source

__all__ = ["FORMAT", "TOLERANCE", "about_of", "answers_of", "export_numpy", "refuse", "scored"]

FORMAT = "sentimodels.export.numpy/2"
READER = "classifier.py"
# By how much a probability may differ.
TOLERANCE = 1e-6
# How the reader scores the texts of each file of a vocabulary.
_KINDS = {
    "words.json": "ngrams",
    "hashed-ngrams.json": "hashes",
    "open-vocabulary.json": "convolutions",
    "tokenizer.json": "convolutions",
}


def export_numpy(
    run: Path,
    folder: Path,
    texts: Sequence[str],
    tolerance: float = TOLERANCE,
    *,
    replace: bool = False,
    windows: bool = False,
) -> dict[str, Any]:
    """Writes a run for numpy, compared with the run on texts.

    Args:
        run: the run directory.
        folder: where to; it must not exist, unless its files are to be replaced.
        texts: real texts to compare on.
        tolerance: by how much a probability may differ.
        replace: replace the files of an earlier export.
        windows: read long texts in windows, whatever the run was trained with.

    Returns:
        What `classifier.json` holds.

    Raises:
        ConfigError: if the reader has no such model.
        CheckpointError: if the folder exists.
        ExportError: if the answers of the folder differ from those of the run.
    """
    with checked_folder(folder, texts, replace=replace) as made:
        classifier = Classifier.load(run, windows=windows)
        refuse(classifier.config)
        about, tensors, vocabulary = _folded(classifier)
        about = {**about_of(classifier, run), **about}
        source = (Path(__file__).parent / READER).read_text("utf-8")
        reader = reader_source(source, _options(classifier, about, tensors))
        if isinstance(classifier.encoder.encoder, Tokenizer):
            classifier.encoder.save(made)
        write_atomically(made / READER, reader.encode())
        write_atomically(made / "model.safetensors", save(tensors))
        write_atomically(made / "vocabulary.json", json.dumps(vocabulary, indent=0).encode())
        write_atomically(made / "classifier.json", to_json(about))
        about["compared"] = compare(classifier, answers_of(made), texts, tolerance)
        write_atomically(made / "classifier.json", to_json(about))
    return about


def refuse(config: RunConfig) -> None:
    """Refuses a run that the reader has no model for.

    Raises:
        ConfigError: naming the architecture, and the ones that can be exported.
    """
    if not architecture(config.arch).in_numpy:
        known = ", ".join(name for name, row in ARCHITECTURES.items() if row.in_numpy)
        raise ConfigError(
            f"arch {config.arch}: the numpy export does not hold it; it holds {known}; senti export --onnx "
            "holds other networks"
        )


def about_of(classifier: Classifier, run: Path) -> dict[str, Any]:
    """Returns what a reader needs of any run, and where the folder is from."""
    encoder = classifier.encoder
    return {
        "format": FORMAT,
        "arch": classifier.config.arch,
        "labels": list(classifier.labels.names),
        "several": classifier.labels.several,
        "temperature": classifier.temperature,
        **thresholds_of(classifier),
        "normalize": encoder.normalized,
        "lowercase": encoder.lowercase,
        **normalization_rules(),
        "run_manifest_sha256": manifest_hash(run),
        "versions": versions(),
    }


def _options(classifier: Classifier, about: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, object]:
    """Returns the options of the reader."""
    return {
        "KIND": _KINDS[classifier.encoder.file_name],
        "NORMALIZE": about["normalize"],
        "LOWERCASE": about["lowercase"],
        "OWN_WORDS": about["token_pattern"] is not None,
        "CHARS": "char_ngrams" in about,
        "ENDS": about.get("ends", False),
        "SUBWORDS": isinstance(classifier.encoder.encoder, Tokenizer),
        "SEVERAL": about["several"],
        "ORDERED": "cuts" in tensors,
        "COSTS": about["costs"] is not None,
        "COUNTS": about.get("counts"),
        "LENGTH": about.get("length") != "none",
        "LONG": about.get("long"),
        "POOLING": about.get("pooling"),
        "HEAD": about.get("head"),
    }


def _folded(classifier: Classifier) -> tuple[dict[str, Any], dict[str, Tensor], list[str]]:
    """Returns the settings, the tensors and the vocabulary that the reader scores with."""
    settings, tensors = scored(classifier)
    encoder, own = classifier.encoder.encoder, classifier.thresholds
    least = [classifier.answers.least] * len(classifier.labels) if own is None else [*own.least]
    settings |= {"least": least, "costs": None, "words": {"pattern": WORD}, "token_pattern": None}
    if not classifier.labels.several:
        costs = None if own is None else own.costs
        settings |= {"least": 0.0 if own is None else least[0], "costs": costs}
    vocabulary: list[str] = []
    if isinstance(classifier.module, IsLinear):
        # The factor of an n-gram goes into its weights, and into what it adds to the length. Id 0 is none.
        scale = tensors.pop("scale")
        scale[0] = 0
        tensors["table"] = tensors["table"] * scale[:, None]
        tensors["square"] = scale.square()
    if isinstance(encoder, WordNgrams):
        vocabulary = ["", *encoder.ngrams]
        settings |= _ngrams_of(encoder.config, encoder.ngrams)
    elif isinstance(encoder, HashedNgrams):
        vocabulary = ["\n", *encoder.words]
        settings |= {
            "word_ngrams": encoder.word_ngrams,
            "n_buckets": encoder.n_buckets,
            "token_pattern": encoder.pattern,
            "lowercase": encoder.lowercase,
            **_chars(encoder.char_ngrams),
        }
        # The last hash is read for unknown words, which are in no n-gram.
        hashes = np.append(hash_texts(["", *encoder.words]), np.uint64(0)).view(np.int64)
        tensors |= {"hashes": torch.from_numpy(hashes), "buckets": _ended(encoder.buckets, encoder.n_buckets)}
        # The last column sums up to the squared length of a text, the last row is that of unknown n-grams.
        table = torch.column_stack([tensors["table"], tensors.pop("square")])
        tensors["table"] = torch.cat([table, torch.zeros_like(table[:1])])
    elif isinstance(encoder, OpenVocabulary):
        vocabulary = encoder.token_texts
        if encoder.pre_tokenizer is not None:
            settings["words"] = {"name": encoder.pre_tokenizer}
        settings["pad"] = ""
    if (cuts := tensors.get("cuts")) is not None:
        tensors["cuts"] = _intervals(cuts)
    return settings, tensors, vocabulary


def _ngrams_of(config: NgramConfig, ngrams: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of n-grams that are looked up by their text."""
    low, high = config.ngram_range
    # N-grams longer than `high` are runs of characters alone, so the lookup of others finds nothing.
    longest = max((ngram.count(" ") + 1 for ngram in ngrams), default=high)
    return {
        "word_ngrams": [low, min(longest, max(high, config.char_run))],
        "ends": config.ends,
        "token_pattern": config.token_pattern,
        "lowercase": config.lowercase,
        **_chars(config.char_ngrams),
    }


def _chars(sizes: tuple[int, int]) -> dict[str, Any]:
    """Returns the setting of the shortest and longest n-grams of characters, if a run has any."""
    return {} if sizes == (0, 0) else {"char_ngrams": [*sizes]}


def _ended(buckets: NDArray[Any], n_buckets: int) -> Tensor:
    """Returns rising buckets with one more above all, so that each one has a next."""
    return torch.from_numpy(np.append(buckets, n_buckets).astype(np.int64))


def _intervals(cuts: Tensor) -> Tensor:
    """Returns of each ordered label the cut point above it, the one below, and the log of 1 - e^-width."""
    ends = torch.full((1,), torch.inf)
    above, below = torch.cat([cuts, ends]), torch.cat([-ends, cuts])
    return torch.stack([above, below, torch.log(-torch.expm1(below - above))])


def scored(classifier: Classifier) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the settings and the tensors that the reader scores with."""
    module = classifier.module
    with torch.no_grad():
        if isinstance(module, IsLinear):
            bag = module.linear()
            settings = {"counts": bag.counts, "length": bag.length}
            tensors = {"table": bag.table, "scale": bag.scale, "bias": bag.bias}
            if bag.cuts is not None:
                tensors["cuts"] = bag.cuts
        else:
            assert isinstance(module, SequenceClassifier)
            settings, tensors = _convolutions(classifier, module)
    return settings, {name: value.float().contiguous().clone() if value.is_floating_point() else value
                      for name, value in tensors.items()}  # fmt: skip


def _convolutions(
    classifier: Classifier, module: SequenceClassifier
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the table that scores a `cnn`: vectors of all known tokens with their n-grams added up."""
    backbone, encoder, data = module.backbone, classifier.encoder, classifier.encoder.data
    assert isinstance(backbone, Cnn)
    settings: dict[str, Any] = {
        "pad": encoder.pad_id,
        "max_tokens": data.max_tokens,
        "long": data.long,
        "stride": data.stride,
        "pooling": backbone.config.pooling,
        "head": backbone.config.head,
        "kernels": len(backbone.convolutions),
        "gap": max(backbone.config.kernels) - 1,
    }
    channels: list[Tensor] = []
    tensors: dict[str, Tensor] = {}
    embedding, index = backbone.embedding, encoder.ngrams
    if isinstance(embedding, NgramEmbedding):
        assert index is not None
        table = index.table
        starts, rows = torch.from_numpy(table.starts), torch.from_numpy(table.rows)
        channels.append(
            embedding.weight + F.embedding_bag(rows, embedding.gram_weight, starts[:-1], mode="mean")
        )
        tensors |= {"grams": embedding.gram_weight, "buckets": _ended(index.buckets, index.n_buckets)}
        settings |= {"char_ngrams": list(index.char_ngrams), "n_buckets": index.n_buckets}
    elif embedding is not None:
        channels.append(embedding.weight)
    if backbone.static is not None:
        channels.append(backbone.static.vectors)
    tensors["table"] = torch.cat(channels, 1)
    for number, convolution in enumerate(backbone.convolutions):
        assert isinstance(convolution, nn.Conv1d)
        assert convolution.bias is not None
        # (filters, width, size) as one (width, filters) for each place of the window.
        tensors[f"kernel.{number}"] = convolution.weight.permute(2, 1, 0)
        tensors[f"kernel_bias.{number}"] = convolution.bias
    if backbone.config.pooling == "attention":
        tensors["pooling"] = module.head.pooling.score.weight[0]
    if module.head.cut_points is not None:
        tensors["cuts"] = module.head.cut_points.cuts()
    layers = [part for part in module.head.network if isinstance(part, nn.Linear)]
    for name, layer in zip(("head", "hidden"), reversed(layers), strict=False):
        tensors[name], tensors[f"{name}_bias"] = layer.weight, layer.bias
    return settings, {name: value.detach() for name, value in tensors.items()}


def answers_of(folder: Path) -> Callable[[list[str]], Any]:
    """Returns the answers of a folder, by its own reader."""
    # Not imported: that would leave a `__pycache__` among the files that are handed out.
    reader = run_path(str(folder / READER))
    answer: Callable[[list[str]], Any] = reader["Classifier"](folder).predict_proba
    return answer
