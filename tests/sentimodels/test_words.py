"""What replaces a tokenizer, against scikit-learn and plain loops."""

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from labelled_reviews import rows
from sentimodels.errors import CheckpointError, ConfigError
from sentimodels.evaluation.predictions import text_logits
from sentimodels.models import Fits, build
from sentimodels.models.bow import BowConfig
from sentimodels.models.tfidf import TfidfConfig
from sentimodels.runs.families import resolve
from sentimodels.text.encoder import encoder_for
from sentimodels.text.ngrams import ngrams
from sentimodels.text.vocabulary import OpenVocabulary
from sentimodels.text.words import HashedNgrams, NgramConfig, WordCutter, WordNgrams

TEXTS = [text for text, _ in rows(120)] + ["The THE the", "", "it's a film, a film", "Größe naïve 42"]
LABELS = np.array([label == "pos" for _, label in rows(120)] + [0, 1, 0, 1], dtype=np.int64)


# scikit-learn's own words, which leave out the ends of texts and single characters.
AS_THEY_DO = {"ends": False, "token_pattern": r"(?u)\b\w\w+\b"}


def counts(words: WordNgrams, texts: list[str]) -> dict[tuple[int, str], int]:
    batch = words.encode_batch(texts)
    found: dict[tuple[int, str], int] = {}
    for row in range(len(batch)):
        for id in batch[row].tolist():
            key = (row, words.ngrams[id - 1])
            found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize(
    "options", [{}, {"ngram_range": (1, 3), "min_df": 3}, {"lowercase": False, "max_df": 0.4}]
)
def test_ngrams_are_scikit_learns(options: dict[str, object]) -> None:
    config = TfidfConfig.model_validate(AS_THEY_DO | options)
    ours = config.features(TEXTS)
    theirs = CountVectorizer(
        ngram_range=config.ngram_range, min_df=config.min_df, max_df=config.max_df, lowercase=config.lowercase
    )
    matrix = theirs.fit_transform(TEXTS).tocoo()
    names = theirs.get_feature_names_out()
    assert ours.ngrams == sorted(names)
    expected = {
        (int(r), str(names[c])): int(v) for r, c, v in zip(matrix.row, matrix.col, matrix.data, strict=True)
    }
    assert counts(ours, TEXTS) == expected


def test_the_ends_of_a_text_count_as_words() -> None:
    words = TfidfConfig(token_pattern=r"\w+").features(["good film", "film"])
    assert words.ngrams == ["\x02 film", "\x02 good", "film", "film \x03", "good", "good film"]
    assert len(words.encode("").ids) == 0
    assert [words.ngrams[id - 1] for id in words.encode("film").ids] == ["film", "\x02 film", "film \x03"]


def test_only_the_most_frequent_are_kept() -> None:
    words = TfidfConfig(max_features=2, ngram_range=(1, 1), token_pattern=r"\w+", ends=False).features(
        ["b a a", "c c b c", "d"]
    )
    assert words.ngrams == ["a", "c"]  # of a and b, as frequent, the first by spelling


@pytest.mark.parametrize("options", [{}, {"sublinear_tf": True}, {"smooth_idf": False}])
def test_tfidf_is_scikit_learns(options: dict[str, bool]) -> None:
    config = resolve(
        {"arch": "tfidf", "model": {"tol": 1e-8, "solver": "lbfgs", "c": 1.0, **AS_THEY_DO, **options}}
    )
    encoder = encoder_for(config, TEXTS)
    module = build("tfidf", config.model, encoder.inputs(2))
    assert isinstance(module, Fits)
    module.fit(encoder.encode(TEXTS), LABELS, 0)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), **options)
    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=2000).fit(vectorizer.fit_transform(TEXTS), LABELS)
    asked = [*TEXTS, "great great great film", "entirely unknown"]
    found = torch.from_numpy(text_logits(module, encoder.encode(asked))).softmax(-1).numpy()
    np.testing.assert_allclose(found, theirs.predict_proba(vectorizer.transform(asked)), atol=1e-4)


def test_a_class_without_a_text_is_never_the_answer() -> None:
    for arch in ("tfidf", "nb"):
        config = resolve({"arch": arch})
        encoder = encoder_for(config, TEXTS)
        module = build(arch, config.model, encoder.inputs(3))
        assert isinstance(module, Fits)
        module.fit(encoder.encode(TEXTS), LABELS * 2, 0)  # classes 0 and 2
        logits = text_logits(module, encoder.encode(TEXTS))
        assert (logits.argmax(1) != 1).all()
        assert (logits.argmax(1) == LABELS * 2)[:120].mean() > 0.95


