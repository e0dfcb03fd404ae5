"""`SentencePieceTrainer`: SentencePiece's options of training on our trainers.

An option has one of three fates, in one table each: it is an argument of our trainers; it changes
nothing here; or it is refused, before anything is read, with what to do instead. Training itself is that of
`sentitok.train_bpe` and `sentitok.train_unigram`, which have more options and return a tokenizer.
"""

import csv
import io
import os
import random
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ... import atomic, numbers
from ..._sentitok import Normalizer, SentencePieceModel, SentitokError, Tokenizer, train_bpe, train_unigram
from ...bounded_lines import MAX_LINE, lines
from ...messages import shown
from . import draws, protobuf
from .normalizer import SentencePieceNormalizer

__all__ = ["SentencePieceTrainer"]

#: In the corpus, what SentencePiece calls unknown; it skips lines that hold it.
_RESERVED = "\u2585"

#: Our arguments by SentencePiece's names, with what its text is read as.
_ARGUMENTS = {
    "vocab_size": ("vocab_size", int),
    "character_coverage": ("character_coverage", float),
    "required_chars": ("required_chars", str),
    "max_sentencepiece_length": ("max_piece_length", int),
    "split_by_unicode_script": ("split_by_unicode_script", bool),
    "split_by_number": ("split_by_number", bool),
    "split_by_whitespace": ("split_by_whitespace", bool),
    "split_digits": ("split_digits", bool),
    "treat_whitespace_as_suffix": ("treat_whitespace_as_suffix", bool),
    "allow_whitespace_only_pieces": ("allow_whitespace_only_pieces", bool),
    "byte_fallback": ("byte_fallback", bool),
}
_UNIGRAM = {
    "seed_sentencepiece_size": ("seed_size", int),
    "shrinking_factor": ("shrinking_factor", float),
    "num_sub_iterations": ("sub_iterations", int),
}
#: Read here; see `_Options`.
_READ: dict[str, tuple[type, Any]] = {
    "model_type": (str, "unigram"),
    "model_prefix": (str, ""),
    "input": (list, []),
    "input_format": (str, "text"),
    "input_sentence_size": (int, 0),
    "shuffle_input_sentence": (bool, True),
    "random_seed": (int, None),  # of the sample; by default set_random_generator_seed's
    "max_sentence_length": (int, 4192),
    "max_line_bytes": (int, MAX_LINE),  # ours: the longest line that is read
    "hard_vocab_limit": (bool, True),
    "control_symbols": (list, []),
    "user_defined_symbols": (list, []),
    "unk_id": (int, 0),
    "bos_id": (int, 1),
    "eos_id": (int, 2),
    "pad_id": (int, -1),
    "unk_piece": (str, "<unk>"),
    "bos_piece": (str, "<s>"),
    "eos_piece": (str, "</s>"),
    "pad_piece": (str, "<pad>"),
    "unk_surface": (str, " \u2047 "),
    "normalization_rule_name": (str, "nmt_nfkc"),
    "normalization_rule_tsv": (str, ""),
    "add_dummy_prefix": (bool, True),
    "remove_extra_whitespaces": (bool, True),
    "num_threads": (int, 16),
    "train_extremely_large_corpus": (bool, False),
    "vocabulary_output_piece_score": (bool, True),
}
#: From which number on, and below which one; other whole numbers have 32 bits.
_RANGES = {
    "input_sentence_size": (0, 1 << 64),
    "max_line_bytes": (-(1 << 63), 1 << 63),
    "random_seed": (-(1 << 63), 1 << 64),
}
#: Change nothing here.
_IGNORED = {"minloglevel", "accept_language", "self_test_sample_size"}
#: Options that a normalizer sets.
_OF_A_NORMALIZER = {
    "normalization_rule_name", "normalization_rule_tsv", "add_dummy_prefix", "remove_extra_whitespaces",
    "escape_whitespaces",
}  # fmt: skip
#: Refused unless they have the value that changes nothing, with the remedy.
_REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "escape_whitespaces": (("true", "1"), "SentencePiece's trainers need it, too"),
    "use_all_vocab": (("false", "0", ""), "it belongs to models of words and characters"),
    "denormalization_rule_tsv": (("",), "rewrite the text after decoding"),
    "seed_sentencepieces_file": (("",), "seeds are found in the text; see seed_sentencepiece_size"),
    "pretokenization_delimiter": (
        ("",), "train with sentitok.train_unigram(counts=...), which takes words that are cut already"
    ),
    "enable_differential_privacy": (("false", "0", ""), "no noise is added here"),
    "differential_privacy_noise_level": (("0", "0.0"), "no noise is added here"),
    "differential_privacy_clipping_threshold": (("0",), "no noise is added here"),
    "auto_character_coverage": (("false", "0", ""), "pass character_coverage"),
}  # fmt: skip


