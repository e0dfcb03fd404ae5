"""`sentitok convert`: a tokenizer in another format, and whether it still gives the same ids."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, examples, grouped
from .compare import compared, found_lines
from .existing import Force, put
from .loading import FileOptions, load, refuse_unneeded
from .output import Output, counted, lines
from .texts import TextOptions, note_replaced
from .train import how_cut

if TYPE_CHECKING:
    from sentitok import Tokenizer


def convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="Tokenizer to read.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="Tokenizer to write; the file name gives the format.")
    ],
    verify: Annotated[
        list[str] | None,
        typer.Option(
            "--verify", metavar="FILE", help="Compare the ids of both tokenizers on this text; repeatable."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Format to write. [default: by file name]"),
    ] = None,
    *,
    file: FileOptions,
    force: Force = False,
    reading: TextOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Convert a tokenizer to another format; --verify compares the ids of both on text."""
    import sentitok
    from sentitok._sentitok import file_kind
    from sentitok.differences import differences

    output = Output("sentitok.convert/1", as_json=as_json, quiet=quiet)
    specials = file.specials()
    reading.check(verify or [])
    refuse_unneeded(source)
    if not verify:
        reading.refuse("it is for the text of --verify, which is not given")
    tokenizer = file.load(source)
    if not specials and file_kind(source) == "tiktoken":
        output.note(
            f"{source} is a file of ranks, which holds no special tokens, so {target} lacks them too; "
            f"add each by its id, as in --special '<|endoftext|>={tokenizer.vocab_size}'"
        )
    try:
        written, _ = put((target, lambda path: tokenizer.save(path, to)), force=force)
    except sentitok.FormatError as error:
        raise AnswerIsNoError(f"{source} cannot become {target}: {error}") from error
    # Ranks that become merges have another fingerprint; a file of only ranks has no fingerprint.
    ranks_alone = target.suffix == ".tiktoken" or to == "tiktoken"
    fingerprint = (
        tokenizer if ranks_alone else load(target, None, {}, cased=_is_cased(tokenizer))
    ).fingerprint
    value: dict[str, Any] = {"written": written, "fingerprint": fingerprint}
    pairs = [("written", ", ".join(written)), ("fingerprint", fingerprint)]
    if verify:
        added = {token.content: token.id for token in tokenizer.added_tokens}
        back = load(target, file.pattern or how_cut(tokenizer), specials or added, cased=_is_cased(tokenizer))
        comparison = differences(tokenizer, back, verify, **reading.reading(), threads=reading.threads)
        note_replaced(output, verify, comparison.replaced)
        about = comparison.as_dict()
        value |= {name: about[name] for name in ("documents", "differing", "first", "replaced")}
        pairs.append(("verified", compared(comparison)))
        pairs += found_lines(comparison)
    else:
        given = [f"--pattern {shlex.quote(file.pattern)}"] if file.pattern else []
        given += [f"--special {shlex.quote(item)}" for item in file.special or []]
        given += [f"--to {to}"] if to else []
        again = " ".join(["sentitok convert", str(source), str(target), *given, "--verify corpus.txt"])
        pairs.append(("next", again))
    output.result(value, lines(pairs), str(target))
    if value.get("differing"):
        get = "gets" if value["differing"] == 1 else "get"
        raise AnswerIsNoError(
            f"{counted(value['differing'], 'document')} {get} different ids than from {source}"
        )


def _is_cased(tokenizer: "Tokenizer") -> bool:
    normalizer = tokenizer.normalizer
    return normalizer is not None and (normalizer.name or "").endswith("-cased")


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "convert",
        rich_help_panel="Change",
        short_help="Convert a tokenizer to another format.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok convert tokenizer.json new.tiktoken --verify corpus.txt",
            "sentitok convert ranks.tiktoken copy.json --pattern gpt2",
        ),
    )(grouped(convert))
