"""Train and run tokenizers: exact, deterministic, parallel, in bounded memory.

>>> import sentitok
>>> tokenizer = sentitok.train_bpe(texts=["low lower lowest"], vocab_size=260)
>>> tokenizer.encode("lower").tokens
['low', 'e', 'r']
>>> tokenizer.decode(tokenizer.encode("lower").ids)
'lower'
"""

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
    SentitokError,
    Special,
    StreamDecoder,
    Tokenizer,
    TrainError,
    TrainReport,
    WordCounts,
    __version__,
    count,
    encode_files,
    merge_counts,
    train_bpe,
    train_unigram,
    train_wordpiece,
)

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
    "SentitokError",
    "Special",
    "StreamDecoder",
    "Tokenizer",
    "TrainError",
    "TrainReport",
    "WordCounts",
    "__version__",
    "count",
    "encode_files",
    "merge_counts",
    "train_bpe",
    "train_unigram",
    "train_wordpiece",
]
