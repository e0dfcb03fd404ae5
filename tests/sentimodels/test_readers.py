"""Readers: every format, guesses, bad input; and the shared data sets."""

import gzip
import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shared_data
from sampled_cases import sample
from sentimodels.data import Table, read_table
from sentimodels.data.readers import FORMATS
from sentimodels.data.row_buffer import as_text
from sentimodels.data.sst import phrases, unescape
from sentimodels.data.writers import write_table, write_texts
from sentimodels.errors import DataError

HEADER = "PhraseId\tSentenceId\tPhrase\tSentiment\n"
PHRASES = HEADER + '1\t1\tNone\t2\n2\t1\tnull\t1\n3\t2\t"quoted " x\t0\n4\t2\t \t2\n'
YELP = "business_id,date,review_id,stars,text,type,user_id,cool,useful,funny\nb,d,r,4,nice,review,u,0,0,0\n"
TREES = "(3 (2 It) (4 (2 's) (3 (2 -LRB-) (4 and\\/or))))\n(0 (1 No\u00a0one) (2 .))\n(2 (2 so) (2 so))\n"
FASTTEXT = "__label__good a fine film\n\ndull __label__bad,really and long\n__label__good\tx__label__y\n"
PAIRS = "one long string\t0\nwonderful\t1\n"
CSV = 'text,label\n"a, ""quoted""\nbook",pos\nplain,neg\n'


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    match path.suffix:
        case ".gz":
            data = gzip.compress(data)
        case ".xz":
            data = lzma.compress(data)
        case ".zst":
            data = pyarrow.Codec("zstd").compress(data, asbytes=True)
    path.write_bytes(data)
    return path


