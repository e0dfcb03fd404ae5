"""tiktoken's calls: `from sentitok.compat import tiktoken` in the place of `import tiktoken`.

Ranks come from files and tiktoken's cache, never from the network unless asked (`sentitok.names`).
Differences and missing parts are in docs/reference/compat-tiktoken.md.

Source of what the calls mean: openai/tiktoken 0.14, `tiktoken/registry.py` and `tiktoken/model.py`.
"""

import os
from functools import lru_cache
from typing import NoReturn

from ... import missing_attribute, names
from ..._sentitok import Tokenizer
from ...names import encoding_name_for_model
from . import load
from .encoding import Encoding

__all__ = [
    "Encoding",
    "__version__",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "load",
]

#: The version of tiktoken whose calls these are; that of sentitok is `sentitok.__version__`.
__version__ = "0.14.0"


def get_encoding(
    encoding_name: str, path: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Encoding:
    """Returns an encoding by its name.

    Args:
        encoding_name: such as `"cl100k_base"`; see `list_encoding_names`.
        path: as in `sentitok.get_encoding`.
        download: as in `sentitok.get_encoding`.
    """
    return _wrapped(encoding_name, names.get_encoding(encoding_name, path, download=download))


def encoding_for_model(
    model_name: str, path: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Encoding:
    """Returns the encoding of a model, such as `"gpt-4o"`; a KeyError if it is not known."""
    return get_encoding(encoding_name_for_model(model_name), path, download=download)


def list_encoding_names() -> list[str]:
    """Returns the names of the encodings."""
    return names.names()


_ELSEWHERE = {
    "core": "Encoding is in the module itself, as in tiktoken.Encoding",
    "model": "encoding_for_model and encoding_name_for_model are in the module itself",
    "registry": "get_encoding and list_encoding_names are in the module itself",
    "educational": "it is for learning how BPE works; take it from tiktoken",
}


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute.error(f"module {__name__!r}", name, _ELSEWHERE)


@lru_cache(maxsize=16)
def _wrapped(name: str, tokenizer: Tokenizer) -> Encoding:
    """One object for a name and a tokenizer: its tables are made once."""
    return Encoding.of(name, tokenizer)
