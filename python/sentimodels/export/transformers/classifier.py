"""Classifiers of transformers with their heads: `import_classifier` and `export_transformers`.

A run is written as such a model where it is one: a run of a model with its own head (`hf:`), a `bert` with
BERT's head, a `gpt` that is GPT-2. A run that was imported holds the whole model (`models/hf.py`,
`HfClassifier`), whatever its kind: BERT, RoBERTa, DistilBERT, ModernBERT, GPT-2, Llama, ... Reward models
have one score, which is read as the log odds of the second of two labels, as Bradley and Terry do (1952).
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sentitok import Tokenizer
from sentitok.atomic import write as write_atomically

from ...classifier import Classifier
from ...config import LanguageConfig, RunConfig
from ...data.label_sets import LabelSets
from ...data.record import TrainingRecord
from ...data.table import Labels
from ...errors import CheckpointError, ConfigError
from ...models import HF, build
from ...models.hf import HfClassifier, auto_class
from ...runs.directory import Loaded, begin_run, finish_run, refuse_begun, to_json
from ...runs.families import resolve, written
from ...runs.pretrained import FRESH_HEAD, load_pretrained, reach_of, silence
from ...text.encoder import TextEncoder
from ...text.vocabulary import as_saved
from ..comparison import checked_folder, compare
from . import BERT, GPT_2, Layout
from .folder import settings_of, tokenizer_of
from .layout import check_fixed, of_ours

__all__ = ["TOLERANCE", "export_transformers", "has_class_head", "import_classifier", "refuse"]

# By how much a probability may differ.
TOLERANCE = 1e-5
# A reward model's score is the log odds that of two answers the second one was chosen.
_OF_REWARD = ("rejected", "chosen")
# The value in config.json of a model that may give a text several labels.
_SEVERAL = "multi_label_classification"


def has_class_head(folder: Path) -> bool:
    """Whether a folder of transformers holds a classifier or a reward model.

    Raises:
        CheckpointError: if its `config.json` is missing or damaged.
    """
    names = settings_of(folder).get("architectures")
    return isinstance(names, list) and any(str(name).endswith("ForSequenceClassification") for name in names)


def import_classifier(folder: Path, out: Path) -> tuple[Loaded, list[str]]:
    """Reads a classifier of transformers, and writes it as a run directory.

    Args:
        folder: with `config.json`, safetensors and the tokenizer's files.
        out: the run directory, which must hold no run yet.

    Returns:
        The run, and notes on it, one sentence each.

    Raises:
        CheckpointError: if a file or a tensor is missing or damaged, or only pickles are there.
        ConfigError: if the model is of a kind that a run cannot be.
    """
    refuse_begun(out)
    given = settings_of(folder)
    labels, notes = _labels_of(given, folder)
    tokenizer = as_saved(tokenizer_of(folder))
    arch = f"{HF}{folder.absolute()}"
    data: dict[str, Any] = {"normalize": False, "lowercase": False}
    if (reach := reach_of(given)) is not None:
        data["max_tokens"] = reach
    model = {"own_head": True, "settings": json.dumps(given)}
    task = {"kind": "multilabel" if labels.several else "classification"}
    config = resolve({"arch": arch, "data": data, "model": model, "task": task})
    encoder = TextEncoder(tokenizer, config.data)
    module = build(arch, config.model, encoder.inputs(len(labels)))
    said = load_pretrained(module, arch)
    assert isinstance(module, HfClassifier)
    if FRESH_HEAD in said[0]:
        raise CheckpointError(f"{folder}: no tensors of the head; senti train --arch {HF}PATH trains one")
    about = {
        "arch": arch,
        "imported": given["architectures"][0],
        "temperature": 1.0,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "rows": {},
    }
    nothing = np.zeros(0, np.uint64)
    begin_run(out, config, encoder, labels, TrainingRecord((), nothing, nothing))
    finish_run(out, module, tokenizer, about)
    return Loaded(config, module.eval(), encoder, labels, about), [*notes, *said[1:]]


def _labels_of(given: Mapping[str, Any], folder: Path) -> tuple[Labels, list[str]]:
    """Returns the labels of a classifier, and notes on them.

    Raises:
        CheckpointError: if the names are damaged.
    """
    path = folder / "config.json"
    names = given.get("id2label")
    if names is None:
        count = given.get("num_labels", 2)
        names = {str(place): f"LABEL_{place}" for place in range(count if isinstance(count, int) else 0)}
    try:
        by_place = {int(place): str(name) for place, name in names.items()}
    except (AttributeError, ValueError):
        by_place = {}
    if sorted(by_place) != list(range(len(by_place))) or not by_place:
        raise CheckpointError(f"{path}: id2label {names!r}: expected the name of each id from 0 on")
    found = [by_place[place] for place in range(len(by_place))]
    if any(not name.strip() for name in found):
        raise CheckpointError(f"{path}: id2label {names!r}: a name is blank; write one for each label")
    if len(set(found)) < len(found):
        raise CheckpointError(f"{path}: id2label has a name twice: {', '.join(found)}; rename one of them")
    if given.get("problem_type") == _SEVERAL:
        return LabelSets(found), []
    if len(found) == 1:
        said = f"one score: read as the log odds of {_OF_REWARD[1]!r} against {_OF_REWARD[0]!r}"
        return Labels(_OF_REWARD), [said]
    return Labels(found), []


def refuse(config: RunConfig) -> None:
    """Refuses a run that transformers has no classifier for.

    Raises:
        ConfigError: naming the setting, and what to train with.
    """
    if config.task.kind == "ordinal":
        raise ConfigError(
            "task.kind ordinal: a classifier of transformers has no cut points; --onnx and --numpy hold them"
        )
    if config.arch in _OWN:
        _OWN[config.arch].settings(config, 1)
        if config.data.tokenizer is None and config.data.tokenizer_model == "words":
            raise ConfigError(
                "data.tokenizer_model 'words': transformers has no tokenizer of whole words; train a new run "
                "with --tokenizer FILE"
            )
    elif not config.arch.startswith(HF) or not getattr(config.model, "own_head", False):
        raise ConfigError(
            f"arch {config.arch}: transformers has no classifier that answers like it; there is one for "
            f"{', '.join(_OWN)}, and for --arch {HF}PATH --set model.own_head=true; --onnx and --numpy write "
            "other runs"
        )
    wrong = {
        "data.normalize": (config.data.normalize, False),
        "data.lowercase": (config.data.lowercase, False),
        "data.long": (config.data.long, "truncate"),
    }
    for name, (value, needed) in wrong.items():
        if value and value != needed:
            raise ConfigError(
                f"{name} {written(value)}: a tokenizer of transformers has no such step; train a new run "
                f"with --set {name}={written(needed)}"
            )


@dataclass(frozen=True)
class _OwnModel:
    """A classifier of transformers that is one of our architectures.

    Attributes:
        layout: of its backbone.
        name: of its class there.
        pooling: of ours.
        head: of ours.
        head_names: the tensors of our head, by their names there.
    """

    layout: Layout
    name: str
    pooling: str
    head: str
    head_names: Mapping[str, str]

    def settings(self, config: RunConfig, vocab_size: int) -> dict[str, Any]:
        """Returns the `config.json` of a run.

        Raises:
            ConfigError: if the layout has no place for a setting.
        """
        # A layout reads the section of the model, which a classifier and a language model share.
        settings = self.layout.to_theirs(cast("LanguageConfig", config), vocab_size)
        fixed = {"pooling": (self.pooling,), "head": (self.head,)}
        check_fixed(config.model, fixed, f"{self.layout.name}'s classifier")
        return {**settings, "architectures": [self.name]}

    def build(self, classifier: Classifier) -> Any:
        """Returns the model of transformers, with the weights of a run."""
        from transformers import AutoConfig

        encoder, config = classifier.encoder, classifier.config
        settings = self.settings(config, encoder.vocab_size)
        n_labels = {"num_labels": len(classifier.labels), "pad_token_id": encoder.pad_id}
        with silence():
            model = auto_class(with_head=True).from_config(AutoConfig.for_model(**{**settings, **n_labels}))
        ours = {name: value.clone() for name, value in classifier.module.state_dict().items()}
        if "score.weight" in self.head_names.values():
            _move_bias(ours)
        pairs = self.layout.pairs(cast("LanguageConfig", config))
        pairs = [pair for pair in pairs if pair.ours.startswith("backbone.")]
        theirs = of_ours(pairs, ours) | {there: ours[own] for own, there in self.head_names.items()}
        model.load_state_dict(theirs)
        return model.eval()


def _move_bias(ours: dict[str, Tensor]) -> None:
    """Moves the bias of the last layer, which GPT-2 does not have, into that of the norm before it.

    Logits are `W (n + beta) + b`, n being what the norm gives without its bias; so they stay the same with
    `beta + W^+ b`, where W has a row for each of fewer labels than features.
    """
    weight, bias = ours["head.network.1.weight"].double(), ours["head.network.1.bias"].double()
    name = "backbone.transformer.norm.bias"
    ours[name] = (ours[name].double() + torch.linalg.pinv(weight) @ bias).float()


# By our architecture.
_OWN = {
    "bert": _OwnModel(
        BERT, "BertForSequenceClassification", "first", "tanh",
        {
            "head.network.1.weight": "bert.pooler.dense.weight",
            "head.network.1.bias": "bert.pooler.dense.bias",
            "head.network.3.weight": "classifier.weight",
            "head.network.3.bias": "classifier.bias",
        },
    ),
    "gpt": _OwnModel(
        GPT_2, "GPT2ForSequenceClassification", "last", "linear", {"head.network.1.weight": "score.weight"}
    ),
}  # fmt: skip


def export_transformers(
    run: Path, folder: Path, texts: Sequence[str], tolerance: float = TOLERANCE, *, replace: bool = False
) -> dict[str, Any]:
    """Writes a run as a classifier of transformers, compared with the run on texts.

    The temperature of the run is in the weights of the last layer, so that probabilities are calibrated.

    Args:
        run: the run directory.
        folder: where to; it must not exist, unless its files are to be replaced.
        texts: real texts to compare on.
        tolerance: by how much a probability may differ.
        replace: replace the files of an earlier export.

    Returns:
        `compared`: on how many texts, and by how much the answers differ.

    Raises:
        ConfigError: if transformers has no such classifier, or is not installed.
        CheckpointError: if the folder exists.
        ExportError: if the answers of transformers differ from those of the run.
    """
    auto_class()
    with checked_folder(folder, texts, replace=replace) as made:
        classifier = Classifier.load(run)
        refuse(classifier.config)
        module = classifier.module
        if isinstance(module, HfClassifier):
            model = copy.deepcopy(module.model)
        else:
            model = _OWN[classifier.config.arch].build(classifier)
        with torch.no_grad():
            outputs = model.config.num_labels
            linear = (part for part in model.modules() if isinstance(part, nn.Linear))
            *_, last = (part for part in linear if part.out_features == outputs)
            temperature = torch.as_tensor(classifier.temperature, dtype=last.weight.dtype)
            last.weight.div_(temperature.reshape(-1, 1))
            if last.bias is not None:
                last.bias.div_(temperature)
        if classifier.labels.several:
            model.config.problem_type = _SEVERAL
        names = classifier.labels.names
        if not _has_one_score(module):
            model.config.id2label = dict(enumerate(names))
            model.config.label2id = {name: place for place, name in enumerate(names)}
        with silence():
            model.save_pretrained(made)
        classifier.encoder.save(made)
        write_atomically(made / "tokenizer_config.json", to_json(_tokenizer_config(classifier, model)))
        return {"compared": compare(classifier, _answers_of(made, classifier), texts, tolerance)}


def _has_one_score(module: nn.Module) -> bool:
    return isinstance(module, HfClassifier) and module.one_score


def _tokenizer_config(classifier: Classifier, model: Any) -> dict[str, Any]:
    """Returns the settings of the tokenizer that transformers needs in addition to its file."""
    pad = model.config.pad_token_id
    tokenizer = classifier.tokenizer
    assert isinstance(tokenizer, Tokenizer)
    name = tokenizer.id_to_token(pad) if isinstance(pad, int) and pad < tokenizer.vocab_size else None
    about: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": classifier.encoder.data.max_tokens,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return about | ({} if name is None else {"pad_token": name})


def _answers_of(folder: Path, classifier: Classifier) -> Callable[[list[str]], NDArray[np.float32]]:
    """Returns a function that answers texts with probabilities as transformers does, one text at a time.

    A text without a token, which transformers refuses, is the token that the run reads then.
    """
    from transformers import AutoTokenizer

    one_score = _has_one_score(classifier.module)
    with silence():
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = auto_class(with_head=True).from_pretrained(folder).eval()
    nothing = min(classifier.encoder.pad_id, int(model.config.vocab_size) - 1)

    def scores(text: str) -> NDArray[np.float64]:
        ids = tokenizer(text, truncation=True)["input_ids"] or [nothing]
        with torch.no_grad():
            logits = model(
                torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long)
            ).logits
        found = logits.double().numpy()
        return np.concatenate([-found / 2, found / 2], 1) if one_score else found

    def answer(texts: list[str]) -> NDArray[np.float32]:
        logits = np.concatenate([scores(text) for text in texts])
        return classifier.answers.probabilities(logits).astype(np.float32)

    return answer
