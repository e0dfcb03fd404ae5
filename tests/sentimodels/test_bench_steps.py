"""Long benchmarks stop and resume: the runs they are made of, and the one of alignment from end to end."""

import gzip
import importlib
import itertools
import json
import lzma
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import labelled_reviews
import shared_data
from parallel_numbers import number_pairs
from sentimodels.config import LanguageConfig
from sentimodels.data import Table
from sentimodels.runs.families import LANGUAGE_MODEL, resolve

pytestmark = pytest.mark.slow  # a program of benches/, not of the package
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(ROOT / "benches" / "models")
    return importlib.import_module


def asked_often(times: int) -> Callable[[], bool]:
    """A clock that has run out once it was asked so many times."""
    asked = itertools.count(1)
    return lambda: next(asked) > times


def language(corpus: Path) -> LanguageConfig:
    labelled_reviews.write(corpus, 120)
    return LANGUAGE_MODEL.resolve({
        "arch": "gpt", "preset": "nano",
        "data": {"corpus": [str(corpus)], "format": "csv:text", "context": 16, "vocab_size": 300},
        "train": {"max_steps": 7, "batch_size": 4, "threads": 1, "save_every": 2},
    })  # fmt: skip


def test_a_step_that_was_stopped_goes_on_to_the_same_weights(
    bench: Callable[[str], Any], tmp_path: Path
) -> None:
    steps = bench("steps")
    config = language(tmp_path / "reviews.csv")
    whole = steps.pretrained(config, tmp_path / "whole", steps.after(None))
    assert whole["fit"]["steps"] == 7
    assert steps.pretrained(config, tmp_path / "parts", lambda: True) is None
    assert not (tmp_path / "parts").exists()
    calls = 0
    while steps.pretrained(config, tmp_path / "parts", asked_often(3)) is None:
        calls += 1
        assert calls < 10
    assert calls == 2
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert weights[0] == weights[1]
    # A finished step is read: the clock is not asked.
    assert steps.pretrained(config, tmp_path / "parts", lambda: True)["fit"]["steps"] == 7


def test_an_interrupted_step_keeps_its_time_and_goes_on(bench: Callable[[str], Any], tmp_path: Path) -> None:
    steps = bench("steps")
    config = language(tmp_path / "reviews.csv")

    def interrupt() -> bool:
        signal.raise_signal(signal.SIGINT)
        return False

    before = signal.getsignal(signal.SIGINT)
    asked = iter([lambda: False, lambda: False, interrupt])
    assert steps.pretrained(config, tmp_path / "run", lambda: next(asked, lambda: False)()) is None
    assert signal.getsignal(signal.SIGINT) is before
    assert steps.cpu_seconds(tmp_path / "run") > 0
    assert steps.pretrained(config, tmp_path / "run", steps.after(None))["fit"]["steps"] == 7


def test_a_classifier_goes_on(bench: Callable[[str], Any], tmp_path: Path) -> None:
    steps = bench("steps")
    labelled_reviews.write(tmp_path / "reviews.csv", 200)
    config = resolve({
        "arch": "encoder", "preset": "nano", "data": {"train": str(tmp_path / "reviews.csv")},
        "train": {"max_steps": 6, "threads": 1},
    })  # fmt: skip
    assert steps.trained(config, tmp_path / "run", asked_often(2)) is None
    about = steps.trained(config, tmp_path / "run", steps.after(600.0))
    assert about["fit"]["steps"] == 6
    assert "tfidf" not in about["baselines"]


