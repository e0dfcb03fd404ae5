"""`senti train`: flags and TOML -> `RunConfig` -> `run.train` or `seeds.train_seeds`.

Not for training, which is one call, nor for its display and summary. Flags go above
`--set`, that above `--config`, that above the defaults of the architecture.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import lines, number

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .display import display
from .stopping import Stopper
from .summary import seeds_summary, summary
from .tables import (
    Clean,
    Device,
    Encoding,
    Format,
    GroupColumn,
    LabelColumn,
    Limit,
    Skip,
    TextColumn,
    Unescape,
    Where,
)

if TYPE_CHECKING:
    from ..config import RunConfig

_PATH = {"metavar": "FILE"}


def train(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="File or folder of labelled texts.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="The run directory.")] = None,
    arch: Annotated[
        str | None, typer.Option("--arch", metavar="NAME", help="Architecture: senti archs.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="SIZE", help="nano, micro, tiny, ...")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", **_PATH, help="TOML file: senti init.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key, as optim.lr=3e-4; repeatable."),
    ] = None,
    valid: Annotated[str | None, typer.Option("--valid", **_PATH, help="Texts to stop on.")] = None,
    test: Annotated[str | None, typer.Option("--test", **_PATH, help="Texts to report on.")] = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", **_PATH, help="Else one is trained.")
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", **_PATH, help="Word vectors, GloVe text.")
    ] = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    group_column: GroupColumn = None,
    format: Format = None,
    where: Where = None,
    encoding: Encoding = None,
    limit: Limit = None,
    skip: Skip = 0,
    clean: Clean = False,
    unescape: Unescape = False,
    epochs: Annotated[int | None, typer.Option("--epochs", min=0, help="Passes over the texts.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Rows a batch.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Highest rate.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of everything.")] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Train so many, and give mean and spread.")
    ] = 1,
    pooling: Annotated[
        str | None, typer.Option("--pooling", metavar="KIND", help="last, mean-max, ...")
    ] = None,
    attention: Annotated[str | None, typer.Option("--attention", metavar="KIND", help="softmax, ...")] = None,
    positions: Annotated[str | None, typer.Option("--positions", metavar="KIND", help="rotary, ...")] = None,
    char_ngrams: Annotated[
        str | None,
        typer.Option("--char-ngrams", metavar="LOW,HIGH", help="Character n-grams added; 0,0 for none."),
    ] = None,
    freeze: Annotated[
        list[str] | None,
        typer.Option("--freeze", metavar="PREFIX", help="Parameters that do not move; repeatable."),
    ] = None,
    unfreeze_at: Annotated[
        int | None, typer.Option("--unfreeze-at", min=1, metavar="STEP", help="From here on they move.")
    ] = None,
    class_weights: Annotated[
        str | None,
        typer.Option("--class-weights", metavar="KIND", help="none, balanced, 1,2 or a file of them."),
    ] = None,
    device: Device = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads of torch.")] = None,
    track: Annotated[
        str | None,
        typer.Option("--track", metavar="NAME", help="tensorboard or wandb; of the extra track."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Go on with a stopped run, or seeds.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Train TF-IDF beside it, to compare.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be trained on what.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a classifier on labelled texts."""
    output = Output("senti.train/1", as_json=as_json, quiet=quiet)
    if resume is not None:
        if data or config or set_ or out:
            raise UsageError("--resume DIR needs nothing else: the run's own configuration is used")
        from ..runs.seeds import is_group

        if is_group(resume):
            _run_seeds(output, resume, baseline, 0, None)
        else:
            _run(output, resume, baseline, None)
        return
    from ..tasks.class_weights import given as given_weights

    given: dict[str, Any] = {
        "arch": arch, "preset": preset,
        "data.train": data, "data.valid": valid, "data.test": test, "data.tokenizer": tokenizer,
        "data.vectors": vectors, "data.text_column": text_column, "data.label_column": label_column,
        "data.group_column": group_column, "data.format": format, "data.where": where,
        "data.encoding": encoding, "data.limit": limit, "data.skip": skip or None,
        "data.clean": clean or None, "data.unescape": unescape or None,
        "train.epochs": epochs, "train.batch_size": batch_size, "train.seed": seed, "train.device": device,
        "task.class_weights": None if class_weights is None else given_weights(class_weights),
        "train.threads": threads, "train.track": track, "optim.lr": lr, "optim.freeze": freeze or None,
        "optim.unfreeze_at": unfreeze_at, "model.char_ngrams": _pair("--char-ngrams", char_ngrams),
        "model.pooling": pooling, "model.attention": attention, "model.positions": positions,
    }  # fmt: skip
    resolved = _resolved(config, set_ or [], given)
    if dry_run:
        _plan(output, resolved)
        return
    folder = out or Path("runs") / resolved.arch
    if seeds == 1:
        _run(output, folder, baseline, resolved)
    else:
        _run_seeds(output, folder, baseline, seeds, resolved)


