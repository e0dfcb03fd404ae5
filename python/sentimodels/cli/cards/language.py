"""The card of a language model in Markdown, from the facts of `sentimodels.runs.card`.

Not for aligned models (`aligned.py`), which take from here what a language model is and how it is used.
"""

from typing import Any

from sentitok.cli.output import number

from .layout import (
    base_section,
    document,
    front_matter,
    python,
    shell,
    sizes,
    source_table,
    stopped,
    table,
    unrecorded,
)

__all__ = ["USES", "markdown", "model_table", "reach", "untested"]

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


def markdown(facts: dict[str, Any]) -> str:
    """Returns the card."""
    name, task = facts["name"], facts["task"]
    command = 'senti generate {name} "It was"' if task == "next-token" else "senti train FILE --init {name}"
    return document(
        facts,
        front=front_matter(_TAGS[task], [facts["arch"], task], name, _result(facts)),
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
    if facts["imported"] is not None:
        return (
            f"read by `senti import` from the files of a model of transformers (layout {facts['imported']})"
        )
    return "trained by `senti pretrain`"


def model_table(facts: dict[str, Any]) -> str:
    """Returns what the model is."""
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
            f"{scores['masked_loss']:.4f}. Whether a second half follows the first is told right for "
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
    said += ": `LanguageModel.score` tells." if facts["task"] == "next-token" else "."
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
    """Says what no run of a language model was tested on."""
    return (
        "It was not tested on tasks, on following instructions, or for texts that are false, offensive or "
        "copied from its training data. It may write any of these."
    )


def _result(facts: dict[str, Any]) -> dict[str, Any] | None:
    scores = facts["scores"]
    if "loss" not in scores or not facts["data"]:
        return None
    told = {"perplexity": "perplexity", "bits_per_byte": "bits per byte"}
    return {
        "task": {"type": _TAGS[facts["task"]]},
        "dataset": {
            "name": ", ".join(one["file"] for one in facts["data"] if one["role"] == "corpus") + ", valid",
            "type": "text", "split": "valid",
        },
        "metrics": [
            {"type": key, "name": name, "value": round(scores[key], 6)}
            for key, name in told.items()
            if key in scores
        ],
    }  # fmt: skip
