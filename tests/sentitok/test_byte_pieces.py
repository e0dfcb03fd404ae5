"""A model that spells unknown characters as bytes, with pieces of all bytes or of some."""

import functools
import io
import json

import pytest
import sentencepiece
import tokenizers

from conftest import CORPUS
from sentitok import FormatError, Tokenizer


@functools.cache
def trained(kind: str) -> bytes:
    """A `.model` of sentencepiece with pieces of all bytes."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(CORPUS / "sherlock-holmes.txt"),
        model_writer=model,
        model_type=kind,
        vocab_size=600,
        byte_fallback=True,
        minloglevel=2,
    )
    return model.getvalue()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("byte", [0x00, 0x41, 0xE4, 0xFF])
def test_an_own_file_without_a_byte_piece_is_refused(kind: str, byte: int) -> None:
    own = Tokenizer.from_bytes(trained(kind)).to_bytes()
    name = f"<0x{byte:02X}>".encode()
    assert own.count(name) == 1
    with pytest.raises(FormatError, match=f"no piece <0x{byte:02X}>; it takes all 256"):
        Tokenizer.from_bytes(own.replace(name, b"<0xxx>"))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_model_file_without_a_byte_piece_is_refused_as_there(kind: str) -> None:
    data = trained(kind).replace(b"<0xE4>", b"<0xxx>")
    with pytest.raises(RuntimeError):
        sentencepiece.SentencePieceProcessor(model_proto=data)
    with pytest.raises(FormatError):
        Tokenizer.from_bytes(data)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_tokenizer_json_without_a_byte_piece_falls_back_to_unknown(kind: str) -> None:
    names = ["<unk>", "a", *(f"<0x{byte:02X}>" for byte in range(256) if byte != 0xE4)]
    model: dict[str, object] = {"type": "Unigram", "unk_id": 0, "vocab": [[name, -1.0] for name in names]}
    if kind == "bpe":
        vocab = {name: id for id, name in enumerate(names)}
        model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab, "merges": []}
    file = json.dumps({"version": "1.0", "added_tokens": [], "model": model | {"byte_fallback": True}})
    theirs, ours = tokenizers.Tokenizer.from_str(file), Tokenizer.from_bytes(file.encode())
    for text in ("中", "aé中b", "中中", "文a"):
        expected = theirs.encode(text).ids
        for each in (ours, Tokenizer.from_bytes(ours.to_bytes()), Tokenizer.from_hf(theirs)):
            assert each.encode(text).ids.tolist() == expected
