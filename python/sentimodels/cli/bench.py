"""`senti bench`: how fast each architecture trains and answers on this machine.

Each architecture trains a run of a few steps on the same texts, in a folder that is removed, and answers
all of them at once, and some one at a time. Scores mean nothing after so few steps and are not shown.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import bytes_text, counted, number, table

from .command import AsJson, Command, Output, Quiet, Traceback, UsageError, examples
from .options import of_architectures, of_presets
from .tables import NO_READING, Reading, read, reads

if TYPE_CHECKING:
    from ..data import Table

# Made-up texts where no file is given: so many, of so many words, out of so many.
_TEXTS, _WORDS, _DISTINCT = 1_000, 32, 5_000
# Texts that are answered one at a time, after some that warm up.
_ALONE, _WARM_UP = 100, 5


@reads(without=("label_separator", "label_columns", "group_column", "skip", "clean"))
def bench(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="File of labelled texts. [default: 1,000 texts of 32 made-up words]"
        ),
    ] = None,
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="NAME",
            help="Architecture to measure; repeatable. [default: all]",
            autocompletion=of_architectures,
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="SIZE",
            help="Size of the models that have sizes; senti archs lists them.",
            autocompletion=of_presets,
        ),
    ] = "nano",
    steps: Annotated[int, typer.Option("--steps", min=1, metavar="N", help="Number of training steps.")] = 30,
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Number of CPU threads.")] = 1,
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="Device: auto, cpu, cuda, mps.")
    ] = "cpu",
    reading: Reading = NO_READING,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Measure how fast each architecture trains and answers."""
    import tempfile

    from ..models import ARCHITECTURES

    output = Output("senti.bench/1", as_json=as_json, quiet=quiet)
    for name in arch or []:
        if name not in ARCHITECTURES:
            raise UsageError(f"--arch {name}: unknown architecture; expected {', '.join(ARCHITECTURES)}")
    known = {size for row in ARCHITECTURES.values() for size in row.presets}
    if preset not in known:
        raise UsageError(f"--preset {preset}: unknown preset; expected {', '.join(sorted(known))}")
    texts = read(output, file, **reading) if file is not None else _made_up()
    texts.labelled()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arch or ARCHITECTURES:
            output.note(f"running {name} ...")
            out = Path(folder) / name
            rows.append(_measured(name, preset, texts, out, steps=steps, threads=threads, device=device))
    value = {"texts": len(texts), "threads": threads, "device": device, "results": rows}
    cells = [
        [
            row["arch"], number(row["parameters"]), number(round(row["train_tokens_per_s"])),
            number(round(row["answer_tokens_per_s"])), number(round(row["answer_texts_per_s"])),
            f"{row['latency_ms']:.2f}", bytes_text(row["bytes"]),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["architecture", "parameters", "training tokens/s", "answering tokens/s", "texts/s"]
    head += ["ms for one text", "on disk"]
    text = f"{counted(len(texts), 'text')}, threads: {threads}, device: {device}\n\n{table(head, cells)}"
    lines = [
        f"{row['arch']} {row['train_tokens_per_s']:.0f} {row['answer_tokens_per_s']:.0f}" for row in rows
    ]
    output.result(value, text, "\n".join(lines))


def _made_up() -> "Table":
    """Returns texts of words whose frequencies fall as 1 / rank, as those of a language do."""
    import numpy as np

    from ..data import Table

    drawn = np.random.default_rng(0)
    weights = 1 / np.arange(1, _DISTINCT + 1)
    words = drawn.choice(_DISTINCT, (_TEXTS, _WORDS), p=weights / weights.sum())
    texts = [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    return Table.of(texts, ["even" if row % 2 == 0 else "odd" for row in range(_TEXTS)])


def _measured(
    name: str, preset: str, texts: "Table", out: Path, *, steps: int, threads: int, device: str
) -> dict[str, Any]:
    """Trains and answers with one architecture; returns its row."""
    import statistics
    import time

    import torch

    from ..classifier import Classifier
    from ..models import ARCHITECTURES
    from ..runs.execute import train
    from ..runs.families import resolve
    from ..runs.tables import Tables
    from ..training.device import restored_torch

    tree: dict[str, Any] = {"arch": name, "train": {"max_steps": steps, "threads": threads, "device": device}}
    if preset in ARCHITECTURES[name].presets:
        tree["preset"] = preset
    about = train(resolve(tree), out, tables=Tables.of(texts), baseline=False)
    alone = []
    with restored_torch():
        torch.set_num_threads(threads)
        classifier = Classifier.load(out, device)
        n_tokens = int(classifier.encoder.encode(texts.texts).text_lengths.sum())
        began = time.perf_counter()
        classifier.predict_proba(texts.texts)
        answering = time.perf_counter() - began
        for text in [*texts.texts[:_WARM_UP], *texts.texts[:_ALONE]]:
            began = time.perf_counter()
            classifier.predict_proba([text])
            alone.append(1000 * (time.perf_counter() - began))
    # Models that are fitted at once have no steps: they read each token once.
    fit, at_once = about["fit"], about["seconds"]["fit"]
    trained, seconds = (fit["tokens"], fit["seconds"]) if fit["tokens"] else (n_tokens, at_once)
    return {
        "arch": name,
        "preset": tree.get("preset"),
        "parameters": about["parameters"],
        "train_tokens_per_s": trained / max(seconds, 1e-9),
        "answer_tokens_per_s": n_tokens / max(answering, 1e-9),
        "answer_texts_per_s": len(texts) / max(answering, 1e-9),
        "latency_ms": statistics.median(alone[_WARM_UP:]),
        "latency_p95_ms": statistics.quantiles(alone[_WARM_UP:], n=20)[-1],
        "bytes": sum(path.stat().st_size for path in out.iterdir()),
    }


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "bench",
        short_help="Measure how fast each architecture trains and answers.",
        cls=Command,
        epilog=examples("senti bench --arch bow", "senti bench reviews.csv --arch nb --arch tfidf --json"),
    )(bench)
