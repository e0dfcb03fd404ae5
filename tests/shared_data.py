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
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A comparison of an ordinary run reads one document of so many.
_STEP = 64


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


def collections(*, whole: bool = False) -> Iterable[tuple[str, list[str]]]:
    """The texts of the data sets, as (name, documents): all 89 MB, or every 64th document."""
    return _whole() if whole else _sample()


@cache
def _sample() -> list[tuple[str, list[str]]]:
    return [(name, documents[::_STEP]) for name, documents in _whole()]


def _whole() -> Iterator[tuple[str, list[str]]]:
    """Yields the collections one by one, so that one is in memory at a time."""
    for path in sorted((folder() / "corpora").glob("*.xz")):
        yield path.name, text("corpora", path.name).splitlines(keepends=True)
    for name in ("mixed_input.txt", "small_input.txt"):
        yield name, text("tokenizer-conformance", name).splitlines(keepends=True)
    yield "zh-news", text("zh-news", "peoples-daily-1998-01.txt.xz").splitlines(keepends=True)
    yield "udhr", declarations()
    yield "python", python_code()
    yield "imdb", imdb()
