"""The pipelines that published families of models have, as tokenizers writes them.

Each is built and trained by tokenizers on bundled text, saved, read here, and written again:
ids, decoded text and the file written must be the same. Not for the published vocabularies
themselves: see `test_parity_data.py`, `test_parity_wordpiece.py`, `test_parity_unigram.py`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import sentitok

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"
FILES = sorted(str(path) for path in CORPUS.glob("*.txt"))
ODD = [
    "日本語 123456 ①②",
    "a  b\t\tc\n\n d",
    "ＡＢＣ ﬁ ½ Å",
    "x" * 50,
    "",
    " lead",
    "trail  ",
    "👩‍👩‍👧 é é",
    "<s>hi</s> [MASK]",
]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(tokenizer: Tokenizer, special: list[str]) -> Tokenizer:
    """Trains what has the bytes as its alphabet."""
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
        show_progress=False,
    )
    tokenizer.train(FILES, trainer)
    return tokenizer


def with_fallback(tokenizer: Tokenizer, special: list[str]) -> Tokenizer:
    """Trains what spells unknown characters as bytes."""
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=special + BYTES,
        limit_alphabet=200,
        max_token_length=12,
        show_progress=False,
    )
    tokenizer.train(FILES, trainer)
    return tokenizer


def split(*patterns: str) -> pre_tokenizers.PreTokenizer:
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([*steps, last])


def qwen() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = split(QWEN)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return byte_level(tokenizer, ["<|endoftext|>", "<|im_start|>"])


def deepseek() -> Tokenizer:
    start = "<｜begin▁of▁sentence｜>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK)
    tokenizer = byte_level(tokenizer, [start])
    frame = processors.TemplateProcessing(single=f"{start} $A", special_tokens=[(start, 0)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), frame])
    return tokenizer


def gpt_neox() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer = byte_level(tokenizer, ["<|endoftext|>"])
    tokenizer.add_tokens([AddedToken("   ", normalized=True), AddedToken("  ", normalized=True)])
    return tokenizer


def roberta() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer = byte_level(tokenizer, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def gemma() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer = with_fallback(tokenizer, ["<pad>", "<eos>", "<bos>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)]
    )
    return tokenizer


def llama() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    return with_fallback(tokenizer, ["<unk>", "<s>", "</s>"])


def albert() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.Replace("''", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=6000,
        special_tokens=["<pad>", "<unk>", *BERT[2:]],
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train(FILES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def bert() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=2000, special_tokens=BERT, show_progress=False)
    tokenizer.train(FILES, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


FAMILIES = [qwen, deepseek, gpt_neox, roberta, gemma, llama, albert, bert]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_ids_and_text_equal_tokenizers(family: Callable[[], Tokenizer], tmp_path: Path) -> None:
    theirs = family()
    theirs.save(str(tmp_path / "theirs.json"))
    ours = sentitok.Tokenizer.from_file(tmp_path / "theirs.json")
    ours.save(tmp_path / "ours.json")
    again = Tokenizer.from_file(str(tmp_path / "ours.json"))
    lines = [line for file in FILES for line in Path(file).read_text("utf-8").split("\n")]
    for text in [*lines[::7], *ODD]:
        expected = theirs.encode(text).ids
        found = ours.encode(text, specials="all", add_special_tokens=True).ids.tolist()
        assert found == expected, text
        assert ours.decode(found, skip_special_tokens=True) == theirs.decode(expected), text
        assert again.encode(text).ids == expected, text
