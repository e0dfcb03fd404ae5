"""What a run knows of texts it reads: how much of them is new to its vocabulary.

Used by slices (`evaluation/slices.py`).
"""

from collections.abc import Sequence

import numpy as np

from sentitok import Tokenizer

from ..text.encoder import TextEncoder
from ..text.hashed_ngrams import HashedNgrams
from ..text.open_vocabulary import OpenVocabulary

__all__ = ["vocabulary_facts"]

# Tokens a word at which a range ends.
_FEW, _MANY = 1.25, 2.0


def vocabulary_facts(predictor: object, texts: Sequence[str]) -> dict[str, list[str]]:
    """Returns, for a run with one vocabulary, what of each text is new to it; else nothing.

    `unknown words`: the share of words without an id of their own. Of subwords, which know every
    word, `tokens a word`: rare words take several.
    """
    encoder = getattr(predictor, "encoder", None)
    if not isinstance(encoder, TextEncoder):
        return {}
    if isinstance(encoder.encoder, Tokenizer):
        batch = encoder.encoder.encode_batch(list(map(encoder.prepare, texts)), add_special_tokens=False)
        counts = np.diff(batch.row_offsets).tolist()
        return {"tokens a word": [_fertility(n, text) for n, text in zip(counts, texts, strict=True)]}
    return {"unknown words": [_unknown(encoder, text) for text in texts]}


def _fertility(n_tokens: int, text: str) -> str:
    n = n_tokens / max(1, len(text.split()))
    return f"below {_FEW:g}" if n < _FEW else f"{_FEW:g} to {_MANY:g}" if n < _MANY else f"{_MANY:g} or more"


def _unknown(encoder: TextEncoder, text: str) -> str:
    own = encoder.encoder
    read = encoder.prepare(text)
    if isinstance(own, OpenVocabulary):
        new = [word not in own.ids for word in own.cut(read)]
    elif isinstance(own, HashedNgrams):
        new = (own._located(own._pieces([read]))[0] < 0)[1:-1].tolist()
    else:
        assert not isinstance(own, Tokenizer)
        new = [
            word not in own._ids for word in own.cutter.cut(read.lower() if own.config.lowercase else read)
        ]
    share = sum(new) / max(1, len(new))
    return "none" if not share else "up to a quarter" if share <= 0.25 else "over a quarter"
