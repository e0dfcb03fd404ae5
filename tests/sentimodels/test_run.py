"""From files to a run directory and back: writing, checks, refusals, answers."""

import json
import lzma
import shutil
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

import sentitok
from labelled_reviews import rows, tree
from sampled_cases import chosen
from sentimodels import Classifier
from sentimodels.config import ClassificationConfig
from sentimodels.errors import CheckpointError, ConfigError, DataError, TrainingError
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.directory import load_run, write_manifest
from sentimodels.runs.execute import Callbacks, recipe_of, resume, train
from sentimodels.runs.families import resolve
from sentimodels.runs.group import spread
from sentimodels.runs.plan import plan
from sentimodels.runs.verify import verify
from sentimodels.text.vocabulary import OpenVocabulary
from sentimodels.training.optimizer import Optimizers


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "copy"))


@pytest.mark.parametrize("how", ["train", "plan", "refused"])
def test_threads_and_determinism_of_the_process_stay(how: str, reviews: Path, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    settings = {"threads": before + 1, "deterministic": True, "epochs": 1}
    config = resolve(
        tree("cnn", reviews, train=settings, task={"class_weights": [1, 1, 1]} if how == "refused" else {})
    )
    if how == "plan":
        plan(recipe_of(config))
    elif how == "train":
        train(config, tmp_path / "run", baseline=False)
    else:
        with pytest.raises(ConfigError, match="3"):
            train(config, tmp_path / "run", baseline=False)
    assert torch.get_num_threads() == before
    assert not torch.are_deterministic_algorithms_enabled()


# A bag, and networks of three kinds; what differs between others is in test_architectures.py.
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, "nb", "cnn", "gru", "gpt"))
def test_every_architecture_trains_saves_and_answers(arch: str, reviews: Path, tmp_path: Path) -> None:
    more: dict[str, Any] = {} if arch in ("tfidf", "nb", "bow") else {"epochs": 4}
    about = train(resolve(tree(arch, reviews, train=more)), tmp_path / "run", baseline=False)
    assert about["valid"]["accuracy"] > 0.8
    assert verify(tmp_path / "run") == []
    classifier = Classifier.load(tmp_path / "run")
    asked = rows(40, seed=5)
    probs = classifier.predict_proba([text for text, _ in asked])
    assert probs.dtype == np.float32
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-5)
    answers = classifier.predict([text for text, _ in asked])
    assert np.mean([a == label for a, (_, label) in zip(answers, asked, strict=True)]) > 0.8
    # From one pass: they cannot disagree; and alone as together.
    assert answers == [classifier.labels[place] for place in probs.argmax(1)]
    np.testing.assert_allclose(classifier.predict_proba([asked[3][0]])[0], probs[3], atol=1e-5)


def test_what_a_run_directory_holds(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert names == {
        "model.safetensors", "config.toml", "open-vocabulary.json", "labels.json", "run.json",
        "metrics.jsonl", "training_data.json", "training_texts.npz", "manifest.json",
    }  # fmt: skip
    assert json.loads((trained / "labels.json").read_text())["labels"] == ["neg", "pos"]
    about = json.loads((trained / "run.json").read_text())
    assert about["versions"]["torch"] == version("torch")
    assert about["temperature"] > 0
    assert "git" in about
    assert set(about["baselines"]) == {"majority", "tfidf"}
    words = OpenVocabulary.from_bytes((trained / "open-vocabulary.json").read_bytes())
    with safe_open(trained / "model.safetensors", framework="pt") as file:
        metadata = json.loads(file.metadata()["sentimodels"])
    assert metadata["tokenizer_sha256"] == words.fingerprint


def test_a_saved_config_is_enough_to_run_again(trained: Path, tmp_path: Path) -> None:
    config = load_run(trained).config
    train(config, tmp_path / "again", baseline=False)
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        trained / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(
    ("arch", "lowercase"),
    chosen(
        product(["tfidf", "bow", "cnn"], [None, True, False]),
        ("tfidf", True), ("bow", None), ("cnn", None), ("cnn", False),
    ),
)  # fmt: skip
def test_a_loaded_run_answers_as_it_did_in_training(
    arch: str, lowercase: bool | None, reviews: Path, tmp_path: Path
) -> None:
    """Also where texts have capitals: whether they count is settled once, and kept."""
    path, valid = tmp_path / "train.csv", tmp_path / "valid.csv"
    path.write_text(reviews.read_text("utf-8"), "utf-8")
    texts = [
        (text.upper() if row % 3 == 0 else text.title(), label)
        for row, (text, label) in enumerate(rows(60, seed=8))
    ]
    valid.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in texts), "utf-8")
    config = resolve(tree(arch, path, data={"valid": str(valid), "lowercase": lowercase}))
    about = train(config, tmp_path / "run", baseline=False)
    answers = Classifier.load(tmp_path / "run").predict([text for text, _ in texts])
    right = np.mean([answer == label for answer, (_, label) in zip(answers, texts, strict=True)])
    assert right == pytest.approx(about["valid"]["accuracy"])
    settled = load_run(tmp_path / "run").config.data.lowercase
    assert settled is (None if arch != "cnn" else lowercase is not False)


