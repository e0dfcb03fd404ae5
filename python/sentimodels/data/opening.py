"""Opens a data file: decompresses, decodes strictly, hashes its bytes.

Compression is found by the first bytes, not only by the name; the hash is that of the bytes after
decompression, so a file and its `.gz` are the same data. Bytes that are not text are an error naming offset
and line.
"""

import codecs
import hashlib
import io
import lzma
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

from sentitok import FormatError
from sentitok.bounded_lines import MAX_LINE, blocks, lines
from sentitok.opening import is_damage, unpacked, without_suffix

from ..errors import DataError

__all__ = ["MARKS", "guessed", "marked"]

_BLOCK = 1 << 20
_END = b"\x1a"
_SMALL = 1 << 28
_HALF = re.compile("[\ud800-\udfff]")


# How files begin that are not text, with their kinds and the remedies.
_FOREIGN = {
    b"PAR1": ("Parquet", "give --format parquet"),
    b"PK\x03\x04": ("a workbook of Excel or a zip archive", "save the sheet as CSV, or unpack it"),
    b"\xd0\xcf\x11\xe0": ("an old file of Excel or Word", "save it as CSV in UTF-8"),
    b"%PDF-": ("a PDF", "copy its text into a new file"),
    b"{\\rtf": ("rich text", "save it as plain text"),
    b"\x80\x04\x95": ("a pickle of Python", "write it as CSV or Parquet"),
    b"\x80\x05\x95": ("a pickle of Python", "write it as CSV or Parquet"),
    b"\x93NUMPY": ("an array of NumPy", "write it as CSV or Parquet"),
    b"\x89HDF": ("HDF5", "write it as CSV or Parquet"),
    b"ARROW1": ("an Arrow file", "write it as Parquet"),
    b"SQLite format 3\0": ("a database of SQLite", "write its table as CSV"),
    b"7z\xbc\xaf": ("an archive of 7-Zip", "unpack it"),
    b"Rar!": ("a RAR archive", "unpack it"),
    b"version https://git-lfs": ("a pointer of Git LFS", "git lfs pull brings the file"),
}
_PAGE = (b"<!doctype html", b"<html")


class NotUtf8Error(DataError):
    """A file that is read as UTF-8, and is not."""


def plain_suffix(path: Path) -> str:
    """Returns the suffix in lower case, without that of compression: `.tsv` of `a.tsv.xz`."""
    return Path(without_suffix(path.name)).suffix.lower()


def open_bytes(path: Path) -> IO[bytes]:
    """Opens a file for reading its bytes, decompressed.

    Raises:
        DataError: if it is a pipe or a device: a table is read more than once; or zst that nothing
            here unpacks.
        FileNotFoundError: if there is none.
    """
    if not (path.is_file() or path.is_dir()) and path.exists():
        raise DataError(f"{path}: a pipe or a device, which cannot be read twice; write it to a file first")
    file = path.open("rb")
    try:
        return unpacked(file, str(path))
    except FormatError as error:
        file.close()
        raise DataError(str(error)) from None


def foreign(path: Path) -> tuple[str, str] | None:
    """Returns the kind of a file that is not a table of text, and a remedy; `None` if it may be one.

    Raises:
        DataError: as `open_bytes`.
        FileNotFoundError: if there is none.
    """
    with _damage_named(path), open_bytes(path) as source:
        head = source.read(512)
    if head[257:262] == b"ustar":
        return "a tar archive", "unpack it"
    if head.lstrip()[:14].lower().startswith(_PAGE):
        return "a web page", "download the file itself"
    return _known_beginning(head)


def _known_beginning(head: bytes) -> tuple[str, str] | None:
    return next((known for begin, known in _FOREIGN.items() if head.startswith(begin)), None)


