"""Duplicates, conflicts and leaks: against the slow definition."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from sentimodels.data import Table, TrainingRecord, leaks, read_table
from sentimodels.data.leaks import THRESHOLD, duplicates, jaccard, near_pairs, nearest, sketch
from sentimodels.data.normalization import fold, letters, normalize, text_hashes
from sentimodels.data.split import Units

# (text, folded)
FOLDED = [
    ("  A  Film\t\n", "a film"),
    ("ﬁlm", "film"),
    ("Straße", "strasse"),
    ("good !", "good !"),
    ("a\u00a0b\u0085c", "a b c"),
    ("", ""),
    ("I don’t", "i don't"),
    ("ŉ", "'n"),
    ("cafe\u0301 ❤\ufe0f", "café ❤"),
    ("\ufeffa fi\u200blm", "a film"),
    ("İyi", "iyi"),
]


@pytest.mark.parametrize(("text", "folded"), FOLDED)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold(folded) == folded


# A text as different programs write it.
SPELLINGS = [
    'It isn\'t a "très bon" café ❤, but well-made',
    "It isn’t a “très bon” café ❤\ufe0f, but well‐made",
    '\ufeffIt isn\u02bct a "tre\u0300s bon" cafe\u0301 ❤,\xa0but well\u2011made',
    'IT ISN\'T A "TRÈS BON" CA\xadFÉ\u200b ❤, BUT WELL-MADE',
]


def test_texts_that_look_the_same_are_equal_copies() -> None:
    train, other = Table.of(SPELLINGS[:1], ["1"]), Table.of(SPELLINGS, ["1"] * len(SPELLINGS))
    report = leaks(train, other, near=True)
    assert (report.exact, report.folded, report.near) == (1, len(SPELLINGS), 0)
    assert TrainingRecord.of(train).seen(other).all()
    repeats = duplicates(other)
    assert (repeats.exact, repeats.folded, repeats.near) == (0, len(SPELLINGS) - 1, 0)
    assert len(Units.of(other, 0.5, 2)) == 1


@given(st.text("aIisßSéΐ\u0301\u0308\u200b\ufe0f’'“\" \t\xa0❤\u200d🔥\u0149\u02bc-‑ﬁ"))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(normalize(text)) == fold(text)


def test_a_record_of_an_earlier_version_finds_copies(tmp_path: Path) -> None:
    """Its folded hashes may differ, where a text has characters that are not seen."""
    text = "a film that I don’t like ❤\ufe0f"
    record = TrainingRecord.of(Table.of([text]))
    earlier = replace(record, folded=text_hashes([text.casefold()]))
    earlier.save(tmp_path)
    assert TrainingRecord.load(tmp_path).seen(Table.of([text, "another"])).tolist() == [True, False]


def test_letters() -> None:
    assert letters("It's A-1 naïve, (so)!") == "itsa1naïveso"


TEXTS = st.sampled_from(["a film", "A  film", "a film !", "bad", "BAD", ""])


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from("01")), min_size=1, max_size=9),
    st.lists(st.tuples(TEXTS, st.sampled_from("01")), min_size=1, max_size=9),
)
def test_leaks_are_what_the_definition_says(
    train_rows: list[tuple[str, str]], other_rows: list[tuple[str, str]]
) -> None:
    train = Table.of([t for t, _ in train_rows], [y for _, y in train_rows])
    other = Table.of([t for t, _ in other_rows], [y for _, y in other_rows])
    report = leaks(train, other)
    assert report.exact == sum(text in train.texts for text in other.texts)
    folded = [any(fold(text) == fold(one) for one in train.texts) for text in other.texts]
    assert report.seen.tolist() == folded
    assert report.folded == sum(folded)
    assert report.conflicts == sum(
        seen and label not in {y for t, y in train_rows if fold(t) == fold(text)}
        for seen, (text, label) in zip(folded, other_rows, strict=True)
    )
    assert report.clean == (not any(folded))
    assert bool(report.lines()) == any(folded)
    record = TrainingRecord.of(train)
    assert record.seen(other).tolist() == folded
    assert record.seen_exactly(other).sum() == report.exact


@given(st.lists(st.tuples(TEXTS, st.sampled_from("01")), min_size=1, max_size=12))
def test_duplicates_are_what_the_definition_says(rows: list[tuple[str, str]]) -> None:
    report = duplicates(Table.of([t for t, _ in rows], [y for _, y in rows]))
    texts = [t for t, _ in rows]
    assert report.exact == len(texts) - len(set(texts))
    assert report.folded == len(texts) - len(set(map(fold, texts)))
    labels = {key: {y for t, y in rows if fold(t) == key} for key in map(fold, texts)}
    assert report.conflicts == sum(len(of_key) > 1 for of_key in labels.values())
    assert report.empty == sum(not text for text in texts)


WORDS = [f"w{i}" for i in range(400)]


def sentence(rng: random.Random, n: int) -> list[str]:
    return [rng.choice(WORDS) for _ in range(n)]


def test_near_duplicates_are_found_and_no_others() -> None:
    rng = random.Random(1)
    known = [sentence(rng, 40) for _ in range(300)]
    asked, expected = [], {}
    for number, words in enumerate(known):
        changed = list(words)
        # One changed word breaks three triples of 38: index 35/41; a changed half keeps none.
        changed[20] = "other"
        if number % 2:
            changed[:20] = sentence(rng, 20)
        else:
            expected[number] = number
        asked.append(" ".join(changed))
    texts = [" ".join(words) for words in known]
    assert nearest(sketch(texts), sketch(asked)) == expected
    pairs = set(near_pairs(sketch([*texts, *asked])))
    assert pairs == {(number, 300 + number) for number in expected}
    groups = [str(number % 300) for number in range(600)]
    assert not list(near_pairs(sketch([*texts, *asked]), groups))


@given(st.integers(0, 2**32), st.integers(8, 40))
def test_the_checked_index_is_jaccards(seed: int, n: int) -> None:
    rng = random.Random(seed)
    a = sentence(rng, n)
    b = [word if rng.random() < 0.9 else rng.choice(WORDS) for word in a]
    sketches = sketch([" ".join(a), " ".join(b)])
    triples = [{tuple(words[i : i + 3]) for i in range(len(words) - 2)} for words in (a, b)]
    expected = len(triples[0] & triples[1]) / len(triples[0] | triples[1])
    assert abs(jaccard(sketches.of(0), sketches.of(1)) - expected) < 1e-12
    found = list(near_pairs(sketches))
    # At 0.95 the chance to miss is below 10^-11; below the threshold none may be found.
    assert found == ([(0, 1)] if expected >= THRESHOLD and (expected >= 0.95 or found) else [])


def test_short_texts_and_texts_without_spaces() -> None:
    assert not list(near_pairs(sketch(["good", "goods", "", "a b c d", "a b c e"])))
    chinese = "这部电影的故事情节非常感人演员的表演也十分出色值得一看再看不会后悔"
    assert list(
        near_pairs(sketch([chinese, chinese + "的", "完全不同的一句话说的是别的东西没有任何关系"]))
    ) == [(0, 1)]


def test_a_crowded_bucket_stays_linear() -> None:
    text = " ".join(WORDS[:30])
    pairs = list(near_pairs(sketch([text] * 2000)))
    assert len(pairs) < 3 * 2000
    assert {later for _, later in pairs} == set(range(1, 2000))


def test_groups_are_compared_only_within_one_file() -> None:
    a = Table.of(["x", "y"], None, ["1", "2"])
    b = Table.of(["z", "u"], None, ["1", "3"])
    assert leaks(a, b).shared_groups == 0
    assert leaks(a.take([0]), a.take([0, 1])).shared_groups == 1


def test_the_kaggle_test_repeats_a_sixth_of_train() -> None:
    folder = shared_data.folder() / "kaggle-movie-reviews"
    report = leaks(read_table(folder / "train.tsv.xz"), read_table(folder / "test.tsv.xz"))
    assert (round(report.exact / report.n, 3), round(report.folded / report.n, 3)) == (0.155, 0.171)
    assert np.flatnonzero(report.seen).size == report.folded
