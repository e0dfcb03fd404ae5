"""The texts all benches read, so that every library gets the same bytes.

Larger texts come from the folder named by `SENTITOK_DATA`; where it is absent
the texts of `tests/data/corpus` are used instead, and the names say so. Files are made
once, in `.benchmarks/corpora`, the same bytes each time.
"""

import bz2
import csv
import lzma
import os
import sysconfig
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "tests" / "data" / "corpus"
CACHE = ROOT / ".benchmarks" / "corpora"

# Bytes of one turn when texts are mixed: every eighth of the mix has all of them.
_TURN_BYTES = 1 << 16


@dataclass(frozen=True)
class Corpus:
    """A text file with a name for tables."""

    name: str
    path: Path

    @property
    def n_bytes(self) -> int:
        return self.path.stat().st_size

    def lines(self) -> list[str]:
        """The documents: lines with their ends."""
        with self.path.open(encoding="utf-8", newline="\n") as file:
            return list(file)

    def documents(self, least: int) -> list[str]:
        """Whole lines, together at least so many characters a document, except for the last."""
        documents: list[str] = []
        lines: list[str] = []
        length = 0
        for line in self.lines():
            lines.append(line)
            length += len(line)
            if length >= least:
                documents.append("".join(lines))
                lines, length = [], 0
        return [*documents, "".join(lines)] if lines else documents


def data_dir() -> Path | None:
    """The folder of larger data, or `None`."""
    folder = Path(os.environ.get("SENTITOK_DATA", ROOT / ".." / "shared" / "data"))
    return folder if folder.is_dir() else None


def _cached(name: str, make: Callable[[], Iterable[bytes]]) -> Path:
    path = CACHE / name
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.writelines(make())
        part.replace(path)
    return path


def _reviews(source: Path) -> Iterator[bytes]:
    csv.field_size_limit(1 << 30)
    with lzma.open(source, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["text"].replace("\n", " ").encode() + b"\n"


def _unpacked(source: Path) -> Iterator[bytes]:
    opener = bz2.open if source.suffix == ".bz2" else lzma.open
    with opener(source, "rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")


def english() -> Corpus:
    """Film reviews, one a line."""
    data = data_dir()
    if data is None or not (data / "imdb").is_dir():
        return Corpus("English (bundled novel)", BUNDLED / "pride-and-prejudice.txt")
    source = data / "imdb" / "imdb_40k.csv.xz"
    return Corpus("English (IMDB reviews)", _cached("english.txt", lambda: _reviews(source)))


def chinese() -> Corpus | None:
    """Newspaper text without spaces; `None` without the larger data."""
    data = data_dir()
    if data is None or not (data / "zh-news").is_dir():
        return None
    source = data / "zh-news" / "peoples-daily-1998-01.txt.xz"
    return Corpus("Chinese (news)", _cached("chinese.txt", lambda: _unpacked(source)))


def _sources() -> Iterator[bytes]:
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        text = path.read_bytes()
        try:
            text.decode()
        except UnicodeDecodeError:
            continue  # a few test files are meant to be broken
        yield text.replace(b"\r\n", b"\n")


def code() -> Corpus:
    """Python's standard library."""
    return Corpus("code (Python's library)", _cached("code.txt", _sources))


def _declarations(source: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(source) as archive:
        for name in sorted(archive.namelist()):
            yield archive.read(name).replace(b"\r\n", b"\n")


def scripts() -> Corpus:
    """One declaration in hundreds of languages and dozens of scripts."""
    data = data_dir()
    if data is None or not (data / "udhr-multiscript").is_dir():
        return Corpus("many scripts (bundled)", BUNDLED / "udhr-23-languages.txt")
    source = data / "udhr-multiscript" / "udhr2_a.zip"
    return Corpus("many scripts (UDHR)", _cached("scripts.txt", lambda: _declarations(source)))


def all_corpora() -> list[Corpus]:
    """English, Chinese, code and many scripts, as far as they are there."""
    return [corpus for corpus in (english(), chinese(), code(), scripts()) if corpus is not None]


def head(corpus: Corpus, n_bytes: int) -> Corpus:
    """The beginning of a corpus, cut at the end of a line."""
    if corpus.n_bytes <= n_bytes:
        return corpus

    def make() -> Iterator[bytes]:
        with corpus.path.open("rb") as file:
            yield file.read(n_bytes)
            yield file.readline()

    return Corpus(corpus.name, _cached(f"{corpus.path.stem}-{n_bytes}.txt", make))


def _mix(parts: list[Corpus], n_bytes: int) -> Iterator[bytes]:
    """Takes turns in proportion to size, so that every stretch has all texts."""
    total = sum(part.n_bytes for part in parts)
    files = [part.path.open("rb") for part in parts]
    written = 0
    try:
        while written < min(n_bytes, total):
            for part, file in zip(parts, files, strict=True):
                turn = file.read(max(1, _TURN_BYTES * part.n_bytes // total)) + file.readline()
                written += len(turn)
                yield turn
    finally:
        for file in files:
            file.close()


def mixed(n_bytes: int = 100_000_000) -> Corpus:
    """All texts alternately: `n_bytes`, or as much as there is."""
    parts = all_corpora()
    path = _cached(f"mixed-{n_bytes}.txt", lambda: _mix(parts, n_bytes))
    return Corpus("mixed", path)