# (name, content, options, format, texts, labels, groups, ids)
READ: list[tuple[str, str | bytes, dict[str, Any], str, list[str], Any, Any, Any]] = [
    ("train.tsv", PHRASES, {}, "phrases", ["None", "null", '"quoted " x', " "], ["2", "1", "0", "2"],
     ["1", "1", "2", "2"], ["1", "2", "3", "4"]),
    ("test.tsv.xz", "PhraseId\tSentenceId\tPhrase\n7\t3\tNA\n", {}, "phrases", ["NA"], None, ["3"], ["7"]),
    ("crlf.tsv", PHRASES.replace("\n", "\r\n"), {"limit": 1}, "phrases", ["None"], ["2"], ["1"], ["1"]),
    ("trees.txt", TREES, {}, "sst", ["It 's -LRB- and\\/or", "No\u00a0one .", "so so"], ["3", "0", "2"],
     ["1", "2", "3"], None),
    ("trees.txt.gz", TREES, {"unescape": True, "limit": 1}, "sst", ["It 's ( and/or"], ["3"], ["1"], None),
    ("a.csv.zst", CSV, {}, "csv", ['a, "quoted"\nbook', "plain"], ["pos", "neg"], None, None),
    ("y.jsonl.zst", '{"stars": 5.0, "text": "a\\nb"}\n', {}, "jsonl", ["a\nb"], ["5"], None, None),
    ("x.neg.zst", "b\xe9b\xe9 . \n".encode("latin-1"), {}, "polarity", ["bébé ."], ["neg"], None, ["neg/1"]),
    ("train.TSV.gz", PHRASES, {"limit": 1}, "phrases", ["None"], ["2"], ["1"], ["1"]),
    ("b.txt", TREES, {"format": "sst-binary"}, "sst-binary", ["It 's -LRB- and\\/or", "No\u00a0one ."],
     ["1", "0"], ["1", "2"], None),
    ("p.txt", TREES, {"format": "sst-phrases", "skip": 7}, "sst-phrases",
     ["No\u00a0one .", "No\u00a0one", ".", "so so", "so", "so"], list("012222"), list("222333"), None),
    ("dev.tsv", PAIRS, {}, "pairs", ["one long string", "wonderful"], ["0", "1"], None, None),
    ("swapped.txt", "0\tbad\n1\tgood one\n", {}, "pairs", ["bad", "good one"], ["0", "1"], None, None),
    ("reviews.train", FASTTEXT, {}, "fasttext", ["a fine film", "dull and long", "x__label__y"],
     ["good", "bad,really", "good"], None, None),
    ("unlabelled.txt", "__label__a x\ny\n", {"format": "fasttext", "blank_labels": "keep"}, "fasttext",
     ["x", "y"], ["a", ""], None, None),
    ("a.csv", CSV, {}, "csv", ['a, "quoted"\nbook', "plain"], ["pos", "neg"], None, None),
    ("bom.csv", b"\xef\xbb\xbf" + CSV.encode(), {"limit": 1}, "csv", ['a, "quoted"\nbook'], ["pos"], None,
     None),
    ("two.csv", "review,mood\nfine,1\n", {}, "csv", ["fine"], ["1"], None, None),
    ("unlabelled.csv", "id,text\n9,x\n", {}, "csv", ["x"], None, None, ["9"]),
    ("imdb.csv", "split,label,rating,id,text\ntrain,0,3,neg/0,a<br /><br />b\ntest,1,9,pos/1,c\n",
     {"where": "split=train", "clean": True}, "csv", ["a b"], ["0"], None, ["neg/0"]),
    ("named.csv", "a,b,c\nx,y,z\n", {"text_column": "c", "label_column": "a", "group_column": "b"}, "csv",
     ["z"], ["x"], ["y"], None),
    ("t.tsv", 'text\tlabel\n"a\tb"\t1\n', {}, "tsv", ["a\tb"], ["1"], None, None),
    ("y.jsonl", '{"review_id": "r", "stars": 5.0, "text": "good\\nfood", "user": {"x": 1}}\n\n', {}, "jsonl",
     ["good\nfood"], ["5"], None, ["r"]),
    ("yelp.csv", YELP, {}, "csv", ["nice"], ["4"], None, ["r"]),
    ("latin.csv", b"text,label\ncaf\xe9,1\n", {"encoding": "latin-1"}, "csv", ["café"], ["1"],
     None, None),
    ("mark.csv", "\ufefftext,label\ncafé,1\n".encode(), {"encoding": "UTF8"}, "csv", ["café"], ["1"],
     None, None),
    ("x.neg", "b\xe9b\xe9 . \n".encode("latin-1"), {}, "polarity", ["bébé ."], ["neg"], None, ["neg/1"]),
    ("blank.csv", "text,label\na,1\nb,\n", {"blank_labels": "drop"}, "csv", ["a"], ["1"], None, None),
    ("keep.csv", "text,label\na,1\nb,\n", {"blank_labels": "keep"}, "csv", ["a", "b"], ["1", ""], None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "options", "format", "texts", "labels", "groups", "ids"),
    READ,
    ids=[r[0] for r in READ],
)
def test_reads(
    tmp_path: Path,
    name: str,
    content: str | bytes,
    options: dict[str, Any],
    format: str,
    texts: list[str],
    labels: Any,
    groups: Any,
    ids: Any,
) -> None:
    table = read_table(write(tmp_path, name, content), **options)
    assert (table.format, table.texts, table.labels) == (format, texts, labels)
    assert (table.groups, table.ids) == (groups, ids)


