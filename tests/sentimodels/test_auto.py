"""`senti train` without an architecture: the choice, the first lines of output, and that it is kept."""

import re
import tomllib
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from labelled_reviews import write
from senti_in_process import senti
from sentimodels.config import RunConfig
from sentimodels.data import Table
from sentimodels.errors import ConfigError
from sentimodels.models import ARCHITECTURES
from sentimodels.runs import auto
from sentimodels.runs.auto import Texts, choose, estimate, order, without_architecture
from sentimodels.runs.families import resolve
from sentimodels.runs.tables import Tables

CHINESE = ["很好的手机", "质量太差", "物流很快", "不值这个价"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reviews.csv, and long.csv of enough rows for a network."""
    path = tmp_path_factory.mktemp("auto")
    write(path / "reviews.csv")
    write(path / "long.csv", 2_600)
    (path / "chinese.csv").write_text(
        "text,label\n" + "".join(f"{text}{i},{i % 2}\n" for i in range(5) for text in CHINESE), "utf-8"
    )
    return path


# Architectures that are tried first on some rows, and those of them that are quick on any.
FIRST = {name for name, row in ARCHITECTURES.items() if row.rank.some is not None}
BAGS = {name for name in FIRST if ARCHITECTURES[name].fits}


def _others() -> list[str]:
    """The networks that are tried last, those without a rank at the end."""
    names = (name for name, row in ARCHITECTURES.items() if not row.fits and name not in FIRST)
    return sorted(names, key=lambda name: ARCHITECTURES[name].rank.rest or len(ARCHITECTURES))


def tables(folder: Path, name: str = "reviews.csv") -> Tables:
    return Tables(resolve({"arch": "nb", "data": {"train": str(folder / name)}}).data)


# (rows, median of words, spaced, the first)
ORDER = [
    (500, 12, True, "nb"),
    (1_999, 12, True, "nb"),
    (2_000, 12, True, "gru"),
    (30_000, 59, True, "gru"),
    (30_000, 60, True, "nb"),
    (30_000, 12, False, "nb"),
]


@pytest.mark.parametrize(("n", "words", "spaced", "first"), ORDER)
def test_the_order_goes_by_rows_lengths_and_script(n: int, words: int, spaced: bool, first: str) -> None:
    found = order(Texts(n, words, spaced))
    assert found[0] == first
    assert set(found) <= set(ARCHITECTURES)
    assert len(set(found)) == len(found)
    assert set(found) >= BAGS  # something is always quick enough


def test_what_texts_are(folder: Path) -> None:
    plain, chinese = tables(folder).train, tables(folder, "chinese.csv").train
    assert Texts.of(plain).spaced
    assert 4 <= Texts.of(plain).n_words <= 14
    assert not Texts.of(chinese).spaced
    assert "words without spaces" in str(Texts.of(chinese))


def chosen(folder: Path, seconds: dict[str, float], *trees: dict[str, Any]) -> tuple[RunConfig, list[str]]:
    """Chooses with estimates that are given; a large table, so that networks come first."""
    notes: list[str] = []
    with patch("sentimodels.runs.auto.estimate", lambda config, _: seconds[config.arch]):
        found = choose(*trees, tables=tables(folder, "long.csv"), on_warning=notes.append)
    return found, notes


def test_the_first_that_fits_is_taken(folder: Path) -> None:
    seconds = {"gru": 90.0, "cnn": 40.0, "nb": 2.0, "bow": 3.0, "tfidf": 61.0}
    found, notes = chosen(folder, seconds)
    assert (found.arch, found.budget) == ("cnn", 60.0)
    assert found.estimates == seconds
    assert notes == [
        "arch auto: choosing the best for 2,340 texts (median 9 words) within 60 s of CPU (--budget)",
        "gru: about 90 s of CPU, over the budget",
        "cnn: about 40 s of CPU, chosen",
        "nb: about 2.0 s of CPU",
        "bow: about 3.0 s of CPU",
        "tfidf: about 61 s of CPU, over the budget",
        f"not compared: {', '.join(_others())}; a larger --budget compares more",
    ]
    assert found.accuracies == {}
    assert chosen(folder, seconds, {"budget": 100.0})[0].arch == "gru"
    assert resolve(found.tree()) == found
    assert tomllib.loads(found.to_toml())["estimates"] == found.estimates


# (estimates, accuracies on folds, budget, the choice, the compared architectures)
COMPARED: list[tuple[dict[str, float], dict[str, float], float, str, set[str]]] = [
    ({"gru": 2.0}, {"gru": 0.9, "nb": 0.8}, 60.0, "gru", FIRST),
    ({"gru": 2.0}, {"gru": 0.8, "nb": 0.9}, 60.0, "nb", FIRST),
    # A tie keeps the order; what costs too much is not compared.
    ({"gru": 2.0, "cnn": 55.0}, {"gru": 0.9, "nb": 0.9}, 50.0, "gru", FIRST - {"cnn"}),
    # Architectures that fit less than three times are compared on one fold, last.
    ({"gru": 30.0}, {"gru": 0.9, "cnn": 0.6, "nb": 0.95}, 60.0, "nb", FIRST),
    ({"gru": 30.0}, {"gru": 0.9, "cnn": 0.6, "nb": 0.8}, 60.0, "gru", FIRST),
    # It leads, but the budget does not hold another training.
    ({"gru": 40.0}, {"gru": 0.9, "cnn": 0.6, "nb": 0.8}, 60.0, "nb", FIRST),
    # Not even one fold fits in addition to the best.
    (
        {"gru": 58.0, "nb": 15.0},
        {"gru": 0.9, "cnn": 0.6, "nb": 0.8},
        60.0,
        "nb",
        FIRST - {"gru"},
    ),
    ({"gru": 90.0, "cnn": 80.0}, {"nb": 0.8, "tfidf": 0.9}, 60.0, "tfidf", BAGS),
]


@pytest.mark.parametrize(("seconds", "accuracies", "budget", "best", "compared"), COMPARED)
def test_what_fits_several_times_is_compared(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: dict[str, float],
    accuracies: dict[str, float],
    budget: float,
    best: str,
    compared: set[str],
) -> None:
    monkeypatch.setattr(auto, "_FEWEST", 2)
    monkeypatch.setattr(auto, "_rest", tuple)
    trained: list[str] = []

    def on_fold(config: RunConfig, _: Any, held: list[int]) -> tuple[float, float]:
        trained.append(config.arch)
        return accuracies.get(config.arch, 0.5), 0.8 * seconds.get(config.arch, 1.0)

    monkeypatch.setattr(auto, "_on_fold", on_fold)
    found, notes = chosen(folder, dict.fromkeys(ARCHITECTURES, 1.0) | seconds, {"budget": budget})
    assert (found.arch, set(found.accuracies)) == (best, compared)
    assert resolve(found.tree()) == found
    assert tomllib.loads(found.to_toml()).get("accuracies", {}) == found.accuracies
    assert next(line for line in notes if line.endswith(", chosen")).startswith(f"{best}: ")
    # Whatever is clearly behind takes no further folds.
    assert all(trained.count(name) < 5 for name in compared if accuracies.get(name, 0.5) == 0.5)


def test_a_comparison_trains_on_other_rows_than_it_judges(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "_FEWEST", 2)
    rows = tables(folder)
    seen: list[tuple[set[str], set[str]]] = []
    from sentimodels.runs.execute import train as real

    def train(config: RunConfig, out: Path, **given: Any) -> dict[str, Any]:
        made = given["tables"]
        seen.append((set(made.train.texts), set(made.test.texts)))
        assert made.valid is rows.valid
        return real(config, out, **given)

    monkeypatch.setattr(auto, "train", train)
    found = choose({"budget": 100.0, "model": {"char_ngrams": [2, 3], "c": 2.0}}, tables=rows)
    assert found.arch == "nb"
    assert len(seen) >= 5
    assert all(not judged & trained for trained, judged in seen)
    assert set.union(*(judged for _, judged in seen[:5])) == set(rows.train.texts)


def test_folds_have_the_same_scores_in_another_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, config = tables(folder), resolve({"arch": "tfidf", "budget": 5.0, "estimates": {"tfidf": 1.0}})
    monkeypatch.setattr(auto, "_LONG_FOLD", 0.0)
    alone, two = auto._Folds(rows, 1), auto._Folds(rows, 2)
    try:
        found = [[folds.score(config, fold, 9, 1.0)[0] for fold in range(5)] for folds in (alone, two)]
        assert found[0] == found[1]
        assert alone.seconds_elsewhere == 0 < two.seconds_elsewhere
        # Not begun where the time is too short for another, or the fold is: nobody waits for a process then.
        two._begun.clear()
        two.score(config, 0, 0.5, 1.0)
        monkeypatch.setattr(auto, "_LONG_FOLD", 2.0)
        two.score(config, 0, 9, 1.0)
        assert not two._begun
    finally:
        two.end()


def test_a_process_that_dies_costs_nothing_but_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, config = tables(folder), resolve({"arch": "nb", "budget": 5.0, "estimates": {"nb": 1.0}})
    monkeypatch.setattr(auto, "_LONG_FOLD", 0.0)
    monkeypatch.setattr(auto, "ProcessExecutor", _Dying)
    folds = auto._Folds(rows, 2)
    scores = [folds.score(config, fold, 9, 1.0)[0] for fold in range(2)]
    assert scores == [auto._on_fold(config, rows, held)[0] for held in folds.rows[:2]]


class _Dying(ThreadPoolExecutor):
    """Loses every task, as an executor does whose process is killed."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        lost: Future[Any] = Future()
        lost.set_exception(BrokenExecutor())
        return lost


def test_the_choice_is_that_of_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds that are begun for nothing cost no budget, and what is dropped is dropped as early."""
    seconds = dict.fromkeys(ARCHITECTURES, 2.0) | {"gru": 5.0}
    scores = {"gru": 0.8, "nb": 0.9, "cnn": 0.4}

    clock = [0.0]

    def elsewhere(config: RunConfig, _: Any, held: list[int]) -> tuple[float, float]:
        return scores.get(config.arch, 0.5) + len(held) % 3 / 100, 0.8 * seconds[config.arch]

    def on_fold(config: RunConfig, rows: Any, held: list[int]) -> tuple[float, float]:
        score, taken = elsewhere(config, rows, held)
        clock[0] += taken
        return score, taken

    monkeypatch.setattr(auto, "_on_fold", on_fold)
    monkeypatch.setattr(auto, "_elsewhere", elsewhere)
    monkeypatch.setattr(auto, "ProcessExecutor", ThreadPoolExecutor)
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("time.process_time", lambda: clock[0])
    for budget in (6.0, 20.0, 40.0, 60.0):
        made = []
        for processes in (1, 2):
            with patch("sentimodels.runs.auto.estimate", lambda config, _: seconds[config.arch]):
                notes: list[str] = []
                found = choose({"budget": budget}, tables=tables(folder, "long.csv"), processes=processes,
                               on_warning=notes.append)  # fmt: skip
            made.append((found, notes))
        assert made[0] == made[1]


def test_where_none_fits_the_quickest_is_taken(folder: Path) -> None:
    seconds = {"gru": 90.0, "cnn": 80.0, "nb": 63.0, "bow": 61.0, "tfidf": 62.0}
    found, notes = chosen(folder, seconds)
    assert found.arch == "bow"
    assert "none fits within 60 s of CPU; choosing bow, the fastest" in notes


# (tree, the choice)
GIVEN: list[tuple[dict[str, Any], str]] = [
    ({"model": {"filters": 8}}, "cnn"),  # the first that has the key
    ({"model": {"d_state": 8}}, "mamba"),
    ({"preset": "nano"}, "gru"),
    ({"train": {"epochs": 1}}, "gru"),
    ({"data": {"vocab_size": 300}}, "gru"),
    ({"arch": "auto", "budget": 5.0, "model": {"word_ngrams": 2}}, "bow"),
]


@pytest.mark.parametrize(("tree", "arch"), GIVEN)
def test_what_is_given_must_suit(tree: dict[str, Any], arch: str, folder: Path) -> None:
    assert chosen(folder, dict.fromkeys(ARCHITECTURES, 1.0), tree)[0].arch == arch


def test_settings_suit_the_script_unless_they_are_given(folder: Path) -> None:
    chinese, plain = tables(folder, "chinese.csv"), tables(folder)
    with patch("sentimodels.runs.auto.estimate", lambda *_: 1.0):
        found = choose(tables=chinese)
        assert (found.arch, found.tree()["model"]["c"]) == ("nb", 1.0)
        assert choose({"model": {"c": 5.0}}, tables=chinese).tree()["model"]["c"] == 5.0
        assert choose({"arch": "auto"}, tables=plain).tree()["model"]["c"] == 3.0


def test_few_rows_and_options_of_steps_take_a_network(folder: Path) -> None:
    with patch("sentimodels.runs.auto.estimate", lambda *_: 1.0):
        assert choose(tables=tables(folder)).arch == "nb"
        assert choose({"train": {"patience": 1}}, tables=tables(folder)).arch == "gru"
        assert choose({"optim": {"lr": 0.01}}, tables=tables(folder)).arch == "gru"


def test_keys_of_models_name_no_architecture_that_was_not_chosen() -> None:
    """(keys of the model, what the error names, what it does not)"""
    for model, words, other in (
        ({"dmodel": 3}, ["model.dmodel", "d_model", "gpt", "lstm"], "tfidf"),
        ({"zzzz": 3}, ["model.zzzz", "no architecture"], "tfidf"),
        ({"lr": 3}, ["model.lr", "optim.lr"], "tfidf"),
        ({"d_model": -3}, ["model.d_model", "-3"], "tfidf"),
        ({"d_state": 16, "n_heads": 2}, ["model.d_state", "model.n_heads", "--arch"], "tfidf"),
    ):
        with pytest.raises(ConfigError) as refused:
            without_architecture({"model": model})
        assert all(word in str(refused.value) for word in words), refused.value
        assert other not in str(refused.value)
    assert without_architecture({"model": {"d_state": 16}}).arch == "mamba"


def test_what_suits_none_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"optim\.lrr: unknown key; did you mean lr"):
        choose({"optim": {"lrr": 1}}, tables=tables(folder))
    with pytest.raises(ConfigError, match="budget 5: only --arch auto uses it"):
        resolve({"arch": "nb", "budget": 5.0})
    with pytest.raises(ConfigError, match="name an architecture"):
        resolve({"arch": "auto"})


@pytest.mark.parametrize("arch", ["nb", "bow", "cnn"])
def test_an_estimate_grows_with_the_work(arch: str, folder: Path) -> None:
    """Not a bar on time: twenty times the passes, or the rows, must not cost the same."""
    small = {"data": {"vocab_size": 300}} if arch == "cnn" else {}
    config = resolve({"arch": arch, **small, "train": {"threads": 1}})
    once = estimate(config, tables(folder))
    assert once > 0
    if arch == "cnn":
        more = config.model_copy(update={"train": config.train.model_copy(update={"epochs": 20 * 20})})
        assert estimate(more, tables(folder)) > 4 * once


def test_the_run_keeps_the_choice_and_can_be_had_again(folder: Path) -> None:
    """Bytes of the run are those of its configuration, and of a stopped one that is resumed."""
    common = ["--threads", "1", "--no-baseline"]
    done = senti("train", "reviews.csv", "-o", "runs/auto", "--budget", "90s", *common, cwd=folder)
    assert done.code == 0, done.err
    lines = done.err.splitlines()
    assert re.match(
        r"arch auto: choosing the best for 270 texts \(median \d+ words\) within 90 s of CPU", lines[0]
    )
    assert re.match(r"nb: about \d+\.\d s of CPU, chosen", lines[1])
    assert re.search(r"^estimated +nb \d+\.\d s, .*by arch auto$", done.out, re.M)
    file = folder / "runs" / "auto" / "config.toml"
    kept = tomllib.loads(file.read_text("utf-8"))
    assert (kept["arch"], kept["budget"]) == ("nb", 90.0)
    assert kept["estimates"].keys() == BAGS
    again = senti("train", "--config", file, "-o", "runs/again", cwd=folder)
    assert again.code == 0, again.err
    assert "arch auto" not in again.err
    weights = [folder / "runs" / name / "model.safetensors" for name in ("auto", "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_stopped_run_goes_on_with_its_choice(folder: Path) -> None:
    small = ["--set", "model.filters=8", "--set", "model.d_model=16", "--set", "data.vocab_size=300"]
    common = ["--threads", "1", "--no-baseline", "--epochs", "2", *small]
    assert senti("train", "reviews.csv", "-o", "runs/whole", *common, cwd=folder).code == 0
    asked = iter(range(1000))
    with patch("sentimodels.cli.launch.Stopper.__call__", lambda _: next(asked) == 20):
        done = senti("train", "reviews.csv", "-o", "runs/parts", *common, cwd=folder)
    assert done.code == 130, done.err
    config = (folder / "runs" / "parts" / "config.toml").read_bytes()
    done = senti("train", "--resume", "runs/parts", cwd=folder)
    assert done.code == 0, done.err
    assert "tfidf" not in done.out  # --no-baseline is kept
    assert (folder / "runs" / "parts" / "config.toml").read_bytes() == config
    weights = [folder / "runs" / name / "model.safetensors" for name in ("whole", "parts")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.mark.parametrize("time", ["0", "fast", "-5", "5d"])
def test_a_budget_is_a_time(time: str, folder: Path) -> None:
    done = senti("train", "reviews.csv", "--budget", time, cwd=folder)
    assert done.code == 2
    assert f"--budget {time}: expected a time above 0, as in 90s, 10m or 2h" in done.err


@pytest.mark.parametrize(
    ("accuracies", "leads"),
    [
        ([0.55, 0.60, 0.60, 0.65, 0.60], False),  # level
        ([0.70, 0.65, 0.70, 0.65, 0.70], True),
        ([0.70, 0.65], False),  # the same lead after two folds may be luck
        ([0.95, 0.95], True),
    ],
)
def test_few_folds_need_a_clear_lead(accuracies: list[float], leads: bool) -> None:
    texts = [f"text {row}" for row in range(100)]
    made = Tables.of(Table.of(texts, [str(row % 2) for row in range(100)]))
    config = resolve({"arch": "nb"})
    comparison = auto._Comparison(auto._Folds(made, 1), auto._Candidate(config, 1.0, [0.6] * 5))
    assert comparison._leads(auto._Candidate(config, 1.0, accuracies)) is leads
