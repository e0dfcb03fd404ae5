"""Cases of `test_encoding.py`: from characters, words and texts to tokens, and back."""

from typing import Any

import pytest

import shared_data

from . import Library, case

FILE = "bindings/test_encoding.py::TestEncoding::"


def both(lib: Library) -> tuple[Any, Any]:
    vocab = str(shared_data.folder() / "vocabs" / "bert-base-uncased" / "vocab.txt")
    tokenizer = lib.BertWordPieceTokenizer.from_file(vocab)
    return tokenizer.encode("I love HuggingFace"), tokenizer.encode("I love HuggingFace", "Do you?")


def same(call: Any, *rows: tuple[Any, ...]) -> None:
    """Each row: the arguments, and what comes."""
    for *given, found in rows:
        assert call(*given) == found, given


@case(FILE + "test_sequence_ids")
def _(lib: Library) -> None:
    single, pair = both(lib)
    assert single.sequence_ids == [None, 0, 0, 0, 0, None]
    assert pair.sequence_ids == [None, 0, 0, 0, 0, None, 1, 1, 1, None]


@case(FILE + "test_n_sequences")
def _(lib: Library) -> None:
    assert [encoding.n_sequences for encoding in both(lib)] == [1, 2]


@case(FILE + "test_word_to_tokens")
def _(lib: Library) -> None:
    single, pair = both(lib)
    first = ["[CLS]", "i", "love", "hugging", "##face", "[SEP]"]
    assert single.tokens == first
    assert pair.tokens == [*first, "do", "you", "?", "[SEP]"]
    same(single.word_to_tokens, (0, (1, 2)))
    same(pair.word_to_tokens, (0, (1, 2)), (0, 0, (1, 2)), (6, 0, None), (0, 1, (6, 7)))


@case(FILE + "test_word_to_chars")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.word_to_chars, (2, (7, 18)))
    same(pair.word_to_chars, (2, (7, 18)), (2, 0, (7, 18)), (2, 1, (6, 7)))


@case(FILE + "test_token_to_sequence")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.token_to_sequence, (2, 0))
    same(pair.token_to_sequence, (2, 0), (0, None), (5, None), (6, 1), (8, 1), (9, None), (1200, None))


@case(FILE + "test_token_to_chars")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.token_to_chars, (0, None), (2, (2, 6)))
    same(pair.token_to_chars, (2, (2, 6)), (5, None), (6, (0, 2)))


@case(FILE + "test_token_to_word")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.token_to_word, (0, None), (1, 0), (4, 2))
    same(pair.token_to_word, (1, 0), (4, 2), (5, None), (6, 0), (7, 1))


@case(FILE + "test_char_to_token")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.char_to_token, (0, 1))
    same(pair.char_to_token, (0, 1), (0, 0, 1), (1, 0, None), (0, 1, 6), (2, 1, None))


@case(FILE + "test_char_to_word")
def _(lib: Library) -> None:
    single, pair = both(lib)
    same(single.char_to_word, (0, 0), (1, None))
    same(pair.char_to_word, (2, 1), (2, 0, 1), (2, 1, None), (3, 1, 1))


@case(FILE + "test_truncation")
def _(lib: Library) -> None:
    single, _ = both(lib)
    single.truncate(2, 1, "right")
    assert single.tokens == ["[CLS]", "i"]
    assert single.overflowing[0].tokens == ["i", "love"]


@case(FILE + "test_invalid_truncate_direction")
def _(lib: Library) -> None:
    single, _ = both(lib)
    with pytest.raises(ValueError, match=r"^Invalid truncation direction value : not_a_direction$"):
        single.truncate(2, 1, "not_a_direction")
