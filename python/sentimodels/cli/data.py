"""`senti data`: look at labelled files before training on them, divide them, read the treebank.

Every command reads what `senti train` reads, by the same flags.
"""

import shlex
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sentitok.cli.output import counted, lines, number

from .command import (
    AnswerIsNoError,
    AsJson,
    Force,
    Group,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    check_file,
    put,
    put_file,
    refuse_input,
    typed,
)
from .suspects import suspects
from .tables import (
    NO_READING,
    Reading,
    grid,
    page,
    read,
    reads,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ..data import Table
    from ..data.leaks import Example

Seed = Annotated[int, typer.Option("--seed", help="Random seed of the shuffle.", metavar="N")]


@reads(each_row=True)
def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Training file, then files to score on.")
    ],
    near: Annotated[
        bool,
        typer.Option(
            "--near/--no-near", help="Also look for near duplicates, which share most of their word triples."
        ),
    ] = True,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with code 1 if a leak is found.",
        ),
    ] = False,
    reading: Reading = NO_READING,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Find duplicates, label conflicts and leaks between files.

    Exact duplicates are equal letter for letter; folded ones look the same except for case and spacing; near
    ones share most of their word triples.
    """
    from dataclasses import asdict

    from ..data import leaks
    from ..data.leaks import duplicates

    output = Output("senti.data.check/1", as_json=as_json, quiet=quiet)
    tables = [read(output, path, **reading) for path in files]
    value: dict[str, Any] = {"files": [], "leaks": []}
    rows, leaked, shown_examples = [], [], []
    for table in tables:
        repeats = duplicates(table, near=near)
        value["files"].append({"file": str(table.source), **asdict(repeats)})
        shown_examples += _shown(table.source.name, repeats.examples)
        rows.append([
            str(table.source), number(repeats.n), number(repeats.exact), number(repeats.folded),
            number(repeats.near) if near else "-", number(repeats.conflicts), number(repeats.empty),
        ])  # fmt: skip
    for other in tables[1:]:
        report = leaks(tables[0], other, near=near)
        leaked += report.lines(str(other.source))
        shown_examples += _shown(f"{tables[0].source.name} → {other.source.name}", report.examples)
        value["leaks"].append({
            "train": str(tables[0].source), "other": str(other.source), "n": report.n,
            "exact": report.exact, "folded": report.folded, "near": report.near if near else None,
            "conflicts": report.conflicts, "shared_groups": report.shared_groups,
            "examples": [asdict(example) for example in report.examples],
        })  # fmt: skip
    head = ["file", "rows", "exact", "folded", "near", "conflicts", "empty"]
    parts: list[Any] = [grid("Rows that repeat an earlier row of the file", head, rows)]
    if shown_examples:
        parts.append(grid("Examples", ["text", "like", "labels", "kind"], shown_examples))
    parts += leaked
    if len(tables) > 1 and not leaked:
        parts.append("no leaks between the files")
    output.result(value, page(*parts), str(sum(one["folded"] for one in value["leaks"])))
    if strict and leaked:
        raise AnswerIsNoError("rows leaked; `senti data split` keeps equal texts on one side")


def _shown(where: str, pairs: "list[Example] | tuple[Example, ...]") -> list[list[str]]:
    rows = []
    for one in pairs:
        labels = "" if one.label is None else f"{one.other_label} / {one.label}"
        rows.append([shortened(one.text, 36), shortened(one.other_text, 36), labels, f"{one.kind}, {where}"])
    return rows


@reads(each_row=True)
def split(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labelled file or folder.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder to write the parts into: train, valid and, with three shares, test.",
        ),
    ],
    shares: Annotated[
        str,
        typer.Option(
            "--shares", help="Shares of train, valid and, if three are given, test.", metavar="SHARES"
        ),
    ] = "0.9,0.1",
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="What to keep in one part: copies (rows of one group, and equal or nearly equal texts), "
            "group (rows of one group only), hash (equal texts, whatever the seed) or row. [default: copies]",
            metavar="NAME",
        ),
    ] = None,
    seed: Seed = 42,
    stratify: Annotated[
        bool,
        typer.Option("--stratify/--no-stratify", help="Keep the shares of the labels equal in all parts."),
    ] = True,
    write_as: Annotated[
        str, typer.Option("--as", help="Format of the parts: csv, tsv or jsonl.", metavar="FORMAT")
    ] = "csv",
    keep: Annotated[
        Literal["all"] | None,
        typer.Option(
            "--keep",
            metavar="all",
            help="Write all columns of FILE as they are, with their names and order; the options that name "
            "columns, and --clean, are needed again to read the parts. [default: only text, label, group "
            "and id, under these names]",
        ),
    ] = None,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Split a file into parts.

    Rows of one group stay together, and so do equal texts; without groups nearly equal ones too. With
    --by hash a text falls on the same side in every file. Seed 42 and shares 0.8,0.2 give the split of
    the Kaggle phrases that the reports use.
    """
    from ..data import leaks
    from ..data import split as divide

    if by not in (None, "copies", "group", "hash", "row"):
        raise UsageError(f"--by {by}: expected one of copies, group, hash, row")
    if write_as not in ("csv", "tsv", "jsonl"):
        raise UsageError(f"--as {write_as}: expected one of csv, tsv, jsonl")
    try:
        numbers = [float(share) for share in shares.split(",")]
    except ValueError:
        raise UsageError(f"--shares {shares}: expected numbers such as 0.8,0.2") from None
    output = Output("senti.data.split/1", as_json=as_json, quiet=quiet)
    table = read(output, file, keep=() if keep is None else (keep,), **reading)
    # 2026-11-23: checked above
    parts = divide(table, numbers, seed, by=by, stratify=stratify)  # type: ignore[arg-type]
    files = {name: out / f"{name}.{write_as}" for name in parts}
    for path in files.values():
        refuse_input(path, [file])
    rows, written = [], {}
    # Columns without names are called by their numbers.
    numbered = list(table.kept) == [str(place) for place in range(1, len(table.kept) + 1)]
    header = bool(reading.get("header")) or not table.kept or not numbered
    put(*((files[name], _writer(part, header=header)) for name, part in parts.items()), force=force)
    for name, part in parts.items():
        path = files[name]
        groups = 0 if part.groups is None else len(set(part.groups))
        written[name] = {
            "file": str(path), "rows": len(part), "groups": groups or None, "labels": label_counts(part),
        }  # fmt: skip
        rows.append([name, number(len(part)), *([number(groups)] if table.groups else []), str(path)])
    for note in next(iter(parts.values())).notes[len(table.notes) :]:
        output.note(f"{file}: {note}")
    train, *others = parts.values()
    lines = [line for part in others for line in leaks(train, part).lines("another part")]
    for line in lines:
        more = "; --by copies keeps equal texts on one side" if by in ("group", "row") else ""
        output.note(f"{line}{more}")
    text = page(
        grid("", ["part", "rows", *(["groups"] if table.groups else []), "file"], rows),
        f"next: {typed('senti', 'train', rows[0][-1], '--valid', rows[1][-1])}"
        + (" --task multilabel" if table.label_form is not None else "")
        + (_named_again(table, reading, header=header or write_as == "jsonl") if table.kept else ""),
    )
    output.result({"parts": written, "leaks": lines}, text, str(out))


