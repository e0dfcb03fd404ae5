"""Figures: written, equal for equal data, drawn from the data they are given, and readable in grey."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from fake_run import LABELS, some_predictions
from sentimodels.cli.plot import _courses, _named
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.evaluation.predictions import Predictions
from sentimodels.plots import KINDS, Asked, drawing, save
from sentimodels.plots.answers import calibration, confusion_matrices, rows_of
from sentimodels.plots.runs import (
    History,
    Reached,
    accuracy,
    curves,
    rates,
    read_history,
    read_reached,
    series,
    smooth,
    trained_on,
)
from sentimodels.plots.texts import label_histogram, length_histogram
from sentitok.figures import canvas


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_are_written_and_equal_for_equal_data(tmp_path: Path, suffix: str) -> None:
    counts = {"train": {"neg": 3, "pos": 5}, "valid": {"pos": 1}}
    for name in ("a", "b"):
        save(label_histogram(counts), tmp_path / f"{name}{suffix}")
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("a", "b"))
    assert len(first) > 1000
    assert first == second


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.png, \.svg or \.pdf"):
        save(length_histogram({"a": [1, 2]}), tmp_path / "a.bmp")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_the_table_draws(kind: str) -> None:
    assert callable(drawing(kind))


def test_lines_points_and_bars_differ_without_colour() -> None:
    styles = [canvas.line_style(place, 50) for place in range(20)]
    for one, other in itertools.combinations(styles, 2):
        assert one["linestyle"] != other["linestyle"] or one["marker"] != other["marker"]
    assert len({canvas.point_style(place)["marker"] for place in range(8)}) == 8
    assert len({canvas.bar_style(place)["hatch"] for place in range(5)}) == 5


def test_names_are_neither_formulas_nor_left_out() -> None:
    assert canvas.plain("$x$") == r"\$x\$"
    assert canvas.plain("_run").strip() == "_run"
    assert canvas.plain("_run")[0] != "_"
    assert len(canvas.plain("a" * 500)) <= 40


def test_curves_of_several_runs_share_an_axis(folder: Path) -> None:
    histories = {name: read_history(folder / "runs" / name) for name in ("gpt", "lstm")}
    figure = curves(histories, Asked(on="train.csv"))
    left, middle, right = figure.axes
    assert [len(axes.lines) for axes in (left, middle, right)] == [2, 2, 2]
    assert np.asarray(right.lines[0].get_xydata()) == pytest.approx(np.array([[10.0, 0.5], [20.0, 0.6]]))
    assert len(np.asarray(left.lines[0].get_xydata())) == 20
    assert [axes.get_title() for axes in figure.axes] == [
        "loss in training, smoothed", "log loss on validation (nats)", "macro-F1 on validation"
    ]  # fmt: skip
    assert {axes.get_xlabel() for axes in figure.axes} == {"steps"}
    assert figure.get_suptitle() == "trained on train.csv"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["gpt", "lstm"]
    with pytest.raises(ConfigError, match="they have epoch, loss, lr, seconds"):
        curves(histories, Asked(score="val_kappa"))
    with pytest.raises(ConfigError, match="axis 'hours'"):
        curves(histories, Asked("hours"))
    assert curves(histories, Asked(score="val_accuracy")).axes[-1].get_title() == "accuracy on validation"


def test_rates_have_an_axis_of_their_own(folder: Path) -> None:
    (axes,) = rates({"gpt": read_history(folder / "runs" / "gpt")}, Asked("epoch")).axes
    assert np.asarray(axes.lines[0].get_ydata()).max() == 0.01
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epochs", "learning rate")
    with pytest.raises(ConfigError, match="only runs trained in steps"):
        rates({"bow": [{"step": 0, "val_loss": 1.0}]})


# (records of a run, titles of the figure)
COURSES: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    (
        "language model",
        [{"step": 1, "loss": 3.0, "lr": 0.1},
         {"step": 1, "val_loss": 2.0, "val_perplexity": 7.4, "val_bits_per_byte": 2.1}],
        ["loss in training, smoothed", "log loss on validation (nats)", "perplexity on validation",
         "bits per byte on validation"],
    ),
    (
        "translation",
        [{"step": 1, "loss": 3.0}, {"step": 1, "val_loss": 2.0, "val_perplexity": 7.4, "val_bleu": 20.0}],
        ["loss in training, smoothed", "log loss on validation (nats)", "perplexity on validation",
         "BLEU on validation"],
    ),
    (
        "alignment by PPO",
        [{"step": 1, "loss": 0.1, "lr": 0.1, "reward_mean": 0.4, "kl": 0.2, "distinct_2": 0.9}],
        ["loss in training, smoothed", "mean reward", "KL to the base (nats an answer)",
         "distinct pairs of words (share)"],
    ),
    (
        "alignment by DPO",
        [{"step": 1, "loss": 0.69, "lr": 0.1, "accuracy": 0.5, "margin": 0.0}],
        ["loss in training, smoothed", "chosen answer preferred (share), smoothed",
         "margin of implicit rewards, smoothed"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "records", "titles"), COURSES, ids=[row[0] for row in COURSES])
def test_curves_follow_from_what_was_trained(
    name: str, records: list[dict[str, Any]], titles: list[str]
) -> None:
    assert [axes.get_title() for axes in curves({"run": records}).axes] == titles


def test_a_score_is_a_number() -> None:
    histories: dict[str, History] = {
        "run": [{"step": 1, "loss": 2.0}, {"step": 2, "val_loss": 1.0, "monitor": "val_loss"}]
    }
    with pytest.raises(ConfigError, match=r"no run has 'monitor'; they have loss, step, val_loss$"):
        curves(histories, Asked(score="monitor"))


def test_runs_of_several_kinds_share_what_they_share() -> None:
    found = curves({"a": [{"step": 1, "loss": 1.0}], "b": [{"step": 1, "loss": 2.0, "kl": 0.1}]})
    assert [len(axes.lines) for axes in found.axes] == [2, 1]
    with pytest.raises(ConfigError, match="they have seconds, step"):
        curves({"a": [{"step": 1, "seconds": 1.0}]})


@pytest.mark.parametrize("content", [None, "", "{", "[1]\n"])
def test_runs_without_curves(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content, "utf-8")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl"):
        read_history(tmp_path)


def test_a_course_that_was_cut_off_or_has_no_numbers_is_drawn(tmp_path: Path) -> None:
    lines = ['{"step": 1, "loss": 2.0}', '{"step": 2, "loss": NaN}', '{"step": "x", "loss": 1.9}',
             '{"step": 3, "loss": 1.8}', '{"step": 4, "lo']  # fmt: skip
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines), "utf-8")
    history = read_history(tmp_path)
    assert len(history) == 4
    assert series(history, "step", "loss") == ([1.0, 3.0], [2.0, 1.8])
    (tmp_path / "metrics.jsonl").write_text("\n".join([lines[4], lines[0]]), "utf-8")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: no curves can be drawn"):
        read_history(tmp_path)


def test_runs_on_data_with_long_names_keep_their_own() -> None:
    long = "reviews-of-rotten-tomatoes-train-sentences.csv"
    said = [_named(name, None, long) for name in ("lstm", "gpt")]
    assert [canvas.plain(one) for one in said] == said
    assert said[0].startswith("lstm, on reviews-of-rotten")
    assert said[0].endswith("…")
    assert _named("cnn", None, "other.csv") == "cnn, on other.csv"
    assert _named("cnn", None, None) == "cnn"


def test_runs_of_several_tasks_say_theirs(tmp_path: Path) -> None:
    files: dict[str, Path] = {}
    for name, kind in (("gpt", "next-token"), ("bert", "masked"), ("old", None)):
        files[name] = tmp_path / name
        files[name].mkdir()
        (files[name] / "metrics.jsonl").write_text('{"step": 1, "val_loss": 2.0}\n', "utf-8")
        (files[name] / "config.toml").write_text(f'[task]\nkind = "{kind}"\n' if kind else "[task", "utf-8")
    assert list(_courses(files)[0]) == ["gpt, next-token", "bert, masked", "old"]
    assert list(_courses({"gpt": files["gpt"], "again": files["gpt"]})[0]) == ["gpt", "again"]
    (files["bert"] / "training_data.json").write_text('{"sources": [{"source": "a.txt"}]}', "utf-8")
    assert list(_courses(files)[0]) == ["gpt, next-token", "bert, masked, on a.txt", "old"]


def test_what_runs_were_trained_on_is_said_where_it_is_known(folder: Path, tmp_path: Path) -> None:
    assert trained_on(folder / "runs" / "gpt") == "train.csv"
    assert trained_on(tmp_path / "nothing") is None
    language = {"sources": [{"source": f"/a/{name}.txt"} for name in "abcd"]}
    (tmp_path / "training_data.json").write_text(json.dumps(language), "utf-8")
    assert trained_on(tmp_path) == "4 files"


def test_smoothing_starts_at_the_first_value() -> None:
    assert smooth([4.0, 4.0, 4.0]) == pytest.approx([4.0, 4.0, 4.0])
    assert smooth([1.0, 0.0])[1] == pytest.approx(0.98 * 0.02 / (0.98 * 0.02 + 0.02))
    assert smooth([]) == []


def test_matrices_stand_side_by_side_and_name_the_set() -> None:
    about = {"source": "/data/valid.csv"}
    found = {name: some_predictions(30, about=about) for name in ("a", "b")}
    assert rows_of(found) == "valid.csv, 30 rows"
    figure = confusion_matrices(found, Asked(on=rows_of(found)))
    assert [axes.get_title() for axes in figure.axes] == ["a", "b"]
    assert "valid.csv, 30 rows" in figure.get_suptitle()
    shares = np.asarray(figure.axes[0].images[0].get_array())
    assert shares.sum(axis=1) == pytest.approx(1)
    assert len(figure.axes[0].texts) == 9
    assert rows_of({**found, "c": some_predictions(9)}) is None


def test_calibration_has_a_line_intervals_and_counts_a_run() -> None:
    above, below = calibration({"a": some_predictions(300)}).axes
    (line,) = above.containers
    assert "ECE" in str(line.get_label())
    counts = [int(text.get_text()) for text in below.texts]
    assert sum(counts) == 300
    assert above.get_ylabel() == "share of right answers"
    assert below.get_ylabel() == "answers"
    several = calibration({"a": some_predictions(30), "b": some_predictions(9)})
    assert len(several.axes[0].containers) == 2
    assert not several.axes[1].texts


def test_intervals_of_a_bin_are_wilsons() -> None:
    """Nine of ten answers at one confidence: Wilson's interval of 0.9 by 10 rows is 0.596 to 0.982."""
    probs = np.tile(np.array([0.05, 0.9, 0.05], np.float32), (10, 1))
    truth = np.array([1] * 9 + [0])
    found = Predictions(LABELS, probs, truth, [f"t{row}" for row in range(10)])
    above = calibration({"a": found}).axes[0]
    (lines,) = above.collections
    assert isinstance(lines, LineCollection)
    ((low, high),) = [segment[:, 1].tolist() for segment in map(np.asarray, lines.get_segments())]
    assert (low, high) == pytest.approx((0.5958, 0.9821), abs=1e-3)


