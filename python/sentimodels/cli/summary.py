"""What `senti train` says at the end: the run or runs, their scores, and whether they earn their cost.

A difference counts only outside its 95 % interval, over the rows that judge, which chose nothing; for several
seeds over seeds and rows together.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sentitok.cli.output import counted, lines, number, sized, table

from .command import typed

if TYPE_CHECKING:
    from ..evaluation.answers import Answers

# Of hundreds of classes nobody reads the counts.
_CLASSES_SHOWN = 20
_LABELS_SHOWN = 12
# Names of the part that judges, by its name in `run.json`.
JUDGED = {
    "test": "the test rows, on which nothing was chosen; valid chose step and temperature",
    "crossed": "valid, cross-fitted: each half of valid is scored with what the other half chose",
}


def _dropped(dropped: dict[str, Any], shown_scores: Mapping[str, str]) -> str:
    """Writes the change of scores on clean test rows when suspects are left out."""
    sides = {"all": "all rows", "without": "without suspects"}
    rows = [[said, *(f"{dropped[side][name]:.4f}" for name in shown_scores)] for side, said in sides.items()]
    gain, interval = 100 * dropped["gain"], 100 * dropped["interval"]
    return (
        table([f"{number(dropped['rows'])} clean test rows", *shown_scores.values()], rows)
        + f"\nleaving out suspects: {gain:+.1f} ± {interval:.1f} points"
    )


def summary(about: dict[str, Any], folder: Path) -> str:
    """Writes the summary of a run."""
    from ..evaluation.answers import said_temperature

    fit = about["fit"]
    counts = about.get("labels", {})
    pairs = [
        ("architecture", f"{about['arch']}, {number(about['parameters'])} parameters"),
        ("rows", ", ".join(f"{number(n)} {name}" for name, n in about["rows"].items() if n)),
    ]
    if chosen := about.get("chosen"):
        before = f"{number(chosen['rows']['train'])} train, {number(chosen['rows']['valid'])} valid"
        steps = f"{counted(chosen['fit']['best_step'], 'step')} and " if chosen["fit"]["steps"] else ""
        temperature = said_temperature(chosen["temperature"])
        pairs.append(("refit", f"of {before}, which chose {steps}temperature {temperature}"))
    if about.get("estimates"):
        tried = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in about["estimates"].items())
        pairs.append(("estimated", f"{tried} of CPU, by arch auto"))
    if about.get("accuracies"):
        compared = ", ".join(f"{name} {accuracy:.3f}" for name, accuracy in about["accuracies"].items())
        score = said_of(_kind_of(about).chosen_by)
        pairs.append(("compared", f"{compared}, {score} in cross-validation on training rows"))
    if counts:
        unlabelled = about["rows"]["train"] - sum(counts.values())
        if _kind_of(about).several and any(counts.values()):
            unlabelled = 0  # a text has any number of labels
        without = f"; {counted(unlabelled, 'row')} without label" if unlabelled else ""
        pairs.append(("labels", f"{_counted(counts)}{without}"))
    if about.get("drawn"):
        pairs.append(("drawn", f"{_counted(about['drawn'])} an epoch, by task.sampler"))
    if fit["steps"]:
        speed = number(round(fit["tokens"] / max(fit["seconds"], 1e-9)))
        monitor = f" by {said_of(fit['monitor'])}" if fit.get("monitor") else ""
        best = f"best at {number(fit['best_step'])}{monitor}"
        pairs.append(("steps", f"{number(fit['steps'])} ({fit['stop']}), {best}"))
        pairs.append(("speed", f"{speed} tokens/s, padding {100 * fit['padding']:.1f} %"))
    seconds = ", ".join(f"{value:.1f} {key}" for key, value in about["seconds"].items() if value > 0.05)
    pairs.append(("seconds", seconds or "below 0.1"))
    first = about.get("chosen", {})
    if "judged" in about:  # then the first run's verdict is of the past
        first = {key: value for key, value in first.items() if key != "baselines"}
    shown_scores = _kind_of(about).table
    rows = [*_scores(first, shown_scores, ", before refit"), *_scores(about, shown_scores)]
    text = lines(pairs)
    if rows:
        text += "\n\n" + table(["", *shown_scores.values()], rows)
        text += "\n" + verdict(about)
    if chosen_by := about.get("thresholds"):
        text += f"\n{_said_thresholds(chosen_by)}"
    if distilled := about.get("distilled"):
        text += f"\n{beside_teacher(distilled)}"
    if about.get("judged") in JUDGED:
        text += f"\njudged on {JUDGED[about['judged']]}"
    elif first:
        if said := verdict({"arch": about["arch"], **first}):
            text += f"before refit, {said}"
        text += (
            "\nthe refitted model is not judged, since it was trained on the validation rows; "
            "--test-share 0.1 holds out rows to judge it on"
        )
    if dropped := about.get("dropped"):
        text += f"\n\n{_dropped(dropped, shown_scores)}"
    if classes := _per_class(about):
        text += f"\n\n{classes}"
    ending = lines(
        [
            ("written", sized(folder)),
            ("next", f'echo "{about.get("example", "great fun")}" | {typed("senti", "predict", folder)}'),
        ]
    )
    return f"{text}\n\n{ending}"


def _said_thresholds(about: dict[str, Any]) -> str:
    """Says by which rule the run answers, and its scores on the rows that judge."""
    part = next((name for name in ("test", "crossed", "valid") if about.get(name)), "valid")
    found = about[part]
    where = "valid, cross-fitted" if part == "crossed" else part
    cost = f", cost of a text {found['cost']:.4f}" if "cost" in found else ""
    return (
        f"answers by the thresholds {about['rule']}: on {where} {100 * found['answered']:.1f} % of the texts "
        f"answered, precision {found['precision']:.4f}, recall {found['recall']:.4f}{cost}"
    )


def _per_class(about: dict[str, Any]) -> str:
    """Returns a table with the scores of each class on the test rows, else on the validation rows."""
    part = next((name for name in ("test", "valid") if about.get(name, {}).get("per_class")), None)
    if part is None:
        return ""
    classes = about[part]["per_class"]
    rows = [
        [one["label"], *(f"{one[key]:.4f}" for key in ("precision", "recall", "f1")), number(one["support"])]
        for one in classes[:_CLASSES_SHOWN]
    ]
    more = len(classes) - len(rows)
    ending = f"\nand {number(more)} more classes: per_class in run.json" if more else ""
    return table([f"{part}, by class", "precision", "recall", "F1", "rows"], rows) + ending


def beside_teacher(about: dict[str, Any]) -> str:
    """Says how far a student is from its teacher, and the teacher's scores."""
    said = (
        f"answers as its teacher in {100 * about['agreement']:.1f} % of the {number(about['rows'])} "
        f"{about['part']} rows, at a divergence of {about['divergence']:.4f} nats"
    )
    if teacher := about.get("teacher"):
        said += (
            f"; there the teacher has accuracy {teacher['accuracy']:.4f}, macro F1 {teacher['macro_f1']:.4f}"
        )
    return said


