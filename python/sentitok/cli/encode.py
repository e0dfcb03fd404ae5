"""`sentitok encode` and `sentitok decode`: text to ids, and back.

Files become token shards (`docs/reference/formats.md`), written by the extension; one
text, from `--text` or stdin, becomes ids on stdout.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..messages import shown
from .command import (
    DIGITS,
    AsJson,
    Command,
    Quiet,
    Traceback,
    UsageError,
    examples,
    grouped,
    refuse,
    shard,
    size,
)
from .encode_chats import ChatOptions, encode_chats
from .engine import EngineOptions
from .loading import load_plain
from .output import Output, bytes_text, lines, number
from .process import text_from_stdin, to_stdout
from .remote_files import in_store
from .special_tokens import END_TOKENS, note_read_as_text
from .texts import (
    Format,
    InvalidUtf8,
    MaxLineBytes,
    Threads,
    note_changed_sources,
    note_file_name,
    note_replaced,
    one_text_from_stdin,
)
from .train import SAMPLE_BYTES, Sources, beginning, sources

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.shards import Place

TokenizerFile = Annotated[
    Path,
    typer.Option(
        "--tokenizer", "-t", metavar="FILE", help="Tokenizer: a file or folder that sentitok reads."
    ),
]
Specials = Annotated[
    str,
    typer.Option(
        "--specials",
        metavar="WHAT",
        help="How to treat special tokens inside a text: none (as plain text), all (as tokens) or "
        "raise (an error).",
    ),
]

# Ids decoded at a time, so that memory does not follow the data set.
_DECODE_IDS = 1 << 16


def encode(
    src: Sources = None,
    tokenizer_file: TokenizerFile = Path("tokenizer.json"),
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Text to encode, instead of files.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder to write token shards to; required for files."
        ),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            metavar="NAME",
            help="Layout of the shards: sentitok, nanogpt, megatron or text.",
            rich_help_panel="Token shards",
        ),
    ] = "sentitok",
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="TOKEN",
            help="Token to add after each document. [default: none]",
            rich_help_panel="Token shards",
        ),
    ] = None,
    shard_text: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="i/n",
            help="Encode only part i of n of the text, from 0/n to n-1/n.",
            rich_help_panel="Parallel work",
        ),
    ] = None,
    shard_tokens: Annotated[
        int | None,
        typer.Option(
            "--shard-tokens",
            min=1,
            metavar="N",
            help="Maximum size of a shard file, in tokens; a longer document gets its own file. "
            "[default: 134,217,728]",
            rich_help_panel="Token shards",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Start again, and replace token shards that exist, finished or not.",
            rich_help_panel="Output",
        ),
    ] = False,
    specials: Specials = "none",
    add_special_tokens: Annotated[
        bool,
        typer.Option(
            "--add-special-tokens",
            help="Add the special tokens of the tokenizer's template around each text.",
        ),
    ] = False,
    format: Format = None,
    invalid_utf8: InvalidUtf8 = "error",
    max_line_bytes: MaxLineBytes = None,
    threads: Threads = None,
    *,
    chats: ChatOptions,
    engine: EngineOptions,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Encode files into token shards, or one text (--text or stdin) into ids."""
    import sentitok

    if chats.chat is not None:
        engine.check()
        check_specials(specials)
        encode_chats(
            src,
            out,
            chats,
            engine,
            Output("sentitok.encode/1", as_json=as_json, quiet=quiet),
            specials=specials,
            shard_tokens=shard_tokens,
            force=force,
            max_line_bytes=max_line_bytes,
            threads=threads,
        )
        return
    chats.refuse()
    if text is not None and src:
        raise UsageError("give --text or files, one of the two")
    if bool(src) != (out is not None):
        raise UsageError(
            "for files give both SRC and -o DIR, a folder; for one text give --text TEXT, or pipe it"
        )
    store = in_store(out)
    if out is not None and store is None and out.is_file():
        raise UsageError(f"-o {out}: it is a file, and token shards go to a directory; name another")
    check_specials(specials)
    part = shard(shard_text)
    engine.check()
    if engine.engine is not None:
        refuse("the workers of --engine take all shards; leave one of the two out", "shard_text")
    if layout == "nanogpt":
        refuse("the layout nanogpt has one file", "shard_tokens")
    tokenizer = load_plain(tokenizer_file)
    if separator is not None and tokenizer.token_to_id(separator) is None:
        raise UsageError(
            f"--separator {separator!r}: no token of {tokenizer_file}, which has {_specials_of(tokenizer)}; "
            f"give one of its tokens, or train a tokenizer with --special {separator!r}"
        )
    if add_special_tokens and not len(tokenizer.encode("", add_special_tokens=True)):
        raise UsageError(f"--add-special-tokens: {tokenizer_file} has no template of special tokens to add")
    output = Output("sentitok.encode/1", as_json=as_json, quiet=quiet)
    if src is not None and out is not None and src:
        was_there = not force and _is_complete(store or out)
        if was_there and store is None:
            note_changed_sources(output, src, out)
        if separator is None and not add_special_tokens:
            _note_missing_separator(output, tokenizer, tokenizer_file)
        with output.progress() as progress, engine.running() as running:
            manifest = sentitok.encode_files(
                sources(src),
                out,
                tokenizer,
                format=format,
                layout=layout,  # type: ignore[arg-type]  # 2026-11-23: the extension names the choices
                separator=separator,
                add_special_tokens=add_special_tokens,
                specials=specials,  # type: ignore[arg-type]  # 2026-11-23: the extension names the choices
                # 2026-11-23: the extension names the choices
                invalid_utf8=invalid_utf8,  # type: ignore[arg-type]
                shard=part,
                max_line_bytes=size(max_line_bytes, "--max-line-bytes"),
                shard_tokens=shard_tokens,
                resume=not force,
                threads=threads,
                progress=progress,
                **running,
            )
        if specials == "none" and not was_there:
            sample = beginning(src, format)
            note_read_as_text(output, tokenizer, sample, f"the first {SAMPLE_BYTES >> 20} MB of text")
        _report(manifest, was_there, out, tokenizer_file, output)
        return
    refuse(
        "it is for files, and one text is encoded; name files and -o DIR (- for stdin)",
        *("layout", "separator", "shard_text", "shard_tokens", "force", "format", "threads", "engine"),
    )
    if text is None:
        data = one_text_from_stdin(output, size(max_line_bytes, "--max-line-bytes"))
    else:
        refuse("it limits lines of files, and --text is given whole", "max_line_bytes")
        data = os.fsencode(text)
        note_file_name(output, text, "sentitok encode {} -o DIR")
    name = "stdin" if text is None else "--text"
    given = _checked(data, name, invalid_utf8, output)
    if specials == "none":
        note_read_as_text(output, tokenizer, [given], name)
    encoding = tokenizer.encode(
        given,
        specials=specials,  # type: ignore[arg-type]  # 2026-11-23: the extension names the choices
        add_special_tokens=add_special_tokens,
    )
    ids = encoding.ids.tolist()
    line = " ".join(map(str, ids))
    output.result({"ids": ids, "tokens": encoding.tokens}, line, line)


