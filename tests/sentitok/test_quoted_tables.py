"""CSV and TSV are read as Python's csv module reads them, or an error names the place."""

import csv
import io
import random
from pathlib import Path
from typing import Literal

import pytest

from sentitok import FormatError
from sentitok._sentitok import DocumentReader

PARTS = ["a", "é", "日", " ", '"', "\t", "\n", "\r\n", ",", "word", "''", "1", ""]


def read(path: Path, format: str) -> list[str]:
    return [text for batch in DocumentReader([path], format=format) for text in batch]


def table(rng: random.Random, parts: list[str]) -> list[list[str]]:
    width = rng.randint(1, 3)
    cells = [
        ["".join(rng.choices(parts, k=rng.randint(1, 6))) for _ in range(width)]
        for _ in range(rng.randint(1, 12))
    ]
    # A row of one empty field is a blank line.
    return [[f"c{n}" for n in range(width)], *(row for row in cells if any(row))]


@pytest.mark.parametrize(
    ("kind", "quoting"), [("csv", csv.QUOTE_MINIMAL), ("csv", csv.QUOTE_ALL), ("tsv", csv.QUOTE_ALL)]
)
def test_what_csv_writes_is_read_equal(kind: str, quoting: Literal[0, 1], tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {quoting}")
    path = tmp_path / f"table.{kind}"
    for _ in range(300):
        rows = table(rng, PARTS)
        written = io.StringIO(newline="")
        writer = csv.writer(
            written,
            delimiter="\t" if kind == "tsv" else ",",
            quoting=quoting,
            lineterminator=rng.choice(["\n", "\r\n"]),
        )
        writer.writerows(rows)
        path.write_bytes(written.getvalue().encode())
        for place, name in enumerate(rows[0]):
            assert read(path, f"{kind}:{name}") == [row[place] for row in rows[1:]], written.getvalue()


@pytest.mark.parametrize("kind", ["csv", "tsv"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("first_line", ["", "sep={}\r\n", '"sep={}"\n', "\ufeffSEP={} \n"])
def test_separators_are_recognised(kind: str, separator: str, first_line: str, tmp_path: Path) -> None:
    rng = random.Random(6)
    path = tmp_path / f"table.{kind}"
    parts = ["a", "é", "日", " ", ",", ";", "|", "word", '"']
    for _ in range(30):
        rows = table(rng, parts)
        written = io.StringIO(first_line.format(separator), newline="")
        written.seek(0, io.SEEK_END)
        csv.writer(written, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
        path.write_bytes(written.getvalue().encode())
        for place, name in enumerate(rows[0]):
            assert read(path, f"{kind}:{name}") == [row[place] for row in rows[1:]], written.getvalue()


def test_errors_count_the_line_that_sets_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("sep=;\na;b\n1;2;3\n")
    with pytest.raises(FormatError, match=r"line 3 .*row of 3 fields under a header of 2"):
        read(path, "csv:a")
    path.write_text("sep=;\na;b\n1;2\n")
    with pytest.raises(FormatError, match=r'line 2 .*columns are "a", "b"'):
        read(path, "csv:text")


def test_quotes_of_tsv_are_text(tmp_path: Path) -> None:
    rng = random.Random(4)
    path = tmp_path / "table.tsv"
    parts = [part for part in PARTS if part not in ("\t", "\n", "\r\n", "")]
    for _ in range(300):
        rows = table(rng, parts)
        # Nothing that a program would write.
        rows.append(['say "no"' for _ in rows[0]])
        path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        for place, name in enumerate(rows[0]):
            assert read(path, f"tsv:{name}") == [row[place] for row in rows[1:]]


def test_a_quote_that_opens_a_cell_of_tsv_swallows_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "quotes.tsv"
    lines = ['"Great\t1', "fine enough\t0", 'an instant classic"\t1', "bad\t0"]
    path.write_text("text\tlabel\n" + "".join(f"{line}\n" for line in lines))
    assert read(path, "tsv:text") == [line.split("\t")[0] for line in lines]


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("csv", 'a,b\n1,"x\n2,y\n', "line 2 .*column 3"),
        ("csv", 'a,b,c\n1,é "x,2\né,"y\n2,z",1\n3,4,"5\n6",7\n', "line 5 .*column 5"),
        ("csv", 'a,b\n1,"x\n2,y",3\n', "line 2 .*column 3"),
        ("csv", "a,b\n1,2\n3\n", "line 3 .*row of 1 fields"),
        ("tsv", "a\tb\n1\tx\n2\ty\tz\n", "line 3 .*row of 3 fields.*csv:COLUMN"),
        ("tsv", 'a\tb\n"1"\t"x\ny"\n"2"\t"y\n', "line 4 .*column 5"),
    ],
)
def test_broken_rows_are_named(kind: str, text: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{kind}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=place):
        read(path, f"{kind}:a")
