"""The page in a browser: what runs answer as one types."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

from browser import HOSTILE, Watched, check_keyboard, check_look, check_stays_text, opened
from labelled_reviews import tree, write
from language_runs import TEXTS, language_run
from sentimodels import Classifier
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.web import load_models, routes
from sentitok import train_bpe
from sentitok.web import Limits, create_app
from web_server import Client, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    reviews = write(made / "reviews.csv")
    train(resolve(tree("lstm", reviews)), made / "lstm", baseline=False)
    train(resolve(tree("tfidf", reviews)), made / "tfidf", baseline=False)
    language_run(made / "lm", "gpt", 64)
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    models: Any = load_models([folder / name for name in ("lstm", "tfidf", "lm")])
    inner = models["lstm"].predict

    def predict(text: str, most: int) -> Any:
        if text == "dull":
            time.sleep(0.5)  # so that a longer text is answered before it
        return inner(text, most)

    models["lstm"].predict = predict
    with serving(create_app(models, Limits(threads=4), more=routes)) as made:
        yield made


def bars(page: Watched, name: str = "lstm") -> list[float]:
    """Returns what the bars show, read at once."""
    read = "meters => meters.map((meter) => Number(meter.getAttribute('aria-valuenow')))"
    shown: list[float] = page.panel(name).get_by_role("meter").evaluate_all(read)
    return shown


def n_tokens(client: Client, text: str) -> int:
    """Returns how many tokens the language model's tokenizer cuts a text into."""
    answer = Client(client.port).ask("/api/tokenize", {"model": "lm", "text": text})
    count: int = json.loads(answer.data)["n_tokens"]
    return count


def settle(page: Watched, expected: list[float], name: str = "lstm") -> list[float]:
    """Waits until the bars show these probabilities; returns what they show."""
    page.until(lambda: bars(page, name) == pytest.approx(expected, abs=6e-4))
    return bars(page, name)


def test_bars_move_at_every_key(page: Watched, folder: Path) -> None:
    classifier = Classifier.load(folder / "lstm")
    assert bars(page) == [0, 0]
    typed = ""
    seen = []
    for key in ("a great", " film", " that is dull", " and awful"):
        page.text.press_sequentially(key)
        typed += key
        [probs] = classifier.predict_proba([typed])
        seen.append(settle(page, probs.tolist()))
    assert len({tuple(one) for one in seen}) > 2
    assert seen[0][1] > 0.5 > seen[-1][1]
    fills = page.panel("lstm").locator(".fill")
    whole = page.panel("lstm").locator(".bar").first.bounding_box()["width"]

    def shares() -> list[float]:
        return [fill.bounding_box()["width"] / whole for fill in fills.all()]

    page.until(lambda: shares() == pytest.approx(seen[-1], abs=0.02))
    for names in (("neg", "pos"), ("bad", "a longer label of a class")):
        for label, name in zip(page.panel("lstm").locator(".bars .label").all(), names, strict=True):
            label.evaluate("(node, name) => { node.textContent = name; }", name)
        boxes = [bar.bounding_box() for bar in page.panel("lstm").locator(".bar").all()]
        assert len({(round(box["x"], 1), round(box["width"], 1)) for box in boxes}) == 1
    colours = [fill.evaluate("node => getComputedStyle(node).backgroundColor") for fill in fills.all()]
    assert colours == ["rgb(215, 48, 39)", "rgb(26, 152, 80)"]


def test_runs_stand_side_by_side(page: Watched, folder: Path) -> None:
    page.text.fill("a great film")
    for name in ("lstm", "tfidf"):
        [probs] = Classifier.load(folder / name).predict_proba(["a great film"])
        settle(page, probs.tolist(), name)
    assert page.panel("lm").get_by_role("button", name="Continue").is_visible()
    page.keep("runs")


def test_examples_are_answered(page: Watched, folder: Path) -> None:
    buttons = page.page.get_by_role("group", name="Examples").get_by_role("button")
    assert buttons.count() == 5
    classifier = Classifier.load(folder / "lstm")
    answers = set()
    for button in buttons.all():
        button.click()
        assert page.text.input_value() == button.text_content()
        [probs] = classifier.predict_proba([button.text_content()])
        answers.add(tuple(settle(page, probs.tolist())))
    assert len(answers) > 1


def test_no_text_is_all_zeros(page: Watched) -> None:
    page.text.fill("a great film")
    page.panel("lstm").locator(".token").first.wait_for()
    page.text.fill("")
    settle(page, [0, 0])
    assert page.panel("lstm").locator(".token").count() == 0


