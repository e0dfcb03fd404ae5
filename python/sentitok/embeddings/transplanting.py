"""`transplant`: the weights of a model under another tokenizer.

Only tensors that have a row per token change; the rest are copied, byte for byte and in blocks, so memory
is that of one table at most. The new folder is written under another name and renamed at the end.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._sentitok import FormatError, Tokenizer
from ..atomic import json_bytes, writing_folder
from ..messages import shown
from ..numbers import whole
from ..pretrained.settings import object_of
from .matching import Match, match
from .methods import AVERAGE, COMPOSED, COPIED, RANDOM, UNUSED, Plan, plan
from .model_files import CONFIG, INDEX, Model, Table, tables_of
from .rows import new_rows
from .tensor_files import Tensor, write_tensors

__all__ = ["NewTensor", "Transplant", "transplant"]

Progress = Callable[[str, int, int], object]

_GENERATION = "generation_config.json"
# Files of a folder that are not copied: those of the old tokenizer, and weights that stay as they were.
_TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tekken.json",
    "chat_template.jin*", "chat_template.json", "vocab.*", "merges.txt", "*.model", "*.tiktoken",
)  # fmt: skip
_OTHER_WEIGHTS = (
    "*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.onnx", "*.gguf", "*.pkl",
    "*.npz",
)  # fmt: skip
# Settings of a run of `senti`, which hold neither ids nor the size of the vocabulary.
_RUN = "config.toml"
# The file with hashes of the old files.
_HASHES = "manifest.json"
# Keys of settings that hold ids, alone or in lists.
_ID_KEYS = re.compile(r".*_token_(id|ids|index)|(begin_)?suppress_tokens|bad_words_ids")
_SIZE_KEYS = ("vocab_size", "vocab_size_per_layer_input")
_FINGERPRINT = re.compile(r'"tokenizer_sha256": *"([0-9a-f]{64})"')


@dataclass(frozen=True)
class NewTensor:
    """A tensor whose rows were made again.

    Attributes:
        name: its name.
        file: the file it is in.
        dtype: its type.
        old_shape: its shape before.
        new_shape: its shape now.
    """

    name: str
    file: str
    dtype: str
    old_shape: tuple[int, ...]
    new_shape: tuple[int, ...]


@dataclass(frozen=True)
class Transplant:
    """What `transplant` did.

    Attributes:
        folder: where the model is.
        files: the files written.
        method: how rows of new tokens were made.
        old_ids: ids of the old tokenizer.
        new_ids: ids of the new one.
        rows: rows of the new tables, padding included.
        copied: rows that are old ones.
        composed: rows that were made of several.
        filled: rows of tokens that nothing was known of: the mean of all rows, or random.
        unused: rows without a token.
        pieces: old rows that a composed one is made of, on average.
        filled_tokens: the tokens of `filled`.
        renamed: special tokens that have the row of one of another name: new name and old.
        tensors: the tensors that have new rows.
        notes: facts that a person should know or check.
        fingerprint: that of the new tokenizer.json.
    """

    folder: Path
    files: list[str]
    method: str
    old_ids: int
    new_ids: int
    rows: int
    copied: int
    composed: int
    filled: int
    unused: int
    pieces: float
    filled_tokens: list[str]
    renamed: dict[str, str]
    tensors: list[NewTensor]
    notes: list[str] = field(default_factory=list)
    fingerprint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, as JSON can hold them."""
        return {**asdict(self), "folder": str(self.folder)}


