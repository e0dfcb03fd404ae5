"""The card of an aligned language model: what `sentimodels.alignment.card` found, in Markdown.

Not for the model before it was aligned (`language.py`). Divergence and distinct n-grams stand beside every
reward, as a reward can be had by texts that nobody would want.
"""

from typing import Any

from sentitok.cli.output import number

from .language import USES, model_table, reach, untested
from .layout import (
    base_section,
    bullets,
    files,
    front_matter,
    python,
    shell,
    source_table,
    stopped,
    table,
    training,
    unrecorded,
)

__all__ = ["markdown"]

_METHODS = {
    "ppo": "follows a reward (proximal policy optimization)",
    "dpo": "follows preferences between answers (direct preference optimization)",
}
_ROWS = {
    "reward_mean": "reward, mean", "reward_median": "reward, median", "reward_std": "reward, deviation",
    "kl": "KL from the base, nats an answer", "distinct_1": "distinct-1", "distinct_2": "distinct-2",
    "length": "tokens of an answer",
}  # fmt: skip
_ROLES = {
    "base": "what the base learned from",
    "reward": "what the reward's run learned from",
    "train": "what it was aligned on",
    "judge": "what judged it, and was not trained on",
}


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
    name = facts["name"]
    parts = [
        front_matter("text-generation", [facts["arch"], facts["method"]], name, _result(facts)),
        f"# {name}",
        f"A language model (`{facts['arch']}`, {number(facts['parameters'])} parameters) that "
        f"{_METHODS[facts['method']]}, made of `{facts['base']['name']}` by `senti align`.",
        shell(name, 'senti generate {name} "It was"'),
        python(name, *USES["next-token"]),
        "## Model",
        model_table(facts),
        *base_section(facts["base"], "The weights began as those of"),
        *_reward(facts["reward"], facts["method"]),
        "## Data",
        source_table(facts["data"], "documents"),
        _roles(facts),
        "## Scores",
        *_scores(facts),
        "## Limits",
        bullets(_limits(facts)),
        "## Training",
        training(facts),
        *files(facts),
    ]
    return "\n\n".join(parts) + "\n"


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
        return ["The run records no scores: it was not judged, as it was stopped or failed."]
    before, after = outcome["before"], outcome["after"]
    rows = [[name, f"{before[key]:.3f}", f"{after[key]:.3f}"] for key, name in _ROWS.items() if key in before]
    parts = [
        f"Answers to {number(outcome['openings'])} openings that were not trained on, drawn before and after "
        f"by the same seed, at most {number(facts['max_new_tokens'])} tokens long:",
        table(["", "before", "after"], rows),
    ]
    said = []
    if "gain" in outcome:
        low, high = outcome["interval"]
        said.append(
            f"The reward changed by {outcome['gain']:.3f} (95 % interval {low:.3f} to {high:.3f}), and is "
            f"greater for {number(outcome['better'])} of the {number(outcome['openings'])} openings."
        )
    if "preferences" in outcome:
        one = outcome["preferences"]
        said.append(
            f"Of {number(outcome['pairs'])} pairs that were not trained on, the chosen answer is preferred "
            f"in {100 * one['accuracy']:.1f} %, by a margin of {one['margin']:.3f} (implicit rewards "
            f"{one['reward_chosen']:.3f} and {one['reward_rejected']:.3f}); the loss is {one['loss']:.4f}."
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
        {"type": key, "name": _ROWS[key], "value": round(after[key], 6)}
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
