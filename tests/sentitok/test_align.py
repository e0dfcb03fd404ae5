"""`align`: the spans of a text that two tokenizers agree on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
from cli_runs import run, run_json
from oracles import alignment_of_two
from sentitok._sentitok import align_offsets
from sentitok.alignment import Alignment

TEXTS = [
    "the cat sat on the mat, and the dog barked at the cat",
    "Ünïcödé ﬁancé naïve “quotes”",
    "人権 は普遍的 👩‍👩‍👧 𝒳",
    "aaaa  aa   a\n\n\tb",
    "İstanbul ǅ Straße ﷺ Å Å",
]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, sentitok.Tokenizer]:
    """Tokenizers that write a text very differently."""
    texts = TEXTS * 2
    return {
        "bytes": sentitok.train_bpe(texts=texts, vocab_size=256),
        "gpt2": sentitok.train_bpe(texts=texts, vocab_size=330),
        "metaspace": sentitok.train_bpe(
            texts=texts, vocab_size=400, pre_tokenizer="metaspace", byte_fallback=True, limit_alphabet=40
        ),
        "nfkc": sentitok.train_bpe(texts=texts, vocab_size=300, normalizer="nfkc"),
        "nfd, lowercase": sentitok.train_bpe(texts=texts, vocab_size=290, normalizer="nfd+lowercase"),
        "wordpiece": sentitok.train_wordpiece(texts=texts, vocab_size=120),
        "unigram": sentitok.train_unigram(texts=texts, vocab_size=90),
    }


def rows(alignment: Alignment) -> list[alignment_of_two.Aligned]:
    return [
        tuple(tuple(map(int, pair)) for pair in row)  # type: ignore[misc]  # 2026-11-30: of three pairs
        for row in zip(*alignment, strict=True)
    ]


def spans_of(tokenizer: sentitok.Tokenizer, text: str) -> list[tuple[int, int]]:
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets(trim=False)
    return [(int(start), int(end)) for start, end in offsets]


LETTERS = st.text("aAbéﬁ 　\n人𝒳İǺ", max_size=30)


@given(data=st.data(), text=LETTERS | st.sampled_from(TEXTS))
def test_spans_equal_the_slow_definition(
    tokenizers: dict[str, sentitok.Tokenizer], data: st.DataObject, text: str
) -> None:
    a, b = (tokenizers[data.draw(st.sampled_from(sorted(tokenizers)))] for _ in range(2))
    aligned = sentitok.align(a, b, text)
    assert rows(aligned) == alignment_of_two.align(spans_of(a, text), spans_of(b, text))
    # Both have text in every span, and nothing is in two.
    for pairs in aligned:
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert (pairs[1:, 0] >= pairs[:-1, 1]).all()
    for encoded, pairs in ((a, aligned.a), (b, aligned.b)):
        n = len(encoded.encode(text, add_special_tokens=False))
        assert len(pairs) == 0 or (
            (pairs[1:, 0] == pairs[:-1, 1]).all() and tuple(pairs[[0, -1], [0, 1]]) == (0, n)
        )


SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=8)


@given(a=SPANS, b=SPANS, ordered=st.booleans())
def test_any_spans_equal_the_slow_definition(
    a: list[tuple[int, int]], b: list[tuple[int, int]], ordered: bool
) -> None:
    """Spans that overlap, are empty, leave gaps or go back: all that normalizers give."""
    of_a, of_b = (
        [(start, start + n) for start, n in (sorted(spans) if ordered else spans)] for spans in (a, b)
    )

    def given_as(spans: list[tuple[int, int]]) -> Any:
        return np.array(spans, np.int64).reshape(-1, 2), np.zeros(len(spans), np.bool_)

    text, in_a, in_b = (
        array.reshape(-1, 2).tolist() for array in align_offsets(given_as(of_a), given_as(of_b))
    )
    found = [(tuple(one), tuple(two), tuple(three)) for one, two, three in zip(text, in_a, in_b, strict=True)]
    assert found == alignment_of_two.align(of_a, of_b)


def test_a_tokenizer_with_itself_has_a_span_for_each_token(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    text = "the cat sat on the mat"
    aligned = sentitok.align(tokenizers["gpt2"], tokenizers["gpt2"], text)
    assert rows(aligned) == [
        (span, (at, at + 1), (at, at + 1)) for at, span in enumerate(spans_of(tokenizers["gpt2"], text))
    ]


def test_no_span_divides_a_character(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    aligned = sentitok.align(tokenizers["bytes"], tokenizers["bytes"], "a人b")
    assert aligned.spans.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert aligned.a.tolist() == [[0, 1], [1, 4], [4, 5]]


def test_tokens_of_templates_are_in_no_range(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    wordpiece = tokenizers["wordpiece"]
    text = "the cat"
    with_template = wordpiece.encode(text)
    assert with_template.tokens[0] == "[CLS]"
    plain = sentitok.align(wordpiece, tokenizers["gpt2"], text)
    aligned = sentitok.align(with_template, tokenizers["gpt2"], text)
    assert aligned.spans.tolist() == plain.spans.tolist()
    assert aligned.a.tolist() == (plain.a + 1).tolist()
    assert aligned.b.tolist() == plain.b.tolist()


def test_special_tokens_in_the_text_have_their_place(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    tokenizer = tokenizers["gpt2"].with_specials(["<|end|>"])
    text = "cat<|end|>dog"
    aligned = sentitok.align(tokenizer.encode(text, specials="all"), tokenizers["bytes"], text)
    assert [3, 10] in aligned.spans.tolist()


def test_no_spans_where_one_has_no_text(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    for text in ("", "   "):
        aligned = sentitok.align(tokenizers["wordpiece"], tokenizers["gpt2"], text)
        assert [array.shape for array in aligned] == [(0, 2)] * 3


def test_time_is_linear(tokenizers: dict[str, sentitok.Tokenizer]) -> None:
    aligned = sentitok.align(tokenizers["gpt2"], tokenizers["wordpiece"], TEXTS[0] * 20_000)
    assert len(aligned.spans) > 200_000


@pytest.mark.parametrize(
    ("a", "error", "words"),
    [
        ("tokenizer.json", TypeError, ["a=", "tokenizer.json"]),
        (lambda one: one.encode("a longer text"), ValueError, ["longer", "13"]),
        (lambda one: one.encode("a", "b"), ValueError, ["pair"]),
    ],
)
def test_wrong_arguments_are_refused(
    tokenizers: dict[str, sentitok.Tokenizer], a: Any, error: type[Exception], words: list[str]
) -> None:
    given = a(tokenizers["gpt2"]) if callable(a) else a
    with pytest.raises(error) as caught:
        sentitok.align(given, tokenizers["gpt2"], "a b")
    assert all(word in str(caught.value) for word in words)


def test_command_prints_spans(tokenizers: dict[str, sentitok.Tokenizer], tmp_path: Path) -> None:
    for name in ("gpt2", "wordpiece"):
        tokenizers[name].save(tmp_path / f"{name}.json")
    result = run_json("align", "gpt2.json", "wordpiece.json", "the cat", cwd=tmp_path)
    aligned = sentitok.align(tokenizers["gpt2"], tokenizers["wordpiece"], "the cat")
    spans: Any = result["spans"]
    assert [one["span"] for one in spans] == aligned.spans.tolist()
    assert [one["text"] for one in spans] == ["the", " cat"]
    assert [one["b"]["tokens"] for one in spans] == [["the"], ["cat"]]
    shown = run("align", "gpt2.json", "wordpiece.json", "the cat", cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert "2 spans" in shown.out
