"""tokenizers' trainers: `trainers.BpeTrainer(special_tokens=["[UNK]"])`: the options of training.

Training itself is sentitok's; see `training`. No progress is shown: `show_progress` is kept and
not used. `sentitok.train_bpe` and its kin have more: a limit of memory, progress, other formats.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NoReturn, Protocol

from ... import missing_attribute, numbers
from ...messages import shown
from .added import AddedToken, token_of
from .fields import Field, Holder, Json, flag, text, whole
from .shown import written

__all__ = [
    "BpeTrainer",
    "Merging",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]

_Tokens = Iterable[str | AddedToken]
_Languages = Sequence[Iterable[str | Iterable[str]]]


def specs_of(tokens: _Tokens) -> list[Json]:
    """Returns special tokens as a file has them.

    Raises:
        TypeError: for a text instead of a list.
    """
    if isinstance(tokens, str):
        raise TypeError(f"special_tokens is {shown(tokens)}; it is a list of tokens: [{shown(tokens)}]")
    return [token_of(given, special=True).spec() for given in tokens]


def _share(value: float) -> float:
    return numbers.real("shrinking_factor", value, "the share that a round keeps, such as 0.75")


def tokens_of(specs: list[Json]) -> list[AddedToken]:
    """Returns special tokens from what a file has."""
    return [AddedToken(**spec) for spec in specs]


#: Formats of progress as files name them, and as they are set; any other name is the first.
_PROGRESS = {"Indicatif": "indicatif", "JsonLines": "json", "Silent": "silent"}


def _progress(value: object) -> str:
    name = text("progress_format", or_none=False)(value)
    return next((format for format, short in _PROGRESS.items() if short == name), "Indicatif")


def first_chars(alphabet: Iterable[str]) -> list[str]:
    """Returns the first character of each text, as tokenizers takes an alphabet."""
    return [text[0] for text in alphabet if text]


class Trainer(Holder):
    """Options of training, as attributes."""

    #: The name of the model that is trained.
    model: ClassVar[str]
    # The trainer inside in the pickled state of one that has another inside.
    _inner: ClassVar[tuple[str, str] | None] = None

    vocab_size = Field[int](check=whole("vocab_size"))
    show_progress = Field[bool](check=flag("show_progress"))
    special_tokens = Field[list[AddedToken]](check=specs_of, shown=tokens_of)

    def __init__(self, **options: Any) -> None:
        if type(self) is Trainer:
            raise TypeError("Trainer is what its kinds have in common: take one of them")
        self.fields = {}
        for name, value in options.items():
            setattr(self, name, value)

    def __getstate__(self) -> bytes:
        fields: Json = {**self.fields, "words": {}}
        if self._inner:
            fields = {self._inner[0]: fields}
        return json.dumps({type(self).__name__: fields}, ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        ((_, fields),) = json.loads(state).items()
        if self._inner:
            fields = fields[self._inner[0]]
        self.fields = {name: value for name, value in fields.items() if name != "words"}

    def _written(self, short: bool) -> str:
        fields: Json = {**self.fields, "words": {}}
        if self._inner:
            fields = {self._inner[0]: {"type": self._inner[1], **fields}}
        name = type(self).__name__
        return f"{name}({written({'type': name, **fields}, short=short)})"

    def __repr__(self) -> str:
        return self._written(short=False)

    def __str__(self) -> str:
        return self._written(short=True)


class Merging(Trainer):
    """Common options of the trainers that merge pairs."""

    min_frequency = Field[int](check=whole("min_frequency"))
    limit_alphabet = Field[int | None](check=whole("limit_alphabet", or_none=True))
    initial_alphabet = Field[list[str]](check=first_chars)
    continuing_subword_prefix = Field[str | None](check=text("continuing_subword_prefix"))
    end_of_word_suffix = Field[str | None](check=text("end_of_word_suffix"))
    max_token_length = Field[int | None](check=whole("max_token_length", or_none=True))
    # Kept as a field, so that it is where tokenizers writes it; see `BpeTrainer.progress_format`.
    _progress_format = Field[str]("progress_format", check=_progress, shown=_PROGRESS.__getitem__)


class BpeTrainer(Merging):
    """Trains a `BPE`.

    Args:
        vocab_size: how many tokens there are in the end.
        min_frequency: how often a pair is there to be merged.
        show_progress: kept and not used.
        progress_format: `"indicatif"`, `"json"` or `"silent"`; kept and not used.
        special_tokens: the tokens of the first ids.
        limit_alphabet: how many characters are kept, the most frequent ones.
        initial_alphabet: characters that are there in any case.
        continuing_subword_prefix: the prefix of tokens inside a word.
        end_of_word_suffix: the suffix of tokens at the end of a word.
        max_token_length: merges whose token would have so many characters or more are not made; two
            characters always join. After `ByteLevel`, characters are bytes.
    """

    model = "BPE"
    progress_format = Merging._progress_format

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        progress_format: str = "indicatif",
        special_tokens: _Tokens = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Iterable[str] = (),
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        super().__init__(
            min_frequency=min_frequency,
            vocab_size=vocab_size,
            show_progress=show_progress,
            _progress_format=progress_format,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
            continuing_subword_prefix=continuing_subword_prefix,
            end_of_word_suffix=end_of_word_suffix,
            max_token_length=max_token_length,
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise missing_attribute.error(
            f"{type(self).__name__!r} object", name, {"getwordcount": "sentitok.count counts words"}
        )


class WordPieceTrainer(Merging):
    """Trains a `WordPiece`, by merging frequent pairs as tokenizers does.

    `sentitok.train_wordpiece(score="likelihood")` trains by the score of the paper.

    Args:
        vocab_size: how many tokens there are in the end.
        min_frequency: how often a pair is there to be merged.
        show_progress: kept and not used.
        special_tokens: the tokens of the first ids.
        limit_alphabet: how many characters are kept, the most frequent ones.
        initial_alphabet: characters that are there in any case.
        continuing_subword_prefix: the prefix of tokens inside a word.
        end_of_word_suffix: the suffix of tokens at the end of a word.
    """

    model = "WordPiece"
    _inner = ("bpe_trainer", "BpeTrainer")

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: _Tokens = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Iterable[str] = (),
        continuing_subword_prefix: str | None = "##",
        end_of_word_suffix: str | None = None,
    ) -> None:
        super().__init__(
            min_frequency=min_frequency,
            vocab_size=vocab_size,
            show_progress=show_progress,
            _progress_format="indicatif",
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
            continuing_subword_prefix=continuing_subword_prefix,
            end_of_word_suffix=end_of_word_suffix,
            max_token_length=None,
        )


class WordLevelTrainer(Trainer):
    """Trains a `WordLevel`: the most frequent words.

    Args:
        vocab_size: how many words there are in the end.
        min_frequency: how often a word is there.
        show_progress: kept and not used.
        special_tokens: the tokens of the first ids.
    """

    model = "WordLevel"
    min_frequency = Field[int](check=whole("min_frequency"))

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: _Tokens = (),
    ) -> None:
        super().__init__(
            min_frequency=min_frequency,
            vocab_size=vocab_size,
            show_progress=show_progress,
            special_tokens=special_tokens,
        )


class UnigramTrainer(Trainer):
    """Trains a `Unigram`, as sentitok does: its pieces are not those of tokenizers' trainer.

    Args:
        vocab_size: how many tokens there are in the end.
        show_progress: kept and not used.
        special_tokens: the tokens of the first ids.
        initial_alphabet: characters that are there in any case.
        shrinking_factor: the share of the pieces that is kept in each round.
        unk_token: the token for what no token writes.
        max_piece_length: how many characters a piece has at most.
        n_sub_iterations: how often probabilities are reckoned in each round.
        seed_size: from how many candidates training begins.
    """

    model = "Unigram"
    n_sub_iterations = Field[int](check=whole("n_sub_iterations"))
    shrinking_factor = Field[float](check=_share)
    initial_alphabet = Field[list[str]](check=first_chars)
    unk_token = Field[str | None](check=text("unk_token"))
    max_piece_length = Field[int](check=whole("max_piece_length"))
    seed_size = Field[int](check=whole("seed_size"))

    def __init__(
        self,
        *,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: _Tokens = (),
        initial_alphabet: Iterable[str] = (),
        shrinking_factor: float = 0.75,
        unk_token: str | None = None,
        max_piece_length: int = 16,
        n_sub_iterations: int = 2,
        seed_size: int = 1_000_000,
    ) -> None:
        super().__init__(
            show_progress=show_progress,
            vocab_size=vocab_size,
            n_sub_iterations=n_sub_iterations,
            shrinking_factor=shrinking_factor,
            special_tokens=special_tokens,
            initial_alphabet=initial_alphabet,
            unk_token=unk_token,
            max_piece_length=max_piece_length,
            seed_size=seed_size,
        )


def _alpha(value: Any) -> float:
    return float(numbers.real("alpha", value, "more than 0, such as 2.0"))


def ratios_of(given: Sequence[float]) -> list[float]:
    """Returns the ratios of languages, checked."""
    return [numbers.real("ratio", value, "a finite number for each language") for value in given]


def _variant(value: Any) -> str:
    if value not in ("base", "window"):
        raise ValueError(f"variant is {shown(value)}; it is 'base' or 'window'")
    return str(value)


def _read_only(name: str) -> Callable[["ParityBpeTrainer"], Any]:
    def get(trainer: "ParityBpeTrainer") -> Any:
        return trainer.fields[name]

    return get


class _Trained(Protocol):
    """A `Tokenizer`, whose module imports this one."""

    def _trained_on_languages(
        self,
        trainer: "ParityBpeTrainer",
        train: _Languages,
        dev: _Languages | None,
        ratio: Sequence[float] | None,
    ) -> None: ...


class ParityBpeTrainer(Holder):
    """Trains a `BPE` on several languages, each merge for the language that needs it most.

    Args:
        num_merges: how many merges are made.
        variant: `"base"`, or `"window"`, which limits the share of a language in the last merges.
        min_frequency: how often a pair is there to be merged.
        ratio: the compression that is wanted of each language.
        global_merges: how many of the first merges are those of all languages together.
        window_size: how many merges the window holds.
        alpha: the share of a language in the window, times the number of languages.
        total_symbols: whether `num_merges` is the size of the vocabulary instead.
        special_tokens: the tokens of the first ids.
        show_progress: kept and not used.
        limit_alphabet: how many characters are kept, the most frequent ones.
        initial_alphabet: characters that are there in any case.
        continuing_subword_prefix: the prefix of tokens inside a word.
        end_of_word_suffix: the suffix of tokens at the end of a word.
        max_token_length: as for `BpeTrainer`.
    """

    num_merges = Field[int](check=whole("num_merges"))
    min_frequency = Field[int](check=whole("min_frequency"))
    global_merges = Field[int](check=whole("global_merges"))
    window_size = Field[int](check=whole("window_size"))
    alpha = Field[float](check=_alpha)
    total_symbols = Field[bool](check=flag("total_symbols"))
    show_progress = Field[bool](check=flag("show_progress"))
    special_tokens = Field[list[AddedToken]](check=specs_of, shown=tokens_of)
    limit_alphabet = Field[int | None](check=whole("limit_alphabet", or_none=True))
    initial_alphabet = Field[list[str]](check=first_chars)
    continuing_subword_prefix = Field[str | None](check=text("continuing_subword_prefix"))
    end_of_word_suffix = Field[str | None](check=text("end_of_word_suffix"))
    max_token_length = Field[int | None](check=whole("max_token_length", or_none=True))
    variant = property(_read_only("variant"), doc="How the language of a merge is selected.")

    def __init__(
        self,
        num_merges: int = 32000,
        variant: str = "base",
        min_frequency: int = 0,
        ratio: Sequence[float] | None = None,
        global_merges: int = 0,
        window_size: int = 100,
        alpha: float = 2.0,
        total_symbols: bool = False,
        special_tokens: Iterable[str | AddedToken] | None = None,
        show_progress: bool = True,
        limit_alphabet: int | None = None,
        initial_alphabet: Iterable[str] | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        self.fields = {"variant": _variant(variant)}
        self.ratios = None if ratio is None else ratios_of(ratio)
        self.num_merges = num_merges
        self.min_frequency = min_frequency
        self.global_merges = global_merges
        self.window_size = window_size
        self.alpha = alpha
        self.total_symbols = total_symbols
        self.special_tokens = special_tokens or []  # type: ignore[assignment]  # 2026-11-30: checked when set
        self.show_progress = show_progress
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = list(initial_alphabet or [])
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    def __repr__(self) -> str:
        alpha, total = f"{self.alpha:g}", str(self.total_symbols).lower()
        return (
            f'ParityBpeTrainer(num_merges={self.num_merges}, variant="{self.variant}", '
            f"min_frequency={self.min_frequency}, global_merges={self.global_merges}, "
            f"window_size={self.window_size}, alpha={alpha}, total_symbols={total})"
        )

    def train_from_iterator(
        self,
        tokenizer: _Trained,
        train_iterators: _Languages,
        dev_iterators: _Languages | None = None,
        ratio: Sequence[float] | None = None,
    ) -> None:
        """Gives a tokenizer a new `BPE`, trained on the texts of each language.

        Args:
            tokenizer: the tokenizer, with the normalizer and pre-tokenizer to train with.
            train_iterators: the texts of each language, or lists of texts.
            dev_iterators: texts that say the same in each language, whose tokens decide.
            ratio: the compression that is wanted of each language, if there are no `dev_iterators`.

        Raises:
            ValueError: for another number of languages.
            TrainError: for options that cannot be, or a language without text.
        """
        tokenizer._trained_on_languages(self, train_iterators, dev_iterators, ratio)


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute.error(f"module {__name__!r}", name, {})