def transplant(
    old: Tokenizer | str | os.PathLike[str],
    new: Tokenizer | str | os.PathLike[str],
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    method: str = "pieces",
    tensors: Sequence[str] | None = None,
    token_map: Mapping[str, str] | None = None,
    pad_to_multiple: int = 1,
    seed: int = 0,
    replace: bool = False,
    progress: Progress | None = None,
) -> Transplant:
    """Writes a model with the rows that another tokenizer needs.

    Rows of tokens that both tokenizers have are copied; tokens are compared by their text,
    special tokens by their content or what they are for. Rows of other tokens are made by `method`. Every
    table gets as many rows as the new tokenizer has ids; all other tensors stay.

    Args:
        old: the tokenizer of the model, or its file or folder.
        new: the tokenizer that the model is to have.
        model: a file of safetensors, or a folder of a model with its config.json.
        out: the folder to write: weights, the new tokenizer, settings with the new ids, and other files of a
            folder.
        method: `"pieces"`, the mean of the rows of the token's pieces under the old tokenizer; `"first"`, the
            row of the first piece; `"nearest"`, the weighted mean of the eight old tokens that share most
            characters; `"average"`, the mean of all rows; `"random"`, drawn with mean and deviation of each
            column. Special tokens without a counterpart get the mean of all rows, or a random one.
        tensors: the names of all tensors with a row per token; found by name or shape if not given.
        token_map: old tokens by new ones, which take their rows: `{"</s>": "<|endoftext|>"}`.
        pad_to_multiple: rows are filled up to a multiple of this.
        seed: of `"random"`.
        replace: write into a folder that holds files already; files of the same names are replaced.
        progress: called with the stage `transplant`, and bytes written and in all.

    Returns:
        The copied, composed and filled rows.

    Raises:
        FormatError: if the model is damaged or not safetensors, is of another tokenizer, or it is not clear
            which tensors have a row per token.
        FileExistsError: if `out` has files and `replace` is false.
        OSError: if a file cannot be read or written.
        ValueError: for a method that there is not, or a number that cannot be.
    """
    multiple = whole("pad_to_multiple", pad_to_multiple, "at least 1", 1)
    first = whole("seed", seed, "at least 0", 0)
    before, after = (_tokenizer(one) for one in (old, new))
    there = Model(Path(model))
    folder = Path(out)
    _check_out(folder, there, replace=replace)
    notes = _check_tokenizer(there, before)
    tables = tables_of(there, before.vocab_size, tensors)
    found = match(before, after, token_map or {}, _roles(there, before))
    n_rows = -(-after.vocab_size // multiple) * multiple
    rows = plan(found, method, n_rows, first)
    padded = tables[0].n_rows - before.vocab_size
    if padded and multiple == 1:
        notes.append(
            f"{tables[0].tensor.name} had {padded:,} rows more than there are ids; they are left out; "
            "pad_to_multiple (--pad-to-multiple) adds such rows"
        )
    with writing_folder(folder) as temporary:
        after.save_pretrained(temporary)
        fingerprint = Tokenizer.from_file(temporary / "tokenizer.json").fingerprint
        _write_weights(there, tables, rows, temporary, {before.fingerprint: fingerprint}, progress)
        if there.folder is not None:
            notes += _write_settings(there, found, tables, n_rows, temporary)
            notes += _copy_others(there, temporary)
        names = sorted(file.name for file in temporary.iterdir())
    kinds = np.bincount(rows.kinds, minlength=UNUSED + 1).tolist()
    lengths = np.diff(rows.starts)[rows.kinds == COMPOSED]
    return Transplant(
        folder=folder,
        files=[str(folder / name) for name in names],
        method=method,
        old_ids=before.vocab_size,
        new_ids=after.vocab_size,
        rows=n_rows,
        copied=kinds[COPIED],
        composed=kinds[COMPOSED],
        filled=kinds[AVERAGE] + kinds[RANDOM],
        unused=kinds[UNUSED],
        pieces=round(float(lengths.mean()), 3) if len(lengths) else 0.0,
        filled_tokens=[
            after.id_to_token(id) or ""
            for id in np.flatnonzero((rows.kinds == AVERAGE) | (rows.kinds == RANDOM)).tolist()
        ],
        renamed=_renamed(found),
        tensors=[
            NewTensor(
                table.tensor.name,
                table.file.path.name,
                table.tensor.dtype,
                table.tensor.shape,
                table.shape(n_rows),
            )
            for table in tables
        ],
        notes=notes,
        fingerprint=fingerprint,
    )


def _tokenizer(given: Tokenizer | str | os.PathLike[str]) -> Tokenizer:
    return given if isinstance(given, Tokenizer) else Tokenizer.from_file(given)


def _roles(model: Model, old: Tokenizer) -> dict[str, str]:
    """Returns the uses of special tokens in config.json."""
    ids = {key.removesuffix("_id"): id for key, id in model.config.items() if key.endswith("_token_id")}
    tokens = {role: old.id_to_token(id) for role, id in ids.items() if type(id) is int and id >= 0}
    return {role: token for role, token in tokens.items() if token is not None}


def _renamed(found: Match) -> dict[str, str]:
    """Returns special tokens that have the row of a token of another name."""
    old = found.old.tokenizer
    names = {content: old.id_to_token(found.copied[id]) or "" for content, id in found.new.specials.items()
             if id in found.copied}  # fmt: skip
    return {content: name for content, name in names.items() if name != content}


def _check_out(folder: Path, model: Model, *, replace: bool) -> None:
    """Refuses a folder that holds files, or weights that would be left next to the new ones.

    Raises:
        FileExistsError: naming a file.
        ValueError: if it is the model's own folder.
    """
    if not folder.is_dir():
        return
    if folder.samefile(model.folder or model.path.parent):
        raise ValueError(f"{folder} is the folder of the model itself; name another one to write")
    there = sorted(file.name for file in folder.iterdir() if file.is_file())
    if there and not replace:
        raise FileExistsError(
            f"{folder} exists and holds {there[0]}; name another folder, or pass replace=True"
        )
    written = {file.path.name for file in model.files} | ({INDEX} if model.index else set())
    others = [name for name in there if fnmatch(name, "*.safetensors*") and name not in written]
    if others:
        raise FileExistsError(
            f"{folder / others[0]} would be left next to the new weights; remove it, or name another folder"
        )


def _check_tokenizer(model: Model, old: Tokenizer) -> list[str]:
    """Compares the old tokenizer with the tokenizer that the model names; returns notes.

    Raises:
        FormatError: if they differ.
    """
    for file in model.files:
        for text in file.metadata.values():
            for found in _FINGERPRINT.findall(text):
                if found != old.fingerprint:
                    raise FormatError(
                        f"{file.path} belongs to the tokenizer {found[:16]}..., and the old one is "
                        f"{old.fingerprint[:16]}...; name the tokenizer.json of the model"
                    )
    if model.folder is None or not (model.folder / "tokenizer.json").is_file():
        return []
    own = Tokenizer.from_file(model.folder / "tokenizer.json")
    given = old.vocab()
    differ = [token for token, id in own.vocab().items() if given.get(token, id) != id]
    if differ:
        token = differ[0]
        raise FormatError(
            f"{model.folder / 'tokenizer.json'}: {shown(token)} has the id {own.token_to_id(token)}, and in "
            f"the old tokenizer {given[token]}; name {model.folder} as the old tokenizer"
        )
    return []


def _write_weights(
    model: Model,
    tables: Sequence[Table],
    rows: Plan,
    temporary: Path,
    fingerprints: Mapping[str, str],
    progress: Progress | None,
) -> None:
    n_rows = len(rows.kinds)
    changed = {(table.file.path, table.tensor.name): table for table in tables}
    sizes = {key: _n_bytes(table, n_rows) for key, table in changed.items()}
    total = sum(
        sizes.get((file.path, tensor.name), tensor.n_bytes)
        for file in model.files
        for tensor in file.tensors.values()
    )
    done = 0

    def wrote(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        if progress is not None:
            progress("transplant", done, total)

    for file in model.files:
        entries: list[tuple[str, str, tuple[int, ...], Callable[[], Iterable[bytes]]]] = []
        for tensor in sorted(file.tensors.values(), key=lambda one: one.begin):
            table = changed.get((file.path, tensor.name))
            if table is None:
                entries.append((tensor.name, tensor.dtype, tensor.shape, partial(file.blocks, tensor)))
            else:
                entries.append(
                    (tensor.name, tensor.dtype, table.shape(n_rows), partial(_blocks, table, rows))
                )
        metadata = {name: _replaced(text, fingerprints) for name, text in file.metadata.items()}
        write_tensors(temporary / file.path.name, entries, metadata, wrote)
    if model.index:
        about = {**model.index.get("metadata", {}), "total_size": total}
        if "total_parameters" in about:
            about["total_parameters"] += sum(
                (n_rows - table.n_rows) * (table.tensor.n_bytes // _width(table.tensor) // table.n_rows)
                for table in tables
            )
        (temporary / INDEX).write_bytes(json_bytes({**model.index, "metadata": about}))


def _replaced(text: str, names: Mapping[str, str]) -> str:
    for before, after in names.items():
        text = text.replace(before, after)
    return text


def _n_bytes(table: Table, n_rows: int) -> int:
    return table.tensor.n_bytes // table.n_rows * n_rows


def _width(tensor: Tensor) -> int:
    return {"BF16": 2, "F16": 2, "F32": 4, "F64": 8}[tensor.dtype]


def _blocks(table: Table, rows: Plan) -> Iterator[bytes]:
    bits, dtype = table.file.bits(table.tensor), table.tensor.dtype
    if not table.is_transposed:
        yield from new_rows(bits, dtype, rows)
        return
    flat = bits.reshape(-1, table.n_rows).T
    made = np.frombuffer(b"".join(new_rows(flat, dtype, rows)), bits.dtype)
    yield made.reshape(len(rows.kinds), -1).T.tobytes()


def _write_settings(
    model: Model, found: Match, tables: Sequence[Table], n_rows: int, temporary: Path
) -> list[str]:
    """Writes config.json and generation_config.json with the new sizes and ids; returns notes."""
    notes: list[str] = []
    sizes = {table.n_rows for table in tables} | {found.old.tokenizer.vocab_size}
    assert model.folder is not None
    for name, settings in ((CONFIG, model.config), (_GENERATION, object_of(model.folder / _GENERATION))):
        if settings:
            changed = _changed(settings, _Ids(found, name, notes), sizes, n_rows)
            (temporary / name).write_bytes(json_bytes(changed))
            if name == CONFIG and changed.get("vocab_size", n_rows) != n_rows:
                notes.append(
                    f"{name}: vocab_size {changed['vocab_size']} is not a size of the old tables; check it"
                )
    if not model.config and not (model.folder / _RUN).is_file():
        notes.append(f"{model.folder} has no {CONFIG}, so no settings were changed")
    return notes


class _Ids:
    """New ids of the ids that settings name."""

    def __init__(self, found: Match, file: str, notes: list[str]) -> None:
        self.old, self.new, self._file, self._notes = found.old.tokenizer, found.new.tokenizer, file, notes
        self._by_old: dict[int, list[int]] = {}
        for id, there in found.copied.items():
            self._by_old.setdefault(there, []).append(id)

    def of(self, key: str, value: Any) -> Any:
        """Returns the new value of a setting: an id, a list of ids, or anything else, which stays."""
        if isinstance(value, list):
            mapped = [self.of(key, one) for one in value]
            return [one for one in mapped if one is not None]
        if type(value) is not int or value < 0:
            return value
        ids = self._by_old.get(value, [])
        token = self.old.id_to_token(value)
        same = [id for id in ids if self.new.id_to_token(id) == token]
        role = self.new.settings.special_tokens.get(re.sub("_(ids?|index)$", "", key))
        named = None if role is None else self.new.token_to_id(role)
        found = next((id for id in (*same, named, *ids) if id is not None), None)
        if found is None:
            note = f"{key} {value} ({shown(token)}) has no counterpart and is left empty; set it"
            if not any(note in known for known in self._notes):
                self._notes.append(f"{self._file}: {note}")
        return found


def _changed(settings: dict[str, Any], ids: _Ids, sizes: set[int], n_rows: int) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            changed[key] = _changed(value, ids, sizes, n_rows)
        elif key in _SIZE_KEYS and type(value) is int and value in sizes:
            changed[key] = n_rows
        elif _ID_KEYS.fullmatch(key):
            changed[key] = ids.of(key, value)
        else:
            changed[key] = value
    return changed


def _copy_others(model: Model, temporary: Path) -> list[str]:
    """Copies the files of a folder that do not depend on the tokenizer; returns notes on those left out."""
    assert model.folder is not None
    written = {file.name for file in temporary.iterdir()}
    left_out = []
    for file in sorted(model.folder.iterdir()):
        if file.name in written or file.name.startswith("."):
            continue
        if any(fnmatch(file.name, pattern) for pattern in _TOKENIZER_FILES):
            continue
        is_weights = any(fnmatch(file.name, pattern) for pattern in _OTHER_WEIGHTS)
        if not file.is_file() or is_weights or file.name in (INDEX, _HASHES):
            if file.name != _HASHES:
                left_out.append(file.name + "/" * file.is_dir())
            continue
        shutil.copyfile(file, temporary / file.name)
    if not left_out:
        return []
    return [f"not copied, as they may belong to the old tokenizer: {', '.join(left_out)}"]
