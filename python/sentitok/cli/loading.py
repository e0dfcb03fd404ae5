"""Tokenizers that a command names by their files, and the options for what some files do not hold.

What a file is follows from how it begins.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .command import UsageError, refuse

if TYPE_CHECKING:
    from sentitok import Tokenizer

Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="NAME",
        help="Pre-tokenizer of a .tiktoken file, which needs one: cl100k, o200k, ...",
        rich_help_panel="Tokenizer file",
    ),
]
SpecialTokens = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="TOKEN=ID",
        help="Special token of a .tiktoken file; repeatable.",
        rich_help_panel="Tokenizer file",
    ),
]
Cased = Annotated[
    bool,
    typer.Option(
        "--cased", help="Keep the case of letters when reading vocab.txt.", rich_help_panel="Tokenizer file"
    ),
]


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Settings that a `.tiktoken` or `vocab.txt` file lacks; each field is an option (`grouped`)."""

    pattern: Pattern = None
    special: SpecialTokens = None
    cased: Cased = False

    def specials(self) -> dict[str, int]:
        """Returns the ids of the special tokens.

        Raises:
            UsageError: as `special_ids`.
        """
        return special_ids(self.special)

    def load(self, path: Path) -> "Tokenizer":
        """Loads a tokenizer.

        Raises:
            FormatError, UsageError: as `load`.
        """
        return load(path, self.pattern, self.specials(), cased=self.cased)


# Kinds of files expected instead of one that is not a tokenizer.
_WANTED = (
    "give a tokenizer.json, tekken.json, a SentencePiece .model, a .tiktoken or vocab.txt file, a folder of "
    "a model or sentitok's own file here, and texts where texts are meant"
)


def special_ids(given: list[str] | None) -> dict[str, int]:
    """Returns the ids of special tokens that were given as TOKEN=ID.

    Raises:
        UsageError: if one has another form.
    """
    ids = {}
    for item in given or []:
        if re.search(r"=\d+,", item):
            raise UsageError(f"--special {item}: it is one token and its id; repeat --special for each")
        token, _, id = item.rpartition("=")
        if not (token and id.isdecimal()):
            raise UsageError(f"--special {item}: expected TOKEN=ID, as in <|endoftext|>=100257")
        ids[token] = int(id)
    return ids


def refuse_unneeded(*paths: Path) -> None:
    """Refuses options for files of ranks or words where no tokenizer is such a file.

    Raises:
        UsageError: if `--pattern`, `--special` or `--cased` was typed, and no file needs it.
    """
    from sentitok._sentitok import file_kind

    kinds = {file_kind(path) for path in paths}
    names = ", ".join(map(str, paths))
    if "tiktoken" not in kinds:
        refuse(f"it is for a .tiktoken file, and {names} is none", "pattern", "special")
    if "vocab.txt" not in kinds:
        refuse(f"it is for a vocab.txt file, and {names} is none", "cased")


def load(path: Path, pattern: str | None, specials: dict[str, int], *, cased: bool = False) -> "Tokenizer":
    """Loads a tokenizer; files of ranks and `vocab.txt` need what they do not hold.

    What a file is follows from how it begins, not from its name.

    Raises:
        UsageError: if the file holds no pattern and none was given, or is not a tokenizer.
    """
    from sentitok import Tokenizer
    from sentitok._sentitok import file_kind

    kind = file_kind(path)
    if kind == "tiktoken":
        if pattern is None:
            raise UsageError(
                f"{path} is a .tiktoken file, which does not say how text is cut; add --pattern r50k, cl100k "
                "or o200k"
            )
        return Tokenizer.from_tiktoken(path, pattern, specials)
    if kind == "vocab.txt":
        return Tokenizer.from_bert_vocab(path, lowercase=not cased)
    return load_plain(path)


def load_plain(path: Path) -> "Tokenizer":
    """Loads a folder, or a file that says all of a tokenizer, for commands without the options above.

    Raises:
        FormatError: if it needs more, or is damaged.
        UsageError: if it is not a tokenizer.
    """
    from sentitok import FormatError, Tokenizer
    from sentitok._sentitok import file_kind

    kind = file_kind(path)
    if kind == "unknown":
        raise UsageError(f"{path} is not a tokenizer; {_WANTED}")
    try:
        return Tokenizer.from_file(path)
    except FormatError as error:
        # JSON of any kind begins as a tokenizer may.
        if kind in ("tokenizer.json", "tekken.json") and path.suffix != ".json":
            raise UsageError(f"{path} is not a tokenizer ({error}); {_WANTED}") from error
        raise
