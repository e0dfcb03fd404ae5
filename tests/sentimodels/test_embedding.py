"""Vectors of words and of their n-grams against what they are defined by; what dropout drops of them."""

import numpy as np
import pytest
import torch
from torch import Tensor

from sentimodels.errors import ConfigError
from sentimodels.nn.embedding import EmbeddingConfig, NgramEmbedding, TokenEmbedding, token_embedding
from sentimodels.text.ngrams import NgramIndex, hash_text, hash_texts, ngrams
from sentimodels.text.vocabulary import Inputs


@pytest.fixture(autouse=True)
def _seeded_torch() -> None:
    torch.manual_seed(5)


def test_ngrams_of_a_word() -> None:
    assert ngrams("fun", 3, 4) == ["<fu", "fun", "un>", "<fun", "fun>"]
    assert ngrams("a", 3, 5) == []
    assert ngrams("né", 2, 3) == ["<n", "né", "é>", "<né", "né>"]


def test_hashes_are_fnv1a() -> None:
    # From the reference code's test vectors.
    assert [hash_text(text) for text in ("", "a", "foobar")] == [
        0xCBF29CE484222325,
        0xAF63DC4C8601EC8C,
        0x85944171F73967E8,
    ]
    texts = ["", "a", "foobar", "né", "x" * 31, "y" * 32, "z" * 33, "é" * 40, "\ud800"]
    assert hash_texts(texts).tolist() == [hash_text(text) for text in texts]


def composed(
    texts: list[str], ids: Tensor, size: tuple[int, int] = (3, 5)
) -> tuple[NgramIndex, dict[str, Tensor]]:
    """The index of a vocabulary, and what a batch of ids gives an embedding."""
    index = NgramIndex.of(texts, size, 32)
    distinct, place = ids.unique(return_inverse=True)
    table = index.table
    found = [table.rows[table.starts[i] : table.starts[i + 1]] for i in distinct.tolist()]
    offsets = np.cumsum([0, *map(len, found)])[:-1]
    given = {
        "distinct_ids": distinct,
        "distinct_index": place,
        "ngram_ids": torch.from_numpy(np.concatenate(found)),
        "ngram_offsets": torch.from_numpy(offsets),
    }
    return index, given


def test_embedding_is_its_own_vector_and_the_mean_of_its_ngrams() -> None:
    texts = ["", "fun", "film", "a"]
    ids = torch.tensor([[1, 2, 1], [3, 0, 0]])
    index, given = composed(texts, ids, (3, 4))
    config = EmbeddingConfig(embedding_dropout=0)
    layer = NgramEmbedding(config, Inputs(4, 2, 0, index.n_rows), 6, 0.1)
    # Rows are those of the buckets that occur, in their order.
    grams = {gram: hash_text(gram) % 32 for text in texts if text for gram in ngrams(text, 3, 4)}
    known = {gram: sorted(set(grams.values())).index(bucket) for gram, bucket in grams.items()}
    mask = torch.tensor([[True, True, True], [True, True, False]])
    for sparse in (False, True):
        layer.sparse = sparse
        found = layer(ids, mask, **given)
        for row in range(2):
            for place in range(3):
                text = texts[ids[row, place]]
                expected = layer.weight[ids[row, place]]
                rows = [known[gram] for gram in ngrams(text, 3, 4)] if text else []
                if rows:
                    expected = expected + layer.gram_weight[rows].mean(0)
                torch.testing.assert_close(found[row, place], expected * mask[row, place])
    assert not layer.weight[0].any()
    with pytest.raises(ValueError, match=r"take them from Batch\.inputs"):
        layer(ids, mask)


@pytest.mark.parametrize("with_ngrams", [False, True])
def test_sparse_gradients_are_the_dense_ones(with_ngrams: bool) -> None:
    ids, mask = torch.tensor([[1, 2, 1, 3]]), torch.ones(1, 4, dtype=torch.bool)
    index, given = composed(["", "fun", "film", "fun"], ids)
    inputs = Inputs(4, 2, 0, index.n_rows * with_ngrams)
    layer = token_embedding(EmbeddingConfig(embedding_dropout=0), inputs, 6, 0.1)
    found = []
    for sparse in (False, True):
        layer.sparse = sparse
        layer.zero_grad()
        x = layer(ids, mask, **(given if with_ngrams else {}))
        (x * torch.arange(24).view(1, 4, 6)).sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad.is_sparse == sparse
        found.append([p.grad.to_dense() for p in layer.parameters() if p.grad is not None])
    for dense, sparse_one in zip(*found, strict=True):
        torch.testing.assert_close(dense, sparse_one)


def test_embedding_dropout_drops_features_and_word_dropout_tokens() -> None:
    config = EmbeddingConfig(embedding_dropout=0, word_dropout=0.5, char_ngrams=(0, 0))
    layer = TokenEmbedding(config, Inputs(50, 2), 16, 1.0)
    out = layer(torch.arange(50)[None], torch.ones(1, 50, dtype=torch.bool))
    dropped = (out == 0).all(-1)
    assert 5 < dropped.sum() < 45
    assert torch.equal((out == 0).any(-1), dropped)
    assert not (layer.eval()(torch.arange(50)[None], torch.ones(1, 50, dtype=torch.bool)) == 0).any()


def test_start_vectors_fill_the_rows_they_exist_for() -> None:
    vectors = torch.zeros(4, 6)
    vectors[2] = 7.0
    layer = TokenEmbedding(EmbeddingConfig(char_ngrams=(0, 0)), Inputs(4, 2, vectors=vectors), 6, 0.1)
    assert (layer.weight[2] == 7).all()
    assert (layer.weight[1] != 0).all()
    with pytest.raises(ConfigError, match=r"d_model 5: .* have 6 numbers; set model\.d_model = 6"):
        TokenEmbedding(EmbeddingConfig(), Inputs(4, 2, vectors=vectors), 5, 0.1)