def test_probabilities_are_calibrated(trained: Path) -> None:
    classifier = Classifier.load(trained)
    texts = [text for text, _ in rows(20, seed=3)]
    logits = classifier.predict_logits(texts).astype(np.float64) / classifier.temperature
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(texts), expected, atol=1e-6)


def test_answers_of_odd_texts(trained: Path) -> None:
    classifier = Classifier.load(trained)
    odd = ["", " ", "\ud800", "\0", "a" * 20_000, "good film\r\n", "🙂" * 50]
    probs = classifier.predict_proba(odd)
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(classifier.predict_proba([""])[0], probs[0], atol=1e-5)
    assert classifier.predict_proba([]).shape == (0, 2)
    assert classifier.predict([]) == []
    with pytest.raises(TypeError, match="a list of texts"):
        classifier.predict("one text")
    for wrong, said in (
        (["good", None], "text 2: None is not text"),
        (7, "7: expected a list"),
        (b"x", "bytes"),
    ):
        with pytest.raises(TypeError, match=f"predict.*{said}"):
            classifier.predict(wrong)  # type: ignore[arg-type]  # 2026-11: what it must refuse


# (file, how it is altered, message)
ALTERED = [
    ("model.safetensors", b"\0", r"model\.safetensors.*(changed since|unreadable)"),
    ("labels.json", b'{"labels": ["pos", "neg"]}', r"labels\.json: changed since"),
    ("config.toml", b'arch = "lstm"\n', r"config\.toml: changed since"),
    ("run.json", b'{"temperature": 9}', r"run\.json: changed since"),
]
# Values other than a list of files with size and hash of each.
DAMAGED = [
    {},
    {"files": None},
    {"files": []},
    {"files": {"model.safetensors": 3}},
    {"files": {"x": {"bytes": 1}}},
]


@pytest.mark.parametrize(("name", "data", "message"), ALTERED)
def test_altered_files_are_refused(name: str, data: bytes, message: str, copy: Path) -> None:
    (copy / name).write_bytes(data)
    with pytest.raises(CheckpointError, match=message):
        Classifier.load(copy)
    assert any(name in line for line in verify(copy))


@pytest.mark.parametrize("manifest", DAMAGED, ids=str)
def test_damaged_manifests_are_refused(manifest: dict[str, Any], copy: Path) -> None:
    (copy / "manifest.json").write_text(json.dumps(manifest))
    for call in (Classifier.load, verify):
        with pytest.raises(CheckpointError, match=r"manifest\.json: damaged: the size or SHA-256"):
            call(copy)


def test_a_manifest_that_is_nested_too_deep_is_unreadable(copy: Path) -> None:
    (copy / "manifest.json").write_text("[" * 200_000)
    with pytest.raises(CheckpointError, match=r"manifest\.json: unreadable"):
        Classifier.load(copy)


def test_a_file_of_the_manifest_that_is_gone_is_named(copy: Path) -> None:
    (copy / "run.json").unlink()
    with pytest.raises(CheckpointError, match=r"run\.json: missing; see senti verify"):
        Classifier.load(copy)


