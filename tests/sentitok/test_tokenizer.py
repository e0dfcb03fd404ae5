"""`Tokenizer`: what it takes, what it gives, what it refuses to change."""

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sentitok
from sentitok import (
    AddedToken,
    Special,
    Tokenizer,
    train_bpe,
)

TEXT = "A gripping film — 10/10, naïve 😀\n"
TEXTS = [TEXT, "", "it's  fine.", "日本語"]


def ids(tokenizer: Tokenizer, text: str | bytes) -> list[int]:
    return list(map(int, tokenizer.encode(text).ids))


@pytest.mark.parametrize(
    "same", [TEXT.encode(), bytearray(TEXT.encode()), memoryview(TEXT.encode()), memoryview(TEXT.encode())[:]]
)
def test_texts_of_every_type(same: Any, tokenizer: Tokenizer) -> None:
    assert tokenizer.encode(same).ids.tolist() == ids(tokenizer, TEXT)
    assert tokenizer.count(same) == len(ids(tokenizer, TEXT))


def test_strided_memoryview(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode(memoryview(b"a_b_c")[::2]).ids.tolist() == ids(tokenizer, "abc")


def batches() -> Iterable[tuple[str, Any]]:
    yield "list", TEXTS
    yield "tuple", tuple(TEXTS)
    yield "generator", (text for text in TEXTS)
    yield "bytes", [text.encode() for text in TEXTS]
    yield "mixed", [TEXTS[0], TEXTS[1].encode(), bytearray(TEXTS[2].encode()), TEXTS[3]]
    yield "dict keys", dict.fromkeys(TEXTS).keys()
    yield "numpy str", np.array(TEXTS)
    yield "numpy object", np.array(TEXTS, dtype=object)
    yield "pandas", pd.Series(TEXTS)
    yield "pandas object", pd.Series(TEXTS, dtype=object)
    yield "pandas index", pd.Index(TEXTS)
    yield "pandas frame of one column", pd.DataFrame({"text": TEXTS})
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()):
        yield f"arrow {kind}", pa.array(TEXTS, kind)
    yield "arrow dictionary", pa.array(TEXTS).dictionary_encode()
    yield "arrow slice", pa.array(["x", *TEXTS, "y"])[1:-1]
    yield "arrow chunks", pa.chunked_array([TEXTS[:1], [], TEXTS[1:]])
    yield "arrow table", pa.table({"text": TEXTS})
    yield "arrow batch", pa.record_batch({"text": TEXTS})
    yield "arrow stream", pa.table({"text": TEXTS}).to_reader(max_chunksize=2)


@pytest.mark.parametrize(("name", "texts"), list(batches()), ids=lambda x: x if isinstance(x, str) else "")
def test_batches_of_every_type(name: str, texts: Any, tokenizer: Tokenizer) -> None:
    batch = tokenizer.encode_batch(texts, offsets=True)
    assert batch.to_list() == [ids(tokenizer, text) for text in TEXTS]
    expected = np.concatenate([tokenizer.encode(text).offsets() for text in TEXTS])
    assert batch.offsets().tolist() == expected.tolist()


def test_large_arrow_chunk(tokenizer: Tokenizer) -> None:
    texts = [f"film {n}" for n in range(40_000)]
    assert tokenizer.encode_batch(pa.array(texts)) == tokenizer.encode_batch(texts)


@pytest.mark.parametrize(
    ("texts", "error", "words"),
    [
        (pa.array(["a", None]), ValueError, "row 1 is null"),
        (pa.chunked_array([["a"], [None]], pa.string()), ValueError, "row 1 is null"),
        (pa.array([1]), TypeError, "Arrow column of int64"),
        (pa.table({"a": ["x"], "b": ["y"]}), ValueError, "2 columns"),
        (pd.Series(["a", None], dtype=object), ValueError, "row 1 is null"),
        (np.array(["a", None], dtype=object), TypeError, "row 1 is NoneType"),
    ],
)
def test_missing_values_are_named(
    texts: Any, error: type[Exception], words: str, tokenizer: Tokenizer
) -> None:
    with pytest.raises(error, match=words):
        tokenizer.encode_batch(texts)


