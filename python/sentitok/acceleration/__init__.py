"""`accelerate`: a fast tokenizer of transformers that runs here, and stays the object it is.

The object gets a class between its own and transformers': what that answers is asked of a
`sentitok.Tokenizer` made from the same file, or else of transformers as before. Everything that is saved,
pickled or set is transformers' own.

Source of what the calls mean: transformers 5, `tokenization_utils_tokenizers.py`, and transformers
4, `tokenization_utils_fast.py`.
"""

from typing import Any, TypeVar

from ..messages import shown
from ..numbers import whole

__all__ = ["accelerate"]

_Fast = TypeVar("_Fast")


def accelerate(tokenizer: _Fast, *, prompts: int = 0) -> _Fast:
    """Lets a fast tokenizer of transformers run here, and returns it: the same object.

    `__call__`, `encode`, `apply_chat_template`, `decode`, `batch_decode` and
    `convert_ids_to_tokens` give what they gave, sooner. What this library does not run takes
    the original path, and the logger `sentitok.acceleration` says so once, with the reason.
    Tokens added later, and other changes of the tokenizer or its backend, are seen at the next
    call. Copies run here too; a pickle is that of the untouched object.

    A part of the backend that was taken out of it before (`model = t.backend_tokenizer.model`)
    and is changed later is not seen: call `accelerate` again.

    Args:
        tokenizer: a `PreTrainedTokenizerFast` of transformers 4 or 5, or of a class made from it.
        prompts: how many of the last prompts are kept with their ids, none by default. A call with one text
            of 1,024 characters or more keeps it, and a longer text that begins with it, such as the next turn
            of a chat, is encoded from its end on (`Tokenizer.encode_more`). Copies keep none.

    Raises:
        TypeError: for anything else.
        ValueError: for a negative number of prompts.
        ImportError: with a transformers older than 4.
    """
    made: Any = tokenizer
    if getattr(made, "backend_tokenizer", None) is None or not getattr(made, "is_fast", False):
        raise TypeError(
            f"expected a fast tokenizer of transformers, not {shown(tokenizer)}; it is what "
            "AutoTokenizer.from_pretrained gives, or PreTrainedTokenizerFast(tokenizer_object=...)"
        )
    n_prompts = whole("prompts", prompts)
    from .tokenizer import run_here

    run_here(made, n_prompts)
    return tokenizer
