"""The same text for a person is the same text for a model; and where its words are in the text as given."""

import json
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelled_reviews import rows
from sentimodels.config import DataConfig
from sentimodels.data.normalization import align, normalize
from sentimodels.data.table import Labels, Table
from sentimodels.evaluation.predictions import PhraseMemory
from sentimodels.runs.families import resolve
from sentimodels.text.encoder import TextEncoder, encoder_for
from sentimodels.text.reading import plain_words, read_tokens
from sentimodels.text.words import NgramConfig, WordCutter, WordNgrams

SCRIPTS = (
    "abzéïİıßøſ ǰŁ" "άβςΣ" "жйёЇ" "אבשׁ\u05b8\"׳״" "مُمْتاز" "हिन्दीक़" "বোঅ" "தொன்று" "అబాగుంది" "ಕೊ" "കൊ" "ดีมากำ"
    "ດີ" "ကောင်" "ល្អ" "がガー" "日本語" "한글각" "Tiếngệ"
    "👍🏽👨👩❤☹🇩🇪🏴" "\u200d\u200d\u20e3#1" "'’.,!-_·\n\t "
)  # fmt: skip
TEXT = st.text(st.one_of(st.sampled_from(SCRIPTS), st.characters(exclude_categories=["Cn", "Cs", "Co"])))
INVISIBLE = ["\ufe0f", "\u200b", "\u200c", "\xad", "\ufeff", "\u2060", "\u200e", "\u202c", "\u034f", "\x00"]


def words(text: str) -> list[str]:
    return WordCutter(None).cut(normalize(text))


@given(TEXT)
def test_forms_of_unicode_are_one(text: str) -> None:
    whole = normalize(text)
    for form in ("NFC", "NFD"):
        assert normalize(unicodedata.normalize(form, text)) == whole
    assert normalize(whole) == whole
    assert unicodedata.is_normalized("NFC", whole)


@given(st.text(st.sampled_from(SCRIPTS + "'’")))
def test_apostrophes_of_both_kinds_are_one(text: str) -> None:
    assert words(text.replace("'", "’")) == words(text.replace("’", "'"))


@given(TEXT, st.sampled_from(INVISIBLE), st.data())
def test_what_is_not_seen_changes_nothing(text: str, invisible: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))
    assert normalize(text[:place] + invisible + text[place:]) == normalize(text)


@settings(max_examples=300)
@given(TEXT, st.booleans(), st.booleans())
def test_spans_tile_and_keep_characters_whole(text: str, normalized: bool, lowercase: bool) -> None:
    aligned = align(text, normalized=normalized, lowercase=lowercase)
    cutter = WordCutter(None)
    spans = [aligned.original(start, end) for start, end in cutter.spans(aligned.text)]
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert [aligned.text[start:end] for start, end in cutter.spans(aligned.text)] == cutter.cut(aligned.text)
    covered = {place for start, end in spans for place in range(start, end)}
    for place, char in enumerate(text):
        if place not in covered:  # white space, what is not seen, and marks on these
            assert not words(char) or unicodedata.category(char)[0] == "M" or char == "\u200d"
    if normalized:
        for start, end in spans:
            assert start == 0 or not _continues(text, start)
            assert end == len(text) or not _continues(text, end)


def _continues(text: str, place: int) -> bool:
    """Whether a place is between a letter or digit and a mark on it."""
    return text[place - 1].isalnum() and unicodedata.category(text[place])[0] == "M"


