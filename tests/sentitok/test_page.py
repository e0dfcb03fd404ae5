"""The page in a browser: tokens of tokenizers as one types."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sentitok

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

from browser import HOSTILE, Watched, check_keyboard, check_look, check_stays_text, opened
from sentitok.web import Limits, TokenizerModel, create_app
from web_server import Client, serving


class Late(TokenizerModel):
    """Answers a text of one word late, so that a longer one is answered before it."""

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        if text == "late":
            time.sleep(0.5)
        return super().tokens(text, most)


@pytest.fixture(scope="module")
def client(tokenizer: sentitok.Tokenizer, sherlock: Path) -> Iterator[Client]:
    other = sentitok.train_wordpiece(sherlock, vocab_size=600)
    models = {"bytes": Late(tokenizer), "words": TokenizerModel(other)}
    with serving(create_app(models, Limits())) as made:
        yield made


def shown(page: Watched, name: str = "bytes") -> list[str]:
    """The spellings of the tokens of a panel."""
    found: list[str] = page.panel(name).locator(".token b").all_text_contents()
    return found


def wait_for_tokens(page: Watched, text: str, name: str = "bytes") -> None:
    """Waits until all spellings together begin as they should."""
    page.page.wait_for_function(
        """([name, text]) => {
          const panels = [...document.querySelectorAll(".panel")];
          const panel = panels.find((one) => one.querySelector("h2").textContent === name);
          const tokens = [...(panel ?? document.head).querySelectorAll(".token b")];
          return tokens.map((one) => one.textContent).join("").startsWith(text);
        }""",
        arg=[name, text],
    )


def test_tokens_come_as_one_types(page: Watched, tokenizer: sentitok.Tokenizer) -> None:
    page.text.press_sequentially("It is a truth", delay=2)
    wait_for_tokens(page, "It⋅is⋅a⋅truth")
    ids = page.panel("bytes").locator(".token i").all_text_contents()
    assert [int(id) for id in ids] == tokenizer.encode("It is a truth").ids.tolist()
    assert page.panel("bytes").get_by_role("heading", level=3).inner_text().startswith(f"{len(ids)} tokens")
    assert page.page.get_by_text("13 characters").is_visible()


def test_fewer_questions_than_keys(page: Watched) -> None:
    """Keys that come too soon wait for each other; all come in one task here, however slow the machine."""
    text = "It is a truth"
    page.text.evaluate(
        """(node, text) => {
          for (const letter of text) {
            node.value += letter;
            node.dispatchEvent(new Event("input"));
          }
        }""",
        text,
    )
    wait_for_tokens(page, "It⋅is⋅a⋅truth")
    assert 1 < len([url for url in page.asked if url.endswith("/api/tokenize")]) < 2 * len(text)


def test_two_tokenizers_stand_side_by_side(page: Watched) -> None:
    page.text.fill("naïve 👍🏽 and the rest")
    for name in ("bytes", "words"):
        page.panel(name).locator(".token").nth(3).wait_for()
    left, right = (page.panel(name).bounding_box() for name in ("bytes", "words"))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert shown(page, "bytes") != shown(page, "words")
    page.keep("tokenizers")


@pytest.mark.parametrize("text", ["👍🏽", "我喜欢", "a 𐍈𐍉 b"])
def test_tokens_that_share_a_character_are_one_group(
    page: Watched, tokenizer: sentitok.Tokenizer, text: str
) -> None:
    page.text.fill(text)
    panel = page.panel("bytes")
    panel.locator(".group").first.wait_for()
    spans = tokenizer.encode(text).offsets("chars", trim=False).tolist()
    groups: list[list[int]] = []
    for start, end in spans:
        if groups and start < groups[-1][1]:
            groups[-1] = [groups[-1][0], max(end, groups[-1][1]), 1]
        else:
            groups.append([start, end, 0])
    shared = [text[start:end] for start, end, several in groups if several]
    assert shared
    assert panel.locator(".group .char").all_text_contents() == shared
    assert panel.locator(".tokens > li:not(.break)").count() == len(groups)
    assert "\ufffd" not in panel.inner_text()


def test_white_space_can_be_seen(page: Watched) -> None:
    page.text.fill("a\tb  c\nd ")
    wait_for_tokens(page, "a→b⋅⋅c↵d⋅")
    # Redrawn with each answer, so it is waited for.
    page.page.wait_for_function("document.querySelectorAll('.break').length === 1")


def test_no_text_has_no_tokens(page: Watched) -> None:
    page.text.fill("some")
    wait_for_tokens(page, "some")
    page.text.fill("")
    page.panel("bytes").get_by_role("heading", name="0 tokens").wait_for()
    assert shown(page) == []


def test_a_late_answer_is_dropped(page: Watched) -> None:
    page.text.fill("late")
    page.page.wait_for_timeout(150)
    page.text.fill("late and early")
    wait_for_tokens(page, "late⋅and⋅early")
    page.page.wait_for_timeout(700)
    assert "".join(shown(page)) == "late⋅and⋅early"


def test_a_text_of_100_kilobytes(page: Watched, sherlock: Path, tokenizer: sentitok.Tokenizer) -> None:
    text = sherlock.read_text("utf-8")[:100_000]
    page.put(text)
    count = len(tokenizer.encode(text.replace("\r\n", "\n")))
    page.panel("bytes").get_by_role("heading", name=f"{count:,} tokens").wait_for()
    assert len(shown(page)) == 1000
    assert page.panel("bytes").get_by_text("The first 1,000 are shown.").is_visible()
    page.panel("bytes").get_by_role("button", name="Show all").click()
    page.page.wait_for_function("() => document.querySelectorAll('.panel:first-child .token').length > 10000")
    assert "#text" not in page.page.url


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_text(page: Watched, text: str) -> None:
    page.text.fill(text)
    wait_for_tokens(page, text[:1])
    page.until(lambda: "".join(shown(page)).replace("⋅", " ") == text)
    check_stays_text(page)
    page.until(lambda: "text=" in page.page.url)
    page.page.reload()  # now it comes from the address
    wait_for_tokens(page, text[:1])


def test_what_was_typed_and_chosen_is_in_the_address(page: Watched, chrome: Any) -> None:
    page.text.fill("naïve & 👍🏽 #1")
    page.page.get_by_label("tokens and ids").check()
    wait_for_tokens(page, "n")
    page.until(lambda: "view=" in page.page.url)
    address = page.page.url
    assert address.startswith(f"{page.url}#text=")
    with opened(chrome, address) as again:
        again.url = page.url
        wait_for_tokens(again, "n")
        assert again.text.input_value() == "naïve & 👍🏽 #1"
        assert again.page.get_by_label("tokens and ids").is_checked()
    assert not [
        url for url in page.asked if "na" in url.rpartition("/")[2] and "text" in url.partition("#")[0]
    ]


def test_ids_can_be_shown_and_hidden(page: Watched) -> None:
    page.text.fill("some words")
    wait_for_tokens(page, "some")
    first = page.panel("bytes").locator(".token").first
    for choice, text, ids in (("tokens", True, False), ("tokens and ids", True, True), ("ids", False, True)):
        page.page.get_by_role("radio", name=choice, exact=True).check()
        assert (first.locator("b").is_visible(), first.locator("i").is_visible()) == (text, ids), choice
    page.page.get_by_role("radio", name="neither").check()
    assert not first.is_visible()


def test_ids_can_be_copied(page: Watched, tokenizer: sentitok.Tokenizer) -> None:
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.text.fill("naïve words")
    wait_for_tokens(page, "n")
    page.panel("bytes").get_by_role("button", name="Copy ids").click()
    page.panel("bytes").get_by_role("button", name="Copied").wait_for()
    copied = page.page.evaluate("navigator.clipboard.readText()")
    page.page.context.clear_permissions()
    assert copied.replace(" ", "") == str(tokenizer.encode("naïve words").ids.tolist()).replace(" ", "")


def test_ids_lead_back_to_text(page: Watched, tokenizer: sentitok.Tokenizer) -> None:
    panel = page.panel("bytes")
    box = panel.get_by_label("Ids of bytes", exact=True)
    assert not box.is_visible()
    panel.get_by_text("Decode ids").click()
    text = " naïve <b>words</b>\n👍🏽"
    ids = tokenizer.encode(text).ids.tolist()
    decoded = panel.get_by_label("Text of the ids of bytes")
    for written in (str(ids), " ".join(map(str, ids))):
        box.fill("")
        page.page.wait_for_function("() => document.querySelector('.decoded').textContent === ''")
        box.fill(written)
        page.page.wait_for_function("() => document.querySelector('.decoded').textContent !== ''")
        assert decoded.evaluate("node => node.textContent") == text
    check_look(page)
    page.keep("decoded-ids")
    box.fill("12, twelve")
    panel.get_by_text("Ids are whole numbers").wait_for()
    assert page.complaints == []
    box.fill(str(tokenizer.vocab_size))
    panel.get_by_text(f"{tokenizer.vocab_size}").filter(has_text="id").last.wait_for()
    page.page.wait_for_function("() => !document.querySelector('.decoded').textContent.startsWith('Ids are')")
    assert "id" in decoded.inner_text()
    page.complaints.clear()  # the browser notes each answer that is not 200


def test_examples_are_five_buttons(page: Watched) -> None:
    buttons = page.page.get_by_role("group", name="Examples").get_by_role("button")
    assert buttons.count() == 5
    for number in range(5):
        buttons.nth(number).click()
        assert page.text.input_value() == buttons.nth(number).text_content()
        assert "".join(shown(page)) or page.page.wait_for_selector(".token")


def test_all_can_be_done_by_keyboard(page: Watched) -> None:
    """Tab reaches each control once, tokens as one; arrows go from token to token."""
    page.text.fill("one two three")
    wait_for_tokens(page, "one")
    reached = page.tab_to("Tokens of bytes")
    assert reached[0] == "text"
    detail = page.panel("bytes").locator(".details")
    assert detail.inner_text().startswith("“")
    before = detail.inner_text()
    page.page.keyboard.press("ArrowRight")
    assert detail.inner_text() != before
    assert "⋅two" in detail.inner_text()
    page.page.keyboard.press("End")
    assert "three" in detail.inner_text() or "⋅th" in detail.inner_text() or "ree" in detail.inner_text()
    page.page.keyboard.press("Home")
    assert detail.inner_text() == before


def test_a_screen_reader_finds_what_is_there(page: Watched) -> None:
    page.text.fill("one two")
    wait_for_tokens(page, "one")
    assert page.page.get_by_role("heading", level=1).count() == 1
    for name in ("bytes", "words"):
        panel = page.panel(name)
        assert panel.get_by_role("heading", level=2, name=name).is_visible()
        assert panel.get_by_role("list", name=f"Tokens of {name}").is_visible()
    assert page.panel("bytes").get_by_role("img", name="⋅two, id").count() == 1
    assert page.page.get_by_role("status").count() == 1


# All that a screen reader is given: of a list of tokens the first, of five examples one.
TREE = """
- banner:
  - heading "Tokens as you type" [level=1]
  - paragraph: /sentitok \\S+ What you type stays on this server; it is not logged./
