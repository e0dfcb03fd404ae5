"""DataFrames and Series in and out of classifiers."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from pages import ROOT, blocks
from sentimodels import Classifier
from sentimodels.data.frames import table_of_frame, texts_of_frame
from sentimodels.errors import DataError

GOOD = ["great", "lovely", "superb", "warm", "funny", "clever", "moving", "fresh", "brilliant", "charming"]
BAD = ["awful", "dull", "boring", "cold", "weak", "clumsy", "messy", "stale", "dreadful", "tedious"]


def frame() -> pd.DataFrame:
    texts = [f"a {words[i % 10]} film, number {i}" for i in range(20) for words in (GOOD, BAD)]
    return pd.DataFrame({"review": texts, "stars": [5.0, 1.0] * 20}, index=range(100, 140))


def test_the_page_shows_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame().set_axis(["text", "label"], axis=1).to_csv("reviews.csv", index=False)
    (block,) = blocks(ROOT / "docs" / "reference" / "labelled-files.md", "python")
    shown: dict[str, Any] = {}
    exec(block, shown)
    assert list(shown["answers"]["label"]) == shown["labels"]
    assert (tmp_path / "runs" / "frame.jsonl").is_file()


def test_a_frame_trains_and_answers_keep_its_index(tmp_path: Path) -> None:
    made = Classifier.fit_frame(frame(), tmp_path / "runs" / "a", arch="nb", train={"baseline": False})
    assert made.labels.names == ("1", "5")
    asked = pd.Series(["a lovely film", None, "a dull film"], index=["x", "y", "z"], name="review")
    answers = made.predict_frame(asked)
    assert list(answers.index) == ["x", "y", "z"]
    assert list(answers.columns) == ["label", "p_1", "p_5"]
    assert (answers["label"]["x"], answers["label"]["z"]) == ("5", "1")
    assert np.allclose(answers[["p_1", "p_5"]].sum(axis=1), 1)
    whole = made.predict_frame(frame())
    assert list(whole.index) == list(range(100, 140))
    assert made.predict(frame()["review"]) == list(whole["label"])
    assert np.array_equal(made.predict_proba(frame()["review"])[:, 1], whole["p_5"].to_numpy())
    with pytest.raises(TypeError, match="column"):
        made.predict(cast(Any, frame()))
    again = Classifier.load(tmp_path / "runs" / "a")
    assert again.predict(["a dull film"]) == ["1"]


# (dtype of pandas, labels)
DTYPES: list[tuple[str, list[object], list[str]]] = [
    ("category", ["b", "a"], ["b", "a"]),
    ("bool", [True, False], ["true", "false"]),
    ("float32", [0.1, 1.0], ["0.1", "1"]),
    ("Int64", [2, 1], ["2", "1"]),
    ("string", [" x", "N/A"], ["x", "N/A"]),
    ("int64[pyarrow]", [2, 1], ["2", "1"]),
    ("object", [1, "1.0"], ["1", "1"]),
    ("datetime64[ns]", ["2020-01-01", "2021-01-01 12:30"], ["2020-01-01 00:00:00", "2021-01-01 12:30:00"]),
    ("datetime64[s]", ["1969-12-31", "2021-01-01"], ["1969-12-31 00:00:00", "2021-01-01 00:00:00"]),
    ("timedelta64[ns]", ["1 days", "2 days"], ["1 day, 0:00:00", "2 days, 0:00:00"]),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "values", "labels"), DTYPES, ids=[row[0] for row in DTYPES])
def test_cells_of_every_dtype_become_labels(dtype: str, values: list[object], labels: list[str]) -> None:
    table = table_of_frame(
        pd.DataFrame({"text": ["one text", "two"], "label": pd.Series(values, dtype=dtype)})
    )
    assert table.labels == labels


def test_cells_that_are_not_one_text_are_refused() -> None:
    lists = pd.DataFrame({"text": ["a", "b"], "label": [["x"], ["y"]]})
    with pytest.raises(DataError, match="row 1, column 'label'"):
        table_of_frame(lists)
    missing = pd.DataFrame({"text": ["a", "b"], "label": ["x", None]})
    with pytest.raises(DataError, match=r"row 2 has no label.*dropna"):
        table_of_frame(missing)
    # A missing date is not a date called NaT.
    dates = pd.to_datetime(pd.Series(["2020-01-01", None]))
    with pytest.raises(DataError, match="row 2 has no label"):
        table_of_frame(pd.DataFrame({"text": ["a", "b"], "label": dates}))
    with pytest.raises(DataError, match="no column 'mood'"):
        table_of_frame(missing, label_column="mood")


def test_what_is_no_frame_is_refused() -> None:
    for given in ({"text": ["a"]}, ["a"]):
        with pytest.raises(TypeError, match=type(given).__name__):
            table_of_frame(given)  # type: ignore[arg-type]  # 2026-11-30: as a user may
        with pytest.raises(TypeError, match=type(given).__name__):
            texts_of_frame(given)  # type: ignore[arg-type]  # 2026-11-30: as a user may
