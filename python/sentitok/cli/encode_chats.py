"""`sentitok encode --chat`: chats to token shards, with masks of what the assistant wrote and packed rows."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from .command import UsageError, refuse, size
from .engine import EngineOptions
from .loading import load_plain
from .output import Output, bytes_text, lines, number
from .texts import check_stdin, note_changed_sources

__all__ = ["ChatOptions", "encode_chats"]

# The largest template that is read from a file.
_TEMPLATE_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How chats are encoded; each field is an option (`grouped`)."""

    chat: Annotated[
        Path | None,
        typer.Option(
            "--chat",
            metavar="DIR",
            help="Encode chats, JSON Lines with messages or conversations, by this folder's "
            "tokenizer and chat template.",
            rich_help_panel="Chats",
        ),
    ] = None
    chat_template: Annotated[
        str | None,
        typer.Option(
            "--chat-template",
            metavar="FILE",
            help="With --chat, another template: a file, or the name of one of the folder's.",
            rich_help_panel="Chats",
        ),
    ] = None
    mask: Annotated[
        bool,
        typer.Option(
            "--mask", help="With --chat, also write which ids the assistant wrote.", rich_help_panel="Chats"
        ),
    ] = False
    pack: Annotated[
        int | None,
        typer.Option(
            "--pack",
            min=1,
            metavar="N",
            help="With --chat, pack whole chats into rows of at most N ids, by best fit.",
            rich_help_panel="Chats",
        ),
    ] = None
    pack_cut: Annotated[
        bool,
        typer.Option(
            "--pack-cut",
            help="With --pack, cut chats where a row ends, so that rows are full.",
            rich_help_panel="Chats",
        ),
    ] = False
    truncate: Annotated[
        str,
        typer.Option(
            "--truncate",
            metavar="RULE",
            help="With --pack, what to do with a chat longer than a row: error, drop (leave it out), left "
            "(keep its end) or right (keep its beginning).",
            rich_help_panel="Chats",
        ),
    ] = "error"
    pad: Annotated[
        str | None,
        typer.Option(
            "--pad",
            metavar="TOKEN",
            help="With --pack, token that readers fill rows with. [default: the folder's for padding, else "
            "for the end of a text]",
            rich_help_panel="Chats",
        ),
    ] = None

    def refuse(self) -> None:
        """Refuses these options where no chats are encoded.

        Raises:
            UsageError: if one was typed.
        """
        refuse("it is for chats; add --chat DIR", *(field.name for field in fields(self)))

    def check(self) -> None:
        """Refuses options that do not act together.

        Raises:
            UsageError: naming one.
        """
        refuse(
            "chats are encoded by the tokenizer and the template of --chat, into shards of the layout "
            "sentitok; leave it out",
            *(
                "text",
                "tokenizer_file",
                "layout",
                "separator",
                "add_special_tokens",
                "format",
                "invalid_utf8",
            ),
            *("shard_text", "address", "on_error", "shard_bytes"),
        )
        if self.pack is None:
            refuse("it is about rows; add --pack N", "pack_cut", "truncate", "pad")
        if self.pack_cut:
            refuse("--pack-cut cuts every chat at the end of a row; leave one of the two out", "truncate")

    def template(self) -> str | None:
        """Returns the text of the template that is to be used, or its name.

        Raises:
            OSError: if the file cannot be read.
            UsageError: if it is too large, or no text.
        """
        if self.chat_template is None or not Path(self.chat_template).is_file():
            return self.chat_template
        with open(self.chat_template, "rb") as file:
            data = file.read(_TEMPLATE_BYTES + 1)
        if len(data) > _TEMPLATE_BYTES:
            raise UsageError(f"--chat-template {self.chat_template}: larger than {_TEMPLATE_BYTES >> 20} MB")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"--chat-template {self.chat_template}: no text in UTF-8: {error}") from None


