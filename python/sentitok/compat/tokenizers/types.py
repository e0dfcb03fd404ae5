"""Types for annotations: what may be encoded, by the names that tokenizers has for it.

Source: tokenizers 0.23, `bindings/python/py_src/tokenizers/__init__.pyi`.
"""

from typing import TypeAlias

__all__ = [
    "EncodeInput",
    "InputSequence",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "TextEncodeInput",
    "TextInputSequence",
]

#: Where a token begins and ends.
Offsets: TypeAlias = tuple[int, int]
#: A text, and one that is split already.
TextInputSequence: TypeAlias = str
PreTokenizedInputSequence: TypeAlias = list[str] | tuple[str, ...]
InputSequence: TypeAlias = TextInputSequence | PreTokenizedInputSequence
#: The same alone or as a pair.
TextEncodeInput: TypeAlias = TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[str]
PreTokenizedEncodeInput: TypeAlias = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
EncodeInput: TypeAlias = TextEncodeInput | PreTokenizedEncodeInput