def test_another_tokenizer_is_refused_even_with_a_manifest(copy: Path) -> None:
    """Ids of two words swapped, weights untouched, hashes made again."""
    path = copy / "open-vocabulary.json"
    value = json.loads(path.read_text("utf-8"))
    words = value["words"]
    first, second = words.index("film"), words.index("the")
    words[first], words[second] = words[second], words[first]
    path.write_text(json.dumps(value), encoding="utf-8")
    write_manifest(copy)
    with pytest.raises(ValueError, match=r"not the one the weights were trained with|tokenizer"):
        Classifier.load(copy)
    assert verify(copy)


def test_verify_names_missing_and_added_files(copy: Path) -> None:
    (copy / "metrics.jsonl").unlink()
    (copy / "extra.bin").write_bytes(b"")
    assert verify(copy) == ["metrics.jsonl: missing", "extra.bin: not in the manifest"]
    with pytest.raises(CheckpointError, match=r"no manifest\.json; not a run directory"):
        verify(copy.parent)


def test_a_manifest_cannot_point_elsewhere(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"]["../outside"] = {"bytes": 1, "sha256": "0"}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "../outside: no file of a run directory" in verify(copy)


def test_weights_of_another_shape_are_refused(copy: Path) -> None:
    text = (copy / "config.toml").read_text().replace("d_hidden = 16", "d_hidden = 32")
    (copy / "config.toml").write_text(text)
    write_manifest(copy)
    with pytest.raises(CheckpointError, match="does not fit its configuration"):
        Classifier.load(copy)


def test_a_folder_with_a_run_is_not_written_over(reviews: Path, trained: Path) -> None:
    with pytest.raises(CheckpointError, match="holds a run already; give another --out"):
        train(resolve(tree("lstm", reviews)), trained)


def test_a_tokenizer_can_be_given(reviews: Path, tmp_path: Path) -> None:
    tokenizer = sentitok.train_bpe(texts=[text for text, _ in rows(300)], vocab_size=280)
    tokenizer.save(tmp_path / "tok.json")
    config = resolve(tree("cnn", reviews, data={"tokenizer": str(tmp_path / "tok.json")}))
    train(config, tmp_path / "run", baseline=False)
    assert Classifier.load(tmp_path / "run").tokenizer == tokenizer
    with pytest.raises(ConfigError, match="tfidf splits words without a tokenizer"):
        train(
            resolve(tree("tfidf", reviews, data={"tokenizer": str(tmp_path / "tok.json")})), tmp_path / "no"
        )


def test_vectors_start_the_embeddings(reviews: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.xz"
    path.write_bytes(lzma.compress(b"film 1 2 3\nthe -1 0.5 2\n"))
    options = {"d_model": 3, "channels": "static"}
    config = resolve(tree("cnn", reviews, data={"vectors": str(path)}, model=options))
    notes: list[str] = []
    train(config, tmp_path / "run", callbacks=Callbacks(on_warning=notes.append), baseline=False)
    assert any("tokens have a vector" in note for note in notes)
    run = load_run(tmp_path / "run")
    texts = run.encoder.token_texts
    assert texts is not None
    backbone: Any = run.module.backbone
    assert backbone.static.vectors[texts.index("film")].tolist() == [1, 2, 3]
    with pytest.raises(ConfigError, match=r"need data\.vectors"):
        train(resolve(tree("cnn", reviews, model={"channels": "both"})), tmp_path / "no")
    for channels in ("static", "tuned", "both"):
        narrow = tree("cnn", reviews, data={"vectors": str(path)}, model={"d_model": 4, "channels": channels})
        with pytest.raises(ConfigError, match=r"model\.d_model 4: the vectors .* have 3 numbers"):
            train(resolve(narrow), tmp_path / "narrow")
    assert not (tmp_path / "narrow").exists()
    path.write_bytes(lzma.compress(b"film 1 2 3\nthe 1 2\n"))
    with pytest.raises(DataError, match="line 2 has 2 numbers, the first 3"):
        train(config, tmp_path / "broken")


def test_a_refused_setting_leaves_no_run(reviews: Path, tmp_path: Path) -> None:
    """So that the corrected command may write to the same place."""
    with pytest.raises(ConfigError, match=r"device .abacus.: .*auto takes a GPU with CUDA"):
        train(resolve(tree("lstm", reviews, train={"device": "abacus"})), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"need data\.vectors"):
        train(resolve(tree("cnn", reviews, model={"channels": "both"})), tmp_path / "run")
    for optim in ({"freeze": [""]}, {"freeze": ["emebdding"]}):
        with pytest.raises(ConfigError, match=r"optim\.freeze"):
            train(resolve(tree("cnn", reviews, optim=optim)), tmp_path / "run")
    with pytest.raises(ConfigError, match="1 weights for 2 classes: 'neg', 'pos'"):
        train(resolve(tree("cnn", reviews, task={"class_weights": [2.0]})), tmp_path / "run")
    with pytest.raises(ConfigError, match="no weight for the label 'pos'"):
        train(resolve(tree("cnn", reviews, task={"class_weights": {"neg": 2.0}})), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arch", ["tfidf", "nb", "bow"])
def test_what_learns_by_itself_has_a_line_of_metrics(arch: str, reviews: Path, tmp_path: Path) -> None:
    about = train(resolve(tree(arch, reviews)), tmp_path / "run", baseline=False)
    (line,) = (tmp_path / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    record = json.loads(line)
    assert record["val_accuracy"] == pytest.approx(about["valid"]["accuracy"])
    assert record["val_macro_f1"] == pytest.approx(about["valid"]["macro_f1"])
    assert verify(tmp_path / "run") == []


def test_plan_trains_nothing(reviews: Path) -> None:
    found = plan(recipe_of(resolve(tree("lstm", reviews))))
    assert found["train_rows"] + found["valid_rows"] == 300
    assert found["steps"] == 3 * -(-found["train_rows"] // 16)
    assert found["parameters"] > 1000
    assert found["seconds"] > 0
    assert found["fits"]


@pytest.mark.parametrize("arch", ["tfidf", "nb", "bow"])
def test_plan_of_a_fit_draws_the_time_of_some_rows_out(
    arch: str, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sentimodels.runs.plan._ROWS", 100)
    found = plan(recipe_of(resolve(tree(arch, reviews))))
    assert found["steps"] == 0
    assert found["seconds"] == pytest.approx(found["train_rows"] / found["rows_per_second"], abs=0.1)


def test_spread_over_seeds() -> None:
    found = spread([{"accuracy": 0.5}, {"accuracy": 0.7}, {"accuracy": 0.6}])["accuracy"]
    assert found["mean"] == pytest.approx(0.6)
    assert found["deviation"] == pytest.approx(0.1)
    assert found["interval"] == pytest.approx(4.3027 * 0.1 / 3**0.5, abs=1e-4)
    assert spread([{"accuracy": 0.5}])["accuracy"]["interval"] == 0


def test_diverging_leaves_a_run_that_answers(reviews: Path, tmp_path: Path) -> None:
    """With weights from before; the loss of step 18 on is of weights moved by an endless rate."""
    calls = iter(range(1000))
    real = Optimizers.set_rate

    def set_rate(self: Optimizers, factor: float) -> float:
        return real(self, factor * (1e38 if next(calls) > 20 else 1))

    config = resolve(tree("lstm", reviews, train={"ema": 0.0}))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Optimizers, "set_rate", set_rate)
        with pytest.raises(TrainingError, match=r"the weights of step 17 .* are kept"):
            train(config, tmp_path / "run")
    assert verify(tmp_path / "run") == []
    assert len(Classifier.load(tmp_path / "run").predict(["good film"])) == 1
    assert json.loads((tmp_path / "run" / "run.json").read_text())["fit"]["stop"] == "not finite"
    with pytest.raises(CheckpointError, match="has finished"):
        resume(tmp_path / "run")


def test_class_weights_by_label(reviews: Path, tmp_path: Path) -> None:
    more = {"epochs": 1}
    config = resolve(tree("cnn", reviews, train=more, task={"class_weights": {"pos": 3, "neg": 1}}))
    train(config, tmp_path / "named", baseline=False)
    task = load_run(tmp_path / "named").config.task
    assert isinstance(task, ClassificationConfig)
    assert task.class_weights == (1.0, 3.0)
    train(resolve(tree("cnn", reviews, train=more, task={"class_weights": [1, 3]})), tmp_path / "listed")
    first, second = (load_run(tmp_path / name).module.state_dict() for name in ("named", "listed"))
    assert all(torch.equal(value, second[name]) for name, value in first.items())
