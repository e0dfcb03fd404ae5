"""The parameters of commands that are paths, and calls that give one of them."""

import inspect
from typing import Any, get_args

__all__ = ["call_with", "paths_of"]


def paths_of(command: Any) -> list[str]:
    """The parameters of a command that are paths."""
    found = []
    for name, parameter in inspect.signature(command.callback).parameters.items():
        kind = str((get_args(parameter.annotation) or (parameter.annotation,))[0])
        if "Path" in kind:
            found.append(name)
    return found


def call_with(command: Any, name: str, value: str) -> list[str]:
    """The words that give one parameter, and as little else as the command takes."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    names = [param.name for param in arguments]
    last = names.index(name) if name in names else -1
    given = [
        value if param.name == name else "x"
        for at, param in enumerate(arguments)
        if at <= last or param.required
    ]
    for param in command.params:
        if param.param_type_name != "argument" and (param.required or param.name == name):
            given += [param.opts[0], value if param.name == name else "x"]
    return given
