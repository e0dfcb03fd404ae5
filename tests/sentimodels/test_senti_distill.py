"""`senti distill`, as it is typed."""

import json
from pathlib import Path

import pytest

from distilling import make
from senti_in_process import senti
from sentimodels.config import DistillationConfig
from sentimodels.runs.families import CLASSIFIER


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("made"))


def test_the_command_distills_resumes_and_tells(made: Path, tmp_path: Path) -> None:
    args: list[str | Path] = [
        "distill",
        made / "teacher",
        "--arch",
        "cnn",
        "--preset",
        "nano",
        "--out",
        "student",
        "--threads",
        "1",
    ]
    args += ["--epochs", "2", "--temperature", "3", "--no-baseline"]
    done = senti(*args, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "answers as its teacher in" in done.out
    assert "the teacher has accuracy" in done.out
    config = CLASSIFIER.load(tmp_path / "student")
    assert isinstance(config.task, DistillationConfig)
    assert config.task.temperature == 3
    for arch in ("cnn", "bow"):
        line: list[str | Path] = [
            "distill",
            made / "teacher",
            "--arch",
            arch,
            "--out",
            "planned",
            "--dry-run",
            "--threads",
            "1",
        ]
        done = senti(*line, "--json", cwd=tmp_path)
        plan = json.loads(done.out)
        assert plan["train_rows"] == 360
        assert plan["seconds"] > 0
        assert plan["memory_bytes"] > 1_000_000
    assert not (tmp_path / "planned").exists()
    done = senti("distill", "--resume", "student", cwd=tmp_path)
    assert (done.code, "nothing to resume" in done.err) == (2, True)
    done = senti("distill", "--resume", "student", "--arch", "gpt", cwd=tmp_path)
    assert (done.code, "takes no other settings" in done.err) == (2, True)
    done = senti("train", made / "reviews.csv", "--task", "distillation", "--arch", "cnn", cwd=tmp_path)
    assert (done.code, "senti distill TEACHER trains such a run" in done.err) == (2, True)


def test_the_command_reads_texts_a_line(made: Path, tmp_path: Path) -> None:
    done = senti(
        "distill", made / "teacher", "--data", made / "texts.txt", "--format", "lines", "--out", "student",
        "--preset", "nano", "--epochs", "1", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["arch"] == "lstm"
    assert found["distilled"]["rows"] == 30
    done = senti("runs", tmp_path, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    done = senti("card", "student", cwd=tmp_path)
    assert done.code == 0, done.err
    done = senti("plot", "student", "-o", "curves.png", cwd=tmp_path)
    assert done.code == 0, done.err
    line: list[str | Path] = [
        "distill",
        made / "teacher",
        "--data",
        made / "texts.txt",
        "--format",
        "lines",
        "--dry-run",
    ]
    done = senti(*line, "--preset", "nano", "--json", cwd=tmp_path)
    assert json.loads(done.out)["seconds"] > 0
