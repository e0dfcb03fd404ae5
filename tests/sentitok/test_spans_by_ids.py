"""Spans found by the ids, against those that the model gives while it encodes.

`encode_segments` of one text is the reference implementation: there the model says of each token what it
covers. `encode` and `encode_batch` find it by the ids alone, and fall back to the model where
these leave it open: unknown characters, bytes, added tokens.
"""

import functools
import itertools
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

import shared_data
import worker
from sentitok import Tokenizer

NAMES = (
    *("gpt2", "gpt2 .json", "gpt2 with a space", "cl100k", "o200k"),
    *("Mistral", "Mistral as .json", "Mistral as Metaspace"),
    *("T5", "T5 as .json", "XLNet", "XLNet as .json", "BERT", "BERT, cased"),
)
#: Difficult parts: marks and bytes spelled out, added tokens, unknown characters next to known ones.
PARTS = [
    *("▁", " ", "  ", "\n", "a", "the", " the", "é", "e\u0301", "日", "本", "中文", "😀", "\ufdfa", "ﬁ", "İ"),
    *("<unk>", "[UNK]", "<s>", "</s>", "<0x0A>", "<0x", "<", "~", "{", "##", "##s", "[MASK]", "\u200d"),
    *(
        "<|endoftext|>",
        "\u0d9a",
        "\u0300",
        "Σ",
        "ß",
        "\u00a0",
        "\u3000",
        "-",
        ".",
        "'s",
        "1",
        "\U00020000",
        "\0",
    ),
]
TEXTS = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PARTS), max_size=25).map("".join))


@functools.cache
def model(name: str) -> Tokenizer:
    vocabs = shared_data.folder() / "vocabs"
    sources: dict[str, tuple[str, str]] = {
        "gpt2": ("gpt2/r50k_base.tiktoken", "gpt2"),
        "gpt2 .json": ("gpt2/tokenizer.json", ""),
        "cl100k": ("cl100k_base.tiktoken", "cl100k"),
        "o200k": ("o200k_base.tiktoken", "o200k"),
        "Mistral": ("mistral-7b-v0.1/tokenizer.model", ""),
        "T5": ("t5/spiece.model", ""),
        "XLNet": ("xlnet-base-cased/spiece.model", ""),
        "BERT": ("bert-base-uncased/tokenizer.json", ""),
    }
    if name == "BERT, cased":
        return Tokenizer.from_bert_vocab(vocabs / "bert-base-cased" / "vocab.txt", lowercase=False)
    if name in sources:
        file, pattern = sources[name]
        path = vocabs / file
        return Tokenizer.from_tiktoken(path, pattern) if pattern else Tokenizer.from_file(path)
    base, _, kind = name.partition(" ")
    if name == "gpt2 with a space":
        file = json.loads((vocabs / "gpt2" / "tokenizer.json").read_bytes())
        file["pre_tokenizer"]["add_prefix_space"] = True
    else:
        file = as_json(base)
    if kind == "as Metaspace":
        file["normalizer"] = None
        metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
        file["pre_tokenizer"] = metaspace
    return Tokenizer.from_bytes(json.dumps(file).encode())


