"""Cases of `test_pre_tokenizers.py`."""

import itertools
import json
from typing import Any

import pytest

from . import Library, case, pickled
from .decoding import sets
from .kinds import SPLIT, TwoArguments, is_kind


class Twice:
    def pre_tokenize(self, pretok: Any) -> None:
        pretok.split(lambda number, text: [text, text])


class CamelCase:
    """Cuts before upper case, digits and signs, and behind each sign."""

    def pre_tokenize(self, pretok: Any) -> None:
        pretok.split(self.cut)

    def cut(self, number: int, text: Any) -> list[Any]:
        kinds = [
            "a" if c.islower() else "A" if c.isupper() else "1" if c.isdigit() else "."
            for c in text.normalized
        ]
        ends = [
            place
            for place, (old, new) in enumerate(itertools.pairwise(kinds), 1)
            if (old != new and (old, new) != ("A", "a")) or old == new == "."
        ]
        starts = [0, *ends]
        return [text[start:end] for start, end in zip(starts, [*ends, len(kinds)], strict=True)]


@case(SPLIT + "TestCustomPreTokenizer::test_instantiate")
def _(lib: Library) -> None:
    good, bad = map(lib.pre_tokenizers.PreTokenizer.custom, (Twice(), TwoArguments()))
    assert isinstance(good, lib.pre_tokenizers.PreTokenizer)
    with pytest.raises(Exception, match=r"TypeError:.*pre_tokenize\(\)"):
        bad.pre_tokenize_str("Hey there!")
    assert good.pre_tokenize_str("Hey there!") == [("Hey there!", (0, 10))] * 2


@case(SPLIT + "TestCustomPreTokenizer::test_camel_case")
def _(lib: Library) -> None:
    text = "HeyThere!?-ThisIsLife"
    pieces = lib.pre_tokenizers.PreTokenizer.custom(CamelCase()).pre_tokenize_str(text)
    assert [piece for piece, _ in pieces] == ["Hey", "There", "!", "?", "-", "This", "Is", "Life"]
    assert all(text[start:end] == piece for piece, (start, end) in pieces)


