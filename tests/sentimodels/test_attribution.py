"""Parts of answers: that they sum up, against a sum of many small steps, and the places of n-grams."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.main import get_group

from labelled_reviews import GOOD, rows, tree, write
from sampled_cases import chosen
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.cli.app import build
from sentimodels.data.encoded import batches
from sentimodels.errors import DataError
from sentimodels.explain import attribute
from sentimodels.explain.attribution import scores_of
from sentimodels.explain.bags import occurrences
from sentimodels.explain.integrated_gradients import integrate
from sentimodels.explain.leave_one_out import leave_one_out
from sentimodels.models import ARCHITECTURES
from sentimodels.models.bow import BowConfig
from sentimodels.nn.embedding import Mixing
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.text.words import NgramConfig, WordCutter

BAGS = ("tfidf", "nb", "bow")
SUBWORDS = {"data": {"tokenizer_model": "bpe", "max_tokens": 80}}
# Name: architecture and sections of the run. Every architecture, and what reads texts otherwise.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ARCHITECTURES},
    "bpe": ("gpt", SUBWORDS),
    "cls": ("encoder", {**SUBWORDS, "model": {"pooling": "cls", "positions": "rotary"}}),
    "linear encoder": ("encoder", {"model": {"attention": "linear-elu", "pooling": "attention"}}),
    "sublinear": ("tfidf", {"model": {"sublinear_tf": True, "char_ngrams": [3, 4]}}),
    "set": ("nb", {"model": {"unit_length": False, "ends": True, "ngram_range": [1, 3]}}),
    "words": ("bow", {"model": {"char_ngrams": [0, 0]}}),
}
NETWORKS = [name for name, (arch, _) in RUNS.items() if arch not in BAGS]
# Of like architectures one: the others are integrated over the same path.
SOME = chosen(RUNS, *(name for name in RUNS if name not in ("rnn", "bert", "gpt", "linear")))
TEXT = "The film İS great, unseen naïve and 日本 dull great 👍🏽."
PLAIN = "a great film with a dull plot"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("parts")
    reviews = write(made / "reviews.csv")
    for name in SOME:
        arch, sections = RUNS[name]
        train(resolve(tree(arch, reviews, **sections)), made / name, baseline=False)
    return made


@pytest.fixture(scope="module")
def classifiers(folder: Path) -> dict[str, Classifier]:
    return {name: Classifier.load(folder / name) for name in SOME}


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("text", [TEXT, PLAIN, "great", "", " "])
def test_the_parts_sum_up(classifiers: dict[str, Classifier], name: str, text: str) -> None:
    classifier = classifiers[name]
    found = attribute(classifier, text)
    assert found.effects.shape == (len(found.tokens), 2)
    assert found.gap <= (1e-5 if name not in NETWORKS else 1e-3)
    missed = found.effects.sum(0) - (found.scores - found.baseline)
    np.testing.assert_allclose(missed, 0, atol=found.gap + 1e-12)
    [logits] = classifier.predict_logits([text])
    np.testing.assert_allclose(found.scores, scores_of(logits, classifier.temperature), atol=1e-4)
    np.testing.assert_allclose(
        np.exp(found.scores) / np.exp(found.scores).sum(), classifier.predict_proba([text])[0], atol=1e-4
    )
    assert not any(
        effect.any() for effect, one in zip(found.effects, found.tokens, strict=True) if one.special
    )


@pytest.mark.parametrize("name", SOME)
def test_what_gives_the_answer_gets_the_most(classifiers: dict[str, Classifier], name: str) -> None:
    found = attribute(classifiers[name], PLAIN)
    of_words = {PLAIN[one.start : one.end].strip(): 0.0 for one in found.tokens}
    place = classifiers[name].labels.index("pos")
    for token, effect in zip(found.tokens, found.effects, strict=True):
        of_words[PLAIN[token.start : token.end].strip()] += effect[place]
    if name not in ("bpe", "cls"):
        assert max(of_words, key=of_words.__getitem__) == "great"
        assert min(of_words, key=of_words.__getitem__) == "dull" or name == "mamba"


def small_steps(classifier: Classifier, text: str, label: int, n: int) -> NDArray[np.float64]:
    """The definition: gradients in the middle of each of many steps, one row at a time.

    The nearer to the beginning, the smaller the steps are: norms make slopes near zero steep.
    """
    [batch] = batches(classifier.encoder.encode([text]), max_tokens=1000)
    share, points, ways = 0.0, list[Any](), list[Any]()

    def moved(module: Any, args: Any, vectors: Any) -> Any:
        points.append((share * vectors.detach()).requires_grad_())
        ways.append(vectors.detach())
        return points[-1]

    parts = [one for one in classifier.module.modules() if isinstance(one, Mixing)]
    hooks = [part.register_forward_hook(moved) for part in parts]
    total = np.zeros(batch.input_ids.shape[1])
    for step in range(n):
        begin, share, end = ((step / n) ** 8, ((step + 0.5) / n) ** 8, ((step + 1) / n) ** 8)
        del points[:], ways[:]
        logits = classifier.module(**batch.inputs())[0] / classifier.temperature
        (logits[label] - logits.mean()).backward()
        for point, way in zip(points, ways, strict=True):
            total += (end - begin) * (point.grad * way).sum(-1)[0].numpy()
    for hook in hooks:
        hook.remove()
    for parameter in classifier.module.parameters():
        parameter.grad = None
    return total


@pytest.mark.parametrize("name", ["cnn", "gru", "encoder", "mamba"])
def test_parts_are_those_of_many_small_steps(classifiers: dict[str, Classifier], name: str) -> None:
    found = attribute(classifiers[name], PLAIN)
    expected = small_steps(classifiers[name], PLAIN, 1, 150)
    np.testing.assert_allclose(found.effects[:, 1], expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name in RUNS if name not in NETWORKS])
def test_a_feature_adds_weight_times_value(classifiers: dict[str, Classifier], name: str) -> None:
    """Taken out of the ids, with the length of the text kept, the logits lose what it adds."""
    classifier = classifiers[name]
    found = attribute(classifier, TEXT)
    assert found.features
    np.testing.assert_allclose(
        np.sum([one.effects for one in found.features], 0), found.scores - found.baseline, atol=1e-5
    )
    strengths = [np.abs(one.effects).max() for one in found.features]
    assert strengths == sorted(strengths, reverse=True)
    for one in found.features:
        assert one.places
        for start, end in one.places:
            assert 0 <= start < end <= len(TEXT)
            if "…" not in one.text:
                pieces = WordCutter(None).cut(classifier.encoder.prepare(TEXT[start:end]).lower())
                assert one.text.split() == pieces
    if name == "tfidf":  # scikit-learn's own arithmetic
        module: Any = classifier.module
        own: Any = classifier.tokenizer
        ids = {ngram: place + 1 for place, ngram in enumerate(own.ngrams)}
        encoded = own.encode(classifier.encoder.prepare(TEXT)).ids
        counts = np.bincount(encoded, minlength=own.vocab_size).astype(float)
        values = counts * module.idf.numpy()
        values /= np.sqrt((values**2).sum())
        of_great = values[ids["great"]] * module.weight[ids["great"]].detach().numpy()
        [great] = [one for one in found.features if one.text == "great"]
        assert len(great.places) == 2
        np.testing.assert_allclose(great.effects, scores_of(of_great, classifier.temperature), atol=1e-6)


words = st.lists(
    st.sampled_from(["great", "Film", "a", "日本語", "zz", "it's", ".", "\n", "the", "İ", "กา"]), max_size=12
).map(" ".join)
OPTIONS: list[dict[str, Any]] = [
    {}, {"ngram_range": (2, 3)}, {"ends": True}, {"ends": True, "ngram_range": (1, 4)},
    {"char_ngrams": (2, 4)}, {"char_run": 5, "ends": True}, {"lowercase": False, "char_run": 1},
]  # fmt: skip
TEXTS = [text for text, _ in rows(60)] + ["日本語 great 日本", "กา film กา"]
ENCODERS: list[Any] = [NgramConfig(**options).features(TEXTS) for options in OPTIONS]
BOWS: list[dict[str, Any]] = [{}, {"char_ngrams": (0, 0)}, {"word_ngrams": 1}, {"word_ngrams": 5}]
ENCODERS += [BowConfig(buckets=1 << 12, **options).features(TEXTS) for options in BOWS]


@pytest.mark.parametrize("encoder", ENCODERS, ids=range(len(ENCODERS)))
@given(text=words)
def test_ngrams_are_those_of_the_vocabulary(encoder: Any, text: str) -> None:
    found, n_words = occurrences(encoder, text)
    assert sorted(one.id for one in found) == sorted(encoder.encode(text).ids.tolist())
    assert all(0 <= one.begin < one.end <= n_words for one in found)


def test_an_integral_with_kinks_and_jumps() -> None:
    def values(at: NDArray[np.float64]) -> NDArray[np.float64]:
        kink = np.maximum(0, at - 0.377)
        return np.stack([kink + np.exp(-at / 0.001), np.sin(9 * at)], 1)

    def slopes(at: NDArray[np.float64]) -> NDArray[np.float64]:
        first = np.stack([(at > 0.377) * 1.0, 9 * np.cos(9 * at)], 1)
        second = np.stack([-1000 * np.exp(-at / 0.001), 0 * at], 1)
        return np.stack([first, second], 1)

    found = integrate(values, slopes, tolerance=1e-6, most=5000)
    np.testing.assert_allclose(found.total.sum(0), found.last - found.first, atol=1e-6)
    np.testing.assert_allclose(found.total[0], [1 - 0.377, np.sin(9)], atol=1e-6)
    assert found.n_slopes < 1000
    few = integrate(values, slopes, tolerance=1e-9, most=40)
    assert few.n_slopes <= 40
    assert np.abs(few.total.sum(0) - (few.last - few.first)).max() > 1e-9


def test_the_gap_is_told_where_gradients_end(classifiers: dict[str, Classifier]) -> None:
    found = attribute(classifiers["cnn"], PLAIN, tolerance=1e-12, most=32)
    assert found.n_gradients <= 32
    assert found.gap > 0


def test_the_model_is_left_alone(classifiers: dict[str, Classifier]) -> None:
    module = classifiers["lstm"].module
    before = {name: value.clone() for name, value in module.state_dict().items()}
    attribute(classifiers["lstm"], PLAIN)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert not any(part._forward_hooks for part in module.modules())
    assert all(parameter.grad is None for parameter in module.parameters())


def test_long_texts(classifiers: dict[str, Classifier]) -> None:
    with pytest.raises(DataError, match="the run reads 80 at once"):
        attribute(classifiers["bpe"], "great film " * 40)
    assert len(attribute(classifiers["tfidf"], "great film " * 4000).tokens) == 8000


# --- the command


def explained(folder: Path, *args: str) -> dict[str, Any]:
    done = senti("explain", *args, "--json", cwd=folder)
    assert done.code == 0, done.err
    value: dict[str, Any] = json.loads(done.out)
    return value


@pytest.mark.parametrize("name", ["lstm", "tfidf", "bpe"])
def test_json_says_what_the_library_says(classifiers: dict[str, Classifier], folder: Path, name: str) -> None:
    value = explained(folder, name, PLAIN)
    found = attribute(classifiers[name], PLAIN)
    assert value["schema"] == "senti.explain/1"
    assert value["method"] == found.method == ("linear" if name == "tfidf" else "integrated-gradients")
    np.testing.assert_allclose([one["effects"] for one in value["tokens"]], found.effects, atol=1e-5)
    assert [PLAIN[one["start"] : one["end"]] for one in value["tokens"]] == [
        PLAIN[one.start : one.end] for one in found.tokens
    ]
    assert value["gap"] <= 1e-3
    assert ("features" in value) == (name == "tfidf")
    other = explained(folder, name, PLAIN, "--method", "leave-one-out", "--label", "neg")
    assert other["explained"] == "neg"
    np.testing.assert_allclose(
        [one["effects"] for one in other["tokens"]],
        leave_one_out(classifiers[name], PLAIN).effects,
        atol=1e-5,
    )


def test_an_ensemble_is_asked_without_each_word(classifiers: dict[str, Classifier], folder: Path) -> None:
    (folder / "both").mkdir(exist_ok=True)
    both = Ensemble((classifiers["lstm"], classifiers["tfidf"]), (0.5, 0.5))
    both.save(folder / "both", [folder / "lstm", folder / "tfidf"], "0" * 64)
    assert explained(folder, "both", PLAIN)["method"] == "leave-one-out"
    done = senti("explain", "both", PLAIN, "--method", "integrated-gradients", cwd=folder)
    assert (done.code, "an ensemble is several models" in done.err) == (2, True)


def test_the_page_lists_and_sums(folder: Path) -> None:
    done = senti("explain", "lstm", PLAIN, "--top", "3", "--label", "pos", cwd=folder)
    assert done.code == 0
    assert "\x1b" not in done.out
    listed = re.findall(r"^ *(\S+) +(\d+-\d+) +([+-]*) +([+-][\d.]+)$", done.out, re.M)
    assert len(listed) == 3
    assert listed[0][0] in [*GOOD, "dull"]
    for _, _, bar, effect in listed:
        assert set(bar) <= {effect[0]}
    assert "4 weaker tokens are not listed; --top 7 lists all" in done.out
    done = senti("explain", "lstm", PLAIN, "--top", "6", cwd=folder)
    assert "1 weaker token is not listed; --top 7 lists all" in done.out
    assert re.search(r"sum to .*: score .* less .*\(error \d\.\de-\d\d, \d+ gradients\)", done.out)
    assert senti("explain", "lstm", PLAIN, "-q", cwd=folder).out in ("pos\n", "neg\n")
    for empty in ("", "qqqq"):
        assert "knows no word of this text" in senti("explain", "tfidf", empty, cwd=folder).out
    odd = senti("explain", "lstm", "a\x1b[31m great\u202e [b]film[/b]", cwd=folder)
    assert (odd.code, "\x1b" in odd.out, "[b]" in odd.out) == (0, False, True)


@pytest.mark.parametrize(
    ("wanted", "coloured"), [(["FORCE_COLOR"], True), (["FORCE_COLOR", "NO_COLOR"], False), ([], False)]
)
def test_colour_is_for_terminals(
    folder: Path, wanted: list[str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in wanted:
        monkeypatch.setenv(name, "1")
    done = senti("explain", "tfidf", "a great film", cwd=folder)
    assert done.code == 0, done.err
    assert ("\x1b[" in done.out) == coloured
    assert "great" in re.sub(r"\x1b\[[\d;]*m", "", done.out)


def test_sixteen_colours_tell_both_directions_apart(
    folder: Path, classifiers: dict[str, Classifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-16color")
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    shaded = senti("explain", "tfidf", "great but dull", "--label", "pos", cwd=folder).out.splitlines()[1]
    styles = {char: style.split(";") for style, char in re.findall(r"\x1b\[([\d;]+)m(\w)", shaded)}
    assert "4" in styles["d"]  # of dull: underlined
    assert "4" not in styles["g"]  # of great


def test_ngrams_that_read_alike_share_a_row(folder: Path) -> None:
    features = explained(folder, "bow", "a greatness film, a greatness film")["features"]
    rows = [(one["text"], tuple(map(tuple, one["places"]))) for one in features]
    assert len(set(rows)) == len(rows)
    assert [text for text, _ in rows].count("…greatness…") == 1


WRONG = [
    (["lstm", "a", "--method", "guess"], "integrated-gradients"),
    (["lstm", "a", "--label", "good"], "unknown label 'good'"),
    (["lstm", "a", "--tolerance", "0"], "expected a number above 0"),
    (["none", "a"], "no such folder"),
    (["bpe", "great " * 100], "shorten it"),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_calls(folder: Path, args: list[str], said: str) -> None:
    done = senti("explain", *args, cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def examples() -> Iterator[str]:
    command = get_group(build()).commands["explain"]
    yield from re.findall(r"^\$ (.+)$", str(command.epilog), re.M)


@pytest.mark.parametrize("line", list(examples()))
def test_examples(folder: Path, line: str) -> None:
    if not (folder / "runs").exists():
        (folder / "runs").mkdir()
        (folder / "runs" / "first").symlink_to(folder / "lstm")
    head, _, rest = line.rpartition(" | ")
    args = shlex.split(rest)
    assert args[0] == "senti"
    done = senti(*args[1:], cwd=folder, stdin=f"{shlex.split(head)[1]}\n" if head else "")
    assert done.code == 0, done.err
    assert "great" in done.out
