"""Every bar of docs/results.md in one place: what it asks, and the part it is judged on.

Not for what was reached (`results/`). A bar is met, missed or not measured: that of a row is judged
on the mean over seeds, and not before all seeds of the row are there. A missed gate ends `run_all.py`
with exit code 1. Kaggle's test, SST-5, SST-2 and the folds of MR are reported alone, since older versions
were looked at there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from markdown import MET, MISSED
from pretrained_rows import KINDS
from result import read
from rows import AGAIN, CHOSEN, MEMORY, MIXTURE, rows_of

Result = dict[str, Any]
# Results by (set, row), one a seed.
Results = dict[tuple[str, str], list[Result]]
# Results of one file each, by the name of the file.
Others = dict[str, Result]

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Bar:
    """A bar on a row of `run_all.py`.

    Attributes:
        of_set: the data set.
        row: the row that is judged.
        part: where: `sealed`, `kaggle`, `sst5`, `sst2`, or `cost`.
        score: what of it.
        least: at least so much; with `most` instead, at most.
        most: at most so much.
        near: the row that it may be below by `least`, a difference.
        gate: whether a miss is a failure.
    """

    of_set: str
    row: str
    part: str
    score: str
    least: float | None = None
    most: float | None = None
    near: str | None = None
    gate: bool = True


BARS: list[Bar] = [
    Bar("kaggle", "tfidf" + AGAIN, "sealed", "accuracy", 0.602),
    Bar("kaggle", "bow" + AGAIN, "sealed", "accuracy", 0.616),
    Bar("kaggle", "cnn" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", "lstm" + AGAIN, "sealed", "accuracy", 0.630),
    Bar("kaggle", "lstm" + AGAIN, "sealed", "macro_f1", 0.49),
    Bar("kaggle", "encoder" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", "gpt" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle", MIXTURE, "sealed", "accuracy", 0.640),
    *(
        Bar("kaggle", row, "sealed", "accuracy", -0.01, near="encoder")
        for row in ("mamba", "encoder, linear-elu", "encoder, linear-softmax", "encoder, nystrom")
    ),
    *(
        Bar("kaggle", row, "sealed", "ece", most=0.02)
        for row in ("tfidf", "tfidf, characters", "nb", "bow", "cnn", "rnn", "gru", "lstm", "encoder", "bert",
                    "gpt", "mamba", MIXTURE)
    ),
    *(
        Bar("kaggle", row, "sealed", "accuracy_less_macro_f1", most=0.14)
        for row in ("rnn", "gru", "lstm", MIXTURE)
    ),
    Bar("kaggle", "tfidf", "cost", "seconds", most=20),
    Bar("kaggle", "bow", "cost", "fit_seconds", most=5),
    Bar("kaggle", "lstm", "cost", "seconds", most=300),
    *(
        Bar("kaggle", row, "cost", "padding", most=0.10)
        for row in ("cnn", "lstm", "encoder", "gpt", "mamba")
    ),
    Bar("imdb", "nb", "sealed", "accuracy", 0.912),
    Bar("kaggle", "tfidf" + AGAIN, "kaggle", "accuracy", 0.625, gate=False),
    Bar("kaggle", "bow" + AGAIN, "kaggle", "accuracy", 0.645, gate=False),
    Bar("kaggle", MIXTURE + MEMORY, "kaggle", "accuracy", 0.675, gate=False),
    Bar("kaggle", "lstm" + AGAIN, "sst5", "accuracy", 0.45, gate=False),
    Bar("kaggle", "lstm" + AGAIN, "sst2", "accuracy", 0.85, gate=False),
    Bar("mr", CHOSEN, "sealed", "accuracy", 0.794, gate=False),
]  # fmt: skip


@dataclass(frozen=True)
class OtherBar:
    """A bar on one number of a result that is no row of `run_all.py`.

    Attributes:
        file: the result file, without suffix.
        what: what is measured.
        part: where it is judged.
        score: what the number is.
        of: the number; `None` where the result has it not.
        least: at least so much; with `most` instead, at most.
        most: at most so much.
        gate: whether a miss is a failure.
    """

    file: str
    what: str
    part: str
    score: str
    of: Callable[[Result], float | None]
    least: float | None = None
    most: float | None = None
    gate: bool = True


# The Trainer as it is without settings, by its name in the result, and the times that ours is as fast.
TRAINER, TRAINER_TIMES = "transformers Trainer, defaults", 3.0
# Times the tokens a second of others, in pre-training and in generation.
PLAIN, COMPILED = "plain torch", "ours, compiled"
PRETRAINING = {PLAIN: 1.3, "transformers GPT-2": 1.0}
# What `pretrain.py` measures: files of its results, by the processor, and precisions.
PRETRAINED = {
    "pre-training in float32": ("training_speed", "float32"),
    "pre-training in bfloat16": ("training_speed", "bfloat16"),
    "pre-training in float32 without AVX-512": ("training_speed-avx2", "float32"),
}
GENERATION = {"with_cache": 5.0, "against_transformers": 1.0}
OVER = {"with_cache": "no cache", "against_transformers": "transformers"}
# Tokens a second of one GPU, and which.
GPU_TOKENS, GPU = 350_000, "H200"
BLEU, GPU_BLEU, TRANSLATION_SECONDS = 30.0, 38.0, 3600.0
# Seeds of what takes longer than a minute; a bar is judged on their mean.
SEEDS = 3
# Accuracy that a teacher, and pre-training, must be worth.
GAIN_TAUGHT, GAIN_PRETRAINED = 0.005, 0.01
PRETRAINING_SECONDS = 1800.0
# Accuracy that Chinese reviews may be below the best recipe of scikit-learn.
CHINESE = 0.005
# What `senti` does there, as the result names it; all else is of scikit-learn.
SENTI, REFIT = "`senti train`", "with `--refit`"
# What people wait for (`in_use.py`): each is at most so much of a unit, in the median.
IN_USE: dict[str, tuple[float, str]] = {
    "predict one text": (1.5, "s"),
    "predict 10,000 texts": (2.0, "s"),
    "verdict on 10,000 rows": (600.0, "s"),
    "from keystroke to bars": (50, "ms"),
    "answer of the server": (10, "ms"),
    "errors of 1,000 requests": (0, "errors"),
    "memory of 1,000 requests": (4, "MB"),
    "size of the page": (60, "kB"),
    "import of the server": (0.3, "s"),
    "help": (0.3, "s"),
}
# Today's speed of training beside an earlier commit's: turns of the same work differ by some hundredths.
AS_FAST = 0.97
# Deviations of the start, nats, share of the start.
REWARD, KL, DISTINCT = 1.5, 10.0, 0.8


def behind(scores: dict[str, float], ours: str = SENTI) -> float:
    """How far ours is below the best recipe of scikit-learn on Chinese reviews."""
    return max(score for name, score in scores.items() if name not in (SENTI, REFIT)) - scores[ours]


def _times_trainer(result: Result) -> float:
    return next(float(side["times"]) for side in result["sides"] if side["name"] == TRAINER)


def times(result: Result, other: str, precision: str) -> float:
    """Returns how many times as fast ours is trained, of what `pretrain.py` measures."""
    sides = result["precisions"][precision]["sides"]
    return float(sides["ours"]["tokens_per_second"] / sides[other]["tokens_per_second"])


def times_compiled(result: Result, precision: str) -> float | None:
    """Returns how many times as fast ours is, compiled, as plain torch, compiled or not: the faster."""
    sides = result["precisions"][precision]["sides"]
    speeds = {name: float(side["tokens_per_second"]) for name, side in sides.items()}
    if COMPILED not in speeds:
        return None
    return speeds[COMPILED] / max(speeds[PLAIN], speeds.get(f"{PLAIN}, compiled", 0.0))


def _slowest(result: Result, score: str) -> float:
    return min(float(case[score]) for case in result["cases"].values())


def _of_gpu(result: Result) -> float | None:
    return float(result["tokens_per_second"]) if GPU in result["device"] else None


def _of_pretrained(result: Result, kind: str) -> float | None:
    gain = result["sealed"]["gain"].get(kind)
    return None if gain is None else float(gain["value"])


def pretraining_seconds(result: Result, kind: str) -> float | None:
    """Returns the CPU seconds of the pre-training that a kind of classifier starts from."""
    base = result["starts"].get(kind)
    return None if base is None else float(result["bases"][base]["cpu_seconds"])


def _behind_in_mean(result: Result) -> float:
    folds = [one["accuracy"] for one in result["folds"].values()]
    return behind({name: fmean(one[name] for one in folds) for name in folds[0]})


def _behind_unseen(result: Result) -> float:
    """On fold 0: rows of the others chose the strength of a penalty."""
    return behind(result["folds"]["0"]["accuracy"])


def speeds(one: Result) -> tuple[float, list[float]]:
    """Returns how many times as fast an architecture of `before.py` trains now: the median, and each turn."""
    turns = [
        now["tokens_per_second"] / then["tokens_per_second"]
        if now["tokens_per_second"]
        else then["seconds"] / now["seconds"]
        for then, now in zip(one["then"], one["now"], strict=True)
    ]
    return median(turns), turns


def _least(result: Result, key: str) -> float:
    """The least upper end of an interval among all architectures of `before.py`."""
    return min(float(one[key]["high"]) for one in result["archs"].values())


def _waited(result: Result, name: str) -> float | None:
    """Returns the longest median of the rows of a bar of `IN_USE`; `None` where one was not measured."""
    rows = [row for section in result["sections"].values() for row in section["rows"] if row["bar"] == name]
    if not rows or not all(row["figures"] for row in rows):
        return None
    return max(float(median(row["figures"])) for row in rows)


def over_seeds(result: Result, of: Callable[[Result], float]) -> float | None:
    """Returns the mean over seeds, `None` where fewer were run than a bar asks."""
    seeds = result["seeds"]
    return fmean(of(one) for one in seeds) if len(seeds) >= SEEDS else None


def cpu_seconds(result: Result) -> float | None:
    """Returns the mean over seeds, `None` where a GPU has trained one."""
    on_cpu = all(one.get("device", "cpu") == "cpu" for one in result["seeds"])
    return over_seeds(result, lambda one: float(one["cpu_seconds"])) if on_cpu else None


def distinct(one: Result) -> float:
    """Returns which share of the distinct pairs of words of the start a seed of `align.py` has left."""
    return float(one["test"]["after"]["distinct_2"] / one["test"]["before"]["distinct_2"])


OTHER_BARS: list[OtherBar] = [
    OtherBar("trainer-speed", "training, encoder", "cost", f"speed over {TRAINER}", _times_trainer,
             TRAINER_TIMES),
    *(
        OtherBar("before", "every architecture beside 156d62a", "dev",
                 f"{score} gained, upper end of the interval,", partial(_least, key=key), 0.0)
        for score, key in (("accuracy", "gain"), ("macro-F1", "macro_f1_gain"))
    ),
    OtherBar("before", "every architecture beside 156d62a", "cost", "speed of training, slowest of all,",
             lambda one: min(speeds(arch)[0] for arch in one["archs"].values()), AS_FAST),
    OtherBar("distillation", "distillation, lstm", "sealed", "accuracy gained",
             lambda one: float(one["gain"]["sealed"]["value"]), GAIN_TAUGHT),
    *(
        OtherBar("chinese", "Chinese reviews, no option", part, "accuracy below scikit-learn's best", of,
                 most=CHINESE)
        for part, of in (
            ("mean of five folds", _behind_in_mean), ("fold 0, which chose nothing", _behind_unseen),
        )
    ),
    OtherBar("translation", "translation", "test_2016_flickr", "BLEU",
             lambda one: over_seeds(one, lambda seed: float(seed["test"]["bleu"])), BLEU),
    OtherBar("translation-gpu", "translation, recipe for a GPU", "test_2016_flickr", "BLEU",
             lambda one: over_seeds(one, lambda seed: float(seed["test"]["bleu"])), GPU_BLEU),
    OtherBar("translation", "translation", "cost", "CPU seconds",
             cpu_seconds, most=TRANSLATION_SECONDS),
    *(
        OtherBar(file, what, "cost", f"speed over {name}", partial(times, other=name, precision=of), least)
        for what, (file, of) in PRETRAINED.items()
        for name, least in PRETRAINING.items()
    ),
    *(
        OtherBar(file, f"{what}, compiled", "cost", f"speed over {PLAIN}, compiled or not,",
                 partial(times_compiled, precision=of), PRETRAINING[PLAIN])
        for what, (file, of) in PRETRAINED.items()
    ),
    OtherBar("gpu_speed", "pre-training", f"one {GPU}", "tokens/s", _of_gpu, GPU_TOKENS),
    *(
        OtherBar("generation", "generation, the least of all sizes", "cost", f"speed over {OVER[name]}",
                 partial(_slowest, score=name), least)
        for name, least in GENERATION.items()
    ),
    OtherBar("alignment", "alignment", "test openings", "reward gained, in deviations of the start,",
             lambda one: over_seeds(one, lambda seed: float(seed["test"]["gain_in_std"] or 0.0)), REWARD),
    OtherBar("alignment", "alignment", "test openings", "KL in nats",
             lambda one: over_seeds(one, lambda seed: float(seed["test"]["after"]["kl"])), most=KL),
    OtherBar("alignment", "alignment", "test openings", "distinct-2 as a share of the start",
             lambda one: over_seeds(one, distinct), DISTINCT),
    *(
        bar
        for kind, one in KINDS.items()
        if one.starts
        for bar in (
            OtherBar(f"pretrained-kaggle-{one.arch}", f"pre-trained, then fine-tuned: {kind}", "sealed",
                     "accuracy gained", partial(_of_pretrained, kind=kind), GAIN_PRETRAINED),
            OtherBar(f"pretrained-kaggle-{one.arch}", f"pre-trained, then fine-tuned: {kind}", "cost",
                     "CPU seconds of pre-training", partial(pretraining_seconds, kind=kind),
                     most=PRETRAINING_SECONDS),
        )
    ),
    *(
        OtherBar("in-use", f"what people wait for: {name}", "cost", f"{unit} in the median",
                 partial(_waited, name=name), most=most)
        for name, (most, unit) in IN_USE.items()
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A bar, what was reached, and the word for it."""

    bar: Bar | OtherBar
    reached: float | None
    word: str


