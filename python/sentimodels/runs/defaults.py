"""Tables of what holds unless it is set, by size and task. `families.py` puts them together.

Defaults that depend on nothing are in the sections (`config/`), those of an architecture in its row
(`models/`).
"""

from typing import Any

__all__ = [
    "BATCHES",
    "BUDGETS",
    "DEFAULT_PRESET",
    "MODEL",
    "OPTIM",
    "PRESETS",
    "SEQ2SEQ",
    "TIED",
]

# Of each size: rows of a batch, highest rate, tokens to train on. Rates are those of TinyLLM, except for the
# two smallest: of 1e-3 to 2.4e-2 nano ended best with 3e-3 (`benches/models/optimizers.py`).
PRESETS: dict[str, tuple[int, float, int]] = {
    "nano": (64, 3e-3, 41_000_000),
    "micro": (64, 3e-3, 41_000_000),
    "tiny": (32, 1e-3, 82_000_000),
    "small": (32, 1e-3, 328_000_000),
    "medium": (16, 8e-4, 655_000_000),
    "large": (16, 8e-4, 655_000_000),
    "x-large": (8, 5e-4, 1_310_000_000),
    "xx-large": (8, 5e-4, 2_600_000_000),
    "3x-large": (4, 3e-4, 5_200_000_000),
    "4x-large": (4, 3e-4, 10_500_000_000),
    "5x-large": (2, 2e-4, 21_000_000_000),
}
DEFAULT_PRESET = "tiny"
# Sizes at which a table of its own would be most of the model.
TIED = ("nano", "micro", "tiny")
# What `[model]` of a language model has, where the architecture has such a key.
MODEL: dict[str, dict[str, Any]] = {
    "next-token": {
        "causal": True, "bidirectional": False, "norm": "rms", "norm_order": "pre", "activation": "swiglu",
        "positions": "rotary", "biases": False, "dropout": 0.0, "embedding_dropout": 0.0,
        "char_ngrams": [0, 0], "pooling": "last",
    },
    # With learned positions the loss stays near that of a unigram model for millions of tokens.
    "masked": {
        "norm_order": "pre", "positions": "rotary", "embedding_dropout": 0.0, "char_ngrams": [0, 0],
    },
}  # fmt: skip
OPTIM: dict[str, Any] = {
    "betas": [0.9, 0.95], "weight_decay": 0.1, "warmup": 0.02, "sparse_embeddings": False,
}  # fmt: skip
# An alignment that is given neither steps nor epochs.
BUDGETS: dict[str, dict[str, int]] = {"ppo": {"max_steps": 100}, "dpo": {"epochs": 1}}
# Of few answers a step learns more noise than reward; of few pairs it does not.
BATCHES = {"ppo": 256, "dpo": 32}
# The architecture of a translation model that is an encoder and a decoder.
SEQ2SEQ = "seq2seq"
