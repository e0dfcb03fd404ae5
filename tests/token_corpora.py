"""Small corpora of drawn words, and what became of them, for tests of token data."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sentimodels.config import LanguageConfig
from sentimodels.runs.families import LANGUAGE_MODEL
from sentimodels.text.corpus import Corpus, open_corpus, prepare
from sentimodels.text.packed import PackedSplit
from sentitok import Tokenizer

WORDS = [
    *("the", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "over", "a", "mat", "tree", "house"),
    *("quickly", "slowly"),
]


def texts_of(n: int, seed: int = 0) -> list[str]:
    drawn = np.random.default_rng(seed)
    return [" ".join(drawn.choice(WORDS, drawn.integers(1, 40))) for _ in range(n)]


def write(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def config_of(*corpus: Path, **sections: Any) -> LanguageConfig:
    data = {"corpus": [str(path) for path in corpus], "context": 16, "vocab_size": 300, "valid_share": 0.2}
    return LANGUAGE_MODEL.resolve({"preset": "nano", "data": data}, sections)


def corpus_of(folder: Path, *corpus: Path, **sections: Any) -> tuple[Corpus, Tokenizer]:
    tokenizer = prepare(config_of(*corpus, **sections), folder)
    return open_corpus(folder), tokenizer


def documents_of(part: PackedSplit, tokenizer: Tokenizer) -> list[str]:
    """The documents of a part, from its stream."""
    ids = part.read(0, part.total + 1)
    assert ids[0] == ids[-1] == part.end
    ends = np.flatnonzero(ids == part.end)
    return [tokenizer.decode(ids[a + 1 : b]) for a, b in pairwise(ends.tolist())]
