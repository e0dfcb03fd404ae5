"""The pipelines that published families of models have, built small by tokenizers.

Normalizer, pre-tokenizer, post-processor and decoder are those of the published files; the
vocabulary is trained on bundled text. Not the published vocabularies themselves: see
`test_parity_data.py`, `test_parity_wordpiece.py`, `test_parity_unigram.py`.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

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

FILES = sorted((Path(__file__).resolve().parent.parent / "data" / "corpus").glob("*.txt"))
#: What vocabularies are trained on.
TEXTS = [line for path in FILES for line in path.read_text("utf-8").split("\n")[::8]]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
BLANKS = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = GPT4 + BLANKS
QWEN = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN_3_5 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
) + BLANKS
HEAD = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
TAIL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    rf"{HEAD}*{TAIL}+{CONTRACTION}|{HEAD}+{TAIL}*{CONTRACTION}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*"
) + BLANKS
TEKKEN = rf"{HEAD}*{TAIL}+|{HEAD}+{TAIL}*|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*" + BLANKS
# The published file spells CR and LF as themselves.
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*" + BLANKS
).replace(r"\r\n", "\r\n")
DEEPSEEK_LLM = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"]
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"

Family = Callable[[], Tokenizer]


def byte_level(
    steps: Any, special: list[str], normalizer: Any = None, trim: bool | None = False, **model: Any
) -> Tokenizer:
    """A tokenizer with the bytes as its alphabet."""
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
        show_progress=False,
        **{key: value for key, value in model.items() if key.endswith("fix")},
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if trim is not None:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    return tokenizer


def level(use_regex: bool = True, prefix: bool = False) -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def split(*patterns: str) -> Any:
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, level(use_regex=False)])


def template(single: str, pair: str, tokenizer: Tokenizer) -> Any:
    """A template whose special tokens are those of the tokenizer."""
    names = {part.split(":")[0] for part in (single + " " + pair).split()} - {"$A", "$B"}
    ids = [(name, tokenizer.token_to_id(name)) for name in sorted(names)]
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)


def starts(pattern: str, start: str) -> Tokenizer:
    """Byte-level, with a token before each text (Llama-3 and 4)."""
    tokenizer = byte_level(split(pattern), [start, "<|end_of_text|>", "<|eot_id|>"], ignore_merges=True)
    frame = template(f"{start} $A", f"{start} $A {start}:1 $B:1", tokenizer)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), frame])
    return tokenizer


def qwen(pattern: str) -> Tokenizer:
    return byte_level(split(pattern), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], normalizers.NFC())


def phi4() -> Tokenizer:
    cut = pre_tokenizers.Split(Regex(CL100K), "removed", invert=True)
    steps = pre_tokenizers.Sequence([cut, level(use_regex=False)])
    return byte_level(steps, ["<|endoftext|>", "<|im_sep|>"], trim=False)


def phi2() -> Tokenizer:
    tokenizer = byte_level(level(), ["<|endoftext|>"], trim=True)
    tokenizer.add_tokens([AddedToken(" " * n, normalized=False) for n in (4, 3, 2)])
    return tokenizer


def deepseek_v3() -> Tokenizer:
    start = "<｜begin▁of▁sentence｜>"
    steps = split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK)
    tokenizer = byte_level(steps, [start], normalizers.Sequence([]), trim=None)
    frame = template(f"{start} $A", f"{start} $A {start}:1 $B:1", tokenizer)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), frame])
    return tokenizer


def deepseek_llm() -> Tokenizer:
    """The first DeepSeek, whose file holds `$`."""
    steps: list[Any] = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in DEEPSEEK_LLM]
    steps.insert(3, pre_tokenizers.Split(Regex(r"\s+$"), "isolated"))
    steps += [pre_tokenizers.Digits(individual_digits=True), level(use_regex=False)]
    return byte_level(pre_tokenizers.Sequence(steps), ["<｜begin▁of▁sentence｜>"], normalizers.Sequence([]))


def gpt_neox() -> Tokenizer:
    tokenizer = byte_level(level(), ["<|endoftext|>", "<|padding|>"], normalizers.NFC(), trim=True)
    tokenizer.add_tokens([AddedToken("   ", normalized=True), AddedToken("  ", normalized=True)])
    return tokenizer


def bloom() -> Tokenizer:
    return byte_level(split(BLOOM), ["<unk>", "<s>", "</s>", "<pad>"])


def falcon() -> Tokenizer:
    steps = [
        pre_tokenizers.Punctuation("contiguous"),
        level(),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated"),
    ]
    return byte_level(pre_tokenizers.Sequence(steps), [">>TITLE<<", "<|endoftext|>"], trim=None)


def starcoder2() -> Tokenizer:
    steps = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level()])
    return byte_level(steps, ["<|endoftext|>", "<fim_prefix>"], trim=None)


def command_r() -> Tokenizer:
    steps = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level()])
    start = "<BOS_TOKEN>"
    tokenizer = byte_level(steps, ["<PAD>", "<UNK>", start, "<EOS_TOKEN>"], normalizers.NFC(), trim=None)
    tokenizer.post_processor = template(f"{start} $A", f"{start} $A {start}:1 $B:1", tokenizer)
    return tokenizer


def modern_bert() -> Tokenizer:
    tokenizer = byte_level(level(), BERT, normalizers.NFC(), trim=None)
    tokenizer.post_processor = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", tokenizer)
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, normalized=False)])
    return tokenizer


def roberta() -> Tokenizer:
    tokenizer = byte_level(level(prefix=True), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], trim=None)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def clip() -> Tokenizer:
    cut = pre_tokenizers.Split(Regex(CLIP), "removed", invert=True)
    steps = [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    special = ["<|startoftext|>", "<|endoftext|>"]
    tokenizer = byte_level(
        pre_tokenizers.Sequence([cut, level()]),
        special,
        normalizers.Sequence(steps),
        trim=None,
        continuing_subword_prefix="",
        end_of_word_suffix="</w>",
    )
    tokenizer.post_processor = processors.RobertaProcessing(
        (special[1], 1), (special[0], 0), trim_offsets=False, add_prefix_space=False
    )
    return tokenizer


def whisper() -> Tokenizer:
    frame = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
    tokenizer = byte_level(level(), ["<|endoftext|>", *frame], trim=None)
    before = " ".join(frame)
    single, pair = f"{before} $A <|endoftext|>", f"{before} $A $B:1 <|endoftext|>:1"
    tokenizer.post_processor = template(single, pair, tokenizer)
    return tokenizer


def with_fallback(special: list[str], normalizer: Any, steps: Any, strip: bool) -> Tokenizer:
    """BPE over characters that spells unknown ones as bytes."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if steps is not None:
        tokenizer.pre_tokenizer = steps
    decoder = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*decoder, *([decoders.Strip(" ", 1, 0)] if strip else [])])
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=special + BYTES,
        limit_alphabet=200,
        max_token_length=12,
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def llama_2() -> Tokenizer:
    steps = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = with_fallback(["<unk>", "<s>", "</s>"], steps, None, strip=True)
    tokenizer.post_processor = template("<s> $A", "<s> $A <s>:1 $B:1", tokenizer)
    return tokenizer