def test_a_late_answer_is_dropped(page: Watched, folder: Path) -> None:
    page.text.fill("dull")
    page.page.wait_for_timeout(150)
    page.text.fill("dull but great great great")
    [probs] = Classifier.load(folder / "lstm").predict_proba(["dull but great great great"])
    settle(page, probs.tolist())
    page.page.wait_for_timeout(700)
    assert bars(page) == pytest.approx(probs.tolist(), abs=6e-4)


@pytest.mark.parametrize("text", ["great 👍🏽 我喜欢 this 𐍈", *HOSTILE])
def test_every_text_is_answered_and_stays_text(
    page: Watched, client: Client, folder: Path, text: str
) -> None:
    page.page.get_by_label("effect of each token").check()
    page.text.fill(text)
    for name in ("lstm", "tfidf"):
        [probs] = Classifier.load(folder / name).predict_proba([text])
        settle(page, probs.tolist(), name)
    panel, count = page.panel("lm"), n_tokens(client, text)
    panel.get_by_role("heading", name=f"{count:,} tokens").wait_for()
    assert "\ufffd" not in panel.inner_text()
    page.panel("lstm").locator(".token u").first.wait_for()
    check_stays_text(page)
    page.page.reload()  # now it comes from the address
    settle(page, probs.tolist(), "tfidf")
    check_stays_text(page)


def test_a_text_of_100_kilobytes(page: Watched, client: Client, folder: Path) -> None:
    text = "a great film that is never dull " * 3125
    page.put(text)
    [probs] = Classifier.load(folder / "lstm").predict_proba([text])
    settle(page, probs.tolist())
    panel, count = page.panel("lm"), n_tokens(client, text)
    panel.get_by_role("heading", name=f"{count:,} tokens").wait_for()
    assert panel.locator(".token").count() == 1000


def test_all_can_be_done_by_keyboard(page: Watched) -> None:
    """Tab reaches what to choose and what to press; space, Enter and arrows do the rest."""
    page.text.fill("a great film")
    page.panel("lstm").locator(".token").first.wait_for()
    reached = page.tab_to("effects")
    assert reached[0] == "text"
    page.page.keyboard.press("Space")
    page.panel("lstm").locator(".token u").first.wait_for()
    reached = page.tab_to("Tokens of lstm")
    assert {"Method of explaining", "Label whose probability is explained"} <= set(reached)
    detail = page.panel("lstm").locator(".details")
    before = detail.inner_text()
    page.page.keyboard.press("ArrowRight")
    assert detail.inner_text() != before
    page.tab_to("Continue")
    page.page.keyboard.press("Enter")
    page.panel("lm").locator(".piece").first.wait_for(state="attached")  # a line break has no width


def test_a_screen_reader_finds_what_is_there(page: Watched, folder: Path) -> None:
    page.text.fill("a great film")
    for name in ("lstm", "tfidf"):
        classifier, panel = Classifier.load(folder / name), page.panel(name)
        [probs] = classifier.predict_proba(["a great film"])
        settle(page, probs.tolist(), name)
        panel.locator(".token").first.wait_for()
        assert panel.get_by_role("heading", level=2, name=name).is_visible()
        assert panel.get_by_role("list", name=f"Tokens of {name}").is_visible()
        for label, p in zip(classifier.labels, probs.tolist(), strict=True):
            meter = panel.get_by_role("meter", name=label, exact=True)
            told = [float(meter.get_attribute(f"aria-value{of}")) for of in ("min", "now", "max")]
            assert told == pytest.approx([0, p, 1], abs=6e-4)
    assert page.panel("lm").get_by_role("button", name="Continue").is_visible()
    assert page.page.get_by_role("heading", level=1).count() == 1
    assert page.page.get_by_role("status").count() == 1


