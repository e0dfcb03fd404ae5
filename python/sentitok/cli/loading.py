"""Tokenizers that a command names by their files, and the options for what some files do not hold.

Not for commands that take `--tokenizer FILE` alone (`encode.py`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import UsageError

if TYPE_CHECKING:
    from sentitok import Tokenizer

Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="NAME", help="Pre-tokenizer of a .tiktoken file: cl100k, o200k, ..."),
]
SpecialTokens = Annotated[
    list[str] | None,
    typer.Option("--special", metavar="TOKEN=ID", help="Special token of a .tiktoken file; repeatable."),
]
Cased = Annotated[bool, typer.Option("--cased", help="Keep the case of letters when reading vocab.txt.")]


def special_ids(given: list[str] | None) -> dict[str, int]:
    """Returns the ids of special tokens that were given as TOKEN=ID.

    Raises:
        UsageError: if one has another form.
    """
    found = {}
    for item in given or []:
        token, _, id = item.rpartition("=")
        if not (token and id.isdecimal()):
            raise UsageError(f"--special {item}: expected TOKEN=ID, as in <|endoftext|>=100257")
        found[token] = int(id)
    return found


def load(path: Path, pattern: str | None, specials: dict[str, int], *, cased: bool = False) -> "Tokenizer":
    """Loads a tokenizer; `.tiktoken` and `vocab.txt` need what they do not hold.

    Raises:
        UsageError: if the file holds no pattern and none was given.
    """
    from sentitok import Tokenizer

    if path.suffix == ".txt":
        return Tokenizer.from_bert_vocab(path, lowercase=not cased)
    if path.suffix != ".tiktoken":
        return Tokenizer.from_file(path)
    if pattern is None:
        raise UsageError(f"{path} does not say how text is cut; add --pattern r50k, cl100k or o200k")
    return Tokenizer.from_tiktoken(path, pattern, specials)
