"""What a CUDA device computes is what a CPU does: training, resuming, answers, generation, alignment.

All of it is skipped where there is no such device.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import alignment_runs
import animals
import labelled_reviews
from language_runs import language_run
from parallel_numbers import small_translation, write_parts
from sentimodels import Classifier, LanguageModel
from sentimodels.models import ARCHITECTURES
from sentimodels.nn.cross_entropy import IGNORED, summed_cross_entropy
from sentimodels.runs.execute import Callbacks, resume, train
from sentimodels.runs.families import resolve
from sentimodels.translator import Translator

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")

DEVICES = ("cpu", "cuda")
NEURAL = [arch for arch in ARCHITECTURES if arch not in ("tfidf", "nb", "bow")]


def still(arch: str) -> dict[str, Any]:
    """Options of a model that draws nothing: what a device draws is not what a CPU does."""
    return {key: 0.0 for key in ARCHITECTURES[arch].config.model_fields if "dropout" in key}


def losses(folder: Path, key: str = "loss") -> list[float]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line[key] for line in lines if key in line]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return animals.write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled_reviews.write(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.mark.parametrize(
    ("arch", "sections"),
    [
        ("gpt", {}),
        ("gpt", {"optim": {"name": "muon"}, "train": {"recompute": True, "accumulate": 2}}),
        ("gpt", {"model": {"positions": "alibi", "n_kv_heads": 1}, "optim": {"clip": 1.0}}),
        ("linear", {}),
        ("mamba", {"task": {"tied": False}}),
        ("lstm", {}),
        ("bert", {"task": {"next_sentence": True}}),
    ],
)
def test_a_language_model_learns_what_it_learns_on_a_cpu(
    arch: str, sections: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    found = {}
    for device in DEVICES:
        given = {**sections, "model": {**still(arch), **sections.get("model", {})}}
        given["train"] = {"device": device, "log_every": 1, **sections.get("train", {})}
        given["optim"] = {"lr": 1e-3, **sections.get("optim", {})}
        about = train(animals.config_of(corpus, arch, **given), tmp_path / device)
        assert about["device"].startswith(device)
        found[device] = [*losses(tmp_path / device), *losses(tmp_path / device, "val_loss")]
    assert len(found["cpu"]) == 14
    np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=2e-3)


def test_compiled_in_bfloat16_it_learns_as_in_float32(corpus: Path, tmp_path: Path) -> None:
    found = {}
    for name, precision, fused in (("plain", "float32", False), ("fast", "bfloat16", True)):
        steps = {"device": "cuda", "max_steps": 60, "evaluate_every": 30, "log_every": 1}
        steps |= {"precision": precision, "compile": fused}
        given: dict[str, Any] = {"model": still("gpt"), "train": steps}
        train(animals.config_of(corpus, **given), tmp_path / name)
        found[name] = losses(tmp_path / name)
    np.testing.assert_allclose(found["fast"][:5], found["plain"][:5], rtol=0.02)
    np.testing.assert_allclose(found["fast"][-10:], found["plain"][-10:], rtol=0.15)


def test_a_run_that_was_stopped_goes_on_to_the_same_loss(corpus: Path, tmp_path: Path) -> None:
    steps = {"device": "cuda", "max_steps": 12, "log_every": 1, "evaluate_every": 6}
    config = animals.config_of(corpus, train=steps)  # dropout included: its state is saved
    train(config, tmp_path / "whole")
    asked = iter(range(100))
    train(config, tmp_path / "parts", callbacks=Callbacks(should_stop=lambda: next(asked) == 4))
    resume(tmp_path / "parts")
    whole, parts = losses(tmp_path / "whole"), losses(tmp_path / "parts")
    assert len(whole) == len(parts) == 12
    np.testing.assert_allclose(parts, whole, rtol=1e-3)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("size", [64, 101])
def test_the_loss_over_a_vocabulary_is_that_of_a_cpu(compiled: bool, size: int) -> None:
    """Of a vocabulary that is rounded up to a width of 64, and one that is not; the last chunk is shorter."""
    torch.manual_seed(0)
    states, weight, bias = torch.randn(50, 16), torch.randn(size, 16), torch.randn(size)
    targets = torch.randint(size, (50,))
    targets[7] = IGNORED
    found = []
    for device in DEVICES:
        given = [value.to(device, copy=True).requires_grad_() for value in (states, weight, bias)]
        loss = summed_cross_entropy(
            given[0], given[1], targets.to(device), given[2], chunk=32, label_smoothing=0.1,
            compiled=compiled and device == "cuda",
        )  # fmt: skip
        (loss / 3).backward()
        found.append([loss.detach().cpu(), *(value.grad.cpu() for value in given if value.grad is not None)])
    assert len(found[1]) == 4
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arch", NEURAL)
def test_a_classifier_learns_and_answers_as_on_a_cpu(arch: str, reviews: Path, tmp_path: Path) -> None:
    found, shares = {}, {}
    asked = [text for text, _ in labelled_reviews.rows(50, seed=5)]
    for device in DEVICES:
        more: dict[str, Any] = {"device": device, "epochs": 2, "precision": "float32", "log_every": 1}
        tree = labelled_reviews.tree(arch, reviews, train=more, model=still(arch), optim={"lr": 1e-3})
        train(resolve(tree), tmp_path / device, baseline=False)
        found[device] = losses(tmp_path / device)
        shares[device] = Classifier.load(tmp_path / "cpu", device=device).predict_proba(asked)
    np.testing.assert_allclose(shares["cuda"], shares["cpu"], atol=1e-4)
    np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=1e-2)


@pytest.mark.parametrize("arch", ["gpt", "mamba", "lstm"])
def test_generated_and_scored_texts_are_those_of_a_cpu(arch: str, tmp_path: Path) -> None:
    language_run(tmp_path / "run", arch)
    prompts = ["the cat", "a dog saw 日本 and", "the"]
    texts, scores, states = [], [], []
    for device in DEVICES:
        model = LanguageModel.load(tmp_path / "run", device=device)
        texts.append(model.generate(prompts, max_new_tokens=12, temperature=0.0))
        scores.append([one.perplexity for one in model.score(prompts)])
        states.append(model.embed(prompts))
    assert texts[0] == texts[1]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-3)
    np.testing.assert_allclose(states[1], states[0], atol=1e-3)


@pytest.mark.parametrize("method", ["ppo", "dpo"])
def test_alignment_runs(method: str, tmp_path: Path) -> None:
    made = alignment_runs.make(tmp_path)
    about = train(alignment_runs.config_of(made, method, train={"device": "cuda"}), tmp_path / "run")
    assert np.isfinite(losses(tmp_path / "run")).all()
    assert about["device"].startswith("cuda")


def test_translation_trains_and_searches(tmp_path: Path) -> None:
    folder = write_parts(tmp_path)
    steps = {"device": "cuda", "precision": "bfloat16", "log_every": 1}
    train(small_translation(folder, task={"monitor": "bleu"}, train=steps), tmp_path / "run")
    found = losses(tmp_path / "run")
    assert np.isfinite(found).all()
    assert found[-1] < 0.5 * found[0]
    sources = (folder / "test.en").read_text().splitlines()[:8]
    texts = [
        [one[0].text for one in Translator.load(tmp_path / "run", device=device).translate(sources)]
        for device in DEVICES
    ]
    assert texts[0] == texts[1]
