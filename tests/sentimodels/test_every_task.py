"""Every task of a classifier goes through every command and every format of export: a walk over both tables.

What a task learns and answers is tested in its own file (`test_classification.py`, `test_multilabel.py`,
`test_ordinal.py`, `test_distillation.py`).
"""

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sampled_cases import chosen
from senti_in_process import Done, senti
from sentimodels.classifier import Classifier
from sentimodels.cli.app import COMMANDS
from sentimodels.config import DEFAULT_TASK, TASKS, RowOf
from sentimodels.explain import EXPLAINERS
from sentimodels.export import EXPORTERS
from sentimodels.web.models import load_models
from sentitok import train_wordpiece

FILLER = ["the", "day", "was", "it", "we", "went", "to", "film", "and", "home", "with", "people", "night"]


_PLAIN = {"joy": "happy glad", "anger": "angry mad", "fear": "afraid scared"}


@dataclass(frozen=True)
class Kind:
    """What the walk is given of a task.

    Attributes:
        typed: how `senti train` is asked for the task.
        labels: of the rows: by name, the words that a text with it has.
        bag: an architecture that learns it, other than `bow`.
        read: how `senti data` reads its files.
        refused: by format of export, a word of the reason why it does not hold such a run.
        several: whether a text has any number of labels.
    """

    typed: list[str]
    labels: dict[str, str] = field(default_factory=lambda: _PLAIN)
    bag: str = "nb"
    read: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    several: bool = False


# Tasks that need more than `--task` and texts of one label. Runs of `distillation` have a teacher.
OTHERS = {
    "multilabel": Kind(["--label-separator", "|"], read=["--label-separator", "|"], several=True),
    "ordinal": Kind(
        ["--task", "ordinal"], {"1": "awful dull", "2": "fair usual", "3": "great superb"}, "tfidf",
        refused={"transformers": "cut points"},
    ),
    "distillation": Kind([], bag="tfidf"),
}  # fmt: skip
KINDS = {
    kind: OTHERS.get(kind, Kind(["--task", kind]))
    for kind, row in TASKS.items()
    if row.family == TASKS[DEFAULT_TASK].family
}
# Networks of few steps; `bert` is one that transformers has a class for.
SMALL = ["--preset", "nano", "--set", "train.max_steps=2", "--max-len", "32"]
BERT = [
    "--tokenizer", "tokenizer.json", "--set", "model.positions=learned", "--set", "model.pooling=first",
    "--set", "model.head=tanh", "--set", "model.char_ngrams=[0,0]",
]  # fmt: skip

