"""A model while it is scored: its mode, gradients and precision, and what its loss is called."""

import math

import pytest
import torch
from torch import nn

from sentimodels.tasks.next_token import evaluating, loss_scores
from sentimodels.training.trainer import NotFiniteError


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("bfloat16", [True, False])
def test_a_model_is_scored_and_left_as_it_was(training: bool, bfloat16: bool) -> None:
    model = nn.Linear(2, 2).train(training)
    with evaluating(model, bfloat16=bfloat16):
        found = model(torch.ones(1, 2))
        assert not model.training
    assert not found.requires_grad
    assert found.dtype == (torch.bfloat16 if bfloat16 else torch.float32)
    assert model.training == training
    with pytest.raises(KeyError), evaluating(model, bfloat16=bfloat16):
        raise KeyError
    assert model.training == training
    assert model(torch.ones(1, 2)).requires_grad


def test_a_loss_is_a_mean_and_a_perplexity() -> None:
    assert loss_scores(6.0, 3) == {"val_loss": 2.0, "val_perplexity": math.exp(2)}
    assert loss_scores(0.0, 0)["val_loss"] == 0.0
    assert math.isfinite(loss_scores(1e6, 1)["val_perplexity"])
    for loss in (math.inf, math.nan):
        with pytest.raises(NotFiniteError, match=f"the validation loss is {loss}"):
            loss_scores(loss, 3)
