"""Numbers that are checked in Python: other types and values out of bounds name the argument.

Which arguments are numbers is read from the sources, so that a new one cannot be forgotten: each needs
a call in `CALLS`. `test_numbers.py` tests numbers of the extension, which has the same rule.
"""

import ast
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sentitok
from sentitok.compat import sentencepiece as spm
from sentitok.compat import tiktoken
from sentitok.compat import tokenizers as hf
from sentitok.compat.tiktoken import load
from sentitok.corpus_shards import plan_shards
from sentitok.datasets import TokenBatches, TokenDataset, TokenWindows
from sentitok.differences import differences
from sentitok.documents import Documents
from sentitok.evaluate import evaluate, evaluate_all, renyi_efficiency
from sentitok.fairness import Fairness, fairness
from sentitok.verify import verify

PACKAGE = Path(sentitok.__file__).parent
TEXTS = ["low lower lowest", "new newer newest low"]
FILE = Path(__file__).parents[1] / "data" / "corpus" / "pride-and-prejudice.txt"
BPE = sentitok.train_bpe(texts=TEXTS, vocab_size=260, threads=1)
MODEL = sentitok.train_unigram(texts=TEXTS, vocab_size=16, method="sentencepiece").to_sentencepiece()
RANKS = {bytes([byte]): byte for byte in range(256)}
SP = spm.SentencePieceProcessor(model_proto=MODEL)
TT = tiktoken.Encoding("x", pat_str="gpt2", mergeable_ranks=RANKS, special_tokens={"<s>": 300})

# Gets no task, as numbers are looked at before.
POOL = ThreadPoolExecutor(1)

_Call = Callable[..., object]


def words() -> hf.Tokenizer:
    made = hf.Tokenizer(hf.models.WordLevel({"[UNK]": 0, "low": 1, "new": 2}, "[UNK]"))
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    return made


def encoding() -> hf.Encoding:
    return words().encode("low new low new")


def tokens(folder: Path) -> TokenDataset:
    place = folder / "tokens"
    if not place.exists():
        sentitok.encode_files(texts=TEXTS, out_dir=place, tokenizer=BPE)
    return TokenDataset(place)


def chats(folder: Path) -> TokenDataset:
    place = folder / "chats"
    if not place.exists():
        said = [[{"role": "assistant", "content": text}] for text in TEXTS]
        template = "{{ messages[0].role }}:{{ messages[0].content }}"
        sentitok.encode_chats(said, place, BPE, chat_template=template, mask="assistant", pack=40, pad="a")
    return TokenDataset(place)


def drawn(name: str) -> _Call:
    return lambda **n: getattr(SP, name)("low", **{"nbest_size": -1, "alpha": 0.1, **n})


def of_trainer(name: str) -> _Call:
    def ask(**number: Any) -> None:
        made = getattr(hf.trainers, name)(**number)
        for option, value in number.items():
            setattr(made, option, value)

    return ask


def fetched(kind: Any, *methods: str) -> dict[str, _Call]:
    """The training calls of a class of `implementations`."""
    source: dict[str, Any] = {"train": str(FILE), "train_from_iterator": TEXTS}
    return {
        f"{kind.__name__}.{name}": lambda name=name, **n: getattr(kind(), name)(source[name], **n)
        for name in methods
    }


