"""`Running`: the tokenizer that runs instead of a backend of tokenizers, and whether it still may.

Callers can change a backend. So it is checked again (`seal`) when it was handed out since the last call, and
at each call while somebody else holds it; else nothing could have changed it, which two comparisons say.
"""

import copyreg
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from sys import getrefcount
from threading import get_ident
from typing import Any

import numpy as np
import tokenizers

from .._sentitok import Encoding, QuickDecode, SentitokError, Tokenizer
from ..messages import shortened, shown
from .known import Known, MarkShift, Seal
from .prompts import Prompts
from .states import states_agree

__all__ = ["BROKEN", "Running"]

LOGGER = logging.getLogger("sentitok.acceleration")

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_SETTINGS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word", "alpha", "nbest_size",
)  # fmt: skip
# Of models that draw: only they can give their results.
_DRAWS = ("dropout", "alpha", "nbest_size")
# Stages after which offsets differ here: see `_has_offsets`.
_MOVES_OFFSETS = (b"Metaspace", b"Prepend", b"Precompiled", b'"add_prefix_space":true')
# Stages that leave the places of tokens as they are, except those of marks that they put in front.
_ONLY_MARKS = {
    b"Sequence", b"Metaspace", b"Prepend", b"Replace", b"ByteLevel", b"WhitespaceSplit", b"Punctuation",
    b"NFC", b"NFD", b"NFKC", b"NFKD", b"Lowercase", b"Strip", b"StripAccents", b"Nmt", b"Precompiled",
}  # fmt: skip
# Ids that are looked up to know a model by.
_SAMPLES = 8
# Calls on the original path before a tokenizer is made again: none after the first change, then
# twice as many after each, so that one which changes all the time costs little.
_MOST_WAITED = 1024
# How often a difference must show while other threads may change the settings of a backend.
_TRIES = 3

# The characters that bytes are spelled by.
_ALPHABET = tokenizers.pre_tokenizers.ByteLevel.alphabet()

# In texts of bytes that are not a character.
BROKEN = "\N{REPLACEMENT CHARACTER}"

# Texts on which both must agree before anything runs here, in addition to the added tokens.
_PROBES = (
    "It's 3.14 o'clock — naïve ﬁne 日本語 👩‍👩‍👧!",
    "  two  spaces\tand\n\nlines \r\n",
    "",
    "▁ <s>x</s> [MASK] <|endoftext|> <0x41> ##a\u0301\u0000\u200b",
)
# Long enough that some of it is not removed by any stage.
_TEXT = " ".join(_PROBES)


def _references(attributes: dict[str, Any]) -> int:
    return getrefcount(attributes["_tokenizer"])


# Those of a backend that nothing but its tokenizer holds, counted by the same expression.
ALONE = _references({"_tokenizer": object()})


