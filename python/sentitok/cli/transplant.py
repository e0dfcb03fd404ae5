"""`sentitok transplant`: a model under another tokenizer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..spelling import readable
from .command import AsJson, Command, Quiet, Traceback, UsageError, examples, grouped, refuse
from .existing import Force, put
from .loading import FileOptions, refuse_unneeded
from .output import Output, counted, lines, number

if TYPE_CHECKING:
    from sentitok.embeddings import Transplant

_SHOWN = 8
# The names of `sentitok.embeddings.METHODS`, which a test compares.
_METHODS = ("pieces", "first", "nearest", "average", "random")


def transplant(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Tokenizer of the model.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Tokenizer that the model is to have.")],
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder of a model, or its weights: a .safetensors file.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Rows of tokens that OLD does not have: pieces (mean of the rows of their pieces under "
            "OLD), first (the first piece), nearest (mean of the old tokens that share most characters), "
            "average (of all rows) or random.",
            autocompletion=lambda: list(_METHODS),
        ),
    ] = "pieces",
    tensor: Annotated[
        list[str] | None,
        typer.Option(
            "--tensor",
            metavar="NAME",
            help="Tensor with a row per token; repeatable, name all of them. [default: found by name and "
            "shape]",
        ),
    ] = None,
    token: Annotated[
        list[str] | None,
        typer.Option(
            "--token",
            metavar="NEW=OLD",
            help="Token of NEW that takes the row of a token of OLD; repeatable.",
        ),
    ] = None,
    pad_to_multiple: Annotated[
        int,
        typer.Option(
            "--pad-to-multiple", min=1, metavar="N", help="Fill up the rows of the tables to a multiple of N."
        ),
    ] = 1,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Random seed of --method random.")
    ] = 0,
    *,
    file: FileOptions,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Give a model another tokenizer: copy the rows of tokens both have, make those of new ones.

    Reads safetensors, whole or in parts, in float32, float16 or bfloat16. Writes the weights, the tokenizer,
    and config.json with the new sizes and ids; all other tensors stay byte for byte.
    """
    from sentitok.embeddings import transplant as made

    output = Output("sentitok.transplant/1", as_json=as_json, quiet=quiet)
    if method not in _METHODS:
        raise UsageError(f"--method {method}: expected one of {', '.join(_METHODS)}")
    if method != "random":
        refuse("it is for --method random", "seed")
    refuse_unneeded(old, new)
    tokenizers = file.load(old), file.load(new)
    found: list[Transplant] = []

    with output.progress() as progress:

        def write(folder: Path) -> list[str]:
            found.append(
                made(
                    *tokenizers, model, folder, method=method, tensors=tensor, token_map=_map(token),
                    pad_to_multiple=pad_to_multiple, seed=seed, replace=force, progress=progress,
                )
            )  # fmt: skip
            return found[-1].files

        files, _ = put((out, write), force=force)
    done = found[-1]
    value = {**done.as_dict(), "folder": str(out), "files": files}
    output.result(value, _text(done, out), str(out))
    for note in done.notes:
        output.note(f"note: {note}")


def _map(given: list[str] | None) -> dict[str, str]:
    """Returns old tokens by new ones; an equals sign within a token belongs to the new one."""
    tokens = {}
    for item in given or []:
        new, equals, old = item.rpartition("=")
        if not (new and equals and old):
            raise UsageError(f"--token {item}: expected NEW=OLD, as in '</s>=<|endoftext|>'")
        tokens[new] = old
    return tokens


def _text(done: "Transplant", out: Path) -> str:
    padding = f", {number(done.unused)} of them without a token" if done.unused else ""
    drawn = ", drawn at random" if done.filled and done.method == "random" else ""
    ids = f"{number(done.old_ids)} -> {number(done.new_ids)} ids"
    pairs = [
        ("vocabulary", f"{ids}, {counted(done.rows, 'row')}{padding}"),
        ("copied", counted(done.copied, "row")),
        ("composed", f"{counted(done.composed, 'row')}{_how(done)}"),
        ("filled", f"{counted(done.filled, 'row')}{drawn}{_some(done.filled_tokens)}"),
    ]
    if done.renamed:
        names = [
            f"{readable(new.encode())} from {readable(old.encode())}" for new, old in done.renamed.items()
        ]
        pairs.append(("special", ", ".join(names)))
    for place, tensor in enumerate(done.tensors):
        before, after = (" x ".join(map(str, shape)) for shape in (tensor.old_shape, tensor.new_shape))
        pairs.append(("" if place else "tensors", f"{tensor.name}, {tensor.dtype}: {before} -> {after}"))
    return lines([*pairs, ("written", str(out)), ("fingerprint", done.fingerprint)])


def _how(done: "Transplant") -> str:
    return f": {done.method}, of {done.pieces:.1f} old rows on average" if done.composed else ""


def _some(tokens: list[str]) -> str:
    if not tokens:
        return ""
    shown = [readable(token.encode("utf-8", "backslashreplace")) for token in tokens[:_SHOWN]]
    return f": {'  '.join([*shown, '...'] if len(tokens) > _SHOWN else shown)}"


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "transplant",
        rich_help_panel="Change",
        short_help="Give a model another tokenizer.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok transplant base merged.json base -o moved",
            "sentitok transplant base merged.json base -o moved --method nearest",
        ),
    )(grouped(transplant))
