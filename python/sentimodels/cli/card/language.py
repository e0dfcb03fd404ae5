"""The cards of language models, pre-trained and aligned, from the facts of `sentimodels.runs.card`.

Divergence and distinct n-grams are reported with every reward, as unwanted texts can have a high reward.
"""

from typing import Any

from sentitok.cli.output import number

from ..summary import SCORES, preferred, score_rows
from .layout import (
    Parts,
    base_section,
    python,
    shell,
    sizes,
    source_table,
    stopped,
    table,
    unrecorded,
)

__all__ = ["USES", "aligned_parts", "model_table", "parts", "reach", "untested"]

_TAGS = {"next-token": "text-generation", "masked": "fill-mask"}
_TASKS = {
    "next-token": "predicts each token of a text from those before it",
    "masked": "predicts masked tokens of a text from those around them",
}
_BASELINES = {"unigram": "a unigram model of the same tokens", "gzip": "gzip on the same text"}
# How models of each task are loaded and used.
USES = {
    "next-token": (
        "from sentimodels import LanguageModel",
        "",
        "model = LanguageModel.load({name})",
        'print(model.generate("It was", max_new_tokens=20, seed=0))',
        'print(model.score(["It was."])[0].perplexity)',
    ),
    "masked": (
        "from sentimodels import LanguageModel",
        "",
        "model = LanguageModel.load({name})",
        'print(model.embed(["It was.", "They were."]).shape)',
    ),
}


def parts(facts: dict[str, Any]) -> Parts:
    """Returns the content of the card."""
    name, task = facts["name"], facts["task"]
    command = 'senti generate {name} "It was"' if task == "next-token" else "senti train FILE --init {name}"
    return Parts(
        tag=_TAGS[task],
        tags=[facts["arch"], task],
        result=_result(facts),
        opening=f"A language model (`{facts['arch']}`, {number(facts['parameters'])} parameters) that "
        f"{_TASKS[task]}, {_made(facts)}.",
        uses=[shell(name, command), python(name, *USES[task])],
        sections={
            "Model": [model_table(facts), *base_section(facts["base"])],
            "Data": [source_table(facts["data"], "documents"), *_divided(facts["corpus"])],
            "Scores": _scores(facts),
        },
        limits=_limits(facts),
    )


def _made(facts: dict[str, Any]) -> str:
    from ...runs.language_directory import IMPORTED

    if facts["imported"] == IMPORTED:
        return "trained by `senti pretrain`, then given another tokenizer by `sentitok transplant`"
    if facts["imported"] is not None:
        return (
            f"read by `senti import` from the files of a model of transformers (layout {facts['imported']})"
        )
    return "trained by `senti pretrain`"


def model_table(facts: dict[str, Any]) -> str:
    """Returns a description of the model."""
    rows = [
        ["architecture", f"`{facts['arch']}`" + (f", preset {facts['preset']}" if facts["preset"] else "")],
        ["parameters", number(facts["parameters"])],
        *sizes(facts["sizes"]),
        ["vocabulary", f"{number(facts['vocabulary'])} tokens"],
        ["context", f"{number(facts['context'])} tokens"],
    ]
    return table(["", ""], rows)


def _divided(corpus: dict[str, Any] | None) -> list[str]:
    if corpus is None:
        return []
    (train, valid), (train_tokens, valid_tokens) = (
        (corpus[key]["train"], corpus[key]["valid"]) for key in ("documents", "tokens")
    )
    said = (
        f"The documents of the corpus were divided by a hash of their numbers: {number(train)} "
        f"({number(train_tokens)} tokens) to train on, {number(valid)} ({number(valid_tokens)} tokens) that "
        "were held out and scored."
    )
    if corpus["left_out"]:
        said += (
            f" {number(corpus['left_out'])} lines or documents were left out, because `--exclude` names them."
        )
    return [said]


def _scores(facts: dict[str, Any]) -> list[str]:
    scores, corpus = facts["scores"], facts["corpus"]
    if "loss" not in scores:
        return ["The run records no scores."]
    part = "validation"
    if corpus is not None:
        n, tokens = corpus["documents"]["valid"], corpus["tokens"]["valid"]
        part += f", {number(n)} documents, {number(tokens)} tokens"
    head = ["", "loss, nats a token", "perplexity"]
    row = [part, f"{scores['loss']:.4f}", f"{scores['perplexity']:.2f}"]
    if "bits_per_byte" not in scores:
        return [table(head, [row]), _of_masked(facts)]
    rows = [[*row, f"{scores['bits_per_byte']:.4f}"]]
    rows += [
        [_BASELINES.get(name, name), "-", "-", f"{value:.4f}"] for name, value in facts["baselines"].items()
    ]
    said = (
        "Perplexity compares models with the same tokenizer, bits per byte of the text any two on the same "
        "documents. No intervals are recorded."
    )
    return [table([*head, "bits per byte"], rows), said]


