"""Parity-aware BPE: the merges of tokenizers' trainer and of a slow definition, and its limits."""

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.trainers import ParityBpeTrainer

import sentitok
from oracles import parity_bpe

Merges = list[tuple[str, str]]

# The lines of languages in the bundled file.
LINES = {
    "am": slice(0, 83),
    "zh": slice(269, 363),
    "el": slice(455, 548),
    "en": slice(548, 641),
    "hi": slice(916, 1011),
    "pl": slice(1660, 1753),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "base": {},
    "window": {"variant": "window", "window_size": 10, "alpha": 1.2},
    "global merges": {"global_merges": 150},
    "global merges and window": {"global_merges": 60, "variant": "window", "window_size": 7, "alpha": 2.5},
    "min_frequency": {"min_frequency": 4},
    "max_token_length": {"max_token_length": 5},
}


@pytest.fixture(scope="module")
def texts(declarations: Path) -> dict[str, list[str]]:
    """Lines by language: one has three times its text."""
    lines = declarations.read_bytes().decode("utf-8").splitlines(keepends=True)
    by_language = {name: lines[place] for name, place in LINES.items()}
    return by_language | {"en": by_language["en"] * 3}


@pytest.fixture(scope="module")
def development(declarations: Path) -> dict[str, list[str]]:
    """The last lines of each language."""
    lines = declarations.read_bytes().decode("utf-8").splitlines(keepends=True)
    return {name: lines[place][-30:] for name, place in LINES.items()}


def merges_of(tokenizer: sentitok.Tokenizer, tmp_path: Path) -> Merges:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    return [tuple(pair) for pair in json.loads(path.read_text("utf-8"))["model"]["merges"]]


def counted(texts: Sequence[str], **options: Any) -> sentitok.WordCounts:
    counts = sentitok.count(texts=texts, **options)
    assert counts is not None
    return counts


