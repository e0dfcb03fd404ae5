"""What an alignment must not see: rows that judge, rows that were trained on, sentences held out."""

import json
from pathlib import Path
from typing import Any

import pytest

from alignment_runs import config_of, make, texts, write_lines, write_pairs
from sentimodels.data.exclusion import hash_file_of
from sentimodels.errors import DataError
from sentimodels.runs.execute import Callbacks, train


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("alignment"))


def guarded(made: Path, tmp_path: Path, **data: Any) -> tuple[dict[str, Any], list[str], list[str]]:
    """Aligns for a step; returns the sources, the openings that judge, and the notes."""
    notes: list[str] = []
    config = config_of(
        made, data={"opening_tokens": 0, **data}, task={"max_new_tokens": 4}, train={"max_steps": 1}
    )
    train(config, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    sources = json.loads((tmp_path / "run" / "training_data.json").read_text())["sources"]
    samples = (tmp_path / "run" / "samples.jsonl").read_text("utf-8").splitlines()
    return (
        {source["role"]: source for source in sources},
        [json.loads(sample)["opening"] for sample in samples],
        notes,
    )


def reward_rows(made: Path) -> dict[str, set[str]]:
    """The texts of the parts of the reward's run."""
    from sentimodels.runs.families import CLASSIFIER
    from sentimodels.runs.tables import read_tables

    tables = read_tables(CLASSIFIER.load(made / "reward"))
    assert tables.valid is not None
    assert tables.test is not None
    return {
        "train": set(tables.train.texts),
        "valid": set(tables.valid.texts),
        "test": set(tables.test.texts),
    }


def test_openings_of_the_rewards_own_file(made: Path, tmp_path: Path) -> None:
    """Rows that the reward was trained on do not judge; rows that judge are not trained on."""
    parts = reward_rows(made)
    roles, judged, notes = guarded(made, tmp_path, train=str(made / "reviews.csv"))
    assert len(judged) == 12
    assert set(judged) <= parts["valid"] | parts["test"]
    left = len(parts["test"] - set(judged))
    assert left > 0
    assert any(note.startswith(f"{left} rows are left out: they are test rows of ") for note in notes)
    assert roles["train"]["documents"] == 200 - 12 - left


def test_what_the_reward_was_trained_on_judges_nothing(made: Path, tmp_path: Path) -> None:
    reviews = str(made / "reviews.csv")
    with pytest.raises(DataError, match=r"reward was trained on \d+ of these 200 rows, so they cannot judge"):
        guarded(made, tmp_path, held_out=reviews)
    # Its texts under another name are left out.
    parts = reward_rows(made)
    some = [*sorted(parts["train"])[:10], *sorted(parts["test"])[:10]]
    path = write_lines(tmp_path / "copied.txt", [f"  {text}" for text in some])
    _, judged, notes = guarded(made, tmp_path, held_out=str(path))
    assert {text.strip() for text in judged} <= parts["test"]
    assert any("10 of 20 rows are left out of the held-out rows" in note for note in notes)
    path = write_lines(tmp_path / "all.txt", sorted(parts["train"]))
    with pytest.raises(DataError, match="reward was trained on all of it, so none of it can judge"):
        train(config_of(made, data={"train": str(path)}), tmp_path / "none")


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_what_the_base_was_trained_on_judges_nothing(method: str, made: Path, tmp_path: Path) -> None:
    from sentimodels.data.opening import hash_file

    inside = make(tmp_path / "made")
    file = inside / ("openings.txt" if method == "ppo" else "pairs.jsonl")
    sources = [{"source": "books.txt", "sha256": hash_file(file), "documents": 60}]
    (inside / "base" / "training_data.json").write_text(json.dumps({"sources": sources}))
    with pytest.raises(DataError, match="base was trained on all of it, so none of it can judge"):
        train(config_of(inside, method), tmp_path / "run")
    other = (
        write_lines(tmp_path / "other.txt", texts(20, 9))
        if method == "ppo"
        else write_pairs(tmp_path / "other.jsonl", 20, 9)
    )
    train(config_of(inside, method, data={"held_out": str(other)}, train={"max_steps": 1}), tmp_path / "run")
    with pytest.raises(DataError, match=r"base was trained on 60 of these 60 rows, so they cannot judge"):
        train(config_of(inside, method, data={"train": str(other), "held_out": str(file)}), tmp_path / "none")


def test_what_is_trained_on_judges_nothing(made: Path, tmp_path: Path) -> None:
    path = str(made / "openings.txt")
    with pytest.raises(
        DataError, match=r"60 of these rows are trained on, so they cannot judge; tell the two"
    ):
        train(config_of(made, data={"held_out": path}), tmp_path / "run")
    # Openings that begin alike are one opening.
    lines = [f"{text} {n}" for n, text in enumerate(texts(30, 4))]
    path = str(write_lines(tmp_path / "alike.txt", lines * 2))
    notes: list[str] = []
    train(
        config_of(made, data={"train": path}, train={"max_steps": 1}),
        tmp_path / "run",
        callbacks=Callbacks(on_warning=notes.append),
    )
    assert any("openings are left out: a held-out one begins alike" in note for note in notes)
    # So are prompts.
    rows = (made / "pairs.jsonl").read_text().splitlines()[:20]
    twice = write_lines(tmp_path / "twice.jsonl", [*rows, *[row.replace("fun", "film") for row in rows]])
    config = config_of(made, "dpo", data={"train": str(twice)}, train={"max_steps": 1})
    train(config, tmp_path / "dpo", callbacks=Callbacks(on_warning=notes.append))
    assert any("pairs are left out: their prompt is held out" in note for note in notes)


def test_parts_of_one_table(made: Path, tmp_path: Path) -> None:
    rows = [f"{'train' if n % 3 else 'test'},{text} {n}" for n, text in enumerate(texts(60, 21))]
    path = str(write_lines(tmp_path / "parts.csv", ["split,text", *rows]))
    parts = {"where": "split=train", "held_out_where": "split=test", "text_column": "text"}
    roles, judged, _ = guarded(made, tmp_path, train=path, **parts)
    assert (roles["train"]["documents"], roles["judge"]["documents"]) == (40, 12)
    assert all(int(opening.split()[-1]) % 3 == 0 for opening in judged)
    with pytest.raises(DataError, match="20 of these rows are trained on, so they cannot judge"):
        guarded(made, tmp_path / "again", train=path, **{**parts, "where": None})


def test_excluded_rows_are_not_aligned_on(made: Path, tmp_path: Path) -> None:
    """Openings, and pairs of which an answer has a line that is excluded."""
    held = [f"a sentence with number {n} that only the judges have read" for n in range(3)]
    hashes = tmp_path / "held-out.txt"
    hashes.write_bytes(hash_file_of(held)[0])
    excluded = {"exclude": str(hashes)}
    some = write_lines(tmp_path / "some.txt", [*texts(40, 6), *held])
    _, _, notes = guarded(made, tmp_path / "ppo", train=str(some), **excluded)
    assert any("some.txt: 3 rows" in note for note in notes)
    rows = [{"prompt": one, "chosen": f" so\n{held[0]}", "rejected": " bad"} for one in texts(40, 6)]
    rows += [
        {"prompt": f"{one} {n}", "chosen": " good", "rejected": " bad"} for n, one in enumerate(texts(90, 7))
    ]
    pairs = write_lines(tmp_path / "pairs.jsonl", [json.dumps(row) for row in rows])
    notes = []
    config = config_of(made, "dpo", data={"train": str(pairs), **excluded}, train={"max_steps": 1})
    train(config, tmp_path / "dpo", callbacks=Callbacks(on_warning=notes.append))
    assert any("pairs.jsonl: 40 rows" in note for note in notes)
