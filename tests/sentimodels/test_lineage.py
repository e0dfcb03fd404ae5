"""What a base was trained on judges nothing that starts from it, however many runs lie between.

Further texts that an alignment must not see are in `test_alignment_guards.py`, teachers in
`test_distillation.py`.
"""

from pathlib import Path
from typing import Any

import pytest

from alignment_runs import config_of, texts, write_lines
from labelled_reviews import tree, write
from parallel_numbers import write_pairs
from sentimodels import Classifier
from sentimodels.config import LanguageConfig
from sentimodels.data import TrainingRecord, read_table
from sentimodels.data.parallel import read_parallel
from sentimodels.errors import CheckpointError, DataError
from sentimodels.recipes.distillation import resolve_distillation
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import LANGUAGE_MODEL, TRANSLATOR, resolve
from sentimodels.runs.init_weights import (
    inherit_config,
    inherit_size,
    inherit_translator,
)
from sentimodels.runs.leaderboard import leaderboard
from sentimodels.runs.lineage import record_of
from sentimodels.runs.report import evaluate
from sentimodels.translator import evaluate_translation

SMALL = {"d_model": 16, "n_layers": 1, "n_heads": 2}


def language(corpus: Path, start: Path | None = None, **train: Any) -> LanguageConfig:
    """A run of three steps; runs that start from another have its size and tokenizer."""
    columns = {"format": "csv:text"} if corpus.suffix == ".csv" else {}
    data = {"corpus": [str(corpus)], "valid_share": 0.2, **columns}
    given: dict[str, Any] = {
        "data": data, "train": {"max_steps": 3, "batch_size": 8, "threads": 1, **train}
    }  # fmt: skip
    if start is not None:
        given["train"]["init_from"] = str(start)
        return LANGUAGE_MODEL.resolve(*inherit_size(given))
    small = {"data": {"context": 24, "vocab_size": 300}, "model": SMALL}
    return LANGUAGE_MODEL.resolve({"arch": "gpt"}, small, given)


