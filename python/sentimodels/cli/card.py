"""`senti card`: a run's model card in Markdown, with the front matter that the Hugging Face Hub reads.

Not for what stands in it (`sentimodels.runs.card`): here facts become sentences and tables. What no run
records (licence, language, where texts come from) is named as missing, not made up.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.output import bytes_text, number

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .summary import JUDGED, beside_teacher, verdict

# What becomes of a text longer than the run reads, by `data.long`.
_LONG = {
    "truncate": "only its beginning is read",
    "head-tail": "only its beginning and end are read",
    "windows": "it is read in windows, whose answers are averaged",
}
# How the rows of a part that is scored are called.
_PARTS = {"test": "test", "crossed": "valid, crossed", "valid": "valid"}
_HEADS = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE"}


def card(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a classifier.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write. [default: stdout]")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a model card: data, scores with intervals, limits and hashes of a run.

    All of it is from the run directory, whose files are checked first. The card is Markdown, with the
    front matter of the Hugging Face Hub.
    """
    from ..data.writers import write_atomically
    from ..runs.card import card as facts_of

    output = Output("senti.card/1", as_json=as_json, quiet=quiet)
    facts = facts_of(run)
    text = markdown(facts)
    if out is not None:
        if out.resolve().parent == run.resolve():
            raise UsageError(f"{out}: in the run, whose manifest names every file; write the card elsewhere")
        if out.exists():
            raise UsageError(f"{out}: exists already; remove it, or give another --out")
        write_atomically(out, text.encode("utf-8", "replace"))
    output.result(
        facts,
        text.rstrip("\n") if out is None else f"written  {out}",
        facts["name"] if out is None else str(out),
    )


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
    labels = ", ".join(f"`{label}`" for label in facts["labels"])
    parts = [
        _front_matter(facts),
        f"# {facts['name']}",
        f"A text classifier (`{facts['arch']}`, {number(facts['parameters'])} parameters) with the labels "
        f"{labels}, trained by {_trained(facts['taught'])}.",
        f'```\necho "great fun" | senti predict {facts["name"]}\n```',
        "## Data",
        _table(
            ["role", "file", "format", "rows", "SHA-256"],
            [[one["role"], one["file"], one["format"], number(one["rows"]), f"`{one['sha256']}`"]
             for one in facts["data"]],
        ),
        _table(
            ["label", "training rows"],
            [[label, "-" if n is None else number(n)] for label, n in facts["labels"].items()],
        ),
        "## Scores",
        _score_table(facts),
        *_verdict(facts),
        "## Limits",
        "\n".join(f"- {line}" for line in _limits(facts)),
        "## Training",
        _training(facts),
        "## Files",
        _table(
            ["file", "size", "SHA-256"],
            [[name, bytes_text(one["bytes"]), f"`{one['sha256']}`"] for name, one in facts["files"].items()],
        ),
        f"SHA-256 of the manifest: `{facts['manifest_sha256']}`. `senti verify {facts['name']}` compares the "
        "files with it.",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _trained(taught: dict[str, Any] | None) -> str:
    if taught is None:
        return "`senti train`"
    return f"`senti distill` on the answers of `{taught['teacher']}` (SHA-256 `{taught['sha256']}`)"


def _front_matter(facts: dict[str, Any]) -> str:
    """Returns YAML whose values are written as JSON, which YAML contains."""
    lines = [
        "---",
        "library_name: sentitok",
        "pipeline_tag: text-classification",
        f"tags: {json.dumps(['sentimodels', facts['arch']])}",
    ]
    part = next((part for part in _PARTS if part in facts["scores"]), None)
    if part is not None:
        scores = facts["scores"][part]
        file = next((one for one in facts["data"] if one["role"] == part), facts["data"][0])
        metrics = [
            {"type": kind, "name": _HEADS[key], "value": round(scores[key], 6)}
            for kind, key in (("accuracy", "accuracy"), ("f1", "macro_f1"))
        ]
        result = {
            "task": {"type": "text-classification"},
            "dataset": {"name": f"{file['file']}, {_PARTS[part]}", "type": file["format"], "split": part},
            "metrics": metrics,
        }
        lines += ["model-index:", f"- name: {_yaml(facts['name'])}", "  results:", f"  - {_yaml(result)}"]
    return "\n".join([*lines, "---"])


def _yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _score_table(facts: dict[str, Any]) -> str:
    rows = []
    for part, name in _PARTS.items():
        if part in facts["scores"]:
            one = facts["scores"][part]
            cells = [f"{one[key]:.4f}{_ends(one, key)}" if key in one else "-" for key in _HEADS]
            rows.append([name + (", before refit" if facts["refitted"] and part != "test" else ""),
                         number(one["rows"]), *cells])  # fmt: skip
    for name, one in facts["baselines"].items():
        rows.append([f"baseline {name}", "", f"{one['accuracy']:.4f}", f"{one['macro_f1']:.4f}", "", ""])
    if not rows:
        return "The run had no labelled rows to be scored on."
    return _table(["rows", "number", *_HEADS.values()], rows)


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
    if facts["arch"] not in ("tfidf", "nb", "bow"):
        limits.append(f"Of a text longer than {texts['max_tokens']} tokens {_LONG[texts['long']]}.")
    part = next((part for part in _PARTS if part in facts["scores"]), None)
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
    if facts["training"]["stop"] in ("stopped", "not finite"):
        limits.append(f"Training did not end by itself ({facts['training']['stop']}).")
    limits.append(
        "The run does not record: the licence of texts and weights, the language, who wrote and who labelled "
        "the texts. Say so before you hand it on."
    )
    return limits


def _training(facts: dict[str, Any]) -> str:
    training, git = facts["training"], facts["git"]
    stop = f"{number(training['steps'])} steps ({training['stop']}, best at {number(training['best_step'])})"
    rows = [
        ["seed", str(training["seed"])],
        ["course", stop if training["steps"] else "fitted as a whole"],
        ["seconds", f"{training['seconds']:.1f} on {training['device']}"],
        *[[f"`{key}`", _cell(value)] for key, value in facts["settings"].items()],
        *[[name, version] for name, version in facts["versions"].items()],
    ]
    if git is not None:
        rows.append(["git commit", f"`{git['commit']}`" + (", with changes" if git["changed"] else "")])
    return _table(["", ""], rows)


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [head, *rows]]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "card",
        short_help="Write a model card: data, scores, limits and hashes.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti card runs/first", "senti card runs/first -o README.md", "senti card runs/first --json"
        ),
    )(card)
