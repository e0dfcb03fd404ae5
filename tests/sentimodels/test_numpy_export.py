"""Classifiers for numpy: the same answers as the runs, by a reader that needs numpy and sentitok alone."""

import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.main import get_group

from commands import environment
from labelled_reviews import rows, tree, write
from pages import ROOT
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.cli.app import build
from sentimodels.data.normalization import normalize
from sentimodels.errors import CheckpointError, ConfigError, ExportError
from sentimodels.export import EXPORTERS
from sentimodels.export.numpy import classifier as reader
from sentimodels.export.numpy import folder as numpy_folder
from sentimodels.export.numpy.folder import answers_of, export_numpy
from sentimodels.export.numpy.source import reader_source
from sentimodels.models import ARCHITECTURES
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

# Name: architecture and sections of the run.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name, row in ARCHITECTURES.items() if row.in_numpy},
    "tfidf-all": (
        "tfidf",
        {"model": {"char_ngrams": [3, 5], "sublinear_tf": True, "ends": False, "ngram_range": [2, 3]}},
    ),
    "tfidf-own-words": ("tfidf", {"model": {"token_pattern": r"\w+", "lowercase": False}}),
    "nb-counts": ("nb", {"model": {"unit_length": False, "char_ngrams": [2, 4], "ends": True}}),
    "bow-words": ("bow", {"model": {"char_ngrams": [0, 0], "word_ngrams": 4, "ngram_weight": 0.3}}),
    "bow-single": ("bow", {"model": {"word_ngrams": 1, "buckets": 50}, "data": {"normalize": False}}),
    "cnn-bpe": ("cnn", {"data": {"tokenizer_model": "bpe", "max_tokens": 20, "long": "head-tail"}}),
    "cnn-windows": (
        "cnn",
        {
            "data": {"max_tokens": 7, "long": "windows", "stride": 2},
            "model": {"pooling": "attention", "head": "mlp"},
        },
    ),
    "cnn-cut": (
        "cnn",
        {
            "data": {"max_tokens": 7},
            "model": {"pooling": "mean-max", "char_ngrams": [0, 0], "head": "tanh"},
        },
    ),
    "cnn-last": (
        "cnn",
        {
            "data": {"max_tokens": 7, "tokenizer_model": "wordpiece", "long": "windows"},
            "model": {"pooling": "last"},
        },
    ),
    "cnn-head-tail": (
        "cnn", {"data": {"max_tokens": 5, "long": "head-tail"}, "model": {"pooling": "first"}}
    ),
}  # fmt: skip
ODD = [
    "",
    " \n ",
    "great",
    "a zork, qwrty film",
    "日本 great 👍🏽 映画はとても良い",
    "ภาพยนตร์ดีมาก",
    "Ein İSTANBUL–Film, nicht\u200bschlecht: don\u2019t",
    "ab\u0301c \x01 \x02 \x03 x\u3000y",
    "\ud800 half a pair",
    "zork " * 60,
    "good film\n" * 200,
    "x" * 3000,
]
TEXTS = [*ODD, *(text for text, _ in rows(60, seed=5))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("numpy")
    write(made / "reviews.csv", 100)
    return made


def run_of(folder: Path, name: str) -> Path:
    """The run of a name, trained once."""
    run = folder / "runs" / name
    if not run.exists():
        arch, sections = RUNS[name]
        more = {**sections, "train": {"epochs": 3, "threads": 1} if arch == "cnn" else {"threads": 1}}
        train(resolve(tree(arch, folder / "reviews.csv", **more)), run, baseline=False)
    return run


@pytest.mark.parametrize("name", RUNS)
def test_answers_are_those_of_the_run(name: str, folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, name)
    about = export_numpy(run, tmp_path / "out", TEXTS)
    classifier, answer = Classifier.load(run), answers_of(tmp_path / "out")
    expected, found = classifier.answer(TEXTS)[0], answer(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.dtype == np.float32
    for text, one in zip(TEXTS, expected, strict=True):
        np.testing.assert_allclose(answer([text])[0], one, atol=1e-6)
    assert np.ptp(expected) > 0.005  # otherwise any weights would do
    assert about["compared"]["texts"] == len(TEXTS)
    assert about["compared"]["worst"] <= 1e-6
    assert answer([]).shape == (0, 2)


def test_the_reader_normalizes_as_runs_do(folder: Path, tmp_path: Path) -> None:
    export_numpy(run_of(folder, "nb"), tmp_path / "out", TEXTS)
    prepared = reader.Classifier(tmp_path / "out").prepared
    drawn = random.Random(3)
    pools = [
        "ab 'i",
        "\u0307\u0301\u0130\u200d\u200b\ufe0f",
        "👍🏽👩\U0001f3f4\U000e0067\U000e007f",
        "\x00\x85\x91\xa0\ufeff",
    ]
    for _ in range(3000):
        text = "".join(
            drawn.choice(drawn.choice(pools)) if drawn.random() < 0.8 else chr(drawn.randrange(0xD7FF))
            for _ in range(drawn.randrange(9))
        )
        assert prepared(text) == normalize(text).lower(), ascii(text)


@pytest.mark.parametrize("name", ["tfidf", "bow", "cnn"])
def test_numpy_and_sentitok_are_all_it_imports(name: str, folder: Path, tmp_path: Path) -> None:
    """The folder is imported by its name, and answers in a separate process."""
    export_numpy(run_of(folder, name), tmp_path / "reviews", TEXTS)
    assert not [
        path
        for path in (tmp_path / "reviews").iterdir()
        if path.suffix not in (".py", ".json", ".safetensors")
    ]
    code = (
        "from reviews.classifier import Classifier; print(*Classifier().predict(['great fun', '']));"
        "print(*sorted({n.split('.')[0] for n in sys.modules} - sys.stdlib_module_names - {'__main__'}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = ['.', *{sys.path!r}]; {code}"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    labels, modules = done.stdout.splitlines()
    assert labels.split() == Classifier.load(run_of(folder, name)).predict(["great fun", ""])
    assert set(modules.split()) <= {"numpy", "reviews", "sentitok"}
    done = subprocess.run(
        [sys.executable, "reviews/classifier.py"], input="great fun\ndull\n", cwd=tmp_path,
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.stdout.split() == Classifier.load(run_of(folder, name)).predict(["great fun", "dull"])


def test_the_reader_holds_what_its_run_needs(folder: Path, tmp_path: Path) -> None:
    """So that its owner can read and change it."""
    for name, own, most in (
        ("tfidf", {"ngrams"}, 105),
        ("nb", {"ngrams"}, 105),
        ("bow", {"bucket_rows", "spelled", "char_ngrams"}, 132),
        ("cnn", {"tokens", "vectors", "scores_of", "bucket_rows", "spelled", "char_ngrams"}, 145),
    ):
        export_numpy(run_of(folder, name), tmp_path / name, TEXTS)
        source = (tmp_path / name / "classifier.py").read_text("utf-8")
        common = {"__init__", "predict", "predict_proba", "prepared", "words", "scores"}
        assert set(re.findall(r"^    def (\w+)", source, re.M)) == common | own
        assert len(source.splitlines()) <= most


def test_no_reader_has_names_that_it_does_not_use(folder: Path, tmp_path: Path) -> None:
    for name in RUNS:
        export_numpy(run_of(folder, name), tmp_path / name, TEXTS)
    rules = ["--select", "F,E7,E9,W", "--ignore", "F722"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rules, tmp_path],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for name in RUNS:
        assert not re.search(
            r"^(?!\s*#).*\b[A-Z]{4,}\b(?!\")", (tmp_path / name / "classifier.py").read_text()
        )


def test_a_branch_that_is_never_taken_is_left_out() -> None:
    source = """import json
import re

# Two options.
ONE = TWO = False
KIND = "a"


def known() -> None:
    if ONE:
        first()

    else:
        # This stays.
        second()
    if KIND == "a":
        a()
    elif KIND == "b":
        b()
    elif KIND in ("c", "d"):
        re.search("c", "d")
    else:
        last()
    if not TWO:
        third(__file__)


def unknown() -> None:
    json.loads("")


class Classifier:
    if TWO:

        def scores(self) -> None:
            known()

    def unused(self) -> None:
        unknown()

    if ONE:

        def scores(self) -> None:
            unknown()

    def predict(self) -> None:
        self.scores()
"""
    assert (
        reader_source(source, {"ONE": False, "TWO": True, "KIND": "c"})
        == """import re


def known() -> None:
    # This stays.
    second()
    re.search("c", "d")


class Classifier:

    def scores(self) -> None:
        known()

    def predict(self) -> None:
        self.scores()
"""
    )
    assert "last()" in reader_source(source, {"ONE": False, "TWO": True, "KIND": "e"})


def test_one_text_is_refused(folder: Path, tmp_path: Path) -> None:
    export_numpy(run_of(folder, "nb"), tmp_path / "out", TEXTS)
    for call in (
        reader.Classifier(tmp_path / "out").predict,
        reader.Classifier(tmp_path / "out").predict_proba,
    ):
        with pytest.raises(TypeError, match="list of texts"):
            call("great")


def test_what_answers_otherwise_is_not_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = numpy_folder.scored

    def other(classifier: Classifier) -> Any:
        settings, tensors = scored(classifier)
        return settings, {**tensors, "bias": tensors["bias"] + 1e-4 * torch.arange(2)}

    monkeypatch.setattr(numpy_folder, "scored", other)
    with pytest.raises(ExportError, match="nothing is written"):
        export_numpy(run_of(folder, "tfidf"), tmp_path / "out", TEXTS)
    assert not list(tmp_path.iterdir())


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    config = resolve(tree("gru", folder / "reviews.csv"))
    with pytest.raises(ConfigError, match=r"arch gru: .* tfidf, nb, bow, cnn; senti export --onnx"):
        numpy_folder.refuse(config)
    run = run_of(folder, "nb")
    with pytest.raises(ConfigError, match="--texts"):
        export_numpy(run, tmp_path / "out", [])
    (tmp_path / "there").mkdir()
    with pytest.raises(CheckpointError, match="exists already"):
        export_numpy(run, tmp_path / "there", TEXTS)
    for args, said in (
        (["--numpy", "--onnx"], "--onnx and --numpy exclude each other"),
        (["--numpy", "--to", "onnx"], "exclude each other"),
        (["--to", "numpyy"], "numpyy: expected transformers, onnx or numpy"),
        (["--numpy", "--tolerance", "nan"], "expected a number above 0"),
        (["--numpy", "--texts", "none.csv"], "none.csv"),
    ):
        done = senti("export", run, *args, "-o", "x", cwd=tmp_path)
        assert (done.code, said in done.err) == (2, True), done.err
    done = senti("export", tmp_path / "none", "--numpy", "-o", "x", cwd=tmp_path)
    assert (done.code, "none: no such folder" in done.err) == (2, True), done.err


def test_the_command(folder: Path, tmp_path: Path) -> None:
    command = get_group(build()).commands["export"]
    [line] = [one for one in re.findall(r"^\$ (.+)$", str(command.epilog), re.M) if "--numpy" in one]
    shutil.copytree(run_of(folder, "bow"), tmp_path / "runs" / "bow")
    done = senti(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.code == 0, done.err
    assert re.search(
        r"^compared +with the run on \d+ texts of \S+ and an empty one: the same", done.out, re.M
    )
    assert "python reviews/classifier.py < texts.txt" in done.out
    for refused in (("import", "reviews", "-o", "runs/x"), ("predict", "reviews"), ("card", "reviews")):
        done = senti(*refused, cwd=tmp_path)
        assert (done.code, "senti export --numpy" in done.err) == (2, True), done.err
        assert "python reviews/classifier.py < texts.txt" in done.err
    (tmp_path / "reviews" / "classifier.json").write_text("mine")
    done = senti(*shlex.split(line)[1:], cwd=tmp_path)
    assert (done.code, "--force" in done.err) == (2, True)
    done = senti(*shlex.split(line)[1:], "--force", "--json", cwd=tmp_path)
    assert json.loads(done.out)["compared"]["labels_differ"] == 0


@pytest.mark.parametrize("name", EXPORTERS)
def test_each_format_of_the_table(name: str, folder: Path) -> None:
    """It has an option, a section of docs/how-to/export.md, and refuses what it does not hold."""
    command = get_group(build()).commands["export"]
    options = {option for parameter in command.params for option in parameter.opts}
    assert EXPORTERS[name].option in options
    assert f"senti export RUN {EXPORTERS[name].option}" in (ROOT / "docs" / "how-to" / "export.md").read_text(
        "utf-8"
    )
    config = resolve(tree("nb", folder / "reviews.csv"))
    with pytest.raises(ConfigError, match="arch "):
        EXPORTERS[name].refuse(config.model_copy(update={"arch": "hf:model"}))
    assert "{folder" in EXPORTERS[name].reads or "{typed" in EXPORTERS[name].reads


def test_what_the_docs_show(tmp_path: Path) -> None:
    """The commands and the program of docs/how-to/export.md."""
    page = (
        (ROOT / "docs" / "how-to" / "export.md")
        .read_text("utf-8")
        .partition("## numpy")[2]
        .partition("\n## ")[0]
    )
    [shell] = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    for line in shell.splitlines():
        done = senti(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.code == 0, done.err
    asked = subprocess.run(
        [sys.executable, "-c", f"{program}\nassert probabilities.shape == (2, 2)"], cwd=tmp_path,
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
