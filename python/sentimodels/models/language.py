"""`CausalModel` and `MaskedModel`: a backbone with the head that its pre-training needs.

Parameters are named `backbone.*` and `head.*`, as those of a classifier, so that a classifier starts from a
language model's backbone without a map of names. Losses are the tasks' (`tasks/next_token.py`,
`tasks/masked.py`), which read the head, so that logits of a whole row never exist in training.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..config import TASKS, LanguageConfig, MaskedConfig, NextTokenConfig
from ..config.task import named
from ..errors import ConfigError
from ..nn.backbone import Backbone, Cache
from ..nn.token_heads import MaskedTokenHead, NextSentenceHead, NextTokenHead
from ..nn.transformer import Block
from ..text.vocabulary import Inputs
from . import build_backbone

__all__ = ["CausalModel", "LanguageModule", "MaskedModel", "build_language_model", "language_model_shape"]

# Standard deviation that tables and maps start with, as GPT-2's and BERT's.
_STD = 0.02


class CausalModel(nn.Module):
    """Predicts the next token.

    Args:
        backbone: a causal one.
        head: from its states to logits.
    """

    def __init__(self, backbone: Backbone, head: NextTokenHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Returns states (B, T, D); see `Backbone.forward`."""
        states: Tensor = self.backbone(input_ids, mask, positions=positions, cache=cache)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Returns logits (..., V) of states (..., D)."""
        logits: Tensor = self.head(states, self.backbone)
        return logits

    def new_cache(self) -> Cache:
        """Returns an empty cache for one batch of texts."""
        return self.backbone.new_cache()


class MaskedModel(nn.Module):
    """Predicts masked tokens and, if asked, whether the second segment follows the first.

    Args:
        backbone: one that reads both ways.
        head: from states of masked tokens to logits.
        next_sentence: from the first state to two classes, or `None`.
        rate: share of the tokens that are masked; the head reads only these.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: MaskedTokenHead,
        next_sentence: NextSentenceHead | None = None,
        rate: float = 1.0,
    ) -> None:
        super().__init__()
        self.shares_read = {"head.": rate, "next_sentence.": 0.0}  # for `training.history.working_parameters`
        self.backbone = backbone
        self.head = head
        self.next_sentence = next_sentence

    def forward(
        self, input_ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Returns states (B, T, D); see `Backbone.forward`."""
        states: Tensor = self.backbone(input_ids, mask, segments)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Returns logits (..., V) of states (..., D)."""
        logits: Tensor = self.head(states, self.backbone)
        return logits


LanguageModule = CausalModel | MaskedModel


def build_language_model(config: LanguageConfig, vocab_size: int) -> LanguageModule:
    """Builds a language model with the weights it starts from.

    Args:
        config: of the run.
        vocab_size: V, ids run below it.

    Raises:
        ConfigError: if the architecture cannot do the task.
    """
    backbone = build_backbone(config.arch, config.model, Inputs(vocab_size, 0))
    head = cast("Callable[..., LanguageModule]", named(TASKS[config.task.kind].head))
    return head(config, backbone, vocab_size)


def causal_model(config: LanguageConfig, backbone: Backbone, vocab_size: int) -> CausalModel:
    """Puts a head that predicts the next token on a backbone; see `build_language_model`."""
    assert isinstance(config.task, NextTokenConfig)
    if not backbone.causal:
        raise ConfigError(
            f"{config.arch} reads tokens to come, so it cannot learn to predict them; "
            "take gpt, linear, mamba or lstm, or task masked"
        )
    with torch.no_grad():
        _start(backbone)
    try:
        head = NextTokenHead(backbone, vocab_size, tied=config.task.tied)
    except ValueError as error:
        raise ConfigError(f"task.tied: {error}") from None
    return CausalModel(backbone, head)


def masked_model(config: LanguageConfig, backbone: Backbone, vocab_size: int) -> MaskedModel:
    """Puts a head that predicts masked tokens on a backbone; see `build_language_model`."""
    assert isinstance(config.task, MaskedConfig)
    if backbone.causal:
        raise ConfigError(f"{config.arch} reads only the tokens before a token; take bert or encoder")
    with torch.no_grad():
        _start(backbone)
    second = config.task.next_sentence
    if second and getattr(backbone, "segments", None) is None:
        raise ConfigError(f"task.next_sentence: {config.arch} has no segments; take bert")
    next_sentence = NextSentenceHead(backbone.d_out) if second else None
    return MaskedModel(backbone, MaskedTokenHead(backbone, vocab_size), next_sentence, config.task.rate)


# Functions that draw weights, as such a mode sees them.
_DRAW = (nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, Tensor.normal_, Tensor.uniform_)


class _NothingDrawn(TorchFunctionMode):
    """Leaves out the draw of weights: of tensors without values it would only import torch's compiler."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        return (args[0] if args else given["tensor"]) if func in _DRAW else func(*args, **given)


def language_model_shape(config: LanguageConfig, vocab_size: int) -> LanguageModule:
    """Builds a language model whose weights have shapes and no values, so it takes no memory.

    The arguments and errors are those of `build_language_model`.
    """
    with torch.device("meta"), _NothingDrawn():
        return build_language_model(config, vocab_size)


def _start(backbone: Backbone) -> None:
    """Gives tables and blocks the weights that language models start from.

    A tied table is read as logits, so its rows start short; what blocks add to the sum of all layers
    starts smaller by the root of how many add to it (Radford et al. 2019, 2.3).
    """
    nn.init.normal_(backbone.token_table(), std=_STD)
    blocks = [module for module in backbone.modules() if isinstance(module, Block)]
    for block in blocks:
        for module in block.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=_STD)
        if block.before:
            for last in (block.attention.project_out, block.feed_forward.project_out):
                last.weight.mul_((2 * len(blocks)) ** -0.5)
