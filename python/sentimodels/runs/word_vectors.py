"""`as_wide_as_vectors`: a model that starts from word vectors is as wide as they are.

Not for reading them into a table (`sentimodels.text.encoder.vectors_for`).
"""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..data.opening import open_text
from ..models import ARCHITECTURES
from .config import merge

__all__ = ["as_wide_as_vectors"]


def as_wide_as_vectors(*trees: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns settings with `model.d_model` as `data.vectors` needs it below them, where none is given.

    A preset's width gives way. Settings are left as they are where the architecture has no embeddings, and
    where the file says nothing: reading it later tells what is wrong.
    """
    given = merge(trees)
    arch, data, model = given.get("arch"), given.get("data"), given.get("model", {})
    path = data.get("vectors") if isinstance(data, Mapping) else None
    if not isinstance(path, str) or not Path(path).is_file():
        return list(trees)
    if arch not in ARCHITECTURES or "d_model" not in ARCHITECTURES[arch].config.model_fields:
        return list(trees)
    width = 0 if isinstance(model, Mapping) and "d_model" in model else _width(Path(path))
    return [{"model": {"d_model": width}}, *trees] if width else list(trees)


def _width(path: Path) -> int:
    """Returns how many numbers the first word has; 0 if the file does not begin as it should."""
    with open_text(path) as file:
        for number, line in enumerate(islice(file.lines(), 2)):
            word, _, rest = line.rstrip().partition(" ")
            if number or not (word.isdecimal() and rest.isdecimal()):  # how many words, how many numbers
                width = len(rest.split())
                return width if width > 1 else 0
    return 0
