"""The mixture of the page of results: chosen among all runs that count, or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_results import made
from sentimodels.data.labels import Labels
from sentimodels.evaluation.predictions import Predictions

RUNS = (("bow", 0), ("bow", 1), ("gru", 0))


def answer(bench: Any, folder: Path, row: str, seed: int) -> dict[str, Any]:
    """Leaves the answers of a run where the mixture looks for them, and returns its result."""
    drawn = np.random.default_rng(len(row) + seed)
    truth = drawn.integers(0, 5, 60)
    raw = drawn.random((60, 5)) + 2 * np.eye(5)[truth] * (drawn.random((60, 1)) < 0.6)
    probs = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
    texts = [f"phrase {n}" for n in range(60)]
    groups = [str(n // 3) for n in range(60)]
    found = Predictions(Labels("01234"), probs, truth, texts, groups=groups)
    path = bench.result.path_of(folder, "kaggle", row, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    for place in bench.mixtures.PLACES:
        found.save(path.with_name(f"{path.stem}.{place}.npz"))
    scores = dict.fromkeys(("dev", "sealed", "kaggle", "sst5"), bench.train_one.scored(found))
    return {**made(bench, "kaggle", row, seed, 0.6), "scores": scores}


@pytest.fixture
def found(bench: Any, tmp_path: Path) -> dict[tuple[str, str], list[Any]]:
    """Three runs with their answers."""
    results: dict[tuple[str, str], list[Any]] = {}
    for row, seed in RUNS:
        results.setdefault(("kaggle", row), []).append(answer(bench, tmp_path / "answers", row, seed))
    # One that saw dev, and one of another set: never members.
    results["kaggle", "bow" + bench.rows.AGAIN] = [made(bench, "kaggle", "bow" + bench.rows.AGAIN, 0, 0.7)]
    results["imdb", "bow"] = [made(bench, "imdb", "bow", 0, 0.9)]
    return results


def make(bench: Any, found: dict[tuple[str, str], list[Any]], folder: Path, monkeypatch: Any) -> Any:
    """Makes the mixture; returns what its file says."""
    monkeypatch.setattr(bench.mixtures, "read_table", lambda path: None)
    monkeypatch.setattr(bench.mixtures, "REMEMBERING", ())
    bench.mixtures.make(found, folder, folder / "answers", folder)
    return bench.result.read(bench.result.path_of(folder, "kaggle", bench.rows.MIXTURE, 0))


def test_all_runs_on_train_alone_may_be_members(
    bench: Any, found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = make(bench, found, tmp_path, monkeypatch)
    assert [(one["row"], one["seed"]) for one in result["among"]] == list(RUNS)
    assert result["earlier"] == []
    assert sum(one["weight"] for one in result["members"]) == pytest.approx(1)


def test_where_answers_are_missing_nothing_is_chosen(
    bench: Any, found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither among the fewer runs that are left, nor over what was there before."""
    before = make(bench, found, tmp_path, monkeypatch)
    (gone,) = (tmp_path / "answers" / "kaggle").glob("gru-seed-0.sealed.npz")
    gone.unlink()
    with pytest.raises(SystemExit, match=r"1 of 3 runs have no answers .*: gru \(0\);.*kaggle --answers"):
        make(bench, found, tmp_path, monkeypatch)
    assert bench.result.read(bench.result.path_of(tmp_path, "kaggle", bench.rows.MIXTURE, 0)) == before


def test_answers_of_another_run_are_none(bench: Any, found: Any, tmp_path: Path) -> None:
    first, second = found["kaggle", "bow"]
    assert bench.mixtures.library({("kaggle", "bow"): [first]}, tmp_path / "answers") == [first]
    with pytest.raises(SystemExit, match=r"bow \(0\)"):
        bench.mixtures.library({("kaggle", "bow"): [{**second, "seed": 0}]}, tmp_path / "answers")


def test_fewer_runs_never_take_the_place_of_more(
    bench: Any, found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bench, found, tmp_path, monkeypatch)
    whole = dict(found)
    del found["kaggle", "gru"]
    with pytest.raises(SystemExit, match=r"chosen among 3 runs, of which 1 have no result .*: gru \(0\)"):
        make(bench, found, tmp_path, monkeypatch)
    again = make(bench, whole, tmp_path, monkeypatch)
    (earlier,) = again["earlier"]
    assert earlier["among"] == 3
    assert bench.results_page.judged_before(again).startswith(
        " The sealed part had judged before it a mixture chosen among 3 runs, accuracy 0."
    )


def test_a_run_without_answers_runs_again_where_they_are_asked_for(
    bench: Any,
    found: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = bench.run_all.Job("kaggle", "gru", bench.rows.rows_of("kaggle")["gru"], 0)
    again = bench.run_all.Job("kaggle", "bow" + bench.rows.AGAIN, job.row, 0)
    monkeypatch.setattr(bench.run_all, "RESULTS", tmp_path)
    monkeypatch.setattr(bench.run_all, "ANSWERS", tmp_path / "answers")
    monkeypatch.setattr(bench.run_all, "why_not", lambda job, data: [])
    monkeypatch.setattr(bench.run_all, "changed", lambda arch: [])
    ran: list[Any] = []
    monkeypatch.setattr(bench.run_all, "run", lambda job, data, limits: ran.append(job))
    job.path.parent.mkdir(parents=True, exist_ok=True)
    for one in (job, again):
        (result,) = found["kaggle", one.name]
        one.path.write_text(json.dumps(result | {"format": bench.result.FORMAT}))
    bench.run_all.work([job, again], tmp_path, 1, answers=True)
    assert ran == []
    (tmp_path / "answers" / "kaggle" / "gru-seed-0.dev.npz").unlink()
    bench.run_all.work([job, again], tmp_path, 1)
    assert ran == []
    bench.run_all.work([job, again], tmp_path, 1, answers=True)
    assert ran == [job]
