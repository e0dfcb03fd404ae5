"""What mkdocs is told beside mkdocs.yml: pages outside docs/, and Markdown as code hosts read it.

Not for the content of pages, which are plain Markdown first. Code hosts read CommonMark; mkdocs uses
Python-Markdown, which wants four spaces before nested items, a blank line before a list, and no
backslash before `|` in code. `tests/test_site.py` compares what both make of every page.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Pages beside docs/.
OUTSIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
# Files that pages link to, which are no pages.
SOURCES = ("rust/lib.rs",)

_ITEM = re.compile(r"([-*+]|\d{1,9}[.)]) +(?=\S)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_LINK = re.compile(r"(\]\()(docs/|\.\./)([\w./-]+\.(?:md|png|svg)\b)")


def on_files(files: Any, config: Any) -> Any:
    """Adds what lies beside docs/."""
    from mkdocs.structure.files import File

    for name in OUTSIDE + SOURCES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Rewrites a page."""
    return as_python_markdown(as_one_folder(markdown))


def as_one_folder(markdown: str) -> str:
    """Has links between docs/ and the folder above it lead to one folder, as the site is."""
    return _LINK.sub(r"\1\3", markdown)


def as_python_markdown(markdown: str) -> str:
    """Writes CommonMark so that Python-Markdown reads it alike."""
    written: list[str] = []
    inside: list[int] = []  # where the text of each item begins that is open
    fence = ""
    for line in markdown.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if not fence and line.strip():
            while inside and indent < inside[-1]:
                inside.pop()
        taken = min(indent, inside[-1]) if inside else 0
        rest = line[taken:]
        if mark := _FENCE.match(rest.lstrip(" ")):
            if not fence:
                fence = mark[1]
            elif rest.strip() == fence:
                fence = ""
        elif not fence:
            if item := _ITEM.match(rest):
                if not inside and written and written[-1].strip() and not _is_item(written[-1]):
                    written.append("")
                written.append("    " * len(inside) + rest)
                inside.append(taken + item.end())
                continue
            if rest.startswith("|"):
                rest = re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), rest)
        written.append("    " * len(inside) + rest if rest.strip() else "")
    return "\n".join(written)


def _is_item(line: str) -> bool:
    """Whether a line belongs to a list."""
    return line.startswith("    ") or _ITEM.match(line) is not None
