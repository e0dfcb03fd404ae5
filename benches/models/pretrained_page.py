"""The sections of docs/results.md about pre-training, from the result files of `bert.py` alone.

Not for measuring (`bert.py`). What other reports printed stands beside, under their own data and splits.
"""

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bars import GAIN_PRETRAINED, PRETRAINING_SECONDS, pretraining_seconds
from markdown import MET, MISSED, from_what, missing, points, table
from pretrained_rows import OF_SETS, by_arch, chosen
from result import RESULTS, read

Result = dict[str, Any]
ALIKE = (
    "Reviews, of the corpus and of the classifiers, are rewritten in the style of the phrases, and the "
    "tokenizer lower-cases and splits both alike (`benches/models/as_phrases.py`); the model from nothing "
    "has the same tokenizer."
)
# What the command needs.
BEFORE = "after the same without --test, which takes hours of one core and stops and goes on"
TITLES = {"kaggle": "the Kaggle phrases", "imdb": "IMDB"}
# What reports and papers printed: by set and source the model, its accuracies and where they were taken.
PRINTED: dict[str, dict[str, list[tuple[str, str]]]] = {
    "kaggle": {
        "course report on movie reviews": [
            ("decoder of 4 layers, 256 wide, from nothing", "0.571 on validation"),
            ("the same, pre-trained on a GB of stories or more", "0.588 on validation"),
            ("decoder of 8 layers, 512 wide, from nothing and pre-trained", "0.573 and 0.597 on validation"),
            ("decoder of 16 layers, 1,024 wide, longer pre-trained", "0.660 on validation, 0.679 on Kaggle"),
            ("GPT-2, RoBERTa-large, fine-tuned", "0.669 and 0.698 on validation; RoBERTa 0.712 on Kaggle"),
        ],
        "Munikar et al. 2019, arXiv:1910.03474": [
            ("BERT-base, BERT-large, fine-tuned", "0.532 and 0.555 on SST-5"),
        ],
    },
    "imdb": {
        "course report on LSTM, TextCNN and BERT": [
            ("BERT by hand, 6 layers, 100 wide, epochs 38 to 40", "0.778, 0.774, 0.776"),
            ("BERT-base, fine-tuned, best and last of ten epochs", "0.859 and 0.854"),
        ],
        "course report on BERT": [
            ("BERT-base, 512 tokens, fine-tuned, two epochs", "0.933, 0.931; 0.946, 0.940 on Kaggle's test"),
            ("GRU", "0.833 and 0.825 on Kaggle's test"),
        ],
    },
}  # fmt: skip
HEADS = {
    "kaggle": (("Kaggle", "kaggle"), ("SST-5", "sst5"), ("SST-2", "sst2")),
    "imdb": (),
}  # fmt: skip


# By kind of classifier, or by what they start from: architectures are measured one by one.
BY_KIND = ("tried", "parameters", "cpu_seconds", "beside", "bases", "starts")
OF_A_PART = ("scores", "intervals", "gain")


def target_of(folder: Path, of_set: str, arch: str) -> Path:
    """The result file of an architecture on a set."""
    return folder / f"pretrained-{of_set}-{arch}.json"


def together(results: list[Result]) -> Result:
    """Returns the results of a set's architectures as one, what is by kind or by base side by side."""

    def joined(parts: Iterable[Result]) -> Result:
        return {key: value for part in parts for key, value in part.items()}

    return {
        **results[0],
        **{key: joined(one[key] for one in results) for key in BY_KIND},
        **{
            place: {key: joined(one[place][key] for one in results) for key in OF_A_PART}
            for place in ("dev", "sealed")
        },
        "earlier": [before for one in results for before in one["earlier"]],
    }


def part(folder: Path = RESULTS) -> str:
    """Returns what is said of each set, and of the models that were pre-trained."""
    return "\n\n".join(of_set(folder, name) for name in TITLES)


def of_set(folder: Path, name: str) -> str:
    """Returns the tables of one set."""
    targets = {arch: target_of(folder, name, arch) for arch in by_arch(OF_SETS[name])}
    command = "python benches/models/bert.py {}:{} --test"
    lacking = [
        f"On {TITLES[name]}, `{arch}`: {missing(command.format(name, arch), BEFORE)}"
        for arch, path in targets.items()
        if not path.is_file()
    ]
    results = [read(path) for path in targets.values() if path.is_file()]
    if not results:
        return "\n\n".join(lacking)
    result = together(results)
    printed = table(
        ["what others printed, on parts of their own", "accuracy", "source"],
        [[*row, source] for source, rows in PRINTED[name].items() for row in rows],
    )
    told = [
        f"**On {TITLES[name]}**, accuracy / macro-F1, ± one standard deviation over seeds of fine-tuning. "
        f"Always answering the commonest label has {result['commonest_label']:.4f}.",
        scores(result, name),
        gains(result),
        tried(result),
        bases(result),
        ALIKE,
        lengths(result),
        *([f"The submission `Id,Category` is of `{result['submission']}`."] if result["submission"] else []),
        printed,
        *dict.fromkeys(map(from_what, results)),
        *lacking,
    ]  # fmt: skip
    return "\n\n".join(told)


