"""Cases of `documentation/` and `implementations/`."""

import gzip
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import shared_data

from . import Library, case
from .models_and_training import corpus
from .processes import encodes_after_a_fork
from .tokenizer import bert_vocab

TOUR = "documentation/test_quicktour.py::TestQuicktour::"
PIPELINE = "documentation/test_pipeline.py::TestPipeline::"
ITERATORS = "documentation/test_tutorial_train_from_iterators.py::TestTrainFromIterators::"
BASE = "implementations/test_base_tokenizer.py::TestBaseTokenizer::"
BERT = "implementations/test_bert_wordpiece.py::TestBertWordPieceTokenizer::"
LEVEL = "implementations/test_byte_level_bpe.py::TestByteLevelBPE::"
CHAR = "implementations/test_char_bpe.py::TestCharBPETokenizer::"
MARKED = "implementations/test_sentencepiece.py::TestSentencePieceBPE::"

SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
HELLO = ["Hello, y'all!", "How are you 😁 ?"]
PARTS = [["Hello", ",", "y", "'", "all", "!"], ["How", "are", "you", "[UNK]", "?"]]
TEXTS = [*HELLO[:1], "How are you ?"] * 3
SENTENCES = ["A first sentence", "Another sentence", "And a last one"]


def template(lib: Library, tokenizer: Any) -> Any:
    return lib.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )


def toured(lib: Library) -> Any:
    tokenizer = lib.Tokenizer(lib.models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = lib.pre_tokenizers.Whitespace()
    trainer = lib.trainers.BpeTrainer(special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


@case(TOUR + "test_quicktour")
def _(lib: Library) -> None:
    """With a vocabulary of the tour's sentences instead of Wikipedia's."""
    tokenizer, text = toured(lib), " ".join(HELLO)
    found = tokenizer.encode(text)
    assert found.tokens == [*PARTS[0], *PARTS[1]]
    assert found.ids[9] == 0
    assert found.offsets[9] == (26, 27)
    assert text[26:27] == "😁"
    assert tokenizer.token_to_id("[SEP]") == 2
    tokenizer.post_processor = template(lib, tokenizer)
    assert tokenizer.encode(text).tokens == ["[CLS]", *PARTS[0], *PARTS[1], "[SEP]"]
    pair = tokenizer.encode(*HELLO)
    assert pair.tokens == ["[CLS]", *PARTS[0], "[SEP]", *PARTS[1], "[SEP]"]
    assert pair.type_ids == [0] * 8 + [1] * 6
    assert len(tokenizer.encode_batch([HELLO, ["Hello to you too!", "I'm fine, thank you!"]])) == 2
    tokenizer.enable_padding(pad_id=3, pad_token="[PAD]")
    batch = tokenizer.encode_batch(HELLO)
    assert batch[1].tokens == ["[CLS]", *PARTS[1], "[SEP]", "[PAD]"]
    assert batch[1].attention_mask == [1] * 7 + [0]


@case(PIPELINE + "test_pipeline")
def _(lib: Library) -> None:
    n, p = lib.normalizers, lib.pre_tokenizers
    tokenizer = toured(lib)
    steps = n.Sequence([n.NFD(), n.StripAccents()])
    assert steps.normalize_str("Héllò hôw are ü?") == "Hello how are u?"
    tokenizer.normalizer = steps
    text = "Hello! How are you? I'm fine, thank you."
    pieces = p.Whitespace().pre_tokenize_str(text)
    words = ["Hello", "!", "How", "are", "you", "?", "I", "'", "m", "fine", ",", "thank", "you", "."]
    assert [piece for piece, _ in pieces] == words
    assert all(text[start:end] == piece for piece, (start, end) in pieces)
    both = p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)])
    pieces = [("Call", (0, 4)), ("9", (5, 6)), ("1", (6, 7)), ("1", (7, 8)), ("!", (8, 9))]
    assert both.pre_tokenize_str("Call 911!") == pieces
    tokenizer.pre_tokenizer, tokenizer.post_processor = both, template(lib, tokenizer)
    found = tokenizer.encode("Hello, y'all! How are you 😁 ?")
    assert found.tokens == ["[CLS]", *PARTS[0], *PARTS[1], "[SEP]"]
    assert tokenizer.decode(found.ids) == "Hello , y ' all ! How are you ?"


