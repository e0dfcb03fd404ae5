"""Files by language: `LANGUAGE=FILE`, and the tables of languages."""

import re
from pathlib import Path
from typing import Any

from .command import UsageError
from .output import number

# A name and what follows it; text before = in a path or URL is not a name.
_NAMED = re.compile(r"([^/\\=]+)=(.+)", re.DOTALL)

#: How many languages a summary names.
SHOWN = 24


def named(text: str) -> tuple[str, str]:
    """Reads LANGUAGE=FILE, or FILE, whose name up to the first full stop is the language."""
    if found := _NAMED.fullmatch(text):
        return found[1], found[2]
    return Path(text).name.split(".")[0] or text, text


def by_language(texts: list[str]) -> dict[str, list[str]]:
    """Returns the files of each language, in the order of languages.

    Raises:
        UsageError: if stdin is named, which has no end between languages.
    """
    files: dict[str, list[str]] = {}
    for text in texts:
        language, file = named(text)
        if file == "-":
            raise UsageError(f"{text}: stdin cannot be the text of a language; name a file")
        files.setdefault(language, []).append(file)
    return files


def language_lines(languages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Says how training changed each language; of many, only those with the most tokens."""
    most = sorted(languages, key=lambda one: -int(one["tokens"]))[:SHOWN]
    lines = []
    for one in languages if len(languages) <= SHOWN else most:
        before, after = number(one["initial_tokens"]), number(one["tokens"])
        lines.append((one["language"], f"{number(one['merges'])} merges, {before} -> {after} tokens"))
    if len(languages) > SHOWN:
        rest = number(len(languages) - SHOWN)
        lines.append(("languages", f"{rest} more have fewer tokens; --json names all"))
    return lines
