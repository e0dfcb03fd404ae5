"""Training of translation models: the loss, resuming, the guards, and both kinds of models."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from parallel_numbers import number_pairs, small_translation, write_parts
from sentimodels.config import ParallelConfig, Seq2SeqConfig, TranslationTrainConfig
from sentimodels.data.exclusion import hash_file_of
from sentimodels.data.parallel import read_parallel
from sentimodels.errors import CheckpointError, ConfigError, DataError, TrainingError
from sentimodels.generation.pair_formats import EncoderDecoder, Prompted
from sentimodels.models.language import build_language_model
from sentimodels.models.seq2seq import Seq2SeqModel, Seq2SeqModelConfig
from sentimodels.nn.cross_entropy import IGNORED
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import CLASSIFIER, LANGUAGE_MODEL, TRANSLATOR
from sentimodels.runs.init_weights import inherit_translator
from sentimodels.runs.pairs import read_pairs
from sentimodels.runs.verify import verify
from sentimodels.tasks.seq2seq import PairFormat, Seq2Seq
from sentimodels.text.pairs import Pairs, encode_rows, end_of, joint_tokenizer
from sentimodels.text.vocabulary import Inputs
from sentimodels.translator import Translator, evaluate_translation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_parts(tmp_path)


def small_task(kind: str, **given: Any) -> tuple[Seq2Seq, Any, PairFormat]:
    sources, targets = number_pairs(50)
    tokenizer = joint_tokenizer(ParallelConfig(vocab_size=300), sources, targets)
    _, end = end_of(tokenizer)
    torch.manual_seed(0)
    model: nn.Module
    format: PairFormat
    if kind == "seq2seq":
        format = EncoderDecoder(end)
        shape = Seq2SeqModelConfig(d_model=16, n_heads=2, n_layers=1, n_decoder_layers=1)
        model = Seq2SeqModel(shape, Inputs(tokenizer.vocab_size, 0))
    else:
        format = Prompted.of("{source} answer:", tokenizer, end)
        small = (
            {"d_model": 16, "n_layers": 1, "n_heads": 2}
            if kind == "gpt"
            else {"d_model": 16, "n_layers": 1, "d_head": 8}
        )
        model = build_language_model(
            LANGUAGE_MODEL.resolve({"arch": kind, "model": small}), tokenizer.vocab_size
        )
    pairs = Pairs(format.sources(encode_rows(tokenizer, sources)), encode_rows(tokenizer, targets))
    config = Seq2SeqConfig(**given)
    train = TranslationTrainConfig(batch_tokens=300, epochs=3)
    return Seq2Seq(config, train, format, pairs, pairs), model.eval(), format


@pytest.mark.parametrize("kind", ["seq2seq", "gpt", "mamba"])
def test_the_loss_is_that_of_each_target_alone(kind: str) -> None:
    """A sum over tokens and their number, smoothed, for any other pairs in the batch."""
    task, model, format = small_task(kind, label_smoothing=0.2)
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in task.batches(0, 0, 0, 1):
            loss, n = task.loss(model, batch)
            total, count = total + float(loss), count + n
        expected, tokens, plain = 0.0, 0, 0.0
        for row in range(len(task.pairs)):
            batch = format.batch(task.pairs, np.array([row]))
            log_probs = model.logits(model(**batch.inputs())).log_softmax(-1)[0]
            for place, label in enumerate(batch.labels[0].tolist()):
                if label != IGNORED:
                    given = -float(log_probs[place, label])
                    expected += 0.8 * given - 0.2 * float(log_probs[place].mean())
                    plain += given
                    tokens += 1
        found = task.evaluate(model)
    assert count == tokens == int(task.pairs.targets.lengths.sum()) + len(task.pairs)
    assert total == pytest.approx(expected, rel=1e-4)
    assert found is not None  # not smoothed
    assert found.scores == pytest.approx(
        {"val_loss": plain / tokens, "val_perplexity": math.exp(plain / tokens)}, rel=1e-4
    )
    assert (found.monitor, found.higher_is_better) == ("val_loss", False)


def test_two_processes_read_what_one_reads() -> None:
    task, model, _ = small_task("seq2seq")
    both = [list(task.batches(1, 0, rank, 2)) for rank in (0, 1)]
    n_batches = task.plan(2).n_batches
    assert [len(batches) for batches in both] == [n_batches, n_batches]
    with torch.no_grad():
        found = [task.loss(model, batch) for batches in both for batch in batches]
        alone = [task.loss(model, batch) for batch in task.batches(0, 0, 0, 1)]
    assert sum(n for _, n in found) == sum(n for _, n in alone)
    assert sum(float(loss) for loss, _ in found) == pytest.approx(sum(float(x) for x, _ in alone), rel=1e-5)
    assert [b.labels.tolist() for b in list(task.batches(1, 0, 0, 1))[2:]] == [
        b.labels.tolist() for b in task.batches(1, 2, 0, 1)
    ]
    assert task.plan(1).steps == 3 * task.plan(1).n_batches


def test_a_run_learns_and_is_loaded(folder: Path) -> None:
    records: list[dict[str, Any]] = []
    about = train(
        small_translation(folder, task={"alpha": 0.6}),
        folder / "run",
        callbacks=Callbacks(on_record=records.append),
    )
    assert about["fit"]["stop"] == "epochs"
    assert about["pairs"] == {"train": 1500, "valid": 40, "left_out": 0}
    assert about["valid"]["loss"] < 0.3
    assert about["fit"]["monitor"] == "val_loss"
    assert about["fit"]["padding"] < 0.05
    assert {"val_loss", "val_perplexity"} <= {name for record in records for name in record}
    assert verify(folder / "run") == []
    translator = Translator.load(folder / "run")
    texts = ["one two three", "", "nine", "  ", "four four one zero"]
    found = translator.translate(texts, beam=4)
    assert [best[0].text for best in found] == ["eins zwei drei", "", "neun", "", "vier vier eins null"]
    several = translator.translate(texts[:1], n_best=3)[0]
    assert [one.score for one in several] == sorted((one.score for one in several), reverse=True)
    # Each alone is the same as among other pairs.
    assert translator.translate(texts[4:], beam=4)[0][0].score == pytest.approx(found[4][0].score, rel=1e-4)
    assert translator.translate([]) == []
    with pytest.raises(ConfigError, match="n_best 9: from 1 to the 5 of beam"):
        translator.translate(texts, n_best=9)
    for load in (CLASSIFIER.load, LANGUAGE_MODEL.load):
        with pytest.raises((CheckpointError, ConfigError), match="senti translate text"):
            load(folder / "run")
    with pytest.raises(CheckpointError, match="has finished; nothing to resume"):
        resume(folder / "run")
    with pytest.raises(CheckpointError, match="holds a run already"):
        train(small_translation(folder), folder / "run")


@pytest.mark.parametrize("sections", [{}, {"model": {"dropout": 0.2}, "train": {"ema": 0.0, "epochs": 2}}])
def test_a_stopped_run_goes_on_to_the_same_bytes(sections: dict[str, Any], folder: Path) -> None:
    settings = small_translation(folder, **{"train": {"epochs": 2}, **sections})
    train(settings, folder / "whole")
    asked = iter(range(100))
    about = train(settings, folder / "parts", callbacks=Callbacks(should_stop=lambda: next(asked) == 37))
    assert about["fit"]["stop"] == "stopped"
    assert Translator.load(folder / "parts").translate(["one"])[0][0].log_prob < 0  # of use meanwhile
    resume(folder / "parts")
    for file in ("model.safetensors", "tokenizer.json", "config.toml", "training_data.json"):
        assert (folder / "whole" / file).read_bytes() == (folder / "parts" / file).read_bytes(), file
    lines = [
        [
            {k: v for k, v in json.loads(line).items() if "second" not in k}
            for line in path.read_text().splitlines()
        ]
        for path in (folder / "whole" / "metrics.jsonl", folder / "parts" / "metrics.jsonl")
    ]
    assert [one for one in lines[1] if one in lines[0]] == lines[0]


def test_a_run_that_was_killed_before_its_first_state_begins_again(folder: Path) -> None:
    settings = small_translation(folder, train={"epochs": 1})
    train(settings, folder / "whole")
    asked = iter(range(100))
    train(settings, folder / "parts", callbacks=Callbacks(should_stop=lambda: next(asked) == 3))
    for file in ("model.safetensors", "state.safetensors", "manifest.json", "run.json"):
        (folder / "parts" / file).unlink()
    with pytest.raises(CheckpointError, match="has not finished: senti translate train --resume"):
        Translator.load(folder / "parts")
    notes: list[str] = []
    resume(folder / "parts", callbacks=Callbacks(on_warning=notes.append))
    assert any("it begins again" in note for note in notes)
    whole, parts = (folder / name / "model.safetensors" for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()


def test_a_run_whose_scoring_was_broken_off_goes_on_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sacrebleu", reason="scores are its")

    def broken_off(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sentimodels.recipes.translation.translation_scores", broken_off)
        with pytest.raises(KeyboardInterrupt):
            train(small_translation(folder, train={"epochs": 2}), folder / "unscored")
    about = resume(folder / "unscored", callbacks=Callbacks(should_stop=lambda: True))  # no step is left
    assert "bleu" in about["valid"]
    assert verify(folder / "unscored") == []
    assert len(Translator.load(folder / "unscored").translate(["one two"])) == 1


def test_a_translation_run_goes_on_from_another(folder: Path) -> None:
    train(small_translation(folder, train={"max_steps": 3}), folder / "base")
    files = small_translation(folder).tree()["data"]
    tree: dict[str, Any] = {
        "data": {"train": files["train"], "valid": files["valid"]},
        "train": {"init_from": str(folder / "base"), "max_steps": 1, "threads": 1, "ema": 0.0},
        "optim": {"lr": 1e-9},
    }
    train(TRANSLATOR.resolve(inherit_translator(tree), tree), folder / "run")
    base, run = (Translator.load(folder / name) for name in ("base", "run"))
    assert base.tokenizer == run.tokenizer
    for name, value in run.module.state_dict().items():
        torch.testing.assert_close(value, base.module.state_dict()[name], atol=1e-6, rtol=0)
    corpus = {
        "data": {"corpus": files["train"][:1], "context": 8},
        "train": {"init_from": str(folder / "base")},
    }
    with pytest.raises(ConfigError, match=r"base: a translation model; senti translate train FILES --init"):
        train(LANGUAGE_MODEL.resolve({"preset": "nano"}, corpus), folder / "language")


def test_a_run_whose_files_changed_does_not_go_on(folder: Path) -> None:
    asked = iter(range(100))
    train(
        small_translation(folder), folder / "run", callbacks=Callbacks(should_stop=lambda: next(asked) == 5)
    )
    (folder / "valid.en").write_text((folder / "valid.en").read_text() + "one\n")
    (folder / "valid.de").write_text((folder / "valid.de").read_text() + "eins\n")
    with pytest.raises(CheckpointError, match=r"valid\.de: has changed since the run began"):
        resume(folder / "run")


def test_weights_are_chosen_by_bleu_if_asked(folder: Path) -> None:
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    about = train(small_translation(folder, task={"monitor": "bleu"}, train={"epochs": 3}), folder / "run")
    assert about["fit"]["monitor"] == "val_bleu"
    scored = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    assert about["fit"]["best"] == max(line["val_bleu"] for line in scored if "val_bleu" in line)
    assert about["valid"]["signatures"]["bleu"].startswith("nrefs:1|")


def test_what_was_trained_on_is_not_scored(folder: Path) -> None:
    pytest.importorskip("sacrebleu", reason="BLEU is sacrebleu's")
    train(small_translation(folder, train={"max_steps": 40}), folder / "run")
    test, trained = (
        read_parallel([folder / f"{name}.{side}" for side in ("en", "de")]) for name in ("test", "train")
    )
    scores, translations = evaluate_translation(folder / "run", test, beam=2)
    seen = set(zip(trained.sources, trained.targets, strict=True))
    assert scores["seen"] == sum(pair in seen for pair in zip(test.sources, test.targets, strict=True))
    assert len(translations) == 40
    with pytest.raises(DataError, match="was trained on it, so it cannot be scored on it"):
        evaluate_translation(folder / "run", trained)
    with pytest.raises(DataError, match="trained on it"):
        evaluate_translation(folder / "run", trained.take(range(10)))
    for side in ("en", "de"):  # under another name
        (folder / f"copy.{side}").write_text((folder / f"train.{side}").read_text())
    with pytest.raises(DataError, match="trained on it"):
        evaluate_translation(folder / "run", read_parallel([folder / "copy.en", folder / "copy.de"]))


def test_training_pairs_are_not_validated_on(folder: Path) -> None:
    files = [str(folder / f"train.{side}") for side in ("en", "de")]
    with pytest.raises(DataError, match="it is trained on, so it cannot be validated on"):
        train(small_translation(folder, data={"valid": files}), folder / "run")
    notes: list[str] = []
    (folder / "valid.en").write_text("one\none two three four five six seven\n")
    (folder / "valid.de").write_text("eins\nx\n")
    train(
        small_translation(folder, train={"max_steps": 2}),
        folder / "run",
        callbacks=Callbacks(on_warning=notes.append),
    )
    assert "1 of 2 validation pairs is a training pair as well" in notes


def test_empty_and_long_pairs_are_left_out(folder: Path) -> None:
    (folder / "train.en").write_text("one\n\ntwo\n" + "one " * 50 + "\nthree\n")
    (folder / "train.de").write_text("eins\nx\n\n" + "eins " * 50 + "\ndrei\n")
    notes: list[str] = []
    settings = small_translation(folder, data={"max_tokens": 20}, train={"max_steps": 2})
    about = train(settings, folder / "run", callbacks=Callbacks(on_warning=notes.append))
    assert about["pairs"]["left_out"] == 3
    assert any(note.startswith("3 of 5 training pairs are left out") for note in notes)
    (folder / "train.en").write_text("\n\n")
    (folder / "train.de").write_text("\na\n")
    with pytest.raises(DataError, match="no pair to train on: of each a side is empty, or longer than 20"):
        train(settings, folder / "other")


def test_excluded_pairs_are_left_out(folder: Path) -> None:
    """On either side, of training and of validation pairs; each is counted."""
    dev, test = (f"the {part} judges alone have read this sentence" for part in ("first", "second"))
    (folder / "held-out.txt").write_bytes(hash_file_of([dev, test])[0])
    for name, source, target in (("train", f"one\n{dev}", f"{test}\neins"), ("valid", test, "zwei")):
        for side, more in (("en", source), ("de", target)):
            with (folder / f"{name}.{side}").open("a", encoding="utf-8") as file:
                file.write(f"{more}\n")
    said: list[str] = []
    config = small_translation(folder, data={"exclude": str(folder / "held-out.txt")})
    train, valid = read_pairs(config, said.append)
    assert (len(train), len(valid)) == (1500, 40)
    assert not {dev, test} & {*train.sources, *train.targets, *valid.sources, *valid.targets}
    assert [re.findall(r"\d rows?\b", one) for one in said[:2]] == [["2 rows"], ["1 row"]]


def test_without_validation_pairs_a_part_is_held_out(folder: Path) -> None:
    settings = small_translation(folder, data={"valid": [], "valid_share": 0.1}, train={"max_steps": 2})
    about = train(settings, folder / "run")
    assert about["pairs"]["train"] + about["pairs"]["valid"] == 1500
    assert about["pairs"]["valid"] > 50


def test_weights_that_become_no_numbers_end_the_run(folder: Path) -> None:
    with pytest.raises(TrainingError, match=r"lower optim\.lr"):
        train(
            small_translation(folder, optim={"lr": 1e30, "clip": 0.0}, model={"norm": "none"}), folder / "run"
        )


def test_positions_that_are_learned_reach_so_far(folder: Path) -> None:
    settings = small_translation(
        folder, model={"positions": "learned", "max_len": 12}, train={"max_steps": 2}
    )
    about = train(settings, folder / "run")
    translator = Translator.load(folder / "run")
    n = len(translator.tokenizer.encode("one two three").ids)
    assert about["pairs"]["left_out"] == 0
    assert n < 12
    assert len(translator.translate(["one two three"])[0]) == 1
    with pytest.raises(TypeError, match="a list of texts, not one text"):
        translator.translate("one two three")
    with pytest.raises(DataError, match=r"text 2 is \d+ tokens longer than the model's positions reach"):
        translator.translate(["one", "one two three " * 9])
    with pytest.raises(DataError, match=r"text 502 is \d+ tokens longer"):  # blank ones count
        translator.translate(["", "one two three " * 9], first=501)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"task": {"prompt": "no source"}}, r"task.prompt: expected \{source\} once"),
        ({"train": {"batch_size": 8}}, r"train.batch_size: .*set batch_tokens"),
        ({"model": {"n_heads": 3}}, "d_model 256 is not a multiple of n_heads 3"),
        ({"preset": "tiny"}, "preset 'tiny': seq2seq has no presets"),
        ({"arch": "bow"}, "a bag of features"),
        ({"arch": "gpt", "model": 3}, r"model: should be a section, as in \[model\], not 3"),
        ({"model": {"d_modle": 3}}, r"model.d_modle: unknown key; did you mean d_model\?"),
        ({"train": {"batch_tokenz": 3}}, r"did you mean batch_tokens\?"),
    ],
)
def test_settings_that_cannot_be(tree: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TRANSLATOR.resolve(tree)


def test_the_configuration_is_read_as_it_was_written() -> None:
    for tree in ({}, {"arch": "mamba", "preset": "nano"}, {"model": {"positions": "rotary", "tied": "none"}}):
        made = TRANSLATOR.resolve(tree)
        assert TRANSLATOR.resolve(made.tree()) == made
