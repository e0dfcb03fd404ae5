"""Cases about texts with the places of their pieces."""

from typing import Any

import pytest

from . import Library, case
from .models import english, japanese
from .texts import PHRASE
from .vocabularies import FILE

MIXED = "😊吾輩は猫である。😊"


@case(FILE + "serialized_proto")
def _(lib: Library) -> None:
    sp = english(lib)
    found = [
        sp.encode(PHRASE, return_type="serialized_proto"),
        sp.encode(PHRASE, enable_sampling=True, return_type="serialized_proto"),
        sp.nbest_encode(PHRASE, return_type="serialized_proto", nbest_size=10),
        sp.decode(["foo", "bar"], return_type="serialized_proto"),
        sp.decode([20, 30], return_type="serialized_proto"),
    ]
    assert {type(data) for data in found} == {bytes}
    sp = japanese(lib)
    data = sp.encode(PHRASE, return_type="serialized_proto")
    for kind in (int, str):
        assert sp.decode(sp.encode(PHRASE, return_type=kind), return_type="serialized_proto") == data


def surfaces(proto: Any) -> list[str]:
    data = proto.text.encode("utf-8")
    return [data[piece.begin : piece.end].decode("utf-8") for piece in proto.pieces]


@case(FILE + "proto")
def _(lib: Library) -> None:
    sp = english(lib)
    chunks = {"chunk_len": 5, "num_threads": 2}
    rows: list[tuple[str, str, tuple[Any, ...], dict[str, Any], Any]] = [
        ("EncodeAsProto", "encode_as_proto", (PHRASE,), {}, sp.encode),
        ("NBestEncodeAsProto", "nbest_encode_as_proto", (PHRASE, 10), {}, None),
        ("DecodePiecesAsProto", "decode_pieces_as_proto", (["foo", "bar"],), {}, sp.decode),
        ("DecodeIdsAsProto", "decode_ids_as_proto", ([20, 30],), {}, sp.decode),
        ("ParallelEncodeAsProto", "parallel_encode_as_proto", (PHRASE,), chunks, sp.parallel_encode),
    ]
    for name, other, given, options, call in rows:
        found = getattr(sp, name)(*given, **options)
        is_list = call is None
        assert type(found).__name__ == ("NBestSentencePieceText" if is_list else "SentencePieceText")
        assert getattr(sp, other)(*given, **options) == found
        if is_list:
            call, given, options = sp.nbest_encode, given[:1], {"nbest_size": 10}
        assert call(*given, return_type="proto", **options) == found
        assert call(*given, return_type="serialized_proto", **options) == found.SerializeToString()
    for name in ("SampleEncodeAsProto", "sample_encode_as_proto"):
        assert type(getattr(sp, name)(PHRASE, 10, 0.2)).__name__ == "SentencePieceText"
    assert sp.encode(PHRASE, enable_sampling=True, return_type="proto").text == PHRASE

    proto, ways = sp.EncodeAsProto(PHRASE), sp.NBestEncodeAsProto(PHRASE, 10)
    assert [piece.id for piece in proto.pieces] == sp.EncodeAsIds(PHRASE)
    assert [piece.piece for piece in proto.pieces] == sp.EncodeAsPieces(PHRASE)
    assert proto.text == PHRASE
    assert [piece.surface for piece in proto.pieces] == surfaces(proto)
    assert proto.pieces[::-1] == list(reversed(proto.pieces))
    assert ways.nbests[::-1] == list(reversed(ways.nbests))

    sp = japanese(lib)
    proto = sp.EncodeAsProto("吾輩は猫である。Hello world. ABC 123")
    assert [piece.surface for piece in proto.pieces] == surfaces(proto)
    assert sp.DecodeIdsAsProto([piece.id for piece in proto.pieces]) == proto
    assert sp.DecodePiecesAsProto([piece.piece for piece in proto.pieces]) == proto

    with pytest.raises(ValueError, match="immutable_proto"):
        sp.encode(PHRASE, return_type="immutable_proto")
    with pytest.raises(ValueError, match="immutable_proto"):
        sp.decode([20, 30], return_type="immutable_proto")