def others(folder: Path) -> Others:
    """Returns the results of bars that are not of rows, where they are."""
    names = dict.fromkeys(bar.file for bar in OTHER_BARS)
    return {name: read(path) for name in names if (path := folder / f"{name}.json").is_file()}


def all_judged(by_row: Results, beside: Others) -> list[Judged]:
    """Puts every bar in a word."""
    return [*(judged(bar, by_row) for bar in BARS), *(judged_other(bar, beside) for bar in OTHER_BARS)]


def judged_other(bar: OtherBar, beside: Others) -> Judged:
    """Puts a bar that is not of a row in a word."""
    result = beside.get(bar.file)
    reached = None if result is None else bar.of(result)
    return Judged(bar, reached, word(bar, reached))


def judged_of(file: str, result: Result) -> list[Judged]:
    """Puts the bars of one result file in words."""
    return [judged_other(bar, {file: result}) for bar in OTHER_BARS if bar.file == file]


def asks(bar: Bar | OtherBar) -> str:
    """Says what a bar asks."""
    score = bar.score.replace("accuracy_less_macro_f1", "accuracy less macro-F1").replace("_", " ")
    if isinstance(bar, Bar) and bar.near is not None:
        return f"{score} at most {-(bar.least or 0):g} below {bar.near}"
    if bar.most is not None:
        return f"{score} at most {bar.most:,g}"
    return f"{score} at least {bar.least:,g}"


