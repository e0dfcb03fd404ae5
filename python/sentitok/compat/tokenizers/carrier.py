"""`carried`: a tokenizer of sentitok made of stages, with a model or with an empty one.

The effect of a single stage (a normalizer, a pre-tokenizer) is computed by such a tokenizer.
"""

import json
from functools import lru_cache
from typing import Any

from ..._sentitok import Tokenizer

__all__ = ["EMPTY", "built", "carried"]

#: The model that knows nothing.
EMPTY: dict[str, Any] = {"type": "BPE", "vocab": {}, "merges": []}


def built(document: dict[str, Any]) -> Tokenizer:
    """Returns the tokenizer of a tokenizer.json."""
    return Tokenizer.from_bytes(json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def carried(
    *, normalizer: dict[str, Any] | None = None, pre_tokenizer: dict[str, Any] | None = None
) -> Tokenizer:
    """Returns a tokenizer with some stages and the empty model."""
    return _kept(json.dumps({"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}))


@lru_cache(maxsize=64)
def _kept(stages: str) -> Tokenizer:
    return built({"version": "1.0", "added_tokens": [], **json.loads(stages), "model": EMPTY})
