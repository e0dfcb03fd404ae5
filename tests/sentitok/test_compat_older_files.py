"""`sentitok.compat.tokenizers` reads files as they were written by older releases, or by hand.

They leave out fields, have fields that are no longer read, and list added tokens under different ids. What
tokenizers makes the same of such a file as this package: the same stages with the same attributes, and the
same tokenizer.json when it is written again.
"""

import json
from typing import Any

import pytest
import tokenizers as theirs

from sentitok.compat import tokenizers as ours

A, B = ["a", 1], ["b", 2]
TEMPLATE = {
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"a": {"id": "a", "ids": [1], "tokens": ["a"]}},
}
STAGES: dict[str, list[dict[str, Any]]] = {
    "normalizer": [
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
         "lowercase": True},
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "NFC"},
        {"type": "ByteLevel"},
        {"type": "Replace", "pattern": {"Regex": " +"}, "content": "_"},
        {"type": "Prepend", "prepend": "_"},
        {"type": "Sequence", "normalizers": [{"type": "Lowercase", "x": 1}, {"type": "StripAccents"}]},
    ],
    "pre_tokenizer": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "Metaspace", "replacement": "_", "add_prefix_space": True},
        {"type": "Metaspace", "replacement": "_", "str_rep": "_", "add_prefix_space": True},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": False},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "add_prefix_space": False},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "add_prefix_space": True},
        {"type": "CharDelimiterSplit", "delimiter": "-"},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Digits", "individual_digits": True},
        {"type": "FixedLength", "length": 3},
        {"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": True},
        {"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, {"type": "WhitespaceSplit"}]},
    ],
    "post_processor": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        {"type": "BertProcessing", "sep": B, "cls": A},
        {"type": "RobertaProcessing", "sep": B, "cls": A, "trim_offsets": True, "add_prefix_space": True},
        {"type": "TemplateProcessing", **TEMPLATE},
        {"type": "Sequence", "processors": [
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
            {"type": "TemplateProcessing", **TEMPLATE},
        ]},
    ],
    "decoder": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "Metaspace", "replacement": "_", "add_prefix_space": True},
        {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Metaspace", "replacement": "_"}]},
    ],
    "model": [
        {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
         "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
         "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
        {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##",
         "max_input_chars_per_word": 100, "vocab": {"a": 0, "b": 1}},
        {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
        {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0], ["b", -1.0]], "byte_fallback": False,
         "alpha": None, "nbest_size": None},
    ],
}  # fmt: skip
BARE: dict[str, Any] = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
    "pre_tokenizer": None, "post_processor": None, "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"a": 1, "b": 2, "_a": 3}, "unk_token": "a"},
}  # fmt: skip
TOKEN: dict[str, Any] = {
    "id": 1, "content": "a", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True,
    "special": False,
}  # fmt: skip
# Of a RobertaProcessing without one of its flags, tokenizers makes a BertProcessing.
OTHERWISE = {"RobertaProcessing"}


def attributes(stage: Any) -> dict[str, Any]:
    """The fields that can be read of a stage."""
    unreadable = {"pattern", "single", "behavior"}  # tokenizers does not give them, or spells them otherwise
    names = [name for name in dir(stage) if not name.startswith("_") and name not in unreadable]
    return {name: value for name in names if not callable(value := getattr(stage, name))}


def variants(stage: dict[str, Any]) -> list[dict[str, Any]]:
    """A stage as it is, with each field left out or null, and with a field that nobody knows."""
    names = [name for name in stage if name != "type"]
    if stage["type"] in OTHERWISE:
        return [stage, {**stage, "more": 1}]
    without = [{key: value for key, value in stage.items() if key != name} for name in names]
    return [stage, {**stage, "more": 1}, *without, *({**stage, name: None} for name in names)]


def loaded(library: Any, document: dict[str, Any]) -> Any:
    """The tokenizer of a document, or `None`: tokenizers panics at some."""
    try:
        return library.Tokenizer.from_str(json.dumps(document))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def assert_alike(document: dict[str, Any]) -> bool:
    """Whether tokenizers reads a document; if so, both make the same of it."""
    expected, found = loaded(theirs, document), loaded(ours, document)
    if expected is None:
        if found is not None:  # what is filled in is what the tokenizer does
            again = ours.Tokenizer.from_str(found.to_str())
            assert again.encode("a").ids == found.encode("a").ids
            assert again.encode("a").offsets == found.encode("a").offsets
            assert again.decode([1, 2]) == found.decode([1, 2])
        return False
    assert found is not None, document
    assert found.to_str() == expected.to_str()
    assert repr(found) == repr(expected)
    for slot in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"):
        one, other = getattr(expected, slot), getattr(found, slot)
        assert (one is None) == (other is None)
        if one is not None:
            assert attributes(one).items() <= attributes(other).items()
    assert found.get_vocab() == expected.get_vocab()
    return True


@pytest.mark.parametrize("slot", STAGES)
def test_fields_left_out_and_fields_of_others(slot: str) -> None:
    documents = [{**BARE, slot: spec} for stage in STAGES[slot] for spec in variants(stage)]
    n_read = sum(map(assert_alike, documents))
    assert n_read >= 2 * len(STAGES[slot])


def test_added_tokens_have_the_ids_of_tokenizers() -> None:
    """Whatever ids the file lists: those of the vocabulary, and the next ones."""
    lists = [
        [{**TOKEN, "id": 7}],
        [{**TOKEN, "content": "zz", "id": 7}],
        [{**TOKEN, "content": ""}],
        [TOKEN, {**TOKEN, "lstrip": True}],
        [{**TOKEN, "content": "y", "id": 9}, {**TOKEN, "content": "x", "id": 8, "special": True}],
    ]
    for tokens in lists:
        document = {**BARE, "added_tokens": tokens}
        assert assert_alike(document)
        mine, other = loaded(ours, document), loaded(theirs, document)
        for text in ("a zz b", "x y a", "zzxy"):
            assert mine.encode(text).tokens == other.encode(text).tokens
            assert mine.encode(text).ids == other.encode(text).ids
        for name in ("a", "x", "y", "zz", ""):
            assert mine.token_to_id(name) == other.token_to_id(name)


def test_the_unknown_token_as_an_added_token_in_another_spelling() -> None:
    """Found in a normalized text it is spelled as there; an unknown word has its own spelling."""
    for flags in ({}, {"lstrip": True}, {"rstrip": True}, {"special": True}, {"normalized": False}):
        document = {
            **BARE,
            "added_tokens": [{**TOKEN, "id": 0, "content": "<unk>", **flags}],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ]},
            "model": {"type": "BPE", "vocab": {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3}, "merges": [["▁", "a"]],
                      "unk_token": "<unk>", "fuse_unk": True},
        }  # fmt: skip
        mine, other = loaded(ours, document), loaded(theirs, document)
        for text in ("a <unk>", "<unk>", "a ? <unk> ? a", "?", "a<unk>a", "? <unk>"):
            assert mine.encode(text).tokens == other.encode(text).tokens, (flags, text)
            assert mine.encode(text).offsets == other.encode(text).offsets, (flags, text)
