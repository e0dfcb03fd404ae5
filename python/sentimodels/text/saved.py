"""`as_saved`: a tokenizer as the `tokenizer.json` of a run gives it back.

That format has no room for some of what a tokenizer may know, such as the kinds of a Unigram's
pieces. A model must read in training what it will read when it is loaded, so this is left out
before, not after. Not for other files: `sentitok` writes those whole.
"""

import tempfile
from pathlib import Path

from sentitok import Tokenizer

__all__ = ["as_saved"]


def as_saved(tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer, saved and loaded again; warns of what may differ, as saving does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        return Tokenizer.from_file(path)
