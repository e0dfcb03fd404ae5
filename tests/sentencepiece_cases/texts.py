"""Cases about texts to ids and pieces, and back."""

from collections import Counter
from typing import Any

import pytest

from sampled_cases import THOROUGH, sample

from . import Library, case
from .models import botchan, english, english_file, japanese, merges
from .vocabularies import FILE

KINDS = (str, int, "serialized_proto", "proto")
PHRASE = "I saw a girl with a telescope."


def comes_back(processor: Any, text: str) -> None:
    """In both spellings: a text of its ids, its pieces, the best way and ways that are drawn."""
    for names in (
        ("EncodeAsIds", "EncodeAsPieces", "NBestEncodeAsPieces", "SampleEncodeAsIds", "SampleEncodeAsPieces",
         "DecodeIds", "DecodePieces"),
        ("encode_as_ids", "encode_as_pieces", "nbest_encode_as_pieces", "sample_encode_as_ids",
         "sample_encode_as_pieces", "decode_ids", "decode_pieces"),
    ):  # fmt: skip
        ids, pieces, best, draw_ids, draw_pieces, of_ids, of_pieces = (
            getattr(processor, name) for name in names
        )
        assert ids(text) == processor.encode(text)
        assert pieces(text) == processor.encode(text, out_type=str) == best(text, 10)[0]
        assert of_ids(ids(text)) == of_pieces(pieces(text)) == text
        for _ in range(100):
            for size in (64, -1):
                assert of_pieces(draw_pieces(text, size, 0.5)) == text
                assert of_ids(draw_ids(text, size, 0.5)) == text


@case(FILE + "roundtrip")
def _(lib: Library) -> None:
    comes_back(english(lib), PHRASE)


@case(FILE + "ja_roundtrip")
def _(lib: Library) -> None:
    comes_back(japanese(lib), "清水寺は京都にある。")


@case(FILE + "new_api")
def _(lib: Library) -> None:
    sp = english(lib)
    one, two = "hello world", "Tokyo"
    ids, pieces = sp.EncodeAsIds(one), sp.EncodeAsPieces(one)
    for kind, found in ((int, ids), (str, pieces)):
        assert sp.encode(one, return_type=kind) == found
        assert sp.encode([one], return_type=kind) == [found]
        assert sp.encode([one, two], return_type=kind) == [found, sp.encode(two, return_type=kind)]
        assert sp.decode(found) == one
        assert sp.decode(sp.encode([one, two], return_type=kind)) == [one, two]
        assert sp.encode(one, return_type=kind, reverse=True) == found[::-1]
    assert (sp.decode([]), sp.decode([[]])) == ("", [""])
    assert sp.encode(one, add_bos=True) == [sp.bos_id(), *ids]
    assert sp.encode(one, add_eos=True) == sp.EncodeAsIds(one, add_eos=True) == [*ids, sp.eos_id()]
    assert sp.EncodeAsIds(one, reverse=True) == ids[::-1]
    unknown = "藤"
    for kind, is_asked, second in ((int, True, sp.unk_id()), (str, True, "<unk>"), (str, False, unknown)):
        found = sp.encode(unknown, return_type=kind, emit_unk_piece=is_asked)
        assert found[1] == second
        call = sp.EncodeAsIds if kind is int else sp.EncodeAsPieces
        assert call(unknown, emit_unk_piece=is_asked) == found


@case(FILE + "sampling")
def _(lib: Library) -> None:
    sp = english(lib)
    for kind in KINDS:
        for is_drawn in (True, False):
            found = Counter(
                repr(sp.encode("hello world", return_type=kind, enable_sampling=is_drawn)) for _ in range(100)
            )
            assert len(found) > 1 if is_drawn else len(found) == 1
            batch = ["hello world", "this is a test"]
            assert len(sp.encode(batch, return_type=kind, enable_sampling=is_drawn)) == 2


@case(FILE + "nbest")
def _(lib: Library) -> None:
    sp = english(lib)
    texts = ["hello world", "I have a pen."]
    for kind in KINDS:
        one = sp.nbest_encode(texts[0], nbest_size=10, return_type=kind)
        assert one == sp.NBestEncode(texts[0], nbest_size=10, return_type=kind)
        both = sp.nbest_encode(texts, nbest_size=10, return_type=kind)
        assert both == sp.NBestEncode(texts, nbest_size=10, return_type=kind)
        assert len(both) == 2
        if kind in (str, int):
            assert [sp.decode(way) for way in one] == sp.decode(one) == [texts[0]] * 10
            assert [sp.decode(ways) for ways in both] == [[text] * 10 for text in texts]
    for kind, name in ((str, "pieces"), (int, "ids"), ("proto", "proto")):
        found = getattr(sp, f"nbest_encode_as_{name}")(texts[0], nbest_size=10)
        assert found == sp.nbest_encode(texts[0], nbest_size=10, return_type=kind)


@case(FILE + "batch")
def _(lib: Library) -> None:
    sp = english(lib)
    texts = sample(400, botchan().splitlines(keepends=True))
    pool = lib.ThreadPool(8)
    assert pool.num_threads() == 8
    for kind in KINDS:
        found = [sp.encode(text, return_type=kind) for text in texts]
        options: list[dict[str, Any]] = [{"num_threads": n} for n in (None, 1, -1, 8)] + [
            {"thread_pool": pool}
        ]
        for option in options:
            assert sp.encode(texts, return_type=kind, **option) == found
            if kind in (str, int):
                assert sp.decode(found, **option) == [sp.decode(row) for row in found]


