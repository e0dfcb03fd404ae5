"""Hooks of mkdocs: add pages outside docs/ and the reference, rewrite CommonMark for Python-Markdown.

Code hosts read CommonMark; mkdocs uses Python-Markdown, which wants four spaces before nested items, a blank
line before a list, and no backslash before `|` in code. `tests/test_site.py` compares what both make of
every page.
"""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Pages outside docs/. README.md is for code hosts and package indexes; the site begins with docs/index.md.
OUTSIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

_ITEM = re.compile(r"([-*+]|\d{1,9}[.)]) +(?=\S)")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_PICTURE = re.compile(r"^!\[[^\]]*\]\(([^)]+)\)$", re.M)
_LINK = re.compile(r"\]\(([\w./-]+\.(?:md|png|svg))(?=[)#])")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages outside docs/, and the reference, which is generated."""
    from mkdocs.structure.files import File

    # mkdocs loads this file by its path, so its folder is not on Python's path.
    sys.path.insert(0, str(Path(__file__).parent))
    import reference

    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, page in reference.pages().items():
        files.append(File.generated(config, name, content=page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrites a page."""
    return as_python_markdown(_with_larger_pictures(as_one_folder(markdown, page.file.src_uri)))


def _with_larger_pictures(markdown: str) -> str:
    """Links each picture to its file: a telephone shows it small, and the file can be enlarged."""
    return _PICTURE.sub(r"[\g<0>](\1)", markdown)


def as_one_folder(markdown: str, page: str) -> str:
    """Changes links as if the files of docs/ were next to CONTRIBUTING.md, as they are on the site."""
    source = page if page in OUTSIDE else f"docs/{page}"

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        target = "index.md" if target == "README.md" else target.removeprefix("docs/")
        return f"]({posixpath.relpath(target, posixpath.dirname(page) or '.')}"

    return _LINK.sub(moved, markdown)


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
