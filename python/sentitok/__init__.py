"""Train and run tokenizers: exact, deterministic, parallel, in bounded memory.

>>> import sentitok
>>> tokenizer = sentitok.train_bpe(texts=["low lower lowest"], vocab_size=260)
>>> tokenizer.encode("lower").tokens
['low', 'e', 'r']
>>> tokenizer.decode(tokenizer.encode("lower").ids)
'lower'
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._sentitok import (
        AddedToken,
        DecodeError,
        EncodeError,
        Encoding,
        EncodingBatch,
        FormatError,
        InternalError,
        Normalizer,
        PreTokenizer,
        SentencePieceModel,
        SentitokError,
        Special,
        StreamDecoder,
        StreamEncoder,
        Tokenizer,
        TrainError,
        TrainReport,
        WordCounts,
        __version__,
        count,
        encode_files,
        merge_counts,
        remove_checkpoint,
        train_bpe,
        train_parity_bpe,
        train_unigram,
        train_wordpiece,
    )
    from .acceleration import accelerate
    from .alignment import align
    from .chat.dataset import encode_chats
    from .embeddings import transplant
    from .names import encoding_for_model, get_encoding
    from .pretrained import Settings

__all__ = [
    "AddedToken",
    "DecodeError",
    "EncodeError",
    "Encoding",
    "EncodingBatch",
    "FormatError",
    "InternalError",
    "Normalizer",
    "PreTokenizer",
    "SentencePieceModel",
    "SentitokError",
    "Settings",
    "Special",
    "StreamDecoder",
    "StreamEncoder",
    "Tokenizer",
    "TrainError",
    "TrainReport",
    "WordCounts",
    "__version__",
    "accelerate",
    "align",
    "count",
    "encode_chats",
    "encode_files",
    "encoding_for_model",
    "get_encoding",
    "merge_counts",
    "remove_checkpoint",
    "train_bpe",
    "train_parity_bpe",
    "train_unigram",
    "train_wordpiece",
    "transplant",
]

if not TYPE_CHECKING:
    # The extension is loaded when it is first used: a command that begins to run answers
    # Ctrl-C before that (`cli/signals.py`), and `senti --help` does without it.
    _ELSEWHERE = {
        "Settings": "pretrained",
        "accelerate": "acceleration",
        "align": "alignment",
        "encode_chats": "chat.dataset",
        "encoding_for_model": "names",
        "get_encoding": "names",
        "transplant": "embeddings",
    }

    _READ = "it is sentitok.Tokenizer.from_file(path)"
    _TRAIN = "train_bpe, train_unigram and train_wordpiece are one call each"
    # Names that other libraries have, in lower case without underscores, and what to write here.
    _MEANT = {
        "autotokenizer": "it is sentitok.Tokenizer.from_pretrained(name)",
        "bpe": "it is sentitok.train_bpe(...)",
        "encodingnameformodel": "encoding_for_model(name) gives the tokenizer",
        "fromfile": _READ,
        "frompretrained": "it is sentitok.Tokenizer.from_pretrained(name)",
        "listencodingnames": "it is sentitok.names.names()",
        "load": _READ,
        "sentencepieceprocessor": "it is of sentitok.compat.sentencepiece",
        "train": _TRAIN,
        "trainers": _TRAIN,
        "unigram": "it is sentitok.train_unigram(...)",
        "wordpiece": "it is sentitok.train_wordpiece(...)",
    }

    def _missing(name):
        """Returns the error for a name that the package does not have."""
        from importlib.util import find_spec

        from .missing_attribute import error

        is_module = not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None
        own = {name.lower().replace("_", ""): f"it is a module: import {__name__}.{name}"}
        return error(f"module {__name__!r}", name, own if is_module else _MEANT)

    def __getattr__(name):
        if name not in __all__:
            raise _missing(name)
        from importlib import import_module

        home = _ELSEWHERE.get(name, "_sentitok")
        module = import_module(f".{home}", __name__)
        same = [known for known in __all__ if _ELSEWHERE.get(known, "_sentitok") == home]
        globals().update({known: getattr(module, known) for known in same})
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})
