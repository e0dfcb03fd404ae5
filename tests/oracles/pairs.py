"""Small tokenizers of five families, in transformers and here, and their results in one form."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from sentitok import EncodingBatch, Tokenizer

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

CORPUS = [
    "The quick brown fox jumps over the lazy dog, doesn't it? Yes: it does!",
    "Where is the naïve café of 東京 — and who owns it? Nobody knows (2024).",
    "unaffable unbelievable tokenization of pre-tokenized words in windows",
]
QUESTIONS = ["Who owns the café?", "", "What does the naïve fox do in 東京, and why doesn't it stop?", " a "]
CONTEXTS = [
    "The quick brown fox jumps over the lazy dog. " * 4 + "🤚🏾 ½ unaffable",
    "It is the  café of 東京.",
    "",
    "\n naïve words — of (2024) windows " * 3,
]


def bert() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=150, special_tokens=special))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.decoder = decoders.WordPiece()
    return made


def byte_level(prefix: bool, processor: Callable[[], Any], special: list[str]) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = processor()
    made.decoder = decoders.ByteLevel()
    return made


def roberta(prefix: bool = True) -> tokenizers.Tokenizer:
    return byte_level(
        prefix,
        lambda: processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, prefix),
        ["<s>", "<pad>", "</s>"],
    )


def gpt2(prefix: bool = True) -> tokenizers.Tokenizer:
    return byte_level(prefix, lambda: processors.ByteLevel(trim_offsets=False), ["<|endoftext|>"])


def t5() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>")
    made.train_from_iterator(CORPUS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    made.decoder = decoders.Metaspace(prepend_scheme="always")
    return made


def llama() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=420, special_tokens=special))
    file = json.loads(made.to_str())
    file["added_tokens"] = file["added_tokens"][:3]
    made = tokenizers.Tokenizer.from_str(json.dumps(file))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return made


FAMILIES: dict[str, Callable[[], tokenizers.Tokenizer]] = {
    "bert": bert, "roberta": roberta, "gpt2": gpt2, "t5": t5, "llama": llama,
    "roberta, no prefix": lambda: roberta(False), "gpt2, no prefix": lambda: gpt2(False),
}  # fmt: skip


@cache
def family(name: str) -> tuple[Tokenizer, Any]:
    made = FAMILIES[name]()
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=made)
    theirs.pad_token = made.id_to_token(0)
    return Tokenizer.from_bytes(made.to_str().encode()), theirs


def aligned(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Their offsets, except for tokens that have an empty place here: they give these the next character's
    (docs/explanation/exactness.md)."""
    assert len(ours) == len(theirs)

    def put_in(own: tuple[int, int], other: tuple[int, int]) -> bool:
        return own[0] == own[1] == other[0] and other[1] == other[0] + 1

    return [own if put_in(own, other) else other for own, other in zip(ours, theirs, strict=True)]


def assert_equal(batch: EncodingBatch, found: Any, *, follows_template: bool = True) -> None:
    """`follows_template`: a template that gives both texts one segment is not applied to the later
    windows of tokenizers, whose second text keeps segment 1 (docs/explanation/exactness.md)."""
    ours, theirs = ours_as_theirs(batch), theirs_as_ours(found)
    assert len(ours["input_ids"]) == len(theirs["input_ids"])
    for name, values in theirs.items():
        if name == "offset_mapping":
            values = [aligned(*rows) for rows in zip(ours[name], values, strict=True)]
        if name == "token_type_ids" and not follows_template:
            starts = np.unique(batch.source_rows, return_index=True)[1].tolist()
            assert [ours[name][row] for row in starts] == [values[row] for row in starts]
            continue
        assert ours[name] == values, name


def ours_as_theirs(batch: EncodingBatch) -> dict[str, Any]:
    """Each row as in transformers."""
    rows = list(batch)

    def blank(values: NDArray[np.int64]) -> list[int | None]:
        return [None if value < 0 else value for value in values.tolist()]

    return {
        "input_ids": [row.ids.tolist() for row in rows],
        "token_type_ids": [row.type_ids.tolist() for row in rows],
        "special_tokens_mask": [row.special_tokens_mask.astype(int).tolist() for row in rows],
        "offset_mapping": [list(map(tuple, row.offsets().tolist())) for row in rows],
        "word_ids": [blank(row.word_ids) for row in rows],
        "sequence_ids": [blank(row.sequence_ids) for row in rows],
        "overflow_to_sample_mapping": batch.source_rows.tolist(),
    }


def theirs_as_ours(found: Any) -> dict[str, Any]:
    rows = range(len(found["input_ids"]))
    return {
        "input_ids": found["input_ids"],
        "token_type_ids": [encoding.type_ids for encoding in found.encodings],
        "special_tokens_mask": found["special_tokens_mask"],
        "offset_mapping": [list(map(tuple, row)) for row in found["offset_mapping"]],
        "word_ids": [found.word_ids(row) for row in rows],
        "sequence_ids": [found.sequence_ids(row) for row in rows],
        "overflow_to_sample_mapping": list(found.get("overflow_to_sample_mapping", rows)),
    }


ALL = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "verbose": False}
