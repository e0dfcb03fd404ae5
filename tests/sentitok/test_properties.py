"""What holds for every text, every byte string, every cut."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import sentitok
from sentitok import Tokenizer, WordCounts, train_bpe

# Text near what splitters and merges care about, and any text at all.
PARTS = st.sampled_from(
    [
        *[
            "the",
            " the",
            "'s",
            "'S",
            "ſ",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "\u3000",
            "1",
            "2024",
            "é",
            "e\u0301",
        ],
        *["日本", "ا", "ह", "한", "😀", "👩‍👩‍👧", "<|endoftext|>", "<|endof", "…", "!!", "\u00a0", "\x00"],
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PARTS, max_size=40).map("".join))
BYTES = st.one_of(
    st.binary(),
    TEXTS.map(str.encode),
    st.lists(st.sampled_from([b"\xe2\x82", b"\xff", b"a", b"\xf0\x9f\x98", b"\x80"])).map(b"".join),
)
SURROGATES = st.text(st.characters(categories=["L", "Cs", "Zs"]))

MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "cl100k": {"pre_tokenizer": "cl100k"},
    "o200k": {"pre_tokenizer": "o200k"},
    "bytes": {"pre_tokenizer": "bytes"},
    "pattern": {"pre_tokenizer": sentitok.PreTokenizer(pattern=r"\w{1,4}|\s")},
    "fallback": {"byte_fallback": True, "pre_tokenizer": "gpt2"},
}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, lines: list[str]) -> Tokenizer:
    """Tokenizers that lose nothing, each of another kind."""
    options: dict[str, Any] = {"vocab_size": 1500, "special_tokens": ["<|endoftext|>"], "limit_alphabet": 400}
    name = request.param
    # Without a split a line is a piece; some of them are enough.
    texts = lines[::50] if name == "bytes" else lines[::5]
    return train_bpe(texts=texts, **options, **MODELS[name])


@given(data=BYTES)
@example(data=b"")
@example(data=bytes(range(256)))
def test_every_byte_string_comes_back(model: Tokenizer, data: bytes) -> None:
    for specials in ("none", "all"):
        ids = model.encode(data, specials=specials).ids
        assert model.decode_bytes(ids) == data
        assert model.decode(ids) == data.decode("utf-8", "replace")


@given(text=TEXTS)
def test_every_text_comes_back(model: Tokenizer, text: str) -> None:
    assert model.decode(model.encode(text).ids) == text


@given(data=BYTES)
def test_spans_tile_the_text(model: Tokenizer, data: bytes) -> None:
    encoding = model.encode(data, specials="all")
    spans = encoding.offsets("bytes").tolist()
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert (spans[0][0], spans[-1][1]) == (0, len(data)) if spans else data == b""
    text = data.decode("utf-8", "replace")
    chars = encoding.offsets("chars").astype(np.int64)
    assert (chars[:, 0] <= chars[:, 1]).all()
    # Characters are covered without gaps; a token inside one takes it whole.
    assert (chars[1:, 0] <= chars[:-1, 1]).all()
    assert (chars[0, 0], chars[-1, 1]) == (0, len(text)) if len(chars) else text == ""


@given(texts=st.lists(TEXTS, max_size=12), threads=st.sampled_from([None, 1, 2, 5]))
def test_a_batch_is_its_texts(model: Tokenizer, texts: list[str], threads: int | None) -> None:
    batch = model.encode_batch(texts, threads=threads, offsets=True, specials="all")
    single = [model.encode(text, specials="all") for text in texts]
    assert batch.to_list() == [encoding.ids.tolist() for encoding in single]
    assert model.count_batch(texts, threads=threads, specials="all").tolist() == [len(e) for e in single]
    assert model.decode_batch(batch) == texts
    for unit in ("bytes", "chars"):
        expected = [span for encoding in single for span in encoding.offsets(unit).tolist()]
        assert batch.offsets(unit).tolist() == expected


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_long_texts_are_the_same_on_any_number_of_threads(
    threads: int, model: Tokenizer, lines: list[str]
) -> None:
    text = "".join(lines)[:300_000]
    texts = [text, *lines[:500], text[::-1], "<|endoftext|>".join(lines[:5000])]
    batch = model.encode_batch(texts, threads=threads, offsets=True, specials="all")
    assert batch == model.encode_batch(texts, threads=1, offsets=True, specials="all")
    assert batch[0].ids.tolist() == model.encode(text, specials="all").ids.tolist()


@given(data=BYTES)
def test_a_stream_is_one_shot(model: Tokenizer, data: bytes) -> None:
    ids = model.encode(data).ids.tolist()
    decoder = model.stream_decoder()
    parts = [decoder.push(id) for id in ids]
    assert "".join(parts) + decoder.finish() == model.decode(ids)
    # At most three bytes are held back, and no character is halved.
    for n in range(len(ids) + 1):
        given_out, whole = "".join(parts[:n]), model.decode(ids[:n])
        assert whole.startswith(given_out) or model.decode(ids).startswith(given_out)
        assert len(whole.encode()) - len(given_out.encode()) <= 9


@given(text=TEXTS, n=st.integers(0, 30))
def test_truncation_is_a_prefix(model: Tokenizer, text: str, n: int) -> None:
    whole = model.encode(text)
    cut = model.encode(text, max_tokens=n)
    assert cut.ids.tolist() == whole.ids.tolist()[:n]
    assert cut.offsets().tolist() == whole.offsets().tolist()[:n]
    assert model.fits(text, n) == (len(whole) <= n)
    assert model.count(text) == len(whole)


@given(text=TEXTS, size=st.integers(1, 20), stride=st.integers(0, 19))
def test_windows_are_their_definition(model: Tokenizer, text: str, size: int, stride: int) -> None:
    assume(stride < size)
    whole = model.encode(text).ids.tolist()
    windows = model.windows(text, size, stride).to_list()
    step = size - stride
    starts = [0]
    while starts[-1] + size < len(whole):
        starts.append(starts[-1] + step)
    assert windows == [whole[start : start + size] for start in starts]


@given(text=SURROGATES)
def test_surrogates_are_joined_or_replaced_as_tiktoken_does(model: Tokenizer, text: str) -> None:
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    encoding, expected = model.encode(text), model.encode(clean)
    assert encoding.ids.tolist() == expected.ids.tolist()
    assert encoding.offsets("bytes").tolist() == expected.offsets("bytes").tolist()
    # Characters of the text as it was given: those of a pair are two.
    places = [0]
    for c in clean:
        pair = ord(c) > 0xFFFF and text[places[-1]] != c
        places.append(places[-1] + 1 + pair)
    assert encoding.offsets().tolist() == [[places[i], places[j]] for i, j in expected.offsets().tolist()]


@given(text=TEXTS)
def test_pieces_tile_the_text(model: Tokenizer, text: str) -> None:
    splitter = model.pre_tokenizer
    assert "".join(splitter.pieces(text)) == text
    assert [text[start:end] for start, end in splitter.split(text)] == splitter.pieces(text)


def test_saved_and_loaded_is_the_same(model: Tokenizer) -> None:
    loaded = Tokenizer.from_bytes(model.to_bytes())
    assert loaded == model
    assert loaded.to_bytes() == model.to_bytes()
    assert loaded.vocab() == model.vocab()
    assert loaded.merges() == model.merges()
    assert loaded.info() == model.info()


def test_each_token_encodes_to_itself(model: Tokenizer) -> None:
    splitter, seen = model.pre_tokenizer, 0
    for id in range(1, model.vocab_size):
        raw = model.id_to_bytes(id)
        assert raw is not None
        text = raw.decode("utf-8", "ignore")
        # A split text is not a token of the model, an invalid one is split at the border.
        if text.encode() == raw and splitter.pieces(text) == [text] and not text.startswith("<0x"):
            assert model.encode(raw).ids.tolist() == [id]
            seen += 1
    assert seen > 700


CORPORA = st.lists(TEXTS, min_size=1, max_size=20)


@given(texts=CORPORA, threads=st.sampled_from([1, 2, 7]), cut=st.integers(0, 20))
def test_counts_are_the_text(texts: list[str], threads: int, cut: int) -> None:
    assume(any(texts))
    whole = sentitok.count(texts=texts)
    assert whole is not None
    first, second = (sentitok.count(texts=part, threads=threads) for part in (texts[:cut], texts[cut:]))
    assert first is not None
    assert second is not None
    assert (first + second).to_bytes() == (second + first).to_bytes() == whole.to_bytes()
    assert WordCounts.from_bytes(whole.to_bytes()) == whole
    options: dict[str, Any] = {"vocab_size": 270, "special_tokens": ["<|endoftext|>"]}
    trained = train_bpe(texts=texts, threads=threads, **options).to_bytes()
    assert train_bpe(iter(texts), threads=1, **options).to_bytes() == trained
    assert train_bpe(counts=whole, **options).to_bytes() == trained
    assert train_bpe(counts=dict(whole), **options).to_bytes() == trained


@given(first=CORPORA, second=CORPORA, sample=TEXTS)
def test_extending_keeps_ids(first: list[str], second: list[str], sample: str) -> None:
    assume(any(first) and any(second))
    base = train_bpe(texts=first, vocab_size=262, special_tokens=["<s>"])
    more = train_bpe(texts=second, vocab_size=base.vocab_size + 8, extend=base, special_tokens=["<t>"])
    vocab = more.vocab()
    assert base.vocab().items() <= vocab.items()
    assert more.merges()[: len(base.merges())] == base.merges()
    assert more.decode(more.encode(sample).ids) == sample
    assert more.pre_tokenizer == base.pre_tokenizer
    # Where no new token appears, the old ids are unchanged.
    ids = more.encode(sample).ids.tolist()
    if all(id < base.vocab_size for id in ids):
        assert ids == base.encode(sample).ids.tolist()