def test_without_pyarrow(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    column, series = pa.array(TEXTS), pd.Series(TEXTS)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"sentitok\[arrow\]"):
        tokenizer.encode_batch(column)
    assert tokenizer.encode_batch(series).to_list() == [ids(tokenizer, text) for text in TEXTS]


@pytest.mark.parametrize(
    "same",
    [
        lambda ids: ids,
        lambda ids: tuple(ids),
        lambda ids: iter(ids),
        lambda ids: np.array(ids, np.uint32),
        lambda ids: np.array(ids, np.int64),
        lambda ids: np.array(ids, np.uint16),
        lambda ids: (
            np.array(ids * 2, np.int32)[::2] if not ids else np.repeat(np.array(ids, np.int32), 2)[::2]
        ),
        lambda ids: [np.int64(id) for id in ids],
        lambda ids: array("i", ids),
        lambda ids: pd.Series(ids, dtype="int64"),
    ],
)
def test_ids_of_every_type(same: Any, tokenizer: Tokenizer) -> None:
    for text in TEXTS:
        assert tokenizer.decode(same(ids(tokenizer, text))) == text
        assert tokenizer.decode_bytes(same(ids(tokenizer, text))) == text.encode()
    assert tokenizer.decode_batch([same(ids(tokenizer, text)) for text in TEXTS]) == TEXTS


