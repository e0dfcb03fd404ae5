"""The card of an ensemble: what `sentimodels.runs.card` found, in Markdown.

Not for its runs, of which each has a card of its own (`classifier.py`). An ensemble records no scores, so
none are told but those of the runs alone.
"""

from typing import Any

from sentitok.cli.output import number

from .classifier import HEADS, score_rows
from .layout import document, front_matter, python, shell, table, unrecorded

__all__ = ["markdown"]


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
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
    return document(
        facts,
        front=front_matter("text-classification", sorted({one["arch"] for one in members}), name),
        opening=f"An ensemble of {len(members)} text classifiers ({number(facts['parameters'])} parameters "
        f"in all) with the labels {labels}, made by `senti ensemble`. It answers with the weighted mean of "
        f"their probabilities, at the temperature {facts['temperature']:.3f}.",
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
            "Scores": [_scores(members)],
        },
        limits=_limits(facts),
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


def _scores(members: list[dict[str, Any]]) -> str:
    rows = [[one["name"], *row] for one in members for row in score_rows(one)]
    said = "The ensemble records no scores of its own."
    if not rows:
        return said
    return f"{said} Each run alone, in brackets 95 % intervals:\n\n" + table(
        ["run", "rows", "number", *HEADS.values()], rows
    )


def _limits(facts: dict[str, Any]) -> list[str]:
    return [
        f"Every text gets one of the {len(facts['labels'])} labels, also where none fits.",
        "How accurate the ensemble is was not recorded: `senti evaluate` measures it, on rows that chose "
        "neither its weights nor a run.",
        "A text is read by every run, so an answer costs what all of them cost.",
        "The limits of each run are those of its own card.",
        unrecorded("the language", "who wrote and who labelled the texts"),
    ]
