"""The id and the side that `pad` and `to_torch` fill rows up by, where a call names none.

The padding token of a folder or an object is that of transformers. `test_encoding.py` tests lengths
and types.
"""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.families import file_of
from sentitok import EncodingBatch, Tokenizer, train_bpe

TEXTS = ["a", "the film is long"]
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_bpe(texts=["the film is long, the film is short"] * 5, vocab_size=280, special_tokens=[END])


def filled(batch: EncodingBatch) -> list[int]:
    """The first, shorter row."""
    row: list[int] = batch.pad()[0][0].tolist()
    return row


def made(tokenizer: Tokenizer, **config: str) -> Tokenizer:
    settings = tokenizer.settings.replace(pad_token=config.pop("pad_token", None))
    return tokenizer.with_settings(type(settings)(settings.special_tokens, {}, config))


@pytest.mark.parametrize("side", ["left", "right"])
def test_settings_name_the_token_and_the_side(side: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    ours = made(tokenizer, pad_token=END, padding_side=side)
    batch = ours.encode_batch(TEXTS, offsets=True)
    (id,) = batch[0].ids.tolist()
    n, end = len(batch[1]), ours.token_to_id(END)
    expected = [end] * (n - 1) + [id] if side == "left" else [id] + [end] * (n - 1)
    ours.save_pretrained(tmp_path)
    for each in (
        batch,
        batch[0:2],
        pickle.loads(pickle.dumps(batch)),
        pickle.loads(pickle.dumps(ours)).encode_batch(TEXTS),
        copy.deepcopy(ours).encode_batch(TEXTS),
        Tokenizer.from_pretrained(tmp_path).encode_batch(TEXTS),
        ours.with_specials(["<new>"]).encode_batch(TEXTS),
        ours.windows_batch(TEXTS, 100),
        ours.encode_batch([(text, "") for text in TEXTS]),
    ):
        assert filled(each) == expected
    assert batch.pad(side="right", pad_id=7)[0][0].tolist() == [id] + [7] * (n - 1)
    assert batch.pad()[1][0].tolist() == [each != end for each in expected]
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert torch.equal(batch.to_torch()["input_ids"], torch.from_numpy(batch.pad()[0]))


def test_a_token_that_is_none_is_an_error(tokenizer: Tokenizer) -> None:
    ours = made(tokenizer, pad_token="<my>")
    for batch in (ours.encode_batch(TEXTS), pickle.loads(pickle.dumps(ours.encode_batch(TEXTS)))):
        with pytest.raises(ValueError, match=r'"<my>" as pad_token.*with_specials.*pad_id='):
            batch.pad()
        assert batch.pad(pad_id=3)[0][0, -1] == 3
    new = ours.with_specials(["<my>"])
    assert filled(new.encode_batch(TEXTS))[-1] == new.token_to_id("<my>")


def test_the_padding_of_a_file_is_taken_where_settings_name_none(tokenizer: Tokenizer) -> None:
    document = json.loads(tokenizer.to_hf().to_str())
    document["padding"] = {
        "strategy": "BatchLongest",
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 5,
        "pad_type_id": 0,
        "pad_token": "%",
    }
    ours = Tokenizer.from_bytes(json.dumps(document).encode())
    assert filled(ours.encode_batch(TEXTS))[0] == 5
    named = made(ours, pad_token=END, padding_side="right")
    assert filled(named.encode_batch(TEXTS))[-1] == named.token_to_id(END)
    # What the file asks for stays that.
    assert (named.call_defaults["pad"]["pad_id"], named.call_defaults["pad"]["side"]) == (5, "left")


# 2026-11-25: those of transformers' own imports
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings", [{"pad_token": END, "padding_side": "left"}, {"pad_token": "<s>"}, {"pad_token": "<|my|>"}]
)
def test_transformers_fills_up_alike(settings: dict[str, Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    import tokenizers

    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(file_of("Llama-3")), eos_token="</s>", **settings
    )
    theirs.save_pretrained(tmp_path)
    expected = theirs(TEXTS, padding=True)
    for ours in (Tokenizer.from_pretrained(tmp_path), Tokenizer.from_hf(theirs)):
        ids, mask = ours.encode_batch(TEXTS).pad()
        assert ids.tolist() == expected["input_ids"]
        assert mask.tolist() == np.array(expected["attention_mask"], bool).tolist()
        assert ours.settings.special_tokens["eos_token"] == "</s>"
