"""`Running`: what runs in the place of a backend of tokenizers, and whether it still may.

A backend can be changed by whoever holds it. So it is looked at again (`seal`) when it was handed
out since the last call, and at each call while somebody else holds it; else nothing could have
changed it, which two comparisons say. Not for parts of a backend that were taken out before.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from sys import getrefcount
from threading import get_ident
from typing import Any, TypeAlias

import numpy as np

from .._sentitok import SentitokError, Tokenizer
from ..messages import shown, told

__all__ = ["ALONE", "Running", "kept_settings"]

LOGGER = logging.getLogger("sentitok.acceleration")

_Seal: TypeAlias = tuple[object, ...]

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_SETTINGS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word", "alpha", "nbest_size",
)  # fmt: skip
# Of models that draw: what they give is theirs alone.
_DRAWS = ("dropout", "alpha", "nbest_size")
# Ids that are looked up to know a model by.
_SAMPLES = 8
# Calls on the original path before a tokenizer is made again: none after the first change, then
# twice as many after each, so that one which changes all the time costs little.
_MOST_WAITED = 1024

# What both must agree on before anything runs here: beside it, the tokens that are added.
_PROBES = (
    "It's 3.14 o'clock — naïve ﬁne 日本語 👩‍👩‍👧!",
    "  two  spaces\tand\n\nlines \r\n",
    "",
    "▁ <s>x</s> [MASK] <|endoftext|> <0x41> ##a\u0301\u0000\u200b",
)


def _references(attributes: dict[str, Any]) -> int:
    return getrefcount(attributes["_tokenizer"])


# Those of a backend that nothing but its tokenizer holds, counted by the same expression.
ALONE = _references({"_tokenizer": object()})


def _seal(backend: Any) -> _Seal:
    """What a backend is made of, as far as it may change: not the whole vocabulary."""
    parts = tuple(None if part is None else part.__getstate__() for part in _parts(backend))
    model, size = backend.model, backend.get_vocab_size(with_added_tokens=False)
    samples = tuple(backend.id_to_token(size * place // _SAMPLES) for place in range(_SAMPLES))
    settings = tuple(getattr(model, name, None) for name in _SETTINGS)
    added = repr(backend.get_added_tokens_decoder())
    return (*parts, type(model), size, samples, settings, added)


def _parts(backend: Any) -> Iterator[Any]:
    return (getattr(backend, name) for name in _PARTS)


class Running:
    """A tokenizer that runs in the place of a backend, or the reason why none does.

    Attributes:
        handed_out: whether somebody got the backend since it was last looked at.
        tokens: the tokens of the ids that were asked for, as the backend spells them.
        is_bpe: whether the backend's model is BPE.
        is_of_type_0: whether all ids of a text without a pair have type id 0.
        types_are_places: whether the first text has type 0, and the second of a pair type 1. Where
            not, tokenizers gives these to windows all the same, but for the first of a text.
        decodes: whether ids become text here too.
        joins_bytes: whether bytes that are no character become other text than there.
        has_told_of_cleaning: whether the original said that it does not clean up texts of BPE.
        tokenizer: what runs; `None` where the original path is taken.
    """

    def __init__(self, backend: Any) -> None:
        self.handed_out = False
        self.tokens: dict[int, str] = {}
        self.is_bpe = False
        self.is_of_type_0 = False
        self.types_are_places = False
        self.decodes = False
        self.joins_bytes = False
        self.has_told_of_cleaning = False
        self.tokenizer: Tokenizer | None = None
        self._said: set[str] = set()
        self._quiet: set[int] = set()
        self._wait, self._waited = 0, 0
        self._backend_id = id(backend)
        self._seal: _Seal | None = None
        self._make(backend)

    def give(self, attributes: dict[str, Any]) -> Any:
        """Hands out the backend of the tokenizer with these attributes."""
        if not self._quiet or get_ident() not in self._quiet:
            self.handed_out = True
        return attributes["_tokenizer"]

    def replace(self) -> None:
        """Takes note that the tokenizer got another backend."""
        self.handed_out, self._backend_id = True, 0

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Lets this thread get the backend without the intention to change it."""
        ident = get_ident()
        is_outer = ident not in self._quiet
        self._quiet.add(ident)
        try:
            yield
        finally:
            if is_outer:
                self._quiet.discard(ident)

    def current(self, attributes: dict[str, Any]) -> Tokenizer | None:
        """Returns what may run now, after the backend was looked at where it must be."""
        if self.handed_out or getrefcount(attributes["_tokenizer"]) > ALONE:
            self.look(attributes["_tokenizer"])
        elif self._waited < self._wait:
            self._make_after_waiting(attributes["_tokenizer"])
        return self.tokenizer

    def settled(self, attributes: dict[str, Any]) -> Tokenizer | None:
        """Returns what may run now, for calls that are over before a backend is looked at.

        While somebody else holds the backend none does: the original path is as quick.
        """
        if getrefcount(attributes["_tokenizer"]) > ALONE:
            return None
        if self.handed_out:
            self.look(attributes["_tokenizer"])
        return self.tokenizer if self.decodes else None

    def look(self, backend: Any) -> None:
        """Compares a backend with what it was, and makes a tokenizer of what it is now."""
        self.handed_out = False  # before it is read: what is handed out meanwhile is looked at next
        try:
            seal = _seal(backend)
        except Exception as error:  # a part written in Python cannot be told apart from its successor
            self._refuse(f"its parts cannot be compared: {error}")
            self._seal = None
            return
        if id(backend) == self._backend_id and seal == self._seal:
            if self._waited < self._wait:
                self._make_after_waiting(backend)
            return
        self._backend_id, self._seal = id(backend), seal
        self.tokenizer, self.tokens, self._waited = None, {}, 0
        self._wait = min(max(1, self._wait * 2), _MOST_WAITED)
        self._make_after_waiting(backend)

    def _make_after_waiting(self, backend: Any) -> None:
        self._waited += 1
        if self._waited >= self._wait:
            self._waited = self._wait
            self._make(backend)

    def _make(self, backend: Any) -> None:
        try:
            self._seal = _seal(backend)
            self._backend_id = id(backend)
            if any(getattr(backend.model, name, None) for name in _DRAWS):
                self._refuse("its model draws at random")
                return
            tokenizer = Tokenizer.from_hf(backend)
            text, ids = _first_differences(tokenizer, backend)
        except SentitokError as error:
            self._refuse(str(error))
        except Exception as error:  # tokenizers raises `Exception` itself
            self._refuse(f"its file cannot be made: {error}")
        else:
            if text is not None:
                self._refuse(f"it gives other ids for {shown(text)}")
                return
            if ids is not None:
                self.say(f"ids become text in transformers as before: it gives another for {shown(ids)}")
            self.decodes = ids is None
            self.joins_bytes = (
                backend.decoder is not None and b"ByteFallback" in backend.decoder.__getstate__()
            )
            self.is_bpe = type(backend.model).__name__ == "BPE"
            self.is_of_type_0 = not any(tokenizer.encode(text).type_ids.any() for text in ("", "a"))
            pair = tokenizer.encode("a", "a")
            is_text = pair.sequence_ids >= 0
            self.types_are_places = np.array_equal(pair.type_ids[is_text], pair.sequence_ids[is_text])
            self.tokenizer = tokenizer

    def _refuse(self, reason: str) -> None:
        self.tokenizer = None
        self.say(f"this tokenizer runs in transformers as before: {told(reason)}")

    def say(self, sentence: str, level: int = logging.WARNING) -> None:
        """Logs a sentence, once."""
        if sentence not in self._said:
            self._said.add(sentence)
            LOGGER.log(level, "%s", sentence)


def _first_differences(tokenizer: Tokenizer, backend: Any) -> tuple[str | None, list[int] | None]:
    """The first text of a few that has other ids, and the first ids that have another text."""
    added = backend.get_added_tokens_decoder()
    texts = (*_PROBES, " ".join(token.content for token in added.values()))
    with kept_settings(backend):
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = False
        rows: list[list[int]] = [backend.encode(text).ids for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if tokenizer.encode(text, specials="all").ids.tolist() != row:
            return text, None
    for row in (*rows, list(added)):
        for skip in (False, True):
            if tokenizer.decode(row, skip_special_tokens=skip) != backend.decode(
                row, skip_special_tokens=skip
            ):
                return None, row
    return None, None


@contextmanager
def kept_settings(backend: Any) -> Iterator[None]:
    """Lets a backend be set otherwise, and then sets it as it was."""
    truncation, padding, whole = backend.truncation, backend.padding, backend.encode_special_tokens
    try:
        yield
    finally:
        backend.encode_special_tokens = whole
        backend.no_truncation() if truncation is None else backend.enable_truncation(**truncation)
        backend.no_padding() if padding is None else backend.enable_padding(**padding)
