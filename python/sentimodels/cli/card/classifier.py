"""The cards of classifiers and ensembles of them, from the facts of `sentimodels.runs.card`.

An ensemble records no scores, so only the scores of its runs are shown.
"""

from collections.abc import Mapping
from typing import Any

from sentitok.cli.output import counted, number

from ...evaluation.answers import said_temperature
from ..summary import JUDGED, beside_teacher, verdict
from .layout import Parts, python, shell, stopped, table, unrecorded

__all__ = ["HEADS", "ensemble_parts", "parts", "score_rows"]

# The treatment of a text longer than the run reads, by `data.long`.
_LONG = {
    "truncate": "only its beginning is read",
    "head-tail": "only its beginning and end are read",
    "windows": "it is read in windows, whose answers are averaged",
}
# How the rows of a part that is scored are called.
PARTS = {"test": "test", "crossed": "valid, cross-fitted", "valid": "valid"}
# On which rows thresholds were scored, where those are the rows that `senti thresholds` chose them on.
_WHERE = {
    "chosen_crossed": "On these rows, each half with the thresholds that the other half chose,",
    "chosen": "On these very rows, which flatter them,",
}
HEADS = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE"}


def parts(facts: dict[str, Any]) -> Parts:
    """Returns the content of the card."""
    labels = ", ".join(f"`{label}`" for label in facts["labels"])
    files_read = [
        [one["role"], one["file"], one["format"], number(one["rows"]), f"`{one['sha256']}`"]
        for one in facts["data"]
    ]
    counts = [[label, "-" if n is None else number(n)] for label, n in facts["labels"].items()]
    return Parts(
        tag="text-classification",
        tags=[facts["arch"]],
        result=_result(facts),
        opening=f"A text classifier (`{facts['arch']}`, {number(facts['parameters'])} parameters) with the "
        f"labels {labels}, {_made(facts)}.",
        uses=[shell(facts["name"], f'echo "{facts["example"]}" | senti predict {{name}}')],
        sections={
            "Data": [
                table(["role", "file", "format", "rows", "SHA-256"], files_read),
                table(["label", "training rows"], counts),
            ]
            if files_read
            else ["It was not trained by `senti`, so its training data is not recorded."],
            "Scores": [_score_table(facts), *_verdict(facts), *_thresholds(facts)],
        },
        limits=_limits(facts),
    )


def _heads(facts: dict[str, Any]) -> Mapping[str, str]:
    """Returns the names of the scores that a table shows, by key."""
    from ...evaluation.answers import answers_named

    return answers_named(facts).table if facts.get("several") or facts.get("ordered") else HEADS


def _every_text(facts: dict[str, Any]) -> str:
    """Says which answer every text would get."""
    n, own = len(facts["labels"]), facts.get("thresholds")
    if facts.get("several") and own is not None:
        return f"Each of the {n} labels is decided alone, by its own threshold: a text may get none."
    if own is not None and own["may_be_unsure"]:
        return f"A text gets one of the {n} labels, or no answer where the thresholds leave it out."
    if facts.get("several"):
        return f"Each of the {n} labels is decided alone, from a probability of 0.5 on: a text may get none."
    return f"Every text gets one of the {n} labels, also where none fits."


def _n_rows(facts: dict[str, Any], counts: Mapping[str, int]) -> int:
    """Returns the training rows; of several labels a text, counts of labels do not add up to them."""
    if not facts.get("several"):
        return sum(counts.values())
    return int(next(one["rows"] for one in facts["data"] if one["role"] == "train"))


def _made(facts: dict[str, Any]) -> str:
    if facts["imported"] is not None:
        return f"read by `senti import` from the files of a model of transformers (`{facts['imported']}`)"
    taught = facts["taught"]
    if taught is None:
        return "trained by `senti train`"
    return (
        f"trained by `senti distill` on the answers of `{taught['teacher']}` (SHA-256 `{taught['sha256']}`)"
    )


def _thresholds(facts: dict[str, Any]) -> list[str]:
    """Says by which rule texts are answered, and the scores of that."""
    own = facts.get("thresholds")
    if own is None:
        return []
    rows = "" if own["rows"] is None else f" on {counted(own['rows'], 'row')}"
    file = "" if own["file"] is None else f" of `{own['file']}`"
    said = f"Answers follow the thresholds `{own['rule']}`, chosen{rows}{file}"
    if (scores := own["scores"]) is not None:
        where = _WHERE[own["part"]] if own["part"] in _WHERE else f"On {PARTS[own['part']]} rows"
        said += (
            f". {where} {100 * scores['answered']:.1f} % of texts are answered, with a precision of "
            f"{scores['precision']:.4f} and a recall of {scores['recall']:.4f}"
        )
    return [f"{said}. The scores above are those of the usual answers, without thresholds."]


def _result(facts: dict[str, Any]) -> dict[str, Any] | None:
    part = next((part for part in PARTS if part in facts["scores"]), None)
    if part is None:
        return None
    scores = facts["scores"][part]
    file = next((one for one in facts["data"] if one["role"] == part), facts["data"][0])
    metrics = [
        {"type": kind, "name": _heads(facts)[key], "value": round(scores[key], 6)}
        for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
    ]
    return {
        "task": {"type": "text-classification"},
        "dataset": {"name": f"{file['file']}, {PARTS[part]}", "type": file["format"], "split": part},
        "metrics": metrics,
    }


def _score_table(facts: dict[str, Any]) -> str:
    rows = score_rows(facts)
    for name, one in facts["baselines"].items():
        cells = [f"{one[key]:.4f}" if key in one else "" for key in _heads(facts)]
        rows.append([f"baseline {name}", "", *cells])
    if not rows:
        return "The run had no labelled rows to be scored on."
    return table(["rows", "number", *_heads(facts).values()], rows)


