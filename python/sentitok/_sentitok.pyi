"""Types of the extension module; its classes are the package's public classes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    final,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import NDArray

from .chat import MaskedEncoding
from .corpus_shards import CorpusShard
from .pretrained import Settings

__all__ = [
    "AddedToken",
    "DecodeError",
    "DistinctWords",
    "DocumentBatch",
    "DocumentReader",
    "EncodeError",
    "Encoding",
    "EncodingBatch",
    "Fertility",
    "FertilityCounter",
    "FormatError",
    "InternalError",
    "Normalizer",
    "PreTokenizer",
    "QuickDecode",
    "SentencePieceModel",
    "SentitokError",
    "Special",
    "StreamDecoder",
    "StreamEncoder",
    "Tokenizer",
    "TrainError",
    "TrainReport",
    "WordCounts",
    "__version__",
    "align_offsets",
    "count",
    "cut_file",
    "encode_files",
    "file_kind",
    "merge_counts",
    "read_folder",
    "remove_checkpoint",
    "train_bpe",
    "train_parity_bpe",
    "train_unigram",
    "train_wordpiece",
]

__version__: str

_Default = TypeVar("_Default")
_Path: TypeAlias = str | PathLike[str]
_Text: TypeAlias = str | bytes | bytearray | memoryview
_Specials: TypeAlias = (
    Literal["none", "all", "raise"] | set[str] | frozenset[str] | list[str] | tuple[str, ...]
)
_Ids: TypeAlias = "Iterable[SupportsIndex] | NDArray[Any] | Encoding"
_Side: TypeAlias = Literal["left", "right"]
_Truncation: TypeAlias = Literal["longest_first", "only_first", "only_second"]
_Words: TypeAlias = Iterable[_Text]  # a text that is split already
_Unit: TypeAlias = Literal["bytes", "chars"]
_Progress: TypeAlias = Callable[[str, int, int], object]
_Errors: TypeAlias = Literal["replace", "strict"]
_UnknownIds: TypeAlias = Literal["raise", "ignore"]
_InvalidUtf8: TypeAlias = Literal["error", "replace", "bytes"]

@type_check_only
class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> object: ...

@type_check_only
class _Executor(Protocol):
    """A `concurrent.futures.Executor`, or what submits as it does."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...

# Texts in memory: a list, an iterator, an array, a series, an Arrow column.
_Counts: TypeAlias = Mapping[str, int] | Mapping[bytes, int] | Mapping[str | bytes, int] | _Path
_Weight: TypeAlias = int | float | Fraction | Decimal | str
_Texts: TypeAlias = Iterable[_Text] | _ArrowStream | _ArrowArray
# The same of texts, of pairs or, with `is_split_into_words`, of lists of words.
_Rows: TypeAlias = Iterable[_Text | tuple[_Text, _Text] | Iterable[_Text]] | _ArrowStream | _ArrowArray
# A path or a list of paths; or texts, though not in a list: those are `texts=[...]`.
_Source: TypeAlias = _Path | Sequence[_Path] | CorpusShard | _Texts

class SentitokError(Exception): ...
class TrainError(SentitokError, ValueError): ...
class FormatError(SentitokError, ValueError): ...
class EncodeError(SentitokError, ValueError): ...
class DecodeError(SentitokError, ValueError): ...
class InternalError(SentitokError, RuntimeError): ...

