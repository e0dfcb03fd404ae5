"""tokenizers' models: `models.BPE(vocab, merges)`, `models.WordPiece()`, to be trained or given.

A model holds its vocabulary as tokenizer.json does; sentitok's is made of it when a tokenizer first
encodes.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from ... import atomic, numbers
from ...messages import shown
from . import trainers
from .carrier import built
from .fields import Field, Json, flag, real, text, whole
from .stages import Stage
from .trainers import Trainer

__all__ = ["BPE", "Model", "Token", "Unigram", "WordLevel", "WordPiece"]

_Vocab = Mapping[str, int] | str
_Merges = Iterable[tuple[str, str]]
# Characters that end a line of vocab.txt without being part of its token: Unicode's White_Space.
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_MOST_IDS = 1 << 32
_ID = "0 or more, and less than 2**32"


class Token(NamedTuple):
    """A token of `Model.tokenize`: its id, its spelling, and where it is, in bytes of the text."""

    id: int
    value: str
    offsets: tuple[int, int]

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Returns the three."""
        return self.id, self.value, self.offsets


class Model(Stage, room="model"):
    """Cuts the pieces of a text into tokens."""

    @cached_property
    def vocab(self) -> dict[str, int]:
        """The ids of all tokens."""
        vocab: dict[str, int] = self.fields["vocab"]
        return vocab

    @cached_property
    def _tokens(self) -> dict[int, str]:
        return {id: token for token, id in self.vocab.items()}

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token."""
        if not isinstance(token, str):
            raise TypeError(f"token is {shown(token)}; it is a str")
        return self.vocab.get(token)

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id."""
        return self._tokens.get(numbers.whole("id", id, error=OverflowError, bits=32))

    def tokenize(self, sequence: str) -> list[Token]:
        """Returns the tokens of a piece: of a text that is not split any more."""
        if not isinstance(sequence, str):
            raise TypeError(f"sequence is {type(sequence).__name__}; it is a str")
        encoding = self._alone.encode(sequence, add_special_tokens=False)
        places = map(tuple, encoding.offsets("bytes", trim=False).tolist())
        values = encoding.surfaces if isinstance(self, Unigram) else encoding.tokens
        return [Token(*one) for one in zip(encoding.ids.tolist(), values, places, strict=True)]

    @property
    def _alone(self) -> Any:
        return built({"version": "1.0", "added_tokens": [], "model": self.spec()})

    def get_trainer(self) -> Trainer:
        """Returns a trainer with defaults."""
        made = getattr(trainers, type(self).__name__.replace("BPE", "Bpe") + "Trainer")
        return cast(Trainer, made())

    def save(self, folder: str, prefix: str | None = None) -> list[str]:
        """Writes the files of the model, and returns their paths."""
        files = {}
        for name, content in self.written().items():
            path = Path(folder) / (name if prefix is None else f"{prefix}-{name}")
            atomic.write(path, content.encode())
            files[name] = str(path)
        return list(files.values())

    def written(self) -> dict[str, str]:
        """Returns the texts of the files of the model, by name."""
        return {"vocab.json": _json(self.vocab)}

    def become(self, fields: Json) -> None:
        """Takes over what training made."""
        self.__dict__.pop("vocab", None)
        self.__dict__.pop("_tokens", None)
        self.fields.update(fields)


def _dropout(value: Any) -> float | None:
    """A probability as in the file: the shortest number of its single precision."""
    checked = real("dropout", "a probability, from 0 to 1, or None", 0, 1)(value)
    return None if checked is None else float(str(np.float32(checked)))


def _single(value: float | None) -> float | None:
    return None if value is None else float(np.float32(value))


