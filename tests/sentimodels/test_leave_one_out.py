"""What each token adds to an answer, against the model asked by hand; where tokens are in a text."""

from typing import Any

import numpy as np
import pytest

from labelled_reviews import tree, write
from sentimodels import Classifier
from sentimodels.errors import DataError
from sentimodels.explain.leave_one_out import leave_one_out, leave_words_out
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.text.reading import plain_words, read_tokens
from sentitok import Tokenizer

# Name: architecture and sections of the run.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "bpe": ("gpt", {"data": {"tokenizer_model": "bpe", "max_tokens": 24}}),
    "wordpiece": ("lstm", {"data": {"tokenizer_model": "wordpiece", "lowercase": True}}),
    "unigram": ("cnn", {"data": {"tokenizer_model": "unigram"}}),
    "words": ("lstm", {}),
    "tfidf": ("tfidf", {}),
    "bow": ("bow", {}),
}
TEXT = "The film İS great, naïve and 日本 fun 👍🏽."


@pytest.fixture(scope="module")
def classifiers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Classifier]:
    folder = tmp_path_factory.mktemp("explained")
    reviews = write(folder / "reviews.csv")
    made = {}
    for name, (arch, sections) in RUNS.items():
        train(resolve(tree(arch, reviews, **sections)), folder / name, baseline=False)
        made[name] = Classifier.load(folder / name)
    return made


@pytest.mark.parametrize("name", RUNS)
def test_tokens_lie_where_they_are_in_the_text(classifiers: dict[str, Classifier], name: str) -> None:
    encoder = classifiers[name].encoder
    tokens, n_tokens = read_tokens(encoder, TEXT)
    assert len(tokens) == n_tokens > 5
    for token in tokens:
        if token.special:
            continue
        assert 0 <= token.start < token.end <= len(TEXT)
    read = " ".join(TEXT[token.start : token.end] for token in tokens if not token.special)
    for word in ("film", "great"):
        assert word in read.replace(" ", "")
    if not isinstance(encoder.encoder, Tokenizer):
        assert [TEXT[token.start : token.end] for token in tokens[:2]] == ["The", "film"]
        assert TEXT[tokens[2].start] == "İ"
    starts = [token.start for token in tokens if not token.special]
    assert starts == sorted(starts)
    assert read_tokens(encoder, TEXT, 3) == (tokens[:3], n_tokens)
    assert read_tokens(encoder, "")[1] == sum(token.special for token in read_tokens(encoder, "")[0])


@pytest.mark.parametrize("name", ["words", "tfidf", "bow"])
def test_words_are_those_that_the_run_reads(classifiers: dict[str, Classifier], name: str) -> None:
    encoder = classifiers[name].encoder
    tokens, _ = read_tokens(encoder, TEXT)
    expected = ["film", "great", ",", "naïve", "and", "日", "本", "fun"]
    assert [token.text for token in tokens if token.text in expected] == expected


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("words", "tfidf", "bow")])
def test_an_effect_is_what_the_model_says_without_the_token(
    classifiers: dict[str, Classifier], name: str
) -> None:
    """One row at a time, each built by hand."""
    classifier = classifiers[name]
    text = "the plot is great and dull"
    found = leave_one_out(classifier, text)
    assert isinstance(classifier.tokenizer, Tokenizer)
    ids = classifier.tokenizer.encode(text).ids.tolist()
    assert [token.id for token in found.tokens] == ids
    whole = classifier.encoder.encode([text])
    special = classifier.encoder.vocabulary.special_ids
    for place, id in enumerate(ids):
        if id in special:
            assert not found.effects[place].any()
            continue
        rest = np.array(ids[:place] + ids[place + 1 :], whole.ids.dtype)
        one = type(whole)(
            ids=rest, row_offsets=np.array([0, len(rest)]), text_of_row=np.array([0]), n_texts=1,
            text_lengths=np.array([len(rest)]), max_tokens=whole.max_tokens, n_cut=0, pad_id=whole.pad_id,
            fingerprint=whole.fingerprint, n_known=whole.n_known, ngrams=whole.ngrams,
        )  # fmt: skip
        logits = classifier.logits_of(one)[0].astype(np.float64) / classifier.temperature
        probs = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(found.effects[place], found.probs - probs, atol=1e-5)


@pytest.mark.parametrize("name", ["words", "tfidf", "bow"])
def test_an_effect_of_a_word_is_that_of_the_text_without_it(
    classifiers: dict[str, Classifier], name: str
) -> None:
    classifier = classifiers[name]
    words = ["the", "plot", "is", "great", "and", "dull"]
    found = leave_one_out(classifier, " ".join(words))
    assert [token.text for token in found.tokens] == words
    for place in range(len(words)):
        [probs] = classifier.predict_proba([" ".join(words[:place] + words[place + 1 :])])
        np.testing.assert_allclose(found.effects[place], found.probs - probs, atol=1e-5)
    good, bad = found.effects[words.index("great")], found.effects[words.index("dull")]
    place = classifier.labels.index("pos")
    assert good[place] > bad[place] <= 0 <= good[place]
    np.testing.assert_allclose(found.effects.sum(1), 0, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("text", ["", " ", "great"])
def test_texts_of_no_or_one_token(classifiers: dict[str, Classifier], name: str, text: str) -> None:
    found = leave_one_out(classifiers[name], text)
    assert found.effects.shape == (len(found.tokens), 2)
    np.testing.assert_allclose(found.probs, classifiers[name].predict_proba([text])[0], atol=1e-6)


def test_long_texts_are_refused(classifiers: dict[str, Classifier]) -> None:
    with pytest.raises(DataError, match="at most 256 are left out"):
        leave_one_out(classifiers["words"], "great " * 300)
    with pytest.raises(DataError, match="the run reads 24 at once"):
        leave_one_out(classifiers["bpe"], "great film " * 20)


def test_whatever_answers_texts_is_explained_by_words(classifiers: dict[str, Classifier]) -> None:
    text = "A great, dull film"
    found = leave_words_out(classifiers["bpe"].predict_proba, text)
    assert [token.text for token in found.tokens] == ["A", "great", ",", "dull", "film"]
    assert plain_words(text)[0] == found.tokens
    [probs] = classifiers["bpe"].predict_proba(["A  , dull film"])
    np.testing.assert_allclose(found.effects[1], found.probs - probs, atol=1e-5)