def scores(result: Result, name: str) -> str:
    """Returns the accuracy of each kind, on dev, on the sealed part and beside."""
    rows = []
    for kind, of_sealed in result["sealed"]["scores"].items():
        interval = result["sealed"]["intervals"][kind]
        cells = [
            f"{result['parameters'][kind]:,}", chosen(result["tried"][kind]), f"{len(of_sealed)}",
            spread(result["dev"]["scores"][kind]), spread(of_sealed),
            f"{interval['low']:.4f} to {interval['high']:.4f}",
        ]  # fmt: skip
        others = result["beside"].get(kind, [])
        cells += [spread([one[place] for one in others]) if others else "-" for _, place in HEADS[name]]
        cells.append(f"{min(result['cpu_seconds'][kind]):.0f}")
        rows.append([kind, *cells])
    head = ["model", "parameters", "rate", "seeds", "dev", "sealed", "95 % of sealed"]
    return table([*head, *(title for title, _ in HEADS[name]), "CPU seconds"], rows)


def spread(reached: list[Result]) -> str:
    """Returns mean accuracy with its deviation, and mean macro-F1."""
    accuracies = [one["accuracy"] for one in reached]
    around = f" ± {stdev(accuracies):.4f}" if len(accuracies) > 1 else ""
    return f"{fmean(accuracies):.4f}{around} / {fmean(one['macro_f1'] for one in reached):.3f}"


def gains(result: Result) -> str:
    """Returns what pre-training is worth; of the Kaggle phrases with the bar."""
    rows = []
    for kind, gain in result["sealed"]["gain"].items():
        in_time = (pretraining_seconds(result, kind) or 0.0) <= PRETRAINING_SECONDS
        word = MET if gain["value"] >= GAIN_PRETRAINED and in_time else MISSED
        shown = [points(result[place]["gain"][kind]) for place in ("dev", "sealed")]
        rows.append([kind, *shown, *([word] if result["set"] == "kaggle" else [])])
    minutes = PRETRAINING_SECONDS / 60
    bar = f"at least {100 * GAIN_PRETRAINED:+.1f} on the sealed part, by {minutes:.0f} CPU minutes"
    head = ["points over the same model from nothing", "dev", "sealed"]
    made = table([*head, *([bar] if result["set"] == "kaggle" else [])], rows)
    told = [
        f"{one['date']}, commit {one['commit'][:9]}: "
        + ", ".join(f"{kind} {points(gain)}" for kind, gain in one["gain"].items())
        for one in result["earlier"]
    ]
    before = "\n\nThe sealed part has judged other recipes before, by dev as well. " + "; ".join(told) + "."
    return made + (before if told else "")


def tried(result: Result) -> str:
    """Returns what each trial of fine-tuning reached on dev."""
    lines: dict[str, dict[str, str]] = {}
    for kind, reached in result["tried"].items():
        for trial, value in reached.items():
            rate, _, way = trial.partition(", ")
            shown = f"**{value:.4f}**" if trial == chosen(reached) else f"{value:.4f}"
            lines.setdefault(f"{kind}, {way}" if way else kind, {})[rate] = shown
    rates = sorted({rate for cells in lines.values() for rate in cells}, key=float, reverse=True)
    rows = [[name, *(cells.get(rate, "-") for rate in rates)] for name, cells in lines.items()]
    return table(["dev, first seed, by peak rate; chosen in bold", *rates], rows)


def bases(result: Result) -> str:
    """Returns what the pre-trained models read, how long, and what they reached."""
    rows = []
    for name, one in result["bases"].items():
        valid = one["valid"]
        follows = valid.get("next_sentence")
        rows.append([
            name.replace("-", " "), f"{one['parameters']:,}", f"{one['tokens']:,}",
            f"{one['cpu_seconds'] / 60:.0f}", f"{valid.get('masked_loss', valid['loss']):.3f}",
            "-" if follows is None else f"{100 * follows:.1f} %",
        ])  # fmt: skip
    head = [
        "pre-training",
        "parameters",
        "tokens read",
        "CPU minutes",
        "validation loss",
        "halves told apart",
    ]
    return table(head, rows)


def lengths(result: Result) -> str:
    """Returns the histogram of lengths in tokens."""
    histogram = result["lengths"]
    head = ["tokens of a text", *(f"up to {top:,}" for top in histogram["up_to"]), "more"]
    shares = [f"{100 * share:.1f} %" for share in histogram["shares"]]
    quantiles = histogram["quantiles"]
    return (
        f"{table(head, [['share of the training texts', *shares]])}\n\nMedian {quantiles['0.5']:,}, longest "
        f"{quantiles['1']:,}; {histogram['texts_per_second']:,.0f} texts encoded a second. `senti data stats "
        "FILE --tokenizer tokenizer.json --plots DIR` draws it."
    )