def theirs(
    texts: Sequence[Sequence[str]],
    development: Sequence[Sequence[str]] | None = None,
    *,
    splitter: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """The model that tokenizers trains."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = splitter or tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = ParityBpeTrainer(show_progress=False, **options)
    trainer.train_from_iterator(
        tokenizer, [iter(one) for one in texts], development and [iter(one) for one in development]
    )
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


@pytest.mark.parametrize("by", ["development", "ratios", "text"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_merges_equal_those_of_tokenizers(
    texts: dict[str, list[str]],
    development: dict[str, list[str]],
    tmp_path: Path,
    by: str,
    options: dict[str, Any],
) -> None:
    decide: dict[str, Any] = {}
    ratios = dict(zip(texts, (1.0, 0.7, 1.4, 1.0, 2.5, 1.1), strict=True))
    if by == "development":
        decide = {"development": development}
    elif by == "ratios":
        decide = {"ratios": ratios}
    ours = sentitok.train_parity_bpe(
        texts=texts, max_merges=700, initial_alphabet="none", special_tokens=["<s>"], **options, **decide
    )
    model = theirs(
        list(texts.values()),
        list(development.values()) if by == "development" else None,
        num_merges=700,
        special_tokens=["<s>"],
        ratio=list(ratios.values()) if by == "ratios" else None,
        **options,
    )
    assert merges_of(ours, tmp_path) == [tuple(pair) for pair in model["merges"]]
    assert json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"] == model["vocab"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "a", "end_of_word_suffix": "e"},
        {"limit_alphabet": 60},
    ],
    ids=str,
)
def test_merges_of_characters_equal_those_of_tokenizers(
    texts: dict[str, list[str]], development: dict[str, list[str]], tmp_path: Path, options: dict[str, Any]
) -> None:
    two = {name: texts[name] for name in ("en", "pl")}
    of_two = {name: development[name] for name in two}
    ours = sentitok.train_parity_bpe(
        texts=two,
        development=of_two,
        max_merges=300,
        pre_tokenizer="whitespace",
        unit="chars",
        **options,
    )
    model = theirs(
        list(two.values()),
        list(of_two.values()),
        splitter=tokenizers.pre_tokenizers.Whitespace(),
        num_merges=300,
        **options,
    )
    assert merges_of(ours, tmp_path) == [tuple(pair) for pair in model["merges"]]


WORDS = st.dictionaries(st.text("abcä", min_size=1, max_size=7), st.integers(1, 30), min_size=1, max_size=6)


@given(data=st.data())
def test_merges_equal_the_slow_definition(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    languages = data.draw(st.lists(WORDS, min_size=1, max_size=4))
    decide = data.draw(st.sampled_from(["development", "ratios", "text"]))
    development = [data.draw(WORDS) for _ in languages] if decide == "development" else None
    ratios = [data.draw(st.sampled_from([0.5, 1.0, 1.7])) for _ in languages] if decide == "ratios" else None
    window = data.draw(st.none() | st.tuples(st.integers(1, 6), st.sampled_from([0.4, 1.0, 2.0])))
    options: dict[str, Any] = {
        "global_merges": data.draw(st.integers(0, 4)),
        "min_frequency": data.draw(st.integers(0, 40)),
        "max_token_length": data.draw(st.none() | st.integers(1, 6)),
    }
    names = [f"l{number}" for number in range(len(languages))]
    expected = parity_bpe.merges(
        languages, 25, development=development, ratios=ratios, window=window, **options
    )
    if development is not None:
        of_language = {
            name: sentitok.WordCounts(words, pre_tokenizer="whitespace")
            for name, words in zip(names, development, strict=True)
        }
        options["development"] = of_language
    if ratios is not None:
        options["ratios"] = dict(zip(names, ratios, strict=True))
    if window is not None:
        options |= {"variant": "window", "window_size": window[0], "alpha": window[1]}
    counts = dict(zip(names, languages, strict=True))
    trained = sentitok.train_parity_bpe(
        counts=counts, pre_tokenizer="whitespace", unit="chars", max_merges=25, **options
    )
    assert merges_of(trained, tmp_path_factory.mktemp("merges")) == expected


def test_any_threads_and_shards_give_the_same_bytes(
    texts: dict[str, list[str]], development: dict[str, list[str]], tmp_path: Path
) -> None:
    def saved(**options: Any) -> bytes:
        path = tmp_path / "tokenizer.json"
        of_language = {name: iter(lines) for name, lines in development.items()}
        sentitok.train_parity_bpe(development=of_language, vocab_size=900, **options).save(path)
        return path.read_bytes()

    whole = saved(texts=texts)
    shards = {name: counted(lines[:40]) + counted(lines[40:]) for name, lines in texts.items()}
    assert saved(counts=shards) == whole
    assert saved(texts=texts, threads=1) == whole
    assert saved(texts=texts, threads=5) == whole


def test_threads_scan_parts_of_a_large_layout() -> None:
    """Each thread scans at least 65,536 symbols, so parts of a language are counted by several."""
    letters = random.Random(3)
    counts = {
        name: {"".join(letters.choices("abcdefgh", k=9)): 1 + letters.randrange(400) for _ in range(n)}
        for name, n in (("large", 24_000), ("small", 2_000), ("middle", 9_000))
    }
    fingerprints = {
        sentitok.train_parity_bpe(
            counts=counts, pre_tokenizer="bytes", vocab_size=900, global_merges=100, threads=threads
        ).fingerprint
        for threads in (1, 2, 5)
    }
    assert len(fingerprints) == 1


def test_many_languages_and_scans(declarations: Path, tmp_path: Path) -> None:
    """Each line a language, weighted so that thresholds of scans differ; several threads scan."""
    lines = [line for line in declarations.read_bytes().decode("utf-8").splitlines() if line][:1500:5]
    counts = {
        f"l{number}": sentitok.WordCounts(
            {piece: n * (1 + number % 7) ** 4 for piece, n in counted([line]).items()}
        )
        for number, line in enumerate(lines)
    }
    trained = sentitok.train_parity_bpe(counts=counts, max_merges=2_000, initial_alphabet="none")
    splitter = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ratio = dict.fromkeys(counts, 1.0)
    by_ratio = sentitok.train_parity_bpe(counts=counts, ratios=ratio, max_merges=300, initial_alphabet="none")
    model = theirs([[line] for line in lines], splitter=splitter, num_merges=300, ratio=list(ratio.values()))
    # The compression of a text does not depend on its weight.
    assert merges_of(by_ratio, tmp_path) == [tuple(pair) for pair in model["merges"]]
    assert trained.report is not None
    assert sum(one["merges"] for one in trained.report.languages) == 2_000


def test_report_says_what_each_language_got(
    texts: dict[str, list[str]], development: dict[str, list[str]]
) -> None:
    tokenizer = sentitok.train_parity_bpe(texts=texts, development=development, vocab_size=1_000)
    report = tokenizer.report
    assert report is not None
    assert [one["language"] for one in report.languages] == list(texts)
    assert sum(one["merges"] for one in report.languages) == report.merges
    for one in report.languages:
        lines = development[one["language"]]
        assert one["tokens"] == int(tokenizer.count_batch(lines).sum()), one
        assert one["initial_tokens"] == sum(len(line.encode()) for line in lines)
    assert pickle.loads(pickle.dumps(report)).languages == report.languages
    plain = sentitok.train_bpe(texts=["a b"] * 2, vocab_size=300).report
    assert plain is not None
    assert plain.languages == []


def test_balanced_languages_need_fewer_tokens_where_they_were_worst(
    texts: dict[str, list[str]], development: dict[str, list[str]]
) -> None:
    plain = sentitok.train_bpe(texts=[line for lines in texts.values() for line in lines], vocab_size=1_000)
    balanced = sentitok.train_parity_bpe(texts=texts, development=development, vocab_size=1_000)

    def worst(tokenizer: sentitok.Tokenizer) -> int:
        return max(int(tokenizer.count_batch(lines).sum()) for lines in development.values())

    assert worst(balanced) < worst(plain)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"source": "en.txt"}, TypeError, ["source", "mapping"]),
        ({"texts": {}}, TypeError, ["texts", "at least one"]),
        ({}, TypeError, ["source", "texts", "counts"]),
        ({"texts": {"en": ["a"]}, "counts": {"en": {"a": 1}}}, TypeError, ["exclude"]),
        ({"texts": {"en": ["ab"], "sw": []}}, sentitok.TrainError, ["texts", "sw", "empty"]),
        ({"texts": {"en": ["ab"]}, "development": {"sw": ["a"]}}, sentitok.TrainError, ["development", "sw"]),
        (
            {"texts": {"en": ["ab"], "sw": ["b"]}, "ratios": {"en": 1.0}},
            sentitok.TrainError,
            ["ratios", "sw"],
        ),
        ({"texts": {"en": ["ab"]}, "ratios": {"en": 0}}, ValueError, ["ratios", "0"]),
        ({"texts": {"en": ["ab"]}, "ratios": {"en": float("nan")}}, ValueError, ["ratios", "nan"]),
        (
            {"texts": {"en": ["ab"]}, "ratios": {"en": 1.0}, "development": {"en": ["a"]}},
            sentitok.TrainError,
            ["ratios", "development"],
        ),
        ({"texts": {"en": ["ab"]}, "variant": "fair"}, sentitok.TrainError, ["variant", "fair", "window"]),
        ({"texts": {"en": ["ab"]}, "window_size": 0}, ValueError, ["window_size", "0"]),
        ({"texts": {"en": ["ab"]}, "alpha": -1.0}, ValueError, ["alpha", "-1"]),
        ({"texts": {"en": ["ab"]}, "vocab_size": 100}, sentitok.TrainError, ["100", "256"]),
        ({"texts": {"en": ["ab"]}, "checkpoint": "here"}, TypeError, ["checkpoint"]),
    ],
)
def test_refusals_name_the_value(options: dict[str, Any], error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        sentitok.train_parity_bpe(**options)
    assert all(word in str(caught.value) for word in words), caught.value


def test_counts_of_another_pipeline_are_refused() -> None:
    with pytest.raises(sentitok.SentitokError, match="Whitespace"):
        sentitok.train_parity_bpe(
            counts={
                "en": counted(["a b"]),
                "sw": counted(["a b"], pre_tokenizer="whitespace"),
            }
        )
