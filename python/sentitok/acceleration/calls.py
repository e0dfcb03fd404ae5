"""`encoded`: a call of transformers' answered by `sentitok.Tokenizer`, as transformers answers it.

Calls that are not answered here give `None`, and the original path is taken: special tokens as text, some
offsets, tensors that cannot be made, and arguments that are wrong.

Source of what the options mean: transformers 5, `tokenization_utils_tokenizers.py` (`_encode_plus`)
and tokenizers 0.23, `utils/padding.rs`.
"""

from dataclasses import dataclass
from functools import cache
from logging import INFO
from typing import Any, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt
from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils.generic import PaddingStrategy

from .._sentitok import Encoding, EncodingBatch, SentitokError, Tokenizer
from ..messages import shown
from .backend import Running
from .call import Call
from .encodings import EncodingsOnDemand
from .known import Known
from .prompts import Prompts
from .versions import IGNORED, SETS_SIDE

__all__ = ["encoded"]

_TENSORS = ("np", "pt")
_NAMES = {
    "add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "stride",
    "is_split_into_words", "pad_to_multiple_of", "padding_side", "return_tensors", "return_token_type_ids",
    "return_attention_mask", "return_overflowing_tokens", "return_special_tokens_mask",
    "return_offsets_mapping", "return_length", "verbose", "split_special_tokens",
}  # fmt: skip
_Truncation = Literal["longest_first", "only_first", "only_second"]
# As many ids, and more, become a list by way of ints that are kept: making an int takes longer.
_MANY_IDS = 4096
# Ints below this are kept, 20 MB in all where a vocabulary has as many.
_KEPT_INTS = 1 << 19
_Rows = list[Any]
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Given:
    """The texts of a call: each a `str`, or a list of words."""

    texts: _Rows
    pairs: _Rows | None
    is_batch: bool
    are_words: bool

    def call(self, tokenizer: Any, options: dict[str, Any]) -> Call:
        """Returns the call with all that is set now, because another thread may change it at any time."""
        option = options.get
        truncation, padding = _strategy(options, "truncation"), _strategy(options, "padding")
        side = option("padding_side")
        return Call(
            texts=self.texts,
            pairs=self.pairs,
            are_words=self.are_words,
            adds_special_tokens=bool(option("add_special_tokens", True)),
            has_windows=bool(option("return_overflowing_tokens")),
            truncation=None if truncation is None else {
                "max_length": option("max_length"),
                "stride": option("stride", 0),
                "strategy": truncation,
                "direction": tokenizer.truncation_side,
            },
            padding=None if padding is None else {
                "length": option("max_length") if padding == "max_length" else None,
                "direction": tokenizer.padding_side if side is None else side,
                "pad_id": tokenizer.pad_token_id,
                "pad_token": tokenizer.pad_token,
                "pad_type_id": tokenizer.pad_token_type_id,
                "pad_to_multiple_of": option("pad_to_multiple_of"),
            },
        )  # fmt: skip


def encoded(
    tokenizer: Any,
    running: Running,
    known: Known,
    text: Any,
    text_pair: Any,
    options: dict[str, Any],
) -> BatchEncoding | None:
    """Returns what `_encode_plus` returns, or `None` where the original must answer.

    Args:
        tokenizer: the tokenizer of transformers, for its settings.
        running: called with options that no call here has.
        known: facts of its backend, with the tokenizer that runs.
        text: as `_encode_plus` takes it.
        text_pair: the same.
        options: its other arguments.
    """
    option = options.get
    tensors = option("return_tensors")
    tensors = getattr(tensors, "value", tensors)
    if (theirs := _not_ours(tokenizer, known, tensors, options)) is not None:
        running.say(f"calls with {theirs} run in transformers as before", INFO)
        return None
    given = _given(text, text_pair, bool(option("is_split_into_words")))
    if given is None:
        return None
    call = given.call(tokenizer, options)
    _set(tokenizer, running, options)
    try:
        rows = _rows(tokenizer, cast(Tokenizer, known.tokenizer), given, call, options, running.prompts)
    except (SentitokError, TypeError, ValueError, OverflowError):
        return None
    if rows is None:
        return None
    data = _data(tokenizer, known, rows, call, options, tensors)
    if data is None:
        return None
    ids: Any = data["input_ids"]
    if option("max_length") is None:
        for row in ids:
            tokenizer._eventual_warn_about_too_long_sequence(row, None, option("verbose", True))
    encodings = EncodingsOnDemand(call, known, len(ids))
    n_sequences = known.n_sequences[call.adds_special_tokens, call.pairs is not None]
    if given.is_batch or tensors is not None or option("return_overflowing_tokens"):
        return BatchEncoding(data, cast(Any, encodings), tensor_type=tensors, n_sequences=n_sequences)
    single = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
    return BatchEncoding(single, cast(Any, encodings), n_sequences=n_sequences)


