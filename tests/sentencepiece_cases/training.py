"""Cases about training."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from . import Library, case
from .models import botchan
from .vocabularies import FILE


@contextmanager
def folder() -> Iterator[Path]:
    """A folder with the book."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "botchan.txt").write_text(botchan(), "utf-8")
        yield Path(name)


def trained(lib: Library, **options: Any) -> Any:
    writer = io.BytesIO()
    with folder() as at:
        lib.SentencePieceTrainer.train(
            input=str(at / "botchan.txt"), model_writer=writer, minloglevel=2, **options
        )
    return lib.SentencePieceProcessor(model_proto=writer.getvalue())


def uses(processor: Any) -> None:
    for line in botchan().splitlines(keepends=True):
        ids = processor.EncodeAsIds(line)
        text = processor.DecodePieces(processor.EncodeAsPieces(line))
        # A piece that is not known is its own text, its id is not.
        assert processor.unk_id() in ids or processor.DecodeIds(ids) == text


@case(FILE + "train")
def _(lib: Library) -> None:
    with folder() as at:
        lib.SentencePieceTrainer.Train(
            f"--input={at}/botchan.txt --model_prefix={at}/m --vocab_size=1000 --minloglevel=2"
        )
        processor = lib.SentencePieceProcessor()
        assert processor.Load(f"{at}/m.model")
    uses(processor)


@case(FILE + "special_tokens_combinations")
def _(lib: Library) -> None:
    sp = trained(lib, vocab_size=1000)
    plain = sp.encode("a")
    assert -1 not in (sp.bos_id(), sp.eos_id())
    assert sp.encode("a", add_bos=True) == [sp.bos_id(), *plain]
    assert sp.encode("a", add_eos=True) == [*plain, sp.eos_id()]
    assert sp.encode("a", add_bos=True, add_eos=True) == [sp.bos_id(), *plain, sp.eos_id()]
    pieces = sp.encode("a", return_type=str)
    assert sp.encode("a", add_bos=True, return_type=str) == [sp.IdToPiece(sp.bos_id()), *pieces]
    symbols = {"user_defined_symbols": ["<s>", "</s>"], "bos_piece": "<s>", "eos_piece": "</s>"}
    for options in (symbols, {"bos_id": -1, "eos_id": -1}):
        sp = trained(lib, vocab_size=1000, **options)
        assert sp.bos_id() == -1
        for name in ("add_bos", "add_eos"):
            for kind in (int, str):
                with pytest.raises(ValueError, match=name[4:].upper()):
                    sp.encode("a", **{name: True}, return_type=kind)


@case(FILE + "train_iterator")
def _(lib: Library) -> None:
    by_file, by_lines = io.BytesIO(), io.BytesIO()
    options: dict[str, Any] = {"vocab_size": 1000, "minloglevel": 2}
    with folder() as at:
        file = at / "botchan.txt"
        lib.SentencePieceTrainer.train(input=str(file), model_prefix=str(at / "m"), **options)
        lib.SentencePieceTrainer.train(input=str(file), model_writer=by_file, **options)
        for target in ({"model_prefix": str(at / "n")}, {"model_writer": by_lines}):
            with file.open("rb") as lines:
                lib.SentencePieceTrainer.train(sentence_iterator=lines, **target, **options)
        contents = [(at / "m.model").read_bytes(), (at / "n.model").read_bytes()]
    contents += [by_file.getvalue(), by_lines.getvalue()]
    made = [lib.SentencePieceProcessor(model_proto=content) for content in contents]
    pieces = [[sp.id_to_piece(id) for id in range(sp.get_piece_size())] for sp in made]
    assert all(each == pieces[0] for each in pieces)


@case(FILE + "train_kwargs")
def _(lib: Library) -> None:
    with folder() as at:
        lib.SentencePieceTrainer.train(
            input=[str(at / "botchan.txt")],
            model_prefix=str(at / "m"),
            vocab_size=1002,
            user_defined_symbols=["foo", "bar", ",", " ", "\t", "\b", "\n", "\r"],
            minloglevel=2,
        )
        sp = lib.SentencePieceProcessor(model_file=str(at / "m.model"))
    uses(sp)
    text = "hello\tworld\r\nthis\tis a \b pen"
    assert sp.decode(sp.encode(text)) == text


@case(FILE + "trainer_with_normalizer")
def _(lib: Library) -> None:
    rules = [("foo", "bar"), ("apple", "orange")]
    made = lib.SentencePieceNormalizer(norm_map=rules, add_dummy_prefix=False, escape_whitespaces=True)
    with folder() as at:
        options: dict[str, Any] = {"input": str(at / "botchan.txt"), "vocab_size": 100, "minloglevel": 2}
        lib.SentencePieceTrainer.Train(model_prefix=str(at / "m"), normalizer=made, **options)
        plain = {"add_dummy_prefix": False, "escape_whitespaces": False}
        again = lib.SentencePieceNormalizer(model_file=str(at / "m.model"), **plain)
        sp = lib.SentencePieceProcessor()
        assert sp.Load(str(at / "m.model"))
        with pytest.raises(ValueError, match=r"add_dummy_prefix|normalizer"):
            lib.SentencePieceTrainer.Train(
                model_prefix=str(at / "n"), normalizer=made, add_dummy_prefix=True, **options
            )
    assert [again.Normalize(text) for text in ("foo", "apple")] == ["bar", "orange"]
    assert sp.EncodeAsPieces("foo")[0][0] != "▁"
