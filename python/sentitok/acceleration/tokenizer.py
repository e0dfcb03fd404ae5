"""The class between a tokenizer's own and transformers': it asks `Running` first.

A tokenizer of class `LlamaTokenizer` gets a class of the same name, made of `LlamaTokenizer` and
`Accelerated`, in this order: what `LlamaTokenizer` does itself it still does, and where it asks
transformers' class it asks `Accelerated`. What that cannot answer it passes on.

Source of what the calls mean: transformers 5, `tokenization_utils_tokenizers.py`, and transformers
4, `tokenization_utils_fast.py`; what differs between them is in `versions.py`.
"""

import copy
import copyreg
from collections.abc import Hashable
from functools import cache
from typing import Any, cast

import numpy as np
import transformers

from .._sentitok import SentitokError
from .backend import BROKEN, Running
from .calls import encoded
from .known import Known
from .versions import IS_4, IS_KNOWN

__all__ = ["run_here"]

# Where an object keeps its `Running`.
_KEY = "_sentitok_running"
_Fast: Any = transformers.PreTrainedTokenizerFast
# Errors of our methods for arguments that the original must judge.
_NOT_OURS = (SentitokError, TypeError, ValueError, OverflowError)
# Methods of a class, not of its objects.
_MAKERS = ("from_pretrained", "register_for_auto_class")
# With this set, texts of BPE are cleaned up too.
_FOR_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"


def run_here(tokenizer: Any, n_prompts: int = 0) -> None:
    """Gives a tokenizer the class that asks here first; one of this class is checked again.

    Args:
        tokenizer: the tokenizer.
        n_prompts: how many prompts are kept, which longer ones continue.
    """
    if not IS_KNOWN:
        raise ImportError(
            f"accelerate needs transformers 4 or 5, not {transformers.__version__}: "
            "pip install -U transformers"
        )
    attributes = tokenizer.__dict__
    running = attributes.get(_KEY)
    if running is not None:
        running.keep_prompts(n_prompts)
        running.replace()
        running.look(attributes)
        return
    if not isinstance(tokenizer, _Fast):
        raise TypeError(f"expected a transformers.PreTrainedTokenizerFast, not {type(tokenizer).__name__}")
    own = type(tokenizer)
    kind = _class_over(cast(Hashable, own))
    tokenizer.__class__ = kind
    try:
        attributes[_KEY] = running = Running(tokenizer)
        running.keep_prompts(n_prompts)
    except BaseException:
        tokenizer.__class__ = own
        raise
    if kind.decode is Accelerated.decode and kind._decodes and "decode" not in attributes:
        attributes["decode"] = running.quick.decode


class _MethodOf:
    """A class method of another class.

    An object of this class, because dill pickles the members of a class that no module holds, and pickles
    a bound method with every function and global that the method reads.
    """

    def __init__(self, own: Any, name: str) -> None:
        self.own = own
        self.name = name

    def __get__(self, instance: object, owner: object = None) -> Any:
        return getattr(self.own, self.name)


@cache
def _class_over(own: Any) -> type[Any]:
    """The class of accelerated tokenizers of a class."""
    members = {name: getattr(own, name) for name in ("__module__", "__qualname__", "__doc__")}
    # Objects that make tokenizers look into `__dict__` of the class: the class with the name is asked.
    members |= {name: _MethodOf(own, name) for name in _MAKERS}
    kind: Any = AcceleratedOf4 if IS_4 else Accelerated
    bases = (kind,) if own is _Fast else (own, kind)
    return type(own.__name__, bases, {**members, "_own": own})


