"""Added tokens are found in linear time, whatever the tokens are."""

import json
import time
from typing import Any

import pytest
import tokenizers

import sentitok


def tokenizer_file(tokens: list[str], **flags: bool) -> str:
    vocab = {"<u>": 0, "x": 1}
    rules = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    added = [{"id": 2 + n, "content": token, **rules, **flags} for n, token in enumerate(tokens)]
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<u>"}
    return json.dumps({"version": "1.0", "model": model, "added_tokens": added})


@pytest.mark.parametrize(
    "flags", [{}, {"special": True}, {"normalized": True}, {"lstrip": True, "rstrip": True}]
)
def test_a_token_far_longer_than_another_costs_linear_time(flags: dict[str, bool]) -> None:
    # Each "a" of the text took 100,000 steps: two minutes in all.
    length = 100_000
    tokenizer = sentitok.Tokenizer.from_bytes(tokenizer_file(["a", "a" * length + "b"], **flags).encode())
    text = "a" * 2 * length
    options: dict[str, Any] = {"specials": "all"}
    start = time.process_time()
    assert len(tokenizer.encode(text, **options)) == len(text)
    assert tokenizer.count(text, **options) == len(text)
    assert not tokenizer.fits(text, len(text) - 1, **options)
    assert len(tokenizer.encode_batch([text], offsets=True, **options)[0]) == len(text)
    assert time.process_time() - start < 20


def test_nested_tokens_are_found_as_by_tokenizers() -> None:
    tokens = ["a", "aab", "a" * 60 + "b", "ba", "b" + "a" * 70 + "x", "ab" * 40]
    file = tokenizer_file(tokens)
    ours, theirs = sentitok.Tokenizer.from_bytes(file.encode()), tokenizers.Tokenizer.from_str(file)
    for text in ["a" * 59 + "b" + "a" * 60 + "b", "b" + "a" * 70 + "b", "ab" * 39 + "a", "x" + "ab" * 83]:
        expected = theirs.encode(text)
        found = ours.encode(text)
        assert found.ids.tolist() == expected.ids
        assert found.offsets().tolist() == [list(span) for span in expected.offsets]
