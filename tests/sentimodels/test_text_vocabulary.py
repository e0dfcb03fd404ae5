"""One interface for subword tokenizers, whole words and bags: size, padding, special ids, texts."""

from pathlib import Path

import numpy as np
import pytest

from labelled_reviews import rows
from sentimodels.data.encoded import batches
from sentimodels.runs.families import resolve
from sentimodels.text.encoder import TextEncoder, encoder_for, load_encoder
from sentimodels.text.vocabulary import Subwords
from sentitok import Tokenizer, train_bpe, train_unigram, train_wordpiece

TEXTS = [text for text, _ in rows(40)]
KINDS = ["words", "bpe", "wordpiece", "unigram"]


def encoder(kind: str) -> TextEncoder:
    return encoder_for(resolve({"arch": "cnn", "data": {"tokenizer_model": kind, "vocab_size": 300}}), TEXTS)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_tokens(kind: str) -> None:
    of = encoder(kind)
    vocabulary = of.vocabulary
    texts = vocabulary.token_texts
    assert texts is not None
    assert vocabulary.in_order
    assert len(texts) == vocabulary.vocab_size == of.vocab_size
    assert vocabulary.pad_id in vocabulary.special_ids
    assert 0 <= vocabulary.pad_id < vocabulary.vocab_size
    assert all(texts[id] == "" for id in vocabulary.special_ids)
    encoded = of.encode([*TEXTS, ""])
    real = encoded.ids[: encoded.row_offsets[-2]]
    assert not np.isin(real, [vocabulary.pad_id]).any()
    assert set(encoded.row(len(TEXTS)).tolist()) <= vocabulary.special_ids  # padding, or a template's


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_gives_back_the_tokenizer_it_was_trained_with(kind: str, tmp_path: Path) -> None:
    config = resolve({"arch": "cnn", "data": {"tokenizer_model": kind, "vocab_size": 300}})
    made = encoder_for(config, TEXTS)
    made.save(tmp_path)
    assert load_encoder(tmp_path, config).fingerprint == made.fingerprint


def test_a_model_file_is_read_as_the_run_will_have_it(tmp_path: Path) -> None:
    path = tmp_path / "own.model"
    train_unigram(texts=TEXTS, vocab_size=200, method="sentencepiece").save(path)
    config = resolve({"arch": "cnn", "data": {"tokenizer": str(path)}})
    with pytest.warns(UserWarning, match="64 bits|their own text"):
        made = encoder_for(config, TEXTS)
    assert made.fingerprint != Tokenizer.from_file(path).fingerprint  # its pieces have kinds
    made.save(tmp_path)
    assert load_encoder(tmp_path, config).fingerprint == made.fingerprint


@pytest.mark.parametrize("arch", ["tfidf", "nb", "bow"])
def test_a_bag_has_no_tokens(arch: str) -> None:
    vocabulary = encoder_for(resolve({"arch": arch}), TEXTS).vocabulary
    assert not vocabulary.in_order
    assert vocabulary.token_texts is None
    assert vocabulary.pad_id == 0


def test_padding_is_the_tokenizers_own_where_it_has_one(tmp_path: Path) -> None:
    own = train_wordpiece(texts=TEXTS, vocab_size=200)
    assert own.token_to_id("[PAD]") is not None
    vocabulary = Subwords(own)
    assert vocabulary.pad_id == own.token_to_id("[PAD]")
    assert vocabulary.vocab_size == own.vocab_size
    assert vocabulary.special_ids == {token.id for token in own.added_tokens if token.special}
    none = train_bpe(texts=TEXTS, vocab_size=300)
    added = Subwords(none)
    assert (added.pad_id, added.vocab_size) == (none.vocab_size, none.vocab_size + 1)
    assert added.special_ids == {none.vocab_size}
    path = tmp_path / "tokenizer.json"
    own.save(path)
    given = encoder_for(resolve({"arch": "cnn", "data": {"tokenizer": str(path)}}), TEXTS)
    assert isinstance(given.encoder, Tokenizer)
    assert given.pad_id == vocabulary.pad_id


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_holds_each_token_once(kind: str) -> None:
    of = encoder(kind)
    encoded = of.encode([*TEXTS[:10], "zyx unheard zyx", ""])
    table = of.ngrams
    assert table is not None
    for batch in batches(encoded, batch_size=5):
        inputs = batch.inputs()
        assert ("mask" in inputs) == (not batch.full) == (not bool(batch.mask.all()))
        distinct, ends = inputs["distinct_ids"], [*inputs["ngram_offsets"].tolist()[1:], None]
        assert (distinct[inputs["distinct_index"]] == inputs["input_ids"]).all()
        assert int(distinct.max()) < of.vocab_size
        for id, start, end in zip(distinct.tolist(), inputs["ngram_offsets"].tolist(), ends, strict=True):
            if id != of.pad_id:  # an unknown word has the padding id, and n-grams of its own
                own = table.table.rows[table.table.starts[id] : table.table.starts[id + 1]]
                assert inputs["ngram_ids"][start:end].tolist() == own.tolist()
