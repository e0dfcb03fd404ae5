"""The evidence of results: which parts choose and judge, what is stale or outdated, what counts again."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_results import made
from labelled_reviews import rows, tree
from sentimodels.data import Table
from sentimodels.runs.config import resolve

ROOT = Path(__file__).resolve().parents[2]


def parts_of(n: int, bench: Any, opened: list[str]) -> Any:
    """Three parts of small texts; the sealed part says when it is read."""
    made = rows(n)
    table = Table.of([f"{row} {text}" for row, (text, _) in enumerate(made)], [label for _, label in made])
    whole = bench.parts.of_whole(table)

    def sealed() -> Table:
        opened.append("sealed")
        found: Table = whole.sealed()
        return found

    return bench.parts.Parts(whole.train, whole.dev, sealed)


def test_parts_share_no_group(bench: Any) -> None:
    texts = [f"text {row}" for row in range(400)]
    table = Table.of(texts, [str(row % 2) for row in range(400)], [str(row // 4) for row in range(400)])
    whole = bench.parts.of_whole(table)
    groups = [set(part.groups) for part in (whole.train, whole.dev, whole.sealed())]
    assert [len(one) for one in groups] == [72, 8, 20]
    assert len(set.union(*groups)) == 100


def test_folds_seal_every_row_once(bench: Any) -> None:
    table = Table.of([f"text {row}" for row in range(100)], [str(row % 2) for row in range(100)])
    found = list(bench.parts.folds(table))
    assert sorted(text for one in found for text in one.sealed().texts) == sorted(table.texts)
    for one in found:
        assert len({*one.train.texts, *one.dev.texts, *one.sealed().texts}) == 100


@pytest.mark.parametrize("again", [False, True])
def test_sealed_rows_reach_neither_training_nor_choice(
    bench: Any, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spy on each training and each fit of a temperature: the sealed part is shut until they are done."""
    from sentimodels.runs import refit as refit_module
    from sentimodels.runs import train as train_module

    opened: list[str] = []
    given: set[str] = set()
    parts = parts_of(200, bench, opened)

    def spied(module: Any, name: str) -> None:
        real = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            opened.append(name)
            if tables := kwargs.get("tables"):
                for table in (tables.train, tables.valid, tables.test):
                    given.update([] if table is None else table.texts)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    spied(bench.train_one, "train")
    spied(refit_module, "train")
    spied(train_module, "fit_temperature")
    made = tree("cnn", tmp_path, train={"epochs": 2})
    config = resolve({**made, "data": {"vocab_size": 300}})
    found = bench.train_one.one(config, [parts], None, again, dict)
    assert opened[-1] == "sealed"
    assert opened.count("sealed") == 1
    assert opened.count("train") == (2 if again else 1)
    assert given == {*parts.train.texts, *parts.dev.texts}
    assert not given & set(parts.sealed().texts)
    assert found["scores"]["sealed"]["rows"] == 40
    assert ("ece_before" in found["scores"]["sealed"]) != again
    right = bench.result.unpack(found["sealed"]["right"])
    assert right.sum() / 40 == pytest.approx(found["scores"]["sealed"]["accuracy"])


def test_layers_matter_to_what_imports_them(bench: Any) -> None:
    """A file that an architecture reaches through others counts; one that it never runs does not."""
    reached = {
        arch: {path.name for path in bench.result.files_that_matter(arch) if path.parent.name != "text"}
        for arch in ("lstm", "gpt", "bow")
    }
    assert {"recurrent.py", "embedding.py", "classes.py", "pooling.py"} <= reached["lstm"]
    assert {"transformer.py", "attention.py", "cache.py", "turned_heads.py", "classes.py"} <= reached["gpt"]
    assert not reached["lstm"] & {"transformer.py", "attention.py", "ssm.py"}
    assert not set.union(*reached.values()) & {"cross_entropy.py", "next_token.py", "decoder.py"}


def test_code_of_students_is_no_code_of_classifiers(bench: Any) -> None:
    """A change of distillation leaves the results of labels alone; a task is hashed by each that needs it."""
    alone, taught = (bench.result.files_that_matter("lstm", taught=one) for one in (False, True))
    assert {path.name for path in set(taught) - set(alone)} == {"distillation.py"}
    assert bench.result.code_hash("lstm") != bench.result.code_hash("lstm", taught=True)
    tasks = sorted((ROOT / "python" / "sentimodels" / "tasks").glob("*.py"))
    assert set(tasks) <= set(taught), "a new task is a row of MATTERS, or of what stands beside it"
    for path in set(tasks) & set(alone):
        assert "distillation" not in path.read_text("utf-8"), path.name


# (what is changed, what is said)
STALE: list[tuple[str, str]] = [
    ("config", "config: model.max_features was 7, is"),
    ("hash", "does not have the hash that it states"),
    ("data", "data: dev is not what it was"),
    ("code", "the code has changed since commit 000000000"),
    ("dirty", "python/sentimodels/text/words.py: was not as in the commit"),
    ("commit", "of no commit"),
]


