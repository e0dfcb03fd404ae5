"""`senti submit`: answers in the form that a Kaggle competition takes.

Not for scores (`evaluate.py`), nor for other forms of answers (`predict.py`).
"""

from pathlib import Path
from typing import Annotated

import typer

from sentitok.cli.output import counted

from .command import (
    AsJson,
    Command,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    announce,
    examples,
    put_file,
    refuse_input,
)
from .evaluate import Run, answers
from .tables import (
    NO_READING,
    Reading,
    read,
    reads,
)


@reads(without=("label_column", "group_column", "limit", "skip", "clean"))
def submit(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="TEST", help="Test file of the competition.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Submission file to write.")],
    form: Annotated[
        str,
        typer.Option(
            "--form",
            help="Columns to write: movie-reviews (PhraseId,Sentiment) or imdb (Id,Category).",
            metavar="NAME",
        ),
    ] = "movie-reviews",
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory",
            metavar="TRAIN",
            help="Give phrases that occur in this training file the labels they have there.",
        ),
    ] = None,
    reading: Reading = NO_READING,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write predictions as a Kaggle submission."""
    from ..data.sst import SUBMISSIONS, submission
    from ..data.writers import write_atomically

    if form not in SUBMISSIONS:
        raise UsageError(f"--form {form}: expected one of {', '.join(SUBMISSIONS)}")
    refuse_input(out, [file, *([memory] if memory is not None else [])])
    output = Output("senti.submit/1", as_json=as_json, quiet=quiet)
    announce(out, output, force=force)
    table = read(output, file, run=run, unlabelled="keep", **reading)
    predictions, with_memory = answers(output, run, table, memory=memory, even_if_trained=True)
    chosen = with_memory or predictions
    named = chosen.labels.decode(chosen.predicted.tolist())
    data = submission(form, table.ids, named).encode()
    put_file(out, lambda path: write_atomically(path, data), force=force, keep=True)
    value = {"file": str(out), "rows": len(named), "form": form, "memory": with_memory is not None}
    output.result(
        value, f"written  {out}: {counted(len(named), 'row')}, {','.join(SUBMISSIONS[form])}", str(out)
    )


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "submit",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "senti submit runs/gpt test.csv -o submission.csv",
            "senti submit runs/gpt test.csv -o submission.csv --form imdb",
        ),
    )(submit)
