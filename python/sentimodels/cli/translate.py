"""`senti translate`: train a translation model, translate texts with it, score it with BLEU and chrF.

Three commands of a group, as `senti data` has them, so that no word has to be guessed to be a command or
a run directory. Training is `recipes/translation.py`, search `generation/beam.py`.
"""

import sys
from collections.abc import Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import json_line, lines, number, sized
from sentitok.cli.process import to_stdout

from .command import (
    AsJson,
    Force,
    Group,
    JsonLines,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    announce,
    put_file,
    refuse_input,
    size,
    typed,
)
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
from .predict import at_once, chunks, lines_of_stdin
from .tables import Device, Encoding, Format, Header, MaxLineBytes, Separator

if TYPE_CHECKING:
    from ..translator import Translation

__all__ = ["options", "register", "score_lines", "train"]

SourceColumn = Annotated[
    str | None,
    typer.Option(
        "--source-column",
        help="Column that holds the sources; required if the pairs are one table.",
        metavar="NAME",
    ),
]
TargetColumn = Annotated[
    str | None,
    typer.Option(
        "--target-column",
        help="Column that holds the targets; required if the pairs are one table.",
        metavar="NAME",
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        min=1,
        help="Beam width: number of partial translations kept at each step; 1 for greedy search. [default: "
        "that of the run]",
        metavar="K",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        min=0.0,
        help="Exponent of the length norm; larger values favour longer translations. [default: that of the "
        "run]",
        metavar="A",
    ),
]


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
        int,
        typer.Option(
            "--n-best",
            min=1,
            metavar="N",
            help="Number of translations to write for each text, at most --beam.",
        ),
    ] = 1,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    device: Device = None,
    force: Force = False,
    as_json: JsonLines = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Translate texts, one a line.

    Every line of output translates one line of input, an empty one for an empty one. With --n-best, a
    line of output is the translation, a tab and its score, up to N for each text; --json prints one
    object a line, with all of them.
    """
    from ..data.parallel import read_lines
    from ..data.writers import write_texts
    from ..translator import Translator, beam_options

    output = Output("senti.translate/1", as_json=as_json, quiet=quiet)
    longest = size(max_line_bytes, "--max-line-bytes")
    refuse_input(out, [file])
    announce(out, output, force=force)
    translator = Translator.load(run, device=device or "cpu")
    given: dict[str, Any] = {"beam": beam, "alpha": alpha, "n_best": n_best}
    beam_options(translator.config.task, **given)  # refused before the texts are read
    texts: Iterator[str]
    if file == "-":
        texts = lines_of_stdin(longest)
    else:
        texts = iter(read_lines(Path(file), encoding=encoding, max_line_bytes=longest)[0])
    n_read = n_long = 0

    def translated() -> Iterator[str]:
        nonlocal n_read, n_long
        for some in chunks(texts, at_once(file)):
            long = [] if quiet else translator.longer_than_trained(some)
            if long and not n_long:
                most = translator.config.data.max_tokens
                output.note(
                    f"line {n_read + long[0] + 1:,} is longer than {most} tokens, the most that a source had "
                    "in training (data.max_tokens): its translation may be cut short or empty; split such "
                    "lines into sentences"
                )
            done = translator.translate(some, first=n_read + 1, **given)
            n_long += len(long)
            n_read += len(some)
            for source, ranked in zip(some, done, strict=True):
                yield _written(output, source, ranked, scored=n_best > 1)

    if out is not None:
        put_file(out, lambda path: write_texts(path, translated()), force=force, keep=True)
    else:
        for part in translated():
            with to_stdout():
                sys.stdout.write(part)
                sys.stdout.flush()
    if n_long > 1:
        output.note(f"{n_long:,} of {n_read:,} lines are longer than that")
    if out is not None:
        output.note(f"{out}: written")


def _written(output: Output, source: str, ranked: "Sequence[Translation]", *, scored: bool) -> str:
    """Returns the output of a text: an object, its translation, or several with their scores."""
    if output.as_json:
        best = [{"text": one.text, "log_prob": one.log_prob, "score": one.score} for one in ranked]
        return json_line({"schema": output.schema, "source": source, "translations": best}) + "\n"
    if not scored:
        return f"{_line(ranked[0].text)}\n"
    return "".join(f"{_line(one.text)}\t{one.score:.4f}\n" for one in ranked)


def _line(text: str) -> str:
    """Returns a translation without ends of lines: one line each."""
    return " ".join(text.split("\n")).replace("\r", " ")


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a translation model.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="File of sources and file of references, or one table."),
    ],
    beam: Beam = None,
    alpha: Alpha = None,
    bleu_tokenizer: Annotated[
        str | None,
        typer.Option(
            "--bleu-tokenizer",
            help="Tokenizer of sacrebleu that cuts texts into words for BLEU; auto chooses by the script of "
            "the references. [default: that of the run]",
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write the translations to, one a line."),
    ] = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    format: Format = None,
    encoding: Encoding = None,
    separator: Separator = None,
    header: Header = None,
    max_line_bytes: MaxLineBytes = None,
    device: Device = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Score a translation model with BLEU and chrF, by sacrebleu.

    A file that was trained on is refused; single training pairs in another one are counted. The
    signatures say how the scores were computed.
    """
    from ..data.parallel import read_parallel
    from ..data.writers import write_texts
    from ..translator import evaluate_translation

    output = Output("senti.translate-evaluate/1", as_json=as_json, quiet=quiet)
    refuse_input(out, files)
    announce(out, output, force=force)
    pairs = read_parallel(
        files, source_column=source_column, target_column=target_column, encoding=encoding,
        max_line_bytes=size(max_line_bytes, "--max-line-bytes"), format=format,
        separator=separator, header=header,
    )  # fmt: skip
    for note in pairs.notes:
        output.note(f"{pairs.name}: {note}")
    scores, translations = evaluate_translation(
        run, pairs, device=device or "cpu", bleu_tokenizer=bleu_tokenizer, beam=beam, alpha=alpha
    )
    if scores["seen"]:
        output.note(f"{scores['seen']:,} of {scores['pairs']:,} pairs are training pairs as well")
    search = scores["search"]
    said = f"beam {search['beam']}, norm {search['norm']}, alpha {search['alpha']:g}"
    rows = [("pairs", number(scores["pairs"])), ("search", said), *score_lines(scores)]
    rows.append(("seconds", f"{scores['seconds']:.1f}"))
    output.result({"run": str(run), **scores}, lines(rows), f"{scores['bleu']:.2f}")
    if out is not None:  # last: where it cannot be written, the scores are there
        texts = [f"{_line(one)}\n" for one in translations]
        put_file(out, lambda path: write_texts(path, texts), force=force, keep=True)


