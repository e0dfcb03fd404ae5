"""What runs answer on the page: probabilities, effects, texts that stream, many clients at once."""

import http.client
import json
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

from commands import start
from labelled_reviews import tree, write
from language_runs import language_run
from pages import commands, prepare, run_all
from senti_in_process import senti
from sentimodels import Classifier, LanguageModel
from sentimodels.explain import attribute
from sentimodels.explain.leave_one_out import leave_one_out
from sentimodels.predictor import load_predictor
from sentimodels.runs.ensemble import Ensemble
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.web import load_models, routes
from sentitok import train_bpe
from sentitok.web import Limits, create_app
from sentitok.web.app import Desk
from sentitok.web.work import Work
from web_server import Client, serving

TEXTS = ["", "a great film", "dull\n\tand <script>alert(1)</script>", "日本 👍🏽", "\ud800", "great " * 400]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    reviews = write(made / "reviews.csv")
    subwords = {"data": {"tokenizer_model": "bpe", "max_tokens": 32}}
    train(resolve(tree("gpt", reviews, **subwords)), made / "gpt", baseline=False)
    train(resolve(tree("tfidf", reviews)), made / "tfidf", baseline=False)
    (made / "both").mkdir()
    members = [Classifier.load(made / name) for name in ("gpt", "tfidf")]
    both = Ensemble(tuple(members), (0.5, 0.5))
    both.save(made / "both", [made / "gpt", made / "tfidf"], "0" * 64)
    language_run(made / "lm", "gpt", 64)
    language_run(made / "bert", "bert")
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    names = ("gpt", "tfidf", "both", "lm", "bert")
    models = load_models([folder / name for name in names])
    with serving(create_app(models, Limits(threads=2), more=routes)) as made:
        yield made


def test_about(client: Client) -> None:
    found = {model["name"]: model for model in client.json("/api/model")["models"]}
    assert [model["kind"] for model in found.values()] == [
        "classifier", "classifier", "ensemble", "language-model", "language-model"
    ]  # fmt: skip
    assert found["gpt"]["labels"] == ["neg", "pos"]
    assert found["gpt"]["summary"].startswith("gpt, ")
    assert found["gpt"]["answers"] == ["tokenize", "predict", "effects", "decode"]
    assert found["tfidf"]["answers"] == ["tokenize", "predict", "effects"]
    assert found["lm"]["answers"] == ["tokenize", "decode", "generate"]
    assert found["lm"]["context"] == 64
    assert found["bert"]["answers"] == ["tokenize", "decode"]
    assert "writes no text" in found["bert"]["summary"]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text)[:20])
@pytest.mark.parametrize("name", ["gpt", "tfidf", "both"])
def test_probabilities_are_the_librarys(client: Client, folder: Path, name: str, text: str) -> None:
    found = client.json("/api/predict", {"text": text, "model": name})
    predictor = load_predictor(folder / name)
    [probs] = predictor.predict_proba([text])
    assert [one["label"] for one in found["probs"]] == ["neg", "pos"]
    np.testing.assert_allclose([one["p"] for one in found["probs"]], probs, atol=2e-6)
    assert found["label"] == predictor.labels.names[int(probs.argmax())]
    assert found["model"] == name
    if text.startswith("great great"):
        assert found["n_tokens"] >= 400
        assert ("cut" in found) == (name in ("gpt", "both"))
        if name == "gpt":
            assert (found["cut"]["long"], found["cut"]["max_tokens"]) == ("truncate", 32)
            assert found["cut"]["unread"] == pytest.approx(1 - 32 / found["n_tokens"], abs=1e-5)


def test_a_batch_has_the_answers_of_its_texts(client: Client) -> None:
    found = client.json("/api/predict/batch", {"texts": TEXTS, "model": "gpt"})
    assert found["labels"] == ["neg", "pos"]
    for text, answer in zip(TEXTS, found["answers"], strict=True):
        alone = client.json("/api/predict", {"text": text, "model": "gpt"})
        assert answer["label"] == alone["label"]
        np.testing.assert_allclose(answer["probs"], [one["p"] for one in alone["probs"]], atol=2e-6)
    assert client.json("/api/predict/batch", {"texts": []})["answers"] == []