def test_lengths_end_at_the_last_bar() -> None:
    (axes,) = length_histogram({"a": [1] * 5000 + [99_999], "b": []}, limit=20).axes
    assert axes.get_xlim()[1] < 30
    assert axes.get_xlabel() == "length of a text (words)"


def about_run(accuracy_: float, parameters: int, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "parameters": parameters, "seconds": {"encode": 0.0, "steps": seconds},
        "rows": {"train": 80, "valid": 10, "test": 100}, "test": {"accuracy": accuracy_, **more},
    }  # fmt: skip


def ticks(axes: Any) -> set[str]:
    """The labels of the horizontal axis."""
    axes.figure.canvas.draw()
    return {label.get_text() for label in axes.get_xticklabels(which="both")} - {""}


def test_powers_are_spelled_out_on_the_axis_of_costs() -> None:
    found = {
        name: Reached(0.8, 0.7, 0.9, n, 1.0, "test rows") for name, n in (("a", 250_000), ("b", 360_000))
    }
    assert ticks(accuracy(found).axes[0]) >= {"300k"}


def test_accuracy_is_drawn_against_cost(tmp_path: Path) -> None:
    given = {"accuracy": [0.7, 0.9]}
    for name, about in (
        ("a", about_run(0.8, 1000, 2.0, intervals=given)),
        ("b", about_run(0.9, 10**6, 60.0)),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(about), "utf-8")
    found = {name: read_reached(tmp_path / name) for name in "ab"}
    assert found["a"] == Reached(0.8, 0.7, 0.9, 1000, 2.0, "test rows")
    assert found["b"].low == pytest.approx(0.8256, abs=1e-3)  # Wilson's, of 100 rows
    for axis, places in (("parameters", [1e6, 1e3]), ("seconds", [60.0, 2.0])):
        figure = accuracy(found, Asked(axis, on="reviews.csv"))
        (axes,) = figure.axes
        assert [float(lines[0].get_xdata()[0]) for lines in axes.containers] == places
        assert axes.get_xscale() == "log"
        assert axes.get_title() == "accuracy on reviews.csv: test rows"
        assert ticks(axes) >= ({"1k", "10k", "1M"} if axis == "parameters" else {"2", "10", "50"})
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["b", "a"]  # the better one first


