"""Every bar of docs/results.md in one place: what it asks, and the part it is judged on.

Not for what was reached (`results/`), nor for whether that is enough (`judged.py`). A missed gate ends
`run_all.py` with exit code 1. Kaggle's test, SST-5, SST-2 and the folds of MR are reported alone, since older
versions were looked at there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Any

from pretrained_rows import KINDS
from rows import AGAIN, CHOSEN, MEMORY, MIXTURE

Result = dict[str, Any]
# Results by (set, row), one a seed.
Results = dict[tuple[str, str], list[Result]]
# Results of one file each, by the name of the file.
Others = dict[str, Result]


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
# Presets whose generation is judged apart from that of larger ones.
SMALLEST = ("nano", "micro")
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


def _slowest(result: Result, score: str, *, smallest: bool) -> float | None:
    cases = result["cases"].items()
    return min(
        (float(one[score]) for name, one in cases if name.startswith(SMALLEST) == smallest), default=None
    )


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
        OtherBar("generation", what, "cost", f"speed over {OVER[name]}",
                 partial(_slowest, score=name, smallest=smallest), least)
        for what, smallest in (("generation, tiny and larger", False), ("generation, nano and micro", True))
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
