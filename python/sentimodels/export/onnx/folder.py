"""`export_onnx`: a run as a folder with `model.onnx`, the files that turn texts into its inputs, and facts.

| file | holds |
|---|---|
| `model.onnx` | the graph: `input_ids`, `mask` and what else `reader.py` names to `logits`, of any size |
| `tokenizer.json`, `open-vocabulary.json`, `words.json` or `hashed-ngrams.json` | what turns texts into ids |
| `export.json` | labels, temperature, lengths, the hash of the run, and how the graph was checked |

The graph answers real texts before it is handed out, by the folder's own files and onnxruntime; where a
probability is off by more than the tolerance, or a label differs, there is no folder.
"""

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sentitok.atomic import write as write_atomically

from ...classifier import Classifier
from ...data.label_sets import JSON, labels_kind
from ...data.table import as_sets
from ...errors import ConfigError
from ...evaluation import answers as evaluation_answers
from ...runs.directory import manifest_hash, to_json, versions
from ..comparison import checked_folder, compare, thresholds_of
from .graph import portable, refuse
from .reader import ABOUT, FORMAT, OnnxReader

__all__ = ["OPSET", "TOLERANCE", "export_onnx", "refuse"]

GRAPH = "model.onnx"
# The oldest set of operators that has all: any ONNX runtime reads it.
OPSET = 18
# By how much a probability may differ.
TOLERANCE = 1e-4
_NEEDED = ("onnx", "onnxscript", "onnxruntime")