def classify(file: Path, start: Path, out: Path, **data: Any) -> list[str]:
    """Trains a classifier that starts from a run; returns its notes."""
    train_ = {"epochs": 1, "batch_size": 16, "threads": 1, "init_from": str(start), "baseline": False}
    notes: list[str] = []
    given = {"data": {"train": str(file), **data}, "train": train_}
    train(resolve(*inherit_config(given)), out, callbacks=Callbacks(on_warning=notes.append))
    return notes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, `lm`, that has read `test.csv`, and one that started from it, `grown`."""
    folder = tmp_path_factory.mktemp("lineage")
    write(folder / "train.csv", 120, 1)
    write(folder / "test.csv", 60, 2)
    write_lines(folder / "books.txt", texts(120, 3))
    train(language(folder / "test.csv"), folder / "lm")
    train(language(folder / "books.txt", folder / "lm"), folder / "grown")
    return folder


@pytest.mark.parametrize("base", ["lm", "grown"])
def test_a_classifier_is_not_scored_on_what_its_base_has_read(made: Path, tmp_path: Path, base: str) -> None:
    classify(made / "train.csv", made / base, tmp_path / "run")
    run, table = Classifier.load(tmp_path / "run"), read_table(made / "test.csv")
    with pytest.raises(DataError, match="the base of the run was trained on 60 of these 60 rows"):
        evaluate(run, table, run=tmp_path / "run")
    write(tmp_path / "other.csv", 40, 9)
    evaluate(run, read_table(tmp_path / "other.csv"), run=tmp_path / "run")


def test_files_that_a_base_has_read_do_not_judge_in_training(made: Path, tmp_path: Path) -> None:
    for part in ("valid", "test"):
        with pytest.raises(DataError, match=r"lm, which the run starts from, was trained on 60 of the 60 "):
            classify(made / "train.csv", made / "lm", tmp_path / "run", **{part: str(made / "test.csv")})
        assert not (tmp_path / "run").exists()
    # The file itself is divided here: none but its own rows can judge, and that is said.
    notes = classify(made / "test.csv", made / "lm", tmp_path / "run")
    assert any(
        "from which the validation rows are taken, so scores there may be too good" in n for n in notes
    )


def test_rows_of_a_classifier_are_known_one_by_one(made: Path, tmp_path: Path) -> None:
    """Its validation rows may judge what starts from it; its training rows may not."""
    start, file = tmp_path / "base", made / "test.csv"
    train(resolve(tree("cnn", file, train={"epochs": 1})), start, baseline=False)

    def again(out: str, file: Path, start: Path = start, **data: Any) -> list[str]:
        notes: list[str] = []
        more = {"data": data, "train": {"epochs": 1, "init_from": str(start)}}
        train(
            resolve(tree("cnn", file, **more)),
            tmp_path / out,
            baseline=False,
            callbacks=Callbacks(on_warning=notes.append),
        )
        return notes

    assert not any("judge" in note or "too good" in note for note in again("same", file))
    for other in (start, start / "model.safetensors"):  # the weights are of that run, whatever names them
        with pytest.raises(
            DataError, match=r"which the run starts from, was trained on \d+ of the 6 validat"
        ):
            again("divided", file, other, split_seed=5)
    again("run", made / "train.csv")
    run, table = Classifier.load(tmp_path / "run"), read_table(file)
    with pytest.raises(DataError, match="the base of the run was trained on 54 of these 60 rows"):
        evaluate(run, table, run=tmp_path / "run")
    known = TrainingRecord.load(start).rows
    evaluate(run, table.take(known["valid"].tolist()), run=tmp_path / "run")
    # Rows of the same texts in another file are reported, and separated in scores.
    lines = file.read_text("utf-8").splitlines()
    copied = write_lines(
        tmp_path / "copied.csv", [lines[0], *(lines[1 + row] for row in known["train"][:20])]
    )
    notes = again("copies", made / "train.csv", valid=str(copied))
    assert any(f"20 of the 20 validation rows have a text that {start} was trained on" in n for n in notes)
    found, _ = evaluate(run, read_table(copied), run=tmp_path / "run")
    assert found.seen is not None
    assert found.seen.all()


def test_a_student_of_such_a_classifier_is_not_judged_on_it_either(made: Path, tmp_path: Path) -> None:
    classify(made / "train.csv", made / "lm", tmp_path / "teacher")
    task = {"teacher": str(tmp_path / "teacher")}
    small = tree("cnn", made / "train.csv", task=task, train={"epochs": 1})
    with pytest.raises(DataError, match="the teacher was trained on 60 of the 60 validation rows"):
        train(resolve_distillation(small, {"data": {"valid": str(made / "test.csv")}}), tmp_path / "no")
    write(tmp_path / "valid.csv", 30, 8)
    data = {"data": {"valid": str(tmp_path / "valid.csv")}}
    train(resolve_distillation(small, data), tmp_path / "student", baseline=False)
    student = Classifier.load(tmp_path / "student")
    with pytest.raises(DataError, match="the teacher of the run was trained on 60 of these 60 rows"):
        evaluate(student, read_table(made / "test.csv"), run=tmp_path / "student")


@pytest.mark.parametrize("base", ["lm", "grown"])
def test_nothing_is_aligned_by_what_a_base_has_read(made: Path, tmp_path: Path, base: str) -> None:
    """Whether it is the base of the alignment, or that of the classifier which rewards."""
    write(tmp_path / "openings.csv", 40, 5)
    write(tmp_path / "reward.csv", 60, 6)
    given = {"arch": "nb", "data": {"train": str(tmp_path / "reward.csv")}, "train": {"baseline": False}}
    train(resolve(given), tmp_path / "reward")
    openings = {
        "train": str(tmp_path / "openings.csv"), "held_out": str(made / "test.csv"), "opening_tokens": 3,
        "text_column": "text",
    }  # fmt: skip
    config = config_of(tmp_path, data=openings, train={"max_steps": 1}).model_copy(
        update={"base": str(made / base)}
    )
    with pytest.raises(DataError, match=f"{base} was trained on 60 of these 60 rows, so they cannot judge"):
        train(config, tmp_path / "run")
    # A reward's base has read it.
    train(language(made / "books.txt"), tmp_path / "fresh")
    classify(tmp_path / "reward.csv", made / base, tmp_path / "rewards")
    task = config.task.model_copy(update={"reward_run": str(tmp_path / "rewards")})
    other = config.model_copy(update={"base": str(tmp_path / "fresh"), "task": task})
    with pytest.raises(DataError, match="rewards was trained on 60 of these 60 rows, so they cannot judge"):
        train(other, tmp_path / "run")
    # An aligned model knows all of it, and hands it on.
    write(tmp_path / "judge.csv", 20, 7)
    kept = other.data.model_copy(update={"held_out": str(tmp_path / "judge.csv")})
    train(other.model_copy(update={"data": kept}), tmp_path / "aligned")
    read = {Path(one.source).name for one in record_of(tmp_path / "aligned").learned}
    assert read == {"books.txt", "reward.csv", "test.csv", "openings.csv"}
    assert record_of(tmp_path / "aligned").learned_from(read_table(made / "test.csv")).all()
    assert not record_of(tmp_path / "aligned").learned_from(read_table(tmp_path / "judge.csv")).any()


def translator(folder: Path, start: Path | None, **data: Any) -> Any:
    files = [str(folder / f"train.{side}") for side in ("en", "de")]
    given: dict[str, Any] = {
        "data": {"train": files, **data},
        "train": {"max_steps": 2, "batch_tokens": 300, "threads": 1, "ema": 0.0, "device": "cpu"},
    }
    if start is not None:
        given["train"]["init_from"] = str(start)
        return TRANSLATOR.resolve(inherit_translator(given), given)
    small = {"d_model": 16, "n_layers": 1, "n_decoder_layers": 1, "n_heads": 2}
    return TRANSLATOR.resolve({"model": small, "data": {"vocab_size": 300}}, given)


def test_translations_are_not_scored_on_what_a_base_has_read(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    for seed, (name, n) in enumerate({"train": 200, "valid": 20, "test": 20, "new": 20}.items()):
        write_pairs(tmp_path, name, n, seed)
    files = {name: [str(tmp_path / f"{name}.{side}") for side in ("en", "de")] for name in ("valid", "test")}
    train(translator(tmp_path, None, train=files["test"]), tmp_path / "pairs")
    train(language(tmp_path / "test.de"), tmp_path / "texts")  # one side of them
    test = read_parallel([tmp_path / "test.en", tmp_path / "test.de"])
    new = read_parallel([tmp_path / "new.en", tmp_path / "new.de"])
    for base in ("pairs", "texts"):
        run = tmp_path / f"from-{base}"
        with pytest.raises(DataError, match=rf"{base}, which the run starts from, was trained on 20 of"):
            train(translator(tmp_path, tmp_path / base, valid=files["test"]), run)
        train(translator(tmp_path, tmp_path / base, valid=files["valid"]), run)
        with pytest.raises(DataError, match=r"the run that .* started from was trained on it"):
            evaluate_translation(run, test)
        evaluate_translation(run, new, beam=1)


def test_a_language_model_that_started_from_another_goes_on_and_is_ranked(made: Path, tmp_path: Path) -> None:
    """Documents that its base has read are not part of its corpus."""
    asked = iter(range(100))
    config = language(made / "books.txt", made / "lm")
    train(config, tmp_path / "runs" / "parts", callbacks=Callbacks(should_stop=lambda: next(asked) == 1))
    resume(tmp_path / "runs" / "parts")
    whole, parts = (one / "model.safetensors" for one in (made / "grown", tmp_path / "runs" / "parts"))
    assert whole.read_bytes() == parts.read_bytes()
    train(language(made / "books.txt"), tmp_path / "runs" / "fresh")
    _, board, _ = leaderboard(tmp_path / "runs")
    assert len({one["data"] for one in board}) == 1


def test_a_stopped_classifier_keeps_what_its_base_has_read(made: Path, tmp_path: Path) -> None:
    given = {
        "data": {"train": str(made / "train.csv")},
        "train": {"epochs": 1, "init_from": str(made / "lm")},
    }
    config, asked = resolve(*inherit_config(given)), iter(range(100))
    train(config, tmp_path / "run", baseline=False, callbacks=Callbacks(should_stop=lambda: next(asked) == 1))
    resume(tmp_path / "run")
    roles = [source.role for source in TrainingRecord.load(tmp_path / "run").sources]
    assert roles == ["train", "valid", "base-0"]


@pytest.mark.parametrize("content", ['{"sources": [{"source": "a"}]}', '{"sources": [1]}', '{"sources": 3}'])
def test_a_damaged_record_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "training_data.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"training_data\.json: unreadable"):
        record_of(tmp_path)
    (tmp_path / "training_data.json").unlink()
    assert record_of(tmp_path).learned == ()