# For each call how it is made, with the number in place; it is given by name.
CALLS: dict[str, _Call] = {
    # Of the package.
    "TokenDataset.__getitem__": lambda folder, document: tokens(folder)[document],
    "TokenDataset.stream": lambda folder, **n: tokens(folder).stream(**{"start": 0, "stop": 2, **n}),
    "TokenDataset.ends": lambda folder, **n: tokens(folder).ends(**{"start": 0, "stop": 2, **n}),
    "TokenDataset.document_at": lambda folder, token: tokens(folder).document_at(token),
    "TokenDataset.windows": lambda folder, **n: tokens(folder).windows(**{"length": 2, **n}),
    "Shuffled.shuffled": lambda folder, **n: tokens(folder).shuffled(**{"batch_size": 1, **n}),
    "TokenWindows.__init__": lambda folder, **n: TokenWindows(
        tokens(folder), **{"length": 2, "stride": 2, **n}
    ),
    "TokenDataset.mask": lambda folder, document: chats(folder).mask(document),
    "TokenDataset.stream_mask": lambda folder, **n: chats(folder).stream_mask(**{"start": 0, "stop": 2, **n}),
    "PackedRows.__getitem__": lambda folder, row: chats(folder).packed()[row],
    "PackedRows.documents": lambda folder, row: chats(folder).packed().documents(row),
    "TokenBatches.__init__": lambda folder, **n: TokenBatches(tokens(folder), **{"batch_size": 1, **n}),
    "TokenBatches.__getitem__": lambda folder, step: tokens(folder).shuffled(1)[step],
    "TokenBatches.numbers": lambda folder, step: tokens(folder).shuffled(1).numbers(step),
    "verify": lambda folder, **n: verify(tokens(folder).directory, **n),
    "differences": lambda **n: differences(BPE, BPE, [FILE], **n),
    "plan_shards": lambda **n: plan_shards(FILE, **n),
    "count": lambda folder, **n: sentitok.count(FILE, out=folder / "counts", executor=POOL, **n),
    "encode_files": lambda folder, **n: sentitok.encode_files(FILE, folder / "new", BPE, executor=POOL, **n),
    "evaluate": lambda **n: evaluate(BPE, Documents([FILE]), executor=POOL, **n),
    "evaluate_all": lambda **n: evaluate_all([BPE], Documents([FILE]), executor=POOL, **n),
    "Fairness.of_tokens": lambda tokens: Fairness.of_tokens({"en": tokens, "sw": 3}),
    "fairness": lambda **n: fairness(BPE, {"en": TEXTS, "sw": TEXTS}, **n),
    "renyi_efficiency": lambda **n: renyi_efficiency(np.array([1, 2]), **{"vocab_size": 4, **n}),
    "Documents.__init__": lambda **n: [*Documents([FILE], **n)],
    # Of tiktoken.
    "tiktoken Encoding.__init__": lambda **n: tiktoken.Encoding(
        "x", **{"pat_str": "gpt2", "mergeable_ranks": RANKS, "special_tokens": {}, **n}
    ),
    "Encoding.encode_ordinary_batch": lambda **n: TT.encode_ordinary_batch(TEXTS, **n),
    "Encoding.encode_batch": lambda **n: TT.encode_batch(TEXTS, **n),
    "Encoding.decode_bytes": lambda tokens: TT.decode_bytes([tokens]),
    "Encoding.decode": lambda tokens: TT.decode([tokens]),
    "Encoding.decode_single_token_bytes": lambda token: TT.decode_single_token_bytes(token),
    "Encoding.decode_tokens_bytes": lambda tokens: TT.decode_tokens_bytes([tokens]),
    "Encoding.decode_with_offsets": lambda tokens: TT.decode_with_offsets([tokens]),
    "Encoding.decode_batch": lambda batch: TT.decode_batch([[batch]]),
    "Encoding.decode_bytes_batch": lambda batch: TT.decode_bytes_batch([[batch]]),
    "Encoding.is_special_token": lambda token: TT.is_special_token(token),
    "dump_tiktoken_bpe": lambda folder, bpe_ranks: load.dump_tiktoken_bpe({b"a": bpe_ranks}, folder / "x"),
    # Of SentencePiece.
    "set_random_generator_seed": lambda seed: spm.set_random_generator_seed(seed),
    "Decoder.decode": lambda **n: SP.decode([5], **n),
    "SentencePieceProcessor.__init__": lambda **n: spm.SentencePieceProcessor(
        model_proto=MODEL, **{"nbest_size": -1, "enable_sampling": True, **n}
    ).encode("low"),
    "SentencePieceProcessor.encode": lambda **n: SP.encode("low", **{"enable_sampling": True, **n}),
    **{
        f"SentencePieceProcessor.{name}": drawn(name)
        for name in (
            "sample_encode_as_ids", "sample_encode_as_pieces", "sample_encode_as_numpy",
            "sample_encode_as_proto",
        )
    },
    **{
        f"SentencePieceProcessor.{name}": lambda name=name, **n: getattr(SP, name)("low", **n)
        for name in (
            "nbest_encode", "nbest_encode_as_ids", "nbest_encode_as_pieces", "nbest_encode_as_numpy",
            "nbest_encode_as_proto", "parallel_encode",
        )
    },
    "ThreadPool.__init__": lambda **n: spm.ThreadPool(**n),
    # Of tokenizers.
    "Strip.__init__": lambda **n: hf.decoders.Strip(**n),
    "DecodeStream.__init__": lambda ids: hf.decoders.DecodeStream([ids]).step(words(), 1),
    "DecodeStream.step": lambda **n: hf.decoders.DecodeStream().step(words(), **n),
    "Encoding.set_sequence_id": lambda sequence_id: encoding().set_sequence_id(sequence_id),
    "Encoding.token_to_sequence": lambda token_index: encoding().token_to_sequence(token_index),
    "Encoding.token_to_chars": lambda token_index: encoding().token_to_chars(token_index),
    "Encoding.token_to_word": lambda token_index: encoding().token_to_word(token_index),
    "Encoding.word_to_tokens": lambda **n: encoding().word_to_tokens(**{"word_index": 1, **n}),
    "Encoding.word_to_chars": lambda **n: encoding().word_to_chars(**{"word_index": 1, **n}),
    "Encoding.char_to_token": lambda **n: encoding().char_to_token(**{"char_pos": 1, **n}),
    "Encoding.char_to_word": lambda **n: encoding().char_to_word(**{"char_pos": 1, **n}),
    "Encoding.truncate": lambda **n: encoding().truncate(**{"max_length": 2, **n}),
    "Encoding.pad": lambda **n: encoding().pad(**{"length": 8, **n}),
    "ByteLevelBPETokenizer.__init__": lambda **n: hf.ByteLevelBPETokenizer({"a": 0}, [], **n),
    "CharBPETokenizer.__init__": lambda **n: hf.CharBPETokenizer(**n),
    "SentencePieceBPETokenizer.__init__": lambda **n: hf.SentencePieceBPETokenizer(**n),
    "SentencePieceUnigramTokenizer.__init__": lambda vocab: hf.SentencePieceUnigramTokenizer([("a", vocab)]),
    **fetched(hf.ByteLevelBPETokenizer, "train", "train_from_iterator"),
    **fetched(hf.SentencePieceUnigramTokenizer, "train", "train_from_iterator"),
    "Model.id_to_token": lambda **n: words().model.id_to_token(**n),
    "BPE.__init__": lambda **n: hf.models.BPE(**n),
    "WordPiece.__init__": lambda **n: hf.models.WordPiece(**n),
    "Unigram.__init__": lambda **n: hf.models.Unigram(
        [("<unk>", n.pop("vocab", 0.0))], **{"unk_id": 0, **n}
    ),
    "FixedLength.__init__": lambda **n: hf.pre_tokenizers.FixedLength(**n),
    "Tokenizer.decode": lambda ids: words().decode([ids]),
    "Tokenizer.decode_batch": lambda sequences: words().decode_batch([[sequences]]),
    "Tokenizer.id_to_token": lambda **n: words().id_to_token(**n),
    "Tokenizer.enable_truncation": lambda **n: words().enable_truncation(**{"max_length": 4, **n}),
    "Tokenizer.enable_padding": lambda **n: words().enable_padding(**n),
    **{
        f"{name}.__init__": of_trainer(name)
        for name in ("BpeTrainer", "WordPieceTrainer", "WordLevelTrainer", "UnigramTrainer")
    },
    "ParityBpeTrainer.__init__": lambda **n: hf.trainers.ParityBpeTrainer(
        **({"ratio": [n["ratio"], 1.0]} if "ratio" in n else n)
    ),
    "ParityBpeTrainer.train_from_iterator": lambda ratio: hf.trainers.ParityBpeTrainer(2).train_from_iterator(
        words(), [TEXTS, TEXTS], ratio=[ratio, 1.0]
    ),
}  # fmt: skip

