"""Text stays text: no model makes a special token of its spelling unless asked to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import CORPUS
from sentitok import Tokenizer, train_bpe, train_unigram, train_wordpiece

TEXT = CORPUS / "sherlock-holmes.txt"


def bpe() -> Tokenizer:
    return train_bpe(TEXT, vocab_size=600, special_tokens=["<s>"], pre_tokenizer="whitespace-split")


def wordpiece() -> Tokenizer:
    return train_wordpiece(
        TEXT,
        vocab_size=600,
        special_tokens=["[UNK]", "<s>"],
        normalizer="none",
        pre_tokenizer="whitespace-split",
    )


def unigram() -> Tokenizer:
    return train_unigram(TEXT, vocab_size=600)


@pytest.mark.parametrize("train", [bpe, wordpiece, unigram], ids=lambda train: str(train.__name__))
def test_specials_in_text(train: Callable[[], Tokenizer], tmp_path: Path) -> None:
    trained = train()
    trained.save(tmp_path / "tokenizer.json")
    for tokenizer in (trained, Tokenizer.from_file(tmp_path / "tokenizer.json")):
        special = tokenizer.token_to_id("<s>")
        for text in ("<s>", "a <s> b", "a<s>", "<s>b"):
            assert special not in tokenizer.encode(text, add_special_tokens=False).ids, text
            assert special in tokenizer.encode(text, specials="all", add_special_tokens=False).ids, text
