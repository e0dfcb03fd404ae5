"""`sentitok.compat.tokenizers`: odd arguments, files and texts give what tokenizers gives, or its error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers as theirs

from sentitok import TrainError
from sentitok.compat import tokenizers as ours

#: `True` and `False` are not numbers here; see docs/reference/compat-tokenizers.md.
ODD: list[Any] = [
    None, 0, 1, -1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 1.0, 1.5, "1", "", b"a", [],
    np.int64(1), np.uint8(1), np.int32(-1), np.float32(1),
]  # fmt: skip
VOCAB = {"[UNK]": 0, "a": 1, "b": 2, "ab": 3, "##b": 4}

Call = Callable[[Any, Any], Any]


def made(library: Any) -> Any:
    return library.Tokenizer(library.models.BPE(dict(VOCAB), [("a", "b")], unk_token="[UNK]"))


def encoding(library: Any) -> Any:
    return made(library).encode("ab a")


def padded(**options: Any) -> Call:
    def call(library: Any, value: Any) -> Any:
        tokenizer = made(library)
        tokenizer.enable_padding(**dict.fromkeys(options, value))
        return tokenizer.padding

    return call


def cut(**options: Any) -> Call:
    def call(library: Any, value: Any) -> Any:
        tokenizer = made(library)
        tokenizer.enable_truncation(**{"max_length": 3, **dict.fromkeys(options, value)})
        return tokenizer.truncation

    return call


def state(room: str, kind: str, name: str, *given: Any) -> Call:
    return lambda library, value: json.loads(
        getattr(getattr(library, room), kind)(*given, **{name: value}).__getstate__()
    )


CALLS: dict[str, Call] = {
    "id_to_token": lambda m, v: made(m).id_to_token(v),
    "token_to_id": lambda m, v: made(m).token_to_id(v),
    "decode": lambda m, v: made(m).decode([v]),
    "model.id_to_token": lambda m, v: made(m).model.id_to_token(v),
    "model.token_to_id": lambda m, v: made(m).model.token_to_id(v),
    "encode": lambda m, v: made(m).encode(v).ids,
    "encode_batch": lambda m, v: [row.ids for row in made(m).encode_batch(v)],
    "pair": lambda m, v: made(m).encode("a", v).ids,
    "add_tokens": lambda m, v: made(m).add_tokens([v]),
    "AddedToken": lambda m, v: repr(m.AddedToken(v)),
    "lstrip": lambda m, v: repr(m.AddedToken("x", lstrip=v)),
    "special": lambda m, v: repr(m.AddedToken("x", special=v)),
    "pad_id": padded(pad_id=0),
    "pad_type_id": padded(pad_type_id=0),
    "pad_token": padded(pad_token=0),
    "pad_to_multiple_of": padded(pad_to_multiple_of=0),
    "max_length": cut(max_length=0),
    "stride": cut(stride=0),
    "ids of BPE": lambda m, v: m.models.BPE({"a": v}, []).token_to_id("a"),
    "ids of WordPiece": lambda m, v: m.models.WordPiece({"a": v}).token_to_id("a"),
    "ids of WordLevel": lambda m, v: m.models.WordLevel({"a": v}, unk_token="a").token_to_id("a"),
    "unk_token of WordLevel": state("models", "WordLevel", "unk_token", {"a": 0}),
    "unk_token of WordPiece": state("models", "WordPiece", "unk_token", {"a": 0}),
    "unk_token of BPE": state("models", "BPE", "unk_token", {"a": 0}, []),
    "fuse_unk": state("models", "BPE", "fuse_unk", {"a": 0}, []),
    "max_input_chars_per_word": state("models", "WordPiece", "max_input_chars_per_word", {"a": 0}),
    "vocab of WordPiece": state("models", "WordPiece", "vocab"),
    "id of a template": lambda m, v: json.loads(
        m.processors.BertProcessing(("a", v), ("b", 1)).__getstate__()
    ),
    "cleanup": state("decoders", "WordPiece", "cleanup"),
    "suffix": state("decoders", "BPEDecoder", "suffix"),
    "prepend": state("normalizers", "Prepend", "prepend"),
    "lowercase": state("normalizers", "BertNormalizer", "lowercase"),
    "strip_accents": state("normalizers", "BertNormalizer", "strip_accents"),
    "use_regex": state("pre_tokenizers", "ByteLevel", "use_regex"),
    "min_frequency": state("trainers", "BpeTrainer", "min_frequency"),
    "vocab_size": state("trainers", "WordPieceTrainer", "vocab_size"),
    "char_to_token": lambda m, v: encoding(m).char_to_token(v),
    "word_to_tokens": lambda m, v: encoding(m).word_to_tokens(v),
    "token_to_chars": lambda m, v: encoding(m).token_to_chars(v),
    "truncate": lambda m, v: encoding(m).truncate(v),
}


def outcome(call: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        return call(*given)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")  # 2026-11-29: NumPy's, of the numbers that are tried
@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(name: str) -> None:
    for value in ODD:
        expected, found = (outcome(CALLS[name], library, value) for library in (theirs, ours))
        if isinstance(expected, type) and isinstance(found, type):
            assert issubclass(found, expected), (value, found, expected)
        else:
            assert found == expected, (value, found, expected)


LINES = [
    b"[UNK]\na\rx\nb\n", b"[UNK]\n\r\r\nb\n", b"a\r\nb\r\r\nc\r", b"a\n\nb",
    b"a \n b\t\nc\x0b\n\x0bd\n", b"", b"\n", b"a\xc2\xa0\n\xe3\x80\x80b\n",
    b"\xef\xbb\xbfa\nb\n", b"a\x1c\nb\xc2\x85\n", b"a\xe2\x80\xa8b\na\n",
]  # fmt: skip


@pytest.mark.parametrize("data", LINES)
def test_lines_of_vocab_txt(tmp_path: Path, data: bytes) -> None:
    path = str(tmp_path / "vocab.txt")
    Path(path).write_bytes(data)
    assert ours.models.WordPiece.read_file(path) == theirs.models.WordPiece.read_file(path)


MERGES = [
    b"#version: 0.2\n\r b\na b\n", b"#version: 0.2\ra b\r", b"#version: 0.2\r\na b\r\n", b"a b\r\r\n",
    b"a b\r", b"a b\n\na b\n", b"a b\n \n", b"a  b\n", b"a b c\n", b"ab\n", b"", b"\r\n", b"a \n", b"# a\n",
    b"a \xc2\xa0b\n", b"a\tb\n", b"a\xe2\x80\xa8 b\n",
]  # fmt: skip


@pytest.mark.parametrize("data", MERGES)
def test_lines_of_merges_txt(tmp_path: Path, data: bytes) -> None:
    vocab, merges = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    Path(vocab).write_text(json.dumps({"a": 0}), "utf-8")
    Path(merges).write_bytes(data)
    try:
        expected = theirs.models.BPE.read_file(vocab, merges)
    except Exception:
        with pytest.raises(ValueError, match=r"merges\.txt, line \d"):
            ours.models.BPE.read_file(vocab, merges)
    else:
        assert ours.models.BPE.read_file(vocab, merges) == expected


def test_what_a_model_saves_it_reads(tmp_path: Path) -> None:
    text = "a\rb\ra\rb"
    tokenizer = ours.Tokenizer(ours.models.BPE())
    tokenizer.train_from_iterator([text], ours.trainers.BpeTrainer(vocab_size=12))
    tokenizer.model.save(str(tmp_path))
    paths = [str(tmp_path / name) for name in ("vocab.json", "merges.txt")]
    assert ours.Tokenizer(ours.models.BPE.from_file(*paths)).encode(text).ids == tokenizer.encode(text).ids
    assert ours.models.BPE.read_file(*paths) == theirs.models.BPE.read_file(*paths)


@pytest.mark.parametrize("vocab", ['{"a": 4294967296}', '{"a": -1}', '{"a": 1.5}', '{"a": 2.0}', "[]"])
def test_ids_of_vocab_json(tmp_path: Path, vocab: str) -> None:
    """tokenizers makes 0 of 2**32, and refuses all further ones."""
    path = tmp_path / "vocab.json"
    path.write_text(vocab, "utf-8")
    with pytest.raises(ValueError, match=r"vocab\.json"):
        ours.models.WordLevel.read_file(str(path))


TEXTS: dict[str, Callable[[], Any]] = {
    "array of objects": lambda: np.array(["ab", "cd"], dtype=object),
    "array of str": lambda: np.array(["ab", "cd"]),
    "two columns": lambda: np.array([["ab", "cd"], ["e", "f"]]),
    "Series": lambda: pd.Series(["ab", "cd"]),
    "column": lambda: pd.DataFrame({"text": ["ab", "cd"]})["text"],
    "lists of texts": lambda: [["ab"], ("cd",)],
    "generator": lambda: (text for text in ("ab", "cd")),
    "str": lambda: "ab cd",
    "empty list": list,
    "empty array": lambda: np.array([]),
    "empty Series": lambda: pd.Series([], dtype=object),
    "empty iterator": lambda: iter(()),
    "empty texts": lambda: ["", ""],
    "empty lists": lambda: [[], []],
    "nothing": lambda: None,
    "number": lambda: 7,
    "numbers": lambda: [1, 2],
    "missing": lambda: ["ab", None],
    "bytes": lambda: [b"ab"],
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", ["Bpe", "WordPiece", "WordLevel", "Unigram"])
def test_texts_to_train_on(kind: str, name: str) -> None:
    model = "BPE" if kind == "Bpe" else kind

    def trained(library: Any) -> Any:
        tokenizer = library.Tokenizer(getattr(library.models, model)())
        options: dict[str, Any] = {
            "vocab_size": 30,
            "show_progress": False,
            "special_tokens": ["[UNK]", "<s>"],
        }
        if kind == "Unigram":
            options["unk_token"] = "[UNK]"
        trainer = getattr(library.trainers, f"{kind}Trainer")(**options)
        tokenizer.train_from_iterator(TEXTS[name](), trainer)
        # tokenizers numbers affixed symbols in the order of a hash table.
        return {*tokenizer.get_vocab()} if kind in ("Unigram", "WordPiece") else tokenizer.get_vocab()

    expected, found = (outcome(trained, library) for library in (theirs, ours))
    if kind != "Unigram" or name.startswith("empty") or isinstance(expected, type):
        assert found == expected
    else:
        assert {"a", "b"} <= found or name == "two columns"
    assert found is not TrainError


MERGED: list[list[tuple[str, str]]] = [
    [],
    [("Ġ", "h")],
    [("Ġ", "h"), ("Ġh", "i")],
    [("Ġ", "Ġ")],
    [("h", "Ġ")],
]


@pytest.mark.parametrize("merges", MERGED)
def test_places_of_a_space_put_in_front(merges: list[tuple[str, str]]) -> None:
    vocab = {char: id for id, char in enumerate(sorted(theirs.pre_tokenizers.ByteLevel.alphabet()))}
    for pair in merges:
        vocab["".join(pair)] = len(vocab)
    flags = [(a, b) for a in (True, False) for b in (True, False)]
    frame = (("h", vocab["h"]), ("i", vocab["i"]))
    posts: list[Any] = [
        None,
        *(theirs.processors.ByteLevel(trim_offsets=a, add_prefix_space=b) for a, b in flags),
    ]
    posts += [
        theirs.processors.RobertaProcessing(*frame, trim_offsets=a, add_prefix_space=b) for a, b in flags
    ]
    texts: list[Any] = ["hi  x", "hi", " hi", "  hi", "\nhi", "", " ", "hi \n", ["hi", "hi", " hi"]]
    for adds, uses in flags:
        for post in posts:
            first = theirs.Tokenizer(theirs.models.BPE(vocab, merges))
            first.pre_tokenizer = theirs.pre_tokenizers.ByteLevel(add_prefix_space=adds, use_regex=uses)
            if post is not None:
                first.post_processor = post
            second = ours.Tokenizer.from_str(first.to_str())
            for text in texts:
                is_split = isinstance(text, list)
                expected = first.encode(text, is_pretokenized=is_split).offsets
                assert second.encode(text, is_pretokenized=is_split).offsets == expected, (post, text)
