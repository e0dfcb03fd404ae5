"""What the commands do with rows that a run cannot score, and with the columns of their file."""

import csv
import json
import random
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from senti_in_process import senti
from sentimodels.data import read_table

GOOD, BAD = ("great", "kind", "fresh", "warm"), ("rude", "slow", "cold", "bland")


def rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows of made-up reviews, every seventh with the wrong label."""
    draw, found = random.Random(seed), []
    for place in range(n):
        good = place % 2 == 0
        words = draw.choices(GOOD if good else BAD, k=3) + draw.choices(("food", "staff", "place"), k=2)
        label = "pos" if good != (place % 7 == 6) else "neg"
        found.append(
            {"ticket": f"T{place}", "text": f"{' '.join(words)} {place}", "label": label, "p_label": "x"}
        )
    return found


def write(path: Path, found: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    write(folder / "train.csv", rows(60, 0))
    held = rows(30, 1)
    write(folder / "held.csv", held)
    write(folder / "odd.csv", [*held, held[0] | {"text": "so so", "label": "meh"}])
    for arch in ("nb", "tfidf"):
        done = senti("train", "train.csv", "--arch", arch, "--threads", "1", "-o", f"runs/{arch}", cwd=folder)
        assert done.code == 0, done.err
    done = senti("train", "train.csv", "--arch", "nb", "--folds", "3", "-o", "runs/folds", cwd=folder)
    assert done.code == 0, done.err
    return folder


SCORING = [
    ["evaluate", "runs/nb", "odd.csv"],
    ["errors", "runs/nb", "odd.csv"],
    ["thresholds", "runs/nb", "odd.csv"],
    ["compare", "runs/nb", "runs/tfidf", "--data", "odd.csv"],
    ["ensemble", "runs/nb", "runs/tfidf", "--dev", "odd.csv", "-o", "runs/both"],
    ["plot", "runs/nb", "--kind", "confusion", "--data", "odd.csv", "-o", "confusion.svg"],
]


@pytest.mark.parametrize("line", SCORING, ids=[line[0] for line in SCORING])
def test_rows_with_unknown_labels_are_left_out_where_asked(line: list[str], place: Path) -> None:
    done = senti(*line, cwd=place)
    assert done.code == 2
    assert "unknown label 'meh'" in done.err
    assert done.err.rstrip().endswith("--unknown drop")
    done = senti(*line, "--unknown", "drop", cwd=place)
    assert done.code == 0, done.err
    assert "1 row left out, with labels that the run does not know: 'meh' (1)" in done.err


def test_scores_are_those_of_the_rows_that_are_left(place: Path) -> None:
    some = senti("evaluate", "runs/nb", "odd.csv", "--unknown", "drop", "--json", cwd=place)
    every = senti("evaluate", "runs/nb", "held.csv", "--json", cwd=place)
    found, wanted = json.loads(some.out), json.loads(every.out)
    assert found["n"] == wanted["n"] == 30
    assert found["accuracy"] == wanted["accuracy"]
    assert found["intervals"] == wanted["intervals"]


def test_a_file_of_unknown_labels_alone_is_refused(place: Path, tmp_path: Path) -> None:
    write(tmp_path / "stars.csv", [one | {"label": place % 9} for place, one in enumerate(rows(20, 2))])
    done = senti("evaluate", place / "runs/nb", tmp_path / "stars.csv", "--unknown", "drop", cwd=tmp_path)
    assert done.code == 2
    assert all(word in done.err for word in ("no row has a label", "'0' (3)", "and 4 more", "'neg', 'pos'"))


def test_errors_keep_the_columns_of_their_file(place: Path, tmp_path: Path) -> None:
    done = senti("errors", "runs/nb", "held.csv", "-o", tmp_path / "errors.csv", cwd=place)
    assert done.code == 0, done.err
    found, given = read(tmp_path / "errors.csv"), read(place / "held.csv")
    assert list(found[0])[:4] == ["row", "line", "id", "text"]
    assert list(found[0])[-2:] == ["ticket", "input_p_label"]  # the answers have a column p_label
    assert len(found) > 1
    for one in found:
        source = given[int(one["row"]) - 1]
        assert (one["ticket"], one["text"], one["label"]) == (
            source["ticket"],
            source["text"],
            source["label"],
        )
    for keep, names in (("ticket", ["ticket"]), ("none", [])):
        out = tmp_path / f"{keep}.jsonl"
        assert senti("errors", "runs/nb", "held.csv", "--keep", keep, "-o", out, cwd=place).code == 0
        assert list(json.loads(out.read_text().splitlines()[0]))[9:] == names


def test_suspects_keep_the_columns_of_their_file(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    done = senti("data", "suspects", "train.csv", "--run", "runs/folds", "-o", out, cwd=place)
    assert done.code == 0, done.err
    given = read(place / "train.csv")
    assert read(out)
    assert all(given[int(one["row"]) - 1]["ticket"] == one["ticket"] for one in read(out))
    # The file still names the rows to train without.
    done = senti(
        "train", "train.csv", "--arch", "nb", "--drop-suspects", out, "-o", tmp_path / "r", cwd=place
    )
    assert done.code == 0, done.err


def test_columns_are_kept_in_a_file_only(place: Path) -> None:
    done = senti("errors", "runs/nb", "held.csv", "--keep", "ticket", cwd=place)
    assert done.code == 2
    assert "--out FILE" in done.err


def test_columns_that_share_a_name_are_not_kept_unasked(place: Path, tmp_path: Path) -> None:
    lines = ["n,n,text,label,ticket", *(f"1,2,{one['text']},neg,{one['ticket']}" for one in rows(8, 3))]
    (tmp_path / "twice.csv").write_text("\n".join(lines) + "\n")
    line: list[str | Path] = ["errors", place / "runs/nb", "twice.csv", "-o", "errors.csv"]
    assert senti(*line, cwd=tmp_path).code == 0
    assert list(read(tmp_path / "errors.csv")[0])[9:] == ["ticket"]
    done = senti(*line, "--keep", "all", cwd=tmp_path)
    assert done.code == 2
    assert "two columns share a name" in done.err


def test_columns_that_are_kept_may_hold_any_value(place: Path, tmp_path: Path) -> None:
    values = [{"tags": ["a", "b"]}, ["x", 1], None, 2.0, True, "é"]
    records = [{"text": f"cold food {n}", "label": "pos", "more": one} for n, one in enumerate(values)]
    (tmp_path / "reviews.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    table = read_table(tmp_path / "reviews.jsonl", keep=["all"])
    assert table.kept["more"] == ['{"tags": ["a", "b"]}', '["x", 1]', "", "2", "true", "é"]
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(
        pa.table({
            "text": ["cold food", "warm food"], "label": ["neg", "pos"],
            "more": pa.array([{"a": [1]}, None]), "raw": pa.array([b"\xff", b"ok"]),
        }),
        tmp_path / "reviews.parquet",
    )  # fmt: skip
    kept = read_table(tmp_path / "reviews.parquet", keep=["*"]).kept
    assert (kept["more"], kept["raw"]) == (['{"a": [1]}', ""], ["b'\\xff'", "ok"])
    done = senti("errors", place / "runs/nb", "reviews.jsonl", "-o", "errors.csv", cwd=tmp_path)
    assert done.code == 0, done.err


def test_proposed_commands_can_be_typed(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    shutil.copy(place / "train.csv", folder / "it's mine.csv")
    shutil.copy(place / "held.csv", folder / "held out.csv")
    said = senti("train", folder / "it's mine.csv", "--arch", "nb", "-o", folder / "nb", cwd=tmp_path).out
    said += senti("evaluate", folder / "nb", folder / "held out.csv", cwd=tmp_path).out
    said += senti("thresholds", folder / "nb", folder / "held out.csv", cwd=tmp_path).out
    said += senti("export", folder / "nb", "--numpy", "-o", folder / "numpy", cwd=tmp_path).out
    found = [shlex.split(line) for line in re.findall(r"^next +(.*)$", said, re.M)]
    assert found[0][-4:] == ["|", "senti", "predict", str(folder / "nb")]
    assert found[1] == ["senti", "errors", str(folder / "nb"), str(folder / "held out.csv")]
    assert found[2][2:4] == found[1][2:]
    assert found[3][1] == str(folder / "numpy" / "classifier.py")


def test_a_submission_needs_no_labels(place: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("id,text,label\n1,great food,?\n2,cold food,?\n")
    line: list[str | Path] = ["submit", place / "runs/nb", "test.csv", "-o", "out.csv", "--form", "imdb"]
    done = senti(*line, cwd=tmp_path)
    assert done.code == 0, done.err
    assert [one["Id"] for one in read(tmp_path / "out.csv")] == ["1", "2"]
