"""What `run.py` trains: rows, each a configuration above the defaults of its architecture, and their bars.

A row with `again` is a recipe whose steps and temperature dev chose, trained once more on train and dev
together.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from result import latest

from sentimodels.runs.families import resolve

Tree = dict[str, Any]

AGAIN = ", train + dev"
LATEST = latest()
# In the folder of the data sets.
VECTORS = "glove-twitter-25d-subset/glove.twitter.27B.25d.top12k.txt.xz"


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Attributes:
        name: as tables show it.
        tree: its configuration.
        minutes: CPU minutes of one seed, as planned.
        draws: whether a seed changes anything.
        again: whether it is also trained on train and dev together.
    """

    name: str
    tree: Tree
    minutes: float
    draws: bool = True
    again: bool = False

    @property
    def seeds(self) -> int:
        """Five where a run takes under a minute, three elsewhere, one where nothing is drawn."""
        return (5 if self.minutes < 1 else 3) if self.draws else 1


def tuned(row: Row) -> Row:
    """Returns the row with the rate that `tune.py` chose, if it is not its architecture's default."""
    chosen = LATEST.get((f"tune:{row.name}", 0), {"factor": 1})
    if chosen["factor"] == 1:
        return row
    return replace(row, tree={**row.tree, "optim": {**row.tree.get("optim", {}), "lr": chosen["lr"]}})


def _encoder(name: str, minutes: float = 3, again: bool = False, **model: Any) -> Row:
    return Row(f"encoder, {name}" if name else "encoder", {"arch": "encoder", "model": model}, minutes,
               again=again)  # fmt: skip


def _tokens(arch: str, name: str) -> Row:
    return Row(f"{arch}, {name}", {"arch": arch, "data": {"tokenizer_model": name.lower()}}, 3)


def _vectors(name: str, **optim: Any) -> Row:
    """An LSTM that starts from word vectors of 25 numbers; `train_one.py` finds their file."""
    model = {"d_model": 25, "char_ngrams": [0, 0]}
    return Row(name, {"arch": "lstm", "data": {"vectors": VECTORS}, "model": model, "optim": optim}, 0.9)


# Of Nystrom attention.
LANDMARKS = 8
CHARACTERS: Tree = {"char_ngrams": [3, 5]}
TFIDF = Row("tfidf", {"arch": "tfidf"}, 0.2, draws=False, again=True)
TFIDF_CHARACTERS = Row(
    "tfidf, characters", {"arch": "tfidf", "model": {**CHARACTERS, "max_features": 200_000}}, 1, draws=False,
)  # fmt: skip
# Beside that with characters: as many features.
TFIDF_LARGE = Row(
    "tfidf, 200,000 features", {"arch": "tfidf", "model": {"max_features": 200_000}}, 0.2, draws=False
)
NB = Row("nb", {"arch": "nb"}, 1, draws=False)
NB_CHARACTERS = Row("nb, characters", {"arch": "nb", "model": CHARACTERS}, 2, draws=False)
BOW = Row("bow", {"arch": "bow"}, 0.2, again=True)

UNTUNED = [
    TFIDF,
    TFIDF_LARGE,
    TFIDF_CHARACTERS,
    NB,
    BOW,
    Row("cnn", {"arch": "cnn"}, 2.5, again=True),
    Row("rnn", {"arch": "rnn"}, 0.9),
    Row("gru", {"arch": "gru"}, 3),
    Row("lstm", {"arch": "lstm"}, 2.8, again=True),
    Row("lstm, one way", {"arch": "lstm", "model": {"bidirectional": False}}, 3),
    Row("lstm, last", {"arch": "lstm", "model": {"pooling": "last"}}, 2.6),
    _encoder("", again=True),
    _encoder("linear-elu", 4, attention="linear-elu"),
    _encoder("linear-softmax", 3.2, attention="linear-softmax"),
    _encoder("nystrom", 4.6, attention="nystrom", landmarks=LANDMARKS),
    _encoder("rotary", 3.2, positions="rotary"),
    _encoder("alibi", 3.2, positions="alibi"),
    _encoder("no positions", 3, positions="none"),
    _encoder("sinusoidal", 3, positions="sinusoidal"),
    _tokens("encoder", "BPE"),
    _tokens("encoder", "WordPiece"),
    _tokens("encoder", "Unigram"),
    _tokens("lstm", "BPE"),
    _vectors("lstm, vectors"),
    _vectors("lstm, vectors frozen", freeze=["backbone.embedding."]),
    _vectors("lstm, vectors frozen, then released", freeze=["backbone.embedding."], unfreeze_at=1000),
    Row("bert", {"arch": "bert"}, 3.1),
    Row("gpt", {"arch": "gpt"}, 3.1, again=True),
    Row("gpt, mean", {"arch": "gpt", "model": {"pooling": "mean"}}, 3),
    Row("gpt, causal, last", {"arch": "gpt", "model": {"causal": True, "pooling": "last"}}, 3),
    Row("gpt, causal, mean", {"arch": "gpt", "model": {"causal": True, "pooling": "mean"}}, 3),
    Row("mamba", {"arch": "mamba"}, 5.7),
]
# Those whose rate `tune.py` chooses: a seed draws something, and steps are made.
BY_STEPS = [row for row in UNTUNED if row.draws and resolve(row.tree).train.epochs != 0]
KAGGLE = [tuned(row) for row in UNTUNED]
LINEAR = [TFIDF, TFIDF_CHARACTERS, NB, NB_CHARACTERS, BOW]
# MR has one row: the recipe that is best on dev of the sets of `CHOOSES_FOR_MR`, run once.
CHOSEN = "the recipe chosen on other sets"
CHOOSES_FOR_MR = ("imdb", "tweets", "yelp")
SETS: dict[str, list[Row]] = {"kaggle": KAGGLE, "tweets": LINEAR, "imdb": LINEAR, "yelp": LINEAR}


