"""The card of a translation model: what `sentimodels.runs.card` found of its run, in Markdown."""

import json
from typing import Any

from sentitok.cli.output import number

from .layout import (
    Parts,
    base_section,
    cell,
    python,
    shell,
    sizes,
    source_table,
    stopped,
    table,
    unrecorded,
)

__all__ = ["parts"]

_SCORES = {"bleu": "BLEU", "chrf": "chrF"}
# How a model is loaded and used.
_USE = (
    "from sentimodels import Translator",
    "",
    "model = Translator.load({name})",
    '(best,) = model.translate(["A sentence."])',
    "print(best[0].text)",
)


def parts(facts: dict[str, Any]) -> Parts:
    """Returns the content of the card."""
    name = facts["name"]
    size = "" if facts["parameters"] is None else f", {number(facts['parameters'])} parameters"
    return Parts(
        tag="translation",
        tags=[facts["arch"]],
        result=_result(facts),
        opening=f"A translation model (`{facts['arch']}`{size}): {_kind(facts)}, trained by "
        "`senti translate train`.",
        uses=[shell(name, 'echo "A sentence." | senti translate text {name}'), python(name, *_USE)],
        sections={
            "Model": [_model(facts), *base_section(facts["base"])],
            "Data": [source_table(facts["data"], "rows"), *_pairs(facts)],
            "Scores": _scores(facts),
        },
        limits=_limits(facts),
    )


def _kind(facts: dict[str, Any]) -> str:
    if facts["prompt"] is None:
        return "an encoder reads the source, a decoder writes the target"
    return "a causal model reads the source in a prompt and continues with the target"


def _model(facts: dict[str, Any]) -> str:
    search = facts["search"]
    rows = [
        ["architecture", f"`{facts['arch']}`" + (f", preset {facts['preset']}" if facts["preset"] else "")],
        ["parameters", "not recorded" if facts["parameters"] is None else number(facts["parameters"])],
        *sizes(facts["sizes"]),
        ["vocabulary", f"{number(facts['vocabulary'])} tokens, of both languages"],
        *(
            []
            if facts["prompt"] is None
            else [["prompt", f"`{cell(json.dumps(facts['prompt'], ensure_ascii=False))}`"]]
        ),
        ["search", f"{number(search['beam'])} beams, norm {search['norm']}, alpha {search['alpha']:g}"],
    ]
    return table(["", ""], rows)


def _pairs(facts: dict[str, Any]) -> list[str]:
    pairs = facts["pairs"]
    if "train" not in pairs:
        return []
    where = "of a separate file" if facts["valid_given"] else "held out of the training file"
    said = f"Trained on {number(pairs['train'])} pairs; {number(pairs['valid'])} validation pairs, {where}."
    if pairs.get("left_out"):
        said += (
            f" {number(pairs['left_out'])} training pairs were left out: a side is empty, or longer than "
            f"{number(facts['max_tokens'])} tokens."
        )
    return [said]


def _scores(facts: dict[str, Any]) -> list[str]:
    scores = facts["scores"]
    if "loss" not in scores:
        return ["The run records no scores."]
    shown_scores = [name for name in _SCORES if name in scores]
    n = facts["pairs"].get("valid")
    row = [
        "validation" + ("" if n is None else f", {number(n)} pairs"), f"{scores['loss']:.4f}",
        f"{scores['perplexity']:.2f}", *(f"{scores[name]:.2f}" for name in shown_scores),
    ]  # fmt: skip
    head = ["", "loss, nats a token", "perplexity", *(_SCORES[name] for name in shown_scores)]
    signatures = scores.get("signatures", {})
    said = [
        f"{_SCORES[name]} by sacrebleu, signature `{signatures[name]}`."
        for name in shown_scores
        if name in signatures
    ]
    if not shown_scores:
        said.append(
            "BLEU and chrF are not recorded: sacrebleu was not installed, or the run was stopped. `senti "
            "translate evaluate` scores it."
        )
    return [table(head, [row]), " ".join([*said, "No intervals are recorded."])]


def _limits(facts: dict[str, Any]) -> list[str]:
    limits = []
    if facts["reads"] is not None:
        prompt = "" if facts["prompt"] is None else ", the prompt and the translation with it"
        limits.append(
            f"Its positions reach {number(facts['reads'])} tokens{prompt}; longer texts are refused."
        )
    search = facts["search"]
    limits.append(
        f"It was trained on pairs whose sides have at most {number(facts['max_tokens'])} tokens; how it "
        "translates longer texts was not measured."
    )
    limits.append(
        f"A translation has at most {search['length_ratio']:g} tokens for each token of its source, and "
        f"{number(search['length_extra'])} more."
    )
    if "loss" in facts["scores"]:
        said = "The scores are of the validation pairs alone; other texts may be harder: "
        said += "`senti translate evaluate` measures it."
        if facts["training"]["monitor"] is not None:
            said += " Its weights are the ones that were best on the same pairs, so the scores flatter it."
        limits.append(said)
    return [
        *limits,
        *stopped(facts),
        "It was not tested for translations that leave out, add or turn round what the source says.",
        unrecorded("which languages it translates between", "who wrote and who translated the texts"),
    ]


def _result(facts: dict[str, Any]) -> dict[str, Any] | None:
    metrics = [
        {"type": name, "name": _SCORES[name], "value": round(facts["scores"][name], 6)}
        for name in _SCORES
        if name in facts["scores"]
    ]
    if not metrics:
        return None
    file = next((one for one in facts["data"] if one["role"] == "valid"), facts["data"][0])
    return {
        "task": {"type": "translation"},
        "dataset": {"name": f"{file['file']}, valid", "type": "parallel", "split": "valid"},
        "metrics": metrics,
    }
