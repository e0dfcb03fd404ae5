"""The parts of a tokenizer.json as a dictionary: of a tokenizer, of the two files of a BPE, and back.

What the class of a folder adds to its vocabulary is written into such a document.
"""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

from .._sentitok import FormatError, Tokenizer
from ..messages import shown
from .settings import text_of

__all__ = ["Document", "Part", "document_of", "from_document", "of_vocab_and_merges", "template"]

Document = dict[str, Any]
#: A part of a template, a text by its name or a special token with its id, and its type.
Part = tuple[str | tuple[str, int], int]


def document_of(tokenizer: Tokenizer) -> Document:
    """Returns the parts of its tokenizer.json; what that has no place for is left out."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        document: Document = json.loads(path.read_text("utf-8"))
    return document


def from_document(document: Document) -> Tokenizer:
    """Returns the tokenizer of the parts of a tokenizer.json."""
    return Tokenizer.from_bytes(json.dumps(document).encode())


def of_vocab_and_merges(vocab: Path, merges: Path, **options: Any) -> Tokenizer:
    """Returns the BPE of vocab.json and merges.txt, which cuts no text.

    Args:
        vocab: an object of tokens and ids.
        merges: two tokens a line.
        options: fields of the model, such as `end_of_word_suffix`.

    Raises:
        FormatError: naming the file and the line.
    """
    pairs = []
    for number, line in enumerate(text_of(merges).split("\n"), 1):
        line = line.removesuffix("\r")
        if not line or line.startswith("#version"):
            continue
        pair = line.split(" ")
        if len(pair) != 2:
            raise FormatError(
                f"{merges}, line {number}: expected two tokens with a space between, found {shown(line)}"
            )
        pairs.append(pair)
    try:
        tokens = json.loads(text_of(vocab))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{vocab} is not valid JSON: {error}") from error
    model = {"type": "BPE", "vocab": tokens, "merges": pairs, **options}
    try:
        return from_document({"version": "1.0", "added_tokens": [], "model": model})
    except FormatError as error:
        raise FormatError(f"{vocab} with {merges.name}: {error}") from error


def template(single: list[Part], pair: list[Part]) -> Document:
    """Returns a post-processor of texts, `"A"` and `"B"`, and special tokens, each with its type."""

    def part(what: str | tuple[str, int], type_id: int) -> Document:
        if isinstance(what, str):
            return {"Sequence": {"id": what, "type_id": type_id}}
        return {"SpecialToken": {"id": what[0], "type_id": type_id}}

    specials = {what[0]: what[1] for what, _ in pair if not isinstance(what, str)}
    return {
        "type": "TemplateProcessing",
        "single": [part(*each) for each in single],
        "pair": [part(*each) for each in pair],
        "special_tokens": {
            token: {"id": token, "ids": [id], "tokens": [token]} for token, id in specials.items()
        },
    }
