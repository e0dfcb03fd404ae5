"""`SentencePieceProcessor`: encode, decode, and ask for pieces, as SentencePiece names it.

`.tokenizer` is the `sentitok.Tokenizer` that does the work.
"""

import os
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias, TypeVar

from ... import missing_attribute, numbers
from .cutting import MAX_N_BEST, Cutter, Flags, Row
from .inputs import PROTOS, decoded, flag, texts_of, type_of
from .texts import NBestSentencePieceText
from .threads import ThreadPool, n_threads

__all__ = ["SentencePieceProcessor"]

_Input: TypeAlias = str | bytes | list[str] | list[bytes]
_T = TypeVar("_T")

_CALLS = ("encode", "sampleencode", "nbestencode", "decodeids", "decodepieces")
_SCORED = ("", "asids", "aspieces", "asserializedproto", "asimmutableproto")
_PRUNE = "processor.tokenizer.prune(keep) leaves out the other pieces"
_ELSEWHERE = {
    **{f"{call}asimmutableproto": "pass return_type='proto'" for call in _CALLS},
    **{f"{call}asserializedproto": "pass return_type='serialized_proto'" for call in _CALLS},
    **dict.fromkeys(
        (f"sampleencodeandscore{end}" for end in _SCORED),
        "processor.tokenizer.sample(text, alpha, seed) draws, n_best(text, n) scores",
    ),
    "calculateentropy": "take processor.tokenizer.entropy(text, alpha)",
    "overridenormalizerspec": "normalize texts by SentencePieceNormalizer(model_file=..., ...) first",
    "setvocabulary": _PRUNE,
    "loadvocabulary": _PRUNE,
    "resetvocabulary": "load the model again",
    "setencodeextraoptions": "pass add_bos, add_eos or reverse to the class",
    "setdecodeextraoptions": "reverse the ids before they are decoded",
}