@functools.cache
def as_json(base: str) -> Any:
    """A tokenizer as its tokenizer.json."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the file cannot hold does not matter here
        path = Path(folder) / "tokenizer.json"
        model(base).save(path)
        return json.loads(path.read_bytes())


def check(tokenizer: Tokenizer, text: str | bytes) -> None:
    """Every way to the spans of a text gives those of the reference implementation."""
    whole = tokenizer.encode_segments([text])
    for unit in ("bytes", "chars"):
        options: Any = {"unit": unit, "trim": False}
        expected = whole.offsets(**options)
        lazy = tokenizer.encode(text, add_special_tokens=False)
        assert np.array_equal(lazy.ids, whole.ids)
        assert np.array_equal(lazy.offsets(**options), expected)
        assert lazy.surfaces == whole.surfaces
        batch = tokenizer.encode_batch(["a b", text], add_special_tokens=False, offsets=True)
        n = len(whole)
        assert np.array_equal(batch.offsets(**options)[len(batch.ids) - n :], expected)
        if n > 1:
            cut = tokenizer.encode(text, add_special_tokens=False, max_tokens=n // 2)
            assert np.array_equal(cut.offsets(**options), expected[: n // 2])
            pair = tokenizer.encode(text, text, add_special_tokens=False)
            assert np.array_equal(pair.offsets(**options), np.concatenate([expected, expected]))
    framed = tokenizer.encode(text)
    inside = ~framed.special_tokens_mask
    assert np.array_equal(framed.offsets(trim=False)[inside], whole.offsets(trim=False))
    assert not framed.offsets()[~inside].any()


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
@example("")
@example("the ▁ the")
@example("日本 <unk> 語<0x0A>~")
@example("ab\u0d9a\u0d9a c")
def test_texts_by_chance(name: str, text: str) -> None:
    check(model(name), text)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_are_no_text(name: str) -> None:
    for text in (b"\xff", b"a\xffb \xe2\x96 c", "日".encode()[:2] + b" the", b"the " + b"\xff" * 9):
        check(model(name), text)


@pytest.mark.parametrize("name", NAMES)
def test_added_tokens_in_a_text(name: str) -> None:
    tokenizer = model(name).with_specials(["<x>"])
    for text in ("<x>", "a<x>b", " a <x> b <x>", "the<x>the"):
        batch = tokenizer.encode_batch([text, "the a"], specials="all", offsets=True)
        lazy = tokenizer.encode(text, specials="all")
        offsets = lazy.offsets("bytes", trim=False)
        assert np.array_equal(batch.offsets("bytes", trim=False)[: len(lazy)], offsets)
        encoded = text.encode()
        id = tokenizer.token_to_id("<x>")
        for at, span in zip(lazy.ids.tolist(), offsets.tolist(), strict=True):
            assert (at == id) == (encoded[span[0] : span[1]] == b"<x>")
        # The pieces between are separate spans: nothing of a token's text is in them.
        places = [span for at, span in zip(lazy.ids.tolist(), offsets.tolist(), strict=True) if at != id]
        assert all(b"x" not in encoded[start:end] for start, end in places)


@pytest.mark.parametrize("n_bytes", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts(name: str, n_bytes: int) -> None:
    for text in worker.hostile_texts(n_bytes).values():
        check(model(name), text)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_text_of_the_data(name: str) -> None:
    for _, documents in shared_data.collections(whole=True):
        joined = "".join(documents)
        check(model(name), joined[: 1 << 20])


def test_spans_that_are_as_they_stand_are_one_array() -> None:
    encoding = model("BERT").encode("a plain text")
    assert np.shares_memory(encoding.offsets("bytes"), encoding.offsets("bytes"))
    assert not encoding.offsets("bytes").flags.writeable


@pytest.mark.parametrize(
    ("model", "letters"),
    [
        # Unknown characters merge with known ones, as the unknown token is `b`.
        (
            {
                "type": "BPE", "unk_token": "b", "fuse_unk": True,
                "vocab": {"b": 0, "é": 1, "A": 2, "bA": 3}, "merges": [["b", "A"]],
            },
            "bA?é",
        ),
        # Text may become the unknown token, which is one with unknown characters next to it.
        (
            {"type": "BPE", "unk_token": "b", "fuse_unk": True, "vocab": {"b": 0, "A": 1}, "merges": []},
            "bA?",
        ),
        ({"type": "Unigram", "unk_id": 1, "vocab": [["A", -1.0], ["b", -2.0], ["▁", -3.0]]}, "bA?▁"),
    ],
)  # fmt: skip
def test_an_unknown_token_that_is_text_as_well(model: dict[str, object], letters: str) -> None:
    file = json.dumps({"version": "1.0", "added_tokens": [], "model": model})
    ours, theirs = Tokenizer.from_bytes(file.encode()), tokenizers.Tokenizer.from_str(file)
    for text in ("".join(some) for n in range(1, 6) for some in itertools.product(letters, repeat=n)):
        found, expected = ours.encode(text), theirs.encode(text)
        assert found.ids.tolist() == expected.ids, text
        assert found.offsets().tolist() == [list(span) for span in expected.offsets], text
        batch = ours.encode_batch([text], offsets=True)
        assert batch.offsets().tolist() == found.offsets().tolist(), text


def test_a_mark_that_is_the_unknown_token() -> None:
    """Its bytes are those of the mark, of which the text has none in front and one for a space."""
    fallback = [[f"<0x{byte:02X}>", -5.0] for byte in range(256)]
    model = {
        "type": "Unigram", "unk_id": 0, "byte_fallback": True,
        "vocab": [["▁", -3.0], ["a", -2.0], ["▁a", -1.0], *fallback],
    }  # fmt: skip
    for scheme in ("first", "always", "never"):
        metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
        file = {"version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": metaspace}
        tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
        for text in ("x", "ax", "a x", " x a é", "  中"):
            check(tokenizer, text)
            assert all(
                0 <= start <= end <= len(text) for start, end in tokenizer.encode(text).offsets().tolist()
            )