def _note_missing_separator(output: Output, tokenizer: "Tokenizer", tokenizer_file: Path) -> None:
    """Says that nothing marks the ends of documents though the tokenizer has a token for that."""
    if (end := next((name for name in END_TOKENS if tokenizer.token_to_id(name) is not None), None)) is None:
        return
    output.note(
        f"nothing is put between documents, though {tokenizer_file} has {end}; --separator '{end}' puts it "
        "after each"
    )


def _checked(data: bytes, name: str, invalid_utf8: str, output: Output) -> bytes | str:
    """Treats bytes of one text that are not UTF-8 as the reader of files does.

    Raises:
        UsageError: if there are such bytes and they are an error, or if `--invalid-utf8` is unknown.
    """
    if invalid_utf8 not in ("error", "replace", "bytes"):
        raise UsageError(f"--invalid-utf8 {invalid_utf8}: it is error, replace or bytes")
    if invalid_utf8 == "bytes":
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if invalid_utf8 == "error":
            line = data.count(b"\n", 0, error.start) + 1
            raise UsageError(
                f"{name}, line {line}: byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; "
                "add --invalid-utf8 replace to take it as U+FFFD, or bytes to keep it"
            ) from None
    replaced = data.decode("utf-8", "replace")
    note_replaced(output, [name], replaced.count("\ufffd") - data.count("\ufffd".encode()))
    return replaced


def check_specials(what: str) -> None:
    """Refuses what `--specials` cannot be.

    Raises:
        UsageError: if it is none of the three words.
    """
    if what not in ("none", "all", "raise"):
        raise UsageError(f"--specials {what}: it is none, all or raise")


def _specials_of(tokenizer: "Tokenizer") -> str:
    """Names the special tokens of a tokenizer, the first ten of many."""
    names = [token.content for token in tokenizer.added_tokens if token.special]
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return f"the special tokens {', '.join(names[:10])}{more}" if names else "no special token"


