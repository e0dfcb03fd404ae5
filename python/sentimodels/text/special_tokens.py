"""Which tokens of a tokenizer end a document, begin a row, and mask.

Each is known by the names that tokenizers give it; missing tokens are added at the end of the vocabulary, so
ids that exist keep their meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sentitok import Tokenizer

from ..errors import DataError

__all__ = ["ENDS", "MaskedTokens", "end_of_document", "known_end", "masked_tokens", "special_ids"]

# Tokens that end a document, in the order of the lookup.
ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "[SEP]", "[EOS]")
_CLS = ("[CLS]", "<s>", "<cls>", "<bos>")
_SEP = ("[SEP]", "</s>", "<sep>", "<eos>")
_MASK = ("[MASK]", "<mask>", "<|mask|>")
_PAD = ("[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>")


@dataclass(frozen=True)
class MaskedTokens:
    """The ids that rows of masked tokens need, and all that are never masked."""

    cls: int
    sep: int
    mask: int
    pad: int
    special: frozenset[int]


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Returns the id of each special token, by its spelling."""
    return {token.content: token.id for token in tokenizer.added_tokens if token.special}


def _with(tokenizer: Tokenizer, names: tuple[str, ...]) -> tuple[Tokenizer, int]:
    """Returns the id of the first of these names; adds the first one if there is none."""
    there = special_ids(tokenizer)
    first = next((there[name] for name in names if name in there), None)
    if first is not None:
        return tokenizer, first
    tokenizer = tokenizer.with_specials([names[0]])
    return tokenizer, special_ids(tokenizer)[names[0]]


def end_of_document(tokenizer: Tokenizer, named: str | None) -> tuple[Tokenizer, int]:
    """Returns the token that ends a document, and the tokenizer with it.

    Args:
        tokenizer: the tokenizer.
        named: which special token it is to be; without it the first that is known.

    Raises:
        DataError: if the tokenizer has no such token.
    """
    if named is None:
        return _with(tokenizer, ENDS)
    there = special_ids(tokenizer)
    if named not in there:
        raise DataError(
            f"--end {named}: not a special token of the tokenizer, which has {', '.join(there) or 'none'}; "
            f"name one of them, or leave out --end and {ENDS[0]} is added"
        )
    return tokenizer, there[named]


def known_end(tokenizer: Tokenizer, named: str | None, about: Mapping[str, Any]) -> str | None:
    """Returns the token that ends a document, of a run that has been made; `None`: there is none.

    Args:
        tokenizer: of the run.
        named: the token that its configuration names, if any.
        about: what `run.json` holds: a corpus that was encoded before has its own token.
    """
    corpus = about.get("corpus")
    id = corpus.get("end") if isinstance(corpus, Mapping) else None
    if isinstance(id, int) and 0 <= id < tokenizer.vocab_size:
        return tokenizer.id_to_token(id)
    there = special_ids(tokenizer)
    return next((name for name in (ENDS if named is None else (named,)) if name in there), None)


def masked_tokens(tokenizer: Tokenizer) -> tuple[Tokenizer, MaskedTokens]:
    """Returns the tokens that rows of masked tokens need, and the tokenizer that has them."""
    tokenizer, cls = _with(tokenizer, _CLS)
    tokenizer, sep = _with(tokenizer, _SEP)
    tokenizer, mask = _with(tokenizer, _MASK)
    tokenizer, pad = _with(tokenizer, _PAD)
    special = frozenset(special_ids(tokenizer).values())
    return tokenizer, MaskedTokens(cls, sep, mask, pad, special)