def test_decode_batch(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode_batch(tokenizer.encode_batch(TEXTS)) == TEXTS
    assert tokenizer.decode_batch([]) == []
    # A byte of a character alone is not a character.
    first = tokenizer.token_to_id("😀".encode()[:1])
    assert first is not None
    assert tokenizer.decode([first]) == "�"


def test_specials(tokenizer: Tokenizer) -> None:
    text = "a<|endoftext|>b<pad>"
    end, pad = tokenizer.token_to_id("<|endoftext|>"), tokenizer.token_to_id("<pad>")
    assert (end, pad) == (0, 1)
    plain = ids(tokenizer, text)
    assert 0 not in plain
    assert 1 not in plain
    a, b = ids(tokenizer, "a"), ids(tokenizer, "b")
    rest = ids(tokenizer, "b<pad>")
    assert tokenizer.encode(text, specials="all").ids.tolist() == [*a, 0, *b, 1]
    assert tokenizer.encode(text, specials={"<|endoftext|>"}).ids.tolist() == [*a, 0, *rest]
    assert tokenizer.encode(text, specials=["<|endoftext|>", "<pad>"]).ids.tolist() == [*a, 0, *b, 1]
    assert tokenizer.count(text, specials="all") == 4
    assert tokenizer.encode_batch([text], specials=frozenset(["<pad>"]))[0].ids.tolist()[-1] == 1
    assert tokenizer.decode([*a, 0, *b, 1]) == text
    assert tokenizer.decode([*a, 0, *b, 1], skip_special_tokens=True) == "ab"


def test_segments_keep_frame_and_data_apart(tokenizer: Tokenizer) -> None:
    hostile = "x<|endoftext|>é"
    encoding = tokenizer.encode_segments([Special("<|endoftext|>"), hostile, b" y", Special("<pad>")])
    assert encoding.ids.tolist() == [0, *ids(tokenizer, hostile), *ids(tokenizer, " y"), 1]
    assert encoding.special_tokens_mask.tolist() == [i in (0, 1) for i in encoding.ids.tolist()]
    joined = "<|endoftext|>" + hostile + " y<pad>"
    spans = encoding.offsets("chars").tolist()
    assert "".join(joined[start:end] for start, end in spans) == joined
    assert len(tokenizer.encode_segments([])) == 0


def test_max_tokens_is_a_prefix(tokenizer: Tokenizer) -> None:
    whole = ids(tokenizer, TEXT)
    for n in range(len(whole) + 2):
        encoding = tokenizer.encode(TEXT, max_tokens=n)
        assert encoding.ids.tolist() == whole[:n]
        assert len(encoding.offsets()) == min(n, len(whole))
        assert tokenizer.encode_batch([TEXT, TEXT], max_tokens=n).to_list() == [whole[:n]] * 2
        assert tokenizer.fits(TEXT, n) == (n >= len(whole))


def test_windows_equal_their_definition(tokenizer: Tokenizer) -> None:
    text = TEXT * 5
    whole = ids(tokenizer, text)
    spans = tokenizer.encode(text).offsets().tolist()
    for size, stride in [(7, 0), (7, 3), (1, 0), (1000, 10)]:
        batch = tokenizer.windows(text, size, stride)
        starts = range(0, max(len(whole) - stride, 1), size - stride)
        assert batch.to_list() == [whole[start : start + size] for start in starts]
        assert batch.offsets().tolist() == [span for start in starts for span in spans[start : start + size]]


def test_counts(tokenizer: Tokenizer) -> None:
    counts = tokenizer.count_batch(TEXTS)
    assert counts.dtype == np.int64
    assert (counts - 10_000).max() < 0
    assert counts.tolist() == [tokenizer.count(text) for text in TEXTS]
    assert tokenizer.count_batch([]).tolist() == []


def test_vocabulary(tokenizer: Tokenizer) -> None:
    vocab = tokenizer.vocab()
    assert len(vocab) == tokenizer.vocab_size == len(tokenizer) == 3000
    assert list(vocab.values()) == list(range(3000))
    for token, id in vocab.items():
        assert tokenizer.id_to_token(id) == token
        assert tokenizer.token_to_id(token) == id
        raw = tokenizer.id_to_bytes(id)
        assert raw is not None
        assert tokenizer.token_to_id(raw) == id
    assert tokenizer.token_to_id("Ġfilm") is None
    assert tokenizer.token_to_id("Ġthe") == tokenizer.token_to_id(" the") == tokenizer.token_to_id(b" the")
    assert tokenizer.id_to_token(3000) is None
    assert tokenizer.id_to_bytes(-1) is None
    assert tokenizer.id_to_token(2**80) is None


def test_merges_rebuild_the_vocabulary(tokenizer: Tokenizer) -> None:
    merges = tokenizer.merges()
    assert len(merges) == 3000 - 256 - 2
    born = [tokenizer.token_to_id(left + right) for left, right in merges]
    assert born == list(range(258, 3000))


def test_properties(tokenizer: Tokenizer) -> None:
    assert tokenizer.is_lossless
    assert tokenizer.pre_tokenizer == sentitok.PreTokenizer("gpt2")
    assert tokenizer.added_tokens == [AddedToken("<|endoftext|>", 0), AddedToken("<pad>", 1)]
    assert tokenizer.fingerprint in str(tokenizer.info())
    assert tokenizer.fingerprint[:12] in repr(tokenizer)
    report = tokenizer.report
    assert report is not None
    assert report.merges == 2742
    assert report.stop == "the vocabulary has the size asked for"
    assert report.distinct_pieces > 10_000
    assert report.totals["bytes"] > 1_000_000
    assert set(report.seconds) == {"count", "merge"}
    assert report.dropped == []


def test_nothing_can_be_set(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode(TEXT)
    batch = tokenizer.encode_batch(TEXTS)
    for thing in (tokenizer, encoding, batch, tokenizer.report, Special("x"), tokenizer.added_tokens[0]):
        with pytest.raises(AttributeError):
            thing.anything = 1  # type: ignore[union-attr]  # 2026-11-24: refused
    for values in (encoding.ids, encoding.type_ids, encoding.special_tokens_mask, batch.ids, batch[0].ids):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


def test_with_specials_is_another_tokenizer(tokenizer: Tokenizer) -> None:
    more = tokenizer.with_specials(["<s>", "<pad>"])
    assert more.vocab_size == 3001
    assert more.token_to_id("<s>") == 3000
    assert tokenizer.token_to_id("<s>") is None
    assert more != tokenizer
    assert ids(more, TEXT) == ids(tokenizer, TEXT)
    assert more.encode("<s>", specials="all").ids.tolist() == [3000]


def test_dropout_is_seeded(tokenizer: Tokenizer) -> None:
    noisy = tokenizer.with_dropout(0.3)
    one, same, other = (noisy.encode(TEXT * 9, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert noisy.decode(one.ids) == noisy.decode(other.ids) == TEXT * 9
    assert ids(noisy.with_dropout(None), TEXT) == ids(tokenizer, TEXT)


def test_pair(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("naïve 😀", "日本 語")
    first, second = ids(tokenizer, "naïve 😀"), ids(tokenizer, "日本 語")
    assert encoding.ids.tolist() == first + second
    assert encoding.type_ids.tolist() == [0] * len(first) + [1] * len(second)
    assert encoding.offsets().tolist() == [
        *tokenizer.encode("naïve 😀").offsets().tolist(),
        *tokenizer.encode("日本 語").offsets().tolist(),
    ]


def test_equality_and_hash(tokenizer: Tokenizer, sherlock: Path, declarations: Path) -> None:
    again = train_bpe(
        [sherlock, declarations], vocab_size=3000, special_tokens=["<|endoftext|>", "<pad>"], threads=1
    )
    assert again == tokenizer
    assert again.to_bytes() == tokenizer.to_bytes()
    assert len({again, tokenizer, tokenizer.with_specials(["x"])}) == 2
    assert tokenizer != 1
    assert tokenizer.encode(TEXT) == again.encode(TEXT) != tokenizer.encode("x")
    assert len({tokenizer.encode(TEXT), again.encode(TEXT)}) == 1
    assert tokenizer.encode_batch(TEXTS) == again.encode_batch(TEXTS) != tokenizer.encode_batch([])


@pytest.mark.parametrize("format", ["tokenizer.json", "huggingface", "gpt2", "sentitok"])
def test_save_and_load(format: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / ("tokenizer.json" if "." in format or format == "sentitok" else "")
    if format == "gpt2":
        with pytest.warns(UserWarning, match="added token|pattern"):
            files = tokenizer.save(path, format)
        loaded = Tokenizer.from_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    else:
        files = tokenizer.save(path, format)
        loaded = Tokenizer.from_file(path)
        assert loaded == tokenizer
    assert all(Path(file).is_file() for file in files)
    assert loaded.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)


def test_tiktoken(tokenizer: Tokenizer, tmp_path: Path) -> None:
    plain = train_bpe(texts=["low lower lowest"], vocab_size=262)
    path = tmp_path / "x.tiktoken"
    with pytest.warns(UserWarning, match="pattern"):
        plain.save(path)
    loaded = Tokenizer.from_tiktoken(path, "gpt2", {"<|end|>": 262})
    assert ids(loaded, "lowest lower") == ids(plain, "lowest lower")
    assert loaded.encode("<|end|>", specials="all").ids.tolist() == [262]
    assert loaded.merges() == plain.merges()


@pytest.mark.parametrize(
    "options",
    [
        {"pre_tokenizer": "gpt2-prefix-space"},
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>"},
        {"end_of_word_suffix": "</w>", "pre_tokenizer": "whitespace-split"},
    ],
)
def test_what_loses_text_is_not_lossless(options: dict[str, Any]) -> None:
    trained = train_bpe(texts=["low lower lowest  new", "widest"], vocab_size=900, **options)
    for tokenizer in (trained, Tokenizer.from_bytes(trained.to_bytes())):
        assert tokenizer.decode(tokenizer.encode("x zq").ids) != "x zq"
        assert not tokenizer.is_lossless


def test_the_suffix_is_a_space_wherever_it_stands() -> None:
    import tokenizers

    theirs = tokenizers.Tokenizer(tokenizers.models.BPE({"a</w>b": 0, "c</w>": 1}, []))
    for suffix in ("</w>", "", "b"):
        theirs.decoder = tokenizers.decoders.BPEDecoder(suffix=suffix)
        ours = Tokenizer.from_bytes(theirs.to_str().encode())
        for row in ([0, 1, 0], [1], [0], [1, 1], []):
            assert ours.decode(row) == theirs.decode(row)
            stream = ours.stream_decoder()
            assert "".join([*map(stream.push, row), stream.finish()]) == theirs.decode(row)
