"""`senti align`: flags and TOML -> `AlignConfig` -> a language model that follows a reward or preferences.

Flags go above `--set`, that above `--config`. Divergence and distinct n-grams are printed with every
reward.
"""

import json
from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.output import lines, number, sized, table

from .command import AsJson, Output, Quiet, Traceback, add, typed
from .launch import run, trees
from .options import (
    Assignments,
    ConfigFile,
    DryRun,
    ForceRun,
    Resumed,
    parameters,
    refuse_others,
    tree_of,
    with_options,
)
from .summary import preferred, score_rows
from .tables import shortened

__all__ = ["register"]

_SCHEMA = "senti.align/1"
# Characters of an opening, and of an answer, in the samples.
_WIDE = 90


def align(
    base: Annotated[
        str | None, typer.Argument(metavar="BASE", help="Run directory of the language model to align.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="File of openings (lines of .txt, or a column of a table) or, with --method dpo, of pairs "
            "(JSON lines with prompt, chosen, rejected).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run directory to write. [default: runs/METHOD]"),
    ] = None,
    config: ConfigFile = None,
    set_: Assignments = None,
    resume: Resumed = None,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            min=0,
            metavar="N",
            help="Number of openings to show with their answers before and after.",
            rich_help_panel="Output",
        ),
    ] = 6,
    dry_run: DryRun = False,
    force: ForceRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Align a language model with a reward, or with preferences.

    ppo samples answers to openings and follows the reward of a classifier; dpo learns from pairs of answers.
    The model is evaluated before and after training, on openings or pairs that it is not trained on.
    Ctrl-C saves the run; senti align --resume DIR continues it.
    """
    from ..runs.families import ALIGNMENT

    output = Output(_SCHEMA, as_json=as_json, quiet=quiet)
    if resume is not None:
        refuse_others(base, file, config, set_, "--force" * force, out, tree_of(given))
        run(output, "align", resume, None, summary, more=lambda folder: _samples_in(folder, samples))
        return
    flags = tree_of({"base": base, **given, "data__train": file})
    resolved = ALIGNMENT.resolve(*trees(config, set_ or [], flags))
    run(
        output, "align", out or Path("runs") / resolved.task.kind, resolved, summary, force=force,
        dry_run=dry_run, more=lambda folder: _samples_in(folder, samples),
    )  # fmt: skip


def _samples_in(folder: Path, n: int) -> dict[str, Any]:
    """Returns the first samples of a run, openings with their answers before and after."""
    from ..runs.language_directory import SAMPLES

    shown: list[dict[str, Any]] = []
    if (folder / SAMPLES).is_file():
        text = (folder / SAMPLES).read_text("utf-8", "surrogatepass")
        shown = [json.loads(line) for line in text.split("\n")[:-1]][:n]
    return {"samples": shown}


def summary(about: dict[str, Any], folder: Path) -> str:
    """Writes the summary of an alignment."""
    fit = about["fit"]
    parts = [
        lines([
            ("method", f"{about['method']}, from {about['base']}"),
            *([("reward", str(about["reward_run"]))] if about["reward_run"] else []),
            ("steps", f"{number(fit['steps'])} ({fit['stop']}), {fit['seconds']:.1f} s"),
        ])
    ]  # fmt: skip
    alignment = about.get("alignment")
    if alignment is not None:
        parts += _report(alignment)
        if about["samples"]:
            parts.append(_samples(about["samples"]))
    ending = [("written", sized(folder)), ("next", f"{typed('senti', 'generate', folder)} PROMPT")]
    return "\n\n".join(part.rstrip("\n") for part in [*parts, lines(ending)])


def _report(alignment: dict[str, Any]) -> list[str]:
    """Writes the scores before and after, and warnings."""
    head = [f"{number(alignment['openings'])} openings not trained on", "before", "after"]
    parts = [table(head, score_rows(alignment))]
    said = []
    if "gain" in alignment:
        low, high = alignment["interval"]
        many = alignment["gain_in_std"]
        deviations = "" if many is None else f", {many:.2f} standard deviations of the start"
        said.append(
            f"change in reward: {alignment['gain']:.3f} ({low:.3f} to {high:.3f}){deviations}; more for "
            f"{number(alignment['better'])} of {number(alignment['openings'])} openings"
        )
    if "preferences" in alignment:
        said.append(
            f"{number(alignment['pairs'])} pairs not trained on: the chosen answer preferred in "
            f"{preferred(alignment['preferences'])}"
        )
    said += [f"warning: {warning}" for warning in alignment["warnings"]]
    return [*parts, *(["\n".join(said)] if said else [])]


def _samples(samples: list[dict[str, Any]]) -> str:
    """Lays out openings with both answers."""
    said = []
    for one in samples:
        said.append(shortened(one["opening"], _WIDE) or "(the beginning of a text)")
        for name in ("before", "after"):
            worth = f" {one[f'reward_{name}']:7.2f}" if f"reward_{name}" in one else ""
            said.append(f"  {name:6}{worth}  {shortened(one[name], _WIDE)}")
    rewards = any("reward_before" in one for one in samples)
    return "\n".join(["openings, answers and rewards:" if rewards else "openings and answers:", *said])


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that the configuration of an alignment has, by key."""
    from ..config import ALIGN_OPTIM, AlignConfig, sections_of

    defaults = {f"optim.{name}": value for name, value in ALIGN_OPTIM.items()}
    return parameters(AlignConfig, sections_of("aligned-model").values(), defaults=defaults)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "align",
        with_options(align, options()),
        "senti align runs/base openings.txt --reward-run runs/reviews --reward pos --out runs/ppo",
        "senti align runs/base pairs.jsonl --method dpo --beta 0.2 --out runs/dpo",
        "senti align --resume runs/ppo",
    )