class Accelerated(_Fast):  # type: ignore[misc]  # 2026-11-23: transformers has no types
    """A fast tokenizer that asks its `Running` first.

    Attributes:
        _own: the class of the untouched object.
        _decodes: whether nothing is done to a text after `_decode` of this class.
        _decodes_many: whether nothing is done between `batch_decode` and that.
        _encodes: whether nothing is done between `__call__` and `_encode_plus` of this class.
    """

    _own: Any
    _decodes: bool
    _decodes_many: bool
    _encodes: bool

    def __init_subclass__(cls) -> None:
        cls._decodes = cls._decode is Accelerated._decode
        cls._decodes_many = cls._decodes and cls.decode is Accelerated.decode
        cls._encodes = cls._encode_plus is Accelerated._encode_plus

    # The object, its copies and its pickles

    def __new__(cls, *arguments: Any, **settings: Any) -> Any:
        """Makes an untouched tokenizer: `type(tokenizer)(...)` is a new object's own matter."""
        return cls._own(*arguments, **settings)

    @property
    def _tokenizer(self) -> Any:
        attributes = self.__dict__
        running = attributes.get(_KEY)
        return attributes.get("_tokenizer") if running is None else running.give(attributes)

    @_tokenizer.setter
    def _tokenizer(self, backend: Any) -> None:
        self.__dict__["_tokenizer"] = backend
        if (running := self.__dict__.get(_KEY)) is not None:
            running.replace()

    def _untouched(self) -> Any:
        plain = object.__new__(self._own)
        attributes = plain.__dict__
        attributes.update(self.__dict__)
        running = attributes.pop(_KEY, None)
        if running is not None and attributes.get("decode") == running.quick.decode:
            del attributes["decode"]
        return plain

    def __reduce_ex__(self, protocol: Any) -> Any:
        if type(self).__reduce__ is not self._own.__reduce__:  # a class made of this one
            return self.__reduce__()
        made: Any = self._untouched().__reduce_ex__(protocol)
        # Pickle compares the class that `__newobj__` makes with this object's.
        # 2026-11-23: missing in typeshed
        return (object.__new__, *made[1:]) if made[0] is copyreg.__newobj__ else made  # type: ignore[attr-defined]

    def __copy__(self) -> Any:
        return _running_copy(copy.copy(self._untouched()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _running_copy(copy.deepcopy(self._untouched(), memo))

    # Text to ids

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        batch = self._batch(text, text_pair, options)
        return super()._encode_plus(text, text_pair, **options) if batch is None else batch

    def _batch(self, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
        """The encoding of texts, or `None` if the original must make it."""
        attributes = self.__dict__
        running = attributes.get(_KEY)
        if running is None or (known := running.current(attributes)) is None:
            return None
        return encoded(self, running, known, text, text_pair, options)

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **options: Any) -> Any:
        """As transformers' own, whose tokens are not those of ids: unknown text stays."""
        if not self._encodes:
            return super().tokenize(text, pair, add_special_tokens, **options)
        return super()._encode_plus(text, pair, add_special_tokens=add_special_tokens, **options).tokens()

    # Ids to text

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, *cleans: Any, **options: Any) -> Any:
        """As transformers' own: the text of ids, or in 5 the texts of lists of ids."""
        # The usual call is answered by `QuickDecode` before this one is entered.
        if type(token_ids) is list and not cleans and type(self)._decodes:
            text = self._text(token_ids, skip_special_tokens, options)
            if text is not None:
                return text
        return super().decode(token_ids, skip_special_tokens, *cleans, **options)

    def _decode(self, token_ids: Any, skip_special_tokens: bool = False, *cleans: Any, **options: Any) -> Any:
        if len(cleans) == 1:
            options["clean_up_tokenization_spaces"] = cleans[0]
        text = self._text(token_ids, skip_special_tokens, options)
        return super()._decode(token_ids, skip_special_tokens, **options) if text is None else text

    def _text(self, ids: Any, skip_special_tokens: Any, options: dict[str, Any]) -> str | None:
        """The text of ids, or `None` if the original must say."""
        attributes = self.__dict__
        running = attributes.get(_KEY)
        if running is None or (known := running.settled(attributes)) is None:
            return None
        cleans = options.get("clean_up_tokenization_spaces") if options else None
        if cleans is None:
            cleans = attributes["clean_up_tokenization_spaces"]
        if cleans and (cleans := self._cleans(running, known)) is None:
            return None
        try:
            given = [ids] if type(ids) is int else ids
            text = known.tokenizer.decode(given, skip_special_tokens=bool(skip_special_tokens))
        except _NOT_OURS:
            return None
        if known.joins_bytes and BROKEN in text:
            return None
        # 2026-11-23: transformers has no types
        return self.clean_up_tokenization(text) if cleans else text  # type: ignore[no-any-return]

    def _cleans(self, running: Running, known: Known) -> bool | None:
        """Whether a text is cleaned up where that is asked; `None` if the original must raise the error."""
        if not known.is_bpe or getattr(self, _FOR_BPE, True):
            return True
        if running.has_told_of_cleaning:
            return False
        running.has_told_of_cleaning = True
        return None

    def batch_decode(
        self,
        sequences: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **options: Any,
    ) -> Any:
        """As transformers' own: the texts of lists of ids."""
        cleans = clean_up_tokenization_spaces
        if self._decodes_many and (texts := self._texts(sequences, skip_special_tokens, cleans)):
            return texts
        return super().batch_decode(sequences, skip_special_tokens, cleans, **options)

    def _texts(self, rows: Any, skip_special_tokens: Any, cleans: bool | None) -> list[str] | None:
        """The texts of lists of ids, or `None` if the original must say."""
        attributes = self.__dict__
        running = attributes.get(_KEY)
        if running is None or (known := running.settled(attributes)) is None:
            return None
        if cleans is None:
            cleans = attributes["clean_up_tokenization_spaces"]
        if cleans and (cleans := self._cleans(running, known)) is None:
            return None
        if hasattr(rows, "tolist"):
            rows = rows.tolist()
        if type(rows) is not list or not rows or type(rows[0]) is not list:
            return None
        try:
            skips = bool(skip_special_tokens)
            texts: list[str] = known.tokenizer.decode_batch(rows, skip_special_tokens=skips)
        except _NOT_OURS:
            return None
        if known.joins_bytes and any(BROKEN in text for text in texts):
            return None
        return [self.clean_up_tokenization(text) for text in texts] if cleans else texts

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """As transformers' own: the token of an id, or the tokens of ids."""
        attributes = self.__dict__
        running = attributes.get(_KEY)
        if running is None or isinstance(ids, int) or type(ids) not in (list, tuple, np.ndarray):
            return super().convert_ids_to_tokens(ids, skip_special_tokens)
        if (known := running.settled(attributes)) is None:
            return super().convert_ids_to_tokens(ids, skip_special_tokens)
        tokens = known.tokens
        skipped = set(self.all_special_ids) if skip_special_tokens else ()
        given = ids.tolist() if isinstance(ids, np.ndarray) else ids
        try:
            for id in given:
                if id not in tokens:
                    _learn(tokens, id, attributes["_tokenizer"])
            if skipped:
                return [tokens[id] for id in given if id not in skipped]
            return [tokens[id] for id in given]
        except (KeyError, TypeError, OverflowError):  # no id, or one without a token
            return super().convert_ids_to_tokens(ids, skip_special_tokens)

    def _convert_token_to_id_with_added_voc(self, token: str) -> Any:
        running = self.__dict__.get(_KEY)
        if running is None:
            return super()._convert_token_to_id_with_added_voc(token)
        with running.quiet():
            return super()._convert_token_to_id_with_added_voc(token)


class AcceleratedOf4(Accelerated):
    """The same for transformers 4, which has separate calls for rows of a batch."""

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *arguments: Any, **options: Any) -> Any:
        rows = batch_text_or_text_pairs
        is_batch = isinstance(rows, (list, tuple)) and len(rows) > 0 and not arguments
        if is_batch and options.get("is_split_into_words"):
            is_batch = isinstance(rows[0], (list, tuple))
        batch = self._batch(rows, None, options) if is_batch else None
        return super()._batch_encode_plus(rows, *arguments, **options) if batch is None else batch

    def tokenize(self, *given: Any, **options: Any) -> Any:
        return _Fast.tokenize(self, *given, **options)


def _learn(tokens: dict[int, str], id: int, backend: Any) -> None:
    if (token := backend.id_to_token(id)) is not None:
        tokens[id] = token


def _running_copy(tokenizer: Any) -> Any:
    run_here(tokenizer)
    return tokenizer
