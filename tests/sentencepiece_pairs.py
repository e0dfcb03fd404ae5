"""The same call to sentencepiece and to `sentitok.compat.sentencepiece`, and models that both train."""

import io
from typing import Any

import sentencepiece as theirs

from conftest import CORPUS
from sentitok.compat import sentencepiece as ours

TEXTS = [
    "I saw a girl with a telescope.",
    "",
    "  a ",
    "Hello 日本 😀 w  x",
    "naïve café; 3.14159 ＡＢ①",
    "<s> </s> <unk> ▁▁ x",
    "\u0301a\x00b",
    "日本語のテキスト",
]
LINES = (CORPUS / "sherlock-holmes.txt").read_bytes().decode("utf-8").split("\n")[:3000]
Pair = tuple[theirs.SentencePieceProcessor, ours.SentencePieceProcessor]


def same(both: tuple[Any, Any], call: Any) -> Any:
    """What both give, or the kind of error that both raise."""

    def result(processor: Any) -> Any:
        try:
            return call(processor)
        except Exception as error:
            return type(error)

    expected, found = (result(processor) for processor in both)
    assert expected == found
    return found


def trained(**options: Any) -> Pair:
    """The same call to both on `LINES`, each file read by the library that wrote it."""
    made = []
    for library in (theirs, ours):
        writer = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=writer, minloglevel=2, **options
        )
        made.append(library.SentencePieceProcessor(model_proto=writer.getvalue()))
    return made[0], made[1]