def _is_complete(out: "Place") -> bool:
    """Whether an earlier run wrote everything; what else is there, the extension checks."""
    from sentitok import FormatError
    from sentitok.shards import manifest_json

    try:
        manifest = manifest_json(out / "manifest.json")
    except (OSError, FormatError):
        return False
    return isinstance(manifest, dict) and manifest.get("complete") is True


def _report(
    manifest: dict[str, Any], was_there: bool, out: Path, tokenizer_file: Path, output: Output
) -> None:
    store = in_store(out)
    if store is not None:
        n_bytes = sum(store.files().values())
    else:
        n_bytes = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    pairs = [
        ("layout", f"{manifest['layout']}, {manifest['dtype']}"),
        ("documents", number(manifest["documents"])),
        ("tokens", number(manifest["tokens"])),
        ("tokenizer", manifest["tokenizer_sha256"]),
        ("found", f"{out} (was complete, left alone; --force encodes again)")
        if was_there
        else ("written", f"{out} ({bytes_text(n_bytes)})"),
        ("seconds", f"{output.seconds:.2f}"),
    ]
    # The other layouts have their own readers.
    if manifest["layout"] == "sentitok":
        pairs.append(("next", f"sentitok decode {out} --tokenizer {tokenizer_file} | head"))
    value = {
        "directory": str(out),
        "skipped": was_there,
        "manifest": manifest,
        "seconds": round(output.seconds, 3),
    }
    output.result(value, lines(pairs), str(out))


def decode(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids, or a folder of token shards. [default: ids from stdin]"),
    ] = None,
    tokenizer_file: TokenizerFile = Path("tokenizer.json"),
    skip_special_tokens: Annotated[
        bool, typer.Option("--skip-special-tokens", help="Leave special tokens out of the text.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Decode ids, or a folder of token shards, into text."""
    tokenizer = load_plain(tokenizer_file)
    given = ids or text_from_stdin().decode("utf-8", "backslashreplace").split()
    if len(given) == 1 and ("://" in given[0] or _is_folder(given[0])):
        parts = _shards(given[0], tokenizer, skip_special_tokens)
    else:
        parts = iter([tokenizer.decode_bytes(_numbers(given), skip_special_tokens=skip_special_tokens)])
    if as_json:
        text = b"".join(parts).decode("utf-8", "replace")
        Output("sentitok.decode/1", as_json=True, quiet=False).result({"text": text}, text, text)
        return
    # The text is bytes: a token may end inside a character.
    last = b""
    for part in parts:
        with to_stdout():
            sys.stdout.buffer.write(part)
        last = part or last
    with to_stdout():
        if sys.stdout.isatty() and not last.endswith(b"\n"):
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # longer than a name can be
        return False


def _numbers(given: list[str]) -> list[int]:
    for item in given:
        if not item.isdecimal() or len(item) > DIGITS:
            raise UsageError(f"{shown(item)} is not an id; ids are whole numbers, a directory must exist")
    return [int(item) for item in given]


def _shards(directory: str, tokenizer: "Tokenizer", skip: bool) -> Iterator[bytes]:
    """Yields the text of a directory of token shards, document by document."""
    from sentitok.datasets import TokenDataset

    data = TokenDataset(directory)
    if data.tokenizer_sha256 != tokenizer.fingerprint:
        raise UsageError(f"{directory} was encoded by another tokenizer, {data.tokenizer_sha256}")
    # Changed ends would give wrong documents without a word.
    data.verify()
    for row in range(len(data)):
        row_ids = data[row]
        # Bytes of tokens are concatenated, so a document may be cut anywhere.
        for start in range(0, len(row_ids), _DECODE_IDS):
            yield tokenizer.decode_bytes(row_ids[start : start + _DECODE_IDS], skip_special_tokens=skip)


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "encode",
        rich_help_panel="Encode and decode",
        short_help="Encode files into token shards, or one text into ids.",
        cls=Command,
        epilog=examples(
            'sentitok encode --text "A gripping film." -t tokenizer.json',
            "sentitok encode corpus.txt -o tokens -t tokenizer.json",
            "sentitok encode chats.jsonl --chat model --mask --pack 4096 -o chats",
        ),
    )(grouped(encode))
    app.command(
        "decode",
        rich_help_panel="Encode and decode",
        cls=Command,
        epilog=examples(
            "sentitok decode 32 72 73 -t tokenizer.json",
            "sentitok decode tokens -t tokenizer.json",
            'sentitok encode --text "A film." | sentitok decode',
        ),
    )(decode)