def _kind_of(about: Mapping[str, Any]) -> "Answers":
    """Returns how the answers of a run are scored, by what `run.json` holds."""
    from ..evaluation.answers import answers_named

    return answers_named(about)


def _scores(about: dict[str, Any], keys: Iterable[str], when: str = "") -> list[list[str]]:
    """Returns the rows of the table of scores: parts of the data, then baselines."""
    rows = []
    for name, called in (("valid", "valid"), ("crossed", "valid, cross-fitted"), ("test", "test")):
        if name in about and not (when and name == "test"):
            s = about[name]
            scores = [f"{s[key]:.4f}" for key in keys]
            rows.append([f"{called}{when}", *scores])
    for name, s in about.get("baselines", {}).items():
        rows.append([f"{name}{when}", *(f"{s[key]:.4f}" if key in s else "" for key in keys)])
    return rows


def _counted(counts: dict[str, int]) -> str:
    """Writes labels with their rows, the first ones of many."""
    shown = [f"{name} {number(n)}" for name, n in list(counts.items())[:_LABELS_SHOWN]]
    rest = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {number(rest)} more" if rest else "")


def said_of(score: str) -> str:
    """Writes the name of a score in a record, as `val_macro_f1`, for people."""
    return score.replace("val_", "validation ", 1).replace("_f1", " F1").replace("_", " ")


def seeds_summary(about: dict[str, Any], folder: Path) -> str:
    """Writes mean and spread over seeds."""
    spread, runs = about["spread"], about["seeds"]
    baselines: dict[str, Any] = next((one["baselines"] for one in runs if one.get("baselines")), {})
    text = _spread(f"{len(runs)} seeds", spread)
    if "accuracy" in spread and not runs[0].get("several"):
        of_all = spread["accuracy"]
        gains = {
            # Seeds and rows are drawn apart, so their variances add up.
            name: (of_all["mean"] - s["accuracy"], (of_all["interval"] ** 2 + s["interval"] ** 2) ** 0.5)
            for name, s in baselines.items()
        }
        said = _said(gains)
        text += f"\n{runs[0]['arch']} {said}, over seeds and rows" if said else ""
    elif judged_alone := runs[0].get("several") and [said for one in runs if (said := verdict(one))]:
        text += f"\nof the first seed alone, {judged_alone[0]}"
    if (judged := {one.get("judged") for one in runs}) <= set(JUDGED) and len(judged) == 1:
        text += f"\njudged on {JUDGED[judged.pop()]}"
    return f"{text}{_failed(about, folder)}\n\n{_ending(folder, 'seed-*')}"


