"""`TASKS`: the table of all tasks that a model is trained for.

To add one, write a file of `tasks/` with the task and a function that makes the task of a run; here, a row
and, below the table, its section, a `TaskSection`. `--help` imports the sections: in `tasks/` they would
import PyTorch. A task of language models also names a function of `models/language.py`, which puts a head on
a backbone. Modules are named, and imported when they are needed. The sections of translation and alignment
are next to those of their data (`translation.py`, `align.py`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .section import RowOf, Section, flag

__all__ = [
    "DEFAULT_TASK",
    "TASKS",
    "ByKind",
    "ClassificationConfig",
    "DistillationConfig",
    "MaskedConfig",
    "MultilabelConfig",
    "NextTokenConfig",
    "OrdinalConfig",
    "TaskKind",
    "TaskSection",
    "choices",
    "sections_of",
    "trained_by",
]


class TaskSection(Section):
    """The section of a task; `kind` is the name of its row in `TASKS`."""

    kind: str


@dataclass(frozen=True)
class TaskKind:
    """One row of the table.

    Attributes:
        family: the kind of runs that have the task (`runs/families.py`).
        summary: what the model learns, as in `one label a text`.
        section: module below `sentimodels` and class of its section.
        maker: module and function that makes the task of a run, of what its recipe has prepared: that of a
            classifier from `RunConfig` and `TaskRows` (`tasks/classification.py`), that of a language model
            from `LanguageConfig` and `LanguageRows` (`tasks/next_token.py`).
        recipe: module of `recipes/` and class of the recipe that runs it.
        command: of `senti`, which trains it.
        given: the arguments of that command, as an example.
        head: of a language model: module and function that puts the head of the task on a backbone.
    """

    family: str
    summary: str
    section: str
    maker: str
    recipe: str
    command: str
    given: str
    head: str = ""

    @property
    def config(self) -> type[Section]:
        """The class of its section."""
        return cast("type[Section]", named(self.section))

    @property
    def make(self) -> Callable[..., Any]:
        """Makes the task of a run."""
        return cast("Callable[..., Any]", named(self.maker))


def named(place: str) -> object:
    """Returns what `module:name` names, below `sentimodels`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"sentimodels.{module}"), name)


@dataclass(frozen=True)
class ByKind:
    """Reads the section `[task]` of a family by its `kind`: a union with tags, of the rows of `TASKS`."""

    family: str

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind: handler.generate_schema(one) for kind, one in sections_of(self.family).items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")


def sections_of(family: str) -> dict[str, type[Section]]:
    """Returns the sections of the tasks that a kind of runs has, by `task.kind`."""
    return {kind: row.config for kind, row in TASKS.items() if row.family == family}


def trained_by(command: str) -> list[str]:
    """Returns the tasks that a command of `senti` trains."""
    return [kind for kind, row in TASKS.items() if row.command == command]


def choices(command: str) -> str:
    """Returns the tasks that a command trains, with what each learns, as help lists them."""
    *first, last = (f"{kind} ({TASKS[kind].summary})" for kind in trained_by(command))
    return f"{', '.join(first)} or {last}" if first else last


