"""tokenizers' normalizers: `normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])`.

Their results are those of sentitok's normalizers. Normalizers written in Python
(`Normalizer.custom`) run separately: change the texts by them before they are encoded.
"""

import base64
from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

from .alphabet import spelled
from .carrier import carried
from .fields import Field, Json, flag, text
from .stages import Regex as _Regex
from .stages import Stage, Steps, call_custom, pattern
from .strings import NormalizedString

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Stage, room="normalizer"):
    """Changes a text before it is split."""

    @staticmethod
    def custom(obj: object) -> "Normalizer":
        """Returns a normalizer that is an object with `normalize(normalized)`; no tokenizer takes it."""
        return _Custom(obj)

    def normalize(self, normalized: NormalizedString) -> None:
        """Raises: `normalize_str` returns the new text."""
        raise NotImplementedError(
            "where characters come from is not kept: normalize_str(text) returns the text"
        )

    def normalize_str(self, sequence: str) -> str:
        """Returns the normalized text."""
        if not isinstance(sequence, str):
            raise TypeError(f"sequence is {type(sequence).__name__}; it is a str")
        normalizer = carried(normalizer=self.spec()).normalizer
        return sequence if normalizer is None else normalizer.normalize(sequence)

    def spells_bytes(self) -> bool:
        """Whether the text becomes a character a byte."""
        return False


class _Custom(Normalizer, in_files=False):
    """A normalizer that is an object with `normalize(normalized)`."""

    def __init__(self, custom: Any) -> None:
        super().__init__()
        self._custom = custom

    def spec(self) -> Json:
        """Raises: it has no JSON."""
        raise NotImplementedError(
            "a normalizer written in Python has no place in a tokenizer here: encode what its "
            "normalize_str(text) returns"
        )

    def normalize(self, normalized: NormalizedString) -> None:
        """Changes a text."""
        given = normalized[:]
        call_custom(self._custom.normalize, given)
        normalized._chars = given._chars
        given.close()

    def normalize_str(self, sequence: str) -> str:
        """Returns the normalized text."""
        text = NormalizedString(sequence)
        self.normalize(text)
        return text.normalized


class BertNormalizer(Normalizer):
    """BERT's normalizer: cleans, puts blanks around Chinese characters, strips accents, lowers."""

    defaults: ClassVar[Json] = {
        "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True,
    }  # fmt: skip
    clean_text = Field[bool](check=flag("clean_text"))
    handle_chinese_chars = Field[bool](check=flag("handle_chinese_chars"))
    strip_accents = Field[bool | None](check=flag("strip_accents", or_none=True))
    lowercase = Field[bool](check=flag("lowercase"))

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        super().__init__(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )


class NFC(Normalizer):
    """Unicode's form C."""


class NFD(Normalizer):
    """Unicode's form D."""


class NFKC(Normalizer):
    """Unicode's form KC."""


class NFKD(Normalizer):
    """Unicode's form KD."""


class Nmt(Normalizer):
    """SentencePiece's rules for control characters and blanks."""


class Lowercase(Normalizer):
    """Lower case."""


class StripAccents(Normalizer):
    """Leaves out marks, which forms D and KD make separate characters."""


class ByteLevel(Normalizer):
    """A character a byte."""

    def normalize_str(self, sequence: str) -> str:
        """Returns the normalized text."""
        return spelled(sequence.encode())

    def spells_bytes(self) -> bool:
        """Whether the text becomes a character a byte."""
        return True


class Strip(Normalizer):
    """Leaves out white space at the ends."""

    defaults: ClassVar[Json] = {"strip_left": True, "strip_right": True}
    left = Field[bool]("strip_left", check=flag("left"))
    right = Field[bool]("strip_right", check=flag("right"))

    def __init__(self, left: bool = True, right: bool = True) -> None:
        super().__init__(left=left, right=right)


class Prepend(Normalizer):
    """Puts a text in front."""

    defaults: ClassVar[Json] = {"prepend": "▁"}
    prepend = Field[str](check=text("prepend", or_none=False))

    def __init__(self, prepend: str = "▁") -> None:
        super().__init__(prepend=prepend)


class Replace(Normalizer):
    """Puts a text in the place of another, or of what a regular expression matches."""

    defaults: ClassVar[Json] = {"pattern": None, "content": ""}
    content = Field[str](check=text("content", or_none=False))

    def __init__(self, pattern: str | _Regex, content: str) -> None:
        self.fields = {"pattern": _looked_for(pattern)}
        if not isinstance(content, str):
            raise TypeError(f"{type(content).__name__!r} object is not an instance of 'str'")
        self.content = content

    @property
    def pattern(self) -> NoReturn:
        """Raises: a pattern cannot be read back, nor set."""
        raise NotImplementedError("a pattern cannot be read back: make another Replace")


class Precompiled(Normalizer):
    """SentencePiece's rules as its models hold them."""

    defaults: ClassVar[Json] = {"precompiled_charsmap": ""}

    def __init__(self, precompiled_charsmap: bytes) -> None:
        text = base64.b64encode(bytes(precompiled_charsmap)).decode("ascii")
        self.fields = {"precompiled_charsmap": text}


class Sequence(Steps[Normalizer], Normalizer):
    """One after the other."""

    key = "normalizers"
    defaults: ClassVar[Json] = {key: []}

    def __init__(self, normalizers: Iterable[Normalizer]) -> None:
        self._hold(normalizers, Normalizer)

    @classmethod
    def _of(cls, fields: Json) -> "Sequence":
        return cls([Normalizer.from_spec(spec) for spec in fields[cls.key]])

    def normalize_str(self, sequence: str) -> str:
        """Returns the normalized text."""
        for stage in self.stages:
            sequence = stage.normalize_str(sequence)
        return sequence

    def spells_bytes(self) -> bool:
        """Whether the text becomes a character a byte."""
        return any(stage.spells_bytes() for stage in self.stages)


_looked_for = pattern
Normalizer.kinds["StripNormalizer"] = Strip  # as older files call it
#: The forms of Unicode by name.
NORMALIZERS: dict[str, type[Normalizer]] = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Returns a form by its name: `"nfc"`, `"nfd"`, `"nfkc"` or `"nfkd"`."""
    if normalizer not in NORMALIZERS:
        raise ValueError(f"{normalizer!r} is not a known unicode normalizer. Available are {[*NORMALIZERS]}")
    made: Any = NORMALIZERS[normalizer]
    form: Normalizer = made()
    return form
