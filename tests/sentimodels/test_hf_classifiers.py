"""`senti import` and `senti export --hf`: classifiers and reward models of transformers, with their heads."""

import json
import re
import shlex
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from labelled_reviews import rows, tree, write
from pages import ROOT
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.errors import CheckpointError, ConfigError, ExportError
from sentimodels.evaluation.one_label import ONE_LABEL
from sentimodels.export.comparison import compare
from sentimodels.export.transformers import classifier as hf_classifier
from sentimodels.export.transformers.classifier import (
    export_transformers,
    has_class_head,
    import_classifier,
    refuse,
)
from sentimodels.runs.directory import write_manifest
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentitok import Tokenizer, train_bpe, train_wordpiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXTS = ["great fun", "a zork film 日本", "x" * 900, *(text for text, _ in rows(12, seed=3))]
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
SEVERAL = "multi_label_classification"
# Name: class of the configuration, settings, labels (1: a reward model).
MODELS: dict[str, tuple[str, dict[str, Any], int]] = {
    "bert": ("BertConfig", SIZES, 3),
    "several": ("RobertaConfig", {**SIZES, "pad_token_id": 1, "problem_type": SEVERAL}, 3),
    "roberta-reward": ("RobertaConfig", {**SIZES, "pad_token_id": 1}, 1),
    "gpt2": (
        "GPT2Config", {"n_embd": 32, "n_layer": 1, "n_head": 2, "bos_token_id": 0, "eos_token_id": 0}, 2
    ),
    "llama-reward": ("LlamaConfig", {**SIZES, "pad_token_id": 1}, 1),
    "modernbert": (
        "ModernBertConfig",
        {
            **SIZES, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0,
            "sep_token_id": 2,
        },
        2,
    ),
}  # fmt: skip
NAMES = ["bad", "fine", "good"]


def saved(folder: Path, name: str) -> tuple[Any, Tokenizer]:
    """A model of theirs in a folder, with its tokenizer; weights far enough from 0 distinguish texts."""
    made, size, n_labels = MODELS[name]
    texts = [text for text, _ in rows(200)]
    if name == "bert":
        tokenizer = train_wordpiece(texts=texts, vocab_size=200)
    else:
        tokenizer = train_bpe(texts=texts, vocab_size=330, special_tokens=["<s>", "<pad>", "</s>"])
    config = getattr(transformers, made)(vocab_size=tokenizer.vocab_size, num_labels=n_labels, **size)
    if n_labels > 1:
        config.id2label = dict(enumerate(NAMES[:n_labels]))
    torch.manual_seed(0)
    theirs = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.mul_(3)
    theirs.save_pretrained(folder)
    tokenizer.save(folder / "tokenizer.json")
    return theirs, tokenizer


def answers(theirs: Any, tokenizer: Tokenizer, texts: list[str], reach: int) -> NDArray[np.float64]:
    """What transformers answers, one text at a time."""
    out = []
    for text in texts:
        ids = torch.from_numpy(tokenizer.encode(text, max_tokens=reach).ids.astype(np.int64))[None]
        with torch.no_grad():
            logits = theirs(ids).logits.double()
        if theirs.config.problem_type == SEVERAL:
            out.append(logits.sigmoid()[0])
            continue
        out.append((torch.cat((0 * logits, logits), 1) if logits.shape[1] == 1 else logits).softmax(-1)[0])
    found: NDArray[np.float64] = torch.stack(out).numpy()
    return found


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """Those of the run, and those of the folder that it is exported to."""
    theirs, tokenizer = saved(tmp_path / "theirs", name)
    loaded, notes = import_classifier(tmp_path / "theirs", tmp_path / "run")
    is_reward = MODELS[name][2] == 1
    assert (list(loaded.labels), len(notes)) == (
        (["rejected", "chosen"], 1) if is_reward else (NAMES[: MODELS[name][2]], 0)
    )
    shutil.rmtree(tmp_path / "theirs")
    run = Classifier.load(tmp_path / "run")
    expected = answers(theirs, tokenizer, TEXTS, run.config.data.max_tokens)
    found = run.answer(TEXTS)[0]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 0.02
    assert np.isfinite(run.answer([""])[0]).all()
    if is_reward:  # the log odds of the second label are the score
        with torch.no_grad():
            score = float(
                theirs(torch.from_numpy(tokenizer.encode(TEXTS[0]).ids.astype(np.int64))[None]).logits
            )
        assert np.log(found[0, 1] / found[0, 0]) == pytest.approx(score, abs=1e-4)
    about = export_transformers(tmp_path / "run", tmp_path / "again", TEXTS)
    assert about["compared"]["worst"] <= 1e-5
    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "again").eval()
    reread = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    assert reread(TEXTS[0])["input_ids"] == tokenizer.encode(TEXTS[0]).ids.tolist()
    np.testing.assert_allclose(
        answers(again, tokenizer, TEXTS, run.config.data.max_tokens), expected, atol=1e-5
    )
    settings = json.loads((tmp_path / "again" / "config.json").read_text("utf-8"))
    assert settings["architectures"] == [type(theirs).__name__]
    assert settings.get("problem_type") == (SEVERAL if name == "several" else None)
    assert loaded.labels.several == (name == "several")
    assert is_reward or list(settings["id2label"].values()) == NAMES[: MODELS[name][2]]


