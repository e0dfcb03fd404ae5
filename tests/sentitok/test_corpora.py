"""Sources of texts other than text files: Parquet, categories of Arrow, data sets."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentitok
from commands import run
from sentitok import FormatError, Tokenizer, TrainError, parquet
from sentitok._sentitok import DocumentBatch, DocumentReader
from sentitok.datasets import TokenDataset
from sentitok.documents import Documents
from sentitok.evaluate import evaluate

TEXTS = [f"low lower lowest {number % 7} naïve 👍🏽\n" for number in range(1000)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pa.table(
        {
            "n": list(range(len(TEXTS))),
            "text": TEXTS,
            "view": pa.array(TEXTS, pa.string_view()).cast(pa.binary()),
            "category": pa.array(TEXTS).dictionary_encode(),
            "a.b": TEXTS,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    pq.write_table(table.slice(0, 50), tmp_path / "b.parquet")
    sentitok.train_bpe(texts=TEXTS, vocab_size=280).save(tmp_path / "tokenizer.json")
    return tmp_path


def counted(*args: Any, **options: Any) -> sentitok.WordCounts:
    counts = sentitok.count(*args, **options)
    assert counts is not None
    return counts


@pytest.mark.parametrize("column", ["text", "view", "category", "a.b"])
def test_a_column_of_parquet_is_its_texts(column: str, folder: Path) -> None:
    paths, format = [folder / "a.parquet", folder / "b.parquet"], f"parquet:{column}"
    assert counted(paths, format=format) == counted(texts=TEXTS + TEXTS[:50])
    assert list(Documents(paths, format)) == TEXTS + TEXTS[:50]
    trained = sentitok.train_bpe(paths, format=format, vocab_size=280)
    assert trained.fingerprint == sentitok.train_bpe(texts=TEXTS + TEXTS[:50], vocab_size=280).fingerprint


def test_batches_of_documents_are_texts(folder: Path) -> None:
    """They go where texts go, and have as many documents as they give."""
    lines = [*TEXTS, "no end"]
    file = folder / "text.txt"
    file.write_text("".join(lines), "utf-8")
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    for documents in (Documents([file]), Documents([folder / "a.parquet"], "parquet:text")):
        texts: list[str] = []
        for batch in documents.batches():
            encoded = tokenizer.encode_batch(batch)
            assert len(batch) == len(list(batch)) == len(encoded)
            assert encoded.ids.tolist() == tokenizer.encode_batch(list(batch)).ids.tolist()
            texts += batch
        assert texts in (lines, TEXTS)
        assert list(documents) == []
        assert list(documents.batches()) == []


def test_batches_go_on_where_single_documents_ended(folder: Path) -> None:
    file = folder / "text.txt"
    file.write_text("".join(TEXTS), "utf-8")
    for documents in (Documents([file]), Documents([folder / "a.parquet"], "parquet:text")):
        first = [next(documents), next(documents)]
        assert first + [text for batch in documents.batches() for text in batch] == TEXTS
    documents = Documents([file])
    assert next(documents) == TEXTS[0]
    assert evaluate(Tokenizer.from_file(folder / "tokenizer.json"), documents).documents == len(TEXTS) - 1


def test_documents_that_are_no_text_stay_bytes(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(b"caf\xc3\xa9\n\xff\n\n")
    (batch,) = DocumentReader([file], invalid_utf8="bytes")
    assert list(batch) == ["café\n", b"\xff\n", "\n"]
    with pytest.raises(TypeError, match="cannot create"):
        DocumentBatch()


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 20])
def test_shards_of_parquet_are_row_groups(n_shards: int, folder: Path) -> None:
    paths = [folder / "a.parquet", folder / "b.parquet"]
    parts = [counted(paths, format="parquet:text", shard=(i, n_shards)) for i in range(n_shards)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total == counted(texts=TEXTS + TEXTS[:50])
    assert all(part.totals["documents"] % 50 == 0 for part in parts)


def test_parquet_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """One row group of 64 MB: about a batch of it is held."""
    text, schema = "x" * (1 << 16), pa.schema([("text", pa.string())])
    # In pages of a megabyte, as most writers make them of shorter texts, too.
    pages = {"use_dictionary": False, "compression": "none", "write_batch_size": 10}
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, **pages) as writer:
        table = pa.table({"text": [f"{text}{number}" for number in range(1000)]})
        writer.write_table(table, row_group_size=1000)
    del table
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for chunk in parquet.chunks([tmp_path / "a.parquet"], "text"):
        most = max(most, pa.total_allocated_bytes() - before)
        rows += len(chunk)
    assert rows == 1000
    assert most < 24 << 20


def test_the_commands_read_parquet(folder: Path) -> None:
    line = "train-bpe a.parquet --format parquet:text --vocab 280 -o new.json"
    assert run(line, cwd=folder)[0] == 0
    assert (folder / "new.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert run("encode a.parquet --format parquet:text -o tokens", cwd=folder)[0] == 0
    assert len(TokenDataset(folder / "tokens")) == len(TEXTS)
    code, out, err = run("eval tokenizer.json a.parquet --format parquet:category --json", cwd=folder)
    assert (code, err) == (0, "")
    assert json.loads(out)["evaluations"][0]["documents"] == len(TEXTS)
    code, _, err = run("eval tokenizer.json a.parquet", cwd=folder)
    assert (code, "name the column of text, as in parquet:text" in err) == (2, True)


def parquet_file(path: Path, column: pa.Array) -> Path:
    pq.write_table(pa.table({"text": column}), path / "x.parquet")
    return path / "x.parquet"


def damaged(path: Path) -> Path:
    file = parquet_file(path, pa.array(TEXTS))
    data = file.read_bytes()
    file.write_bytes(data[:20] + bytes(100) + data[120:])
    return file


def damaged_statistics(path: Path) -> Path:
    """A list of two numbers in the footer has one of them."""
    file = parquet_file(path, pa.array(TEXTS[:30]))
    data = file.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    # In Thrift, the list [0, 30] of int64 becomes [30].
    footer = data[-8 - size : -8].replace(bytes([0x26, 0, 60]), bytes([0x16, 60]))
    assert len(footer) < size
    file.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return file


def no_parquet(path: Path) -> Path:
    (path / "x.parquet").write_text("text\na film\n")
    return path / "x.parquet"


# (what it is, file, format, error, words of the message)
REFUSED: list[tuple[str, Callable[[Path], Path], str, type[Exception], str]] = [
    ("null", lambda d: parquet_file(d, pa.array(["a", None])), "parquet:text", FormatError,
     "row 2 of column 'text' is null, not a text; drop or fill missing values first"),
    ("bytes", lambda d: parquet_file(d, pa.array([b"a", b"b\xff"], pa.binary())), "parquet:text", FormatError,
     "row 2 of column 'text': invalid UTF-8 at byte 1; pass invalid_utf8='replace'"),
    ("numbers", lambda d: parquet_file(d, pa.array([1, 2])), "parquet:text", FormatError,
     "column 'text' is of int64"),
    ("no column", lambda d: parquet_file(d, pa.array(["a"])), "parquet:body", FormatError,
     "no column 'body'; the columns are 'text'"),
    ("damaged", damaged, "parquet:text", FormatError, "x.parquet: damaged Parquet"),
    ("damaged statistics", damaged_statistics, "parquet:text", FormatError, "x.parquet: damaged Parquet"),
    ("no Parquet", no_parquet, "parquet:text", FormatError, "x.parquet: no Parquet file, or a damaged one"),
    ("an empty folder", lambda d: d, "parquet:text", FileNotFoundError, "the folder has no file to read"),
    ("nothing", lambda d: d / "x.parquet", "parquet:text", FileNotFoundError, "x.parquet"),
    ("stdin", lambda d: Path("-"), "parquet:text", FormatError, "it must be a file"),
    ("no name", lambda d: d / "x.parquet", "parquet", TrainError,
     "name the column of text, as in parquet:text"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "format", "error", "words"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_parquet_that_is_refused(
    make: Callable[[Path], Path], format: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    file = make(tmp_path)
    for read in (
        lambda: sentitok.count(file, format=format),
        lambda: list(Documents([file], format, invalid_utf8="error")),
    ):
        with pytest.raises(error, match=re.escape(words)) as raised:
            read()
        assert "\n" not in str(raised.value)


def test_bytes_of_parquet_are_replaced_and_counted(tmp_path: Path) -> None:
    file = parquet_file(tmp_path, pa.array([b"a\xff\xfe", "\ufffd".encode(), b"c"], pa.binary()))
    documents = Documents([file], "parquet:text")
    assert (list(documents), documents.replaced) == (["a\ufffd\ufffd", "\ufffd", "c"], 2)
    totals = counted(file, format="parquet:text", invalid_utf8="replace").totals
    assert (totals["documents"], totals["replaced"]) == (3, 2)


def test_without_pyarrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for read in (
        lambda: sentitok.count(folder / "a.parquet", format="parquet:text"),
        lambda: list(Documents([folder / "a.parquet"], "parquet:text")),
    ):
        with pytest.raises(ModuleNotFoundError, match=r'pip install "sentitok\[arrow\]"'):
            read()


CATEGORIES = {
    "strings": lambda: pa.array(TEXTS).dictionary_encode(),
    "chunks": lambda: pa.chunked_array([TEXTS[:600], TEXTS[600:]]).dictionary_encode(),
    # As Polars gives its Categorical.
    "views": lambda: pa.DictionaryArray.from_arrays(
        pa.array(range(len(TEXTS)), pa.uint32()), pa.array(TEXTS, pa.string_view())
    ),
    "a table": lambda: pa.table({"text": pa.array(TEXTS).dictionary_encode()}),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_are_texts(name: str) -> None:
    column = CATEGORIES[name]()
    assert counted(column) == counted(texts=TEXTS)
    tokenizer = sentitok.train_bpe(texts=column, vocab_size=280)
    assert tokenizer.encode_batch(column).ids.tolist() == tokenizer.encode_batch(TEXTS).ids.tolist()


def test_categories_of_what_is_no_text() -> None:
    with pytest.raises(ValueError, match=r"row 1 is null"):
        sentitok.count(pa.array(["a", None]).dictionary_encode())
    with pytest.raises(TypeError, match="an Arrow column of int64; it must be of strings"):
        sentitok.count(pa.array([1, 2]).dictionary_encode())


def test_series_of_polars() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    for kind in (pl.String, pl.Categorical, pl.Enum(sorted(set(TEXTS)))):
        assert counted(pl.Series(TEXTS, dtype=kind)) == counted(texts=TEXTS)


def test_series_of_pandas() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert counted(pd.Series(TEXTS, dtype="category")) == counted(texts=TEXTS)


def test_columns_of_hugging_face_data_sets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    given = datasets.Dataset.from_dict({"text": TEXTS, "n": list(range(len(TEXTS)))})
    for column in (given["text"], given.to_iterable_dataset()["text"], given.with_format("arrow")["text"]):
        assert counted(texts=column) == counted(texts=TEXTS)


@pytest.mark.parametrize("format", [None, "numpy", "torch", "arrow", "pandas"])
def test_a_function_that_datasets_maps(format: str | None, folder: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    if format in ("torch", "pandas"):
        pytest.importorskip(format, reason=f"{format} is not installed")
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    columns = {"text": TEXTS, "label": [number % 3 for number in range(len(TEXTS))]}
    given = datasets.Dataset.from_dict(columns).with_format(format)
    expected = [tokenizer.encode(text).ids.tolist() for text in TEXTS]

    def encoded(rows: Any) -> Any:
        return tokenizer.encode_batch(rows["text"]).to_table(rows)

    made = given.map(encoded, batched=True, batch_size=300)
    assert made.column_names == ["text", "label", "input_ids", "attention_mask"]
    plain = made.with_format(None)[:]
    assert plain["input_ids"] == expected
    assert (plain["text"], plain["label"]) == (columns["text"], columns["label"])
    assert made.features["input_ids"] == datasets.List(datasets.Value("int32"))
    alone = given.map(lambda rows: tokenizer.encode_batch(rows["text"]).to_table(), batched=True)
    assert alone.column_names == ["input_ids", "attention_mask"]
    assert alone.with_format(None)[:]["input_ids"] == expected


class Rows:
    """As a data set of Hugging Face iterates: rows of named columns, and one column by its name."""

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter([{"text": text, "n": 1} for text in TEXTS])

    def __getitem__(self, name: str) -> Iterator[str]:
        return (str(row[name]) for row in self)


def test_rows_with_columns_are_told_how_to_give_one() -> None:
    with pytest.raises(
        TypeError,
        match=re.escape('row 0 is a dict, not a text; give one column of it, as in dataset["text"]'),
    ):
        sentitok.count(Rows())  # type: ignore[arg-type]  # 2026-11-24: refused
    assert counted(Rows()["text"]) == counted(texts=TEXTS)


# (name, bytes, words of the message where no format is named)
NO_TEXTS = [
    ("reviews.json", b'[{"text": "a film"}, {"text": "a man"}]', "this is one JSON array"),
    ("reviews.txt", b' [\n {"text": "a film"}]', "jq -c '.[]' FILE > NEW.jsonl"),
    ("strings.json", b'["a film", "a man"]', "this is one JSON array"),
    ("reviews.json.gz", gzip.compress(b'[{"text": "a film"}]'), "this is one JSON array"),
]


@pytest.mark.parametrize(("name", "data", "words"), NO_TEXTS, ids=[row[0] for row in NO_TEXTS])
def test_an_array_is_no_text(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    for read in (lambda: sentitok.count(path), lambda: list(Documents([path]))):
        with pytest.raises(FormatError, match=re.escape(words)) as error:
            read()
        assert f"{name}: " in str(error.value)
        assert 'format="lines"' in str(error.value)
    assert counted(path, format="lines").totals["documents"] >= 1  # the caller's word stands
    for read in (lambda: sentitok.count(path, format="jsonl"), lambda: list(Documents([path], "jsonl"))):
        with pytest.raises(
            FormatError, match=r"line 1 \(byte 0\): a JSON array, where a line holds one object"
        ):
            read()


def test_tokenizers_and_counts_are_no_texts(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    unigram = sentitok.train_unigram(texts=TEXTS, vocab_size=60)
    tokenizer.save(folder / "own.sentitok")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(folder / "ranks.tiktoken")
    with pytest.warns(UserWarning, match="32 bits"):
        unigram.save(folder / "unigram.model")
    with pytest.warns(UserWarning, match="lowered"):
        sentitok.train_wordpiece(texts=TEXTS, vocab_size=200).save(folder / "vocab.txt")
    counted(texts=TEXTS).save(folder / "all.counts")
    for name in ("tokenizer.json", "own.sentitok", "ranks.tiktoken", "unigram.model", "vocab.txt"):
        for read in (lambda: sentitok.count(folder / name), lambda: list(Documents([folder / name]))):  # noqa: B023  # 2026-11-24: called at once
            with pytest.raises(
                FormatError, match=rf"{name}: this is a tokenizer \(.*\), where a text is expected"
            ):
                read()
    with pytest.raises(FormatError, match=r"all\.counts: this is a file of counts, .*\(counts=path\)"):
        sentitok.train_bpe(folder / "all.counts")
