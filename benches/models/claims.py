"""Which claims of the reference reports hold under equal conditions: pairs of rows that differ in one choice.

Each difference is that of two runs on the same validation rows, with a paired bootstrap by
sentence. It covers the choice of sentences, not of seeds: a second seed alone moves a row by
0.002 to 0.005.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import file_name

from sentimodels.evaluation.intervals import paired
from sentimodels.evaluation.predictions import Predictions

# What another seed may move; an interval inside it says "no difference".
NOISE = 0.005


@dataclass(frozen=True)
class Claim:
    """That row `better` beats row `worse`; `points` is what the report printed, if it did."""

    text: str
    worse: str
    better: str
    points: float | None = None


CLAIMS = (
    Claim("a network from scratch loses to TF-IDF (the report's LSTM by 3.6 points)", "lstm", "tfidf", 3.6),
    Claim("mean pooling beats the last token", "gpt, causal, last", "gpt, causal, mean", 1.3),
    Claim("reading both ways beats reading forward", "gpt, causal, mean", "gpt, mean"),
    Claim("learned positions beat sinusoidal ones", "encoder, sinusoidal", "encoder", 5.6),
    Claim("learned positions beat rotary ones", "encoder, rotary", "encoder"),
    Claim("positions are needed at all", "encoder, no positions", "encoder"),
    Claim("softmax attention beats linear attention (elu + 1)", "encoder, linear-elu", "encoder", 21.1),
    Claim(
        "softmax attention beats linear attention (two softmaxes)", "encoder, linear-softmax", "encoder", 6.7
    ),
    Claim("softmax attention beats Nystrom attention", "encoder, nystrom", "encoder", 25.9),
    Claim("Mamba beats attention", "encoder", "mamba", 4.0),
    Claim("WordPiece beats BPE", "encoder, BPE", "encoder, WordPiece", 3.2),
    Claim("Unigram beats BPE", "encoder, BPE", "encoder, Unigram", 2.1),
    Claim("subwords (BPE) beat whole words, encoder", "encoder", "encoder, BPE"),
    Claim("subwords (BPE) beat whole words, LSTM", "lstm", "lstm, BPE"),
    Claim("freezing what was there before hurts", "lstm, vectors frozen", "lstm, vectors"),
    Claim(
        "freezing at first, then releasing, hurts",
        "lstm, vectors frozen, then released",
        "lstm, vectors",
        0.3,
    ),
    Claim("an LSTM beats a GRU", "gru", "lstm", 0.7),
    Claim("an LSTM beats a plain RNN", "rnn", "lstm", 10.8),
    Claim("two directions help an LSTM", "lstm, one way", "lstm", 1.5),
    Claim("the last state is as good as pooling", "lstm, last", "lstm"),
    Claim("an LSTM beats a transformer", "encoder", "lstm", 5.7),
)


def verdict(low: float, high: float) -> str:
    """Puts an interval of `better - worse` in a word."""
    if low > 0:
        return "holds" if high > NOISE else "holds, by less than a seed moves"
    if high < 0:
        return "does not hold: the other way round"
    return "no difference seen"


def claims(found: dict[str, Any], runs: Path) -> str:
    """Returns the table of the claims whose rows are there; "" if there are none."""
    lines = []
    for claim in CLAIMS:
        paths = [runs / f"{file_name(name)}.valid.npz" for name in (claim.worse, claim.better)]
        if not all(path.exists() for path in paths) or not {claim.worse, claim.better} <= found.keys():
            continue
        pair = [Predictions.load(path) for path in paths]
        accuracy = paired(*pair)["accuracy"]
        low, high = accuracy["interval"]
        printed = "-" if claim.points is None else f"{claim.points:+.1f}"
        lines.append(
            f"| {claim.text} | {claim.better} against {claim.worse} | {printed} | "
            f"{100 * accuracy['difference']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) | "
            f"{verdict(low, high)} |"
        )
    if not lines:
        return ""
    head = [
        "Differences of accuracy in points on `valid`: one run of each, same data, same training, one "
        "choice changed; 95 % paired bootstrap by sentence. Another seed alone moves a row by 0.2 to "
        "0.5 points. The reports' differences are from their own data.\n",
        "| claim | rows | the report's | ours | |",
        "|---|---|---:|---:|---|",
    ]
    return "\n".join(head + lines)
