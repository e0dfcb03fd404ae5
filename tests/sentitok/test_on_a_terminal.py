"""What a person sees: wrong calls, colours and bars on a terminal."""

import re
from pathlib import Path

import pytest

import sentitok
from terminal import STEERING, on_terminal, plain

pytest.importorskip("pty", reason="terminals of POSIX")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: sentitok.Tokenizer) -> Path:
    made = tmp_path_factory.mktemp("terminal")
    tokenizer.save(made / "tokenizer.json")
    (made / "text.txt").write_text("A film of a man.\n" * 200)
    return made


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train-bpe text.txt --vocabs 300", "No such option: --vocabs (Possible options: --vocab)"),
        ("train-bbe text.txt", "No such command 'train-bbe'. Did you mean 'train-bpe'?"),
        ("train-bpe text.txt --vocab many", "Invalid value for '--vocab'"),
        ("show text --json --quiet", "--json and --quiet exclude each other"),
    ],
)
def test_a_wrong_call_is_said_in_a_few_lines(folder: Path, line: str, said: str) -> None:
    """And not below a page of help, which would push it out of sight."""
    code, written = on_terminal(line, cwd=folder)
    shown = re.sub(r"[│\s]+", " ", plain(written))
    assert code == 2
    assert said in shown
    assert "--help' for help" in shown
    assert len(plain(written).splitlines()) < 9


@pytest.mark.parametrize("line", ["", "train-bpe"])
def test_a_call_without_anything_is_answered_with_help_once(folder: Path, line: str) -> None:
    code, written = on_terminal(line, cwd=folder)
    assert code == 2
    assert plain(written).count("Usage:") == 1
    assert "Examples:" in plain(written)


def test_help_is_in_panels(folder: Path) -> None:
    code, written = on_terminal("train-bpe --help", cwd=folder)
    assert code == 0
    panels = re.findall(r"^╭─ ([A-Z][A-Za-z ]*?) ─", plain(written), re.M)
    assert panels[:3] == ["Arguments", "Options", "Input"]
    assert panels[-1] == "Output"


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_colour_is_for_terminals_that_want_it(
    folder: Path, variables: dict[str, str], coloured: bool
) -> None:
    line = "show naïve --tokenizer tokenizer.json"
    code, written = on_terminal(line, cwd=folder, variables=variables)
    assert code == 0
    assert bool(STEERING.search(written)) == coloured
    assert ("│" in written) != coloured
    assert r"\xc3" in written


@pytest.mark.parametrize("variables", [{}, {"TERM": "dumb"}], ids=["terminal", "dumb"])
def test_work_ends_with_what_was_written_and_what_to_type_next(
    folder: Path, variables: dict[str, str]
) -> None:
    code, written = on_terminal(
        "train-bpe text.txt --vocab 270 -o trained.json", cwd=folder, variables=variables
    )
    assert code == 0, written
    assert re.search(r"^written +trained\.json \([\d.]+ kB\)$", plain(written), re.M)
    assert re.search(r"^next +sentitok show", plain(written), re.M)
    if variables:
        assert not STEERING.search(written)
