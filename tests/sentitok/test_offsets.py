"""Offsets through every normalizer: in order, inside the text, on characters.

The model knows no characters, so that each character of the normalized text is a
token with a separate span.
"""

import base64
import functools
import json
from typing import Any

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

import shared_data
from oracles.model_file import charsmap
from oracles.normalizer_texts import ODD, odd_texts
from sentitok import Tokenizer

TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(ODD), max_size=30).map("".join))
#: As TEXTS, with bytes that are not UTF-8.
BYTES = st.lists(
    st.one_of(st.sampled_from(ODD).map(str.encode), st.sampled_from([b"\xe2", b"\xff", b"\xf0\x9f"])),
    max_size=20,
).map(b"".join)


def bert(lowercase: bool) -> dict[str, Any]:
    options = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    return {"type": "BertNormalizer", **options, "lowercase": lowercase}


def replace(kind: str, pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def precompiled(name: str) -> dict[str, Any]:
    rules = charsmap((shared_data.folder() / "vocabs" / name / "spiece.model").read_bytes())
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(rules).decode()}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


NORMALIZERS: dict[str, Any] = {
    **{name: {"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")},
    "bert": bert(True),
    "bert, cased": bert(False),
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "replace": replace("String", "a", "xyz"),
    "replace by nothing": replace("String", " ", ""),
    "replace matches": replace("Regex", " {2,}|[é中]|aß?", "▁x"),
    "replace two": replace("String", "aß", "▁"),
    "prepend": {"type": "Prepend", "prepend": "▁"},
    "llama": sequence({"type": "Prepend", "prepend": "▁"}, replace("String", " ", "▁")),
    "albert": sequence(replace("String", "'", "''"), {"type": "NFKD"}, {"type": "StripAccents"}, bert(True)),
    "t5": "t5",
    "xlnet": "xlnet-base-cased",
    "albert, precompiled": "xlnet-base-cased and more",
}
MODELS = {
    "t5": "t5/spiece.model",
    "xlnet": "xlnet-base-cased/spiece.model",
    "mistral": "mistral-7b-v0.1/tokenizer.model",
}


def file_of(name: str) -> dict[str, Any]:
    """A tokenizer.json of a normalizer and of a model that knows next to nothing."""
    steps = NORMALIZERS[name]
    if isinstance(steps, str):
        source = steps.split(" ")[0]
        steps = precompiled(source)
        if source != NORMALIZERS[name]:
            steps = sequence({"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, steps)
    model = {"type": "BPE", "unk_token": "?", "fuse_unk": False, "vocab": {"?": 0, "\0": 1}, "merges": []}
    nothing = dict.fromkeys(["truncation", "padding", "pre_tokenizer", "post_processor", "decoder"])
    return {"version": "1.0", **nothing, "added_tokens": [], "normalizer": steps, "model": model}


@functools.cache
def normalizing(name: str) -> Tokenizer:
    return Tokenizer.from_bytes(json.dumps(file_of(name)).encode())


@functools.cache
def google_bert() -> Tokenizer:
    return Tokenizer.from_bert_vocab(
        shared_data.folder() / "vocabs" / "bert-base-uncased" / "vocab.txt", normalizer="google-bert"
    )


@functools.cache
def model(name: str) -> Tokenizer:
    return Tokenizer.from_sentencepiece(shared_data.folder() / "vocabs" / MODELS[name])


def check(tokenizer: Tokenizer, text: str) -> None:
    """What holds for the spans of tokens that are whole characters."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    chars, in_bytes = encoding.offsets("chars").tolist(), encoding.offsets("bytes").tolist()
    assert len(chars) == len(in_bytes) == len(encoding.ids)
    data, last = text.encode(), [0, 0]
    for span, byte_span in zip(chars, in_bytes, strict=True):
        start, end = span
        assert last[0] <= start <= end <= len(text)
        assert last[1] <= end
        # The text before a place in bytes is the text before it in characters.
        assert [len(data[:at].decode()) for at in byte_span] == span
        last = span


@pytest.mark.parametrize("name", NORMALIZERS)
@given(text=TEXTS)
@example(text="é\u0301\u0323 ﬁ\u3000中文 İΣ\0")
def test_spans_lead_to_characters(name: str, text: str) -> None:
    check(normalizing(name), text)


#: Normalizers with equal places of characters; the rest are in `docs/explanation/exactness.md`.
ALIKE = sorted(set(NORMALIZERS) - {"prepend", "llama", "t5", "xlnet", "albert, precompiled"})


@pytest.mark.parametrize("name", ALIKE)
def test_offsets_equal_tokenizers(name: str) -> None:
    ours, theirs = normalizing(name), tokenizers.Tokenizer.from_str(json.dumps(file_of(name)))
    texts = list(odd_texts(400))
    for text, expected in zip(texts, theirs.encode_batch(texts), strict=True):
        assert ours.encode(text).offsets("chars").tolist() == [list(span) for span in expected.offsets], text


@given(text=TEXTS)
def test_google_bert(text: str) -> None:
    check(google_bert(), text)


@pytest.mark.parametrize("name", ["t5", "xlnet"])
@given(text=TEXTS)
def test_models(name: str, text: str) -> None:
    check(model(name), text)


@pytest.mark.parametrize("name", MODELS)
@given(data=BYTES)
def test_bytes_that_are_no_text(name: str, data: bytes) -> None:
    spans = model(name).encode(data).offsets("bytes").tolist()
    assert all(0 <= start <= end <= len(data) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize("name", ["NFD", "Lowercase", "replace", "prepend", "llama"])
@given(text=TEXTS)
def test_what_is_not_dropped_is_covered(name: str, text: str) -> None:
    """These steps drop nothing: the spans tile the text. (A composite has the place of
    its first character, and what replaces a match that of its last, as in tokenizers.)"""
    at = 0
    for start, end in normalizing(name).encode(text).offsets("chars").tolist():
        assert start <= at
        at = max(at, end)
    assert at == len(text)
