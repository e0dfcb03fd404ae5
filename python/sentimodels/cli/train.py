"""`senti train`: flags and TOML -> `RunConfig` -> `run.train`, a live display, and a summary.

Not for training, which is one call. Flags go above `--set`, that above `--config`, that above
the defaults of the architecture.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import lines, number, table

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .stopping import Stopper
from .tables import Encoding, Format, GroupColumn, LabelColumn, Limit, TextColumn, Where

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
    class_weights: Annotated[
        str | None, typer.Option("--class-weights", metavar="KIND", help="none or balanced.")
    ] = None,
    device: Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, ...")] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Threads of torch.")] = None,
    track: Annotated[
        str | None,
        typer.Option("--track", metavar="NAME", help="tensorboard or wandb; of the extra track."),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Go on with a stopped run.")
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
        _run(output, resume, baseline, None)
        return
    given: dict[str, Any] = {
        "arch": arch, "preset": preset,
        "data.train": data, "data.valid": valid, "data.test": test, "data.tokenizer": tokenizer,
        "data.vectors": vectors, "data.text_column": text_column, "data.label_column": label_column,
        "data.group_column": group_column, "data.format": format, "data.where": where,
        "data.encoding": encoding, "data.limit": limit,
        "train.epochs": epochs, "train.batch_size": batch_size, "train.seed": seed, "train.device": device,
        "train.class_weights": class_weights, "train.threads": threads, "train.track": track, "optim.lr": lr,
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
        _run_seeds(output, folder, seeds, resolved)


def _resolved(config: Path | None, assignments: list[str], given: dict[str, Any]) -> "RunConfig":
    """Merges file, assignments and flags."""
    from ..config import read_toml, resolve, set_value

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
    from ..run import plan

    found = plan(config)
    rows = [(key.replace("_", " "), number(v) if isinstance(v, int) else str(v)) for key, v in found.items()]
    output.result(found, lines(rows), str(found["parameters"]))


def _run(output: Output, folder: Path, baseline: bool, config: "RunConfig | None") -> None:
    """Trains one run, or goes on with one, and prints its summary."""
    from .. import run

    with Stopper() as stopper, _display(output) as on_record:
        more: dict[str, Any] = {
            "on_record": on_record, "on_note": output.note, "should_stop": stopper, "baseline": baseline,
        }  # fmt: skip
        about = run.resume(folder, **more) if config is None else run.train(config, folder, **more)
    output.result({"run": str(folder), **about}, _summary(about, folder), str(folder))
    if about["fit"]["stop"] == "stopped":
        print(f"senti: stopped; go on with senti train --resume {folder}", file=sys.stderr)
        raise typer.Exit(130)


def _run_seeds(output: Output, folder: Path, n: int, config: "RunConfig") -> None:
    """Trains one run for each seed, and prints mean and spread."""
    from .. import run

    tables = run.read_tables(config)
    found: list[dict[str, Any]] = []
    for seed in range(config.train.seed, config.train.seed + n):
        one = config.model_copy(update={"train": config.train.model_copy(update={"seed": seed})})
        with Stopper() as stopper, _display(output) as on_record:
            found.append(
                run.train(
                    one, folder / f"seed-{seed}", on_record=on_record, on_note=None if found else output.note,
                    should_stop=stopper, baseline=not found, tables=tables,
                )
            )  # fmt: skip
        if found[-1]["fit"]["stop"] == "stopped":
            raise KeyboardInterrupt
    spread = run.spread([one["valid"] for one in found if "valid" in one])
    rows = [[name, f"{s['mean']:.4f}", f"± {s['interval']:.4f}"] for name, s in spread.items()]
    text = table([f"{n} seeds", "mean", "95 %"], rows) + f"\n\nwritten  {folder}/seed-*"
    output.result({"run": str(folder), "seeds": found, "spread": spread}, text, str(folder))


def _summary(about: dict[str, Any], folder: Path) -> str:
    """Writes what people want to know of a run."""
    fit = about["fit"]
    pairs = [
        ("architecture", f"{about['arch']}, {number(about['parameters'])} parameters"),
        ("rows", ", ".join(f"{number(n)} {name}" for name, n in about["rows"].items() if n)),
    ]
    if fit["steps"]:
        speed = number(round(fit["tokens"] / max(fit["seconds"], 1e-9)))
        pairs.append(("steps", f"{number(fit['steps'])} ({fit['stop']}), best at {number(fit['best_step'])}"))
        pairs.append(("speed", f"{speed} tokens/s, padding {100 * fit['padding']:.1f} %"))
    seconds = about["seconds"]
    pairs.append(
        ("seconds", ", ".join(f"{value:.1f} {key}" for key, value in seconds.items() if value > 0.05))
    )
    rows = []
    for name in ("valid", "test"):
        if name in about:
            s = about[name]
            rows.append([name, *(f"{s[key]:.4f}" for key in ("accuracy", "macro_f1", "log_loss", "ece"))])
    for name, s in about.get("baselines", {}).items():
        rows.append([name, f"{s['accuracy']:.4f}", f"{s['macro_f1']:.4f}", "", ""])
    text = lines(pairs)
    if rows:
        text += "\n\n" + table(["", "accuracy", "macro F1", "log loss", "ECE"], rows)
        text += "\n" + _verdict(about)
    ending = lines([("written", str(folder)), ("next", f'echo "great fun" | senti predict {folder}')])
    return f"{text}\n\n{ending}"


def _verdict(about: dict[str, Any]) -> str:
    """Says whether the model earns its cost."""
    said = []
    for name, s in about.get("baselines", {}).items():
        gain = about["valid"]["accuracy"] - s["accuracy"]
        word = "beats" if gain > 0 else "does not beat"
        said.append(f"{word} {name} ({100 * gain:+.1f} points)")
    return about["arch"] + " " + ", ".join(said) if said else ""


@contextmanager
def _display(output: Output) -> Iterator[Any]:
    """Yields a callback that draws the course of training, on a terminal; else `None`."""
    if not (output.human and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("step {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn(
            "loss {task.fields[loss]} lr {task.fields[lr]} {task.fields[speed]} tok/s{task.fields[valid]}"
        ),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("train", total=None, loss="-", lr="-", speed="-", valid="")

        def draw(record: dict[str, Any]) -> None:
            fields: dict[str, Any] = {}
            if "loss" in record:
                fields = {"loss": f"{record['loss']:.4f}", "lr": f"{record['lr']:.1e}"}
            if "val_accuracy" in record:
                fields["valid"] = f"  valid {record['val_accuracy']:.4f} F1 {record['val_macro_f1']:.4f}"
                bar.console.print(f"step {record['step']}:{fields['valid']} loss {record['val_loss']:.4f}")
            fields["speed"] = number(round(record["tokens"] / max(record["seconds"], 1e-9)))
            bar.update(task, completed=record["step"], total=record["total_steps"], **fields)

        yield draw


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
