"""Writes docs/reference.md and docs/commands.md: the public names and the commands, as they are.

    python scripts/reference.py           # writes both; a test compares them with the code

Signatures of the extension are those of its stub, all else is read from what is imported: docstrings,
and the help of each command. So nothing here is typed by hand. Not for how to use them: README.md.
"""

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "python" / "sentitok" / "_sentitok.pyi"
PYTHON = ROOT / "docs" / "reference.md"
COMMANDS = ROOT / "docs" / "commands.md"
# Modules beside the extension whose `__all__` is public, with what they are for.
MODULES = (
    "sentitok.names",
    "sentitok.corpus_shards",
    "sentitok.datasets",
    "sentitok.verify",
    "sentitok.embeddings",
    "sentitok.locks",
    "sentitok.evaluate",
    "sentitok.differences",
    "sentitok.adapters",
    "sentimodels",
)
# Columns of the help.
WIDTH = 100
# Headings of Google's style.
_HEADING = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")


def python_page() -> str:
    """Returns the page of the Python names."""
    parts = [
        "# Python reference\n\nMade by `python scripts/reference.py` from the stub and the docstrings.",
        *_extension(ast.parse(STUB.read_text("utf-8"))),
    ]
    for name in MODULES:
        module = importlib.import_module(name)
        parts += [f"## `{name}`", _text(inspect.getdoc(module)), *_members(module)]
    return "\n\n".join(parts) + "\n"


def _extension(stub: ast.Module) -> Iterator[str]:
    """Yields what the stub of the extension describes, in its order."""
    module = importlib.import_module("sentitok")
    yield "## `sentitok`"
    aliases = [node for node in stub.body if isinstance(node, ast.AnnAssign) and node.value is not None]
    lines = [f"{_plain(node.target)} = {_plain(node.value)}" for node in aliases if node.value is not None]
    yield "Names of types in the signatures below:\n\n```python\n" + "\n".join(lines) + "\n```"
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.name in module.__all__:
            yield _signature([node], "")
            yield _text(inspect.getdoc(getattr(module, node.name)))
        elif isinstance(node, ast.ClassDef) and node.name in module.__all__:
            yield from _class_of_stub(node, getattr(module, node.name))


def _class_of_stub(node: ast.ClassDef, found: type) -> Iterator[str]:
    yield f"### `{node.name}`"
    yield _text(inspect.getdoc(found))
    functions: dict[str, list[ast.FunctionDef]] = {}
    for member in node.body:
        if isinstance(member, ast.FunctionDef):
            functions.setdefault(member.name, []).append(member)
    for name, overloads in functions.items():
        if name == "__new__":
            yield _signature(overloads, "", node.name)
        elif not name.startswith("_"):
            yield _signature(overloads, f"{node.name}.")
            yield _text(inspect.getdoc(getattr(found, name)))


def _signature(overloads: list[ast.FunctionDef], owner: str, name: str = "") -> str:
    """Returns the heading of a function, and its signatures as a block."""
    node = overloads[0]
    decorators = {ast.unparse(one) for one in node.decorator_list}
    heading = f"#### `{owner}{name or node.name}`" if owner or name else f"### `{node.name}`"
    if "property" in decorators:
        return f"{heading}: `{_plain(node.returns)}`"
    lines = []
    for overload in overloads:
        arguments = re.sub(r"^(self|cls)(, )?", "", _plain(overload.args))
        arguments = arguments.removesuffix(", /") if arguments.endswith(", /") else arguments
        returned = "" if name else f" -> {_plain(overload.returns)}"
        lines.append(f"{owner}{name or node.name}({arguments}){returned}")
    return f"{heading}\n\n```python\n" + "\n".join(lines) + "\n```"


def _plain(node: ast.AST | None) -> str:
    """Returns code with the names of the stub's own types as people would write them."""
    text = ast.unparse(node) if node is not None else "None"
    if isinstance(node, ast.Constant):  # a type that the stub writes as text
        text = text.strip("'")
    return re.sub(r"\b_(?=[A-Z])", "", text)


def _members(module: ModuleType) -> Iterator[str]:
    """Yields what a module of Python makes public."""
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isclass(found):
            made = vars(found).get("__init__")
            is_described = inspect.isfunction(made) and _own(made, found) and made.__doc__ is not None
            yield _heading(f"### `{name}`", name, made) if is_described else f"### `{name}`"
            yield _text(inspect.getdoc(found))
            if is_described:
                yield _text(inspect.getdoc(made))
            for member, value in vars(found).items():
                if member.startswith("_") or not _own(value, found):
                    continue
                yield _heading(f"#### `{name}.{member}`", f"{name}.{member}", value)
                yield _text(inspect.getdoc(value))
        elif callable(found):
            yield _heading(f"### `{name}`", name, found)
            yield _text(inspect.getdoc(found))


def _own(value: object, owner: type) -> bool:
    """Whether a class describes a member itself: not what a data class or pydantic puts there."""
    if isinstance(value, (property, staticmethod, classmethod)):
        return True
    return inspect.isfunction(value) and value.__qualname__.startswith(owner.__qualname__)


def _heading(heading: str, name: str, value: Any) -> str:
    if isinstance(value, property):
        return heading
    function: Callable[..., object] = getattr(value, "__func__", value)
    signature = re.sub(r"\((self|cls)(, )?", "(", str(inspect.signature(function)), count=1)
    return f"{heading}\n\n```python\n{name}{_short(signature)}\n```"


def _short(signature: str) -> str:
    """Returns a signature with types by their own names: what Python writes differs by version."""
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    signature = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", signature)
    return re.sub(
        r"numpy\.ndarray\[tuple\[.*?\], numpy\.dtype\[(?:numpy\.)?(\w+)\]\]", r"NDArray[\1]", signature
    )


def _text(doc: str | None) -> str:
    """Returns a docstring as Markdown: the items of Google's headings as a list."""
    # An example is a block.
    doc = re.sub(
        r"(?m)(^>>> .*\n(?:.+\n?)*)", lambda block: f"```python\n{block[1].rstrip()}\n```\n", doc or ""
    )
    lines: list[str] = []
    is_item = False
    for line in doc.splitlines():
        if heading := _HEADING.match(line):
            is_item = True
            lines.append(f"*{heading[1]}*\n")
        elif not line.startswith(" ") and line:
            is_item = False
            lines.append(line)
        elif is_item and (item := re.match(r"^    (\S.*)$", line)):
            found = re.match(r"^([*\w, ]+): (.*)$", item[1])
            lines.append(f"- `{found[1]}`: {found[2]}" if found else f"- {item[1]}")
        elif is_item and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines)


def commands_page() -> str:
    """Returns the page of the commands."""
    parts = ["# Commands\n\nMade by `python scripts/reference.py` from the help of each command."]
    sentitok = importlib.import_module("sentitok.cli.app").app
    senti = importlib.import_module("sentimodels.cli.app").build()
    for program, app in (("sentitok", sentitok), ("senti", senti)):
        parts += _helps(typer.main.get_command(app), program)
    return "\n\n".join(parts) + "\n"


def _helps(command: Any, path: str, parent: Any = None) -> Iterator[str]:
    """Yields the help of a command and of those below it."""
    context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True)
    context.terminal_width = context.max_content_width = WIDTH
    depth = "#" * (1 + len(path.split()))
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines()).strip()
    yield f"{depth} {path}\n\n```text\n{text}\n```"
    for name, below in getattr(command, "commands", {}).items():
        yield from _helps(below, f"{path} {name}", context)


def main() -> int:
    os.environ["COLUMNS"] = str(WIDTH)
    PYTHON.write_text(python_page(), encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