def word(bar: Bar | OtherBar, reached: float | None) -> str:
    """Returns met, missed or not measured."""
    if reached is None:
        return NOT_MEASURED
    within = (bar.least is None or reached >= bar.least) and (bar.most is None or reached <= bar.most)
    return MET if within else MISSED


def value(result: Result, part: str, score: str) -> float:
    """Returns a number of a result."""
    if part == "cost":
        return float(result["cost"][score])
    scores = result["scores"][part]
    if score == "accuracy_less_macro_f1":
        return float(scores["accuracy"]) - float(scores["macro_f1"])
    return float(scores[score])


def judged(bar: Bar, by_row: Results) -> Judged:
    """Puts a bar in a word."""
    # Other programs can only lengthen a time, so the quickest seed counts.
    join: Callable[[list[float]], float] = min if bar.part == "cost" else fmean
    reached = _of(bar.row, bar, by_row, join)
    if reached is not None and bar.near is not None:
        base = _of(bar.near, bar, by_row, join)
        reached = None if base is None else reached - base
    return Judged(bar, reached, word(bar, reached))


def _of(row: str, bar: Bar, by_row: Results, join: Callable[[list[float]], float]) -> float | None:
    results = by_row.get((bar.of_set, row), [])
    asked = rows_of(bar.of_set).get(row)
    if len(results) < (1 if asked is None else asked.seeds):
        return None
    return join([value(one, bar.part, bar.score) for one in results])
