"""`sentitok lock` and `sentitok check`: whether a folder still holds the tokenizer that it held."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..spelling import readable
from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, examples
from .existing import Force, put_file
from .output import Output, counted, lines

if TYPE_CHECKING:
    from sentitok.locks import Change

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a tokenizer.")]
# Ids and characters that are shown of a difference; --json has all.
_IDS = 24
_CHARS = 60


def lock(
    locked_folder: Folder,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a lock file into a folder, which sentitok check compares the folder with later.

    It holds the fingerprint of the tokenizer, its settings, and the ids of texts that tell tokenizers apart.
    """
    from sentitok.atomic import write
    from sentitok.locks import LOCK, content, dumped, read_tokenizer

    output = Output("sentitok.lock/1", as_json=as_json, quiet=quiet)
    value = content(read_tokenizer(locked_folder))
    path = locked_folder / LOCK
    put_file(path, lambda name: write(name, dumped(value)), force=force)
    about = {"written": str(path), "fingerprint": value["fingerprint"], "texts": len(value["golden"])}
    pairs = [
        ("written", str(path)),
        ("fingerprint", str(value["fingerprint"])),
        ("golden", f"ids of {counted(len(value['golden']), 'text')}"),
        ("next", f"sentitok check {locked_folder}"),
    ]
    output.result(about, lines(pairs), str(path))


def check(
    locked_folder: Folder,
    transformers: Annotated[
        bool,
        typer.Option(
            "--transformers/--no-transformers",
            help="Compare with the ids of transformers too, if it is installed; it reads DIR alone.",
        ),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Compare a folder with its lock file; exit code 1 if something changed.

    Also compares the ids of this library with those of transformers, if it is installed. Prints one line for
    each difference: what the text tries, the text, and the ids before and now.
    """
    from sentitok.locks import check as found_by

    output = Output("sentitok.check/1", as_json=as_json, quiet=quiet)
    found = found_by(locked_folder, transformers=transformers)
    n_changes = len(found.changes)
    value: dict[str, Any] = {
        "ok": not n_changes,
        "lock": str(found.path),
        "texts": found.texts,
        "changes": [asdict(change) for change in found.changes],
        "transformers": found.transformers,
        "note": found.note,
    }
    if found.note is not None:
        output.note(f"note: {found.note}")
    compared = "" if found.transformers is None else f", and as transformers {found.transformers}"
    same = f"{locked_folder}: as locked{compared}: {counted(found.texts, 'text')}"
    output.result(value, "\n".join(map(_line, found.changes)) or same, str(n_changes))
    if n_changes:
        raise AnswerIsNoError(f"{locked_folder}: {counted(n_changes, 'difference')} from {found.path.name}")


def _line(change: "Change") -> str:
    if change.text is None:
        return f"{change.kind}: {change.name}: {_value(change.before)} -> {_value(change.now)}"
    begin = _first(change.before, change.now)
    before, now = (_ids(ids, begin) for ids in (change.before, change.now))
    text = readable(change.text[:_CHARS].encode("utf-8", "surrogatepass"))
    text = f"{text}..." if len(change.text) > _CHARS else text
    if change.kind == "transformers":
        return f"transformers: {change.name}: {text}: sentitok {before}, transformers {now}"
    return f"ids: {change.name}: {text}: {before} -> {now}"


def _first(before: list[int], now: list[int]) -> int:
    """Returns where ids are shown from: the beginning, or a little before they first differ."""
    differ = next(
        (at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other),
        min(len(before), len(now)),
    )
    return 0 if max(len(before), len(now)) <= _IDS else max(0, differ - 2)


def _ids(ids: list[int], begin: int) -> str:
    some = ids[begin : begin + _IDS]
    head = "... " if begin else ""
    tail = f" ... ({len(ids)} in all)" if len(ids) > begin + _IDS else ""
    return f"[{head}{' '.join(map(str, some))}{tail}]"


def _value(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _CHARS * 3 else f"{text[: _CHARS * 3]}..."


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "lock",
        rich_help_panel="Check and serve",
        short_help="Write down what a tokenizer does, to find changes later.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples("sentitok lock base", "sentitok lock base --force"),
    )(lock)
    app.command(
        "check",
        rich_help_panel="Check and serve",
        short_help="Compare a tokenizer with its lock file, and with transformers.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples("sentitok check locked", "sentitok check locked --no-transformers --json"),
    )(check)
