"""The layering of the design, as code: who may import whom, and who may print."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from source_files import MODULES, PYTHON, ROOT, SOURCES, each, in_folder, name_of


@cache
def tree(path: Path) -> ast.Module:
    """What a file parses to; a dozen tests look at each."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All of its nodes, outer ones first."""
    return [*ast.walk(tree(path))]


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    """Names of the modules a file imports; with `top_level` only when it is imported."""
    for node in tree(path).body if top_level else nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 10
    assert len(SOURCES) > 30


# (part of the path, modules it must not import, and why)
FORBIDDEN = [
    ("python/sentitok/", {"torch", "pandas", "sentimodels"}, "sentitok stands alone"),
    ("python/", {"http", "urllib", "requests", "httpx"}, "nothing asks another machine"),
    (
        "python/sentitok/compat/",
        {"tiktoken", "tokenizers", "sentencepiece", "transformers"},
        "the libraries whose calls these are stay out",
    ),
    ("python/", {"pickle", "marshal", "shelve", "joblib", "dill", "cloudpickle"}, "nothing is unpickled"),
    ("python/sentimodels/", {"sentitok._sentitok"}, "public names only"),
]

# What gives tensors to a DataLoader, and imports torch only then.
TENSORS = {"python/sentitok/datasets.py"}
# What opens a socket: the page's server, to be asked, and what finds out whether a cluster answers.
SOCKETS = {"python/sentitok/adapters/__init__.py", "python/sentitok/web/server.py"}


@each(MODULES)
def test_python_imports(path: Path) -> None:
    for part, modules, why in FORBIDDEN:
        if name_of(path).startswith(part):
            found = {name for name in imports(path) for bad in modules if (name + ".").startswith(bad + ".")}
            assert not found - ({"torch"} if name_of(path) in TENSORS else set()), why


@each(MODULES)
def test_only_the_server_of_the_page_and_clusters_open_a_socket(path: Path) -> None:
    if name_of(path) not in SOCKETS:
        assert not {name.split(".")[0] for name in imports(path)} & {"socket", "socketserver", "ssl"}


@each(MODULES)
def test_web_libraries_stay_in_web(path: Path) -> None:
    if in_folder(path, "web"):
        return
    assert not {name.split(".")[0] for name in imports(path)} & {"starlette", "uvicorn", "anyio"}


@each(MODULES)
def test_the_library_knows_neither_page_nor_command(path: Path) -> None:
    """Commands name the page, and nothing of `sentitok` names the commands."""
    if in_folder(path, "cli") or not path.is_relative_to(PYTHON / "sentitok"):
        return
    package = path.relative_to(PYTHON).parts[:-1]
    above = {"cli"} if in_folder(path, "web") else {"cli", "web"}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = [*start, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                room = [*module, alias.name][:2]
                assert not (room[0] == "sentitok" and set(room[1:]) & above), f"line {node.lineno}"


def test_rooms_of_sentimodels_import_lower_rooms_only() -> None:
    """The order of the rooms is in pyproject.toml, `[tool.importlinter]`."""
    pytest.importorskip("importlinter", reason="import-linter, of the extra `dev`, is not installed")
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_treebank_does_not_read_files_by_guess() -> None:
    """Readers know the treebank's forms; the treebank knows no readers."""
    path = PYTHON / "sentimodels" / "data" / "sst.py"
    near = {node.module for node in nodes(path) if isinstance(node, ast.ImportFrom)}
    assert near
    assert not near & {"readers", "columns", "separated", "split", "leaks"}, name_of(path)


def test_architectures_do_not_import_each_other() -> None:
    for path in sorted((PYTHON / "sentimodels" / "models").glob("*.py")):
        if path.stem not in ("__init__", "language"):  # a language model wraps any architecture
            near = [n for n in nodes(path) if isinstance(n, ast.ImportFrom) and n.level == 1]
            assert not near, name_of(path)


@each(MODULES)
def test_nothing_is_read_or_written_by_pickle(path: Path) -> None:
    """`torch.load`, `torch.save` and object arrays run code when they are read."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("torch", "joblib"):
            assert node.attr not in ("load", "save", "dump"), f"line {node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.module in ("torch", "torch.serialization"):
            assert not {alias.name for alias in node.names} & {"load", "save"}, f"line {node.lineno}"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert getattr(node.value, "value", None) is False, f"line {node.value.lineno}"


@each(MODULES)
def test_nothing_is_built_on_others_calls(path: Path) -> None:
    """`compat` is above all of `sentitok`, and its modules know nothing of each other."""
    if not path.is_relative_to(PYTHON / "sentitok"):
        return
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert not re.match(r"compat\b", node.module or ""), f"line {node.lineno}"
            # A library of several files imports its own; `..` would be another library's.
            shared = path.parent.name == "compat"
            others = node.level == 1 if shared else node.level == 2
            assert not others or not in_folder(path, "compat"), f"line {node.lineno}"


def modules_named(path: Path) -> Iterator[Path]:
    """The files of the package that a file imports, also in functions and for type checkers."""
    package = path.relative_to(PYTHON).parts[:-1]
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = PYTHON.joinpath(*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            for name in (base / alias.name for alias in node.names if alias.name != "_sentitok"):
                files = [name.with_suffix(".py"), name / "__init__.py"]
                files += [base.with_suffix(".py"), base / "__init__.py"]
                yield from [file for file in files if file in MODULES][:1]


def test_modules_of_sentitok_point_one_way() -> None:
    """No module imports one that imports it, at any time."""
    below = {path: {*modules_named(path)} for path in MODULES if path.is_relative_to(PYTHON / "sentitok")}
    assert any(below.values())
    while done := [path for path, named in below.items() if not named & below.keys()]:
        for path in done:
            del below[path]
    assert not below, sorted(map(name_of, below))


@each(MODULES)
def test_command_line_libraries_stay_in_cli(path: Path) -> None:
    if in_folder(path, "cli"):
        return
    assert not {name.split(".")[0] for name in imports(path)} & {"typer", "rich"}


@each(MODULES)
def test_cluster_libraries_stay_in_adapters(path: Path) -> None:
    if in_folder(path, "adapters"):
        return
    assert not {name.split(".")[0] for name in imports(path)} & {"ray", "dask", "distributed", "submitit"}


@each(MODULES)
def test_only_cli_prints(path: Path) -> None:
    if in_folder(path, "cli"):
        return
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in calls if getattr(call.func, "id", "") == "print"]


@each(MODULES)
def test_commands_start_without_heavy_imports(path: Path) -> None:
    """What a command needs beyond typer it imports when it runs."""
    if not in_folder(path, "cli") or path.name == "rivals.py":  # a separate process
        return
    heavy = {"numpy", "rich", "pydantic", "subprocess", "tempfile", "torch", "pandas", "sklearn", "scipy"}
    assert not {name.split(".")[0] for name in imports(path, top_level=True)} & heavy


def test_import_is_light() -> None:
    code = "import sys, sentitok; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "pandas", "typer", "rich", "pydantic", "pyarrow", "sentimodels"}
    assert not loaded & {"ray", "dask", "distributed", "fsspec", "multiprocessing", "concurrent"}


@each([*MODULES, *SOURCES])
def test_files_are_well_named(path: Path) -> None:
    assert path.stem not in ("utils", "common", "helpers", "misc")
