"""`export_numpy`: a run as a folder that numpy and sentitok answer from.

| file | holds |
|---|---|
| `classifier.py` | the reader, with the class `Classifier` |
| `classifier.json` | labels, temperature, how texts are read and scored, how the folder was checked |
| `model.safetensors` | weights in the form that the reader scores with |
| `words.json`, `hashed-ngrams.json`, `open-vocabulary.json` or `tokenizer.json` | the vocabulary of the run |

The folder answers real texts before it is handed out, by its own reader; where a probability is off by more
than the tolerance, or a label differs, there is no folder.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Tensor, nn

from sentitok.atomic import write as write_atomically

from ...classifier import Classifier
from ...config import RunConfig
from ...data.normalization import ALONE, normalization_rules
from ...errors import ConfigError
from ...models import ARCHITECTURES, architecture
from ...models.cnn import Cnn
from ...nn.bag import IsLinear
from ...nn.class_head import SequenceClassifier
from ...nn.embedding import NgramEmbedding
from ...runs.directory import manifest_hash, to_json, versions
from ...text.words import WORD
from ..comparison import checked_folder, compare, thresholds_of

__all__ = ["FORMAT", "TOLERANCE", "about_of", "answers_of", "export_numpy", "refuse", "scored"]

FORMAT = "sentimodels.export.numpy/1"
READER = "classifier.py"
# By how much a probability may differ.
TOLERANCE = 1e-6
# The class of the reader for each file of a vocabulary.
_SCORERS = {
    "words.json": "NgramBag",
    "hashed-ngrams.json": "HashedBag",
    "open-vocabulary.json": "Convolutions",
    "tokenizer.json": "Convolutions",
}
# Further parts of the reader that a class needs.
_NEEDS = {"NgramBag": ("Bag",), "HashedBag": ("Bag",), "Convolutions": ()}


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
        settings, tensors = scored(classifier)
        about = {**about_of(classifier, run), **settings}
        classifier.encoder.save(made)
        write_atomically(made / READER, _reader(about["scorer"]).encode())
        write_atomically(made / "model.safetensors", save(tensors))
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
    """Returns the fields that the reader needs of any run, and where the folder is from."""
    encoder = classifier.encoder
    return {
        "format": FORMAT,
        "arch": classifier.config.arch,
        "labels": list(classifier.labels.names),
        **({"several": True} if classifier.labels.several else {}),
        "temperature": classifier.temperature,
        **thresholds_of(classifier),
        "vocabulary": encoder.file_name,
        "scorer": _SCORERS[encoder.file_name],
        "normalize": encoder.normalized,
        "lowercase": encoder.lowercase,
        **normalization_rules(),
        "run_manifest_sha256": manifest_hash(run),
        "versions": versions(),
    }


def scored(classifier: Classifier) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the settings and the tensors that the reader scores with."""
    module = classifier.module
    with torch.no_grad():
        if isinstance(module, IsLinear):
            bag = module.linear()
            settings = {"word": WORD, "alone": f"[{ALONE}]", "counts": bag.counts, "length": bag.length}
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
        "pad_id": encoder.pad_id,
        "max_tokens": data.max_tokens,
        "long": data.long,
        "stride": data.stride,
        "pooling": backbone.config.pooling,
        "head": backbone.config.head,
        "kernels": len(backbone.convolutions),
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
        tensors |= {"grams": embedding.gram_weight, "buckets": torch.from_numpy(index.buckets)}
        settings |= {"char_ngrams": list(index.char_ngrams), "char_buckets": index.n_buckets}
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
        tensors["pooling"] = module.head.pooling.score.weight
    if module.head.cut_points is not None:
        tensors["cuts"] = module.head.cut_points.cuts()
    layers = [part for part in module.head.network if isinstance(part, nn.Linear)]
    settings["layers"] = len(layers)
    for number, layer in enumerate(layers):
        tensors[f"head.{number}"], tensors[f"head_bias.{number}"] = layer.weight, layer.bias
    return settings, {name: value.detach() for name, value in tensors.items()}


def _reader(scorer: str) -> str:
    """Returns the reader's source, without the classes that other vocabularies need."""
    source = (Path(__file__).parent / READER).read_text("utf-8")
    for name in {*_NEEDS, "Bag"} - {scorer, *_NEEDS[scorer]}:
        source = re.sub(rf"^class {name}\b.*?^(?=\S)", "", source, count=1, flags=re.M | re.S)
    return source


def answers_of(folder: Path) -> Callable[[list[str]], Any]:
    """Returns the answers of a folder, by its own reader."""
    # Not imported: that would leave a `__pycache__` among the files that are handed out.
    reader = run_path(str(folder / READER))
    answer: Callable[[list[str]], Any] = reader["Classifier"](folder).predict_proba
    return answer
