"""`Family`: the kinds of runs, a row each, and how files and flags become the configuration of one.

`Family.resolve` merges, rising in weight, the defaults of the sections, what suits the architecture and the
task, the preset, the file, and the command line, and checks the result. The resolved tree is saved in the run
directory, and is enough to run again.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic import ValidationError

from sentitok.remote import expand, is_url, local_path

from ..config import AUTO, DEFAULT_TASK, TASKS, RunConfig, Section, Written, sections_of
from ..config.task import named
from ..data.label_sets import ONE_LABEL
from ..data.opening import read_small
from ..errors import CheckpointError, ConfigError, did_you_mean
from ..models import ARCHITECTURES, HF, Architecture, architecture, refuse_ordinal
from .pretrained import check_reach, of_folder

if TYPE_CHECKING:
    from ..config import AlignConfig, LanguageConfig, TranslationConfig

__all__ = [
    "ALIGNMENT",
    "BATCHES",
    "BUDGETS",
    "CLASSIFIER",
    "DEFAULT_PRESET",
    "FAMILIES",
    "FILES",
    "LANGUAGE_MODEL",
    "MODEL",
    "OPTIM",
    "PRESETS",
    "SEQ2SEQ",
    "TIED",
    "TRANSLATOR",
    "Family",
    "check_command",
    "check_there",
    "checked",
    "family_of",
    "fetched",
    "merge",
    "no_run",
    "read_toml",
    "refuse_export",
    "resolve",
    "set_value",
    "training_command",
    "with_files",
    "with_local_copies",
    "written",
]

_C = TypeVar("_C", bound=Written)


@dataclass(frozen=True)
class Family(Generic[_C]):
    """One kind of run.

    Attributes:
        name: of the kind, in one word.
        noun: of the kind, in a sentence.
        section: module below `sentimodels` and class of its configuration, imported when it is needed.
        answers: the command of `senti` that runs it.
        default_task: the kind of task that a configuration has which names none; `None`: the first one's.
        defaults: settings below the given ones, and the section of the model, or the model itself.
        check: refuses settings that contradict each other.
        file: the file of the configuration in a run directory.
    """

    name: str
    noun: str
    section: str
    answers: str
    default_task: Callable[[Mapping[str, Any]], str] | None
    defaults: Callable[[Mapping[str, Any], str], tuple[dict[str, Any], type[Section] | Section | None]]
    check: Callable[[_C], None]
    file: str = "config.toml"

    @cached_property
    def config(self) -> type[_C]:
        """The class of its configuration."""
        return cast("type[_C]", named(self.section))

    @cached_property
    def tasks(self) -> Mapping[str, type[Section]]:
        """The section of each kind of task."""
        return sections_of(self.name)

    @cached_property
    def commands(self) -> Mapping[str, str]:
        """The command of `senti` that trains each kind of task."""
        return {kind: row.command for kind, row in TASKS.items() if row.family == self.name}

    def resolve(self, *trees: Mapping[str, Any], complete: bool = True) -> _C:
        """Merges trees, the last one winning, over the defaults, and checks the result.

        Args:
            trees: values by section and key.
            complete: whether to check the settings together, so that a run can begin with them.

        Raises:
            ConfigError: naming the key, its value, and what would be possible.
        """
        given = merge(trees)
        kind = self._task(given)
        ground, model = self.defaults(given, kind)
        fields = self.config.model_fields
        empty: dict[str, Any] = {name: {} for name in ("data", "model", "optim", "train") if name in fields}
        full = merge([empty, {"task": {"kind": kind}}, ground, given])
        # The kinds of `model` and `task` depend on a name, so they are checked first, each alone.
        sections = self._sections()
        if isinstance(model, Section):
            full["model"] = model
        elif model is not None:
            full["model"] = checked(model, full["model"], "model.", sections)
        full["task"] = checked(self.tasks[kind], full["task"], "task.", sections)
        config = cast("_C", checked(self.config, full, "", sections))
        if complete:
            self.check(config)
        return config

    def load(self, folder: Path) -> _C:
        """Reads the configuration of a run directory.

        Raises:
            CheckpointError: if the folder holds no run, or one of another kind.
            ConfigError: if the configuration is damaged.
        """
        check_there(folder)
        path = folder / self.file
        if not path.is_file():
            raise no_run(folder) if self.file == Family.file else _not_trained_by(folder, self)
        tree = read_toml(path)
        found = _family_of(tree)
        if found is not self:
            more = ""
            if (found, self) == (LANGUAGE_MODEL, CLASSIFIER):
                more = f"; to train a classifier that starts from it: senti train FILE --init {folder}"
            raise CheckpointError(
                f"{folder}: {found.noun}, not {self.noun}; senti {found.answers} {folder} runs it{more}"
            )
        return self.resolve(tree)

    def elsewhere(self, key: str) -> bool:
        """Whether a key belongs above the sections, or to a section other than `[model]`."""
        return key in self.config.model_fields or any(
            key in section.model_fields for section in self._sections().values()
        )

    def _sections(self) -> dict[str, type[Section]]:
        """Returns the sections by name, those of tasks as `task.KIND`."""
        fields = self.config.model_fields
        named = {name: fields[name].annotation for name in ("data", "optim", "train")}
        return {**cast("dict[str, type[Section]]", named), **{f"task.{k}": s for k, s in self.tasks.items()}}

    def _task(self, given: Mapping[str, Any]) -> str:
        """Returns the kind of task that is asked for."""
        task = given.get("task", {})
        if not isinstance(task, Mapping):
            first = next(iter(self.tasks))
            raise ConfigError(f'task {task!r}: expected a section, as in [task] with kind = "{first}"')
        kind = task.get("kind")
        if kind is None:
            return next(iter(self.tasks)) if self.default_task is None else self.default_task(given)
        if not isinstance(kind, str) or kind not in self.tasks:
            for other in FAMILIES:
                if isinstance(kind, str) and kind in other.commands:
                    trained = f"senti {other.commands[kind]}"
                    raise ConfigError(f"task.kind {kind!r}: a task of {other.noun}; train one with {trained}")
            raise ConfigError(f"task.kind {kind!r}: unknown task; expected {', '.join(self.tasks)}")
        return kind


def resolve(*trees: Mapping[str, Any]) -> RunConfig:
    """Returns the configuration of a classifier: trees merged, the last one winning, over the defaults.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
    """
    return CLASSIFIER.resolve(*trees)


def family_of(folder: Path) -> "Family[Any]":
    """Returns the kind of the run in a folder.

    Raises:
        CheckpointError: if it holds no run.
        ConfigError: if its configuration is not valid TOML.
    """
    check_there(folder)
    if (folder / ALIGNMENT.file).is_file():
        return ALIGNMENT
    if not (folder / "config.toml").is_file():
        raise no_run(folder)
    return _family_of(read_toml(folder / "config.toml"))


def _family_of(tree: Mapping[str, Any]) -> "Family[Any]":
    """Returns the kind of run that a configuration names a task of."""
    task = tree.get("task")
    kind = task.get("kind") if isinstance(task, Mapping) else None
    found = (family for family in FAMILIES if isinstance(kind, str) and kind in family.commands)
    return next(found, CLASSIFIER)


def training_command(folder: Path) -> str:
    """Returns the command of `senti` that trains the run in a folder, as in `translate train`."""
    family = family_of(folder)
    task = read_toml(folder / family.file).get("task")
    kind = task.get("kind") if isinstance(task, Mapping) else None
    return family.commands.get(str(kind), next(iter(family.commands.values())))


def check_command(folder: Path, command: str) -> None:
    """Refuses a run that another command trains, and so resumes; a folder without a run passes.

    Raises:
        CheckpointError: naming that command.
    """
    if (folder / "config.toml").is_file() and (own := training_command(folder)) != command:
        raise CheckpointError(f"{folder}: a run of senti {own}; senti {own} --resume {folder} resumes it")


# The file that marks an exported folder, by the option that writes it, and what reads it.
_EXPORTS = {
    "--numpy": ("classifier.json", "python {folder}/classifier.py < texts.txt"),
    "--onnx": ("export.json", "sentimodels.export.onnx.OnnxReader.load({folder!r}) in Python"),
}


def check_there(folder: Path) -> None:
    """Refuses a folder that does not exist, or that holds an export: neither is an unfinished run.

    Raises:
        CheckpointError: naming it.
    """
    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise CheckpointError(f"{folder}: {what}; give a run, as senti train or pretrain writes it")
    refuse_export(folder)


def refuse_export(folder: Path) -> None:
    """Refuses a folder that `senti export` wrote for other programs, which cannot become a run again.

    Raises:
        CheckpointError: naming what reads it.
    """
    for option, (file, reader) in _EXPORTS.items():
        if (folder / file).is_file() and not (folder / "config.toml").is_file():
            raise CheckpointError(
                f"{folder}: written by senti export {option}, to answer without a run; give the run that it "
                f"was exported from, or read it by {reader.format(folder=str(folder))}"
            )


def no_run(folder: Path) -> CheckpointError:
    """Returns the error of a folder that is not a run directory, naming the runs in it."""
    inside = sorted(str(path.parent) for path in folder.glob("*/config.toml"))
    hint = f"; there are runs in it: {', '.join(inside[:3])}{', ...' if len(inside) > 3 else ''}"
    if not inside:
        of_transformers = (folder / "config.json").is_file()
        hint = f"; senti import {folder} -o RUN reads a model of transformers" if of_transformers else ""
    return CheckpointError(f"{folder}: no config.toml; not a run directory{hint}")


def _not_trained_by(folder: Path, family: "Family[Any]") -> CheckpointError:
    command = next(iter(family.commands.values()))
    return CheckpointError(f"{folder}: no {family.file}; not a run of senti {command}")


def _check_classifier(config: RunConfig) -> None:
    """Refuses a budget without a choice, and rows longer than learned positions reach."""
    if config.budget is not None and not config.estimates:
        raise ConfigError(
            f"budget {config.budget:g}: only --arch auto uses it; leave out --budget or --arch {config.arch}"
        )
    _check_labels(config)
    model: Any = config.model
    longest = config.data.max_tokens
    if config.arch.startswith(HF):
        check_reach(model.settings, longest)
    if getattr(model, "positions", None) != "learned":
        return
    said = f"data.max_tokens {longest}"
    if config.train.compile and longest % 8:
        longest += -longest % 8
        said += f" ({longest} once train.compile pads to a multiple of 8)"
    reach = getattr(model, "max_len", longest)
    if longest > reach:
        raise ConfigError(
            f"{said}: longer than the {reach} places that positions are learned for; raise "
            "model.max_len, lower data.max_tokens, or take model.positions rotary, sinusoidal or alibi"
        )


def _check_labels(config: RunConfig) -> None:
    """Refuses rows of several labels for a task of one, and the other way round."""
    separator, columns = config.data.label_separator, config.data.label_columns
    if config.task.kind == "classification" and (columns or separator not in (None, ONE_LABEL)):
        key = "label_columns" if columns else "label_separator"
        raise ConfigError(
            f"data.{key}: it reads several labels a text, which task.kind multilabel learns (--task "
            "multilabel), not classification; leave one out"
        )
    if config.task.kind == "ordinal" and (columns or separator not in (None, ONE_LABEL)):
        key = "label_columns" if columns else "label_separator"
        raise ConfigError(
            f"data.{key}: it reads several labels a text, and task.kind ordinal learns one; leave one out"
        )
    if config.data.label_order is not None:
        if config.task.kind not in ("ordinal", "distillation"):
            raise ConfigError(
                f"data.label_order: task.kind {config.task.kind} reads no order of labels; leave it out, or "
                "take --task ordinal"
            )
        repeated = [name for name, n in Counter(config.data.label_order).items() if n > 1]
        if repeated:
            raise ConfigError(f"data.label_order: {repeated[0]!r} is named twice")
    if config.task.kind == "ordinal":
        refuse_ordinal(config.arch, config.model)
    if config.task.kind == "multilabel" and separator == ONE_LABEL:
        raise ConfigError(
            "data.label_separator none: each cell is one label, so task.kind is classification; leave one out"
        )


def _classifier_task(given: Mapping[str, Any]) -> str:
    """Returns the task of a classifier that names none, by how its labels are read: in sets or an order."""
    data = _section(given, "data")
    several = data.get("label_columns") or data.get("label_separator") not in (None, ONE_LABEL)
    if several:
        return "multilabel"
    return DEFAULT_TASK if data.get("label_order") is None else "ordinal"


def _check_language_model(config: "LanguageConfig") -> None:
    """Refuses models that cannot do the task, and rows longer than learned positions reach."""
    model: Section = config.model
    if config.task.kind == "next-token" and getattr(model, "causal", True) is False:
        raise ConfigError("model.causal false: a model that sees the next token cannot learn to predict it")
    if config.task.kind == "masked" and getattr(model, "causal", False):
        raise ConfigError("model.causal true: masked tokens are read from both sides; take task next-token")
    if getattr(model, "pooling", "last") == "cls":
        raise ConfigError("model.pooling cls: it puts a token before each row; leave it out")
    if getattr(model, "char_ngrams", (0, 0)) != (0, 0):
        raise ConfigError("model.char_ngrams: a language model has one vector for each token; set [0, 0]")
    reach = getattr(model, "max_len", None)
    context = config.data.context
    if getattr(model, "positions", None) == "learned" and reach is not None and context > reach:
        raise ConfigError(
            f"data.context {context}: longer than the {reach} places that positions are learned for; take "
            f"--context {reach} or less, or, without --init, a higher model.max_len or model.positions rotary"
        )


# Keys that only one method of alignment has.
_OF_ONE_METHOD: dict[str, dict[str, tuple[str, ...]]] = {
    "ppo": {"data": ("text_column", "where", "held_out_where", "clean", "opening_tokens")},
    "dpo": {
        "data": ("prompt_column", "chosen_column", "rejected_column"),
        "train": ("ema", "accumulate", "compile"),
    },
}


def _check_alignment(config: "AlignConfig") -> None:
    """Refuses settings of the other method, and a reward that is not named."""
    for kind, sections in _OF_ONE_METHOD.items():
        if kind == config.task.kind:
            continue
        for name, keys in sections.items():
            section: Section = getattr(config, name)
            for key in keys:
                if getattr(section, key) != type(section).model_fields[key].default:
                    raise ConfigError(f"{name}.{key}: only valid for {kind}, not for {config.task.kind}")
    for key in ("patience", "evaluate_every"):
        if getattr(config.train, key):
            raise ConfigError(
                f"train.{key}: an alignment keeps its last weights, so that no step is chosen on held-out "
                "rows; leave it out"
            )
    task = config.task
    if task.kind == "ppo" and task.reward_run is None:
        raise ConfigError("task.reward_run: name a classifier whose answers are the reward: --reward-run RUN")
    if task.reward is not None and task.reward_run is None:
        raise ConfigError("task.reward: name the classifier that gives it: --reward-run RUN")


def _classifier_defaults(given: Mapping[str, Any], kind: str) -> tuple[dict[str, Any], type[Section]]:
    """Returns the defaults of a classifier, and the section of its model.

    Raises:
        ConfigError: if there is no such architecture or preset.
    """
    name = given.get("arch", RunConfig.model_fields["arch"].default)
    if name == AUTO:
        raise ConfigError('arch "auto": needs texts to choose by; name an architecture (senti archs)')
    row = architecture(name)
    size = {"model": _preset(name, row, given.get("preset"))}
    return merge([row.settings(kind), of_folder(name, given), size]), row.config


def _language_task(given: Mapping[str, Any]) -> str:
    """Returns the objective of a language model unless a task is named."""
    row = ARCHITECTURES.get(str(given.get("arch", LANGUAGE_MODEL.config.model_fields["arch"].default)))
    return row.pretrained_by if row is not None else "next-token"


def _language_defaults(given: Mapping[str, Any], kind: str) -> tuple[dict[str, Any], type[Section]]:
    """Returns the defaults of a language model, and the section of its model.

    Raises:
        ConfigError: if the architecture is not a language model, or has no such preset.
    """
    name = str(given.get("arch", LANGUAGE_MODEL.config.model_fields["arch"].default))
    row = architecture(name)
    if row.fits:
        possible = [one for one, other in ARCHITECTURES.items() if not other.fits]
        raise ConfigError(
            f"arch {name!r}: a bag of features has no states to predict a token from; "
            f"there are {', '.join(possible)}"
        )
    if name.startswith(HF):
        raise ConfigError(
            f"arch {name!r}: senti train fine-tunes it as a classifier; to pre-train GPT-2 or BERT further, "
            f"type senti import {name.removeprefix('hf:')} -o RUN, then senti pretrain FILE --init RUN"
        )
    size = given.get("preset", DEFAULT_PRESET if not given.get("model") else None)
    possible_keys = row.config.model_fields.keys() - set(row.published.get(kind, ()))
    suits = {key: value for key, value in MODEL[kind].items() if key in possible_keys}
    tree: dict[str, Any] = {
        "arch": name,
        "model": {**_preset(name, row, size), **suits},
        "task": {},
        "optim": dict(OPTIM),
        "train": {},
    }
    if size is not None:
        tree["preset"] = size
    context = _section(given, "data").get("context")
    if "max_len" in row.config.model_fields and isinstance(context, int):
        tree["model"]["max_len"] = context
    batch, rate, tokens = PRESETS[size or DEFAULT_PRESET]
    tree["optim"]["lr"] = rate
    tree["train"]["batch_size"] = batch
    if kind == "next-token":
        tree["task"]["tied"] = size in TIED
    if not any(_section(given, "train").get(one) is not None for one in ("tokens", "max_steps", "epochs")):
        tree["train"]["tokens"] = tokens
    return tree, row.config


def _alignment_defaults(given: Mapping[str, Any], kind: str) -> tuple[dict[str, Any], None]:
    """Returns the defaults of an alignment; its model is that of its base."""
    from ..config import ALIGN_OPTIM

    train = _section(given, "train")
    budget = {} if any(train.get(key) is not None for key in ("max_steps", "epochs")) else BUDGETS[kind]
    return {"optim": ALIGN_OPTIM, "train": {"batch_size": BATCHES[kind], **budget}}, None


def _preset(name: str, row: Architecture, size: Any) -> Mapping[str, Any]:
    """Returns the settings of a size; of none, where no size is named."""
    if size is None:
        return {}
    if not isinstance(size, str) or size not in row.presets:
        there = ", ".join(row.presets) or "none"
        raise ConfigError(
            f"{name} has no preset {size!r}; {did_you_mean(str(size), row.presets)}there are: {there}"
        )
    return row.presets[size]


def _section(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = given.get(name, {})
    return section if isinstance(section, Mapping) else {}


def _translation_defaults(given: Mapping[str, Any], _: str) -> tuple[dict[str, Any], type[Section] | Section]:
    """Returns the defaults of a translation run; a causal architecture has those of a language model."""
    ground: dict[str, Any] = {
        "arch": SEQ2SEQ,
        "optim": {
            "lr": 1e-3, "betas": [0.9, 0.98], "weight_decay": 0.01, "warmup": 0.1, "schedule": "linear",
            "sparse_embeddings": False,
        },
    }  # fmt: skip
    if given.get("arch", SEQ2SEQ) == SEQ2SEQ:
        if given.get("preset") is not None:
            raise ConfigError(
                f"preset {given['preset']!r}: {SEQ2SEQ} has no presets; set model.d_model and the other sizes"
            )
        from ..models.seq2seq import Seq2SeqModelConfig

        return ground, Seq2SeqModelConfig
    kept: dict[str, Any] = {key: given[key] for key in ("arch", "preset", "model") if key in given}
    shape = kept.get("model")
    reach = shape.get("max_len") if isinstance(shape, Mapping) else None
    # A pair is a row: the context is as long as the positions of the model reach.
    data = {"context": max(reach, 8)} if isinstance(reach, int) else {}
    language = LANGUAGE_MODEL.resolve({**kept, "data": data, "task": {"kind": "next-token"}})
    if language.preset is not None:
        ground["preset"] = language.preset
    return ground, language.model


CLASSIFIER: Family[RunConfig] = Family(
    "classifier", "a classifier", "config.classifier:RunConfig", "predict",
    _classifier_task, _classifier_defaults, _check_classifier,
)  # fmt: skip
LANGUAGE_MODEL: "Family[LanguageConfig]" = Family(
    "language-model", "a language model", "config.language:LanguageConfig", "generate",
    _language_task, _language_defaults, _check_language_model,
)  # fmt: skip
TRANSLATOR: "Family[TranslationConfig]" = Family(
    "translator", "a translation model", "config.translation:TranslationConfig", "translate text",
    None, _translation_defaults, lambda _: None,
)  # fmt: skip
# A language model; `config.toml` of its run directory is that of its base.
ALIGNMENT: "Family[AlignConfig]" = Family(
    "aligned-model", "an alignment", "config.align:AlignConfig", "generate",
    None, _alignment_defaults, _check_alignment, "alignment.toml",
)  # fmt: skip
FAMILIES: tuple[Family[Any], ...] = (CLASSIFIER, LANGUAGE_MODEL, TRANSLATOR, ALIGNMENT)


# Of each size: rows of a batch, highest rate, tokens to train on. Rates are those of TinyLLM, except for the
# two smallest: of 1e-3 to 2.4e-2 nano ended best with 3e-3 (`benches/models/optimizers.py`).
PRESETS: dict[str, tuple[int, float, int]] = {
    "nano": (64, 3e-3, 41_000_000),
    "micro": (64, 3e-3, 41_000_000),
    "tiny": (32, 1e-3, 82_000_000),
    "small": (32, 1e-3, 328_000_000),
    "medium": (16, 8e-4, 655_000_000),
    "large": (16, 8e-4, 655_000_000),
    "x-large": (8, 5e-4, 1_310_000_000),
    "xx-large": (8, 5e-4, 2_600_000_000),
    "3x-large": (4, 3e-4, 5_200_000_000),
    "4x-large": (4, 3e-4, 10_500_000_000),
    "5x-large": (2, 2e-4, 21_000_000_000),
}
DEFAULT_PRESET = "tiny"
# Sizes at which a separate table would be most of the model.
TIED = ("nano", "micro", "tiny")
# What `[model]` of a language model has, where the architecture has such a key.
MODEL: dict[str, dict[str, Any]] = {
    "next-token": {
        "causal": True, "bidirectional": False, "norm": "rms", "norm_order": "pre", "activation": "swiglu",
        "positions": "rotary", "biases": False, "dropout": 0.0, "embedding_dropout": 0.0,
        "char_ngrams": [0, 0], "pooling": "last",
    },
    # With learned positions the loss stays near that of a unigram model for millions of tokens.
    "masked": {
        "norm_order": "pre", "positions": "rotary", "embedding_dropout": 0.0, "char_ngrams": [0, 0],
    },
}  # fmt: skip
OPTIM: dict[str, Any] = {
    "betas": [0.9, 0.95], "weight_decay": 0.1, "warmup": 0.02, "sparse_embeddings": False,
}  # fmt: skip
# An alignment that is given neither steps nor epochs.
BUDGETS: dict[str, dict[str, int]] = {"ppo": {"max_steps": 100}, "dpo": {"epochs": 1}}
# Of few answers a step learns more noise than reward; of few pairs it does not.
BATCHES = {"ppo": 256, "dpo": 32}
# The architecture of a translation model that is an encoder and a decoder.
SEQ2SEQ = "seq2seq"


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a configuration file.

    Raises:
        ConfigError: if it is not valid TOML.
    """
    try:
        return tomllib.loads(read_small(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


# Keys whose values name files, by section.
FILES = {
    "data": (
        "train",
        "valid",
        "test",
        "tokenizer",
        "vectors",
        "corpus",
        "held_out",
        "exclude",
        "drop_suspects",
    ),
    "task": ("teacher", "reward_run"),
    "train": ("init_from",),
}


def with_files(tree: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns a configuration whose files are found next to it where they are not found as they are named.

    A configuration that was moved together with its data still finds them: first by the path as it is
    written, then from the folder of the configuration, then by the name alone in that folder.
    """

    def found(value: Any) -> Any:
        if isinstance(value, list):
            return [found(one) for one in value]
        if not isinstance(value, str) or Path(value).exists():
            return value
        candidates = (folder / value, folder / Path(value).name)
        return next((str(path) for path in candidates if path.exists()), value)

    made = dict(tree)
    for section, keys in FILES.items():
        values = made.get(section)
        if isinstance(values, Mapping):
            made[section] = {key: found(one) if key in keys else one for key, one in values.items()}
    if isinstance(made.get("base"), str):
        made["base"] = found(made["base"])
    return made


def fetched(path: str) -> str:
    """Returns a path as it is, or that of a local copy of a URL."""
    return str(local_path(path)) if "://" in path else path


def with_local_copies(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a configuration in which files with URLs are local copies.

    Raises:
        ModuleNotFoundError, OSError: as `sentitok.remote`.
    """

    def local(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            files = [file for one in value for file in _files(one)]
            return type(value)(fetched(one) if isinstance(one, str) else one for one in files)
        return fetched(value) if isinstance(value, str) else value

    made = dict(tree)
    for section, keys in FILES.items():
        values = made.get(section)
        if isinstance(values, Mapping):
            made[section] = {key: local(one) if key in keys else one for key, one in values.items()}
    if isinstance(made.get("base"), str):
        made["base"] = local(made["base"])
    return made


def _files(name: str) -> list[str]:
    """Returns the files that a glob or a folder of a store means; token shards stay a folder."""
    if not is_url(name):
        return [name]
    files = expand([name])
    encoded = len(files) > 1 and any(file.endswith("/manifest.json") for file in files)
    return [name] if encoded else files


def set_value(tree: dict[str, Any], assignment: str) -> None:
    """Carries out `optim.lr=3e-4` on a tree; the value is TOML, or else a string.

    Raises:
        ConfigError: if it is not an assignment.
    """
    path, equals, text = assignment.partition("=")
    *parents, key = path.strip().split(".")
    if not equals or not key or not all(parents):
        raise ConfigError(f"--set {assignment}: expected section.key=value, as in optim.lr=3e-4")
    for parent in parents:
        tree = tree.setdefault(parent, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"--set {assignment}: {parent} is not a section")
    try:
        tree[key] = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        tree[key] = text.strip()


def written(value: Any) -> str:
    """Returns a value as `set_value` reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def merge(trees: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merges trees, section by section; the last one wins."""
    out: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            old = out.get(key)
            out[key] = merge([old, value]) if isinstance(old, dict) and isinstance(value, Mapping) else value
            if isinstance(out[key], Mapping):
                out[key] = dict(out[key])
    return out


def checked(kind: type[Section], values: Any, prefix: str, root: Mapping[str, type[Section]]) -> Section:
    """Returns a section with these values.

    Args:
        kind: of the section.
        values: by key.
        prefix: of the keys in messages.
        root: sections of the whole by name, `task.KIND` for tasks.

    Raises:
        ConfigError: naming each key that is wrong, and what would be right.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError("; ".join(_said(kind, item, prefix, root) for item in error.errors())) from error


def _said(kind: type[Section], item: Any, prefix: str, root: Mapping[str, type[Section]]) -> str:
    """Writes one finding of pydantic as the key, the mistake, and the valid values."""
    path = [str(part) for part in item["loc"]]
    where = (prefix + ".".join(path)).rstrip(".")
    if item["type"] != "extra_forbidden":
        message = str(item["msg"]).removeprefix("Value error, ").removeprefix("Input ")
        if item["type"] in ("model_type", "dict_type"):
            message = f"should be a section, as in [{where}]"
        given = item.get("input")
        if item["type"] == "value_error":  # written here, with the value
            name, *_ = message.split(" ", 1)
            if path and name == path[-1]:
                return f"{where}{message.removeprefix(name)}"
            section = root.get(where, kind)
            if isinstance(given, dict) and name in section.model_fields:
                return f"{where}.{message}".removeprefix(".")
        return f"{where}: {message}" + ("" if isinstance(given, dict) else f", not {given!r}")
    known = list((kind if len(path) < 2 else root.get(path[-2], kind)).model_fields)
    elsewhere = [name for name, section in root.items() if path[-1] in section.model_fields]
    others = [name.removeprefix("task.") for name in elsewhere if name.startswith("task.")]
    if path[-1] in ("arch", "preset"):
        hint = f"{path[-1]} belongs at the top of the file, above all sections"
    elif others and prefix == "task.":  # that of another task
        return f"{where}: only task.kind {' and '.join(others)} has this key"
    elif elsewhere:
        hint = f"did you mean {elsewhere[0].split('.')[0]}.{path[-1]}?"
    else:
        archs = [name for name, row in ARCHITECTURES.items() if prefix == "model." and row.config is kind]
        there = f"{' and '.join(archs)} {'have' if len(archs) > 1 else 'has'}" if archs else "there are"
        hint = did_you_mean(path[-1], known).rstrip() or f"{there} {', '.join(known)}"
    return f"{where}: unknown key; {hint}"