# All that a screen reader is given: of a list of tokens the first, of five examples one.
TREE = r"""
- banner:
  - heading "Try your runs" [level=1]
  - paragraph: /sentitok \S+ What you type stays on this server; it is not logged./
- main:
  - region "Text":
    - textbox "Text": a great film
    - paragraph: 12 characters
    - group "Examples":
      - button "The plot is thin, and the jokes mostly miss."
  - region "Settings":
    - group "Show":
      - radio "tokens" [checked]
      - radio "tokens and ids"
      - radio "ids"
      - radio "neither"
    - group "Explain":
      - checkbox "effect of each token"
      - combobox "Method of explaining":
        - option "leaving it out" [selected]
        - option "parts that sum up"
      - combobox "Label whose probability is explained":
        - option "the answer" [selected]
        - option "neg"
        - option "pos"
    - group "Writing":
      - spinbutton "tokens": "64"
      - spinbutton "temperature": "0.8"
      - spinbutton "top-p": "0.95"
      - spinbutton "seed"
  - region "lstm":
    - heading "lstm" [level=2]
    - paragraph: /lstm, [\d,]+ parameters, \d+ ids/
    - list "Probabilities":
      - listitem:
        - meter "neg"
      - listitem:
        - meter "pos"
    - heading "3 tokens" [level=3]
    - list "Tokens of lstm":
      - listitem:
        - img /a, id \d+/: a
    - button "Copy ids"
  - region "tfidf":
    - heading "tfidf" [level=2]
    - list "Probabilities":
      - listitem:
        - meter "neg"
      - listitem:
        - meter "pos"
    - heading "3 tokens" [level=3]
    - list "Tokens of tfidf":
      - listitem:
        - img "a, no id": a
  - region "lm":
    - heading "lm" [level=2]
    - paragraph: /gpt, [\d,]+ parameters, \d+ ids/
    - button "Continue"
    - button "Stop" [disabled]
    - group "Text of lm"
    - heading /\d+ tokens, .+ bytes each/ [level=3]
    - list "Tokens of lm":
      - listitem:
        - img /a, id \d+/: a
    - button "Copy ids"
    - group: Decode ids
  - status
  - alert
"""


def test_the_accessibility_tree_is_complete(page: Watched) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    page.text.fill("a great film")
    for name in ("lstm", "tfidf", "lm"):
        page.panel(name).locator(".token").first.wait_for()
    expect(page.page.locator("body")).to_match_aria_snapshot(TREE)


def test_every_control_is_a_stop_of_the_keyboard(page: Watched) -> None:
    page.text.fill("a great film")
    for name in ("lstm", "tfidf", "lm"):
        page.panel(name).locator(".token").first.wait_for()
    check_keyboard(page)


def test_effects_are_asked_for_on_demand(page: Watched) -> None:
    page.text.fill("a great but dull film")
    page.panel("tfidf").locator(".token").first.wait_for()
    page.page.wait_for_timeout(600)
    assert not [url for url in page.asked if url.endswith("/api/effects")]
    page.page.get_by_label("effect of each token").check()
    effects = page.panel("tfidf").locator(".token u")
    effects.first.wait_for()
    tokens = dict(
        zip(
            page.panel("tfidf").locator(".token b").all_text_contents(),
            effects.all_text_contents(),
            strict=True,
        )
    )
    label = page.panel("tfidf").get_by_role("heading", level=3).inner_text()
    other = -1 if "neg" in label else 1
    assert float(tokens["great"].replace("−", "-")) * other > 0
    assert float(tokens["dull"].replace("−", "-")) * other < 0
    page.page.get_by_label("Label whose probability is explained").select_option("pos")
    page.panel("tfidf").get_by_role("heading", name=": effect of each on “pos”").wait_for()
    check_look(page)
    page.keep("effects")
    page.page.get_by_label("Method of explaining").select_option("integrated-gradients")
    page.panel("tfidf").get_by_role("heading", name=": part of each in the score of “pos”").wait_for()
    parts = page.panel("tfidf").locator(".token u").all_text_contents()
    told = page.panel("tfidf").get_by_text(" the parts miss ").inner_text()
    total = float(told.split("In all ")[1].split(":")[0].replace("−", "-"))
    assert sum(float(part.replace("−", "-")) for part in parts) == pytest.approx(total, abs=5e-3)
    page.panel("lstm").get_by_role("heading", name=": part of each in the score of “pos”").wait_for()
    check_look(page)
    page.keep("parts")
    page.text.press_sequentially(" or fun")
    page.panel("tfidf").locator(".token u").nth(6).wait_for()
    page.page.wait_for_url("**method=integrated-gradients*")
    assert "effects=1" in page.page.url
    page.page.get_by_label("effect of each token").uncheck()
    page.page.wait_for_function("() => !document.querySelector('.token u')")


def test_a_late_answer_leaves_effects_where_they_are(page: Watched) -> None:
    page.page.get_by_label("effect of each token").check()
    page.text.fill("dull")
    page.panel("lstm").locator(".token u").wait_for()
    page.panel("lstm").get_by_role("heading", name="1 token: effect of each on ").wait_for()
    page.page.wait_for_timeout(500)
    assert page.panel("lstm").locator(".token u").count() == 1


