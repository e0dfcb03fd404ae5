"""Benchmarks of language models: a small version of what is measured, and the page that results become."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOME = {"mean": 1.5, "deviation": 0.25, "values": [1.0, 2.0]}
OCCASION: dict[str, Any] = {
    "git": "0" * 40, "date": "2000-01-01 00:00", "load": [0.5, None], "versions": {"torch": "2"},
    "command": "type this",
}  # fmt: skip
SPEED: dict[str, Any] = {
    "precisions": {
        precision: {
            "sides": {
                "ours": {"parameters": 10, "tokens_per_second": 130.0},
                "plain torch": {"parameters": 12, "tokens_per_second": plain},
                "transformers GPT-2": {"parameters": 12, "tokens_per_second": 131.0},
            },
            "limit": 260.0,
        }
        for precision, plain in (("float32", 100.0), ("bfloat16", 104.0))
    },
    "threads": 1,
}  # fmt: skip
SPEED["precisions"]["bfloat16"]["sides"] |= {
    "ours, compiled": {"parameters": 10, "tokens_per_second": 150.0},
    "plain torch, compiled": {"parameters": 12, "tokens_per_second": 120.0},
}
WITHOUT_AVX512 = {**SPEED, "precisions": {"float32": SPEED["precisions"]["float32"]}}
GPU: dict[str, Any] = {
    "device": "NVIDIA H200", "parameters": 123_500_000, "context": 1024, "tokens_per_second": 351_234.0,
    "batch": 64, "peak_memory_bytes": 29_740_000_000, "mfu": 0.275, "formula": "6 N a token", "peak": 989e12,
}  # fmt: skip
GENERATION: dict[str, Any] = {
    "cases": {"tiny": {"rows": 1, "new_tokens": 256, "tokens_per_second": 99.4, "with_cache": 4.9,
                       "against_transformers": 1.0, "threads": 1, **OCCASION}},
}  # fmt: skip
SCORES: dict[str, Any] = {
    **dict.fromkeys(("bleu", "perplexity", "bits_per_byte", "distinct_1", "distinct_2", "copied"), SOME),
    "rests": {"distinct_1": SOME}, "signature": "nrefs:1",
}  # fmt: skip
OPTIMIZERS = {
    "config": {"steps": 300, "rows": 16, "reviews": [8000, 400]},
    "sides": {
        name: {
            "tried": [
                {"rate": rate, "bits_per_byte": bits + more} for rate, bits in ((0.001, 2.25), (0.003, 2.125))
            ],
            "rate": 0.003, "dev": [2.125 + more, 2.25 + more, 2.375 + more],
            "test": [2.0 + more, 2.125 + more, 2.25 + more], "cpu_seconds": [10.0, 12.0, 14.0],
        }
        for name, more in (("TinyLLM's", 0.25), ("Muon", 0.0))
    },
}  # fmt: skip
STYLE = {
    "config": {"prompt": 100},
    "test": {
        "base": SCORES,
        "tuned": {**SCORES, "bleu": {**SOME, "values": [1.5, 3.0]}},
        "better": {"of": 15, "by_seed": [7, 9]},
    },
}
JUDGED = {"reward_mean": 0.5, "reward_median": 0.25, "kl": 9.25, "distinct_1": 0.5, "distinct_2": 0.75}
ALIGNMENT: dict[str, Any] = {
    "seeds": [
        {
            "seed": seed,
            "test": {
                "before": {**JUDGED, "distinct_2": 0.625},
                "after": JUDGED,
                "gain_in_std": in_std,
                "better": 7,
                "openings": 9,
                "gain": 2.0,
            },
            "dev": {"gain": 2.25},
            "cpu_seconds": {"base": 600.0, "policy": 420.0},
        }
        for seed, in_std in enumerate((1.5, 1.25, 1.625))
    ],
    "gain": {"value": 2.0, "low": 1.5, "high": 2.5, "seeds": 3},
    "earlier": [{"date": "1999-12-31 23:59", "commit": "1" * 40, "gain": [1.875]}],
    "samples": [
        {
            "opening": "A film",
            "before": "of <br /> a|b\nmess",
            "after": " *great*",
            "reward_before": -1.254,
            "reward_after": 3.0,
            "kl": 8.96,
        },
    ],
}
SHOWN = ("bert", "bert, masked", "bert, masked and next sentence", "gpt, next token")
JOINT = {"value": 0.0125, "low": 0.005, "high": 0.02, "seeds": 2}
LESS = {"value": 0.005, "low": -0.0025, "high": 0.0125, "seeds": 2}
SEEN = [{"accuracy": 0.61, "macro_f1": 0.5}, {"accuracy": 0.63, "macro_f1": 0.4}]
PART: dict[str, Any] = {
    "scores": dict.fromkeys(SHOWN, SEEN),
    "intervals": dict.fromkeys(SHOWN, JOINT),
    "gain": {"bert, masked": JOINT, "bert, masked and next sentence": JOINT, "gpt, next token": LESS},
}
DROPPED = {"0.003, embedding dropout 0.1": 0.65, "0.001, embedding dropout 0.1": 0.6}
PRETRAINED: dict[str, Any] = {
    "set": "kaggle", "dev": PART, "sealed": PART, "commonest_label": 0.5,
    "tried": {
        kind: {"0.003": 0.625, "0.001": 0.6375} | ({"0.01": 0.5} if kind.startswith("bert") else DROPPED)
        for kind in SHOWN
    },
    "parameters": dict.fromkeys(SHOWN, 1000),
    "cpu_seconds": {kind: [61.0, 60.0] for kind in SHOWN},
    "beside": {"bert": [dict.fromkeys(("kaggle", "sst5", "sst2"), one) for one in SEEN]},
    "bases": {
        name: {"parameters": 1100, "tokens": 2_000_000, "cpu_seconds": seconds,
               "valid": {"loss": 6.0, "masked_loss": 5.5, "next_sentence": 0.625}}
        for name, seconds in (("masked", 1800.0), ("masked-next-sentence", 1801.0))
    },
    "earlier": [{"date": "1999-12-31 23:59", "commit": "1" * 40, "gain": {"gpt, next token": LESS}}],
    "starts": {"bert, masked": "masked", "bert, masked and next sentence": "masked-next-sentence",
               "gpt, next token": "masked"},
    "lengths": {"texts": 10, "up_to": [64, 128], "shares": [0.5, 0.25, 0.25], "texts_per_second": 9000.0,
                "quantiles": {"0.5": 60, "1": 2000}},
    "submission": None,
}  # fmt: skip


def kinds_of(arch: str) -> dict[str, Any]:
    """What is measured of one architecture."""

    def own(whole: dict[str, Any]) -> dict[str, Any]:
        return {kind: value for kind, value in whole.items() if kind.startswith(arch)}

    parts = {place: {key: own(value) for key, value in PART.items()} for place in ("dev", "sealed")}
    by_kind = {key: own(PRETRAINED[key]) for key in ("tried", "parameters", "cpu_seconds", "starts")}
    earlier = [{**one, "gain": own(one["gain"])} for one in PRETRAINED["earlier"]]
    return {**PRETRAINED, **parts, **by_kind, "earlier": [one for one in earlier if one["gain"]]}


GROWTH = [
    {"name": name, "length": length, "seconds": seconds, "bytes": used, "parameters": 1000, "torch": "2",
     "load": [1.0, 2.0], "commit": "0" * 40, "date": "2000-01-01 00:00"}
    for name, length, seconds, used in [
        ("softmax", 128, 1.0, None), ("softmax", 256, 4.0, 4e6), ("linear-elu", 128, 1.5, 3e6),
        ("linear-elu", 256, 3.0, 6e6), ("softmax, written out", 256, 5.0, 9e6),
    ]
]  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches" / "models")
    return importlib.import_module("language_page")


def test_time_and_memory_against_length(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kind at two lengths; a second call measures nothing anew, and the plot reads the file."""
    from sentimodels.plots.growth import read_growth

    path = tmp_path / "growth.jsonl"
    monkeypatch.setattr(bench.lengths, "TRY_SECONDS", 0.0)
    call = ["lengths.py", "--lengths", "16", "80", "--out", str(path)]
    monkeypatch.setattr(sys, "argv", [*call, "--seconds", "0"])
    bench.lengths.main()
    assert "points are left; type the command again" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", call)
    bench.lengths.main()
    assert "all points are there" in capsys.readouterr().out
    written = path.read_text("utf-8")
    bench.lengths.main()
    assert path.read_text("utf-8") == written
    found = read_growth(path)
    assert list(found) == list(bench.lengths.KINDS)
    assert all([point[0] for point in points] == [16, 80] for points in found.values())
    sizes = [one["parameters"] for one in bench.lengths.there(path).values()]
    assert max(sizes) < 1.1 * min(sizes)


