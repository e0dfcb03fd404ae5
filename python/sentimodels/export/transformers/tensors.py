"""`Pair`: a tensor of ours and those of theirs that it is made of, read in both directions.

A layout is a list of pairs. Not for files (`folder.py`) or settings (`gpt2.py`, `bert.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import CheckpointError

__all__ = ["Pair", "of_ours", "to_ours", "weight_and_bias"]


@dataclass(frozen=True)
class Pair:
    """One tensor.

    Attributes:
        ours: its name.
        theirs: names of the tensors that follow one another in it, along the first dimension.
        turned: whether theirs have their two dimensions the other way round.
    """

    ours: str
    theirs: tuple[str, ...]
    turned: bool = False


def weight_and_bias(ours: str, *theirs: str, turned: bool = False) -> list[Pair]:
    """Returns the pairs of a linear map or a norm."""
    return [
        Pair(f"{ours}.weight", tuple(f"{name}.weight" for name in theirs), turned),
        Pair(f"{ours}.bias", tuple(f"{name}.bias" for name in theirs)),
    ]


def of_ours(pairs: Iterable[Pair], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns our tensors as theirs."""
    out = {}
    for pair in pairs:
        for name, part in zip(pair.theirs, ours[pair.ours].chunk(len(pair.theirs)), strict=True):
            out[name] = (part.T if pair.turned else part).contiguous()
    return out


def to_ours(pairs: Iterable[Pair], theirs: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Returns their tensors as ours.

    Args:
        pairs: which are which.
        theirs: by name.
        source: where they are from, for the message.

    Raises:
        CheckpointError: if one is missing.
    """
    out = {}
    for pair in pairs:
        missing = [name for name in pair.theirs if name not in theirs]
        if missing:
            raise CheckpointError(f"{source}: no tensor {missing[0]}; is config.json of the same model?")
        parts = [theirs[name].T if pair.turned else theirs[name] for name in pair.theirs]
        out[pair.ours] = torch.cat(parts).contiguous()
    return out
