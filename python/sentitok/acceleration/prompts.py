"""`Prompts`: the last prompts of a tokenizer, which longer ones continue.

Only where the caller of `accelerate` asks for it: a kept prompt holds its text and ids in memory.
"""

from dataclasses import dataclass

from .._sentitok import Encoding, Tokenizer

__all__ = ["Prompts"]

#: Encoding shorter texts whole is as quick, and they would take the places of prompts.
_LEAST_CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class _Kept:
    tokenizer: Tokenizer
    adds_special_tokens: bool
    text: str
    encoding: Encoding


class Prompts:
    """Encodes texts of single calls, from the last of them that a text begins with.

    Threads may share it: the prompts are a tuple that is replaced as a whole, so that at worst one is lost.

    Args:
        n: how many are kept; the oldest goes first.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._kept: tuple[_Kept, ...] = ()

    def encode(self, tokenizer: Tokenizer, text: str, adds_special_tokens: bool) -> Encoding:
        """Returns what `tokenizer.encode` with `specials="all"` and `errors="strict"` returns."""
        kept = self._kept
        begins = [
            prompt
            for prompt in kept
            if prompt.tokenizer is tokenizer
            and prompt.adds_special_tokens == adds_special_tokens
            and text.startswith(prompt.text)
        ]
        if begins:
            longest = max(begins, key=lambda prompt: len(prompt.text))
            encoding = tokenizer.encode_more(longest.encoding, text, errors="strict")
            # A chat takes one place, however long it gets.
            kept = tuple(prompt for prompt in kept if prompt is not longest)
        else:
            encoding = tokenizer.encode(
                text, add_special_tokens=adds_special_tokens, specials="all", errors="strict"
            )
        if len(text) >= _LEAST_CHARACTERS:
            prompt = _Kept(tokenizer, adds_special_tokens, text, encoding)
            self._kept = (prompt, *kept)[: self._n]
        return encoding