class SentencePieceTrainer:
    """Trains a `.model` file with SentencePiece's options."""

    @staticmethod
    def train(arg: str | None = None, logstream: Any = None, **options: Any) -> None:
        """Trains on files (`input`) or lines (`sentence_iterator`).

        The file goes to `model_prefix` with `.model` and `.vocab` behind, or into `model_writer`.

        Args:
            arg: options as SentencePiece's command has them, `"--input=a.txt --vocab_size=8000"`.
            logstream: taken, and not written to.
            **options: SentencePiece's options by name.

        Raises:
            RuntimeError: for an option that is not known or not here, and for a size that cannot be.
            ValueError: for an option that cannot be read as what it is, and a sentence that is not text.
        """
        del logstream  # nothing is logged
        given = dict(_flags(arg)) if arg is not None else {}
        _train(_Options(given | options))

    Train = train


class _Options:
    """The options, checked before anything is read."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.lines: Any = given.pop("sentence_iterator", None)
        self.lines = given.pop("sentence_reader", self.lines)
        self.writer: Any = given.pop("model_writer", None)
        if given.pop("pretokenizer", None) is not None:
            raise RuntimeError("pretokenizer is not here: cut the text before training")
        self.rules = _rules(given)
        given.pop("allow_inconsistent_pretokenization", None)
        values = {name: default for name, (_, default) in _READ.items()}
        self.arguments: dict[str, Any] = {}
        ours = _ARGUMENTS | _UNIGRAM
        for name, value in given.items():
            if name in ours:
                key, kind = ours[name]
                self.arguments[key] = _read(name, value, kind)
            elif name in _READ:
                values[name] = _read(name, value, _READ[name][0])
            elif name in _REFUSED:
                usual, remedy = _REFUSED[name]
                if _spelled(value).lower() not in usual:
                    raise RuntimeError(f"{name}={shown(value)} is not here: {remedy}")
            elif name not in _IGNORED:
                raise RuntimeError(
                    f"{shown(name)} is not an option of SentencePiece's trainer, or not known here"
                )
        self.values = values
        self._check()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def _check(self) -> None:
        if self["model_type"] not in ("unigram", "bpe"):
            known = self["model_type"] in ("word", "char")
            error = RuntimeError if known else ValueError
            raise error(f"model_type={shown(self['model_type'])} is not here; train 'unigram' or 'bpe'")
        if self["input_format"] not in ("", "text"):
            raise RuntimeError(
                f"input_format={shown(self['input_format'])} is not here; train on lines of text, or "
                "sentitok.train_unigram(counts=...)"
            )
        if (self.lines is None) == (not self["input"]):
            raise RuntimeError("the corpus is either input or sentence_iterator; give one of them")
        if (self.writer is None) == (not self["model_prefix"]):
            raise RuntimeError("the model goes to model_prefix or into model_writer; give one of them")
        if self["unk_id"] < 0:
            raise RuntimeError(f"unk_id={self['unk_id']}: a model needs an unknown token; give it an id")
        ids = [id for _, id in self.named().values()]
        if len(ids) != len(set(ids)):
            raise RuntimeError(f"the ids of unk, bos, eos and pad are {ids}; each has its own")
        for name, count, limits in (
            ("vocab_size", self.arguments.get("vocab_size", 1), "1 or more"),
            ("max_sentencepiece_length", self.arguments.get("max_piece_length", 1), "1 to 255"),
            ("num_threads", self["num_threads"], "1 or more"),
        ):
            if count < 1:
                raise RuntimeError(f"{name}={count}: it is {limits}")
        if 0 < self["input_sentence_size"] <= 100:
            raise RuntimeError(
                f"input_sentence_size={self['input_sentence_size']}: sample more than 100 lines"
            )
        symbols = [*self["control_symbols"], *self["user_defined_symbols"]]
        if twice := [symbol for symbol, n in Counter(symbols).items() if n > 1]:
            raise RuntimeError(
                f"{twice[0]!r} is given twice in control_symbols and user_defined_symbols; give each once"
            )
        if self["unk_piece"] in symbols:
            raise RuntimeError(f"{self['unk_piece']!r} is the unknown token; it cannot be another symbol")
        coverage = self.arguments.get("character_coverage", 1.0)
        if not 0.98 <= coverage <= 1.0:
            raise RuntimeError(
                f"character_coverage={coverage}: SentencePiece takes 0.98 to 1; sentitok.train_unigram less"
            )
        try:
            self.pipeline = self._normalizer()
        except SentitokError as error:
            raise RuntimeError(str(error)) from error

    def _normalizer(self) -> Normalizer:
        is_suffix = bool(self.arguments.get("treat_whitespace_as_suffix", False))
        if is_suffix and (self.rules is not None or self["normalization_rule_tsv"]):
            raise RuntimeError(
                "treat_whitespace_as_suffix=True goes with named rules, not with custom ones; "
                "give normalization_rule_name"
            )
        if self.rules is not None:
            return self.rules.normalizer
        flags = {name: self[name] for name in ("add_dummy_prefix", "remove_extra_whitespaces")}
        if self["normalization_rule_tsv"]:
            return SentencePieceNormalizer(rule_tsv=self["normalization_rule_tsv"], **flags).normalizer
        name = self["normalization_rule_name"] or "identity"
        try:
            return Normalizer.sentencepiece(name, treat_whitespace_as_suffix=is_suffix, **flags)
        except SentitokError as error:
            # SentencePiece looks for a file of that name, if it may be one.
            kind = RuntimeError if re.fullmatch("[a-z_]+", name) else ValueError
            raise kind(f"normalization_rule_name={shown(name)}: {error}") from error

    def named(self) -> dict[str, tuple[str, int]]:
        """The unknown token and those of beginning, end and padding that there are, with their ids."""
        tokens = {name: (self[f"{name}_piece"], self[f"{name}_id"]) for name in ("unk", "bos", "eos", "pad")}
        return {name: (piece, id) for name, (piece, id) in tokens.items() if id >= 0}

    def specials(self) -> dict[str, Any]:
        """Our arguments for them."""
        named = self.named()
        users, control = self["user_defined_symbols"], self["control_symbols"]
        listed = [named[name][0] for name in ("unk", "bos", "eos", "pad") if name in named]
        own = [piece for piece in listed if piece not in users]
        return {
            "unk_token": self["unk_piece"],
            "bos_token": None,
            "eos_token": None,
            "special_tokens": [*own, *(piece for piece in control if piece not in own)],
            "user_defined_symbols": users,
            "special_ids": dict(named.values()),
        }


def _rules(given: dict[str, Any]) -> SentencePieceNormalizer | None:
    """The given normalizer, which describes every change to a text."""
    rules = given.pop("normalizer", None)
    if rules is None:
        return None
    if not isinstance(rules, SentencePieceNormalizer):
        raise TypeError(f"normalizer is {shown(rules)}; it is a SentencePieceNormalizer")
    if also := sorted(given.keys() & _OF_A_NORMALIZER):
        raise ValueError(f"{', '.join(also)}: the normalizer says that already; give one of them")
    return rules


def _train(options: _Options) -> None:
    lines = _sample(_lines(options), options)
    arguments = {
        "vocab_size": 8000,
        **options.arguments,
        **options.specials(),
        "normalizer": options.pipeline,
    }
    try:
        if options["model_type"] == "bpe":
            for key, _ in _UNIGRAM.values():
                arguments.pop(key, None)
            tokenizer = train_bpe(texts=lines, method="sentencepiece", **arguments)
        else:
            tokenizer = train_unigram(texts=lines, method="sentencepiece", **arguments)
        _check_size(tokenizer, arguments["vocab_size"], options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            data = tokenizer.to_sentencepiece()
    except SentitokError as error:
        raise RuntimeError(str(error)) from error
    data += protobuf.field(2, _names(options))
    if options.writer is not None:
        options.writer.write(data)
        return
    prefix = options["model_prefix"]
    atomic.write(f"{prefix}.model", data)
    atomic.write(f"{prefix}.vocab", _vocabulary(data, options["vocabulary_output_piece_score"]))


def _check_size(tokenizer: Tokenizer, vocab_size: int, options: _Options) -> None:
    if options["hard_vocab_limit"] and tokenizer.vocab_size != vocab_size:
        raise RuntimeError(
            f"vocab_size={vocab_size} is too high: the text gives {tokenizer.vocab_size} pieces; ask for at "
            "most that, or pass hard_vocab_limit=False"
        )


def _vocabulary(data: bytes, has_scores: bool) -> bytes:
    model = SentencePieceModel(data)
    rows = zip(model.pieces, model.scores.tolist(), strict=True)
    lines = (f"{piece}\t{score:g}\n" if has_scores else f"{piece}\n" for piece, score in rows)
    return "".join(lines).encode("utf-8")


def _lines(options: _Options) -> Iterator[str]:
    """The lines that SentencePiece would train on."""
    given = (
        options.lines if options.lines is not None else _of_files(options["input"], options["max_line_bytes"])
    )
    for line in given:
        if isinstance(line, bytes):
            text = line.decode("utf-8", "replace")
        elif isinstance(line, str):
            text = line
        else:
            raise ValueError(f"a sentence is {shown(line)}; it is str or bytes")
        # Its Python module strips line ends from the texts of an iterator.
        text = text.rstrip("\r\n") if options.lines is not None else text.removesuffix("\n")
        if not text or _RESERVED in text:
            continue
        if len(text.encode("utf-8", "surrogatepass")) <= options["max_sentence_length"]:
            yield text


def _of_files(paths: Iterable[str], limit: int) -> Iterator[str]:
    for path in paths:
        try:
            with open(os.fspath(path), encoding="utf-8", errors="replace", newline="\n") as file:
                yield from lines(file, path, limit)
        except OSError as error:
            raise RuntimeError(f"{shown(os.fspath(path))}: {error.strerror}") from error


def _sample(lines: Iterator[str], options: _Options) -> Iterator[str]:
    """Samples so many lines uniformly, in the order of the text; or takes the first ones."""
    size = options["input_sentence_size"]
    if size <= 0:
        return lines
    if not options["shuffle_input_sentence"]:
        return (line for _, line in zip(range(size), lines, strict=False))
    seed = options["random_seed"]
    chance = random.Random(draws.seed() if seed is None else seed)
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < size:
            kept.append((number, line))
        elif (place := chance.randrange(number + 1)) < size:
            kept[place] = (number, line)
    return (line for _, line in sorted(kept))


def _flags(arg: str) -> Iterator[tuple[str, str]]:
    """The options of a command line."""
    for flag in shlex.split(arg):
        if not flag.startswith("--"):
            raise RuntimeError(f"{shown(flag)} is not an option; write --name=value")
        name, _, value = flag[2:].partition("=")
        yield name, value if "=" in flag else "true"


def _spelled(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _read(name: str, value: Any, kind: type) -> Any:
    """A value as what an option is: text is read as SentencePiece reads it."""
    if kind is list:
        if isinstance(value, str):
            return [field for field in next(csv.reader(io.StringIO(value)), []) if field]
        if isinstance(value, os.PathLike):
            return [os.fspath(value)]
        if not isinstance(value, Iterable) or isinstance(value, bytes):
            raise TypeError(f"{name} is {shown(value)}; it is a str, or a list of them")
        return [os.fspath(each) for each in value]
    if kind is bool:
        known = {"true": True, "1": True, "t": True, "yes": True, "y": True, "": True,
                 "false": False, "0": False, "f": False, "no": False, "n": False}  # fmt: skip
        flag = known.get(_spelled(value).lower())
        if flag is None:
            raise ValueError(f"{name}={shown(value)} cannot be read as a bool; pass True or False")
        return flag
    if name == "model_type":
        return str(value).lower()
    if kind is str:
        return os.fspath(value) if isinstance(value, os.PathLike) else _spelled(value)
    number = value
    if isinstance(value, str):
        try:
            number = kind(value)
        except ValueError as error:
            raise ValueError(f"{name}={shown(value)} cannot be read as {kind.__name__}") from error
    if kind is int:
        number = numbers.index(name, number, "a whole number", ValueError)
        least, end = _RANGES.get(name, (-(1 << 31), 1 << 31))
        if not least <= number < end:
            raise ValueError(f"{name}={shown(number)}: it is at least {least} and less than {end}")
        return number
    return numbers.real(name, number, wrong=ValueError)


def _names(options: _Options) -> bytes:
    """The fields of the trainer's settings that name special tokens, for the end of a file.

    A nested message that occurs twice is the two joined, so this adds to the existing one.
    """
    fields = b""
    for number, name in ((40, "unk"), (41, "bos"), (42, "eos"), (43, "pad")):
        fields += protobuf.field(number, options[f"{name}_id"])
    fields += protobuf.field(44, options["unk_surface"])
    for number, name in ((45, "unk"), (46, "bos"), (47, "eos"), (48, "pad")):
        fields += protobuf.field(number, options[f"{name}_piece"])
    return fields
