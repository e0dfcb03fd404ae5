"""A browser of the system, driven by Playwright, for the tests of the page.

`CHROMIUM` names one that is not on the path. With `SENTITOK_SCREENSHOTS` pictures of the pages
tested are kept in that folder.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from web_server import Client

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
# It calls nobody, and runs without a sandbox where it may not have one.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-dev-shm-usage", "--disable-software-rasterizer",
    "--disable-extensions", "--disable-features=Translate,OptimizationHints,MediaRouter",
]  # fmt: skip


# Texts that would run a script if a page took them for its own.
HOSTILE = (
    "<script>document.title = 'taken'; alert(1)</script>",
    "<img src=x onerror=alert(1)><svg onload=alert(1)>",
    "</li></ol><iframe src=//evil.example></iframe>{{7*7}}${alert(1)}",
    "javascript:alert(1)//' onmouseover='alert(1)",
)


def chromium() -> str | None:
    return os.environ.get("CHROMIUM") or next(
        (found for name in NAMES if (found := shutil.which(name))), None
    )


@contextmanager
def browser() -> Iterator[Any]:
    """A browser, or a skip that names the missing part."""
    made = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed, and CHROMIUM names none")
    with made.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


# The name of the focused element; that of its list, if it is in one.
FOCUSED = """
() => {
  const node = document.activeElement.closest("ol") ?? document.activeElement;
  return node.getAttribute("aria-label") ?? (node.id || node.textContent);
}
"""


VIEWPORT = {"width": 1000, "height": 900}


class Watched:
    """A page of a browser that notes what it asks for and what it complains of.

    In a new window, or in one that later tests use again: a new one takes half a second of computing.
    """

    def __init__(self, browser: Any, url: str, window: Any = None, **options: Any) -> None:
        self.shared = window is not None
        self.page = window or browser.new_context(**{"viewport": VIEWPORT, **options}).new_page()
        self.url = url
        self.looks_otherwise = False
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.heard: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self.asked.append(request.url),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": self.dismiss,
            "console": lambda message: (
                self.complaints.append(message.text) if message.type == "error" else None
            ),
        }
        for event, hear in self.heard.items():
            self.page.on(event, hear)
        self.page.set_default_timeout(120_000)
        self.page.goto(url)
        self.page.get_by_role("textbox", name="Text").wait_for()
        self.page.wait_for_selector(".panel")

    def dismiss(self, dialog: Any) -> None:
        self.complaints.append("dialog")
        dialog.dismiss()

    @property
    def text(self) -> Any:
        return self.page.get_by_role("textbox", name="Text")

    def panel(self, name: str) -> Any:
        return self.page.get_by_role("region", name=name, exact=True)

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits until a condition holds, up to two minutes."""
        end = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < end
            self.page.wait_for_timeout(20)

    def put(self, text: str) -> None:
        """Puts a text in at once, where a browser would take seconds to type it."""
        self.text.evaluate(
            "(node, text) => { node.value = text; node.dispatchEvent(new Event('input')); }", text
        )

    def look_as(self, width: int, scheme: str) -> None:
        """Shows the page in a window of this width, and in light or dark colours, until it is left."""
        self.page.set_viewport_size({"width": width, "height": 740})
        self.page.emulate_media(color_scheme=scheme)
        self.looks_otherwise = True

    def tab_to(self, last: str) -> list[str]:
        """Presses Tab from the page's beginning to `last`; returns the names that it reached."""
        self.page.locator("body").click(position={"x": 1, "y": 1})
        reached: list[str] = []
        while last not in reached:
            assert len(reached) < 60, reached
            self.page.keyboard.press("Tab")
            reached.append(self.page.evaluate(FOCUSED))
        return reached

    def keep(self, name: str) -> None:
        """Takes a picture, where pictures are kept."""
        folder = os.environ.get("SENTITOK_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def leave(self) -> None:
        """Closes the window, or leaves it to the next."""
        if not self.shared:
            self.page.context.close()
            return
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)
        self.page.goto("about:blank")
        if self.looks_otherwise:
            self.page.set_viewport_size(VIEWPORT)
            self.page.emulate_media(color_scheme="null")

    def close(self) -> None:
        """Ends, if no other host was asked and nothing went wrong."""
        self.leave()
        assert self.complaints == [], self.complaints
        assert [url for url in self.asked if not url.startswith((self.url, "data:"))] == []


