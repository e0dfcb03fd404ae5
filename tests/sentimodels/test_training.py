"""The parts of a step against what they are defined by."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sentimodels.config import ClassificationConfig, OptimConfig
from sentimodels.errors import CheckpointError
from sentimodels.tasks.classification import distance, mixed, one_hot, summed
from sentimodels.training.history import mfu, peak_of, working_parameters
from sentimodels.training.optimizer import EMA, Muon, Optimizers, RowAdam, clip, depth_of, make_sparse, rate
from sentimodels.training.state import load_state, load_weights, save_state, weights_of


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(3)


# (schedule, step of 100 with 10 of warm-up and a least ratio of 0.1, factor)
RATES = [
    ("cosine", 0, 0.1),
    ("cosine", 9, 1.0),
    ("cosine", 10, 1.0),
    ("cosine", 99, 0.1),
    ("linear", 99, 0.1),
    ("linear", 10, 1.0),
    ("constant", 99, 1.0),
    ("linear", 44, 0.1 + 0.9 * (1 - 34 / 89)),
    ("cosine", 44, 0.1 + 0.9 * (1 + math.cos(math.pi * 34 / 89)) / 2),
]


@pytest.mark.parametrize(("schedule", "step", "factor"), RATES)
def test_rates(schedule: Any, step: int, factor: float) -> None:
    config = OptimConfig(schedule=schedule, warmup=0.1, min_lr_ratio=0.1)
    assert rate(step, 100, config) == pytest.approx(factor)


def test_a_run_of_one_step_has_a_rate() -> None:
    assert rate(0, 1, OptimConfig()) == 1.0


LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.1, 0.2, 0.3], [-3.0, 4.0, 0.0]])
LABELS = torch.tensor([0, 2, 0])


def test_loss_is_torchs_summed_cross_entropy() -> None:
    found = summed(LOGITS, one_hot(LABELS, 3), ClassificationConfig(), None)
    torch.testing.assert_close(found, nn.functional.cross_entropy(LOGITS, LABELS, reduction="sum"))
    smooth = summed(LOGITS, one_hot(LABELS, 3), ClassificationConfig(label_smoothing=0.1), None)
    expected = nn.functional.cross_entropy(LOGITS, LABELS, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(smooth, expected)
    weights = torch.tensor([0.5, 1.0, 2.0])
    expected = nn.functional.cross_entropy(LOGITS, LABELS, weights, reduction="sum")
    torch.testing.assert_close(summed(LOGITS, one_hot(LABELS, 3), ClassificationConfig(), weights), expected)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_focal_loss_is_its_formula(alpha: float) -> None:
    config = ClassificationConfig(focal_gamma=2.0, focal_alpha=alpha)
    found = summed(LOGITS, one_hot(LABELS, 3), config, None)
    probs = LOGITS.softmax(-1)
    expected = sum(
        -alpha * (1 - probs[i, y].item()) ** 2 * math.log(probs[i, y].item())
        for i, y in enumerate(LABELS.tolist())
    )
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_distance_is_the_symmetric_divergence() -> None:
    p, q = LOGITS.softmax(-1), LOGITS.flip(1).softmax(-1)
    forward = (p * (p / q).log()).sum()
    backward = (q * (q / p).log()).sum()
    torch.testing.assert_close(distance(LOGITS, LOGITS.flip(1)), (forward + backward) / 2)
    assert distance(LOGITS, LOGITS) == 0


def test_mixed_targets() -> None:
    found = mixed(one_hot(LABELS, 3), torch.tensor([1, 0, 2]), 0.75)
    assert found.tolist() == [[0.75, 0, 0.25], [0.25, 0, 0.75], [1, 0, 0]]


def sparse(parameter: nn.Parameter, rows: list[int], values: Tensor) -> None:
    parameter.grad = torch.sparse_coo_tensor(
        torch.tensor([rows]), values, parameter.shape, check_invariants=False
    )


def test_row_adamw_moves_met_rows_as_adam_would() -> None:
    """A row that is met at some steps only is as if Adam had been run on those steps."""
    table = nn.Parameter(torch.randn(4, 3))
    start = table.detach().clone()
    optimizer = RowAdam([table], 0.1, (0.9, 0.98), 1e-8)
    steps = [([0, 2], torch.randn(2, 3)), ([2, 2], torch.randn(2, 3)), ([0], torch.randn(1, 3))]
    for rows, values in steps:
        sparse(table, rows, values)
        optimizer.step()
    for row in range(4):
        alone = nn.Parameter(start[row].clone())
        adam = torch.optim.Adam([alone], 0.1, (0.9, 0.98), 1e-8)
        for rows, values in steps:
            if row in rows:
                alone.grad = sum((values[i] for i, r in enumerate(rows) if r == row), torch.zeros(3))
                adam.step()
        torch.testing.assert_close(table[row], alone)
    assert torch.equal(table[3], start[3])


def test_clipping_counts_sparse_and_dense_together() -> None:
    first, second = nn.Parameter(torch.zeros(3, 2)), nn.Parameter(torch.zeros(2))
    sparse(first, [1, 1], torch.tensor([[1.0, 0.0], [2.0, 0.0]]))  # one row: (3, 0)
    second.grad = torch.tensor([0.0, 4.0])
    assert clip([first, second], 1.0).item() == pytest.approx(5.0)
    assert first.grad is not None
    assert second.grad is not None
    torch.testing.assert_close(first.grad.to_dense()[1], torch.tensor([0.6, 0.0]), atol=1e-5, rtol=0)
    torch.testing.assert_close(second.grad, torch.tensor([0.0, 0.8]), atol=1e-5, rtol=0)


TABLES = {"embedding.weight"}


class Toy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 4, sparse=True)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.head = nn.Linear(4, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids).mean(1)
        for layer in self.layers:
            x = layer(x).tanh()
        logits: Tensor = self.head(x)
        return logits


def test_average_of_met_rows_is_that_of_all_rows() -> None:
    """Catching up late gives what averaging every row at every step gives."""
    toy = Toy()
    plain = {name: value.detach().clone().double() for name, value in toy.named_parameters()}
    average = EMA(toy, 0.9, {"embedding.weight"})
    optimizers = Optimizers(toy, OptimConfig(lr=0.1), sparse=TABLES)
    optimizers.set_rate(1.0)
    for step in range(30):
        ids = torch.tensor([[step % 3, (step * 5) % 4]])  # rows 4 and 5 are never met
        toy(ids).square().sum().backward()
        average.before_step()
        optimizers.step()
        average.after_step()
        decay = min(0.9, (step + 1) / (10 + step))
        for name, value in toy.named_parameters():
            plain[name] = decay * plain[name] + (1 - decay) * value.detach().double()
        if step in (7, 29):
            own = {name: value.detach().clone() for name, value in toy.named_parameters()}
            with average.applied():
                for name, value in toy.named_parameters():
                    torch.testing.assert_close(value.double(), plain[name], atol=1e-5, rtol=1e-5)
            for name, value in toy.named_parameters():
                assert torch.equal(value, own[name]), name


# (parameter, depth of 3 layers)
DEPTHS = [
    ("embedding.weight", 0),
    ("transformer.positions.weight", 0),
    ("transformer.blocks.0.attention.qkv_proj.weight", 1),
    ("recurrent.layers.2.0.weight_ih_l0", 3),
    ("head.network.1.weight", 4),
    ("transformer.norm.weight", 4),
    ("backbone.model.embeddings.LayerNorm.weight", 0),  # from here: models of transformers
    ("backbone.model.encoder.layer.0.attention.self.query.weight", 1),
    ("backbone.model.h.1.ln_1.weight", 2),
    ("backbone.model.ln_f.weight", 4),
    ("backbone.model.final_norm.weight", 4),
    ("backbone.model.decoder.final_layer_norm.weight", 4),
]


@pytest.mark.parametrize(("name", "depth"), DEPTHS)
def test_depth(name: str, depth: int) -> None:
    assert depth_of(name, 3) == depth


def test_lower_layers_move_slower() -> None:
    optimizers = Optimizers(Toy(), OptimConfig(lr=1.0, layer_decay=0.5, embedding_lr_scale=3), sparse=TABLES)
    optimizers.set_rate(0.1)
    rates = {
        optimizers.names[id(p)]: group["lr"]
        for optimizer in optimizers.all.values()
        for group in optimizer.param_groups
        for p in group["params"]
    }
    assert rates["embedding.weight"] == pytest.approx(3 * 0.1 * 0.5**3)  # lazy rows go further
    assert rates["layers.0.weight"] == pytest.approx(0.1 * 0.5**2)
    assert rates["layers.1.bias"] == pytest.approx(0.1 * 0.5)
    assert rates["head.weight"] == pytest.approx(0.1)


# (name of the optimiser, which kinds move what)
KINDS = [
    ("adamw", {"rows": {"embedding.weight"}, "adamw": {"layers", "head"}}),
    ("muon", {"rows": {"embedding.weight"}, "muon": {"layers"}, "adamw": {"layers", "head"}}),
    ("sgd", {"rows": {"embedding.weight"}, "sgd": {"layers", "head"}}),
]


@pytest.mark.parametrize(("name", "kinds"), KINDS)
def test_who_moves_what(name: Any, kinds: dict[str, set[str]]) -> None:
    optimizers = Optimizers(Toy(), OptimConfig(name=name), sparse=TABLES)
    assert set(optimizers.all) == set(kinds)
    for kind, optimizer in optimizers.all.items():
        names = [optimizers.names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        assert all(any(n.startswith(prefix) for prefix in kinds[kind]) for n in names)
        if kind == "muon":
            assert names == ["layers.0.weight", "layers.1.weight"]


def test_muon_leaves_tables_and_the_head_to_adamw() -> None:
    """Whole language models: their table is dense, their head a matrix."""

    layer = nn.Linear(4, 4)
    backbone = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "layer": layer})
    model = nn.ModuleDict({"backbone": backbone, "head": nn.Linear(4, 5)})
    made = Optimizers(model, OptimConfig(name="muon", muon_lr=0.5, weight_decay=0.1), sparse=())
    found = {
        kind: {made.names[id(p)] for group in one.param_groups for p in group["params"]}
        for kind, one in made.all.items()
    }
    assert found["muon"] == {"backbone.layer.weight"}
    assert found["adamw"] == {name for name, _ in model.named_parameters()} - found["muon"]
    # It has a separate rate, and the decay of the section.
    before = layer.weight.detach().clone()
    oracle = nn.Parameter(before.clone())
    alone = Muon([oracle], lr=0.25, weight_decay=0.1)
    made.set_rate(0.5)
    for weight in (layer.weight, oracle):
        weight.grad = torch.arange(16.0).reshape(4, 4).cos()
    made.step()
    alone.step()
    assert torch.equal(layer.weight, oracle)
    assert not torch.equal(oracle, before)


class Tied(Toy):
    """The head uses the table again."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 6)
        self.head.weight = self.embedding.weight


