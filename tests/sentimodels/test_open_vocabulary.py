"""Whole words and unseen words, against plain loops over character n-grams."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labelled_reviews import rows
from sentimodels.config import ClassificationConfig
from sentimodels.data.encoded import Encoded, batches
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.evaluation.predictions import text_logits
from sentimodels.models import build
from sentimodels.nn.embedding import EmbeddingConfig, NgramEmbedding
from sentimodels.runs.families import resolve
from sentimodels.tasks.classification import Classification
from sentimodels.text.encoder import TextEncoder, encoder_for, load_encoder
from sentimodels.text.ngrams import hash_text, ngrams
from sentimodels.text.vocabulary import OpenVocabulary, Reader
from sentimodels.training.trainer import Trainer

TEXTS = [text for text, _ in rows(60)]
LABELS = np.array([label == "pos" for _, label in rows(60)], dtype=np.int64)
NEW = ["a filmic filmy film", "zzz", "", "watch filmy zzz , n't it"]


def encoder(**data: object) -> TextEncoder:
    return encoder_for(resolve({"arch": "cnn", "data": data}), TEXTS)


def model(of: TextEncoder, arch: str = "cnn", **config: object) -> torch.nn.Module:
    torch.manual_seed(3)
    return build(arch, resolve({"arch": arch, "model": config}).model, of.inputs(2)).eval()


def without_ngrams(of: TextEncoder) -> TextEncoder:
    """The same words for a model that composes none."""
    return replace(of, char_ngrams=None)


def test_how_texts_are_cut() -> None:
    words = OpenVocabulary([])
    assert words.cut("do n't  you think it's GREAT?! 我爱x_1 かな") == [
        "do", "n't", "you", "think", "it's", "GREAT", "?", "!", "我", "爱", "x_1", "か", "な"
    ]  # fmt: skip
    assert OpenVocabulary([], "bert").cut("do n't") == ["do", "n", "'", "t"]
    assert words.cut(" \n\t") == []


def test_the_most_frequent_words_get_ids() -> None:
    words = OpenVocabulary.fit(["b b c c a", "a d"], vocab_size=3)
    assert words.words == ["a", "b", "c"]
    reader = Reader(words)
    batch = reader.encode_batch(["d a", "", "e d"])
    # 3 is padding.
    assert batch.ids.tolist() == [4, 0, 5, 4]
    assert batch.row_offsets.tolist() == [0, 2, 2, 4]
    assert reader.unknown == ["d", "e"]
    assert reader.encode("e e a", max_tokens=2).ids.tolist() == [5, 5]


def test_an_unknown_word_is_the_mean_of_its_known_ngrams() -> None:
    config: Any = resolve({"arch": "cnn", "model": {"char_ngrams": [2, 3], "char_buckets": 10_007}})
    of = TextEncoder(OpenVocabulary(["film", "fun"]), config.data, config.model)
    layer = NgramEmbedding(EmbeddingConfig(embedding_dropout=0), of.inputs(2), 6, 0.1).eval()
    buckets = sorted({hash_text(gram) % 10_007 for text in ("film", "fun") for gram in ngrams(text, 2, 3)})
    encoded = of.encode(["filmy xq film"])
    assert encoded.unknown == ("filmy", "xq")
    found = layer(**next(batches(encoded, batch_size=1)).inputs())[0]

    def mean(word: str) -> torch.Tensor:
        there = [hash_text(gram) % 10_007 for gram in ngrams(word, 2, 3)]
        taken = [layer.gram_weight[buckets.index(b)] for b in there if b in buckets]
        return torch.stack(taken).mean(0) if taken else torch.zeros(6)

    torch.testing.assert_close(found[0], mean("filmy"))
    assert not found[1].any()  # no n-gram of it is known
    torch.testing.assert_close(found[2], layer.weight[0] + mean("film"))


@pytest.mark.parametrize("arch", ["cnn", "gpt"])
def test_two_threads_agree_with_one(arch: str) -> None:
    """Each call has separate unknown words, and none may see those of another call."""
    of = encoder()
    module = model(of, arch)
    texts = [[f"a filmic{i} film", f"dull{i} {'zx' * i}"] for i in range(40)]
    expected = [logits(module, of, some) for some in texts]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda some: logits(module, of, some), texts))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, two)


def test_words_too_short_for_ngrams() -> None:
    """One character has no n-gram of three to five, so an unknown word finds none to be made of."""
    of = encoder_for(resolve({"arch": "cnn"}), ["我爱你", "a b"])
    assert not logits(model(of), of, ["unseen"])[0].any()


def logits(module: torch.nn.Module, of: TextEncoder, texts: Sequence[str]) -> np.ndarray:
    return text_logits(module, of.encode(texts))


@pytest.mark.parametrize("arch", ["cnn", "lstm", "encoder", "mamba"])
def test_answers_do_not_depend_on_the_texts_beside(arch: str) -> None:
    of = encoder()
    module = model(of, arch)
    together = logits(module, of, NEW)
    for place, text in enumerate(NEW):
        np.testing.assert_allclose(logits(module, of, [text])[0], together[place], atol=1e-5)
    np.testing.assert_allclose(logits(module, of, NEW[::-1])[::-1], together, atol=1e-5)
    # An unknown word is heard by its letters.
    assert np.abs(logits(module, of, ["filmy"]) - logits(module, of, ["dullish"])).max() > 1e-4


def test_without_ngrams_an_unknown_word_is_nothing() -> None:
    of = without_ngrams(encoder())
    module = model(of, char_ngrams=(0, 0))
    first, second = logits(module, of, ["qqq"]), logits(module, of, ["www"])
    np.testing.assert_array_equal(first, second)
    fixed = model(of, channels="both", char_ngrams=(0, 0))
    np.testing.assert_array_equal(logits(fixed, of, ["qqq"]), logits(fixed, of, ["www"]))


def test_words_beyond_the_limit_are_learnt_by_their_ngrams() -> None:
    of = encoder(vocab_size=257)
    assert isinstance(of.encoder, OpenVocabulary)
    few = replace(of, encoder=OpenVocabulary(of.encoder.words[:5]))
    encoded = few.encode(TEXTS)
    assert isinstance(encoded, Encoded)
    assert len(encoded.unknown) > 20
    config = resolve({"arch": "cnn", "train": {"epochs": 15, "batch_size": 8}})
    module = model(few)
    assert isinstance(config.task, ClassificationConfig)
    task = Classification(config.task, config.train, encoded, LABELS, n_classes=2)
    Trainer(config.optim, config.train).fit(module, task)
    assert (logits(module, few, TEXTS).argmax(1) == LABELS).mean() > 0.6


@pytest.mark.parametrize(("long", "n_rows"), [("truncate", 1), ("head-tail", 1), ("windows", 3)])
def test_long_texts(long: str, n_rows: int) -> None:
    of = encoder(max_tokens=4, long=long)
    encoded = of.encode(["u v w x y z u v w"])
    assert len(encoded) == n_rows
    assert int(encoded.lengths.max()) <= 4
    assert len(set(encoded.ids.tolist())) == {"truncate": 4, "head-tail": 3, "windows": 6}[long]


def test_windows_cover_all() -> None:
    reader = Reader(OpenVocabulary(list("abcdefgh")))
    assert [row.tolist() for row in reader.windows("a b c d e f g", 3, 1)] == [
        [0, 1, 2],
        [2, 3, 4],
        [4, 5, 6],
    ]
    assert [row.tolist() for row in reader.windows("a b", 3, 2)] == [[0, 1]]
    with pytest.raises(ConfigError, match=r"stride 3: from 0 to below data\.max_tokens 3"):
        reader.windows("a", 3, 3)


@given(st.lists(st.text(max_size=8), max_size=20))
def test_saved_words_come_back(words: list[str]) -> None:
    made = OpenVocabulary(sorted(set(words)), "bert")
    back = OpenVocabulary.from_bytes(made.to_bytes())
    assert (back.words, back.fingerprint) == (made.words, made.fingerprint)
    assert back.cut("it's") == made.cut("it's")


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"format": "other/1"}', b"[]", b"\xff"])
def test_broken_words_are_an_error(data: bytes) -> None:
    with pytest.raises(CheckpointError):
        OpenVocabulary.from_bytes(data)


def test_a_run_keeps_them(tmp_path: Path) -> None:
    of = encoder()
    of.save(tmp_path)
    assert (tmp_path / "open-vocabulary.json").is_file()
    back = load_encoder(tmp_path, resolve({"arch": "cnn"}))
    assert back.encode(NEW).ids.tolist() == of.encode(NEW).ids.tolist()
    assert back.fingerprint == of.fingerprint


def test_subwords_by_option() -> None:
    for kind in ("bpe", "wordpiece", "unigram"):
        of = encoder(tokenizer_model=kind, vocab_size=300)
        assert of.file_name == "tokenizer.json"
        assert not of.encode(NEW).unknown