# (text, its words)
WORDS = [
    ("हिन्दी अच्छी है", ["हिन्दी", "अच्छी", "है"]),
    ("مُمْتاز جدًا", ["مُمْتاز", "جدًا"]),
    ("படம் மிகவும் நன்று", ["படம்", "மிகவும்", "நன்று"]),
    ("సినిమా చాలా బాగుంది", ["సినిమా", "చాలా", "బాగుంది"]),
    ("ดีที่สุด", ["ดี", "ที่", "สุ", "ด"]),
    ('שָׁלוֹם צה"ל', ["שָׁלוֹם", 'צה"ל']),
    ("İyi filmdi, değil mi?", ["İyi", "filmdi", ",", "değil", "mi", "?"]),
    ("Phim rất hay, tuyệt vời", ["Phim", "rất", "hay", ",", "tuyệt", "vời"]),
    ("می\u200cخواهم", ["می\u200cخواهم"]),
    ("ශ්\u200dරී ලංකා", ["ශ්\u200dරී", "ලංකා"]),
    ("I don’t, it's", ["I", "don’t", ",", "it's"]),
    ("☹️👍🏽👨‍👩‍👧❤️‍🔥!", ["☹️", "👍🏽", "👨‍👩‍👧", "❤️‍🔥", "!"]),
    ("🇩🇪🇫🇷1️⃣#️⃣🏴󠁧󠁢󠁳󠁣󠁴󠁿", ["🇩🇪", "🇫🇷", "1️⃣", "#️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]),
    ("col·lecció l'amour", ["col·lecció", "l'amour"]),
    ("soft\xadly\ufeff a\xa0b", ["soft\xadly\ufeff", "a", "b"]),
]
# What takes the place of a text's letters without being seen, and what it takes the place of.
SAME: list[tuple[str, Callable[[str], str]]] = [
    ("decomposed", lambda text: unicodedata.normalize("NFD", text)),
    ("variation selectors", lambda text: text.replace("☹", "☹\ufe0f").replace("❤", "❤\ufe0f")),
    ("soft hyphens", lambda text: text.replace("goo", "go\xado")),
    ("zero width", lambda text: text.replace("film", "\ufefffi\u200blm\u200d")),
    ("typographic", lambda text: text.replace("'", "’")),
    ("no-break spaces", lambda text: text.replace(" ", "\xa0")),
]
TEXTS = [text for text, _ in rows(60)] + [
    "I don't like it ☹",
    "très très bon café ❤",
    "हिन्दी फ़िल्म अच्छी है",
] * 3
PLAIN = "a good film, I don't like it ☹ bon café ❤ हिन्दी फ़िल्म"
RUNS: dict[str, dict[str, Any]] = {
    **{arch: {"arch": arch} for arch in ("tfidf", "nb", "bow")},
    **{
        kind: {"arch": "cnn", "data": {"tokenizer_model": kind, "vocab_size": 400}}
        for kind in ("words", "bpe", "wordpiece", "unigram")
    },
}


@pytest.fixture(scope="module")
def encoders() -> dict[str, TextEncoder]:
    return {name: encoder_for(resolve(tree), TEXTS) for name, tree in RUNS.items()}


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words_as_they_stand_in_the_text(text: str, expected: list[str]) -> None:
    for form in (text, unicodedata.normalize("NFD", text)):
        tokens, n_words = plain_words(form)
        found = [form[token.start : token.end] for token in tokens]
        assert [unicodedata.normalize("NFC", word) for word in found] == [
            unicodedata.normalize("NFC", word) for word in expected
        ]
        assert n_words == len(expected)


@pytest.mark.parametrize("run", ["tfidf", "nb", "bow", "words"])
@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words_of_a_run(encoders: dict[str, TextEncoder], run: str, text: str, expected: list[str]) -> None:
    tokens, _ = read_tokens(encoders[run], text)
    assert [text[token.start : token.end] for token in tokens] == expected


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("kind", "change"), SAME, ids=[kind for kind, _ in SAME])
def test_every_vocabulary_reads_them_as_one(
    encoders: dict[str, TextEncoder], run: str, kind: str, change: Callable[[str], str]
) -> None:
    changed = change(PLAIN)
    assert changed != PLAIN
    encoded = encoders[run].encode([PLAIN, changed])
    assert encoded.row(0).tolist() == encoded.row(1).tolist()
    tokens, _ = read_tokens(encoders[run], changed)
    assert all(0 <= token.start <= token.end <= len(changed) for token in tokens)


def test_wordpiece_keeps_vowel_signs(encoders: dict[str, TextEncoder]) -> None:
    encoded = encoders["wordpiece"].encode(["अच्छी", "अच्छा"])
    assert encoded.row(0).tolist() != encoded.row(1).tolist()


def test_a_vocabulary_may_read_texts_as_they_are() -> None:
    for name, tree in RUNS.items():
        data = {**tree.get("data", {}), "normalize": False}
        encoder = encoder_for(resolve({**tree, "data": data}), TEXTS)
        assert encoder.data.normalize is False
        encoded = encoder.encode(["I don't like it", "I don’t like it"])
        assert encoded.row(0).tolist() != encoded.row(1).tolist(), name


def test_a_run_of_an_older_version_reads_as_it_did() -> None:
    """Its pattern is saved, and its settings have no `normalize`."""
    pattern = r"'?\w+(?:'\w+)*|[^\w\s]"
    config = NgramConfig(token_pattern=pattern, ngram_range=(1, 1)).plain()
    ngrams = ["’", "don", "t", "फ", "\ufe0f"]
    tree = {"format": "sentimodels.words/3", "config": config, "ngrams": ngrams}
    old = TextEncoder(WordNgrams.from_bytes(json.dumps(tree).encode()), DataConfig())
    text = "don’t फ़िल्म ☹\ufe0f"
    read = [ngrams[id - 1] for id in old.encode([text]).ids.tolist()]
    assert read == ["don", "’", "t", "फ", "\ufe0f"]
    tokens, _ = read_tokens(old, "İ don’t")
    assert [(token.start, token.end) for token in tokens] == [
        (0, 1), (0, 1), (2, 5), (5, 6), (6, 7)
    ]  # fmt: skip


def test_remembered_phrases_are_those_that_look_the_same() -> None:
    labels = Labels(("neg", "pos"))
    memory = PhraseMemory(Table(["I don't like it ☹"], ["neg"], None, None, Path("memory"), ""), labels)
    probs = np.full((2, 2), 0.5, np.float32)
    _, known = memory.apply(["I don’t like it ☹\ufe0f", "I do like it"], probs)
    assert known.tolist() == [True, False]
