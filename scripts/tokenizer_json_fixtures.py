"""Writes tests/data/tokenizer_json: small files of tokenizers 0.23.3 and what they do.

Each NAME.json is a file as that library saves it; NAME.expected.json holds texts,
their ids and what these decode to. Run: python scripts/tokenizer_json_fixtures.py
"""

import json
from pathlib import Path
from typing import Any

import tokenizers
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

OUT = Path(__file__).parent.parent / "tests" / "data" / "tokenizer_json"
CORPUS = [
    "the lower lowest newest widest low low low, the lower the newer",
    "It's 2024, we've 12345 films -- \"good\" ones!\n\n  indented  text\r\n",
    "Ünïcode straße, 日本語 и русский текст, 😀 emoji 👩‍👩‍👧",
    "def f(x):\n\treturn x ** 2  # square\n",
] * 3
TEXTS = [
    "",
    " ",
    "the lower text",
    "  the   newest\n\n films  ",
    "It's 12345 straße 日本語 😀",
    "<s>the</s> <mask> low",
    "lower<mask>lower",
    "a▁b ▁ c",
    "русский\ttext\r\n",
    "ǅ\u0301 \u00a0x",
    "\u0000\u007f",
]
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(split: str | None = None, special: list[str] | None = None, **kwargs: bool) -> Tokenizer:
    tok = Tokenizer(models.BPE())
    if split is None:
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kwargs.get("add_prefix_space", False))
    else:
        tok.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(split), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special or [],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(CORPUS, trainer)
    return tok


def gpt2() -> Tokenizer:
    return byte_level(special=["<|endoftext|>"])


def llama3() -> Tokenizer:
    tok = byte_level(CL100K)
    tok.add_special_tokens(["<s>", "</s>"])
    tok.model.ignore_merges = True
    tok.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=False, trim_offsets=True),
            processors.TemplateProcessing(
                single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", tok.token_to_id("<s>"))]
            ),
        ]
    )
    return tok


def roberta() -> Tokenizer:
    tok = byte_level(special=["<s>", "</s>"], add_prefix_space=True)
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tok.add_tokens(["low"])
    tok.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tok


def spaced_specials() -> Tokenizer:
    return byte_level(special=["<a b>", "<｜begin▁of▁sentence｜>", "<s>"])


def characters(tok: Tokenizer, **kwargs: Any) -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=250, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False, **kwargs
    )
    tok.train_from_iterator(CORPUS, trainer)
    return tok


def llama2() -> Tokenizer:
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    characters(tok)
    vocab = tok.get_vocab()
    old = json.loads(tok.to_str())
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    old["model"].update(vocab=vocab, byte_fallback=True)
    tok = Tokenizer.from_str(json.dumps(old))
    tok.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return tok


def metaspace() -> Tokenizer:
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tok.decoder = decoders.Metaspace(prepend_scheme="first")
    return characters(tok)


def suffix() -> Tokenizer:
    tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.BPEDecoder(suffix="</w>")
    tok.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
    return characters(tok, end_of_word_suffix="</w>")


def whitespace() -> Tokenizer:
    tok = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    return characters(tok, continuing_subword_prefix="##")


def main() -> None:
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (gpt2, llama3, roberta, spaced_specials, llama2, metaspace, suffix, whitespace):
        tok = make()
        (OUT / f"{make.__name__}.json").write_bytes(tok.to_str(pretty=True).encode())
        rows = []
        for text in TEXTS:
            with_template, plain = tok.encode(text), tok.encode(text, add_special_tokens=False)
            pair = tok.encode(text, "the film")
            rows.append(
                {
                    "text": text,
                    "ids": with_template.ids,
                    "plain_ids": plain.ids,
                    "pair_ids": pair.ids,
                    "pair_type_ids": pair.type_ids,
                    "decoded": tok.decode(plain.ids, skip_special_tokens=False),
                }
            )
        expected = json.dumps(rows, ensure_ascii=False, indent=0)
        (OUT / f"{make.__name__}.expected.json").write_text(expected + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
