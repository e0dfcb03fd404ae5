"""Figures: written, equal for equal data, and drawn from the data they are given."""

from pathlib import Path

import numpy as np
import pytest

from fake_run import some_predictions
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.evaluation import plots


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_are_written_and_equal_for_equal_data(tmp_path: Path, suffix: str) -> None:
    counts = {"train": {"neg": 3, "pos": 5}, "valid": {"pos": 1}}
    for name in ("a", "b"):
        plots.save(plots.label_histogram(counts), tmp_path / f"{name}{suffix}")
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("a", "b"))
    assert len(first) > 1000
    if suffix != ".svg":  # whose ids are drawn at random
        assert first == second


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.pdf"):
        plots.save(plots.length_histogram({"a": [1, 2]}), tmp_path / "a.bmp")


def test_curves_of_several_runs_share_an_axis(folder: Path) -> None:
    histories = {name: plots.read_history(folder / "runs" / name) for name in ("gpt", "lstm")}
    left, middle, right = plots.curves(histories).axes
    assert [len(axes.lines) for axes in (left, middle, right)] == [2, 2, 2]
    assert np.asarray(right.lines[0].get_xydata()) == pytest.approx(np.array([[10.0, 0.5], [20.0, 0.6]]))
    assert len(np.asarray(left.lines[0].get_xydata())) == 20
    (axes,) = plots.rates(histories, "epoch").axes
    assert np.asarray(axes.lines[0].get_ydata()).max() == 0.01
    with pytest.raises(ConfigError, match="they have epoch, loss, lr, seconds"):
        plots.curves(histories, y="val_kappa")
    with pytest.raises(ConfigError, match="axis 'hours'"):
        plots.curves(histories, x="hours")


@pytest.mark.parametrize("content", [None, "", "{", "[1]\n"])
def test_runs_without_curves(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content, "utf-8")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl"):
        plots.read_history(tmp_path)


def test_smoothing_starts_at_the_first_value() -> None:
    assert plots.smooth([4.0, 4.0, 4.0]) == pytest.approx([4.0, 4.0, 4.0])
    assert plots.smooth([1.0, 0.0])[1] == pytest.approx(0.98 * 0.02 / (0.98 * 0.02 + 0.02))
    assert plots.smooth([]) == []


def test_matrices_stand_side_by_side() -> None:
    figure = plots.confusion_matrices({"a": some_predictions(30), "b": some_predictions(9)})
    assert [axes.get_title() for axes in figure.axes] == ["a", "b"]
    shares = np.asarray(figure.axes[0].images[0].get_array())
    assert shares.sum(axis=1) == pytest.approx(1)
    assert len(figure.axes[0].texts) == 9


def test_calibration_has_a_line_a_run() -> None:
    (axes,) = plots.calibration({"a": some_predictions(30), "b": some_predictions(9)}).axes
    assert len(axes.lines) == 3
    assert all("ECE" in str(line.get_label()) for line in axes.lines[1:])


def test_lengths_end_at_the_last_bar() -> None:
    (axes,) = plots.length_histogram({"a": [1] * 5000 + [99_999], "b": []}, limit=20).axes
    assert axes.get_xlim()[1] < 30
