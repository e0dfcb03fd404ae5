"""Cases of `test_decoders.py`: lists of tokens to text."""

import json
from typing import Any

import pytest

from . import Library, case, pickled

FILE = "bindings/test_decoders.py::"


def is_kind(lib: Library, name: str, *several: dict[str, Any]) -> None:
    kind = getattr(lib.decoders, name)
    for options in several:
        made = kind(**options)
        assert isinstance(made, lib.decoders.Decoder)
        assert type(made) is kind
        assert type(pickled(made)) is kind


def reads(lib: Library, name: str, options: dict[str, Any], **texts: list[str]) -> None:
    decoder = getattr(lib.decoders, name)(**options)
    for text, tokens in texts.items():
        assert decoder.decode(tokens) == text


def sets(stage: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(stage, name, value)
        assert getattr(stage, name) == value


@case(FILE + "TestByteLevel::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "ByteLevel", {})


@case(FILE + "TestByteLevel::test_decoding")
def _(lib: Library) -> None:
    assert lib.decoders.ByteLevel().decode(["My", "Ġname", "Ġis", "ĠJohn"]) == "My name is John"


@case(FILE + "TestByteLevel::test_manual_reload")
def _(lib: Library) -> None:
    kind = lib.decoders.ByteLevel
    assert isinstance(kind(**json.loads(kind().__getstate__())), kind)


@case(FILE + "TestReplace::test_instantiate")
def _(lib: Library) -> None:
    made = lib.decoders.Replace("_", " ")
    assert isinstance(made, lib.decoders.Decoder)
    assert type(made) is lib.decoders.Replace


@case(FILE + "TestReplace::test_decoding")
def _(lib: Library) -> None:
    assert lib.decoders.Replace("_", " ").decode(["My", "_name", "_is", "_John"]) == "My name is John"


@case(FILE + "TestWordPiece::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "WordPiece", {}, {"prefix": "__"}, {"cleanup": True})


@case(FILE + "TestWordPiece::test_decoding")
def _(lib: Library) -> None:
    reads(lib, "WordPiece", {}, **{
        "My name is John": ["My", "na", "##me", "is", "Jo", "##hn"],
        "I'm John": ["I", "'m", "Jo", "##hn"],
    })  # fmt: skip
    reads(lib, "WordPiece", {"prefix": "__", "cleanup": False}, **{
        "My name is John": ["My", "na", "__me", "is", "Jo", "__hn"],
        "I 'm John": ["I", "'m", "Jo", "__hn"],
    })  # fmt: skip


@case(FILE + "TestWordPiece::test_can_modify")
def _(lib: Library) -> None:
    made = lib.decoders.WordPiece(prefix="$$", cleanup=False)
    assert (made.prefix, made.cleanup) == ("$$", False)
    sets(made, prefix="__", cleanup=True)


@case(FILE + "TestByteFallback::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "ByteFallback", {})


@case(FILE + "TestByteFallback::test_decoding")
def _(lib: Library) -> None:
    bad = "\ufffd"
    reads(lib, "ByteFallback", {}, **{
        "My name": ["My", " na", "me"],
        "a": ["<0x61>"],
        bad: ["<0xE5>"],
        bad * 2: ["<0xE5>", "<0x8f>"],
        "叫": ["<0xE5>", "<0x8f>", "<0xab>"],
        bad * 2 + "a": ["<0xE5>", "<0x8f>", "a"],
        "叫a": ["<0xE5>", "<0x8f>", "<0xab>", "a"],
    })  # fmt: skip


@case(FILE + "TestFuse::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "Fuse", {})


@case(FILE + "TestFuse::test_decoding")
def _(lib: Library) -> None:
    assert lib.decoders.Fuse().decode(["My", " na", "me"]) == "My name"


@case(FILE + "TestStrip::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "Strip", {"left": 0, "right": 0}, {"content": "_", "left": 0, "right": 0})


@case(FILE + "TestStrip::test_decoding")
def _(lib: Library) -> None:
    tokens = ["_My", " na", "me", " _-", "__-"]
    assert lib.decoders.Strip(content="_", left=1, right=0).decode(tokens) == "My name _-_-"


@case(FILE + "TestMetaspace::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "Metaspace", {}, {"replacement": "-"}, {"prepend_scheme": "always"})
    with pytest.raises(ValueError, match="expected a string of length 1"):
        lib.decoders.Metaspace(replacement="")


@case(FILE + "TestMetaspace::test_decoding")
def _(lib: Library) -> None:
    assert lib.decoders.Metaspace().decode(["▁My", "▁name", "▁is", "▁John"]) == "My name is John"
    other = lib.decoders.Metaspace(replacement="-", prepend_scheme="never")
    assert other.decode(["-My", "-name", "-is", "-John"]) == " My name is John"


@case(FILE + "TestMetaspace::test_can_modify")
def _(lib: Library) -> None:
    made = lib.decoders.Metaspace(replacement="*", prepend_scheme="never")
    assert (made.replacement, made.prepend_scheme) == ("*", "never")
    sets(made, replacement="&", prepend_scheme="first")


@case(FILE + "TestBPEDecoder::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "BPEDecoder", {}, {"suffix": "_"})


@case(FILE + "TestBPEDecoder::test_decoding")
def _(lib: Library) -> None:
    tokens = ["My</w>", "na", "me</w>", "is</w>", "Jo", "hn</w>"]
    assert lib.decoders.BPEDecoder().decode(tokens) == "My name is John"
    tokens = [token.replace("</w>", "_") for token in tokens]
    assert lib.decoders.BPEDecoder(suffix="_").decode(tokens) == "My name is John"


@case(FILE + "TestBPEDecoder::test_can_modify")
def _(lib: Library) -> None:
    made = lib.decoders.BPEDecoder(suffix="123")
    assert made.suffix == "123"
    sets(made, suffix="</w>")


@case(FILE + "TestCTCDecoder::test_instantiate")
def _(lib: Library) -> None:
    is_kind(lib, "CTC", {}, {"pad_token": "[PAD]"})


@case(FILE + "TestCTCDecoder::test_decoding")
def _(lib: Library) -> None:
    for pad, options in (("<pad>", {}), ("[PAD]", {"pad_token": "[PAD]"})):
        tokens = [pad, pad, "h", "e", "e", "l", "l", pad, "l", "o", "o", "o", pad]
        assert lib.decoders.CTC(**options).decode(tokens) == "hello"


@case(FILE + "TestCTCDecoder::test_can_modify")
def _(lib: Library) -> None:
    made = lib.decoders.CTC(pad_token="[PAD]")
    assert (made.pad_token, made.word_delimiter_token, made.cleanup) == ("[PAD]", "|", True)
    sets(made, pad_token="{pad}", word_delimiter_token="_", cleanup=False)


@case(FILE + "TestSequenceDecoder::test_instantiate")
def _(lib: Library) -> None:
    made = lib.decoders.Sequence([lib.decoders.CTC()])
    assert isinstance(made, lib.decoders.Decoder)
    assert type(pickled(lib.decoders.Sequence([]))) is lib.decoders.Sequence


@case(FILE + "TestSequenceDecoder::test_decoding")
def _(lib: Library) -> None:
    made = lib.decoders.Sequence([lib.decoders.CTC(), lib.decoders.Metaspace()])
    assert made.decode(["▁", "▁", "H", "H", "i", "i", "▁", "y", "o", "u"]) == "Hi you"
