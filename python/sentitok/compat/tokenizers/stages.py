"""`Stage`: a part of a tokenizer.json that is an object in Python, with the fields of its JSON.

A stage may be changed after it was given to a tokenizer, which notices by `changes()`.
"""

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar, Generic, Self, TypeVar

from ..._sentitok import FormatError
from ...messages import shown
from .carrier import carried
from .fields import Holder, Json, note_change
from .shown import written

__all__ = ["Regex", "Stage", "Steps", "call_custom", "one_char", "one_of", "pattern"]

_Stage = TypeVar("_Stage", bound="Stage")


class Regex:
    """A regular expression, where a plain text would be taken as it is.

    Raises:
        FormatError: if it does not compile, or tokenizers reads it otherwise; with how to write it.
    """

    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str):
            raise TypeError(f"pattern is {type(pattern).__name__}; it is a str")
        if not pattern.isascii() and any("\ud800" <= char <= "\udfff" for char in pattern):
            raise FormatError(f"pattern {shown(pattern)}: a lone surrogate is not a character; leave it out")
        self.pattern = pattern
        # Whatever stage it will be of, one compiles it now: there is no call that does that alone.
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        try:
            carried(pre_tokenizer=split)
        except FormatError as error:
            raise FormatError(str(error).removeprefix("$.pre_tokenizer.pattern.Regex: ")) from None


class Stage(Holder):
    """A stage: `fields` are those of its JSON except for `type`, which is the name of the class.

    `defaults` are the fields of its JSON in order, each with its value where a file leaves it out.
    """

    kinds: ClassVar[dict[str, type["Stage"]]]
    room: ClassVar[str]
    defaults: ClassVar[Json] = {}

    def __init_subclass__(cls, room: str | None = None, in_files: bool = True) -> None:
        if room is not None:
            cls.room, cls.kinds = room, {}
        elif in_files:
            cls.kinds[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        if "kinds" in vars(type(self)):
            raise TypeError(f"{type(self).__name__} is what its kinds have in common: take one of them")
        self.fields = {}
        for name, value in fields.items():
            setattr(self, name, value)

    def spec(self) -> Json:
        """Returns the JSON of the stage."""
        return {"type": type(self).__name__, **self.fields}

    @classmethod
    def _of(cls, fields: Json) -> Self:
        made = cls.__new__(cls)
        made.fields = fields
        return made

    @classmethod
    def from_spec(cls, spec: Json) -> Self:
        """Returns the stage of a JSON, with the fields that tokenizers would write.

        Older files leave out fields, and have some that tokenizers reads no more.

        Raises:
            FormatError: for a kind that is not there.
        """
        kind = spec.get("type")
        stage = cls.kinds.get(kind) if isinstance(kind, str) else None
        if stage is None or not issubclass(stage, cls):
            raise FormatError(f"{shown(kind)} is not a {cls.room}; there are {', '.join(sorted(cls.kinds))}")
        given = {name: spec[name] for name in stage.defaults if spec.get(name) is not None}
        return stage._of({**deepcopy(stage.defaults), **given})

    def __getstate__(self) -> bytes:
        return json.dumps(self.spec(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(vars(type(self).from_spec(json.loads(state))))

    def __repr__(self) -> str:
        return written(self.spec())

    def __str__(self) -> str:
        return written(self.spec(), short=True)


class Steps(Generic[_Stage]):
    """Common parts of sequences of stages: they hold stages, not their JSON."""

    stages: list[_Stage]
    key: ClassVar[str]

    def spec(self) -> Json:
        """Returns the JSON of the stages."""
        return {"type": "Sequence", self.key: [stage.spec() for stage in self.stages]}

    def _hold(self, stages: Iterable[_Stage], kind: type[_Stage]) -> None:
        self.stages = list(stages)
        for stage in self.stages:
            if not isinstance(stage, kind):
                raise TypeError(f"{type(stage).__name__!r} object is not an instance of {kind.__name__!r}")

    def __len__(self) -> int:
        return len(self.stages)

    def __getitem__(self, index: int) -> _Stage:
        return self.stages[index]

    def __setitem__(self, index: int, stage: _Stage) -> None:
        self.stages[index] = stage
        note_change()


def call_custom(method: Callable[[Any], object], given: object) -> None:
    """Calls a method of a stage that is written in Python; its errors become what they are in tokenizers."""
    try:
        method(given)
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def one_char(value: Any) -> str:
    """Returns a text of one character; raises for another."""
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError(f"expected a string of length 1, and found {shown(value)}")
    return value


def one_of(*allowed: str, spelled: Callable[[str], str] = str) -> Callable[[Any], str]:
    """Returns a check that a value is one of some words."""

    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"{shown(value)} is an unknown value, expected one of: {', '.join(allowed)}")
        return spelled(value)

    return check


def pattern(value: Any) -> Json:
    """Returns the JSON of what a stage looks for: a `str` is taken as it is."""
    if isinstance(value, Regex):
        return {"Regex": value.pattern}
    if isinstance(value, str):
        return {"String": value}
    raise TypeError(f"pattern is {type(value).__name__}; it is a str or a Regex")