- main:
  - region "Text":
    - textbox "Text": one two
    - paragraph: 7 characters
    - group "Examples":
      - button "1234567890 3.14159 $1,000,000"
  - region "Settings":
    - group "Show":
      - radio "tokens" [checked]
      - radio "tokens and ids"
      - radio "ids"
      - radio "neither"
  - region "bytes":
    - heading "bytes" [level=2]
    - paragraph: /BPE, [\\d,]+ ids/
    - heading /\\d+ tokens, .+ bytes each/ [level=3]
    - list "Tokens of bytes":
      - listitem:
        - img /one, id \\d+/: one
    - button "Copy ids"
    - group: Decode ids
  - region "words":
    - heading "words" [level=2]
    - list "Tokens of words":
      - listitem:
        - img /.CLS., id \\d+/
    - button "Copy ids"
    - group: Decode ids
  - status
  - alert
"""


def test_the_accessibility_tree_is_complete(page: Watched) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    page.text.fill("one two")
    wait_for_tokens(page, "one")
    wait_for_tokens(page, "[CLS]", "words")
    expect(page.page.locator("body")).to_match_aria_snapshot(TREE)


def test_every_control_is_a_stop_of_the_keyboard(page: Watched) -> None:
    page.text.fill("one two")
    wait_for_tokens(page, "one")
    wait_for_tokens(page, "[CLS]", "words")
    page.panel("bytes").get_by_text("Decode ids").click()
    check_keyboard(page)


def test_it_can_be_read_in_both_themes_and_on_a_telephone(page: Watched) -> None:
    page.text.fill("A naïve 👍🏽 text with averyveryveryverylongwordwithoutanyspaceinit" + "x" * 80)
    page.page.get_by_label("tokens and ids").check()
    wait_for_tokens(page, "A")
    backs = set()
    for width in (360, 1000):
        for scheme in ("light", "dark"):
            page.look_as(width, scheme)
            page.panel("bytes").locator(".token").first.hover()
            check_look(page)
            back = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (back == "rgb(255, 255, 255)") == (scheme == "light")
            backs.add(back)
            page.keep(f"tokenizers-{scheme}-{width}")
    assert len(backs) == 2


def test_a_server_that_has_gone_is_said(chrome: Any, window: Any, tokenizer: sentitok.Tokenizer) -> None:
    with serving(create_app({"one": TokenizerModel(tokenizer)}, Limits())) as client:
        page = Watched(chrome, client.url, window)
        page.text.fill("some")
        wait_for_tokens(page, "some", "one")
    page.text.fill("some more")
    page.page.get_by_text("The server does not answer").wait_for()
    page.leave()
