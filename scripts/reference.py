"""Makes the reference of the site: a page for each public module, and one for each program.

    python scripts/reference.py FOLDER      # writes the pages as Markdown; `make docs` puts them on the site

Signatures of the extension come from its stub, everything else from the imported modules: docstrings, and the
help of each command. The pages are not in git, so they cannot be out of date.
"""

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "python" / "sentitok" / "_sentitok.pyi"
# Folder of the pages on the site.
FOLDER = "reference"
# Modules whose `__all__` is public; `sentitok` is the extension's.
MODULES = (
    "sentitok",
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


def pages() -> dict[str, str]:
    """Returns each page by its path on the site."""
    return {f"{FOLDER}/{name}": page for name, page in (python_pages() | command_pages()).items()}


def python_pages() -> dict[str, str]:
    """Returns a page for each module, and one with their contents."""
    found = {}
    contents = ["# Python names\n\nEvery public name, from the docstrings."]
    for name in MODULES:
        module = importlib.import_module(name)
        if name == "sentitok":
            members = list(_extension(ast.parse(STUB.read_text("utf-8"))))
            described = set(re.findall(r"^## `(\w+)`", "\n".join(members), re.M))
            members += _members(module, [one for one in module.__all__ if one not in described])
        else:
            members = [_text(inspect.getdoc(module)), *_members(module, module.__all__)]
        page = "\n\n".join([f"# `{name}`", *members]) + "\n"
        found[f"python/{name}.md"] = page
        # The headings of classes and functions; those of methods are one level deeper.
        names = re.findall(r"^## `(\w+)`", page, re.M)
        links = ", ".join(f"[`{one}`](python/{name}.md#{one.lower()})" for one in names)
        contents.append(f"## [`{name}`](python/{name}.md)\n\n{links}")
    return {"python.md": "\n\n".join(contents) + "\n", **found}


def _extension(stub: ast.Module) -> Iterator[str]:
    """Yields what the stub of the extension describes, in its order."""
    module = importlib.import_module("sentitok")
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
    yield f"## `{node.name}`"
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
    heading = f"### `{owner}{name or node.name}`" if owner or name else f"## `{node.name}`"
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
    """Returns code with the names of the stub's types as people would write them."""
    text = ast.unparse(node) if node is not None else "None"
    if isinstance(node, ast.Constant):  # a type that the stub writes as text
        text = text.strip("'")
    return re.sub(r"\b_(?=[A-Z])", "", text)


def _members(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    """Yields these public names of a module of Python."""
    for name in names:
        found = getattr(module, name)
        if inspect.isclass(found):
            made = vars(found).get("__init__")
            is_described = inspect.isfunction(made) and _own(made, found) and made.__doc__ is not None
            yield _heading(f"## `{name}`", name, made) if is_described else f"## `{name}`"
            yield _text(inspect.getdoc(found))
            if is_described:
                yield _text(inspect.getdoc(made))
            for member, value in vars(found).items():
                if member.startswith("_") or not _own(value, found):
                    continue
                yield _heading(f"### `{name}.{member}`", f"{name}.{member}", value)
                yield _text(inspect.getdoc(value))
        elif callable(found):
            yield _heading(f"## `{name}`", name, found)
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


def command_pages() -> dict[str, str]:
    """Returns a page for each program with the help of its commands, and one with their contents."""
    sentitok = importlib.import_module("sentitok.cli.app").app
    senti = importlib.import_module("sentimodels.cli.app").build()
    found = {}
    rows = ["| command | |", "|---|---|"]
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    try:
        for program, app in (("sentitok", sentitok), ("senti", senti)):
            helps = list(_helps(typer.main.get_command(app), program))
            parts = [f"{'#' * len(name.split())} {name}\n\n```text\n{text}\n```" for name, text, _ in helps]
            found[f"commands/{program}.md"] = "\n\n".join(parts) + "\n"
            rows += [
                f"| [`{name}`](commands/{program}.md#{name.replace(' ', '-')}) | {short} |"
                for name, _, short in helps
            ]
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    contents = "# Commands\n\nThe help of every command.\n\n" + "\n".join(rows) + "\n"
    return {"commands.md": contents, **found}


def _helps(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, str, str]]:
    """Yields the name, the help and the first sentence of a command and of those below it."""
    context = command.make_context(path.split()[-1], [], parent=parent, resilient_parsing=True)
    context.terminal_width = context.max_content_width = WIDTH
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines()).strip()
    yield path, text, command.get_short_help_str(WIDTH)
    for name, below in getattr(command, "commands", {}).items():
        yield from _helps(below, f"{path} {name}", context)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python scripts/reference.py FOLDER", file=sys.stderr)
        return 2
    for name, page in pages().items():
        target = Path(sys.argv[1]) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
