"""tokenizers' decoders: tokens, as they are spelled, to text; and `DecodeStream`.

A tokenizer decodes ids by sentitok's decoder, which is fast. This module decodes lists of tokens,
in a few lines a kind; a tokenizer falls back to it where sentitok's text differs
on purpose: see `chain`.

Source of the rules: tokenizers 0.23, what each decoder makes of lists of tokens.
"""

import itertools
import re
from collections.abc import Iterable
from collections.abc import Sequence as _Several
from typing import ClassVar, NoReturn, Protocol

from ... import numbers
from .alphabet import as_bytes
from .carrier import carried
from .fields import Field, Json, flag, text, whole
from .stages import Regex as _Regex
from .stages import Stage, Steps, one_char, one_of, pattern

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# Corrections to the text of English tokens, in this order.
_CLEANED = [
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
    (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
]  # fmt: skip


def _cleaned(text: str) -> str:
    for wrong, right in _CLEANED:
        text = text.replace(wrong, right)
    return text


class Decoder(Stage, room="decoder"):
    """Makes a text of tokens."""

    @staticmethod
    def custom(decoder: object) -> NoReturn:
        """Raises: no decoder is written in Python here."""
        raise NotImplementedError(
            "decoders written in Python are not supported: change the text that decode() returns, or build "
            "the decoder from Replace, Strip, Fuse and the like"
        )

    def decode(self, tokens: _Several[str]) -> str:
        """Returns the text of tokens."""
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise TypeError("tokens are a list of str")
        return "".join(self.chain(list(tokens)))

    def chain(self, tokens: list[str]) -> list[str]:
        """Returns the tokens as they are joined, or given to the next decoder."""
        raise NotImplementedError


class ByteLevel(Decoder):
    """Characters that spell bytes become those."""

    defaults: ClassVar[Json] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(self, **_: object) -> None:
        super().__init__()
        self.fields = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        return [b"".join(map(as_bytes, tokens)).decode("utf-8", "replace")]


class ByteFallback(Decoder):
    """Tokens such as `<0xE5>` become bytes; of a run that is not UTF-8 each becomes U+FFFD."""

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        made: list[str] = []
        for is_bytes, run in itertools.groupby(tokens, lambda token: bool(_BYTE.fullmatch(token))):
            if not is_bytes:
                made.extend(run)
                continue
            data = bytes(int(token[3:5], 16) for token in run)
            try:
                made.append(data.decode())
            except UnicodeDecodeError:
                made.extend("\ufffd" * len(data))
        return made


class Fuse(Decoder):
    """All tokens become one."""

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        return ["".join(tokens)]


class Metaspace(Decoder):
    """The mark becomes a blank, and nothing in the first token where one was put in front."""

    defaults: ClassVar[Json] = {"replacement": "▁", "prepend_scheme": "always", "split": True}
    replacement = Field[str](check=one_char)
    prepend_scheme = Field[str](check=one_of("first", "never", "always"))
    split = Field[bool](check=flag("split"))

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        super().__init__(replacement=replacement, prepend_scheme=prepend_scheme, split=split)

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        first = " " if self.prepend_scheme == "never" else ""
        return [token.replace(self.replacement, " " if n else first) for n, token in enumerate(tokens)]


class WordPiece(Decoder):
    """Tokens without the prefix begin a word."""

    defaults: ClassVar[Json] = {"prefix": "##", "cleanup": True}
    prefix = Field[str](check=text("prefix", or_none=False))
    cleanup = Field[bool](check=flag("cleanup"))

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        super().__init__(prefix=prefix, cleanup=cleanup)

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        made = tokens[:1]
        for token in tokens[1:]:
            continues = token.startswith(self.prefix)
            made.append(token[len(self.prefix) :] if continues else f" {token}")
        return list(map(_cleaned, made)) if self.cleanup else made


class BPEDecoder(Decoder):
    """The suffix becomes a blank, and nothing in the last token."""

    defaults: ClassVar[Json] = {"suffix": "</w>"}
    suffix = Field[str](check=text("suffix", or_none=False))

    def __init__(self, suffix: str = "</w>") -> None:
        super().__init__(suffix=suffix)

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        last = len(tokens) - 1
        return [token.replace(self.suffix, " " if n < last else "") for n, token in enumerate(tokens)]


class CTC(Decoder):
    """The decoder of speech recognition: removes repeats and pads."""

    defaults: ClassVar[Json] = {"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}
    pad_token = Field[str](check=text("pad_token", or_none=False))
    word_delimiter_token = Field[str](check=text("word_delimiter_token", or_none=False))
    cleanup = Field[bool](check=flag("cleanup"))

    def __init__(
        self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True
    ) -> None:
        super().__init__(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        made = [token.replace(self.pad_token, "") for token, _ in itertools.groupby(tokens)]
        if self.cleanup:
            made = [_cleaned(token).replace(self.word_delimiter_token, " ") for token in made]
        return [token for token in made if token]


class Strip(Decoder):
    """A character goes at the ends of each token, so many times at most."""

    defaults: ClassVar[Json] = {"content": " ", "start": 0, "stop": 0}
    content = Field[str](check=one_char)
    start = Field[int](check=whole("left"))
    stop = Field[int](check=whole("right"))

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        super().__init__(content=content, start=left, stop=right)

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        return [self._stripped(token) for token in tokens]

    def _stripped(self, token: str) -> str:
        begin = min(len(token) - len(token.lstrip(self.content)), self.start)
        end = len(token) - min(len(token) - len(token.rstrip(self.content)), self.stop)
        return token[begin : max(begin, end)]


class Replace(Decoder):
    """Puts a text in the place of another in each token."""

    defaults: ClassVar[Json] = {"pattern": None, "content": ""}

    def __init__(self, pattern: str | _Regex, content: str) -> None:
        self.fields = {"pattern": _looked_for(pattern), "content": content}

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        normalizer = carried(normalizer=self.spec()).normalizer  # which knows the same stage
        return tokens if normalizer is None else [normalizer.normalize(token) for token in tokens]


class Sequence(Steps[Decoder], Decoder):
    """One after the other."""

    key = "decoders"
    defaults: ClassVar[Json] = {key: []}

    def __init__(self, decoders: Iterable[Decoder]) -> None:
        self._hold(decoders, Decoder)

    @classmethod
    def _of(cls, fields: Json) -> "Sequence":
        return cls([Decoder.from_spec(spec) for spec in fields[cls.key]])

    def chain(self, tokens: list[str]) -> list[str]:
        """As in `Decoder`."""
        for stage in self.stages:
            tokens = stage.chain(tokens)
        return tokens


_looked_for = pattern


class _Tokenizer(Protocol):
    """Makes a text of ids."""

    def decode(self, sequence: _Several[int], skip_special_tokens: bool, /) -> str: ...


class DecodeStream:
    """Ids to text as they come: of each step what the text has more.

    `sentitok.Tokenizer.stream_decoder` does the same without decoding ids again.

    Args:
        ids: the ids before.
        skip_special_tokens: whether special tokens are left out.
    """

    def __init__(self, ids: _Several[int] | None = None, skip_special_tokens: bool = False) -> None:
        self._ids = list(ids or [])
        self._skip = skip_special_tokens
        self._prefix = ""
        self._n_prefix = 0

    def __copy__(self) -> "DecodeStream":
        made = DecodeStream(self._ids, self._skip)
        made._prefix, made._n_prefix = self._prefix, self._n_prefix
        return made

    def step(self, tokenizer: _Tokenizer, id: int | _Several[int]) -> str | None:
        """Returns the text that is new, or `None` while it ends inside a character.

        Args:
            tokenizer: decodes.
            id: the next id, or several.

        Raises:
            ValueError: where the text so far is not what the new one begins with.
        """
        if not self._prefix and self._ids:
            before = tokenizer.decode(self._ids, self._skip)
            if not before.endswith("\ufffd"):
                self._prefix, self._n_prefix = before, len(self._ids)
        several = id if isinstance(id, Iterable) and not isinstance(id, str | bytes) else [id]
        self._ids += [numbers.whole("id", one, error=OverflowError) for one in several]
        text = tokenizer.decode(self._ids, self._skip)
        if len(text) <= len(self._prefix) or text.endswith("\ufffd"):
            return None
        if not text.startswith(self._prefix):
            raise ValueError(
                f"Invalid prefix encountered while decoding stream. Token ID: {self._ids[-1]}, Expected "
                f"prefix: {self._prefix!r}, Actual string: {text!r}"
            )
        new = text[len(self._prefix) :]
        n_prefix = len(self._ids) - self._n_prefix
        self._ids = self._ids[self._n_prefix :]
        self._prefix = tokenizer.decode(self._ids, self._skip)
        self._n_prefix = n_prefix
        return new
