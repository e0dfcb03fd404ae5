"""Wrong labels: out-of-fold answers, confident learning, and `senti data suspects`."""

import csv
import json
import random
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.main import get_group

from browser import HOSTILE, browser, check_look
from labelled_reviews import rows
from senti_in_process import senti
from sentimodels.cli.app import build
from sentimodels.data import Table
from sentimodels.data.label_sets import LabelSets
from sentimodels.data.leaks import disagreements
from sentimodels.data.readers import read_table
from sentimodels.data.table import Labels
from sentimodels.evaluation.predictions import Predictions
from sentimodels.evaluation.suspects import ranked, suspects
from sentimodels.predictor import load_predictor
from sentimodels.runs import drop_suspects, out_of_fold

N, FLIPPED = 240, 12
OTHER = {"pos": "neg", "neg": "pos"}


def planted() -> tuple[list[tuple[str, str]], set[int]]:
    """Rows with some labels exchanged, and the places of those."""
    drawn = rows(N)
    wrong = set(random.Random(3).sample(range(N), FLIPPED))
    return [(t, OTHER[label] if at in wrong else label) for at, (t, label) in enumerate(drawn)], wrong


def write(path: Path, found: list[tuple[str, str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *found])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with reviews.csv, of which some labels are wrong, and a cross-validation of it."""
    path = tmp_path_factory.mktemp("suspects")
    write(path / "reviews.csv", planted()[0])
    done = senti("train", "reviews.csv", "--arch", "nb", "--folds", "3", "-o", "runs/folds", "-q", cwd=path)
    assert done.code == 0, done.err
    return path


def found_in(folder: Path, *args: str) -> dict[str, Any]:
    done = senti("data", "suspects", "reviews.csv", "--run", "runs/folds", "--json", *args, cwd=folder)
    assert done.code == 0, done.err
    value: dict[str, Any] = json.loads(done.out)
    return value


def of(probs: list[list[float]], truth: list[Any], labels: Labels | None = None) -> Predictions:
    texts = [f"text {place}" for place in range(len(truth))]
    given = np.array(probs, np.float32)
    return Predictions(labels or Labels(["a", "b", "c"]), given, np.array(truth, np.int64), texts)


def test_a_label_is_suspect_where_another_reaches_its_mean_probability() -> None:
    # Thresholds: a 0.5 (0.9, 0.1), b 0.8 (0.8), c 0.4 (0.7, 0.3, 0.2).
    of_a, of_b = [[0.9, 0.05, 0.05], [0.1, 0.85, 0.05]], [[0.1, 0.8, 0.1]]
    of_c = [[0.2, 0.1, 0.7], [0, 0.7, 0.3], [0.7, 0.1, 0.2]]
    found = suspects(of([*of_a, *of_b, *of_c], [0, 0, 1, 2, 2, 2]))
    assert [(one.row, one.label, one.likelier) for one in found] == [(1, "a", "b"), (5, "c", "a")]
    assert found[0].p_label == pytest.approx(0.1)
    assert found[0].p_likelier == pytest.approx(0.85)


def test_all_rows_are_ranked_suspects_first() -> None:
    probs = [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.4, 0.6, 0], [0.05, 0.95, 0]]
    ranking = ranked(of(probs, [0, 0, 1, 1]))
    assert ranking.order.tolist() == [1, 2, 0, 3]
    assert ranking.contradicted.tolist() == [False, True, False, False]


def test_suspects_are_ranked_by_how_many_times_likelier_another_label_is() -> None:
    sure = [[0.6, 0.2, 0.1, 0.1], [0.2, 0.6, 0.1, 0.1], [0.4, 0.39, 0.2, 0.01], [0.2, 0.15, 0.25, 0.4]]
    ranking = ranked(
        of([*sure, [0.3, 0.6, 0.05, 0.05], [0.01, 0.3, 0.3, 0.39]], [0, 1, 2, 3, 0, 0], Labels([*"abcd"]))
    )
    assert ranking.order[:2].tolist() == [5, 4]


def test_a_label_without_a_row_is_never_likelier() -> None:
    assert suspects(of([[0.1, 0.1, 0.8], [0.1, 0.2, 0.7]], [0, 1])) == []


def test_each_of_several_labels_is_judged_alone() -> None:
    labels = LabelSets.of_sets(['["x"]', '["y"]'], "|")
    probs = [[0.9, 0.1], [0.9, 0.2], [0.1, 0.9], [0.2, 0.95], [0.85, 0.9]]
    found = suspects(of(probs, [[1, 0], [0, 0], [0, 1], [0, 1], [1, 0]], labels))
    assert [(one.row, one.label, one.likelier) for one in found] == [(1, [], ["x"])]
    assert found[0].p_likelier == pytest.approx(0.9)


def test_texts_with_different_labels() -> None:
    near = "the plot of this film is thin and the cast of this film is wooden and the end is plain silly"
    texts = ["Fine film", "fine  film", "dull", f"{near} too", near, "fine film", f"{near} too"]
    found = disagreements(Table.of(texts, ["1", "0", "0", "0", "1", "1", "0"]))
    assert [(one.kind, one.row, one.other_row) for one in found] == [("folded", 1, 0), ("near", 4, 3)]
    assert (found[1].label, found[1].other_label) == ("1", "0")


def test_out_of_fold_answers_are_those_of_the_run_that_left_the_row_out(folder: Path) -> None:
    table, answers = out_of_fold.load(folder / "runs" / "folds", read_table(folder / "reviews.csv"))
    assert table.numbers == list(range(N))
    for fold in range(3):
        run = folder / "runs" / "folds" / f"fold-{fold}"
        places = np.load(run / "out_of_fold.npz")["rows"]
        given = load_predictor(run).predict_proba([table.texts[place] for place in places.tolist()])
        np.testing.assert_allclose(answers.probs[places], given, atol=1e-5)


def test_planted_labels_are_found(folder: Path) -> None:
    wrong = planted()[1]
    _, answers = out_of_fold.load(folder / "runs" / "folds", read_table(folder / "reviews.csv"))
    assert len(wrong & set(ranked(answers).order[:FLIPPED].tolist())) >= 0.9 * FLIPPED
    value = found_in(folder)
    assert {one["row"] - 1 for one in value["suspects"]} <= wrong
    assert all(one["likelier"] == OTHER[one["label"]] for one in value["suspects"])
    assert value["n"] == N
    assert sum(pair["n"] for pair in value["pairs"]) == value["n_suspects"] == len(value["suspects"]) > 1


def test_without_a_group_rows_are_judged_by_models_that_did_not_see_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = senti("data", "suspects", "reviews.csv", "--json", cwd=folder)
    assert done.code == 0, done.err
    value, wrong = json.loads(done.out), planted()[1]
    found = {one["row"] - 1 for one in value["suspects"]}
    assert (value["n"], value["run"]) == (N, "nb and bow")
    assert found <= wrong
    assert senti("data", "suspects", "reviews.csv", "--json", cwd=folder).out == done.out
    from sentimodels.runs import judging

    real, seen = judging.bag_logits, []

    def watched(config: Any, tables: Any, texts: list[str]) -> Any:
        seen.append((config.arch, set(texts)))
        assert not set(texts) & set(tables.train.texts)
        return real(config, tables, texts)

    monkeypatch.setattr(judging, "bag_logits", watched)
    table = read_table(folder / "reviews.csv")
    _, answers = out_of_fold.of_bags(table)
    assert len(wrong & set(ranked(answers).order[:FLIPPED].tolist())) >= 0.9 * FLIPPED
    for arch in out_of_fold.BAGS:
        assert set.union(*(texts for name, texts in seen if name == arch)) == set(table.texts)


def test_without_a_group_labels_of_one_row_are_not_judged(tmp_path: Path) -> None:
    write(tmp_path / "r.csv", [*rows(60), ("a film of its own kind", "odd")])
    done = senti("data", "suspects", "r.csv", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["n"] == 60
    done = senti("data", "suspects", "r.csv", cwd=tmp_path)
    assert "a cross-validation of nb and bow" in done.err
    assert "1 row of r.csv in no fold" in done.err
    write(tmp_path / "r.csv", [(text, "pos") for text, _ in rows(20)])
    done = senti("data", "suspects", "r.csv", cwd=tmp_path)
    assert (done.code, "'pos'" in done.err) == (2, True)
    cells = {"pos": "film|good", "neg": "film"}
    write(tmp_path / "r.csv", [(text, cells[label]) for text, label in rows(60)])
    done = senti("data", "suspects", "r.csv", "--label-separator", "|", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["n"] == 60


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_suspects_are_written(suffix: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / f"suspects{suffix}"
    value = found_in(folder, "--top", "1", "-o", str(out))
    table = read_table(out, "text", "label", keep=["row", "likelier"])
    assert len(table) == value["n_suspects"] > len(value["suspects"]) == 1
    every = planted()[0]
    rows_there = [every[int(row) - 1] for row in table.kept["row"]]
    assert rows_there == list(zip(table.texts, table.labelled(), strict=True))
    assert [OTHER[label] for label in table.labelled()] == table.kept["likelier"]


def test_answers_of_several_groups_are_averaged(folder: Path, tmp_path: Path) -> None:
    for arch, more in (("bow", []), ("tfidf", ["--limit", "100"])):
        if not (folder / "groups" / arch).exists():
            done = senti("train", "reviews.csv", "--arch", arch, "--folds", "3", "--set", "data.split_seed=5",
                         "-o", f"groups/{arch}", "-q", *more, cwd=folder)  # fmt: skip
            assert done.code == 0, done.err
    table = read_table(folder / "reviews.csv")
    groups = [folder / "runs/folds", folder / "groups/bow"]
    _, one = out_of_fold.load(groups[0], table)
    _, other = out_of_fold.load(groups[1], table)
    rows_of, both = out_of_fold.load_mean(groups, table)
    assert rows_of.texts == table.texts
    assert both.probs == pytest.approx((one.probs + other.probs) / 2, abs=1e-6)
    few, of_few = out_of_fold.load_mean([groups[0], folder / "groups/tfidf"], table)
    assert len(few) == 100
    for text, own in zip(few.texts, of_few.truth, strict=True):
        assert table.labelled()[table.texts.index(text)] == of_few.labels.names[own]
    found = found_in(folder, "--run", "groups/bow")
    assert found["n"] == N
    assert "groups/bow" in found["run"]
    write(tmp_path / "reviews.csv", [(text, "rare" if at < 9 else label)
                                     for at, (text, label) in enumerate(planted()[0])])  # fmt: skip
    done = senti("train", "reviews.csv", "--arch", "nb", "--folds", "3", "-o", "folds", "-q", cwd=tmp_path)
    assert done.code == 0, done.err
    done = senti("data", "suspects", "reviews.csv", "--run", "runs/folds", "--run", tmp_path / "folds",
                 cwd=folder)  # fmt: skip
    assert done.code == 2
    assert "folds was trained on" in done.err


def page_data(html: str) -> dict[str, Any]:
    """Returns what the script of a page reads."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert match is not None
    value: dict[str, Any] = json.loads(match[1])
    return value


def test_the_page_holds_all_suspects_and_asks_for_nothing(folder: Path, tmp_path: Path) -> None:
    html = tmp_path / "suspects.html"
    found = found_in(folder, "--page", str(html), "--top", "1000")
    assert found["page"] == str(html)
    page = html.read_text()
    assert page_data(page)["suspects"] == found["suspects"]
    assert page_data(page)["disagreements"] == found["disagreements"]
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=\"(?!data:,)[^\"]*\"", page) == []
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest", page)
    again = senti("data", "suspects", "reviews.csv", "--run", "runs/folds", "--page", html, "-q", cwd=folder)
    assert again.code == 0  # the same page
    done = senti(
        "data", "suspects", "reviews.csv", "--run", "runs/folds", "--page", "reviews.csv", cwd=folder
    )
    assert done.code == 2
    assert ".html" in done.err


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows among which are wrong labels of texts that would run a script, and such labels."""
    path = tmp_path_factory.mktemp("hostile")
    found = [(text, f"<b>{label}</b>") for text, label in planted()[0]]
    clean = {label: [text for text, one in rows(400) if one == label] for label in OTHER}
    for number, text in enumerate(HOSTILE):
        for label, texts in clean.items():
            found.append(
                (f"{' '.join(texts[-4 * number - 4 :][:4])} {text} \u2028", f"<b>{OTHER[label]}</b>")
            )
    found += [("the very same words of a text", f"<b>{label}</b>") for label in OTHER]
    write(path / "reviews.csv", found)
    done = senti("train", "reviews.csv", "--arch", "nb", "--folds", "3", "-o", "folds", "-q", cwd=path)
    assert done.code == 0, done.err
    done = senti("data", "suspects", "reviews.csv", "--run", "folds", "--page", "p.html", "--json", cwd=path)
    assert done.code == 0, done.err
    return path


def test_texts_stay_texts_in_the_page(hostile: Path) -> None:
    html = (hostile / "p.html").read_text()
    texts = [one["text"] for one in page_data(html)["suspects"]]
    assert any(HOSTILE[0] in text for text in texts)
    assert html.count("<script") == 2
    assert "<img" not in html
    assert "<b>" not in html


def test_the_page_is_worked_by_keyboard(hostile: Path, tmp_path: Path) -> None:
    data = page_data((hostile / "p.html").read_text())
    url = (hostile / "p.html").as_uri()
    with browser() as one:
        page = one.new_context(accept_downloads=True).new_page()
        complaints: list[str] = []
        asked: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        rows_shown = page.locator("#suspects li")
        assert rows_shown.count() == len(data["suspects"])
        assert page.locator("#apart li").count() == len(data["disagreements"]) >= 1
        assert page.locator("li :is(script, img, svg, iframe, b)").count() == 0
        assert "taken" not in page.title()
        assert page.locator("#suspects .text").all_text_contents() == [
            suspect["text"] for suspect in data["suspects"]
        ]
        check_look(SimpleNamespace(page=page))  # type: ignore[arg-type]  # 2026-11-30: its page is all
        for press in ("j", "w", "r", "w", "k", "k", "u"):
            page.keyboard.press(press)
        marks = [row.get_attribute("data-verdict") for row in rows_shown.all()[:4]]
        assert marks == ["wrong", None, "wrong", None]
        page.reload()
        assert "2 wrong, 0 right" in page.locator("#count").inner_text()
        with page.expect_download() as waited:
            page.keyboard.press("s")
        waited.value.save_as(tmp_path / "wrong.csv")
        page.locator("#open").check()
        assert page.locator("#suspects li:visible").count() == len(data["suspects"]) - 2
        page.locator("#pair").select_option(index=1)
        assert page.locator("#suspects li:visible").count() < len(data["suspects"]) - 2
        assert complaints == []
        assert all(one.startswith(("file:", "data:", "blob:")) for one in asked)
    kept = drop_suspects.read_suspects(str(tmp_path / "wrong.csv"))
    assert kept == {
        suspect["row"] - 1: suspect["text"] for suspect in (data["suspects"][0], data["suspects"][2])
    }


def test_examples_of_the_help(folder: Path) -> None:
    command: Any = get_group(build())
    for name in ("data", "suspects"):
        command = command.commands[name]
    examples = [line.strip()[2:] for line in (command.epilog or "").split("\n\n") if line.startswith("$ ")]
    assert len(examples) == 2
    for line in examples:
        done = senti(*shlex.split(line)[1:], cwd=folder)
        assert done.code == 0, done.err
        assert "suspects of 240 rows" in done.out


def test_rows_in_no_fold_are_counted(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "few.csv", [*planted()[0][:60], ("an odd text", "rare")])
    args = ["few.csv", "--arch", "nb", "--folds", "2", "-o", "folds", "-q"]
    assert senti("train", *args, cwd=tmp_path).code == 0
    done = senti("data", "suspects", "few.csv", "--run", "folds", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "1 row of few.csv in no fold" in done.err
    done = senti("data", "suspects", "few.csv", "--run", "folds", "--limit", "20", cwd=tmp_path)
    assert "of 19 rows" in done.out


def test_several_labels_from_end_to_end(tmp_path: Path) -> None:
    cells = {"pos": "warm|film", "neg": "film"}
    found = [(text, cells[label]) for text, label in planted()[0][:120]]
    write(tmp_path / "sets.csv", found)
    separator = ["--label-separator", "|"]
    args = ["train", "sets.csv", "--arch", "nb", "--folds", "2", "-o", "folds", "-q", *separator]
    assert senti(*args, cwd=tmp_path).code == 0
    args = ["data", "suspects", "sets.csv", "--run", "folds", "-o", "s.csv", "--json"]
    done = senti(*args, cwd=tmp_path)  # read as the run was
    assert done.code == 0, done.err
    assert all(set(one["label"]) ^ set(one["likelier"]) for one in json.loads(done.out)["suspects"])
    done = senti(*args[:-3], "--label-separator", "none", cwd=tmp_path)
    assert done.code == 2
    assert "several labels" in done.err


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    copy = tmp_path / "copy"

    def refused(*args: str) -> str:
        done = senti("data", "suspects", *args, cwd=copy)
        assert done.code == 2, done.out
        assert "Traceback" not in done.err
        return done.err

    assert "--folds" in refused("reviews.csv", "--run", "runs")
    assert "--folds" in refused("reviews.csv", "--run", "runs/folds/fold-0")
    assert "that is read" in refused("reviews.csv", "--run", "runs/folds", "-o", "reviews.csv")
    assert ".jsonl" in refused("reviews.csv", "--run", "runs/folds", "-o", "s.xml")
    write(copy / "other.csv", rows(20, seed=9))
    assert "reviews.csv" in refused("other.csv", "--run", "runs/folds")
    answers = copy / "runs" / "folds" / "fold-1" / "out_of_fold.npz"
    whole = answers.read_bytes()
    answers.write_bytes(whole[:50])
    assert "fold-1/out_of_fold.npz" in refused("reviews.csv", "--run", "runs/folds")
    answers.unlink()
    assert "train it again" in refused("reviews.csv", "--run", "runs/folds")
    answers.write_bytes(whole)
    shutil.rmtree(copy / "runs" / "folds" / "fold-2")
    assert "--resume" in refused("reviews.csv", "--run", "runs/folds")


def test_rows_without_label_are_left_out_as_in_training(tmp_path: Path) -> None:
    some = [*rows(60), ("a film nobody judged", ""), ("", "pos")]
    write(tmp_path / "r.csv", some)
    train = ("train", "r.csv", "--arch", "nb", "--folds", "2", "--no-baseline", "-o", "folds", "-q")
    done = senti(*train, "--unlabelled", "drop", "--empty", "drop", cwd=tmp_path)
    assert done.code == 0, done.err
    find = ("data", "suspects", "r.csv", "--run", "folds", "--json")
    done = senti(*find, cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["n"] == 60
    assert "in no fold" not in done.err
    done = senti(*find, "--unlabelled", "error", cwd=tmp_path)
    assert done.code == 2
    assert "--unlabelled drop" in done.err


def with_suspects(folder: Path, tmp_path: Path) -> Path:
    """Copies the folder, with the rows whose labels are wrong in a file."""
    copy, (every, wrong) = Path(shutil.copytree(folder, tmp_path / "copy")), planted()
    lines = [f"{place + 1},{every[place][0]}\n" for place in sorted(wrong)]
    (copy / "s.csv").write_text("".join(["row,text\n", *lines]))
    return copy


DROP = ["train", "reviews.csv", "--arch", "nb", "--no-baseline", "--drop-suspects", "s.csv"]


def test_training_without_suspects_says_what_it_changes(folder: Path, tmp_path: Path) -> None:
    copy = with_suspects(folder, tmp_path)
    wrong = planted()[1]
    plain = senti(*DROP[:-2], "--test-share", "0.3", "-o", "runs/all", "--json", cwd=copy)
    done = senti(*DROP, "--test-share", "0.3", "-o", "runs/nb", "--json", cwd=copy)
    assert done.code == 0, done.err
    value, of_all = json.loads(done.out), json.loads(plain.out)
    kept = np.load(copy / "runs" / "nb" / "training_texts.npz")
    every = np.load(copy / "runs" / "all" / "training_texts.npz")
    for role in ("train", "valid"):
        assert set(kept[f"rows_{role}"].tolist()) == set(every[f"rows_{role}"].tolist()) - wrong
    assert kept["rows_test"].tolist() == every["rows_test"].tolist()
    assert value["rows"]["train"] < of_all["rows"]["train"]
    clean = set(every["rows_test"].tolist()) - wrong
    dropped = value["dropped"]
    assert dropped["rows"] == len(clean) < value["rows"]["test"]
    # The run on all rows is wrong on at least as many of all test rows as of the clean ones.
    n_wrong = round((1 - of_all["test"]["accuracy"]) * of_all["rows"]["test"])
    assert round((1 - dropped["all"]["accuracy"]) * len(clean)) <= n_wrong
    assert dropped["without"]["accuracy"] >= 0.9
    gained = dropped["without"]["accuracy"] - dropped["all"]["accuracy"]
    assert dropped["gain"] == pytest.approx(gained)


def test_the_summary_says_what_dropping_changes(folder: Path, tmp_path: Path) -> None:
    copy = with_suspects(folder, tmp_path)
    done = senti(*DROP, "--test-share", "0.3", "-o", "runs/nb", cwd=copy)
    assert done.code == 0, done.err
    assert re.search(r"^leaving out suspects: [+-]\d", done.out, re.M)
    assert re.search(r"^\d clean test rows|^\d\d clean test rows", done.out, re.M)
    assert "suspects in s.csv" in done.err
    bare = senti(*DROP, "-o", "runs/few", cwd=copy)
    assert bare.code == 0, bare.err
    assert "--test-share" in bare.err
    assert "leaving out" not in bare.out
    assert sorted(path.name for path in (copy / "runs").iterdir()) == ["few", "folds", "nb"]


def test_a_file_without_suspects_leaves_out_nothing(folder: Path, tmp_path: Path) -> None:
    copy = with_suspects(folder, tmp_path)
    (copy / "s.csv").write_text("row,line,id,text,label,likelier,p_label,p_likelier\n")
    done = senti(*DROP, "-o", "runs/none", cwd=copy)
    assert done.code == 0, done.err
    assert "of 0 suspects in s.csv" in done.err
    rows = json.loads((copy / "runs/none/run.json").read_text())["rows"]
    assert rows["train"] + rows["valid"] == len(planted()[0])


def test_a_file_of_suspects_that_does_not_fit(folder: Path, tmp_path: Path) -> None:
    copy = with_suspects(folder, tmp_path)
    whole = (copy / "s.csv").read_text()

    def refused(text: str) -> str:
        (copy / "s.csv").write_text(text)
        done = senti(*DROP, "-o", "runs/x", cwd=copy)
        assert done.code == 2, done.out
        assert not (copy / "runs" / "x").exists()
        return done.err

    assert "row 1 " in refused("row,text\n1,something else\n")
    assert "'first'" in refused("row,text\nfirst,something else\n")
    assert "'row'" in refused("place,text\n1,something else\n")
    lines = [f"{place + 1},{text}" for place, (text, _) in enumerate(planted()[0])]
    assert "every row" in refused("\n".join(["row,text", *lines]))
    (copy / "s.csv").unlink()
    assert "s.csv" in senti(*DROP, "-o", "runs/x", cwd=copy).err
    (copy / "s.csv").write_text(whole)
    assert senti(*DROP, "-o", "runs/x", "-q", cwd=copy).code == 0