def test_legends_cover_nothing() -> None:
    found = {f"run {n}": Reached(0.6 + n / 1e3, 0.59, 0.62, 100, 1.0, "test rows") for n in range(14)}
    figures = [accuracy(found), calibration({"a": some_predictions(30)})]
    figures.append(label_histogram({name: {"0": 1, "1": 2} for name in "abcdef"}))
    for figure in figures:
        (legend,) = figure.legends
        figure.canvas.draw()
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_dozens_of_runs_stay_inside_their_figure_and_are_told_apart_in_grey() -> None:
    dozens = {
        f"a recipe with a name, number {n}": Reached(0.6 + n / 1e3, 0.59, 0.7, 100 + n, 0.3, "test rows")
        for n in range(40)
    }
    figure = accuracy(dozens, Asked("seconds", on="the phrases of a set with a long name"))
    (legend,), (axes,) = figure.legends, figure.axes
    figure.canvas.draw()
    for box in (legend.get_window_extent(), axes.title.get_window_extent()):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert not legend.get_window_extent().overlaps(axes.title.get_window_extent())
    numbers = [text.get_text().strip() for text in axes.texts]
    assert numbers == [str(n) for n in range(1, 41)]
    assert [text.get_text().split()[0] for text in legend.get_texts()] == numbers
    assert "0.5" in ticks(axes)  # not 500m


# (content of run.json, message)
UNJUDGED: list[tuple[str, str | None, str]] = [
    ("nothing", None, "no run.json"),
    ("no json", "{", "says no accuracy"),
    ("a list", "[]", "says no accuracy"),
    ("a language model", json.dumps({"parameters": 3, "valid": {"loss": 1.0}}), "has no accuracy"),
]


@pytest.mark.parametrize(("name", "content", "said"), UNJUDGED, ids=[row[0] for row in UNJUDGED])
def test_runs_without_accuracy(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content, "utf-8")
    with pytest.raises(CheckpointError, match=said):
        read_reached(tmp_path)


def test_a_cost_of_nothing_has_no_place_on_a_logarithmic_axis() -> None:
    with pytest.raises(ConfigError, match="a: parameters 0"):
        accuracy({"a": Reached(0.5, 0.4, 0.6, 0, 1.0, "test rows")})
    with pytest.raises(ConfigError, match="axis 'step': expected parameters, seconds"):
        accuracy({"a": Reached(0.5, 0.4, 0.6, 1, 1.0, "test rows")}, Asked("step"))
