"""Continuations after the first tokens of texts, and their scores."""

import importlib
import math
import re
from pathlib import Path

import numpy as np
import pytest

from language_runs import TEXTS, language_run
from sentimodels import LanguageModel
from sentimodels.continuation import Continued, continue_texts
from sentimodels.errors import ConfigError, DataError
from sentimodels.evaluation.diversity import distinct_n
from sentimodels.evaluation.translation import can_score, text_bleu

ROOT = Path(__file__).resolve().parents[2]
SOME = [*TEXTS, "the cat", "a dog saw a cat and the cat sat on a mat 日本 and the dog"]
needs_sacrebleu = pytest.mark.skipif(not can_score(), reason="BLEU is sacrebleu's")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = tmp_path_factory.mktemp("continuation") / "run"
    language_run(folder, "gpt", 64)
    return LanguageModel.load(folder)


def test_texts_are_cut_after_their_first_tokens(model: LanguageModel) -> None:
    found = continue_texts(model, SOME, prompt_tokens=4, new_tokens=6, seed=1)
    assert found.left_out == 1
    for text, prompt, rest in zip([SOME[0], SOME[1], SOME[3]], found.prompts, found.rests, strict=True):
        assert text.startswith(prompt + rest)
        ids = model.tokenizer.encode(text, add_special_tokens=False).ids.tolist()
        assert model.tokenizer.decode(ids[:4]) == prompt
        assert model.tokenizer.decode(ids[:10]) == prompt + rest
    assert found.answers == model.generate(found.prompts, max_new_tokens=6, seed=1)


def test_the_perplexity_is_that_of_the_rests(model: LanguageModel) -> None:
    found = continue_texts(model, SOME, prompt_tokens=4, new_tokens=6, seed=1)
    total, n, n_bytes = 0.0, 0, 0
    for prompt, rest in zip(found.prompts, found.rests, strict=True):
        (whole,), (before,) = model.score([prompt + rest]), model.score([prompt])
        total += whole.log_prob - before.log_prob
        n += len(whole.ids) - len(before.ids)
        n_bytes += len(rest.encode())
    assert found.perplexity == pytest.approx(math.exp(-total / n), rel=1e-4)
    assert found.bits_per_byte == pytest.approx(-total / math.log(2) / n_bytes, rel=1e-4)


@needs_sacrebleu
def test_scores() -> None:
    rests = ["the cat sat on the mat today", "a dog saw a cat in the house"]
    same = Continued(["x"] * 2, rests, rests, 0, 2.0, 1.0)
    other = Continued(["x"] * 2, rests, [rests[0], "nothing of the kind was ever said here"], 1, 3.0, 1.5)
    found = other.scores(["so the cat sat on the mat then"], 5)
    assert found["bleu"] < same.scores()["bleu"] == pytest.approx(100)
    assert found["signature"].startswith("nrefs:1|")
    assert found["copied"] == pytest.approx(6 / 15)
    assert found["rests"]["copied"] == pytest.approx(6 / 15)
    assert found["distinct_2"] == distinct_n(other.answers, 2) == 1
    assert (found["texts"], found["left_out"], found["perplexity"]) == (2, 1, 3.0)
    assert same.better_than(other) == 1
    assert other.better_than(same) == 0
    assert text_bleu(rests, rests) == pytest.approx([100, 100])
    with pytest.raises(TypeError, match="training takes a list of texts, not one text"):
        same.scores("so the cat sat")
    with pytest.raises(DataError, match="continuations of different texts"):
        same.better_than(Continued(["x"], rests[:1], rests[:1], 0, 1.0, 1.0))
    with pytest.raises(DataError, match="2 translations, but 1 references"):
        text_bleu(rests, rests[:1])


def test_what_cannot_be_continued(model: LanguageModel) -> None:
    with pytest.raises(DataError, match="no text has more than 60 tokens; give longer texts"):
        continue_texts(model, SOME, prompt_tokens=60, new_tokens=4)
    for name in ("prompt_tokens", "new_tokens"):
        with pytest.raises(ConfigError, match=f"{name} 0: expected a whole number from 1 on"):
            continue_texts(model, SOME, **{name: 0})
        with pytest.raises(TypeError, match=f"{name} 4.0: expected a whole number from 1 on"):
            continue_texts(model, SOME, **{name: 4.0})  # type: ignore[arg-type]  # 2026-11-29: refused
    with pytest.raises(TypeError, match="continue_texts takes a list of texts, not one text"):
        continue_texts(model, SOME[0])
    with pytest.raises(DataError, match="of every text that has more end within a character; give another"):
        continue_texts(model, ["\U0001f63a" * 9], prompt_tokens=2, new_tokens=5)
    for prompt, new in ((80, 1), (60, 5)):  # of a rest that the model cannot reach BLEU would tell nothing
        said = f"prompt_tokens {prompt}, new_tokens {new}: the model reads 64 tokens; give fewer"
        with pytest.raises(DataError, match=said):
            continue_texts(model, [" ".join(SOME * 9)], prompt_tokens=prompt, new_tokens=new)


def test_a_beginning_that_ends_within_a_character_is_left_out(model: LanguageModel) -> None:
    """Alone it would have more tokens, and where the beginning fills the context too many."""
    text = "\U0001f63a and the cat sat on the mat"
    ids = model.tokenizer.encode(text, add_special_tokens=False)
    assert ids.offsets("chars")[:3].tolist() == [[0, 1]] * 3
    found = continue_texts(model, [text, SOME[0]], prompt_tokens=2, new_tokens=6)
    assert (found.prompts, found.left_out) == (["the cat"], 1)


@needs_sacrebleu
def test_the_page(model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs what docs/senti-lm.md shows of style transfer."""
    page = (ROOT / "docs" / "senti-lm.md").read_text("utf-8")
    chapter = re.search(r"^## Style transfer\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert chapter is not None
    (block,) = re.findall(r"^```python\n(.*?)^```$", chapter[1], re.M | re.S)
    language_run(tmp_path / "runs" / "plays", "gpt", 256)
    language_run(tmp_path / "runs" / "sonnets", "gpt", 256)
    texts = [" ".join(TEXTS * 8), " ".join(TEXTS[::-1] * 8)]
    (tmp_path / "new-sonnets.txt").write_text("\n\n".join(texts), "utf-8")
    (tmp_path / "sonnets.txt").write_text("\n\n".join(TEXTS), "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "senti-lm.md", "exec"), {})


def test_sonnets_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benches" / "models")
    style = importlib.import_module("style")
    text = "Sonnets\nby one\n\n\n1\n\nFrom fairest\nThat thereby\n\n2\n\nWhen forty\n  And dig\n"
    assert style.sonnets_of(text) == ["From fairest\nThat thereby", "When forty\nAnd dig"]
    parts = style.parted([str(n) for n in range(154)])
    assert {text for part in parts.values() for text in part} == {str(n) for n in range(154)}
    assert {name: len(part) for name, part in parts.items()} == {"train": 124, "dev": 15, "test": 15}
    assert np.unique(parts["test"]).size == 15
