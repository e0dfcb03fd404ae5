"""Classifiers as ONNX: the same answers, refusals, and the program that the docs show."""

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.main import get_group

import sentimodels.export.onnx
from commands import environment
from labelled_reviews import rows, tree, write
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.cli.app import build
from sentimodels.errors import CheckpointError, ConfigError, ExportError
from sentimodels.export.onnx import OnnxReader
from sentimodels.export.onnx import folder as onnx_folder
from sentimodels.export.onnx.graph import portable, refuse
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

ROOT = Path(__file__).resolve().parent.parent.parent
SUBWORDS = {"tokenizer_model": "bpe", "max_tokens": 40}
# Name: architecture and sections of the run.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "gru": ("gru", {}),
    "gpt": ("gpt", {"data": {"long": "head-tail", "max_tokens": 6}, "model": {"char_ngrams": [0, 0]}}),
    "tfidf": ("tfidf", {"model": {"sublinear_tf": True}}),
}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn": ("cnn", {"data": SUBWORDS}),
    "rnn": ("rnn", {"model": {"bidirectional": False, "pooling": "last"}}),
    "lstm": ("lstm", {"data": SUBWORDS}),
    "words": ("cnn", {"model": {"pooling": "attention"}}),
    "bert": ("bert", {"model": {"pooling": "cls"}, "data": {"tokenizer_model": "wordpiece"}}),
    "encoder": ("encoder", {"model": {"attention": "plain", "head": "mlp", "positions": "alibi"}}),
    "linear": ("linear", {"model": {"positions": "rotary"}}),
    "causal": ("gpt", {"model": {"causal": True, "pooling": "last", "n_kv_heads": 1, "positions": "rotary"}}),
    "sinusoidal": ("encoder", {"model": {"positions": "sinusoidal", "norm_order": "pre"}}),
    "tfidf-counts": ("tfidf", {}),
    "nb": ("nb", {}),
    "nb-sums": ("nb", {"model": {"unit_length": False}}),
    "bow": ("bow", {}),
    "mamba": ("mamba", {"data": {"max_tokens": 200}}),
    "mamba-causal": (
        "mamba", {"data": {"max_tokens": 200}, "model": {"bidirectional": False, "pooling": "last"}}
    ),
    "nystrom": ("encoder", {"model": {"attention": "nystrom", "landmarks": 8}}),
    "linear-causal": ("linear", {"model": {"causal": True, "pooling": "last"}}),
    "linear-softmax": (
        "gpt", {"model": {"causal": True, "pooling": "last", "attention": "linear-softmax"}}
    ),
    "windows": ("gru", {"data": {"max_tokens": 7, "long": "windows", "stride": 2}}),
    "windows-cls": (
        "bert", {"model": {"pooling": "cls"}, "data": {**SUBWORDS, "max_tokens": 7, "long": "windows"}}
    ),
}  # fmt: skip
TEXTS = [
    "", "great", "a zork, qwrty film", "日本 great 👍🏽", "dull bad plot " * 60, "great fun " * 100,
    *(text for text, _ in rows(40, seed=5)),
]  # fmt: skip


def needs_the_extra() -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason="the extra `onnx` is not installed")


@pytest.fixture(autouse=True, scope="module")
def _each_run_traced_once() -> Iterator[None]:
    """Keeps the graph of each run: to trace one takes seconds."""
    traced: dict[str, bytes] = {}
    trace = onnx_folder._write_graph

    def write_graph(classifier: Classifier, reader: OnnxReader, texts: Sequence[str], path: Path) -> None:
        of_run = reader.about["run_manifest_sha256"]
        if of_run not in traced:
            trace(classifier, reader, texts, path)
            traced[of_run] = path.read_bytes()
        path.write_bytes(traced[of_run])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_folder, "_write_graph", write_graph)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("handed")
    reviews = write(made / "reviews.csv", 120)
    for name, (arch, sections) in RUNS.items():
        sections = {**sections, "train": {"epochs": 1}} if name != "tfidf" else sections
        train(resolve(tree(arch, reviews, **sections)), made / "runs" / name, baseline=False)
    return made


@pytest.fixture(scope="module")
def exported(folder: Path) -> Path:
    needs_the_extra()
    for name in RUNS:
        onnx_folder.export_onnx(folder / "runs" / name, folder / f"{name}.onnx", TEXTS)
    return folder