def plain(row: Row) -> Row:
    """Returns the row on another set: on few rows nothing is trained again."""
    return Row(row.name, row.tree, row.minutes, row.draws)


MIXTURE = "mixture"
MEMORY = " + memory"
# Rows that are also shown with the memory of training phrases.
REMEMBERING = ("bow", "lstm", MIXTURE)


def rows_of(of_set: str) -> dict[str, Row]:
    """Returns the rows of a set by name, those trained again among them."""
    by_name = {}
    for row in SETS.get(of_set, []):
        made = row if of_set == "kaggle" else plain(row)
        by_name[made.name] = made
        if made.again:
            by_name[made.name + AGAIN] = made
    return by_name


@dataclass(frozen=True)
class Small:
    """A row of the quick version: few rows, small sizes, and the accuracy it must reach on dev.

    The bars of small sizes are some three standard errors above what always answering "neutral"
    gives (0.512), and as far below the results when they were set.
    """

    limit: int | None
    least: float
    change: Tree = field(default_factory=dict)


def _nano(least: float) -> Small:
    return Small(8_000, least, {"preset": "nano", "train": {"epochs": 4, "batch_size": 32}})


SMALL: dict[str, Small] = {
    "tfidf": Small(None, 0.59),
    "bow": Small(None, 0.60),
    "lstm": _nano(0.53),
    "gpt": _nano(0.53),
}


@dataclass(frozen=True)
class Bar:
    """What a row must reach.

    Attributes:
        row: the row, as in `kaggle:bow`.
        part: where it is judged: `sealed`, `kaggle`, `sst5`, `sst2`, or `cost`.
        score: which score.
        least: at least this; with `most` instead, at most.
        most: at most this.
    """

    row: str
    part: str
    score: str
    least: float | None = None
    most: float | None = None


BARS = [
    Bar("kaggle:tfidf" + AGAIN, "sealed", "accuracy", 0.602),
    Bar("kaggle:bow" + AGAIN, "sealed", "accuracy", 0.616),
    Bar("kaggle:cnn" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle:lstm" + AGAIN, "sealed", "accuracy", 0.630),
    Bar("kaggle:lstm" + AGAIN, "sealed", "macro_f1", 0.49),
    Bar("kaggle:encoder" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle:gpt" + AGAIN, "sealed", "accuracy", 0.620),
    Bar("kaggle:" + MIXTURE, "sealed", "accuracy", 0.640),
    *(
        Bar(f"kaggle:{row}", "sealed", "ece", most=0.02)
        for row in ("tfidf", "tfidf, characters", "nb", "bow", "cnn", "rnn", "gru", "lstm", "encoder", "bert",
                    "gpt", "mamba", MIXTURE)
    ),
    Bar("kaggle:tfidf", "cost", "seconds", most=20),
    Bar("kaggle:bow", "cost", "fit_seconds", most=5),
    Bar("kaggle:lstm", "cost", "seconds", most=300),
    *(
        Bar(f"kaggle:{row}", "cost", "padding", most=0.10)
        for row in ("cnn", "lstm", "encoder", "gpt", "mamba")
    ),
    Bar("imdb:nb", "sealed", "accuracy", 0.912),
    Bar("kaggle:tfidf" + AGAIN, "kaggle", "accuracy", 0.625),
    Bar("kaggle:bow" + AGAIN, "kaggle", "accuracy", 0.645),
    Bar("kaggle:" + MIXTURE + MEMORY, "kaggle", "accuracy", 0.675),
    Bar("kaggle:lstm" + AGAIN, "sst5", "accuracy", 0.45),
    Bar("kaggle:lstm" + AGAIN, "sst2", "accuracy", 0.85),
    Bar("mr:" + CHOSEN, "sealed", "accuracy", 0.794),
]  # fmt: skip
