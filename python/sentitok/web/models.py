"""`Model`: a model that the page compares; here tokenizers.

A classifier or a language model is a `Model` that answers more.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sentitok import Tokenizer

from ..spelling import spelled_tokens

__all__ = ["Model", "TokenizerModel", "load_tokenizers", "named"]

M = TypeVar("M")


class Model(Protocol):
    """Something with tokens."""

    def about(self) -> dict[str, Any]:
        """Describes it: `kind`, `answers` (the routes that it answers), and further facts."""

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        """Returns the tokens of a text: at most so many in `tokens`, and how many it has in `n_tokens`."""

    def decode(self, ids: list[int]) -> str:
        """Returns the text of ids.

        Raises:
            ValueError: if an id is unknown, or the tokenizer cannot decode.
        """


class TokenizerModel:
    """A tokenizer as the page shows it.

    Args:
        tokenizer: the tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        spelled_tokens(tokenizer, tokenizer.encode("a"))  # builds before the first request what it needs

    def about(self) -> dict[str, Any]:
        """Describes it."""
        return {
            "kind": "tokenizer",
            "answers": ["tokenize", "decode"],
            "summary": str(self.tokenizer.info().get("model", "tokenizer")),
            "vocab_size": self.tokenizer.vocab_size,
            "is_lossless": self.tokenizer.is_lossless,
            "fingerprint": self.tokenizer.fingerprint,
        }

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        """Returns the tokens of a text."""
        encoding = self.tokenizer.encode(text)
        return {
            "tokens": spelled_tokens(self.tokenizer, encoding, most),
            "n_tokens": len(encoding),
            # A lone surrogate becomes U+FFFD, which has three bytes too.
            "n_bytes": len(text.encode("utf-8", "surrogatepass")),
        }

    def decode(self, ids: list[int]) -> str:
        """Returns the text of ids."""
        return self.tokenizer.decode(ids)


def load_tokenizers(files: Sequence[Path]) -> dict[str, TokenizerModel]:
    """Reads tokenizer files.

    Raises:
        FormatError: if one is not a tokenizer.
        OSError: if one cannot be read.
    """
    return named([(path, TokenizerModel(Tokenizer.from_file(path))) for path in files])


def named(models: Sequence[tuple[Path, M]]) -> dict[str, M]:
    """Gives each model a name: the last part of its path, and as many more as make it unique."""
    paths = [path.absolute() for path, _ in models]
    names: dict[str, M] = {}
    for place, (path, (_, model)) in enumerate(zip(paths, models, strict=True)):
        others = [other.parts for other in paths[:place] + paths[place + 1 :]]
        n_parts = 1
        while n_parts < len(path.parts) and any(
            other[-n_parts:] == path.parts[-n_parts:] for other in others
        ):
            n_parts += 1
        name = "/".join(path.parts[-n_parts:])
        names[name if name not in names else f"{name} ({place + 1})"] = model
    return names
