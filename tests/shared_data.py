"""Documents of the larger data sets, for the tests that need them.

The folder is named by `SENTITOK_DATA` (default `../shared/data` next to the project).
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
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A comparison of an ordinary run reads one document of so many.
_STEP = 128


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


def imdb(step: int = 1) -> list[str]:
    """The 40,000 film reviews, or one of so many."""
    csv.field_size_limit(1 << 30)
    with lzma.open(folder() / "imdb" / "imdb_40k.csv.xz", "rt", encoding="utf-8", newline="") as file:
        return [row["text"] for row in islice(csv.DictReader(file), 0, None, step)]


def declarations() -> list[str]:
    """The Universal Declaration of Human Rights in 311 languages."""
    with zipfile.ZipFile(folder() / "udhr-multiscript" / "udhr2_a.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
        return [archive.read(name).decode("utf-8") for name in names]


def python_code(step: int = 1) -> list[str]:
    """The files of Python's standard library without its tests, or one of so many."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = (path for path in root.rglob("*.py") if not {"site-packages", "test"} & set(path.parts))
    return [path.read_text("utf-8", errors="replace") for path in sorted(paths)[::step]]


def collections(*, whole: bool = False) -> Iterable[tuple[str, list[str]]]:
    """The texts of the data sets, as (name, documents): all 89 MB, or every 128th document."""
    return _every(1) if whole else _sample()


@cache
def _sample() -> list[tuple[str, list[str]]]:
    return [*_every(_STEP)]


def _every(step: int) -> Iterator[tuple[str, list[str]]]:
    """Yields each step-th document of the collections, one by one: one is in memory at a time."""
    for path in sorted((folder() / "corpora").glob("*.xz")):
        yield path.name, text("corpora", path.name).splitlines(keepends=True)[::step]
    for name in ("mixed_input.txt", "small_input.txt"):
        yield name, text("tokenizer-conformance", name).splitlines(keepends=True)[::step]
    yield "zh-news", text("zh-news", "peoples-daily-1998-01.txt.xz").splitlines(keepends=True)[::step]
    yield "udhr", declarations()[::step]
    yield "python", python_code(step)
    yield "imdb", imdb(step)