@pytest.mark.parametrize(("what", "said"), STALE)
def test_stale_results_are_refused(bench: Any, what: str, said: str) -> None:
    result = made(bench, "kaggle", "tfidf", 0, 0.6)
    config = resolve(bench.rows.TFIDF.tree)
    data = json.loads(json.dumps(result["data"]))
    assert bench.result.stale(result, config, data) == []
    match what:
        case "config":
            result["config"]["model"]["max_features"] = 7
            result["config_sha256"] = bench.result.digest(result["config"])
        case "hash":
            result["config_sha256"] = "0"
        case "data":
            data["dev"]["sha256"] = "other"
        case "code":
            result["stamp"]["code"] = "other"
        case "dirty":
            result["stamp"]["changed"] = ["python/sentimodels/text/words.py"]
        case "commit":
            result["stamp"]["commit"] = None
    (reason,) = bench.result.stale(result, config, data)
    assert said in reason


def test_a_refused_result_says_what_to_type(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.run_all, "RESULTS", tmp_path)
    monkeypatch.setattr(bench.run_all, "ROOT", tmp_path)
    parts = {part: {"rows": 5, "sha256": part} for part in ("train", "dev", "sealed")}
    monkeypatch.setattr(bench.run_all, "fingerprints", lambda name, data: parts)
    result = made(bench, "kaggle", "tfidf", 0, 0.6)
    result["stamp"]["code"] = "other"
    for name, one in (("tfidf", result), ("nb", made(bench, "kaggle", "nb", 0, 0.6))):
        bench.result.write(bench.result.path_of(tmp_path, "kaggle", name, 0), one)
    found, refused = bench.run_all.collected(tmp_path)
    assert list(found) == [("kaggle", "nb")]
    ((name, reasons),) = refused.items()
    assert name == "kaggle/tfidf-seed-0.json"
    assert reasons[-1] == "type: python benches/models/run_all.py 'kaggle:tfidf'"
    page = bench.results_page.page(found, None, {})
    assert "| kaggle: tfidf | 0 of 1 | `python benches/models/run_all.py 'kaggle:tfidf'` |" in page


# (what is changed, what is said)
OUTDATED: list[tuple[str, list[str]]] = [
    ("nothing", []),
    ("settings", ["config: steps was 60, is 20"]),
    ("hash", ["its configuration does not have the hash that it states"]),
    ("data", ["data: texts.txt is not what it was"]),
    ("other data", ["data: more.txt is not what it was"]),
    ("gone", []),
    ("old", ["it does not say its config_sha256"]),
]


