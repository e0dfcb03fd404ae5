"""`senti pretrain`: flags and TOML -> `LanguageConfig` -> a language model's run.

Flags go above `--set`, that above `--config`, that above what suits the architecture and the size.
"""

from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.output import counted, lines, number, sized, table

from .command import AsJson, Quiet, Traceback, add, typed
from .launch import output_of_first, run, trees
from .options import (
    Assignments,
    ConfigFile,
    DryRun,
    ForceRun,
    Resumed,
    parameters,
    refuse_others,
    tree_of,
    unused_options,
    with_options,
)

__all__ = ["register"]

# Keys of [optim] that are not options of `senti train`: option and metavar.
_FLAGS = {
    "optim.name": ("--optimizer", "NAME"), "optim.muon_lr": ("--muon-lr", "RATE"),
    "optim.schedule": ("--schedule", "KIND"), "optim.warmup": ("--warmup", "SHARE"),
    "optim.weight_decay": ("--weight-decay", "RATE"), "optim.clip": ("--clip", "NORM"),
}  # fmt: skip
# Defaults of language models, above those of the section (`runs/families.py`).
_DEFAULTS = {
    "task.kind": "masked of bert and encoder, else next-token", "optim.lr": "that of the preset",
    "optim.warmup": 0.02, "optim.weight_decay": 0.1,
}  # fmt: skip


def pretrain(
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CORPUS", help="Files and folders of texts, or directories that sentitok encode wrote."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run directory to write. [default: runs/lm-ARCH]"),
    ] = None,
    config: ConfigFile = None,
    set_: Assignments = None,
    resume: Resumed = None,
    dry_run: DryRun = False,
    force: ForceRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    **given: Any,
) -> None:
    """Pre-train a language model on texts.

    A share of the documents is held out for validation; the best weights by validation loss are kept.
    Ctrl-C saves the run; senti pretrain --resume DIR continues it.
    """
    from ..runs.families import LANGUAGE_MODEL
    from ..runs.init_weights import inherit_size

    output = output_of_first("senti.pretrain/1", as_json=as_json, quiet=quiet)
    if resume is not None:
        refuse_others(corpus, config, set_, "--force" * force, out, tree_of(given))
        run(output, "pretrain", resume, None, summary)
        return
    flags = tree_of({**given, "data__corpus": corpus})
    for note in unused_options(flags):
        output.note(note)
    resolved = LANGUAGE_MODEL.resolve(*inherit_size(*trees(config, set_ or [], flags)))
    run(
        output,
        "pretrain",
        out or Path("runs") / f"lm-{resolved.arch}",
        resolved,
        summary,
        force=force,
        dry_run=dry_run,
    )


def summary(about: dict[str, Any], folder: Path) -> str:
    """Writes the summary of a language model's run."""
    fit, speed, valid = about["fit"], about["speed"], about["valid"]
    measured = speed["tokens_per_second"]  # 0 of a run that was stopped before its first record
    said = f"{number(round(measured))} tokens/s" if measured else "-"
    if measured and "mfu" in speed:
        said += (
            f", MFU {100 * speed['mfu']:.1f} % ({speed['formula']}; peak {speed['peak'] / 1e12:.0f} TFLOP/s)"
        )
    documents, tokens = about["corpus"]["documents"], about["corpus"]["tokens"]
    best = f"best at {number(fit['best_step'])} by validation loss"
    of = f" of {number(about['planned_steps'])}" if fit["stop"] == "stopped" else ""
    pairs = [
        ("model", f"{about['arch']}, {number(about['parameters'])} parameters, {about['task']}"),
        ("training", f"{number(tokens[0])} tokens, {counted(documents[0], 'document')}"),
        ("validation", f"{number(tokens[1])} tokens, {counted(documents[1], 'document')}"),
        ("steps", f"{number(fit['steps'])}{of} ({fit['stop']}), {best}"),
        ("tokens", f"{number(fit['tokens'])} trained on"),
        ("speed", said),
        ("seconds", f"{about['seconds']['fit']:.1f}"),
    ]
    rows = [[f"{about['arch']}, this run", *_shown(valid)]]
    if "bits_per_byte" in valid:
        rows += [[name, "", "", f"{value:.4f}"] for name, value in about["baselines"].items()]
    text = f"{lines(pairs)}\n\n{table(['', 'loss', 'perplexity', 'bits per byte'], rows)}".rstrip("\n") + "\n"
    if "next_sentence" in valid:
        text += (
            f"next sentence: accuracy {valid['next_sentence']:.4f}\n"
            f"masked tokens: loss {valid['masked_loss']:.4f}, which perplexity is of; loss adds that of the "
            "next sentence\n"
        )
    following = [f"senti train FILE {typed('--init', folder)}"]
    if about["task"] == "next-token":
        following.insert(0, f'{typed("senti", "generate", folder)} "Once"')
    ending = lines([("written", sized(folder)), *zip(("next", "or"), following, strict=False)])
    return f"{text}\n{ending}"


def _shown(valid: dict[str, float]) -> list[str]:
    bits = valid.get("bits_per_byte")
    return [
        f"{valid['loss']:.4f}", f"{valid['perplexity']:.2f}", "" if bits is None else f"{bits:.4f}"
    ]  # fmt: skip


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that a language model's configuration has, by key."""
    from ..config import LanguageConfig, sections_of

    return parameters(
        LanguageConfig, sections_of("language-model").values(), model=("attention", "positions"),
        flags=_FLAGS, defaults=_DEFAULTS,
    )  # fmt: skip


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "pretrain",
        with_options(pretrain, options()),
        "senti pretrain books.txt --preset nano --steps 200 --out runs/lm",
        "senti pretrain books.txt --format paragraphs --arch bert --next-sentence --epochs 1 -o runs/mlm",
        "senti pretrain --resume runs/lm",
    )
