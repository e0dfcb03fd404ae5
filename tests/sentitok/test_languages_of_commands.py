"""`train-bpe --balance` and `eval --parallel`: files by language."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import sentitok
from cli_runs import run, run_json
from sentitok.fairness import Fairness, fairness

TEXTS = {
    "en": "the right to life, liberty and security of person\n" * 9,
    "sw": "haki ya kuishi, uhuru na usalama wa nafsi yake\n" * 3,
    "el": "δικαίωμα στη ζωή, την ελευθερία και την προσωπική ασφάλεια\n" * 2,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of each language, one of two files, and their counts."""
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
        (tmp_path / f"{name}.dev.txt").write_text(text.splitlines()[0], "utf-8")
        sentitok.count(texts=text.splitlines(keepends=True), out=tmp_path / f"{name}.counts")
    return tmp_path


def test_command_trains_as_the_library_does(folder: Path) -> None:
    result = run_json(
        "train-bpe", "--balance", "parity", "en.txt", "sw=sw.txt", "Greek=el.txt", "--vocab", "300",
        "--development", "en.dev.txt", "--development", "sw=sw.dev.txt", "--development", "Greek=el.dev.txt",
        "--window", "5", "--alpha", "1.5", "--global-merges", "3", cwd=folder,
    )  # fmt: skip
    names = {"en": "en", "sw": "sw", "Greek": "el"}
    trained = sentitok.train_parity_bpe(
        {name: folder / f"{file}.txt" for name, file in names.items()},
        development={name: folder / f"{file}.dev.txt" for name, file in names.items()},
        variant="window", window_size=5, alpha=1.5, global_merges=3, vocab_size=300,
    )  # fmt: skip
    assert result["fingerprint"] == trained.fingerprint
    assert trained.report is not None
    assert result["languages"] == trained.report.languages


def test_counts_of_languages_equal_their_text(folder: Path) -> None:
    text = run_json("train-bpe", "--balance", "parity", "en.txt", "sw.txt", "--vocab", "300", cwd=folder)
    options = ("--counts", "en.counts", "--counts", "sw=sw.counts", "--vocab", "300", "-o", "b.json")
    counts = run_json("train-bpe", "--balance", "parity", *options, cwd=folder)
    assert counts["fingerprint"] == text["fingerprint"]
    ratios = run_json("train-bpe", "--balance", "parity", *options, "--ratio", "en=1", "--ratio", "sw=2.5",
                      "--force", cwd=folder)  # fmt: skip
    assert ratios["fingerprint"] != counts["fingerprint"]


def test_weights_count_text_several_times(folder: Path) -> None:
    options = ("train-bpe", "--balance", "parity", "--counts", "en.counts", "--counts", "sw.counts")
    weighted = run_json(*options, "x=3", "--vocab", "300", cwd=folder)
    thrice = sentitok.train_parity_bpe(
        {"en": folder / "en.txt", "sw": [folder / "sw.txt"] * 3}, vocab_size=300
    )
    assert weighted["fingerprint"] == thrice.fingerprint


def test_files_of_one_language_are_one_text(folder: Path) -> None:
    args = ("train-bpe", "--balance", "parity", "a=en.txt", "a=sw.txt", "b=el.txt", "--vocab", "290")
    languages: Any = run_json(*args, cwd=folder)["languages"]
    assert [one["language"] for one in languages] == ["a", "b"]


def test_summary_names_languages(folder: Path) -> None:
    done = run("train-bpe", "--balance", "parity", "en.txt", "sw.txt", "--vocab", "300", cwd=folder)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines() if "merges," in line] == ["en", "sw"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--balance", "fair", "en.txt"], ["--balance fair", "parity"]),
        (["--window", "3", "en.txt"], ["--window", "--balance"]),
        (["--global-merges", "3", "en.txt"], ["--global-merges", "--balance"]),
        (["--balance", "parity", "--alpha", "3", "en.txt"], ["--alpha", "--window"]),
        (["--balance", "parity", "en.txt", "--development", "sw=sw.txt"], ["--development", "sw", "en"]),
        (["--balance", "parity", "en.txt", "sw.txt", "--ratio", "en=1"], ["--ratio", "sw"]),
        (["--balance", "parity", "en.txt", "--ratio", "en=zero"], ["--ratio", "en=zero"]),
        (["--balance", "parity", "en.txt", "--ratio", "en=0"], ["--ratio", "en=0"]),
        (["--balance", "parity", "en.txt", "--ratio", "en=1", "--development", "en.txt"], ["--ratio"]),
        (["--balance", "parity", "en=-"], ["stdin"]),
        (["--balance", "parity", "--counts", "en=s3://bucket/en.counts"], ["en=s3:"]),
        (["--balance", "parity", "en.txt", "--checkpoint", "there"], ["--checkpoint", "count"]),
        (["--balance", "parity", "en.txt", "--dry-run"], ["--dry-run"]),
        (["--balance", "parity", "en.txt", "--byte-fallback"], ["--byte-fallback"]),
        (["--balance", "parity", "en.txt", "--method", "sentencepiece"], ["--method"]),
        (["--balance", "parity", "empty.txt", "en.txt"], ["empty", "its text"]),
        (["--balance", "parity", "gone.txt", "en.txt"], ["gone.txt"]),
        (["--balance", "parity", "en.txt"], ["--balance", "one language, en", "=reviews.txt"]),
        (["--balance", "parity", "a=en.txt", "a=sw.txt"], ["--balance", "one language, a"]),
        (
            ["--balance", "parity", "en.txt", "sw.txt", "--ratio", "en=1", "--ratio", "en=2"],
            ["en=2", "already"],
        ),
        (["sw=sw.txt", "en=en.txt"], ["sw=sw.txt", "--balance parity"]),
    ],
)
def test_train_refuses(folder: Path, args: list[str], words: list[str]) -> None:
    (folder / "empty.txt").touch()
    done = run("train-bpe", *args, cwd=folder)
    assert done.code == 2
    assert all(word in done.err for word in words), done.err
    assert len(done.err.splitlines()) == 1
    assert not (folder / "tokenizer.json").exists()


