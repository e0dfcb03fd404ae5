"""`senti predict`: texts in, labels and probabilities out, as CSV or JSON lines.

Texts come from a file with a text column, or one a line from stdin; every line of output answers one text, in
their order.
"""

import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.bounded_lines import MAX_LINE, lines
from sentitok.cli.output import Progress, counted, json_line
from sentitok.cli.process import stdin, to_stdout

from .command import (
    Force,
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
from .tables import (
    READ_WHOLE,
    Clean,
    Device,
    Encoding,
    FirstRows,
    Format,
    Header,
    MaxLineBytes,
    Separator,
    Skip,
    TextColumn,
    Windows,
    carried,
    names,
    read,
    refuse_idle_windows,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..data import Labels, Table
    from ..data.encoded import Cut
    from ..evaluation.predictions import Predictor

# Texts answered at a time, so that a long stream needs little memory; fewer where a bar shows how many.
_AT_ONCE, _WATCHED = 4096, 512


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="File of texts (csv, tsv, jsonl, ...), or - for stdin with one text a line."
        ),
    ] = "-",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write to: .csv, .tsv or .jsonl. [default: stdout, as CSV]",
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", min=1, metavar="K", help="Write only the K most probable labels. [default: all]"
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="[LABEL=]P",
            help="Minimum probability, from 0 to 1, of every label or, as LABEL=P, of one, such as pos=0.8. "
            "The answer is the most probable label that reaches its own minimum, and blank only if none "
            "does; with several labels a text, all labels that do. Repeatable. [default: the thresholds of "
            "the run; without them 0, and 0.5 with several labels a text]",
        ),
    ] = None,
    unsure: Annotated[
        str | None,
        typer.Option(
            "--unsure",
            metavar="NAME",
            help="What to write where no label reaches its minimum, such as review. [default: blank, null in "
            "JSON]",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="COLUMNS",
            help="Columns of FILE to write in front of the text and the answers, as in user,date, or all. "
            "The text follows them, and its column is called text. [default: only the text]",
        ),
    ] = None,
    text_column: TextColumn = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column",
            metavar="NAME",
            help="Column of ids to write in front of the answers. [default: none]",
        ),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    separator: Separator = None,
    header: Header = None,
    max_line_bytes: MaxLineBytes = None,
    limit: FirstRows = None,
    skip: Skip = 0,
    clean: Clean = False,
    windows: Windows = False,
    device: Device = None,
    force: Force = False,
    as_json: JsonLines = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Predict the label of each text, or its labels.

    The probability of every label is written as well. The output is CSV; --json prints one JSON object
    a line, --quiet only the labels.
    """
    from ..data.encoded import Cut
    from ..data.writers import write_texts
    from ..predictor import load_predictor

    output = Output("senti.predict/1", as_json=as_json, quiet=quiet)
    suffix = "" if out is None else out.suffix
    if out is not None and suffix not in (".csv", ".tsv", ".jsonl"):
        raise UsageError(f"--out {out}: writes .csv, .tsv or .jsonl")
    refuse_input(out, [file])
    announce(out, output, force=force)
    if file == "-":
        _refuse_of_files(
            {
                "--text-column": text_column, "--format": format, "--encoding": encoding, "--limit": limit,
                "--keep": keep, "--id-column": id_column, "--separator": separator,
                "--header or --no-header": header is not None,
                "--skip": skip, "--clean": clean,
            }
        )  # fmt: skip
    if windows:
        refuse_idle_windows([run])
    predictor = load_predictor(run, device, windows=windows)
    decide = _decision(output, predictor, threshold or [], unsure, run)
    n_texts, cut, has_labels = 0, Cut(), False
    columns: dict[str, list[str]] = {}
    if file == "-":
        texts = lines_of_stdin(size(max_line_bytes, "--max-line-bytes"))
    else:
        table = read(
            output, Path(file), text_column=text_column, format=format, encoding=encoding, limit=limit,
            separator=separator, header=header,
            max_line_bytes=max_line_bytes, skip=skip, clean=clean, run=run, unlabelled="keep",
            id_column=id_column, sample=False, keep=tuple(names([] if keep is None else [keep])),
        )  # fmt: skip
        texts, n_texts, has_labels = iter(table.texts), len(table), table.labels is not None
        columns = _carried(table, with_ids=id_column is not None)
    if out is None:
        form = "json" if as_json else "quiet" if quiet else ".csv"
    else:  # a file has the format of its name, whatever is printed of it
        form = "json" if suffix == ".jsonl" else suffix
    # Answers that a terminal shows are their own bar.
    seen = out is None and sys.stdout is not None and sys.stdout.isatty()
    with nullcontext() if seen else output.progress() as progress:
        some = chunks(texts, min(at_once(file), _AT_ONCE if progress is None else _WATCHED))
        answered = _written(predictor, some, columns, form, decide, top_k, unsure)

        def counted_parts() -> Iterator[tuple[str, int]]:
            nonlocal cut
            for part, some_cut in answered:
                cut += some_cut
                yield part, some_cut.n

        parts = _told(counted_parts(), progress, n_texts)
        if out is None:
            for part, _ in parts:
                with to_stdout():
                    sys.stdout.write(part)
        else:
            texts_out = (part for part, _ in parts)
            put_file(out, lambda path: write_texts(path, texts_out), force=force, keep=True)
    if said_cut := cut.said(getattr(predictor, "max_tokens", None)):
        output.note(said_cut + READ_WHOLE)
    if out is None:
        return
    said = f"{counted(cut.n, 'answer')} in {out}" + (
        f"\nnext: {typed('senti', 'evaluate', run, file)}" if has_labels else ""
    )
    output.result({"out": str(out), "rows": cut.n, **cut.tree()}, said, str(out))


def _carried(table: "Table", *, with_ids: bool) -> dict[str, list[str]]:
    """Returns the columns that are written before the answers: ids, then the columns of `--keep`.

    A kept column that has the name of a column of answers, other than the text's own, is written as
    `input_NAME`.
    """
    if with_ids and table.ids is not None:
        name = table.columns.get("id", "id")
        table = replace(table, kept={name: table.ids, **table.kept})

    def taken(name: str) -> bool:
        return name in ("text", "label", "probs", "schema", "cut") or name.startswith(("p_", "label_"))

    return carried(table, taken)


def _refuse_of_files(given: dict[str, object]) -> None:
    """Refuses options that say how a file is read, where stdin is.

    Raises:
        UsageError: naming the first of them.
    """
    for option, value in given.items():
        if value:
            raise UsageError(f"{option}: stdin is read as one text a line; name a file, or leave it out")


def _decision(
    output: Output, predictor: "Predictor", asked: Sequence[str], unsure: str | None, run: Path
) -> "Callable[[NDArray[Any]], NDArray[np.int64]]":
    """Returns how probabilities become answers: as `--threshold` asks, else by the thresholds of the run.

    Raises:
        UsageError: if a threshold or the name of unsure answers will not do.
    """
    import numpy as np

    from ..evaluation.answers import answers_of
    from ..evaluation.thresholds import Thresholds

    labels = predictor.labels
    if unsure is not None and labels.several:
        raise UsageError(f"--unsure {unsure}: a run of several labels may give none; leave it out")
    if unsure is not None and unsure in labels.names:
        raise UsageError(f"--unsure {unsure}: a label of the run; give another name")
    own: Thresholds | None = getattr(predictor, "thresholds", None)
    if own is not None and not asked:
        output.note(f"answers by the thresholds of the run, {own.rule}; --threshold changes them")
        return own.decide
    if unsure is not None and not asked:
        output.note(
            f"the run has no thresholds, so no text is answered {unsure!r}; give one by --threshold, or "
            f"choose some: senti thresholds {run} FILE"
        )
    least, kind = thresholds(asked, labels, run), answers_of(labels)
    return lambda probs: kind.decide(probs, np.array(least, probs.dtype))


def thresholds(asked: Sequence[str], labels: "Labels", run: Path) -> list[float]:
    """Returns the least probability of each label, as `--threshold` gives them.

    Raises:
        UsageError: if one is not a probability, or names no label.
    """
    from ..evaluation.answers import answers_of

    least = [answers_of(labels).least] * len(labels)
    for value in asked:
        name, equals, number = value.rpartition("=")
        try:
            p = float(number)
        except ValueError:
            p = math.nan
        if name not in labels.names and _is_rule(value):
            raise UsageError(
                f"--threshold {value}: a rule chooses thresholds on labelled rows; type senti thresholds "
                f"{run} FILE --threshold {value}, then senti predict {run} without --threshold"
            )
        if not 0 <= p <= 1:
            raise UsageError(f"--threshold {value}: expected a probability, as in 0.8 or {labels[0]}=0.8")
        if equals and name not in labels.names:
            raise UsageError(
                f"--threshold {value}: unknown label {name!r}; expected one of {', '.join(labels.names)}"
            )
        for place, label in enumerate(labels.names):
            if not equals or label == name:
                least[place] = p
    return least


def _is_rule(written: str) -> bool:
    """Whether this is a rule of `senti thresholds`, such as `precision=0.9`."""
    from ..config import ThresholdRule

    try:
        ThresholdRule.of(written)
    except ValueError:
        return False
    return True


def _told(
    parts: Iterator[tuple[str, int]], progress: Progress | None, total: int
) -> Iterator[tuple[str, int]]:
    """Yields parts of the output, and reports how many texts they answer so far."""
    done = 0
    for part, n in parts:
        yield part, n
        done += n
        if progress is not None and n:
            progress("predict", done, total)


def _written(
    predictor: "Predictor",
    texts: Iterator[list[str]],
    carried: dict[str, list[str]],
    form: str,
    decide: "Callable[[NDArray[Any]], NDArray[np.int64]]",
    top_k: int | None,
    unsure: str | None,
) -> "Iterator[tuple[str, Cut]]":
    """Yields the output in parts, with how many texts each answers, and how many of these were cut.

    The `carried` columns come first.
    """
    import numpy as np

    from ..data.encoded import Cut
    from ..evaluation.predictions import answer

    labels = predictor.labels
    names = labels.names
    # A model that reads whole texts has nothing to mark.
    marks = ["cut"] if getattr(predictor, "max_tokens", None) is not None else []
    n_shown = len(names) if top_k is None else min(top_k, len(names))
    if form in (".csv", ".tsv"):
        ranked = [f"{column}_{place}" for place in range(1, n_shown + 1) for column in ("label", "p")]
        columns = [f"p_{name}" for name in names] if top_k is None else ranked
        yield _separated([[*carried, "text", "label", *columns, *marks]], form), Cut()
    begin = 0
    for some in texts:
        given = [column[begin : begin + len(some)] for column in carried.values()]
        fronts = list(zip(*given, strict=True)) if given else [()] * len(some)
        begin += len(some)
        probs, unread = answer(predictor, some)
        written = labels.value if form == "json" else labels.cell
        none = unsure if form == "json" else unsure or ""
        # Of one label -1 is none.
        answers = [none if one.ndim == 0 and one < 0 else written(one) for one in decide(probs)]
        if form == "quiet":
            yield "".join(f"{label}\n" for label in answers), Cut.of(unread)
            continue
        # Of equal probabilities the first label comes first, as in the answer.
        order = np.tile(np.arange(len(names)), (len(some), 1))
        if top_k is not None:
            order = np.argsort(-probs, axis=1, kind="stable")[:, :n_shown]
        rows = zip(fronts, some, answers, order.tolist(), probs.tolist(), unread.tolist(), strict=True)
        if form == "json":
            for front, text, label, places, shares, left in rows:
                record: dict[str, Any] = {
                    "schema": "senti.predict/1",
                    **dict(zip(carried, front, strict=True)),
                }
                record |= {"text": text, "label": label}
                record["probs"] = {names[place]: round(shares[place], 6) for place in places}
                record["cut"] = left > 0
                yield json_line(record) + "\n", Cut(1, int(left > 0), left)
        else:
            cells = []
            for front, text, label, places, shares, left in rows:
                row = [*front, text, str(label)]
                for place in places:
                    row += (
                        [f"{shares[place]:.6f}"] if top_k is None else [names[place], f"{shares[place]:.6f}"]
                    )
                cells.append([*row, str(left > 0).lower()] if marks else row)
            yield _separated(cells, form), Cut.of(unread)


def lines_of_stdin(longest: int | None) -> Iterator[str]:
    """The lines of stdin, which are UTF-8 whatever the terminal is."""
    text = io.TextIOWrapper(stdin(), "utf-8-sig", errors="strict", newline="\n")
    try:
        for line in lines(text, "stdin", MAX_LINE if longest is None else longest):
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8 ({error.reason}); give a file and its --encoding") from error


def at_once(file: str) -> int:
    """Returns how many texts are answered at a time: one where they are typed."""
    return 1 if file == "-" and sys.stdin is not None and sys.stdin.isatty() else _AT_ONCE


def chunks(texts: Iterator[str], most: int) -> Iterator[list[str]]:
    """Yields texts, so many at a time as are answered at once."""
    some: list[str] = []
    for text in texts:
        some.append(text)
        if len(some) >= most:
            yield some
            some = []
    if some:
        yield some


def _separated(rows: list[list[str]], form: str) -> str:
    from ..data.writers import separated_rows

    # Rows come in parts: whether a later one of TSV needs quotes is not known when the first is written.
    return separated_rows(rows, form, quoted=form == ".tsv")


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "predict",
        predict,
        'echo "great fun" | senti predict runs/first',
        "senti predict runs/first reviews.csv -o answers.csv",
        'echo "great fun" | senti predict runs/first --json --top-k 1 --threshold 0.8',
    )
