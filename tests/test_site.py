"""The site that `make docs` builds: strictly, from our own machine, and as a code host shows the pages."""

import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import docs_site
from pages import DOCUMENTS, ROOT

pytest.importorskip("material", reason="mkdocs-material, of the extra `docs`, is not installed")
pytest.importorskip("torch", reason="the reference describes senti as well")

SOURCES = [path for path in DOCUMENTS if path != ROOT / "README.md"]
# What the structure of a page consists of.
COUNTED = {
    *(f"h{n}" for n in range(1, 7)),
    "ul",
    "ol",
    "li",
    "table",
    "td",
    "th",
    "code",
    "pre",
    "img",
    "strong",
}


def build(config: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Builds a site as `make docs` does."""
    return subprocess.run(
        # Not --quiet: it silences warnings, and silenced warnings are not errors.
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.mark.parametrize(
    ("text", "said"),
    [("[a](a.md#a)", ""), ("[a](b.md)", "'b.md'"), ("[a](#b)", "'#b'"), ("![a](b.png)", "'b.png'")],
)
def test_a_link_that_leads_nowhere_ends_the_build(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(f"# A\n\n{text}\n", "utf-8")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [a.md]\nhooks: []\n", "utf-8")
    done = build(config, tmp_path / "site")
    assert (done.returncode != 0) == bool(said), done.stderr
    assert said in done.stderr


def page_of(site: Path, source: Path) -> str:
    path = source.relative_to(ROOT).as_posix().removeprefix("docs/")
    return (site / path).with_suffix(".html").read_text("utf-8")


class Counts(HTMLParser):
    """Counts elements, and keeps what the page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found[tag] += 1
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev", "edit"):
            self.loaded.append(values.get("href") or "")
        elif tag in ("script", "img", "iframe", "source"):
            self.loaded.append(values.get("src") or "")


def counts(html: str) -> Counts:
    parser = Counts()
    parser.feed(html)
    return parser


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_page_is_what_a_code_host_shows(source: Path, site: Path) -> None:
    (article,) = re.findall(r"<article\b.*?</article>", page_of(site, source), re.S)
    found = counts(article).found
    expected = counts(MarkdownIt("commonmark").enable("table").render(source.read_text("utf-8"))).found
    assert {tag: found[tag] for tag in COUNTED} == {tag: expected[tag] for tag in COUNTED}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(source: Path, site: Path) -> None:
    loaded = counts(page_of(site, source)).loaded
    assert len(loaded) > 3
    assert [url for url in loaded if re.match(r"(https?:)?//", url)] == []


def test_no_style_asks_another_machine(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert not re.search(r"(url\(|@import\s*)[\"']?(https?:)?//", style.read_text("utf-8")), style.name


READ = [
    ("- a\n  - b\n    more\n- c", "- a\n    - b\n        more\n- c"),
    ("1. a\n\n   - b\n2. c", "1. a\n\n    - b\n2. c"),
    ("text\n- a", "text\n\n- a"),
    ("- a\n  ```\n  - no item\n    x\n  ```", "- a\n    ```\n    - no item\n      x\n    ```"),
    ("```\n- a\n  - b\n```", "```\n- a\n  - b\n```"),
    ("| `a\\|b` | c \\| d |", "| `a|b` | c \\| d |"),
    ("- a\n\ntext\n- b", "- a\n\ntext\n\n- b"),
]


@pytest.mark.parametrize(("written", "expected"), READ)
def test_markdown_as_mkdocs_reads_it(written: str, expected: str) -> None:
    assert docs_site.as_python_markdown(written) == expected


def test_links_between_folders() -> None:
    assert docs_site.as_one_folder("[a](docs/a.md#b) [c](SECURITY.md)", "CONTRIBUTING.md") == (
        "[a](a.md#b) [c](SECURITY.md)"
    )
    assert docs_site.as_one_folder("[a](../../SECURITY.md) [b](../x/b.png) [c](#d)", "y/z.md") == (
        "[a](../SECURITY.md) [b](../x/b.png) [c](#d)"
    )
    assert docs_site.as_one_folder("[a](../README.md) [b](../CHANGELOG.md#c)", "index.md") == (
        "[a](index.md) [b](CHANGELOG.md#c)"
    )
