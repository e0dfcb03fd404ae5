"""`hf:PATH`: a model of transformers, from a folder that its save_pretrained wrote.

`Hf` is a backbone under a pooling and a head of ours, `HfClassifier` the whole classifier with its own head.
BERT, RoBERTa, DistilBERT, ModernBERT, GPT-2, ...: whatever transformers' `AutoModel` builds and gives states.
Its settings, the text of `config.json`, are kept in the run, which needs the folder no more once it has
begun.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn

from ..errors import ConfigError
from ..nn.backbone import Backbone, Cache
from ..nn.class_head import HeadConfig, PoolingKind
from ..text.vocabulary import Inputs

__all__ = ["Hf", "HfClassifier", "HfConfig", "auto_class"]


class HfConfig(HeadConfig):
    """A model of transformers."""

    pooling: PoolingKind = Field(
        default="mean", description="Pooling of token states: first, last, mean, max, mean-max or attention."
    )
    head_dropout: float = Field(
        default=0.1, ge=0, lt=1, description="Dropout of the pooled features, from 0 to 1."
    )
    own_head: bool = Field(
        default=False,
        description="Classify by the head that transformers gives the model, such as that of "
        "BertForSequenceClassification, without pooling and head of ours; senti export --hf can write it.",
    )
    settings: str = Field(
        default="", description="config.json of the model, as text; senti train takes it from the folder."
    )


class Hf(Backbone):
    """A model of transformers as a backbone; ids above its own, such as padding, are its last one."""

    def __init__(self, config: HfConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        if config.pooling == "cls":
            raise ConfigError("model.pooling cls: not for models of transformers; take first or mean")
        made = _settings(config.settings)
        self.n_ids = _checked_ids(made, inputs)
        self.embedding = None
        self.d_out = int(made.hidden_size)
        with _naming():
            self.model = auto_class().from_config(made)
        if getattr(self.model, "pooler", None) is not None:
            self.model.pooler = None  # the head pools states; this part would never learn

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D)."""
        self._no(segments=segments, positions=positions, cache=cache, **ngrams)
        if mask is None:
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        answer = self.model(input_ids.clamp(max=self.n_ids - 1), attention_mask=mask.long())
        states: Tensor = answer.last_hidden_state
        return states

    def looks_ahead(self) -> bool:
        """Whether the state of the first token depends on the one after it."""
        device, was = next(self.parameters()).device, self.training
        self.eval()
        with torch.no_grad():
            first, other = (self(torch.tensor([[0, id]], device=device))[0, 0] for id in (0, self.n_ids - 1))
        self.train(was)
        return not torch.equal(first, other)


class HfClassifier(nn.Module):
    """A classifier of transformers with its own head.

    A head of one score, as reward models have, gives the log odds of the second of two labels.

    Args:
        config: its settings.
        inputs: vocabulary and classes; the head has as many outputs, whatever the settings say.
    """

    def __init__(self, config: HfConfig, inputs: Inputs) -> None:
        super().__init__()
        self.config = config
        made = _settings(config.settings)
        self.n_ids = _checked_ids(made, inputs)
        self.one_score = made.num_labels == 1 and inputs.n_classes == 2
        if not self.one_score and made.num_labels != inputs.n_classes:
            made.num_labels = inputs.n_classes
        with _naming():
            self.model = auto_class(with_head=True).from_config(made)

    def forward(self, input_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Returns logits (B, C)."""
        if mask is None:
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        ids, seen = input_ids.clamp(max=self.n_ids - 1), mask.long()
        if hasattr(self.model, "score"):
            # Theirs takes the last token that is not padding, and refuses several texts without such an id.
            states = self.model.base_model(ids, attention_mask=seen).last_hidden_state
            pad = self.model.config.pad_token_id
            real = mask if pad is None else mask & (input_ids != pad)
            last = (real * torch.arange(mask.shape[1], device=mask.device)).amax(1)
            logits: Tensor = self.model.score(states[torch.arange(len(ids), device=mask.device), last])
        else:
            logits = self.model(ids, attention_mask=seen).logits
        return torch.cat((-logits / 2, logits / 2), 1) if self.one_score else logits

    def is_of_head(self, name: str) -> bool:
        """Whether a tensor of `model` is one of its head."""
        return not name.startswith(f"{self.model.base_model_prefix}.")


def auto_class(*, with_head: bool = False) -> Any:
    """Returns transformers' `AutoModel`, or that of classifiers.

    Raises:
        ConfigError: if transformers is not installed.
    """
    try:
        from transformers import AutoModel, AutoModelForSequenceClassification
    except ImportError:
        raise ConfigError(
            'arch hf: it needs transformers; install the extra: pip install "sentitok[hf]"'
        ) from None
    return AutoModelForSequenceClassification if with_head else AutoModel


def _checked_ids(made: Any, inputs: Inputs) -> int:
    """Returns how many ids a model has vectors for.

    Raises:
        ConfigError: if the tokenizer has more.
    """
    n_ids = int(made.vocab_size)
    # Padding alone may have no vector there.
    if inputs.vocab_size > n_ids + (inputs.pad_id == n_ids):
        raise ConfigError(
            f"the tokenizer has {inputs.vocab_size} ids, the model {n_ids}: they do not belong "
            "together; where tokens were added, give the model vectors for them in transformers "
            "(resize_token_embeddings) and save it again"
        )
    return n_ids


@contextmanager
def _naming() -> Iterator[None]:
    """Names the `config.json` in errors of transformers about it.

    Raises:
        ConfigError: for any of them.
    """
    from huggingface_hub.errors import StrictDataclassError

    try:
        yield
    except (
        ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, ImportError,
        StrictDataclassError,
    ) as error:  # fmt: skip
        # Hundreds of names may follow.
        said = re.sub(" (Should contain|Model type should be) one of.*", "", " ".join(str(error).split()))
        raise ConfigError(
            f"model.settings: no config.json of transformers: {said or type(error).__name__}"
        ) from error


def _settings(text: str) -> Any:
    """Returns transformers' configuration of the text of a `config.json`."""
    auto_class()
    from transformers import AutoConfig

    with _naming():
        given = json.loads(text)
        made = AutoConfig.for_model(**given)
    made.dtype = torch.float32  # whatever the weights are kept in
    if getattr(made, "is_encoder_decoder", False) or not hasattr(made, "hidden_size"):
        raise ConfigError(
            f"model_type {given.get('model_type')!r}: it has no states of one text; take BERT, RoBERTa, "
            "DistilBERT, ModernBERT, GPT-2 or the like"
        )
    return made