def test_tokens_are_those_that_the_run_reads(client: Client, folder: Path) -> None:
    found = client.json("/api/predict", {"text": "A great film", "model": "gpt"})
    tokenizer: Any = Classifier.load(folder / "gpt").tokenizer
    assert [one["id"] for one in found["tokens"]] == tokenizer.encode("a great film").ids.tolist()
    assert client.json("/api/tokenize", {"text": "A great film", "model": "gpt"})["tokens"] == found["tokens"]
    words = client.json("/api/tokenize", {"text": "A great film", "model": "tfidf"})["tokens"]
    assert [(one["text"], one["id"]) for one in words] == [("a", None), ("great", None), ("film", None)]


@pytest.mark.parametrize("name", ["gpt", "tfidf"])
def test_effects_are_the_librarys(client: Client, folder: Path, name: str) -> None:
    text = "a great but dull film"
    found = client.json("/api/effects", {"text": text, "model": name})
    expected = leave_one_out(Classifier.load(folder / name), text)
    assert found["method"] == "leave-one-out"
    got = np.array([token["effects"] for token in found["tokens"]])
    np.testing.assert_allclose(got, expected.effects, atol=2e-6)


@pytest.mark.parametrize("name", ["gpt", "tfidf"])
def test_parts_are_the_librarys(client: Client, folder: Path, name: str) -> None:
    text = "a great but dull film"
    asked = {"text": text, "model": name, "method": "integrated-gradients"}
    found = client.json("/api/effects", asked)
    expected = attribute(Classifier.load(folder / name), text, most=512)
    assert found["method"] == expected.method
    got = np.array([token["effects"] for token in found["tokens"]])
    np.testing.assert_allclose(got, expected.effects, atol=1e-4)
    summed = np.array(found["scores"]) - found["baseline"]
    np.testing.assert_allclose(got.sum(0), summed, atol=found["gap"] + 1e-5)
    assert found["gap"] == pytest.approx(expected.gap, abs=1e-3)
    methods = {model["name"]: model["explains"] for model in client.json("/api/model")["models"][:3]}
    assert methods["both"] == ["leave-one-out"]
    assert methods[name] == ["leave-one-out", "integrated-gradients"]


def test_effects_of_an_ensemble_are_those_of_words(client: Client) -> None:
    found = client.json("/api/effects", {"text": "a great film", "model": "both"})
    assert [token["text"] for token in found["tokens"]] == ["a", "great", "film"]
    assert found["tokens"][1]["effects"][1] > 0


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("/api/predict", {"text": "a", "model": "lm"}, 400, "lm does not predict; it is a language-model"),
    ("/api/generate", {"text": "a", "model": "gpt"}, 400, "gpt does not generate; it is a classifier"),
    ("/api/generate", {"text": "a", "model": "bert"}, 400, "bert does not generate"),
    ("/api/decode", {"ids": [1], "model": "tfidf"}, 400, "tfidf does not decode"),
    ("/api/effects", {"text": "great " * 300, "model": "gpt"}, 400, "at most 256 are left out"),
    (
        "/api/effects", {"text": "a", "model": "both", "method": "integrated-gradients"}, 400,
        "several models; take leave-one-out",
    ),
    ("/api/effects", {"text": "a", "method": "guess"}, 400, "leave-one-out or integrated-gradients"),
    ("/api/predict/batch", {"texts": ["a"] * 1025}, 413, "1024 at once"),
    ("/api/predict/batch", {"texts": "a"}, 400, "expected a list of texts"),
    ("/api/generate", {"text": "the cat " * 100, "model": "lm"}, 400, "shorten it"),
    ("/api/generate", {"text": "a", "model": "lm", "temperature": -1}, 400, "from 0 to 100"),
    ("/api/generate", {"text": "a", "model": "lm", "temperature": "warm"}, 400, "temperature"),
    ("/api/generate", {"text": "a", "model": "lm", "temperature": 10**400}, 400, "from 0 to 100"),
    ("/api/generate", {"text": "a", "model": "lm", "temperature": float("nan")}, 400, "from 0 to 100"),
    ("/api/generate", {"text": "a", "model": "lm", "top_p": 0}, 400, "top_p 0"),
    ("/api/generate", {"text": "a", "model": "lm", "max_new_tokens": 10**6}, 400, "from 1 to 4096"),
    ("/api/generate", {"text": "a", "model": "lm", "begin": 1}, 400, "true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "said"), REFUSED)
def test_refusals(client: Client, path: str, body: dict[str, Any], status: int, said: str) -> None:
    answer = client.ask(path, body)
    assert answer.status == status, answer.data
    assert said in answer.json["error"]


def written(client: Client, **body: Any) -> list[dict[str, Any]]:
    answer = client.ask("/api/generate", {"model": "lm", **body})
    assert answer.status == 200, answer.data
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.data.splitlines()]


