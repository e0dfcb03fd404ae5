"""The errors of `sentimodels`: one tree, so that a caller can catch all or one kind.

Each message names the value, the limit or the choices, and what to do next.
"""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sentitok.messages import shortened

if TYPE_CHECKING:
    from .training.history import Fit


class SentiError(ValueError):
    """What `sentimodels` refuses or cannot do; the parent of all its errors."""

    def __str__(self) -> str:
        """The message: of a long text the beginning and the end, as files may hold anything."""
        return shortened(super().__str__())


class DataError(SentiError):
    """A file or a table that cannot be used as it is."""


class NoRowsError(DataError):
    """A table without a row."""


class ConfigError(SentiError):
    """A setting that is unknown, out of range or at odds with another."""


class CheckpointError(SentiError):
    """A run directory that is incomplete, altered or of another tokenizer."""


class TrainingError(SentiError):
    """A training run that cannot continue, such as a loss that is not finite.

    Attributes:
        fit: how it went until then, if usable weights are left; else `None`.
    """

    def __init__(self, message: str, fit: "Fit | None" = None) -> None:
        super().__init__(message)
        self.fit = fit


class ExportError(SentiError):
    """An exported model whose answers differ from those of its run."""


def not_numbers(what: str, or_else: str = "") -> CheckpointError:
    """Returns the error of a model that answers NaN.

    Args:
        what: the values that are NaN.
        or_else: another possible reason.
    """
    return CheckpointError(
        f"the model's {what} are not numbers: its weights are not finite{or_else}; take another run, or "
        "train it with a lower learning rate"
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns `did you mean gpt? `, where a known name is near; else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}? " if near else ""
