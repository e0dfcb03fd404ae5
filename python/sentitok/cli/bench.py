"""`sentitok bench`: this tokenizer against the libraries that are installed.

Each library runs in a separate process (`rivals.py`). Ids are compared first;
a library whose ids differ keeps its row, which says so.
"""

import json
import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, refuse
from .encode import TokenizerFile
from .loading import Pattern, SpecialTokens, load, refuse_unneeded, special_ids
from .output import Output, bytes_text, counted, number, table
from .texts import Format, InvalidText, MaxLineBytes, TextOptions, note_replaced

if TYPE_CHECKING:
    from sentitok import Tokenizer

# The text that is encoded when no file is given: Python's sources, which always exist.
_DEFAULT_BYTES = 8_000_000


def _default_texts() -> list[str]:
    folder = Path(os.__file__).parent
    texts: list[str] = []
    n_bytes = 0
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts or n_bytes >= _DEFAULT_BYTES:
            continue
        texts.append(path.read_text("utf-8", "replace"))
        n_bytes += path.stat().st_size
    return texts


def bench(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Text files. [default: the sources of Python's standard library]"
        ),
    ] = None,
    tokenizer_file: TokenizerFile = Path("tokenizer.json"),
    rival: Annotated[
        list[str] | None,
        typer.Option("--rival", metavar="NAME", help="Library to compare with; repeatable. [default: all]"),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, metavar="N", help="Number of threads that each library uses.")
    ] = 1,
    pattern: Pattern = None,
    special: SpecialTokens = None,
    format: Format = None,
    invalid_utf8: InvalidText = "replace",
    max_line_bytes: MaxLineBytes = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare ids and speed with tokenizers, tiktoken and sentencepiece."""
    # Here, not above: other commands start without it.
    import tempfile

    from .rivals import RIVALS

    output = Output("sentitok.bench/1", as_json=as_json, quiet=quiet)
    for name in rival or []:
        if name not in RIVALS:
            raise UsageError(f"--rival {name}: it is one of {', '.join(RIVALS)}")
        if not find_spec(name):
            raise UsageError(f"--rival {name}: it is not installed; type pip install {name}")
    names = [name for name in RIVALS if name == "sentitok" or name in (rival or RIVALS)]
    missing = [name for name in names if not find_spec(name)]
    if missing:
        output.note(f"not installed, so not compared: {', '.join(missing)}")
    refuse_unneeded(tokenizer_file)
    tokenizer = load(tokenizer_file, pattern, special_ids(special))
    texts = _default_texts()
    if not files:
        refuse("it is for text files, and none is named", "format", "invalid_utf8", "max_line_bytes")
    if files:
        documents = TextOptions(format, invalid_utf8, max_line_bytes).documents(files)
        texts = list(documents)
        note_replaced(output, files, documents.replaced)
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    if not n_bytes:
        raise UsageError("the files hold no text")
    with tempfile.TemporaryDirectory() as folder:
        job = _job(tokenizer, tokenizer_file, texts, threads, Path(folder))
        rows = [_run(job, name, Path(folder), output) for name in names if name not in missing]
        _compare(rows, Path(folder))
    for row in rows:
        for run in ("cold", "warm"):
            if f"{run}_s" in row:
                row[f"{run}_mb_per_s"] = n_bytes / 1e6 / row[f"{run}_s"]
    value = {"bytes": n_bytes, "documents": len(texts), "threads": threads, "results": rows}
    head = f"{counted(len(texts), 'document')}, {bytes_text(n_bytes)}, threads: {threads}"
    text = f"{head}\n\n{_table(rows)}" if output.human else ""
    output.result(value, text, "\n".join(f"{r['rival']} {r.get('ids', 'refused')}" for r in rows))
    if any(row.get("ids") == "differ" for row in rows):
        raise AnswerIsNoError("ids differ")


def _job(
    tokenizer: "Tokenizer", source: Path, texts: list[str], threads: int, folder: Path
) -> dict[str, Any]:
    """Writes down, in the formats the libraries read, what all of them do."""
    from sentitok import FormatError

    job: dict[str, Any] = {
        "source": str(source),
        "documents": str(folder / "documents.json"),
        "json": str(folder / "tokenizer.json"),
        "pattern": tokenizer.pre_tokenizer.pattern,
        "specials": {token.content: token.id for token in tokenizer.added_tokens if token.special},
        "threads": threads,
    }
    # surrogatepass is not needed: documents replaced invalid UTF-8.
    (folder / "documents.json").write_text(json.dumps(texts), encoding="utf-8")
    with warnings.catch_warnings():
        # The rank file has no place for the pattern; it travels in the job.
        warnings.simplefilter("ignore")
        tokenizer.save(job["json"])
        try:
            tokenizer.save(folder / "ranks.tiktoken")
            job["ranks"] = str(folder / "ranks.tiktoken")
        except FormatError as error:
            job["ranks_refused"] = str(error)
    return job


def _run(job: dict[str, Any], name: str, folder: Path, output: Output) -> dict[str, Any]:
    import subprocess

    output.note(f"running {name} ...")
    mine = {**job, "rival": name, "ids": str(folder / f"{name}.npz")}
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(job["threads"]),
        "TOKENIZERS_PARALLELISM": "false" if job["threads"] == 1 else "true",
    }
    done = subprocess.run(
        [sys.executable, "-m", "sentitok.cli.rivals"],
        input=json.dumps(mine),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        return {"rival": name, "refused": f"the process ended with {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _compare(rows: list[dict[str, Any]], folder: Path) -> None:
    """Compares the ids of each library with ours, document by document."""
    import numpy as np

    if "refused" in rows[0]:
        raise AnswerIsNoError(f"sentitok: {rows[0]['refused']}")
    ours = np.load(folder / "sentitok.npz")
    for row in rows:
        if "refused" in row:
            continue
        theirs = np.load(folder / f"{row['rival']}.npz")
        same = np.array_equal(ours["ids"], theirs["ids"]) and np.array_equal(
            ours["lengths"], theirs["lengths"]
        )
        row["ids"] = "equal" if same else "differ"
        row["tokens"] = len(theirs["ids"])


def _table(rows: list[dict[str, Any]]) -> str:
    cells = []
    refused = []
    for row in rows:
        if "refused" in row:
            refused.append(f"{row['rival']}: {row['refused']}")
            continue
        memory = row["peak_memory_bytes"]
        cells.append(
            [
                f"{row['rival']} {row['version']}",
                row["ids"],
                number(row["tokens"]),
                f"{row['load_s']:.3f} s",
                f"{row['cold_mb_per_s']:.1f} MB/s",
                f"{row['warm_mb_per_s']:.1f} MB/s",
                "-" if memory is None else bytes_text(memory),
            ]
        )
    shown = table(["library", "ids", "tokens", "load", "first pass", "repeat", "peak memory"], cells)
    passes = "first pass: the text is new to the library; repeat: the same text again, with its caches filled"
    return "\n".join([shown, "", passes, *(f"\nleft out: {line}" for line in refused)])


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "bench",
        rich_help_panel="Inspect and compare",
        short_help="Measure speed on a file, next to other libraries.",
        cls=Command,
        epilog=examples(
            "sentitok bench corpus.txt -t tokenizer.json",
            "sentitok bench corpus.txt -t tokenizer.json --rival tokenizers --json",
        ),
    )(bench)