def _not_ours(tokenizer: Any, known: Known, tensors: Any, options: dict[str, Any]) -> str | None:
    """The option that no call here has, if one is given."""
    split = options.get("split_special_tokens")
    truncates = _strategy(options, "truncation") is not None
    if tokenizer.split_special_tokens if split is None else split:
        return "split_special_tokens=True"
    if options.get("return_offsets_mapping") and not known.has_offsets:
        return "return_offsets_mapping=True"
    if tensors is not None and tensors not in _TENSORS:
        return f"return_tensors={shown(tensors)}"
    windows = truncates and options.get("return_overflowing_tokens")
    if windows and not all(known.types_are_places) and _is_asked("token_type_ids", tokenizer, options):
        return "windows of texts whose type ids are not 0 and 1"
    return next((name for name in options.keys() - _NAMES if options[name] or name not in IGNORED), None)


def _is_asked(field: str, tokenizer: Any, options: dict[str, Any]) -> bool:
    """Whether a field is asked for, or, if nothing is said, one that the model takes."""
    asked = options.get(f"return_{field}")
    return field in tokenizer.model_input_names if asked is None else bool(asked)


def _strategy(options: dict[str, Any], of: Literal["padding", "truncation"]) -> str | None:
    """How a call pads or truncates, if it does."""
    strategy = options.get(f"{of}_strategy")
    value: str | None = getattr(strategy, "value", None)
    return None if value in ("do_not_pad", "do_not_truncate") else value


def _given(text: Any, text_pair: Any, are_words: bool) -> _Given | None:
    """The texts of a call, copied where they could change; `None` if they are of another kind."""
    if not are_words:
        if isinstance(text, str):
            if not text_pair:
                return _Given([text], None, is_batch=False, are_words=False)
            return _Given([text], [text_pair], False, False) if isinstance(text_pair, str) else None
        if not isinstance(text, (list, tuple)) or not text:
            return None
        if text_pair is None and all(type(row) in (tuple, list) and len(row) == 2 for row in text):
            text, text_pair = zip(*text, strict=True)
        texts, pairs = list(text), None if text_pair is None else list(text_pair)
        if isinstance(text_pair, str) or (pairs is not None and len(pairs) != len(texts)):
            return None
        is_text = all(isinstance(row, str) for row in (*texts, *(pairs or ())))
        return _Given(texts, pairs, is_batch=True, are_words=False) if is_text else None
    if not isinstance(text, (list, tuple)) or not text:
        return None
    is_batch = isinstance(text[0], (list, tuple))
    if not is_batch:
        text, text_pair = [text], [text_pair] if text_pair else None
    elif text_pair is None and all(_is_pair_of_words(row) for row in text):
        text, text_pair = zip(*text, strict=True)
    if text_pair is not None and (not isinstance(text_pair, (list, tuple)) or len(text_pair) != len(text)):
        return None
    rows = [*text, *(text_pair or ())]
    if not all(isinstance(row, (list, tuple)) and all(isinstance(w, str) for w in row) for row in rows):
        return None
    copies = [list(row) for row in rows]
    n = len(text)
    return _Given(copies[:n], copies[n:] if text_pair is not None else None, is_batch, are_words=True)