@contextmanager
def opened(browser: Any, url: str, window: Any = None, **options: Any) -> Iterator[Watched]:
    page = Watched(browser, url, window, **options)
    try:
        yield page
    except BaseException:
        page.keep("failed")
        page.leave()
        raise
    page.close()


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """A browser."""
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def window(chrome: Any) -> Any:
    """A window that the tests of a file share."""
    return chrome.new_context(viewport=VIEWPORT).new_page()


@pytest.fixture
def page(chrome: Any, client: "Client", window: Any) -> Iterator[Watched]:
    """The page of the server that the file's `client` asks."""
    with opened(chrome, client.url, window) as made:
        yield made


# The least contrast of text against its background that WCAG 2.1 asks for.
CONTRAST = 4.5
CONTRASTS = """
() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const light = (rgb) => rgb.map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    if (!node) return [255, 255, 255];
    const own = parse(getComputedStyle(node).backgroundColor);
    return own.length === 3 ? own : over(own, behind(node.parentElement));
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!text || !node.checkVisibility() || node.matches(":disabled, .unseen, noscript, option")) continue;
    const back = behind(node);
    const fore = over(parse(getComputedStyle(node).color), back);
    const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
    const where = `${node.tagName}.${node.className}: ${node.textContent.slice(0, 20)}`;
    found.push([(a + 0.05) / (b + 0.05), where]);
  }
  return found;
}
"""
# Controls that a screen reader would call nothing.
NAMELESS = """
() => [...document.querySelectorAll("button, input, select, textarea")]
  .filter((node) => !node.textContent.trim() && !node.labels?.length && !node.getAttribute("aria-label"))
  .map((node) => node.outerHTML)
"""


# What Tab stops at, in the order of the page: of the buttons that exclude each other only the chosen one.
STOPS = """
() => [...document.querySelectorAll("button, input, select, textarea, a[href], summary, [tabindex]")]
  .filter((node) => node.checkVisibility() && !node.disabled && node.tabIndex >= 0)
  .filter((node) => node.type !== "radio" || node.checked)
"""
# Which of them has the focus, and whether one sees that.
STOP = f"""
() => {{
  const style = getComputedStyle(document.activeElement);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [({STOPS})().indexOf(document.activeElement), seen];
}}
"""


def check_keyboard(page: Watched) -> None:
    """Tab stops at every control in the order of the page, Shift+Tab goes back, and each stop can be seen."""
    n_stops = page.page.evaluate(f"({STOPS})().length")
    page.page.locator("body").click(position={"x": 1, "y": 1})
    for key, expected in (("Tab", range(n_stops)), ("Shift+Tab", reversed(range(n_stops - 1)))):
        for number in expected:
            page.page.keyboard.press(key)
            assert page.page.evaluate(STOP) == [number, True]


def check_stays_text(page: Watched) -> None:
    """Nothing of a text has become an element of the page, nor changed it."""
    assert page.page.locator(".panel :is(script, img, svg, iframe)").count() == 0
    assert "taken" not in page.page.title()


def check_look(page: Watched) -> None:
    """Text can be read, controls have names, and nothing sticks out to the right."""
    poor = [
        (round(contrast, 2), where)
        for contrast, where in page.page.evaluate(CONTRASTS)
        if contrast < CONTRAST
    ]
    assert poor == [], poor[:3]
    assert page.page.evaluate(NAMELESS) == []
    wide = page.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
