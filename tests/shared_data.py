"""Documents of the larger data sets, for the tests that need them.

The folder is named by `SENTITOK_DATA` (default `../shared/data` beside the project).
Nothing is downloaded: without the folder these tests skip and say so.
"""

import csv
import gzip
import lzma
import os
import sysconfig
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def folder() -> Path:
    """The folder of the data sets; skips the test if there is none."""
    path = Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data")).resolve()
    if not path.is_dir():
        pytest.skip(f"no data sets at {path}; set SENTITOK_DATA to their folder")
    return path


def text(*parts: str) -> str:
    """The text of one file, decompressed."""
    path = folder().joinpath(*parts)
    data = path.read_bytes()
    match path.suffix:
        case ".xz":
            data = lzma.decompress(data)
        case ".gz":
            data = gzip.decompress(data)
    return data.decode("utf-8")


def imdb() -> list[str]:
    """The 40,000 film reviews."""
    csv.field_size_limit(1 << 30)
    with lzma.open(folder() / "imdb" / "imdb_40k.csv.xz", "rt", encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


def declarations() -> list[str]:
    """The Universal Declaration of Human Rights in 311 languages."""
    with zipfile.ZipFile(folder() / "udhr-multiscript" / "udhr2_a.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
        return [archive.read(name).decode("utf-8") for name in names]


def python_code() -> list[str]:
    """The files of Python's standard library, without its tests."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = (path for path in root.rglob("*.py") if not {"site-packages", "test"} & set(path.parts))
    return [path.read_text("utf-8", errors="replace") for path in sorted(paths)]


@cache
def collections() -> list[tuple[str, list[str]]]:
    """Every text of the data sets, as (name, documents): read once, and kept (89 MB of text)."""
    root = folder()
    corpora = [(path.name, text("corpora", path.name)) for path in sorted((root / "corpora").glob("*.xz"))]
    mixed = [(name, text("tokenizer-conformance", name)) for name in ("mixed_input.txt", "small_input.txt")]
    news = [("zh-news", text("zh-news", "peoples-daily-1998-01.txt.xz"))]
    return [
        *((name, lines.splitlines(keepends=True)) for name, lines in [*corpora, *mixed, *news]),
        ("udhr", declarations()),
        ("python", python_code()),
        ("imdb", imdb()),
    ]