def gini(values: list[int]) -> float:
    """The definition: the mean difference of all pairs, over twice the mean."""
    mean = sum(values) / len(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * len(values) ** 2 * mean)


def test_fairness_equals_its_definition() -> None:
    numbers = random.Random(1)
    for n in (1, 2, 3, 10):
        tokens = {f"l{at}": numbers.randrange(1, 1000) for at in range(n)} | {"en": 50}
        found = Fairness.of_tokens(tokens)
        assert found.gini == pytest.approx(gini(list(tokens.values())))
        assert found.against == "en"
        assert found.tokens[found.worst] == max(tokens.values())
        assert found.tokens[found.best] == min(tokens.values())
        assert found.premium == {name: count / 50 for name, count in tokens.items()}
    assert Fairness.of_tokens({"a": 7, "b": 7}).gini == 0
    assert Fairness.of_tokens({"a": 9, "b": 7}).against == "b"
    assert Fairness.of_tokens({"a": 9, "b": 7}, "a").premium["b"] == 7 / 9


@pytest.mark.parametrize(
    ("tokens", "against", "words"),
    [({}, None, ["language"]), ({"a": 0}, None, ["'a'", "tokens"]), ({"a": 1}, "b", ["b", "a"])],
)
def test_fairness_refuses(tokens: dict[str, int], against: str | None, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"language|tokens|against") as caught:
        Fairness.of_tokens(tokens, against)
    assert all(word in str(caught.value) for word in words)


def test_command_measures_languages(folder: Path) -> None:
    tokenizers = {"one": 300, "two": 340}
    for name, size in tokenizers.items():
        sentitok.train_bpe(texts=[*TEXTS.values()], vocab_size=size).save(folder / f"{name}.json")
    names = ("one.json", "two.json")
    result: Any = run_json(
        "eval", *names, "--parallel", "en.txt", "Greek=el.txt", "--against", "Greek", cwd=folder
    )
    for found, name in zip(result["fairness"], names, strict=True):
        tokenizer = sentitok.Tokenizer.from_file(folder / name)
        texts = {"en": TEXTS["en"].splitlines(keepends=True), "Greek": TEXTS["el"].splitlines(keepends=True)}
        assert {"tokenizer": name, "vocab_size": tokenizer.vocab_size} | found == found
        expected = fairness(tokenizer, texts, against="Greek").as_dict()
        assert {key: found[key] for key in expected} == json.loads(json.dumps(expected))
    shown = run("eval", "one.json", "--parallel", "en.txt", "el.txt", cwd=folder)
    assert shown.code == 0, shown.err
    assert "Gini" in shown.out
    assert run("eval", "one.json", "--parallel", "en.txt", "-q", cwd=folder).out.strip() == "0.0000"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--parallel", "en.txt", "--against", "sw"], ["--against sw", "en"]),
        (["en.txt", "--against", "en"], ["--against", "--parallel"]),
        (["--parallel", "en.txt", "--per-file"], ["--per-file"]),
        (["--parallel", "en.txt", "no=empty.txt"], ["no", "empty"]),
    ],
)
def test_eval_refuses(folder: Path, args: list[str], words: list[str]) -> None:
    (folder / "empty.txt").touch()
    sentitok.train_bpe(texts=["a b"], vocab_size=256).save(folder / "one.json")
    done = run("eval", "one.json", *args, cwd=folder)
    assert done.code == 2, done.out
    assert all(word in done.err for word in words), done.err