# Defaults of translation, above those of the section (`runs/families.py`).
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
    from ..runs.init_weights import inherit_translator

    output = output_of_first("senti.translate-train/1", as_json=as_json, quiet=quiet)
    flags = tree_of({**given, "data__train": files, "data__valid": valid})
    if resume is not None:
        refuse_others(flags, out, config, set_, "--force" * force)
        run(output, "translate train", resume, None, _train_summary)
        return
    for note in unused_options(flags):
        output.note(note)
    asked = trees(config, set_ or [], flags)
    resolved = TRANSLATOR.resolve(inherit_translator(merge(asked)), *asked)
    if not resolved.data.train:
        raise UsageError("no training pairs: give a file of sources and one of targets, or one table")
    run(
        output,
        "translate train",
        out or Path("runs") / resolved.arch,
        resolved,
        _train_summary,
        force=force,
        dry_run=dry_run,
    )


def options() -> Iterator[tuple[str, Parameter]]:
    """Yields the options that the configuration of a translation run has, by key."""
    from ..config import Seq2SeqConfig, TranslationConfig

    return parameters(TranslationConfig, [Seq2SeqConfig], defaults=_DEFAULTS)


def _train_summary(about: dict[str, Any], folder: Path) -> str:
    """Writes the summary of a run."""
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
    following = f'echo "A sentence." | {typed("senti", "translate", "text", folder)}'
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
            suffix = f"  ({signature})" if signature else ""
            rows.append((f"{part}{title}", f"{scores[name]:.2f}{suffix}"))
    return rows


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    group = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode=app.rich_markup_mode,
        help="Train translation models, translate, and score translations.",
    )
    add(
        group,
        "train",
        with_options(train, options()),
        "senti translate train train.en train.de --valid valid.en --valid valid.de -o runs/en-de",
        "senti translate train pairs.csv --source-column en --target-column de --epochs 1 -o runs/table",
    )
    add(
        group,
        "text",
        text,
        'echo "a man runs" | senti translate text runs/en-de',
        "senti translate text runs/en-de valid.en --beam 4 --n-best 2 --json",
    )
    add(
        group,
        "evaluate",
        evaluate,
        "senti translate evaluate runs/en-de test.en test.de",
        "senti translate evaluate runs/en-de test.en test.de --beam 1 --json",
    )
    app.add_typer(group, name="translate")