# Runs of ours that transformers has a class for.
OURS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bert": (
        {"positions": "learned", "pooling": "first", "head": "tanh", "char_ngrams": [0, 0], "n_layers": 2}, {}
    ),
    "gpt": (
        {
            "causal": True, "positions": "learned", "norm": "layer", "norm_order": "pre", "biases": True,
            "activation": "gelu-tanh", "pooling": "last", "char_ngrams": [0, 0],
        },
        {},
    ),
    "gpt-several": (
        {
            "causal": True, "positions": "learned", "norm": "layer", "norm_order": "pre", "biases": True,
            "activation": "gelu", "pooling": "last", "char_ngrams": [0, 0],
        },
        {"label_separator": "|"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OURS)
def test_runs_of_ours_that_are_theirs(name: str, tmp_path: Path) -> None:
    """Trained here, answered there, and imported again."""
    model, data = OURS[name][0], dict(OURS[name][1])
    file = write(tmp_path / "r.csv", 100)
    if data:
        file.write_text(file.read_text().replace(",pos", ",pos|liked"))
    texts = [text for text, _ in rows(100)]
    train_wordpiece(texts=texts, vocab_size=150).save(tmp_path / "tokenizer.json")
    data |= {"tokenizer": str(tmp_path / "tokenizer.json"), "max_tokens": 64}
    config = tree(name.partition("-")[0], file, data=data, model=model, train={"epochs": 2})
    train(resolve(config), tmp_path / "run", baseline=False)
    run = Classifier.load(tmp_path / "run")
    about = export_transformers(tmp_path / "run", tmp_path / "out", TEXTS)
    assert about["compared"]["worst"] <= 1e-5
    expected = run.answer(TEXTS)[0]
    assert np.ptp(expected) > 0.01
    loaded, notes = import_classifier(tmp_path / "out", tmp_path / "again")
    assert (loaded.labels, notes) == (run.labels, [])
    np.testing.assert_allclose(Classifier.load(tmp_path / "again").answer(TEXTS)[0], expected, atol=1e-5)


def test_settings_without_a_place_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.pooling mean-max .*--set model\.pooling=first"):
        refuse(resolve(tree("bert", tmp_path / "r.csv", model={**OURS["bert"][0], "pooling": "mean-max"})))
    with pytest.raises(ConfigError, match=r"model\.norm .*--set model\.norm="):
        refuse(resolve(tree("gpt", tmp_path / "r.csv", model={**OURS["gpt"][0], "norm": "rms"})))
    with pytest.raises(ConfigError, match=r"data\.tokenizer_model 'words'"):
        refuse(resolve(tree("bert", tmp_path / "r.csv", model=OURS["bert"][0])))


@pytest.mark.parametrize(("name", "temperature"), [("bert", 2.5), ("several", [0.5, 1.0, 2.5])])
def test_the_temperature_is_within_the_weights(name: str, temperature: Any, tmp_path: Path) -> None:
    _, tokenizer = saved(tmp_path / "theirs", name)
    import_classifier(tmp_path / "theirs", tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"temperature": temperature}))
    write_manifest(tmp_path / "run")
    export_transformers(tmp_path / "run", tmp_path / "out", TEXTS)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    expected = Classifier.load(tmp_path / "run").answer(TEXTS)[0]
    reach = Classifier.load(tmp_path / "run").config.data.max_tokens
    np.testing.assert_allclose(answers(theirs, tokenizer, TEXTS, reach), expected, atol=1e-5)


def test_what_answers_otherwise_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "theirs", "bert")
    import_classifier(tmp_path / "theirs", tmp_path / "run")
    calibrated = Classifier.calibrated
    monkeypatch.setattr(Classifier, "calibrated", lambda self, logits: calibrated(self, logits * 1.01))
    with pytest.raises(ExportError, match="nothing is written"):
        export_transformers(tmp_path / "run", tmp_path / "out", TEXTS)
    assert not (tmp_path / "out").exists()


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    model, _ = saved(tmp_path / "theirs", "bert")
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    model.save_pretrained(tmp_path / "theirs")
    import_classifier(tmp_path / "theirs", tmp_path / "run")
    run = Classifier.load(tmp_path / "run")
    with pytest.raises(CheckpointError, match="not numbers"):
        run.predict(TEXTS)
    with pytest.raises(CheckpointError, match="not numbers"):
        export_transformers(tmp_path / "run", tmp_path / "out", TEXTS)
    assert not (tmp_path / "out").exists()


