"""tokenizers' pre-tokenizers: `pre_tokenizers.Whitespace()`, `pre_tokenizers.ByteLevel()`.

They split as sentitok's pre-tokenizers do. Pre-tokenizers written in Python
(`PreTokenizer.custom`) run separately: encode their pieces with `is_pretokenized=True`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

from .alphabet import ALPHABET, spelled
from .carrier import carried
from .fields import Field, Json, flag, whole
from .stages import Regex as _Regex
from .stages import Stage, Steps, call_custom, one_char, one_of, pattern
from .strings import PreTokenizedString

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}
_NAMES = {written: name for name, written in _BEHAVIORS.items()}
_SCHEME = one_of("first", "never", "always")


def _behavior() -> Field[str]:
    """The treatment of a delimiter."""
    return Field[str](check=one_of(*_BEHAVIORS, spelled=_BEHAVIORS.__getitem__), shown=_NAMES.__getitem__)


class PreTokenizer(Stage, room="pre-tokenizer"):
    """Splits a text before the model sees its pieces."""

    @staticmethod
    def custom(pretok: object) -> "PreTokenizer":
        """Returns a pre-tokenizer that is an object with `pre_tokenize(pretok)`; no tokenizer takes it."""
        return _Custom(pretok)

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Raises: `pre_tokenize_str` returns the pieces."""
        raise NotImplementedError("pieces are not kept in an object: pre_tokenize_str(text) returns them")

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """Returns the pieces of a text, and where each is in it, in characters."""
        if not isinstance(sequence, str):
            raise TypeError(f"sequence is {type(sequence).__name__}; it is a str")
        splitter = carried(pre_tokenizer=self.spec()).pre_tokenizer
        pieces = splitter.pieces(sequence)
        if self.spells_bytes():
            pieces = [spelled(piece.encode()) for piece in pieces]
        return list(zip(pieces, splitter.split(sequence), strict=True))

    def spells_bytes(self) -> bool:
        """Whether the pieces are a character a byte."""
        return False


class _Custom(PreTokenizer, in_files=False):
    """A pre-tokenizer that is an object with `pre_tokenize(pretok)`."""

    def __init__(self, custom: Any) -> None:
        super().__init__()
        self._custom = custom

    def spec(self) -> Json:
        """Raises: it has no JSON."""
        raise NotImplementedError(
            "a pre-tokenizer written in Python has no place in a tokenizer here: encode the pieces that its "
            "pre_tokenize_str(text) returns, with is_pretokenized=True"
        )

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Splits a text."""
        call_custom(self._custom.pre_tokenize, pretok)

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]:
        """Returns the pieces of a text, and where each is in it, in characters."""
        text = PreTokenizedString(sequence)
        self.pre_tokenize(text)
        return [(piece.normalized, piece.span) for piece in text.pieces]


class BertPreTokenizer(PreTokenizer):
    """Words and signs, as BERT has them."""


class Whitespace(PreTokenizer):
    r"""What `\w+|[^\w\s]+` matches."""


class WhitespaceSplit(PreTokenizer):
    """Splits at white space."""


class UnicodeScripts(PreTokenizer):
    """Cuts where the script changes."""


class ByteLevel(PreTokenizer):
    """GPT-2's pieces, a character a byte."""

    defaults: ClassVar[Json] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    add_prefix_space = Field[bool](check=flag("add_prefix_space"))
    trim_offsets = Field[bool](check=flag("trim_offsets"))
    use_regex = Field[bool](check=flag("use_regex"))

    def __init__(
        self,
        add_prefix_space: bool = True,
        use_regex: bool = True,
        trim_offsets: bool = True,
        type: str = "ByteLevel",  # as in the JSON, whose fields are given back
    ) -> None:
        super().__init__(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)

    @staticmethod
    def alphabet() -> list[str]:
        """Returns the 256 characters that spell bytes."""
        return list(ALPHABET)

    def spells_bytes(self) -> bool:
        """Whether the pieces are a character a byte."""
        return True


class Metaspace(PreTokenizer):
    """Words with a mark for the blank in front of each."""

    defaults: ClassVar[Json] = {"replacement": "▁", "prepend_scheme": "always", "split": True}
    replacement = Field[str](check=one_char)
    prepend_scheme = Field[str](check=_SCHEME)
    split = Field[bool](check=flag("split"))

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        super().__init__(replacement=replacement, prepend_scheme=prepend_scheme, split=split)


class CharDelimiterSplit(PreTokenizer):
    """Splits at a character."""

    defaults: ClassVar[Json] = {"delimiter": None}
    delimiter = Field[str](check=one_char)

    def __init__(self, delimiter: str) -> None:
        super().__init__(delimiter=delimiter)


class Punctuation(PreTokenizer):
    """Cuts at signs."""

    defaults: ClassVar[Json] = {"behavior": "Isolated"}
    behavior = _behavior()

    def __init__(self, behavior: str = "isolated") -> None:
        super().__init__(behavior=behavior)


class Digits(PreTokenizer):
    """Cuts around numbers, or each digit."""

    defaults: ClassVar[Json] = {"individual_digits": False}
    individual_digits = Field[bool](check=flag("individual_digits"))

    def __init__(self, individual_digits: bool = False) -> None:
        super().__init__(individual_digits=individual_digits)


class FixedLength(PreTokenizer):
    """Pieces of as many characters."""

    defaults: ClassVar[Json] = {"length": 5}
    length = Field[int](check=whole("length"))

    def __init__(self, length: int = 5) -> None:
        super().__init__(length=length)


class Split(PreTokenizer):
    """Cuts at a text or at what a regular expression matches."""

    defaults: ClassVar[Json] = {"pattern": None, "behavior": None, "invert": False}
    behavior = _behavior()
    invert = Field[bool](check=flag("invert"))

    def __init__(self, pattern: str | _Regex, behavior: str, invert: bool = False) -> None:
        self.fields = {"pattern": _looked_for(pattern)}
        self.behavior = behavior
        self.invert = invert

    @property
    def pattern(self) -> NoReturn:
        """Raises: a pattern cannot be read back, nor set."""
        raise NotImplementedError("a pattern cannot be read back: make another Split")


class Sequence(Steps[PreTokenizer], PreTokenizer):
    """One after the other, each in the pieces of the one before."""

    key = "pretokenizers"
    defaults: ClassVar[Json] = {key: []}

    def __init__(self, pretokenizers: Iterable[PreTokenizer]) -> None:
        self._hold(pretokenizers, PreTokenizer)

    @classmethod
    def _of(cls, fields: Json) -> "Sequence":
        return cls([PreTokenizer.from_spec(spec) for spec in fields[cls.key]])

    def spells_bytes(self) -> bool:
        """Whether the pieces are a character a byte."""
        return any(stage.spells_bytes() for stage in self.stages)


_looked_for = pattern
