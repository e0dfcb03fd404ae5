"""`senti` apart from its work: files without an end, full disks, wrong names, and its temporary files."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

from commands import run
from language_runs import language_run
from senti_in_process import senti
from sentimodels.cli.app import COMMANDS, build
from sentimodels.data import read_table
from sentimodels.errors import CheckpointError, DataError, SentiError
from sentimodels.predictor import load_predictor
from sentimodels.runs.directory import load_run
from sentimodels.runs.families import read_toml
from sentimodels.runs.verify import verify
from sentimodels.training.history import write_record
from sentitok.atomic import write as write_atomically
from sentitok.cli.command import PANELS

posix = pytest.mark.skipif(os.name == "nt", reason="devices, pipes and limits of POSIX")


@pytest.mark.parametrize("load", [load_predictor, load_run, verify])
def test_a_run_that_is_not_there_is_called_that(load: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="norun: no such folder"):
        load(tmp_path / "norun")
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="file: not a folder"):
        load(tmp_path / "file")


# The commands that read a file and write one, with the file as both.
OVER_ITSELF = [
    "predict run a.csv -o a.csv",
    "submit run a.csv -o ./a.csv",
    "submit run b.csv --memory a.csv -o a.csv",
    "generate run --file a.txt -o link.txt",
    "translate text run a.csv -o a.csv",
    "translate evaluate run a.csv b.csv -o b.csv",
    "data dump a.csv -o a.csv",
    "data sst a.csv -o a.csv",
    "data split train.csv -o .",
    "evaluate run a.csv -o a.csv",
    "evaluate run a.csv --memory b.csv -o b.csv",
    "evaluate run confusion.csv --plots .",
]


@pytest.mark.parametrize("line", OVER_ITSELF)
def test_no_command_replaces_what_it_reads(line: str, tmp_path: Path) -> None:
    rows = "".join(f"text {n},{n % 2},{n}\n" for n in range(20))
    for name in ("a.csv", "b.csv", "train.csv", "confusion.csv", "a.txt"):
        (tmp_path / name).write_text("text,label,group\n" + rows)
    (tmp_path / "link.txt").symlink_to("a.txt")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = senti(*line.split(), cwd=tmp_path)
    assert done.code == 2, done.err
    assert "that is read; name another file to write" in done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_groups_without_a_sentence_are_left_out_of_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('text,label,group\n" ",0,1\ngood,1,2\n"    ",1,2\ngood one,1,2\n')
    done = senti("data", "dump", "p.csv", "-o", "s.txt", "--group-column", "group", cwd=tmp_path)
    assert (done.code, (tmp_path / "s.txt").read_text()) == (0, "good one\n"), done.err
    assert "1 of 4 phrases" in done.out


@posix
def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        for format in (None, "csv", "jsonl"):
            with pytest.raises(DataError, match="a pipe or a device, which cannot be read twice"):
                read_table(path, format=format)
    with pytest.raises(SentiError, match="larger than"):
        read_toml(Path("/dev/zero"))


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_quote_that_never_closes_is_found_where_it_opens(name: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / name
    head = f'text{separator}label\n"two\nlines"{separator}1\n'
    path.write_text(head + f'"open{separator}0\n' + f"fine{separator}1\n" * 1000)
    with pytest.raises(
        DataError, match=rf"{name}: line 4, column 1: the quote that opens here is never closed"
    ):
        read_table(path)
    path.write_text(head + f'"closed"{separator}0\n')
    assert read_table(path).texts == ["two\nlines", "closed"]


@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("a.jsonl", "", '{"text": "%s", "label": 1}\n'),
        ("a.csv", "text,label\n", "%s,1\n"),
        ("a.tsv", "text\tlabel\n", "%s\t1\n"),
        ("pairs.txt", "", "%s\t1\n"),
        ("a.pos", "", "%s\n"),
    ],
)
def test_a_long_line_is_refused(name: str, head: str, row: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(head + row % "short" + row % ("x" * 200))
    number = 3 if head else 2
    with pytest.raises(
        DataError, match=rf"line {number}: the (line|row) is longer than 100 bytes.*--max-line-bytes"
    ):
        read_table(path, max_line_bytes=100)
    assert len(read_table(path, max_line_bytes=1000).texts) == 2


@pytest.mark.parametrize(
    "line",
    [
        "data check a.csv",
        "data stats a.csv",
        "data split a.csv -o parts",
        "train a.csv --arch cnn --out runs/x",
        "pretrain a.csv --format lines --out runs/x",
        "translate train a.csv --source-column text --target-column label --out runs/x",
        "translate evaluate runs/x a.csv --source-column text --target-column label",
        "generate runs/lm --file a.csv",
        "generate runs/lm < a.csv",
    ],
)
def test_the_option_of_long_lines_is_one_of_all_commands(line: str, tmp_path: Path) -> None:
    text = "text,label\nshort,1\n" + "x" * 3000 + ",0\n"
    (tmp_path / "a.csv").write_text(text)
    if line.startswith("generate"):
        language_run(tmp_path / "runs" / "lm", "gpt", 4096)
    words, _, stdin = line.partition(" < ")
    done = senti(*words.split(), "--max-line-bytes", "2K", cwd=tmp_path, stdin=text if stdin else "")
    assert (done.code, done.out) == (2, ""), done.err
    source = "stdin" if stdin else "a.csv"
    assert re.search(
        rf"{source}[,:] line 3: the (line|row) is longer than 2048 bytes.*--max-line-bytes", done.err
    )


def test_a_size_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nshort,1\n")
    code, _, err = run("data stats a.csv --max-line-bytes none", program="senti", cwd=tmp_path)
    assert (code, err) == (2, "senti: --max-line-bytes none: expected a size in bytes, as in 512M or 2G\n")


@pytest.mark.parametrize(
    "line",
    [
        "evaluate runs/x a.csv",
        "errors runs/x a.csv",
        "submit runs/x a.csv -o s.csv",
        "compare runs/x runs/y --data a.csv",
        "ensemble runs/x runs/y --dev a.csv -o both",
        "plot runs/x --kind confusion --data a.csv -o a.svg",
    ],
)
def test_a_file_to_score_on_may_be_of_another_encoding(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\ncafé,1\n", "latin-1")
    done = senti(*line.split(), cwd=tmp_path)
    assert (done.code, "a.csv" in done.err, "--encoding" in done.err) == (2, True, True), done.err
    done = senti(*line.split(), "--encoding", "latin-1", cwd=tmp_path)  # it is read; next is the run
    assert (done.code, "runs/x: no such folder" in done.err) == (2, True), done.err


def _commands(group: Any, name: str = "senti") -> Iterator[tuple[str, set[str]]]:
    """Yields each command with its options."""
    for key, command in getattr(group, "commands", {}).items():
        yield f"{name} {key}", {option for parameter in command.params for option in parameter.opts}
        yield from _commands(command, f"{name} {key}")


def test_who_has_an_encoding_limits_lines_too() -> None:
    read = {"--encoding", "--max-line-bytes"}
    found = {name: options & read for name, options in _commands(get_group(build()))}
    assert {name for name, options in found.items() if options not in (set(), read)} == set()
    reading = {name for name, options in found.items() if options}
    assert {"senti generate", "senti translate text", "senti pretrain", "senti predict"} <= reading


def imported(*words: str, cwd: Path | None = None) -> set[str]:
    """The modules that `senti` imports for a call, its own and pydantic's."""
    code = f"import atexit, sys; sys.argv[1:] = {[*words]}; "
    code += "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    code += "from sentimodels.cli.app import start; start()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    return {name for name in done.stderr.split() if name.split(".")[0] in ("sentimodels", "pydantic")}


