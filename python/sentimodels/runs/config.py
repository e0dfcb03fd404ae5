"""The steps from files and flags to a configuration: reading, merging, checking against the sections.

Which sections and defaults a run has is `families.py`.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..config import Section
from ..data.opening import read_small
from ..errors import ConfigError, did_you_mean

__all__ = ["FILES", "checked", "merge", "read_toml", "set_value", "with_files", "written"]


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
    "data": ("train", "valid", "test", "tokenizer", "vectors", "corpus", "held_out", "exclude"),
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
        beside = (folder / value, folder / Path(value).name)
        return next((str(path) for path in beside if path.exists()), value)

    made = dict(tree)
    for section, keys in FILES.items():
        values = made.get(section)
        if isinstance(values, Mapping):
            made[section] = {key: found(one) if key in keys else one for key, one in values.items()}
    if isinstance(made.get("base"), str):
        made["base"] = found(made["base"])
    return made


def set_value(tree: dict[str, Any], assignment: str) -> None:
    """Carries out `optim.lr=3e-4` on a tree; the value is TOML, or else a string.

    Raises:
        ConfigError: if it is no assignment.
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
    """Writes one finding of pydantic as the key, what is wrong, and what would be right."""
    path = [str(part) for part in item["loc"]]
    where = (prefix + ".".join(path)).rstrip(".")
    if item["type"] != "extra_forbidden":
        message = str(item["msg"]).removeprefix("Value error, ").removeprefix("Input ")
        if item["type"] in ("model_type", "dict_type"):
            message = f"should be a section, as in [{where}]"
        given = item.get("input")
        return f"{where}: {message}" + ("" if isinstance(given, dict) else f", not {given!r}")
    known = list((kind if len(path) < 2 else root.get(path[-2], kind)).model_fields)
    elsewhere = [name for name, section in root.items() if path[-1] in section.model_fields]
    others = [name.removeprefix("task.") for name in elsewhere if name.startswith("task.")]
    if path[-1] in ("arch", "preset"):
        hint = f"{path[-1]} stands at the top of the file, above all sections"
    elif others and prefix == "task.":  # that of another task
        options = dict(root[f"task.{others[0]}"].flags())
        named = f" ({options[path[-1]]['flag']})" if path[-1] in options else ""
        hint = f"only task.kind {' and '.join(others)} has it{named}"
    elif elsewhere:
        hint = f"did you mean {elsewhere[0].split('.')[0]}.{path[-1]}?"
    else:
        hint = did_you_mean(path[-1], known).rstrip() or f"there are {', '.join(known)}"
    return f"{where}: unknown key; {hint}"
