"""What a new user meets around a run: scores by class, folds, moved files, changed data."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.runs.families import with_files
from sentimodels.runs.tables import example_of

NB = ("--arch", "nb", "--no-baseline")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("first_hour")
    write(path / "reviews.csv", 200)
    done = senti("train", "reviews.csv", *NB, "--threads", "1", "-o", "runs/nb", cwd=path)
    assert done.code == 0, done.err
    (path / "summary.txt").write_text(done.out, "utf-8")
    return path


def test_a_summary_has_the_scores_of_each_class(folder: Path) -> None:
    about = json.loads((folder / "runs" / "nb" / "run.json").read_text("utf-8"))
    classes = {one["label"]: one for one in about["valid"]["per_class"]}
    assert classes.keys() == {"neg", "pos"}
    assert sum(one["support"] for one in classes.values()) == about["rows"]["valid"]
    out = (folder / "summary.txt").read_text("utf-8")
    assert f"{classes['neg']['precision']:.4f}" in out
    assert about["threads"] == 1


def test_a_card_shows_words_of_the_data(folder: Path) -> None:
    about = json.loads((folder / "runs" / "nb" / "run.json").read_text("utf-8"))
    assert about["example"] in (folder / "reviews.csv").read_text("utf-8")
    assert f'echo "{about["example"]}"' in senti("card", "runs/nb", cwd=folder).out


# (texts, the example)
EXAMPLES = [
    (["das Essen war gut", "ja, das Essen war kalt", "das Essen war da"], "das Essen war"),
    (["這部電影很好", "這部電影不好", "這部電影還行"], "這部電影"),
    (['say "hi" $(now)', "say"], "say"),
    (["!", "?"], "great fun"),
]


@pytest.mark.parametrize(("texts", "example"), EXAMPLES)
def test_an_example_is_of_the_language_of_the_texts(texts: list[str], example: str) -> None:
    assert example_of(texts) == example


def test_folds_are_one_table(folder: Path) -> None:
    done = senti("train", "reviews.csv", *NB, "--folds", "3", "-o", "runs/folds", cwd=folder)
    assert done.code == 0, done.err
    out = senti("runs", "runs", cwd=folder).out
    assert out.count("Folds of folds") == 1
    runs = json.loads(senti("runs", "runs", "--json", cwd=folder).out)["runs"]
    scores = [one["test"]["accuracy"] for one in runs if "fold" in one]
    assert len(scores) == 3
    means = [line for line in out.splitlines() if "mean" in line.split()]
    assert any(f"{sum(scores) / 3:.4f}" in line for line in means)


def test_a_configuration_finds_its_data_beside_itself(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    text = (folder / "runs" / "nb" / "config.toml").read_text("utf-8").replace(str(folder), "/nowhere")
    (moved / "run.toml").write_text(text, "utf-8")
    done = senti("train", "--config", moved / "run.toml", "-o", tmp_path / "none", cwd=tmp_path)
    assert done.code == 2
    assert "/nowhere/reviews.csv" in done.err
    shutil.copy(folder / "reviews.csv", moved)
    done = senti("train", "--config", moved / "run.toml", "-o", tmp_path / "run", cwd=tmp_path)
    assert done.code == 0, done.err
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "runs" / "nb", tmp_path / "run")]
    assert same[0] == same[1]


def test_files_that_exist_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("", "utf-8")
    here = str(tmp_path / "a.csv")
    tree = {"data": {"train": here, "corpus": ["a.csv", "b.txt"], "text_column": "a.csv"}, "base": "a.csv"}
    assert with_files(tree, tmp_path) == {
        "data": {"train": here, "corpus": [here, "b.txt"], "text_column": "a.csv"}, "base": here,
    }  # fmt: skip


def test_changed_data_is_found(tmp_path: Path) -> None:
    write(tmp_path / "reviews.csv", 60)
    assert senti("train", "reviews.csv", *NB, "-o", "run", cwd=tmp_path).code == 0
    assert senti("verify", "run", "--data", cwd=tmp_path).code == 0
    with (tmp_path / "reviews.csv").open("a") as file:
        file.write("another text,pos\n")
    assert senti("verify", "run", cwd=tmp_path).code == 0
    done = senti("verify", "run", "--data", cwd=tmp_path)
    assert done.code == 1
    assert "reviews.csv: changed" in done.out
    (tmp_path / "reviews.csv").unlink()
    assert "reviews.csv: missing" in senti("verify", "run", "--data", cwd=tmp_path).out


@pytest.fixture(scope="module")
def spam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose columns had to be named, and files of the same and of another kind."""
    path = tmp_path_factory.mktemp("spam")
    rows = [line.rsplit(",", 1) for line in write(path / "r.csv", 120).read_text("utf-8").splitlines()[1:]]
    texts = [(f"t{i}", label, text.strip('"'), f"note number {i}") for i, (text, label) in enumerate(rows)]
    lines = ["nr;kind;said;note", *(";".join(row) for row in texts)]
    (path / "train.csv").write_text("\n".join(lines) + "\n", "utf-8")
    (path / "new.csv").write_text("\n".join([lines[0], *lines[1:4]]) + "\n", "utf-8")
    objects = [dict(zip(("nr", "kind", "said", "note"), row, strict=True)) for row in texts[:3]]
    (path / "new.jsonl").write_text("".join(json.dumps(one) + "\n" for one in objects), "utf-8")
    (path / "plain.csv").write_text("text\ngood film\n", "utf-8")
    named = ("--text-column", "said", "--label-column", "kind", "--separator", ";")
    done = senti("train", "train.csv", *named, *NB, "-o", "run", cwd=path)
    assert done.code == 0, done.err
    return path


