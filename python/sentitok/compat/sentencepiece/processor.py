"""`SentencePieceProcessor`: encode, decode, and ask for pieces, as SentencePiece names it.

Not a tokenizer of its own: `.tokenizer` is the `sentitok.Tokenizer` that does the work.
"""

import math
import os
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from ...messages import shown
from . import draws
from .decoding import ELSEWHERE, Decoder, texts_of, type_of
from .model import decoded

__all__ = ["SentencePieceProcessor"]

_Input: TypeAlias = str | bytes | list[str] | list[bytes]
_T = TypeVar("_T")

#: The most ways to cut a text that one is drawn from, SentencePiece's limit.
_MAX_N_BEST = 512


class SentencePieceProcessor(Decoder):
    """A model with SentencePiece's methods, in both spellings (`encode`, `Encode`).

    Args:
        model_file: the path of a `.model` file.
        model_proto: its content, as bytes or a message of protobuf.
        out_type: what `encode` gives: `int`, `str`, `bytes` or `"numpy"`.
        add_bos: puts the token of the beginning in front.
        add_eos: puts the token of the end behind.
        reverse: turns the tokens round.
        emit_unk_piece: shows the unknown piece in the place of what is unknown.
        enable_sampling: draws a way to cut each text.
        nbest_size: draws from so many best ways, or from all with -1; for Unigram.
        alpha: how even the draw is, or how often BPE leaves out a merge.
        num_threads: threads for a list of texts; -1 takes one a core.
        return_type: another name of `out_type`.

    Raises:
        RuntimeError: for a file that cannot be read.
        ValueError: for options that do not go together.
    """

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        model_proto: Any = None,
        out_type: Any = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: Any = None,
    ) -> None:
        super().__init__()
        self._out_type = type_of(out_type, return_type, int)
        self._options: dict[str, Any] = {
            "add_bos": add_bos,
            "add_eos": add_eos,
            "reverse": reverse,
            "emit_unk_piece": emit_unk_piece,
            "enable_sampling": enable_sampling,
            "nbest_size": nbest_size,
            "alpha": alpha,
            "num_threads": num_threads,
        }
        if model_file or model_proto:
            self.load(model_file, model_proto)

    @classmethod
    def from_file(cls, model_file: str | os.PathLike[str], **options: Any) -> "SentencePieceProcessor":
        """Returns the processor of a file; options are those of the class."""
        made = cls(**options)
        made.load_from_file(model_file)
        return made

    @classmethod
    def from_proto(cls, model_proto: Any, **options: Any) -> "SentencePieceProcessor":
        """Returns the processor of a file's content; options are those of the class."""
        made = cls(**options)
        made.load_from_serialized_proto(model_proto)
        return made

    # Text to ids or pieces

    def encode(
        self,
        input: _Input,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        enable_sampling: bool | None = None,
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Returns the tokens of a text; of a list of texts, a list.

        Args:
            input: the text, or a list.
            add_bos: as in the class, as are the others; `None` takes what was given there.
            add_eos: as above.
            reverse: as above.
            emit_unk_piece: as above.
            enable_sampling: as above.
            nbest_size: as above.
            alpha: as above.
            num_threads: as above.
            return_type: as above.
            out_type: as above.

        Raises:
            ValueError: for an unknown type, or a token of the beginning that is not there.
            TypeError: for what is no text.
        """
        kind = type_of(out_type, return_type, self._out_type)
        add_bos, add_eos, reverse, emit_unk_piece = (
            self._option("add_bos", add_bos),
            self._option("add_eos", add_eos),
            self._option("reverse", reverse),
            self._option("emit_unk_piece", emit_unk_piece),
        )
        nbest_size, alpha = self._option("nbest_size", nbest_size), self._option("alpha", alpha)
        threads = self._option("num_threads", num_threads)
        if not isinstance(threads, int):
            raise TypeError(f"num_threads is {shown(threads)}; it is an int")
        if self._option("enable_sampling", enable_sampling):
            if nbest_size in (0, 1):
                raise ValueError(
                    f"nbest_size is {nbest_size}, which leaves nothing to draw from: pass -1 for all ways to "
                    "cut a text, or more than 1"
                )
            if nbest_size > _MAX_N_BEST:
                raise RuntimeError(f"nbest_size is {nbest_size}; at most {_MAX_N_BEST}, or -1 for all")
            rows = [self._drawn(text, nbest_size, alpha, kind) for text in texts_of(input)]
        else:
            rows = self._plain(texts_of(input), threads, kind)
        finished = [self._finished(row, kind, add_bos, add_eos, reverse, emit_unk_piece) for row in rows]
        return finished if isinstance(input, list) else finished[0]

    def _option(self, name: str, value: _T | None) -> _T:
        found: _T = self._options[name] if value is None else value
        return found

    def _plain(self, texts: Sequence[str | bytes], threads: int, kind: object) -> list[list[tuple[int, str]]]:
        """Tokens with their surfaces, which only pieces ask for."""
        tokenizer = self._loaded()
        if kind in (int, "numpy"):
            if len(texts) == 1:
                return [[(id, "") for id in tokenizer.encode(texts[0]).ids.tolist()]]
            batch = tokenizer.encode_batch(texts, threads=threads if threads > 0 else None)
            return [[(id, "") for id in row] for row in batch.to_list()]
        found = (tokenizer.encode(text) for text in texts)
        return [list(zip(encoding.ids.tolist(), encoding.surfaces, strict=True)) for encoding in found]

    def _drawn(self, text: str | bytes, nbest_size: int, alpha: float, kind: object) -> list[tuple[int, str]]:
        tokenizer, seed = self._loaded(), draws.seed()
        if self._model.model_type == "bpe":
            encoding = tokenizer.with_dropout(alpha).encode(text, seed=seed)
            return list(zip(encoding.ids.tolist(), encoding.surfaces, strict=True))
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
        found = [(ids.tolist(), score) for ids, score in self._loaded().n_best(text, n)]
        return found or [([], 0.0)]

    def _with_surfaces(self, text: str, ids: list[int], kind: object) -> list[tuple[int, str]]:
        """Ids with what stands in the normalized text for each."""
        if kind in (int, "numpy") or self._special[0] not in ids:
            return [(id, self._pieces[id]) for id in ids]
        rest = self.normalize(text)
        found = []
        for at, id in enumerate(ids):
            surface = self._pieces[id]
            if id == self._special[0]:
                # What is unknown ends where the next token begins.
                after = self._pieces[ids[at + 1]] if at + 1 < len(ids) else ""
                end = rest.find(after, 1) if after else len(rest)
                surface = rest[: end if end > 0 else len(rest)]
            rest = rest[len(surface) :]
            found.append((id, surface))
        return found

    def _finished(
        self,
        row: list[tuple[int, str]],
        kind: object,
        add_bos: bool,
        add_eos: bool,
        reverse: bool,
        emit_unk_piece: bool,
    ) -> Any:
        if reverse:
            row.reverse()
        for name, id, is_asked in (("BOS", self._special[1], add_bos), ("EOS", self._special[2], add_eos)):
            if is_asked:
                if id < 0:
                    raise ValueError(
                        f"this model has no control token for {name}; leave out add_{name.lower()}"
                    )
                row.insert(0 if name == "BOS" else len(row), (id, self._pieces[id]))
        if kind is int:
            return [id for id, _ in row]
        if kind == "numpy":
            return np.array([id for id, _ in row], dtype=np.int32)
        unk = self._special[0] if emit_unk_piece else -1
        pieces = [self._pieces[id] if id == unk else surface for id, surface in row]
        return [piece.encode("utf-8") for piece in pieces] if kind is bytes else pieces

    def encode_as_ids(self, input: _Input, **options: Any) -> Any:
        """Returns ids; options are those of `encode`."""
        return self.encode(input, return_type=int, **options)

    def encode_as_pieces(self, input: _Input, **options: Any) -> Any:
        """Returns pieces; options are those of `encode`."""
        return self.encode(input, return_type=str, **options)

    def encode_as_numpy(self, input: _Input, **options: Any) -> Any:
        """Returns ids as an array of int32; options are those of `encode`."""
        return self.encode(input, return_type="numpy", **options)

    def sample_encode_as_ids(
        self, input: _Input, nbest_size: int | None = None, alpha: float | None = None, **options: Any
    ) -> Any:
        """Returns the ids of a way to cut the text that is drawn."""
        options |= {"return_type": int, "enable_sampling": True}
        return self.encode(input, nbest_size=nbest_size, alpha=alpha, **options)

    def sample_encode_as_pieces(
        self, input: _Input, nbest_size: int | None = None, alpha: float | None = None, **options: Any
    ) -> Any:
        """Returns the pieces of a way to cut the text that is drawn."""
        options |= {"return_type": str, "enable_sampling": True}
        return self.encode(input, nbest_size=nbest_size, alpha=alpha, **options)

    def sample_encode_as_numpy(
        self, input: _Input, nbest_size: int | None = None, alpha: float | None = None, **options: Any
    ) -> Any:
        """Returns the ids of a way to cut the text that is drawn, as an array."""
        options |= {"return_type": "numpy", "enable_sampling": True}
        return self.encode(input, nbest_size=nbest_size, alpha=alpha, **options)

    def nbest_encode(
        self,
        input: _Input,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        nbest_size: int | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Returns the best ways to cut a text, best first; of a list of texts, a list.

        Args:
            input: the text, or a list.
            add_bos: as in `encode`, as are the others.
            add_eos: as above.
            reverse: as above.
            emit_unk_piece: as above.
            nbest_size: how many ways; at least the best one is given.
            return_type: as above.
            out_type: as above.

        Raises:
            RuntimeError: for BPE, which has one way.
        """
        kind = type_of(out_type, return_type, self._out_type)
        n = max(1, self._option("nbest_size", nbest_size))
        self._loaded()
        if self._model.model_type == "bpe":
            raise RuntimeError("BPE has no n-best list; only a Unigram model has")
        flags = [
            self._option(name, value)
            for name, value in (
                ("add_bos", add_bos),
                ("add_eos", add_eos),
                ("reverse", reverse),
                ("emit_unk_piece", emit_unk_piece),
            )
        ]
        found = []
        for text in map(decoded, texts_of(input)):
            ways = (self._with_surfaces(text, ids, kind) for ids, _ in self._ways(text, n))
            found.append([self._finished(way, kind, *flags) for way in ways])
        return found if isinstance(input, list) else found[0]

    def nbest_encode_as_ids(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the ids of the best ways."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=int, **options)

    def nbest_encode_as_pieces(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the pieces of the best ways."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=str, **options)

    def nbest_encode_as_numpy(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the ids of the best ways, as arrays."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="numpy", **options)

    def __getstate__(self) -> dict[str, Any]:
        return {"model_proto": self._proto, "out_type": self._out_type, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(out_type=state["out_type"], **state["options"])  # type: ignore[misc]
        if state["model_proto"]:
            self.load_from_serialized_proto(state["model_proto"])

    def __getattr__(self, name: str) -> NoReturn:
        if name.lower().replace("_", "").startswith("parallelencode"):
            raise NotImplementedError(f"{name} is not here: encode a list of texts, or a text in one go")
        if name.lower().endswith("proto") or name.lower().replace("_", "").endswith("offsetmapping"):
            raise NotImplementedError(f"{name} is not here: {ELSEWHERE['proto']}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # SentencePiece's other spelling

    Encode = Tokenize = tokenize = encode
    EncodeAsIds = encode_as_ids
    EncodeAsPieces = encode_as_pieces
    EncodeAsNumpy = encode_as_numpy
    SampleEncodeAsIds = sample_encode_as_ids
    SampleEncodeAsPieces = sample_encode_as_pieces
    SampleEncodeAsNumpy = sample_encode_as_numpy
    NBestEncode = nbest_encode
    NBestEncodeAsIds = nbest_encode_as_ids
    NBestEncodeAsPieces = nbest_encode_as_pieces
    NBestEncodeAsNumpy = nbest_encode_as_numpy
