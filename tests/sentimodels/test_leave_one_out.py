"""What each token adds to an answer, against the model asked by hand; where tokens are in a text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelled_reviews import tree, write
from sentimodels import Classifier
from sentimodels.data.encoded import Encoded
from sentimodels.errors import DataError
from sentimodels.explain import attribute
from sentimodels.explain.leave_one_out import leave_one_out, leave_words_out
from sentimodels.runs.directory import load_run
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.text.reading import places_read, plain_words, read_tokens
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


@pytest.mark.parametrize("stride", [0, 3])
@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram", "words"])
def test_a_text_in_windows_is_explained_as_a_whole(
    classifiers: dict[str, Classifier], name: str, stride: int
) -> None:
    """Each token is left out of all windows that hold it, and parts of scores sum up to the whole."""
    run = load_run(Path(str(classifiers[name].config.data.train)).with_name(name))
    settings = {"max_tokens": 8, "long": "windows", "stride": stride}
    encoder = replace(run.encoder, data=run.encoder.data.model_copy(update=settings))
    classifier = Classifier(replace(run, encoder=encoder))
    text = "the film is great , and the plot is dull but fun and great again , naïve and 日本"
    encoded = encoder.encode([text])
    assert len(encoded) > 2
    tokens, _ = read_tokens(encoder, text)
    places = places_read(encoder, text, tokens)
    for number, row in enumerate(places):
        ids = [None if place < 0 else tokens[place].id for place in row.tolist()]
        for id, read in zip(ids, encoded.row(number).tolist(), strict=True):
            assert id in (None, read)
    assert {place for row in places for place in row.tolist() if place >= 0} == {
        place for place, token in enumerate(tokens) if not token.special
    }
    [probs] = classifier.predict_proba([text])
    left_out, parts = leave_one_out(classifier, text), attribute(classifier, text)
    for found in (left_out, parts):
        assert [token.text for token in found.tokens] == [token.text for token in tokens]
        np.testing.assert_allclose(found.probs, probs, atol=1e-6)
    assert parts.gap < 2e-3
    np.testing.assert_allclose(
        parts.scores, np.log(probs.astype(np.float64)) - np.log(probs.astype(np.float64)).mean(), atol=1e-4
    )
    if name == "words":
        return
    asked = len(tokens) - 3
    rows = [np.delete(encoded.row(number), np.flatnonzero(row == asked)) for number, row in enumerate(places)]
    logits = np.mean([_logits_of_ids(classifier, encoded, row) for row in rows], 0) / classifier.temperature
    without = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(left_out.effects[asked], probs - without, atol=1e-5)


def _logits_of_ids(classifier: Classifier, like: Encoded, ids: Any) -> Any:
    """Returns the logits of one row."""
    ids = ids if len(ids) else np.array([like.pad_id], like.ids.dtype)
    one = replace(like, ids=ids, row_offsets=np.array([0, len(ids)]), text_of_row=np.array([0]), n_texts=1,
                  text_lengths=np.array([len(ids)]))  # fmt: skip
    return classifier.logits_of(one)[0].astype(np.float64)
