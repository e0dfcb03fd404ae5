"""Differences of transformers 4 from 5 that `accelerate` has to know.

In 4, `_batch_encode_plus` takes the rows of a batch and `_encode_plus` one row; in 5 the second takes both.

Source: transformers 4.57, `tokenization_utils_fast.py` and `tokenization_utils_base.py`.
"""

from inspect import signature
from typing import Any

import transformers

__all__ = ["IGNORED", "IS_4", "IS_KNOWN", "SETS_SIDE"]

_FAST: Any = transformers.PreTrainedTokenizerFast

# Whether this is a version whose calls are known.
IS_KNOWN = hasattr(_FAST, "set_truncation_and_padding") and hasattr(_FAST, "_encode_plus")
IS_4 = hasattr(_FAST, "_batch_encode_plus")

# Options that may be given if they are false; any other unknown option is an error in 4.
IGNORED = frozenset[str]() if IS_4 else frozenset({"sanitize_control_tokens"})
# Whether the side that is padded can be set for one call: since 4.45.
SETS_SIDE = IS_KNOWN and "padding_side" in signature(_FAST.set_truncation_and_padding).parameters
