"""The picture of the page in docs/pictures: a classifier that explains its answer, a model that continues.

Drawn by a browser of the system, as `tests/browser.py` finds it. `pictures.py` draws all other figures by
commands, and calls this file too.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEXT = "A warm and funny story, even if the ending is a little long."
# The state of the page when its picture is taken.
STEPS = (
    f"type: {TEXT}", "tick: effect of each token", "set: tokens 24, seed 4", "press: Continue",
    "point at: the second token that was written",
)  # fmt: skip


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Runs a server on a free port; yields its address."""
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(match[0] for line in process.stdout if (match := re.search(r"http://\S+", line)))
        finally:
            process.terminate()


def take(command: list[str], target: Path) -> None:
    """Serves the runs and takes the picture, into a PNG."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import browser, opened

    size = {"width": 960, "height": 900}
    with browser() as chrome, serving(command) as url, opened(chrome, url, viewport=size) as page:
        _steps(page)
        page.page.screenshot(path=target, full_page=True)


def _steps(page: Any) -> None:
    page.text.fill(TEXT)
    page.page.get_by_label("effect of each token").check()
    page.page.locator(".token u").first.wait_for()
    page.page.locator("#max-new-tokens").fill("24")
    page.page.get_by_label("seed").fill("4")
    page.page.get_by_role("button", name="Continue").click()
    page.page.get_by_text(" a second: ").wait_for()
    page.page.locator(".piece").nth(1).hover()
    page.page.locator(".details dd").first.wait_for()
