"""The source files of the project, and rules that hold for each of them; for the tests of layers."""

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python"
RUST = ROOT / "rust"

MODULES = sorted(path for path in PYTHON.rglob("*.py"))
SOURCES = sorted(RUST.rglob("*.rs"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_folder(path: Path, name: str) -> bool:
    return name in path.relative_to(ROOT).parts


def each(paths: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Makes a rule for a file one test of all files: thousands of tests take longer than the rules."""

    def of_all(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    broken.append(f"{name_of(path)}: {error}")
            assert not broken, "\n".join(broken)

        test.__doc__ = rule.__doc__
        return test

    return of_all


def without_tests(text: str) -> str:
    """The part of a Rust file before its unit tests; nothing of a file that is compiled for tests alone."""
    return re.split(r"#!?\[cfg\(test\)\]", text)[0]
