"""What `bert.py` trains: pre-trained models, the classifiers that start from them, and what dev chooses from.

The runs are in `pretrained_steps.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeVar

Tree = dict[str, Any]
_Key = TypeVar("_Key")

SEEDS = 3
# Peak rates of fine-tuning, by set and architecture; rates of 1e-2 to 1e-4 that no kind had chosen before
# are left out of `bert` on phrases. Of reviews, which take longer, the one that all kinds have chosen on
# phrases. What each reached on dev is in the result.
RATES: dict[tuple[str, str], tuple[float, ...]] = {
    ("kaggle", "bert"): (3e-3, 1e-3),
    ("kaggle", "gpt"): (3e-3, 1e-3, 3e-4),
    ("imdb", "bert"): (1e-3,),
}
# Further settings of fine-tuning. Models are pre-trained with whole embeddings: one that starts
# from such a model may want more of them than one whose weights are drawn.
WAYS: dict[str, Tree] = {
    f"embedding dropout {share}": {"model": {"embedding_dropout": share}} for share in (0.5, 0.1)
}
CONTEXT = 128
PRESET, VOCABULARY = "micro", 8000


class Trial(NamedTuple):
    """What dev chooses, for each kind alone: a peak rate, and one of WAYS."""

    rate: float
    way: str

    def __str__(self) -> str:
        return f"{self.rate:g}, {self.way}"


@dataclass(frozen=True)
class Kind:
    """A model and where its weights start.

    Attributes:
        arch: the architecture.
        base: the pre-trained model whose shape and tokenizer it has.
        starts: whether its weights start from that model, or are drawn.
    """

    arch: str
    base: str
    starts: bool


KINDS = {
    "bert": Kind("bert", "masked", False),
    "bert, masked": Kind("bert", "masked", True),
    "bert, masked and next sentence": Kind("bert", "masked-next-sentence", True),
    "gpt": Kind("gpt", "next-token", False),
    "gpt, next token": Kind("gpt", "next-token", True),
}
OF_SETS = {"kaggle": tuple(KINDS), "imdb": tuple(KINDS)[:3]}
# Chosen by the loss on held-out text. With learned positions it stays near 6.2 for long. Batches of 64 rows,
# post-norm, dropout 0.1, 15 % of the tokens masked: 6.25 after 8 and 6.19 after 12 of 18 million tokens.
# Shorter runs to their end: batches of 16 rows 6.39 (2 million); pre-norm without dropout as well 6.32 (2
# million); 30 % masked as well, which is harder, 5.98 (4 million). Twice the learning rate was no better
# after 800,000 tokens; six times it ends at 6.24 (3 million). What keeps it there are the positions: after
# 1.2 million tokens written as phrases, the rate six times that, rotary ones are at 5.47, ALiBi at 5.74.
# Learned ones under the same settings were stopped at step 400 of 586: training loss 6.323, rotary ones 5.76
# there. Twelve times the rate is slower.
_MUON: Tree = {"name": "muon", "lr": 1.2e-2}
_MASKED: Tree = {
    "arch": "bert", "model": {"norm_order": "pre", "dropout": 0.0, "positions": "rotary"}, "optim": _MUON,
    "train": {"tokens": 6_500_000, "batch_size": 16},
}  # fmt: skip
# Batches of 16 rows learn faster than those of 64: 5.24 and 5.59 after 1.5 million tokens. A peak rate of
# embeddings and head of 2.4e-2 makes 5 million tokens end where 7 million do with 2e-3, at 4.57; half
# an hour of one core, the bar, reads 5 million on slow machines. 1.2e-2 is as good: after 2 million
# 4.87, and 4.83 with 2.4e-2. Rejected, by classifiers on dev, of reviews as they are, cut by byte-level
# BPE, half of each embedding dropped in fine-tuning (2026-11-28): 7 million tokens 0.6109, read both ways
# 0.6054; 5 million 0.6049; 18 million in bfloat16 0.6080 (three seeds); 5 million and two passes over the
# sentences of the phrases 0.6013; embeddings fine-tuned at the rate of all else instead of four times
# that 0.5886. A tenth dropped instead of half: 0.6220.
_NEXT_TOKEN: Tree = {"arch": "gpt", "optim": _MUON, "train": {"tokens": 5_000_000, "batch_size": 16}}
# Tokens: what one core reads in half an hour, the bar, on slow machines.
BASES: dict[str, Tree] = {
    "masked": {**_MASKED, "task": {"rate": 0.3}},
    "masked-next-sentence": {**_MASKED, "task": {"rate": 0.3, "next_sentence": True}},
    "next-token": _NEXT_TOKEN,
}
# What a set asks of fine-tuning. Of a long review both ends are read (Sun et al. 2019, 5.3.1).
OF_SET: dict[str, Tree] = {
    "kaggle": {},
    "imdb": {"data": {"long": "head-tail"}, "train": {"epochs": 3, "batch_size": 32}},
}
# Dropout is the classifier's own, whatever the base had.
OF_ARCH: dict[str, Tree] = {
    "bert": {"model": {"dropout": 0.1}},
    # Read forward, as in pre-training: of reviews cut by BPE better than both ways, from any weights.
    "gpt": {"model": {"pooling": "mean-max", "causal": True}},
}


def other_base(kind: str) -> str:
    """Returns the kind that has the same architecture and weights that are drawn."""
    return next(name for name, one in KINDS.items() if one.arch == KINDS[kind].arch and not one.starts)


def of_arch(of_set: str, arch: str) -> list[str]:
    """Returns all kinds of an architecture that a set has."""
    return [kind for kind in OF_SETS[of_set] if KINDS[kind].arch == arch]


def by_arch(kinds: Iterable[str]) -> dict[str, list[str]]:
    """Returns kinds by architecture."""
    grouped: dict[str, list[str]] = {}
    for kind in kinds:
        grouped.setdefault(KINDS[kind].arch, []).append(kind)
    return grouped


def trials(of_set: str, arch: str) -> list[Trial]:
    """Returns what dev chooses from."""
    return [Trial(rate, way) for way, rate in product(WAYS, RATES[of_set, arch])]


def chosen(reached: Mapping[_Key, float]) -> _Key:
    """Returns the trial that dev chooses."""
    return max(reached, key=lambda trial: reached[trial])


def recipe(of_set: str, arch: str) -> Tree:
    """Returns what decides the numbers of an architecture on a set, wherever its runs are."""
    bases = dict.fromkeys(KINDS[kind].base for kind in of_arch(of_set, arch))
    return {
        "bases": {name: BASES[name] for name in bases}, "preset": PRESET, "vocab_size": VOCABULARY,
        "context": CONTEXT, "rates": list(RATES[of_set, arch]), "seeds": SEEDS, "classifier": OF_ARCH[arch],
        "of_set": OF_SET[of_set], "ways": WAYS, "as_phrases": True,
    }  # fmt: skip


def wanted(asked: list[str]) -> dict[str, list[str]]:
    """Returns the kinds that are asked for of each set, `set:kind` or `set:arch`; all where none is named."""
    chosen: dict[str, list[str]] = {}
    unknown = dict.fromkeys(asked)
    for of_set, kinds in OF_SETS.items():
        for kind in kinds:
            names = (of_set, f"{of_set}:{kind}", f"{of_set}:{KINDS[kind].arch}")
            if not asked or any(name in asked for name in names):
                chosen.setdefault(of_set, []).append(kind)
            for name in names:
                unknown.pop(name, None)
    if unknown:
        known = [f"{of_set}:{kind}" for of_set, kinds in OF_SETS.items() for kind in kinds]
        raise SystemExit(f"bert.py: no {next(iter(unknown))!r}; there are: {', '.join([*OF_SETS, *known])}")
    return chosen