def _pair(flag: str, text: str | None) -> list[int] | None:
    """Reads `3,5`."""
    if text is None:
        return None
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} {text}: expected two whole numbers, as in 3,5") from None
    return [low, high]


def _resolved(config: Path | None, assignments: list[str], given: dict[str, Any]) -> "RunConfig":
    """Merges file, assignments and flags."""
    from ..runs.config import read_toml, resolve, set_value

    trees: list[dict[str, Any]] = [] if config is None else [read_toml(config)]
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        set_value(assigned, assignment)
    flags: dict[str, Any] = {}
    for path, value in given.items():
        if value is not None:
            *parents, key = path.split(".")
            where = flags
            for parent in parents:
                where = where.setdefault(parent, {})
            where[key] = value
    return resolve(*trees, assigned, flags)


def _plan(output: Output, config: "RunConfig") -> None:
    from ..runs.train import plan

    found = plan(config)
    rows = [(key.replace("_", " "), number(v) if isinstance(v, int) else str(v)) for key, v in found.items()]
    output.result(found, lines(rows), str(found["parameters"]))


def _run(output: Output, folder: Path, baseline: bool, config: "RunConfig | None") -> None:
    """Trains one run, or goes on with one, and prints its summary."""
    from ..runs import train as run

    with Stopper() as stopper, display(output) as on_record:
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": output.note, "should_stop": stopper, "baseline": baseline,
        }  # fmt: skip
        about = run.resume(folder, **more) if config is None else run.train(config, folder, **more)
    output.result({"run": str(folder), **about}, summary(about, folder), str(folder))
    _say_stopped(about["fit"]["stop"] == "stopped", folder)


def _run_seeds(output: Output, folder: Path, baseline: bool, n: int, config: "RunConfig | None") -> None:
    """Trains one run for each seed, or goes on with them, and prints mean and spread."""
    from ..runs import seeds

    with Stopper() as stopper, display(output) as on_record:
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": output.note, "should_stop": stopper, "baseline": baseline,
        }  # fmt: skip
        if config is None:
            found = seeds.resume_seeds(folder, **more)
        else:
            found = seeds.train_seeds(config, n, folder, **more)
    text = seeds_summary(found, found["seeds"][0]["arch"], folder)
    output.result({"run": str(folder), **found}, text, str(folder))
    _say_stopped(found["stopped"], folder)


def _say_stopped(stopped: bool, folder: Path) -> None:
    if stopped:
        print(f"senti: stopped; go on with senti train --resume {folder}", file=sys.stderr)
        raise typer.Exit(130)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "train",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti train reviews.csv --out runs/first",
            "senti train reviews.csv --arch gpt --preset nano --epochs 1 --out runs/gpt",
            "senti train reviews.csv --arch bow --set model.word_ngrams=3 --out runs/bow --dry-run",
        ),
    )(train)
