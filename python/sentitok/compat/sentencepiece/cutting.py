"""`Cutter`: cuts texts to tokens in every way of SentencePiece, and returns them in the requested form.

Not what users call: `processor` has the calls, and their options.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._sentitok import Encoding
from . import draws
from .decoding import Decoder
from .inputs import PROTOS, decoded
from .texts import SentencePieceText, placed

__all__ = ["MAX_N_BEST", "Cutter", "Flags", "Row"]

#: The most ways to cut a text that one is drawn from, SentencePiece's limit.
MAX_N_BEST = 512

#: The id of each token, and its part of the text as the model sees it.
Row = list[tuple[int, str]]


class Flags(NamedTuple):
    """Changes to the tokens of a row."""

    add_bos: bool
    add_eos: bool
    reverse: bool
    emit_unk_piece: bool


class Cutter(Decoder):
    """Cuts texts; a row is the tokens of one."""

    def _ids_alone(self, texts: Sequence[str | bytes], threads: int | None) -> list[list[int]]:
        tokenizer = self._loaded()
        if len(texts) == 1:
            return [tokenizer.encode(texts[0]).ids.tolist()]
        return tokenizer.encode_batch(texts, threads=threads).to_list()

    def _plain(self, texts: Sequence[str | bytes]) -> Iterator[Row]:
        """Tokens with their surfaces."""
        tokenizer = self._loaded()
        for text in texts:
            yield _row(tokenizer.encode(text))

    def _drawn(self, text: str | bytes, nbest_size: int, alpha: float, kind: object) -> Row:
        tokenizer, seed = self._loaded(), draws.seed()
        if self._model.model_type == "bpe":
            return _row(tokenizer.with_dropout(alpha).encode(text, seed=seed))
        whole = decoded(text)
        if nbest_size < 0:
            ids = tokenizer.sample(whole, alpha, seed).tolist()
        else:
            ways = self._ways(whole, nbest_size)
            best = max(score for _, score in ways)
            ids = ways[draws.choice([math.exp(alpha * (score - best)) for _, score in ways])][0]
        return self._with_surfaces(whole, ids, kind)

    def _ways(self, text: str, n: int) -> list[tuple[list[int], float]]:
        """The best ways to cut a text; an empty one has one way."""
        ways = [(ids.tolist(), score) for ids, score in self._loaded().n_best(text, n)]
        return ways or [([], 0.0)]

    def _with_surfaces(self, text: str, ids: list[int], kind: object) -> Row:
        """Ids with the part of the normalized text that each represents."""
        if kind in (int, "numpy") or self._special[0] not in ids:
            return [(id, self._pieces[id]) for id in ids]
        normalizer = self.tokenizer.normalizer
        rest = text if normalizer is None else normalizer.normalize(text)
        row = []
        for at, id in enumerate(ids):
            surface = self._pieces[id]
            if id == self._special[0]:
                # An unknown part ends where the next token begins.
                after = self._pieces[ids[at + 1]] if at + 1 < len(ids) else ""
                end = rest.find(after, 1) if after else len(rest)
                surface = rest[: end if end > 0 else len(rest)]
            rest = rest[len(surface) :]
            row.append((id, surface))
        return row

    def _finished(
        self, text: str | bytes, row: Row, kind: object, flags: Flags, return_bytes: bool | None = None
    ) -> Any:
        """A row in the requested form."""
        if kind in PROTOS:
            in_bytes = isinstance(text, bytes) if return_bytes is None else return_bytes
            return self._placed(text, row, flags).given_as(str(kind), in_bytes, with_text=False)
        if flags.reverse:
            row.reverse()
        special = (("BOS", self._special[1], flags.add_bos), ("EOS", self._special[2], flags.add_eos))
        for name, id, is_asked in special:
            if is_asked:
                if id < 0:
                    raise ValueError(
                        f"this model has no control token for {name}; leave out add_{name.lower()}"
                    )
                row.insert(0 if name == "BOS" else len(row), (id, self._pieces[id]))
        if kind is int:
            return [id for id, _ in row]
        if kind == "numpy":
            return _array([id for id, _ in row])
        unk = self._special[0] if flags.emit_unk_piece else -1
        pieces = [self._pieces[id] if id == unk else surface for id, surface in row]
        return [piece.encode("utf-8") for piece in pieces] if kind is bytes else pieces

    def _placed(self, text: str | bytes, row: Row, flags: Flags) -> SentencePieceText:
        """A text with its pieces and their places."""
        if any(flags):
            names = ", ".join(name for name, value in zip(flags._fields, flags, strict=True) if value)
            raise RuntimeError(
                f"{names}: not for a text with places, as these tokens lack places; leave it out"
            )
        return placed(decoded(text), row, self._kinds, self._places)


def _row(encoding: Encoding) -> Row:
    return list(zip(encoding.ids.tolist(), encoding.surfaces, strict=True))


def _array(ids: list[int]) -> npt.NDArray[np.int32]:
    """Ids as an array that cannot be changed."""
    return np.frombuffer(np.array(ids, np.int32).tobytes(), np.int32)
