"""Cases of `test_normalizers.py`."""

from typing import Any

import pytest

from . import Library, case
from .decoding import sets
from .kinds import NORMAL, TwoArguments, is_kind

BERT = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
#: A case of the suite: the stage, its options, a text and what becomes of it.
TEXTS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "TestBertNormalizer::test_strip_accents": (
        "BertNormalizer", {**BERT, "strip_accents": True}, "Héllò", "Hello",
    ),
    "TestBertNormalizer::test_handle_chinese_chars": (
        "BertNormalizer", {**BERT, "handle_chinese_chars": True}, "你好", " 你  好 ",
    ),
    "TestBertNormalizer::test_clean_text": (
        "BertNormalizer", {**BERT, "clean_text": True}, "\ufeffHello", "Hello",
    ),
    "TestBertNormalizer::test_lowercase": ("BertNormalizer", {**BERT, "lowercase": True}, "Héllò", "héllò"),
    "TestLowercase::test_lowercase": ("Lowercase", {}, "HELLO", "hello"),
    "TestStrip::test_left_strip": ("Strip", {"left": True, "right": False}, "  hello  ", "hello  "),
    "TestStrip::test_right_strip": ("Strip", {"left": False, "right": True}, "  hello  ", "  hello"),
    "TestStrip::test_full_strip": ("Strip", {"left": True, "right": True}, "  hello  ", "hello"),
    "TestPrepend::test_prepend": ("Prepend", {"prepend": "▁"}, "hello", "▁hello"),
}  # fmt: skip
for name, (kind, options, text, becomes) in TEXTS.items():

    def normalizes(
        lib: Library, kind: str = kind, options: Any = options, text: str = text, becomes: str = becomes
    ) -> None:
        assert getattr(lib.normalizers, kind)(**options).normalize_str(text) == becomes

    case(NORMAL + name)(normalizes)


@case(NORMAL + "TestBertNormalizer::test_can_modify")
def _(lib: Library) -> None:
    made = lib.normalizers.BertNormalizer(**dict.fromkeys(BERT, True))
    assert all(getattr(made, name) is True for name in BERT)
    sets(made, **{**BERT, "strip_accents": None})


@case(NORMAL + "TestSequence::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib.normalizers.Sequence([]), lib.normalizers.Normalizer, lib.normalizers.Sequence)


@case(NORMAL + "TestSequence::test_can_make_sequences")
def _(lib: Library) -> None:
    n = lib.normalizers
    assert n.Sequence([n.Lowercase(), n.Strip()]).normalize_str("  HELLO  ") == "hello"


@case(NORMAL + "TestSequence::test_set_item")
def _(lib: Library) -> None:
    n = lib.normalizers
    steps = n.Sequence([n.BertNormalizer(True, True), n.Prepend(prepend="test")])
    assert [type(steps[i]) for i in (0, 1)] == [n.BertNormalizer, n.Prepend]
    steps[1] = n.Strip()
    assert type(steps[1]) is n.Strip
    with pytest.raises(IndexError):
        steps[2]


@case(NORMAL + "TestSequence::test_item_getters_and_setters")
def _(lib: Library) -> None:
    n = lib.normalizers
    steps = n.Sequence(
        [
            n.BertNormalizer(True, True, True, True),
            n.Strip(True, True),
            n.Prepend("_"),
            n.Replace("some", "else"),
        ]
    )
    assert [type(steps[i]) for i in range(4)] == [n.BertNormalizer, n.Strip, n.Prepend, n.Replace]
    for name in BERT:
        setattr(steps[0], name, False)
        assert not getattr(steps[0], name)
    steps[1].left = steps[1].right = False
    assert not steps[1].left
    assert not steps[1].right
    sets(steps[2], prepend=" ")
    assert steps[2].prepend == " "
    with pytest.raises(Exception):  # noqa: B017, PT011  # 2026-11-24: each library has its own error
        steps[3].pattern = "test"
    with pytest.raises(Exception):  # noqa: B017, PT011  # 2026-11-24: each library has its own error
        _ = steps[3].pattern
    steps[3].content = "test"
    assert steps[3].content == "test"


@case(NORMAL + "TestStrip::test_can_modify")
def _(lib: Library) -> None:
    made = lib.normalizers.Strip(left=True, right=True)
    assert (made.left, made.right) == (True, True)
    sets(made, left=False, right=False)


@case(NORMAL + "TestPrepend::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib.normalizers.Prepend("▁"), lib.normalizers.Normalizer, lib.normalizers.Prepend)


@case(NORMAL + "TestPrepend::test_can_modify")
def _(lib: Library) -> None:
    made = lib.normalizers.Prepend("▁")
    assert made.prepend == "▁"
    sets(made, prepend="-")


class Greeting:
    """Changes a text, and keeps it."""

    def normalize(self, normalized: Any) -> None:
        self.kept = normalized
        normalized.replace("there", "you")


@case(NORMAL + "TestCustomNormalizer::test_instantiate")
def _(lib: Library) -> None:
    greeting = Greeting()
    good, bad = map(lib.normalizers.Normalizer.custom, (greeting, TwoArguments()))
    assert isinstance(good, lib.normalizers.Normalizer)
    with pytest.raises(Exception, match=r"TypeError:.*normalize\(\)"):
        bad.normalize_str("Hey there!")
    assert good.normalize_str("Hey there!") == "Hey you!"
    with pytest.raises(Exception, match="Cannot use a NormalizedStringRefMut outside `normalize`"):
        greeting.kept.replace("something", "else")


@case(NORMAL + "TestCustomNormalizer::test_normalizer_interface")
def _(lib: Library) -> None:
    text = lib.NormalizedString("Hey there!")
    lib.normalizers.Normalizer.custom(Greeting()).normalize(text)
    assert repr(text) == 'NormalizedString(original="Hey there!", normalized="Hey you!")'
    assert str(text) == "Hey you!"
