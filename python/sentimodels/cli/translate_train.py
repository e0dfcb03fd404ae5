"""`senti translate train`: flags and TOML -> `TranslationConfig` -> one run.

Not for training (`lm/translation.py`) nor for the other commands of the group (`translate.py`).
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import lines, number

from .command import AsJson, Output, Quiet, Traceback, UsageError, size
from .stopping import Stopper
from .tables import Encoding, MaxLineBytes
from .train import trees, watched

if TYPE_CHECKING:
    from ..config import TranslationConfig

__all__ = ["SourceColumn", "TargetColumn", "score_lines", "train"]

SourceColumn = Annotated[
    str | None, typer.Option("--source-column", help="Column of the sources, in a table.", metavar="NAME")
]
TargetColumn = Annotated[
    str | None, typer.Option("--target-column", help="Column of the targets, in a table.", metavar="NAME")
]


def train(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES", help="File of sources and file of targets, or one table."),
    ] = None,
    valid: Annotated[
        list[Path] | None,
        typer.Option(
            "--valid",
            metavar="FILE",
            help="Validation pairs: the sources, then, given again, the targets; or one table. "
            "[default: a part of the training pairs]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run directory to write. [default: runs/ARCH]"),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="seq2seq, an encoder and a decoder, or a causal model that goes on from a prompt: gpt, "
            "mamba, lstm. [default: seq2seq]",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="SIZE", help="Size of a causal model, such as nano.")
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            "--init",
            metavar="RUN",
            help="Run to start from, of senti pretrain or of this command; it brings size and tokenizer.",
        ),
    ] = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Maximum number of pairs to read. [default: all]"),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer", metavar="FILE", help="Tokenizer file. [default: train one on both sides]"
        ),
    ] = None,
    vocab: Annotated[
        int | None,
        typer.Option("--vocab", min=257, metavar="N", help="Tokens of a trained tokenizer. [default: 8000]"),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, metavar="N", help="Passes over the training pairs. [default: 20]"),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, metavar="N", help="Maximum number of steps.")
    ] = None,
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            "--batch-tokens",
            min=1,
            metavar="N",
            help="Places of a batch, of both sides, padding included. [default: 4096]",
        ),
    ] = None,
    lr: Annotated[
        float | None, typer.Option("--lr", metavar="RATE", help="Learning rate, peak. [default: 0.001]")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Random seed.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, metavar="N", help="CPU threads of torch.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="Device to train on: auto, cpu, cuda, ..."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Configuration file in TOML.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set any key of the configuration; repeatable."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIR", help="Resume the stopped run of this directory."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the configuration without training.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a translation model on parallel text.

    One tokenizer of both sides is trained, or given. The best step by validation loss is kept. Ctrl-C
    saves the run; senti translate train --resume DIR goes on.
    """
    from ..lm.translation_config import resolve_translation, starting
    from ..runs.config import merge
    from ..runs.processes import is_first

    output = Output("senti.translate-train/1", as_json=as_json and is_first(), quiet=quiet or not is_first())
    flags = {
        "arch": arch, "preset": preset,
        "data": {
            "train": _names(files), "valid": _names(valid), "source_column": source_column,
            "target_column": target_column, "encoding": encoding, "limit": limit, "tokenizer": tokenizer,
            "vocab_size": vocab, "max_line_bytes": size(max_line_bytes, "--max-line-bytes"),
        },
        "train": {
            "init_from": init, "epochs": epochs, "max_steps": steps, "batch_tokens": batch_tokens,
            "seed": seed, "threads": threads, "device": device,
        },
        "optim": {"lr": lr},
    }  # fmt: skip
    given = trees(config, set_ or [], _without_none(flags))
    if resume is not None:
        if any(given) or out:
            raise UsageError("--resume DIR takes no other settings: the run keeps its own")
        _run(output, resume, None)
        return
    resolved = resolve_translation(starting(merge(given)), *given)
    if not resolved.data.train:
        raise UsageError("no training pairs: give a file of sources and one of targets, or one table")
    if dry_run:
        output.result(resolved.tree(), resolved.to_toml().rstrip(), resolved.arch)
        return
    _run(output, out or Path("runs") / resolved.arch, resolved)


def _names(files: list[Path] | None) -> list[str] | None:
    return [str(file) for file in files] if files else None


def _without_none(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns what was given."""
    out = {}
    for key, value in tree.items():
        kept = _without_none(value) if isinstance(value, dict) else value
        if kept not in (None, {}):
            out[key] = kept
    return out


def _run(output: Output, folder: Path, config: "TranslationConfig | None") -> None:
    """Trains a run, or goes on with one, and prints its summary."""
    from ..lm.translation import resume_translation, train_translation
    from ..runs.processes import is_first

    stopper = Stopper()
    with watched(output, stopper) as more:
        about = (
            resume_translation(folder, **more)
            if config is None
            else train_translation(config, folder, **more)
        )
    if is_first():
        output.result({"run": str(folder), **about}, _summary(about, folder), str(folder))
    if about["fit"]["stop"] == "stopped":
        print(f"senti: stopped; resume with senti translate train --resume {folder}", file=sys.stderr)
        raise typer.Exit(stopper.code)


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
    return f"{lines(rows)}\nwritten to {folder}"


def score_lines(found: dict[str, Any], part: str = "") -> list[tuple[str, str]]:
    """Writes scores, with sacrebleu's signatures."""
    rows = []
    if "loss" in found:
        said = f"{found['loss']:.4f} nats a token, perplexity {found['perplexity']:.2f}"
        rows.append((f"{part}loss", said))
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        if name in found:
            signature = found.get("signatures", {}).get(name)
            told = f"  ({signature})" if signature else ""
            rows.append((f"{part}{title}", f"{found[name]:.2f}{told}"))
    return rows