def read_text(
    path: Path, encoding: str | None, otherwise: str | None, max_line_bytes: int | None = None
) -> tuple[str, str]:
    """Returns the text of a file of a folder, and the hash of its bytes after decompression.

    Args:
        path: the file.
        encoding: of its text, if it was named.
        otherwise: the encoding where it is not UTF-8 and none was named.
        max_line_bytes: the longest line, in bytes of UTF-8; 2^28 if not given.

    Raises:
        DataError: if it is not text, or not in the encoding.
        NotUtf8Error: if it is not UTF-8, and nothing else was named.
    """

    def read(encoding: str) -> tuple[str, str]:
        with open_text(path, encoding, max_line_bytes) as opened:
            return opened.text(), opened.sha256()

    try:
        text, sha256 = read(encoding or "utf-8")
    except NotUtf8Error:
        with _damage_named(path), open_bytes(path) as source:
            head = source.read(4096)
        mark = marked(head)
        if mark is None:
            _refuse_foreign(path, head)
        if encoding is not None or otherwise is None:
            raise
        text, sha256 = read(mark or otherwise)
    _refuse_foreign(path, text[:32].encode("utf-8", "replace") + b"\0" * ("\0" in text))
    return text, sha256


def _refuse_foreign(path: Path, head: bytes) -> None:
    """Refuses a file of a folder of texts that is not text, by how it begins."""
    what, remedy = _known_beginning(head) or ("NUL bytes", "move it elsewhere, or give its --encoding")
    if b"\0" in head or what != "NUL bytes":
        raise DataError(f"{path}: {what}, not a text; {remedy}")


def encoding_of_files(files: Iterable[Path]) -> str:
    """Returns the encoding of those of some files that are not UTF-8.

    A byte-order mark determines the encoding of one file only, so such files count only if all have one.

    Raises:
        DataError: if it is unclear.
    """
    found: list[str] = []
    first: Path | None = None
    sample: list[bytes] = []
    size = 0
    for path in files:
        with _damage_named(path), open_bytes(path) as source:
            data = source.read(_SAMPLE)
        if (name := marked(data[:4096])) is not None:
            found.append(name)
            continue
        try:
            # The end of the sample may cut a character.
            codecs.getincrementaldecoder("utf-8")().decode(data, len(data) < _SAMPLE)
        except UnicodeDecodeError:
            first = first or path
            sample += data.splitlines(keepends=True)
            size += len(data)
            if size > _SAMPLE:
                break
    if first is None:
        return next(iter(found), "utf-8")
    try:
        return guessed(first, sample)
    except DataError as error:
        raise DataError(
            f"{first}: is not UTF-8, and the encoding of such files is unclear; give it, as in --encoding "
            "cp1252, --encoding latin-1 or --encoding gb18030"
        ) from error


