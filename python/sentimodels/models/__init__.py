"""The table of architectures, `build` and `build_backbone`.

To add one: write `models/x.py` with a config and a module, and add a row here; `--arch`, `--arch auto`,
`senti archs`, the exports and the contract tests read this table. `cnn.py` is a short example.

A network is a `Backbone` (`nn/backbone.py`), from ids to states. Its config inherits `HeadConfig`, because
`build` adds a pooling and a head of classes (`nn/class_head.py`), and `EmbeddingConfig` if the network calls
`token_embedding` (`nn/embedding.py`). Other tasks add their own heads. Padding must not change the states of
real tokens. The pooling `cls` reads a learned vector before the text (`n_prefix`). A config whose network
puts none there refuses `cls`, as in `cnn.py`; otherwise the head reads the first token instead.

Two kinds of module return logits (B, C) themselves: a bag of features, which learns in one call of
`fit(encoded, labels, seed)`, and a classifier of transformers with its own head.

A module is built from its config and `Inputs` (`text/vocabulary.py`), and called as
`model(**batch.inputs())`, without `mask` where no row of the batch has padding. Its table of tokens is called
`embedding`: the optimizer and `--init` know tables by their names (`training/optimizer.py`). A config with
`features(texts)` brings its own encoding instead of a tokenizer. The file of an architecture is imported when
its config or module is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from ..config import DEFAULT_TASK, TASKS, Section
from ..errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from ..data.encoded import Encoded
    from ..nn.backbone import Backbone
    from ..text.vocabulary import Inputs

__all__ = [
    "ARCHITECTURES",
    "HF",
    "Architecture",
    "Fits",
    "Rank",
    "architecture",
    "build",
    "build_backbone",
    "refuse_ordinal",
]

Values = Mapping[str, Any]
# Settings by section and key.
Tree = Mapping[str, Values]

# Prefix of the name of an architecture that is a folder of transformers.
HF = "hf:"


@runtime_checkable
class Fits(Protocol):
    """A module with its own training method."""

    def fit(self, encoded: "Encoded", labels: "NDArray[np.int64]", seed: int) -> None:
        """Learns from the training texts.

        Args:
            encoded: the texts.
            labels: `(n,)` their classes, or `(n, n_classes)` of 0 and 1 where a text may have several labels
                or none, and each label is learned against the rest.
            seed: of random numbers.
        """


@dataclass(frozen=True)
class Rank:
    """Places in the orders in which `--arch auto` tries architectures, 1 first (see `docs/lab/auto.md`).

    Attributes:
        few: on few texts, long ones, and words without spaces.
        some: on 2,000 short texts and more.
        many: on 50,000 short texts and more.
        rest: a candidate that is tried where time is left, or where the settings fit no earlier one.
    """

    few: int | None = None
    some: int | None = None
    many: int | None = None
    rest: int | None = None


@dataclass(frozen=True)
class Architecture:
    """One row of the table.

    Attributes:
        file: the file in `models/`.
        names: of the class of its configuration and of its module there.
        summary: a description, in one line.
        presets: sizes by name, as values of the config.
        fits: whether it learns by a fit of n-grams; it then has neither steps nor states of tokens.
        suits: default settings, by kind of task; of bags see `settings`.
        unspaced: settings for text without spaces between words.
        rank: when `--arch auto` tries it; without one it is tried last, where time is left.
        pretrained_by: the task of a language model that names none.
        published: by task, keys of `[model]` that pre-training leaves as they were published.
        not_in_onnx: why the ONNX export does not hold it; "" if it does.
        in_numpy: whether the reader of `senti export --numpy` scores it.
        not_ordinal: why it does not learn ordered labels, and what does; "" if it does.
    """

    file: str
    names: tuple[str, str]
    summary: str
    presets: Mapping[str, Values] = field(default_factory=dict)
    fits: bool = False
    suits: Mapping[str, Tree] = field(default_factory=dict)
    unspaced: Tree = field(default_factory=dict)
    rank: Rank = Rank()
    pretrained_by: str = "next-token"
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_in_onnx: str = ""
    in_numpy: bool = False
    not_ordinal: str = ""

    def settings(self, kind: str) -> Tree:
        """Returns the default settings for a kind of task.

        A task of classifiers without its own entry gets the defaults of classification.
        """
        if self.fits:
            return {**_FITTED, **self.suits.get(kind, {})}
        task = TASKS.get(kind)
        if kind not in self.suits and task is not None and task.family == TASKS[DEFAULT_TASK].family:
            usual = self.suits.get(DEFAULT_TASK, {})
            return {section: values for section, values in usual.items() if section != "task"}
        return self.suits.get(kind, {})

    @cached_property
    def config(self) -> type[Section]:
        """The class of its configuration."""
        return cast("type[Section]", self._import(self.names[0]))

    @cached_property
    def module(self) -> "type[nn.Module]":
        """The class of its module."""
        return cast("type[nn.Module]", self._import(self.names[1]))

    def _import(self, name: str) -> object:
        return getattr(import_module(f".{self.file}", __package__), name)


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

# A bag learns in `fit` and takes no steps, whatever the task; of a teacher's answers it learns the likeliest
# labels.
_FITTED: Tree = {"train": {"epochs": 0, "ema": 0.0}}
_BAG: Mapping[str, Any] = {
    "fits": True,
    "in_numpy": True,
}
_RATE: Tree = {"optim": {"lr": 1e-3}}
_MIXUP: Tree = {"task": {"mixup": 0.2}}
_STACK: Mapping[str, Any] = {
    "presets": _TRANSFORMER,
    "suits": {"classification": {**_RATE, **_MIXUP}},
}

ARCHITECTURES: dict[str, Architecture] = {
    # Of several labels a text, each is learned from few rows, and less penalty is better: of texts joined
    # from 19 sources dev had a micro F1 of 0.667 at c = 16, and of 0.674 so (benches/models/multilabel.py).
    # Ordered labels have one regression: on the stars of SST dev had a quadratic kappa of 0.540 at c = 1.5,
    # 0.568 at 5 and 0.559 at 15 (benches/models/ordinal.py).
    "tfidf": Architecture(
        "tfidf", ("TfidfConfig", "Tfidf"), "TF-IDF of word n-grams and logistic regression",
        suits={
            "multilabel": {"model": {"c": 64.0, "sublinear_tf": True}},
            "ordinal": {"model": {"c": 5.0}},
        },
        rank=Rank(few=3, some=5, many=5), **_BAG,
    ),
    # n-grams of characters are many to a text without spaces and overlap: of Chinese reviews, four folds
    # within four fifths gave an accuracy of 0.831 at c = 3, the default, 0.838 at 1 and 0.839 at 0.6.
    "nb": Architecture(
        "nb", ("NaiveBayesConfig", "NaiveBayes"), "naive-Bayes weighted logistic regression",
        rank=Rank(few=1, some=3, many=4), unspaced={"model": {"c": 1.0}},
        not_ordinal="its weights are ratios of each class to the rest, which have no order; take tfidf",
        **_BAG,
    ),
    "bow": Architecture(
        "bow", ("BowConfig", "Bow"), "bag of words, word and character n-grams",
        rank=Rank(few=2, some=4, many=3), **_BAG,
    ),
    "cnn": Architecture(
        "cnn", ("CnnConfig", "Cnn"), "convolutions over tokens (TextCNN)", _CNN,
        suits={"classification": _MIXUP}, rank=Rank(some=2, many=2, rest=3), in_numpy=True,
    ),
    "rnn": Architecture(
        "rnn", ("RnnConfig", "RecurrentNetwork"), "recurrent network, two-way", _RECURRENT, rank=Rank(rest=9)
    ),
    "gru": Architecture(
        "rnn", ("GruConfig", "RecurrentNetwork"), "gated recurrent unit, two-way", _RECURRENT,
        rank=Rank(some=1, many=1, rest=1),
    ),
    "lstm": Architecture(
        "rnn", ("LstmConfig", "RecurrentNetwork"), "long short-term memory, two-way", _RECURRENT,
        rank=Rank(rest=2),
    ),
    "encoder": Architecture(
        "encoder", ("EncoderConfig", "Encoder"), "transformer encoder", rank=Rank(rest=4),
        pretrained_by="masked", **_STACK,
    ),
    # transformers reads it as it was published (Devlin et al. 2019).
    "bert": Architecture(
        "bert", ("BertConfig", "Bert"), "BERT: segments, post-norm, GELU", rank=Rank(rest=5),
        pretrained_by="masked", published={"masked": ("norm_order", "positions")}, **_STACK,
    ),
    "gpt": Architecture(
        "gpt", ("GptConfig", "Gpt"), "GPT: RMSNorm, SwiGLU, no biases", rank=Rank(rest=7), **_STACK
    ),
    "linear": Architecture(
        "linear", ("LinearConfig", "Linear"), "GPT with linear attention", rank=Rank(rest=8), **_STACK
    ),
    "mamba": Architecture(
        "mamba", ("MambaConfig", "Mamba"), "selective state space, two-way", _MAMBA, rank=Rank(rest=6)
    ),
}  # fmt: skip
# A model that knows its language is moved a little, as in Devlin et al. 2019, 4.
_FINE_TUNED: Tree = {"optim": {"lr": 3e-5}, "train": {"ema": 0.0, "epochs": 3, "batch_size": 32}}
# Any model in a folder, `hf:PATH`.
_OF_TRANSFORMERS = Architecture(
    "hf", ("HfConfig", "Hf"), "a model of transformers in a folder",
    suits={"classification": _FINE_TUNED},
    not_in_onnx="transformers models have their own exporter, optimum",
)  # fmt: skip


def architecture(name: str) -> Architecture:
    """Returns a row of the table.

    Raises:
        ConfigError: if there is none of this name.
    """
    if name.startswith(HF):
        return _OF_TRANSFORMERS
    row = ARCHITECTURES.get(name)
    if row is None:
        trained = "senti translate train trains it; " if name == "seq2seq" else ""
        raise ConfigError(
            f"no architecture {name!r}; {trained}{did_you_mean(name, ARCHITECTURES)}there are "
            f"{', '.join(ARCHITECTURES)} (senti archs), and hf:PATH for a model of transformers"
        )
    return row


def refuse_ordinal(name: str, config: Section) -> None:
    """Refuses an architecture that does not learn labels in an order.

    Raises:
        ConfigError: saying why, and which does.
    """
    why = architecture(name).not_ordinal
    if getattr(config, "own_head", False):
        why = "a head of transformers has no cut points; leave out model.own_head"
    if why:
        raise ConfigError(f"arch {name}: it does not learn ordered labels (task ordinal): {why}")


def build(name: str, config: Section, inputs: "Inputs") -> "nn.Module":
    """Builds a model of classes with the weights it starts from."""
    from ..nn.backbone import Backbone
    from ..nn.class_head import ClassHead, HeadConfig, SequenceClassifier

    if inputs.ordered:
        refuse_ordinal(name, config)
    make = cast("type[Any]", architecture(name).module)
    if getattr(config, "own_head", False):
        from .hf import HfClassifier

        make = HfClassifier
    module: nn.Module = make(config, inputs)
    if isinstance(module, Backbone):
        assert isinstance(config, HeadConfig)
        head = ClassHead(
            config, module.d_out, inputs.n_classes, module.backward_width, ordered=inputs.ordered
        )
        return SequenceClassifier(module, head)
    return module


def build_backbone(name: str, config: Section, inputs: "Inputs") -> "Backbone":
    """Builds a backbone alone, for other heads.

    Raises:
        ConfigError: if the architecture has no states.
    """
    from ..nn.backbone import Backbone

    row = architecture(name)
    if row.fits or not issubclass(row.module, Backbone):
        raise ConfigError(f"{name} is a bag of features: it has no states that a head could read")
    backbone: Backbone = cast("type[Any]", row.module)(config, inputs)
    return backbone
