"""The pages that are made of the code say what the code is now."""

import pytest

pytest.importorskip("torch", reason="senti is described as well")

import reference

HOW = "run python scripts/reference.py"


def test_the_python_reference_is_that_of_the_code() -> None:
    assert reference.PYTHON.read_text("utf-8") == reference.python_page(), HOW


def test_the_commands_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(reference.WIDTH))
    assert reference.COMMANDS.read_text("utf-8") == reference.commands_page(), HOW


def test_every_public_name_is_described() -> None:
    """A heading without a sentence below it is a name without a docstring."""
    page = reference.python_page().replace("```python", "```")
    bare = []
    for part in page.split("\n#")[1:]:
        heading, _, rest = part.partition("\n")
        text = "".join(rest.split("```")[::2]).strip()  # what is no block
        is_constructor = heading.count("#") == 3 and "." not in heading
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


def test_signatures_are_whole() -> None:
    page = reference.python_page()
    lines = [line for block in page.split("```python\n")[1:] for line in block.split("```")[0].splitlines()]
    assert len(lines) > 100
    assert [line for line in lines if line.count("'") % 2 or line.count('"') % 2] == []
