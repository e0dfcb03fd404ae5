"""Classifiers and language models on top of `sentitok`: data, architectures, training, honest numbers.

The extra `models` installs what they need. Shape letters used throughout: B batch, T tokens,
D d_model, H heads, K d_head, N d_state, V vocabulary, C classes; `mask` is True at real tokens.

>>> from sentimodels import Classifier              # doctest: +SKIP
>>> Classifier.load("runs/lstm").predict(["great fun", "a mess"])   # doctest: +SKIP
['4', '0']
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .classifier import Classifier
    from .config import RunConfig
    from .language_model import LanguageModel
    from .runs.execute import train
    from .runs.families import resolve
    from .translator import Translator

__all__ = ["Classifier", "LanguageModel", "RunConfig", "Translator", "resolve", "train"]

_HOMES = {
    "Classifier": "classifier", "LanguageModel": "language_model", "RunConfig": "config",
    "Translator": "translator", "resolve": "runs.families", "train": "runs.execute",
}  # fmt: skip


def __getattr__(name: str) -> object:
    # torch takes seconds to import; `senti --help` and `senti data` do without it.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