def test_a_table_is_sparse_unless_its_weights_are_tied() -> None:
    plain, tied = Toy(), Tied()
    assert make_sparse(plain, True) == TABLES
    assert make_sparse(tied, True) == make_sparse(plain, False) == set()
    assert not plain.embedding.sparse
    assert not tied.embedding.sparse


def test_tied_weights_are_in_a_state_once(tmp_path: Path) -> None:
    first, second = Tied(), Tied()
    save_state(tmp_path / "state", {"weights": weights_of(first)}, {})
    parts, _ = load_state(tmp_path / "state")
    assert "head.weight" not in parts["weights"]
    load_weights(second, parts["weights"])
    assert torch.equal(second.head.weight, first.embedding.weight)
    assert second.head.weight is second.embedding.weight
    with pytest.raises(CheckpointError, match=r"of another model: head\.weight"):
        load_weights(Toy(), parts["weights"])


def test_mfu_is_its_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    assert peak_of(torch.device("cpu"), True) is None
    peaks = {
        "NVIDIA H100 80GB HBM3": 989e12, "NVIDIA H100 PCIe": 756e12, "NVIDIA L4": 121e12,
        "NVIDIA L40": 181e12, "NVIDIA A100-SXM4-80GB": 312e12, "NVIDIA RTX A1000": None,
        "NVIDIA GeForce RTX 4090": 165e12,
        "NVIDIA GeForce RTX 4090 Laptop GPU": None, "Some GPU": None,
    }  # fmt: skip
    names = iter(peaks)
    monkeypatch.setattr("sentimodels.training.history.get_device_name", lambda _: next(names))
    assert [peak_of(torch.device("cuda"), True) for _ in peaks] == list(peaks.values())
    # Of the table, 6 rows of 4, no token goes through more than a row.
    assert working_parameters(Toy()) == 2 * (4 * 4 + 4) + 4 * 2 + 2
    assert mfu(1_000_000, 50_000.0, 1e12) == pytest.approx(0.3)


