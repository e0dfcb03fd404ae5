"""The page of benchmarks, whose sections take the places of their former selves, and the README's figures."""

from pathlib import Path

import pytest

import front_page
import page

TEXTS = ("English (IMDB reviews)", "Chinese (news)")
PAGE = "# Benchmarks\n\n## One\n\nold one\n\n### a\n\n## Two\n\nold two\n"


def test_a_section_takes_the_place_of_its_title() -> None:
    found = page.updated(PAGE, "## One\n\nnew one\n\n## Three\n\nthree")
    assert found == f"{page.HEAD}\n\n## One\n\nnew one\n\n## Two\n\nold two\n\n## Three\n\nthree\n"
    assert page.updated(found, "") == found


def test_each_title_says_when_and_of_what(tmp_path: Path) -> None:
    found = page.stamped("## One\n\ntext\n\n## Two\n\n### a", "On a machine.", tmp_path)
    one, two = found.split("\n\ntext\n\n")
    assert one.startswith("## One\n\n20")
    assert one.endswith(", commit unknown. On a machine.")
    assert two.startswith("## Two\n\n20")


def test_the_page_is_made_of_sections() -> None:
    path = Path(__file__).parents[1] / "docs" / "benchmarks.md"
    text = path.read_text(encoding="utf-8")
    assert page.updated(text, "") == text


def test_the_readme_has_the_figures_of_the_page() -> None:
    readme, text = (path.read_text("utf-8") for path in (front_page.README, front_page.PAGE))
    assert front_page.written(readme, text) == readme
    assert front_page.written(readme, text.replace("53 MB, 32,000", "53 MB, 31,000")) != readme
    with pytest.raises(ValueError, match='no table "gpt2, code'):
        front_page.figures(text.replace("### gpt2, code", "### gpt2, prose"))


def test_only_equal_results_are_rivals() -> None:
    rows = ["sentitok 0.1 | 1.0 | 1 MB | 100.00%", "a 1 | 0.1 | 1 MB | 98.99%", "b 1 | 3.0 | 1 MB | 99.97%"]
    table = "| library | seconds | peak memory | tokens shared with tokenizers |\n|---|---:|---:|---:|\n"
    table += "".join(f"| {row} |\n" for row in rows)
    text = front_page.PAGE.read_text("utf-8")
    titles = "".join(f"\n### {name}: 1 MB\n\n{table}" for name in TEXTS)
    text = text.replace(front_page.section(text, "Training"), titles)
    assert "| BPE: 1 MB | 1.0 s, 1 MB | - | b 3.0 s, 1 MB |" in front_page.training(text)
