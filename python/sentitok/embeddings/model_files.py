"""`Model`: the files of a model, the tables in them that have a row for each token, and its settings.

A model is a file of safetensors, or a folder with `model.safetensors`, or with `model.safetensors.index.json`
and the parts that it names, as transformers writes them. A run directory of `senti` is such a folder too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._sentitok import FormatError
from ..messages import shown
from ..pretrained.settings import object_of
from .tensor_files import FLOATS, Tensor, TensorFile

__all__ = ["CONFIG", "INDEX", "WEIGHTS", "Model", "Table", "tables_of"]

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
CONFIG = "config.json"
_PICKLES = ("*.bin", "*.pt", "*.pth")
# Ends of the names of embeddings, and models that have them.
_EMBEDDINGS = (
    "embed_tokens.weight",  # Llama, Mistral, Qwen, Gemma, Phi, OPT, BART, Whisper
    "wte.weight",  # GPT-2, GPT-J, MPT, OLMo
    "word_embeddings.weight",  # BERT, RoBERTa, ALBERT, ELECTRA, BLOOM, Falcon
    "embed_in.weight",  # GPT-NeoX, Pythia
    "shared.weight",  # T5, BART
    "tok_embeddings.weight",  # Llama as Meta writes it, InternLM, ModernBERT
    "token_embedding.weight",  # CLIP
    "embedding.weight",  # Mamba, senti
    "embeddings.weight",  # Mamba of transformers, RWKV, XLM
    "emb.weight",  # RWKV
)
# The same for further tensors with a row per token.
_HEADS = (
    "embed_tokens_per_layer.weight",  # Gemma 3n
    "embed_out.weight",  # GPT-NeoX
    "lm_head.weight", "lm_head.bias",  # most causal models
    "lm_head.decoder.weight", "lm_head.decoder.bias",  # RoBERTa
    "predictions.decoder.weight", "predictions.decoder.bias", "predictions.bias",  # BERT, ALBERT
    "generator_lm_head.weight", "generator_lm_head.bias",  # ELECTRA
    "vocab_projector.weight", "vocab_projector.bias",  # DistilBERT
    "decoder.weight", "decoder.bias",  # ModernBERT
    "output.weight",  # Llama as Meta writes it, InternLM
    "output_layer.weight",  # ChatGLM
    "ff_out.weight",  # OLMo
    "head.weight", "head.bias",  # RWKV, senti
    "proj_out.weight",  # Whisper
    "final_logits_bias",  # BART, Marian
)  # fmt: skip
# A tensor of one layer among many: `h.0.mlp.c_fc.weight`.
_OF_LAYER = re.compile(r"(^|\.)\d+\.")
# Rows beyond the ids of the tokenizer that are padding: more are another tokenizer's.
_MOST_UNUSED = 1024


@dataclass(frozen=True)
class Table:
    """A tensor with a row, or a column, for each token.

    Attributes:
        file: its file.
        tensor: its place there.
        is_transposed: whether tokens are its columns.
    """

    file: TensorFile
    tensor: Tensor
    is_transposed: bool

    @property
    def n_rows(self) -> int:
        """Rows, or columns, that are of tokens."""
        return self.tensor.shape[-1 if self.is_transposed else 0]

    def shape(self, n_rows: int) -> tuple[int, ...]:
        """Returns its shape with another number of rows."""
        shape = self.tensor.shape
        return (*shape[:-1], n_rows) if self.is_transposed else (n_rows, *shape[1:])


class Model:
    """A model as it lies in files.

    Args:
        path: a file of safetensors, or a folder.

    Attributes:
        path: the path as given.
        folder: the folder; `None` of a file.
        files: the files of safetensors.
        index: the index of parts; empty without parts.
        config: config.json; empty without one.

    Raises:
        FormatError: if there are no weights, or a file is damaged.
        OSError: if a file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path if path.is_dir() else None
        self.index: dict[str, Any] = {}
        self.config: dict[str, Any] = {}
        if self.folder is None:
            if path.name.endswith(".index.json"):
                raise FormatError(f"{path} lists parts of a model; name its folder, {path.parent}")
            self.files = [TensorFile(path)]
            return
        self.config = object_of(path / CONFIG)
        names = [WEIGHTS]
        if not (path / WEIGHTS).is_file():  # as transformers: a whole file comes first
            self.index = object_of(path / INDEX)
            names = self._parts()
        self.files = [TensorFile(path / name) for name in names]
        for name, part in self.index.get("weight_map", {}).items():
            if name not in next(file for file in self.files if file.path.name == part).tensors:
                raise FormatError(
                    f"{path / part} has no tensor {shown(name)}, which {INDEX} names; copy it again"
                )

    def _parts(self) -> list[str]:
        if not self.index:
            pickles = sorted(file.name for kind in _PICKLES for file in self.path.glob(kind))
            if pickles:
                raise FormatError(
                    f"{self.path / pickles[0]} is a pickle, which can run code when it is opened, and is not "
                    "read; save the model as safetensors"
                )
            raise FormatError(
                f"{self.path}: no {WEIGHTS} and no {INDEX}; name the folder of a model, or its weights"
            )
        parts = self.index.get("weight_map")
        if not (isinstance(parts, dict) and parts and all(isinstance(part, str) for part in parts.values())):
            raise FormatError(f"{self.path / INDEX}: weight_map is to name the file of each tensor")
        for part in sorted(set(parts.values())):
            if Path(part).name != part:
                raise FormatError(f"{self.path / INDEX}: {shown(part)} is not a file of the folder")
        return sorted(set(parts.values()))


