"""Texts of scripts without spaces: cut into characters, measured in them, and learned from."""

import random
import re
from typing import Any

import numpy as np
import pytest

from sentimodels import resolve
from sentimodels.data.normalization import n_words, stands_alone
from sentimodels.evaluation.predictions import text_logits
from sentimodels.models import Fits, build
from sentimodels.text.encoder import encoder_for
from sentimodels.text.vocabulary import OpenVocabulary
from sentimodels.text.words import WordCutter

# (text, words)
CUT = [
    ("It's a don't-miss film.", ["It's", "a", "don't", "-", "miss", "film", "."]),
    ("这个很好!", ["这", "个", "很", "好", "!"]),
    ("买iPhone13很值", ["买", "iPhone13", "很", "值"]),
    ("ありがとう", list("ありがとう")),
    ("ดีมาก", ["ดี", "ม", "า", "ก"]),
    ("ល្អណាស់", ["ល្", "អ", "ណា", "ស់"]),
    ("ကောင်း", ["ကော", "င်း"]),
    ("ດີ", ["ດີ"]),
    ("좋은 영화", ["좋은", "영화"]),
    ("𠀀a", ["𠀀", "a"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "words"), CUT)
def test_words(text: str, words: list[str]) -> None:
    assert WordCutter(None).cut(text) == words
    assert OpenVocabulary([]).cut(text) == words


def test_texts_with_spaces_are_cut_as_by_a_plain_pattern() -> None:
    plain = re.compile(r"'?\w+(?:'\w+)*|[^\w\s]")
    source = random.Random(1)
    letters = "ab'é_1 \n.ß한-"
    for _ in range(2000):
        text = "".join(source.choices(letters, k=12))
        assert not stands_alone(text)
        assert WordCutter(None).cut(text) == plain.findall(text)


def test_lengths_count_what_models_read() -> None:
    assert n_words("two words") == n_words("两字") == 2
    assert n_words("很好 good,  fine 吧") == 5
    assert n_words("  ") == 0
    assert n_words("ดีมาก ok") == 5


@pytest.mark.parametrize("arch", ["tfidf", "nb", "bow"])
@pytest.mark.parametrize("alphabet", ["的一是了我不人在他有", "กขคงจฉชซฌญ", "កខគឃងចឆជឈញ"])
def test_words_within_a_run_are_learned(arch: str, alphabet: str) -> None:
    source = random.Random(2)
    # Both classes have the same characters; two of them in a row make the difference.
    first, second = alphabet[0], alphabet[1]
    texts, labels = [], []
    for number in range(400):
        noise = ["".join(source.choices(alphabet[2:], k=8)) for _ in range(2)]
        word = first + second if number % 2 else second + first
        texts.append(word.join(noise))
        labels.append(number % 2)
    truth = np.array(labels)
    config = resolve({"arch": arch})
    encoder = encoder_for(config, texts[:300])
    module = build(arch, config.model, encoder.inputs(2))
    assert isinstance(module, Fits)
    module.fit(encoder.encode(texts[:300]), truth[:300], 0)
    answers = text_logits(module, encoder.encode(texts[300:])).argmax(1)
    assert (answers == truth[300:]).mean() >= 0.95


def test_longer_runs_are_features_too() -> None:
    texts = ["很不好", "word one two"]
    encoder: Any = encoder_for(resolve({"arch": "tfidf", "model": {"ends": False}}), texts).encoder
    ngrams = set(encoder.ngrams)
    assert {"很 不 好", "不 好", "好"} <= ngrams
    assert "word one" in ngrams
    assert "word one two" not in ngrams
