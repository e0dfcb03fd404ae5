"""What is saved here, loaded by transformers: the same ids, the same text.

transformers runs the file in tokenizers; these tests are about the files around
it, and about the classes that people load them with.
"""

from pathlib import Path

import pytest

from conftest import CORPUS
from sentitok import Tokenizer, train_bpe

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXTS = ["A gripping film.", "  naïve — 10/10\n\n日本語 😀", "", "don't <|end|> stop", "a" * 300]


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    path = CORPUS / "sherlock-holmes.txt"
    return train_bpe(path, vocab_size=2000, special_tokens=["<|end|>", "<pad>"])


@pytest.mark.filterwarnings("ignore")  # 2026-11-21: those of its own imports
def test_a_directory_loads_by_auto_tokenizer(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path, "huggingface")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == trained.vocab_size
    assert theirs.pad_token == "<pad>"
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ids == trained.encode(text, specials="all").ids.tolist(), text
        assert theirs.decode(ids) == trained.decode(ids) == text


@pytest.mark.filterwarnings("ignore")  # 2026-11-21: as above
def test_a_file_loads_by_the_fast_class(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "tokenizer.json")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in TEXTS:
        assert theirs(text)["input_ids"] == trained.encode(text, specials="all").ids.tolist(), text


@pytest.mark.filterwarnings("ignore")  # 2026-11-21: as above
def test_what_it_saves_loads_here(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "ours", "huggingface")
    transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    back = Tokenizer.from_file(tmp_path / "theirs")
    for text in TEXTS:
        assert back.encode(text).ids.tolist() == trained.encode(text).ids.tolist()
