"""What rows a run takes: those it refuses, those it trains on and says something of, and very long ones."""

from pathlib import Path

import numpy as np
import pytest

from labelled_reviews import tree, write
from sentimodels import Classifier
from sentimodels.errors import DataError
from sentimodels.runs.execute import Callbacks, train
from sentimodels.runs.families import resolve
from sentimodels.runs.tables import Tables


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "reviews.csv")


# (rows of the file, message)
BAD_DATA: list[tuple[str, str, type[Exception]]] = [
    ("text,label\na,1\nb,1\n", "every row has the label '1'", DataError),
    ("text,label\n", "no rows", DataError),
    ("text,label\na,1\n", "every row has the label", DataError),
    (
        "text,a,b\na,1,2\n",
        r"no labels; name their column with --label-column \(it has 'text', 'a', 'b'\)",
        DataError,
    ),
]


@pytest.mark.parametrize(("text", "message", "error"), BAD_DATA)
def test_bad_data(text: str, message: str, error: type[Exception], tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        train(resolve(tree("lstm", path)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_class_with_one_row_and_an_empty_text_are_said(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", 60)
    with path.open("a", encoding="utf-8") as file:
        file.write('"",pos\nodd one out,rare\n')
    notes: list[str] = []
    about = train(
        resolve(tree("tfidf", path)), tmp_path / "run", callbacks=Callbacks(on_warning=notes.append)
    )
    assert about["labels"] in ({"neg": 25, "pos": 30, "rare": 1}, about["labels"])
    assert "rare" in about["labels"]
    assert any("empty" in note for note in notes)
    assert any("rare" in note or "one" in note for note in notes)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "only one training row has the label 'rare-0'"),
        (40, "only one training row has each of 40 labels: 'rare-0', 'rare-1', 'rare-10' and 37 more"),
    ],
)
def test_labels_of_one_row_are_counted_and_a_few_named(n: int, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", 60)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"odd one out {place},rare-{place}\n" for place in range(n))
    data = {**tree("tfidf", path)["data"], "valid_share": 0.0}
    assert said in Tables(resolve({**tree("tfidf", path), "data": data}).data).notes


def test_an_unknown_label_is_named_and_leaves_no_run(reviews: Path, tmp_path: Path) -> None:
    valid = tmp_path / "valid.csv"
    valid.write_text("text,label\nfine film,pos\nodd film,neutral\n", encoding="utf-8")
    for part in ("valid", "test"):
        config = resolve(tree("bow", reviews, data={part: str(valid)}))
        with pytest.raises(DataError, match=r"valid\.csv: row 2: .*'neutral'.*'neg', 'pos'"):
            train(config, tmp_path / "run")
        assert not (tmp_path / "run").exists()


# Slow ones read a shorter text by default.
SIZES = [
    *[(arch, 100_000) for arch in ("tfidf", "nb", "bow", "lstm", "mamba")],
    *[
        pytest.param(arch, 1_000_000, marks=pytest.mark.slow)
        for arch in ("tfidf", "nb", "bow", "lstm", "mamba")
    ],
]


@pytest.mark.parametrize(("arch", "size"), SIZES)
def test_a_text_of_a_megabyte_trains(arch: str, size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", 60)
    with path.open("a", encoding="utf-8") as file:
        file.write("good film " * (size // 10) + ",pos\n" + "b" * size + ",neg\n")
    about = train(resolve(tree(arch, path, train={"threads": 1})), tmp_path / "run", baseline=False)
    assert about["rows"]["train"] + about["rows"]["valid"] == 62
    probs = Classifier.load(tmp_path / "run").predict_proba(["bad " * (size // 4), "good film"])
    assert np.isfinite(probs).all()


def test_leaks_are_said(reviews: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    config = resolve(tree("tfidf", reviews, data={"valid": str(reviews)}))
    train(config, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    assert any("are training texts" in note for note in notes)
    # Of a file to report on as well, and where only some rows are in both.
    part = tmp_path / "part.csv"
    part.write_text("text,label\n" + reviews.read_text("utf-8").splitlines()[1] + "\nnew film,pos\n", "utf-8")
    notes.clear()
    config = resolve(tree("tfidf", reviews, data={"test": str(part), "valid_share": 0}))
    train(config, tmp_path / "other", callbacks=Callbacks(on_warning=notes.append))
    assert any("1 of the 2 rows of test" in note for note in notes), notes


def test_long_texts_are_said(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    lines = [f'"{"good film " * 30}{i}",pos\n"{"bad film " * 30}{i}",neg\n' for i in range(10)]
    path.write_text("text,label\n" + "".join(lines), encoding="utf-8")
    for long in ("truncate", "head-tail", "windows"):
        notes: list[str] = []
        config = resolve(tree("cnn", path, data={"max_tokens": 12, "long": long}, train={"epochs": 1}))
        train(config, tmp_path / long, callbacks=Callbacks(on_warning=notes.append), baseline=False)
        [said] = (note for note in notes if "training texts are longer than 12 tokens" in note)
        assert ("read in windows" in said) == (long == "windows")
        assert len(Classifier.load(tmp_path / long).predict(["good film " * 100])) == 1


def test_near_duplicates_are_said_and_where_they_were_not_looked_for(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "this film with a plot and a story of the actor is a movie with a scene and the plot"
    data, part = tmp_path / "data.csv", tmp_path / "part.csv"
    data.write_text(f"{reviews.read_text('utf-8')}{text} good,pos\n", "utf-8")
    part.write_text(f"text,label\n{text} bad,neg\n", "utf-8")
    config = resolve(tree("tfidf", data, data={"valid": str(part)}))
    assert "1 row of valid is nearly a training text" in Tables(config.data).notes
    monkeypatch.setattr("sentimodels.runs.tables._NEAR_AT_MOST", 10)
    notes = Tables(config.data).notes
    assert not any("rows of valid are nearly" in note for note in notes)
    assert any("near duplicates of training texts in valid were not looked for" in note for note in notes)