@pytest.mark.parametrize("text", ["the cat", "a 日本", ""])
def test_a_text_streams_as_the_library_writes_it(client: Client, folder: Path, text: str) -> None:
    asked: dict[str, Any] = {"seed": 3, "temperature": 0.9, "top_p": 0.9, "max_new_tokens": 30}
    pieces = written(client, text=text, **asked)
    model = LanguageModel.load(folder / "lm")
    begin = not text
    assert "".join(piece["text"] for piece in pieces) == model.generate(text, begin=begin, **asked)
    assert all("end" not in piece for piece in pieces[:-1])
    end = pieces[-1]["end"]
    assert end["reason"] in ("end", "length")
    assert end["n_tokens"] == sum(len(piece["tokens"]) for piece in pieces) <= 30


def test_probabilities_of_written_tokens_are_the_models(client: Client, folder: Path) -> None:
    pieces = written(client, text="the cat", seed=3, temperature=2.0, max_new_tokens=12, n_likely=3)
    tokens = [token for piece in pieces for token in piece["tokens"]]
    model = LanguageModel.load(folder / "lm")
    ids = [*model.tokenizer.encode("the cat", add_special_tokens=False).ids.tolist()]
    for token in tokens:
        with torch.inference_mode():
            states = model._module(torch.tensor([ids]))
            shares = torch.softmax(model._module.logits(states[0, -1]).double(), -1)
        assert token["p"] == pytest.approx(float(shares[token["id"]]), abs=1e-5)
        best, places = shares.topk(3)
        assert [one["p"] for one in token["likely"]] == pytest.approx(best.tolist(), abs=1e-5)
        assert [one["id"] for one in token["likely"]] == places.tolist()
        ids.append(token["id"])


def test_a_text_that_nobody_reads_ends(folder: Path) -> None:
    models: Any = load_models([folder / "lm"])
    made: list[int] = []
    ended = threading.Event()
    inner = models["lm"].write

    def write_and_count(*args: Any, **more: Any) -> Iterator[Any]:
        try:
            for piece in inner(*args, **more):
                made.append(1)
                # The first at once; with the rest there is time to notice that the client has left.
                time.sleep(0.02 if len(made) < 10 else 0.5)
                yield piece
        finally:
            ended.set()

    models["lm"].write = write_and_count
    with serving(create_app(models, Limits(threads=1), more=routes)) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=180)
        body = json.dumps({"text": "the", "max_new_tokens": 60, "temperature": 0})
        connection.request("POST", "/api/generate", body, {"content-type": "application/json"})
        connection.getresponse().read(10)
        connection.sock and connection.sock.close()
        connection.close()
        assert ended.wait(60)
        assert len(made) < 60


def test_a_text_ends_when_its_time_is_over(folder: Path) -> None:
    models: Any = load_models([folder / "lm"])
    inner = models["lm"].write

    def write_slowly(*args: Any, **more: Any) -> Iterator[Any]:
        for piece in inner(*args, **more):
            time.sleep(0.1)  # far from the limit, which holds for each token too
            yield piece

    models["lm"].write = write_slowly
    with serving(create_app(models, Limits(threads=1, seconds=1.5), more=routes)) as client:
        pieces = written(client, text="the cat", seed=1, max_new_tokens=60)
    assert pieces[-1]["end"]["reason"] in ("time", "end")
    assert len(pieces) < 20