# (name, content, options, part of the message)
REFUSED: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    ("a.txt", "__label__a x\n__label__b __label__c y\n", {}, "line 2: 2 labels (b, c); a text has one class"),
    ("a.txt", "__label__a x\ny\n", {"format": "fasttext"}, "line 2 has no label"),
    ("a.csv", "text,label\nx\n", {}, "line 2: 1 column instead of 2"),
    ("a.csv", 'text,label\n"x,1\n', {}, "line"),
    ("a.csv", "text,text\nx,1\n", {}, "share a name"),
    ("a.csv", "a,b,c\nx,1,2\n", {}, "--text-column"),
    ("a.csv", "text,label\nx,1\n", {"label_column": "lable"}, "no column 'lable'; it has 'text', 'label'"),
    ("a.csv", "text,label\nx,1\ny,\n", {}, "line 3 has no label"),
    ("a.csv", 'text,label\n"two\nlines",1\ny, \n', {}, "line 4 has no label"),
    ("a.csv", "", {}, "the file is empty"),
    ("mixed.csv", "text,label\ncafé,1\n".encode() + b"na\xefve,0\n", {}, "two encodings: line 2"),
    ("mixed.csv", b"text,label\nna\xefve,1\n" + "café,0\n".encode(), {}, "byte 13 (line 2) is not UTF-8"),
    ("cut.csv", "text,label\ncafé,1\nblé".encode()[:-1], {}, "cut.csv: ends within a character of utf-8"),
    ("latin.csv", b"text,label\nna\xefve,1\n", {"encoding": "utf-8"}, "--encoding latin-1"),
    ("a.csv", "text,label\n", {}, "no rows"),
    ("a.csv", "text,label\nx,1\n", {"limit": 0}, "at least 1 row"),
    ("a.csv", "text,label\nx,1\n", {"format": "xml"}, "one of phrases"),
    ("a.csv", "text,label\nx,1\n", {"where": "split"}, "COLUMN=VALUE"),
    ("a.csv", "text,label\nx,1\n", {"skip": 5}, "no rows after the first 5"),
    ("a.csv", b"text,label\nok,1\nb\xe9,1\n", {"encoding": "utf-8"}, "byte 17 (line 3) is not utf-8"),
    ("a.csv", "text,label\nx,1\n".encode("utf-16"), {"encoding": "utf-8"}, "--encoding utf-16"),
    ("a.csv", "text,label\nx,1\n", {"encoding": "klingon"}, "unknown encoding 'klingon'"),
    ("a.csv", "text,label\nx,1\n".encode("utf-16-le"), {"encoding": "utf-16"}, "a.csv: is not utf-16: "),
    ("a.csv.gz", b"", {}, "no rows"),
    ("a.csv", 'text,label\n"Great,1\nfine,0\nan instant classic",1\n' + "a film,0\nb film,1\n" * 5, {},
     "line 2, column 1"),
    ("a.csv", b"PK\x03\x04" + bytes(99), {}, "save the sheet as CSV"),
    ("a.csv", 'text,label\nx,1\n"y" z,0\n', {}, "line 3, column 1: the quote that opens"),
    ("a.csv", 'text,label\nx,1\nz,"0\n', {}, "line 3, column 3: the quote that opens here is never closed"),
    ("a.tsv", 'text\tlabel\n"a\n1\nb"\t1\t2\n', {}, "line 2, column 1"),
    ("a.csv", "text,label\nx,1\n", {"separator": "ab"}, "separator 'ab'"),
    ("a.jsonl", '{"text": "x", "label": 1}\n', {"header": False}, "--no-header"),
    ("a.jsonl", '{"text": "x", "label": 1}\n{"text": \n', {}, "line 2: not valid JSON"),
    ("a.jsonl", '{"text": "x", "label": 1}\n[1]\n', {}, "line 2: expected an object, found list"),
    ("a.jsonl", '{"text": "x", "label": 1}\n{"label": 1}\n', {}, "line 2: no 'text'"),
    ("a.jsonl", '{"text": ' + "[" * 100_000 + "\n", {}, "line 1: not valid JSON"),
    ("a.json", '\n[\n  {"text": "x", "label": 1}\n]\n', {}, "a JSON array; expected one object a line"),
    ("a.json", '[{"text": "x", "label": 1}]', {}, "a JSON array; expected one object a line, as jq"),
    ("a.tsv", "PhraseId\tSentenceId\tPhrase\tSentiment\n1\t1\tx\n", {}, "line 2: 3 columns instead of 4"),
    ("a.tsv", PAIRS, {"text_column": "x"}, "fixed columns"),
    ("a.txt", "a poem\nwithout end\n", {}, "--format"),
    ("a.txt", "(3 (2 a) (2 b))\n(3 (2 a)\n", {}, "line 2: no complete tree"),
    ("a.txt", "(3 (2 a) (2 b)))\n", {}, "line 1: a bracket too many"),
    ("a.txt", "(3 a) (3 b)\n", {}, "line 1: a second tree"),
    ("a.txt", "x (3 a)\n", {"format": "sst"}, "line 1: a word outside"),
    ("a.txt", "(x a)\n", {"format": "sst"}, "line 1: no complete tree"),
    ("a.tsv", "a\t1\nb\n", {"format": "pairs"}, "two columns"),
    ("a.parquet", b"PAR1 not really", {}, "a.parquet"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    assert message in str(caught.value)
    assert str(path) in str(caught.value) or "--" in str(caught.value) or options


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_data_that_ends_early_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = write(
        tmp_path, f"a.csv{suffix}", "text,label\n" + "".join(f"row {i},{i % 2}\n" for i in range(9999))
    )
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="ends early"):
        read_table(path)