def test_biases_and_tables_do_not_decay() -> None:
    optimizers = Optimizers(Toy(), OptimConfig(weight_decay=0.3), sparse=())
    decay = {
        optimizers.names[id(p)]: group["weight_decay"]
        for group in optimizers.all["adamw"].param_groups
        for p in group["params"]
    }
    assert decay["layers.0.weight"] == 0.3
    assert decay["layers.0.bias"] == decay["embedding.weight"] == 0


@pytest.mark.parametrize("name", ["adamw", "muon", "sgd"])
def test_state_can_be_taken_over(name: Any) -> None:
    """Two optimisers with one state take the same steps, bit by bit."""
    first, second = Toy(), Toy()
    config = OptimConfig(name=name)
    ours, theirs = (
        Optimizers(toy, config, sparse=() if name == "sgd" else TABLES) for toy in (first, second)
    )
    if name == "sgd":
        first.embedding.sparse = second.embedding.sparse = False
    ids = torch.from_numpy(np.arange(6).reshape(3, 2))

    def step(toy: Toy, optimizers: Optimizers) -> None:
        toy(ids).square().sum().backward()
        optimizers.step()

    for _ in range(3):
        step(first, ours)
    second.load_state_dict(first.state_dict())
    theirs.load({key: value.clone() for key, value in ours.tensors().items()})
    for _ in range(3):
        step(first, ours)
        step(second, theirs)
    for key, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[key]), key
