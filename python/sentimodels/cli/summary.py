"""What `senti train` says at the end: the run or runs, their scores, and whether they earn their cost.

Not for reports on a file (`evaluate.py`). A difference counts only outside its 95 % interval, over the
rows that judge, which chose nothing; for several seeds over seeds and rows together.
"""

from pathlib import Path
from typing import Any

from sentitok.cli.output import lines, number, table

# Of hundreds of classes nobody reads the counts.
_LABELS_SHOWN = 12
# What the part that judges is, by its name in `run.json`.
JUDGED = {
    "test": "the test rows, on which nothing was chosen; valid chose step and temperature",
    "crossed": "valid, crossed: each half of valid with step and temperature that the other half chose",
}


def summary(about: dict[str, Any], folder: Path) -> str:
    """Writes what people want to know of a run."""
    fit = about["fit"]
    counts = about.get("labels", {})
    pairs = [
        ("architecture", f"{about['arch']}, {number(about['parameters'])} parameters"),
        ("rows", ", ".join(f"{number(n)} {name}" for name, n in about["rows"].items() if n)),
    ]
    if counts:
        shown = [f"{name} {number(n)}" for name, n in list(counts.items())[:_LABELS_SHOWN]]
        rest = len(counts) - len(shown)
        pairs.append(("labels", ", ".join(shown) + (f" and {number(rest)} more" if rest else "")))
    if fit["steps"]:
        speed = number(round(fit["tokens"] / max(fit["seconds"], 1e-9)))
        monitor = f" by {said_of(fit['monitor'])}" if fit.get("monitor") else ""
        best = f"best at {number(fit['best_step'])}{monitor}"
        pairs.append(("steps", f"{number(fit['steps'])} ({fit['stop']}), {best}"))
        pairs.append(("speed", f"{speed} tokens/s, padding {100 * fit['padding']:.1f} %"))
    seconds = about["seconds"]
    pairs.append(
        ("seconds", ", ".join(f"{value:.1f} {key}" for key, value in seconds.items() if value > 0.05))
    )
    rows = []
    for name, called in (("valid", "valid"), ("crossed", "valid, crossed"), ("test", "test")):
        if name in about:
            s = about[name]
            rows.append([called, *(f"{s[key]:.4f}" for key in ("accuracy", "macro_f1", "log_loss", "ece"))])
    for name, s in about.get("baselines", {}).items():
        rows.append([name, f"{s['accuracy']:.4f}", f"{s['macro_f1']:.4f}", "", ""])
    text = lines(pairs)
    if rows:
        text += "\n\n" + table(["", "accuracy", "macro F1", "log loss", "ECE"], rows)
        text += "\n" + verdict(about)
    if about.get("judged") in JUDGED:
        text += f"\njudged on {JUDGED[about['judged']]}"
    ending = lines([("written", str(folder)), ("next", f'echo "great fun" | senti predict {folder}')])
    return f"{text}\n\n{ending}"


def said_of(score: str) -> str:
    """Writes the name of a score in a record, as `val_macro_f1`, for people."""
    return score.replace("val_", "validation ", 1).replace("macro_f1", "macro F1").replace("_", " ")


def seeds_summary(found: dict[str, Any], arch: str, folder: Path) -> str:
    """Writes mean and spread over seeds."""
    spread, runs = found["spread"], found["seeds"]
    rows = [[name, f"{s['mean']:.4f}", f"± {s['interval']:.4f}"] for name, s in spread.items()]
    baselines: dict[str, Any] = next((one["baselines"] for one in runs if one.get("baselines")), {})
    text = table([f"{len(runs)} seeds", "mean", "95 %"], rows)
    if "accuracy" in spread:
        of_all = spread["accuracy"]
        gains = {
            # Seeds and rows are drawn apart, so their variances add up.
            name: (of_all["mean"] - s["accuracy"], (of_all["interval"] ** 2 + s["interval"] ** 2) ** 0.5)
            for name, s in baselines.items()
        }
        said = _said(gains)
        text += f"\n{arch} {said}, over seeds and rows" if said else ""
    return f"{text}\n\nwritten  {folder}/seed-*"


def verdict(about: dict[str, Any]) -> str:
    """Says whether the model earns its cost."""
    gains = {name: (s["gain"], s["interval"]) for name, s in about.get("baselines", {}).items()}
    said = _said(gains)
    return f"{about['arch']} {said}" if said else ""


def _said(gains: dict[str, tuple[float, float]]) -> str:
    """Says which differences in accuracy, with half their interval, are more than chance."""
    said = []
    for name, (gain, half) in gains.items():
        word = "beats" if gain > half else "is below" if gain < -half else "is within noise of"
        said.append(f"{word} {name} ({100 * gain:+.1f} ± {100 * half:.1f} points)")
    return ", ".join(said)
