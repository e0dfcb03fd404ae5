"""`AddedToken`, and `AddedTokens`: the tokens that are found before a text is split, with their ids.

Source of the rules: tokenizers 0.23, where a token gets its id.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ...messages import shown

__all__ = ["AddedToken", "AddedTokens", "token_of"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class AddedToken:
    """A token with rules.

    Args:
        content: its text.
        single_word: whether it is found as a whole word only.
        lstrip: whether it takes the white space before it.
        rstrip: whether it takes the white space behind it.
        normalized: whether it is looked for in the normalized text; by default if it is not special.
        special: whether decoding can leave it out.
    """

    def __init__(
        self,
        content: str | None = None,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        if content is None:
            content = ""
        if not isinstance(content, str):
            raise TypeError(f"content is {shown(content)}; it is a str")
        self.content = content
        self.single_word = _flag("single_word", single_word)
        self.lstrip = _flag("lstrip", lstrip)
        self.rstrip = _flag("rstrip", rstrip)
        self._normalized = None if normalized is None else _flag("normalized", normalized)
        self.special = _flag("special", special)

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in the normalized text."""
        return not self.special if self._normalized is None else self._normalized

    def spec(self) -> dict[str, Any]:
        """Returns its JSON, without an id."""
        return {"content": self.content, **{flag: getattr(self, flag) for flag in _FLAGS}}

    def __eq__(self, other: object) -> bool:
        return self.spec() == other.spec() if isinstance(other, AddedToken) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.content)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        flags = ("rstrip", "lstrip", "single_word", "normalized", "special")
        return f'AddedToken("{self.content}", {", ".join(f"{flag}={getattr(self, flag)}" for flag in flags)})'


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {shown(value)}; it is True or False")
    return value


class AddedTokens:
    """The added tokens of a tokenizer, by their ids."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.tokens: dict[int, AddedToken] = {}

    @classmethod
    def from_specs(
        cls, specs: Iterable[dict[str, Any]], n_model: int, id_of: Callable[[str], int | None]
    ) -> "AddedTokens":
        """Returns the added tokens of a tokenizer.json; `add` assigns their ids."""
        made = cls()
        tokens = [AddedToken(spec["content"], **{flag: spec[flag] for flag in _FLAGS}) for spec in specs]
        made.add(tokens, False, n_model, id_of)
        return made

    def add(
        self,
        tokens: Iterable[str | AddedToken],
        special: bool,
        n_model: int,
        id_of: Callable[[str], int | None],
    ) -> int:
        """Adds tokens, and returns how many were new or changed.

        Args:
            tokens: the tokens; an `AddedToken` becomes special if these are.
            special: whether the tokens are special.
            n_model: the size of the model's vocabulary.
            id_of: the model's id of a token.
        """
        checked = [token_of(given, special) for given in tokens]
        most = max(self.tokens, default=-1)
        next_id = most + 1 if self.tokens and (most >= n_model or not n_model) else n_model
        n_added = 0
        for token in checked:
            known = self.ids.get(token.content)
            if not token.content or (known is not None and self.tokens[known] == token):
                continue
            id = known if known is not None else id_of(token.content)
            if id is None:
                id, next_id = next_id, next_id + 1
            self.ids[token.content] = id
            self.tokens[id] = token
            n_added += 1
        return n_added

    def specs(self) -> list[dict[str, Any]]:
        """Returns the JSON of the tokens, by id."""
        return [{"id": id, **self.tokens[id].spec()} for id in sorted(self.tokens)]


def token_of(given: object, special: bool) -> AddedToken:
    """Returns a new token for a text or a token, which becomes special if it must be."""
    if isinstance(given, str):
        return AddedToken(given, normalized=not special, special=special)
    if not isinstance(given, AddedToken):
        raise TypeError(f"Input must be a List[Union[str, AddedToken]], and one is {type(given).__name__}")
    given.special = given.special or special
    # A copy: later changes to the given token do not act here.
    return AddedToken(**given.spec())