@case(SPLIT + "TestByteLevel::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    for options in ({}, {"add_prefix_space": True}, {"add_prefix_space": False}):
        is_kind(p.ByteLevel(**options), p.PreTokenizer, p.ByteLevel)


@case(SPLIT + "TestByteLevel::test_has_alphabet")
def _(lib: Library) -> None:
    alphabet = lib.pre_tokenizers.ByteLevel.alphabet()
    assert isinstance(alphabet, list)
    assert len(alphabet) == 256


@case(SPLIT + "TestByteLevel::test_can_modify")
def _(lib: Library) -> None:
    made = lib.pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert made.add_prefix_space is False
    sets(made, add_prefix_space=True)


@case(SPLIT + "TestByteLevel::test_manual_reload")
def _(lib: Library) -> None:
    kind = lib.pre_tokenizers.ByteLevel
    assert isinstance(kind(**json.loads(kind().__getstate__())), kind)


@case(SPLIT + "TestSplit::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    for options in ({"behavior": "removed"}, {"behavior": "isolated", "invert": True}):
        is_kind(p.Split(pattern=" ", **options), p.PreTokenizer, p.Split)
    assert type(pickled(p.Split(" ", "removed", True))) is p.Split


@case(SPLIT + "TestMetaspace::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    for options in ({}, {"replacement": "-"}, {"prepend_scheme": "always"}):
        is_kind(p.Metaspace(**options), p.PreTokenizer, p.Metaspace)
    with pytest.raises(ValueError, match="expected a string of length 1"):
        p.Metaspace(replacement="")


@case(SPLIT + "TestMetaspace::test_can_modify")
def _(lib: Library) -> None:
    made = lib.pre_tokenizers.Metaspace(replacement="$", prepend_scheme="never")
    assert (made.replacement, made.prepend_scheme, made.split) == ("$", "never", True)
    sets(made, replacement="%", prepend_scheme="first", split=True)


@case(SPLIT + "TestCharDelimiterSplit::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    for char in "- ":
        is_kind(p.CharDelimiterSplit(char), p.PreTokenizer, p.CharDelimiterSplit)
    with pytest.raises(ValueError, match="expected a string of length 1"):
        p.CharDelimiterSplit("")


@case(SPLIT + "TestCharDelimiterSplit::test_can_modify")
def _(lib: Library) -> None:
    made = lib.pre_tokenizers.CharDelimiterSplit("@")
    assert made.delimiter == "@"
    sets(made, delimiter="!")


@case(SPLIT + "TestPunctuation::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    for given in ((), ("removed",)):
        is_kind(p.Punctuation(*given), p.PreTokenizer, p.Punctuation)


@case(SPLIT + "TestSequence::test_instantiate")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    is_kind(p.Sequence([]), p.PreTokenizer, p.Sequence)


@case(SPLIT + "TestSequence::test_bert_like")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    steps = p.Sequence([p.WhitespaceSplit(), p.Punctuation()])
    is_kind(steps, p.PreTokenizer, p.Sequence)
    text = "Hey friend!     How are you?!?"
    pieces = steps.pre_tokenize_str(text)
    assert [piece for piece, _ in pieces] == ["Hey", "friend", "!", "How", "are", "you", "?", "!", "?"]
    assert all(text[start:end] == piece for piece, (start, end) in pieces)


@case(SPLIT + "TestSequence::test_set_item")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    steps = p.Sequence([p.ByteLevel(), p.Split(pattern="/test/", behavior="removed")])
    assert [type(steps[i]) for i in (0, 1)] == [p.ByteLevel, p.Split]
    steps[1] = p.Metaspace()
    assert type(steps[1]) is p.Metaspace
    with pytest.raises(IndexError):
        steps[2]


@case(SPLIT + "TestSequence::test_item_getters_and_setters")
def _(lib: Library) -> None:
    p = lib.pre_tokenizers
    steps = p.Sequence(
        [
            p.ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True),
            p.Split(pattern="/test/", behavior="removed", invert=False),
            p.Metaspace("a", "never", split=False),
            p.CharDelimiterSplit(delimiter=" "),
            p.Punctuation(behavior="removed"),
            p.Digits(individual_digits=True),
        ]
    )
    kinds = [p.ByteLevel, p.Split, p.Metaspace, p.CharDelimiterSplit, p.Punctuation, p.Digits]
    assert [type(steps[i]) for i in range(6)] == kinds
    others: list[dict[str, Any]] = [
        {"add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        {"behavior": "isolated", "invert": True},
        {"replacement": " ", "prepend_scheme": "always", "split": True},
        {"delimiter": "_"},
        {"behavior": "isolated"},
        {"individual_digits": False},
    ]
    for number, values in enumerate(others):
        for name, value in values.items():
            setattr(steps[number], name, value)
            assert getattr(steps[number], name) == value
    with pytest.raises(Exception):  # noqa: B017, PT011  # 2026-11-24: each library has its own error
        steps[1].pattern = "test"
    with pytest.raises(Exception):  # noqa: B017, PT011  # 2026-11-24: each library has its own error
        _ = steps[1].pattern


@case(SPLIT + "TestDigits::test_can_modify")
def _(lib: Library) -> None:
    made = lib.pre_tokenizers.Digits(individual_digits=False)
    assert made.individual_digits is False
    sets(made, individual_digits=True)


@case(SPLIT + "TestFixedLength::test_pre_tokenize_str")
def _(lib: Library) -> None:
    made = lib.pre_tokenizers.FixedLength(length=5)
    assert made.length == 5
    text = "ATCCTGGTACTG"
    assert made.pre_tokenize_str(text) == [("ATCCT", (0, 5)), ("GGTAC", (5, 10)), ("TG", (10, 12))]
    made.length = 10
    assert made.length == 10
    assert made.pre_tokenize_str(text) == [("ATCCTGGTAC", (0, 10)), ("TG", (10, 12))]
