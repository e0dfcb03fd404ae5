"""Pre-training: objectives, scores, and resumed runs that end as if never stopped."""

import json
import math
import re
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from animals import config_of, write_corpus
from sampled_cases import chosen
from sentimodels.errors import CheckpointError, ConfigError, DataError, TrainingError
from sentimodels.models.language import build_language_model
from sentimodels.nn.backbone import set_recompute
from sentimodels.runs.corpus import rows_in
from sentimodels.runs.directory import read_json
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.runs.language_directory import load_language_model
from sentimodels.runs.verify import verify
from sentimodels.tasks.next_token import NextToken, Rows
from sentimodels.text.corpus import open_corpus, prepare
from sentimodels.text.packed import RowOrder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize(
    ("arch", "sections"),
    [
        ("gpt", {}),
        pytest.param(
            "linear", {"optim": {"name": "muon"}, "model": {"positions": "learned"}}, marks=pytest.mark.slow
        ),
        ("mamba", {"task": {"tied": False}}),
        ("lstm", {"task": {"tied": True}}),
        pytest.param("encoder", {"optim": {"schedule": "linear"}}, marks=pytest.mark.slow),
        ("bert", {"task": {"next_sentence": True, "rate": 0.3}}),
    ],
)
def test_every_kind_of_model_learns(
    arch: str, sections: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    records: list[dict[str, Any]] = []
    notes: list[str] = []
    sections = {**sections, "train": {"max_steps": 40, "log_every": 10, "evaluate_every": 20}}
    about = train(
        config_of(corpus, arch, **sections),
        tmp_path / "run",
        callbacks=Callbacks(on_record=records.append, on_warning=notes.append),
    )
    losses = [record["loss"] for record in records if "loss" in record]
    assert losses[-1] < 0.8 * losses[0]
    scored = [record["val_loss"] for record in records if "val_loss" in record]
    assert about["valid"]["loss"] == pytest.approx(min(scored), rel=1e-5)
    assert any("documents to train on" in note for note in notes)
    assert about["speed"]["tokens_per_second"] > 0
    assert (about["fit"]["stop"], about["fit"]["steps"]) == ("max_steps", 40)
    assert not (tmp_path / "run" / "tokens").exists()
    assert verify(tmp_path / "run") == []
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [record["step"] for record in records]
    loaded = load_language_model(tmp_path / "run")
    assert loaded.about["valid"] == about["valid"]
    assert loaded.config.task.kind == ("masked" if arch in ("bert", "encoder") else "next-token")
    assert ("bits_per_byte" in about["valid"]) == (loaded.config.task.kind == "next-token")
    with pytest.raises(CheckpointError, match="holds a run already"):
        train(config_of(corpus, arch), tmp_path / "run")
    with pytest.raises(CheckpointError, match="has finished; nothing to resume"):
        resume(tmp_path / "run")


def test_a_model_beats_unigram_and_gzip_and_says_by_how_much(corpus: Path, tmp_path: Path) -> None:
    config = config_of(corpus, train={"max_steps": 120, "evaluate_every": 0})
    about = train(config, tmp_path / "run")
    assert about["valid"]["bits_per_byte"] < about["baselines"]["unigram"]
    # The score is that of the whole text, computed here document by document.
    loaded = load_language_model(tmp_path / "run")
    prepare(loaded.config, tmp_path / "rows", loaded.tokenizer)
    rows = open_corpus(tmp_path / "rows")
    stream = torch.from_numpy(rows.valid.read(0, rows.valid.total + 1))
    texts = [loaded.tokenizer.decode(part.tolist()) for part in _documents(stream, rows.valid.end)]
    n_bytes = sum(len(text.encode()) for text in texts)
    total = 0.0
    with torch.no_grad():
        for row in range(rows.valid.n_rows):
            start = rows.valid.start(row)
            piece = stream[start : start + 33]
            states = loaded.module(piece[None, :-1])
            logits = loaded.module.logits(states)[0].log_softmax(-1)
            losses = -logits[torch.arange(len(piece) - 1), piece[1:]]
            total += float(losses[rows.valid.n_seen(row) :].double().sum())
    assert about["valid"]["bits_per_byte"] == pytest.approx(total / math.log(2) / n_bytes, rel=1e-4)
    assert about["valid"]["loss"] == pytest.approx(total / rows.valid.total, rel=1e-4)
    assert about["valid"]["perplexity"] == pytest.approx(math.exp(total / rows.valid.total), rel=1e-4)
    # A unigram model is the shares of tokens, one added to each.
    counts = np.bincount(rows.train.read(1, rows.train.total), minlength=300) + 1
    valid = np.bincount(stream[1:].numpy(), minlength=300)
    unigram = -(valid * np.log2(counts / counts.sum())).sum() / n_bytes
    assert about["baselines"]["unigram"] == pytest.approx(unigram)


def _documents(stream: torch.Tensor, end: int) -> list[torch.Tensor]:
    ends = (stream == end).nonzero()[:, 0].tolist()
    return [stream[a + 1 : b] for a, b in pairwise(ends)]


def stopping_after(n: int) -> Callable[[], bool]:
    asked = count(1)
    return lambda: next(asked) >= n


def untimed(run: Path) -> list[dict[str, Any]]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    timed = ("seconds", "tokens_per_second")
    return [{k: v for k, v in json.loads(line).items() if k not in timed} for line in lines]


STOPPED: dict[str, dict[str, Any]] = {
    "gpt": {"model": {"dropout": 0.1}, "optim": {"name": "muon"}, "train": {"accumulate": 2}},
    "bert": {"task": {"next_sentence": True}},
    "mamba": {"train": {"ema": 0.9}},
}


STOPS = [("gpt", 1), ("gpt", 5), ("gpt", 9), ("bert", 5), ("mamba", 9)]


@pytest.mark.parametrize(("arch", "steps"), chosen(STOPS, ("gpt", 1), ("bert", 5), ("mamba", 9)))
def test_a_run_that_was_stopped_ends_with_the_same_bytes(
    arch: str, steps: int, corpus: Path, tmp_path: Path
) -> None:
    config = config_of(corpus, arch, **STOPPED[arch])
    train(config, tmp_path / "whole")
    about = train(config, tmp_path / "run", callbacks=Callbacks(should_stop=stopping_after(steps)))
    assert (about["fit"]["stop"], about["fit"]["steps"]) == ("stopped", steps)
    assert load_language_model(tmp_path / "run").config == LANGUAGE_MODEL.resolve(config.tree())
    if steps == 5:  # what can be made again is
        for path in (tmp_path / "run" / "tokens").iterdir():
            path.unlink()
    about = resume(tmp_path / "run")
    assert (about["fit"]["stop"], about["fit"]["steps"]) == ("max_steps", 12)
    for name in ("model.safetensors", "config.toml", "tokenizer.json", "training_data.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    whole = untimed(tmp_path / "whole")
    # A run that is stopped before its first evaluation is scored where it stops.
    assert [one for one in untimed(tmp_path / "run") if one in whole] == whole
    assert not (tmp_path / "run" / "tokens").exists()


def test_a_run_that_ended_before_its_first_state_begins_again(corpus: Path, tmp_path: Path) -> None:
    def cut(record: dict[str, Any]) -> None:
        if record["step"] >= 8:
            raise KeyboardInterrupt

    train(config_of(corpus), tmp_path / "base")
    start = {"init_from": str(tmp_path / "base"), "save_every": 500}
    train(config_of(corpus, train=start), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config_of(corpus, train=start), tmp_path / "run", callbacks=Callbacks(on_record=cut))
    assert not (tmp_path / "run" / "state.safetensors").exists()
    with pytest.raises(CheckpointError, match=rf"holds a run already; .*, or --resume {tmp_path / 'run'}$"):
        train(config_of(corpus, train=start), tmp_path / "run")
    notes: list[str] = []
    resume(tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    assert any("it begins again" in note for note in notes)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]
    assert untimed(tmp_path / "whole") == untimed(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"holds a run already; give another --out, or --force$"):
        train(config_of(corpus), tmp_path / "run")


def test_a_run_whose_scoring_was_broken_off_goes_on_with_it(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(config_of(corpus), tmp_path / "whole")
    evaluate, calls = NextToken.evaluate, count(1)

    def broken_off(task: NextToken, module: torch.nn.Module) -> Any:
        if next(calls) == 3:  # training has called it at steps 6 and 12
            raise KeyboardInterrupt
        return evaluate(task, module)

    with monkeypatch.context() as patch:
        patch.setattr(NextToken, "evaluate", broken_off)
        with pytest.raises(KeyboardInterrupt):
            train(config_of(corpus), tmp_path / "run")
    assert verify(tmp_path / "run") == []
    load_language_model(tmp_path / "run")  # of use, as far as it is known
    about = resume(
        tmp_path / "run", callbacks=Callbacks(should_stop=lambda: True)
    )  # there is no step left to stop at
    assert about["valid"] == read_json(tmp_path / "whole" / "run.json")["valid"]
    assert verify(tmp_path / "run") == []
    assert untimed(tmp_path / "run") == untimed(tmp_path / "whole")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


def test_a_torn_line_of_metrics_stops_nobody(corpus: Path, tmp_path: Path) -> None:
    train(config_of(corpus), tmp_path / "whole")
    train(config_of(corpus), tmp_path / "run", callbacks=Callbacks(should_stop=stopping_after(8)))
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 9, "ep')
    resume(tmp_path / "run")
    whole = untimed(tmp_path / "whole")
    assert [one for one in untimed(tmp_path / "run") if one in whole] == whole


def test_files_of_others_are_left_alone(corpus: Path, tmp_path: Path) -> None:
    kept = tmp_path / "run" / "tokens" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    with pytest.raises(CheckpointError, match=r"run/tokens: is not empty, .*give another --out"):
        train(config_of(corpus), tmp_path / "run")
    assert kept.read_text() == "mine"
    kept.unlink()
    other = tmp_path / "run" / "state-laws" / "a.txt"
    other.parent.mkdir()
    other.write_text("mine too")
    (tmp_path / "short.txt").write_text("one line")
    with pytest.raises(DataError):
        train(config_of(tmp_path / "short.txt"), tmp_path / "run")
    train(config_of(corpus), tmp_path / "run")
    assert other.read_text() == "mine too"


def test_what_was_killed_while_it_prepared_can_be_repeated(corpus: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "run" / "tokens"
    with rows_in(tmp_path / "run"):
        (tokens / "shard-00000.bin").write_bytes(b"a part")
    train(config_of(corpus), tmp_path / "run")
    assert not tokens.exists()


def test_a_lone_surrogate_is_text(tmp_path: Path) -> None:
    path = tmp_path / "tweets.jsonl"
    path.write_text("".join(json.dumps({"text": f"{n} great fun \ud83d"}) + "\n" for n in range(400)))
    about = train(config_of(path), tmp_path / "run")
    assert math.isfinite(about["valid"]["bits_per_byte"])


def test_a_corpus_that_has_changed_is_not_resumed(corpus: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text(corpus.read_text())
    train(config_of(own), tmp_path / "run", callbacks=Callbacks(should_stop=stopping_after(3)))
    (tmp_path / "run" / "tokens" / "corpus.json").unlink()
    own.write_text(corpus.read_text() + "one more line\n")
    with pytest.raises(CheckpointError, match=r"own\.txt: has changed since the run began"):
        resume(tmp_path / "run")
    own.write_text(corpus.read_text())
    resume(tmp_path / "run")  # as it was, it resumes
    with pytest.raises(CheckpointError, match="no such folder"):
        resume(tmp_path / "other")


@pytest.mark.parametrize("name", ["shard-00000.bin", "manifest.json", "train-rows.npy", "corpus.json"])
def test_rows_that_are_damaged_are_rebuilt(name: str, corpus: Path, tmp_path: Path) -> None:
    train(config_of(corpus), tmp_path / "run", callbacks=Callbacks(should_stop=stopping_after(3)))
    path = tmp_path / "run" / "tokens" / name
    path.write_bytes(path.read_bytes()[:7])
    assert resume(tmp_path / "run")["fit"]["stop"] == "max_steps"


def test_a_run_starts_from_another(corpus: Path, tmp_path: Path) -> None:
    train(config_of(corpus), tmp_path / "base")
    notes: list[str] = []
    start = {"init_from": str(tmp_path / "base"), "max_steps": 1}
    config = config_of(corpus, train=start, optim={"lr": 1e-9})
    train(config, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append))
    assert any(re.search(r"base: (\d+) of \1 tensors are where the model starts", note) for note in notes)
    base, found = (load_language_model(tmp_path / name) for name in ("base", "run"))
    assert base.tokenizer == found.tokenizer
    for name, value in base.module.state_dict().items():
        assert torch.allclose(value, found.module.state_dict()[name], atol=1e-6), name


def test_recomputing_changes_nothing_but_memory(corpus: Path, tmp_path: Path) -> None:
    for arch in ("gpt", "mamba"):
        for name, on in (("kept", False), ("again", True)):
            loop = {"recompute": on, "max_steps": 3}
            train(config_of(corpus, arch, model={"dropout": 0.1}, train=loop), tmp_path / f"{arch}-{name}")
        one, two = (tmp_path / f"{arch}-{name}" / "model.safetensors" for name in ("kept", "again"))
        assert one.read_bytes() == two.read_bytes()
    with pytest.raises(ConfigError, match="lstm has no blocks to compute again"):
        train(config_of(corpus, "lstm", train={"recompute": True}), tmp_path / "lstm")
    assert not (tmp_path / "lstm").exists()
    model = build_language_model(config_of(corpus), 300)
    held = [held_by(model, on) for on in (False, True)]
    assert held[1] < 0.5 * held[0]


def held_by(model: torch.nn.Module, recompute: bool) -> int:
    """Returns how many numbers are kept for the backward pass."""
    set_recompute(model, recompute)
    kept = 0

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        kept += tensor.numel() * (tensor.shape[:1] == (8,))  # those of the batch
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(torch.zeros(8, 64, dtype=torch.int64)).sum().backward()
    return kept


def test_batches_that_are_accumulated_are_one_large_batch(corpus: Path, tmp_path: Path) -> None:
    train(config_of(corpus, train={"batch_size": 8, "max_steps": 4}), tmp_path / "large")
    train(config_of(corpus, train={"accumulate": 2, "max_steps": 4}), tmp_path / "small")
    one, two = (load_language_model(tmp_path / name).module.state_dict() for name in ("large", "small"))
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=1e-4, rtol=1e-3, msg=name)


def test_a_loss_that_is_not_finite_ends_the_run_with_a_remedy(corpus: Path, tmp_path: Path) -> None:
    config = config_of(corpus, optim={"lr": 1e30, "clip": 0.0})
    with pytest.raises(TrainingError, match=r"lower optim.lr"):
        train(config, tmp_path / "run")


def test_what_cannot_be_trained_is_refused_before_the_corpus_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.txt"
    for arch, sections, said in (
        ("gpt", {"optim": {"freeze": ["nothing"]}}, "optim.freeze 'nothing': no parameter begins so"),
        ("encoder", {"task": {"next_sentence": True}}, "encoder has no segments"),
        ("lstm", {"train": {"recompute": True}}, "lstm has no blocks"),
    ):
        with pytest.raises(ConfigError, match=said):
            train(config_of(missing, arch, **sections), tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_a_token_weighs_the_same_wherever_it_stands(corpus: Path, tmp_path: Path) -> None:
    """The loss is that of all tokens at once, whatever the chunks of the head."""
    config = config_of(corpus)
    prepare(config, tmp_path / "rows")
    rows = open_corpus(tmp_path / "rows")
    task = NextToken(rows, RowOrder(config, rows.train.n_rows))
    torch.manual_seed(0)
    model = build_language_model(config, 300)
    batch = next(task.batches(0, 0, 0, 1))
    loss, n = task.loss(model, batch)
    loss.backward()
    gradients = {
        name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None
    }
    model.zero_grad()
    assert isinstance(batch, Rows)
    logits = model.logits(model(batch.ids))
    plain = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="sum")
    plain.backward()
    assert n == batch.ids.numel()
    assert loss.item() == pytest.approx(plain.item(), rel=1e-5)
    for name, value in model.named_parameters():
        assert value.grad is not None
        torch.testing.assert_close(gradients[name], value.grad, atol=1e-3, rtol=1e-3, msg=name)


@pytest.mark.slow
def test_a_compiled_model_learns_the_same(corpus: Path, tmp_path: Path) -> None:
    for name, on in (("plain", False), ("compiled", True)):
        train(config_of(corpus, train={"compile": on, "max_steps": 4}), tmp_path / name)
    one, two = (load_language_model(tmp_path / name).module.state_dict() for name in ("plain", "compiled"))
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=1e-4, rtol=1e-3, msg=name)


def test_a_cpu_reads_a_batch_in_pieces(corpus: Path, tmp_path: Path) -> None:
    """The step is that of the whole batch; a GPU has it whole."""
    config = config_of(corpus)
    prepare(config, tmp_path / "rows")
    rows = open_corpus(tmp_path / "rows")
    task = NextToken(rows, RowOrder(config, rows.train.n_rows))
    ids = torch.arange(5 * 2048).view(5, 2048) % 300
    batch = Rows(ids, ids.masked_fill(ids == 7, -100), int((ids != 7).sum()))
    pieces = list(task.pieces(batch, torch.device("cpu")))
    assert [len(piece.ids) for piece in pieces] == [2, 2, 1]
    assert torch.equal(torch.cat([piece.targets for piece in pieces]), batch.targets)
    assert sum(piece.n_targets for piece in pieces) == batch.n_targets
    assert [len(piece.ids) for piece in task.pieces(batch, torch.device("cuda"))] == [5]
    torch.manual_seed(0)
    model = build_language_model(config, 300)
    losses = [task.loss(model, part)[0].item() for part in (batch, *pieces)]
    assert losses[0] == pytest.approx(sum(losses[1:]), rel=1e-5)