# The arguments of each command, of a folder that `folder_of` makes; `TYPED` and `READ` are those of the task.
TYPED, READ = "TYPED", "READ"
GIVEN: dict[str, list[list[str]]] = {
    "train": [
        ["train.csv", TYPED, "--arch", "bow", "--seeds", "2", "-o", "out/seeds"],
        ["train.csv", TYPED, "--arch", "bow", "--refit", "-o", "out/refit"],
        ["train.csv", TYPED, "--budget", "1s", "-o", "out/auto"],
        ["train.csv", TYPED, "--arch", "bow", "--threshold", "macro_f1", "-o", "out/thresholds"],
        ["train.csv", TYPED, "--arch", "bow", "--class-weights", "balanced", "-o", "out/weights"],
        ["train.csv", TYPED, "--arch", "gru", *SMALL, "--windows", "-o", "out/windows"],
    ],
    "distill": [
        ["runs/bag", "--arch", "bow", "-o", "out/student", "--no-baseline"],
        ["out/ensemble", "--data", "train.csv", "--arch", "cnn", *SMALL, "-o", "out/net", "--no-baseline"],
    ],
    "sweep": [["train.csv", TYPED, "--arch", "cnn", *SMALL, "--set", "task.loss=LOSSES", "-o", "out/sweep"]],
    "runs": [["runs"]],
    "evaluate": [
        ["runs/bag", "test.csv", "--bootstrap", "100", "-o", "out/bag.npz", "--plots", "out/plots"],
        ["runs/cnn", "test.csv", "--windows", "--memory", "train.csv"],
        ["out/ensemble", "test.csv", "--bootstrap", "0"],
    ],
    "thresholds": [
        ["out/ensemble", "test.csv"],
        ["out/ensemble", "test.csv", "--threshold", "macro_f1", "--plot", "out/curve.png"],
        ["out/ensemble", "test.csv", "--threshold", "none"],
    ],
    "errors": [["runs/cnn", "test.csv", "--true", "LABEL", "-o", "out/errors.csv"]],
    "submit": [["runs/bag", "ids.csv", "-o", "out/submission.csv", "--form", "imdb"]],
    "predict": [
        ["runs/bag", "test.csv", "-o", "out/answers.jsonl"],
        ["runs/cnn", "test.csv", "--threshold", "LABEL=0.9", "--top-k", "2", "--windows"],
    ],
    "explain": [
        *(["runs/bag", "so happy", "--method", method] for method in EXPLAINERS),
        *(["runs/cnn", "so happy", "--method", method, "--label", "LABEL"] for method in EXPLAINERS),
        ["out/ensemble", "so happy"],
    ],
    "card": [["runs/bag"], ["runs/cnn"], ["out/ensemble"]],
    "compare": [
        ["runs/bag", "runs/cnn", "--data", "test.csv", "--bootstrap", "100"],
        ["out/folds", "out/folds-bag"],
    ],
    "ensemble": [["runs/bag", "runs/bow", "runs/cnn", "--select", "--dev", "test.csv", "-o", "out/chosen"]],
    "plot": [
        ["--kind", "calibration", "runs/bag", "--data", "test.csv", "-o", "out/c.png"],
        ["--kind", "thresholds", "runs/bag", "--data", "test.csv", "-o", "out/t.png"],
    ],
    "reproduce": [["runs/bag"]],
    "verify": [["runs/bag"]],
    "export": [],  # test_every_task_is_exported_or_refused
    "page": [["runs/bag", "-o", "out/page.html"]],
    "serve": [],  # test_every_task_answers_on_the_page
    "data": [
        ["suspects", "train.csv", "--run", "out/folds", "-o", "out/suspects.csv", "--page", "out/s.html"],
        ["stats", "train.csv", READ],
        ["check", "train.csv", "test.csv", READ],
        ["split", "train.csv", READ, "-o", "out/parts"],
    ],
    "init": [["--task", "TASK", "--arch", "bow"]],
}  # fmt: skip
ELSEWHERE = {
    "pretrain": "language models", "align": "language models", "generate": "language models",
    "import": "reads what others trained", "translate": "translation models", "archs": "lists architectures",
    "bench": "it measures training with one label a text",
}  # fmt: skip
# Commands that train, or take what `senti train` has written: a student is trained by `distill` alone.
NOT_OF_STUDENTS = {"train", "sweep", "data", "init"}


def test_every_task_and_every_command_is_here() -> None:
    assert set(KINDS) >= set(OTHERS)
    assert set(COMMANDS) <= GIVEN.keys() | ELSEWHERE.keys()
    assert all(set(kind.refused) <= set(EXPORTERS) for kind in KINDS.values())


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes the folder of a task once: files, runs of a bag and of networks, an ensemble, folds."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = _made(tmp_path_factory.mktemp(kind), kind)
        return made[kind]

    return folder


def _made(folder: Path, kind: str) -> Path:
    task = KINDS[kind]
    for name, n, seed in (("train", 150, 0), ("test", 40, 7)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *_rows(task, n, seed)])
    with (folder / "ids.csv").open("w", newline="") as file:
        texts = [text for text, _ in _rows(task, 5, 1)]
        csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
    train_wordpiece(texts=[text for text, _ in _rows(task, 150, 0)], vocab_size=150).save(
        folder / "tokenizer.json"
    )
    begin = ["train", "train.csv", *task.typed]
    if kind == "distillation":
        _done(senti("train", "train.csv", "--arch", "nb", "--no-baseline", "-o", "teacher", cwd=folder))
        begin = ["distill", "teacher"]
    else:
        for name, arch in (("folds", "bow"), ("folds-bag", task.bag)):
            _done(senti(*begin, "--arch", arch, "--folds", "2", "-o", f"out/{name}", cwd=folder))
    for name, arch, more in (
        ("bag", task.bag, []), ("bow", "bow", []), ("cnn", "cnn", SMALL), ("bert", "bert", [*SMALL, *BERT]),
    ):  # fmt: skip
        _done(senti(*begin, "--arch", arch, *more, "--no-baseline", "-o", f"runs/{name}", cwd=folder))
    _done(senti("ensemble", "runs/bag", "runs/bow", "--dev", "test.csv", "-o", "out/ensemble", cwd=folder))
    return folder


