"""`RunConfig` = data + model + task + optim + train: all that a run is, written as TOML.

Not for reading it (`runs/families.py`), nor for the fields of a model: each architecture's config
sits in its file. `Written` is what all kinds of runs share: sections, and how they are written.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, SerializeAsAny

from .data import DataConfig
from .section import Section, flag
from .task import TaskConfig
from .train import OptimConfig, TrainConfig

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

__all__ = ["AUTO", "SECTIONS", "RunConfig", "Written"]

# The architecture that is chosen by the texts.
AUTO = "auto"
# In the order of the file.
SECTIONS = ("data", "model", "task", "optim", "train")


class Written(Section):
    """A configuration of sections, those of `SECTIONS`, with some keys above them."""

    def to_toml(self, *, comments: bool = False) -> str:
        """Writes the configuration as TOML, with what each key means if asked."""
        import tomlkit

        made = tomlkit.document()
        _fill(made, self, self._top(comments=comments), comments)
        for name in self._sections():
            section: Section = getattr(self, name)
            table = tomlkit.table()
            _fill(table, section, section.model_dump(mode="json"), comments)
            made.add(tomlkit.nl())
            made.add(name, table)
        return tomlkit.dumps(made)

    def tree(self) -> dict[str, Any]:
        """Returns the configuration as plain values, without unset ones."""
        sections = {name: getattr(self, name).plain() for name in self._sections()}
        return self._top() | sections

    def _sections(self) -> list[str]:
        """Returns those of `SECTIONS` that it has."""
        return [name for name in SECTIONS if name in type(self).model_fields]

    def _top(self, *, comments: bool = False) -> dict[str, Any]:
        """Returns the keys above the sections; an unset one only beside comments."""
        keys = {name: getattr(self, name) for name in type(self).model_fields if name not in SECTIONS}
        return keys if comments else {name: value for name, value in keys.items() if value}


class RunConfig(Written):
    """A run."""

    arch: str = Field(
        default=AUTO,
        description="Architecture: one that senti archs lists, auto (the one expected to do best within the "
        "budget) or hf:PATH (a model folder of Hugging Face transformers).",
        json_schema_extra=flag("--arch", "NAME"),
    )
    preset: str | None = Field(
        default=None,
        description="Size of the model, such as nano; settings of [model] override it. [default: that of the "
        "architecture]",
        json_schema_extra=flag("--preset", "SIZE"),
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        description="CPU time for --arch auto, in seconds: it compares architectures by cross-validation and "
        "trains the best; the option also takes 5m or 2h. [default: 60s]",
        json_schema_extra=flag("--budget", "TIME"),
    )
    estimates: dict[str, float] = Field(
        default={},
        description="CPU time in seconds that --arch auto estimated for the architectures it tried; "
        "senti train writes it.",
    )
    accuracies: dict[str, float] = Field(
        default={},
        description="Accuracy in cross-validation on the training rows of the architectures that --arch auto "
        "compared; senti train writes it.",
    )
    data: DataConfig
    model: SerializeAsAny[Section]
    task: TaskConfig
    optim: OptimConfig
    train: TrainConfig

    def _top(self, *, comments: bool = False) -> dict[str, Any]:
        """Returns the keys above the sections; what arch auto settled only where it did."""
        top = super()._top(comments=comments)
        return top if self.estimates else {name: top[name] for name in ("arch", "preset") if name in top}


def _fill(table: "TOMLDocument | Table", section: Section, values: Mapping[str, Any], comments: bool) -> None:
    """Adds the keys of a section; TOML has no null, so an unset key is shown as one that is not there."""
    from tomlkit import comment, inline_table

    meaning = dict(section.documented())
    for key, value in values.items():
        if comments:
            table.add(comment(meaning.get(key, "")))
        if isinstance(value, Mapping):
            inline = inline_table()
            inline.update(value)
            table.add(key, inline)
        elif value is not None:
            table.add(key, value)
        elif comments:
            table.add(comment(f"{key} ="))
