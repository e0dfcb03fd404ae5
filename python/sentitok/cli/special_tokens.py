"""Notes on special tokens: commas in their names, and special tokens in a text that is read as plain text."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .command import UsageError
from .output import Output, counted

if TYPE_CHECKING:
    from sentitok import Tokenizer

__all__ = ["END_TOKENS", "names_of", "note_read_as_text"]

# The usual names of the token that ends a text.
END_TOKENS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "[EOS]")


def names_of(given: Iterable[str] | None, flag: str) -> list[str]:
    r"""Returns the tokens that a repeatable option names; a comma inside one is written as `\,`.

    Raises:
        UsageError: if a comma may separate several tokens.
    """
    names = []
    for item in given or []:
        parts = [part.strip() for part in re.split(r"(?<!\\),", item) if part.strip()]
        if len(parts) > 1:
            several = " ".join(f"{flag} '{part}'" for part in parts)
            one = re.sub(r"(?<!\\),", r"\\,", item)
            raise UsageError(
                f"{flag} '{item}' may be {len(parts)} tokens or one: write {several}, or for one token that "
                f"holds the comma {flag} '{one}'"
            )
        names.append(re.sub(r"(?<=.)\\,(?=.)", ",", item))
    return names


def note_read_as_text(
    output: Output, tokenizer: "Tokenizer", texts: Iterable[str | bytes], where: str
) -> None:
    """Says how many special tokens texts hold that were read as plain text.

    Args:
        output: where to say it.
        tokenizer: encoded the texts with `specials="none"`.
        texts: the texts, or a sample.
        where: the place of the texts, for the message.
    """
    import numpy as np

    special = [token.id for token in tokenizer.added_tokens if token.special]
    if not (output.human and special):
        return
    found = tokenizer.encode_batch(list(texts), specials="all", add_special_tokens=False).ids
    if n := int(np.isin(found, special).sum()):
        output.note(f"{where}: {counted(n, 'special token')} read as text; --specials all reads tokens")
