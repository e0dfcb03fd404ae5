"""The page of benchmarks: a section that is measured anew takes the place of its former self."""

from pathlib import Path

import page

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
