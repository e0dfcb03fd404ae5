"""`Metaspace` with `prepend_scheme="first"` behind normalizers, against tokenizers.

The mark is put before a section only if its first character comes from the start of the text, so
normalizers that remove or replace the beginning decide it. `test_parity_stages.py` tests
the other stages.
"""

import json
import random
from itertools import product
from typing import Any

import numpy as np
import pytest
import tokenizers

from oracles.normalizer_texts import odd_texts
from sampled_cases import sample
from sentitok import Tokenizer

Json = dict[str, Any]


def replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def chain(*steps: Json) -> Json:
    return {"type": "Sequence", "normalizers": list(steps)}


STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
        "lowercase": True}  # fmt: skip
QUOTES = [replace({"String": "``"}, '"'), replace({"String": "''"}, '"')]
NORMALIZERS: dict[str, Json | None] = {
    "none": None,
    "Strip": STRIP,
    "NFKC": {"type": "NFKC"},
    "NFD": {"type": "NFD"},
    "StripAccents": chain({"type": "NFKD"}, {"type": "StripAccents"}),
    "Lowercase": {"type": "Lowercase"},
    "Nmt": {"type": "Nmt"},
    "Prepend": {"type": "Prepend", "prepend": "x"},
    "bert": BERT,
    "one for one": replace({"String": "a"}, "b"),
    "one for two": replace({"String": "a"}, "bc"),
    "two for one": replace({"String": "ab"}, "c"),
    "taken away": replace({"String": "a"}, ""),
    "blanks": replace({"Regex": " {2,}"}, " "),
    "blanks at the start": replace({"Regex": r"^\s+"}, ""),
    "albert": chain(*QUOTES, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                    replace({"Regex": " {2,}"}, " ")),
    "strip, then another": chain(STRIP, replace({"String": "t"}, "tt"), replace({"String": "t"}, "")),
}  # fmt: skip
FIRST: Json = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
PRE_TOKENIZERS: dict[str, Json] = {
    "split": FIRST,
    "unsplit": {**FIRST, "split": False},
    "marked": {**FIRST, "replacement": "·"},
    "words": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, FIRST]},
    "characters": {"type": "Sequence", "pretokenizers": [{"type": "FixedLength", "length": 1}, FIRST]},
}
LETTERS = [*"abct T.``''", "  ", "a", "ab", "``", "''", "é", "e\u0301", "\u0301", "ﬁ", "Å", "中", "▁", "·",
           "\u200b", "\x00", "\n", "<n>", "<r>", "İ", "각"]  # fmt: skip


def tokenizer_json(normalizer: Json | None, pre_tokenizer: Json) -> str:
    """A file whose ids tell marks apart: a word of each character, and some of two."""
    single = sorted({*"".join(LETTERS), *'abcdefghijklmnopqrstuvwxyz"i~'})
    pieces = ["[UNK]", *single, *("▁" + c for c in single), *("·" + c for c in single), "bc", "tt", "ab"]
    rng = random.Random(7)  # no two ways to cut a text have one sum
    vocab = [[piece, -1.0 - rng.random()] for piece in dict.fromkeys(pieces)]
    n = len(vocab)
    added = [
        {"id": n + at, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": normalized, "special": not normalized}
        for at, (content, normalized) in enumerate([("<r>", False), ("<n>", True)])
    ]  # fmt: skip
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False},
    })  # fmt: skip


def texts() -> list[str]:
    rng = random.Random(5)
    some = ["".join(rng.choices(LETTERS, k=rng.randrange(1, 8))) for _ in range(500)]
    return ["", " ", "the", " the", "  the", "\u0301a", "a\u0301", "<n>a", "<r>a", " <n> a", "ab", *some,
            *odd_texts(100)]  # fmt: skip


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_marks_at_the_start(normalizer: str, pre_tokenizer: str) -> None:
    file = tokenizer_json(NORMALIZERS[normalizer], PRE_TOKENIZERS[pre_tokenizer])
    theirs, ours = tokenizers.Tokenizer.from_str(file), Tokenizer.from_bytes(file.encode())
    given = texts()
    expected = [row.ids for row in theirs.encode_batch(given)]
    batch = ours.encode_batch(given, specials="all")
    for text, ids, row in zip(given, expected, batch, strict=True):
        assert row.ids.tolist() == ids, text
        # With offsets, as one text, and counted alone.
        assert ours.encode(text, specials="all").ids.tolist() == ids, text
        assert ours.count(text, specials="all") == len(ids), text


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "start"),
    sample(10, product(["Strip", "albert", "NFKC"], PRE_TOKENIZERS, ["", "  ", "\u0301", " ", "``"])),
)
def test_long_texts(normalizer: str, pre_tokenizer: str, start: str) -> None:
    """Texts that threads share begin as short ones do."""
    file = tokenizer_json(NORMALIZERS[normalizer], PRE_TOKENIZERS[pre_tokenizer])
    theirs, ours = tokenizers.Tokenizer.from_str(file), Tokenizer.from_bytes(file.encode())
    body = "the cat at bat " * 18_000  # 270 kB: texts are cut from 256 KiB on
    expected = theirs.encode(start + body).ids
    for threads in (1, 2):
        found = ours.encode_batch([start + body], specials="all", threads=threads)
        assert np.array_equal(found.ids, expected), threads
