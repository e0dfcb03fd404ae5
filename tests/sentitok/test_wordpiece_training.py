"""Training WordPiece against the specification, merge for merge by its tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
from oracles import wordpiece

train_wordpiece: Any = getattr(sentitok, "train_wordpiece", None)
if train_wordpiece is None:
    pytest.skip("this build has no train_wordpiece", allow_module_level=True)

SCORES = ["likelihood", "pmi", "frequency"]
WORDS = st.dictionaries(
    st.text("ab", min_size=1, max_size=8) | st.text("abcdé中", min_size=1, max_size=6),
    st.integers(1, 4) | st.integers(1, 100_000),
    min_size=1,
    max_size=25,
)


def tokens_of(**options: Any) -> list[str]:
    tokenizer = train_wordpiece(**options)
    return [tokenizer.id_to_token(id) for id in range(tokenizer.vocab_size)]


@pytest.mark.parametrize("score", SCORES)
@given(counts=WORDS, vocab_size=st.integers(20, 60), min_frequency=st.integers(0, 5))
def test_tokens_are_those_of_the_specification(
    score: str, counts: dict[str, int], vocab_size: int, min_frequency: int
) -> None:
    options: dict[str, Any] = {
        "min_frequency": min_frequency,
        "special_tokens": ["[UNK]", "[PAD]"],
        "score": score,
    }
    expected, _ = wordpiece.train(counts, vocab_size, **options)
    for threads in (1, 3):
        assert tokens_of(counts=counts, vocab_size=vocab_size, threads=threads, **options) == expected


def test_the_specification_on_the_corpus_of_the_course() -> None:
    counts = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    for score, expected in [
        ("pmi", ["##gs", "bu", "bun"]),
        ("frequency", ["##ug", "##un", "hug"]),
        ("likelihood", ["##ug", "##un", "hug"]),
    ]:
        tokens, merges = wordpiece.train(counts, 14, score=score)
        assert tokens[11:] == expected
        assert len(merges) == 3
    assert wordpiece.encode("pugs", [*tokens, "##u", "##s"]) == ["p", "##ug", "##s"]
