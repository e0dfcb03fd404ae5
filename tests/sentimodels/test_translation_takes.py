"""What a translation run takes and what it refuses: held-out pairs, bases, columns, settings that changed.

`test_translation.py` tests training itself.
"""

import re
from pathlib import Path

import pytest

from parallel_numbers import number_pairs, small_translation, write_parts
from sentimodels.config import ParallelConfig
from sentimodels.data.parallel import read_parallel
from sentimodels.errors import CheckpointError, DataError
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.leaderboard import leaderboard
from sentimodels.text.pairs import joint_tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_parts(tmp_path)


def test_what_is_held_out_is_such_as_is_trained_on(folder: Path) -> None:
    """Blank sources are equal, so they go over together; scores of a line of 300 words take hours."""
    blank, long = "\n" * 30, "one " * 300 + "\n"
    sources, targets = number_pairs(60)
    (folder / "train.en").write_text("".join(f"{line}\n" for line in sources) + blank + long)
    (folder / "train.de").write_text("".join(f"{line}\n" for line in targets) + "x\n" * 30 + long)
    left = set()
    for seed in range(6):
        notes: list[str] = []
        data = {"valid": [], "valid_share": 0.5, "max_tokens": 60}
        settings = small_translation(folder, data=data, train={"max_steps": 1, "seed": seed})
        about = train(settings, folder / f"run-{seed}", callbacks=Callbacks(on_warning=notes.append))
        found = [
            re.match(r"(\d+) of \d+ validation pairs (is|are) left out: a side is", note) for note in notes
        ]
        left |= {int(one[1]) for one in found if one}
        assert about["pairs"]["train"] + about["pairs"]["valid"] == 60
    assert left & {30, 31}


def test_a_base_is_as_it_was_written(folder: Path) -> None:
    train(small_translation(folder, train={"max_steps": 2}), folder / "base")
    other = joint_tokenizer(ParallelConfig(vocab_size=320), *number_pairs(99, seed=9, longest=9))
    start = {"train": {"init_from": str(folder / "base"), "max_steps": 2}}
    (folder / "base" / "tokenizer.json").rename(folder / "own.json")
    other.save(folder / "base" / "tokenizer.json")
    with pytest.raises(CheckpointError, match=r"base/tokenizer\.json: changed since it was written"):
        train(small_translation(folder, **start), folder / "run")
    (folder / "own.json").rename(folder / "base" / "tokenizer.json")
    other.save(folder / "other.json")
    named = small_translation(folder, **start, data={"tokenizer": str(folder / "other.json")})
    with pytest.raises(CheckpointError, match="base: its weights belong to another tokenizer"):
        train(named, folder / "run")


def test_pairs_that_were_divided_in_another_way_are_others(folder: Path) -> None:
    for seed in (0, 0, 1):
        settings = small_translation(folder, data={"valid": []}, train={"max_steps": 1, "seed": seed})
        train(settings, folder / "runs" / f"{seed}-{len(list(folder.glob('runs/*')))}")
    _, _, found = leaderboard(folder / "runs")
    data = {one["run"]: one["data"] for one in found}
    assert data["0-0"] == data["0-1"] != data["1-2"]


def test_a_stopped_run_whose_settings_changed_does_not_go_on(folder: Path) -> None:
    asked = iter(range(100))
    train(
        small_translation(folder), folder / "run", callbacks=Callbacks(should_stop=lambda: next(asked) == 5)
    )
    path = folder / "run" / "config.toml"
    path.write_text(path.read_text().replace("batch_tokens = 600", "batch_tokens = 100000"))
    with pytest.raises(CheckpointError, match=r"config\.toml: changed since it was written"):
        resume(folder / "run")


def test_columns_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"en": "a \\ud83d b", "de": "c"}\n{"en": "d", "de": "e"}\n')
    found = read_parallel([tmp_path / "pairs.jsonl"], source_column="en", target_column="de")
    assert found.sources == ["a \ufffd b", "d"]
    with pytest.raises(DataError, match=r"pairs\.jsonl: 'en' is source and target; name two columns"):
        read_parallel([tmp_path / "pairs.jsonl"], source_column="en", target_column="en")
