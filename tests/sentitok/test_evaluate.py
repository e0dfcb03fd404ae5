"""`sentitok.evaluate` against slow definitions, read off docs/reference/eval.md."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
from sentitok.documents import Documents
from sentitok.evaluate import evaluate, renyi_efficiency

TEXT = "The cat sat on the mat. The dog sat on the log.\n日本語 naïve 👍🏽 café\n" * 20


TOKENIZER = sentitok.train_bpe(texts=[TEXT], vocab_size=300)

# Tokenizers whose spans are sums of the sizes of tokens, and ones that rewrite the text.
TOKENIZERS: dict[str, Callable[[], sentitok.Tokenizer]] = {
    "bpe": lambda: TOKENIZER,
    "unigram": lambda: sentitok.train_unigram(texts=[TEXT], vocab_size=80, method="sentencepiece"),
    "unigram of bytes": lambda: sentitok.train_unigram(
        texts=[TEXT], vocab_size=350, method="sentencepiece", byte_fallback=True, character_coverage=0.9
    ),
    "unigram behind words": lambda: sentitok.train_unigram(
        texts=[TEXT], vocab_size=80, method="sentencepiece", treat_whitespace_as_suffix=True
    ),
    "unigram of folded letters": lambda: sentitok.train_unigram(
        texts=[TEXT], vocab_size=70, method="sentencepiece", normalizer="sentencepiece-nmt-nfkc-cf"
    ),
    # Spaces are marks, and nothing else changes.
    "characters": lambda: sentitok.train_bpe(
        texts=[TEXT], vocab_size=320, method="sentencepiece", byte_fallback=True, normalizer="sentencepiece"
    ),
    "characters, some unknown": lambda: sentitok.train_bpe(
        texts=[TEXT],
        vocab_size=60,
        method="sentencepiece",
        character_coverage=0.9,
        normalizer="sentencepiece",
    ),
    "metaspace": lambda: sentitok.train_unigram(texts=[TEXT], vocab_size=80, pre_tokenizer="metaspace"),
    "metaspace-words": lambda: sentitok.train_unigram(
        texts=[TEXT], vocab_size=80, pre_tokenizer="metaspace-words", normalizer="lowercase"
    ),
    "wordpiece": lambda: sentitok.train_wordpiece(texts=[TEXT], vocab_size=80),
    # Marks that tokens of these may end inside of, or go over.
    "bytes of marked text": lambda: sentitok.train_bpe(
        texts=[TEXT + "▁▁ a ▁▁ b ▁a " * 20], vocab_size=300, normalizer="sentencepiece", pre_tokenizer="bytes"
    ),
    "bytes of text with marks": lambda: sentitok.train_bpe(texts=["▁▁ a ▁▁ b ▁a ▁aat" * 20], vocab_size=280),
    "wordpiece of marked text": lambda: sentitok.train_wordpiece(
        texts=["aa"] * 5 + ["at"] * 3,
        vocab_size=30,
        normalizer="sentencepiece-nmt-nfkc",
        pre_tokenizer="bytes",
        lowercase=False,
    ),
    "characters behind a prefix": lambda: sentitok.train_bpe(
        texts=["a", "t", "at"],
        vocab_size=20,
        unit="chars",
        continuing_subword_prefix="##",
        unk_token="<unk>",
        normalizer="sentencepiece-collapse",
        pre_tokenizer="bytes",
    ),
    # Found in the lowered text, as another one.
    "lowered tokens": lambda: sentitok.train_unigram(
        texts=[TEXT], vocab_size=80, pre_tokenizer="metaspace-words", normalizer="lowercase"
    ).with_specials([sentitok.AddedToken("AT", special=False, normalized=True)]),
    # Stretches of text are encoded once where the splitter cuts before white space.
    **{
        name: partial(sentitok.train_bpe, texts=[TEXT], vocab_size=300, pre_tokenizer=name)
        for name in ("cl100k", "o200k", "whitespace", "whitespace-split", "bert", "unicode-scripts", "bytes")
    },
    # And not where an added token may reach from one word into the next.
    "token of two words": lambda: TOKENIZER.with_specials([sentitok.AddedToken("t sat", special=False)]),
    "token that strips": lambda: TOKENIZER.with_specials(
        [sentitok.AddedToken("cat", special=False, rstrip=True)]
    ),
}


@cache
def trained(name: str) -> sentitok.Tokenizer:
    return TOKENIZERS[name]()


def words(text: str) -> list[str]:
    """Python takes the separators of files, groups, records and units for white space, Unicode does not."""
    return [word for word in re.split(r"(?:(?![\x1c-\x1f])\s)+", text) if word]


def slow(tokenizer: sentitok.Tokenizer, texts: list[str]) -> dict[str, float]:
    """Every measure of docs/reference/eval.md, one loop each."""
    ids: list[int] = []
    per_word: list[int] = []
    distinct: set[str] = set()
    for text in texts:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids += encoding.ids.tolist()
        spans = encoding.offsets("chars").tolist()
        at = 0
        for word in words(text):
            start = text.index(word, at)
            at = start + len(word)
            per_word.append(sum(1 for a, b in spans if a < at and b > start))
            distinct.add(word)
    behind = {word: tokenizer.encode(f" {word}", add_special_tokens=False) for word in distinct}
    retained = [
        sum(a < len(word) + 1 and b > 1 for a, b in encoding.offsets("chars").tolist()) == 1
        for word, encoding in behind.items()
    ]
    shares = [count / len(ids) for count in Counter(ids).values()] if ids else []
    counted = Counter(ids)
    bits = [-math.log2(counted[id] / len(ids)) for id in ids]
    spelled = [(tokenizer.id_to_bytes(id) or b"").decode("utf-8", "replace").replace("▁", " ") for id in ids]
    nan = float("nan")
    return {
        "bytes_per_token": sum(len(t.encode()) for t in texts) / len(ids) if ids else nan,
        "tokens_per_word": sum(per_word) / len(per_word) if per_word else nan,
        "continued_words": sum(n > 1 for n in per_word) / len(per_word) if per_word else nan,
        "single_token_retention": sum(retained) / len(retained) if retained else nan,
        "renyi_efficiency": math.log(sum(p**2.5 for p in shares)) / -1.5 / math.log(tokenizer.vocab_size)
        if shares
        else nan,
        "bits_deviation": statistics.pstdev(bits) if bits else nan,
        "superword_share": sum(len(text.split()) > 1 for text in spelled) / len(ids) if ids else nan,
        "vocabulary_use": len(set(ids)) / tokenizer.vocab_size,
    }


# Some of them become spaces in normalization, or nothing, or several characters.
characters = (
    st.sampled_from(" \n\t\x1c\xa0\u3000aatAT日é.,'1<▁")
    | st.sampled_from("\0\x85\xad´½…ﬁ\u0301\u200b\u2028\ufeff")
    | st.characters(exclude_categories=["Cs"])
)
texts = st.lists(st.text(characters, max_size=60), max_size=5)


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts)
def test_equals_the_definitions(name: str, texts: list[str]) -> None:
    tokenizer = trained(name)
    measured = evaluate(tokenizer, texts).as_dict()
    for measure, value in slow(tokenizer, texts).items():
        assert measured[measure] == pytest.approx(value, nan_ok=True), measure


@pytest.mark.parametrize("name", TOKENIZERS)
def test_running_text_equals_the_definitions(name: str) -> None:
    tokenizer = trained(name)
    texts = [TEXT, "\x1cthe\x85mat\u3000café  ", "x" * 40 + " " + "sat" * 30]
    measured = evaluate(tokenizer, texts).as_dict()
    for measure, value in slow(tokenizer, texts).items():
        assert measured[measure] == pytest.approx(value), measure


@pytest.mark.parametrize("name", TOKENIZERS)
def test_threads_and_order_do_not_matter(name: str) -> None:
    lines = (TEXT * 40).splitlines(keepends=True)
    one = evaluate(trained(name), lines, threads=1)
    assert evaluate(trained(name), lines, threads=3) == one
    assert evaluate(trained(name), lines[::-1]) == one


def test_documents_of_files_are_texts(tmp_path: Path) -> None:
    """They are read, and then encoded, many at a time."""
    lines = ["\n", "naïve 👍🏽\n", *TEXT.splitlines(keepends=True) * 3500, "no end"]
    file = tmp_path / "text.txt"
    file.write_text("".join(lines), "utf-8")
    assert file.stat().st_size > 5_000_000  # more than a batch
    for threads in (1, 3):
        documents = Documents([file])
        assert evaluate(TOKENIZER, documents, threads=threads) == evaluate(TOKENIZER, lines)
        assert list(documents) == []
    seen: list[str] = []
    evaluate(TOKENIZER, Documents([file]), seen=lambda texts, _: seen.extend(texts))
    assert seen == lines


def test_a_lone_surrogate_counts_as_u_fffd() -> None:
    assert evaluate(TOKENIZER, ["cat \ud800 mat"]) == evaluate(TOKENIZER, ["cat \ufffd mat"])


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