@case(FILE + "new_api_proto")
def _(lib: Library) -> None:
    sp = english(lib)
    for text in ("hello world", "Tokyo"):
        proto = sp.EncodeAsProto(text)
        assert sp.encode(text, return_type="proto") == proto
        assert sp.encode([text], return_type="proto") == [proto]
        assert proto.text == text
        assert len(proto.pieces) == len(sp.encode(text))
        for n, (id, piece) in enumerate(zip(sp.EncodeAsIds(text), sp.EncodeAsPieces(text), strict=True)):
            assert (proto.pieces[n].id, proto.pieces[n].piece) == (id, piece)
        assert [piece.id for piece in proto.pieces] == sp.EncodeAsIds(text)


def in_characters(proto: Any) -> list[tuple[int, int]]:
    data = proto.text.encode("utf-8")
    return [
        (len(data[: piece.begin].decode("utf-8")), len(data[: piece.end].decode("utf-8")))
        for piece in proto.pieces
    ]


@case(FILE + "offset_mapping")
def _(lib: Library) -> None:
    sp = english(lib)
    texts = ["hello world", MIXED]
    for text in texts:
        proto = sp.encode(text, return_type="proto")
        found = sp.encode(text, return_type="offset_mapping")
        assert found == sp.EncodeAsOffsetMapping(text)
        assert found == {
            "ids": [piece.id for piece in proto.pieces],
            "pieces": [piece.piece for piece in proto.pieces],
            "offsets": in_characters(proto),
        }
        for (start, end), piece in zip(found["offsets"], proto.pieces, strict=True):
            assert text[start:end] == piece.surface
    assert sp.encode(texts, return_type="offset_mapping") == [
        sp.encode(text, return_type="offset_mapping") for text in texts
    ]
    data = MIXED.encode("utf-8")
    found, proto = sp.encode(data, return_type="offset_mapping"), sp.encode(data, return_type="proto")
    assert found["offsets"] == [(piece.begin, piece.end) for piece in proto.pieces]
    assert all(isinstance(piece, bytes) for piece in found["pieces"])
    for (start, end), piece in zip(found["offsets"], proto.pieces, strict=True):
        assert data[start:end] == piece.surface.encode("utf-8")


@case(FILE + "decode_offset_mapping")
def _(lib: Library) -> None:
    sp = english(lib)
    ids, pieces = sp.encode("hello world"), sp.encode("hello world", return_type=str)
    found, proto = sp.decode(ids, return_type="offset_mapping"), sp.decode(ids, return_type="proto")
    assert (found["ids"], found["text"]) == (ids, sp.decode(ids))
    assert found["offsets"] == in_characters(proto)
    for (start, end), piece in zip(found["offsets"], proto.pieces, strict=True):
        assert found["text"][start:end] == piece.surface

    in_bytes = sp.decode(ids, return_type="offset_mapping", return_bytes=True)
    assert in_bytes["text"] == found["text"].encode("utf-8")
    assert in_bytes["offsets"] == [(piece.begin, piece.end) for piece in proto.pieces]
    assert in_bytes["pieces"] == [piece.encode("utf-8") for piece in found["pieces"]]
    assert sp.decode(pieces, return_type="offset_mapping") == found
    spelled = [piece.encode("utf-8") for piece in pieces]
    assert sp.decode(spelled, return_type="offset_mapping") == in_bytes

    batch = [ids, sp.encode("吾輩は猫である")]
    for asked in (None, True):
        rows = [sp.decode(row, return_type="offset_mapping", return_bytes=asked) for row in batch]
        assert sp.decode(batch, return_type="offset_mapping", return_bytes=asked) == rows