def answers(folder: Path, texts: list[str]) -> Any:
    import onnxruntime

    reader = OnnxReader.load(folder)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    [logits] = session.run(["logits"], reader.feed(texts))
    return reader.probabilities(logits)


@pytest.mark.parametrize("name", RUNS)
def test_the_graph_answers_as_the_run(exported: Path, name: str) -> None:
    classifier = Classifier.load(exported / "runs" / name)
    expected = classifier.predict_proba(TEXTS)
    np.testing.assert_allclose(answers(exported / f"{name}.onnx", TEXTS), expected, atol=1e-5)
    for text, one in zip(TEXTS[:6], expected, strict=False):
        np.testing.assert_allclose(answers(exported / f"{name}.onnx", [text])[0], one, atol=1e-5)
    assert np.ptp(expected) > 0.05  # otherwise any graph would do
    about = json.loads((exported / f"{name}.onnx" / "export.json").read_text("utf-8"))
    assert about["compared"]["texts"] == len(TEXTS)
    assert about["compared"]["worst"] <= 1e-5
    assert about["labels"] == ["neg", "pos"] == OnnxReader.load(exported / f"{name}.onnx").labels


@pytest.mark.parametrize("name", RUNS)
def test_inputs_are_those_that_the_run_reads(folder: Path, name: str, tmp_path: Path) -> None:
    """Without onnxruntime: the copy for export, asked by torch, with the reader's inputs."""
    classifier = Classifier.load(folder / "runs" / name)
    about = onnx_folder._about(classifier, folder / "runs" / name)
    (tmp_path / "export.json").write_text(json.dumps(about))
    classifier.encoder.save(tmp_path)
    reader = OnnxReader.load(tmp_path)
    feed = {key: torch.from_numpy(value) for key, value in reader.feed(TEXTS).items()}
    wanted = {"gru": {"mask", "unknown_ngrams"}, "gpt": {"mask"}, "tfidf": {"counts"}}
    assert set(feed) == {"input_ids"} | wanted[name]
    if classifier.config.arch == "gru":  # its cells are ONNX's, which torch does not run
        return
    with torch.no_grad():
        logits = portable(classifier)(**feed).numpy()
    np.testing.assert_allclose(reader.probabilities(logits), classifier.predict_proba(TEXTS), atol=1e-5)


# Every architecture without a reason in `not_in_onnx` is compared.
HELD = {name for name, row in ARCHITECTURES.items() if not row.not_in_onnx}
MORE |= {name: (name, {}) for name in sorted(HELD - {arch for arch, _ in (RUNS | MORE).values()})}


@pytest.mark.slow  # a minute of tracing
@pytest.mark.parametrize("name", MORE)
def test_every_architecture_that_onnx_holds(name: str, tmp_path: Path) -> None:
    needs_the_extra()
    arch, sections = MORE[name]
    train(resolve(tree(arch, write(tmp_path / "r.csv"), **sections)), tmp_path / "run", baseline=False)
    onnx_folder.export_onnx(tmp_path / "run", tmp_path / "out", TEXTS)
    classifier = Classifier.load(tmp_path / "run")
    many = [text for text, _ in rows(10_000, seed=8)]
    for start in range(0, len(many), 500):
        some = many[start : start + 500]
        found, expected = answers(tmp_path / "out", some), classifier.predict_proba(some)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert (found.argmax(1) == expected.argmax(1)).all()


def test_a_graph_of_short_texts_reads_long_ones(tmp_path: Path) -> None:
    needs_the_extra()
    config = tree("mamba", write(tmp_path / "r.csv"), train={"epochs": 1})
    train(resolve(config), tmp_path / "run", baseline=False)
    onnx_folder.export_onnx(tmp_path / "run", tmp_path / "out", ["great fun", "dull"])
    texts = ["dull", "dull bad plot " * 60]
    expected = Classifier.load(tmp_path / "run").predict_proba(texts)
    np.testing.assert_allclose(answers(tmp_path / "out", texts), expected, atol=1e-5)


def test_models_of_transformers_are_refused_by_name(folder: Path) -> None:
    config = resolve(tree("nb", folder / "reviews.csv")).model_copy(update={"arch": "hf:model"})
    with pytest.raises(ConfigError, match="hf:model: the ONNX export does not hold it"):
        refuse(config)


