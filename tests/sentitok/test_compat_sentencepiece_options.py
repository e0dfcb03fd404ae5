"""Options of `sentitok.compat.sentencepiece` that are refused, or read, as sentencepiece does.

`test_compat_sentencepiece.py` tests training and encoding.
"""

import io
from typing import Any

import pytest
import sentencepiece as theirs

from sentitok.compat import sentencepiece as ours

LINES = [f"the fox {number} owns it and the dog sleeps in the house" for number in range(300)]


def trained(library: Any, **options: Any) -> bytes:
    writer = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=writer,
        vocab_size=50,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return writer.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {"control_symbols": ["<a>", "<a>"]},
        {"user_defined_symbols": ["<a>", "<a>"]},
        {"control_symbols": ["<a>"], "user_defined_symbols": ["<a>"]},
        {"control_symbols": ["<s>"], "user_defined_symbols": ["<s>"]},
    ],
)
def test_a_symbol_stands_once(options: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError):
        trained(theirs, **options)
    with pytest.raises(RuntimeError, match="is given twice in control_symbols and user_defined_symbols"):
        trained(ours, **options)


@pytest.mark.parametrize("name", ["BPE", "Bpe", "Unigram"])
def test_capitals_of_the_kind_do_not_count(name: str) -> None:
    assert theirs.SentencePieceProcessor(model_proto=trained(theirs, model_type=name))
    assert trained(ours, model_type=name) == trained(ours, model_type=name.lower())


def test_the_seed_of_a_sample() -> None:
    made = [trained(ours, model_type="bpe", input_sentence_size=150, random_seed=seed) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    with pytest.raises(ValueError, match="random_seed='x' cannot be read as int"):
        trained(ours, random_seed="x")


def test_flags_are_true_or_false() -> None:
    proto = trained(ours, model_type="bpe")
    for library in (theirs, ours):
        made = library.SentencePieceProcessor(model_proto=proto)
        with pytest.raises(TypeError):
            made.encode("the fox", str)
        with pytest.raises(TypeError):
            made.encode("the fox", add_eos="yes")
    with pytest.raises(TypeError, match=r"add_bos is <class 'str'>; it is True or False; .* is return_type="):
        made.encode("the fox", str)
    with pytest.raises(TypeError, match="reverse is 2; it is True or False"):
        library.SentencePieceProcessor(model_proto=proto, reverse=2)
