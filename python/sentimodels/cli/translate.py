"""`senti translate`: train a translation model, translate texts with it, score it with BLEU and chrF.

Three commands of a group, as `senti data` has them, so that no word has to be guessed to be a command or
a run directory. Not for training (`lm/translation.py`) nor for search (`lm/beam.py`).
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import json_line, lines, number
from sentitok.cli.process import to_stdout

from .command import AsJson, Command, Group, Output, Quiet, Traceback, UsageError, examples, size
from .display import display
from .predict import chunks, lines_of_stdin
from .stopping import Stopper
from .tables import Device, Encoding, MaxLineBytes
from .train import trees

if TYPE_CHECKING:
    from ..config import TranslationConfig

__all__ = ["register"]

SourceColumn = Annotated[
    str | None, typer.Option("--source-column", help="Column of the sources, in a table.", metavar="NAME")
]
TargetColumn = Annotated[
    str | None, typer.Option("--target-column", help="Column of the targets, in a table.", metavar="NAME")
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam", min=1, help="Live texts of the search; 1 for greedy. [default: task.beam]", metavar="K"
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        min=0.0,
        help="Power of the length norm; more favours longer texts. [default: task.alpha]",
        metavar="A",
    ),
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

    output = Output("senti.translate-train/1", as_json=as_json, quiet=quiet)
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

    stopper = Stopper()
    with stopper, display(output) as on_record:
        more: dict[str, Any] = {"on_record": on_record, "on_note": output.note, "should_stop": stopper}
        if config is None:
            about = resume_translation(folder, **more)
        else:
            about = train_translation(config, folder, **more)
    output.result({"run": str(folder), **about}, _summary(about, folder), str(folder))
    if about["fit"]["stop"] == "stopped":
        print(f"senti: stopped; resume with senti translate train --resume {folder}", file=sys.stderr)
        raise typer.Exit(stopper.code)


def _summary(about: dict[str, Any], folder: Path) -> str:
    """Writes what people want to know of a run."""
    fit, pairs = about["fit"], about.get("pairs", {})
    if not pairs:  # a process that is not the first
        return ""
    counts = ", ".join(f"{number(n)} {name.replace('_', ' ')}" for name, n in pairs.items() if n)
    speed = number(round(fit["tokens"] / max(fit["seconds"], 1e-9)))
    rows = [
        ("architecture", f"{about['arch']}, {number(about['parameters'])} parameters"),
        ("vocabulary", f"{number(about['vocabulary'])} tokens"),
        ("pairs", counts),
        ("steps", f"{number(fit['steps'])} ({fit['stop']}), best at {number(fit['best_step'])}"),
        ("speed", f"{speed} tokens/s, padding {100 * fit['padding']:.1f} %"),
        ("seconds", f"{fit['seconds']:.1f} steps"),
        *_scores(about["valid"], "validation "),
    ]
    return f"{lines(rows)}\nwritten to {folder}"


def _scores(found: dict[str, Any], part: str = "") -> list[tuple[str, str]]:
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


def text(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a translation model.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File of texts, one a line, or - for stdin.")
    ] = "-",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write to. [default: stdout]"),
    ] = None,
    beam: Beam = None,
    alpha: Alpha = None,
    n_best: Annotated[
        int, typer.Option("--n-best", min=1, metavar="N", help="Translations of each text, at most --beam.")
    ] = 1,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    device: Device = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Translate texts, one a line.

    Every line of output stands for one line of input, an empty one for an empty one. With --n-best, a
    line of output is the translation, a tab and its score, N for each text; --json prints one object a
    line, with all of them.
    """
    from ..data.parallel import read_lines
    from ..data.writers import write_atomically
    from ..lm.translator import Translator, beam_options

    output = Output("senti.translate/1", as_json=as_json, quiet=quiet)
    longest = size(max_line_bytes, "--max-line-bytes")
    translator = Translator.load(run, device=device or "cpu")
    given: dict[str, Any] = {"beam": beam, "alpha": alpha, "n_best": n_best}
    beam_options(translator.config.task, **given)  # refused before the texts are read
    texts: Iterator[str]
    if file == "-":
        texts = lines_of_stdin(longest)
    else:
        texts = iter(read_lines(Path(file), encoding=encoding, max_line_bytes=longest)[0])
    parts = []
    for some in chunks(texts):
        written = ""
        for source, found in zip(some, translator.translate(some, **given), strict=True):
            if as_json:
                best = [{"text": one.text, "log_prob": one.log_prob, "score": one.score} for one in found]
                record = {"schema": output.schema, "source": source, "translations": best}
                written += json_line(record) + "\n"
            elif n_best == 1:
                written += f"{_line(found[0].text)}\n"
            else:
                written += "".join(f"{_line(one.text)}\t{one.score:.4f}\n" for one in found)
        if out is None:
            with to_stdout():
                sys.stdout.write(written)
                sys.stdout.flush()
        else:
            parts.append(written)
    if out is not None:
        write_atomically(out, "".join(parts).encode("utf-8", "surrogatepass"))
        output.note(f"{out}: written")


def _line(text: str) -> str:
    """Returns a translation without ends of lines: every line stands for one."""
    return " ".join(text.split("\n")).replace("\r", " ")


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a translation model.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="File of sources and file of references, or one table."),
    ],
    beam: Beam = None,
    alpha: Alpha = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write the translations to, one a line."),
    ] = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    device: Device = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Score a translation model with BLEU and chrF, by sacrebleu.

    Pairs that were trained on are refused. The signatures say how the scores were worked out.
    """
    from ..data.parallel import read_parallel
    from ..data.writers import write_atomically
    from ..lm.evaluate_translation import evaluate_translation

    output = Output("senti.translate-evaluate/1", as_json=as_json, quiet=quiet)
    pairs = read_parallel(
        files, source_column=source_column, target_column=target_column, encoding=encoding,
        max_line_bytes=size(max_line_bytes, "--max-line-bytes"),
    )  # fmt: skip
    found, translations = evaluate_translation(run, pairs, device=device or "cpu", beam=beam, alpha=alpha)
    if out is not None:
        text = "".join(f"{_line(one)}\n" for one in translations)
        write_atomically(out, text.encode("utf-8", "surrogatepass"))
    if found["seen"]:
        output.note(f"{found['seen']:,} of {found['pairs']:,} pairs are training pairs as well")
    search = found["search"]
    said = f"beam {search['beam']}, norm {search['norm']}, alpha {search['alpha']:g}"
    rows = [("pairs", number(found["pairs"])), ("search", said), *_scores(found)]
    rows.append(("seconds", f"{found['seconds']:.1f}"))
    output.result({"run": str(run), **found}, lines(rows), f"{found['bleu']:.2f}")


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    group = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode=app.rich_markup_mode,
        help="Train translation models, translate, and score translations.",
    )
    group.command(
        "train",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti translate train train.en train.de --valid valid.en --valid valid.de -o runs/en-de",
            "senti translate train pairs.csv --source-column en --target-column de --epochs 1 -o runs/table",
        ),
    )(train)
    group.command(
        "text",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            'echo "a man runs" | senti translate text runs/en-de',
            "senti translate text runs/en-de valid.en --beam 4 --n-best 2 --json",
        ),
    )(text)
    group.command(
        "evaluate",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti translate evaluate runs/en-de test.en test.de",
            "senti translate evaluate runs/en-de test.en test.de --beam 1 --json",
        ),
    )(evaluate)
    app.add_typer(group, name="translate")