def export_onnx(
    run: Path,
    folder: Path,
    texts: Sequence[str],
    tolerance: float = TOLERANCE,
    *,
    replace: bool = False,
    windows: bool = False,
    int8: bool = False,
    labels: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Writes a run as ONNX, compared with the run on texts.

    Args:
        run: the run directory.
        folder: where to; it must not exist, unless its files are to be replaced.
        texts: real texts to compare on.
        tolerance: by how much a probability may differ.
        replace: replace the files of an earlier export.
        windows: read long texts in windows, whatever the run was trained with.
        int8: hold the weights of matrices, tables and LSTMs in 8 bits, once the graph has been compared. Such
            a graph answers a little differently; `export.json` says how much, and how fast it is.
        labels: of the texts, to say what 8 bits cost in accuracy; labels unknown to the run are passed
            over.

    Returns:
        What `export.json` holds.

    Raises:
        ConfigError: if the model is not exported, or the extra is missing.
        CheckpointError: if the folder exists.
        ExportError: if the answers of the graph differ from those of the run.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise ConfigError(
            f'--onnx: it needs {", ".join(missing)}; install the extra: pip install "sentitok[onnx]"'
        )
    with checked_folder(folder, texts, replace=replace) as made:
        classifier = Classifier.load(run, windows=windows)
        refuse(classifier.config)
        about = _about(classifier, run)
        write_atomically(made / ABOUT, to_json(about))
        classifier.encoder.save(made)
        _write_graph(classifier, OnnxReader.load(made), texts, made / GRAPH)
        about["compared"] = compare(classifier, answers_of(made), texts, tolerance)
        if int8:
            about["int8"] = _quantize(made, texts, labels)
        write_atomically(made / ABOUT, to_json(about))
    return about


def _about(classifier: Classifier, run: Path) -> dict[str, Any]:
    encoder, config = classifier.encoder, classifier.config
    composes = None
    given = encoder.char_ngrams
    if encoder.ngrams is not None and given is not None and encoder.file_name != "tokenizer.json":
        composes = {"char_ngrams": list(encoder.ngrams.char_ngrams), "char_buckets": given.char_buckets}
    return {
        "format": FORMAT,
        "arch": config.arch,
        "labels": list(classifier.labels.names),
        **({"several": True} if classifier.labels.several else {}),
        **({"ordered": True} if classifier.labels.ordered else {}),
        "temperature": classifier.temperature,
        **thresholds_of(classifier),
        "vocabulary": encoder.file_name,
        "normalize": encoder.normalized,
        "lowercase": encoder.lowercase,
        "max_tokens": encoder.data.max_tokens,
        "long": encoder.data.long,
        "stride": encoder.data.stride,
        "pad_id": encoder.pad_id,
        "n_ids": encoder.vocab_size,
        "composes": composes,
        "opset": OPSET,
        "run_manifest_sha256": manifest_hash(run),
        "versions": versions(),
    }


# Tokens that a network is traced with, if it reads as many: several chunks of the scan of `mamba`, because a
# graph that was traced with one chunk reads no more than one.
_TRACED = 130


def _write_graph(classifier: Classifier, reader: OnnxReader, texts: Sequence[str], path: Path) -> None:
    """Traces the model on a few texts, of several lengths where there are some."""
    longest = sorted(texts, key=len)[-1]
    feed = reader.feed(["unheard-of words", longest, texts[0]])
    longest_row = reader.about["max_tokens"] if "mask" in feed else None
    traced = min(_TRACED, longest_row or 0)
    feed = {
        name: _grown(value, traced if name in ("input_ids", "mask") else 0) for name, value in feed.items()
    }
    rows, tokens = torch.export.Dim("rows", min=1), torch.export.Dim("tokens", min=1, max=longest_row)
    any_size = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    shapes: dict[str, Any] = {
        name: {0: rows, 1: tokens} for name in ("input_ids", "mask", "counts") if name in feed
    }
    given = {name: torch.from_numpy(value) for name, value in feed.items()}
    if "windows" in given:
        shapes["windows"] = any_size
    if "unknown_ngrams" in given:
        shapes["ngrams"] = {"unknown_ngrams": any_size}
        given["unknown_ngrams"] = given.pop("unknown_ngrams")  # what `**ngrams` takes comes last
    with warnings.catch_warnings(), torch.no_grad(), _quiet():
        # 2026-11: the exporter warns of its own deprecated code, which callers cannot change.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            portable(classifier),
            kwargs=given,
            dynamic_shapes=shapes,
            input_names=list(given),
            output_names=["logits"],
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    write_atomically(path, program.model_proto.SerializeToString())


@contextmanager
def _quiet(name: str = "torch.onnx") -> Iterator[None]:
    """Keeps the exporter from logging that torchvision is not installed, and the like."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _grown(value: NDArray[Any], columns: int) -> NDArray[Any]:
    """Returns an input of at least two rows and columns: one of anything is traced as a constant.

    Args:
        value: the input.
        columns: the least columns, if more.
    """
    least = (2, max(2, columns))
    sizes = zip(least, value.shape, strict=True)
    wide = np.pad(value, [(0, max(0, most - size)) for most, size in sizes], mode="edge")
    return np.ascontiguousarray(wide)


def answers_of(folder: Path) -> Callable[[list[str]], NDArray[np.float32]]:
    """Returns a function that answers texts with probabilities by the files of a folder."""
    import onnxruntime

    reader = OnnxReader.load(folder)
    session = onnxruntime.InferenceSession(str(folder / GRAPH), providers=["CPUExecutionProvider"])

    def answer(texts: list[str]) -> NDArray[np.float32]:
        [logits] = session.run(["logits"], reader.feed(texts))
        return reader.probabilities(logits)

    return answer


# Alternating passes over the texts, of which the fastest counts.
_PASSES = 3


def _quantize(folder: Path, texts: Sequence[str], labels: Sequence[str] | None) -> dict[str, Any]:
    """Puts a graph with weights of 8 bits in the place of the graph of a folder, and compares the two."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = answers_of(folder)
    size = (folder / GRAPH).stat().st_size
    small = folder / f"int8-{GRAPH}"
    with _quiet(""):
        quantize_dynamic(
            folder / GRAPH,
            small,
            weight_type=QuantType.QUInt8,
            op_types_to_quantize=["MatMul", "Gather", "LSTM"],
        )
    small.replace(folder / GRAPH)
    both = whole, answers_of(folder)
    seconds, answers = [float("inf")] * 2, [np.zeros((0, 0), np.float32)] * 2
    for _ in range(_PASSES):
        for place, answer in enumerate(both):
            began = time.process_time()
            answers[place] = np.concatenate(
                [answer(list(texts[i : i + 32])) for i in range(0, len(texts), 32)]
            )
            seconds[place] = min(seconds[place], time.process_time() - began)
    reader = OnnxReader.load(folder)
    named = labels_kind({**reader.about, "separator": JSON if reader.about.get("several") else None})
    decide = evaluation_answers.answers_of(named).decide
    found = [[named.cell(one) for one in decide(probs)] for probs in answers]
    # Of several labels a text, sets are compared, of labels that the run knows.
    rows = [(row, label) for row, label in enumerate(labels or ()) if label]
    known = [
        (row, label)
        for row, label in rows
        if set(as_sets([label])[0] if named.several else [label]) <= set(named)
    ]
    right = [sum(one[row] == label for row, label in known) / len(known) if known else None for one in found]
    return {
        "texts": len(texts),
        "labels_differ": sum(a != b for a, b in zip(*found, strict=True)),
        "worst": float(np.abs(answers[0] - answers[1]).max()),
        "rows_with_label": len(known),
        "accuracy": right[1],
        "accuracy_before": right[0],
        "times_as_fast": seconds[0] / seconds[1],
        "bytes": (folder / GRAPH).stat().st_size,
        "bytes_before": size,
    }