def test_the_benchmark_of_a_gpu_runs_small_on_any_device(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = importlib.import_module("gpu")
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--small"])
    gpu.main()
    said = capsys.readouterr().out
    assert "vocabulary: 600\n" in said
    assert "step 6: " in said
    assert "the bar is of one H200; this is another device" in said
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "no GPU here; --small tries" in capsys.readouterr().err


def test_where_kinds_cross(bench: Any) -> None:
    points = {(one["name"], one["length"]): one for one in GROWTH}
    crossing = bench.lengths.crossing
    assert crossing(points, "linear-elu", "softmax", "seconds") == "between 128 and 256"
    assert crossing(points, "linear-elu", "softmax", "bytes") == "not up to 256"
    assert crossing(points, "linear-elu", "softmax, written out", "bytes") == "from 256"
    assert crossing(points, "mamba", "softmax", "seconds") == "not measured"


def test_what_has_no_result_is_not_measured(bench: Any, tmp_path: Path) -> None:
    assert bench.part(tmp_path).count("Not measured; type `python benches/models/") == 11


def test_results_become_the_page(bench: Any, tmp_path: Path) -> None:
    files = {
        "training_speed": SPEED, "training_speed-avx2": WITHOUT_AVX512,
        "generation": GENERATION, "optimizers": OPTIMIZERS, "style": STYLE, "alignment": ALIGNMENT,
        "pretrained-kaggle-bert": kinds_of("bert"), "pretrained-kaggle-gpt": kinds_of("gpt"),
        "gpu_speed": GPU,
        "pretrained-imdb-bert": {**kinds_of("bert"), "set": "imdb", "submission": "best"},
    }  # fmt: skip
    for name, result in files.items():
        content = {"format": "sentimodels.evidence/1", **OCCASION, **result}
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    (tmp_path / "growth.jsonl").write_text("".join(json.dumps(one) + "\n" for one in GROWTH), "utf-8")
    page = bench.part(tmp_path)
    assert "Not measured" not in page
    for line in (
        "| plain torch | 12 | 100 | 1.30 | at least 1.3: met |",
        "| products and attention of ours, alone |  | 260 | 0.50 |  |",
        "Ours compiled, over the faster of plain torch compiled and not: 1.25 times; at least 1.3: missed.",
        "| plain torch | 12 | 104 | 1.25 | at least 1.3: missed |",
        "| transformers GPT-2 | 12 | 131 | 0.99 | at least 1: missed |",
        "| NVIDIA H200 | 123,500,000 | 1,024 | 64 | 29.7 GB | 351,234 | 27.5 % | met |",
        "MFU is 6 N a token, of a peak of 9.89e+14.",
        "| tiny | 256 | 99 | 4.90, missed | 1.00, met | 1 |",
        "reads 1,228,800 tokens of 8,000 reviews of IMDB in 300 steps, 3 % of what the preset reads.",
        "| Muon | 0.001: 2.250, 0.003: 2.125 | 0.003 | 2.250 ± 0.125 | 2.125 ± 0.125 | -0.250 (-0.250 to",
        "| 128 | 1.000 s | 1.500 s, 3 MB | - |",
        "| linear-elu | between 128 and 256 | not up to 256 | from 256 |",
        "| bleu | 1.500 ± 0.250 | 1.500 ± 0.250 | +0.750 (-2.427 to +3.927) |  |",
        "| distinct 1 | 1.500 ± 0.250 | 1.500 ± 0.250 | +0.000 (+0.000 to +0.000) | 1.500 ± 0.250 |",
        "|  | seed 0 | seed 1 | seed 2 |",
        "| gain, deviations of the start | 1.500 | 1.250 | 1.625 |",
        "| KL, nats | 9.250 | 9.250 | 9.250 |",
        "| distinct-2 before, after | 0.625, 0.750 | 0.625, 0.750 | 0.625, 0.750 |",
        "| share of distinct-2 | 1.200 | 1.200 | 1.200 |",
        "| CPU minutes | 17 | 17 | 17 |",
        "| bert | 1,000 | 0.001 | 2 | 0.6200 ± 0.0141 / 0.450 | 0.6200 ± 0.0141 / 0.450 | 0.0050 to 0.0200 "
        "| 0.6200 ± 0.0141 / 0.450 | 0.6200 ± 0.0141 / 0.450 | 0.6200 ± 0.0141 / 0.450 | 60 |",
        "| bert, masked | +1.25 (+0.50 to +2.00) | +1.25 (+0.50 to +2.00) | met |",
        "| bert, masked and next sentence | +1.25 (+0.50 to +2.00) | +1.25 (+0.50 to +2.00) | missed |",
        "| gpt, next token | +0.50 (-0.25 to +1.25) | +0.50 (-0.25 to +1.25) | missed |",
        "| gpt, next token | +0.50 (-0.25 to +1.25) | +0.50 (-0.25 to +1.25) |",
        "before, by dev as well. 1999-12-31 23:59, commit 111111111: gpt, next token +0.50 (-0.25 to +1.25).",
        "| bert | 0.5000 | 0.6250 | **0.6375** |",
        "| gpt, next token | - | 0.6250 | 0.6375 |",
        "Reviews, of the corpus and of the classifiers, are rewritten in the style of the phrases, and the",
        "| gpt, next token, embedding dropout 0.1 | - | **0.6500** | 0.6000 |",
        "| masked next sentence | 1,100 | 2,000,000 | 30 | 5.500 | 62.5 % |",
        "| share of the training texts | 50.0 % | 25.0 % | 25.0 % |",
        "The submission `Id,Category` is of `best`.",
        "Mean reward up by 2.000 (1.500 to 2.500; 95 %, over seeds and openings).",
        "The test openings had judged before: mean reward up by 1.875 (1999-12-31 23:59, commit 111111111).",
        "Bars, of the mean over seeds: reward gained, in deviations of the start, at least 1.5: missed; KL "
        "in nats at most 10: met; distinct-2 as a share of the start at least 0.8: met.",
        r"| A film | of \<br /\> a\|b mess | \*great\* | -1.25 | 3.00 | 8.96 |",
        "2000-01-01 00:00, commit 000000000, torch 2, load 0.5 and unknown: `type this`.",
    ):
        assert line in page


def test_an_earlier_commit_becomes_its_section(bench: Any, tmp_path: Path) -> None:
    before = importlib.import_module("before_page")
    assert before.part(tmp_path).startswith("Not measured; type `python benches/models/before.py 156d62a`")
    run = {"accuracy": 0.5, "macro_f1": 0.4, "tokens_per_second": 100, "seconds": 4}
    better = {"accuracy": 0.6, "macro_f1": 0.5, "tokens_per_second": 110, "seconds": 5}
    bag = {**run, "tokens_per_second": None}
    worse = {"value": -0.1, "low": -0.2, "high": -0.01}
    archs = {
        "cnn": {"then": [run, run], "now": [better, {**better, "tokens_per_second": 90}], "gain": JOINT},
        "rnn": {"then": [better, better], "now": [run, run], "gain": worse},
        "nb": {"then": [bag], "now": [{**bag, "seconds": 5}], "gain": {**LESS, "value": 0.0}},
    }
    for one in archs.values():
        one["macro_f1_gain"] = LESS
    content = {"format": "sentimodels.evidence/1", "then": "1" * 40, "archs": archs, **OCCASION}
    (tmp_path / "before.json").write_text(json.dumps(content), "utf-8")
    section = before.part(tmp_path)
    less = "+0.50 (-0.25 to +1.25)"
    for line in (
        f"| `cnn` | 0.5000 | 0.6000 | +1.25 (+0.50 to +2.00) | 0.4000 | 0.5000 | {less} "
        "| 1.00 (0.90 to 1.10) |",
        f"| `rnn` | 0.6000 | 0.5000 | -10.00 (-20.00 to -1.00) | 0.5000 | 0.4000 | {less} "
        "| 0.91 (0.91 to 0.91) |",
        f"| `nb` | 0.5000 | 0.5000 | +0.00 (-0.25 to +1.25) | 0.4000 | 0.4000 | {less} "
        "| 0.80 (0.80 to 0.80) |",
        "Bars, of all architectures: accuracy gained, upper end of the interval, at least 0: missed; "
        "macro-F1 gained, upper end of the interval, at least 0: met; speed of training, slowest of all, "
        "at least 0.97: missed.",
    ):
        assert line in section
    assert "Defaults of commit 111111111, the last one before" in section


def test_a_taught_student_becomes_its_section(bench: Any, tmp_path: Path) -> None:
    distilled = importlib.import_module("distilled_page")
    assert distilled.part(tmp_path).startswith("Not measured; type `python benches/models/distill.py --test`")
    seeds = {"alone": [{"accuracy": 0.5}, {"accuracy": 0.6}], "taught": [{"accuracy": 0.56}] * 2}
    result = {
        "format": "sentimodels.evidence/1", "unlabelled": 1500, "members": {"bow": 3, "gru": 1},
        "epochs": {"alone": 2, "taught": 4},
        "earlier": [{"date": "1999-12-31 23:59", "commit": "1" * 40, "gain": JOINT}],
        "scores": {"dev": seeds, "sealed": seeds}, "gain": {"dev": LESS, "sealed": {**LESS, "value": 0.004}},
        "stamp": {**OCCASION, "commit": "0" * 40},
    }  # fmt: skip
    (tmp_path / "distillation.json").write_text(json.dumps(result), "utf-8")
    section = distilled.part(tmp_path)
    assert "| dev | 0.5500 | 0.5600 | +0.50 (-0.25 to +1.25) | +0.5: met |" in section
    assert "| sealed | 0.5500 | 0.5600 | +0.40 (-0.25 to +1.25) | +0.5: missed |" in section
    assert "Means of 2 seeds of the row `lstm`, taught for 4 epochs, alone for 2: " in section
    assert "other students before: +1.25 (+0.50 to +2.00), 1999-12-31 23:59, commit 111111111." in section
    assert "among runs (3 of bow; 1 of gru)" in section
    assert "1,500 phrases" in section