def test_an_export_whose_answers_are_no_numbers_is_not_written() -> None:
    class Run:
        answers = ONE_LABEL

        def read(self, texts: list[str]) -> tuple[Any, Any]:
            return np.full((len(texts), 2), 0.5, np.float32), np.zeros(len(texts), np.float32)

    with pytest.raises(ExportError, match="nan"):
        compare(cast("Classifier", Run()), lambda texts: np.full((len(texts), 2), np.nan), ["a"], 1e-5)


# Changes of config.json, and the messages.
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"id2label": {"0": "a", "1": "a", "2": "b"}}, CheckpointError, "a name twice: a, a, b"),
    ({"id2label": {"0": "a", "1": " ", "2": "b"}}, CheckpointError, "a name is blank"),
    ({"id2label": {"0": "a", "2": "b"}}, CheckpointError, "expected the name of each id from 0 on"),
    ({"id2label": ["a"]}, CheckpointError, "expected the name of each id"),
    ({"id2label": {"0": "a", "1": "b"}}, CheckpointError, "no tensors of the head"),
    ({"hidden_size": 64}, CheckpointError, "are of different models"),
    ({"model_type": "no such"}, ConfigError, r"no config\.json of transformers"),
    ({"vocab_size": 100}, ConfigError, r"ids, the model 100"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_damaged_folders_are_refused(
    changes: dict[str, Any], kind: type[Exception], said: str, tmp_path: Path
) -> None:
    saved(tmp_path / "theirs", "bert")
    path = tmp_path / "theirs" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}))
    with pytest.raises(kind, match=said):
        import_classifier(tmp_path / "theirs", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_files_that_are_missing(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "bert")
    weights = tmp_path / "theirs" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    with pytest.raises(CheckpointError, match=r"no safetensors; pickles \(\.bin\)"):
        import_classifier(tmp_path / "theirs", tmp_path / "run")
    (tmp_path / "theirs" / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match="no tokenizer"):
        import_classifier(tmp_path / "theirs", tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        has_class_head(tmp_path)


def test_runs_that_transformers_has_no_class_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"arch gru: .* bert, gpt, .* --set model\.own_head=true"):
        refuse(resolve(tree("gru", tmp_path / "r.csv")))
    saved(tmp_path / "theirs", "bert")
    loaded, _ = import_classifier(tmp_path / "theirs", tmp_path / "run")
    data = loaded.config.data.model_copy(update={"long": "windows"})
    with pytest.raises(ConfigError, match=r"data\.long windows"):
        refuse(loaded.config.model_copy(update={"data": data}))
    data = loaded.config.data.model_copy(update={"lowercase": True})
    with pytest.raises(ConfigError, match=r"data\.lowercase true"):
        refuse(loaded.config.model_copy(update={"data": data}))
    with pytest.raises(CheckpointError, match="holds a run already"):
        import_classifier(tmp_path / "theirs", tmp_path / "run")


def test_commands_of_an_imported_run(tmp_path: Path) -> None:
    saved(tmp_path / "theirs", "bert")
    done = senti("import", "theirs", "-o", "runs/b", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["arch"] == "hf:theirs"
    (tmp_path / "rows.csv").write_text("text,label\ngreat film,good\nbad film,bad\na film,fine\n")
    for words in (
        "predict runs/b rows.csv", "evaluate runs/b rows.csv", "errors runs/b rows.csv",
        "explain runs/b great", "runs runs", "verify runs/b",
    ):  # fmt: skip
        done = senti(*words.split(), cwd=tmp_path)
        assert done.code == 0, done.err
    done = senti("card", "runs/b", cwd=tmp_path)
    assert "read by `senti import` from the files of a model of transformers" in done.out, done.err
    done = senti("export", "runs/b", "--hf", "-o", "x", cwd=tmp_path)
    assert (done.code, "--texts" in done.err) == (2, True), done.err
    for args in (["--hf"], ["--to", "transformers"], []):
        done = senti("export", "runs/b", *args, "--texts", "rows.csv", "-o", "out", "--force", cwd=tmp_path)
        assert done.code == 0, done.err
        assert "AutoModelForSequenceClassification.from_pretrained('out')" in done.out
    assert hf_classifier.has_class_head(tmp_path / "out")


def test_what_the_docs_show(tmp_path: Path) -> None:
    """The commands and the program of docs/how-to/export.md; the model is trained there with another head."""
    saved(tmp_path / "sentiment", "bert")
    file = write(tmp_path / "reviews.csv", 80)
    file.write_text(file.read_text().replace(",pos", ",good").replace(",neg", ",bad"))
    page = (ROOT / "docs" / "how-to" / "export.md").read_text("utf-8").partition("\n## transformers")[2]
    [shell] = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    for line in shell.splitlines():
        done = senti(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.code == 0, done.err
    names: dict[str, Any] = {}
    with chdir(tmp_path):
        exec(compile(program, "docs/how-to/export.md", "exec"), names)
        run = Classifier.load("runs/tuned")
    assert list(run.labels) == ["bad", "good"]
    text = ["The food was wonderful."]
    np.testing.assert_allclose(names["probabilities"].detach().numpy(), run.predict_proba(text), atol=1e-5)
    assert [names["label"]] == run.predict(text)
