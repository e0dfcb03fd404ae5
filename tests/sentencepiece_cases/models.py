"""The models and the text of the cases: those at hand, or trained by SentencePiece itself."""

import io
import string
from functools import lru_cache
from pathlib import Path
from typing import Any

import sentencepiece

import shared_data

from . import Library

__all__ = ["botchan", "english", "english_file", "japanese", "merges"]


@lru_cache
def botchan() -> str:
    """The book that the suite's models are trained on."""
    return shared_data.text("corpora", "gutenberg-botchan-en.txt.xz")


def english_file() -> Path:
    """A Unigram model of 1,000 pieces: the suite's `test_model.model`."""
    return shared_data.folder() / "vocabs" / "sentencepiece-botchan-1000" / "test_model.model"


def _trained(text: str, **options: Any) -> bytes:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text.split("\n")), model_writer=writer, minloglevel=2, **options
    )
    return writer.getvalue()


@lru_cache
def _japanese() -> bytes:
    latin = string.ascii_letters + string.digits
    text = shared_data.text("corpora", "aozora-wagahai-ja.txt.xz")
    return _trained(text, vocab_size=8000, required_chars=latin)


@lru_cache
def _merges() -> bytes:
    return _trained(botchan(), vocab_size=1000, model_type="bpe")


def english(lib: Library) -> Any:
    """A processor of the model of English."""
    return lib.SentencePieceProcessor(model_file=str(english_file()))


def japanese(lib: Library) -> Any:
    """A processor of a Unigram model of 8,000 pieces of Japanese."""
    return lib.SentencePieceProcessor(model_proto=_japanese())


def merges(lib: Library) -> Any:
    """A processor of a BPE model of 1,000 pieces of English."""
    return lib.SentencePieceProcessor(model_proto=_merges())
