"""SentencePiece's calls: `from sentitok.compat import sentencepiece` for `import sentencepiece`.

Ids, pieces, places, texts and the kinds of errors are those of sentencepiece 0.2.3. What differs, and
its missing parts are in docs/reference/compat-sentencepiece.md.

Source of what the calls mean: google/sentencepiece 0.2.3, `python/src/sentencepiece/__init__.py`.
"""

from typing import NoReturn

from ... import missing_attribute
from .draws import set_random_generator_seed
from .normalizer import SentencePieceNormalizer
from .processor import SentencePieceProcessor
from .threads import ThreadPool
from .trainer import SentencePieceTrainer

__all__ = [
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetMinLogLevel",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "__version__",
    "set_min_log_level",
    "set_random_generator_seed",
]

#: The version of sentencepiece whose calls these are; that of sentitok is `sentitok.__version__`.
__version__ = "0.2.3"


def set_min_log_level(level: int) -> None:
    """Does nothing: nothing is logged here."""


SetMinLogLevel = set_min_log_level
SetRandomGeneratorSeed = set_random_generator_seed

_ELSEWHERE = {
    "sentencepiecemodelpb2": "import it from sentencepiece, for a model as protobuf",
    "sentencepiecepb2": "a text with its pieces is SentencePieceText.FromString(data)",
    "converttoflatbuffer": "it writes files for another reader; convert them with sentencepiece",
    "setnbesttimeout": "a search takes its time, which grows with text and list; ask for fewer ways",
    "setdatadir": "the rules that have a name are part of the package",
}


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute.error(f"module {__name__!r}", name, _ELSEWHERE)
