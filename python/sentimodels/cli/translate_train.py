"""`senti translate train`: flags and TOML -> `TranslationConfig` -> one run.

Training is `recipes/translation.py`; options that set a key are `options.py`; the other commands of the
group are `translate.py`.
"""

from collections.abc import Iterator
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.output import lines, number, sized

from .command import AsJson, Quiet, Traceback, UsageError
from .dry_run import dry_run_of
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
)

__all__ = ["options", "score_lines", "train"]

# What suits translation, whatever its section says (`runs/families.py`).
_DEFAULTS = {"optim.lr": 0.001}


def train(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES", help="File of sources and file of targets, or one table."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run directory to write. [default: runs/ARCH]"),
    ] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="File of validation sources and, given again, of their targets; or one table. [default: a "
            "share of the training pairs]",
        ),
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
    """Train a translation model on parallel text.

    One tokenizer for both sides is trained, unless --tokenizer or --init gives one. The best step by
    validation loss is kept, or by BLEU with --monitor bleu. Ctrl-C saves the run; senti translate train
    --resume DIR continues it.
    """
    from ..runs.families import TRANSLATOR, merge
    from ..runs.start import as_translator

    output = output_of_first("senti.translate-train/1", as_json=as_json, quiet=quiet)
    flags = tree_of({**given, "data__train": files, "data__valid": valid})
    if resume is not None:
        refuse_others(flags, out, config, set_, "--force" * force)
        run(output, "translate train", resume, None, _summary)
        return
    for note in unused_options(flags):
        output.note(note)
    asked = trees(config, set_ or [], flags)
    resolved = TRANSLATOR.resolve(as_translator(merge(asked)), *asked)
    if not resolved.data.train:
        raise UsageError("no training pairs: give a file of sources and one of targets, or one table")
    if dry_run:
        from ..runs.execute import recipe_of

        dry_run_of(output, recipe_of(resolved))
        return
    run(output, "translate train", out or Path("runs") / resolved.arch, resolved, _summary, force=force)


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that the configuration of a translation run has, by key."""
    from ..config import Seq2SeqConfig, TranslationConfig

    return parameters(TranslationConfig, [Seq2SeqConfig], defaults=_DEFAULTS)


def _summary(about: dict[str, Any], folder: Path) -> str:
    """Writes what people want to know of a run."""
    fit, pairs = about["fit"], about["pairs"]
    counts = ", ".join(f"{number(n)} {name.replace('_', ' ')}" for name, n in pairs.items() if n)
    speed = number(round(fit["tokens"] / max(fit["seconds"], 1e-9)))
    rows = [
        ("architecture", f"{about['arch']}, {number(about['parameters'])} parameters"),
        ("vocabulary", f"{number(about['vocabulary'])} tokens"),
        ("pairs", counts),
        ("steps", f"{number(fit['steps'])} ({fit['stop']}), best at {number(fit['best_step'])}"),
        ("speed", f"{speed} tokens/s, padding {100 * fit['padding']:.1f} %"),
        ("seconds", f"{fit['seconds']:.1f} steps"),
        *score_lines(about["valid"], "validation "),
    ]
    following = f'echo "A sentence." | senti translate text {folder}'
    return f"{lines(rows)}\n\n{lines([('written', sized(folder)), ('next', following)])}"


def score_lines(scores: dict[str, Any], part: str = "") -> list[tuple[str, str]]:
    """Writes scores, with sacrebleu's signatures."""
    rows = []
    if "loss" in scores:
        said = f"{scores['loss']:.4f} nats a token, perplexity {scores['perplexity']:.2f}"
        rows.append((f"{part}loss", said))
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        if name in scores:
            signature = scores.get("signatures", {}).get(name)
            told = f"  ({signature})" if signature else ""
            rows.append((f"{part}{title}", f"{scores[name]:.2f}{told}"))
    return rows
