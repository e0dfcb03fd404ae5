"""Model cards: every number is the run's own, and front matter that YAML reads."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_group

from card_numbers import unknown_numbers
from labelled_reviews import tree, write
from senti_in_process import senti
from sentimodels.cli.app import build
from sentimodels.recipes.distillation import resolve_distillation
from sentimodels.runs.card import card
from sentimodels.runs.directory import manifest_hash, read_json
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cards")
    reviews = write(made / "re|views.csv")
    train(resolve(tree("gru", reviews, train={"seed": 7})), made / "runs" / "first")
    train(resolve(tree("tfidf", reviews, data={"test_share": 0.2})), made / "tested")
    train(
        resolve(tree("gru", reviews, data={"long": "head-tail", "max_tokens": 9}, train={"refit": True})),
        made / "refit",
    )
    student = {"teacher": str(made / "tested")}
    config = resolve_distillation(
        tree("cnn", reviews, data={"test_share": 0.2}), {"task": student, "train": {"epochs": 1}}
    )
    train(config, made / "student", baseline=False)
    write(made / "dev.csv", 40, seed=9)
    done = senti("ensemble", "runs/first", "tested", "--dev", "dev.csv", "-o", "both", cwd=made)
    assert done.code == 0, done.err
    return made


@pytest.mark.parametrize("name", ["runs/first", "tested", "refit", "student"])
def test_a_card_says_what_the_run_recorded(folder: Path, name: str) -> None:
    done = senti("card", name, cwd=folder)
    assert done.code == 0, done.err
    text, facts = done.out, card(folder / name)
    about = read_json(folder / name / "run.json")
    part = facts["judged"] or "valid"
    assert facts["judged"] == about.get("judged")
    assert facts["parameters"] == about["parameters"]
    assert f"{about['parameters']:,} parameters" in text
    scored = about.get("chosen", about) if name == "refit" else about
    judged = "test" if name in ("tested", "student") else "crossed" if part == "crossed" else "valid"
    assert f"{scored[judged]['accuracy']:.4f} (" in text
    low, high = facts["scores"][judged]["intervals"]["accuracy"]
    assert low <= scored[judged]["accuracy"] <= high
    for source in facts["data"]:
        assert source["sha256"] in text
        assert source["file"] == "re|views.csv"
    assert "re\\|views.csv" in text
    assert str(folder) not in text  # nothing of the machine that trained
    for file, entry in facts["files"].items():
        assert f"| {file} |" in text
        assert entry["sha256"] in text
    assert facts["manifest_sha256"] in text
    counts = [n for n in facts["labels"].values() if n is not None]
    ends = facts["scores"][next(iter(p for p in ("test", "crossed", "valid") if p in facts["scores"]))][
        "intervals"
    ]
    said = {"95", "1", str(len(facts["labels"])), f"{sum(counts):,}"}
    said.add(f"{50 * (ends['accuracy'][1] - ends['accuracy'][0]):.1f}")
    assert not unknown_numbers(text, facts, said)


def test_a_card_names_limits(folder: Path) -> None:
    first, tested, refit = (senti("card", name, cwd=folder).out for name in ("runs/first", "tested", "refit"))
    assert "Of a text longer than 9 tokens only its beginning and end are read" in refit
    assert "Of a text longer" not in tested
    assert "valid, before refit" in refit
    for text in (first, tested, refit):
        assert "does not record: the licence" in text
        assert re.search(r"Label `(neg|pos)` has the fewest training rows: \d+ of \d+", text)
    assert "Judged on the test rows" in tested
    assert re.search(r"Gru (beats|is below|is within noise of) majority", first)


def test_the_card_of_a_student_names_its_teacher(folder: Path) -> None:
    text, about = senti("card", "student", cwd=folder).out, read_json(folder / "student" / "run.json")
    assert "trained by `senti distill` on the answers of `tested`" in text
    assert f"(SHA-256 `{manifest_hash(folder / 'tested')}`)" in text
    agreement = 100 * about["distilled"]["agreement"]
    assert f"Answers as its teacher in {agreement:.1f} % of the 60 test rows" in text
    assert "trained by `senti train`" not in text
    assert "trained by `senti train`" in senti("card", "tested", cwd=folder).out


def test_front_matter_is_yaml(folder: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="no YAML reader is installed")
    head = senti("card", "tested", cwd=folder).out.split("---\n")[1]
    value = yaml.safe_load(head)
    assert value["pipeline_tag"] == "text-classification"
    assert value["tags"] == ["sentimodels", "tfidf"]
    [model] = value["model-index"]
    assert model["name"] == "tested"
    metrics = {one["type"]: one["value"] for one in model["results"][0]["metrics"]}
    recorded = read_json(folder / "tested" / "run.json")["test"]
    assert metrics == {"accuracy": round(recorded["accuracy"], 6), "f1": round(recorded["macro_f1"], 6)}


def test_files_and_json(folder: Path) -> None:
    value = json.loads(senti("card", "tested", "--json", cwd=folder).out)
    assert value.pop("schema") == "senti.card/1"
    assert value == json.loads(json.dumps(card(folder / "tested")))
    assert value["settings"]["data.test_share"] == 0.2
    done = senti("card", "tested", "-o", "card.md", cwd=folder)
    assert (done.code, done.out) == (0, "written  card.md\n")
    assert (folder / "card.md").read_text("utf-8") == senti("card", "tested", cwd=folder).out
    (folder / "card.md").write_text("mine")
    done = senti("card", "tested", "-o", "card.md", cwd=folder)
    assert (done.code, "--force" in done.err) == (2, True)
    done = senti("card", "tested", "-o", "tested/README.md", cwd=folder)
    assert (done.code, "write the card elsewhere" in done.err) == (2, True)


def test_what_has_no_card(folder: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(folder / "tested", tmp_path / "altered")
    (tmp_path / "altered" / "run.json").write_text("{}")
    done = senti("card", "altered", cwd=tmp_path)
    assert (done.code, "run.json: changed since it was written" in done.err) == (2, True)
    assert senti("card", "none", cwd=folder).code == 2
    (tmp_path / "altered" / "manifest.json").write_text('{"files": {"run.json": {}}}')
    done = senti("card", "altered", cwd=tmp_path)
    assert (done.code, "manifest.json: damaged" in done.err) == (2, True)
    (tmp_path / "empty").mkdir()
    done = senti("card", "empty", cwd=tmp_path)
    assert (done.code, "empty: no config.toml; not a run directory" in done.err) == (2, True)
    (tmp_path / "group" / "seed-0").mkdir(parents=True)
    (tmp_path / "group" / "group.json").write_text("{}")
    (tmp_path / "group" / "seed-0" / "config.toml").write_text("")
    done = senti("card", "group", cwd=tmp_path)
    assert (done.code, "a group of runs; name one of them, such as group/seed-0" in done.err) == (2, True)


def test_the_card_of_an_ensemble(folder: Path, tmp_path: Path) -> None:
    import shutil

    text, facts = senti("card", "both", cwd=folder).out, card(folder / "both")
    written = read_json(folder / "both" / "ensemble.json")
    assert [one["name"] for one in facts["members"]] == ["first", "tested"]
    for one, member in zip(facts["members"], written["members"], strict=True):
        assert f"| {one['name']} | {one['arch']} |" in text
        assert f"| {member['weight']:.4f} | `{member['manifest_sha256']}` |" in text
    assert f"at the temperature {written['temperature']:.3f}" in text
    assert (
        f"chosen on rows of the file with SHA-256 `{written['dev_sha256']}`, which is none of those" in text
    )
    assert "The ensemble itself records no scores" in text
    assert facts["ensemble_sha256"] in text
    assert str(folder) not in text
    said = {"95", str(len(facts["members"])), str(len(facts["labels"]))}
    assert not unknown_numbers(text, facts, said)
    assert "model-index" not in text
    value = json.loads(senti("card", "both", "--json", cwd=folder).out)
    assert value.pop("schema") == "senti.card/1"
    assert value == json.loads(json.dumps(facts))
    [block] = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(block, "card", "exec"), {})
    assert re.match(r"[\[(]'neg', 'pos'[\])] \[\[", out.getvalue())
    # A run that is another one, or gone.
    for name in ("runs", "both"):
        shutil.copytree(folder / name, tmp_path / name)
    done = senti("card", "both", cwd=tmp_path)
    assert (done.code, "tested" in done.err) == (2, True)
    shutil.copytree(folder / "refit", tmp_path / "tested")
    done = senti("card", "both", cwd=tmp_path)
    assert (done.code, "not the run the ensemble was made of" in done.err) == (2, True)


def test_examples(folder: Path) -> None:
    command = get_group(build()).commands["card"]
    found = re.findall(r"^\$ (.+)$", str(command.epilog), re.M)
    assert len(found) == 3
    for line in found:
        done = senti(*shlex.split(line)[1:], cwd=folder)
        assert done.code == 0, done.err
