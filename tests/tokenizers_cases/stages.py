"""Cases of `test_normalizers.py`, `test_pre_tokenizers.py` and `test_processors.py`."""

import itertools
import json
from typing import Any

import pytest

import shared_data

from . import Library, case, pickled
from .decoding import sets

NORMAL = "bindings/test_normalizers.py::"
SPLIT = "bindings/test_pre_tokenizers.py::"
AROUND = "bindings/test_processors.py::"


def is_kind(made: Any, base: Any, kind: Any) -> None:
    assert isinstance(made, base)
    assert type(made) is kind
    assert type(pickled(made)) is kind


def plain(room: str, *names: str) -> None:
    """Registers the cases that make a stage, and pickle it."""
    file, base = (NORMAL, "Normalizer") if room == "normalizers" else (SPLIT, "PreTokenizer")
    for name in names:

        def made(lib: Library, name: str = name) -> None:
            kinds = getattr(lib, room)
            is_kind(getattr(kinds, name)(), getattr(kinds, base), getattr(kinds, name))

        case(f"{file}Test{name}::test_instantiate")(made)


plain("normalizers", "BertNormalizer", "Lowercase", "Strip")
plain(
    "pre_tokenizers", "Whitespace", "WhitespaceSplit", "BertPreTokenizer", "Digits", "FixedLength",
    "UnicodeScripts",
)  # fmt: skip

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
    with pytest.raises(Exception):  # noqa: B017, PT011
        steps[3].pattern = "test"
    with pytest.raises(Exception):  # noqa: B017, PT011
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


class TwoArguments:
    def normalize(self, normalized: Any, more: Any) -> None: ...

    def pre_tokenize(self, pretok: Any, more: Any) -> None: ...


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


# Pre-tokenizers


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
    with pytest.raises(Exception):  # noqa: B017, PT011
        steps[1].pattern = "test"
    with pytest.raises(Exception):  # noqa: B017, PT011
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


# Post-processors

NAMES = ["my", "name", "is", "john", "pair"]
SEP, CLS = ("[SEP]", 0), ("[CLS]", 1)


def words(lib: Library, *special: str) -> Any:
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens(NAMES)
    return tokenizer


def bert_template(lib: Library) -> Any:
    single, pair = ["[CLS]", "$0", "[SEP]"], ["[CLS]", "$A", "[SEP]", "$B:1", "[SEP]:1"]
    return lib.processors.TemplateProcessing(single=single, pair=pair, special_tokens=[CLS, SEP])


@case(AROUND + "TestBertProcessing::test_instantiate")
def _(lib: Library) -> None:
    p = lib.processors
    is_kind(p.BertProcessing(SEP, CLS), p.PostProcessor, p.BertProcessing)


@case(AROUND + "TestBertProcessing::test_processing")
def _(lib: Library) -> None:
    tokenizer = words(lib, "[SEP]", "[CLS]")
    tokenizer.post_processor = lib.processors.BertProcessing(SEP, CLS)
    found = tokenizer.encode("my name", "pair")
    assert found.tokens == ["[CLS]", "my", "name", "[SEP]", "pair", "[SEP]"]
    assert found.ids == [1, 2, 3, 0, 6, 0]


@case(AROUND + "TestRobertaProcessing::test_instantiate")
def _(lib: Library) -> None:
    p = lib.processors
    is_kind(p.RobertaProcessing(("</s>", 1), ("<s>", 0)), p.PostProcessor, p.RobertaProcessing)


@case(AROUND + "TestRobertaProcessing::test_processing")
def _(lib: Library) -> None:
    tokenizer = words(lib, "<s>", "</s>")
    tokenizer.post_processor = lib.processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    found = tokenizer.encode("my name", "pair")
    assert found.tokens == ["<s>", "my", "name", "</s>", "</s>", "pair", "</s>"]
    assert found.ids == [0, 2, 3, 1, 1, 6, 1]


@case(AROUND + "TestByteLevelProcessing::test_instantiate")
def _(lib: Library) -> None:
    p = lib.processors
    for options in ({}, {"trim_offsets": True}, {"add_prefix_space": True}):
        is_kind(p.ByteLevel(**options), p.PostProcessor, p.ByteLevel)