@case(FILE + "parallel")
def _(lib: Library) -> None:
    sp, text = merges(lib), botchan() if THOROUGH else botchan()[:30_000]
    for kind in KINDS:
        found = sp.encode(text, return_type=kind)
        for chunk_len in (100, 1000, 10000):
            for option in ({"num_threads": 8}, {"thread_pool": lib.ThreadPool(8)}):
                assert sp.parallel_encode(text, return_type=kind, chunk_len=chunk_len, **option) == found


@case(FILE + "decode_invalid_ids")
def _(lib: Library) -> None:
    sp = english(lib)
    for call, ids in ((sp.decode, [10000]), (sp.decode, [[0, 10000]]), (sp.decode, 10000),
                      (sp.DecodeIds, [10000])):  # fmt: skip
        with pytest.raises(IndexError):
            call(ids)


@case(FILE + "decode_empty_input")
def _(lib: Library) -> None:
    sp = english(lib)
    empty: list[int] | None
    for empty in ([], None):
        assert sp.decode(empty, return_type=str) == ""
        assert sp.decode(empty, return_type=bytes) == b""
        assert isinstance(sp.decode(empty, return_type="serialized_proto"), bytes)
        found = sp.decode(empty, return_type="offset_mapping")
        assert found == {"text": "", "ids": [], "pieces": [], "offsets": []}
        proto = sp.decode(empty, return_type="proto")
        assert (proto.text, len(proto.pieces)) == ("", 0)


@case(FILE + "decode_bytes")
def _(lib: Library) -> None:
    sp = japanese(lib)
    for texts in ("Hello world", ["Hello world", "清水寺は京都にある。"]):
        ids = sp.encode(texts, return_type=int)
        in_bytes, in_text = sp.decode(ids, return_type=bytes), sp.decode(ids, return_type=str)
        rows = [(in_bytes, in_text)] if isinstance(texts, str) else zip(in_bytes, in_text, strict=True)
        for data, text in rows:
            assert isinstance(data, bytes)
            assert data.decode("utf-8") == text
    ids = sp.encode("Hello world")
    assert sp.encode("Hello world", return_type="proto").text == "Hello world"
    assert sp.decode(ids, return_type="proto").text == "Hello world"


@case(FILE + "decode_return_type_bytes")
def _(lib: Library) -> None:
    sp = english(lib)
    texts = ["hello world", "吾輩は猫である"]
    ids, pieces = sp.encode(texts), sp.encode(texts, return_type=str)
    for rows in (ids, pieces):
        expected = [sp.decode(row).encode("utf-8") for row in rows]
        assert sp.decode(rows, return_type=bytes) == expected
        assert [sp.decode(row, return_type=bytes) for row in rows] == expected
    in_bytes = [piece.encode("utf-8") for piece in pieces[0]]
    assert sp.decode(in_bytes, return_type=bytes) == b"hello world"
    for kind, asked in ((str, True), (bytes, False), (int, True)):
        with pytest.raises(ValueError, match="return_bytes"):
            sp.decode(ids[0], return_type=kind, return_bytes=asked)


@case(FILE + "legacy_out_type_compat")
def _(lib: Library) -> None:
    sp = english(lib)
    ids = sp.encode("hello world")
    assert sp.encode("hello world", out_type=int) == ids
    assert sp.decode(ids, out_type=str) == "hello world"
    with pytest.raises(ValueError, match="return_type"):
        sp.encode("hello world", return_type=int, out_type=int)
    with pytest.raises(ValueError, match="return_type"):
        sp.decode(ids, return_type=str, out_type=str)


@case(FILE + "encode_return_type_explicit")
def _(lib: Library) -> None:
    sp = english(lib)
    text, data = "hello world", b"hello world"
    pieces = sp.encode(text, return_type=str)
    in_bytes = [piece.encode("utf-8") for piece in pieces]
    for given in (text, data):
        for kind, found in ((str, pieces), (bytes, in_bytes)):
            assert sp.encode(given, return_type=kind) == found
            assert sp.encode([given, given], return_type=kind) == [found, found]
    rows = (
        ("nbest_encode", text, {"nbest_size": 5}),
        ("parallel_encode", [text], {"chunk_len": 5, "num_threads": 2}),
    )
    for name, asked_of, options in rows:
        in_text, encoded = (getattr(sp, name)(asked_of, return_type=kind, **options) for kind in (str, bytes))
        assert encoded == [[piece.encode("utf-8") for piece in row] for row in in_text]

    by_text, by_data = (sp.encode(given, return_type="offset_mapping") for given in (text, data))
    assert (by_text["pieces"], by_data["pieces"]) == (pieces, in_bytes)
    assert sp.encode(text, return_type="offset_mapping", return_bytes=True) == by_data
    assert sp.encode(data, return_type="offset_mapping", return_bytes=False) == by_text
    assert sp.encode([text], return_type="offset_mapping", return_bytes=True) == [by_data]
    for other, asked in ((str, True), (bytes, False), (int, True)):
        with pytest.raises(ValueError, match="return_bytes"):
            sp.encode(text, return_type=other, return_bytes=asked)


@case(FILE + "new_api_init", FILE + "classmethod_factories")
def _(lib: Library) -> None:
    file, content = str(english_file()), english_file().read_bytes()
    options = {"add_bos": True, "add_eos": True, "return_type": str}
    made = lib.SentencePieceProcessor
    plain = english(lib).EncodeAsPieces("hello world")
    for sp in (made(model_file=file, **options), made.from_file(file, **options),
               made.from_proto(content, **options)):  # fmt: skip
        assert sp.encode("hello world") == ["<s>", *plain, "</s>"]
        assert sp.encode("hello world", add_bos=False, add_eos=True) == [*plain, "</s>"]
    with pytest.raises(ValueError, match="model_proto"):
        made.from_file(file, model_proto=content)
    with pytest.raises(ValueError, match="model_file"):
        made.from_proto(content, model_file=file)
