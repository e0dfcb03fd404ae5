"""Cases of `test_processors.py`."""

import json
from typing import Any

import pytest

import shared_data

from . import Library, case
from .kinds import is_kind

AROUND = "bindings/test_processors.py::"

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
