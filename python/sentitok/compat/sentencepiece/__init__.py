"""SentencePiece's calls: `from sentitok.compat import sentencepiece` for `import sentencepiece`.

Ids, pieces, texts and the kinds of errors are those of sentencepiece 0.2.3. What differs: samples
are drawn by a generator of our own, n-best lists are summed in 64 bits, and training is ours (see
`trainer`). What is not there says what to call instead.

Source of what the calls mean: google/sentencepiece 0.2.3, `python/src/sentencepiece/__init__.py`.
"""

from .draws import set_random_generator_seed
from .processor import SentencePieceProcessor
from .trainer import SentencePieceTrainer

__all__ = [
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetRandomGeneratorSeed",
    "set_random_generator_seed",
]

SetRandomGeneratorSeed = set_random_generator_seed