def _is_pair_of_words(row: Any) -> bool:
    return (
        type(row) in (tuple, list) and len(row) == 2 and all(isinstance(part, (list, tuple)) for part in row)
    )


def _set(tokenizer: Any, running: Running, options: dict[str, Any]) -> None:
    """Leaves the backend set as the original leaves it, because saving writes these settings."""
    backend = tokenizer.__dict__["_tokenizer"]
    padding, truncation = _strategy(options, "padding"), _strategy(options, "truncation")
    if padding or truncation or backend.truncation is not None or backend.padding is not None:
        with running.quiet():
            tokenizer.set_truncation_and_padding(
                padding_strategy=PaddingStrategy(padding or "do_not_pad"),
                truncation_strategy=TruncationStrategy(truncation or "do_not_truncate"),
                max_length=options.get("max_length"),
                stride=options.get("stride", 0),
                pad_to_multiple_of=options.get("pad_to_multiple_of"),
                **({"padding_side": options.get("padding_side")} if SETS_SIDE else {}),
            )
    if backend.encode_special_tokens:
        backend.encode_special_tokens = False


def _rows(
    tokenizer: Any,
    ours: Tokenizer,
    given: _Given,
    call: Call,
    options: dict[str, Any],
    prompts: Prompts | None,
) -> Encoding | EncodingBatch | None:
    """The encoding of the texts, before padding: an `Encoding` for one text."""
    adds = call.adds_special_tokens
    cuts = call.truncation or {}
    limit: int | None = cuts.get("max_length")
    n_around = tokenizer.__dict__["_tokenizer"].num_special_tokens_to_add(given.pairs is not None)
    if cuts and (limit is None or limit <= n_around):
        return None
    truncation = cast(_Truncation, cuts.get("strategy", "longest_first"))
    side = cuts.get("direction", "right")
    if call.has_windows and limit is not None:
        return ours.windows_batch(
            given.texts,
            limit,
            cuts["stride"],
            given.pairs,
            add_special_tokens=adds,
            specials="all",
            truncation=truncation,
            truncation_side=side,
            is_split_into_words=given.are_words,
            errors="strict",
        )
    if not given.is_batch and not given.are_words:
        if prompts is not None and given.pairs is None and limit is None:
            return prompts.encode(ours, given.texts[0], adds)
        return ours.encode(
            given.texts[0],
            None if given.pairs is None else given.pairs[0],
            add_special_tokens=adds,
            specials="all",
            max_tokens=limit,
            truncation=truncation,
            truncation_side=side,
            errors="strict",
        )
    return ours.encode_batch(
        given.texts,
        given.pairs,
        add_special_tokens=adds,
        specials="all",
        max_tokens=limit,
        truncation=truncation,
        truncation_side=side,
        is_split_into_words=given.are_words,
        errors="strict",
        offsets=bool(options.get("return_offsets_mapping")),
    )