# Taken for the sake of the original's callers, and not used; or asked for by another call of the table.
UNUSED = {
    ("set_min_log_level", "level"), ("Encoding.decode_batch", "num_threads"),
    ("Encoding.decode_bytes_batch", "num_threads"), ("BPE.__init__", "cache_capacity"),
    ("ByteLevelBPETokenizer.train_from_iterator", "length"),
    ("SentencePieceUnigramTokenizer.train_from_iterator", "length"),
    ("Tokenizer.train_from_iterator", "length"),
    ("Tokenizer.async_decode_batch", "sequences"), ("PreTokenizedString.split", "func"),
    # Tried where torch is (test_token_windows.py).
    ("TokenWindows.__getitem__", "row"),
    # What Python says of a place in a list.
    ("Steps.__getitem__", "index"), ("Steps.__setitem__", "index"), ("NormalizedString.__getitem__", "index"),
}  # fmt: skip
# What only sentitok and sentimodels themselves call.
INSIDE = {
    "AddedTokens", "BlockCache", "BlockPermutation", "blocks", "check_size", "check_version", "choice",
    "chunks", "Codec", "Continuations", "cut_file", "Documents.add_replaced", "Encoding.of",
    "FeistelPermutation", "field", "index", "Input", "InputStream", "joined", "line", "lines",
    "mapped_ends", "measure", "measure_part", "n_threads", "placed", "ratios_of", "real", "RemoteArray",
    "RemoteEnds", "RemotePath", "spelled_tokens", "Surfaces", "token_bytes", "trained_languages", "trimmed",
    "Truncation",
    "whole", "write_ends", "write_manifest",
}  # fmt: skip