def llama_2_first() -> Tokenizer:
    """Llama-2, Mistral and CodeLlama as newer files have them."""
    steps = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer = with_fallback(["<unk>", "<s>", "</s>"], None, steps, strip=True)
    tokenizer.post_processor = template("<s> $A", "<s> $A <s>:1 $B:1", tokenizer)
    return tokenizer


def code_llama() -> Tokenizer:
    tokenizer = llama_2()
    infix = [AddedToken(f"▁<{name}>", normalized=False) for name in ("PRE", "SUF", "MID", "EOT")]
    tokenizer.add_special_tokens(infix)
    return tokenizer


def phi3() -> Tokenizer:
    tokenizer = llama_2()
    tokenizer.add_special_tokens([AddedToken("<|user|>", rstrip=True), AddedToken("<|end|>", rstrip=True)])
    return tokenizer


def gemma() -> Tokenizer:
    steps = pre_tokenizers.Split(" ", "merged_with_previous")
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer = with_fallback(special, normalizers.Replace(" ", "▁"), steps, strip=False)
    tokenizer.post_processor = template("<bos> $A", "<bos> $A <bos>:1 $B:1", tokenizer)
    return tokenizer


def unigram(special: list[str], normalizer: Any, steps: Any, single: str, pair: str) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(normalizer)
    tokenizer.pre_tokenizer = steps
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=2500, special_tokens=special, unk_token="<unk>", show_progress=False, n_sub_iterations=1
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = template(single, pair, tokenizer)
    return tokenizer