@pytest.mark.parametrize("file", ["new.csv", "new.jsonl"])
def test_a_run_remembers_its_columns(spam: Path, file: str) -> None:
    done = senti("predict", "run", file, "--json", cwd=spam)
    assert done.code == 0, done.err
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == [
        json.loads(line)["said"] for line in (spam / "new.jsonl").read_text("utf-8").splitlines()
    ]
    done = senti("evaluate", "run", file, "--even-if-trained", "--bootstrap", "0", "--json", cwd=spam)
    assert json.loads(done.out)["n"] == 3, done.err
    assert senti("errors", "run", file, "--even-if-trained", cwd=spam).code == 0


def test_other_columns_are_guessed_as_ever(spam: Path) -> None:
    done = senti("predict", "run", "plain.csv", "--json", cwd=spam)
    assert json.loads(done.out)["text"] == "good film", done.err


# (options, the columns in front of the answers)
KEPT = [
    (("--id-column", "nr"), {"nr": "t0"}),
    (("--keep", "note,nr"), {"nr": "t0", "note": "note number 0"}),
    (("--keep", "all"), {"nr": "t0", "kind": None, "note": "note number 0"}),
    (("--keep", "note", "--id-column", "nr"), {"nr": "t0", "note": "note number 0"}),
]


@pytest.mark.parametrize(("options", "columns"), KEPT)
@pytest.mark.parametrize("out", ["a.csv", "a.tsv", "a.jsonl"])
def test_columns_are_carried_through(
    spam: Path, options: tuple[str, ...], columns: dict[str, str | None], out: str
) -> None:
    done = senti("predict", "run", "new.csv", *options, "-o", out, "--force", cwd=spam)
    assert done.code == 0, done.err
    text = (spam / out).read_text("utf-8")
    if out.endswith(".jsonl"):
        record = json.loads(text.splitlines()[0])
    else:
        made = csv.DictReader(text.splitlines(), delimiter="\t" if out.endswith(".tsv") else ",")
        record = dict(next(iter(made)))
    names = [name for name in record if name not in ("schema", "text", "label", "probs") and name[:2] != "p_"]
    assert [name for name in names if name != "cut"] == list(columns)
    assert all(record[name] == value for name, value in columns.items() if value is not None)


@pytest.mark.parametrize("options", [("--keep", "kind"), ("--keep", "all"), ("--keep", "said,kind"), ()])
def test_a_kept_column_is_still_that_of_labels(spam: Path, options: tuple[str, ...]) -> None:
    done = senti("predict", "run", "new.csv", *options, "-o", "kept.csv", "--force", cwd=spam)
    assert done.code == 0, done.err
    assert "label column" not in done.err
    assert "senti evaluate run new.csv" in done.out


def test_what_needs_no_labels_does_not_miss_them(spam: Path) -> None:
    (spam / "texts.csv").write_text("id;said\n7;a good film\n8;a bad film\n", "utf-8")
    for args in (
        ("predict", "run", "texts.csv"), ("export", "run", "--numpy", "-o", "as-numpy"),
        ("export", "run", "--numpy", "-o", "as-numpy", "--force", "--texts", "texts.csv"),
    ):  # fmt: skip
        done = senti(*args, cwd=spam)
        assert done.code == 0, done.err
        assert "no label column" not in done.err
    assert "no label column" in senti("data", "stats", "texts.csv", "--separator", ";", cwd=spam).err


def test_a_column_to_keep_must_exist(spam: Path) -> None:
    done = senti("predict", "run", "new.csv", "--keep", "nothing", cwd=spam)
    assert done.code == 2
    assert "'nothing'" in done.err
    assert senti("predict", "run", "--keep", "all", cwd=spam).code == 2


UNEVEN = 'text,label\n"two\nlines good",pos\n,pos\nbad film,\ngood one,neg\nbad one,\nawful,neg\ngood,pos\n'


def test_rows_without_label_are_counted_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(UNEVEN * 1, "utf-8")
    done = senti("train", "a.csv", *NB, "-o", "run", cwd=tmp_path)
    assert done.code == 2
    assert "2 rows have no label (line 5, line 7)" in done.err
    assert "--unlabelled drop" in done.err
    done = senti("train", "a.csv", *NB, "--unlabelled", "drop", "--empty", "drop", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    about = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert sum(about["rows"].values()) == 4
    assert "2 rows without label left out" in done.err
    assert "1 row with an empty text left out" in done.err


@pytest.mark.parametrize("out", ["errors.csv", "errors.tsv", "errors.jsonl"])
def test_errors_name_the_lines_of_the_file(folder: Path, tmp_path: Path, out: str) -> None:
    long = "boring " * 60
    text = f'text,label\n"good\nfilm",\n"{long}\n",pos\ngreat movie,pos\nwonderful,\ngreat story,neg\n'
    (tmp_path / "a.csv").write_text(text, "utf-8")
    done = senti("errors", folder / "runs" / "nb", "a.csv", "--json", "-o", out, cwd=tmp_path)
    assert done.code == 0, done.err
    found = {(one["row"], one["line"], one["label"]): one["text"] for one in json.loads(done.out)["errors"]}
    assert found == {(2, 4, "pos"): f"{long}\n", (5, 8, "neg"): "great story"}
    written = (tmp_path / out).read_text("utf-8")
    if out.endswith(".jsonl"):
        rows = [json.loads(line) for line in written.splitlines()]
    else:
        rows = list(csv.DictReader(io.StringIO(written), delimiter="\t" if out.endswith(".tsv") else ","))
    assert {(int(row["row"]), int(row["line"]), row["label"]): row["text"] for row in rows} == found
