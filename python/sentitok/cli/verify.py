"""`sentitok verify`: checks that files are undamaged.

Exit code 1 says that something is wrong; each line of the answer names a file and what to do.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import (
    AnswerIsNoError,
    AsJson,
    Command,
    Quiet,
    Traceback,
    UsageError,
    as_typed,
    examples,
    refuse,
)
from .loading import load_plain
from .output import Output, Progress, bytes_text, counted
from .texts import Threads
from .train import COUNTS_MAGIC

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.shards import Place
    from sentitok.verify import Verified

# Files and problems named for people; --json names all.
_NAMED = 4
_SHOWN = 20


def verify(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Folders of token shards, folders of such folders, counts files or tokenizers; also URLs.",
        ),
    ],
    tokenizer_file: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer", "-t", metavar="FILE", help="Tokenizer that must have made the ids; also a folder."
        ),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Check that token shards, counts files and tokenizers are undamaged.

    Every file of a folder of token shards is read and compared with the manifest: size, document ends and
    SHA-256. Counts files are read to the end, tokenizers loaded.
    """
    output = Output("sentitok.verify/1", as_json=as_json, quiet=quiet)
    given = {name: _places(name) for name in paths}
    if all(isinstance(place, Path) and place.is_file() for places in given.values() for place in places):
        refuse("it is for folders of token shards, and none is named", "tokenizer_file", "threads")
    tokenizer = None if tokenizer_file is None else load_plain(tokenizer_file)
    found: list[Verified] = []
    with output.progress() as progress:
        for parts in given.values():
            of_parts = [_verified(path, tokenizer, threads, progress) for path in parts]
            _check_together(of_parts)
            for part in of_parts:
                part.problems = [as_typed(problem) for problem in part.problems]
            found += of_parts
    n_wrong = sum(len(one.problems) for one in found)
    for one in found:
        _note(one, output)
    value = {
        "ok": not n_wrong,
        "checked": [asdict(one) | {"path": str(one.path)} for one in found],
        "seconds": round(output.seconds, 3),
    }
    output.result(value, "\n".join(map(_text, found)), str(n_wrong))
    if n_wrong:
        bad = [str(one.path) for one in found if one.problems]
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise AnswerIsNoError(f"{bad[0]}{more}: {counted(n_wrong, 'problem')}")


def _places(name: str) -> "list[Place]":
    """Returns the data sets or the file that a path or URL names; a file in a store is copied."""
    from sentitok import remote
    from sentitok.shards import find_datasets

    name = remote.local_name(name)
    if not remote.is_url(name):
        return [Path(name)] if Path(name).is_file() else find_datasets([name])
    try:
        remote.size(name)
    except OSError:  # a folder, a glob, or nothing
        return find_datasets([name])
    found = find_datasets([name])
    if len(found) == 1 and not remote.exists(remote.join(name, "manifest.json")):
        return [remote.staged(name)]
    return found


def _verified(
    path: "Place", tokenizer: "Tokenizer | None", threads: int | None, progress: Progress | None
) -> "Verified":
    from sentitok import FormatError, Tokenizer
    from sentitok.verify import Verified, verify, verify_counts

    if not isinstance(path, Path) or not path.is_file():
        from sentitok.shards import is_dataset

        if isinstance(path, Path) and (path / "tokenizer.json").is_file() and not is_dataset(path):
            raise UsageError(f"{path}: no token shards; name its tokenizer.json to check that")
        return verify(path, tokenizer=tokenizer, threads=threads, progress=progress)
    with path.open("rb") as file:
        is_counts = file.read(len(COUNTS_MAGIC)) == COUNTS_MAGIC
    if is_counts:
        return verify_counts(path, progress=progress)
    found = Verified(path, "tokenizer")
    try:
        found.totals = {"vocab_size": Tokenizer.from_file(path).vocab_size}
    except FormatError as error:
        found.problems.append(str(error))
    return found


def _check_together(parts: "list[Verified]") -> None:
    """Finds a part of a folder of data sets that cannot be read together with the rest."""
    from sentitok import FormatError
    from sentitok.shards import check_alike, read_manifest

    whole = [part for part in parts if not part.problems]
    if len(parts) < 2 or not whole:
        return
    first, *others = [
        (part.path, read_manifest(part.path / "manifest.json", any_layout=True)) for part in whole
    ]
    for part, other in zip(whole[1:], others, strict=True):
        try:
            check_alike([first, other])
        except FormatError as error:
            part.problems.append(str(error))


def _text(found: "Verified") -> str:
    if found.problems:
        more = len(found.problems) - _SHOWN
        last = [f"{found.path}: {counted(more, 'more problem')}; --json lists all"] if more > 0 else []
        return "\n".join([*found.problems[:_SHOWN], *last])
    totals = found.totals
    if found.kind == "token shards":
        about = (
            f"{counted(totals['documents'], 'document')}, {counted(totals['tokens'], 'token')}, "
            f"{counted(totals['files'], 'file')} ({bytes_text(totals['bytes'])}), as written"
        )
    elif found.kind == "counts":
        about = f"{counted(totals['pieces'], 'piece')}, as written"
    else:
        about = f"a tokenizer of {counted(totals['vocab_size'], 'token')}"
    return f"{found.path}: {about}"


def _note(found: "Verified", output: Output) -> None:
    """Says which other files are in the folder."""
    if found.leftovers:
        output.note(
            f"{found.path}: {_names(found.leftovers)}: being written, or left by a run that was killed; "
            "remove it if nothing is running"
        )
    if found.others:
        output.note(f"{found.path}: {_names(found.others)}: not named by the manifest, so not checked")
    if found.uncovered:
        output.note(
            f"{found.path}: {_names(found.uncovered)}: the manifest has no SHA-256 of it; encode again with "
            "--force to have one"
        )


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "verify",
        rich_help_panel="Encode and decode",
        short_help="Check that token shards are undamaged.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok verify tokens",
            "sentitok verify tokens -t tokenizer.json --json",
            "sentitok verify part-0.counts part-1.counts",
        ),
    )(verify)