def numbers_of_the_sources() -> Iterator[tuple[str, str, set[str]]]:
    """Each public call and argument that has a number in it, and the types of that."""
    for path in sorted([*PACKAGE.glob("*.py"), *PACKAGE.glob("compat/**/*.py")]):
        for node in ast.parse(path.read_text("utf-8")).body:
            functions = node.body if isinstance(node, ast.ClassDef) else [node]
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for function in functions:
                if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                call = owner + function.name
                is_hidden = function.name.startswith("_") and not function.name.startswith("__")
                if owner.startswith("_") or is_hidden or INSIDE & {call, call.partition(".")[0]}:
                    continue
                given = function.args
                for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                    names = ast.walk(argument.annotation) if argument.annotation else ()
                    kinds = {name.id for name in names if isinstance(name, ast.Name)}
                    if kinds & {"int", "float", "SupportsIndex"} and argument.arg != "progress":
                        is_other = path.parent.name == "tiktoken" and call == "Encoding.__init__"
                        yield "tiktoken " * is_other + call, argument.arg, kinds


FOUND = {(call, argument): kinds for call, argument, kinds in numbers_of_the_sources()}
NUMBERS = sorted(FOUND.keys() - UNUSED)
# Those of which negative ones mean something: all there are, or a place from the end.
SIGNED = {"alpha", "document", "nbest_size", "num_threads", "seed", "shrinking_factor", "vocab", "score"}
# Calls with special messages for an id without a token, and a map of ids.
NAMES = MappingProxyType(
    {
        "batch": "id", "ids": "id", "sequences": "id", "token": "id|token", "tokens": "id|tokens",
        "vocab": "score", "bpe_ranks": "the rank", "mergeable_ranks": "the id",
        "special_tokens": "the id|special_tokens",
    }
)  # fmt: skip


def ask(call: str, argument: str, number: Any, folder: Path) -> object:
    """Makes a call with a number, or a map that has one."""
    if argument in ("mergeable_ranks", "special_tokens"):
        number = {b"a" if argument == "mergeable_ranks" else "<s>": number}
    made = CALLS[call]
    of_folder = ("PackedRows", "Shuffled", "TokenBatches", "TokenDataset", "TokenWindows")
    writes = ("count", "encode_files", "dump_tiktoken_bpe", "verify")
    needs_folder = call in writes or call.startswith(of_folder)
    return made(folder, **{argument: number}) if needs_folder else made(**{argument: number})


def test_each_number_of_the_sources_is_tried() -> None:
    assert {call for call, _ in NUMBERS} == {*CALLS}
    assert FOUND.keys() >= UNUSED


@pytest.mark.parametrize(("call", "argument"), NUMBERS)
def test_what_is_no_number_is_told(call: str, argument: str, tmp_path: Path) -> None:
    is_float = "float" in FOUND[call, argument]
    for number in (True, np.True_, "3", b"3", 1j, *(() if is_float else (1.5, float("nan"), np.float64(2)))):
        with pytest.raises(TypeError, match=NAMES.get(argument, argument)) as caught:
            ask(call, argument, number, tmp_path)
        assert repr(number) in str(caught.value)
        assert type(caught.value) is TypeError


@pytest.mark.parametrize(("call", "argument"), NUMBERS)
def test_what_is_out_of_bounds_is_told(call: str, argument: str, tmp_path: Path) -> None:
    if "float" in FOUND[call, argument]:
        wrong: tuple[Any, ...] = (float("nan"), float("inf"), -float("inf"), 10**400)
    else:
        wrong = () if argument in SIGNED or call == "Encoding.is_special_token" else (-(2**70),)
    for number in wrong:
        with pytest.raises((ValueError, OverflowError, IndexError, KeyError)) as caught:
            ask(call, argument, number, tmp_path)
        assert str(number)[:100] in str(caught.value)
        assert len(str(caught.value)) < 700


@pytest.mark.parametrize("option", ["vocab_size", "input_sentence_size", "character_coverage", "bos_id"])
def test_options_of_sentencepiece(option: str) -> None:
    for value in (True, float("nan"), float("inf"), "nan" if option == "character_coverage" else "1.5", 1j):
        options: dict[str, Any] = {option: value}
        with pytest.raises(ValueError, match=f"{option}="):
            spm.SentencePieceTrainer.train(
                sentence_iterator=iter(TEXTS), model_writer=io.BytesIO(), **options
            )


def test_an_order_without_a_value() -> None:
    with pytest.raises(ValueError, match="alpha=1: it is 0 or more, but 1"):
        renyi_efficiency(np.array([1, 2]), 4, 1)
