"""`to_hf` and `from_hf`: objects of tokenizers and transformers, both ways."""

import subprocess
import sys
import warnings
from typing import Any

import pytest
import tokenizers

from conftest import CORPUS
from sentitok import FormatError, SentitokError, Tokenizer, train_bpe, train_unigram, train_wordpiece

TEXTS = ["A gripping film.", "  naïve — 10/10\n\n日本語 😀", "", "don't stop", "a" * 300]


def trained(kind: str) -> Tokenizer:
    path = CORPUS / "sherlock-holmes.txt"
    match kind:
        case "bytes":
            return train_bpe(path, vocab_size=700, special_tokens=["<|end|>"])
        case "wordpiece":
            return train_wordpiece(path, vocab_size=700)
        case "unigram":
            return train_unigram(path, vocab_size=500, byte_fallback=True)
        case _:
            return train_bpe(path, vocab_size=700, method="sentencepiece", byte_fallback=True)


@pytest.fixture(scope="module", params=["bytes", "wordpiece", "unigram", "sentencepiece"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(request.param)


def to_hf(tokenizer: Tokenizer) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "control and unknown tokens", UserWarning)
        warnings.filterwarnings("ignore", "a text that spells a byte", UserWarning)
        warnings.filterwarnings("ignore", "decoding leaves out a space", UserWarning)
        return tokenizer.to_hf()


def test_there_and_back(tokenizer: Tokenizer) -> None:
    theirs = to_hf(tokenizer)
    assert isinstance(theirs, tokenizers.Tokenizer)
    assert theirs.get_vocab_size() == tokenizer.vocab_size
    back = Tokenizer.from_hf(theirs)
    for text in TEXTS:
        ids = tokenizer.encode(text, specials="all").ids.tolist()
        assert theirs.encode(text).ids == ids, text
        assert back.encode(text, specials="all").ids.tolist() == ids, text


def test_fast_tokenizers_of_transformers(tokenizer: Tokenizer) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 2026-11-21: warnings of its imports
        theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=to_hf(tokenizer))
    back = Tokenizer.from_hf(theirs)
    for text in TEXTS:
        assert theirs(text)["input_ids"] == back.encode(text, specials="all").ids.tolist(), text


def test_what_is_set_for_calls_is_left_out() -> None:
    theirs = to_hf(trained("bytes"))
    theirs.enable_truncation(2)
    theirs.enable_padding(length=8)
    assert len(Tokenizer.from_hf(theirs).encode(TEXTS[0]).ids) > 2


@pytest.mark.parametrize("thing", ["tokenizer.json", 7, None, tokenizers.models.BPE()])
def test_other_things_are_refused(thing: object) -> None:
    with pytest.raises(TypeError, match=r"tokenizers\.Tokenizer or a fast tokenizer"):
        Tokenizer.from_hf(thing)


def test_what_is_not_run_here_is_refused() -> None:
    twice = tokenizers.Tokenizer(tokenizers.models.BPE())
    levels = [tokenizers.pre_tokenizers.ByteLevel(), tokenizers.pre_tokenizers.ByteLevel()]
    twice.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(levels)
    with pytest.raises(FormatError, match="a second ByteLevel"):
        Tokenizer.from_hf(twice)
    google = train_wordpiece(CORPUS / "sherlock-holmes.txt", vocab_size=500, normalizer="google-bert")
    with pytest.raises(SentitokError, match="Google"):
        google.to_hf()


def test_without_the_library() -> None:
    code = """
import sys
sys.modules["tokenizers"] = None
import sentitok
try:
    sentitok.train_bpe(texts=["a"], vocab_size=256).to_hf()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install tokenizers" in done.stdout
