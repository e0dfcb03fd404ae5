"""`Places`: a text as a model sees it, and where each byte of that comes from.

The tokens of a model whose only pieces are bytes are the normalized bytes of a text, and their places are the
places of the bytes.

Source of what places mean: google/sentencepiece 0.2.3, `src/normalizer.cc`.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..._sentitok import Tokenizer
from . import protobuf
from .surfaces import MARK

__all__ = ["Places", "characters"]

# Put behind a text, so that its end has a place; no published rule contains it.
_END = "\U0010fffc"
_UNKNOWN, _USER, _BYTE = 2, 4, 6


class Places:
    """SentencePiece's normalizer.

    Args:
        spec: its message, as a `.model` holds it.
        trainer: the message of how the model was trained.
        symbols: strings to which no rule applies.

    Raises:
        FormatError: for rules that cannot be read.
    """

    def __init__(self, spec: bytes, trainer: bytes = b"", symbols: Iterable[str] = ()) -> None:
        pieces = {_END: 1, "<unk>": _UNKNOWN} | {f"<0x{byte:02X}>": _BYTE for byte in range(256)}
        pieces |= {symbol: _USER for symbol in symbols if symbol not in pieces}
        # Of a field that occurs twice the last counts: a Unigram model (3) that falls back to bytes (35).
        trainer += protobuf.field(3, 1) + protobuf.field(35, 1)
        messages = (protobuf.field(1, piece) + protobuf.field(3, kind) for piece, kind in pieces.items())
        model = b"".join(protobuf.field(1, message) for message in messages)
        tokenizer = Tokenizer.from_bytes(model + protobuf.field(2, trainer) + protobuf.field(3, spec))
        normalizer = tokenizer.normalizer
        assert normalizer is not None
        self._tokenizer, self.normalizer = tokenizer, normalizer
        self._lengths = np.array(
            [1 if kind == _BYTE else len(piece.encode()) for piece, kind in pieces.items()]
        )

    def normalized(self, text: str) -> str:
        """Returns a text as the model sees it."""
        return self.normalizer.normalize(text)

    def of(self, text: str) -> tuple[bytes, list[int]]:
        """Returns that in bytes, and for each of them, and the end, the byte of the text it comes from."""
        normalized, source = self.normalized(text).encode("utf-8"), text.encode("utf-8")
        if not source:
            return b"", []
        whole = self._tokenizer.encode(text + _END)
        starts = _starts(source + _END.encode("utf-8"))
        places = np.repeat(starts[whole.offsets("bytes")[:, 0]], self._lengths[whole.ids])
        if not normalized and places[0] == len(source):
            return b"", []  # white space alone has no place
        # A space that a model writes behind words is behind the end.
        longer = self.normalized(text + _END).encode("utf-8")
        n = len(normalized) if longer.startswith(normalized) else len(normalized) - len(MARK.encode())
        return normalized, [*places[:n].tolist(), *[int(places[n])] * (len(normalized) - n + 1)]

    def of_characters(self, text: str) -> tuple[str, list[int]]:
        """Returns that as a str, and for each character of it, and the end, that of the text."""
        normalized, places = self.of(text)
        before = characters(text.encode("utf-8"))
        in_characters = [
            before[place]
            for at, place in enumerate(places)
            if at == len(normalized) or not 0x80 <= normalized[at] < 0xC0
        ]
        return normalized.decode("utf-8"), in_characters or [0]


def characters(text: bytes) -> list[int]:
    """Returns the number of characters before each byte, and before the end."""
    n_chars = np.cumsum((np.frombuffer(text, np.uint8) & 0xC0) != 0x80)
    return [*(n_chars - 1).tolist(), int(n_chars[-1])] if text else [0]


def _starts(text: bytes) -> npt.NDArray[np.intp]:
    """For each byte, where its character begins."""
    data = np.frombuffer(text, np.uint8)
    return np.maximum.accumulate(np.where((data & 0xC0) == 0x80, 0, np.arange(len(data))))