@case(PIPELINE + "test_bert_example")
def _(lib: Library) -> None:
    """With a vocabulary of a few words instead of Wikipedia's."""
    n = lib.normalizers
    words = ["welcome", "to", "the", "tok", "##eni", "##zer", "##s", "library", "."]
    vocab = {token: id for id, token in enumerate([*SPECIAL, *words])}
    tokenizer = lib.Tokenizer(lib.models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = n.Sequence([n.NFD(), n.Lowercase(), n.StripAccents()])
    tokenizer.pre_tokenizer, tokenizer.post_processor = (
        lib.pre_tokenizers.Whitespace(),
        template(lib, tokenizer),
    )
    found = tokenizer.encode("Welcome to the 🤗 Tokenizers library.")
    assert found.tokens == ["[CLS]", *words[:3], "[UNK]", *words[3:], "[SEP]"]
    assert tokenizer.decode(found.ids) == "welcome to the tok ##eni ##zer ##s library ."
    tokenizer.decoder = lib.decoders.WordPiece()
    assert tokenizer.decode(found.ids) == "welcome to the tokenizers library."


def unigram(lib: Library) -> tuple[Any, Any]:
    tokenizer = lib.Tokenizer(lib.models.Unigram())
    tokenizer.normalizer, tokenizer.decoder = lib.normalizers.NFKC(), lib.decoders.ByteLevel()
    tokenizer.pre_tokenizer = lib.pre_tokenizers.ByteLevel()
    trainer = lib.trainers.UnigramTrainer(
        vocab_size=20000,
        initial_alphabet=lib.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<PAD>", "<BOS>", "<EOS>"],
        show_progress=False,
    )
    return tokenizer, trainer


def learns(lib: Library, source: Callable[[], Any]) -> None:
    tokenizer, trainer = unigram(lib)
    tokenizer.train_from_iterator(source(), trainer=trainer)
    assert tokenizer.get_vocab_size() > 256
    assert [tokenizer.token_to_id(name) for name in ("<PAD>", "<BOS>", "<EOS>")] == [0, 1, 2]


@case(ITERATORS + "test_train_basic")
def _(lib: Library) -> None:
    learns(
        lib, lambda: ["Flat is better than nested.", "Sparse is better than dense.", "Readability counts."]
    )


@case(ITERATORS + "test_datasets")
def _(lib: Library) -> None:
    """With batches of lines, which is what the suite takes of a data set."""
    lines = Path(corpus()).read_text("utf-8").split("\n")[:100]
    learns(lib, lambda: (lines[start : start + 10] for start in range(0, len(lines), 10)))


@case(ITERATORS + "test_gzip")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"my-file.{n}.gz" for n in range(3)]
        for path in paths:
            path.write_bytes(gzip.compress("\n".join(SENTENCES).encode()))

        def lines() -> Iterator[str]:
            for path in paths:
                with gzip.open(path, "rt") as file:
                    yield from file

        learns(lib, lines)
        with gzip.open(paths[0], "rt") as file:
            learns(lib, lambda: file)


@case(BASE + "test_get_set_components")
def _(lib: Library) -> None:
    from importlib import import_module

    inner = lib.Tokenizer(lib.models.BPE())
    parts = {
        "normalizer": (lib.normalizers.NFC(), lib.normalizers.NFD()),
        "pre_tokenizer": (lib.pre_tokenizers.ByteLevel(), lib.pre_tokenizers.Whitespace()),
        "post_processor": (lib.processors.BertProcessing(("A", 0), ("B", 1)), lib.processors.ByteLevel()),
        "decoder": (lib.decoders.ByteLevel(), lib.decoders.WordPiece()),
    }
    for name, (first, _) in parts.items():
        setattr(inner, name, first)
    tokenizer = import_module(f"{lib.__name__}.implementations").BaseTokenizer(inner)
    for name, (first, second) in {"model": (lib.models.BPE(), lib.models.Unigram()), **parts}.items():
        assert type(getattr(tokenizer, name)) is type(first)
        setattr(tokenizer, name, second)
        assert type(getattr(tokenizer, name)) is type(second)


@case(BERT + "test_basic_encode")
def _(lib: Library) -> None:
    tokenizer = lib.BertWordPieceTokenizer.from_file(bert_vocab())
    found = tokenizer.encode("My name is John", "pair")
    assert found.ids == [101, 2026, 2171, 2003, 2198, 102, 3940, 102]
    assert found.tokens == ["[CLS]", "my", "name", "is", "john", "[SEP]", "pair", "[SEP]"]
    places = [(0, 2), (3, 7), (8, 10), (11, 15)]
    assert found.offsets == [(0, 0), *places, (0, 0), (0, 4), (0, 0)]
    assert found.type_ids == [0] * 6 + [1] * 2
    found = tokenizer.encode("My name is John", "pair", add_special_tokens=False)
    assert found.ids == [2026, 2171, 2003, 2198, 3940]
    assert found.tokens == ["my", "name", "is", "john", "pair"]
    assert found.offsets == [*places, (0, 4)]
    assert found.type_ids == [0, 0, 0, 0, 1]


def gpt2_files() -> tuple[str, str]:
    folder = shared_data.folder() / "vocabs" / "gpt2"
    return str(folder / "encoder.json"), str(folder / "vocab.bpe")