MARK = partial(pre_tokenizers.Metaspace, prepend_scheme="always")
SPACES = normalizers.Replace(Regex(" {2,}"), " ")
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def words(scheme: str = "always") -> Any:
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), MARK(prepend_scheme=scheme)])


def xlm_r() -> Tokenizer:
    single, pair = "<s> $A </s>", "<s> $A </s> </s> $B </s>"
    return unigram([*SPECIAL, "<mask>"], [normalizers.NFKC(), SPACES], words(), single, pair)


def mbart() -> Tokenizer:
    special = [*SPECIAL, "en_XX"]
    return unigram(special, [normalizers.NFKC()], words(), "$A </s> en_XX", "$A $B </s> en_XX")


def nllb() -> Tokenizer:
    special = [*SPECIAL, "eng_Latn"]
    steps = [normalizers.NFKC(), SPACES]
    return unigram(special, steps, MARK(), "eng_Latn $A </s>", "eng_Latn $A $B </s>")


def deberta_v2(steps: list[Any]) -> Tokenizer:
    normalizer = [normalizers.Lowercase(), normalizers.Strip(), normalizers.NFKC(), SPACES]
    single, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    return unigram(["<unk>", *BERT], normalizer, pre_tokenizers.Sequence(steps), single, pair)


def deberta_5() -> Tokenizer:
    """DeBERTa-v2 as transformers 5 makes it."""
    normalizer = [
        normalizers.Lowercase(),
        normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
        normalizers.NFC(),
        normalizers.Strip(left=False, right=True),
    ]
    steps = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), MARK()])
    single, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    return unigram(["<unk>", *BERT], normalizer, steps, single, pair)


def albert(steps: Any) -> Tokenizer:
    normalizer = [
        normalizers.Replace("``", '"'),
        normalizers.Replace("''", '"'),
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        SPACES,
    ]
    single, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    return unigram(["<pad>", "<unk>", *BERT[2:]], normalizer, steps, single, pair)


def wordpiece(framed: str) -> Tokenizer:
    """BERT and ELECTRA."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=BERT, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    frame = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", tokenizer)
    tokenizer.post_processor = (
        frame if framed == "template" else processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    )
    return tokenizer


FAMILIES: dict[str, Family] = {
    "Llama-2, Mistral v1": llama_2,
    "Llama-2, newer files": llama_2_first,
    "CodeLlama": code_llama,
    "Phi-3": phi3,
    "Gemma 2 and 3": gemma,
    "Llama-3": partial(starts, CL100K, "<|begin_of_text|>"),
    "Llama-4": partial(starts, O200K, "<|begin_of_text|>"),
    "gpt-oss": partial(byte_level, split(O200K), ["<|startoftext|>", "<|endoftext|>"], trim=None),
    "Qwen 2 to 3": partial(qwen, QWEN),
    "Qwen 3.5": partial(qwen, QWEN_3_5),
    "DeepSeek-V3": deepseek_v3,
    "DeepSeek LLM": deepseek_llm,
    "Mistral tekken": partial(byte_level, split(TEKKEN), ["<unk>", "<s>", "</s>", "[INST]"]),
    "Phi-2": phi2,
    "Phi-4": phi4,
    "GPT-NeoX": gpt_neox,
    "BLOOM": bloom,
    "Falcon": falcon,
    "StarCoder2": starcoder2,
    "Command-R": command_r,
    "ModernBERT": modern_bert,
    "RoBERTa": roberta,
    "CLIP": clip,
    "Whisper": whisper,
    "XLM-R": xlm_r,
    "mBART": mbart,
    "NLLB": nllb,
    "DeBERTa v2 and v3": partial(deberta_v2, [MARK()]),
    "DeBERTa v2, punctuation split": partial(deberta_v2, [pre_tokenizers.Punctuation("isolated"), MARK()]),
    "DeBERTa v2, newer files": deberta_5,
    "ALBERT": partial(albert, MARK()),
    "ALBERT, newer files": partial(albert, words("first")),
    "BERT": partial(wordpiece, "bert"),
    "ELECTRA": partial(wordpiece, "template"),
}


@cache
def file_of(family: str) -> str:
    """The `tokenizer.json` of a family, trained once."""
    text: str = FAMILIES[family]().to_str()
    return text
