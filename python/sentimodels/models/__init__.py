"""The table of architectures, `build` and `build_backbone`.

To add one: write `models/x.py` with a config and a module, and add a row here; `--arch`,
`senti archs` and the contract tests read this table. A module is a `Backbone`, to which
`build` adds a head of classes, or gives logits (B, C) itself, as bags of features do; it is
built from its config and `Inputs`, and called as `model(**batch.inputs())`. A config with
`features(texts)` brings its own encoding in place of a tokenizer; a module with
`fit(encoded, labels, seed)` learns by itself before the first step, if any.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from torch import nn

from ..config import Section
from ..errors import ConfigError, did_you_mean
from ..nn.backbone import Backbone
from ..nn.class_head import ClassHead, HeadConfig
from ..text.inputs import Inputs
from .bert import Bert, BertConfig
from .bow import Bow, BowConfig
from .cnn import Cnn, CnnConfig
from .encoder import Encoder, EncoderConfig
from .gpt import Gpt, GptConfig
from .hf import PREFIX, Hf, HfConfig
from .linear import Linear, LinearConfig
from .mamba import Mamba, MambaConfig
from .nb import NaiveBayes, NaiveBayesConfig
from .rnn import GruConfig, LstmConfig, RecurrentNetwork, RnnConfig
from .sequence_classifier import SequenceClassifier
from .tfidf import Tfidf, TfidfConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..data.encoded import Encoded

__all__ = ["ARCHITECTURES", "Architecture", "Fits", "Inputs", "architecture", "build", "build_backbone"]

Values = Mapping[str, Any]


@runtime_checkable
class Fits(Protocol):
    """A module that learns by itself."""

    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:
        """Learns from the training texts."""


@dataclass(frozen=True)
class Architecture:
    """One row of the table.

    Attributes:
        config: its configuration.
        module: a backbone, or a classifier without one, built from a config and `Inputs`.
        summary: what it is, in one line.
        presets: sizes by name, as values of the config.
    """

    config: type[Section]
    module: type[nn.Module]
    summary: str
    presets: Mapping[str, Values] = field(default_factory=dict)


# Width, heads, layers.
_SIZES = {
    "nano": (64, 2, 4),
    "micro": (128, 4, 4),
    "tiny": (256, 8, 4),
    "small": (512, 16, 4),
    "medium": (512, 16, 8),
    "large": (768, 16, 12),
    "x-large": (1024, 16, 16),
    "xx-large": (1536, 16, 24),
    "3x-large": (2048, 16, 32),
    "4x-large": (2560, 20, 40),
    "5x-large": (3072, 24, 48),
}
_BERT = {
    name: {"d_model": width, "n_heads": heads, "n_layers": layers}
    for name, (width, heads, layers) in _SIZES.items()
}
# Deep stacks learn from the first step on only with the norm before (Xiong et al. 2020).
_TRANSFORMER = {
    name: {**sizes, "norm_order": "post" if sizes["n_layers"] <= 12 else "pre"}
    for name, sizes in _BERT.items()
}
_MAMBA = {name: {"d_model": width, "n_layers": layers} for name, (width, _, layers) in _SIZES.items()}
_RECURRENT = {
    "nano": {"d_model": 64, "d_hidden": 64, "n_layers": 1},
    "micro": {"d_model": 128, "d_hidden": 128, "n_layers": 1},
    "tiny": {"d_model": 256, "d_hidden": 256, "n_layers": 1},
    "small": {"d_model": 512, "d_hidden": 512, "n_layers": 2},
    "medium": {"d_model": 512, "d_hidden": 1024, "n_layers": 2},
    "large": {"d_model": 768, "d_hidden": 1536, "n_layers": 3},
}
_CNN = {
    "nano": {"d_model": 64, "filters": 32},
    "micro": {"d_model": 128, "filters": 64},
    "tiny": {"d_model": 256, "filters": 100},
    "small": {"d_model": 300, "filters": 200},
    "medium": {"d_model": 512, "filters": 300},
    "large": {"d_model": 768, "filters": 500},
}

ARCHITECTURES: dict[str, Architecture] = {
    "tfidf": Architecture(TfidfConfig, Tfidf, "TF-IDF of word n-grams and logistic regression"),
    "nb": Architecture(NaiveBayesConfig, NaiveBayes, "naive-Bayes weighted logistic regression"),
    "bow": Architecture(BowConfig, Bow, "bag of words, word and character n-grams"),
    "cnn": Architecture(CnnConfig, Cnn, "convolutions over tokens (TextCNN)", _CNN),
    "rnn": Architecture(RnnConfig, RecurrentNetwork, "recurrent network, two-way", _RECURRENT),
    "gru": Architecture(GruConfig, RecurrentNetwork, "gated recurrent unit, two-way", _RECURRENT),
    "lstm": Architecture(LstmConfig, RecurrentNetwork, "long short-term memory, two-way", _RECURRENT),
    "encoder": Architecture(EncoderConfig, Encoder, "transformer encoder", _TRANSFORMER),
    "bert": Architecture(BertConfig, Bert, "BERT: segments, post-norm, GELU", _BERT),
    "gpt": Architecture(GptConfig, Gpt, "GPT: RMSNorm, SwiGLU, no biases", _TRANSFORMER),
    "linear": Architecture(LinearConfig, Linear, "GPT with linear attention", _TRANSFORMER),
    "mamba": Architecture(MambaConfig, Mamba, "selective state space, two-way", _MAMBA),
}
# Any model in a folder, `hf:PATH`.
_OF_TRANSFORMERS = Architecture(HfConfig, Hf, "a model of transformers in a folder")


def architecture(name: str) -> Architecture:
    """Returns a row of the table.

    Raises:
        ConfigError: if there is none of this name.
    """
    if name.startswith(PREFIX):
        return _OF_TRANSFORMERS
    row = ARCHITECTURES.get(name)
    if row is None:
        trained = "senti translate train trains it; " if name == "seq2seq" else ""
        raise ConfigError(
            f"no architecture {name!r}; {trained}{did_you_mean(name, ARCHITECTURES)}there are "
            f"{', '.join(ARCHITECTURES)} (senti archs), and hf:PATH for a model of transformers"
        )
    return row


def build(name: str, config: Section, inputs: Inputs) -> nn.Module:
    """Builds a model of classes with the weights it starts from."""
    make = cast("type[Any]", architecture(name).module)
    module: nn.Module = make(config, inputs)
    if isinstance(module, Backbone):
        assert isinstance(config, HeadConfig)
        head = ClassHead(config, module.d_out, inputs.n_classes, module.backward_width)
        return SequenceClassifier(module, head)
    return module


def build_backbone(name: str, config: Section, inputs: Inputs) -> Backbone:
    """Builds a backbone alone, for other heads.

    Raises:
        ConfigError: if the architecture has no states.
    """
    make = cast("type[Any]", architecture(name).module)
    if not issubclass(make, Backbone):
        raise ConfigError(f"{name} is a bag of features: it has no states that a head could read")
    backbone: Backbone = make(config, inputs)
    return backbone
