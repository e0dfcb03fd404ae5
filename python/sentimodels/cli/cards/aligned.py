"""The card of an aligned language model: what `sentimodels.alignment.card` found, in Markdown.

Not for the model before it was aligned (`language.py`). Divergence and distinct n-grams stand beside every
reward, as a reward can be had by texts that nobody would want.
"""

from typing import Any

from sentitok.cli.output import number

from ..summary import SCORES, preferred, score_rows
from .language import USES, model_table, reach, untested
from .layout import (
    base_section,
    document,
    front_matter,
    python,
    shell,
    source_table,
    stopped,
    table,
    unrecorded,
)

__all__ = ["markdown"]

_METHODS = {
    "ppo": "follows a reward (proximal policy optimization)",
    "dpo": "follows preferences between answers (direct preference optimization)",
}
_ROLES = {
    "base": "what the base learned from",
    "reward": "what the reward's run learned from",
    "train": "what it was aligned on",
    "judge": "what judged it, and was not trained on",
}


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
    name = facts["name"]
    return document(
        facts,
        front=front_matter("text-generation", [facts["arch"], facts["method"]], name, _result(facts)),
        opening=f"A language model (`{facts['arch']}`, {number(facts['parameters'])} parameters) that "
        f"{_METHODS[facts['method']]}, made of `{facts['base']['name']}` by `senti align`.",
        uses=[shell(name, 'senti generate {name} "It was"'), python(name, *USES["next-token"])],
        sections={
            "Model": [
                model_table(facts),
                *base_section(facts["base"]),
                *_reward(facts["reward"], facts["method"]),
            ],
            "Data": [source_table(facts["data"], "documents"), _roles(facts)],
            "Scores": _scores(facts),
        },
        limits=_limits(facts),
    )  # fmt: skip


def _reward(reward: dict[str, Any] | None, method: str) -> list[str]:
    if reward is None:
        return []
    hashed = "" if reward["sha256"] is None else f" (SHA-256 `{reward['sha256']}`)"
    weights = reward["weights"]
    if len(weights) == 1 and set(weights.values()) == {1.0}:
        (label,) = weights
        worth = f"the {reward['value']} of its label `{label}`"
    else:
        told = ", ".join(f"{weight:g} for `{label}`" for label, weight in weights.items())
        worth = f"the sum of the {reward['value']} of its labels, by weights: {told}"
    said = f"The reward of a text is what the classifier `{reward['name']}`{hashed} says: {worth}."
    if method == "dpo":
        said += " It only judges: nothing was learned from it."
    return ["## Reward", said]


def _roles(facts: dict[str, Any]) -> str:
    there = {one["role"] for one in facts["data"]}
    return "; ".join(f"`{role}`: {said}" for role, said in _ROLES.items() if role in there) + "."


def _scores(facts: dict[str, Any]) -> list[str]:
    outcome = facts["alignment"]
    if outcome is None:
        return ["The run records no scores: it was stopped, it failed, or its judging was broken off."]
    parts = [
        f"Answers to {number(outcome['openings'])} openings that were not trained on, drawn before and after "
        f"by the same seed, at most {number(facts['max_new_tokens'])} tokens long:",
        table(["", "before", "after"], score_rows(outcome)),
    ]
    said = []
    if "gain" in outcome:
        low, high = outcome["interval"]
        said.append(
            f"The reward changed by {outcome['gain']:.3f} (95 % interval {low:.3f} to {high:.3f}), and is "
            f"greater for {number(outcome['better'])} of the {number(outcome['openings'])} openings."
        )
    if "preferences" in outcome:
        said.append(
            f"Of {number(outcome['pairs'])} pairs that were not trained on, the chosen answer is preferred "
            f"in {preferred(outcome['preferences'])}."
        )
    said += [f"Warning: {warning}." for warning in outcome["warnings"]]
    if facts["samples"] is not None:
        said.append(f"All these answers are in `{facts['samples']}`.")
    return [*parts, " ".join(said)] if said else parts


def _limits(facts: dict[str, Any]) -> list[str]:
    limits = [reach(facts)]
    if facts["method"] == "ppo":
        limits.append(
            "The reward is what one classifier answers: texts that it likes need not be good, true or "
            "varied. The divergence from the base and distinct n-grams tell what a reward cost."
        )
    else:
        limits.append("It knows no preferences but those of its pairs; whose they are is not recorded.")
    if facts["alignment"] is not None:
        limits.append(
            "It was judged once, on its last weights; nothing was chosen on what judges. Other openings may "
            "give other rewards."
        )
        if "gain" not in facts["alignment"]:
            limits.append("No reward of its answers is recorded, before or after.")
    return [
        *limits,
        "How well it predicts texts (perplexity, bits per byte) was not measured after it was aligned: "
        "`LanguageModel.score` tells.",
        *stopped(facts),
        untested(),
        unrecorded("the language", "who wrote the texts, the openings or the pairs"),
    ]


def _result(facts: dict[str, Any]) -> dict[str, Any] | None:
    outcome = facts["alignment"]
    file = next((one for one in facts["data"] if one["role"] == "judge"), None)
    if outcome is None or file is None:
        return None
    after = outcome["after"]
    metrics = [
        {"type": key, "name": SCORES[key], "value": round(after[key], 6)}
        for key in ("reward_mean", "kl", "distinct_2")
        if key in after
    ]
    if "preferences" in outcome:
        accuracy = round(outcome["preferences"]["accuracy"], 6)
        metrics.append({"type": "accuracy", "name": "chosen answers preferred", "value": accuracy})
    return {
        "task": {"type": "text-generation"},
        "dataset": {"name": f"{file['file']}, judge", "type": "text", "split": "judge"},
        "metrics": metrics,
    }
