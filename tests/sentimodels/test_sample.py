"""`--limit` draws over the whole file: each label with its share, in the order of the file."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentimodels.data import read_table
from sentimodels.data.row_buffer import Sample, allot


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(1, 60), min_size=1),
    st.integers(1, 80),
)
def test_allot_gives_each_label_its_share(counts: dict[str, int], limit: int) -> None:
    given_ = allot(counts, limit)
    total = sum(counts.values())
    assert sum(given_.values()) == min(total, limit)
    assert all(0 <= n <= counts[label] for label, n in given_.items())
    if limit >= len(counts):
        assert all(n >= 1 for n in given_.values())
        # One row for each label comes first, so shares are off by at most that many rows.
        assert all(
            abs(n - min(1, limit / total) * counts[label]) <= len(counts) for label, n in given_.items()
        )


@given(st.lists(st.sampled_from("aab"), min_size=1, max_size=60), st.integers(1, 20), st.integers(0, 5))
def test_a_sample_is_a_share_of_each_label(labels: list[str], limit: int, seed: int) -> None:
    sample, kept = Sample(limit, seed), {}
    for row, label in enumerate(labels):
        slot = sample.slot(label)
        if slot is not None:
            kept[slot] = row
    chosen = [kept[slot] for slot in sample.chosen()]
    assert len(chosen) == len(set(chosen)) == min(limit, len(labels))
    assert Counter(labels[row] for row in chosen) == Counter(allot(Counter(labels), limit))
    assert len(kept) <= limit * len(set(labels))


def test_each_row_is_as_likely() -> None:
    drawn: Counter[int] = Counter()
    for seed in range(2000):
        sample, kept = Sample(5, seed), {}
        for row in range(20):
            if (slot := sample.slot("")) is not None:
                kept[slot] = row
        drawn.update(kept[slot] for slot in sample.chosen())
    assert all(400 < drawn[row] < 600 for row in range(20))


@pytest.fixture
def sorted_file(tmp_path: Path) -> Path:
    path = tmp_path / "sorted.csv"
    path.write_text(
        "text,label\n" + "".join(f"{label} film {i},{label}\n" for label in "abc" for i in range(50)), "utf-8"
    )
    return path


def test_a_sorted_file_is_drawn_over_the_whole(sorted_file: Path) -> None:
    table = read_table(sorted_file, limit=30, sample=True)
    assert Counter(table.labelled()) == {"a": 10, "b": 10, "c": 10}
    assert table.numbers == sorted(table.numbers or [])
    assert [table.texts[0].split()[0], table.texts[-1].split()[0]] == ["a", "c"]
    assert table.texts == read_table(sorted_file, limit=30, sample=True).texts
    assert table.texts != read_table(sorted_file, limit=30, sample=True, seed=7).texts
    assert any("30 rows drawn from 150" in note for note in table.notes)
    assert read_table(sorted_file, limit=500, sample=True) == read_table(sorted_file)
    assert read_table(sorted_file, limit=30).texts == read_table(sorted_file).texts[:30]


def test_labels_that_the_limit_leaves_out_are_said(sorted_file: Path) -> None:
    table = read_table(sorted_file, limit=2, sample=True)
    assert table.labels == ["a", "b"]
    assert any("'c' (50)" in note for note in table.notes)


def test_a_folder_of_reviews_is_drawn_over_both_sides(tmp_path: Path) -> None:
    for side in ("pos", "neg"):
        (tmp_path / side).mkdir()
        for number in range(20):
            (tmp_path / side / f"{number}_5.txt").write_text(f"{side} film {number}", "utf-8")
    table = read_table(tmp_path, limit=8, sample=True)
    assert Counter(table.labelled()) == {"pos": 4, "neg": 4}


def test_rows_without_are_as_if_not_in_the_file(sorted_file: Path) -> None:
    table = read_table(sorted_file, skip=2, limit=3, without=frozenset((0, 3)))
    assert table.numbers == [4, 5, 6]
