"""`Truncation` and `Padding`: what a tokenizer does to the length of every text, and its JSON.

Source of the rules: tokenizers 0.23, `enable_truncation` and `enable_padding`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import numbers
from ...messages import shown
from .encoding import Encoding

__all__ = ["Padding", "Truncation"]

_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_DIRECTIONS = ("left", "right")


def _check(lengths: object, *names: str, bits: int = 64) -> None:
    """Makes fields ints; raises for other types, values below 0, and more bits."""
    for name in names:
        number = numbers.whole(name, getattr(lengths, name), error=OverflowError, bits=bits)
        object.__setattr__(lengths, name, number)  # 2026-11-23: the classes are frozen from then on


@dataclass(frozen=True)
class Truncation:
    """Texts are cut to a length."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    def __post_init__(self) -> None:
        if self.strategy not in _STRATEGIES.values():
            raise ValueError(
                f"Unknown `strategy`: `{self.strategy}`. Use one of {', '.join(_STRATEGIES.values())}"
            )
        if self.direction not in _DIRECTIONS:
            raise ValueError(f"Unknown `direction`: `{self.direction}`. Use one of `left` or `right`.")
        _check(self, "max_length", "stride")

    @classmethod
    def from_spec(cls, spec: dict[str, Any] | None) -> "Truncation | None":
        """Returns the fields in a tokenizer.json."""
        if spec is None:
            return None
        direction = spec.get("direction", "Right").lower()
        return cls(spec["max_length"], spec["stride"], _STRATEGIES[spec["strategy"]], direction)

    def spec(self) -> dict[str, Any]:
        """Returns the JSON."""
        strategy = next(name for name, words in _STRATEGIES.items() if words == self.strategy)
        direction = self.direction.title()
        return {
            "direction": direction,
            "max_length": self.max_length,
            "strategy": strategy,
            "stride": self.stride,
        }

    def cut(self, encoding: Encoding, pair: Encoding | None, n_added: int) -> None:
        """Cuts a text, or two, to the length that is left by the tokens around them.

        Raises:
            ValueError: where the strategy cannot cut as much.
        """
        most = self.max_length - n_added
        if most < 0:
            raise ValueError(f"max_length={self.max_length} is less than the {n_added} special tokens added")
        total = len(encoding) + (0 if pair is None else len(pair))
        if most == 0:
            for one in (encoding, pair):
                if one is not None:
                    one.truncate(0, self.stride, self.direction)
        elif total > most:
            for one, n in self._lengths(encoding, pair, most, total):
                one.truncate(n, self.stride, self.direction)

    def _lengths(
        self, encoding: Encoding, pair: Encoding | None, most: int, total: int
    ) -> list[tuple[Encoding, int]]:
        if self.strategy == "longest_first":
            if pair is None:
                return [(encoding, most)]
            shorter = min(len(encoding), len(pair))
            longer = shorter if shorter > most else max(shorter, most - shorter)
            if shorter + longer > most:
                shorter, longer = most // 2, most // 2 + most % 2
            first, second = (longer, shorter) if len(encoding) > len(pair) else (shorter, longer)
            return [(encoding, first), (pair, second)]
        target = encoding if self.strategy == "only_first" else pair
        if target is None:
            raise ValueError("Truncation error: Second sequence not provided")
        if len(target) <= total - most:
            raise ValueError(
                "Truncation error: Sequence to truncate too short to respect the provided max_length"
            )
        return [(target, len(target) - (total - most))]


@dataclass(frozen=True)
class Padding:
    """Texts are filled up to a length, or to that of the longest."""

    length: int | None = None
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: str = "right"

    def __post_init__(self) -> None:
        if self.direction not in _DIRECTIONS:
            raise ValueError(f"Unknown `direction`: `{self.direction}`. Use one of `left` or `right`")
        if not isinstance(self.pad_token, str):
            raise TypeError(f"pad_token is {shown(self.pad_token)}; it is a str")
        _check(self, "pad_id", "pad_type_id", bits=32)
        _check(self, *(name for name in ("length", "pad_to_multiple_of") if getattr(self, name) is not None))

    @classmethod
    def from_spec(cls, spec: dict[str, Any] | None) -> "Padding | None":
        """Returns the fields in a tokenizer.json."""
        if spec is None:
            return None
        strategy = spec["strategy"]
        length = None if strategy == "BatchLongest" else strategy["Fixed"]
        return cls(
            length, spec.get("pad_to_multiple_of"), spec["pad_id"], spec["pad_token"],
            spec.get("pad_type_id", 0), spec.get("direction", "Right").lower(),
        )  # fmt: skip

    def spec(self) -> dict[str, Any]:
        """Returns the JSON."""
        strategy = "BatchLongest" if self.length is None else {"Fixed": self.length}
        return {
            "strategy": strategy,
            "direction": self.direction.title(),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }

    def fill(self, encodings: Sequence[Encoding]) -> None:
        """Fills up encodings, which are one batch."""
        length = max(map(len, encodings), default=0) if self.length is None else self.length
        if self.pad_to_multiple_of:
            length += -length % self.pad_to_multiple_of
        for encoding in encodings:
            encoding.pad(length, self.direction, self.pad_id, self.pad_type_id, self.pad_token)
