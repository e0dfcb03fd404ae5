"""tokenizers' calls: `from sentitok.compat.tokenizers import Tokenizer` instead of `tokenizers`.

Ids, tokens, offsets and masks are those of tokenizers 0.23; differences and missing parts
are in docs/reference/compat-tokenizers.md. The stages are objects that hold the JSON of a tokenizer.json;
sentitok's tokenizer, at `Tokenizer.sentitok`, is made of them when it is first used, and gives arrays.
"""

from typing import NoReturn

from ... import missing_attribute
from . import decoders, models, normalizers, pre_tokenizers, processors, trainers
from .added import AddedToken
from .encoding import Encoding
from .implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from .models import Token
from .stages import Regex
from .strings import NormalizedString, PreTokenizedString
from .tokenizer import Tokenizer
from .types import (
    EncodeInput,
    InputSequence,
    Offsets,
    PreTokenizedEncodeInput,
    PreTokenizedInputSequence,
    TextEncodeInput,
    TextInputSequence,
)

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "__version__",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]

_A_TEXT = 'give the text that it means, such as "removed", which tokenizers takes as well'
_ELSEWHERE = {
    "offsetreferential": _A_TEXT,
    "offsettype": _A_TEXT,
    "splitdelimiterbehavior": _A_TEXT,
    "tools": "a sentitok.Encoding shows itself in a notebook: tokenizer.sentitok.encode(text)",
}


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute.error(f"module {__name__!r}", name, _ELSEWHERE)


#: The version of tokenizers whose calls these are; that of sentitok is `sentitok.__version__`.
__version__ = "0.23.3"
