"""Long benchmarks stop and go on: the runs they are made of, and the one of alignment from end to end."""

import gzip
import importlib
import itertools
import json
import lzma
import re
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelled_reviews
import shared_data
from parallel_numbers import number_pairs
from sentimodels.config import LanguageConfig
from sentimodels.data import Table
from sentimodels.runs.config import resolve
from sentimodels.runs.language import resolve_language

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
    return resolve_language({
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
    # What has finished is read: the clock is not asked.
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
    monkeypatch.setattr(align, "TARGET", tmp_path / "alignment.json")
    monkeypatch.setattr(sys, "argv", [*call, "--test"])
    align.main()
    found = json.loads((tmp_path / "alignment.json").read_text("utf-8"))
    assert "not measured: " in capsys.readouterr().out  # two seeds of three
    named = [found["config"]["base"], found["config"]["task"]["reward_run"], found["config"]["data"]["train"]]
    assert named == ["base-seed-0", "reward", "train.csv"]  # no folder of this machine
    first, second = (one["test"] for one in found["seeds"])
    assert first["before"]["reward_mean"] != second["before"]["reward_mean"]  # a base of its own
    gained = (first["gain"] + second["gain"]) / 2
    assert found["gain"]["value"] == pytest.approx(gained)
    assert found["gain"]["low"] < gained < found["gain"]["high"]
    assert bench("language_page").alignment(found).startswith("PPO on openings")


def test_reviews_are_written_and_cut_as_phrases_are(bench: Callable[[str], Any]) -> None:
    of = bench("as_phrases")
    review = "I don\u2019t think it's good.<br /><br />They CAN'T act;  he'll say it\u2019s fun."
    written = of.as_phrases(review)
    assert written == "I do n't think it 's good. They CA N'T act; he 'll say it 's fun."
    # What has the treebank's tokens stays as it is.
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
    """The small version of `bert.py`, of one model on one set, from the corpus to the page."""
    shared_data.folder()
    bert = bench("bert")
    call = ["bert.py", "kaggle:gpt", "--small", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*call, "--seconds", "0"])
    bert.main()
    assert bert.AGAIN in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", call)
    bert.main()
    page = capsys.readouterr().out
    for line in ("| gpt, next token | ", "points over the same model from nothing", "Not measured; type"):
        assert line in page
    result = json.loads((tmp_path / "pretrained-kaggle-gpt.json").read_text("utf-8"))
    assert set(result["dev"]["scores"]) == {"gpt", "gpt, next token"}
    assert all(len(of_seeds) == 2 for of_seeds in result["dev"]["scores"].values())
    # The same shape, tokenizer and settings, but for where the weights start.
    base = tmp_path / "bases" / "next-token"
    tree, other = (result["config"][kind] for kind in ("gpt", "gpt, next token"))
    assert other["train"].pop("init_from") == str(base)
    assert tree["data"].pop("tokenizer") == str(base / "tokenizer.json")
    assert [tree[name] for name in ("model", "data", "task")] == [
        other[name] for name in ("model", "data", "task")
    ]
    assert result["parameters"]["gpt"] == result["parameters"]["gpt, next token"]
    for kind, reached in result["tried"].items():
        assert len(reached) == 2
        config = result["config"][kind]
        way = f"embedding dropout {config['model']['embedding_dropout']:g}"
        assert reached[f"{config['optim']['lr']:g}, {way}"] == max(reached.values())
    monkeypatch.setattr(sys, "argv", [*call, "--list"])
    bert.main()
    assert "kaggle:gpt, next token: 3 of 3 runs are there" in capsys.readouterr().out


def test_what_judges_is_not_pre_trained_on(bench: Callable[[str], Any], tmp_path: Path) -> None:
    """A text that stands on two sides is left out of the corpus."""
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
    """What is trained on, what chooses and what judges."""
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
    monkeypatch.setattr(translate, "RESULTS", tmp_path)
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
    """From the files of the data to a result file; the pairs that choose are none of those that judge."""
    translate, call = bench("translate"), partial(translating, row)
    with monkeypatch.context() as clock:
        clock.setattr(translate, "after", lambda _: asked_often(2))
        assert translate.AGAIN in call("--seconds", "1")
    said = call("--seed", "0")
    assert '"bleu"' in said
    call("--seed", "1")
    assert call("--search").count("dev: beam") == 6
    call("--test", "--beam", "1")
    found = json.loads((tmp_path / f"{translate.ROWS[row].result}.json").read_text("utf-8"))
    assert (found["set"], found["row"]) == (row, "gpt" if row.endswith("gpt") else "seq2seq")
    assert [one["seed"] for one in found["seeds"]] == [0, 1]
    for one in found["seeds"]:
        assert (one["test"]["pairs"], one["dev"]["pairs"]) == (20, n_dev)
    mean = sum(one["test"]["bleu"] for one in found["seeds"]) / 2
    assert found["bleu"]["value"] == pytest.approx(mean)
    assert found["bleu"]["low"] <= mean <= found["bleu"]["high"]
    assert "| 2 of 3 |" in bench("translations").part(tmp_path)
    read = [translate.ROWS[row].files["train"].format(side) for side in ("en", "de")]
    assert found["config"]["data"]["train"] == read
    assert found["command"].endswith("--test --beam 1")


def test_seeds_of_another_machine_are_joined(
    bench: Callable[[str], Any],
    translating: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They stay as they were scored; what was measured otherwise is refused before anything is scored."""
    call, file = partial(translating, "multi30k"), tmp_path / "translation.json"
    call("--seed", "0")
    with pytest.raises(SystemExit, match="has no other seed to join; leave out --join"):
        call("--test", "--beam", "1", "--join")
    call("--test", "--beam", "1")
    found = json.loads(file.read_text("utf-8"))
    (one,) = found["seeds"]

    def elsewhere(**changed: Any) -> None:
        """Seed 1 alone, as of another machine, with a score of its own."""
        scored = {**one, "seed": 1, "test": {**one["test"], "bleu": 50.0}, **changed.pop("seed", {})}
        file.write_text(json.dumps({**found, **changed, "seeds": [scored]}), "utf-8")

    config = {**found["config"], "arch": "mamba"}
    signed = {**one["test"], "signatures": {"bleu": "tok:13a|version:1.0.0", "chrf": ""}}
    for changed, search, said in (
        ({}, "2", "seed 1 of translation.json cannot be joined: beam was 1 and is 2; without --join the"),
        ({"config": config, "config_sha256": bench("result").digest(config)}, "1", "mamba"),
        ({"seed": {"test": signed}}, "1", "sacrebleu is .*, not that of seed 1"),
    ):
        elsewhere(**changed)
        capsys.readouterr()
        with pytest.raises(SystemExit, match=said):
            call("--test", "--beam", search, "--join")
        assert "BLEU" not in capsys.readouterr().out
    elsewhere(seed={"device": "NVIDIA H100"})
    call("--test", "--beam", "1", "--join")
    joined = json.loads(file.read_text("utf-8"))
    assert [("scored" in each, each["seed"]) for each in joined["seeds"]] == [(False, 0), (True, 1)]
    assert joined["seeds"][1]["scored"] == {"date": found["date"], "commit": found["git"]}
    assert joined["bleu"]["seeds"] == 2
    assert joined["bleu"]["value"] == pytest.approx((one["test"]["bleu"] + 50) / 2)
    assert joined["bleu"]["low"] < joined["bleu"]["value"] < joined["bleu"]["high"]
    assert joined["command"].endswith("--test --join --beam 1")
    page = bench("translations").part(tmp_path)
    assert "| 2 of 3 |" in page
    assert "50.00 is of seed 1, scored before" in page
    assert re.search(r"\| \d+ of a CPU, \d+ of NVIDIA H100 \|", page)
    assert bench("bars").cpu_seconds(joined | {"seeds": joined["seeds"] * 2}) is None


def test_a_seed_scored_before_moves_with_those_here(bench: Callable[[str], Any]) -> None:
    """On drawn pairs it gains what the mean of those here gains; on all pairs it is what it was."""
    values = np.array([[1.0, 3.0], [2.0, 6.0], [4.0, 5.0]])  # (pairs, seeds here)

    def mean(weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights @ values / weights.sum(axis=1, keepdims=True))

    score = bench("translate").beside(mean, [7.0])
    drawn = np.array([[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    assert np.allclose(score(drawn), [[7 / 3, 14 / 3, 7.0], [1.0, 3.0, 7.0 + 2.0 - 3.5]])
    assert bench("translate").beside(mean, []) is mean