def test_alignment_stops_anywhere_and_goes_on(
    bench: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In its base, in its reward and in itself; then it judges."""
    align = bench("align")
    for name, rows, seed in (("train", 200, 1), ("dev", 60, 2), ("test", 60, 3)):
        labelled_reviews.write(tmp_path / f"{name}.csv", rows, seed)
    monkeypatch.setattr(align, "after", lambda _: asked_often(9))
    more = ["task.reward=pos", "task.max_new_tokens=6", "data.opening_tokens=3", "data.n_held_out=20",
            "train.max_steps=12", "train.batch_size=8", "train.save_every=2"]  # fmt: skip
    monkeypatch.setattr(align, "SEEDS", 2)
    call = ["align.py", "--out", str(tmp_path), "--epochs", "40"]
    monkeypatch.setattr(sys, "argv", [*call, *itertools.chain(*(["--set", one] for one in more))])
    said = []
    for _ in range(24):
        align.main()
        said.append(capsys.readouterr().out)
        if align.AGAIN not in said[-1]:
            break
    assert 6 <= len(said) < 24
    assert all((tmp_path / f"ppo-seed-{seed}" / "samples.jsonl").is_file() for seed in range(2))
    monkeypatch.setattr(bench("result"), "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(sys, "argv", [*call, "--test"])
    align.main()
    (found,) = bench("result").results(tmp_path / "results.jsonl")
    config, found = found["settings"], found["scores"]
    assert "KL " in capsys.readouterr().out
    named = [config["base"], config["task"]["reward_run"], config["data"]["train"]]
    assert named == ["base-seed-0", "reward", "train.csv"]  # no folder of this machine
    first, second = (one["test"] for one in found["seeds"])
    assert first["before"]["reward_mean"] != second["before"]["reward_mean"]  # a base of its own
    gained = (first["gain"] + second["gain"]) / 2
    assert found["gain"]["value"] == pytest.approx(gained)
    assert found["gain"]["low"] < gained < found["gain"]["high"]


def test_reviews_are_written_and_cut_as_phrases_are(bench: Callable[[str], Any]) -> None:
    of = bench("as_phrases")
    review = "I don\u2019t think it's good.<br /><br />They CAN'T act;  he'll say it\u2019s fun."
    written = of.as_phrases(review)
    assert written == "I do n't think it 's good. They CA N'T act; he 'll say it 's fun."
    # Phrases with the treebank's tokens stay as they are.
    for phrase in ("It 's not , as they do n't say , a film .", "'s", "n't good", "rock 'n' roll"):
        assert of.as_phrases(phrase) == phrase
    cut = of.tokenizer_of([written, "it is good , n't it"] * 3, 200)
    ids = [cut.encode(text).ids.tolist() for text in ("Good, fun", "good ,  fun", "a good , fun")]
    assert ids[0] == ids[1] == ids[2][-len(ids[0]) :]


def test_pre_training_and_fine_tuning_stop_and_go_on(
    bench: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The small version of `bert.py`, of one model on one set, from the corpus to the result."""
    shared_data.folder()
    bert = bench("bert")
    call = ["bert.py", "kaggle:gpt", "--small", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*call, "--seconds", "0"])
    bert.main()
    assert bert.AGAIN in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", call)
    bert.main()
    assert "sealed, gpt, next token less gpt: " in capsys.readouterr().out
    (result,) = bench("result").results(tmp_path / "results.jsonl")
    of_dev = result["scores"]["dev"]["scores"]
    assert set(of_dev) == {"gpt", "gpt, next token"}
    assert all(len(of_seeds) == 2 for of_seeds in of_dev.values())
    # The same shape, tokenizer and settings, except for where the weights start.
    base = tmp_path / "bases" / "next-token"
    tree, other = (result["settings"][kind] for kind in ("gpt", "gpt, next token"))
    assert other["train"].pop("init_from") == str(base)
    assert tree["data"].pop("tokenizer") == str(base / "tokenizer.json")
    assert [tree[name] for name in ("model", "data", "task")] == [
        other[name] for name in ("model", "data", "task")
    ]
    assert result["parameters"]["gpt"] == result["parameters"]["gpt, next token"]
    for kind, reached in result["tried"].items():
        assert len(reached) == 2
        config = result["settings"][kind]
        way = f"embedding dropout {config['model']['embedding_dropout']:g}"
        assert reached[f"{config['optim']['lr']:g}, {way}"] == max(reached.values())
    monkeypatch.setattr(sys, "argv", [*call, "--list"])
    bert.main()
    assert "kaggle:gpt, next token: 3 of 3 runs are there" in capsys.readouterr().out