def test_what_was_chosen_is_there_again(page: Watched) -> None:
    chosen = {
        "Label whose probability is explained": "neg", "tokens": "9", "temperature": "0", "top-p": "0.5",
        "seed": "7",
    }  # fmt: skip
    for label, value in chosen.items():
        control = page.page.get_by_label(label, exact=True).and_(page.page.locator("select, [type=number]"))
        control.select_option(value) if value == "neg" else control.fill(value)
    page.page.wait_for_url("**seed=7*")
    page.page.reload()
    page.page.locator("#panels .panel").first.wait_for()
    for label, value in chosen.items():
        control = page.page.get_by_label(label, exact=True).and_(page.page.locator("select, [type=number]"))
        assert control.input_value() == value, label
    page.page.goto(page.url + "#label=of-another-run")
    page.page.wait_for_function("() => document.querySelector('#max-new-tokens').value === '64'")
    assert page.page.get_by_label("Label whose probability is explained").input_value() == ""


def test_a_language_model_goes_on_with_the_text(page: Watched, client: Client) -> None:
    page.text.fill("the cat")
    page.page.get_by_label("seed").fill("3")
    page.page.locator("#max-new-tokens").fill("20")
    panel = page.panel("lm")
    panel.get_by_role("button", name="Continue").click()
    panel.get_by_text(" a second: ").wait_for()
    asked = {"text": "the cat", "max_new_tokens": 20, "temperature": 0.8, "top_p": 0.95, "seed": 3}
    lines = Client(client.port).ask("/api/generate", {"model": "lm", **asked}).data.splitlines()
    expected = ""
    for piece in map(json.loads, lines):
        odd = re.search(r"[\ufffd\x00-\x08\x0b-\x1f\x7f]", piece["text"])
        expected += "".join(token["text"] for token in piece["tokens"]) if odd else piece["text"]
    group = panel.get_by_role("group", name="Text of lm")
    assert group.evaluate("node => node.textContent") == "the cat" + expected
    assert "\ufffd" not in expected
    pieces = panel.locator(".piece")
    shades = {piece.evaluate("node => getComputedStyle(node).backgroundColor") for piece in pieces.all()}
    assert len(shades) > 1
    pieces.nth(1).hover()
    listed = panel.locator(".details dd")
    assert listed.count() >= 5
    shares = [float(text.rpartition(" ")[2]) for text in listed.all_text_contents()]
    assert all(0 <= share <= 1 for share in shares)
    assert panel.locator(".details dt").first.text_content().startswith("Probabilities in the place of")
    assert panel.locator(".details").first.get_attribute("aria-live") == "polite"
    pieces.nth(0).focus()
    page.page.keyboard.press("ArrowRight")
    assert pieces.nth(1).evaluate("node => node === document.activeElement")
    check_look(page)
    page.keep("language-model")


def test_a_text_that_is_written_can_be_stopped(chrome: Any, window: Any, tmp_path: Path) -> None:
    language_run(tmp_path / "lm", "gpt", 64, train_bpe(texts=TEXTS, vocab_size=280))  # it never ends
    models: Any = load_models([tmp_path / "lm"])
    inner = models["lm"].write

    def slowly(*args: Any, **more: Any) -> Iterator[Any]:
        for number, piece in enumerate(inner(*args, **more)):
            # After the pieces that are waited for there is time to stop, on a busy machine too.
            time.sleep(0.1 if number < 5 else 0.5)
            yield piece

    models["lm"].write = slowly
    with (
        serving(create_app(models, Limits(threads=1), more=routes)) as client,
        opened(chrome, client.url, window) as page,
    ):
        page.text.fill("the cat")
        page.text.press("Control+Enter")
        page.page.locator(".piece").nth(2).wait_for(state="attached")
        go, stop = (page.page.get_by_role("button", name=name) for name in ("Continue", "Stop"))
        stop.click()
        page.until(go.is_enabled)
        count = page.page.locator(".piece").count()
        page.page.wait_for_timeout(400)
        assert page.page.locator(".piece").count() == count < 40
        go.focus()
        page.page.keyboard.press("Enter")
        page.page.locator(".piece").nth(1).wait_for(state="attached")
        assert stop.evaluate("node => node === document.activeElement")
        page.page.keyboard.press("Escape")
        page.panel("lm").get_by_text("stopped", exact=True).wait_for()
        assert go.evaluate("node => node === document.activeElement")


def test_what_the_server_refuses_is_said(page: Watched) -> None:
    page.text.fill("the cat " * 100)
    page.panel("lm").get_by_role("button", name="Continue").click()
    page.panel("lm").get_by_text("the model reads 64").wait_for()
    page.complaints.clear()  # the browser notes each answer that is not 200


def test_it_can_be_read_on_a_telephone(page: Watched) -> None:
    page.text.fill("a great film")
    page.page.get_by_label("effect of each token").check()
    page.panel("lstm").locator(".token u").first.wait_for()
    for scheme in ("light", "dark"):
        page.look_as(360, scheme)
        check_look(page)
        page.keep(f"runs-{scheme}-360")