@final
class PreTokenizer:
    def __new__(
        cls, name: str | None = None, *, pattern: str | None = None, look_around: bool = False
    ) -> Self: ...
    @staticmethod
    def names() -> list[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def pattern(self) -> str | None: ...
    def split(self, text: str) -> list[tuple[int, int]]: ...
    def pieces(self, text: str) -> list[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Normalizer:
    def __new__(cls, name: str) -> Self: ...
    @staticmethod
    def names() -> list[str]: ...
    @staticmethod
    def sentencepiece(
        rules: str = "nmt_nfkc",
        *,
        add_dummy_prefix: bool = True,
        remove_extra_whitespaces: bool = True,
        treat_whitespace_as_suffix: bool = False,
        user_defined_symbols: Sequence[str] = (),
    ) -> Normalizer: ...
    @property
    def name(self) -> str | None: ...
    def normalize(self, text: str) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class SentencePieceModel:
    def __new__(cls, data: bytes) -> Self: ...
    @property
    def pieces(self) -> list[str]: ...
    @property
    def scores(self) -> NDArray[np.float32]: ...
    @property
    def kinds(self) -> list[str]: ...
    @property
    def model_type(self) -> Literal["unigram", "bpe"]: ...
    @property
    def special_pieces(self) -> tuple[str, str, str, str]: ...  # unknown, begin, end, padding
    def __len__(self) -> int: ...

@final
class Special:
    def __new__(cls, content: str) -> Self: ...
    @property
    def content(self) -> str: ...
    def __getnewargs__(self) -> tuple[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@type_check_only
class _Token(Protocol):
    """A token with rules, such as `tokenizers.AddedToken`."""

    @property
    def content(self) -> str: ...
    @property
    def special(self) -> bool: ...
    @property
    def single_word(self) -> bool: ...
    @property
    def lstrip(self) -> bool: ...
    @property
    def rstrip(self) -> bool: ...
    @property
    def normalized(self) -> bool: ...

@final
class AddedToken:
    def __new__(
        cls,
        content: str,
        id: SupportsIndex | None = None,
        *,
        special: bool = True,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool = False,
    ) -> Self: ...
    @property
    def content(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def special(self) -> bool: ...
    @property
    def single_word(self) -> bool: ...
    @property
    def lstrip(self) -> bool: ...
    @property
    def rstrip(self) -> bool: ...
    @property
    def normalized(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Encoding:
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def surfaces(self) -> list[str]: ...
    @property
    def type_ids(self) -> NDArray[np.int64]: ...
    @property
    def special_tokens_mask(self) -> NDArray[np.bool_]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    @property
    def sequence_ids(self) -> NDArray[np.int64]: ...
    @property
    def word_ids(self) -> NDArray[np.int64]: ...
    def offsets(self, unit: _Unit = "chars", *, trim: bool | None = None) -> NDArray[np.int64]: ...
    def char_to_token(self, char: SupportsIndex, sequence: SupportsIndex = 0) -> int | None: ...
    def token_to_chars(self, token: SupportsIndex) -> tuple[int, int] | None: ...
    def word_to_tokens(self, word: SupportsIndex, sequence: SupportsIndex = 0) -> tuple[int, int] | None: ...
    def _repr_html_(self) -> str: ...
    def tolist(self) -> list[int]: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class EncodingBatch:
    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def row_offsets(self) -> NDArray[np.int64]: ...
    @property
    def source_rows(self) -> NDArray[np.int64]: ...
    @property
    def type_ids(self) -> NDArray[np.int64]: ...
    @property
    def special_tokens_mask(self) -> NDArray[np.bool_]: ...
    @property
    def sequence_ids(self) -> NDArray[np.int64]: ...
    @property
    def word_ids(self) -> NDArray[np.int64]: ...
    def offsets(self, unit: _Unit = "chars", *, trim: bool | None = None) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, row: SupportsIndex, /) -> Encoding: ...
    @overload
    def __getitem__(self, rows: slice, /) -> EncodingBatch: ...
    def __iter__(self) -> Iterator[Encoding]: ...
    @overload
    def pad(
        self,
        length: SupportsIndex | None = None,
        pad_id: SupportsIndex | None = None,
        side: _Side | None = None,
        multiple_of: SupportsIndex | None = None,
        *,
        dtype: Literal["int32"] | type[np.int32] | np.dtype[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]: ...
    @overload
    def pad(
        self,
        length: SupportsIndex | None = None,
        pad_id: SupportsIndex | None = None,
        side: _Side | None = None,
        multiple_of: SupportsIndex | None = None,
        *,
        dtype: Literal["uint32"] | type[np.uint32] | np.dtype[np.uint32],
    ) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]: ...
    @overload
    def pad(
        self,
        length: SupportsIndex | None = None,
        pad_id: SupportsIndex | None = None,
        side: _Side | None = None,
        multiple_of: SupportsIndex | None = None,
        *,
        dtype: Literal["int64"] | type[np.int64] | np.dtype[np.int64] = "int64",
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
    def to_torch(
        self,
        length: SupportsIndex | None = None,
        pad_id: SupportsIndex | None = None,
        side: _Side | None = None,
        multiple_of: SupportsIndex | None = None,
        *,
        type_ids: bool = False,
    ) -> dict[str, Any]: ...  # torch.Tensor
    def _repr_html_(self) -> str: ...
    def to_list(self) -> list[list[int]]: ...
    def to_arrow(self) -> Any: ...  # pyarrow.LargeListArray
    # A pyarrow.Table, and so may be `beside`.
    def to_table(self, beside: Any = None, *, type_ids: bool = False) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class StreamDecoder:
    def push(self, id: SupportsIndex | Sequence[SupportsIndex] | NDArray[Any] | Encoding) -> str: ...
    def finish(self) -> str: ...

@final
class StreamEncoder:
    def push(self, text: str) -> NDArray[np.uint32]: ...
    def finish(self) -> NDArray[np.uint32]: ...
    @property
    def n_held(self) -> int: ...

@final
class WordCounts(Mapping[bytes, int]):  # at run time: registered with collections.abc.Mapping
    def __new__(
        cls,
        counts: Mapping[str, int] | Mapping[bytes, int] | Mapping[str | bytes, int],
        *,
        normalizer: str | Normalizer | None = None,
        pre_tokenizer: str | PreTokenizer | None = None,
    ) -> Self: ...
    @staticmethod
    def load(path: _Path) -> WordCounts: ...
    @staticmethod
    def from_bytes(data: bytes) -> WordCounts: ...
    @staticmethod
    def from_arrow(
        table: object,
        *,
        normalizer: str | Normalizer | None = None,
        pre_tokenizer: str | PreTokenizer | None = None,
    ) -> WordCounts: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def to_arrow(self) -> Any: ...  # pyarrow.Table
    @property
    def pipeline(self) -> str: ...
    @property
    def pipeline_hash(self) -> str: ...
    @property
    def totals(self) -> dict[str, int]: ...
    @property
    def samples(self) -> list[dict[str, Any]]: ...  # "share", "seed"
    @property
    def line_ends(self) -> bool: ...
    @overload
    def get(self, key: bytes | str, default: None = None) -> int | None: ...
    @overload
    def get(self, key: bytes | str, default: _Default) -> int | _Default: ...
    def __add__(self, other: WordCounts, /) -> WordCounts: ...
    def __radd__(self, other: WordCounts, /) -> WordCounts: ...
    def __getitem__(self, piece: bytes | str, /) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __len__(self) -> int: ...
    def __contains__(self, piece: object, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class TrainReport:
    @property
    def stop(self) -> str: ...
    @property
    def totals(self) -> dict[str, int]: ...
    @property
    def samples(self) -> list[dict[str, Any]]: ...  # "share", "seed"
    @property
    def sources(self) -> list[dict[str, Any]]: ...  # "path", "weight", "factor", "totals", "share"
    @property
    def languages(self) -> list[dict[str, Any]]: ...  # "language", "merges", "initial_tokens", "tokens"
    @property
    def distinct_pieces(self) -> int: ...
    @property
    def merges(self) -> int: ...
    @property
    def dropped(self) -> list[tuple[str, int]]: ...
    @property
    def seconds(self) -> dict[str, float]: ...  # "count", "merge"
    @property
    def resumed(self) -> str | None: ...
    @property
    def superwords_from(self) -> int | None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

@final
class Tokenizer:
    def __new__(cls, *_given: object, **_others: object) -> Self: ...  # refused: it is read or trained
    @staticmethod
    def from_file(path: _Path) -> Tokenizer: ...
    @staticmethod
    def from_bytes(data: bytes) -> Tokenizer: ...
    @staticmethod
    def from_tiktoken(
        path: _Path | bytes, pattern: str, special_tokens: Mapping[str, SupportsIndex] | None = None
    ) -> Tokenizer: ...
    @staticmethod
    def from_gpt2(vocab: _Path, merges: _Path) -> Tokenizer: ...
    @staticmethod
    def from_bert_vocab(
        path: _Path, lowercase: bool = True, *, normalizer: Literal["hf-bert", "google-bert"] = "hf-bert"
    ) -> Tokenizer: ...
    @staticmethod
    def from_sentencepiece(path: _Path) -> Tokenizer: ...
    @staticmethod
    def from_hf(tokenizer: Any) -> Tokenizer: ...
    def to_hf(self) -> Any: ...
    @staticmethod
    def from_pretrained(
        name: _Path,
        *,
        subfolder: str = "",
        revision: str | None = None,
        cache_dir: _Path | None = None,
        download: bool = False,
    ) -> Tokenizer: ...
    def save_pretrained(self, folder: _Path) -> list[str]: ...  # files written
    def to_transformers(self) -> Any: ...  # transformers.PreTrainedTokenizerFast
    @property
    def settings(self) -> Settings: ...
    def with_settings(self, settings: Settings) -> Tokenizer: ...
    @overload
    def apply_chat_template(
        self,
        messages: Sequence[Sequence[Any]],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[True] = True,
        mask: None = None,
        **variables: Any,
    ) -> list[Encoding]: ...
    @overload
    def apply_chat_template(
        self,
        messages: Sequence[Sequence[Any]],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[True] = True,
        mask: Literal["assistant"],
        **variables: Any,
    ) -> list[MaskedEncoding]: ...
    @overload
    def apply_chat_template(
        self,
        messages: Sequence[Sequence[Any]],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[False],
        mask: None = None,
        **variables: Any,
    ) -> list[str]: ...
    @overload
    def apply_chat_template(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[True] = True,
        mask: None = None,
        **variables: Any,
    ) -> Encoding: ...
    @overload
    def apply_chat_template(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[True] = True,
        mask: Literal["assistant"],
        **variables: Any,
    ) -> MaskedEncoding: ...
    @overload
    def apply_chat_template(
        self,
        messages: Iterable[Any],
        *,
        tools: Iterable[Any] | None = None,
        documents: Iterable[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        specials: Literal["none", "all"] = "none",
        tokenize: Literal[False],
        mask: None = None,
        **variables: Any,
    ) -> str: ...
    def to_bytes(self) -> bytes: ...
    def to_sentencepiece(self) -> bytes: ...
    def save(self, path: _Path, format: str | None = None) -> list[str]: ...  # files written
    def encode(
        self,
        text: _Text | _Words,
        pair: _Text | _Words | None = None,
        *,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        max_tokens: SupportsIndex | None = None,
        truncation: _Truncation = "longest_first",
        truncation_side: _Side = "right",
        is_split_into_words: bool = False,
        errors: _Errors = "replace",
        seed: SupportsIndex = 0,
    ) -> Encoding: ...
    def encode_batch(
        self,
        texts: _Rows,
        pairs: _Rows | None = None,
        *,
        threads: SupportsIndex | None = None,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        max_tokens: SupportsIndex | None = None,
        truncation: _Truncation = "longest_first",
        truncation_side: _Side = "right",
        is_split_into_words: bool = False,
        errors: _Errors = "replace",
        offsets: bool = False,
        seed: SupportsIndex = 0,
    ) -> EncodingBatch: ...
    def encode_more(self, encoding: Encoding, text: _Text, *, errors: _Errors = "replace") -> Encoding: ...
    def stream_encoder(
        self,
        *,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        errors: _Errors = "replace",
        seed: SupportsIndex = 0,
    ) -> StreamEncoder: ...
    def encode_segments(
        self, segments: Iterable[_Text | Special], *, errors: _Errors = "replace"
    ) -> Encoding: ...
    def windows_batch(
        self,
        texts: _Rows,
        size: SupportsIndex,
        stride: SupportsIndex = 0,
        pairs: _Rows | None = None,
        *,
        threads: SupportsIndex | None = None,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        truncation: _Truncation = "longest_first",
        truncation_side: _Side = "right",
        is_split_into_words: bool = False,
        errors: _Errors = "replace",
        seed: SupportsIndex = 0,
    ) -> EncodingBatch: ...
    def windows(
        self,
        text: _Text,
        size: SupportsIndex,
        stride: SupportsIndex = 0,
        *,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        truncation_side: _Side = "right",
        errors: _Errors = "replace",
    ) -> EncodingBatch: ...
    def count(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        errors: _Errors = "replace",
    ) -> int: ...
    def count_batch(
        self,
        texts: _Texts,
        *,
        threads: SupportsIndex | None = None,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        errors: _Errors = "replace",
    ) -> NDArray[np.int64]: ...
    def fits(
        self,
        text: _Text,
        limit: SupportsIndex,
        *,
        add_special_tokens: bool = True,
        specials: _Specials = "none",
        errors: _Errors = "replace",
    ) -> bool: ...
    def decode(
        self, ids: _Ids, *, skip_special_tokens: bool = False, errors: _UnknownIds = "raise"
    ) -> str: ...
    def decode_bytes(
        self, ids: _Ids, *, skip_special_tokens: bool = False, errors: _UnknownIds = "raise"
    ) -> bytes: ...
    def decode_batch(
        self,
        batch: EncodingBatch | Iterable[_Ids],
        *,
        skip_special_tokens: bool = False,
        errors: _UnknownIds = "raise",
    ) -> list[str]: ...
    def stream_decoder(
        self,
        *,
        skip_special_tokens: bool = False,
        prompt: _Ids | None = None,
    ) -> StreamDecoder: ...
    def token_to_id(self, token: str | bytes) -> int | None: ...
    def id_to_token(self, id: SupportsIndex) -> str | None: ...
    def id_to_bytes(self, id: SupportsIndex) -> bytes | None: ...
    def vocab(self) -> dict[str, int]: ...
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def vocab_size(self) -> int: ...  # of an embedding: the greatest id and one
    @property
    def n_tokens(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def is_lossless(self) -> bool: ...
    @property
    def normalizer(self) -> Normalizer | None: ...
    @property
    def pre_tokenizer(self) -> PreTokenizer: ...
    @property
    def added_tokens(self) -> list[AddedToken]: ...
    @property
    def report(self) -> TrainReport | None: ...
    @property
    def call_defaults(self) -> dict[str, dict[str, Any]]: ...  # "encode", "windows", "pad"
    def info(self) -> dict[str, Any]: ...
    def doctor(self) -> dict[str, list[int]]: ...
    def n_best(self, text: str, n: SupportsIndex) -> list[tuple[NDArray[np.uint32], float]]: ...
    def sample(self, text: str, alpha: float = 0.1, seed: SupportsIndex = 0) -> NDArray[np.uint32]: ...
    def entropy(self, text: str, alpha: float = 0.1) -> float: ...
    def prune(self, keep: Iterable[SupportsIndex] | NDArray[Any]) -> tuple[Tokenizer, NDArray[np.int64]]: ...
    def with_specials(self, tokens: Sequence[str | AddedToken | _Token]) -> Tokenizer: ...
    def with_dropout(self, p: float | None) -> Tokenizer: ...
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...

def align_offsets(
    first: tuple[NDArray[np.int64], NDArray[np.bool_]], second: tuple[NDArray[np.int64], NDArray[np.bool_]]
) -> list[NDArray[np.int64]]: ...
def train_bpe(
    source: _Source | None = None,
    *,
    texts: _Texts | None = None,
    counts: _Counts | Sequence[_Counts | tuple[_Counts, _Weight]] | None = None,
    vocab_size: SupportsIndex = 32_000,
    min_frequency: SupportsIndex = 0,
    special_tokens: Sequence[str] | None = None,
    normalizer: str | Normalizer | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
    initial_alphabet: Literal["bytes", "none"] | Sequence[str] | None = None,
    limit_alphabet: SupportsIndex | None = None,
    max_token_length: SupportsIndex | None = None,
    continuing_subword_prefix: str | None = None,
    end_of_word_suffix: str | None = None,
    byte_fallback: bool = False,
    unit: Literal["bytes", "chars"] | None = None,
    unk_token: str | None = None,
    bos_token: str | None = "<s>",
    eos_token: str | None = "</s>",
    special_ids: Mapping[str, SupportsIndex] | None = None,
    tie_break: Literal["huggingface", "bytes", "sentencepiece"] | None = None,
    extend: Tokenizer | _Path | None = None,
    method: Literal["merges", "sentencepiece"] = "merges",
    character_coverage: float | None = None,
    required_chars: str | None = None,
    user_defined_symbols: Sequence[str] | None = None,
    max_piece_length: SupportsIndex | None = None,
    split_by_unicode_script: bool | None = None,
    split_by_number: bool | None = None,
    split_by_whitespace: bool | None = None,
    split_digits: bool | None = None,
    treat_whitespace_as_suffix: bool | None = None,
    allow_whitespace_only_pieces: bool | None = None,
    format: str | None = None,
    invalid_utf8: _InvalidUtf8 = "error",
    max_line_bytes: SupportsIndex | None = None,
    max_memory: SupportsIndex | None = None,
    max_piece_bytes: SupportsIndex | None = None,
    min_count: SupportsIndex = 0,
    sample: SupportsIndex | float | None = None,
    seed: SupportsIndex = 0,
    threads: SupportsIndex | None = None,
    superwords: Literal["auto"] | None = None,
    superwords_from: SupportsIndex | None = None,
    max_superword_words: SupportsIndex | None = None,
    superword_rule: Literal["sentences", "lines", "documents"] | None = None,
    checkpoint: _Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    progress: _Progress | None = None,
) -> Tokenizer: ...
def train_parity_bpe(
    source: Mapping[str, _Source] | None = None,
    *,
    texts: Mapping[str, _Texts] | None = None,
    counts: Mapping[str, _Counts | Sequence[_Counts | tuple[_Counts, _Weight]]] | None = None,
    development: Mapping[str, _Source | _Texts | WordCounts] | None = None,
    ratios: Mapping[str, float] | None = None,
    variant: Literal["base", "window"] = "base",
    window_size: SupportsIndex = 100,
    alpha: float = 2.0,
    global_merges: SupportsIndex = 0,
    max_merges: SupportsIndex | None = None,
    vocab_size: SupportsIndex = 32_000,
    min_frequency: SupportsIndex = 0,
    special_tokens: Sequence[str] | None = None,
    normalizer: str | Normalizer | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
    initial_alphabet: Literal["bytes", "none"] | Sequence[str] | None = None,
    limit_alphabet: SupportsIndex | None = None,
    max_token_length: SupportsIndex | None = None,
    continuing_subword_prefix: str | None = None,
    end_of_word_suffix: str | None = None,
    unit: Literal["bytes", "chars"] | None = None,
    unk_token: str | None = None,
    format: str | None = None,
    invalid_utf8: _InvalidUtf8 = "error",
    max_line_bytes: SupportsIndex | None = None,
    max_memory: SupportsIndex | None = None,
    max_piece_bytes: SupportsIndex | None = None,
    min_count: SupportsIndex = 0,
    sample: SupportsIndex | float | None = None,
    seed: SupportsIndex = 0,
    threads: SupportsIndex | None = None,
    progress: _Progress | None = None,
) -> Tokenizer: ...
def train_unigram(
    source: _Source | None = None,
    *,
    texts: _Texts | None = None,
    counts: _Counts | Sequence[_Counts | tuple[_Counts, _Weight]] | None = None,
    vocab_size: SupportsIndex = 8_000,
    special_tokens: Sequence[str] = (),
    user_defined_symbols: Sequence[str] = (),
    unk_token: str | None = "<unk>",
    bos_token: str | None = "<s>",
    eos_token: str | None = "</s>",
    special_ids: Mapping[str, SupportsIndex] | None = None,
    normalizer: str | Normalizer | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
    byte_fallback: bool = False,
    character_coverage: float = 0.9995,
    required_chars: str = "",
    seed_size: SupportsIndex = 1_000_000,
    shrinking_factor: float = 0.75,
    sub_iterations: SupportsIndex = 2,
    max_piece_length: SupportsIndex = 16,
    split_by_unicode_script: bool = True,
    split_by_number: bool = True,
    split_by_whitespace: bool = True,
    split_digits: bool = False,
    treat_whitespace_as_suffix: bool = False,
    allow_whitespace_only_pieces: bool = False,
    hard_vocab_limit: bool = False,
    method: Literal["full", "sentencepiece"] = "full",
    format: str | None = None,
    invalid_utf8: _InvalidUtf8 = "error",
    max_line_bytes: SupportsIndex | None = None,
    max_memory: SupportsIndex | None = None,
    max_piece_bytes: SupportsIndex | None = None,
    min_count: SupportsIndex = 0,
    sample: SupportsIndex | float | None = None,
    seed: SupportsIndex = 0,
    threads: SupportsIndex | None = None,
    checkpoint: _Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    progress: _Progress | None = None,
) -> Tokenizer: ...
def train_wordpiece(
    source: _Source | None = None,
    *,
    texts: _Texts | None = None,
    counts: _Counts | Sequence[_Counts | tuple[_Counts, _Weight]] | None = None,
    vocab_size: SupportsIndex = 30_522,
    score: Literal["frequency", "likelihood", "pmi"] = "frequency",
    lowercase: bool = True,
    min_frequency: SupportsIndex = 0,
    special_tokens: Sequence[str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    unk_token: str = "[UNK]",
    normalizer: str | Normalizer | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
    initial_alphabet: str = "",
    limit_alphabet: SupportsIndex | None = None,
    max_token_length: SupportsIndex | None = None,
    continuing_subword_prefix: str = "##",
    max_input_chars_per_word: SupportsIndex = 100,
    format: str | None = None,
    invalid_utf8: _InvalidUtf8 = "error",
    max_line_bytes: SupportsIndex | None = None,
    max_memory: SupportsIndex | None = None,
    max_piece_bytes: SupportsIndex | None = None,
    min_count: SupportsIndex = 0,
    sample: SupportsIndex | float | None = None,
    seed: SupportsIndex = 0,
    threads: SupportsIndex | None = None,
    checkpoint: _Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    progress: _Progress | None = None,
) -> Tokenizer: ...
def count(
    source: _Source | None = None,
    *,
    texts: _Texts | None = None,
    normalizer: str | Normalizer | None = None,
    pre_tokenizer: str | PreTokenizer | None = None,
    format: str | None = None,
    invalid_utf8: _InvalidUtf8 = "error",
    shard: tuple[SupportsIndex, SupportsIndex] | None = None,
    max_line_bytes: SupportsIndex | None = None,
    max_memory: SupportsIndex | None = None,
    max_piece_bytes: SupportsIndex | None = None,
    line_ends: bool = False,
    sample: SupportsIndex | float | None = None,
    seed: SupportsIndex = 0,
    threads: SupportsIndex | None = None,
    progress: _Progress | None = None,
    out: _Path | None = None,
    executor: _Executor | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    shard_bytes: SupportsIndex | None = None,
) -> WordCounts | None: ...
def remove_checkpoint(path: _Path) -> None: ...
def merge_counts(
    paths: Sequence[_Path],
    out: _Path,
    *,
    min_count: SupportsIndex = 0,
    progress: _Progress | None = None,
) -> dict[str, int]: ...
def encode_files(
    source: _Source | None = None,
    out_dir: _Path | None = None,
    tokenizer: Tokenizer | None = None,
    *,
    texts: _Texts | None = None,
    format: str | None = None,
    layout: Literal["sentitok", "nanogpt", "megatron", "text"] = "sentitok",
    separator: str | None = None,
    add_special_tokens: bool = False,
    specials: _Specials = "none",
    invalid_utf8: _InvalidUtf8 = "error",
    shard: tuple[SupportsIndex, SupportsIndex] | None = None,
    max_line_bytes: SupportsIndex | None = None,
    shard_tokens: SupportsIndex | None = None,
    resume: bool | None = None,
    threads: SupportsIndex | None = None,
    progress: _Progress | None = None,
    executor: _Executor | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    shard_bytes: SupportsIndex | None = None,
) -> dict[str, Any]: ...

# For `sentitok.accelerate`.
@final
class QuickDecode:
    def __new__(cls, tokenizer: Any) -> Self: ...
    @property
    def given(self) -> int: ...
    def give(self) -> None: ...
    def decode_by(self, seen: int, tokenizer: Tokenizer | None, joins_bytes: bool) -> None: ...
    def decode(
        self, token_ids: Any, skip_special_tokens: Any = None, *cleans: Any, **options: Any
    ) -> Any: ...

# For `sentitok.corpus_shards`.
def cut_file(
    path: _Path,
    part_bytes: SupportsIndex,
    *,
    format: str | None = None,
    progress: _Progress | None = None,
) -> list[int]: ...

# For `sentitok.documents` and the commands.
@final
class DocumentBatch:
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

@final
class DocumentReader:
    def __new__(
        cls,
        paths: _Path | Sequence[_Path] | CorpusShard,
        *,
        format: str | None = None,
        invalid_utf8: _InvalidUtf8 = "error",
        max_line_bytes: SupportsIndex | None = None,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> DocumentBatch: ...
    @property
    def replaced(self) -> int: ...

@final
class FertilityCounter:
    def __new__(cls, tokenizer: Tokenizer, distinct: DistinctWords | None = None) -> Self: ...
    def add(self, texts: _Texts, threads: SupportsIndex | None = None) -> int: ...
    def sums(self) -> Fertility: ...

@final
class Fertility:
    @property
    def frequency(self) -> NDArray[np.int64]: ...
    @property
    def words(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def single(self) -> int: ...
    @property
    def continued(self) -> int: ...

@final
class DistinctWords:
    def __new__(cls) -> Self: ...
    def single(self, tokenizer: Tokenizer, threads: SupportsIndex | None = None) -> int: ...
    def __len__(self) -> int: ...

def file_kind(path: _Path) -> str | None: ...
def read_folder(path: _Path) -> Tokenizer: ...