def score_rows(facts: dict[str, Any]) -> list[list[str]]:
    """Returns the scores of each part, with their intervals, as rows of a table."""
    rows = []
    for part, name in PARTS.items():
        if part in facts["scores"]:
            one = facts["scores"][part]
            cells = [f"{one[key]:.4f}{_ends(one, key)}" if key in one else "-" for key in _heads(facts)]
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
    from ...models import architecture

    texts, calibration = facts["texts"], facts["calibration"]
    counts = {label: n for label, n in facts["labels"].items() if n is not None}
    limits = [_every_text(facts)]
    if counts:
        rarest = min(counts, key=counts.__getitem__)
        limits.append(
            f"Label `{rarest}` has the fewest training rows: {number(counts[rarest])} of "
            f"{number(_n_rows(facts, counts))}."
        )
    if not architecture(facts["arch"]).fits:
        said = f"Of a text longer than {texts['max_tokens']} tokens {_LONG[texts['long']]}"
        if n_long := facts["cut"].get("train"):
            n = sum(source["rows"] for source in facts["data"] if source["role"] == "train")
            said += f"; so it was with {number(n_long)} of {number(n)} training texts"
        limits.append(f"{said}.")
    part = next((part for part in PARTS if part in facts["scores"]), None)
    if part is None:
        limits.append("Nothing is known of its accuracy.")
    else:
        ends = facts["scores"][part]["intervals"]["accuracy"]
        limits.append(
            f"The {_heads(facts)['accuracy']} is that on {number(facts['scores'][part]['rows'])} rows of the "
            f"same source as the training rows; chance alone moves it by {50 * (ends[1] - ends[0]):.1f} "
            "points. Other texts may be harder: `senti evaluate` and `senti errors` show it."
        )
    if facts["judged"] is None and part is not None:
        limits.append(
            "Step and temperature were chosen on the rows it is scored on, so the scores flatter it."
        )
    if calibration["ece"] is not None and calibration["ece_before"] is not None:
        limits.append(
            f"Probabilities are divided by the temperature {said_temperature(calibration['temperature'])}: "
            f"the calibration error of the validation rows is {calibration['ece']:.4f}, without it "
            f"{calibration['ece_before']:.4f}."
        )
    return [
        *limits,
        *stopped(facts),
        unrecorded("the language", "who wrote and who labelled the texts"),
    ]


def ensemble_parts(facts: dict[str, Any]) -> Parts:
    """Returns the content of the card."""
    name, members = facts["name"], facts["members"]
    labels = ", ".join(f"`{label}`" for label in facts["labels"])
    runs = [
        [one["name"], one["arch"], number(one["parameters"]), f"{one['weight']:.4f}",
         f"`{one['manifest_sha256']}`"]
        for one in members
    ]  # fmt: skip
    sources = [
        [one["name"], source["role"], source["file"], number(source["rows"]), f"`{source['sha256']}`"]
        for one in members
        for source in one["data"]
    ]
    return Parts(
        tag="text-classification",
        tags=sorted({one["arch"] for one in members}),
        opening=f"An ensemble of {len(members)} text classifiers ({number(facts['parameters'])} parameters "
        f"in all) with the labels {labels}, made by `senti ensemble`. It answers with the weighted mean of "
        f"their probabilities, at the temperature {said_temperature(facts['temperature'])}.",
        uses=[
            shell(name, 'echo "great fun" | senti predict {name}'),
            python(
                name,
                "from pathlib import Path",
                "",
                "from sentimodels.predictor import load_predictor",
                "",
                "model = load_predictor(Path({name}))",
                'print(model.labels.names, model.predict_proba(["great fun"]))',
            ),
        ],
        sections={
            "Runs": [
                table(["run", "architecture", "parameters", "weight", "SHA-256 of the manifest"], runs)
            ],
            "Data": [
                table(["run", "role", "file", "rows", "SHA-256"], sources), _chosen_on(facts["chosen_on"])
            ],
            "Scores": [_scores_of_runs(members), *_thresholds(facts)],
        },
        limits=_limits_of_ensemble(facts),
        ending=[
            "## Files",
            f"SHA-256 of `ensemble.json`: `{facts['ensemble_sha256']}`. It names the folders of the runs, "
            f"which are handed on with it. `senti verify {name}` compares all files with their hashes.",
        ],
    )  # fmt: skip


def _chosen_on(rows: dict[str, Any]) -> str:
    if rows["sha256"] is None:
        return "Which rows chose the weights is not recorded."
    names = f" (`{'`, `'.join(rows['files'])}` above)" if rows["files"] else ", which is none of those above"
    return f"Weights and temperature were chosen on rows of the file with SHA-256 `{rows['sha256']}`{names}."


def _scores_of_runs(members: list[dict[str, Any]]) -> str:
    rows = [[one["name"], *row] for one in members for row in score_rows(one)]
    said = "The ensemble itself records no scores."
    if not rows:
        return said
    return f"{said} Each run alone, in brackets 95 % intervals:\n\n" + table(
        ["run", "rows", "number", *_heads(members[0]).values()], rows
    )


def _limits_of_ensemble(facts: dict[str, Any]) -> list[str]:
    return [
        _every_text(facts),
        "How accurate the ensemble is was not recorded: `senti evaluate` measures it, on rows that chose "
        "neither its weights nor a run.",
        "A text is read by every run, so an answer costs what all of them cost.",
        "The limits of each run are in its own card.",
        unrecorded("the language", "who wrote and who labelled the texts"),
    ]
