"""Bars and claims: what is called met, missed, not measured or shown, from result files alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench_results import made


def test_a_bar_is_met_missed_or_not_measured(bench: Any) -> None:
    bar = bench.bars.Bar("kaggle", "bow", "sealed", "accuracy", 0.62)

    def word(*accuracies: float) -> tuple[str, str]:
        results = [made(bench, "kaggle", "bow", seed, value) for seed, value in enumerate(accuracies)]
        judged = bench.judged.judged(bar, {("kaggle", "bow"): results} if results else {})
        return judged.word, bench.bars_page.line(judged)

    assert word(0.63, 0.62, 0.62, 0.61, 0.62) == (
        "met", "kaggle: bow | sealed | accuracy at least 0.62 | 0.6200 | met",
    )  # fmt: skip
    said, line = word(*[0.61] * 5)
    assert said == "missed"
    assert line.endswith("| 0.6100 | missed")
    # Four of five seeds are no measurement, however good.
    assert word(*[0.9] * 4)[0] == word()[0] == "not measured"


def test_a_bar_relative_to_another_row(bench: Any) -> None:
    bar = bench.bars.Bar("kaggle", "mamba", "sealed", "accuracy", -0.01, near="encoder")
    found = {("kaggle", "mamba"): [made(bench, "kaggle", "mamba", seed, 0.6) for seed in range(3)]}
    assert bench.judged.judged(bar, found).word == "not measured"
    for level, word in ((0.605, "met"), (0.62, "missed")):
        found["kaggle", "encoder"] = [made(bench, "kaggle", "encoder", seed, level) for seed in range(3)]
        assert bench.judged.judged(bar, found).word == word


# (reached, at least, what is shown): one digit more than would make the two look equal
SHOWN = [
    (0.911994, 0.912, "0.91199"),
    (0.912, 0.912, "0.9120"),
    (0.62, 0.6, "0.6200"),
    (1234.4, 3.0, "1,234"),
]


@pytest.mark.parametrize(("reached", "least", "said"), SHOWN)
def test_what_was_reached_is_told_from_what_was_asked(
    bench: Any, reached: float, least: float, said: str
) -> None:
    bar = bench.bars.Bar("imdb", "nb", "sealed", "accuracy", least)
    assert bench.bars_page.shown(bench.judged.Judged(bar, reached, "")) == said


def test_bars_of_other_results_are_among_all(bench: Any) -> None:
    """Speed, distillation, translation, language models, alignment, Chinese: met, missed or not measured."""
    taught = {"gain": {"sealed": {"value": 0.004}}}
    folds = {"0": {"accuracy": {"`senti train`": 0.85, "with `--refit`": 0.9, "LinearSVC": 0.854}}}
    speed = {"sides": [{"name": bench.bars.TRAINER, "times": 3.5}, {"name": "other", "times": 1.0}]}
    gpu = {"device": "a card", "tokens_per_second": 1e9}
    made = {"distillation": taught, "chinese": {"folds": folds}, "trainer-speed": speed, "gpu_speed": gpu}
    every = bench.judged.all_judged({}, made)
    words = {one.bar.file: one.word for one in every if isinstance(one.bar, bench.bars.OtherBar)}
    assert words == {
        **dict.fromkeys(words, "not measured"),
        "distillation": "missed", "chinese": "met", "trainer-speed": "met",
    }  # fmt: skip
    by_speed = {"training_speed", "training_speed-avx2", "generation"}
    measured = {"translation", "alignment", "pretrained-kaggle-gpt", *by_speed}
    assert measured < set(words)
    others = len(every) - len(bench.bars.BARS) - 4
    assert bench.bars_page.count(every) == f"3 met, 1 missed, {len(bench.bars.BARS) + others} not measured."
    assert "| distillation, lstm | sealed | accuracy gained at least 0.005 | 0.0040 | missed |" in (
        bench.bars_page.part(every)
    )


def test_every_bar_names_a_row_that_is_run(bench: Any) -> None:
    for bar in bench.bars.BARS:
        known = {*bench.results_page.names_of(bar.of_set), bench.rows.CHOSEN}
        assert {bar.row, bar.near} - {None} <= known, bar


def test_a_missed_gate_ends_with_code_1(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.results_page, "write", lambda found, chosen, beside: [])
    monkeypatch.setattr(bench.origins, "refused", lambda folder: {})
    for level, code in ((0.63, 0), (0.55, 1)):
        name = "bow" + bench.rows.AGAIN
        results = [made(bench, "kaggle", name, seed, level) for seed in range(5)]
        monkeypatch.setattr(
            bench.run_all,
            "collected",
            lambda data, results=results, name=name: ({("kaggle", name): results}, {}),
        )
        monkeypatch.setattr(bench.run_all, "others", lambda folder: {})
        assert bench.run_all.pages(tmp_path) == code


# (accuracies of the worse row's seeds, of the better row's, what is said)
VERDICTS: list[tuple[list[float], list[float], str]] = [
    ([0.50] * 3, [0.80] * 3, "holds"),
    ([0.80] * 3, [0.50] * 3, "does not hold: the other way round"),
    ([0.60] * 3, [0.60] * 3, "not shown"),
    ([0.50], [0.80], "one seed: no verdict"),
]


@pytest.mark.parametrize(("worse", "better", "said"), VERDICTS)
def test_a_claim_holds_beyond_the_noise_of_a_seed(
    bench: Any, worse: list[float], better: list[float], said: str
) -> None:
    found = {
        ("kaggle", name): [
            made(bench, "kaggle", name, 10 * place + seed, level) for seed, level in enumerate(levels)
        ]
        for place, (name, levels) in enumerate((("gru", worse), ("lstm", better)))
    }  # fmt: skip
    joint, noise = bench.claims.compared(found, "kaggle", "gru", "lstm")
    assert bench.claims.verdict(joint, noise).startswith(said)


def test_seeds_that_differ_leave_a_claim_open(bench: Any) -> None:
    """The rows alone would say yes; another seed moves more than the difference."""
    from sentimodels.evaluation.joint_intervals import Joint

    assert bench.claims.verdict(Joint(0.01, 0.004, 0.016, 3), 0.002) == "holds"
    assert (
        bench.claims.verdict(Joint(0.01, 0.004, 0.016, 3), 0.005) == "not shown: within the noise of a seed"
    )


def test_translation_is_met_or_missed(bench: Any, tmp_path: Path) -> None:
    part, rows = bench.translations.part, bench.translations.ROWS
    nothing = part(tmp_path)
    assert all(f"type `python benches/models/translate.py {name}` (" in nothing for name in rows)
    found = json.loads((bench.result.RESULTS / "translation.json").read_text("utf-8"))
    assert not any(
        name.startswith("/") for side in ("train", "valid") for name in found["config"]["data"][side]
    )
    asked, on_gpu = ("BLEU at least 30", "CPU seconds at most 3,600"), "BLEU at least 38"
    for bleu, seconds, words in (
        (30.0, 3600.0, ("met", "met")), (29.9, 10.0, ("missed", "met")), (40.0, 3601.0, ("met", "missed")),
    ):  # fmt: skip
        for one in found["seeds"]:
            one["test"]["bleu"], one["cpu_seconds"] = bleu, seconds
        for row in rows.values():
            (tmp_path / f"{row.result}.json").write_text(json.dumps(found), encoding="utf-8")
        page = part(tmp_path)
        assert page.count(f" | {bleu:.2f} / ") == len(rows)
        said = "; ".join(f"{bar}: {word}" for bar, word in zip(asked, words, strict=True))
        assert page.count(f"Bars: {said}. ") == 1  # of one row alone
        assert page.count(f"Bars: {on_gpu}: {'met' if bleu >= 38 else 'missed'}. ") == 1
        assert page.count("Bars: ") == 2
    assert "Not measured" not in page
    found["seeds"].pop()
    (tmp_path / "translation.json").write_text(json.dumps(found), encoding="utf-8")
    assert "Bars: BLEU at least 30: not measured; " in part(tmp_path)
