"""Invariants of every row of a table of choices; architectures and explainers have separate files."""

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from labelled_reviews import rows, tree
from sentimodels import Classifier
from sentimodels.alignment.openings import read_openings
from sentimodels.alignment.preferences import read_preferences
from sentimodels.config import (
    SCHEDULES,
    TASKS,
    AlignDataConfig,
    ClassificationConfig,
    CorpusConfig,
    DistillationConfig,
    OptimConfig,
    RowOf,
)
from sentimodels.data.parallel import read_parallel
from sentimodels.data.readers import READERS, open_texts, read_table, recognise
from sentimodels.errors import DataError
from sentimodels.explain import EXPLAINERS, explain
from sentimodels.models import ARCHITECTURES, build
from sentimodels.nn.class_head import HEADS, POOLINGS, ClassHead, HeadConfig, HeadKind, Pooling, PoolingKind
from sentimodels.runs.execute import train
from sentimodels.runs.families import CLASSIFIER, FAMILIES, LANGUAGE_MODEL, resolve
from sentimodels.tasks.classification import LOSSES, TaskRows, summed
from sentimodels.tasks.distillation import DISTANCES
from sentimodels.text.documents import Documents
from sentimodels.text.encoder import encoder_for
from sentimodels.training.optimizer import OPTIMIZERS, Optimizers, rate


def test_the_configuration_offers_what_the_tables_have() -> None:
    assert set(get_args(PoolingKind)) == set(POOLINGS)
    assert set(get_args(HeadKind)) == set(HEADS)
    for section, key, table in (
        (OptimConfig, "name", OPTIMIZERS),
        (OptimConfig, "schedule", SCHEDULES),
        (ClassificationConfig, "loss", LOSSES),
        (DistillationConfig, "loss", DISTANCES),
    ):
        (row,) = (one for one in section.model_fields[key].metadata if isinstance(one, RowOf))
        assert row.names() == list(table)
        assert row.usual == section.model_fields[key].default
        for name in table:
            assert getattr(section.model_validate({key: name}), key) == name
        with pytest.raises(ValidationError, match=rf"should be one of {', '.join(table)}"):
            section.model_validate({key: "none of them"})
    assert {kind: row.config.model_fields["kind"].default for kind, row in TASKS.items()} == dict(
        zip(TASKS, TASKS, strict=True)
    )
    assert set(TASKS) == {kind for family in FAMILIES for kind in family.tasks}
    assert all(set(family.commands) == set(family.tasks) for family in FAMILIES)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_falls_from_the_highest_rate_to_the_last(name: str) -> None:
    config = OptimConfig.model_validate({"schedule": name, "warmup": 0.2, "min_lr_ratio": 0.1})
    rates = [rate(step, 50, config) for step in range(50)]
    assert max(rates) == rates[10] == pytest.approx(1.0)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(1.0 if name == "constant" else 0.1)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_lowers_a_loss_and_resumes_from_its_state(name: str) -> None:
    def trained(steps: int, state: dict[str, Any] | None = None) -> tuple[nn.Module, Optimizers]:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        config = OptimConfig.model_validate({"name": name, "lr": 0.01})
        if state is not None:
            module.load_state_dict(state["module"])
        optimizers = Optimizers(module, config, sparse=())
        if state is not None:
            optimizers.load(state["tensors"])
        for _ in range(steps):
            optimizers.set_rate(1.0)
            optimizers.zero_grad()
            module(rows).square().mean().backward()
            optimizers.step()
        return module, optimizers

    rows = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    before, _ = trained(0)
    half, optimizers = trained(5)
    whole, _ = trained(10)
    assert whole(rows).square().mean() < before(rows).square().mean()
    state = {"module": half.state_dict(), "tensors": {k: v.clone() for k, v in optimizers.tensors().items()}}
    resumed, _ = trained(5, state)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_gives_logits_and_learns(name: HeadKind) -> None:
    torch.manual_seed(1)
    head = ClassHead(HeadConfig(head=name, head_dropout=0.0), 6, 3)
    states, labels = torch.randn(9, 5, 6), torch.arange(9) % 3
    assert head(states).shape == (9, 3)
    optimizer = torch.optim.Adam(head.parameters(), 0.05)
    for _ in range(300):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(states), labels)
        loss.backward()
        optimizer.step()
    assert loss < 0.1
    assert all(parameter.grad is not None for parameter in head.parameters())


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_falls_towards_the_target_and_adds_up_over_rows(name: str) -> None:
    config = ClassificationConfig(loss=name)
    target = nn.functional.one_hot(torch.tensor([0, 2]), 3).float()
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
    loss = summed(logits, target, config, None)
    apart = [summed(logits[row : row + 1], target[row : row + 1], config, None) for row in range(2)]
    torch.testing.assert_close(loss, apart[0] + apart[1])
    assert loss > summed(20 * target, target, config, None) >= 0
    (slope,) = torch.autograd.grad(loss, logits)
    assert (slope[target.bool()] < 0).all()
    weights = torch.tensor([2.0, 1.0, 2.0])
    torch.testing.assert_close(summed(logits, target, config, weights), 2 * loss)


