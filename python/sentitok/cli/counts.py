"""`sentitok count` and `sentitok merge-counts`: counting past one machine.

A job array may run again: a part that would not change is not an error.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import AsJson, Command, Quiet, Traceback, UsageError, examples, grouped, refuse, shard
from .engine import EngineOptions
from .existing import Force, announce, put, put_file
from .output import Output, bytes_text, lines, number
from .remote_files import in_store
from .train import (
    CountOptions,
    LookAround,
    MinCount,
    Pattern,
    PreTokenizerName,
    Sources,
    counts_header,
    pre_tokenizer,
    sample_lines,
    sources,
)

if TYPE_CHECKING:
    from sentitok import PreTokenizer
    from sentitok.shards import Place

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Counts file to write.")]


def _totals(totals: dict[str, int]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), number(value)) for name, value in totals.items()]


def count(
    src: Sources = None,
    out: Out = Path("all.counts"),
    shard_text: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="i/n",
            help="Count only part i of n of the text, from 0/n to n-1/n.",
            rich_help_panel="Parallel work",
        ),
    ] = None,
    pre_tokenizer_name: PreTokenizerName = None,
    pattern: Pattern = None,
    look_around: LookAround = False,
    normalizer: Annotated[
        str | None,
        typer.Option(
            "--normalizer",
            metavar="NAME",
            help="Normalizer: hf-bert for train-wordpiece, sentencepiece for train-unigram, nfkc, ..., "
            "several joined with +. [default: none]",
            rich_help_panel="Splitting",
        ),
    ] = None,
    line_ends: Annotated[
        bool,
        typer.Option(
            "--line-ends",
            help="Mark where lines end, for --method sentencepiece of train-bpe and train-unigram.",
            rich_help_panel="Splitting",
        ),
    ] = False,
    *,
    options: CountOptions,
    engine: EngineOptions,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Count the pieces of text files; training from the counts equals training on the text."""
    import sentitok
    from sentitok.remote import staged

    output = Output("sentitok.count/1", as_json=as_json, quiet=quiet)
    if not src:
        raise UsageError("give the text files to count; see sentitok count --help")
    splitter = pre_tokenizer(pre_tokenizer_name, pattern, look_around)
    part = shard(shard_text)
    engine.check()
    if engine.engine is not None:
        refuse("the workers of --engine take all shards; leave one of the two out", "shard_text")
    store = in_store(out)
    if store is not None:
        if not force and store.exists():
            raise UsageError(f"{store} exists; name another file, or replace it with --force")
    else:
        if out.is_file() and not force:
            _check_pipeline(out, normalizer, splitter, line_ends=line_ends)
        announce(out, output, force=force)
    with output.progress() as progress, engine.running() as running:

        def write(path: "Place") -> None:
            sentitok.count(
                sources(src),
                normalizer=normalizer,
                pre_tokenizer=splitter,
                line_ends=line_ends,
                shard=part,
                progress=progress,
                out=path,
                **options.counting(),
                **running,
            )

        if store is not None:
            write(store)
            counts = staged(store)
        else:
            put_file(out, write, force=force, keep=True)
            counts = out
    n_bytes = counts.stat().st_size
    value = {"counts": str(out), "bytes": n_bytes, "seconds": round(output.seconds, 3)}
    text = lines(
        [
            ("written", f"{out} ({bytes_text(n_bytes)})"),
            *sample_lines(counts_header(counts).get("samples", [])),
            *_changed(counts),
            ("seconds", f"{output.seconds:.2f}"),
            ("next", f"sentitok train-bpe --counts {out} --vocab 32000")
            if part is None or part[1] == 1
            else ("next", f"sentitok merge-counts {out} ..., when all {part[1]} parts are there"),
        ]
    )
    output.result(value, text, str(out))


def _changed(out: Path) -> list[tuple[str, str]]:
    """The changes made in reading; they are reported even if they are few."""
    totals = counts_header(out)["totals"]
    kept = ("documents", "bytes", "pieces")
    return _totals({name: value for name, value in totals.items() if value and name not in kept})


def _check_pipeline(out: Path, normalizer: str | None, splitter: "PreTokenizer", *, line_ends: bool) -> None:
    """Refuses at once to count into a file that would change for certain."""
    from sentitok import WordCounts

    # The pipeline of nothing counted is the pipeline asked for.
    asked = json.loads(WordCounts({}, normalizer=normalizer, pre_tokenizer=splitter).pipeline)
    header = counts_header(out)
    if header["pipeline"] != asked or header.get("line_ends", False) != line_ends:
        raise UsageError(f"{out} exists and another pipeline made it; give another -o, or --force")


def merge_counts(
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="PART", help="Counts files to merge; their pre-tokenizers must agree."),
    ],
    out: Out = Path("all.counts"),
    min_count: MinCount = 0,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Merge counts files into one, in constant memory."""
    import sentitok

    output = Output("sentitok.merge-counts/1", as_json=as_json, quiet=quiet)
    announce(out, output, force=force)
    totals = {}
    with output.progress() as progress:

        def write(path: Path) -> list[Path]:
            totals.update(sentitok.merge_counts(parts, path, min_count=min_count, progress=progress))
            return [path]

        put((out, write), force=force, keep=True)
    text = lines(
        [
            ("merged", f"{len(parts)} parts"),
            *_totals(totals),
            ("written", f"{out} ({bytes_text(out.stat().st_size)})"),
            ("seconds", f"{output.seconds:.2f}"),
            ("next", f"sentitok train-bpe --counts {out} --vocab 32000"),
        ]
    )
    value = {"counts": str(out), "parts": len(parts), "totals": totals, "seconds": round(output.seconds, 3)}
    output.result(value, text, str(out))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "count",
        rich_help_panel="Train",
        short_help="Count the pieces of text files, to train on the counts.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok count corpus.txt -o all.counts",
            "sentitok count corpus.txt --shard 0/2 -o part-0.counts",
            "sentitok count corpus.txt --shard 1/2 -o part-1.counts",
        ),
    )(grouped(count))
    app.command(
        "merge-counts",
        rich_help_panel="Train",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok merge-counts part-0.counts part-1.counts -o merged.counts",
            "sentitok train-bpe --counts merged.counts --vocab 2000 -o merged.json",
        ),
    )(merge_counts)
