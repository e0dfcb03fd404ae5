"""`senti predict`, as it is typed: from stdin, of files, unsure answers, progress."""

import csv
import io
import json
from pathlib import Path

import pytest

from first_run import make
from senti_in_process import senti
from sentimodels.classifier import Classifier
from sentimodels.cli.predict import at_once
from sentimodels.evaluation.predictions import WithProgress
from terminal import on_terminal, plain


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("senti"))


def test_predict_from_stdin(folder: Path) -> None:
    done = senti("predict", "runs/first", cwd=folder, stdin="a great lovely film\n\nan awful mess, dull\n")
    assert done.code == 0, done.err
    found = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["text"] for row in found] == ["a great lovely film", "", "an awful mess, dull"]
    assert [found[0]["label"], found[2]["label"]] == ["pos", "neg"]
    assert abs(float(found[0]["p_pos"]) + float(found[0]["p_neg"]) - 1) < 1e-5
    done = senti("predict", "runs/first", "--quiet", cwd=folder, stdin="a great lovely film\n")
    assert done.out == "pos\n"


def test_a_long_file_has_a_bar_on_a_terminal(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "many.csv").open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        file.writelines(f"a great film number {n},pos\n" for n in range(1200))
    run, many = folder / "runs" / "first", tmp_path / "many.csv"
    code, shown = on_terminal(f"predict {run} {many} -o answers.csv", program="senti", cwd=tmp_path)
    assert code == 0, shown
    assert "predicting" in shown
    assert "1,200 / 1,200" in plain(shown)
    assert len((tmp_path / "answers.csv").read_text("utf-8").splitlines()) == 1201
    # Answers that the terminal shows are their own bar.
    code, shown = on_terminal(f"predict {run} {many} --quiet", program="senti", cwd=tmp_path)
    assert (code, plain(shown).split()) == (0, ["pos"] * 1200)


def test_texts_are_answered_one_at_a_time_where_they_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, file, n in ((True, "-", 1), (True, "reviews.csv", 4096), (False, "-", 4096)):
        monkeypatch.setattr("sys.stdin.isatty", lambda typed=typed: typed, raising=False)
        assert at_once(file) == n


def test_who_is_watched_answers_the_same(folder: Path) -> None:
    predictor = Classifier.load(folder / "runs" / "first")
    steps: list[tuple[str, int, int]] = []
    watched = WithProgress(predictor, lambda stage, done, total: steps.append((stage, done, total)))
    texts = [f"a great film number {n}" for n in range(1030)]
    assert watched.predict_proba(texts) == pytest.approx(predictor.predict_proba(texts), abs=1e-6)
    assert steps == [("predict", n, 1030) for n in (512, 1024, 1030)]
    assert watched.predict_proba([]).shape == predictor.predict_proba([]).shape
    assert (watched.labels, watched.temperature) == (predictor.labels, predictor.temperature)


def test_predict_the_most_probable(folder: Path) -> None:
    text = "a great lovely film\n"
    whole = senti("predict", "runs/first", "--json", cwd=folder, stdin=text)
    record = json.loads(whole.out)
    ranked = sorted(record["probs"].items(), key=lambda pair: -pair[1])
    done = senti("predict", "runs/first", "--top-k", "1", cwd=folder, stdin=text)
    header, row = done.out.splitlines()
    assert header == "text,label,label_1,p_1,cut"
    assert row == f"a great lovely film,{record['label']},{ranked[0][0]},{ranked[0][1]:.6f},false"
    done = senti("predict", "runs/first", "--top-k", "9", "--json", cwd=folder, stdin=text)
    assert list(json.loads(done.out)["probs"].items()) == ranked


def test_unsure_answers_are_blank(folder: Path) -> None:
    text = "qqqq\n"  # of no class more than of the other
    record = json.loads(senti("predict", "runs/first", "--json", cwd=folder, stdin=text).out)
    (label, _), (other, _) = sorted(record["probs"].items(), key=lambda pair: -pair[1])
    for asked, answer in (
        (["0"], label),
        (["1"], ""),
        ([f"{label}=1"], other),
        ([f"{other}=1"], label),
        (["1", f"{other}=0"], other),
    ):
        flags = [word for value in asked for word in ("--threshold", value)]
        assert senti("predict", "runs/first", "-q", *flags, cwd=folder, stdin=text).out == f"{answer}\n"
    done = senti("predict", "runs/first", "--json", "--threshold", "1", cwd=folder, stdin=text)
    assert json.loads(done.out)["label"] is None


def test_predict_a_file(folder: Path) -> None:
    for name in ("answers.csv", "answers.tsv", "answers.jsonl"):
        done = senti("predict", "runs/first", "reviews.csv", "-o", name, cwd=folder)
        assert done.code == 0, done.err
        assert done.out == f"300 answers in {name}\nnext: senti evaluate runs/first reviews.csv\n"
    records = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(records) == len(rows) == 300
    assert [record["label"] for record in records] == [row["label"] for row in rows]
    assert records[0]["schema"] == "senti.predict/1"
    assert set(records[0]["probs"]) == {"neg", "pos"}


def test_predict_counts_texts_and_needs_no_labels(folder: Path) -> None:
    """A quoted text may hold line ends, and a label may be blank."""
    (folder / "odd.csv").write_text('text,label\n"a great\nlovely\nfilm",pos\n"an awful mess",\n')
    for name in ("odd-answers.csv", "odd-answers.tsv", "odd-answers.jsonl"):
        done = senti("predict", "runs/first", "odd.csv", "-o", name, "--json", cwd=folder)
        assert done.code == 0, done.err
        assert json.loads(done.out)["rows"] == 2
    with (folder / "odd-answers.csv").open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["pos", "neg"]
    done = senti("predict", "runs/first", "odd.csv", "--skip", "1", "-q", "--device", "cpu", cwd=folder)
    assert done.out == "neg\n"