def tables_of(model: Model, n_ids: int, named: Sequence[str] | None) -> list[Table]:
    """Returns the tensors that have a row per token: by their names, else by their shape.

    Args:
        model: where they are.
        n_ids: ids of the tokenizer: the greatest and one.
        named: their names, if they are given.

    Raises:
        FormatError: if there are none, or it is not clear which they are; lists the candidates.
    """
    tensors = {tensor.name: (file, tensor) for file in model.files for tensor in file.tensors.values()}
    if named:
        found = [_table(*_there(model, tensors, name), n_ids) for name in named]
    else:
        found = _by_name(model, tensors, n_ids) or _by_shape(model, tensors, n_ids)
    for table in found:
        if table.tensor.dtype not in FLOATS:
            raise FormatError(
                f"{table.file.path}: {table.tensor.name} is {table.tensor.dtype}, and rows are made of "
                f"{', '.join(FLOATS)}; save the model in one of these"
            )
    return found


_Tensors = Mapping[str, tuple[TensorFile, Tensor]]


def _there(model: Model, tensors: _Tensors, name: str) -> tuple[TensorFile, Tensor]:
    if name not in tensors:
        some = ", ".join(sorted(tensors)[:4])
        raise FormatError(f"{model.path} has no tensor {shown(name)}; it has {some}, ...")
    return tensors[name]


def _table(file: TensorFile, tensor: Tensor, n_ids: int) -> Table:
    shape = tensor.shape
    table = Table(file, tensor, is_transposed=bool(shape) and shape[0] < n_ids <= shape[-1])
    if not shape or table.n_rows < n_ids:
        raise FormatError(
            f"{file.path}: {tensor.name} is {_sized(tensor)}, fewer than the {n_ids:,} ids of the old "
            "tokenizer: they do not belong together"
        )
    return table


def _by_name(model: Model, tensors: _Tensors, n_ids: int) -> list[Table]:
    """Returns embeddings and heads with names of known models; none, if there is no embedding."""
    embeddings = [
        (file, tensor) for name, (file, tensor) in tensors.items()
        if _ends(name, _EMBEDDINGS) and len(tensor.shape) == 2
    ]  # fmt: skip
    fitting = [(file, tensor) for file, tensor in embeddings if tensor.shape[0] >= n_ids]
    if embeddings and not fitting:
        _table(*max(embeddings, key=lambda one: one[1].shape[0]), n_ids)  # which refuses it
    if not fitting:
        return []
    for file, tensor in fitting:
        if tensor.shape[0] - n_ids > max(_MOST_UNUSED, n_ids // 10):
            raise FormatError(
                f"{file.path}: {tensor.name} has {tensor.shape[0]:,} rows for the {n_ids:,} ids of the old "
                f"tokenizer: is it the model's? If so, name the tensors: tensors=['{tensor.name}']"
            )
    found = [_table(file, tensor, n_ids) for file, tensor in fitting]
    sizes = {table.n_rows for table in found}
    strangers = []
    for name, (file, tensor) in tensors.items():
        if any(tensor is table.tensor for table in found) or not tensor.shape:
            continue
        if _OF_LAYER.search(name):
            continue
        if _ends(name, _HEADS) and max(tensor.shape[0], tensor.shape[-1]) >= n_ids:
            found.append(_table(file, tensor, n_ids))
        elif tensor.shape[0] in sizes:
            strangers.append(tensor)
    if strangers:
        raise _unclear(
            model, [*(table.tensor for table in found), *strangers],
            f"{strangers[0].name} has as many rows as {found[0].tensor.name}, and may have one per token",
        )  # fmt: skip
    return found


def _by_shape(model: Model, tensors: _Tensors, n_ids: int) -> list[Table]:
    """Returns the one table of unknown name that has a row per id."""
    found = [
        (file, tensor) for file, tensor in tensors.values()
        if tensor.shape and tensor.shape[0] == n_ids and not _OF_LAYER.search(tensor.name)
    ]  # fmt: skip
    if len(found) == 1 and len(found[0][1].shape) == 2:
        return [_table(*found[0], n_ids)]
    if found:
        raise _unclear(
            model, [tensor for _, tensor in found], f"no name is known, and {len(found)} have {n_ids:,} rows"
        )
    large = sorted((tensor for _, tensor in tensors.values() if tensor.shape), key=lambda one: -one.shape[0])
    raise _unclear(model, large[:4], f"no name is known, and none has {n_ids:,} rows")


def _unclear(model: Model, candidates: Sequence[Tensor], reason: str) -> FormatError:
    listed = ", ".join(f"{tensor.name} ({_sized(tensor)})" for tensor in candidates)
    return FormatError(
        f"{model.path}: which tensors have a row per token? {reason}; name each in tensors=[...]: {listed}"
    )


def _ends(name: str, ends: Sequence[str]) -> bool:
    return any(name == end or name.endswith(f".{end}") for end in ends)


def _sized(tensor: Tensor) -> str:
    return " x ".join(f"{size:,}" for size in tensor.shape)
