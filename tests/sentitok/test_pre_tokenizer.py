"""Pre-tokenizers: ranges equal to those of `tokenizers`, for every name."""

import io
import lzma
import os
import string
import sys
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from oracles import splitters
from sentitok import PreTokenizer, SentitokError

DATA = Path(os.environ.get("SENTITOK_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
NAMES = [name for name in splitters.NAMES if name != "gpt2-prefix-space"]


def test_every_name_has_a_reference() -> None:
    """`bytes` cuts nothing; tokenizers does not have `google-bert`, which test_parity_wordpiece.py holds."""
    assert set(PreTokenizer.names()) - set(splitters.NAMES) == {"bytes", "google-bert"}
    assert set(splitters.NAMES) <= set(PreTokenizer.names())


def assert_equal(name: str, texts: Iterable[str]) -> None:
    """Our ranges are the reference's on each text."""
    pre_tokenizer, reference = PreTokenizer(name), splitters.reference_offsets(name)
    for text in texts:
        assert pre_tokenizer.split(text) == reference(text), f"{name} on {text!r}"


def corpora() -> Iterator[str]:
    """Pages of the test data: prose, Chinese, 311 languages, mixed scripts."""
    files: list[bytes] = []
    for path in [*(DATA / "corpora").glob("*.xz"), *(DATA / "zh-news").glob("*.xz")]:
        files.append(lzma.decompress(path.read_bytes()))
    for path in (DATA / "udhr-multiscript").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            files.extend(archive.read(name) for name in archive.namelist() if not name.endswith("/"))
    files.extend(path.read_bytes() for path in (DATA / "tokenizer-conformance").glob("*_input.txt"))
    for content in files:
        text = io.StringIO(content.decode("utf-8", "replace"), newline="")
        while page := text.read(4000):
            yield page


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point(name: str) -> None:
    assert_equal(name, splitters.texts_of_code_points(step=499))
    assert_equal(name, (chr(point) for point in range(0x3100) if not 0xD800 <= point < 0xE000))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_single_code_point(name: str) -> None:
    assert_equal(name, splitters.texts_of_code_points())


@pytest.mark.parametrize("name", NAMES)
def test_short_strings(name: str) -> None:
    assert_equal(name, splitters.texts_of_representatives(longest=2))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_short_strings(name: str) -> None:
    assert_equal(name, splitters.texts_of_representatives(longest=4))


@pytest.mark.parametrize("name", NAMES)
def test_random_strings(name: str) -> None:
    assert_equal(name, splitters.texts_at_random(3000))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_corpora(name: str) -> None:
    if not (DATA / "corpora").is_dir():
        pytest.skip(f"no test data in {DATA}; set SENTITOK_DATA")
    assert_equal(name, corpora())


def test_punctuation_of_google_is_that_of_unicodedata() -> None:
    """Every character that the interpreter's Unicode knows: alone, or within a word."""
    if tuple(map(int, unicodedata.unidata_version.split("."))) > (16, 0, 0):
        pytest.skip(f"the mode is frozen at Unicode 16.0, the oracle is {unicodedata.unidata_version}")
    by_kind: dict[bool, list[str]] = {True: [], False: []}
    for c in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(c)
        if category not in ("Cn", "Cs") and not c.isspace():
            by_kind[category[0] == "P" or c in string.punctuation].append(c)
    assert len(by_kind[True]) > 800
    assert len(by_kind[False]) > 270_000
    google = PreTokenizer("google-bert")
    alone = "a" + "a".join(by_kind[True]) + "a"
    assert google.split(alone) == [(at, at + 1) for at in range(len(alone))]
    word = "a" + "a".join(by_kind[False]) + "a"
    assert google.split(word) == [(0, len(word))]


def test_tiktoken_spelling_differs_only_at_the_end_of_a_text() -> None:
    classic, possessive = PreTokenizer("cl100k"), PreTokenizer("cl100k-possessive")
    assert classic.split("a\n  ") == [(0, 1), (1, 2), (2, 4)]
    assert possessive.split("a\n  ") == [(0, 1), (1, 4)]
    for text in splitters.texts_at_random(3000, seed=1):
        assert classic.split(text + "x") == possessive.split(text + "x")


def test_unknown_name_lists_the_names() -> None:
    with pytest.raises(SentitokError, match=r"gpt3.*cl100k-1digit"):
        PreTokenizer("gpt3")
