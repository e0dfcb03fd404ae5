"""One rule for every command: a file that exists and would change is not replaced without --force."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from labelled_reviews import write
from language_runs import GPT_2, language_run
from senti_in_process import senti
from sentimodels.cli.app import build

# Command -> its call, what another call that gives other bytes has more, and files that it writes.
CALLS: dict[str, tuple[str, str, list[str]]] = {
    "predict": ("runs/nb other.csv -o new.csv", "--limit 3", ["new.csv"]),
    "errors": ("runs/bow wrong.csv -o new.csv", "--limit 30", ["new.csv"]),
    "evaluate": ("runs/nb other.csv --bootstrap 0 -o new.npz", "--limit 9", ["new.npz"]),
    "evaluate --plots": (
        "runs/nb other.csv --bootstrap 0 --plots new",
        "--limit 9",
        ["new/confusion.csv", "new/confusion.png", "new/calibration.png"],
    ),
    "submit": ("runs/nb ids.csv --text-column text --form imdb -o new.csv", "--where half=1", ["new.csv"]),
    "data split": ("reviews.csv -o new", "--seed 1", ["new/train.csv", "new/valid.csv"]),
    "data dump": ("grouped.csv --group-column group -o new.txt", "--limit 3", ["new.txt"]),
    "data hashes": ("reviews.csv -o new.txt", "other.csv", ["new.txt"]),
    "data suspects": ("noisy.csv --run runs/folds -o new.csv", "--limit 40", ["new.csv"]),
    "data sst": ("trees.txt -o new.csv", "--phrases", ["new.csv"]),
    "data stats": ("reviews.csv --plots new", "--limit 9", ["new/labels.png", "new/lengths.png"]),
    "generate": ("runs/gpt cat --seed 1 --max-new-tokens 4 -o new.txt", "--seed 2", ["new.txt"]),
    "translate text": ("runs/en-de test.en -o new.de", "--beam 1 --n-best 1 --json", ["new.de"]),
    "translate evaluate": ("runs/en-de test.en test.de -o new.de", "--alpha 9", ["new.de"]),
    "card": ("runs/nb -o new.md", "", ["new.md"]),
    "init": ("-o new.toml", "--arch gru", ["new.toml"]),
    "plot": ("reviews.csv --kind lengths -o new.svg", "other.csv", ["new.svg"]),
    "ensemble": ("runs/nb runs/bow --dev other.csv -o new", "runs/bow2", ["new/ensemble.json"]),
    "page": ("runs/nb -o new.html", "", ["new.html"]),
    "export": ("runs/gpt -o new", "", ["new/config.json", "new/model.safetensors"]),
}
# Their results take long, so one that may not replace another is kept next to it.
KEPT = ("predict", "errors", "evaluate", "submit", "generate", "translate", "plot")
# They write run directories: `test_replaced_runs.py`.
RUNS = {"train", "pretrain", "align", "distill", "sweep", "translate train", "import"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from parallel_numbers import small_translation, write_parts
    from sentimodels.runs.execute import train

    folder = tmp_path_factory.mktemp("made")
    write(folder / "reviews.csv")
    write(folder / "other.csv", 60, seed=7)
    rows = (folder / "other.csv").read_text()
    (folder / "wrong.csv").write_text(
        rows.replace(",pos\n", ",x\n").replace(",neg", ",pos").replace(",x", ",neg")
    )
    head, *lines = rows.splitlines()
    lines = [*lines[:10], *(line.replace("pos", "neg") for line in lines[10:20]), *lines[20:]]
    (folder / "noisy.csv").write_text("\n".join([head, *lines]))
    texts = [line.rpartition(",")[0] for line in rows.splitlines()[1:]]
    rows = "".join(f"{place},{text},{place % 2}\n" for place, text in enumerate(texts))
    (folder / "ids.csv").write_text(f"id,text,half\n{rows}")
    rows = "".join(f"{text},0,{place}\n" for place, text in enumerate(texts))
    (folder / "grouped.csv").write_text(f"text,label,group\n{rows}")
    (folder / "trees.txt").write_text("(3 (2 a) (3 (3 fine) (2 film)))\n")
    for name, arch in (("nb", "nb"), ("bow", "bow"), ("bow2", "bow")):
        args = ["--arch", arch, "--no-baseline", "-q", "--epochs", "1", "-o", f"runs/{name}"]
        done = senti("train", "reviews.csv", *args, *(["--lr", "0.3"] if name == "bow2" else []), cwd=folder)
        assert done.code == 0, done.err
    args = ["--arch", "nb", "--folds", "2", "-q", "-o", "runs/folds"]
    done = senti("train", "noisy.csv", *args, cwd=folder)
    assert done.code == 0, done.err
    language_run(folder / "runs" / "gpt", model=GPT_2)
    write_parts(folder)
    train(small_translation(folder, train={"epochs": 1}), folder / "runs" / "en-de")
    return folder


@pytest.mark.parametrize("name", CALLS)
def test_files_are_replaced_only_with_force(name: str, made: Path, tmp_path: Path) -> None:
    args, change, files = CALLS[name]
    folder = tmp_path / "folder"
    shutil.copytree(made, folder)
    call = [*name.partition(" --")[0].split(), *args.split()]
    other = [*call, *change.split()]
    first = senti(*call, cwd=folder)
    assert first.code == 0, first.err
    was = [(folder / file).read_bytes() for file in files]
    again = senti(*call, cwd=folder)
    assert again.code == 0, again.err
    assert [(folder / file).read_bytes() for file in files] == was
    there = set(folder.iterdir())
    assert not [path for path in there if "-new" in path.name]
    if not change:  # no option gives other bytes: the file is another's
        (folder / files[0]).write_bytes(b"mine")
        was[0] = b"mine"
    refused = senti(*other, cwd=folder)
    assert refused.code == 2, refused.err
    assert "--force" in refused.err.splitlines()[-1]
    assert files[0].partition("/")[0] in refused.err
    assert [(folder / file).read_bytes() for file in files] == was
    kept = set(folder.iterdir()) - there
    assert len(kept) == name.startswith(KEPT)
    assert all(path.name in refused.err for path in kept)
    forced = senti(*other, "--force", cwd=folder)
    assert forced.code == 0, forced.err
    assert (folder / files[0]).read_bytes() != was[0]


def _commands(group: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
    for key, command in getattr(group, "commands", {}).items():
        yield f"{name} {key}".strip(), {option for one in command.params for option in one.opts}
        yield from _commands(command, f"{name} {key}".strip())


def test_every_command_that_writes_is_here() -> None:
    writing = {
        f"{name}{' --plots' if option == '--plots' and '--out' in options else ''}": options
        for name, options in _commands(get_command(build()))
        for option in sorted({"--out", "--plots"} & options)
    }
    assert set(writing) == {*CALLS, *RUNS}
    assert {name for name, options in writing.items() if "--force" not in options} == {"import"}


@pytest.mark.parametrize("call", ["predict runs/nb other.csv", "card runs/nb", "data stats reviews.csv"])
def test_force_without_a_file_is_refused(call: str, made: Path) -> None:
    done = senti(*call.split(), "--force", cwd=made)
    assert done.code == 2
    assert "--force" in done.err


def test_scores_are_shown_though_their_file_is_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"mine")
    run, rows = made / "runs" / "nb", made / "other.csv"
    done = senti("evaluate", run, rows, "--bootstrap", "0", "-o", "a.npz", cwd=tmp_path)
    assert done.code == 2
    assert "accuracy" in done.out
    assert (tmp_path / "a.npz").read_bytes() == b"mine"
    assert "a-new.npz" in done.err