def test_a_hundred_clients_lose_nothing(client: Client, folder: Path) -> None:
    """Of three kinds at once; each gets the answer to its own text."""
    classifier = Classifier.load(folder / "gpt")
    texts = [f"film number {number} is {'great' if number % 2 else 'dull'}" for number in range(100)]
    expected = classifier.predict_proba(texts)
    ready = threading.Barrier(100)

    def asking(number: int) -> None:
        ready.wait(180)
        found = client.json("/api/predict", {"text": texts[number], "model": "gpt"})
        np.testing.assert_allclose([one["p"] for one in found["probs"]], expected[number], atol=1e-5)
        if number % 10 == 0:
            assert written(client, text="the cat", max_new_tokens=5, seed=number)[-1]["end"]
            assert client.json("/api/effects", {"text": texts[number], "model": "gpt"})["tokens"]

    with ThreadPoolExecutor(100) as pool:
        list(pool.map(asking, range(100)))


@pytest.mark.slow
def test_a_thousand_requests_leave_memory_as_it_was(client: Client) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def asking(number: int) -> int:
        return client.ask("/api/predict", {"text": f"a great film {number}", "model": "gpt"}).status

    with ThreadPoolExecutor(100) as pool:
        assert set(pool.map(asking, range(1000))) == {200}
        before = resident()
        assert set(pool.map(asking, range(3000))) == {200}
    assert resident() - before < 16 << 20


# What docs/how-to/serve.md shows.
PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "how-to" / "serve.md").read_text("utf-8")
SHOWN = re.findall(r"^\$ (curl .+)\n((?:\{.+\n)+)", PAGE, re.M)


def shape(value: Any) -> Any:
    """Names of fields, and of the first of a list."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


@pytest.mark.parametrize(("command", "lines"), SHOWN, ids=[command.split()[1] for command, _ in SHOWN])
def test_what_the_docs_show(client: Client, command: str, lines: str) -> None:
    """Each request is answered as shown."""
    words = [word for word in shlex.split(command)[1:] if not word.startswith("-")]
    path = words[0].removeprefix("localhost:8000")
    answer = client.ask(path, json.loads(words[1]) if len(words) > 1 else None)
    assert answer.status == 200, answer.data
    shown = [json.loads(line) for line in lines.splitlines()]
    if len(shown) == 1:
        assert shape(answer.json) == shape(shown[0])
    else:
        written = [shape(json.loads(line)) for line in answer.data.splitlines()]
        assert written[0] == shape(shown[0])
        assert set(written[-1]["end"]) == set(shown[-1]["end"])


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are lines for a POSIX shell")
def test_what_the_docs_serve(folder: Path, tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "runs").symlink_to(folder, target_is_directory=True)
    for name in ("tokenizer.json", "wordpiece.json"):
        train_bpe(texts=["a great film"], vocab_size=260).save(tmp_path / name)
    found = commands(re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)[0])
    assert [line.split()[:2] for line, _ in found] == [["sentitok", "serve"], ["senti", "serve"]]
    run_all(found, tmp_path)


def test_the_docs_know_every_route() -> None:
    found: list[Any] = list(routes(Desk({}, Work(Limits()))))
    for route in found:
        assert f"{route.path} " in PAGE
    assert len(SHOWN) == 9


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_the_command_serves_runs_until_a_signal(folder: Path) -> None:
    with start("serve gpt lm --port 0 --json", program="senti", cwd=folder) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert (told["schema"], told["models"]) == ("senti.serve/1", ["gpt", "lm"])
        client = Client(int(told["url"].rstrip("/").rpartition(":")[2]))
        assert client.json("/api/predict", {"text": "a great film"})["label"] == "pos"
        assert written(client, text="the cat", max_new_tokens=3)[-1]["end"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert err.decode() == "senti: stopped by Ctrl-C\n"


def test_what_cannot_be_served_is_refused(folder: Path, tmp_path: Path) -> None:
    for run, said in ((tmp_path / "none", "no such folder"), (tmp_path, "not a run directory")):
        done = senti("serve", run, "--port", "0", cwd=tmp_path)
        assert done.code == 2
        assert said in done.err