def test_compression_is_found_by_content(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv.gz", CSV).rename(tmp_path / "b.csv")
    assert len(read_table(path)) == 2


def test_the_hash_is_that_of_the_content(tmp_path: Path) -> None:
    files = [write(tmp_path, name, CSV) for name in ("a.csv", "a.csv.xz", "a.csv.zst")]
    hashes = {read_table(path, limit=limit).sha256 for path in files for limit in (None, 1)}
    assert len(hashes) == 1


def test_a_text_of_a_megabyte(tmp_path: Path) -> None:
    text = "long " * 250_000
    for name, content in (
        ("a.csv", f"text,label\n{text},1\n"),
        ("a.jsonl", json.dumps({"text": text, "label": 1}) + "\n"),
        ("a.tsv", f"{text}\t1\nshort\t0\n"),
    ):
        assert read_table(write(tmp_path, name, content)).texts[0] == text


def test_a_deep_tree_needs_no_recursion(tmp_path: Path) -> None:
    depth = 20_000
    line = "(1 " * depth + "word" + ")" * depth + "\n"
    assert read_table(write(tmp_path, "deep.txt", line)).texts == ["word"]


def test_guesses_are_said(tmp_path: Path) -> None:
    content = "split,id,Review,Sentiment\ntrain,1,fine,1\n"
    notes = "\n".join(read_table(write(tmp_path, "a.csv", content)).notes)
    for part in ("text column: 'Review'", "label column: 'Sentiment'", "--where split=train", "read as csv"):
        assert part in notes


def test_empty_texts_are_kept_and_said(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a.jsonl", '{"text": null, "label": 1}\n{"text": "x", "label": 2}\n'))
    assert table.texts == ["", "x"]
    assert any("1 row with an empty text" in note for note in table.notes)


def test_folders(tmp_path: Path) -> None:
    for name, content in (("neg/10_2.txt", "bad"), ("neg/2_1.txt", "worse"), ("pos/0_9.txt", "a<br />b")):
        write(tmp_path / "imdb" / "train", name, content)
    table = read_table(tmp_path / "imdb" / "train")
    assert table.texts == ["worse", "bad", "a<br />b"]
    assert table.labels == ["neg", "neg", "pos"]
    assert table.ids == ["neg/2", "neg/10", "pos/0"]
    assert read_table(tmp_path / "imdb" / "train", clean=True).texts[2] == "a b"
    with pytest.raises(DataError, match=r"2_1\.txt.* 4 "):
        read_table(tmp_path / "imdb" / "train", max_line_bytes=4)
    with pytest.raises(DataError, match="give one part"):
        read_table(tmp_path / "imdb")
    write(tmp_path / "mr", "rt.pos", "good \n")
    with pytest.raises(DataError, match="one file ending in"):
        read_table(tmp_path / "mr")
    write(tmp_path / "mr", "rt.neg.xz", "bad \n")
    assert read_table(tmp_path / "mr").labels == ["neg", "pos"]
    with pytest.raises(DataError, match="without pos/ and neg/"):
        read_table(tmp_path)


def test_every_folder_is_a_class_and_every_file_a_row(tmp_path: Path) -> None:
    names = ["pos/0.txt", "pos/1.TXT", "pos/2", "pos/1.md", "pos/a/0.txt", "pos/a/b/3.txt", "neutral/0.txt",
             "neg/5_1.txt", "neg/.hidden", ".DS_Store", "urls.txt", "unsup/0_0.txt"]  # fmt: skip
    for name in names:
        write(tmp_path, name, name)
    (tmp_path / "empty").mkdir()
    table = read_table(tmp_path)
    assert sorted(table.texts) == sorted(names[:8])
    assert table.labels == [text.partition("/")[0] for text in table.texts]
    assert table.ids is not None
    assert len(set(table.ids)) == 8
    assert dict(zip(table.texts, table.ids, strict=True))["pos/a/b/3.txt"] == "pos/a/b/3"
    for name in (*names[8:11], "unsup/", "empty/", "'neutral'"):
        assert name in table.notes[0]


def test_folders_of_other_names_are_classes_where_that_is_said(tmp_path: Path) -> None:
    for name in ("Positive/0", "Negative/0"):
        write(tmp_path / "a", name, name)
    with pytest.raises(DataError, match="--format reviews"):
        read_table(tmp_path / "a")
    assert read_table(tmp_path / "a", format="reviews").labels == ["Negative", "Positive"]
    for name in ("train/pos/0", "test/pos/0"):
        write(tmp_path / "b", name, name)
    with pytest.raises(DataError, match="test"):
        read_table(tmp_path / "b", format="reviews")
    with pytest.raises(DataError, match="no folders"):
        read_table(tmp_path / "a" / "Positive", format="reviews")


def test_a_folder_beside_its_two_files_is_not_silent(tmp_path: Path) -> None:
    for name in ("rt.pos", "rt.neg", "rt.neutral"):
        write(tmp_path, name, "a film\n")
    assert "rt.neutral" in read_table(tmp_path).notes[0]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1251"])
def test_files_of_a_folder_are_decoded_one_by_one(encoding: str, tmp_path: Path) -> None:
    texts = ["un café déjà vu", "très bon"] if encoding == "latin-1" else ["отличный фильм", "скучный сюжет"]
    write(tmp_path, "pos/0.txt", texts[0].encode(encoding))
    write(tmp_path, "pos/1.txt", "naïve – 好".encode())
    write(tmp_path, "pos/2.txt", "marked é".encode("utf-16"))
    write(tmp_path, "neg/0.txt", texts[1].encode(encoding))
    table = read_table(tmp_path)
    assert table.texts == [texts[1], texts[0], "naïve – 好", "marked é"]
    assert any("--encoding" in note for note in table.notes)
    with pytest.raises(DataError, match=r"0\.txt"):
        read_table(tmp_path, encoding="utf-8")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04\x14", b"%PDF-1.4 and more", b"a\0b"]
)
@pytest.mark.parametrize("encoding", [None, "latin-1"])
def test_a_file_of_a_folder_that_is_not_text_is_named(
    data: bytes, encoding: str | None, tmp_path: Path
) -> None:
    write(tmp_path, "pos/0.txt", "good")
    write(tmp_path, "neg/0.txt", "bad")
    write(tmp_path, "neg/cover", data)
    with pytest.raises(DataError, match=r"neg/cover"):
        read_table(tmp_path, encoding=encoding)


PHRASES = "PhraseId\tSentenceId\tPhrase\tSentiment\n" + "1\t1\ta film\t2\n2\t2\tno film\t1\n" * 30
# A blank line at the end, or in the middle of rows that have columns, is not a row.
BLANK_LINES: list[tuple[str, str]] = [
    ("phrases.tsv", PHRASES),
    ("pairs.tsv", "a film\t1\nno film\t0\n" * 30),
    ("few.tsv", "a film\t1\nno film\t0\n" * 3),
    ("a.csv", "text,label\n" + "a film,1\nno film,0\n" * 30),
    ("a.tsv", "text\tlabel\n" + "a film\tpos\nno film\tneg\n" * 30),
    ("a.jsonl", '{"text": "a film", "label": 1}\n{"text": "no film", "label": 0}\n' * 30),
    ("a.txt", "__label__1 a film\n__label__0 no film\n" * 30),
    ("trees.txt", "(3 (2 a) (2 film))\n(1 (2 no) (2 film))\n" * 30),
    ("rt.pos", "a film\nno film\n" * 30),
]


@pytest.mark.parametrize(("name", "content"), BLANK_LINES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blank", ["\n", " \n\n", "  "])
def test_blank_lines_at_the_end_are_not_rows(
    name: str, content: str, end: str, blank: str, tmp_path: Path
) -> None:
    content = content.replace("\n", end)
    plain = read_table(write(tmp_path, name, content))
    table = read_table(write(tmp_path, f"b/{name}", content + blank.replace("\n", end)))
    assert (table.texts, table.labels, table.format) == (plain.texts, plain.labels, plain.format)
    if name != "rt.pos":
        lines = content.splitlines(keepends=True)
        table = read_table(write(tmp_path, f"c/{name}", "".join([*lines[:3], end, *lines[3:]])))
        assert (table.texts, table.labels, table.format) == (plain.texts, plain.labels, plain.format)


# (file, content, texts): CR alone ends a line only where no LF does.
LONE_CR: list[tuple[str, str, list[str]]] = [
    ("a.csv", "Reviews\nnice\rfilm here\nand that one\n", ["nice\rfilm here", "and that one"]),
    ("a.csv", "text,label\ncr\rhere,1\nno,0\n", ["cr\rhere", "no"]),
    ("a.csv", "text,label\r\ncr\rhere,1\r\nno,0\r\n", ["cr\rhere", "no"]),
    ("a.csv", 'text,label\n"a, ""b""\r\nc",1\n\rno\r,0', ['a, "b"\r\nc', "\rno\r"]),
    ("a.csv", 'text,label\n"a\rb",1\nnot \r"so, 0\n', ["a\rb", 'not \r"so']),
    ("a.csv", "text;label;;;\na\rb;1;;;\n\r\nc;0;;;\n", ["a\rb", "c"]),
    ("a.tsv", 'text\tlabel\nnice\r"quoted" film\t1\r\n"no\t0\n', ['nice\r"quoted" film', '"no']),
    ("a.tsv", "a nice\rfilm\t1\nno film\t0\n", ["a nice\rfilm", "no film"]),
    ("a.csv", 'text,label\r"a\nb",1\rno,0\r', ["a\nb", "no"]),
    ("a.csv", "text,label\rx,1\rno,0", ["x", "no"]),
]


@pytest.mark.parametrize(("name", "content", "texts"), LONE_CR)
def test_cr_alone_ends_a_line_only_in_a_file_without_lf(
    name: str, content: str, texts: list[str], tmp_path: Path
) -> None:
    table = read_table(write(tmp_path, name, content.encode()))
    assert table.texts == texts
    assert table.labels in (None, ["1", "0"])


def test_cr_alone_in_a_file_of_many_blocks(tmp_path: Path) -> None:
    texts = [f"row {row}" + "\r and more"[: row % 12] * (row % 7 == 3) for row in range(150_000)]
    data = "text,label\n" + "".join(f"{text},{row % 2}\n" for row, text in enumerate(texts))
    table = read_table(write(tmp_path, "a.csv", data.encode()), with_lines=True)
    assert table.texts == texts
    assert table.lines == list(range(2, len(texts) + 2))


def test_a_number_of_a_column_beside_a_header_names_no_header(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "wonderful,joy\ndull,anger\n")
    for text, label in (("2", None), (None, "2")):
        with pytest.raises(DataError, match=r"'2'.*--no-header"):
            read_table(path, text_column=text, label_column=label)
    for number in ("0", "3"):
        with pytest.raises(DataError, match=f"'{number}'") as error:
            read_table(path, text_column=number)
        assert "--no-header" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["b'a good film'", 'b"it\'s fine"', "{'en': 'a good film'}", '{"en": "a film"}']
)
def test_texts_that_are_printed_values_are_noted(text: str, tmp_path: Path) -> None:
    rows = [{"text": text, "label": row % 2} for row in range(4)]
    path = write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert any(text[:10] in note for note in read_table(path).notes)
    rows.append({"text": "a film", "label": 0})
    write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert not any(text[:10] in note for note in read_table(path).notes)


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {"text": ["a", None, "c"], "label": [1, 2, 1], "extra": [[1], [2], [3]]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert (table.texts, table.labels) == (["a", "", "c"], ["1", "2", "1"])
    assert read_table(tmp_path / "a.parquet", limit=1).texts == ["a"]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@given(rows=st.lists(st.tuples(CELLS, st.sampled_from(["a", "b", "10"])), min_size=1, max_size=8))
def test_written_tables_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, rows: list[tuple[str, str]]
) -> None:
    table = Table.of(
        [text for text, _ in rows], [label for _, label in rows], [str(i) for i in range(len(rows))]
    )
    path = tmp_path_factory.mktemp("written") / f"a{suffix}"
    write_table(table, path)
    back = read_table(path, format=suffix[1:])
    assert (back.texts, back.labels, back.groups) == (table.texts, table.labels, table.groups)


def test_a_table_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\.csv, \.tsv or \.jsonl"):
        write_table(Table.of(["a"]), tmp_path / "a.xml")
    assert list(tmp_path.iterdir()) == []


def test_texts_are_written_as_they_come_and_appear_together(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    sizes = []

    def texts(n: int, fail: bool = False) -> Iterator[str]:
        for place in range(n):
            (beside,) = (one for one in tmp_path.iterdir() if one != path)
            sizes.append(beside.stat().st_size)
            yield f"{place}" * 3_999_999 + "\n"
        if fail:
            raise DataError("the fourth text is bad")

    write_texts(path, texts(3))
    assert sizes[0] == 0
    assert sizes[2] >= 4_000_000  # no text waits for the last one
    assert [line[-1] for line in path.read_text().splitlines()] == ["0", "1", "2"]
    with pytest.raises(DataError, match="fourth"):
        write_texts(path, texts(3, fail=True))
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size == 12_000_000


def test_a_file_that_cannot_be_written_is_found_before_the_first_text(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "a.txt", tmp_path):
        with pytest.raises(OSError, match=str(tmp_path)):
            write_texts(path, (pytest.fail("asked for") for _ in range(1)))
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


# (value, text)
VALUES = [(5, "5"), (5.0, "5"), (5.5, "5.5"), (True, "true"), (None, ""), (float("nan"), ""), ("NA", "NA")]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_values_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_phrases_are_in_pre_order() -> None:
    assert phrases("(3 (2 a) (1 (0 b) (2 c)))") == [
        ("3", "a b c"),
        ("2", "a"),
        ("1", "b c"),
        ("0", "b"),
        ("2", "c"),
    ]
    assert unescape("-LRB- 1\\/2 -RRB- \\*") == "( 1/2 ) *"


def test_every_format_is_described() -> None:
    assert all(FORMATS.values())


# (parts of the path, options, rows, counts of the labels)
SHARED: list[tuple[str, dict[str, Any], int, dict[str, int] | None]] = [
    ("kaggle-movie-reviews/train.tsv.xz", {}, 156_060,
     {"0": 7072, "1": 27273, "2": 79582, "3": 32927, "4": 9206}),
    ("kaggle-movie-reviews/test.tsv.xz", {}, 66_292, None),
    ("sst-trees/train.txt.xz", {}, 8_544, {"0": 1092, "1": 2218, "2": 1624, "3": 2322, "4": 1288}),
    ("sst-trees/dev.txt.xz", {"format": "sst-binary"}, 872, {"0": 428, "1": 444}),
    ("sst-trees/test.txt.xz", {"format": "sst-binary"}, 1_821, {"0": 912, "1": 909}),
    ("sst2/train.tsv.xz", {}, 6_920, {"0": 3310, "1": 3610}),
    ("mr-rt-polarity", {}, 10_662, {"neg": 5331, "pos": 5331}),
    ("tweet-sentiment/train.csv.xz", {}, 27_480, {"negative": 7781, "neutral": 11117, "positive": 8582}),
    ("tweet-sentiment/early-release/train.csv.xz", {}, 27_486,
     {"negative": 7786, "neutral": 11118, "positive": 8582}),
    ("yelp-labelled/yelp_labelled.txt", {}, 1_000, {"0": 500, "1": 500}),
    ("imdb/imdb_40k.csv.xz", {"where": "split=test"}, 20_000, {"0": 10000, "1": 10000}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "options", "rows", "labels"), sample(4, SHARED))
def test_shared_data(parts: str, options: dict[str, Any], rows: int, labels: dict[str, int] | None) -> None:
    table = read_table(shared_data.folder() / parts, **options)
    assert len(table) == rows
    assert (None if table.labels is None else Counter(table.labels)) == labels


def test_kaggle_texts_are_not_missing_values() -> None:
    folder = shared_data.folder() / "kaggle-movie-reviews"
    train, test = read_table(folder / "train.tsv.xz"), read_table(folder / "test.tsv.xz")
    assert {"None", "none", "Na"} <= {*train.texts, *test.texts}
    assert len(set(train.groups or [])) == 8_529


@pytest.mark.parametrize("name", ["label", "Intent", "emotion"])
def test_a_part_with_each_class_once_keeps_its_labels(name: str, tmp_path: Path) -> None:
    """A known name says more than cells that do not repeat, unless they are numbers."""
    path = tmp_path / "valid.csv"
    rows = [(f"text number {n} of many", f"class {n % 58}", str(n)) for n in range(60)]

    def read(names: str, *places: int) -> list[str]:
        lines = [",".join(row[place] for place in places) for row in rows]
        path.write_text("\n".join([names, *lines]) + "\n")
        table = read_table(path)
        return [*(table.labels or [])][:2]

    assert read(f"text,{name}", 0, 1) == ["class 0", "class 1"]
    assert read(f"text,{name}", 0, 2) == []
    assert read(f"text,{name},tone", 0, 2, 1) == []
