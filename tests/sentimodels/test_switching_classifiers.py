"""Every row of the tables of docs/how-to/from-fasttext.md: its commands run, its calls return.

`test_docs.py` tests the blocks of that page. Neither fastText nor torchtext is needed: what a row says
in their words is not run.
"""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentimodels
import sentitok
import sentitok.datasets
from labelled_reviews import rows, write
from pages import ROOT
from senti_in_process import senti
from sentimodels import Classifier
from sentimodels.runs.families import CLASSIFIER

PAGE = ROOT / "docs" / "how-to" / "from-fasttext.md"
CORPUS = ROOT / "tests" / "data" / "corpus" / "sherlock-holmes.txt"
SMALL = ["--preset", "nano", "--epochs", "1"]
# What makes a row's command quick; it trains less, or a smaller model.
QUICK = {
    "pretrain": [
        "--preset",
        "nano",
        "--steps",
        "2",
        "--set",
        "data.vocab_size=300",
        "--set",
        "data.context=16",
    ],
    "--arch cnn": SMALL,
    "--arch gru": SMALL,
    "--init": ["--epochs", "1"],
}
# The value for a name that is not a file: no row could be run without a model that translates.
LEFT_OUT = {"senti translate evaluate RUN sources targets": "tests/sentimodels/test_translating_page.py"}


def table(head: str) -> list[list[str]]:
    """Returns the text between backquotes in the right cell of each row."""
    (found,) = re.findall(rf"^\| {head} \|.*\n\|---.*\n((?:\| .*\n)+)", PAGE.read_text("utf-8"), re.M)
    cells = [re.split(r"(?<!\\)\|", line)[2] for line in found.splitlines()]
    return [re.findall(r"`([^`]+)`", cell) for cell in cells]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the rows name."""
    made = tmp_path_factory.mktemp("switching")
    for name, seed in (("reviews.train", 1), ("reviews.valid", 2)):
        lines = [f"__label__{label} {text}\n" for text, label in rows(200, seed)]
        (made / name).write_text("".join(lines))
    for name, seed in (("reviews.csv", 3), ("train.csv", 4), ("test.csv", 5)):
        write(made / name, 200, seed)
    (made / "texts.txt").write_text("a great film\na dull film\n")
    (made / "books.txt").write_text(CORPUS.read_text("utf-8")[:20_000])
    words = ("great", "dull", "film")
    vectors = [f"{word} {' '.join(map(str, np.linspace(place, 1, 300)))}" for place, word in enumerate(words)]
    (made / "glove.txt").write_text("\n".join(vectors) + "\n")
    (made / "wiki.vec").write_text(f"{len(words)} 300\n" + "\n".join(vectors) + "\n")
    gpt2 = json.loads((ROOT / "tests" / "data" / "tokenizer_json" / "gpt2.json").read_text("utf-8"))
    (made / "vocab.json").write_text(json.dumps(gpt2["model"]["vocab"]))
    merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in gpt2["model"]["merges"]]
    (made / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    (made / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the"]) + "\n")
    sentitok.train_wordpiece(CORPUS, vocab_size=300).save(made / "tokenizer.json")
    sentitok.train_unigram(CORPUS, vocab_size=300, method="sentencepiece").save(made / "m.model")
    return made


def run(call: str, folder: Path) -> str:
    """Runs a command of a row, made quick; returns what it prints."""
    line, _, given = call.partition(" < ")
    words = shlex.split(line)[1:]
    more = next((more for key, more in QUICK.items() if key in line), [])
    if "--out" not in words and words[0] == "train":
        shutil.rmtree(folder / "runs" / "row", ignore_errors=True)
        more = [*more, "--out", "runs/row"]
    done = senti(*words, *more, cwd=folder, stdin=(folder / given).read_text() if given else "")
    assert done.code == 0, f"{call}\n{done.err}"
    return done.out


def test_rows_of_fasttext(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {
        "sentimodels": sentimodels, "Classifier": Classifier, "Path": Path, "text": "a great film",
        "texts": ["a great film", "a dull film"],
    }  # fmt: skip
    printed, values, flags = {}, {}, []
    for spans in table("fastText"):
        calls = [span for span in spans if span.startswith("senti ")]
        options = " ".join(span for span in spans if span.startswith("--") and span != "--arch")
        for call in calls:
            printed[call] = run(call, folder)
        if options and not calls:
            arch = "" if "--arch" in options or "--budget" in options else " --arch bow"
            run(f"senti train reviews.train{arch} {options}", folder)
            flags.append(CLASSIFIER.load(folder / "runs" / "row"))
        for span in set(spans) - {*calls, "--arch"}:
            if not span.startswith("-"):
                shutil.rmtree(folder / "runs" / "again", ignore_errors=True)
                ours = span.replace('"runs/m"', '"runs/again"') if "train(" in span else span
                values[span] = namespace["model" if "load(" in span else "_"] = eval(ours, namespace)
    sizes, ngrams, budget, vectors, machine = flags
    expected: list[tuple[Any, dict[str, Any]]] = [
        (sizes, {"fit_epochs": 5, "fit_lr": 0.5, "d_model": 20, "word_ngrams": 2}),
        (ngrams, {"char_ngrams": (3, 6), "min_count": 2, "buckets": 100_000}),
        (vectors, {"d_model": 300}),
    ]
    for config, values_of in expected:
        model = vars(config.model)
        assert {key: model[key] for key in values_of} == values_of
    assert budget.budget == 600
    assert (vectors.arch, vectors.data.vectors) == ("cnn", str(folder / "wiki.vec"))
    assert (machine.train.threads, machine.train.seed) == (4, 1)
    assert printed["senti predict runs/m --quiet < texts.txt"] == "pos\nneg\n"
    assert values["model.predict([text])"] == ["pos"]
    assert values["model.predict_proba(texts)"].argmax(1).tolist() == [1, 0]
    assert list(values["model.labels.names"]) == ["neg", "pos"]
    scores = json.loads(printed["senti evaluate runs/m reviews.valid --json"])
    assert scores["accuracy"] > 0.9


def test_rows_of_torchtext(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    text = CORPUS.read_text("utf-8")[:50_000]
    namespace: dict[str, Any] = {
        "sentitok": sentitok, "Tokenizer": sentitok.Tokenizer, "texts": text.splitlines(), "text": text,
        "n": 400, "id": 5, "file": CORPUS, "paths": [CORPUS],
    }  # fmt: skip
    values = {}
    for spans in table("torchtext"):
        for span in spans:
            if span in LEFT_OUT:
                assert (ROOT / LEFT_OUT[span]).is_file()
            elif span.startswith("senti "):
                run(span, folder)
            elif " = " in span:
                exec(span, namespace)
            elif "(" in span or "." in span:
                values[span] = eval(span, namespace)
    tokenizer = namespace["tokenizer"]
    assert tokenizer.decode(values["tokenizer.encode(text).ids"]) == text
    assert max(map(len, values["tokenizer.encode_batch(texts, max_tokens=n)"])) <= 400
    assert values["tokenizer.id_to_token(id)"] == tokenizer.id_to_token(5)
    assert len(values["tokenizer.vocab()"]) == values["tokenizer.vocab_size"] == tokenizer.vocab_size
    assert values['sentitok.Tokenizer.from_bert_vocab("vocab.txt")'].vocab_size == 6
    assert values['sentitok.Tokenizer.from_file("m.model")'].vocab_size == 300
    assert len(values['sentitok.datasets.TokenDataset("tokens").windows(1024)']) > 100