class SentencePieceProcessor(Cutter):
    """A model with SentencePiece's methods, in both spellings (`encode`, `Encode`).

    Args:
        model_file: the path of a `.model` file.
        model_proto: its content, as bytes or a message of protobuf.
        out_type: what `encode` gives: `int`, `str`, `bytes`, `"numpy"`; or places as well: `"proto"`,
            `"serialized_proto"`, or a dict, `"offset_mapping"`.
        add_bos: puts the token of the beginning in front.
        add_eos: puts the token of the end behind.
        reverse: turns the tokens round.
        emit_unk_piece: shows the unknown piece instead of the unknown text.
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
            "add_bos": flag("add_bos", add_bos),
            "add_eos": flag("add_eos", add_eos),
            "reverse": flag("reverse", reverse),
            "emit_unk_piece": flag("emit_unk_piece", emit_unk_piece),
            "enable_sampling": flag("enable_sampling", enable_sampling),
            "nbest_size": nbest_size,
            "alpha": alpha,
            "num_threads": num_threads,
        }
        if model_file or model_proto:
            self.load(model_file, model_proto)

    @classmethod
    def from_file(cls, model_file: str | os.PathLike[str], **options: Any) -> "SentencePieceProcessor":
        """Returns the processor of a file; options are those of the class."""
        _refuse_models(options)
        made = cls(**options)
        made.load_from_file(model_file)
        return made

    @classmethod
    def from_proto(cls, model_proto: Any, **options: Any) -> "SentencePieceProcessor":
        """Returns the processor of a file's content; options are those of the class."""
        _refuse_models(options)
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
        thread_pool: ThreadPool | None = None,
        return_type: Any = None,
        out_type: Any = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Returns the tokens of a text; of a list of texts, a list.

        Args:
            input: the text, or a list.
            add_bos: as in the class, as are all further options; `None` takes the setting of the processor.
            add_eos: as above.
            reverse: as above.
            emit_unk_piece: as above.
            enable_sampling: as above.
            nbest_size: as above.
            alpha: as above.
            num_threads: as above.
            thread_pool: so many threads instead.
            return_type: as above.
            out_type: as above.
            return_bytes: whether a dict has pieces in bytes, and offsets in bytes; by default as the text.

        Raises:
            ValueError: for an unknown type, or a token of the beginning that is not there.
            TypeError: if it is not text.
            RuntimeError: for places of tokens that are put around the text.
        """
        kind = type_of(out_type, return_type, self._out_type, return_bytes)
        flags = self._flags(add_bos, add_eos, reverse, emit_unk_piece)
        nbest_size = self._size(nbest_size)
        alpha = numbers.real("alpha", self._option("alpha", alpha), "a finite number, such as 0.1")
        threads = n_threads(num_threads, thread_pool, self._options["num_threads"])
        texts = texts_of(input)
        if self._flag("enable_sampling", enable_sampling):
            if nbest_size in (0, 1):
                raise ValueError(
                    f"nbest_size is {nbest_size}, which leaves nothing to draw from: pass -1 for all ways to "
                    "cut a text, or more than 1"
                )
            if nbest_size > MAX_N_BEST:
                raise RuntimeError(f"nbest_size is {nbest_size}; at most {MAX_N_BEST}, or -1 for all")
            rows: Iterable[Row] = (self._drawn(text, nbest_size, alpha, kind) for text in texts)
        elif kind is int and not any(flags):
            all_ids = self._ids_alone(texts, threads)
            return all_ids if isinstance(input, list) else all_ids[0]
        elif kind in (int, "numpy"):
            rows = ([(id, "") for id in ids] for ids in self._ids_alone(texts, threads))
        else:
            rows = self._plain(texts)
        finished = [
            self._finished(text, row, kind, flags, return_bytes)
            for text, row in zip(texts, rows, strict=True)
        ]
        return finished if isinstance(input, list) else finished[0]

    def _flags(self, *given: bool | None) -> Flags:
        return Flags(*(self._flag(name, value) for name, value in zip(Flags._fields, given, strict=True)))

    def _flag(self, name: str, value: bool | None) -> bool:
        return flag(name, self._option(name, value))

    def _option(self, name: str, value: _T | None) -> _T:
        chosen: _T = self._options[name] if value is None else value
        return chosen

    def _size(self, given: int | None) -> int:
        what = f"2 to {MAX_N_BEST}, or -1 for all ways to cut a text"
        return numbers.index("nbest_size", self._option("nbest_size", given), what)

    def encode_as_ids(self, input: _Input, **options: Any) -> Any:
        """Returns ids; options are those of `encode`."""
        return self.encode(input, return_type=int, **options)

    def encode_as_pieces(self, input: _Input, **options: Any) -> Any:
        """Returns pieces; options are those of `encode`."""
        return self.encode(input, return_type=str, **options)

    def encode_as_numpy(self, input: _Input, **options: Any) -> Any:
        """Returns ids as an array of int32; options are those of `encode`."""
        return self.encode(input, return_type="numpy", **options)

    def encode_as_proto(self, input: _Input, **options: Any) -> Any:
        """Returns the text with its pieces and their places; options are those of `encode`."""
        return self.encode(input, return_type="proto", **options)

    def encode_as_offset_mapping(self, input: _Input, **options: Any) -> Any:
        """Returns ids, pieces and offsets in a dict; options are those of `encode`."""
        return self.encode(input, return_type="offset_mapping", **options)

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

    def sample_encode_as_proto(
        self, input: _Input, nbest_size: int | None = None, alpha: float | None = None, **options: Any
    ) -> Any:
        """Returns the text with the pieces of a way to cut it that is drawn."""
        options |= {"return_type": "proto", "enable_sampling": True}
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
            add_bos: as in `encode`, as are all further options.
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
        if kind == "offset_mapping":
            raise ValueError("return_type='offset_mapping' is not for lists of ways; pass 'proto'")
        n = max(1, self._size(nbest_size))
        self._loaded()
        if self._model.model_type == "bpe":
            raise RuntimeError("BPE has no n-best list; only a Unigram model has")
        flags = self._flags(add_bos, add_eos, reverse, emit_unk_piece)
        ways = [self._best(text, n, kind, flags) for text in map(decoded, texts_of(input))]
        return ways if isinstance(input, list) else ways[0]

    def _best(self, text: str, n: int, kind: object, flags: Flags) -> Any:
        rows = [(self._with_surfaces(text, ids, kind), score) for ids, score in self._ways(text, n)]
        if kind not in PROTOS:
            return [self._finished(text, row, kind, flags) for row, _ in rows]
        ways = []
        for row, score in rows:
            ways.append(self._placed(text, row, flags))
            ways[-1].score = score
        list_of_ways = NBestSentencePieceText(ways)
        return list_of_ways if kind == "proto" else list_of_ways.serialized()

    def nbest_encode_as_ids(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the ids of the best ways."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=int, **options)

    def nbest_encode_as_pieces(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the pieces of the best ways."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=str, **options)

    def nbest_encode_as_numpy(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the ids of the best ways, as arrays."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="numpy", **options)

    def nbest_encode_as_proto(self, input: _Input, nbest_size: int | None = None, **options: Any) -> Any:
        """Returns the best ways, each with its pieces and score."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="proto", **options)

    def parallel_encode(self, input: _Input, chunk_len: int | None = None, **options: Any) -> Any:
        """Returns what `encode` does: a long text needs no chunks here.

        Args:
            input: the text, or a list.
            chunk_len: the characters of a chunk; checked, and not needed.
            **options: those of `encode`, except for sampling.

        Raises:
            ValueError: for a chunk without characters.
        """
        if chunk_len is None:
            raise ValueError("chunk_len is not given; it is 1 or more")
        numbers.whole("chunk_len", chunk_len, "1 or more", 1)
        return self.encode(input, enable_sampling=False, **options)

    def parallel_encode_as_ids(self, input: _Input, **options: Any) -> Any:
        """Returns ids; options are those of `parallel_encode`."""
        return self.parallel_encode(input, return_type=int, **options)

    def parallel_encode_as_pieces(self, input: _Input, **options: Any) -> Any:
        """Returns pieces; options are those of `parallel_encode`."""
        return self.parallel_encode(input, return_type=str, **options)

    def parallel_encode_as_numpy(self, input: _Input, **options: Any) -> Any:
        """Returns ids as an array; options are those of `parallel_encode`."""
        return self.parallel_encode(input, return_type="numpy", **options)

    def parallel_encode_as_proto(self, input: _Input, **options: Any) -> Any:
        """Returns the text with its pieces; options are those of `parallel_encode`."""
        return self.parallel_encode(input, return_type="proto", **options)

    def __getstate__(self) -> dict[str, Any]:
        return {"model_proto": self._proto, "out_type": self._out_type, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # 2026-11-23: as the pickles of the original do
        self.__init__(out_type=state["out_type"], **state["options"])  # type: ignore[misc]
        if state["model_proto"]:
            self.load_from_serialized_proto(state["model_proto"])

    def __getattr__(self, name: str) -> NoReturn:
        raise missing_attribute.error(f"{type(self).__name__!r} object", name, _ELSEWHERE)

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
    EncodeAsProto = encode_as_proto
    EncodeAsOffsetMapping = encode_as_offset_mapping
    SampleEncodeAsProto = sample_encode_as_proto
    NBestEncodeAsProto = nbest_encode_as_proto
    ParallelEncode = parallel_encode
    ParallelEncodeAsIds = parallel_encode_as_ids
    ParallelEncodeAsPieces = parallel_encode_as_pieces
    ParallelEncodeAsNumpy = parallel_encode_as_numpy
    ParallelEncodeAsProto = parallel_encode_as_proto


def _refuse_models(options: dict[str, Any]) -> None:
    for name in ("model_file", "model_proto"):
        if name in options:
            raise ValueError(f"{name} is not an option here: the model is the first argument")
