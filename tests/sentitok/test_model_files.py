"""Real model files: equal to their references wherever a text begins, and the
same after `to_bytes`.

A text cut 70 times moves through every phase of blocks and caches.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

import shared_data
from sentitok import Tokenizer

N_STARTS = 70
Encode = Callable[[str], list[int]]


def vocabs() -> Path:
    return shared_data.folder() / "vocabs"


def gpt2() -> tuple[Tokenizer, Encode]:
    path = vocabs() / "gpt2" / "tokenizer.json"
    theirs = tokenizers.Tokenizer.from_file(str(path))
    return Tokenizer.from_file(path), lambda text: theirs.encode(text).ids


def bert() -> tuple[Tokenizer, Encode]:
    path = vocabs() / "bert-base-uncased" / "tokenizer.json"
    theirs = tokenizers.Tokenizer.from_file(str(path))
    return Tokenizer.from_file(path), lambda text: theirs.encode(text).ids


def sentence_piece(name: str) -> tuple[Tokenizer, Encode]:
    path = vocabs() / name
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return Tokenizer.from_sentencepiece(path), theirs.encode


KINDS: dict[str, Callable[[], tuple[Tokenizer, Encode]]] = {
    "gpt2": gpt2,
    "bert": bert,
    "t5": lambda: sentence_piece("t5/spiece.model"),
    "xlnet": lambda: sentence_piece("xlnet-base-cased/spiece.model"),
    "mistral": lambda: sentence_piece("mistral-7b-v0.1/tokenizer.model"),
    "botchan": lambda: sentence_piece("sentencepiece-botchan-1000/test_model.model"),
}


def texts() -> list[str]:
    """Prose, a text of many scripts, and Chinese; each some 1,500 characters."""
    mixed = shared_data.text("tokenizer-conformance", "mixed_input.txt").replace("\n", " ")
    chinese = shared_data.text("zh-news", "peoples-daily-1998-01.txt.xz")
    prose = shared_data.text("corpora", "gutenberg-1342-pride-and-prejudice.txt.xz")
    return [prose[20_000:21_500], mixed[:1500], chinese[5000:6500], "  a \u3000 b\t\n" * 60]


@pytest.mark.parametrize("kind", KINDS)
def test_every_start_gives_the_ids_of_the_reference(kind: str) -> None:
    ours, theirs = KINDS[kind]()
    slices = [text[start:] for text in texts() for start in range(N_STARTS)]
    batch = ours.encode_batch(slices, specials="all")
    for row, text in enumerate(slices):
        assert batch[row].ids.tolist() == theirs(text), text[:60]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_hold_all_of_a_tokenizer(kind: str) -> None:
    ours, _ = KINDS[kind]()
    data = ours.to_bytes()
    back = Tokenizer.from_bytes(data)
    assert back.to_bytes() == data
    assert (back.fingerprint, back) == (ours.fingerprint, ours)
    for text in texts():
        first, second = ours.encode(text), back.encode(text)
        assert second.ids.tolist() == first.ids.tolist()
        assert second.offsets().tolist() == first.offsets().tolist()
        assert back.decode(first.ids) == ours.decode(first.ids)