class BPE(Model):
    """Byte pair encoding.

    Args:
        vocab: the id of each token, or the path of a vocab.json.
        merges: the pairs that are merged, the first ones first, or the path of a merges.txt.
        cache_capacity: taken and not used: there is no cache to be sized.
        dropout: how likely a merge is left out.
        unk_token: the token of a character that is not there.
        continuing_subword_prefix: the prefix of tokens inside a word.
        end_of_word_suffix: the suffix of tokens at the end of a word.
        fuse_unk: whether unknown characters in a row are one token.
        byte_fallback: whether unknown characters are spelled by tokens such as `<0xE5>`.
        ignore_merges: whether a piece that is a token is that, without merging.
    """

    defaults: ClassVar[Json] = {
        "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": {}, "merges": [],
    }  # fmt: skip
    dropout = Field[float | None](check=_dropout, shown=_single)
    unk_token = Field[str | None](check=text("unk_token"))
    continuing_subword_prefix = Field[str | None](check=text("continuing_subword_prefix"))
    end_of_word_suffix = Field[str | None](check=text("end_of_word_suffix"))
    fuse_unk = Field[bool](check=flag("fuse_unk"))
    byte_fallback = Field[bool](check=flag("byte_fallback"))
    ignore_merges = Field[bool](check=flag("ignore_merges"))

    def __init__(
        self,
        vocab: _Vocab | None = None,
        merges: _Merges | str | None = None,
        *,
        cache_capacity: int | None = None,
        dropout: float | None = None,
        unk_token: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        fuse_unk: bool = False,
        byte_fallback: bool = False,
        ignore_merges: bool = False,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        if isinstance(vocab, str) != isinstance(merges, str):
            raise ValueError("`vocab` and `merges` must be both be from memory or both filenames")
        if isinstance(vocab, str) and isinstance(merges, str):
            vocab, merges = self.read_file(vocab, merges)
        super().__init__(
            dropout=dropout,
            unk_token=unk_token,
            continuing_subword_prefix=continuing_subword_prefix,
            end_of_word_suffix=end_of_word_suffix,
            fuse_unk=fuse_unk,
            byte_fallback=byte_fallback,
            ignore_merges=ignore_merges,
        )
        self.fields["vocab"] = _by_id({} if vocab is None else cast("Mapping[str, int]", vocab))
        self.fields["merges"] = [list(pair) for pair in ([] if merges is None else merges)]
        self._check_merges()

    def _check_merges(self) -> None:
        vocab = self.fields["vocab"]
        n_prefix = len(self.continuing_subword_prefix or "")
        for first, second in self.fields["merges"]:
            for token in (first, second, first + second[n_prefix:]):
                if token not in vocab:
                    raise ValueError(f"Error while initializing BPE: Token `{token}` out of vocabulary")

    @classmethod
    def _of(cls, fields: Json) -> Self:
        made = super()._of(fields)
        merges = made.fields["merges"]
        if merges and isinstance(merges[0], str):  # as older files have them
            made.fields["merges"] = [merge.split(" ", 1) for merge in merges]
        return made

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Reads a vocab.json and a merges.txt.

        Raises:
            ValueError: for a line that is not a pair.
        """
        pairs = []
        for number, line in enumerate(_lines(merges), 1):
            if line.startswith("#version"):
                continue
            parts = line.split(" ")
            if len(parts) != 2:
                raise ValueError(f"{merges}, line {number}: {shown(line)} is not a pair of tokens")
            pairs.append((parts[0], parts[1]))
        return _vocab_json(vocab), pairs

    @classmethod
    def from_file(cls, vocab: str, merges: str, **kwargs: Any) -> "BPE":
        """Returns the model of a vocab.json and a merges.txt."""
        return cls(*cls.read_file(vocab, merges), **kwargs)

    def written(self) -> dict[str, str]:
        """As in `Model`."""
        merges = "".join(f"{first} {second}\n" for first, second in self.fields["merges"])
        return {**super().written(), "merges.txt": f"#version: 0.2\n{merges}"}


class WordPiece(Model):
    """BERT's model: the longest token first.

    Args:
        vocab: the id of each token, or the path of a vocab.txt.
        unk_token: the token of a word that cannot be written.
        max_input_chars_per_word: longer words are unknown.
        continuing_subword_prefix: the prefix of tokens inside a word.
    """

    defaults: ClassVar[Json] = {
        "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {},
    }  # fmt: skip
    unk_token = Field[str](check=text("unk_token", or_none=False))
    continuing_subword_prefix = Field[str](check=text("continuing_subword_prefix", or_none=False))
    max_input_chars_per_word = Field[int](check=whole("max_input_chars_per_word"))

    def __init__(
        self,
        vocab: _Vocab | None = None,
        *,
        unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 100,
        continuing_subword_prefix: str = "##",
    ) -> None:
        if isinstance(vocab, str):
            vocab = self.read_file(vocab)
        super().__init__(
            unk_token=unk_token,
            continuing_subword_prefix=continuing_subword_prefix,
            max_input_chars_per_word=max_input_chars_per_word,
        )
        self.fields["vocab"] = _by_id({} if vocab is None else vocab)

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Reads a vocab.txt: a token a line."""
        return {line.rstrip(_WHITE_SPACE): id for id, line in enumerate(_lines(vocab))}

    @classmethod
    def from_file(cls, vocab: str, **kwargs: Any) -> "WordPiece":
        """Returns the model of a vocab.txt."""
        return cls(cls.read_file(vocab), **kwargs)

    def written(self) -> dict[str, str]:
        """As in `Model`."""
        return {"vocab.txt": "".join(f"{token}\n" for token in self.vocab)}


class WordLevel(Model):
    """Words that are there, and an unknown one.

    Args:
        vocab: the id of each word, or the path of a vocab.json.
        unk_token: the token of the other words.
    """

    defaults: ClassVar[Json] = {"vocab": {}, "unk_token": "<unk>"}
    unk_token = Field[str](check=text("unk_token", or_none=False))

    def __init__(self, vocab: _Vocab | None = None, unk_token: str | None = None) -> None:
        if isinstance(vocab, str):
            vocab = self.read_file(vocab)
        self.fields = {"vocab": _by_id({} if vocab is None else vocab)}
        self.unk_token = "<unk>" if unk_token is None else unk_token

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Reads a vocab.json."""
        return _vocab_json(vocab)

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> "WordLevel":
        """Returns the model of a vocab.json."""
        return cls(cls.read_file(vocab), unk_token)


class Unigram(Model):
    """The most likely tokens, as SentencePiece has them.

    Args:
        vocab: the tokens, each with the logarithm of how likely it is, by id.
        unk_id: the id of the token for what no token writes.
        byte_fallback: whether that is spelled by tokens such as `<0xE5>`.
        alpha: how flat ways are drawn; see `sentitok.Tokenizer.sample`.
        nbest_size: from how many of the best ways is drawn.
    """

    defaults: ClassVar[Json] = {"unk_id": None, "vocab": [], "byte_fallback": False}

    def __init__(
        self,
        vocab: Iterable[tuple[str, float]] | None = None,
        unk_id: int | None = None,
        byte_fallback: bool | None = None,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None:
        if vocab is None and unk_id is not None:
            raise ValueError("`vocab` and `unk_id` must be both specified")
        if vocab is None:
            vocab, unk_id = [("<unk>", 0.0)], 0
        pieces = [[piece, numbers.real(f"the score of {shown(piece)}", score)] for piece, score in vocab]
        if unk_id is not None and numbers.whole("unk_id", unk_id) >= len(pieces):
            raise ValueError(
                f"Error while loading Unigram: The `unk_id` is larger than vocabulary size: {unk_id}, and "
                f"there are {len(pieces)} pieces"
            )
        self.fields = {"unk_id": unk_id, "vocab": pieces, "byte_fallback": bool(byte_fallback)}
        self.alpha = real("alpha", "0 or more, or None", 0, inf)(alpha)
        self.nbest_size = whole("nbest_size", or_none=True)(nbest_size)

    @classmethod
    def _of(cls, fields: Json) -> Self:
        made = super()._of(fields)
        made.alpha = made.nbest_size = None
        return made

    @cached_property
    def vocab(self) -> dict[str, int]:
        """The ids of all tokens."""
        return {piece: id for id, (piece, _) in enumerate(self.fields["vocab"])}

    def become(self, fields: Json) -> None:
        """As in `Model`; settings of sampling are reset too."""
        super().become(fields)
        self.alpha = self.nbest_size = None

    def written(self) -> dict[str, str]:
        """As in `Model`."""
        fields = ("unk_id", "vocab", "byte_fallback")
        return {"unigram.json": json.dumps({name: self.fields[name] for name in fields}, ensure_ascii=False)}


def _text(path: str) -> str:
    r"""The text of a file with its line ends as they are: `read_text` makes a line feed of `\r`."""
    return Path(path).read_bytes().decode("utf-8")


def _lines(path: str) -> list[str]:
    r"""The lines of a file, which end by `\n` or `\r\n`."""
    *lines, last = _text(path).split("\n")
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


def _by_id(vocab: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab is {shown(vocab)}; it is a dict of tokens and ids, or the path of a file")
    for token, id in vocab.items():
        if not isinstance(token, str):
            raise TypeError(f"vocab has the token {shown(token)}; a token is a str")
        if not 0 <= numbers.index(f"the id of {shown(token)}", id, _ID) < _MOST_IDS:
            raise TypeError(f"vocab has the id {shown(id)} for {shown(token)}: it is {_ID}")
    return {token: int(id) for token, id in sorted(vocab.items(), key=_id_of)}


# 2026-11-23: the name needs its type
_id_of: Callable[[tuple[str, int]], int] = lambda item: item[1]  # noqa: E731


def _vocab_json(path: str) -> dict[str, int]:
    vocab = json.loads(_text(path))
    if not isinstance(vocab, dict):
        raise ValueError(f"{path}: a vocab.json is an object of tokens and ids")
    for token, id in vocab.items():
        if isinstance(id, float) or (isinstance(id, int) and not 0 <= id < _MOST_IDS):
            raise ValueError(f"{path}: the id of {shown(token)} is {id}: it is {_ID}")
    return {token: id for token, id in vocab.items() if isinstance(id, int) and not isinstance(id, bool)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
