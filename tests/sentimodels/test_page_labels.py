"""Bars of a page of five labels: each can be distinguished from its background."""

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

from browser import browser, opened
from labelled_reviews import tree
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve
from sentimodels.web import load_models, routes
from sentitok.web import Limits, create_app
from web_server import serving

# The end of a bar is visible against the background: by its shade, or by a line at its end.
ENDS = """
() => {
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const apart = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  return [...document.querySelectorAll(".bar")].map((bar) => {
    const [track, fill, line] = [[bar], [bar.firstChild], [bar, "::after"]]
      .map((one) => light(getComputedStyle(...one).backgroundColor));
    return Math.max(apart(fill, track), Math.min(apart(line, fill), apart(line, track)));
  });
}
"""


def test_bars_of_five_labels_can_be_told_from_what_is_behind_them(tmp_path: Path) -> None:
    lines = [f"{'good ' * label}film {'bad ' * (4 - label)},{label}" for label in range(5)] * 20
    (tmp_path / "five.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    train(resolve(tree("tfidf", tmp_path / "five.csv")), tmp_path / "five", baseline=False)
    app = create_app(load_models([tmp_path / "five"]), Limits(), more=routes)
    with serving(app) as client, browser() as chrome, opened(chrome, client.url) as page:
        page.text.fill("good good film")
        page.panel("five").locator(".token").first.wait_for()
        for scheme in ("light", "dark"):
            page.look_as(1000, scheme)
            ends = page.page.evaluate(ENDS)
            assert len(ends) == 5
            assert min(ends) >= 3, ends
            page.keep(f"five-labels-{scheme}")