def read_small(path: Path) -> str:
    """Reads a file of settings or results, which is never large; a byte order mark is not part of its text.

    Raises:
        DataError: if it does not end, as a device does not, or is not UTF-8.
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(_SMALL + 1)
    if len(data) > _SMALL:
        raise DataError(f"{path}: larger than {_SMALL} bytes, the most that such a file has")
    for mark, name in MARKS.items():
        if data.startswith(mark):
            raise DataError(f"{path}: begins with the mark of {name}; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{path}: byte {error.start} (line {line}) is not UTF-8; save it as UTF-8") from error


class _Hashing(io.RawIOBase):
    """Passes bytes on and hashes them; Ctrl-Z at the very end, by which DOS ends a text, is left out."""

    def __init__(self, source: IO[bytes], *, end_mark: bool) -> None:
        self.source = source
        self.digest = hashlib.sha256()
        self._end = _END if end_mark else None
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            some = self.source.read(len(buffer) - len(self._held))
            self.digest.update(some)
            data, self._held = self._held + some, b""
            if self._end is None or not data.endswith(self._end):
                break
            data = data[:-1]
            if not some:
                break
            self._held = self._end
            if data:
                break
        buffer[: len(data)] = data
        return len(data)


class TextFile:
    """An open text file: `text`, `lines` or `stream`, once; then `sha256`.

    Attributes:
        path: of the file.
        longest: the longest line or row, in bytes of UTF-8.
    """

    def __init__(self, path: Path, source: IO[bytes], encoding: str, max_line_bytes: int) -> None:
        self.path = path
        self.longest = max_line_bytes
        encoding = codecs.lookup(encoding).name  # UTF-8, utf8 and utf_8 are one
        self._raw = _Hashing(source, end_mark=not encoding.startswith(("utf-16", "utf-32")))
        buffered = io.BufferedReader(self._raw, _BLOCK)
        if encoding == "utf-8" and (name := marked(buffered.peek(4096)[:4096])) is not None:
            raise NotUtf8Error(f"{path}: is {name}; give --encoding {name}")
        # A UTF-8 mark is not part of the text.
        self._codec = "utf-8-sig" if encoding == "utf-8" else encoding
        self._buffered = buffered

    def stream(self) -> IO[str]:
        """The text, for a parser that finds line ends itself."""
        return io.TextIOWrapper(self._buffered, encoding=self._codec, errors="strict", newline="")

    def text(self) -> str:
        """Returns the whole text, its ends of lines as they are."""
        return "".join(lines(self.stream(), str(self.path), self.longest))

    def lines(self) -> Iterator[str]:
        """Yields the lines without their ends; LF and CRLF end a line, and CR in a file without LF."""
        return chain.from_iterable(self.line_blocks())

    def line_blocks(self) -> Iterator[list[str]]:
        """Yields the same lines, many at a time."""
        head = self._buffered.peek(_BLOCK)
        newline = None if b"\r" in head and b"\n" not in head else "\n"
        text = io.TextIOWrapper(self._buffered, encoding=self._codec, errors="strict", newline=newline)
        return blocks(text, str(self.path), self.longest)

    def sha256(self) -> str:
        """Reads to the end; returns the hash of the whole file."""
        while block := self._raw.source.read(_BLOCK):
            self._raw.digest.update(block)
        return self._raw.digest.hexdigest()


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", max_line_bytes: int | None = None) -> Iterator[TextFile]:
    """Opens a text file; errors while it is read become a `DataError`.

    Args:
        path: the file; gz, xz, bz2 and zst are unpacked.
        encoding: of the text.
        max_line_bytes: the longest line, in bytes of UTF-8; 2^28 if not given.

    Raises:
        DataError: if the bytes are not in the encoding, or the compressed data ends early.
        FileNotFoundError: if there is no file.
    """
    with _damage_named(path), open_bytes(path) as source:
        try:
            yield TextFile(path, source, encoding, MAX_LINE if max_line_bytes is None else max_line_bytes)
        except FormatError as error:
            raise DataError(str(error)) from None
        except UnicodeDecodeError as error:
            kind = NotUtf8Error if codecs.lookup(encoding).name == "utf-8" else DataError
            remedy = "give its encoding, as in --encoding cp1252 or --encoding latin-1"
            raise kind(f"{not_in_encoding(path, encoding)}; {remedy}") from error
        except UnicodeError as error:  # as of UTF-16 that does not begin with its mark
            raise DataError(f"{path}: is not {encoding}: {error}") from error
        except LookupError as error:
            raise DataError(f"{path}: unknown encoding {encoding!r}") from error


def encoding_of(path: Path) -> str:
    """Returns the encoding of a text file that is not UTF-8.

    Raises:
        DataError: if it is unclear.
    """
    with _damage_named(path), open_bytes(path) as source:
        if (name := marked(source.read(4096))) is not None:
            return name
    with _damage_named(path), open_bytes(path) as source:
        return guessed(path, source)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turns errors of damaged compression into a `DataError`."""
    try:
        yield
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if not is_damage(error):
            raise
        raise DataError(f"{path}: compressed data is broken or ends early ({error})") from error