def test_losses_differ() -> None:
    target = torch.eye(3)
    logits = torch.randn(3, 3, generator=torch.Generator().manual_seed(1))
    found = {name: float(summed(logits, target, ClassificationConfig(loss=name), None)) for name in LOSSES}
    assert len(set(found.values())) == len(LOSSES), found


@pytest.mark.parametrize("kind", CLASSIFIER.tasks)
def test_a_task_learns_from_rows(kind: str) -> None:
    """By its maker, on encoded texts with labels and a teacher's answers, which a task may leave aside."""
    row = TASKS[kind]
    texts = [text for text, _ in rows(120)]
    labels = np.array([label == "pos" for _, label in rows(120)]).astype(np.int64)
    config = resolve(tree("cnn", Path("none.csv"), task={"kind": kind}))
    encoder = encoder_for(config, texts)
    answers = np.eye(2, dtype=np.float32)[labels]
    encoded = encoder.encode(texts)
    given = answers.astype(np.int64) if kind == "multilabel" else labels
    task = row.make(config, TaskRows(encoded, given, 2, encoded, given, answers, answers))
    module = build(config.arch, config.model, encoder.inputs(2))
    task.check(module)
    before, losses = task.evaluate(module), []
    optimizer = torch.optim.Adam(module.parameters(), 0.01)
    for epoch in range(3):
        for batch in task.batches(epoch, 0, 0, 1):
            loss, n_rows = task.loss(module, batch)
            optimizer.zero_grad()
            (loss / n_rows).backward()
            optimizer.step()
            losses.append(loss.item() / n_rows)
    assert losses[-1] < losses[0]
    after = task.evaluate(module)
    assert after.scores["val_accuracy"] > max(0.9, before.scores["val_accuracy"])
    assert CLASSIFIER.commands[kind] == row.command


SMALL = {"d_model": 16, "n_layers": 1, "n_heads": 2}


@pytest.mark.parametrize("kind", LANGUAGE_MODEL.tasks)
def test_a_task_of_language_models_learns_from_a_corpus(kind: str, tmp_path: Path) -> None:
    """By its maker and its head, with an architecture that it is the usual task of."""
    (tmp_path / "corpus.txt").write_text("".join(f"{text}\n" for text, _ in rows(300)), "utf-8")
    arch = next(
        name
        for name, row in ARCHITECTURES.items()
        if row.pretrained_by == kind and SMALL.keys() <= row.config.model_fields.keys()
    )
    config = LANGUAGE_MODEL.resolve({
        "arch": arch, "task": {"kind": kind}, "optim": {"lr": 0.01, "warmup": 0.0},
        "model": SMALL,
        "data": {"corpus": [str(tmp_path / "corpus.txt")], "vocab_size": 300, "context": 32},
        "train": {"max_steps": 40, "batch_size": 8, "threads": 1},
    })  # fmt: skip
    about = train(config, tmp_path / "run")
    assert about["task"] == kind
    assert about["valid"]["loss"] < 0.8 * math.log(about["vocabulary"])
    assert isinstance(config.task, TASKS[kind].config)