def _writer(table: "Table", *, header: bool) -> "Callable[[Path], list[Path]]":
    from ..data.writers import write_table

    def write(path: Path) -> list[Path]:
        write_table(table, path, table.kept, header=header)
        return [path]

    return write


def _named_again(table: "Table", reading: Reading, *, header: bool) -> str:
    """Returns the options that read a part whose columns have the names of the file."""
    from ..data.table import as_option

    found = {f"--{role}-column": table.columns.get(role) for role in ("text", "label")}
    found["--group-column"] = reading.get("group_column")
    found["--label-separator"] = reading.get("label_separator")
    options = "".join(f" {option} {shlex.quote(value)}" for option, value in found.items() if value)
    options += f" --label-columns {as_option(table.label_columns)}" if table.label_columns else ""
    return options + ("" if header else " --no-header") + (" --clean" if reading.get("clean") else "")


def sst(
    trees: Annotated[list[Path], typer.Argument(metavar="FILE", help="Treebank files, one tree a line.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write to: .csv, .tsv or .jsonl.")
    ],
    phrases: Annotated[
        bool,
        typer.Option("--phrases", help="Write one row for each phrase instead of one for each sentence."),
    ] = False,
    binary: Annotated[
        bool, typer.Option("--binary", help="Write labels 0 and 1, leaving out neutral ones.")
    ] = False,
    unescape: Annotated[
        bool,
        typer.Option("--unescape", help="Undo treebank escapes: -LRB- becomes (, \\/ becomes /."),
    ] = False,
    kaggle_test: Annotated[
        Path | None,
        typer.Option(
            "--kaggle-test",
            metavar="FILE",
            help="Kaggle test file to label from the sentences of SST dev and test.",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Convert treebank files to a table, or label the Kaggle test file from them."""
    from ..data import read_table
    from ..data.sst import with_rebuilt_labels
    from ..data.writers import write_table

    if phrases and binary:
        raise UsageError("--phrases and --binary exclude each other")
    refuse_input(out, [*trees, *([kaggle_test] if kaggle_test is not None else [])])
    output = Output("senti.data.sst/1", as_json=as_json, quiet=quiet)
    check_file(out)
    form = "sst-phrases" if phrases or kaggle_test else "sst-binary" if binary else "sst"
    tables = [read_table(path, format=form, unescape=unescape) for path in trees]
    if kaggle_test is not None:
        joined = with_rebuilt_labels(read(output, kaggle_test), tables)
    else:
        joined = _joined(tables)
    put_file(out, lambda path: write_table(joined, path), force=force)
    value = {"file": str(out), "rows": len(joined), "labels": label_counts(joined)}
    output.result(
        value,
        page(label_grid({out.name: label_counts(joined)}, {out.name: len(joined)}), f"written  {out}"),
        str(out),
    )


@reads(without=("label_column", "label_separator", "label_columns", "group_column", "limit", "skip", "clean"))
def hashes(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of held-out texts.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write the hashes to.")],
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write hashes of held-out texts, for --exclude of the commands that train.

    The file holds no text. A text is known by its letters and digits, whatever its case, accents, spacing and
    punctuation; texts of fewer than 20 letters have no hash.
    """
    from sentitok.atomic import write as write_atomically

    from ..data.exclusion import hash_file_of

    output = Output("senti.data.hashes/1", as_json=as_json, quiet=quiet)
    refuse_input(out, files)
    check_file(out, force=force)
    tables = [read(output, path, unlabelled="keep", **reading) for path in files]
    texts = [text for table in tables for text in table.texts]
    data, n_hashes = hash_file_of(texts)
    if not n_hashes:
        raise UsageError(f"{', '.join(map(str, files))}: no text of 20 letters or more, so there is no hash")
    put_file(out, lambda path: write_atomically(path, data), force=force)
    rows = [("hashes", f"{number(n_hashes)} of {counted(len(texts), 'text')}"), ("written", str(out))]
    value = {"file": str(out), "texts": len(texts), "hashes": n_hashes}
    output.result(value, lines([*rows, ("next", f"senti train FILE {typed('--exclude', out)}")]), str(out))


@reads(without=("label_column", "where", "clean"))
def dump(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Table of phrases with sentence ids.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Text file to write, one sentence a line.")
    ],
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write the longest phrase of each sentence, one a line.

    Line ends and tabs inside a phrase become spaces.
    """
    from sentitok.atomic import write as write_atomically

    from ..data.opening import whole_characters
    from ..data.table import sentences

    output = Output("senti.data.dump/1", as_json=as_json, quiet=quiet)
    refuse_input(out, [file])
    check_file(out)
    table = read(output, file, unlabelled="keep", **reading)
    texts = [" ".join(text.split()) for text in sentences(table)]
    data = whole_characters("".join(f"{text}\n" for text in texts)).encode()
    put_file(out, lambda path: write_atomically(path, data), force=force)
    rows = [("sentences", f"{number(len(texts))} of {counted(len(table), 'phrase')}"), ("written", str(out))]
    value = {"file": str(out), "sentences": len(texts), "phrases": len(table)}
    output.result(value, lines([*rows, ("next", typed("senti", "pretrain", out))]), str(out))


def _joined(tables: "list[Table]") -> "Table":
    """One table of several; groups of different files stay apart."""
    from ..data import Table

    if len(tables) == 1:
        return tables[0]
    groups = [f"{i}:{group}" for i, table in enumerate(tables) for group in table.groups or []]
    texts = [text for table in tables for text in table.texts]
    return Table.of(texts, [label for table in tables for label in table.labelled()], groups)


Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Labelled files or folders.")]


@reads(each_row=True)
def stats(
    files: Files,
    tokenizer_file: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            "-t",
            help="Tokenizer file: measure lengths in its tokens instead of words.",
            metavar="FILE",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            min=1,
            help="Report the share of texts longer than N words, or tokens with --tokenizer.",
            metavar="N",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option("--plots", help="Folder to draw labels.png and lengths.png into.", metavar="DIR"),
    ] = None,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show how labels and lengths are distributed.

    Lengths are in words; in scripts without spaces between words each character counts as a word.
    """
    output = Output("senti.data.stats/1", as_json=as_json, quiet=quiet)
    unit = "words" if tokenizer_file is None else "tokens"
    tables = {_name_of(path, files): read(output, path, **reading) for path in files}
    lengths = {name: _lengths(table, tokenizer_file) for name, table in tables.items()}
    counts = {name: label_counts(table) for name, table in tables.items()}
    value = {
        "files": [
            {
                "file": str(table.source), "sha256": table.sha256, "rows": len(table),
                "groups": None if table.groups is None else len(set(table.groups)),
                "labels": counts[name], "unit": unit, "lengths": _quantiles(lengths[name]),
                "longer": None if max_tokens is None else int((lengths[name] > max_tokens).sum()),
            }
            for name, table in tables.items()
        ]
    }  # fmt: skip
    parts: list[Any] = [
        label_grid(counts, {name: len(table) for name, table in tables.items()}),
        _length_grid(lengths, unit, max_tokens),
    ]
    if plots is None:
        check_file(None, force=force, option="--plots")
    else:
        drawn, _ = put((plots, lambda path: _draw(path, counts, lengths, unit, max_tokens)), force=force)
        parts.append(f"written  {', '.join(drawn)}")
    output.result(value, page(*parts), str(sum(map(len, tables.values()))))


def _name_of(path: Path, files: list[Path]) -> str:
    """The file's own name, or the whole path where two files share a name."""
    return path.name if sum(other.name == path.name for other in files) == 1 else str(path)


def _lengths(table: "Table", tokenizer_file: Path | None) -> "NDArray[Any]":
    import numpy as np

    if tokenizer_file is None:
        from ..data.normalization import n_words

        return np.array([n_words(text) for text in table.texts])
    from sentitok import Tokenizer

    return Tokenizer.from_file(tokenizer_file).count_batch(table.texts).astype(np.int64)


def label_counts(table: "Table") -> dict[str, int]:
    """Returns the rows of each label, in the order of the labels; of several a row, also those of none."""
    from ..data.table import ordered

    if table.labels is None:
        return {}
    names = table.names_of_rows()
    counted = Counter(chain.from_iterable(names))
    counts = {name: counted[name] for name in ordered(counted)}
    n_empty = sum(not some for some in names)
    return counts | ({"(no label)": n_empty} if n_empty else {})


def _quantiles(lengths: "NDArray[Any]") -> dict[str, float]:
    import numpy as np

    quantiles = {f"p{share}": int(np.percentile(lengths, share, method="lower")) for share in (5, 50, 95, 99)}
    return {"mean": float(lengths.mean()), **quantiles, "max": int(lengths.max()), "sum": int(lengths.sum())}


def label_grid(counts: dict[str, dict[str, int]], n_rows: dict[str, int]) -> Any:
    """Lays out the label counts of several files in columns, with their share of the rows."""
    rows = []
    for label in dict.fromkeys(label for of_table in counts.values() for label in of_table):
        row = [label]
        for name, of_table in counts.items():
            n, total = of_table.get(label, 0), max(1, n_rows[name])
            row += [number(n), f"{100 * n / total:.1f} %"]
        rows.append(row)
    head = ["label", *(cell for name in counts for cell in (name, "share"))]
    return grid("Labels", head, rows) if rows else "no labels"


def _length_grid(lengths: "dict[str, NDArray[Any]]", unit: str, limit: int | None) -> Any:
    rows = []
    for name, one in lengths.items():
        quantiles = _quantiles(one)
        cells = [
            f"{quantiles['mean']:.1f}",
            *(number(quantiles[key]) for key in ("p5", "p50", "p95", "p99", "max", "sum")),
        ]
        longer = [] if limit is None else [f"{100 * float((one > limit).mean()):.1f} %"]
        rows.append([name, number(len(one)), *cells, *longer])
    head = ["file", "rows", "mean", "5 %", "median", "95 %", "99 %", "longest", "sum"]
    return grid(f"Lengths in {unit}", head if limit is None else [*head, f"over {limit}"], rows)


def _draw(
    folder: Path,
    counts: dict[str, dict[str, int]],
    lengths: "dict[str, NDArray[Any]]",
    unit: str,
    limit: int | None,
) -> list[Path]:
    from ..plots import save
    from ..plots.texts import label_histogram, length_histogram

    made = [folder / "lengths.png"]
    labelled = {name: one for name, one in counts.items() if one}
    if labelled:
        made.insert(0, folder / "labels.png")
        save(label_histogram(labelled), made[0])
    save(length_histogram(lengths, unit=unit, limit=limit), made[-1])
    return made


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    group = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode=app.rich_markup_mode,
        help="Check, describe and split labelled files.",
    )
    add(
        group,
        "check",
        check,
        "senti data check train.csv valid.csv",
        "senti data check train.csv valid.csv --no-near --json",
    )
    add(
        group,
        "stats",
        stats,
        "senti data stats train.csv valid.csv --plots figures",
        "senti data stats train.csv --tokenizer tokenizer.json --max-tokens 64",
    )
    add(
        group,
        "split",
        split,
        "senti data split reviews.csv -o parts",
        "senti data split reviews.csv -o parts --by hash --shares 0.7,0.2,0.1",
    )
    add(
        group,
        "sst",
        sst,
        "senti data sst trees.txt -o sentences.csv",
        "senti data sst trees.txt -o phrases.tsv --phrases",
    )
    add(
        group,
        "hashes",
        hashes,
        "senti data hashes valid.csv -o held-out.txt",
        "senti data hashes valid.csv test.csv -o held-out.txt --quiet",
    )
    add(
        group,
        "dump",
        dump,
        "senti data dump phrases.tsv -o sentences.txt",
        "senti data dump reviews.csv -o sentences.txt --group-column id",
    )
    add(
        group,
        "suspects",
        suspects,
        "senti data suspects reviews.csv",
        "senti data suspects reviews.csv --run runs/folds -o suspects.csv",
    )
    app.add_typer(group, name="data")