@case(AROUND + "TestByteLevelProcessing::test_processing")
def _(lib: Library) -> None:
    """With GPT-2's vocabulary, which RoBERTa's has too, in other places."""
    folder = shared_data.folder() / "vocabs" / "gpt2"
    tokenizer = lib.Tokenizer(lib.models.BPE(str(folder / "encoder.json"), str(folder / "vocab.bpe")))
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel(add_prefix_space=True)
    untrimmed, trimmed = [(0, 2), (2, 7), (7, 10), (10, 15)], [(0, 2), (3, 7), (8, 10), (11, 15)]
    rows = [
        (None, untrimmed),
        ({"trim_offsets": True, "add_prefix_space": True}, trimmed),
        ({"trim_offsets": True, "add_prefix_space": False}, [(1, 2), *trimmed[1:]]),
        ({"trim_offsets": False, "add_prefix_space": True}, untrimmed),
    ]
    for options, offsets in rows:
        if options is not None:
            tokenizer.post_processor = lib.processors.ByteLevel(**options)
        found = tokenizer.encode("My name is John")
        assert found.tokens == ["ĠMy", "Ġname", "Ġis", "ĠJohn"]
        assert found.offsets == offsets, options


@case(AROUND + "TestByteLevelProcessing::test_manual_reload")
def _(lib: Library) -> None:
    kind = lib.processors.ByteLevel
    assert isinstance(kind(**json.loads(kind().__getstate__())), kind)


@case(AROUND + "TestTemplateProcessing::test_instantiate")
def _(lib: Library) -> None:
    p = lib.processors
    is_kind(bert_template(lib), p.PostProcessor, p.TemplateProcessing)
    spaced = ["[ C L S ]", "Token with space"]
    p.TemplateProcessing(single=spaced, special_tokens=[(name, n) for n, name in enumerate(spaced)])
    for single in ("[CLS] $$ [SEP]", "[CLS] $A: [SEP]"):
        with pytest.raises(Exception, match="Cannot build Piece"):
            p.TemplateProcessing(single=single)
    with pytest.raises(Exception, match=r"Missing SpecialToken\(s\) with id\(s\)"):
        p.TemplateProcessing(single=["[CLS]"])


@case(AROUND + "TestTemplateProcessing::test_bert_parity")
def _(lib: Library) -> None:
    tokenizer = words(lib, "[SEP]", "[CLS]")
    tokenizer.post_processor = lib.processors.BertProcessing(SEP, CLS)
    before = tokenizer.encode("my name", "pair").ids
    tokenizer.post_processor = bert_template(lib)
    assert tokenizer.encode("my name", "pair").ids == before


@case(AROUND + "TestTemplateProcessing::test_roberta_parity")
def _(lib: Library) -> None:
    tokenizer = words(lib, "<s>", "</s>")
    tokenizer.post_processor = lib.processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    before = tokenizer.encode("my name is john", "pair").ids
    tokenizer.post_processor = lib.processors.TemplateProcessing(
        single="<s> $0 </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    assert tokenizer.encode("my name is john", "pair").ids == before


@case(AROUND + "TestSequenceProcessing::test_sequence_processing")
def _(lib: Library) -> None:
    p = lib.processors
    is_kind(p.Sequence([]), p.PostProcessor, p.Sequence)
    is_kind(p.Sequence([p.ByteLevel()]), p.PostProcessor, p.Sequence)


@case(AROUND + "TestSequenceProcessing::test_post_process")
def _(lib: Library) -> None:
    p = lib.processors
    tokenizer = lib.Tokenizer(lib.models.BPE())
    tokenizer.add_special_tokens(["[SEP]", "[CLS]"])
    tokenizer.add_tokens(["my", "name", "is", "Ġjohn", "pair"])
    for processor, start in (
        (bert_template(lib), 11),
        (p.Sequence([p.ByteLevel(trim_offsets=True), bert_template(lib)]), 12),
    ):
        tokenizer.post_processor = processor
        offsets = [(0, 0), (0, 2), (3, 7), (8, 10), (start, 16), (0, 0)]
        one = tokenizer.encode("my name is Ġjohn")
        assert one.ids == [1, 2, 3, 4, 5, 0]
        assert one.type_ids == [0] * 6
        assert one.offsets == offsets
        pair = tokenizer.encode("my name is Ġjohn", "pair")
        assert pair.type_ids == [0] * 6 + [1, 1]
        assert pair.offsets == [*offsets, (0, 4), (0, 0)]


@case(AROUND + "TestSequenceProcessing::test_items")
def _(lib: Library) -> None:
    p = lib.processors
    steps = p.Sequence([p.RobertaProcessing(("</s>", 1), ("<s>", 0)), p.ByteLevel()])
    assert [type(steps[i]) for i in (0, 1)] == [p.RobertaProcessing, p.ByteLevel]
    flags = ("add_prefix_space", "trim_offsets", "use_regex")
    steps[0] = p.ByteLevel(**dict.fromkeys(flags, False))
    assert repr(steps[0])
    for flag in flags:
        setattr(steps[0], flag, True)
        assert getattr(steps[0], flag)
    assert type(steps[0]) is p.ByteLevel