@pytest.mark.parametrize("name", POOLINGS)
def test_a_pooling_reads_real_tokens_only(name: PoolingKind) -> None:
    pooling = Pooling(name, 6)
    states = torch.randn(3, 5, 6)
    mask = torch.arange(5)[None] < torch.tensor([3, 5, 0])[:, None]
    pooled = pooling(states, mask)
    assert pooled.shape == (3, pooling.d_out)
    states[0, 3:] = 9.0
    torch.testing.assert_close(pooling(states, mask), pooled)
    assert not pooled[2].any()


@pytest.mark.parametrize("name", [name for name, row in READERS.items() if row.suffixes])
def test_a_reader_is_found_by_the_suffixes_of_its_row(name: str, tmp_path: Path) -> None:
    for suffix in READERS[name].suffixes:
        (tmp_path / f"a{suffix}").write_text("x")
        assert recognise(tmp_path / f"a{suffix}") == name


# A small file or folder of each format: its name and content. Formats with columns are written below.
_SIDES = {"prompt": ["good fun", "so dull"], "chosen": ["Yes.", "It is."], "rejected": ["No.", "Not so."]}


def _example(name: str, folder: Path) -> Path:
    """Writes the example of a format."""
    if READERS[name].has_columns:
        frame = pandas.DataFrame({**_SIDES, "text": _SIDES["prompt"], "label": ["1", "0"]})
        path = folder / f"a.{name}"
        {
            "csv": lambda: frame.to_csv(path, index=False),
            "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
            "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
            "parquet": lambda: frame.to_parquet(path),
        }[name]()
        return path
    files = READERS[name].example
    assert files, "give the row an example, with one text that is good and one that is dull"
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content)
    return folder / next(iter(files)).partition("/")[0]


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_the_same_texts_as_table_and_as_corpus(name: str, tmp_path: Path) -> None:
    path = _example(name, tmp_path)
    table = read_table(path, format=name)
    assert "".join(table.texts).count("good") == "".join(table.texts).count("dull") == 1
    assert table.format == name
    with open_texts(path, format=name) as file:
        assert list(file.texts) == table.texts
        assert file.sha256() == table.sha256
    with open_texts(path, format=name) as file:  # the hash is that of the whole file, whatever was read
        assert next(file.texts) == table.texts[0]
        assert file.sha256() == table.sha256
    assert read_table(path, format=name, limit=1).sha256 == table.sha256
    if not READERS[name].of_folders:
        documents = Documents(CorpusConfig(corpus=(str(path),), format=name))
        assert list(documents) == table.texts
        assert documents.sources[0]["sha256"] == table.sha256


LONG = "long text " * 5_000
# A line, or lines, of a file of long texts; other formats hold short ones, or are in memory as a whole.
LONG_ROWS = {
    "lines": LONG,
    "paragraphs": f"{LONG}\n",
    "fasttext": f"__label__a {LONG}",
    "pairs": f"{LONG}\t1",
    "csv": f'1,"{LONG}"',
    "tsv": f"1\t{LONG}",
    "jsonl": json.dumps({"text": LONG}),
}


@pytest.mark.parametrize("name", LONG_ROWS)
def test_texts_are_read_in_memory_that_does_not_grow(name: str, tmp_path: Path) -> None:
    head = {"csv": "id,text\n", "tsv": "id\ttext\n"}.get(name, "")
    n_rows = 800
    (tmp_path / "a").write_text(head + f"{LONG_ROWS[name]}\n" * n_rows)
    tracemalloc.start()
    with open_texts(tmp_path / "a", format=name) as file:
        assert sum(len(text.strip()) == len(LONG) - 1 for text in file.texts) == n_rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6  # of 40e6 characters


