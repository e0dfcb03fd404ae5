"""`sentitok show` and `sentitok info`: look at tokens and at files.

`show` never prints a character that could steer the terminal, nor U+FFFD:
white space becomes a sign, an unprintable character or a part of a character
becomes its code.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..spelling import readable, spelled_tokens, token_bytes
from .command import AsJson, Command, Quiet, Traceback, examples
from .encode import Specials, TokenizerFile, check_specials
from .loading import load_plain
from .output import Output, bytes_text, colour, counted, lines, number
from .special_tokens import note_read_as_text
from .texts import note_file_name, one_text_from_stdin
from .train import COUNTS_MAGIC, counts_header

# Backgrounds of the 256-colour palette, light enough for black text; each
# differs from its neighbours in hue, not only in lightness.
_BACKGROUNDS = (153, 223, 157, 217, 189, 229)


# Files named for people; --json names all.
_NAMED = 4


def paint(spelled: list[str], *, in_colour: bool) -> str:
    """Writes tokens in a row, separated by background or by a bar."""
    if not in_colour:
        return "│".join(spelled)
    painted = []
    for number_, token in enumerate(spelled):
        background = _BACKGROUNDS[number_ % len(_BACKGROUNDS)]
        painted.append(f"\x1b[38;5;16;48;5;{background}m{token}\x1b[0m")
    return "".join(painted)


def show(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Text to show; - is stdin. [default: stdin]")
    ] = None,
    tokenizer_file: TokenizerFile = Path("tokenizer.json"),
    specials: Specials = "none",
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the tokens of a text, with their ids below."""
    check_specials(specials)
    tokenizer = load_plain(tokenizer_file)
    output = Output("sentitok.show/1", as_json=as_json, quiet=quiet)
    text = None if text == "-" else text
    given: str | bytes = one_text_from_stdin(output) if text is None else text
    if text is not None:
        note_file_name(output, text, "sentitok show < {}")
    # 2026-11-23: checked by the extension
    encoding = tokenizer.encode(given, specials=specials)  # type: ignore[arg-type]
    if specials == "none":
        note_read_as_text(output, tokenizer, [given], "stdin" if text is None else "the text")
    ids = encoding.ids.tolist()
    if as_json:
        output.result({"tokens": spelled_tokens(tokenizer, encoding)}, "", "")
        return
    raw = token_bytes(tokenizer, ids)
    n_bytes = len(given if isinstance(given, bytes) else given.encode("utf-8", "replace"))
    output.result({}, _page(raw, ids, n_bytes, in_colour=colour(sys.stdout)), " ".join(map(str, ids)))


def _page(raw: list[bytes], ids: list[int], n_bytes: int, *, in_colour: bool) -> str:
    """Lays out line after line: tokens, and below them their ids."""
    page = []
    start = 0
    for end in range(1, len(ids) + 1):
        # A line of the text ends the line here too.
        if end < len(ids) and b"\n" not in raw[end - 1]:
            continue
        page.append(paint([readable(token) for token in raw[start:end]], in_colour=in_colour))
        page.append(_ids(ids[start:end], in_colour))
        start = end
    rate = f", {n_bytes / len(ids):.2f} bytes per token" if ids else ""
    return "\n".join([*page, f"{counted(len(ids), 'token')}{rate}"])


def _ids(ids: list[int], in_colour: bool) -> str:
    return paint([f" {id} " if in_colour else str(id) for id in ids], in_colour=in_colour)


def info(
    name: Annotated[
        str, typer.Argument(metavar="FILE", help="Tokenizer, counts file or folder of token shards.")
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Describe a tokenizer, a counts file or a folder of token shards."""
    output = Output("sentitok.info/1", as_json=as_json, quiet=quiet)
    from sentitok import remote

    name = remote.local_name(name)
    value, shown = _info(name), remote.shown(name)
    pairs = [("file", shown), *_flat(value)]
    output.result({"file": shown, **value}, lines(pairs), str(value.get("fingerprint", value["kind"])))


def _info(name: str) -> dict[str, Any]:
    from sentitok import remote
    from sentitok.remote_shards import RemotePath
    from sentitok.shards import is_dataset, manifest_json

    if remote.is_url(name):
        # Of token shards in a store the manifest alone is read.
        manifest = RemotePath(name) / "manifest.json"
        if remote.exists(manifest.url):
            return {"kind": "token shards", **manifest_json(manifest)}
        name = str(remote.staged(name))
    file = Path(name)
    if file.is_file():
        with file.open("rb") as opened:
            head = opened.read(len(COUNTS_MAGIC))
        if head == COUNTS_MAGIC:
            return {"kind": "counts", "bytes": file.stat().st_size, **counts_header(file)}
    if is_dataset(file):
        return {"kind": "token shards", **manifest_json(file / "manifest.json")}
    import sentitok

    tokenizer = sentitok.Tokenizer.from_file(file)
    value = {"kind": "tokenizer", **tokenizer.info()}
    value.setdefault("vocab_size", tokenizer.vocab_size)
    value.setdefault("is_lossless", tokenizer.is_lossless)
    value.setdefault("fingerprint", tokenizer.fingerprint)
    return value


def _flat(value: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Names and values of nested objects, one line each."""
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        name = (f"{above}.{key}" if above else key).replace("_", " ")
        if isinstance(item, list) and item and all(isinstance(one, dict) for one in item):
            names = [str(one.get("name") or one.get("file")) for one in item]
            more = f" and {number(len(names) - _NAMED)} more" if len(names) > _NAMED else ""
            pairs.append((name, readable(", ".join(names[:_NAMED]).encode()).replace("⋅", " ") + more))
        elif isinstance(item, dict):
            pairs += _flat(item, name)
        elif isinstance(item, bool) or item is None:
            pairs.append((name, {True: "yes", False: "no", None: "-"}[item]))
        elif isinstance(item, int):
            pairs.append((name, bytes_text(item) if key == "bytes" else number(item)))
        else:
            # A pattern or a token may hold anything: it is spelled, not printed raw.
            pairs.append((name, readable(str(item).encode()).replace("⋅", " ")))
    return pairs


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command(
        "show",
        rich_help_panel="Inspect and compare",
        cls=Command,
        epilog=examples(
            'sentitok show "A gripping film, 9/10 👍🏽" -t tokenizer.json',
            'sentitok show "naïve" -t tokenizer.json --json',
        ),
    )(show)
    app.command(
        "info",
        rich_help_panel="Inspect and compare",
        short_help="Describe a tokenizer, counts or token shards.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok info tokenizer.json", "sentitok info all.counts --json", "sentitok info tokens"
        ),
    )(info)
