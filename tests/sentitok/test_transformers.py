"""Files saved here, loaded by transformers: the same ids, the same text.

transformers runs the file in tokenizers; these tests are about the files around
it, and about the classes that people load them with.
"""

import json
import warnings
from pathlib import Path

import pytest

import shared_data
from conftest import CORPUS
from sentitok import FormatError, SentitokError, Tokenizer, train_bpe, train_unigram, train_wordpiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

# 2026-11-21: warnings of its imports.
pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = [
    *["A gripping film.", "  naïve — 10/10\n\n日本語 😀", "", "don't <|end|> stop", "a" * 300, " a  b "],
    *["Straße\tΑΒΓ ﬁ\u3000x", "<s>no</s> [CLS] ## ▁", "e\u0301 \u200d \x00"],
]

#: How each kind of tokenizer is trained, and the token that pads.
KINDS = {
    "bytes": lambda path: train_bpe(path, vocab_size=2000, special_tokens=["<|end|>", "<pad>"]),
    "o200k": lambda path: train_bpe(
        path, vocab_size=800, pre_tokenizer="o200k", special_tokens=["<|end|>", "<pad>"]
    ),
    "wordpiece": lambda path: train_wordpiece(path, vocab_size=1500),
    "cased wordpiece": lambda path: train_wordpiece(path, vocab_size=1500, lowercase=False),
    "unigram": lambda path: train_unigram(path, vocab_size=800, special_tokens=["<s>", "</s>", "<pad>"]),
    "unigram with bytes": lambda path: train_unigram(
        path,
        vocab_size=900,
        byte_fallback=True,
        special_tokens=["<pad>"],
        normalizer="sentencepiece-collapse",
    ),
    "unigram with symbols": lambda path: train_unigram(
        path, vocab_size=800, special_tokens=["<pad>"], user_defined_symbols=["Holmes", "!"]
    ),
    "sentencepiece": lambda path: train_bpe(
        path, vocab_size=1000, method="sentencepiece", special_tokens=["<s>", "</s>", "<pad>"]
    ),
    "sentencepiece with bytes": lambda path: train_bpe(
        path, vocab_size=1200, method="sentencepiece", byte_fallback=True, special_tokens=["<pad>"]
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest) -> Tokenizer:
    tokenizer: Tokenizer = KINDS[request.param](CORPUS / "sherlock-holmes.txt")
    return tokenizer


def test_a_directory_loads_by_auto_tokenizer(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path, "huggingface")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == trained.vocab_size
    assert theirs.pad_token in ("<pad>", "[PAD]")
    assert theirs.unk_token == trained.info()["unk_token"]
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ids == trained.encode(text, specials="all").ids.tolist(), text
    pair = theirs("A film.", "Not a film.")["input_ids"]
    assert pair == trained.encode("A film.", pair="Not a film.", specials="all").ids.tolist()


def test_a_file_loads_by_the_fast_class(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "tokenizer.json")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in TEXTS:
        assert theirs(text)["input_ids"] == trained.encode(text, specials="all").ids.tolist(), text


def test_what_it_saves_loads_here(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "ours", "huggingface")
    transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    back = Tokenizer.from_file(tmp_path / "theirs")
    for text in TEXTS:
        assert back.encode(text).ids.tolist() == trained.encode(text).ids.tolist()


def test_bytes_come_back_as_text(tmp_path: Path) -> None:
    trained = KINDS["bytes"](CORPUS / "sherlock-holmes.txt")
    trained.save(tmp_path, "huggingface")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert theirs.decode(theirs(text)["input_ids"]) == text


@pytest.mark.parametrize("name", ["t5/spiece", "xlnet-base-cased/spiece", "mistral-7b-v0.1/tokenizer"])
def test_sentencepiece_models_load(name: str, tmp_path: Path) -> None:
    """XLNet has user-defined pieces: `.` and more, which no rule touches in texts like
    these. Mistral has runs of spaces that all have one score."""
    ours = Tokenizer.from_sentencepiece(shared_data.folder() / "vocabs" / f"{name}.model")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.save(tmp_path, "huggingface")
    said = [str(warning.message) for warning in caught]
    assert any("64 bits" in sentence for sentence in said) == ("mistral" not in name)
    assert any("user-defined pieces" in sentence for sentence in said) == ("xlnet" in name)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = shared_data.text("tokenizer-conformance", "mixed_input.txt").split("\n")
    texts += [" " * length + "x" + " " * (length % 5) for length in range(70)]
    texts += ["(a) - £5 <eop>. – €", "..--..", "<eop", " . ", *TEXTS[:3]]
    for text in texts:
        ids = theirs(text)["input_ids"]
        assert ids == ours.encode(text, specials="all").ids.tolist(), text


def test_what_has_no_equal_is_refused(tmp_path: Path) -> None:
    path = CORPUS / "sherlock-holmes.txt"
    with pytest.raises(SentitokError, match="found before all merging"):
        train_bpe(path, vocab_size=500, method="sentencepiece", user_defined_symbols=["Holmes"]).save(
            tmp_path / "tokenizer.json"
        )
    assert not (tmp_path / "tokenizer.json").exists()


def test_a_config_alone_is_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    with pytest.raises((FormatError, FileNotFoundError)):
        Tokenizer.from_file(tmp_path)
