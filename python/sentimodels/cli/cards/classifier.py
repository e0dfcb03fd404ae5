"""The card of a classifier: what `sentimodels.runs.card` found, in Markdown.

Not for ensembles (`ensemble.py`), nor for what cards of all kinds share (`layout.py`).
"""

from typing import Any

from sentitok.cli.output import number

from ...models import architecture
from ..summary import JUDGED, beside_teacher, verdict
from .layout import document, front_matter, stopped, table, unrecorded

__all__ = ["HEADS", "markdown", "score_rows"]

# What becomes of a text longer than the run reads, by `data.long`.
_LONG = {
    "truncate": "only its beginning is read",
    "head-tail": "only its beginning and end are read",
    "windows": "it is read in windows, whose answers are averaged",
}
# How the rows of a part that is scored are called.
PARTS = {"test": "test", "crossed": "valid, crossed", "valid": "valid"}
HEADS = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE"}


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
    labels = ", ".join(f"`{label}`" for label in facts["labels"])
    files_read = [
        [one["role"], one["file"], one["format"], number(one["rows"]), f"`{one['sha256']}`"]
        for one in facts["data"]
    ]
    counts = [[label, "-" if n is None else number(n)] for label, n in facts["labels"].items()]
    return document(
        facts,
        front=_front_matter(facts),
        opening=f"A text classifier (`{facts['arch']}`, {number(facts['parameters'])} parameters) with the "
        f"labels {labels}, trained by {_trained(facts['taught'])}.",
        uses=[f'```\necho "{facts["example"]}" | senti predict {facts["name"]}\n```'],
        sections={
            "Data": [
                table(["role", "file", "format", "rows", "SHA-256"], files_read),
                table(["label", "training rows"], counts),
            ],
            "Scores": [_score_table(facts), *_verdict(facts)],
        },
        limits=_limits(facts),
    )


def _trained(taught: dict[str, Any] | None) -> str:
    if taught is None:
        return "`senti train`"
    return f"`senti distill` on the answers of `{taught['teacher']}` (SHA-256 `{taught['sha256']}`)"


def _front_matter(facts: dict[str, Any]) -> str:
    result = None
    part = next((part for part in PARTS if part in facts["scores"]), None)
    if part is not None:
        scores = facts["scores"][part]
        file = next((one for one in facts["data"] if one["role"] == part), facts["data"][0])
        metrics = [
            {"type": kind, "name": HEADS[key], "value": round(scores[key], 6)}
            for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
        ]
        result = {
            "task": {"type": "text-classification"},
            "dataset": {"name": f"{file['file']}, {PARTS[part]}", "type": file["format"], "split": part},
            "metrics": metrics,
        }
    return front_matter("text-classification", [facts["arch"]], facts["name"], result)


def _score_table(facts: dict[str, Any]) -> str:
    rows = score_rows(facts)
    for name, one in facts["baselines"].items():
        rows.append([f"baseline {name}", "", f"{one['accuracy']:.4f}", f"{one['macro_f1']:.4f}", "", ""])
    if not rows:
        return "The run had no labelled rows to be scored on."
    return table(["rows", "number", *HEADS.values()], rows)


def score_rows(facts: dict[str, Any]) -> list[list[str]]:
    """Returns the scores of each part, with their intervals, as rows of a table."""
    rows = []
    for part, name in PARTS.items():
        if part in facts["scores"]:
            one = facts["scores"][part]
            cells = [f"{one[key]:.4f}{_ends(one, key)}" if key in one else "-" for key in HEADS]
            rows.append([name + (", before refit" if facts["refitted"] and part != "test" else ""),
                         number(one["rows"]), *cells])  # fmt: skip
    return rows


def _ends(scores: dict[str, Any], key: str) -> str:
    ends = scores["intervals"].get(key)
    return "" if ends is None else f" ({ends[0]:.4f} to {ends[1]:.4f})"


def _verdict(facts: dict[str, Any]) -> list[str]:
    said = []
    if text := verdict(facts):
        said.append(f"In brackets 95 % intervals. {text[0].upper()}{text[1:]}.")
    if facts["judged"] in JUDGED:
        said.append(f"Judged on {JUDGED[facts['judged']]}.")
    if facts["taught"] is not None and facts["taught"]["distilled"] is not None:
        text = beside_teacher(facts["taught"]["distilled"])
        said.append(f"{text[0].upper()}{text[1:]}.")
    return [" ".join(said)] if said else []


def _limits(facts: dict[str, Any]) -> list[str]:
    texts, calibration = facts["texts"], facts["calibration"]
    counts = {label: n for label, n in facts["labels"].items() if n is not None}
    limits = [f"Every text gets one of the {len(facts['labels'])} labels, also where none fits."]
    if counts:
        rarest = min(counts, key=counts.__getitem__)
        limits.append(
            f"Label `{rarest}` has the fewest training rows: {number(counts[rarest])} of "
            f"{number(sum(counts.values()))}."
        )
    if not architecture(facts["arch"]).fits:
        limits.append(f"Of a text longer than {texts['max_tokens']} tokens {_LONG[texts['long']]}.")
    part = next((part for part in PARTS if part in facts["scores"]), None)
    if part is None:
        limits.append("Nothing is known of its accuracy.")
    else:
        ends = facts["scores"][part]["intervals"]["accuracy"]
        limits.append(
            f"The accuracy is that on {number(facts['scores'][part]['rows'])} rows of the same source as the "
            f"training rows; chance alone moves it by {50 * (ends[1] - ends[0]):.1f} points. Other texts may "
            "be harder: `senti evaluate` and `senti errors` tell."
        )
    if facts["judged"] is None and part is not None:
        limits.append(
            "Step and temperature were chosen on the rows it is scored on, so the scores flatter it."
        )
    if calibration["ece"] is not None and calibration["ece_before"] is not None:
        limits.append(
            f"Probabilities are divided by the temperature {calibration['temperature']:.3f}: the calibration "
            f"error of the validation rows is {calibration['ece']:.4f}, without it "
            f"{calibration['ece_before']:.4f}."
        )
    return [
        *limits,
        *stopped(facts),
        unrecorded("the language", "who wrote and who labelled the texts"),
    ]
