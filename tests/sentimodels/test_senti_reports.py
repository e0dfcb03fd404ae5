"""`senti data`, `evaluate`, `errors`, `submit`, `compare`, `ensemble`, `plot`: from outside."""

import contextlib
import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from sentimodels.cli.app import build
from sentimodels.data import read_table
from sentimodels.evaluation.predictions import Predictions

OURS = ["data check", "data stats", "data split", "data sst", "data hashes"]
OURS += ["sweep", "evaluate", "errors", "submit", "compare", "ensemble", "plot"]


def commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield f"{above}{name}", command
        yield from commands(command, f"{name} ")


COMMANDS = dict(commands(get_group(build())))


def run(folder: Path, *args: str) -> Any:
    with contextlib.chdir(folder):
        return CliRunner().invoke(build(), list(args))


def run_json(folder: Path, *args: str) -> dict[str, Any]:
    done = run(folder, *args, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def examples() -> list[tuple[str, str]]:
    found = []
    for name in OURS:
        lines = (COMMANDS[name].epilog or "").split("\n\n")
        found += [(name, line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]
    return found


@pytest.mark.parametrize("name", OURS)
def test_help_has_examples_that_are_tested(name: str, tmp_path: Path) -> None:
    done = run(tmp_path, *name.split(), "--help")
    assert done.exit_code == 0
    shown = re.findall(r"^\s*\$ (senti .*)$", done.stdout, re.M)
    of_command = [line for command, line in examples() if command == name]
    assert 2 <= len(of_command) <= 3
    # A long line is wrapped in the page.
    assert len(shown) == len(of_command)
    for flag in ("--json", "--quiet", "--traceback"):
        assert flag in done.stdout


@pytest.mark.usefixtures("engine_of_threads")
@pytest.mark.parametrize(("name", "line"), examples(), ids=[line for _, line in examples()])
def test_examples(name: str, line: str, folder: Path) -> None:
    words = shlex.split(line)[1:]
    if "-o" in words and (file := folder / words[words.index("-o") + 1]).is_file():
        file.unlink()  # of another test
    done = run(folder, *words)
    assert done.exit_code == 0, done.stderr
    assert done.stdout


# (name, arguments, exit code, part of stderr)
WRONG_CALLS = [
    ("no such file", ["evaluate", "runs/gpt", "none.csv"], 2, "none.csv"),
    ("no labels", ["evaluate", "runs/gpt", "test.csv"], 2, "--label-column"),
    ("no column", ["evaluate", "runs/gpt", "valid.csv", "--label-column", "mood"], 2, "no column 'mood'"),
    ("trained on", ["evaluate", "runs/gpt", "train.csv"], 2, "was trained on"),
    ("both modes", ["evaluate", "runs/gpt", "valid.csv", "--json", "-q"], 2, "exclude each other"),
    ("not five classes", ["evaluate", "runs/gpt", "valid.csv", "--binary"], 2, "needs labels 0 to 4"),
    ("unknown label", ["errors", "runs/gpt", "valid.csv", "--true", "good"], 2, "unknown label 'good'"),
    ("form", ["submit", "runs/gpt", "test.csv", "-o", "s.csv", "--form", "x"], 2, "movie-reviews, imdb"),
    ("one run", ["compare", "runs/gpt", "--data", "valid.csv"], 2, "two runs"),
    ("no data", ["compare", "runs/gpt", "runs/lstm"], 2, "--data FILE"),
    ("few replicates", ["compare", "gpt.npz", "lstm.npz", "--bootstrap", "9"], 2, "at least 100"),
    ("one member", ["ensemble", "runs/gpt", "--dev", "valid.csv", "-o", "e"], 2, "two runs"),
    ("dev", ["ensemble", "runs/gpt", "runs/lstm", "--dev", "train.csv", "-o", "e"], 2, "trained on"),
    ("kind", ["plot", "runs/gpt", "-o", "x.png", "--kind", "pie"], 2, "curves, rates"),
    ("suffix", ["plot", "runs/gpt", "-o", "x.gif"], 2, ".png, .svg or .pdf"),
    ("no curves", ["plot", "trees.txt", "-o", "x.png"], 2, "metrics.jsonl"),
    ("shares", ["data", "split", "valid.csv", "-o", "p", "--shares", "many"], 2, "0.8,0.2"),
    ("sum of shares", ["data", "split", "valid.csv", "-o", "p", "--shares", "0.5,0.1"], 2, "add up to 0.6"),
    ("by", ["data", "split", "valid.csv", "-o", "p", "--by", "luck"], 2, "group, hash, row"),
    ("as", ["data", "split", "valid.csv", "-o", "p", "--as", "xml"], 2, "csv, tsv, jsonl"),
    ("no trees", ["data", "sst", "valid.csv", "-o", "x.csv"], 2, "line 1"),
    ("both kinds", ["data", "sst", "trees.txt", "-o", "x.csv", "--phrases", "--binary"], 2, "exclude"),
    ("leaks", ["data", "check", "train.csv", "valid.csv", "--strict"], 1, "rows leaked"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "code", "part"), WRONG_CALLS, ids=[row[0] for row in WRONG_CALLS])
def test_wrong_calls(name: str, args: list[str], code: int, part: str, folder: Path) -> None:
    done = run(folder, *args)
    assert done.exit_code == code, done.stdout + done.stderr
    assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_evaluate_says_everything(folder: Path) -> None:
    value = run_json(folder, "evaluate", "runs/gpt", "valid.csv", "--memory", "train.csv", "--plots", "figs")
    assert value["schema"] == "senti.evaluate/1"
    wanted = {"n", "accuracy", "macro_f1", "weighted_f1", "quadratic_kappa", "mcc"}
    wanted |= {"log_loss", "ece", "brier"}
    wanted |= {"auroc", "intervals", "majority", "per_class", "confusion", "calibration", "unseen", "memory"}
    wanted |= {"lengths", "errors", "about"}
    assert wanted <= set(value)
    assert value["memory"]["n_remembered"] == value["unseen"]["n_seen"]
    for name in ("confusion", "calibration"):
        assert (folder / "figs" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "figs" / "confusion.csv").open(newline="") as file:
        matrix = [[int(cell) for cell in row[1:]] for row in list(csv.reader(file))[1:]]
    assert matrix == value["confusion"]["rows"]
    page = run(folder, "evaluate", "runs/gpt", "valid.csv", "--memory", "train.csv").stdout
    for part in (
        "always ",
        "unseen",
        "with memory",
        "Confusion",
        "Worst errors",
        "mean probability",
        "next  senti errors runs/gpt valid.csv",
        "temperature 1.500",
        "By length",
    ):
        assert part in page
    assert run(folder, "evaluate", "runs/gpt", "valid.csv", "-q").stdout.strip() == f"{value['accuracy']:.4f}"


def test_one_file_of_predictions_gives_the_same_numbers(folder: Path) -> None:
    value = run_json(folder, "evaluate", "runs/gpt", "valid.csv")
    compared = run_json(folder, "compare", "gpt.npz", "lstm.npz")
    assert (
        run(folder, "evaluate", "runs/gpt", "valid.csv", "-o", "again.npz", "--bootstrap", "0").exit_code == 0
    )
    assert (Predictions.load(folder / "again.npz").probs == Predictions.load(folder / "gpt.npz").probs).all()
    asked = run_json(folder, "compare", "runs/gpt", "runs/lstm", "--data", "valid.csv")
    assert compared == asked
    for key in ("accuracy", "macro_f1", "log_loss", "ece"):
        assert compared["runs"][0][key] == value[key]
    found = Predictions.load(folder / "gpt.npz")
    assert found.about["source"] == "valid.csv"
    difference = compared["differences"][0]["accuracy"]["difference"]
    assert difference == pytest.approx(compared["runs"][1]["accuracy"] - compared["runs"][0]["accuracy"])


def test_nothing_is_cut_in_a_pipe(folder: Path) -> None:
    long = folder / "runs" / ("a-run-with-a-long-name-" * 6)
    (folder / "runs" / "lstm").rename(long)
    page = run(folder, "compare", "runs/gpt", str(long), "--data", "valid.csv").stdout
    assert long.name in page
    assert "quadratic kappa" in page
    assert "…" not in page


def test_errors_are_wrong_and_sorted(folder: Path) -> None:
    value = run_json(folder, "errors", "runs/gpt", "valid.csv", "--top", "1000")
    found = value["errors"]
    assert len(found) == value["n_wrong"] > 5
    assert all(one["label"] != one["predicted"] for one in found)
    assert [one["p_label"] for one in found] == sorted(one["p_label"] for one in found)
    some = run_json(folder, "errors", "runs/gpt", "valid.csv", "--true", "0", "--answered", "1")["errors"]
    assert {(one["label"], one["predicted"]) for one in some} == {("0", "1")}


@pytest.mark.parametrize(
    ("form", "header"), [("movie-reviews", ["PhraseId", "Sentiment"]), ("imdb", ["Id", "Category"])]
)
def test_submissions_have_a_row_for_each_text(folder: Path, form: str, header: list[str]) -> None:
    done = run(folder, "submit", "runs/gpt", "test.csv", "-o", "s.csv", "--form", form)
    assert done.exit_code == 0, done.stderr
    with (folder / "s.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    with (folder / "test.csv").open(newline="", encoding="utf-8") as file:
        n = sum(1 for _ in csv.reader(file)) - 1
    assert rows[0] == header
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(n)]
    assert {row[1] for row in rows[1:]} == {"0", "1"}


def test_an_ensemble_stands_where_a_run_stands(folder: Path) -> None:
    value = run_json(folder, "ensemble", "runs/gpt", "runs/lstm", "--dev", "valid.csv", "-o", "runs/both")
    assert sum(one["weight"] for one in value["members"]) == pytest.approx(1)
    assert value["dev"]["log_loss"] <= min(one["log_loss"] for one in value["members"]) + 1e-6
    found = run_json(folder, "evaluate", "runs/both", "valid.csv")
    assert found["accuracy"] == value["dev"]["accuracy"]
    assert run(folder, "ensemble", "runs/both", "runs/gpt", "--dev", "valid.csv", "-o", "e").exit_code == 2


def test_check_counts_what_leaked(folder: Path) -> None:
    value = run_json(folder, "data", "check", "train.csv", "valid.csv")
    (leak,) = value["leaks"]
    assert leak["folded"] >= 3
    assert leak["exact"] <= leak["folded"]
    assert run(folder, "data", "check", "train.csv", "--strict").exit_code == 0


def test_stats_and_pictures(folder: Path) -> None:
    value = run_json(folder, "data", "stats", "train.csv", "valid.csv", "--plots", "figures")
    train = value["files"][0]
    assert train["rows"] == sum(train["labels"].values()) == 800
    assert train["lengths"]["p5"] <= train["lengths"]["p50"] <= train["lengths"]["max"]
    some = run_json(folder, "data", "stats", "train.csv", "--skip", "100", "--clean")["files"][0]
    assert some["rows"] == 700
    some = run_json(folder, "data", "check", "train.csv", "valid.csv", "--skip", "100", "--clean")
    assert some["files"][0]["n"] == 700
    for name in ("labels", "lengths"):
        assert (folder / "figures" / f"{name}.png").stat().st_size > 1000


def test_split_parts_read_back_and_say_their_leaks(folder: Path) -> None:
    value = run_json(
        folder, "data", "split", "valid.csv", "-o", "parts", "--as", "jsonl", "--shares", "0.6,0.2,0.2"
    )
    assert list(value["parts"]) == ["train", "valid", "test"]
    rows = sum(part["rows"] for part in value["parts"].values())
    with (folder / "valid.csv").open(newline="", encoding="utf-8") as file:
        assert rows == sum(1 for _ in csv.reader(file)) - 1
    by_hash = run_json(folder, "data", "split", "valid.csv", "-o", "hashed", "--by", "hash")
    assert by_hash["leaks"] == []


TONES = ("calm", "cross")
# Cells that reading as a text or a label would change, or that need quotes.
CASES = [
    [
        f"00{i}",
        f'He said "{i}",\nthen left<br />the {"good" if i % 2 else "bad"} shop {i * i}',
        f" {TONES[i % 2]}",
    ]
    for i in range(40)
]


def columns_of(path: Path) -> tuple[list[str], list[list[str]]]:
    """Returns the names and the rows of a written part."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in text.splitlines()]
        return list(records[0]), [list(one.values()) for one in records]
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ","))
    return rows[0], rows[1:]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_split_keeps_all_columns(tmp_path: Path, form: str) -> None:
    names = ["Case No", "Customer message", "Agent", "Tone"]
    rows = [[case, text, f"agent {i % 7}", tone] for i, (case, text, tone) in enumerate(CASES)]
    with (tmp_path / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows, ["0099", "no tone", "agent 1", ""]])
    named = ["--text-column", "Customer message", "--label-column", "Tone"]
    options = [*named, "--clean", "--unlabelled", "drop", "--by", "row", "--as", form]
    done = run(tmp_path, "data", "split", "cases.csv", *options, "-o", "parts", "--keep", "all")
    assert done.exit_code == 0, done.stderr
    assert shlex.join([*named, "--clean"]) in done.stdout
    paths = [tmp_path / "parts" / f"{name}.{form}" for name in ("train", "valid")]
    written = []
    for path in paths:
        found, some = columns_of(path)
        assert found == names
        written += some
        table = read_table(path, "Customer message", "Tone")
        assert (table.texts, table.labels) == ([row[1] for row in some], [row[3].strip() for row in some])
    assert sorted(written) == sorted(rows)
    done = run(tmp_path, "data", "split", "cases.csv", *options, "-o", "plain")
    assert done.exit_code == 0, done.stderr
    assert columns_of(tmp_path / "plain" / f"train.{form}")[0] == ["text", "label"]


def test_split_keeps_columns_without_names(tmp_path: Path) -> None:
    rows = [[case, tone, text] for case, text, tone in CASES]
    with (tmp_path / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    named = ["--text-column", "3", "--label-column", "2", "--no-header"]
    done = run(tmp_path, "data", "split", "cases.csv", *named, "--by", "row", "-o", "parts", "--keep", "all")
    assert done.exit_code == 0, done.stderr
    assert shlex.join(named) in done.stdout
    written = []
    for name in ("train", "valid"):
        first, others = columns_of(tmp_path / "parts" / f"{name}.csv")
        written += [first, *others]
    assert sorted(written) == sorted(rows)


@pytest.mark.parametrize("how", [["--label-separator", "|"], ["--label-columns", "slow,rude"]])
def test_split_keeps_several_labels_as_the_file_writes_them(tmp_path: Path, how: list[str]) -> None:
    lines = [f"{i},call number {i} was {i * i},slow|rude,{i % 2},1" for i in range(40)]
    (tmp_path / "calls.csv").write_text("\n".join(["no,text,tags,slow,rude", *lines, ""]), "utf-8")
    done = run(tmp_path, "data", "split", "calls.csv", *how, "--by", "row", "-o", "parts", "--keep", "all")
    assert done.exit_code == 0, done.stderr
    assert shlex.join(how) in done.stdout
    names, rows = columns_of(tmp_path / "parts" / "train.csv")
    assert names == ["no", "text", "tags", "slow", "rude"]
    assert {",".join(row) for row in rows} <= set(lines)
    again = run_json(tmp_path, "data", "split", "parts/train.csv", *how, "--by", "row", "-o", "again")
    assert sum(part["rows"] for part in again["parts"].values()) == len(rows)


def test_split_keeps_nothing_more_of_fixed_columns(tmp_path: Path) -> None:
    lines = [f"text number {i}\t{i % 2}" for i in range(40)]
    (tmp_path / "pairs.tsv").write_text("\n".join([*lines, ""]), "utf-8")
    run_json(tmp_path, "data", "split", "pairs.tsv", "--format", "pairs", "-o", "parts", "--keep", "all")
    assert columns_of(tmp_path / "parts" / "train.csv")[0] == ["text", "label"]


@pytest.mark.parametrize("kind", ["rates", "calibration", "labels", "lengths", "accuracy"])
def test_other_plots(folder: Path, kind: str) -> None:
    about = {"parameters": 9, "seconds": {"fit": 1}, "rows": {"valid": 5}, "valid": {"accuracy": 0.5}}
    (folder / "runs" / "gpt" / "run.json").write_text(json.dumps(about), "utf-8")
    runs = {"rates": ["runs/gpt"], "accuracy": ["runs/gpt"]}
    sources = {**runs, "calibration": ["gpt.npz", "lstm.npz"]}.get(kind, ["train.csv"])
    done = run(folder, "plot", *sources, "--kind", kind, "-o", "p.png", "-q")
    assert (done.exit_code, done.stdout) == (0, "p.png\n"), done.stderr
    assert (folder / "p.png").stat().st_size > 1000


# (arguments of senti plot, message)
WRONG_PLOTS: list[tuple[list[str], str]] = [
    (["--kind", "pie"], "--kind pie: expected one of curves, rates, accuracy"),
    (["--axis", "hours"], "--axis hours: expected step, epoch, seconds, tokens"),
    (["--kind", "confusion", "--axis", "step"], "has no choice of axes"),
    (["--kind", "rates", "--score", "val_loss"], "only curves show a score"),
]


@pytest.mark.parametrize(("args", "said"), WRONG_PLOTS, ids=[row[1] for row in WRONG_PLOTS])
def test_wrong_plots(folder: Path, args: list[str], said: str) -> None:
    done = run(folder, "plot", "runs/gpt", "-o", "p.png", *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_nothing_is_coloured_in_a_pipe(folder: Path) -> None:
    done = run(folder, "evaluate", "runs/gpt", "valid.csv")
    assert "\x1b" not in done.stdout + done.stderr


def test_each_command_can_do_what_its_error_says(tmp_path: Path) -> None:
    rows = "".join(f"{('a fine film', 'a dull one')[i % 2]} {i},{'pn'[i % 2]}\n" for i in range(20))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}no label here,\n,p\n")
    for words in (["stats", "a.csv"], ["check", "a.csv"], ["split", "a.csv", "--out", "parts"]):
        done = run(tmp_path, "data", *words)
        assert done.exit_code == 2
        assert all(word in done.stderr for word in ("line 22", "--unlabelled drop"))
        done = run(tmp_path, "data", *words, "--unlabelled", "drop", "--empty", "drop")
        assert done.exit_code == 0, done.stderr
        assert "1 row without label left out" in done.stderr
        assert "1 row with an empty text left out" in done.stderr
    # Hashes need no label.
    (tmp_path / "b.csv").write_text("text,label\na text of more than twenty letters,\nanother one,p\n")
    assert run_json(tmp_path, "data", "hashes", "b.csv", "--out", "hashes.txt")["texts"] == 2