def _seal(backend: Any) -> Seal:
    """The parts of a backend that may change: not the whole vocabulary."""
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

    Threads may look at a backend at the same time: each makes its own `Known`, which holds
    only until the backend is handed out again. No lock is held, so a process may fork at any time.

    Attributes:
        has_told_of_cleaning: whether the original said that it does not clean up texts of BPE.
        quick: counts how often the backend was handed out, and decodes without a frame of Python.
        prompts: the prompts that longer ones continue; `None` where none is kept.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.has_told_of_cleaning = False
        self.quick = QuickDecode(tokenizer)
        self.prompts: Prompts | None = None
        self._said: set[str] = set()
        self._quiet: set[int] = set()
        self._wait, self._waited = 0, 0
        self._known: Known | None = None
        self.look(tokenizer.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles nothing, so that the hash of a tokenizer does not depend on its calls."""
        return _Unpickled, ()

    def keep_prompts(self, n: int) -> None:
        """Keeps so many prompts from now on."""
        self.prompts = Prompts(n) if n else None

    def give(self, attributes: dict[str, Any]) -> Any:
        """Hands out the backend of the tokenizer with these attributes."""
        backend = attributes["_tokenizer"]  # held before it is counted: `look` sees either
        if not self._quiet or get_ident() not in self._quiet:
            self.quick.give()
        return backend

    def replace(self) -> None:
        """Takes note that the tokenizer got another backend."""
        self.quick.give()

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

    def current(self, attributes: dict[str, Any]) -> Known | None:
        """Returns the tokenizer that may run now, after the backend was inspected where needed."""
        known = self._known
        if known is None or known.seen != self.quick.given or _references(attributes) > ALONE:
            known = self.look(attributes)
        elif self._waited < self._wait:
            known = self._after_waiting(known, attributes["_tokenizer"])
        return known if known.tokenizer is not None else None

    def settled(self, attributes: dict[str, Any]) -> Known | None:
        """Returns the tokenizer that decodes now, for calls that are over before a backend is inspected.

        While somebody else holds the backend none does: the original path is as quick.
        """
        if _references(attributes) > ALONE:
            return None
        known = self._known
        if known is None or known.seen != self.quick.given:
            # The original path hands the backend out at each call. Where it is the one that decodes, looking
            # takes twenty times as long as decoding a short line.
            if known is not None and known.tokenizer is not None and not known.decodes:
                return None
            known = self.look(attributes)
        return known if known.decodes else None

    def look(self, attributes: dict[str, Any]) -> Known:
        """Compares a backend with what it was, and makes a tokenizer of what it is now."""
        # In this order: a caller that got the backend holds it, or has changed it, or is counted later.
        seen = self.quick.given
        if _references(attributes) > ALONE:
            seen = -1
        before, backend = self._known, attributes["_tokenizer"]
        try:
            seal = _seal(backend)
        except BaseException as error:  # a part written in Python cannot be distinguished from its successor
            if not _is_of_backend(error):
                raise
            self._tell(f"its parts cannot be compared: {error}")
            return self._know(Known(seen, id(backend), None))
        if before is None:
            return self._know(self._made(seen, backend, seal))
        if id(backend) == before.backend_id and seal == before.seal:
            known = replace(before, seen=seen)
            return self._after_waiting(known, backend) if self._waited < self._wait else self._know(known)
        self._waited, self._wait = 0, min(max(1, self._wait * 2), _MOST_WAITED)
        return self._after_waiting(Known(seen, id(backend), seal), backend)

    def _after_waiting(self, known: Known, backend: Any) -> Known:
        """Makes a tokenizer if there were as many calls on the original path as there should be."""
        self._waited += 1
        if self._waited >= self._wait:
            self._waited = self._wait
            known = self._made(known.seen, backend, known.seal)
        return self._know(known)

    def _know(self, known: Known) -> Known:
        self._known = known
        decodes = known.decodes and known.seen >= 0
        self.quick.decode_by(max(known.seen, 0), known.tokenizer if decodes else None, known.joins_bytes)
        return known

    def _made(self, seen: int, backend: Any, seal: Seal | None) -> Known:
        refused = Known(seen, id(backend), seal)
        try:
            if any(getattr(backend.model, name, None) for name in _DRAWS):
                self._tell("its model draws at random")
                return refused
            if (reason := _reason_to_refuse(backend)) is not None:
                self._tell(reason)
                return refused
            file = backend.to_str()
            copy = tokenizers.Tokenizer.from_str(file)
            if (text := _first_lost(backend, copy)) is not None:
                self._tell(f"loaded from its file it gives different ids for {shown(text)}")
                return refused
            copy.no_truncation()
            copy.no_padding()
            copy.encode_special_tokens = False
            tokenizer = Tokenizer.from_bytes(file.encode())
            text, ids = _first_differences(tokenizer, copy)
            has_offsets = _has_offsets(tokenizer, copy, file)
            n_sequences = {
                (adds, pair is not None): copy.encode("a", pair, add_special_tokens=adds).n_sequences
                for adds in (False, True)
                for pair in (None, "a")
            }
        except SentitokError as error:
            self._tell(str(error))
            return refused
        except BaseException as error:
            if not _is_of_backend(error):
                raise
            self._tell(f"tokenizers fails at its file or at a text: {error}")
            return refused
        if text is not None:
            self._tell(f"it gives different ids for {shown(text)}")
            return refused
        if ids is not None:
            self.say(f"ids become text in transformers as before: it gives another for {shown(ids)}")
        known = replace(
            refused,
            tokenizer=tokenizer,
            decodes=ids is None,
            joins_bytes=_joins_bytes(backend),
            is_bpe=type(backend.model).__name__ == "BPE",
            is_of_type_0=not any(tokenizer.encode(text).type_ids.any() for text in ("", _TEXT)),
            has_offsets=has_offsets,
            types_are_places=(
                _types_are_places(tokenizer.encode(_TEXT)),
                _types_are_places(tokenizer.encode(_TEXT, _TEXT)),
            ),
            n_sequences=n_sequences,
            replaces_graphemes=b"Precompiled" in _stages(backend),
            has_processor=backend.post_processor is not None,
            gaps=_gaps(tokenizer),
            odd_ids=_odd_ids(backend, file),
            file=file,
            copies=[copy],
        )
        unknown = getattr(backend.model, "unk_token", None)
        if unknown is not None and backend.token_to_id(unknown) in known.odd_ids:
            # An added token is spelled as in the text, an unknown word is not. Ids do not tell which of
            # the two it is, and offsets can be trimmed by the spelling.
            return replace(known, has_offsets=False)
        if any(n != 1 + has_pair for (_, has_pair), n in n_sequences.items()):
            return known
        with known.copy_of_backend() as copy:
            known = replace(known, states_shift=_states_shift(copy, file, has_offsets))
            return known if states_agree(known, copy) else replace(known, states_shift=None)

    def _tell(self, reason: str) -> None:
        self.say(f"this tokenizer runs in transformers as before: {shortened(reason)}")

    def say(self, sentence: str, level: int = logging.WARNING) -> None:
        """Logs a sentence, once."""
        if sentence not in self._said:
            self._said.add(sentence)
            LOGGER.log(level, "%s", sentence)


class _Unpickled:
    """What `Running` and its decoder become where `datasets` pickles a tokenizer's attributes to hash it."""


# 2026-11-29: typeshed wants a function that makes a `QuickDecode` again
copyreg.pickle(QuickDecode, lambda _: (_Unpickled, ()))  # type: ignore[arg-type, return-value]


def _is_of_backend(error: BaseException) -> bool:
    """Whether tokenizers raised it: a panic there is a `PanicException`, which is not an `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _reason_to_refuse(backend: Any) -> str | None:
    """Why no text may be tried, or why ids can differ for texts that are not tried."""
    tokens = backend.get_added_tokens_decoder().values()
    patterns: dict[str, str] = {}
    for token in tokens:
        pattern = _pattern(backend, token)
        if not pattern:  # tokenizers finds it everywhere, without end, or panics
            return f"its normalizer leaves nothing of the added token {shown(token.content)}"
        if pattern in patterns:  # tokenizers finds one or the other, in the order of a hash table
            both = f"{shown(patterns[pattern])} and {shown(token.content)}"
            return f"its normalizer makes the added tokens {both} alike"
        patterns[pattern] = token.content
    taking = next((token.content for token in tokens if token.rstrip), None)
    taken = next((content for pattern, content in patterns.items() if pattern[0].isspace()), None)
    if (
        taking is not None and taken is not None
    ):  # tokenizers finds it once more in white space that was taken
        return f"its added token {shown(taking)} takes the white space by which {shown(taken)} begins"
    return None


def _odd_ids(backend: Any, file: str) -> frozenset[int]:
    """The ids of tokens whose text is that of the input: added ones, and the unknown one of Unigram."""
    odd = {
        id
        for id, token in backend.get_added_tokens_decoder().items()
        if token.lstrip or token.rstrip or _pattern(backend, token) != token.content
    }
    if type(backend.model).__name__ == "Unigram" and (found := re.search(r'"unk_id":(\d+)', file)):
        odd.add(int(found[1]))  # the model has no such attribute
    return frozenset(odd)


def _pattern(backend: Any, token: Any) -> str:
    """The string that is searched for in a text to find an added token."""
    is_changed = token.normalized and backend.normalizer is not None
    return str(backend.normalizer.normalize_str(token.content) if is_changed else token.content)


def _probes(backend: Any) -> tuple[str, ...]:
    added = backend.get_added_tokens_decoder().values()
    return (*_PROBES, " ".join(token.content for token in added))


def _first_lost(backend: Any, copy: Any) -> str | None:
    """The first text of a few for which a copy, made from the file of a backend, gives different ids.

    A backend keeps the ids and patterns that its added tokens got from an earlier model or normalizer, and
    a copy computes them again. Both run with the settings of the backend, which stay as they are because
    other threads may be using it. Those may change its settings too, so a difference must show each time.
    """
    lost: str | None = None
    for _ in range(_TRIES):
        _set_like(copy, backend)
        lost = next((text for text in _probes(backend) if _ids(copy, text) != _ids(backend, text)), None)
        if lost is None:
            break
    return lost


def _set_like(copy: Any, backend: Any) -> None:
    truncation, padding = backend.truncation, backend.padding
    copy.no_truncation() if truncation is None else copy.enable_truncation(**truncation)
    copy.no_padding() if padding is None else copy.enable_padding(**padding)
    copy.encode_special_tokens = backend.encode_special_tokens


def _ids(backend: Any, text: str) -> list[list[int]] | str:
    """The ids of a text, also the ones that truncation cuts off, or the error where nothing can be cut."""
    try:
        encoding = backend.encode(text, add_special_tokens=False)
    except Exception as error:
        return str(error)
    return [encoding.ids, *(window.ids for window in encoding.overflowing)]


def _first_differences(tokenizer: Tokenizer, backend: Any) -> tuple[str | None, list[int] | None]:
    """The first text of a few whose ids differ, and the first ids whose text differs."""
    added = backend.get_added_tokens_decoder()
    texts = _probes(backend)
    rows: list[list[int]] = [backend.encode(text).ids for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if tokenizer.encode(text, specials="all").ids.tolist() != row:
            return text, None
    for id, token in added.items():
        if _pattern(backend, token) != token.content:  # tokenizers decodes it to the search string
            return None, [id]
    joins_bytes = _joins_bytes(backend)
    whole = [id for id in added if not joins_bytes or BROKEN not in tokenizer.decode([id])]
    for row in (*rows, whole):
        for skip in (False, True):
            decoded = tokenizer.decode(row, skip_special_tokens=skip)
            if joins_bytes and BROKEN in decoded:
                continue  # such a text is not given out
            if decoded != backend.decode(row, skip_special_tokens=skip):
                return None, row
    return None, None


def _types_are_places(encoding: Encoding) -> bool:
    is_text = encoding.sequence_ids >= 0
    return bool(is_text.any()) and np.array_equal(encoding.type_ids[is_text], encoding.sequence_ids[is_text])


def _gaps(tokenizer: Tokenizer) -> dict[tuple[bool, bool], tuple[int, int]]:
    """The `gaps` of a tokenizer."""
    gaps = {}
    for adds in (False, True):
        for pair in (None, _TEXT):
            sources = tokenizer.encode(_TEXT, pair, add_special_tokens=adds).sequence_ids
            first, second = np.flatnonzero(sources == 0), np.flatnonzero(sources == 1)
            if len(first) and (pair is None or (len(second) and second[0] > first[-1])):
                between = 0 if pair is None else int(second[0] - first[-1] - 1)
                gaps[adds, pair is not None] = int(first[0]), between
    return gaps


def _joins_bytes(backend: Any) -> bool:
    return backend.decoder is not None and b"ByteFallback" in backend.decoder.__getstate__()


def _has_offsets(tokenizer: Tokenizer, backend: Any, file: str) -> bool:
    """Whether offsets are those of the backend: not where a mark is put in, or rules rewrite text.

    The offsets of a token that is only a mark are empty in sentitok, and the next character in tokenizers.
    """
    stages = _stages(backend)
    if any(name in stages for name in _MOVES_OFFSETS):
        return False
    if not _is_place_of_text(backend.model, file, b"ByteLevel" in stages):
        return False
    texts = _probes(backend)
    rows = tokenizer.encode_batch(texts, specials="all", offsets=True)
    offsets = [offset for text in texts for offset in backend.encode(text).offsets]
    return [*map(tuple, rows.offsets().tolist())] == offsets


def _is_place_of_text(model: Any, file: str, is_byte_level: bool) -> bool:
    """Whether each token of a model is a piece of the text, so that its place is the same here.

    Other places: bytes of an unknown character (Unigram of tokenizers gives each the whole run), the bytes
    of an affix, and what follows a character that is left out.
    """
    kind = type(model).__name__
    if kind == "Unigram":
        return '"byte_fallback":true' not in file  # the model has no such attribute
    if kind != "BPE":
        return True
    if is_byte_level:
        symbols = (char + end for char in _ALPHABET for end in {"", model.end_of_word_suffix or ""})
        return not model.continuing_subword_prefix and all(
            model.token_to_id(symbol) is not None for symbol in symbols
        )
    if model.byte_fallback:
        return not (model.continuing_subword_prefix or model.end_of_word_suffix)
    return model.unk_token is not None


def _states_shift(backend: Any, file: str, has_offsets: bool) -> MarkShift | None:
    """The `states_shift` of a backend, whose places differ by those of marks put in front at most."""
    if has_offsets:
        return MarkShift((0, 0), (0, 0))
    stages = _stages(backend)
    kinds = {*re.findall(rb'"type":"(\w+)"', stages)}
    if not kinds <= _ONLY_MARKS or not _is_place_of_text(backend.model, file, b"ByteLevel" in stages):
        return None
    processor = b"" if backend.post_processor is None else backend.post_processor.__getstate__()
    if b'"trim_offsets":true' not in processor:
        return MarkShift((0, 1), (0, 1))
    if kinds & {b"Metaspace", b"Prepend"}:  # marks that are not a space are not trimmed
        return None
    return MarkShift((0, 0) if b'"add_prefix_space":true' in processor else (1, 1), (1, 1))


def _stages(backend: Any) -> bytes:
    """The states of what changes a text before the model."""
    return b"".join(
        stage.__getstate__() for stage in (backend.normalizer, backend.pre_tokenizer) if stage is not None
    )
