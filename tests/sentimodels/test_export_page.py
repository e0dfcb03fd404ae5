"""`senti page`: one HTML file whose script answers as the run does, in a browser and in Node."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from browser import HOSTILE, browser
from labelled_reviews import rows, write
from pages import ROOT
from senti_in_process import senti
from sentimodels.classifier import Classifier

TEXTS = [
    "",
    " ",
    "great film, dull plot",
    "The film IS great!!! it's a 'don't' l·l naïve cafe\u0301 \u0130stanbul i\u0307",
    "日本の film は great です 한국어 ไทยดี",
    "👍🏽 \U0001f469\u200d\U0001f467 a\u200db \U0001f3f4\U000e0067\U000e007f 1\ufe0f\u20e3 🇩🇪🇫🇷 ¿qué?",
    "« oui »\u00a0“fun”\u200b\u2028moving ’twas",
    "ΟΔΟΣ Straße ŉ ǰ great_film 3,141.59 #tag @you http://x.y/z?a=1",
    'ש״ח צה"ל שָׁלוֹם नमस्ते क्षि',
    "zork " * 40,
    *HOSTILE,
    *(text for text, _ in rows(60, seed=9)),
]
STARS = {",pos": ",3", ",neg": ",1"}
# Name: what `senti train` is told, and what becomes of labels.
RUNS: dict[str, tuple[str, dict[str, str]]] = {
    "bow": ("--arch bow", {}),
    "bow of words": ("--arch bow --set model.char_ngrams=[0,0] --set model.word_ngrams=1", {}),
    "nb": ("--arch nb", {}),
    "tfidf": ("--arch tfidf --set model.char_ngrams=[3,4] --set model.sublinear_tf=true", {}),
    "nb with ends": ("--arch nb --set model.ends=true --set model.ngram_range=[1,3]", {}),
    "several": ("--arch nb --label-separator |", {",pos": ",pos|any", ",neg": ",any"}),
    "stars": ("--arch tfidf --task ordinal", STARS),
    "stars of bow": ("--arch bow --task ordinal", STARS),
    "sure": ("--arch nb --threshold confidence=0.8", {}),
    "dear": ("--arch nb --threshold cost=costs.csv", {}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    (made / "costs.csv").write_text("true,answer,cost\npos,neg,5\nneg,pos,1\n*,,0.4\n", "utf-8")
    for name, (typed, labels) in RUNS.items():
        text = write(made / "rows.csv").read_text("utf-8") + "日本 great です,pos\nไทย dull 日本の,neg\n" * 3
        for old, new in labels.items():
            text = text.replace(old, new)
        if name.startswith("stars"):
            text += "fair film,2\nfine dull,2\n" * 10
        (made / "rows.csv").write_text(text, "utf-8")
        for words in (["train", "rows.csv", *typed.split(), "-o", name, "--no-baseline"],
                      ["page", name, "-o", f"{name}.html"]):  # fmt: skip
            done = senti(*words, cwd=made)
            assert done.code == 0, done.err
    return made


def asked(script: str, path: Path) -> Any:
    """Runs a function of the texts and of what `classifier` makes of the model, in Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    page = path.read_text("utf-8")
    found = re.search(
        r'<script type="application/json" id="model">(.*?)</script>\s*<script>(.*?)</script>', page, re.S
    )
    assert found is not None
    model, code = found.groups()
    program = (
        f"{code}\nconst texts = {json.dumps(TEXTS)};\nconst model = {model};\n"
        f"process.stdout.write(JSON.stringify(({script})(classifier(model), texts)));"
    )
    done = subprocess.run([node, "-"], input=program.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    return json.loads(done.stdout)


ANSWER = (
    "(run, texts) => texts.map((text) => { const p = run.probabilities(text); return [p, run.answer(p)]; })"
)


@pytest.mark.parametrize("name", RUNS)
def test_the_page_answers_as_the_run(name: str, folder: Path) -> None:
    run = Classifier.load(folder / name)
    found = asked(ANSWER, folder / f"{name}.html")
    probs: NDArray[np.float64] = np.array([p for p, _ in found])
    expected = run.predict_proba(TEXTS)
    np.testing.assert_allclose(probs, expected, atol=1e-6)
    assert np.ptp(expected[:, -1]) > 0.2
    for (_, answer), own in zip(found, run.predict(TEXTS), strict=True):
        assert answer == (own if isinstance(own, list) else [] if own is None else [own])


def test_what_is_not_held_is_refused(folder: Path) -> None:
    small = "--arch cnn --preset nano --set train.max_steps=1 --no-baseline -o cnn"
    done = senti("train", "rows.csv", *small.split(), cwd=folder)
    assert done.code == 0, done.err
    done = senti("page", "cnn", "-o", "cnn.html", cwd=folder)
    assert done.code == 2
    assert "tfidf, nb or bow" in done.err
    done = senti("train", "rows.csv", "--arch", "nb", "--set", "model.token_pattern=[a-z]+", "-o", "own",
                 "--no-baseline", cwd=folder)  # fmt: skip
    assert done.code == 0, done.err
    done = senti("page", "own", "-o", "own.html", cwd=folder)
    assert done.code == 2
    assert "model.token_pattern" in done.err
    assert not list(folder.glob("own*.html"))
    (folder / "both").mkdir()
    members = [{"run": f"../{name}", "weight": 0.5, "manifest_sha256": ""} for name in ("nb", "bow")]
    whole = {"schema": "senti.ensemble/1", "members": members, "temperature": 1.0, "labels": ["neg", "pos"]}
    (folder / "both/ensemble.json").write_text(json.dumps(whole), "utf-8")
    done = senti("page", "both", "-o", "both.html", cwd=folder)
    assert (done.code, "senti distill both" in done.err) == (2, True), done.err


def test_what_the_docs_show(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "export.md").read_text("utf-8").partition("## One HTML file")[2]
    [shell] = re.findall(r"^```sh\n(.*?)^```$", page.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    (folder / "runs").mkdir()
    (folder / "runs" / "bow").symlink_to(folder / "bow", target_is_directory=True)
    for line in shell.splitlines():
        done = senti(*shlex.split(line)[1:], cwd=folder)
        assert done.code == 0, done.err
    assert (folder / "reviews.html").read_bytes() == (folder / "bow.html").read_bytes()


def test_a_browser_shows_the_answer_and_asks_for_nothing(folder: Path) -> None:
    run = Classifier.load(folder / "nb")
    with browser() as opened:
        window, requests, complaints = opened.new_page(), [], []
        window.on("request", lambda request: requests.append(request.url))
        window.on("pageerror", lambda error: complaints.append(str(error)))
        window.goto((folder / "nb.html").as_uri())
        for text in ("a great film", "a dull plot"):
            window.get_by_role("textbox", name="Text").fill(text)
            assert window.locator("#answer").text_content() == run.predict([text])[0]
        assert complaints == []
        assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