# By `task.kind`; the first of a family is the default of its command.
TASKS: dict[str, TaskKind] = {
    "classification": TaskKind(
        "classifier", "one label a text",
        "config.task:ClassificationConfig", "tasks.classification:of_rows",
        "classification:ClassificationRecipe", "train", "reviews.csv",
    ),
    "multilabel": TaskKind(
        "classifier", "several labels a text, or none",
        "config.task:MultilabelConfig", "tasks.multilabel:of_rows",
        "classification:ClassificationRecipe", "train", "tags.csv --label-separator '|'",
    ),
    "ordinal": TaskKind(
        "classifier", "one of labels in an order, such as stars",
        "config.task:OrdinalConfig", "tasks.ordinal:of_rows",
        "classification:ClassificationRecipe", "train", "stars.csv --task ordinal",
    ),
    "distillation": TaskKind(
        "classifier", "the answers of a teacher",
        "config.task:DistillationConfig", "tasks.distillation:of_rows",
        "distillation:DistillationRecipe", "distill", "runs/ensemble --data reviews.csv",
    ),
    "next-token": TaskKind(
        "language-model", "each token from those before it, as GPT",
        "config.task:NextTokenConfig", "tasks.next_token:of_rows",
        "pretraining:PretrainingRecipe", "pretrain", "books.txt", "models.language:causal_model",
    ),
    "masked": TaskKind(
        "language-model", "hidden tokens, as BERT",
        "config.task:MaskedConfig", "tasks.masked:of_rows",
        "pretraining:PretrainingRecipe", "pretrain", "books.txt", "models.language:masked_model",
    ),
    "seq2seq": TaskKind(
        "translator", "a target for each source",
        "config.translation:Seq2SeqConfig", "tasks.seq2seq:Seq2Seq",
        "translation:TranslationRecipe", "translate train", "train.en train.de",
    ),
    "ppo": TaskKind(
        "aligned-model", "sample answers and follow a reward",
        "config.align:PPOConfig", "alignment.methods:FollowReward",
        "alignment:AlignmentRecipe", "align", "runs/base openings.txt --reward-run runs/reviews --reward pos",
    ),
    "dpo": TaskKind(
        "aligned-model", "learn from pairs of answers",
        "config.align:DPOConfig", "alignment.methods:PreferAnswers",
        "alignment:AlignmentRecipe", "align", "runs/base pairs.jsonl",
    ),
}  # fmt: skip
DEFAULT_TASK = next(iter(TASKS))

_EXPECTED = "expected none, balanced, or a positive number for each class, as in [1, 2]"


def _positive_weights(weights: Any) -> Any:
    if isinstance(weights, str) and weights not in ("none", "balanced"):
        try:
            weights = tuple(float(part) for part in weights.strip().strip("[]()").split(","))
        except ValueError:
            raise ValueError(_EXPECTED) from None
    values = list(weights.values()) if isinstance(weights, Mapping) else weights
    if isinstance(values, (list, tuple)):
        good = [isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < math.inf for v in values]
        if not good or not all(good):
            raise ValueError(f"class_weights {list(values)}: expected one positive number for each class")
        return weights if isinstance(weights, Mapping) else tuple(weights)
    if not isinstance(weights, str):
        raise ValueError(_EXPECTED)
    return weights


_Weights = Annotated[
    Literal["none", "balanced"] | tuple[float, ...] | dict[str, float], BeforeValidator(_positive_weights)
]


class _LabelsConfig(TaskSection):
    """What tasks that learn labels have in common; `loss` keeps its place in the file before the rest."""

    loss: str
    class_weights: _Weights = Field(
        default="none",
        description="Class weights in the loss: none, balanced (classes count equally) or numbers, in the "
        "order of the labels (1,2) or by label; the option also takes a file of them (JSON, TOML, CSV).",
        json_schema_extra=flag("--class-weights", "KIND"),
    )
    r_drop: float = Field(
        default=0.0,
        ge=0,
        description="Weight of the R-Drop loss, the distance between two passes with different dropout; "
        "0 for none.",
    )
    mixup: float = Field(
        default=0.0, ge=0, description="Alpha of the Beta distribution of mixup; 0 for no mixup."
    )


class _OneLabelConfig(_LabelsConfig):
    """What tasks of one label a text have in common."""

    sampler: Literal["shuffle", "balanced"] = Field(
        default="shuffle",
        description="How training rows are drawn: shuffle (each once an epoch) or balanced (every class "
        "equally often).",
    )


class ClassificationConfig(_OneLabelConfig):
    """One of several classes for each text."""

    kind: Literal["classification"] = Field(
        default="classification",
        description=f"Task to train for: {choices('train')}. [default: classification; ordinal with "
        "--label-order, multilabel with --label-separator or --label-columns]",
        json_schema_extra=flag("--task", "KIND"),
    )
    loss: Annotated[str, RowOf("tasks.classification", "LOSSES", "cross-entropy")] = Field(
        default="cross-entropy",
        description="Loss of a row: cross-entropy, or focal, which focal_gamma above 0 means as well.",
    )
    label_smoothing: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Label smoothing: share of each label's probability that is spread evenly over all "
        "classes; 0 for none.",
    )
    focal_gamma: float = Field(
        default=0.0,
        ge=0,
        description="Gamma of the focal loss, which weights each row by (1 - p)^gamma; 0 for cross entropy, "
        "or for 2 where loss is focal.",
    )
    focal_alpha: float = Field(
        default=1.0,
        gt=0,
        description="Alpha of the focal loss, a factor on the loss of every row; for one factor per class "
        "use class_weights.",
    )


