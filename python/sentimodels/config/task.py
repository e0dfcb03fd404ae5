"""`TASKS`: the table of all tasks that a model is trained for.

To add one, write its section, a `TaskSection`; a file of `tasks/` with the task and a function that makes the
task of a run; and a row. The sections are in `config/`, because `--help` imports them: with a section in
`tasks/` it would import PyTorch. A task of language models also names a function of `models/language.py`,
which puts a head on a backbone. Modules are named, and imported when they are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .section import Section

__all__ = [
    "DEFAULT_TASK",
    "TASKS",
    "ByKind",
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
        "config.classifier:ClassificationConfig", "tasks.classification:of_rows",
        "classification:ClassificationRecipe", "train", "reviews.csv",
    ),
    "multilabel": TaskKind(
        "classifier", "several labels a text, or none",
        "config.classifier:MultilabelConfig", "tasks.multilabel:of_rows",
        "classification:ClassificationRecipe", "train", "tags.csv --label-separator '|'",
    ),
    "ordinal": TaskKind(
        "classifier", "one of labels in an order, such as stars",
        "config.classifier:OrdinalConfig", "tasks.ordinal:of_rows",
        "classification:ClassificationRecipe", "train", "stars.csv --task ordinal",
    ),
    "distillation": TaskKind(
        "classifier", "the answers of a teacher",
        "config.classifier:DistillationConfig", "tasks.distillation:of_rows",
        "distillation:DistillationRecipe", "distill", "runs/ensemble --data reviews.csv",
    ),
    "next-token": TaskKind(
        "language-model", "each token from those before it, as GPT",
        "config.language:NextTokenConfig", "tasks.next_token:of_rows",
        "pretraining:PretrainingRecipe", "pretrain", "books.txt", "models.language:causal_model",
    ),
    "masked": TaskKind(
        "language-model", "hidden tokens, as BERT",
        "config.language:MaskedConfig", "tasks.masked:of_rows",
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
