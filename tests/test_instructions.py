"""The gate of instruction counts: its rows, and what it says of a difference."""

import json
import re

import pytest

import instructions


def test_every_row_has_a_count() -> None:
    rows = re.findall(
        r'^    \("([a-z0-9/]+)", ', instructions.FILE.with_suffix(".rs").read_text("utf-8"), re.M
    )
    known = json.loads(instructions.FILE.read_text("utf-8"))
    assert list(known["instructions"]) == rows
    assert len(rows) > 10
    assert all(n > 100_000 for n in known["instructions"].values())
    assert re.fullmatch(r"\d+\.\d+\.\d+", known["rustc"])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"a": 1000, "b": 1000}, []),
        ({"a": 1029, "b": 971}, []),
        ({"a": 1031, "b": 1000}, ["a: 1,031 instructions, +3.1% of 1,000"]),
        ({"a": 1000, "b": 900}, ["b: 900 instructions, -10.0% of 1,000"]),
        ({"a": 1000}, ["b: no such row any more"]),
        ({"a": 1000, "b": 1000, "c": 1}, ["c: not written down yet"]),
    ],
)
def test_differences(found: dict[str, int], said: list[str]) -> None:
    assert instructions.differences({"a": 1000, "b": 1000}, found) == said


def test_it_says_where_nothing_can_be_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert instructions.main(["check"]) == instructions.NOT_HERE
    assert "valgrind" in capsys.readouterr().err
    assert instructions.main([]) == 2
