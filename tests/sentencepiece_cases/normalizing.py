"""Cases about what becomes of a text before it is cut."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from . import Library, case
from .models import english, english_file
from .vocabularies import FILE

WIDE, ERA = "ＫＡＤＯＫＡＷＡABC", "㍻"
#: Spaces stay as they are; these were the defaults before 0.2.3.
PLAIN = {"add_dummy_prefix": False, "escape_whitespaces": False, "remove_extra_whitespaces": False}


def of_file(lib: Library, **options: bool) -> Any:
    return lib.SentencePieceNormalizer(model_file=str(english_file()), **options)


def rewrites(made: Any, mark: str) -> None:
    """In both spellings, as str and bytes, one and many; with places."""
    n, m = len(mark), len(mark.encode("utf-8"))
    wide, era = f"{mark}KADOKAWAABC", f"{mark}平成"
    in_text = (wide, [0] * n + [*range(12)])
    in_bytes = (wide.encode("utf-8"), [0] * m + [0, 3, 6, 9, 12, 15, 18, 21, 24, 25, 26, 27])
    for call in (made.normalize, made.Normalize):
        assert call(WIDE) == wide
        assert call([WIDE, ERA]) == [wide, era]
    assert made.Normalize(WIDE, with_offsets=True) == in_text
    assert made.Normalize(WIDE.encode("utf-8"), with_offsets=True) == in_bytes
    assert made.Normalize([WIDE, ERA], with_offsets=True) == [in_text, (era, [0] * n + [0, 0, 1])]
    found = made.Normalize([WIDE.encode("utf-8"), ERA.encode("utf-8")], with_offsets=True)
    assert (len(found), found[0]) == (2, in_bytes)


@case(FILE + "normalize")
def _(lib: Library) -> None:
    rewrites(english(lib), "▁")


@case(FILE + "normalizer")
def _(lib: Library) -> None:
    rewrites(of_file(lib, **PLAIN), "")
    marked = {"add_dummy_prefix": True, "escape_whitespaces": True}
    for options, text, found in (
        ({**marked, "remove_extra_whitespaces": False}, "hello  world", "▁hello▁▁world"),
        ({**marked, "remove_extra_whitespaces": True}, "  hello  world  ", "▁hello▁world"),
        ({**PLAIN, "remove_extra_whitespaces": True}, "  hello  world  ", "hello world"),
    ):
        assert of_file(lib, **options).normalize(text) == found


@case(FILE + "normalizer_rule")
def _(lib: Library) -> None:
    for rule, found in (("identity", "ＡＢＣ"), ("nfkc_cf", "abc")):
        assert lib.SentencePieceNormalizer(rule_name=rule, **PLAIN).Normalize("ＡＢＣ") == found


@case(FILE + "normalizer_map")
def _(lib: Library) -> None:
    made = lib.SentencePieceNormalizer(norm_map=[("foo", "bar"), ("apple", "orange")], **PLAIN)
    rows = {"foo": "bar", "apple": "orange", "banana": "banana", "foo apple": "bar orange"}
    assert {text: made.Normalize(text) for text in rows} == rows
    assert made.Decompile() == [("apple", "orange"), ("foo", "bar")]
    for wrong in (
        [(b"\xff", b"bar")], [(b"foo", b"\xff")], [("", "bar")], [(b"", b"bar")], [("foo", "foo")],
        [(b"foo", b"foo")], [("foo", "bar"), ("foo", "baz")], [(b"foo", b"bar"), (b"foo", b"baz")],
    ):  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011  # 2026-11-24: each library has its own words
            lib.SentencePieceNormalizer(norm_map=wrong)


@case(FILE + "normalizer_rule_tsv")
def _(lib: Library) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        path.write_text("0041\t0042\n", "utf-8")
        made = lib.SentencePieceNormalizer(rule_tsv=str(path), **PLAIN)
    assert (made.normalize("AAA"), made.normalize("ABA")) == ("BBB", "BBB")


@case(FILE + "normalizer_model_proto")
def _(lib: Library) -> None:
    made = lib.SentencePieceNormalizer(model_proto=english_file().read_bytes(), **PLAIN)
    assert made.normalize(WIDE) == "KADOKAWAABC"
