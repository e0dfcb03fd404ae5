"""An accelerated tokenizer of transformers next to the same one untouched, and comparisons of their results.

The calls to compare are in `test_acceleration.py` and `test_acceleration_random.py`.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers

import sentitok
from oracles.families import file_of

TEXTS = [
    "It's 123456 naïve words — 日本語 ①② ﬁ ½!",
    "  two  spaces\t\tand\n\n lines \r\n",
    "",
    "<s>hi</s> [MASK] <|endoftext|>x <unk> <0x41> ##a ▁a▁▁b ▁",
    "👩‍👩‍👧 é e\u0301 \u200b\u00a0\u3000\ufeff\x00\x7f İstanbul ẞ ΟΔΟΣ",
    "x" * 60,
    "The quick brown fox jumps over the lazy dog, doesn't it? " * 3,
]


def pair_of(family: str, **settings: Any) -> tuple[Any, Any]:
    """A tokenizer of transformers of a family, and the same accelerated."""
    return pair_of_file(file_of(family), **settings)


def pair_of_file(file: str, **settings: Any) -> tuple[Any, Any]:
    """The tokenizer of transformers of a tokenizer.json, and the same accelerated."""
    fast: Any = transformers.PreTrainedTokenizerFast
    first, second = (fast(tokenizer_object=tokenizers.Tokenizer.from_str(file), **settings) for _ in range(2))
    given = sentitok.accelerate(second)
    assert given is second
    return first, given


def runs(tokenizer: Any) -> bool:
    return tokenizer.__dict__["_sentitok_running"]._known.tokenizer is not None


def decodes(tokenizer: Any) -> bool:
    return bool(tokenizer.__dict__["_sentitok_running"]._known.decodes)


def plain(value: Any) -> Any:
    """The part of a result that is compared."""
    if isinstance(value, transformers.BatchEncoding):
        encodings = [encoding_of(encoding) for encoding in value.encodings or ()]
        return [*((key, plain(field)) for key, field in value.items()), encodings, value.n_sequences]
    if isinstance(value, (np.ndarray, torch.Tensor)):
        # An array of objects has arrays in it.
        listed = value.tolist()
        return type(value), str(value.dtype), plain(listed) if value.dtype == object else listed
    if type(value) is list:
        # Most of what there is are ids, millions of them.
        return [each if type(each) is int else plain(each) for each in value]
    return value


def encoding_of(encoding: tokenizers.Encoding) -> list[Any]:
    return [
        encoding.ids, encoding.tokens, encoding.type_ids, encoding.offsets, encoding.word_ids,
        encoding.sequence_ids, encoding.attention_mask, encoding.special_tokens_mask,
    ]  # fmt: skip


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return plain(call())
    except BaseException as error:  # tokenizers panics, which is no `Exception`
        if isinstance(error, (KeyboardInterrupt, MemoryError)):
            raise
        return type(error).__name__, str(error)


def some_options(draw: random.Random) -> dict[str, Any]:
    """Options of a call, each at random."""
    values: dict[str, list[Any]] = {
        "add_special_tokens": [True, False],
        "padding": [True, False, "longest", "max_length", "do_not_pad"],
        "truncation": [True, False, "only_first", "only_second", "longest_first"],
        "max_length": [None, 0, 1, 3, 8, 20, 40],
        "stride": [0, 1, 3, 50],
        "pad_to_multiple_of": [None, 4],
        "padding_side": ["left", "right"],
        "return_tensors": [None, "np", "pt", "tf"],
        "return_token_type_ids": [None, True, False],
        "return_attention_mask": [None, True, False],
        "return_overflowing_tokens": [True, False],
        "return_special_tokens_mask": [True, False],
        "return_offsets_mapping": [True, False],
        "return_length": [True, False],
        "verbose": [True, False],
    }
    return {name: draw.choice(values[name]) for name in draw.sample([*values], draw.randrange(7))}


def asked(*given: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda tokenizer: tokenizer(*given, **options)


def is_failure(result: Any) -> bool:
    return type(result) is tuple and [type(part) for part in result] == [str, str]


def same(first: Any, second: Any, call: Callable[[Any], Any]) -> None:
    expected, found = outcome(lambda: call(first)), outcome(lambda: call(second))
    tries = 0
    # Of several rows that fail, tokenizers reports any one, by the order of its threads.
    while found != expected and is_failure(expected) and is_failure(found) and tries < 1000:
        expected, tries = outcome(lambda: call(first)), tries + 1
    assert found == expected
    assert second.backend_tokenizer.truncation == first.backend_tokenizer.truncation
    assert second.backend_tokenizer.padding == first.backend_tokenizer.padding