def char_files(folder: str) -> tuple[str, str]:
    """Files of a vocabulary of characters, where the suite has OpenAI GPT's."""
    vocab, merges = Path(folder) / "vocab.json", Path(folder) / "merges.txt"
    words = ("my", "name", "is", "pair", "john")
    chars = sorted({char for word in words for char in word[:-1]} - {"j"})
    tokens = ["<unk>", *chars, *sorted({f"{word[-1]}</w>" for word in words}), "j"]
    lines = []
    for word in words:
        parts = [*word[:-1], f"{word[-1]}</w>"]
        while len(parts) > 1:
            pair = parts[-2:]
            parts[-2:] = ["".join(pair)]
            lines.append(" ".join(pair))
            tokens.append(parts[-1])
    ids = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    import json

    vocab.write_text(json.dumps(ids), "utf-8")
    merges.write_text("\n".join(["#version: 0.2", *dict.fromkeys(lines)]) + "\n", "utf-8")
    return str(vocab), str(merges)


FOX = "The quick brown fox jumps over the lazy dog"
MARKS = ["Ġquick", "Ġbrown", "Ġfox", "Ġjumps", "Ġover", "Ġthe", "Ġlazy", "Ġdog"]
ENDS = [(3, 9), (9, 15), (15, 19), (19, 25), (25, 30), (30, 34), (34, 39), (39, 43)]
for test, options, first, text in (
    ("test_basic_encode", {}, "The", FOX),
    ("test_add_prefix_space", {"add_prefix_space": True}, "ĠThe", FOX),
    ("test_lowerspace", {"add_prefix_space": True, "lowercase": True}, "Ġthe", FOX.title()),
):

    def level(lib: Library, options: Any = options, first: str = first, text: str = text) -> None:
        """With GPT-2's vocabulary, which RoBERTa's has too, in other places."""
        tokenizer = lib.ByteLevelBPETokenizer.from_file(*gpt2_files(), **options)
        found = tokenizer.encode(text)
        assert found.tokens == [first, *MARKS]
        assert found.ids == [tokenizer.token_to_id(token) for token in found.tokens]
        assert found.offsets == [(0, 3), *ENDS]

    case(LEVEL + test)(level)


@case(CHAR + "test_basic_encode")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = lib.CharBPETokenizer.from_file(*char_files(folder))
    found = tokenizer.encode("My name is John", "pair")
    assert found.tokens == ["<unk>", "y</w>", "name</w>", "is</w>", "<unk>", "ohn</w>", "pair</w>"]
    assert found.offsets == [(0, 1), (1, 2), (3, 7), (8, 10), (11, 12), (12, 15), (0, 4)]
    assert found.ids == [tokenizer.token_to_id(token) for token in found.tokens]
    assert found.type_ids == [0] * 6 + [1]


@case(CHAR + "test_lowercase")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = lib.CharBPETokenizer.from_file(*char_files(folder), lowercase=True)
    found = tokenizer.encode("My name is John", "pair", add_special_tokens=False)
    assert found.tokens == ["my</w>", "name</w>", "is</w>", "john</w>", "pair</w>"]
    assert found.offsets == [(0, 2), (3, 7), (8, 10), (11, 15), (0, 4)]
    assert found.type_ids == [0, 0, 0, 0, 1]


@case(CHAR + "test_decoding")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = lib.CharBPETokenizer.from_file(*char_files(folder), lowercase=True)
    assert tokenizer.decode(tokenizer.encode("my name is john").ids) == "my name is john"


@case(BERT + "test_multiprocessing_with_parallelism")
def _(lib: Library) -> None:
    encodes_after_a_fork(lib.BertWordPieceTokenizer.from_file(bert_vocab()))


@case(LEVEL + "test_multiprocessing_with_parallelism")
def _(lib: Library) -> None:
    encodes_after_a_fork(lib.ByteLevelBPETokenizer.from_file(*gpt2_files()))


@case(CHAR + "test_multiprocessing_with_parallelism")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        encodes_after_a_fork(lib.CharBPETokenizer.from_file(*char_files(folder)))


for file, kind, tokens in (
    (BERT, "BertWordPieceTokenizer", ["a", "sentence"]),
    (LEVEL, "ByteLevelBPETokenizer", ["A", "Ġsentence"]),
    (CHAR, "CharBPETokenizer", ["A</w>", "sentence</w>"]),
    (MARKED, "SentencePieceBPETokenizer", ["▁A", "▁sentence"]),
):

    def train(lib: Library, kind: str = kind, tokens: list[str] = tokens) -> None:
        tokenizer = getattr(lib, kind)()
        tokenizer.train_from_iterator(SENTENCES, show_progress=False)
        assert tokenizer.encode("A sentence").tokens == tokens

    case(file + "test_train_from_iterator")(train)
