"""Messages name what can be typed: arguments in Python, options in the commands."""

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("torch", reason="the list has the help of senti too")

import messages
from sentitok.cli import command

# A command with its options, which is typed as it stands.
COMMAND = re.compile(r"\b(?:sentitok|senti|dask|jq|ray)(?: [a-z…-]+)+[^;,]*")


def of_sentitok() -> Iterator[tuple[str, set[str], str]]:
    """Yields where each message is, the folders of its file, and the text."""
    for path, line, text in messages.messages():
        file = path.relative_to(messages.ROOT)
        if "sentimodels" not in file.parts:
            yield f"{file}:{line}: {text}", set(file.parts), text


def test_the_library_names_no_options() -> None:
    # sentencepiece's own trainer takes its options as text.
    others = {"cli", "web", "sentencepiece"}
    library = [(place, text) for place, parts, text in of_sentitok() if not parts & others]
    assert len(library) > 1000
    assert [place for place, text in library if re.search(r"(?<![\w-])--[a-z]", COMMAND.sub("", text))] == []


def test_commands_name_no_arguments() -> None:
    own = [(place, text) for place, parts, text in of_sentitok() if "cli" in parts]
    assert len(own) > 100
    assert [place for place, text in own if re.search(r"\b\w+=(True|False|None)\b", text)] == []


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("start over with resume=False", "start over with --force"),
        ("pass invalid_utf8='replace' or 'bytes' to go on", "pass --invalid-utf8 replace or bytes to go on"),
        ('as in format="jsonl:text"; or not', "as in --format jsonl:text; or not"),
        ("raise max_line_bytes=, or cut it", "raise --max-line-bytes, or cut it"),
        ("vocab_size=5: more than 9", "--vocab 5: more than 9"),
        ("encode with layout='sentitok'", "encode with --layout sentitok"),
        ("the same pack=N", "the same --pack N"),
        ("name them: tensors=['a.weight']", "name them: --tensor a.weight"),
        ("name each in tensors=[...]: a, b", "name each in --tensor: a, b"),
        ('call pad(format="x", invalid_utf8="y")', 'call pad(format="x", invalid_utf8="y")'),
        ("split_digits=False; other=True", "split_digits=False; other=True"),
        ("whole=False, add_it=True", "--no-whole, --add-it"),
        ("lang=en/format=a.txt: no such file", "lang=en/format=a.txt: no such file"),
    ],
)
def test_arguments_as_options(message: str, typed: str) -> None:
    names = ("invalid_utf8", "format", "max_line_bytes", "split_digits", "add_it")
    options = {name: (f"--{name.replace('_', '-')}", "") for name in names}
    options |= {"vocab_size": ("--vocab", ""), "whole": ("--whole", "--no-whole")}
    token = command._options.set(options)
    try:
        assert command.as_typed(message) == typed
    finally:
        command._options.reset(token)