def _of_masked(facts: dict[str, Any]) -> str:
    scores = facts["scores"]
    said = f"Loss and perplexity are of the {100 * facts['mask_rate']:g} % of the tokens that were "
    said += "chosen, and compare models with the same tokenizer"
    if "next_sentence" in scores:
        said += (
            f"; the loss has that of the next sentence in it, without which it is "
            f"{scores['masked_loss']:.4f}. Whether a second half follows the first is predicted right for "
            f"{100 * scores['next_sentence']:.1f} % of the rows"
        )
    return f"{said}. No intervals are recorded."


def _limits(facts: dict[str, Any]) -> list[str]:
    return [
        reach(facts),
        *([] if facts["task"] == "next-token" else [
            "It reads both ways, so it does not write texts; sentitok has no call that fills masks in, but "
            "takes its states as vectors of texts, and starts classifiers from it."
        ]),
        *_of_scores(facts),
        *stopped(facts),
        untested() if facts["task"] == "next-token" else "It was not tested on what its states are used for.",
        unrecorded("the language", "who wrote the texts", "whether they hold personal data"),
    ]  # fmt: skip


def _of_scores(facts: dict[str, Any]) -> list[str]:
    if "loss" not in facts["scores"]:
        return ["Nothing is known of how well it predicts: the run was not scored."]
    said = (
        "The scores are of documents of the same files as those it was trained on; other texts may be harder"
    )
    said += ": `LanguageModel.score` measures it." if facts["task"] == "next-token" else "."
    if facts["training"]["monitor"] is not None:
        said += (
            " Its weights are those with the lowest loss on those very documents, so the scores flatter it."
        )
    return [said]


def reach(facts: dict[str, Any]) -> str:
    """Says how long the texts may be that a model reads."""
    context = number(facts["context"])
    if facts["reads"] is None:
        return (
            f"It was trained on rows of {context} tokens. It keeps a state of one size, so it reads longer "
            "texts, but how well was not measured."
        )
    if facts["task"] == "masked":
        return f"It reads {context} tokens at once; a longer text is read in parts."
    return (
        f"It reads {context} tokens at once: a longer prompt is refused, and a text that grows longer "
        "forgets its older half (`--window`) or ends."
    )


def untested() -> str:
    """Says which tests no run of a language model has."""
    return (
        "It was not tested on tasks, on following instructions, or for texts that are false, offensive or "
        "copied from its training data. It may write any of these."
    )


def _result(facts: dict[str, Any]) -> dict[str, Any] | None:
    scores = facts["scores"]
    if "loss" not in scores or not facts["data"]:
        return None
    names = {"perplexity": "perplexity", "bits_per_byte": "bits per byte"}
    return {
        "task": {"type": _TAGS[facts["task"]]},
        "dataset": {
            "name": ", ".join(one["file"] for one in facts["data"] if one["role"] == "corpus") + ", valid",
            "type": "text", "split": "valid",
        },
        "metrics": [
            {"type": key, "name": name, "value": round(scores[key], 6)}
            for key, name in names.items()
            if key in scores
        ],
    }  # fmt: skip


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


def aligned_parts(facts: dict[str, Any]) -> Parts:
    """Returns the content of the card."""
    name = facts["name"]
    return Parts(
        tag="text-generation",
        tags=[facts["arch"], facts["method"]],
        result=_result_of_alignment(facts),
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
            "Scores": _scores_of_alignment(facts),
        },
        limits=_limits_of_alignment(facts),
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
        shares = ", ".join(f"{weight:g} for `{label}`" for label, weight in weights.items())
        worth = f"the sum of the {reward['value']} of its labels, by weights: {shares}"
    said = f"The reward of a text is what the classifier `{reward['name']}`{hashed} says: {worth}."
    if method == "dpo":
        said += " It only judges: nothing was learned from it."
    return ["## Reward", said]


def _roles(facts: dict[str, Any]) -> str:
    there = {one["role"] for one in facts["data"]}
    return "; ".join(f"`{role}`: {said}" for role, said in _ROLES.items() if role in there) + "."


def _scores_of_alignment(facts: dict[str, Any]) -> list[str]:
    outcome = facts["alignment"]
    if outcome is None:
        return ["The run records no scores: it was stopped, it failed, or its judging was broken off."]
    aligned_parts = [
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
    return [*aligned_parts, " ".join(said)] if said else aligned_parts


def _limits_of_alignment(facts: dict[str, Any]) -> list[str]:
    limits = [reach(facts)]
    if facts["method"] == "ppo":
        limits.append(
            "The reward is what one classifier answers: texts that it likes need not be good, true or "
            "varied. The divergence from the base and distinct n-grams show the price of a reward."
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
        "`LanguageModel.score` measures it.",
        *stopped(facts),
        untested(),
        unrecorded("the language", "who wrote the texts, the openings or the pairs"),
    ]


def _result_of_alignment(facts: dict[str, Any]) -> dict[str, Any] | None:
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