class MultilabelConfig(_LabelsConfig):
    """Several labels for each text, or none: each label is decided alone."""

    kind: Literal["multilabel"] = Field(default="multilabel", description="Task to train for.")
    loss: Annotated[str, RowOf("tasks.multilabel", "LOSSES", "binary-cross-entropy")] = Field(
        default="binary-cross-entropy",
        description="Loss of a label: binary-cross-entropy, or focal, which focal_gamma above 0 means as "
        "well.",
    )
    label_smoothing: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Label smoothing: share of each label's probability that is spread evenly over yes and "
        "no; 0 for none.",
    )
    focal_gamma: float = Field(
        default=0.0,
        ge=0,
        description="Gamma of the focal loss, which weights each label by (1 - p)^gamma; 0 for cross "
        "entropy, or for 2 where loss is focal.",
    )
    focal_alpha: float = Field(
        default=1.0, gt=0, description="Alpha of the focal loss, a factor on the loss of every label."
    )
    class_weights: _Weights = Field(
        default="none",
        description="Weights of the rows that have a label, in its loss: none, balanced (rows with and "
        "without it count equally) or numbers, in the order of the labels (1,2) or by label; the option also "
        "takes a file of them (JSON, TOML, CSV).",
    )


class OrdinalConfig(_OneLabelConfig):
    """One label for each text, of labels in an order: a score of the text, cut into classes."""

    kind: Literal["ordinal"] = Field(default="ordinal", description="Task to train for.")
    loss: Annotated[str, RowOf("tasks.ordinal", "LOSSES", "likelihood")] = Field(
        default="likelihood",
        description="Loss of a row: likelihood (minus the log-probability of its label) or coral (binary "
        "cross entropy of each cut, whether the label is above it).",
    )


class DistillationConfig(TaskSection):
    """The answers of another model, a teacher, for each text."""

    kind: Literal["distillation"] = Field(default="distillation", description="Task to train for.")
    teacher: str = Field(default="", description="Run directory or ensemble that is the teacher.")
    teacher_sha256: str | None = Field(
        default=None, description="SHA-256 of the teacher's manifest; senti distill writes it."
    )
    loss: Annotated[str, RowOf("tasks.distillation", "DISTANCES", "kl")] = Field(
        default="kl",
        description="Loss against the teacher: kl (divergence of the probabilities at the temperature) or "
        "logits (mean squared difference of the logits).",
        json_schema_extra=flag("--loss", "KIND"),
    )
    temperature: float = Field(
        default=2.0,
        gt=0,
        le=100,
        description="Softmax temperature of teacher and student in the kl loss; higher values give unlikely "
        "labels more weight.",
        json_schema_extra=flag("--temperature", "T"),
    )
    label_weight: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Weight of the true label in the loss, from 0 to 1, on rows that have one; the teacher "
        "gets the rest.",
        json_schema_extra=flag("--label-weight", "SHARE"),
    )


class NextTokenConfig(TaskSection):
    """Each token from those before it."""

    kind: Literal["next-token"] = Field(
        default="next-token",
        description=f"What to predict: {choices('pretrain')}.",
        json_schema_extra=flag("--task", "KIND"),
    )
    tied: bool = Field(
        default=True,
        description="Share one weight matrix between embedding and output head, or not. [default: tied for "
        "nano, micro and tiny, else untied]",
        json_schema_extra=flag("--tied/--untied", panel="Model"),
    )


class MaskedConfig(TaskSection):
    """Tokens that were masked, from all around them, as BERT learns."""

    kind: Literal["masked"] = Field(
        default="masked",
        description=f"What to predict: {choices('pretrain')}.",
        json_schema_extra=flag("--task", "KIND"),
    )
    rate: float = Field(
        default=0.15,
        gt=0,
        lt=1,
        description="Share of the tokens to predict, between 0 and 1; of these 80 % are masked, 10 % "
        "replaced, 10 % kept.",
        json_schema_extra=flag("--mask-rate", "SHARE"),
    )
    next_sentence: bool = Field(
        default=False,
        description="Also predict whether the second half of a row follows the first, as BERT does. "
        "[default: no-next-sentence]",
        json_schema_extra=flag("--next-sentence/--no-next-sentence"),
    )
