"""`RunConfig` = data + model + task + optim + train: all that a run is, written as TOML.

Not for reading it (`runs/config.py`), nor for the fields of a model: each architecture's config
sits in its file.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, SerializeAsAny

from .data import DataConfig
from .optim import OptimConfig
from .section import Section
from .task import TaskConfig
from .train import TrainConfig

__all__ = ["RunConfig"]


class RunConfig(Section):
    """A run."""

    arch: str = Field(default="lstm", description="Architecture; senti archs lists them.")
    preset: str | None = Field(
        default=None, description="Size of the architecture by name; [model] goes on from it."
    )
    data: DataConfig
    model: SerializeAsAny[Section]
    task: TaskConfig
    optim: OptimConfig
    train: TrainConfig

    def to_toml(self, *, comments: bool = False) -> str:
        """Writes the configuration as TOML, with what each key means if asked."""
        lines = _table(self, {"arch": self.arch, "preset": self.preset}, comments)
        for name in ("data", "model", "task", "optim", "train"):
            section: Section = getattr(self, name)
            lines += ["", f"[{name}]", *_table(section, section.model_dump(mode="json"), comments)]
        return "\n".join(lines) + "\n"

    def tree(self) -> dict[str, Any]:
        """Returns the configuration as plain values, without unset ones."""
        sections = {name: getattr(self, name).plain() for name in ("data", "model", "task", "optim", "train")}
        top = {"arch": self.arch} | ({"preset": self.preset} if self.preset else {})
        return top | sections


def _table(section: Section, values: Mapping[str, Any], comments: bool) -> list[str]:
    meaning = dict(section.documented())
    lines = []
    for key, value in values.items():
        if comments:
            lines.append(f"# {meaning.get(key, '')}")
        # TOML has no null: an unset key is shown as one that is not there.
        lines.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
    return lines if comments else [line for line in lines if not line.startswith("#")]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)
