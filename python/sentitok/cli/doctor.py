"""`sentitok doctor` and `sentitok prune`: useless tokens, and a vocabulary without them.

Which tokens are unreachable follows from the tokenizer alone (`Tokenizer.doctor`); what a text does not use,
from the text.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..spelling import readable
from .command import AsJson, Command, Quiet, Traceback, UsageError, examples, grouped
from .existing import Force, check_file, put
from .loading import FileOptions, refuse_unneeded
from .output import Output, counted, lines, number
from .texts import TextOptions, note_replaced

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from sentitok import Tokenizer

# Tokens listed for people; --json lists all.
_LISTED = 12

_MEANING = {
    "unreachable": "the model makes them of no piece",
    "split": "the normalizer changes their text or the splitter cuts it",
    "partial": "no whole characters; a byte-level model needs some",
    "gaps": "ids without a token",
    "unused": "not in the text given",
}


def doctor(
    tokenizer_file: Annotated[Path, typer.Argument(metavar="TOKENIZER", help="Tokenizer to examine.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Text files to look for unused tokens in; - for stdin."),
    ] = None,
    *,
    file: FileOptions,
    reading: TextOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """List unreachable tokens and, given text files, unused ones."""
    import numpy as np

    refuse_unneeded(tokenizer_file)
    if not texts:
        reading.refuse("it is for text, and no text file is named")
    tokenizer = file.load(tokenizer_file)
    output = Output("sentitok.doctor/1", as_json=as_json, quiet=quiet)
    problems = tokenizer.doctor()
    if texts:
        documents = reading.documents(texts)
        used = _frequency(tokenizer, documents, reading.threads)
        note_replaced(output, texts, documents.replaced)
        problems["unused"] = [
            id
            for id, count in enumerate(used.tolist())
            if not count and tokenizer.id_to_token(id) is not None
        ]
        new_ids = tokenizer.prune(np.flatnonzero(used))[1]
        removable = int((new_ids[problems["unused"]] < 0).sum())
    pairs = [("vocabulary", number(tokenizer.vocab_size))]
    for name, ids in problems.items():
        pairs.append((name, f"{number(len(ids))}: {_MEANING[name]}"))
        if ids and name != "gaps":
            pairs.append(("", _some(tokenizer, ids)))
    target = tokenizer_file.with_suffix(".pruned.json")
    if texts and problems["unused"]:
        pairs.append(
            ("removable", f"{number(removable)}: each other unused one is a byte, or a part of a used token")
        )
    if texts and removable:
        files = " ".join(map(str, texts))
        pairs.append(("next", f"sentitok prune {tokenizer_file} {files} -o {target}"))
    useless = len(problems["unreachable"]) + len(problems["split"])
    value = {"vocab_size": tokenizer.vocab_size, **problems}
    if texts:
        value["removable"] = removable
    output.result(value, lines(pairs), str(useless))


def _some(tokenizer: "Tokenizer", ids: list[int]) -> str:
    shown = [readable(tokenizer.id_to_bytes(id) or b"") for id in ids[:_LISTED]]
    return "  ".join([*shown, "..."] if len(ids) > _LISTED else shown)


def _frequency(
    tokenizer: "Tokenizer",
    texts: "Iterable[str]",
    threads: int | None,
) -> "NDArray[np.int64]":
    """Counts how often each id occurs in texts; one count for each id there can be."""
    from itertools import islice

    import numpy as np

    n_ids = 1 + max(tokenizer.vocab().values(), default=0)
    frequency = np.zeros(n_ids, dtype=np.int64)
    rest = iter(texts)
    while batch := list(islice(rest, 4096)):
        encoded = tokenizer.encode_batch(batch, add_special_tokens=False, specials="all", threads=threads)
        frequency += np.bincount(encoded.ids, minlength=n_ids)
    return frequency


def prune(
    tokenizer_file: Annotated[Path, typer.Argument(metavar="TOKENIZER", help="Tokenizer to prune.")],
    texts: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Text files whose tokens are kept; - for stdin.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write the pruned tokenizer to.")
    ] = Path("tokenizer.pruned.json"),
    vocab: Annotated[
        int | None,
        typer.Option(
            "--vocab",
            min=1,
            metavar="N",
            help="Maximum number of tokens to keep, the most frequent first. [default: all that are used]",
        ),
    ] = None,
    min_count: Annotated[
        int,
        typer.Option("--min-count", min=1, metavar="N", help="Keep only tokens that occur at least N times."),
    ] = 1,
    id_map: Annotated[
        Path | None,
        typer.Option(
            "--id-map",
            metavar="FILE",
            help="File to write the map from old to new ids to. [default: OUT.ids.npy]",
        ),
    ] = None,
    *,
    force: Force = False,
    file: FileOptions,
    reading: TextOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Remove tokens that texts do not use; write a map from old to new ids, for embeddings."""
    from io import BytesIO

    import numpy as np

    from sentitok.atomic import write

    refuse_unneeded(tokenizer_file)
    output = Output("sentitok.prune/1", as_json=as_json, quiet=quiet)
    map_file = id_map or out.with_suffix(".ids.npy")
    if map_file == out:
        raise UsageError(f"--id-map {map_file}: -o names the same file; give the map another name")
    check_file(map_file)
    tokenizer = file.load(tokenizer_file)
    documents = reading.documents(texts)
    frequency = _frequency(tokenizer, documents, reading.threads)
    note_replaced(output, texts, documents.replaced)
    # Of equal counts the lower id stays, so the result does not depend on the sort.
    order = np.argsort(-frequency, kind="stable")
    kept = order[frequency[order] >= min_count]
    pruned, ids = tokenizer.prune(kept[:vocab])
    reason = None
    if vocab is not None and pruned.n_tokens > vocab:
        pruned, ids, reason = _shrink(tokenizer, kept, vocab, pruned.n_tokens)
    elif vocab is not None and pruned.n_tokens < vocab:
        times = "" if min_count == 1 else f" {number(min_count)} times or more"
        reason = (
            f"the texts use {counted(len(kept), 'token')}{times}; all other tokens that can be removed are"
        )

    def save_map(path: Path) -> list[Path]:
        data = BytesIO()
        np.save(data, ids)
        write(path, data.getvalue())
        return [path]

    files, _ = put((out, pruned.save), (map_file, save_map), force=force)
    written = [file for file in files if file != str(map_file)]
    removed = int((ids < 0).sum())
    value: dict[str, Any] = {
        "written": [*written, str(map_file)],
        "vocab_size": pruned.vocab_size,
        "removed": removed,
        "reason": reason,
        "fingerprint": pruned.fingerprint,
    }
    pairs = [
        ("vocabulary", f"{number(tokenizer.vocab_size)} -> {number(pruned.vocab_size)}"),
        *([("fewer", f"than the {number(vocab or 0)} asked for: {reason}")] if reason else []),
        *([] if removed else [("removed", "nothing: each token is used, a byte, or a part of a used one")]),
        ("written", ", ".join(written)),
        ("id map", f"{map_file}: the new id of each old one, -1 where taken out"),
        ("fingerprint", pruned.fingerprint),
        ("next", f"embedding = embedding[np.flatnonzero(np.load({str(map_file)!r}) >= 0)]"),
    ]
    output.result(value, lines(pairs), str(out))