def encode_chats(
    src: list[str] | None,
    out: Path | None,
    options: ChatOptions,
    engine: EngineOptions,
    output: Output,
    *,
    specials: str,
    shard_tokens: int | None,
    force: bool,
    max_line_bytes: str | None,
    threads: int | None,
) -> None:
    """Encodes files of chats, and says what became of them.

    Raises:
        UsageError: for options that do not act together, or a folder without a template.
    """
    import os

    import sentitok
    from sentitok.chat.dataset import SHARD_TOKENS

    options.check()
    if not src or out is None or options.chat is None:
        raise UsageError("chats go from files to a directory: give both SRC and -o DIR; - is stdin")
    if specials == "raise":
        raise UsageError(
            "--specials raise: for chats it is none (special tokens in messages are text) or all"
        )
    if engine.engine not in (None, "processes"):
        raise UsageError(
            f"--engine {engine.engine}: chats are encoded on one machine; leave it out, or processes"
        )
    check_stdin(src)
    tokenizer = load_plain(options.chat)
    template, templates = options.template(), tokenizer.settings.chat_templates
    if template is None and not templates:
        raise UsageError(
            f"{options.chat} has no chat template; name a folder with chat_template.jinja or one in its "
            "tokenizer_config.json, or add --chat-template FILE"
        )
    if template is not None and template == options.chat_template and template not in templates:
        known = (
            f"and none of the folder's ({', '.join(sorted(templates))})"
            if templates
            else "and the folder has no templates"
        )
        raise UsageError(f"--chat-template {template}: no such file, {known}")
    was_there = not force and (out / "manifest.json").is_file()
    if was_there:
        note_changed_sources(output, src, out)
    with output.progress() as progress:
        manifest = sentitok.encode_chats(
            src,
            out,
            tokenizer,
            chat_template=template,
            mask="assistant" if options.mask else None,
            pack=options.pack,
            cut=options.pack_cut,
            truncate=options.truncate,
            pad=options.pad,
            specials=specials,
            shard_tokens=SHARD_TOKENS if shard_tokens is None else shard_tokens,
            max_line_bytes=size(max_line_bytes, "--max-line-bytes"),
            resume=not force,
            threads=threads,
            processes=1 if engine.engine is None else engine.workers or os.cpu_count() or 1,
            progress=progress,
        )
    _report(manifest, out, output, was_there=was_there)


def _report(manifest: dict[str, Any], out: Path, output: Output, *, was_there: bool) -> None:
    from sentitok.chat.records import KINDS

    chats, pack, tokens = manifest["chats"], manifest["pack"], manifest["tokens"]
    n_bytes = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    kinds = [f"{number(n)} with {KINDS.get(kind, kind)}" for kind, n in chats["kinds"].items()]
    pairs = [
        (
            "chats",
            ", ".join(
                [number(chats["read"]), *(kinds if len(kinds) > 1 else [])] if len(kinds) != 1 else kinds
            ),
        ),
        ("tokens", number(tokens)),
    ]
    if chats["mask"]:
        share = chats["assistant_tokens"] / tokens if tokens else 0.0
        pairs.append(("assistant", f"{number(chats['assistant_tokens'])} tokens ({share:.1%})"))
    if pack:
        n_rows = sum(shard["rows"] for shard in manifest["shards"])
        full = tokens / (n_rows * pack["length"]) if n_rows else 0.0
        pairs.append(("rows", f"{number(n_rows)} of {number(pack['length'])} ids, {full:.1%} filled"))
    for name in ("truncated", "dropped"):
        if chats[name]:
            pairs.append((name, f"{number(chats[name])} chats longer than a row"))
    pairs += [
        ("tokenizer", manifest["tokenizer_sha256"]),
        ("found", f"{out} (was complete, left alone; --force encodes again)")
        if was_there
        else ("written", f"{out} ({bytes_text(n_bytes)})"),
        ("seconds", f"{output.seconds:.2f}"),
    ]
    value = {
        "directory": str(out),
        "skipped": was_there,
        "manifest": manifest,
        "seconds": round(output.seconds, 3),
    }
    output.result(value, lines(pairs), str(out))
