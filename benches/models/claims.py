"""Which claims of the reference reports hold under equal conditions: pairs of rows that differ in one choice.

Each difference is in accuracy on the sealed part, with an interval over seeds and sentences together.
A claim holds only where that interval leaves out zero by more than the noise of a seed: the largest
standard deviation between the seeds of the two rows.
"""

from dataclasses import dataclass

import numpy as np
from bars import Results
from numpy.typing import NDArray
from result import unpack
from rows import AGAIN, MIXTURE, rows_of

from sentimodels.evaluation.joint_intervals import Joint, difference, level, seed_noise


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
    Claim("learned positions beat ALiBi", "encoder, alibi", "encoder"),
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
    # Ours: these are not of a report.
    Claim("n-grams of characters help TF-IDF", "tfidf, 200,000 features", "tfidf, characters"),
    Claim("a convolution beats a bag of n-grams", "bow", "cnn"),
    *(
        Claim(f"training on dev as well helps `{row}`", row, row + AGAIN)
        for row in ("tfidf", "bow", "cnn", "lstm", "encoder", "gpt")
    ),
)


def right_of(by_row: Results, of_set: str, row: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns `(n_seeds, n_groups)` rows that are right on the sealed part, and rows of each group."""
    results = by_row[of_set, row]
    right = np.stack([unpack(one["sealed"]["right"]) for one in results])
    asked = rows_of(of_set).get(row)
    if asked is None or not asked.draws:  # every seed would be the same
        right = np.repeat(right[:1], 2, axis=0)
    return right, unpack(results[0]["sealed"]["rows"])


def complete(by_row: Results, of_set: str, row: str) -> bool:
    """Whether all seeds of a row are there."""
    asked = rows_of(of_set).get(row)
    return len(by_row.get((of_set, row), [])) >= (1 if asked is None else asked.seeds)


def accuracy(by_row: Results, of_set: str, row: str) -> Joint:
    return level(*right_of(by_row, of_set, row))


def compared(by_row: Results, of_set: str, worse: str, better: str) -> tuple[Joint, float]:
    """Returns the difference of two rows, and the noise of a seed."""
    below, above = right_of(by_row, of_set, worse), right_of(by_row, of_set, better)
    # Chosen on dev: of two mixtures neither is a seed.
    noise = seed_noise(*(side for side in (below, above)))
    return difference(below[0], above[0], below[1]), noise


def verdict(joint: Joint, noise: float) -> str:
    """Puts an interval of `better - worse` in a word."""
    if joint.seeds == 1:
        return "one seed: no verdict"
    if joint.low > noise:
        return "holds"
    if joint.high < -noise:
        return "does not hold: the other way round"
    return "not shown" if joint.low <= 0 <= joint.high else "not shown: within the noise of a seed"


def points(joint: Joint) -> str:
    return f"{100 * joint.value:+.1f} ({100 * joint.low:+.1f} to {100 * joint.high:+.1f})"


def claims(by_row: Results) -> str:
    """Returns the table of claims; one whose rows are not there says so."""
    lines = ["| claim | rows | the report's | ours | seed | |", "|---|---|---:|---:|---:|---|"]
    for claim in CLAIMS:
        printed = "-" if claim.points is None else f"{claim.points:+.1f}"
        if not all(complete(by_row, "kaggle", name) for name in (claim.worse, claim.better)):
            rows = f"{claim.better} against {claim.worse}"
            lines.append(f"| {claim.text} | {rows} | {printed} | - | - | not measured |")
            continue
        joint, noise = compared(by_row, "kaggle", claim.worse, claim.better)
        head = f"| {claim.text} | {claim.better} against {claim.worse}{sizes(by_row, claim)} | {printed} | "
        lines.append(head + f"{points(joint)} | {100 * noise:.1f} | {verdict(joint, noise)} |")
    return "\n".join(lines)


def sizes(by_row: Results, claim: Claim) -> str:
    """Says how many tokens the tokenizers of a claim have; one is padding in some."""
    names = (claim.better, claim.worse)
    kinds = {rows_of("kaggle")[name].tree.get("data", {}).get("tokenizer_model") for name in names}
    if len(kinds) == 1:
        return ""
    better, worse = (by_row["kaggle", name][0]["cost"]["vocabulary"] for name in names)
    return f" ({better:,} and {worse:,} tokens)" if abs(better - worse) > 1 else ""


def mixture_line(by_row: Results) -> str:
    """Says what the mixture gains over the best of its models, where it has been made."""
    if ("kaggle", MIXTURE) not in by_row:
        return ""
    (result,) = by_row["kaggle", MIXTURE]
    best = result["best_single"]
    rows = unpack(result["sealed"]["rows"])
    single = next(one for one in by_row["kaggle", best["row"]] if one["seed"] == best["seed"])
    sides = [unpack(one["sealed"]["right"])[None] for one in (single, result)]
    joint = difference(sides[0], sides[1], rows)
    word = "more" if joint.low > 0 else "less" if joint.high < 0 else "neither more nor less, as far as seen"
    return (
        f"On the sealed part it is right {points(joint)} points more often than {best['row']}, seed "
        f"{best['seed']}, which has the least log loss on dev: {word}. The interval is over sentences; "
        "dev made one choice."
    )
