"""The generated reference knows every public name and every command."""

import importlib

import pytest
import typer

pytest.importorskip("torch", reason="senti is described as well")

import reference


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


@pytest.mark.parametrize("module", reference.MODULES)
def test_every_public_name_has_a_heading(module: str, pages: dict[str, str]) -> None:
    page = pages[f"reference/python/{module}.md"]
    for name in importlib.import_module(module).__all__:
        found = getattr(importlib.import_module(module), name)
        if callable(found) and not name.startswith("_"):
            assert f"\n## `{name}`\n" in page, name
            assert f"{module}.md#{name.lower()})" in pages["reference/python.md"], name


def test_every_command_has_its_help(pages: dict[str, str]) -> None:
    from sentimodels.cli.app import build
    from sentitok.cli.app import app

    for program, application in (("sentitok", app), ("senti", build())):
        page = pages[f"reference/commands/{program}.md"]
        commands = getattr(typer.main.get_command(application), "commands", {})
        assert len(commands) > 10
        for name in commands:
            assert f"\n## {program} {name}\n\n```text\nUsage: {program} {name}" in page, name
            assert f"{program}.md#{program}-{name})" in pages["reference/commands.md"]


def test_every_public_name_is_described(pages: dict[str, str]) -> None:
    """A heading without a sentence below it is a name without a docstring."""
    bare = []
    for path, page in pages.items():
        if not path.startswith("reference/python/"):
            continue
        for part in page.replace("```python", "```").split("\n#")[1:]:
            heading, _, rest = part.partition("\n")
            text = "".join(rest.split("```")[::2]).strip()  # what is outside blocks
            is_constructor = heading.count("#") == 2 and "." not in heading
            if not text and not is_constructor:
                bare.append(heading)
    assert bare == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("(x: 'Run', y: str = 'cpu') -> 'Self'", "(x: Run, y: str = 'cpu') -> Self"),
        ("(p: pathlib._local.Path) -> collections.abc.Iterator[str]", "(p: Path) -> Iterator[str]"),
        ("() -> numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.int64]]", "() -> NDArray[int64]"),
    ],
)
def test_types_go_by_their_own_names(written: str, shown: str) -> None:
    assert reference._short(written) == shown


def test_signatures_are_whole(pages: dict[str, str]) -> None:
    lines = [
        line
        for path, page in pages.items()
        if path.startswith("reference/python/")
        for block in page.split("```python\n")[1:]
        for line in block.split("```")[0].splitlines()
    ]
    assert len(lines) > 100
    assert [line for line in lines if line.count("'") % 2 or line.count('"') % 2] == []
