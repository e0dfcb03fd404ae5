"""Section of the report: training WordPiece and Unigram."""

from pathlib import Path

import corpora
from measure import train_table

WORDPIECE_TRAINERS = ("sentitok", "sentitok, likelihood", "tokenizers")
UNIGRAM_TRAINERS = ("sentitok", "sentitok, method=sentencepiece", "sentencepiece", "tokenizers")


def section(folder: Path) -> str:
    """Trains WordPiece as BERT and Unigram as SentencePiece."""
    english = corpora.english()
    wordpiece = train_table(folder, english, "wordpiece", 30_522, WORDPIECE_TRAINERS, "tokenizers")
    unigram = train_table(folder, english, "unigram", 16_000, UNIGRAM_TRAINERS, "sentencepiece")
    return (
        "## Training WordPiece\n\nWithout case, by frequency unless another score is named.\n\n"
        f"{wordpiece}\n\n## Training Unigram\n\n"
        "Normalized by NFKC. The default counts pieces with all of a text in view, `method=sentencepiece` "
        f"by that library's rules.\n\n{unigram}"
    )
