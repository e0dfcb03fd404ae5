"""Parts that are drawn share no text: groups, equal and nearly equal texts stay together."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentimodels.config import DataConfig
from sentimodels.data import Table, split
from sentimodels.data.normalization import copy_key, fold
from sentimodels.data.split import Units, divide, folds
from sentimodels.errors import DataError
from sentimodels.runs.judging import CrossFit
from sentimodels.runs.tables import Tables

WORDS = ["good", "bad", "film", "plot", "actor", "scene", "story", "music", "drama", "cast"]
DISGUISES: list[Callable[[str], str]] = [str, str.upper, str.title, lambda t: f"  {t} "]
MARKS: list[Callable[[str], str]] = [*DISGUISES, lambda t: f"{t}!", lambda t: t.replace(" ", ", ")]


def a_table(seed: int, n: int, *, groups: bool = False, labels: str = "ab") -> Table:
    """A table in which about half of the rows repeat a text of another row in disguise."""
    rng = random.Random(seed)
    own = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4))) for _ in range(max(2, n // 2))]
    texts = [rng.choice(DISGUISES if groups else MARKS)(rng.choice(own)) for _ in range(n)]
    return Table.of(
        texts,
        [rng.choice(labels) for _ in range(n)],
        [f"g{rng.randrange(n // 2 + 1)}" for _ in range(n)] if groups else None,
    )


def keys(table: Table) -> set[str]:
    return set(map(copy_key, table.texts))


def n_units(units: Units, labels: list[str]) -> Counter[str]:
    return Counter(label for unit in units.rows() for label in {labels[row] for row in unit})


@given(
    st.integers(0, 10**6),
    st.integers(6, 60),
    st.sampled_from([(0.9, 0.1), (0.5, 0.5), (0.3, 0.7), (0.6, 0.2, 0.2), (0.2, 0.4, 0.4)]),
    st.sampled_from(["ab", "aaab", "abcdef"]),
)
def test_parts_share_no_text_and_keep_all_rows(seed: int, n: int, shares: Any, labels: str) -> None:
    table = a_table(seed, n, labels=labels)
    units = Units.of(table, min(shares), len(shares))
    if len(units) < len(shares):
        return
    names = ("train", "valid", "test")[: len(shares)]
    parts, _ = divide(table, units, dict(zip(names, shares, strict=True)), seed % 7)
    assert sorted(row for rows in parts.values() for row in rows) == list(range(n))
    assert all(parts.values())
    tables = [table.take(rows) for rows in parts.values()]
    for place, one in enumerate(tables):
        for other in tables[place + 1 :]:
            assert not keys(one) & keys(other)
    for label, count in n_units(units, table.labelled()).items():
        if count >= len(shares):
            assert label in tables[0].labelled()


@given(st.integers(0, 10**6), st.integers(8, 50), st.sampled_from(["ab", "aaab", "abcd"]))
def test_groups_with_a_text_in_common_stay_together(seed: int, n: int, labels: str) -> None:
    table = a_table(seed, n, groups=True, labels=labels)
    units = Units.of(table, 0.2, 2)
    if len(units) < 2:
        return
    parts, notes = divide(table, units, {"train": 0.8, "valid": 0.2}, seed % 7)
    train, valid = (table.take(rows) for rows in parts.values())
    assert not set(train.groups or []) & set(valid.groups or [])
    chained = any("groups share" in note for note in notes)
    assert chained or not set(map(fold, train.texts)) & set(map(fold, valid.texts))


@given(st.integers(0, 10**6), st.integers(10, 60), st.integers(2, 5), st.sampled_from(["ab", "aaab", "abcd"]))
def test_folds_share_no_text_and_each_run_trains_on_each_label(
    seed: int, n: int, n_folds: int, labels: str
) -> None:
    table = a_table(seed, n, labels=labels)
    units = Units.of(table, 1 / n_folds, 2)
    try:
        dealt = folds(table, n_folds, seed % 7)
    except DataError:
        assert len(units) < 2 * n_folds + len(set(labels))
        return
    used = [row for rows in dealt for row in rows]
    assert len(used) == len(set(used))
    counts = n_units(units, table.labelled())
    for rows in dealt:
        rest = table.take(sorted(set(range(n)).difference(rows)))
        assert not keys(table.take(rows)) & keys(rest)
        assert set(rest.labelled()) == set(table.labelled())
    # At most one unit of each label is in no fold.
    left = {int(units.of_row[row]) for row in set(range(n)).difference(used)}
    assert len(left) <= len(counts)


@given(st.integers(0, 10**6), st.integers(4, 50))
def test_halves_share_no_text(seed: int, n: int) -> None:
    table = a_table(seed, n)
    labels = np.array([int(label == "b") for label in table.labelled()])
    crossed = CrossFit(labels, Units.of(table, 0.5, 2))
    first, second = (table.take(np.flatnonzero(rows)) for rows in (crossed.half, ~crossed.half))
    assert not keys(first) & keys(second)
    counts = n_units(Units.of(table, 0.5, 2), table.labelled())
    for label in "ab":
        there = [label in part.labelled() if len(part) else False for part in (first, second)]
        assert ("ab".index(label) in crossed.unbalanced()) is (any(there) and not all(there))
        if counts[label] == 1:
            assert not all(there)


# (one, other, whether they are copies)
COPIES = [
    ("Good film!", "good  film", True),
    ("good film :)", "Good, film.", True),
    ("हिन्दी की", "हिन्दी का", False),
    ("❤️", "❤", True),
    (":)", ":(", False),
    ("good", "goods", False),
    ("Café", "Cafe\u0301", True),
    ("great ❤️ film", "great ❤ film", True),
]


@pytest.mark.parametrize(("one", "other", "same"), COPIES)
def test_copies(one: str, other: str, same: bool) -> None:
    assert (copy_key(one) == copy_key(other)) is same


def long_text(rng: random.Random, n: int = 30) -> list[str]:
    return [f"w{rng.randrange(500)}" for _ in range(n)]


def test_nearly_equal_texts_stay_together() -> None:
    rng = random.Random(3)
    texts = []
    for _ in range(40):
        words = long_text(rng)
        texts += [" ".join(words), " ".join([*words, "again"])]
    table = Table.of(texts, ["ab"[row // 2 % 2] for row in range(80)])
    units = Units.of(table, 0.1, 2)
    assert units.of_row[::2].tolist() == units.of_row[1::2].tolist()
    assert len(units) == 40
    assert units.copied.all()
    parts = split(table, (0.8, 0.2), 1)
    first = {" ".join(text.split()[:30]) for text in parts["train"].texts}
    assert not first & {" ".join(text.split()[:30]) for text in parts["valid"].texts}


def test_a_chain_longer_than_a_part_is_taken_apart_and_said() -> None:
    words = long_text(random.Random(4))
    chain = []
    for number in range(60):  # each is nearly the text before it
        words = [*words[1:], f"n{number}"]
        chain += [" ".join(words), " ".join(words).upper()]
    other = [" ".join(long_text(random.Random(seed))) for seed in range(100, 180)]
    table = Table.of([*chain, *other], ["a", "b"] * 100)
    units = Units.of(table, 0.1, 2)
    assert any("120 of 200 rows" in note for note in units.notes)
    assert len(units) == 60 + 80
    parts = split(table, (0.9, 0.1))
    assert not keys(parts["train"]) & keys(parts["valid"])


def test_texts_of_a_template_can_be_divided() -> None:
    table = Table.of(
        [f"this film of the year was {word} for number {i}" for i in range(8) for word in ("good", "bad")],
        ["pos", "neg"] * 8,
    )
    parts = split(table, (0.75, 0.25))
    assert all(set(part.labelled()) == {"pos", "neg"} for part in parts.values())


def test_a_text_with_more_rows_than_the_part_trains() -> None:
    table = Table.of(["lol"] * 50 + [f"film {i}" for i in range(50)], ["a"] * 50 + ["a", "b"] * 25)
    for seed in range(10):
        assert "lol" not in split(table, (0.8, 0.2), seed)["valid"].texts


def write(path: Path, rows: list[tuple[str, str]]) -> str:
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), "utf-8")
    return str(path)


def test_the_parts_of_a_run_share_no_text(tmp_path: Path) -> None:
    table = a_table(5, 300)
    path = write(
        tmp_path / "a.csv",
        [(t.replace(",", ""), y) for t, y in zip(table.texts, table.labelled(), strict=True)],
    )
    for more in ({"test_share": 0.2}, {"folds": 3, "fold": 1}):
        found = Tables(DataConfig(train=path, **more))
        parts = [found.train, found.valid, found.test]
        assert sum(len(part) for part in parts if part is not None) == 300
        texts = [keys(part) for part in parts if part is not None]
        assert len(set.union(*texts)) == sum(map(len, texts))
        (note,) = (note for note in found.notes if "equal or nearly equal" in note)
        assert all(f"in {name}" in note for name in ("train", "valid", "test"))
        assert not any("are training texts" in note for note in found.notes)


def test_a_part_that_would_take_a_whole_label_is_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "authors.csv"
    rows = [f"film {i},{'pos' if i % 2 else 'neg'},g{i % 2}\n" for i in range(60)]
    path.write_text("text,label,group\n" + "".join(rows), "utf-8")
    found = Tables(DataConfig(train=str(path)))
    assert found.valid is None
    assert any("'neg' (30 rows), 'pos' (30 rows)" in note for note in found.notes)
    with pytest.raises(DataError, match=r"'neg' \(30 rows\)"):
        Tables(DataConfig(train=str(path), folds=2, fold=0))


def test_skipped_rows_are_named_where_one_label_is_left(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [(f"film {i}", "neg" if i < 20 else "pos") for i in range(40)])
    with pytest.raises(DataError, match=r"--skip 20.*'pos'"):
        Tables(DataConfig(train=path, skip=20))
    assert set(Tables(DataConfig(train=path, limit=10)).labels) == {"neg", "pos"}
