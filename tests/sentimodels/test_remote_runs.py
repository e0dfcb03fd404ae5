"""Runs of `senti` whose data, configuration and folders have URLs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import sentitok
from cli_parameters import call_with, paths_of
from senti_in_process import senti
from sentimodels import Classifier, resolve, train
from sentimodels.cli.app import build
from sentimodels.runs.families import FILES, with_local_copies
from sentitok.cli.remote_files import WRITTEN
from sentitok.datasets import TokenDataset

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")

ROWS = [
    (
        "positive" if i % 2 else "negative",
        f"{'great' if i % 2 else 'dull'} film number {i} of {i % 7} with {i % 5}",
    )
    for i in range(240)
]
TABLE = "label,text\n" + "".join(f"{label},{text}\n" for label, text in ROWS)


@pytest.fixture
def memory() -> Iterator[Any]:
    """The store in memory, with a table."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    fs.pipe("/d/reviews.csv", TABLE.encode())
    yield fs
    fs.store.clear()


def commands() -> Iterator[tuple[str, Any]]:
    """Each command of `senti` with its name."""

    def visit(name: str, one: Any) -> Iterator[tuple[str, Any]]:
        if hasattr(one, "commands"):
            for inner in list(one.commands):
                yield from visit(f"{name} {inner}".strip(), one.commands[inner])
        else:
            yield name, one

    yield from visit("", typer.main.get_command(build()))


def read_or_written(command: Any) -> list[str]:
    """The parameters of a command that are paths, or strings that name a file to read."""
    strings = [param.name for param in command.params if param.name == "file"]
    return [*dict.fromkeys(paths_of(command) + strings)]