@pytest.mark.parametrize("name", [name for name, row in READERS.items() if row.has_columns])
def test_a_reader_of_columns_reads_pairs_and_preferences(name: str, tmp_path: Path) -> None:
    path = _example(name, tmp_path)
    pairs = read_parallel([path], source_column="prompt", target_column="chosen")
    assert (pairs.sources, pairs.targets) == (_SIDES["prompt"], _SIDES["chosen"])
    bare = path.rename(tmp_path / "bare")  # whose name does not tell
    named: dict[str, Any] = {"source_column": "prompt", "target_column": "chosen", "format": name}
    assert read_parallel([bare], **named).sources == pairs.sources
    assert len(read_preferences(bare, AlignDataConfig(format=name))[0]) == len(pairs)
    assert (
        read_openings(bare, AlignDataConfig(format=name), None).texts == read_table(bare, format=name).texts
    )
    bare.rename(path)
    found, table = read_preferences(path, AlignDataConfig(train=str(path)))
    assert [vars(pair) for pair in found.values()] == [
        dict(zip(_SIDES, row, strict=True)) for row in zip(*_SIDES.values(), strict=True)
    ]
    assert table.sha256 == pairs.sha256
    with pytest.raises(DataError, match="no column 'gone'; it has 'prompt', 'chosen'"):
        read_parallel([path], source_column="gone", target_column="chosen")
    with pytest.raises(DataError, match="no column 'gone'; it has 'prompt', 'chosen'"):
        read_preferences(path, AlignDataConfig(train=str(path), chosen_column="gone"))
    with pytest.raises(DataError, match="no column 'gone'; it has 'prompt', 'chosen'"):
        list(Documents(CorpusConfig(corpus=(str(path),), text_column="gone")))


@pytest.mark.parametrize("name", [name for name, row in READERS.items() if row.separated])
def test_separator_and_header_are_read_alike_by_every_command(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    path.write_text("x;y;z\ngood;Yes.;No.\ndull;It is.;Not so.\n")
    given: dict[str, Any] = {"separator": ";", "header": False}
    table = read_table(path, "1", **given)
    assert table.texts == ["x", "good", "dull"]
    assert list(Documents(CorpusConfig(corpus=(str(path),), text_column="1", **given))) == table.texts
    assert read_parallel([path], source_column="1", target_column="2", **given).sources == table.texts
    columns: dict[str, Any] = {"prompt_column": "1", "chosen_column": "2", "rejected_column": "3"}
    found, _ = read_preferences(path, AlignDataConfig(train=str(path), **columns, **given))
    assert [pair.prompt for pair in found.values()] == table.texts
    assert read_openings(path, AlignDataConfig(text_column="1", **given), None).texts == table.texts


@pytest.mark.parametrize("name", EXPLAINERS)
def test_an_explainer_says_what_each_token_adds(name: str, trained: Path) -> None:
    classifier = Classifier.load(trained)
    text = "the plot is good and gripping"
    method, found = explain(classifier, text, name)
    assert method
    assert found.effects.shape == (len(found.tokens), 2)
    assert np.isfinite(found.effects).all()
    np.testing.assert_allclose(found.probs, classifier.predict_proba([text])[0], atol=1e-5)
    assert [text[token.start : token.end] for token in found.tokens if not token.special]
    strongest = int(np.abs(found.effects[:, 1]).argmax())
    assert text[found.tokens[strongest].start : found.tokens[strongest].end].strip() in ("good", "gripping")


def test_something_explains_an_ensemble() -> None:
    assert any(row.of_ensembles for row in EXPLAINERS.values())
