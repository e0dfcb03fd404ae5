"""`split` and `Labels`: the reports' split exactly; groups and texts on one side."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from sentimodels.data import Labels, Table, leaks, read_table, split
from sentimodels.errors import DataError


def test_the_split_of_the_reports() -> None:
    table = read_table(shared_data.folder() / "kaggle-movie-reviews" / "train.tsv.xz")
    parts = split(table, (0.8, 0.2), 42)
    train, valid = parts["train"], parts["valid"]
    assert (len(set(train.groups or [])), len(set(valid.groups or []))) == (6_823, 1_706)
    assert (len(train), len(valid)) == (125_038, 31_022)
    assert round(valid.labelled().count("2") / len(valid), 4) == 0.5102
    assert leaks(train, valid).shared_groups == 0


def table_of(n: int, n_groups: int | None = None) -> Table:
    groups = None if n_groups is None else [f"g{i % n_groups}" for i in range(n)]
    return Table.of([f"text {i}" for i in range(n)], [str(i % 3) for i in range(n)], groups)


@given(
    n=st.integers(12, 80),
    n_groups=st.integers(6, 12),
    seed=st.integers(0, 9),
    three=st.booleans(),
    stratify=st.booleans(),
)
def test_groups_stay_together_and_no_row_is_lost(
    n: int, n_groups: int, seed: int, three: bool, stratify: bool
) -> None:
    table = table_of(n, n_groups)
    parts = split(table, (0.5, 0.25, 0.25) if three else (0.5, 0.5), seed, stratify=stratify)
    assert sorted(text for part in parts.values() for text in part.texts) == sorted(table.texts)
    groups = [set(part.groups or []) for part in parts.values()]
    assert sum(map(len, groups)) == len(set.union(*groups))
    again = split(table, (0.5, 0.25, 0.25) if three else (0.5, 0.5), seed, stratify=stratify)
    assert [part.texts for part in parts.values()] == [part.texts for part in again.values()]


def test_shares_of_labels_are_kept() -> None:
    for part in split(table_of(300), (0.8, 0.2)).values():
        assert all(part.labelled().count(label) == len(part) / 3 for label in "012")


def test_by_hash_a_text_has_one_side() -> None:
    table = table_of(2000)
    parts = split(table, {"a": 0.5, "b": 0.3, "c": 0.2}, by="hash")
    for share, part in zip((0.5, 0.3, 0.2), parts.values(), strict=True):
        assert abs(len(part) / 2000 - share) < 0.04
    side = {text: name for name, part in parts.items() for text in part.texts}
    reversed_ = Table.of([text.upper() for text in reversed(table.texts)], table.labels)
    for name, part in split(reversed_, {"a": 0.5, "b": 0.3, "c": 0.2}, 7, by="hash").items():
        assert all(side[text.lower()] == name for text in part.texts)


def test_a_class_with_one_row_stays_in_the_first_part() -> None:
    table = Table.of([f"t{i}" for i in range(21)], ["a"] * 10 + ["b"] * 10 + ["rare"])
    parts = split(table, (0.5, 0.5))
    assert "rare" in parts["train"].labelled()
    assert "rare" not in parts["valid"].labelled()
    assert any("valid" in note and "'rare' (1 row)" in note for note in parts["train"].notes)


def test_one_row_cannot_be_split() -> None:
    with pytest.raises(DataError, match="1 rows"):
        split(Table.of(["a"], ["1"]), (0.5, 0.5))


def test_too_few_rows_to_stratify_are_split_all_the_same() -> None:
    parts = split(Table.of(list("abcdefgh"), list("00112233")), (0.8, 0.2))
    assert [len(part) for part in parts.values()] == [6, 2]
    assert any("too few rows to keep the shares" in note for note in parts["train"].notes)


# (shares, options, part of the message)
REFUSED = [
    ((1.0,), {}, "1 shares"),
    ((0.5, 0.6), {}, "add up to 1.1"),
    ((1.0, 0.0), {}, "above 0"),
    ((0.5, 0.5), {"by": "group"}, "--group-column"),
    ((0.5, 0.5), {"group": ["a"]}, "3 rows, but 1 groups"),
    ((0.999, 0.001), {"by": "hash"}, "leave none"),
]  # fmt: skip


@pytest.mark.parametrize(("shares", "options", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_refuses(shares: tuple[float, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message.replace("(", r"\(")):
        split(Table.of(["a", "b", "c"], ["1", "1", "1"]), shares, **options)


# (values, names)
ORDERS = [
    (["b", "a", "b"], ("a", "b")),
    (["10", "9", "-1"], ("-1", "9", "10")),
    (["2", "x", "10", "1.5"], ("1.5", "2", "10", "x")),
    (["nan", "1"], ("1", "nan")),
]


@pytest.mark.parametrize(("values", "names"), ORDERS)
def test_label_order(values: list[str], names: tuple[str, ...]) -> None:
    labels = Labels.from_values(values)
    assert labels.names == names
    assert labels == Labels.from_values(reversed(values))
    assert labels.decode(labels.encode(values).tolist()) == values


def test_an_unknown_label_is_an_error() -> None:
    labels = Labels(["neg", "pos"])
    with pytest.raises(
        DataError, match=r"unknown label 'good' at row 2 \(2 such rows\); the labels are 'neg', 'pos'"
    ):
        labels.encode(["neg", "good", "bad"])
    with pytest.raises(DataError, match="unknown label"):
        labels.index("LABEL_0")
    with pytest.raises(DataError, match="repeat"):
        Labels(["a", "a"])
    with pytest.raises(DataError, match="at least one"):
        Labels([])


def test_a_table_refuses_columns_of_other_lengths() -> None:
    with pytest.raises(DataError, match="2 texts, but 1 labels"):
        Table.of(["a", "b"], ["1"])
    with pytest.raises(DataError, match="--label-column"):
        Table.of(["a"]).labelled()
