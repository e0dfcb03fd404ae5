"""`Tokenizer.doctor` and `Tokenizer.prune`: useless tokens, and life without them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CORPUS
from sentitok import DecodeError, Tokenizer, train_bpe

TEXT = CORPUS / "sherlock-holmes.txt"


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return train_bpe(TEXT, vocab_size=1500, special_tokens=["<|end|>"])


def test_a_trained_tokenizer_is_healthy(trained: Tokenizer) -> None:
    found = trained.doctor()
    assert found["unreachable"] == found["split"] == found["gaps"] == []
    # At least the 128 bytes that are no characters.
    assert len(found["partial"]) >= 128
    for id in range(trained.vocab_size):
        data = trained.id_to_bytes(id)
        assert data is not None
        assert (id in found["partial"]) == ("�" in data.decode("utf-8", "replace"))


def test_what_no_text_becomes_is_found(trained: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    file = json.loads(path.read_text("utf-8"))
    vocab, merges = file["model"]["vocab"], file["model"]["merges"]
    size = len(vocab)
    # No merge makes the first; the splitter cuts the second; one id is left out.
    vocab["zebra"] = size
    vocab["e,"] = size + 2
    merges.append(["e", ","])
    path.write_text(json.dumps(file), encoding="utf-8")
    found = Tokenizer.from_file(path).doctor()
    assert found["unreachable"] == [size]
    assert found["split"] == [size + 2]
    assert found["gaps"] == [size + 1]


@given(data=st.data())
def test_kept_texts_keep_their_tokens(data: st.DataObject, trained: Tokenizer) -> None:
    text = data.draw(st.sampled_from(TEXT.read_text("utf-8").splitlines()))
    ids = trained.encode(text).ids
    others = data.draw(st.lists(st.integers(0, trained.vocab_size - 1), max_size=200))
    pruned, new_ids = trained.prune([*ids.tolist(), *others])
    assert pruned.vocab_size == int((new_ids >= 0).sum()) < trained.vocab_size
    assert sorted(new_ids[new_ids >= 0].tolist()) == list(range(pruned.vocab_size))
    assert pruned.encode(text).ids.tolist() == new_ids[ids].tolist()
    for id in np.flatnonzero(new_ids >= 0).tolist():
        assert pruned.id_to_token(int(new_ids[id])) == trained.id_to_token(id)
    # Whatever the text, nothing is lost.
    assert pruned.decode(pruned.encode("naïve 日本 " + text).ids) == "naïve 日本 " + text


def test_what_cannot_go_stays(trained: Tokenizer) -> None:
    pruned, new_ids = trained.prune([])
    assert pruned.vocab_size == 257
    assert pruned.token_to_id("<|end|>") == new_ids[trained.token_to_id("<|end|>")]


def test_an_id_without_a_token_is_refused(trained: Tokenizer) -> None:
    with pytest.raises(DecodeError, match="1500"):
        trained.prune([1500])