def folds_summary(about: dict[str, Any], folder: Path) -> str:
    """Writes mean and interval over folds, of the rows that each left out."""
    runs = about["folds"]
    if not runs:
        return f"no run has finished{_failed(about, folder)}\n\nwritten  {folder}"
    rows = [
        [name.replace("-", " "), number(one["rows"]["train"]), f"{one['test']['accuracy']:.4f}",
         f"{one['test']['macro_f1']:.4f}"]
        for name, one in zip(about["names"], runs, strict=True)
    ]  # fmt: skip
    each = table([runs[0]["arch"], "training rows", "accuracy", "macro F1"], rows)
    text = f"{each}\n\n{_spread(f'{len(runs)} folds', about['spread'])}{_failed(about, folder)}"
    return f"{text}\n\n{_ending(folder, 'fold-*')}"


def _failed(about: dict[str, Any], folder: Path) -> str:
    """Returns a line for each run that failed."""
    return "".join(f"\n{folder / name} failed: {why}" for name, why in about["failed"].items())


def _ending(folder: Path, runs: str) -> str:
    """Says where the runs of a group are, and which command compares them."""
    return lines([("written", f"{folder}/{runs}"), ("next", typed("senti", "runs", folder))])


def sweep_summary(about: dict[str, Any], folder: Path) -> str:
    """Writes the runs of a sweep, the best first."""
    runs = about["runs"]
    if not runs:
        return f"no run has finished{_failed(about, folder)}\n\nwritten  {folder}"
    keys = list(runs[0]["values"])
    rows = [
        [one["run"], *(one["values"].get(key, "") for key in keys), f"{one['macro_f1']:.4f}",
         f"{one['accuracy']:.4f}", f"{one['log_loss']:.4f}", number(one["parameters"]),
         f"{one['cpu_seconds']:.1f}"]
        for one in runs
    ]  # fmt: skip
    head = ["run", *keys, "macro F1", "accuracy", "log loss", "parameters", "CPU s"]
    text = (
        table(head, rows)
        + f"\n{counted(len(runs), 'run')} by validation macro F1, {about['spent']:.0f} s of CPU"
    )
    if about["left"] and not about["stopped"]:
        were = "combination was" if about["left"] == 1 else "combinations were"
        text += f"; {number(about['left'])} {were} not tried: the budget is used up"
    text += _failed(about, folder)
    text += "\nThe score of the best run is too high on the rows that chose it: score it on other rows."
    best = folder / about["best"]
    return f"{text}\n\n" + lines(
        [("best", str(best)), ("next", typed("senti", "evaluate", best, "test.csv"))]
    )


def _spread(what: str, spread: dict[str, dict[str, float]]) -> str:
    rows = [[name, f"{s['mean']:.4f}", f"± {s['interval']:.4f}"] for name, s in spread.items()]
    return table([what, "mean", "95 %"], rows)


def verdict(about: dict[str, Any]) -> str:
    """Says whether the model earns its cost."""
    gains = {name: (s["gain"], s["interval"]) for name, s in about.get("baselines", {}).items()}
    said = _said(gains, _kind_of(about).said_credit)
    return f"{about['arch']} {said}" if said else ""


def _said(gains: dict[str, tuple[float, float]], points: str = "points") -> str:
    """Says which differences in accuracy, with half their interval, are more than chance."""
    said = []
    for name, (gain, half) in gains.items():
        word = "beats" if gain > half else "is below" if gain < -half else "is within noise of"
        said.append(f"{word} {name} ({100 * gain:+.1f} ± {100 * half:.1f} {points})")
    return ", ".join(said)


SCORES = {
    "reward_mean": "reward, mean", "reward_median": "reward, median", "reward_std": "reward, deviation",
    "kl": "KL from the base, nats an answer", "distinct_1": "distinct-1", "distinct_2": "distinct-2",
    "length": "tokens of an answer",
}  # fmt: skip


def score_rows(outcome: Mapping[str, Any]) -> list[list[str]]:
    """Returns name, value before and value after of each score that there is."""
    before, after = outcome["before"], outcome["after"]
    return [
        [name, f"{before[key]:.3f}", f"{after[key]:.3f}"] for key, name in SCORES.items() if key in before
    ]


def preferred(preferences: Mapping[str, float]) -> str:
    """Returns how often, and by how much, chosen answers are preferred to rejected ones."""
    return (
        f"{100 * preferences['accuracy']:.1f} %, margin {preferences['margin']:.3f} (implicit rewards "
        f"{preferences['reward_chosen']:.3f} and {preferences['reward_rejected']:.3f}), "
        f"loss {preferences['loss']:.4f}"
    )