@pytest.mark.parametrize(("what", "said"), OUTDATED)
def test_a_measurement_of_other_settings_or_data_is_outdated(
    bench: Any, what: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENTITOK_DATA", str(tmp_path))
    for name in ("texts.txt", "more.txt"):
        (tmp_path / name).write_text(name)
    files, settings = ["texts.txt"], {"steps": 60, "sizes": (1, 2)}
    result = bench.result.origin(settings, files)
    match what:
        case "settings":
            settings = {**settings, "steps": 20}
        case "hash":
            result["config_sha256"] = "0"
        case "data":
            (tmp_path / "texts.txt").write_text("others")
        case "other data":
            files = ["texts.txt", "more.txt"]
        case "gone":  # where the data is not, it is not compared
            (tmp_path / "texts.txt").unlink()
        case "old":
            del result["config_sha256"]
    assert bench.result.outdated(result, settings, files) == said
    unknown = [] if what == "settings" else said  # settings that other runs decide have but their hash
    assert bench.result.outdated(result, None, files) == unknown


def test_a_pre_trained_model_of_another_recipe_is_outdated(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What made its base and chose its rate is compared, though the base itself is no file of the project."""
    rows = bench.origins.recipe.__globals__
    result = bench.result.read(bench.result.RESULTS / "pretrained-kaggle-gpt.json")
    check = bench.origins.CHECKS["pretrained-kaggle-gpt"]
    assert check(result) == []
    monkeypatch.setitem(rows["OF_ARCH"], "gpt", {"model": {"pooling": "mean", "causal": True}})
    assert check(result) == ["config: classifier.model.pooling was mean-max, is mean"]


def test_no_page_is_written_from_what_is_outdated(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench.run_all, "collected", lambda data: ({}, {}))
    monkeypatch.setattr(bench.run_all, "mr_job", lambda found: None)
    monkeypatch.setattr(bench.origins, "refused", lambda folder: {"onnx.json": ["cnn: config: steps was 20"]})
    assert bench.run_all.pages(tmp_path) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "refused onnx.json: cnn: config: steps was 20" in told.err
    assert "no page is written: measure onnx.json again, or delete them" in told.err


def test_comments_make_nothing_stale(bench: Any) -> None:
    meaning = bench.result.meaning
    plain = "def f(x):\n    return x + 1\n"
    assert meaning('"""Says."""\n# why\ndef f(x):\n    """Adds."""\n    return x+1\n') == meaning(plain)
    assert meaning(plain.replace("1", "2")) != meaning(plain)
    refuses = "def f(x):\n    raise ValueError(f'{x} is odd')\n"
    assert meaning(refuses.replace("odd", "not even")) == meaning(refuses)
    assert meaning(refuses.replace("ValueError", "TypeError")) != meaning(refuses)


def test_code_shown_to_make_the_same_numbers_counts(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = made(bench, "kaggle", "tfidf", 0, 0.6)
    now, result["stamp"]["code"] = result["stamp"]["code"], "first"
    config = resolve(bench.rows.TFIDF.tree)

    def reasons(*steps: tuple[str, str]) -> list[str]:
        shown = [{"from": {"code": then}, "to": {"code": code}} for then, code in steps]
        monkeypatch.setattr(bench.result, "unchanged", lambda: shown)
        found: list[str] = bench.result.stale(result, config, result["data"])
        return found

    assert reasons(("first", now)) == []
    assert reasons(("second", now), ("first", "second"), ("second", "first")) == []
    assert reasons(("first", "second"), (now, "first"))
    assert reasons(("other", now))


def test_code_is_the_same_where_its_meaning_is(bench: Any, tmp_path: Path) -> None:
    import unchanged

    package = tmp_path / "python" / "sentimodels"
    shutil.copytree(ROOT / "python" / "sentimodels", package, ignore=shutil.ignore_patterns("__pycache__"))
    run = package / "runs" / "train.py"

    def same(source: str) -> bool:
        bench.result.code_hash.cache_clear()
        run.write_text(source, encoding="utf-8")
        return unchanged.same_code(tmp_path, "cnn") and unchanged.same_code(tmp_path, "cnn", taught=True)

    source = run.read_text("utf-8")
    assert same(f"{source}# A comment.\n")
    assert not same(f"{source}more = 1\n")
    assert same(source)
    (package / "evaluation" / "selection.py").unlink()
    assert not same(source)


def test_a_rate_is_taken_only_for_a_gain_beyond_chance(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tune

    assert tune.chosen({0.5: 0.60, 1: 0.61, 2: 0.612}) == 1
    assert tune.chosen({0.5: 0.60, 1: 0.61, 2: 0.62}) == 2
    assert tune.chosen({0.5: 0.63, 1: 0.61, 2: 0.62}) == 0.5
    monkeypatch.setattr(bench.rows, "TUNING", tmp_path / "tuning.json")
    monkeypatch.setattr(bench.results_page, "TUNING", tmp_path / "tuning.json")
    row = bench.rows.Row("mine", {"arch": "cnn", "optim": {"clip": 2}}, 1)
    assert bench.rows.tuned(row) is row
    assert bench.results_page.tuning_text() == "None of them was tuned."
    rows = {"mine": {"factor": 2, "lr": 0.004}, "other": {"factor": 1, "lr": 0.1}}
    (tmp_path / "tuning.json").write_text(json.dumps({"rows": rows}))
    assert bench.rows.tuned(row).tree == {"arch": "cnn", "optim": {"clip": 2, "lr": 0.004}}
    text = bench.results_page.tuning_text()
    assert "1 of 2 took another: `mine` 0.004. Not yet: `cnn`, `rnn`, " in text


def test_the_recipe_for_mr_is_chosen_on_dev_of_other_sets(bench: Any) -> None:
    found = {}
    for of_set in bench.rows.CHOOSES_FOR_MR:
        for name, row in bench.rows.rows_of(of_set).items():
            level = 0.8 if name == "nb" else 0.7
            found[of_set, name] = [made(bench, of_set, name, seed, level) for seed in range(row.seeds)]
    assert bench.run_all.chosen_for_mr(found) == "nb"
    for results in found.values():  # sealed parts have no say
        for one in results:
            one["scores"] = {**one["scores"], "sealed": {**one["scores"]["sealed"], "accuracy": 0.1}}
    found["imdb", "bow"][0]["scores"]["sealed"]["accuracy"] = 1.0
    assert bench.run_all.chosen_for_mr(found) == "nb"
    assert len(found["imdb", "bow"]) > 1
    last = found["imdb", "bow"].pop()
    assert bench.run_all.chosen_for_mr(found) is None  # not before all seeds are there
    found["imdb", "bow"].append(last)
    del found["yelp", "nb"]
    assert bench.run_all.chosen_for_mr(found) is None


def test_counts_survive_packing(bench: Any) -> None:
    counts = np.random.default_rng(0).integers(0, 60_000, 500)
    assert (bench.result.unpack(bench.result.pack(counts)) == counts).all()
