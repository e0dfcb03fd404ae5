"""docs/lab/benchmarks.md, section by section: each says when, where and of what it was measured.

A page is a head and sections, which begin with `## `; a section
that is measured again replaces the one with its title, or comes last.
"""

import datetime
import re
import subprocess
from pathlib import Path

HEAD = (
    "# Benchmarks\n\nWritten by `make bench-all` (`benches/report.py`), not by hand. "
    "Trust ratios, not seconds: each section comes from one run on one machine."
)


def stamped(section: str, conditions: str, root: Path) -> str:
    """A section with a line below each of its titles that says of what commit it is, and how it was made."""
    commit = _git(root, "rev-parse", "--short", "HEAD") or "unknown"
    if _git(root, "status", "--porcelain", "--", "rust", "python", "Cargo.lock"):
        commit += " with changes"
    line = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, commit {commit}. {conditions}"
    return re.sub(r"(?m)^(## .+)$", lambda title: f"{title[1]}\n\n{line}", section)


def updated(page: str, sections: str) -> str:
    """The page with these sections instead of those of the same titles."""
    parts = dict(_split(page))
    parts.update(_split(sections))
    return "\n\n".join([HEAD, *parts.values()]) + "\n"


def _split(page: str) -> list[tuple[str, str]]:
    parts = re.split(r"(?m)^(?=## )", page)
    return [(part.splitlines()[0], part.strip()) for part in parts if part.startswith("## ")]


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()
