"""Nothing is silenced without a dated reason: checks of style, types and lints, wherever they are.

Formatting is not a check, so `# fmt: skip` needs no reason. A skip of a missing package has
pytest's `reason`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sorted(
    path for top in ("python", "tests", "benches", "scripts") for path in (ROOT / top).rglob("*.py*")
    if path.suffix in (".py", ".pyi")
)  # fmt: skip
RUST = sorted(
    path for top in ("rust", "tests", "benches", "fuzz/fuzz_targets") for path in (ROOT / top).rglob("*.rs")
)

#: A comment that silences what reads the file. (In two parts, so that this line does not.)
SILENCED = re.compile("#" + r"\s*(?:ruff:\s*|flake8:\s*)?(?:noqa\b|type:\s*ignore\b|mypy:\s)")
DATED = re.compile(r"\b20\d\d-\d\d(-\d\d)?[:,] *\S")
ATTRIBUTE = re.compile(r"#!?\[(?:cfg_attr\([^\[\]]*?)?(?:allow|expect)\(.*?\)\]", re.S)

#: Lines of settings that silence: a rule of ruff, rules for some files, a part without types,
#: a lint that is off in tests.
SETTING = re.compile(
    r'\s*("[A-Z]+\d+",|".*" = \[.*\]|untyped_calls_exclude\b|ignore_missing_imports\b|allow-)'
)

# Without a date yet, and why. A line that has got one leaves the table.
UNDATED = {
    # 2026-11-24: it has a reason; the file is being rewritten.
    "rust/models/unigram/worker.rs": 1,
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def undated_in_python(text: str) -> Iterator[int]:
    """Lines that silence, without a date on them or in the comment above them or their like."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        silenced = SILENCED.search(line)
        if silenced and not DATED.search(line[silenced.start() :]):
            above = number - 1
            while above >= 0 and SILENCED.search(lines[above]):
                above -= 1
            comment = []
            while above >= 0 and lines[above].lstrip().startswith("#"):
                comment.append(lines[above])
                above -= 1
            if not DATED.search("\n".join(comment)):
                yield number + 1


def undated_in_rust(text: str) -> Iterator[int]:
    for found in ATTRIBUTE.finditer(text):
        reason = re.search(r'reason = "(.*?)"', found[0], re.S)
        if not reason or not DATED.match(reason[1]):
            yield text.count("\n", 0, found.start()) + 1


def undated_in_settings(text: str) -> Iterator[int]:
    """Lines that silence, without a date on them or on the comment above them or their like."""
    is_dated = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            is_dated = bool(DATED.search(line))
        elif SETTING.match(line):
            if not is_dated and not DATED.search(line):
                yield number
        else:
            is_dated = False


@pytest.mark.parametrize(
    ("find", "paths"),
    [
        (undated_in_python, PYTHON),
        (undated_in_rust, RUST),
        (undated_in_settings, [ROOT / "pyproject.toml", ROOT / "clippy.toml"]),
    ],
    ids=["python", "rust", "settings"],
)
def test_each_silence_is_dated(find: object, paths: list[Path]) -> None:
    assert callable(find)
    assert paths
    found = {name_of(path): list(find(path.read_text("utf-8"))) for path in paths}
    too_many = [f"{name}:{line}" for name, lines in found.items() for line in lines[UNDATED.get(name, 0) :]]
    assert not too_many, "say since when and why: `2026-11-24: the reason`"


SHOWN = "x = f()  #" + " type: ignore[misc]"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = f()", []),
        (SHOWN, [1]),
        (SHOWN + "  # because", [1]),
        (SHOWN + "  # 2026-11-24: because", []),
        (SHOWN + "  # 2026-11-24", [1]),
        ("# 2026-11-24: both\n" + SHOWN + "\n" + SHOWN, []),
        ("# 2026-11-24: another line's\ny = 1\n" + SHOWN, [3]),
        ("x = 1  #" + " noqa", [1]),
        ("#" + " ruff: noqa: E501\nx = 1", [1]),
    ],
)
def test_what_counts_in_python(text: str, lines: list[int]) -> None:
    assert list(undated_in_python(text)) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("#[inline]\nfn f() {}", []),
        ("\n#[allow(dead_code)]", [2]),
        ('#![allow(dead_code, reason = "later")]', [1]),
        ('#[expect(dead_code, reason = "2026-11: it is read by C")]', []),
        ('#![allow(\n    dead_code,\n    reason = "2026-11: it is read by C"\n)]', []),
        ('#[cfg_attr(miri, allow(dead_code))]\nconst X: &str = "2026-11: no reason";', [1]),
    ],
)
def test_what_counts_in_rust(text: str, lines: list[int]) -> None:
    assert list(undated_in_rust(text)) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('select = ["A"]', []),
        ('ignore = [\n    "A001", # it is ours\n    "A002", # 2026-11: it is ours\n]', [2]),
        ('"tests/**" = ["D"]', [1]),
        ("ignore_missing_imports = true", [1]),
        ("# 2026-11: tests fail so.\nallow-x = true\nallow-y = true", []),
        ("# Tests fail so.\nallow-x = true", [2]),
    ],
)
def test_what_counts_in_settings(text: str, lines: list[int]) -> None:
    assert list(undated_in_settings(text)) == lines
