"""Encoding once, batches by length: against the slow definition, and from any position."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
import shared_data
from sentimodels.data import batches, encode_texts, padding_share, plan, read_table
from sentimodels.errors import ConfigError, DataError

TEXTS = ["", "a film", "the film was long " * 9, "naïve 👍", " ", "x" * 300]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> sentitok.Tokenizer:
    """A tokenizer whose template puts a token at each end."""
    base = sentitok.train_bpe(
        texts=["low lower lowest film"], vocab_size=270, special_tokens=["[CLS]", "[SEP]"]
    )
    file = tmp_path_factory.mktemp("bert") / "tokenizer.json"
    base.save(file)
    value = json.loads(file.read_text("utf-8"))
    special = {
        name: {"id": name, "ids": [base.token_to_id(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
    }
    single = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    value["post_processor"] = {
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special,
    }  # fmt: skip
    return sentitok.Tokenizer.from_bytes(json.dumps(value).encode())


@given(texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=30), max_size=12), limit=st.integers(1, 40))
def test_truncation_is_the_tokenizers_own(
    texts: list[str], limit: int, tokenizer: sentitok.Tokenizer
) -> None:
    encoded = encode_texts(texts, tokenizer, limit)
    expected = [tokenizer.encode(text, max_tokens=limit).ids.tolist() or [0] for text in texts]
    assert [encoded.row(row).tolist() for row in range(len(encoded))] == expected
    assert encoded.text_of_row.tolist() == list(range(len(texts)))
    lengths = [len(tokenizer.encode(text).ids) for text in texts]
    assert encoded.text_lengths.tolist() == lengths
    assert encoded.n_cut == sum(length > limit for length in lengths)


@given(texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=60), max_size=8), limit=st.integers(2, 20))
def test_head_and_tail(texts: list[str], limit: int, tokenizer: sentitok.Tokenizer) -> None:
    encoded = encode_texts(texts, tokenizer, limit, "head-tail", pad_id=1)
    for row, text in enumerate(texts):
        ids = tokenizer.encode(text).ids.tolist() or [1]
        if len(ids) > limit:
            ids = ids[: (limit + 1) // 2] + ids[-(limit // 2) :]
        assert encoded.row(row).tolist() == ids


def test_head_and_tail_keep_the_templates_tokens(bert: sentitok.Tokenizer) -> None:
    encoded = encode_texts(["x" * 300, "low"], bert, 8, "head-tail")
    for row in (0, 1):
        ids = encoded.row(row).tolist()
        assert (ids[0], ids[-1]) == (bert.token_to_id("[CLS]"), bert.token_to_id("[SEP]"))
    assert encoded.lengths.max() == 8
    assert encode_texts(["x" * 300], bert, 8).row(0).tolist()[-1] == bert.token_to_id("[SEP]")


@given(texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=60), max_size=6), limit=st.integers(4, 20))
def test_windows_cover_the_text(texts: list[str], limit: int, tokenizer: sentitok.Tokenizer) -> None:
    encoded = encode_texts(texts, tokenizer, limit, "windows")
    for text, content in enumerate(texts):
        rows = [encoded.row(int(row)).tolist() for row in np.flatnonzero(encoded.text_of_row == text)]
        assert [id for row in rows for id in row] == (tokenizer.encode(content).ids.tolist() or [0])
        assert max(map(len, rows)) <= limit
    assert (np.diff(encoded.text_of_row) >= 0).all()


def test_ids_are_as_narrow_as_the_vocabulary_allows(tokenizer: sentitok.Tokenizer) -> None:
    assert encode_texts(["a"], tokenizer).ids.dtype == np.uint16
    assert encode_texts(["a"], tokenizer, pad_id=1 << 16).ids.dtype == np.int32
    assert encode_texts(["a"], tokenizer).fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize(("limit", "long"), [(0, "truncate"), (5, "middle")])
def test_lengths_that_make_no_sense(limit: int, long: Any, tokenizer: sentitok.Tokenizer) -> None:
    with pytest.raises(ConfigError):
        encode_texts(["a"], tokenizer, limit, long)


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=200).map(lambda x: np.array(x, dtype=np.int64))


@given(lengths=LENGTHS, size=st.integers(1, 50), by_tokens=st.booleans(), seed=st.none() | st.integers(0, 3))
def test_every_row_once_and_sizes_kept(
    lengths: "np.ndarray[tuple[int], np.dtype[np.int64]]", size: int, by_tokens: bool, seed: int | None
) -> None:
    sizes: dict[str, Any] = {"max_tokens": size} if by_tokens else {"batch_size": size}
    chosen = plan(lengths, shuffle_seed=seed, pool_batches=3, **sizes)
    assert sorted(np.concatenate(chosen).tolist()) == list(range(len(lengths)))
    for rows in chosen:
        if by_tokens:
            assert len(rows) == 1 or lengths[rows].max() * len(rows) <= size
        else:
            assert len(rows) <= size


def test_the_plan_is_a_function_of_seed_and_epoch() -> None:
    lengths = np.arange(1, 1001)

    def order(seed: int, epoch: int) -> list[int]:
        chosen = plan(lengths, batch_size=8, shuffle_seed=seed, epoch=epoch)
        return [int(row) for rows in chosen for row in rows]

    assert order(1, 0) == order(1, 0)
    assert len({tuple(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4


@pytest.mark.parametrize(
    "sizes", [{}, {"batch_size": 2, "max_tokens": 3}, {"batch_size": 0}, {"max_tokens": -1}]
)
def test_sizes_that_make_no_sense(sizes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        plan(np.array([1, 2]), **sizes)


def test_balanced_sampling_follows_the_weights() -> None:
    lengths = np.full(4000, 3)
    rare = np.arange(4000) < 400
    weights = np.where(rare, 9.0, 1.0)
    drawn = np.concatenate(plan(lengths, batch_size=50, shuffle_seed=0, weights=weights))
    assert len(drawn) == 4000
    assert abs(rare[drawn].mean() - 0.5) < 0.05


def read_batches(
    texts: Sequence[str], tokenizer: sentitok.Tokenizer, position: int = 0, multiple_of: int = 1
) -> list[tuple[list[int], list[list[int]], list[list[bool]], list[int]]]:
    encoded = encode_texts(texts, tokenizer, 40)
    labels = [len(text) % 5 for text in texts]
    return [
        (b.index.tolist(), b.input_ids.tolist(), b.mask.tolist(), b.labels.tolist())
        for b in batches(encoded, labels, batch_size=4, shuffle_seed=5, epoch=2, position=position,
                         pool_batches=2, multiple_of=multiple_of)
    ]  # fmt: skip


def test_batches_are_the_rows_padded(tokenizer: sentitok.Tokenizer) -> None:
    texts = [text * n for n in (1, 2, 3) for text in TEXTS]
    for index, ids, mask, labels in read_batches(texts, tokenizer, multiple_of=8):
        assert len(ids[0]) % 8 == 0
        for row, padded, real, label in zip(index, ids, mask, labels, strict=True):
            expected = tokenizer.encode(texts[row], max_tokens=40).ids.tolist() or [0]
            assert padded == expected + [0] * (len(padded) - len(expected))
            assert real == [place < len(expected) for place in range(len(padded))]
            assert label == len(texts[row]) % 5


def test_reading_begins_at_any_position(tokenizer: sentitok.Tokenizer) -> None:
    texts = [text * n for n in (1, 2, 3) for text in TEXTS]
    whole = read_batches(texts, tokenizer)
    for position in range(len(whole) + 1):
        assert read_batches(texts, tokenizer, position) == whole[position:]


def test_labels_must_fit_the_texts(tokenizer: sentitok.Tokenizer) -> None:
    encoded = encode_texts(["a", "b"], tokenizer)
    with pytest.raises(DataError, match="2 texts, but 1 labels"):
        batches(encoded, [1], batch_size=2)
    (batch,) = batches(encoded, batch_size=2)
    assert batch.labels.tolist() == [-1, -1]
    assert list(batches(encode_texts([], tokenizer), batch_size=2)) == []


def test_windows_share_their_texts_label(tokenizer: sentitok.Tokenizer) -> None:
    encoded = encode_texts(["film " * 30, "a"], tokenizer, 8, "windows")
    for batch in batches(encoded, [3, 1], batch_size=2):
        owners = encoded.text_of_row[batch.index.numpy()]
        assert batch.labels.tolist() == [3 if owner == 0 else 1 for owner in owners]


@pytest.mark.parametrize("batch_size", [32, 64, 256])
def test_padding_is_below_eight_percent(batch_size: int) -> None:
    table = read_table(shared_data.folder() / "kaggle-movie-reviews" / "train.tsv.xz")
    tokenizer = sentitok.train_bpe(texts=table.texts, vocab_size=4000)
    lengths = encode_texts(table.texts, tokenizer, 64).lengths
    assert padding_share(lengths, plan(lengths, batch_size=batch_size, shuffle_seed=0)) < 0.08
    in_order = [np.arange(i, min(i + batch_size, len(lengths))) for i in range(0, len(lengths), batch_size)]
    assert padding_share(lengths, in_order) > 0.5
