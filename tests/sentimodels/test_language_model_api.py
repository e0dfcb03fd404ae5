"""`LanguageModel`: writes, streams, scores and embeds, alone and from two threads."""

import math
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from language_runs import language_run, tokenizer_of
from sentimodels import LanguageModel
from sentimodels.errors import CheckpointError, ConfigError, DataError
from sentimodels.generation.scoring import TextScore
from sentimodels.models.language import CausalModel

ROOT = Path(__file__).resolve().parent.parent.parent
CAUSAL = ("gpt", "mamba", "lstm")
PROMPTS = ["the cat", "a", "the dog sat on 日本", "a"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("runs")
    for arch in (*CAUSAL, "bert"):
        language_run(made / arch, arch)
    return made


@pytest.mark.parametrize("arch", CAUSAL)
def test_one_prompt_or_several(arch: str, folder: Path) -> None:
    model = LanguageModel.load(folder / arch)
    options: dict[str, Any] = {"max_new_tokens": 20, "seed": 1, "top_p": 0.9}
    texts = model.generate(PROMPTS, **options)
    assert [model.generate(prompt, **options) for prompt in PROMPTS[:3]] == texts[:3]
    assert texts[1] != texts[3]  # a second text from one prompt
    assert model.generate(PROMPTS, batch_size=1, **options) == texts
    assert model.generate([], **options) == []
    for prompt, text in zip(PROMPTS[:3], texts[:3], strict=True):
        pieces = list(model.stream(prompt, **options))
        assert "".join(pieces) == text
        assert len(pieces) > 3
        assert all(pieces)


def test_the_seed_decides(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    assert model.generate("the", seed=1) == model.generate("the", seed=1)
    assert model.generate("the", seed=1) != model.generate("the", seed=2)
    assert len({model.generate("the", max_new_tokens=20) for _ in range(3)}) > 1
    assert model.generate("the", temperature=0) == model.generate("the", temperature=0, seed=5)


def test_stop_strings(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    whole = model.generate("the cat", max_new_tokens=25, seed=4)
    stop = whole[6:8]
    assert model.generate("the cat", max_new_tokens=25, seed=4, stop=stop) == whole[: whole.index(stop)]
    streamed = model.stream("the cat", max_new_tokens=25, seed=4, stop=["not there", stop])
    assert "".join(streamed) == whole[: whole.index(stop)]


def test_the_context(folder: Path) -> None:
    """Models with positions have one; models without read on."""
    gpt, long = LanguageModel.load(folder / "gpt"), "the cat " * 40
    assert gpt.context == 32
    with pytest.raises(DataError, match=r"prompt 1 has \d+ tokens, but the model reads 32"):
        gpt.stream(long)  # at once, not with the first piece
    assert gpt.generate(long, window=True, max_new_tokens=40, seed=0)
    for arch in ("mamba", "lstm"):
        model = LanguageModel.load(folder / arch)
        assert model.context is None
        assert model.generate(long, max_new_tokens=3, seed=0, min_p=0.1)


def test_the_beginning_of_a_document(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    assert model.end == "<|endoftext|>"
    with pytest.raises(
        DataError, match=r"prompt 1 is empty.*begin=True .--begin. to continue <\|endoftext\|>"
    ):
        model.generate("")
    assert model.generate("", begin=True, seed=0)
    assert model.generate("a", begin=True, seed=0) != model.generate("a", seed=0)


def test_two_threads_share_a_model(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    jobs: list[Callable[[], object]] = [
        lambda: model.generate(PROMPTS, max_new_tokens=20, seed=2),
        lambda: [score.log_probs.tolist() for score in model.score(PROMPTS, begin=True)],
        lambda: model.embed(PROMPTS).tolist(),
        lambda: list(model.stream("the cat", max_new_tokens=20, seed=3)),
    ] * 3
    alone = [job() for job in jobs]
    with ThreadPoolExecutor(2) as pool:
        assert [made.result() for made in [pool.submit(job) for job in jobs]] == alone


def plain_log_probs(module: CausalModel, ids: list[int], context: int | None) -> list[float]:
    """Each token after the first: windows of the context that share half."""
    out: list[float] = []
    start = 0
    for place in range(1, len(ids)):
        if context is not None and place - start > context:
            start = place - (context + 1) // 2
        with torch.inference_mode():
            states = module(torch.tensor([ids[start:place]]))[0, -1]
            out.append(module.logits(states).double().log_softmax(-1)[ids[place]].item())
    return out


@pytest.mark.parametrize("arch", CAUSAL)
@pytest.mark.parametrize("begin", [True, False])
def test_scores_are_those_of_each_token_alone(arch: str, begin: bool, folder: Path) -> None:
    model = LanguageModel.load(folder / arch)
    texts = ["the cat sat", "日本!", "the dog saw the mat and " * 6, "a", ""]
    end = model.tokenizer.token_to_id("<|endoftext|>")
    assert end is not None
    assert isinstance(model._module, CausalModel)
    for text, score in zip(texts, model.score(texts, begin=begin), strict=True):
        ids = model.tokenizer.encode(text).ids.tolist()
        expected = plain_log_probs(model._module, [end, *ids] if begin else ids, model.context)
        if not begin and ids:
            expected.insert(0, math.nan)
        np.testing.assert_allclose(score.log_probs, expected, atol=1e-4)
        assert score.ids.tolist() == ids
        known = [one for one in expected if not math.isnan(one)]
        assert score.log_prob == pytest.approx(sum(known), abs=1e-3)
        if known:
            assert score.perplexity == pytest.approx(math.exp(-sum(known) / len(known)), rel=1e-4)
            n_bytes = len(text.encode()) - (0 if begin else len(model.tokenizer.decode_bytes(ids[:1])))
            assert score.n_bytes == n_bytes
            assert score.bits_per_byte == pytest.approx(-sum(known) / math.log(2) / n_bytes, rel=1e-4)
        else:
            assert math.isnan(score.perplexity)


def test_bytes_of_what_is_scored(tmp_path: Path) -> None:
    # A first token that nothing comes before is not scored, nor are its bytes counted, lost ones too.
    language_run(tmp_path / "run", "gpt", 32, tokenizer_of("bert"))
    model = LanguageModel.load(tmp_path / "run")
    scores = model.score(["鼠", "鼠 sat", "sat 鼠"], begin=False)
    assert [score.n_bytes for score in scores] == [0, 4, 4]


def test_weights_that_are_no_numbers_score_and_embed_nothing(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    with torch.no_grad():
        next(model._module.backbone.parameters()).fill_(math.nan)
    with pytest.raises(CheckpointError, match="logits are not numbers: its weights are not finite; take"):
        model.score(["the cat"])
    with pytest.raises(CheckpointError, match="states are not numbers: its weights are not finite; take"):
        model.embed(["the cat"])


def test_what_is_all_but_impossible_has_no_finite_perplexity() -> None:
    score = TextScore("ab", np.zeros(2, np.int64), np.zeros((2, 2), np.int64), np.full(2, -800.0), 2)
    assert score.perplexity == math.inf
    assert score.bits_per_byte == pytest.approx(800 / math.log(2))


def test_offsets_lead_into_the_text(folder: Path) -> None:
    (score,) = LanguageModel.load(folder / "gpt").score(["the cat"])
    assert "".join("the cat"[begin:end] for begin, end in score.offsets) == "the cat"


@pytest.mark.parametrize("arch", [*CAUSAL, "bert"])
def test_vectors_of_texts(arch: str, folder: Path) -> None:
    model = LanguageModel.load(folder / arch)
    texts = ["the cat sat", "a dog", "the mat and the cat and the dog sat on the mat" * 4]
    for pooling in ("mean", "first", "last"):
        together = model.embed(texts, pooling=pooling)
        assert together.shape == (3, 24)
        assert together.dtype == np.dtype(np.float32)
        for row, text in enumerate(texts):
            np.testing.assert_allclose(model.embed([text], pooling=pooling)[0], together[row], atol=1e-5)
    ids = model.tokenizer.encode(texts[0], add_special_tokens=False).ids.tolist()
    if arch == "bert":
        cls, sep = (model.tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        ids = [cls, *ids, sep]
    with torch.inference_mode():
        states = model._module(torch.tensor([ids]))[0].numpy()
    np.testing.assert_allclose(model.embed(texts[:1])[0], states.mean(0), atol=1e-5)
    np.testing.assert_allclose(model.embed(texts[:1], pooling="last")[0], states[-1], atol=1e-5)
    with pytest.raises(ConfigError, match="pooling 'max': expected mean, first or last"):
        model.embed(texts, pooling="max")  # type: ignore[arg-type]  # 2026-11-24: refused


def test_a_long_text_is_embedded_in_parts(folder: Path) -> None:
    model = LanguageModel.load(folder / "gpt")
    text = "the dog saw the mat and " * 12
    ids = model.tokenizer.encode(text).ids.tolist()
    assert len(ids) > 64
    with torch.inference_mode():
        states = [model._module(torch.tensor([ids[at : at + 32]]))[0] for at in range(0, len(ids), 32)]
    whole = torch.cat(states).numpy()
    np.testing.assert_allclose(model.embed([text])[0], whole.mean(0), atol=1e-5)
    np.testing.assert_allclose(model.embed([text], pooling="first")[0], whole[0], atol=1e-5)
    np.testing.assert_allclose(model.embed([text], pooling="last")[0], whole[-1], atol=1e-5)


def test_what_cannot_be_asked(folder: Path) -> None:
    bert = LanguageModel.load(folder / "bert")
    with pytest.raises(ConfigError, match="bert reads both ways, so it cannot write"):
        bert.generate("the cat")
    with pytest.raises(ConfigError, match="bert reads both ways, so it cannot score"):
        bert.score(["the cat"])
    gpt = LanguageModel.load(folder / "gpt")
    with pytest.raises(TypeError, match="score takes a list of texts"):
        gpt.score("the cat")
    with pytest.raises(TypeError, match="embed takes a list of texts"):
        gpt.embed("the cat")
    with pytest.raises(DataError, match="text 2 is empty"):
        gpt.embed(["a", ""])
    with pytest.raises(ConfigError, match="max_new_tokens 0"):
        gpt.stream("a", max_new_tokens=0)
    with pytest.raises(ConfigError, match=r"top_p 2"):
        gpt.generate("a", top_p=2)
    with pytest.raises(ConfigError, match=r"batch_size 0"):
        gpt.generate("a", batch_size=0)
    with pytest.raises(CheckpointError, match="no such folder"):
        LanguageModel.load(folder / "nothing")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda gpt: gpt.generate("a", seed=1.5), "seed 1.5: expected a whole number"),
        (lambda gpt: gpt.generate("a", max_new_tokens=2.5), "max_new_tokens 2.5: expected a whole number"),
        (lambda gpt: gpt.stream("a", max_new_tokens="5"), "max_new_tokens '5': expected a whole number"),
        (lambda gpt: gpt.generate("a", batch_size=1.5), "batch_size 1.5: expected a whole number"),
        (lambda gpt: gpt.generate("a", stop=5), "stop 5: expected a text or a list of texts"),
        (lambda gpt: gpt.generate("a", stop=b"b"), "stop b'b': expected .*, not bytes; decode them"),
        (lambda gpt: gpt.generate("a", stop=["b", None]), "stop, text 2: None is not text"),
        (lambda gpt: gpt.generate("a", begin="no"), "begin 'no': expected True or False"),
        (lambda gpt: gpt.stream("a", window=[]), r"window \[\]: expected True or False"),
        (lambda gpt: gpt.score(["a"], begin=2), "begin 2: expected True or False"),
        (lambda gpt: gpt.generate(5), "prompts 5: expected a text or a list of texts"),
        (lambda gpt: gpt.generate(np.array("a")), "prompts array.*: expected a text or a list"),
        (lambda gpt: gpt.generate(["a", None]), "prompts, text 2: None is not text"),
        (lambda gpt: gpt.stream(None), "prompts, text 1: None is not text"),
        (lambda gpt: gpt.stream(["a"]), r"prompts, text 1: \['a'\] is not text"),
        (lambda gpt: gpt.score(None), "score None: expected a list of texts"),
        (lambda gpt: gpt.score([b"a"]), "score, text 1: b'a' is not text"),
        (lambda gpt: gpt.embed(b"a"), "embed b'a': expected a list of texts, not bytes; decode them"),
    ],
)
def test_what_is_of_another_kind(call: Callable[[Any], Any], said: str, folder: Path) -> None:
    with pytest.raises(TypeError, match=said):
        call(LanguageModel.load(folder / "gpt"))


def test_importing_the_package_is_quick() -> None:
    code = "import sys, sentimodels; print('torch' in sys.modules, 'LanguageModel' in sentimodels.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_corpus_may_end_documents_with_another_token(folder: Path) -> None:
    """As one that was encoded before does; then `run.json` says which."""
    from dataclasses import replace

    from sentimodels.runs.language_directory import load_language_model

    loaded = load_language_model(folder / "gpt")
    id = loaded.tokenizer.encode("a").ids.tolist()[0]
    model = LanguageModel(replace(loaded, about={"corpus": {"end": id}}))
    assert model.end == loaded.tokenizer.id_to_token(id) == "a"
    assert model.limits().end_ids == {id}


@pytest.mark.parametrize("arch", CAUSAL)
def test_matrices_keep_their_numbers_in_another_order(arch: str, folder: Path) -> None:
    """Wide ones lie by columns once a model is loaded; logits are the same except for rounding."""
    from sentimodels.runs.language_directory import load_language_model

    plain = load_language_model(folder / arch).module
    ordered = LanguageModel.load(folder / arch)._module
    moved = 0
    for (name, one), (_, two) in zip(plain.named_parameters(), ordered.named_parameters(), strict=True):
        assert torch.equal(one, two), name
        moved += not two.is_contiguous()
    assert moved >= 1
    ids = torch.arange(20)[None]
    with torch.inference_mode():
        torch.testing.assert_close(ordered.logits(ordered(ids)), plain.logits(plain(ids)))


def test_texts_of_any_iterable(folder: Path) -> None:
    gpt = LanguageModel.load(folder / "gpt")
    whole = gpt.generate(PROMPTS, seed=1, max_new_tokens=8)
    given: list[Any] = [(text for text in PROMPTS), np.array(PROMPTS)]
    for prompts in given:
        assert gpt.generate(prompts, seed=1, max_new_tokens=8) == whole
    stops = [text[3] for text in whole if len(text) > 3]
    assert stops
    once: Any = iter(stops)
    cut = gpt.generate(PROMPTS, stop=stops, seed=1, max_new_tokens=8)
    assert gpt.generate(PROMPTS, stop=once, seed=1, max_new_tokens=8) == cut != whole