def test_naive_bayes_ratios_are_their_formula() -> None:
    config = resolve({"arch": "nb", "model": {"ngram_range": [1, 1], "alpha": 0.5}})
    texts, labels = ["good good film", "bad film", "bad"], np.array([1, 0, 0])
    encoder = encoder_for(config, texts)
    module = build("nb", config.model, encoder.inputs(2))
    assert isinstance(module, Fits)
    module.fit(encoder.encode(texts), labels, 0)
    words = encoder.encoder
    assert isinstance(words, WordNgrams)
    # Texts of class 1 with each word, then of class 0; 4 ids, that of nothing among them.
    inside = {"bad": 0.5, "film": 1.5, "good": 1.5}
    outside = {"bad": 2.5, "film": 1.5, "good": 0.5}
    for id, word in enumerate(words.ngrams, 1):
        ratio = np.log(inside[word] / (sum(inside.values()) + 0.5)) - np.log(
            outside[word] / (sum(outside.values()) + 0.5)
        )
        assert isinstance(module.ratio, torch.Tensor)
        assert module.ratio[id, 1].item() == pytest.approx(ratio, abs=1e-5)


HASHED = BowConfig(word_ngrams=3, char_ngrams=(3, 4), buckets=1 << 20)


def plain_bag(
    words: HashedNgrams, text: str, known: set[tuple[str, ...]]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Known words, and the n-grams with their ends that the training texts had, by loops."""
    pieces = WordCutter(None).cut(text.lower())
    bounded = ["\n", *pieces, "\n"]
    grams = [
        tuple(bounded[i : i + size])
        for size in (2, 3)
        for i in range(len(bounded) - size + 1)
        if any(piece != "\n" for piece in bounded[i : i + size])
    ]
    return [p for p in pieces if p in words.words], [g for g in grams if g in known]


def test_hashed_ngrams_are_words_and_ngrams_with_their_ends() -> None:
    words = HASHED.features(TEXTS)
    known = {gram for text in TEXTS for gram in plain_bag(words, text, _all(text))[1]}
    assert len({*words.buckets.tolist()}) == words.vocab_size - 1 - len(words.words)
    asked = ["a good film", "the film", "", "film"]
    batch = words.encode_batch(asked)
    for row, text in enumerate(asked):
        found, grams = plain_bag(words, text, known)
        ids = batch[row].tolist()
        assert [words.words[id - 1] for id in ids if id <= len(words.words)] == found
        assert sum(id > len(words.words) for id in ids) == len(grams)
    # Words that differ only in their ends have different ids.
    assert set(words.encode("film").ids) != set(words.encode("film of film").ids[:1])


def _all(text: str) -> set[tuple[str, ...]]:
    bounded = ["\n", *WordCutter(None).cut(text.lower()), "\n"]
    return {tuple(bounded[i : i + size]) for size in (2, 3) for i in range(len(bounded) - size + 1)}


def test_an_unknown_word_is_its_known_character_ngrams() -> None:
    words = BowConfig(word_ngrams=1, char_ngrams=(3, 3), buckets=1 << 20).features(["filming", "gripping"])
    ids = words.encode("films").ids  # <fi fil ilm are known, lms and ms> are not
    n_known = sum(
        gram in {*ngrams("filming", 3, 3), *ngrams("gripping", 3, 3)} for gram in ngrams("films", 3, 3)
    )
    assert n_known == 3
    assert len(ids) == n_known
    assert (ids > 2).all()


@given(st.lists(st.text(alphabet="ab cé'\n.🙂", max_size=20), max_size=6))
def test_a_batch_is_its_texts_one_by_one(texts: list[str]) -> None:
    words = HASHED.features(["a b c", "c é ab", "abc a'b 🙂"])
    batch = words.encode_batch(texts)
    assert len(batch) == len(texts)
    for row, text in enumerate(texts):
        assert batch[row].tolist() == words.encode(text).ids.tolist()


@pytest.mark.parametrize("arch", ["tfidf", "bow"])
def test_saved_words_encode_alike(arch: str) -> None:
    words = encoder_for(resolve({"arch": arch}), TEXTS).encoder
    assert isinstance(words, WordNgrams | HashedNgrams)
    kind = type(words)
    again = kind.from_bytes(words.to_bytes())
    assert again.fingerprint == words.fingerprint
    assert again.vocab_size == words.vocab_size
    asked = [*TEXTS, "unseen wordings of a film"]
    first, second = words.encode_batch(asked), again.encode_batch(asked)
    assert np.array_equal(first.ids, second.ids)
    assert np.array_equal(first.row_offsets, second.row_offsets)


# (kind, damage of the file)
BROKEN = [
    (WordNgrams, b"{}"),
    (WordNgrams, b"\xff"),
    (WordNgrams, json.dumps({"format": "sentimodels.words/9"}).encode()),
    (HashedNgrams, b"[]"),
    (HashedNgrams, json.dumps({"format": "sentimodels.words/1"}).encode()),
]


@pytest.mark.parametrize(("kind", "data"), BROKEN)
def test_broken_files_are_refused(kind: type[WordNgrams] | type[HashedNgrams], data: bytes) -> None:
    with pytest.raises(CheckpointError):
        kind.from_bytes(data)


def test_buckets_out_of_range_are_refused() -> None:
    tree = json.loads(HASHED.features(["a b"]).to_bytes())
    tree["n_buckets"] = 1
    with pytest.raises(CheckpointError, match="out of range"):
        HashedNgrams.from_bytes(json.dumps(tree).encode())


def test_a_bad_pattern_is_named() -> None:
    for config in (TfidfConfig(token_pattern="("), BowConfig(token_pattern="(")):
        with pytest.raises(ConfigError, match=r"model\.token_pattern '\(' is not a valid pattern"):
            config.features(["a"])


def test_bow_learns_the_same_twice_and_by_gradients_what_fit_computes() -> None:
    config = resolve({"arch": "bow"})
    encoder = encoder_for(config, TEXTS)
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        module = build("bow", config.model, encoder.inputs(2))
        assert isinstance(module, Fits)
        module.fit(encoder.encode(TEXTS), LABELS, 7)
        found.append(module)
    for name, value in found[0].state_dict().items():
        assert torch.equal(value, found[1].state_dict()[name])
    logits = text_logits(found[0], encoder.encode(TEXTS))
    assert (logits.argmax(1) == LABELS)[:120].mean() > 0.97


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        ("logistic", LogisticRegression(C=6.0, tol=1e-10, max_iter=10_000)),
        # Theirs does not halve the square; and it shrinks the bias unless its column is large.
        ("squared-hinge", LinearSVC(C=3.0, tol=1e-10, max_iter=10_000, intercept_scaling=300, dual=False)),
    ],
)
def test_naive_bayes_is_the_linear_model_over_weighted_ngrams(unit: bool, loss: str, solver: Any) -> None:
    """With two classes the ratios are opposite, so one column with twice the c says the same."""
    model = {"unit_length": unit, "loss": loss, "tol": 1e-12, "max_iter": 5000}
    config = resolve({"arch": "nb", "model": model})
    encoder = encoder_for(config, TEXTS)
    encoded = encoder.encode(TEXTS)
    module = build("nb", config.model, encoder.inputs(2))
    assert isinstance(module, Fits)
    module.fit(encoded, LABELS, 0)
    there = np.zeros((len(TEXTS), encoder.vocab_size))
    for row in range(len(encoded)):
        there[row, encoded.row(row)] = 1
    there[:, 0] = 0
    inside, outside = 1 + there[LABELS == 1].sum(0), 1 + there[LABELS == 0].sum(0)
    ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    length = np.sqrt(np.maximum(there.sum(1, keepdims=True), 1)) if unit else 1.0
    wanted = solver.fit(there / length * ratio, LABELS).decision_function(there / length * ratio)
    logits = text_logits(module, encoded)
    assert logits[:, 1] - logits[:, 0] == pytest.approx(wanted, abs=2e-3)


def test_auto_is_squared_hinge_of_two_classes_and_else_logistic() -> None:
    def logits(loss: str, n_classes: int) -> NDArray[np.float32]:
        config = resolve({"arch": "nb", "model": {"loss": loss}})
        encoder = encoder_for(config, TEXTS)
        module = build("nb", config.model, encoder.inputs(n_classes))
        assert isinstance(module, Fits)
        module.fit(encoder.encode(TEXTS), np.arange(len(TEXTS)) % n_classes, 0)
        return text_logits(module, encoder.encode(TEXTS))

    for n_classes, chosen, other in ((2, "squared-hinge", "logistic"), (3, "logistic", "squared-hinge")):
        found = logits("auto", n_classes)
        assert np.array_equal(found, logits(chosen, n_classes))
        assert not np.allclose(found, logits(other, n_classes))


def test_character_ngrams_are_those_of_scikit_learn() -> None:
    """Theirs have a space for each end of a word, and the whole word with its ends when it fits."""
    asked = NgramConfig(ngram_range=(1, 1), char_ngrams=(2, 4), min_df=2, token_pattern=r"\S+")
    words = asked.features(TEXTS)
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=2).fit(TEXTS)
    whole = {f" {word} " for text in TEXTS for word in text.lower().split()}
    wanted = {f"\x01{part}" for part in theirs.vocabulary_ if part not in whole}
    found = {part.replace("<", " ").replace(">", " ") for part in words.ngrams if part[0] == "\x01"}
    assert found == wanted
    assert [words.ngrams[id - 1] for id in words.encode("film").ids] == [
        part for part in ("film", *(f"\x01{part}" for part in ngrams("film", 2, 4))) if part in words.ngrams
    ]
    back = WordNgrams.from_bytes(words.to_bytes())
    assert np.array_equal(back.encode("a good film").ids, words.encode("a good film").ids)
    assert back.fingerprint == words.fingerprint


@pytest.mark.parametrize(
    ("arch", "model", "said"),
    [
        ("nb", {"char_ngrams": [4, 2]}, "shortest <= longest"),
        ("bow", {"char_ngrams": [0, 2]}, "or [0, 0]"),
        ("tfidf", {"ngram_range": [0, 0]}, "1 <= shortest"),
    ],
)
def test_ngrams_from_long_to_short_are_refused(arch: str, model: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        resolve({"arch": arch, "model": model})


def test_json_nested_without_end_is_refused() -> None:
    for kind in (WordNgrams, HashedNgrams, OpenVocabulary):
        for data in (b"[" * 100_000, b'{"a":' * 100_000):
            with pytest.raises(CheckpointError):
                kind.from_bytes(data)
