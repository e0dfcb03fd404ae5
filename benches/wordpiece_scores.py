"""What the three scores of WordPiece training give: `python benches/wordpiece_scores.py`.

Trains on nine lines of ten and measures on the tenth: tokens per word
(fertility), bytes per token, unknown words, the length of the text in bits per
byte under a unigram model of the tokens, which `likelihood` aims at, and what the
tokens are good for: the accuracy of a logistic regression on them and their pairs,
ten-fold on the labelled sentences of `tests/data`. Words are cut by the slow
definition in `tests/oracles`, so no encoder is trusted here.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import corpora
import sentitok

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from oracles import wordpiece

Score = Literal["frequency", "likelihood", "pmi"]
CASES: list[tuple[Score, int]] = [("frequency", 0), ("likelihood", 0), ("pmi", 0), ("pmi", 50)]


def words(lines: list[str]) -> Counter[str]:
    """Lower-case words as BERT splits them."""
    bert = sentitok.PreTokenizer("bert")
    return Counter(piece for line in lines for piece in bert.pieces(line.lower()))


def accuracy(cut: Callable[[str], list[str]]) -> float:
    """Ten-fold accuracy on the sentences of rt-polarity."""
    folder = corpora.BUNDLED.parent / "sentences" / "rt-polarity"
    bert = sentitok.PreTokenizer("bert")
    rows: list[list[str]] = []
    labels: list[int] = []
    for label, name in enumerate(("neg", "pos")):
        for line in (folder / f"rt-polarity.{name}").read_bytes().decode("latin-1").strip().split("\n"):
            tokens = [token for word in bert.pieces(line.lower()) for token in cut(word)]
            rows.append([*tokens, *map(" ".join, pairwise(tokens))])
            labels.append(label)
    model = make_pipeline(
        TfidfVectorizer(analyzer=list, sublinear_tf=True), LogisticRegression(C=10, max_iter=1000)
    )
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return float(cross_val_score(model, rows, labels, cv=folds).mean())


def measure(train: Counter[str], held_out: Counter[str], vocab_size: int, score: Score, least: int) -> str:
    """One row of the table."""
    tokenizer = sentitok.train_wordpiece(
        counts=train, vocab_size=vocab_size, score=score, min_frequency=least, special_tokens=["[UNK]"]
    )
    tokens = set(tokenizer.vocab())

    @cache
    def cut(word: str) -> list[str]:
        return wordpiece.encode(word, tokens)

    def counted(texts: Counter[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for word, count in texts.items():
            for token in cut(word):
                counts[token] += count
        return counts

    seen, held = counted(train), counted(held_out)
    n_tokens, n_bytes = held.total(), sum(len(word.encode()) * n for word, n in held_out.items())
    total = seen.total() + len(tokens)
    bits = -sum(count * math.log2((seen[token] + 1) / total) for token, count in held.items())
    fertility, unknown = n_tokens / held_out.total(), held["[UNK]"] / held_out.total()
    return (
        f"{score:10} {least:13} {len(tokens):8} {fertility:9.4f} {n_bytes / n_tokens:11.4f} "
        f"{unknown:8.5f} {bits / n_bytes:14.4f} {accuracy(cut):9.4f}"
    )


def main() -> None:
    corpus = corpora.english()
    lines = corpus.lines()
    train = words([line for at, line in enumerate(lines) if at % 10])
    held_out = words(lines[::10])
    print(f"{corpus.name}, {held_out.total()} words held out")
    print("score      min_frequency   tokens fertility bytes/token  unknown unigram bits/B  accuracy")
    for vocab_size in (8000, 30_522):
        for score, least in CASES:
            print(measure(train, held_out, vocab_size, score, least))


if __name__ == "__main__":
    main()
