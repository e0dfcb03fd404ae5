"""Layout of cards of all kinds: front matter, tables, and the sections that all have.

The front matter is what the Hugging Face Hub reads: some lines, for which huggingface_hub would bring a
client for the network.
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentitok.cli.output import bytes_text, number

__all__ = [
    "Parts", "base_section", "cell", "document", "python", "shell", "sizes", "source_table", "stopped",
    "table", "unrecorded",
]  # fmt: skip

# Hashes of a cell that are written out: an encoded corpus has one for each of its shards.
_HASHES = 3
_SIZES = {
    "d_model": "width", "n_layers": "layers", "n_decoder_layers": "layers of the decoder",
    "n_heads": "attention heads", "d_hidden": "width of the hidden state", "d_head": "width of a head",
    "d_state": "width of the state", "d_ff": "inner width",
}  # fmt: skip


def front_matter(
    pipeline_tag: str, tags: Sequence[str], name: str, result: Mapping[str, Any] | None = None
) -> str:
    """Returns YAML whose values are written as JSON, which YAML contains.

    Args:
        pipeline_tag: the task, as the Hub calls it.
        tags: words to find the model by.
        name: the model's.
        result: its scores, as an entry of `model-index`; `None`: there are none.
    """
    lines = [
        "---",
        "library_name: sentitok",
        f"pipeline_tag: {pipeline_tag}",
        f"tags: {json.dumps(['sentimodels', *tags])}",
    ]
    if result is not None:
        lines += ["model-index:", f"- name: {_yaml(name)}", "  results:", f"  - {_yaml(result)}"]
    return "\n".join([*lines, "---"])


def _yaml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Returns a table of Markdown."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in [head, *rows]]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def cell(value: Any) -> str:
    """Writes the value of a setting."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


@dataclass(frozen=True)
class Parts:
    """The content of a card of one kind; `document` lays it out.

    Attributes:
        tag: the task, as the Hub calls it.
        tags: words to find the model by.
        opening: a description of the model, in a sentence.
        uses: blocks that load and use it.
        sections: paragraphs by the title of their section, in order.
        limits: the sentences of the list of limits.
        result: its scores, as an entry of `model-index`; `None`: there are none.
        ending: the sections after the limits; `None`: how the run was trained, and its files.
    """

    tag: str
    tags: Sequence[str]
    opening: str
    uses: Sequence[str]
    sections: Mapping[str, Sequence[str]]
    limits: Sequence[str]
    result: Mapping[str, Any] | None = None
    ending: Sequence[str] | None = None


def document(facts: Mapping[str, Any], parts: Parts) -> str:
    """Returns the card of a model of any kind, from the record of its run and the texts of its kind."""
    front = front_matter(parts.tag, parts.tags, facts["name"], parts.result)
    said = [front, f"# {facts['name']}", parts.opening, *parts.uses]
    for title, paragraphs in {**parts.sections, "Limits": [bullets(parts.limits)]}.items():
        said += [f"## {title}", *paragraphs]
    ending = parts.ending
    if ending is None:
        ending = ["## Training", training(facts), *files(facts)]
    return "\n\n".join([*said, *ending]) + "\n"


def bullets(sentences: Iterable[str]) -> str:
    """Returns a list."""
    return "\n".join(f"- {line}" for line in sentences)


def python(name: str, *lines: str) -> str:
    """Returns a block of Python; `{name}` in a line is the run, as Python writes it."""
    return "\n".join(["```python", *(line.replace("{name}", json.dumps(name)) for line in lines), "```"])


def shell(name: str, line: str) -> str:
    """Returns a block with a command; `{name}` in it is the run, as a shell takes it."""
    return f"```\n{line.replace('{name}', shlex.quote(name))}\n```"


def sizes(parameters: Mapping[str, int]) -> list[list[str]]:
    """Returns the rows of the table of a model's size."""
    return [[_SIZES[key], number(value)] for key, value in parameters.items()]


def _hashes(sha256: str) -> str:
    """Writes the hash of a file, or those of the shards of a corpus, the first ones of many."""
    hashes = sha256.split()
    rest = f" and {number(len(hashes) - _HASHES)} more" if len(hashes) > _HASHES else ""
    return " ".join(f"`{one}`" for one in hashes[:_HASHES]) + rest


def source_table(data: Sequence[Mapping[str, Any]], counted: str) -> str:
    """Returns the files of a run; `counted` is the key of how much each holds."""
    if not data:
        return "The run records no files that it learned from."
    rows = [
        [
            one["role"],
            one["file"],
            "-" if one[counted] is None else number(one[counted]),
            _hashes(one["sha256"]),
        ]
        for one in data
    ]
    return table(["role", "file", counted, "SHA-256"], rows)


def base_section(base: Mapping[str, Any] | None) -> list[str]:
    """Returns the start of a model, if it did not begin from drawn weights."""
    if base is None:
        return []
    said = f"The weights began as those of `{base['name']}`"
    said += (
        f" (SHA-256 of its manifest `{base['sha256']}`)."
        if base["sha256"]
        else ", of which the run records no hash."
    )
    said += (
        " What that one had learned from is listed under Data."
        if base["learned"]
        else " What that one had learned from is not recorded."
    )
    return ["## Base", said]


def training(facts: Mapping[str, Any]) -> str:
    """Returns the table of how a run was trained; unrecorded values are left out."""
    fit, git = facts["training"], facts["git"]
    rows = [["seed", str(fit["seed"])]]
    if fit["steps"] == 0:
        rows.append(["course", "fitted as a whole"])
    elif fit["steps"] is not None:
        # Without a score to follow, the last step is kept.
        best = f", best at {number(fit['best_step'])}" if fit["monitor"] is not None else ""
        rows.append(["course", f"{number(fit['steps'])} steps ({fit['stop']}{best})"])
    if fit["tokens"]:
        rows.append(["tokens trained on", number(fit["tokens"])])
    if fit["seconds"] is not None:
        rows.append(["seconds", f"{fit['seconds']:.1f} on {fit['device']}"])
    return table(["", ""], [*rows, *settings(facts), *git_row(git)])


def settings(facts: Mapping[str, Any]) -> list[list[str]]:
    """Returns the rows of settings that are not the usual ones, and of versions."""
    return [
        *[[f"`{key}`", cell(value)] for key, value in facts["settings"].items()],
        *[[name, version] for name, version in facts["versions"].items()],
    ]


def git_row(git: Mapping[str, Any] | None) -> list[list[str]]:
    """Returns the row of the git commit, if there was one."""
    if git is None:
        return []
    return [["git commit", f"`{git['commit']}`" + (", with changes" if git["changed"] else "")]]


def files(facts: Mapping[str, Any]) -> list[str]:
    """Returns the section of the files, with their sizes and hashes."""
    rows = [[name, bytes_text(one["bytes"]), f"`{one['sha256']}`"] for name, one in facts["files"].items()]
    return [
        "## Files",
        table(["file", "size", "SHA-256"], rows),
        f"SHA-256 of the manifest: `{facts['manifest_sha256']}`. `senti verify {facts['name']}` compares the "
        "files with it.",
    ]


def stopped(facts: Mapping[str, Any]) -> list[str]:
    """Returns the warnings about a run that did not come to its end."""
    stop = facts["training"]["stop"]
    return [f"Training was ended early ({stop})."] if stop in ("stopped", "not finite") else []


def unrecorded(*more: str) -> str:
    """Names facts that no run records, and `more`."""
    return (
        f"The run does not record: {', '.join(['the licence of texts and weights', *more])}. Say so before "
        "you hand it on."
    )