def _data(
    tokenizer: Any,
    known: Known,
    rows: Encoding | EncodingBatch,
    call: Call,
    options: dict[str, Any],
    tensors: str | None,
) -> dict[str, Any] | None:
    """The fields of a `BatchEncoding`, in its order; `None` for rows that make no tensor."""
    option = options.get
    with_types = _is_asked("token_type_ids", tokenizer, options)
    with_mask = _is_asked("attention_mask", tokenizer, options)
    lengths = [len(rows)] if isinstance(rows, Encoding) else np.diff(rows.row_offsets).tolist()
    padded = None if call.padding is None else _Padded(lengths, call.padding)
    target = lengths if padded is None else padded.lengths
    if tensors is not None and len(set(target)) != 1:
        return None

    def field(values: npt.NDArray[Any], filler: int) -> Any:
        if tensors:
            return _matrix(values, lengths, target, padded, filler)
        return _rows_of(values.tolist(), lengths, padded, filler)

    ids: npt.NDArray[Any] = rows.ids
    if tensors is None and len(ids) >= _MANY_IDS and (greatest := int(ids.max())) < _KEPT_INTS:
        ids = _ints(1 << greatest.bit_length())[ids]
    data: dict[str, Any] = {"input_ids": field(ids, 0 if padded is None else padded.id)}
    if with_types:
        is_0 = call.pairs is None and known.is_of_type_0
        types = np.zeros(sum(lengths), np.uint32) if is_0 else rows.type_ids
        data["token_type_ids"] = field(types, 0 if padded is None else padded.type_id)
    if with_mask:
        if tensors is None and padded is None:
            data["attention_mask"] = [[1] * length for length in lengths]
        else:
            data["attention_mask"] = field(np.ones(sum(lengths), np.int64), 0)
    if option("return_special_tokens_mask"):
        data["special_tokens_mask"] = field(rows.special_tokens_mask.astype(np.int64), 1)
    if option("return_offsets_mapping"):
        offsets = rows.offsets()
        if tensors:
            sides = (_matrix(offsets[:, side], lengths, target, padded, 0) for side in (0, 1))
            data["offset_mapping"] = np.stack([*sides], -1)
        else:
            data["offset_mapping"] = _lists_of_pairs(offsets, lengths, padded)
    if option("return_length"):
        data["length"] = target
    if option("return_overflowing_tokens"):
        sources = rows.source_rows.tolist() if isinstance(rows, EncodingBatch) else [0]
        data["overflow_to_sample_mapping"] = sources
    if tensors == "pt":  # transformers takes rows of arrays at once
        return {key: list(value) if isinstance(value, np.ndarray) else value for key, value in data.items()}
    return data


class _Padded:
    """How rows are padded: to which lengths, on which side, by what."""

    def __init__(self, lengths: list[int], padding: dict[str, Any]) -> None:
        target = max(lengths) if padding["length"] is None else padding["length"]
        multiple = padding["pad_to_multiple_of"]
        if multiple and target % multiple:
            target += multiple - target % multiple
        self.lengths = [max(length, target) for length in lengths]
        self.is_left = padding["direction"] == "left"
        self.id: int = padding["pad_id"]
        self.type_id: int = padding["pad_type_id"]


@cache
def _ints(n: int) -> npt.NDArray[Any]:
    """The ints below `n`, a power of two, as objects: some 40 bytes each."""
    return np.arange(n).astype(object)


def _lists_of_pairs(
    offsets: npt.NDArray[Any], lengths: list[int], padded: _Padded | None
) -> list[list[tuple[int, int]]]:
    pairs = list(zip(offsets[:, 0].tolist(), offsets[:, 1].tolist(), strict=True))
    return _rows_of(pairs, lengths, padded, (0, 0))


def _rows_of(flat: list[_T], lengths: list[int], padded: _Padded | None, filler: _T) -> list[list[_T]]:
    if len(lengths) == 1:
        rows = [flat]
    else:
        ends = np.cumsum(lengths).tolist()
        rows = [flat[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    if padded is None:
        return rows
    fillers = ([filler] * (target - len(row)) for row, target in zip(rows, padded.lengths, strict=True))
    if padded.is_left:
        return [before + row for row, before in zip(rows, fillers, strict=True)]
    return [row + after for row, after in zip(rows, fillers, strict=True)]


def _matrix(
    values: npt.NDArray[Any], lengths: list[int], target: list[int], padded: _Padded | None, filler: int
) -> npt.NDArray[np.int64]:
    """The rows as one array `(B, T)`."""
    matrix = np.full((len(lengths), target[0]), filler, np.int64)
    places = np.arange(target[0])
    each = np.asarray(lengths)[:, None]
    is_value = places >= target[0] - each if padded is not None and padded.is_left else places < each
    matrix[is_value] = values
    return matrix
