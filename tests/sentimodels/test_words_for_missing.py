"""Classes called N/A or nan, and texts None or null, are what they say in every command."""

import json
from pathlib import Path

from senti_in_process import senti

CLASSES = ("N/A", "nan", "None")
TEXTS = ("None", "null", "NaN")


def test_no_command_reads_them_as_missing(tmp_path: Path) -> None:
    rows = [(f"{text} {word} {n}", label) for n in range(12) for word, text, label in
            zip(("red", "green", "blue"), TEXTS, CLASSES, strict=True)]  # fmt: skip
    rows += list(zip(TEXTS, CLASSES, strict=True))
    csv = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    (tmp_path / "rows.csv").write_text(csv, "utf-8")
    few = "".join(f"{text},{label}\n" for text, label in zip(TEXTS, CLASSES, strict=True))
    (tmp_path / "few.csv").write_text("text,label\n" + few, "utf-8")
    (tmp_path / "w.csv").write_text("N/A,1\nnan,2\nNone,1.5\n", "utf-8")
    train = ["train", "rows.csv", "--arch", "bow", "--epochs", "1", "--no-baseline", "--valid", "few.csv"]
    done = senti(*train, "--class-weights", "w.csv", "-o", "bow", cwd=tmp_path)
    assert done.code == 0, done.err
    about = json.loads((tmp_path / "bow" / "run.json").read_text("utf-8"))
    assert set(about["labels"]) == set(CLASSES)
    assert sum(about["labels"].values()) + about["rows"]["valid"] >= len(rows)
    done = senti("predict", "bow", "few.csv", "--json", cwd=tmp_path)
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [one["text"] for one in answers] == list(TEXTS)
    assert all(set(one["probs"]) == set(CLASSES) and one["label"] in CLASSES for one in answers)
    for command in (["evaluate", "--bootstrap", "0"], ["errors"]):
        name, *more = command
        done = senti(name, "bow", "few.csv", *more, "--even-if-trained", "--json", cwd=tmp_path)
        assert done.code == 0, done.err
        assert json.loads(done.out)["n"] == 3
    done = senti("data", "stats", "few.csv", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert all(label in done.out for label in CLASSES)
    done = senti(
        "distill", "bow", "--data", "rows.csv", "--arch", "bow", "--epochs", "1", "-o", "student", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert set(json.loads(done.out)["labels"]) == set(CLASSES)
    done = senti("predict", "student", "few.csv", "--json", cwd=tmp_path)
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == list(TEXTS)