def test_what_judges_is_not_pre_trained_on(bench: Callable[[str], Any], tmp_path: Path) -> None:
    """A text that is on two sides is left out of the corpus."""
    steps = bench("pretrained_steps")

    def table(texts: list[str], groups: list[str] | None = None) -> Table:
        return Table(texts, ["0"] * len(texts), groups, None, Path("memory"), "")

    parts_of = steps.Parts
    made = steps.Bench(tmp_path, lambda: False)
    parts = {
        "imdb": parts_of(table(["A  film", "a plot", "alone"]), table(["a FILM"]), lambda: table(["A Plot"])),
        "kaggle": parts_of(table(["long phrase", "long"], ["1", "1"]), table(["x"]), lambda: table(["y"])),
    }
    made.parts = parts.__getitem__
    assert [json.loads(line)["text"] for line in made.corpus.read_text("utf-8").splitlines()] == [
        "alone", "long phrase",
    ]  # fmt: skip


def test_all_parts_are_written_as_phrases(
    bench: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts for training, for choosing and for judging."""
    steps = bench("pretrained_steps")

    def table(text: str) -> Table:
        return Table([text], ["1"], None, None, Path("memory"), "")

    def whole(_: Path) -> tuple[Any]:
        judged = table("It's<br />sealed")
        return (steps.Parts(table("It's<br />read"), table("It's<br />dev"), lambda: judged),)

    monkeypatch.setitem(steps.SETS, "imdb", whole)
    parts = steps.Bench(tmp_path, lambda: False).parts("imdb")
    texts = [part.texts for part in (parts.train, parts.dev, parts.sealed())]
    assert texts == [["It 's read"], ["It 's dev"], ["It 's sealed"]]
    assert parts.train.labels == ["1"]


@pytest.fixture
def translating(
    bench: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., str]:
    """The bench of translation on files of numbers, with small models: from a row and words to its output."""
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    translate = bench("translate")
    for seed, (part, n) in enumerate({"train": 200, "valid": 20, "test": 20}.items()):
        for side, lines in zip(("en", "de"), number_pairs(n, seed), strict=True):
            for of in (one for one in translate.ROWS.values() if part in one.files):
                path = tmp_path / of.files[part].format(side)
                path.parent.mkdir(exist_ok=True)
                packed = gzip.compress if path.suffix == ".gz" else lzma.compress
                path.write_bytes(packed("".join(f"{line}\n" for line in lines).encode()))
    monkeypatch.setenv("SENTITOK_DATA", str(tmp_path))
    monkeypatch.setattr(bench("result"), "RESULTS", tmp_path / "results.jsonl")
    small = ("data.vocab_size=300", "model.d_model=16", "model.n_layers=1", "model.n_heads=2",
             "train.precision=float32", "train.batch_tokens=300", "train.max_steps=5")  # fmt: skip
    given = ["--out", str(tmp_path / "run"), "--threads", "1", *(f"--set={one}" for one in small)]

    def call(row: str, *more: str) -> str:
        monkeypatch.setattr(sys, "argv", ["translate.py", row, *given, *more])
        translate.main()
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("row", "n_dev"), [("multi30k", 20), ("multi30k-gpu", 20), ("wmt-gpt", 9)]
)  # a twentieth of the sources
def test_translation_stops_goes_on_and_is_scored(
    bench: Callable[[str], Any],
    translating: Callable[..., str],
    row: str,
    n_dev: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the files of the data to a result file; no pair both chooses and judges."""
    translate, call = bench("translate"), partial(translating, row)
    with monkeypatch.context() as clock:
        clock.setattr(translate, "after", lambda _: asked_often(2))
        assert translate.AGAIN in call("--seconds", "1")
    said = call("--seed", "0")
    assert '"bleu"' in said
    call("--seed", "1")
    assert call("--search").count("dev: beam") == 6
    call("--test", "--beam", "1")
    found = list(bench("result").results(tmp_path / "results.jsonl"))
    assert [(one["row"], one["seed"]) for one in found] == [(f"translation:{row}", seed) for seed in (0, 1)]
    for one in found:
        assert one["settings"]["arch"] == ("gpt" if row.endswith("gpt") else "seq2seq")
        assert (one["scores"]["test"]["pairs"], one["scores"]["dev"]["pairs"]) == (20, n_dev)
        read = [translate.ROWS[row].files["train"].format(side) for side in ("en", "de")]
        assert one["settings"]["data"]["train"] == read
        assert one["command"].endswith("--test --beam 1")
