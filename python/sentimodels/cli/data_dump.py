"""`senti data dump`: the sentences of a table of phrases, one a line, as a corpus for `senti pretrain`.

Not for choosing them (`data/sentences.py`).
"""

from pathlib import Path
from typing import Annotated

import typer

from sentitok.cli.output import counted, lines, number

from .command import AsJson, Force, Output, Quiet, Traceback, check_file, put_file, refuse_input
from .tables import (
    NO_READING,
    Reading,
    read,
    reads,
)

__all__ = ["dump"]


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
    from ..data.opening import whole_characters
    from ..data.sentences import sentences
    from ..data.writers import write_atomically

    output = Output("senti.data.dump/1", as_json=as_json, quiet=quiet)
    refuse_input(out, [file])
    check_file(out)
    table = read(output, file, **reading)
    texts = [" ".join(text.split()) for text in sentences(table)]
    data = whole_characters("".join(f"{text}\n" for text in texts)).encode()
    put_file(out, lambda path: write_atomically(path, data), force=force)
    rows = [("sentences", f"{number(len(texts))} of {counted(len(table), 'phrase')}"), ("written", str(out))]
    value = {"file": str(out), "sentences": len(texts), "phrases": len(table)}
    output.result(value, lines([*rows, ("next", f"senti pretrain {out}")]), str(out))