def _rows(task: Kind, n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yields texts with a word of each of their labels, and the cell of these."""
    draw = random.Random(seed)
    for row in range(n):
        labels = [draw.choice(list(task.labels))]
        if task.several:
            labels = [label for label in task.labels if draw.random() < 0.4]
        words = draw.choices(FILLER, k=6) + [draw.choice(task.labels[label].split()) for label in labels]
        draw.shuffle(words)
        yield f"{' '.join(words)} {seed}{row}", "|".join(sorted(labels))


def walk() -> list[tuple[str, str]]:
    """Returns each task with each command; by default two tasks with each command, in turn."""
    commands = [name for name, calls in GIVEN.items() if calls]
    some = {(kind, name) for place, name in enumerate(commands) for kind in [*KINDS, *KINDS][place % 4 :][:2]}
    return chosen(product(KINDS, commands), *some)


def _losses(kind: str) -> list[str]:
    """Returns two losses of a task."""
    [table] = (one for one in TASKS[kind].config.model_fields["loss"].metadata if isinstance(one, RowOf))
    return table.names()[:2]


def _done(done: Done) -> None:
    assert done.code == 0, done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("kind", "command"), walk())
def test_every_task_goes_through_every_command(kind: str, command: str, folder_of: Any) -> None:
    task = KINDS[kind]
    if kind == "distillation" and command in NOT_OF_STUDENTS:
        assert TASKS[kind].command == "distill"
        return
    of_task = {TYPED: task.typed, READ: task.read}
    words = {"LABEL": next(iter(task.labels)), "TASK": kind, "LOSSES": ",".join(_losses(kind))}
    for call in GIVEN[command]:
        if kind == "distillation" and "out/folds" in call:
            continue  # only `senti train` has folds
        args = [one for word in call for one in of_task.get(word, [word])]
        for name, value in words.items():
            args = [word.replace(name, value) for word in args]
        _done(senti(command, *args, cwd=folder_of(kind)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", ["bag", "cnn"])
def test_every_task_answers_on_the_page(kind: str, run: str, folder_of: Any) -> None:
    place = folder_of(kind) / "runs" / run
    page: Any = next(iter(load_models([place], windows=run == "cnn").values()))
    text = next(iter(KINDS[kind].labels.values()))
    asked = Classifier.load(place)
    assert page.predict(text, 10)["label"] == asked.predict([text])[0]
    assert page.predict_batch([text])["answers"][0]["label"] == asked.predict([text])[0]
    for method in EXPLAINERS:
        assert len(page.effects(text, method)["tokens"]) == 2


@pytest.mark.parametrize(
    ("to", "run"),
    [
        ("numpy", "bag"), ("numpy", "bow"), ("numpy", "cnn"), ("transformers", "bert"),
        *(pytest.param("onnx", run, marks=pytest.mark.slow) for run in ("bag", "bow", "cnn")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_every_task_is_exported_or_refused(kind: str, to: str, run: str, folder_of: Any) -> None:
    """The command compares the answers of the folder with those of the run."""
    if to == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    if to == "transformers":
        pytest.importorskip("transformers")
    out = f"out/{to}-{run}"
    done = senti("export", f"runs/{run}", "--to", to, "-o", out, "--texts", "test.csv", cwd=folder_of(kind))
    reason = KINDS[kind].refused.get(to)
    if reason is None:
        _done(done)
        return
    assert done.code == 2
    assert reason in done.err
    assert not (folder_of(kind) / out).exists()


def test_exports_of_every_format_are_here() -> None:
    assert {"numpy", "onnx", "transformers"} == set(EXPORTERS)