@pytest.mark.parametrize("command", [name for name, one in commands() if read_or_written(one)])
def test_a_command_gets_local_paths_for_urls(
    command: str, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = dict(commands())[command]
    for name in read_or_written(one):

        def called(*, name: str = name, **values: Any) -> None:
            value = values[name][0] if isinstance(values[name], list) else values[name]
            path = Path(value)
            assert "://" not in str(value)
            if name in WRITTEN:
                path.write_text("written")
            else:
                assert path.read_text() == TABLE

        url = f"memory://out/{name}.json" if name in WRITTEN else "memory://d/reviews.csv"
        monkeypatch.setattr(one, "callback", called)
        with one.make_context(command, call_with(one, name, url)) as context:
            one.invoke(context)
        if name in WRITTEN:
            assert memory.cat(f"/out/{name}.json") == b"written", name


@pytest.mark.parametrize("section", FILES)
def test_every_file_of_a_configuration_may_be_a_url(section: str, memory: Any) -> None:
    memory.pipe("/d/more.csv", TABLE.encode())
    tree = {section: dict.fromkeys(FILES[section], "memory://d/reviews.csv"), "base": "memory://d/more.csv"}
    local = with_local_copies(tree)
    for path in [*local[section].values(), local["base"]]:
        assert Path(path).read_text() == TABLE
    several = with_local_copies({section: {FILES[section][0]: ["memory://d/*.csv", "here.csv"]}})
    assert [Path(path).name for path in several[section][FILES[section][0]]] == [
        "more.csv",
        "reviews.csv",
        "here.csv",
    ]


def test_token_shards_in_a_store_stay_a_folder(memory: Any) -> None:
    tokenizer = sentitok.train_bpe(texts=["low lower"], vocab_size=258, special_tokens=["<end>"])
    for part in ("0", "1"):
        sentitok.encode_files(
            texts=["low", "lower"], out_dir=f"memory://d/parts/{part}", tokenizer=tokenizer, separator="<end>"
        )
    local = with_local_copies({"data": {"corpus": ["memory://d/parts", "memory://d/parts/1/"]}})
    assert [len(TokenDataset(folder)) for folder in local["data"]["corpus"]] == [4, 2]


def test_a_run_in_a_store_is_trained_judged_and_resumed(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("label,text\npositive,a great one\nnegative,a dull one\n")
    done = senti("train", "memory://d/reviews.csv", "--arch", "nb", "-o", "memory://runs/nb", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "memory://runs/nb" in done.out
    config = memory.cat("/runs/nb/config.toml").decode()
    assert 'train = "memory://d/reviews.csv"' in config
    record = memory.cat("/runs/nb/training_data.json").decode()
    assert '"source": "memory://d/reviews.csv"' in record
    local = senti("train", "memory://d/reviews.csv", "--arch", "nb", "-o", "nb", cwd=tmp_path)
    assert local.code == 0, local.err
    assert memory.cat("/runs/nb/model.safetensors") == (tmp_path / "nb" / "model.safetensors").read_bytes()
    for args in (
        ["verify", "memory://runs/nb"],
        ["verify", "memory://runs/nb", "--data"],
        ["predict", "memory://runs/nb", "new.csv", "-o", "memory://out/answers.csv"],
        ["evaluate", "memory://runs/nb", "new.csv", "-o", "memory://out/scores.csv"],
        ["card", "memory://runs/nb", "-o", "memory://out/card.md"],
        ["train", "--config", "memory://runs/nb/config.toml", "-o", "memory://runs/again"],
        ["data", "split", "memory://d/reviews.csv", "-o", "memory://out/parts"],
    ):
        done = senti(*args, cwd=tmp_path)
        assert done.code == 0, (args, done.err)
        assert "sentitok-remote-" not in done.out + done.err, (args, done.out, done.err)
    for name in memory.find("/out") + memory.find("/runs"):
        assert b"sentitok-remote-" not in memory.cat(name), name
    assert Classifier.load("memory://runs/nb").predict(["great film"]) == ["positive"]
    done = senti("train", "memory://d/reviews.csv", "--arch", "nb", "-o", "memory://runs/nb", cwd=tmp_path)
    assert done.code == 2
    assert "memory://runs/nb" in done.err
    done = senti("train", "memory://d/none.csv", "--arch", "nb", "-o", "memory://runs/other", cwd=tmp_path)
    assert done.code == 2
    assert "memory://d/none.csv" in done.err


def test_python_trains_and_resumes_in_a_store(memory: Any, tmp_path: Path) -> None:
    config = resolve({"arch": "lstm", "data": {"train": "memory://d/reviews.csv"}, "train": {"epochs": 1}})
    # 2026-11-30: a URL as a path, as pathlib writes it
    about = train(config, Path("memory://runs/lstm"))
    assert about["fit"]["steps"] > 0
    assert Classifier.load("memory://runs/lstm").predict(["great film"])
    names = {Path(name).name for name in memory.find("/runs/lstm")}
    assert {"config.toml", "model.safetensors", "manifest.json"} <= names
    memory.pipe("/d/frame.csv", TABLE.encode())


def test_an_ensemble_in_a_store_finds_its_runs(memory: Any, tmp_path: Path) -> None:
    memory.pipe("/d/dev.csv", b"label,text\npositive,a great one\nnegative,a dull one\npositive,great\n")
    for name, arch in (("memory://runs/a", "nb"), ("memory://runs/b", "linear"), ("local", "nb")):
        done = senti("train", "memory://d/reviews.csv", "--arch", arch, "-o", name, cwd=tmp_path)
        assert done.code == 0, done.err
    for runs, out in (
        (["memory://runs/a", "memory://runs/b"], "memory://runs/both"),
        (["memory://runs/a", "local"], "here"),
        (["memory://runs/a", "local"], "memory://runs/mixed"),
    ):
        done = senti("ensemble", *runs, "--dev", "memory://d/dev.csv", "-o", out, cwd=tmp_path)
        assert done.code == 0, (runs, done.err)
        done = senti(
            "predict", out, "memory://d/dev.csv", "-o", "memory://out/p.csv", "--force", cwd=tmp_path
        )
        assert done.code == 0, (runs, done.err)
        assert senti("verify", out, cwd=tmp_path).code == 0
