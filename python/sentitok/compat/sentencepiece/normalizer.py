"""`SentencePieceNormalizer`: normalizes texts as SentencePiece does, without a model."""

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ..._sentitok import Normalizer, SentitokError, train_unigram
from ...bounded_lines import lines
from ...messages import shown
from . import protobuf
from .charsmap import compiled, rules
from .inputs import decoded, message, texts_of, whole_file
from .places import Places

__all__ = ["SentencePieceNormalizer", "normalized"]

#: The options by the numbers of their fields; each is on where nothing is said.
_FLAGS = {"add_dummy_prefix": 3, "remove_extra_whitespaces": 4, "escape_whitespaces": 5}


class SentencePieceNormalizer:
    """Rules that rewrite a text, from one of several sources, in both spellings (`normalize`, `Normalize`).

    Args:
        model_file: the path of a `.model` file.
        model_proto: its content, as bytes or a message of protobuf.
        normalizer_spec: that part of it.
        rule_tsv: the path of a file of rules: code points in hexadecimal, a tab, and what they become.
        rule_name: `"nmt_nfkc"`, `"nfkc"`, `"nmt_nfkc_cf"`, `"nfkc_cf"` or `"identity"`.
        norm_map: pairs of a text and what it becomes.
        add_dummy_prefix: whether a space is put in front; by default what the source says, or it is.
        escape_whitespaces: whether a space is written as `▁`; by default as above.
        remove_extra_whitespaces: whether spaces at the ends and repeated ones go; by default as above.

    Raises:
        ValueError: for no source, and for rules that are none.
        RuntimeError: for a file that cannot be read, or is none of that kind.
    """

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: str | os.PathLike[str] | None = None,
        rule_name: str | None = None,
        norm_map: Iterable[tuple[str | bytes, str | bytes]] | None = None,
        add_dummy_prefix: bool | None = None,
        escape_whitespaces: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
    ) -> None:
        flags = {
            "add_dummy_prefix": add_dummy_prefix,
            "escape_whitespaces": escape_whitespaces,
            "remove_extra_whitespaces": remove_extra_whitespaces,
        }
        try:
            if model_file:
                spec = protobuf.joined(whole_file(model_file), 3)
            elif model_proto:
                spec = protobuf.joined(message(model_proto), 3)
            elif normalizer_spec:
                spec = message(normalizer_spec)
            elif rule_tsv:
                spec = protobuf.field(2, compiled(_of_file(rule_tsv)))
            elif rule_name:
                spec = _named(rule_name)
            elif norm_map:
                spec = protobuf.field(2, compiled(_of_pairs(norm_map)))
            else:
                raise ValueError(
                    "no rules are given; give one of model_file, rule_name, norm_map or another source of "
                    "rules"
                )
            self._set(
                spec + b"".join(protobuf.field(_FLAGS[k], v) for k, v in flags.items() if v is not None)
            )
        except SentitokError as error:
            raise RuntimeError(str(error)) from error

    def _set(self, spec: bytes) -> None:
        self._spec = spec
        self._places = Places(spec)

    @property
    def normalizer(self) -> Normalizer:
        """The `sentitok.Normalizer` that does the work."""
        return self._places.normalizer

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Returns the normalized text; of a list, a list.

        Args:
            input: a str or bytes, or a list of them; what comes is of the same type.
            with_offsets: gives pairs of that and, for each of its characters (of bytes, its bytes) and its
                end, the place in the text from which it comes.
        """
        return normalized(self._places, input, with_offsets)

    def decompile(self) -> list[tuple[str, str]]:
        """Returns the rules as pairs, sorted.

        Raises:
            RuntimeError: if there are none.
        """
        data = next((value for number, value in protobuf.fields(self._spec) if number == 2), b"")
        if not isinstance(data, bytes) or not data:
            raise RuntimeError("this normalizer has no rules")
        try:
            return rules(data)
        except SentitokError as error:
            raise RuntimeError(str(error)) from error

    def serialized_model_proto(self) -> bytes:
        """Returns the message of a model that has nothing else."""
        return protobuf.field(3, self._spec)

    def serialized_normalizer_spec(self) -> bytes:
        """Returns the message of the rules and options."""
        return self._spec

    def __getstate__(self) -> bytes:
        return self._spec

    def __setstate__(self, state: bytes) -> None:
        self._set(state)

    # SentencePiece's other spelling

    Normalize = normalize
    Decompile = decompile


def normalized(places: Places, input: Any, with_offsets: bool | None) -> Any:
    """What `normalize` gives by a normalizer."""

    def of(given: str | bytes) -> Any:
        text = decoded(given)
        if with_offsets:
            return places.of(text) if isinstance(given, bytes) else places.of_characters(text)
        result = places.normalized(text)
        return result.encode("utf-8") if isinstance(given, bytes) else result

    rows = [of(text) for text in texts_of(input)]
    return rows if isinstance(input, list) else rows[0]


@lru_cache(maxsize=8)
def _named(rule: str) -> bytes:
    """The message of rules that have a name, out of a model of two letters."""
    normalizer = Normalizer.sentencepiece(rule)
    model = train_unigram(texts=["ab"], vocab_size=6, method="sentencepiece", normalizer=normalizer)
    spec = protobuf.joined(model.to_sentencepiece(), 3)
    # Name and rules; the options are left to the defaults.
    return b"".join(protobuf.field(number, value) for number, value in protobuf.fields(spec) if number < 3)


def _of_pairs(pairs: Iterable[tuple[str | bytes, str | bytes]]) -> Mapping[str, str]:
    if isinstance(pairs, Mapping):
        raise TypeError("norm_map is a dict; pass its pairs: list(norm_map.items())")
    table: dict[str, str] = {}
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"a rule is {shown(pair)}; it is a pair of texts")
        source, target = (part.decode("utf-8") if isinstance(part, bytes) else part for part in pair)
        if not isinstance(source, str) or not isinstance(target, str):
            raise TypeError(f"a rule is {shown(pair)}; it is a pair of texts")
        if source in table:
            raise ValueError(f"{shown(source)} has two rules; leave one out")
        table[source] = target
    return table


def _of_file(path: str | os.PathLike[str]) -> Mapping[str, str]:
    name = os.fspath(path)
    table: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(lines(file, name), 1):
                source, _, rest = line.rstrip("\n").partition("\t")
                table[_characters(source, name, number)] = _characters(rest.partition("\t")[0], name, number)
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeError(f"{shown(name)}: {getattr(error, 'strerror', error)}") from error
    return table


def _characters(codes: str, name: str, number: int) -> str:
    """The text of code points in hexadecimal, such as `0041 U+0301`."""
    try:
        return "".join(chr(int(code.removeprefix("U+"), 16)) for code in codes.split(" ") if code)
    except (ValueError, OverflowError) as error:
        raise RuntimeError(
            f"{shown(name)}, line {number}: {shown(codes)} is not a list of code points in hexadecimal"
        ) from error
