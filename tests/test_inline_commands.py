"""Commands in a sentence of a page: the command is there, and so are its options.

Blocks are run (`test_snippets.py`). A sentence has capitals instead of
files, so its commands are looked up and not run.
"""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from pages import DOCUMENTS

# Pages that name commands of earlier versions.
LEFT_OUT = {"CHANGELOG.md", "negative-results.md"}
PAGES = [path for path in DOCUMENTS if path.name not in LEFT_OUT]
# Options of other programs that pages name, such as the benches.
FOREIGN = {"--jobs", "--list", "--pages"}
HAS_SENTI = find_spec("torch") is not None


def options_of(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, set[str]]]:
    """Yields each command, by all words of its name, with its options."""
    context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True)
    params = command.get_params(context)
    yield path, {name for param in params for name in (*param.opts, *param.secondary_opts)}
    for name, below in getattr(command, "commands", {}).items():
        yield from options_of(below, f"{path} {name}", context)


@cache
def commands() -> dict[str, set[str]]:
    """Returns the options of each command."""
    from sentitok.cli.app import app

    found = dict(options_of(typer.main.get_command(app), "sentitok"))
    if HAS_SENTI:
        from sentimodels.cli.app import build

        found |= dict(options_of(typer.main.get_command(build()), "senti"))
    return found


def spans(text: str) -> list[str]:
    """Returns the text between backquotes in the sentences of a page, on one line each."""
    sentences = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", sentences)]


def calls(page: Path) -> Iterator[str]:
    """Yields each command that a sentence of a page names."""
    for span in spans(page.read_text("utf-8")):
        call = re.sub(r"^torchrun .*-m sentimodels ", "senti ", span)
        if call.startswith(("senti ", "sentitok ")) and (HAS_SENTI or not call.startswith("senti ")):
            yield call


def missing(call: str) -> str:
    """Returns what of a call there is not: the command, or an option of it; nothing if all is there."""
    words = shlex.split(re.split(r" [<>|] ", call)[0])
    name = words.pop(0)
    while words and f"{name} {words[0]}" in commands():
        name += f" {words.pop(0)}"
    has_more = any(other.startswith(f"{name} ") for other in commands())
    if has_more and words and not words[0].startswith("-"):
        return f"{name} {words[0]}"
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    return " ".join(sorted(given - commands()[name]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_sentence_names_is_there(page: Path) -> None:
    gone = {call: missing(call) for call in calls(page) if missing(call)}
    assert not gone
    known = set().union(*commands().values())
    options = [re.split(r"[ =]", span)[0] for span in spans(page.read_text("utf-8")) if span.startswith("--")]
    if HAS_SENTI:
        assert set(options) <= known | FOREIGN


def test_what_is_not_there_is_missed() -> None:
    assert missing("sentitok train-nothing x") == "sentitok train-nothing"
    assert missing("sentitok train-bpe x --vocab 9 --no-such-option=2 -z") == "--no-such-option -z"
    assert missing("sentitok train-bpe x --vocab 9 -o y > z") == ""


def test_sentences_name_commands() -> None:
    assert sum(1 for page in PAGES for _ in calls(page)) > (100 if HAS_SENTI else 10)