def not_in_encoding(path: Path, encoding: str) -> str:
    """Says where the first bytes lie that are not in the encoding."""
    offset = 0
    with open_bytes(path) as source:
        for number, line in enumerate(source, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return f"{path}: byte {offset + error.start} (line {number}) is not {encoding}"
            offset += len(line)
    return f"{path}: not {encoding}"


def whole_characters(text: str) -> str:
    """Returns a text with U+FFFD for each half of a character: JSON can hold one, as of a text cut off."""
    return _HALF.sub("\ufffd", text)


def hash_file(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes after decompression."""
    digest = hashlib.sha256()
    with open_bytes(path) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def hash_hashes(named: Iterable[tuple[str, str]]) -> str:
    """Returns one hash for several named files, whatever their order."""
    digest = hashlib.sha256()
    for name, hash_ in sorted(named):
        digest.update(f"{name}\0{hash_}\n".encode())
    return digest.hexdigest()


def hash_rows(texts: Sequence[str], labels: Sequence[str] | None) -> str:
    """Returns a hash of rows that came from no file."""
    digest = hashlib.sha256()
    for row, text in enumerate(texts):
        label = "" if labels is None else labels[row]
        digest.update(f"{len(text)}:{len(label)}:".encode())
        digest.update(f"{text}{label}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


# Byte order marks; the longer one first.
MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
# How texts of seven bits that are not ASCII begin their characters.
_ESCAPES = {b"\x1b$B": "iso2022_jp", b"\x1b$@": "iso2022_jp", b"\x1b$)C": "iso2022_kr"}
# As much of the lines that are not ASCII as decides.
_SAMPLE = 1 << 17
_RUN = re.compile(rb"[\x80-\xff]+")
# The letters beyond ASCII that a language is written with, in capitals and small ones.
_WESTERN = {
    "English": "éèêëïîöüçñáâàô",
    "French": "éèàçùâêîôûëïüœæÿ",
    "German": "äöüßé",
    "Spanish": "áéíóúüñ",
    "Portuguese": "áàâãçéêíóôõúü",
    "Italian": "àèéìíîòóùú",
    "Catalan": "àçéèíïóòúü",
    "Dutch": "ëïéèöüóáê",
    "Swedish and Finnish": "åäöé",
    "Danish and Norwegian": "æøåé",
    "Icelandic": "áðéíóúýþæö",
}
_CENTRAL = {
    "Polish": "ąćęłńóśźż",
    "Czech": "áčďéěíňóřšťúůýž",
    "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Hungarian": "áéíóöőúüű",
    "Romanian": "ăâîşţ",
    "Croatian and Slovene": "čćđšž",
    "German": "äöüß",
}
_BALTIC = {"Lithuanian": "ąčęėįšųūž", "Latvian": "āčēģīķļņōŗšūž", "Estonian": "äöõüšž"}
_TURKISH = {"Turkish": "çğıöşüâîûİ"}
# The encodings of Latin letters, the most frequent first, with the languages that are written in them.
_LATIN = {
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "cp1254": _TURKISH,
    "cp1257": _BALTIC,
    "iso8859_2": _CENTRAL,
}
# Encodings of old systems, for texts that none of the first reads well.
_LATIN_OF_OLD = {
    "mac_roman": _WESTERN,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
    "cp857": _TURKISH,
    "mac_latin2": _CENTRAL,
}
# Signs that all of them may have; within a word only the apostrophe.
_SIGNS = "’‘“”„–—…€£°«»¿¡§·•´™®©ªº¼½¾‰÷×\xa0"
_HIGH = re.compile("[^\x00-\x7f]")


def _share(pattern: str) -> Callable[[str, str], float]:
    letters = re.compile(pattern)
    return lambda text, _: len(letters.findall(text)) / max(1, len(_high(text)))


def _high(text: str) -> str:
    return "".join(re.findall(r"[^\x00-\x7f]+", text))


def _common_han(low: int, high: int) -> Callable[[str, str], float]:
    """The share of the frequent characters, which both GB and Big5 keep in separate rows."""

    def share(text: str, encoding: str) -> float:
        chars = [one.encode(encoding) for one in _high(text)]
        marks = sum(one[:1] in (b"\xa1", b"\xa3") for one in chars)
        frequent = sum(low <= one[0] <= high and one[1] >= 0x40 for one in chars if len(one) == 2)
        return frequent / max(1, len(chars) - marks)

    return share


# Each encoding with the share of its characters that texts have in it, and how much of it is enough. The
# first three have letters that no other text shows; of the rest the one with the largest share is right.
_LETTERS_ALONE: tuple[tuple[str, Callable[[str, str], float], float], ...] = (
    ("euc_jp", _share("[\u3041-\u30ff]"), 0.25),
    ("cp932", _share("[\u3041-\u30ff]"), 0.25),
    ("cp949", _share("[\uac00-\ud7a3]"), 0.85),
)
_BY_SHARE: tuple[tuple[str, Callable[[str, str], float]], ...] = (
    ("gb18030", _common_han(0xB0, 0xD7)),
    ("big5", _common_han(0xA4, 0xC6)),
    # Before Russian, whose ы, ь and я it does not have.
    ("cp1255", _share("[\u05d0-\u05ea]")),
    ("cp1251", _share("[а-яёіїєґўђјљњћџ]")),
    ("koi8_r", _share("[а-яё]")),
    ("iso8859_5", _share("[а-яё]")),
    ("mac_cyrillic", _share("[а-яё]")),
    ("cp1253", _share("[ά-ώ]")),
    ("cp1256", _share("[\u0621-\u064a]")),
)
_ENOUGH = 0.7
# The least of `_written_in` that makes older encodings needless, and the least that is believed.
_LATIN_CLEAR = 0.85
_LATIN_ENOUGH = 0.6


def marked(head: bytes) -> str | None:
    """Returns the encoding that the first bytes of a file show: by a mark, or by UTF-16's many zeros."""
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[0:2000:2], head[1:2000:2]
    if len(odd) > 4 and len(head) % 2 == 0:
        for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
            if zeros.count(0) > 0.6 * len(zeros) and not others.count(0):
                return name
            # Of scripts beyond Latin only blanks, separators and line ends have a zero there.
            text = head.decode(name, "replace")
            if zeros.count(0) > 3 and "\n" in text and "\0" not in text and text.count("\ufffd") < 2:
                return name
    for escape, name in _ESCAPES.items():
        if escape in head and head.isascii():
            return name
    return None


def guessed(path: Path, source: Iterable[bytes]) -> str:
    """Returns the encoding of a file that is not UTF-8.

    The letters decide where they are clear, and charset-normalizer where they are not. Its answer alone
    takes Polish for French and Japanese for Korean in texts of a few lines.

    Args:
        path: for messages.
        source: its lines.

    Raises:
        DataError: if it ends within a character, holds UTF-8 and something else, or is unclear.
    """
    offset, other, where, cut = 0, 0, "", False
    sample, size = [], 0
    for number, line in enumerate(source, 1):
        if not line.isascii():
            try:
                line.decode("utf-8")
                other = other or number
            except UnicodeDecodeError as error:
                # A file that was cut off has one such line, its last.
                cut = not where and error.reason == "unexpected end of data"
                where = where or f"byte {offset + error.start} (line {number})"
            if size < _SAMPLE:
                sample.append(line)
                size += len(line)
        offset += len(line)
    data = b"".join(sample)
    if cut:
        raise DataError(
            f"{path}: ends within a character of utf-8, at {where}, as a file does that was cut off; "
            "write it again, or delete its last line"
        )
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if other and len(_high(text)) - bad >= bad:
        # Read as one encoding, the lines of the other would turn into nonsense.
        raise DataError(
            f"{path}: two encodings: line {other} has characters of UTF-8, and {where} is not UTF-8, "
            "perhaps Windows-1252; write the whole file as UTF-8, or name one encoding: --encoding cp1252"
        )
    found = _latin(data, 1.9) or _by_script(data) or _latin(data, 4) or _by_normalizer(data)
    if found is None:
        raise DataError(
            f"{path}: {where} is not UTF-8, and its encoding cannot be recognised; give it, as in "
            "--encoding cp1252, --encoding latin-1 or --encoding gb18030"
        )
    return found


def decodes_better(path: Path, usual: str, found: str) -> bool:
    """Whether a file that is not UTF-8 reads better in the encoding of an earlier file than as was guessed.

    Args:
        path: the file.
        usual: the encoding of the earlier file.
        found: the one that was guessed.
    """
    sample, size = [], 0
    with _damage_named(path), open_bytes(path) as source:
        if marked(source.read(4096)) is not None:
            return False
    with _damage_named(path), open_bytes(path) as source:
        for line in source:
            if not line.isascii():
                sample.append(line)
                size += len(line)
                if size > _SAMPLE:
                    break
    data = b"".join(sample)
    as_usual, as_found = _decoded(data, usual), _decoded(data, found)
    if as_usual is None or as_found is None:
        return as_found is None
    return as_usual == as_found or _n_odd(as_usual) < _n_odd(as_found)


# Anything but blanks, ASCII without letters, and the punctuation of Chinese and Japanese.
_WORD = re.compile("[^\\s!-@\\[-`{-~\u3000-\u303f\uff00-\uff0f\uff1a-\uff1f]+")


def _n_odd(text: str) -> float:
    """Returns the share of words beyond ASCII that no language writes.

    Their letters are of two alphabets, most are Latin letters with marks, a capital follows a small letter,
    or a sign or a control character is within them.
    """
    words = [word for word in _WORD.findall(text) if not word.isascii()]

    def odd(word: str) -> bool:
        inner = word.strip("«»„“”‚‘’…–—¿¡©®™°€£§·•\xa0")
        alphabets = {unicodedata.name(char, "").partition(" ")[0] for char in inner if char.isalpha()}
        marked_ones = sum(char > "\x7f" for char in inner)
        return (
            not all(char.isalpha() or unicodedata.combining(char) or char in "’‘–—" for char in inner)
            or len(alphabets - {"HIRAGANA", "KATAKANA", "CJK"}) > 1
            or (alphabets == {"LATIN"} and marked_ones * 2 > len(inner) > 2)
            or any(a.islower() and b.isupper() for a, b in pairwise(inner))
        )

    return sum(map(odd, words)) / max(1, len(words))


def _latin(data: bytes, run: float) -> str | None:
    """The encoding of a Latin alphabet: runs of letters beyond ASCII have a mean length of `run` at most."""
    runs = _RUN.findall(data)
    n_high = sum(map(len, runs))
    n_ascii = len(re.findall(rb"[A-Za-z]", data))
    sparse = n_high < 0.05 * n_ascii
    if not sparse and (n_high > n_ascii or n_high > run * len(runs)):
        return None
    lines = [line for line in data.splitlines() if not line.isascii()]
    best = (0.0, "latin-1")
    for encodings, enough in ((_LATIN, _LATIN_CLEAR), (_LATIN_OF_OLD, _LATIN_ENOUGH)):
        for encoding, languages in encodings.items():
            text = [line for one in lines if (line := _decoded(one, encoding)) is not None]
            if len(text) == len(lines):
                score = _written_in(text, languages)
                # Of equals the first: it is the most frequent one.
                best = (score, encoding) if score > best[0] + 0.005 else best
        if best[0] >= enough:
            return best[1]
    return None


def _written_in(lines: list[str], languages: Mapping[str, str]) -> float:
    """How well lines are read by the letters of some languages: 1 where each is of one, and all of the same.

    The mean of two shares of the characters beyond ASCII: letters of each line's best language, and
    letters of the best language of all lines.
    """
    total, by_line, overall = 0, 0, [0] * len(languages)
    alphabets = [set(letters + letters.upper().replace("SS", "")) for letters in languages.values()]
    for line in lines:
        found = [0] * len(alphabets)
        n_signs = 0
        for match in _HIGH.finditer(line):
            char, at = match[0], match.start()
            before, after = line[at - 1 : at], line[at + 1 : at + 2]
            total += 1
            if char in _SIGNS:
                n_signs += char == "’" or not (before.isalpha() and after.isalpha())
            elif not (char.isupper() and before.islower()):
                for number, alphabet in enumerate(alphabets):
                    found[number] += char in alphabet
        by_line += max(found) + n_signs
        overall = [a + b + n_signs for a, b in zip(overall, found, strict=True)]
    return (by_line + max(overall)) / max(1, 2 * total)


def _by_script(data: bytes) -> str | None:
    for encoding, share, enough in _LETTERS_ALONE:
        text = _decoded(data, encoding)
        if text is not None and share(text, encoding) >= enough:
            return encoding
    shares = {
        encoding: share(text, encoding)
        for encoding, share in _BY_SHARE
        if (text := _decoded(data, encoding)) is not None
    }
    best = max(shares, key=lambda encoding: shares[encoding], default=None)
    return best if best is not None and shares[best] >= _ENOUGH else None


def _by_normalizer(data: bytes) -> str | None:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    best = from_bytes(data).best()
    return None if best is None else codecs.lookup(best.encoding).name


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