def test_the_list_of_commands_imports_none_of_them() -> None:
    few = ("", ".app", ".command", ".waiting")
    assert imported("--help") <= {"sentimodels", *(f"sentimodels.cli{it}" for it in few)}


def test_a_command_imports_no_other() -> None:
    found = imported("predict", "--help")
    files = {f"sentimodels.cli.{file}" for file, _, _ in COMMANDS.values()}
    assert found & files == {"sentimodels.cli.predict"}


def test_each_command_that_is_listed_is_there() -> None:
    senti = get_group(build())
    assert list(senti.commands) == list(COMMANDS)
    assert all(command.name == name and command.help for name, command in senti.commands.items())


def _all_commands(group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {below}", one) for below, one in _all_commands(command))
        else:
            yield name, command


def test_help_begins_with_the_options_that_people_use_first() -> None:
    for name, command in _all_commands(get_group(build())):
        panels = [
            one.rich_help_panel or PANELS[0] for one in command.params if one.param_type_name == "option"
        ]
        assert panels == sorted(panels, key=PANELS.index), name
        others = [panel for panel in panels if panel != "Output"]
        if len(others) > 12:
            assert 2 <= panels.count(PANELS[0]) <= 12, name
    train: Any = get_group(build()).commands["train"]
    options = [one for one in train.params if one.param_type_name == "option"]
    first = [max(one.opts, key=len) for one in options if one.rich_help_panel in (None, PANELS[0])]
    assert "--arch" in first
    assert len(first) == 10


def test_messages_are_short_whatever_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f'[data]\n{"x" * 5_000} = "{"y" * 5_000}"\n')
    code, _, err = run("train --config a.toml --out runs/x", program="senti", cwd=tmp_path)
    assert code == 2
    assert len(err) < 1_500
    assert "xxx" in err


@posix
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    record = {"step": 1, "text": "x" * 100_000}
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as full:
            write_atomically(tmp_path / "run.json", b"x" * 100_000)
        with pytest.raises(OSError, match="too large") as also:
            write_record(tmp_path, record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert full.value.filename == str(tmp_path / "run.json")
    assert also.value.filename == str(tmp_path / "metrics.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_what_a_killed_run_left_goes_with_the_next(tmp_path: Path) -> None:
    (tmp_path / ".sentitok-run.json-abcdef").touch()
    (tmp_path / ".sentitok-labels.json-abcdef").touch()
    write_atomically(tmp_path / "run.json", b"{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".sentitok-labels.json-abcdef", "run.json"]


@pytest.mark.parametrize(
    ("command", "shown"), [("train", "[default: 3]"), ("predict", "[default: stdout, as CSV]")]
)
def test_help_on_a_terminal_shows_defaults(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There typer reads help as mark-up, in which `[default: 3]` would be a tag of no effect."""
    for module in ("sentimodels.cli.app", "sentitok.cli.command"):
        monkeypatch.setattr(f"{module}.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("TERMINAL_WIDTH", "300")
    done = senti(command, "--help", cwd=tmp_path)
    assert done.code == 0
    assert "╭" in done.out
    assert shown in done.out
    assert "\\[" not in done.out