def _shrink(
    tokenizer: "Tokenizer", kept: "NDArray[np.int64]", most: int, beyond: int
) -> "tuple[Tokenizer, NDArray[np.int64], str | None]":
    """Prunes to at most `most`: what tokens are made of stays too, so fewer may be chosen.

    Args:
        tokenizer: the tokenizer to prune.
        kept: ids to keep, the most frequent first.
        most: tokens that may be left.
        beyond: tokens that are left if the first `most` are kept.

    Returns:
        The tokenizer, the map of ids, and if it has fewer than `most` tokens the reason.

    Raises:
        UsageError: if what cannot be taken out is already more.
    """
    low, high = 0, min(len(kept), most)
    best = tokenizer.prune(kept[:0])
    if best[0].n_tokens > most:
        raise UsageError(f"--vocab {most}: {best[0].n_tokens} tokens cannot be taken out; ask for as many")
    over = high  # the smallest number of chosen tokens that is known to leave too many: `beyond`
    while low < high:
        middle = (low + high + 1) // 2
        pruned = tokenizer.prune(kept[:middle])
        if pruned[0].n_tokens <= most:
            low, best = middle, pruned
        else:
            high, over, beyond = middle - 1, middle, pruned[0].n_tokens
    left = most - best[0].n_tokens
    if not left:
        return *best, None
    token = readable(tokenizer.id_to_bytes(int(kept[over - 1])) or b"")
    reason = (
        f"the next most frequent token, {token}, takes {number(beyond - best[0].n_tokens)} with the "
        f"tokens it is merged from, and {number(left)} would fit"
    )
    return *best, reason


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "doctor",
        rich_help_panel="Inspect and compare",
        short_help="List unreachable tokens, and tokens that texts do not use.",
        cls=Command,
        epilog=examples("sentitok doctor tokenizer.json", "sentitok doctor tokenizer.json corpus.txt"),
    )(grouped(doctor))
    app.command(
        "prune",
        rich_help_panel="Change",
        short_help="Remove tokens that texts do not use.",
        cls=Command,
        epilog=examples(
            "sentitok prune tokenizer.json corpus.txt",
            "sentitok prune tokenizer.json corpus.txt -o small.json --vocab 500",
        ),
    )(grouped(prune))
