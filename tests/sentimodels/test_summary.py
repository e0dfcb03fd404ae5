"""The live line of training at any width, and what the summary says of a difference."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from sentimodels.cli.launch import drawn, logged
from sentimodels.cli.summary import seeds_summary, verdict
from sentimodels.runs.judging import gain


def screen(width: int, records: list[dict[str, Any]]) -> list[str]:
    """The output, line by line, without control codes."""
    file = io.StringIO()
    with drawn(Console(width=width, file=file, force_terminal=True, color_system=None)) as draw:
        for record in records:
            draw(record)
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue()))


STEP = {"step": 12_000, "total_steps": 48_000, "seconds": 60.0, "tokens": 9_000_000, "loss": 0.5, "lr": 1e-3}
SCORES = {key: value for key, value in STEP.items() if key not in ("loss", "lr")} | {
    "val_loss": 0.4, "val_accuracy": 0.8123, "val_macro_f1": 0.7, "monitor": "val_macro_f1",
}  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 200])
def test_times_are_whole_whatever_is_shown(width: int) -> None:
    lines = screen(width, [STEP, SCORES, STEP])
    live = [line for line in lines if "12000/48000" in line]
    assert live
    for line in live:
        assert "loss 0.5000 lr 1.0e-03 150,000 tok/s" in line
        assert re.search(r"\d:\d\d:\d\d +(\d:\d\d:\d\d|-:--:--)$", line.rstrip()), line
        assert "…" not in line
        assert "0.8123" not in line
    assert any("validation loss 0.4000, accuracy 0.8123, macro F1 0.7000" in line for line in lines)


def test_before_the_first_step_nothing_is_counted() -> None:
    lines = screen(80, [])
    assert any("preparing" in line for line in lines)
    assert not any("None" in line for line in lines)


def test_a_log_has_lines_with_the_time_left() -> None:
    """The first at once, then some every few seconds; each evaluation has one."""
    now = iter([0.0, 3.0, 4.0, 9.0, 15.0])
    said: list[str] = []
    draw = logged(said.append, lambda: next(now))
    for record in (STEP, STEP, SCORES, STEP, STEP | {"step": 24_000, "seconds": 5000.0}):
        draw(record)
    assert said == [
        "step 12,000/48,000: loss 0.5000 lr 1.0e-03 150,000 tok/s, 0:03:00 left",
        "step 12,000: validation loss 0.4000, accuracy 0.8123, macro F1 0.7000",
        "step 24,000/48,000: loss 0.5000 lr 1.0e-03 1,800 tok/s, 1:23:20 left",
    ]


def test_gain_with_its_interval() -> None:
    """The interval of a mean of differences, by group."""
    rng = np.random.default_rng(0)
    right, other = rng.random(400) < 0.8, rng.random(400) < 0.7
    found = gain(right, other)
    difference = right.astype(float) - other
    assert found["gain"] == pytest.approx(difference.mean())
    assert found["interval"] == pytest.approx(1.96 * difference.std(ddof=1) / 20)
    # Every row four times over, as one group: no more is known.
    groups = [str(row // 4) for row in range(1600)]
    again = gain(np.repeat(right, 4), np.repeat(other, 4), groups)
    assert again == pytest.approx(found)
    assert gain(right, right) == {"gain": 0.0, "interval": 0.0}


# (gain, half the interval, message)
SAID = [
    (0.04, 0.03, "gpt beats tfidf (+4.0 ± 3.0 points)"),
    (0.02, 0.03, "gpt is within noise of tfidf (+2.0 ± 3.0 points)"),
    (-0.05, 0.03, "gpt is below tfidf (-5.0 ± 3.0 points)"),
]


@pytest.mark.parametrize(("difference", "half", "said"), SAID)
def test_a_difference_counts_outside_its_interval(difference: float, half: float, said: str) -> None:
    assert verdict({"arch": "gpt", "baselines": {"tfidf": {"gain": difference, "interval": half}}}) == said
    runs = [{"arch": "gpt", "baselines": {"tfidf": {"accuracy": 0.8, "interval": 0.0}}}, {}]
    spread = {"accuracy": {"mean": 0.8 + difference, "interval": half}}
    text = seeds_summary({"seeds": runs, "spread": spread, "failed": {}}, Path("runs"))
    assert f"{said}, over seeds and rows" in text
    assert "judged on" not in text
    judged = [{**run, "judged": "crossed"} for run in runs]
    text = seeds_summary({"seeds": judged, "spread": spread, "failed": {}}, Path("runs"))
    assert f"{said}, over seeds and rows\njudged on valid, cross-fitted: each half of valid" in text
    assert verdict({"arch": "gpt"}) == ""
