"""`sentitok.evaluate` against slow definitions, read off docs/eval.md."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
from sentitok.evaluate import evaluate, renyi_efficiency

TEXT = "The cat sat on the mat. The dog sat on the log.\n日本語 naïve 👍🏽 café\n" * 20


TOKENIZER = sentitok.train_bpe(texts=[TEXT], vocab_size=300)


def slow(tokenizer: sentitok.Tokenizer, texts: list[str]) -> dict[str, float]:
    """Every definition of docs/eval.md, one loop each."""
    ids: list[int] = []
    per_word: list[int] = []
    distinct: set[str] = set()
    for text in texts:
        encoding = tokenizer.encode(text)
        ids += encoding.ids.tolist()
        spans = encoding.offsets("chars").tolist()
        at = 0
        for word in text.split():
            start = text.index(word, at)
            at = start + len(word)
            per_word.append(sum(1 for a, b in spans if a < at and b > start))
            distinct.add(word)
    retained = [
        sum(1 for _, end in tokenizer.encode(f" {word}").offsets("chars").tolist() if end > 1) == 1
        for word in distinct
    ]
    shares = [count / len(ids) for count in Counter(ids).values()] if ids else []
    nan = float("nan")
    return {
        "bytes_per_token": sum(len(t.encode()) for t in texts) / len(ids) if ids else nan,
        "tokens_per_word": sum(per_word) / len(per_word) if per_word else nan,
        "continued_words": sum(n > 1 for n in per_word) / len(per_word) if per_word else nan,
        "single_token_retention": sum(retained) / len(retained) if retained else nan,
        "renyi_efficiency": math.log(sum(p**2.5 for p in shares)) / -1.5 / math.log(tokenizer.vocab_size)
        if shares
        else nan,
        "vocabulary_use": len(set(ids)) / tokenizer.vocab_size,
    }


texts = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5)


@given(texts)
def test_equals_the_definitions(texts: list[str]) -> None:
    measured = evaluate(TOKENIZER, texts).as_dict()
    for name, value in slow(TOKENIZER, texts).items():
        assert measured[name] == pytest.approx(value, nan_ok=True), name


def test_threads_and_order_do_not_matter() -> None:
    lines = TEXT.splitlines(keepends=True)
    one = evaluate(TOKENIZER, lines, threads=1)
    assert evaluate(TOKENIZER, lines, threads=3) == one
    assert evaluate(TOKENIZER, lines[::-1]) == one


def test_progress_ends_with_all_bytes() -> None:
    lines = TEXT.splitlines(keepends=True) * 200  # more than one batch
    told: list[tuple[str, int, int]] = []
    evaluate(TOKENIZER, lines, progress=lambda *args: told.append(args))
    done = [n for _, n, _ in told]
    assert len(done) > 1
    assert done == sorted(done)
    assert told[-1] == ("encode", len("".join(lines).encode()), 0)


@pytest.mark.parametrize(
    ("name", "frequency", "vocab_size", "expected"),
    [
        ("all equal", [5, 5, 5, 5], 4, 1.0),
        ("one only", [7, 0, 0, 0], 4, 0.0),
        ("half of the vocabulary", [3, 3, 0, 0], 4, 0.5),
        ("nothing", [0, 0], 2, float("nan")),
    ],
)
def test_renyi(name: str, frequency: list[int], vocab_size: int, expected: float) -> None:
    found = renyi_efficiency(np.array(frequency, dtype=np.int64), vocab_size)
    assert found == pytest.approx(expected, nan_ok=True), name


def test_unknown_rate() -> None:
    tokenizer = sentitok.train_bpe(
        texts=["abc abc"],
        vocab_size=20,
        unit="chars",
        initial_alphabet="none",
        unk_token="<unk>",
        special_tokens=["<unk>"],
    )
    assert evaluate(tokenizer, ["abc"]).unknown_rate == 0
    assert 0 < evaluate(tokenizer, ["abcz"]).unknown_rate < 1