@pytest.mark.parametrize("off", [1.001, 1.5])
def test_a_graph_that_answers_otherwise_is_not_written(
    off: float, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph of the run, but another temperature next to it."""
    about_of = onnx_folder._about

    def another(classifier: Classifier, run: Path) -> dict[str, Any]:
        return about_of(classifier, run) | {"temperature": np.multiply(classifier.temperature, off).tolist()}

    def written(classifier: Classifier, reader: OnnxReader, texts: list[str], path: Path) -> None:
        shutil.copyfile(exported / "gru.onnx" / "model.onnx", path)

    monkeypatch.setattr(onnx_folder, "_about", another)
    monkeypatch.setattr(onnx_folder, "_write_graph", written)
    with pytest.raises(ExportError, match=r"probabilities by up to \S+ \(allowed 1e-05\)"):
        onnx_folder.export_onnx(exported / "runs" / "gru", tmp_path / "out", TEXTS, tolerance=1e-5)
    assert not list(tmp_path.iterdir())
    run = exported / "runs" / "gru"
    done = senti("export", run, "--onnx", "-o", "out", "--tolerance", "1e-5", cwd=tmp_path)
    assert (done.code, done.out, "nothing is written" in done.err) == (1, "", True)


def test_the_command(exported: Path, tmp_path: Path) -> None:
    command = get_group(build()).commands["export"]
    found = [one for one in re.findall(r"^\$ (.+)$", str(command.epilog), re.M) if "--onnx" in one]
    [line] = [one for one in found if "--int8" not in one]
    if not (exported / "runs" / "first").exists():
        (exported / "runs" / "first").symlink_to(exported / "runs" / "gpt")
    done = senti(*shlex.split(line)[1:], cwd=exported)
    assert done.code == 0, done.err
    assert re.search(r"on \d+ texts of \S+ and an empty one: the same labels, probabilities within", done.out)
    assert re.search(r"^written +first\.onnx/export\.json, \d+ bytes$", done.out, re.M), done.out
    assert re.search(r"^ +first\.onnx/model\.onnx, [\d.]+ [kM]B$", done.out, re.M), done.out
    [after] = re.findall(r"^next +in Python: (.+)$", done.out, re.M)
    with contextlib.chdir(exported):
        assert isinstance(eval(after, {"sentimodels": sentimodels}), sentimodels.export.onnx.OnnxReader)
    assert {path.name for path in (exported / "first.onnx").iterdir()} == {
        "export.json", "model.onnx", "open-vocabulary.json"
    }  # fmt: skip
    done = senti("import", "first.onnx", "-o", "runs/x", cwd=exported)
    assert (done.code, "senti export --onnx" in done.err, "OnnxReader" in done.err) == (2, True, True)
    (exported / "first.onnx" / "export.json").write_text("mine")
    done = senti(*shlex.split(line)[1:], cwd=exported)
    assert (done.code, "first.onnx/export.json" in done.err, "--force" in done.err) == (2, True, True)
    done = senti(*shlex.split(line)[1:], "--force", cwd=exported)
    assert done.code == 0, done.err
    assert (exported / "first.onnx" / "export.json").read_text() != "mine"


WRONG: list[tuple[list[str], str]] = [
    (["--int8"], "--int8: weights of 8 bits are ONNX's; add --onnx"),
    (["--onnx", "--to", "transformers"], "exclude each other"),
    (["--onnx", "--tolerance", "0"], "expected a number above 0"),
    (["--onnx", "--texts", "none.csv"], "none.csv"),
]


@pytest.mark.parametrize(("args", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_calls(folder: Path, args: list[str], said: str) -> None:
    done = senti("export", "runs/gru", *args, "-o", "x", cwd=folder)
    assert (done.code, said in done.err) == (2, True), done.err


def refused(folder: Path, *args: str | Path) -> str:
    """What a call says that is refused."""
    done = senti(*args, cwd=folder)
    assert (done.code, done.out) == (2, ""), done.err
    return done.err


def test_other_kinds_of_models_are_refused_by_name(folder: Path, tmp_path: Path) -> None:
    members = [folder / "runs" / name for name in ("gru", "gpt")]
    (tmp_path / "both").mkdir()
    both = Ensemble(tuple(Classifier.load(member) for member in members), (0.5, 0.5))
    both.save(tmp_path / "both", members, "0" * 64)
    for args in (["--onnx"], []):
        said = refused(tmp_path, "export", "both", *args, "-o", "x")
        assert "both: an ensemble, and one run is exported at a time" in said
    (tmp_path / "language").mkdir()
    (tmp_path / "language" / "config.toml").write_text('[task]\nkind = "next-token"\n')
    said = refused(tmp_path, "export", "language", "--onnx", "-o", "x")
    assert "language: a language model, and --onnx writes classifiers; leave out --onnx" in said
    assert "language: a language model, not a classifier" in refused(tmp_path, "explain", "language", "great")


@pytest.mark.parametrize("name", ["gpt", "tfidf"])
def test_weights_of_8_bits(name: str, exported: Path, tmp_path: Path) -> None:
    """The printed cost is the one measured by asking both graphs."""
    valid = write(tmp_path / "valid.csv", 80, seed=9)
    run = exported / "runs" / name
    args = ("export", run, "--onnx", "--int8", "--texts", valid, "--text-column", "text", "-o", "small")
    done = senti(*args, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)["int8"]
    assert {path.name for path in (tmp_path / "small").iterdir()} == {
        path.name for path in (exported / f"{name}.onnx").iterdir()
    }
    assert found["bytes"] == (tmp_path / "small" / "model.onnx").stat().st_size < found["bytes_before"]
    table = rows(80, seed=9)
    texts, labels = [text for text, _ in table], np.array([label for _, label in table])
    before, after = (answers(one, texts) for one in (exported / f"{name}.onnx", tmp_path / "small"))
    assert 0 < np.abs(before - after).max() < 0.1
    assert found["worst"] == pytest.approx(np.abs(before - after).max(), abs=0.01)
    names = np.array(["neg", "pos"])
    assert found["accuracy"] == pytest.approx((names[after.argmax(1)] == labels).mean(), abs=0.03)
    assert found["accuracy_before"] == (names[before.argmax(1)] == labels).mean()
    assert (found["rows_with_label"], found["times_as_fast"] > 0) == (80, True)
    done = senti(*args, "--force", cwd=tmp_path)
    assert re.search(
        r"^int8 +accuracy [01]\.\d+, before [01]\.\d+; \d+ of 80 labels differ, \S+ times as fast",
        done.out,
        re.M,
    )


def test_without_the_extra_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_folder, "find_spec", lambda name: None)
    done = senti("export", "runs/gru", "--onnx", "-o", "x", cwd=folder)
    assert (done.code, 'pip install "sentitok[onnx]"' in done.err) == (2, True)


def test_damaged_folders(tmp_path: Path) -> None:
    for content in ("", "{}", '{"format": "other/1"}', "[]"):
        (tmp_path / "export.json").write_text(content)
        with pytest.raises(CheckpointError):
            OnnxReader.load(tmp_path)


def test_the_reader_needs_no_torch(exported: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import onnxruntime; "
        "from sentimodels.export.onnx import OnnxReader; "
        "r = OnnxReader.load('gru.onnx'); s = onnxruntime.InferenceSession('gru.onnx/model.onnx'); "
        "print(r.probabilities(s.run(['logits'], r.feed(['a great film']))[0]).shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=exported,
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (0, "(1, 2)\n"), done.stderr


def test_what_the_docs_show(tmp_path: Path) -> None:
    """The commands and the program of docs/how-to/export.md, in their order, with a smaller model."""
    needs_the_extra()
    page = (
        (ROOT / "docs" / "how-to" / "export.md")
        .read_text("utf-8")
        .partition("## ONNX")[2]
        .partition("\n## ")[0]
    )
    [shell] = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    [program] = re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S)
    assert len([line for line in program.splitlines() if line.strip()]) <= 12
    (tmp_path / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    shell += "\n".join(re.findall(r"^\$ (.+)$", page, re.M))
    for line in shell.splitlines():
        quick = ["--epochs", "1"] if " train " in line else []
        done = senti(*shlex.split(line)[1:], *quick, cwd=tmp_path)
        assert done.code == 0, done.err
    tested = (
        "\nimport numpy\nfrom sentimodels import Classifier\n"
        "texts = ['', 'The FOOD was wonderful.', 'Cold soup.', 'zork ' * 400]\n"
        "classifier = Classifier.load('runs/cnn')\nlabels, shares = predict(texts)\n"
        "assert labels == classifier.predict(texts)\n"
        "numpy.testing.assert_allclose(shares, classifier.predict_proba(texts), atol=1e-4)\n"
    )
    asked = subprocess.run(
        [sys.executable, "-c", program + tested], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(),
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith("(['")
