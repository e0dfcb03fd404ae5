"""`Encoding`: a tokenizer with tiktoken's methods.

Ids, texts and the errors that people catch are those of tiktoken 0.14; completions come sorted. To find an
encoding by its name, use the functions of the package.

Source of what the calls mean: openai/tiktoken 0.14, `tiktoken/core.py` and `src/lib.rs`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from ... import missing_attribute
from ..._sentitok import DecodeError, Tokenizer
from ...continuations import Continuations
from ...messages import shown
from ...numbers import index, whole
from .load import line

__all__ = ["Encoding"]

_Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
_Disallowed: TypeAlias = Literal["all"] | Collection[str] | None


class Encoding:
    """A tokenizer with tiktoken's methods.

    Args:
        name: its name.
        pat_str: the pattern that cuts a text, or a name of `PreTokenizer.names()`.
        mergeable_ranks: the rank of each token, by its bytes; all 256 bytes have one.
        special_tokens: the ids of special tokens, by their text.
        explicit_n_vocab: how many tokens there should be, to be checked.

    Raises:
        ValueError: for ranks that make no tokenizer, or another number of tokens.
        OverflowError: for an id below 0, or of more than 32 bits.
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        for token, id in (*mergeable_ranks.items(), *special_tokens.items()):
            whole(f"the id of {shown(token)}", id, error=OverflowError, bits=32)
        tokenizer = Tokenizer.from_tiktoken(
            b"".join(map(line, mergeable_ranks.items())), pat_str, special_tokens
        )
        self._set(name, tokenizer)
        self._pattern: str | None = pat_str
        n_tokens = len(mergeable_ranks) + len(special_tokens)
        if explicit_n_vocab is not None:
            explicit_n_vocab = whole("explicit_n_vocab", explicit_n_vocab, "a number of tokens, or None")
        if explicit_n_vocab and not n_tokens == self.n_vocab == explicit_n_vocab:
            raise ValueError(
                f"explicit_n_vocab={explicit_n_vocab}, and there are {n_tokens} tokens, the last of id "
                f"{self.max_token_value}"
            )

    def _set(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._pattern = None
        self._special_tokens = {token.content: token.id for token in tokenizer.added_tokens}

    @classmethod
    def of(cls, name: str, tokenizer: Tokenizer) -> "Encoding":
        """Returns tiktoken's methods on a tokenizer, which stays what it is.

        Raises:
            ValueError: for a tokenizer that is not byte-level, or puts tokens around a text.
        """
        if not tokenizer.is_lossless or tokenizer.count(""):
            raise ValueError(
                f"{shown(tokenizer)} is not a byte-level tokenizer without a template, as tiktoken's are: "
                "use its own methods"
            )
        made = cls.__new__(cls)
        made._set(name, tokenizer)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.name, self.tokenizer, self._pattern)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # Text to ids

    def encode_ordinary(self, text: str) -> list[int]:
        """Returns the ids of a text in which nothing is special."""
        ids: list[int] = self._ids(text, frozenset()).tolist()
        return ids

    def encode(
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> list[int]:
        """Returns the ids of a text.

        Args:
            text: the text; surrogates are joined, a lone one becomes U+FFFD.
            allowed_special: the special tokens that are tokens where they occur in the text.
            disallowed_special: special tokens that are an error; all further ones are plain text. `None` is
                none.

        Raises:
            ValueError: for a disallowed special token in the text.
        """
        allowed = self._checked([text], allowed_special, disallowed_special)
        ids: list[int] = self._ids(text, allowed).tolist()
        return ids

    def encode_to_numpy(
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> npt.NDArray[np.uint32]:
        """Returns what `encode` does as an array, read-only."""
        allowed = self._checked([text], allowed_special, disallowed_special)
        return self._ids(text, allowed)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int | None = 8) -> list[list[int]]:
        """Returns the ids of texts in which nothing is special."""
        return self._rows([_text(each) for each in _rows_of(text)], frozenset(), num_threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int | None = 8,
        allowed_special: _Allowed = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """Returns the ids of texts, each as `encode` has them."""
        allowed = self._checked(_rows_of(text), allowed_special, disallowed_special)
        return self._rows(text, allowed, num_threads)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Returns the id of a token, a special one too.

        Raises:
            KeyError: if there is no such token.
        """
        token = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        id = self.tokenizer.token_to_id(token)
        if id is None:
            raise KeyError(token)
        return id

    def encode_with_unstable(
        self, text: str, *, allowed_special: _Allowed = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Returns ids that stay whatever comes after the text, and ways in which the rest may continue.

        Each way begins with the bytes that are left of the text, and ends with the token in
        which they end. Slow: the vocabulary is searched at each place of the last piece.

        Args:
            text: the beginning of a text.
            allowed_special: as in `encode`.
            disallowed_special: as in `encode`.
        """
        allowed = self._checked([text], allowed_special, disallowed_special)
        tokens: list[int] = self._ids(text, allowed).tolist()
        start = max((match.end() for match in _any_of(allowed).finditer(text)), default=0) if allowed else 0
        if start == len(text):
            return tokens, []
        whole = text[start:].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._continuations.after(tokens, self._n_last(whole))

    def _ids(self, text: str, allowed: frozenset[str]) -> npt.NDArray[np.uint32]:
        return self.tokenizer.encode(_text(text), specials=allowed).ids

    def _rows(self, texts: list[str], allowed: frozenset[str], threads: int | None) -> list[list[int]]:
        n_threads = None if threads is None else whole("num_threads", threads, "1 or more, or None", 1)
        return self.tokenizer.encode_batch(texts, threads=n_threads, specials=allowed).to_list()

    def _checked(
        self, texts: Iterable[str], allowed_special: _Allowed, disallowed_special: _Disallowed
    ) -> frozenset[str]:
        """The special tokens that count, once no text has one that must not be there."""
        texts = [_text(text) for text in texts]
        own = self._special_set
        allowed = own if allowed_special == "all" else _named("allowed_special", allowed_special)
        if disallowed_special == "all":
            disallowed = own - allowed
        else:
            disallowed = _named("disallowed_special", disallowed_special or ())
        if disallowed:
            pattern = _any_of(disallowed)
            for text in texts:
                if match := pattern.search(text):
                    _refuse(match.group())
        return allowed & own

    # Ids to text

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of ids.

        Raises:
            KeyError: for an id without a token.
            OverflowError: for an id below 0, or of more than 32 bits.
        """
        if not _is_row(tokens):
            raise TypeError(f"tokens are {shown(tokens)}; pass a list of ids")
        try:
            return self.tokenizer.decode_bytes(tokens)
        except DecodeError as error:
            for token in tokens:
                whole("token", token, error=OverflowError, bits=32)
            raise KeyError(f"Invalid token for decoding: {error}") from error

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Returns the text of ids; `errors` is that of `bytes.decode`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Returns the bytes of an id.

        Raises:
            KeyError: for an id without a token.
            OverflowError: for an id below 0, or of more than 32 bits.
        """
        data = self.tokenizer.id_to_bytes(token)
        if data is None:
            raise KeyError(whole("token", token, error=OverflowError, bits=32))
        return data

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Returns the bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Returns the text of ids, and where in it each begins, in characters.

        An id that begins inside a character has the place of that character.

        Raises:
            UnicodeDecodeError: for ids that are not whole characters together.
        """
        parts = self.decode_tokens_bytes(tokens)
        starts, n_chars = [], 0
        for part in parts:
            starts.append(max(0, n_chars - _goes_on(part[0])))
            n_chars += sum(not _goes_on(byte) for byte in part)
        return b"".join(parts).decode("utf-8"), starts

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int | None = 8
    ) -> list[str]:
        """Returns the texts of lists of ids; one thread is enough."""
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int | None = 8
    ) -> list[bytes]:
        """Returns the bytes of lists of ids."""
        return [self.decode_bytes(tokens) for tokens in batch]

    # The vocabulary

    def token_byte_values(self) -> list[bytes]:
        """Returns the bytes of all tokens but the special ones, sorted."""
        return list(self._continuations.tokens)

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; a KeyError where there is none."""
        return self._special_tokens["<|endoftext|>"]

    @property
    def max_token_value(self) -> int:
        """The greatest id."""
        return self.tokenizer.vocab_size - 1

    @property
    def n_vocab(self) -> int:
        """The size of an embedding: one more than the greatest id."""
        return self.tokenizer.vocab_size

    @property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token's."""
        return index("token", token, "an id") in self._special_ids

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self._special_tokens.values())

    @cached_property
    def _special_set(self) -> frozenset[str]:
        return frozenset(self._special_tokens)

    @property
    def _pat_str(self) -> str:
        if self._pattern is not None:
            return self._pattern
        pre_tokenizer = self.tokenizer.pre_tokenizer
        return pre_tokenizer.pattern or pre_tokenizer.name

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        ids = (id for id in range(self.n_vocab) if id not in self._special_ids)
        pairs = ((self.tokenizer.id_to_bytes(id), id) for id in ids)
        return {token: id for token, id in pairs if token is not None}

    @cached_property
    def _continuations(self) -> Continuations:
        return Continuations(self.tokenizer, self._mergeable_ranks)

    def __getattr__(self, name: str) -> NoReturn:
        raise missing_attribute.error(
            f"{type(self).__name__!r} object", name, {"encodeonlynativebpe": "it is encode_ordinary"}
        )

    def _n_last(self, text: str) -> int:
        """How many ids the last piece of a text has."""
        return len(self._encode_single_piece(self.tokenizer.pre_tokenizer.pieces(text)[-1])) if text else 0

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Returns the ids of bytes; from where they are not text on they belong to the piece before."""
        try:
            return self.encode_ordinary(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            whole, rest = text[: error.start].decode("utf-8"), text[error.start :]
        return self._continuations.with_bytes(self.encode_ordinary(whole), self._n_last(whole), rest)

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Returns the ids of a text that is not split."""
        piece = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        return self._continuations.single_piece(piece)


def _again(cls: type[Encoding], name: str, tokenizer: Tokenizer, pattern: str | None) -> Encoding:
    made = cls.of(name, tokenizer)
    made._pattern = pattern
    return made


def _is_row(tokens: object) -> bool:
    """Whether ids come in a row: those of a set have no order, and an iterator is gone after one call."""
    if isinstance(tokens, np.ndarray | np.generic):
        return tokens.ndim == 1
    return not isinstance(tokens, AbstractSet | Iterator | Mapping)


def _rows_of(texts: Iterable[str]) -> Iterable[str]:
    if isinstance(texts, str | Mapping):  # whose letters, or keys, are not texts
        raise TypeError(f"text is {shown(texts)}; pass a list of texts")
    return texts


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text is {shown(text)}; it is a str")
    return text


def _named(option: str, tokens: Collection[str]) -> frozenset[str]:
    """The special tokens that a call lists; letters of a text are none."""
    if isinstance(tokens, str) and tokens:
        raise ValueError(
            f'{option}={shown(tokens)} is a text; pass "all", or a set of special tokens, as in '
            f"{option}={{{shown(tokens)}}}"
        )
    try:
        listed = frozenset(tokens)
    except TypeError as error:
        raise TypeError(f'{option} is {shown(tokens)}; pass "all" or a set of special tokens') from error
    if not all(isinstance(token, str) for token in listed):
        raise TypeError(f"{option} is {shown(tokens)}; a special token is a str")
    return listed


@lru_cache(maxsize=128)
def _any_of(tokens: frozenset[str]) -> re.Pattern[str]:
    """A pattern that finds any of these, the longest where several begin."""
    return re.compile("|".join(map(re.escape, sorted(tokens, key=lambda token: (-len(token), token)))))


def _refuse(token: str) -> NoReturn:
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        f"To take it as that token, pass allowed_special={{{token!r}}}; to take it as plain text, pass "
        f"disallowed_special=(enc.special_tokens_set - {{{token!r}}}), or disallowed_special=() for all.\n"
    )


def _goes_on(byte: int) -> bool:
    """Whether a byte is not the first of a character."""
    return 0x80 <= byte < 0xC0
