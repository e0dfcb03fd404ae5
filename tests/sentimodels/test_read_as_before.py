"""A run remembers how its training file was read: this decides where a new file leaves it open."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sentimodels.data.readers import read_as, read_table
from sentimodels.errors import DataError

TEXTS = [
    "A great film, seen twice",
    "Dull from start to end",
    "I would watch it again",
    "Not my kind of plot",
]
LABELS = ["pos", "neg", "pos", "neg"]


def trained_on(path: Path, data: str | bytes, **options: Any) -> Mapping[str, str]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    columns = {name: options.pop(name) for name in ("text_column", "label_column") if name in options}
    table = read_table(path, **columns, **options)
    assert table.texts == TEXTS
    assert table.labels == LABELS
    return read_as(table, **options)


def rows(*columns: Sequence[str], separator: str = "\t") -> str:
    return "".join(separator.join(row) + "\n" for row in zip(*columns, strict=True))


NUMBERS = ["u1", "u2", "u3", "u4"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([TEXTS, LABELS], "1"),
        ([NUMBERS, TEXTS, LABELS], "2"),
        ([NUMBERS, NUMBERS, TEXTS], "3"),
        ([LABELS, TEXTS], "2"),
        ([TEXTS], "1"),
    ],
)
def test_positions_of_a_headerless_file_are_taken_where_they_fit(
    columns: list[list[str]], text: str, tmp_path: Path
) -> None:
    like = trained_on(tmp_path / "a.tsv", rows(LABELS, TEXTS))
    assert (like["label"], like["text"], like["n_columns"]) == ("1", "2", "2")
    (tmp_path / "b.tsv").write_text(rows(*columns))
    table = read_table(tmp_path / "b.tsv", like=like)
    assert table.texts == TEXTS
    assert table.columns["text"] == text
    moved = any("'2' is not taken" in note for note in table.notes)
    assert moved == (columns != [LABELS, TEXTS])
    assert any(f"text column: {text!r}" in note for note in table.notes) == (columns != [LABELS, TEXTS])


def test_positions_that_fit_nowhere_ask_for_the_text_column(tmp_path: Path) -> None:
    like = trained_on(tmp_path / "a.tsv", rows(LABELS, TEXTS))
    (tmp_path / "b.tsv").write_text("".join(f"u{row}\tv{row}\tw{row}\n" for row in "1231"))
    with pytest.raises(DataError, match="--text-column"):
        read_table(tmp_path / "b.tsv", like=like)
    assert read_table(tmp_path / "b.tsv", "3", like=like).texts[0] == "w1"


def test_a_typed_text_column_leaves_no_position_of_the_label(tmp_path: Path) -> None:
    like = trained_on(tmp_path / "a.tsv", rows(LABELS, TEXTS))
    (tmp_path / "b.tsv").write_text(rows(NUMBERS, TEXTS, LABELS))
    table = read_table(tmp_path / "b.tsv", "2", like=like)
    assert table.columns.get("label") != "1"


def test_names_of_a_header_are_taken_as_before(tmp_path: Path) -> None:
    data = "said;body;kind\n" + rows(TEXTS, ["much more of it"] * 4, LABELS, separator=";")
    like = trained_on(tmp_path / "a.csv", data, text_column="said", label_column="kind")
    (tmp_path / "b.csv").write_text("body,said\nmany words of a body are here,short\n")
    assert read_table(tmp_path / "b.csv", like=like).texts == ["short"]


QUOTED = [f'"{text}"' for text in TEXTS]


def test_a_remembered_separator_is_used_where_it_separates(tmp_path: Path) -> None:
    semicolons = "text;label\n" + rows(QUOTED, LABELS, separator=";")
    like = trained_on(tmp_path / "a.csv", semicolons, separator=";")
    path = tmp_path / "b.csv"
    path.write_text("text,label\n" + rows(QUOTED, LABELS, separator=","))
    table = read_table(path, like=like)
    assert table.texts == TEXTS
    assert table.labels == LABELS
    assert "';'" in table.notes[0]
    assert "','" in table.notes[0]
    path.write_text("text\n" + rows(QUOTED))
    assert read_table(path, like=like).texts == TEXTS
    # Typed options win.
    path.write_text("text,label\n" + rows(QUOTED, LABELS, separator=","))
    with pytest.raises(DataError, match="line 2"):
        read_table(path, like=like, separator=";", text_column="text")


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_a_separator_that_is_not_recognised_is_remembered(suffix: str, tmp_path: Path) -> None:
    like = trained_on(
        tmp_path / f"a{suffix}", rows(LABELS, TEXTS, separator=":"), separator=":", header=False
    )
    path = tmp_path / f"b{suffix}"
    path.write_text(rows(LABELS[:1], TEXTS[:1], separator=":"))
    table = read_table(path, like=like)
    assert (table.texts, table.labels) == (TEXTS[:1], LABELS[:1])
    path.write_text(rows(LABELS, TEXTS, separator="\t"))
    table = read_table(path, like=like)
    assert (table.texts, table.labels) == (TEXTS, LABELS)


def test_a_remembered_tab_reads_quotes_as_text(tmp_path: Path) -> None:
    like = trained_on(tmp_path / "a.csv", rows(LABELS, TEXTS), separator="tab", header=False)
    (tmp_path / "b.csv").write_text('pos\t"Great" they said\nneg\tNot "good", she said\n')
    table = read_table(tmp_path / "b.csv", like=like)
    assert table.texts == ['"Great" they said', 'Not "good", she said']
    assert table.format == "tsv"


def test_a_remembered_header_decides_where_the_file_does_not(tmp_path: Path) -> None:
    headerless = rows(QUOTED, LABELS, separator=",")
    like = trained_on(tmp_path / "a.csv", headerless, header=False)
    path = tmp_path / "b.csv"
    path.write_text("text,label\n" + headerless)
    table = read_table(path, like=like)
    assert table.texts == TEXTS
    assert "--no-header" in table.notes[0]
    # Short cells may be names; those of the training file were not.
    path.write_text("A great one,pos\nA bad one,neg\n")
    assert read_table(path, like=like).texts == ["A great one", "A bad one"]


def test_a_remembered_header_is_known_by_the_name_of_the_texts(tmp_path: Path) -> None:
    head = '"What do you think of it, all in all?",again\n'
    like = trained_on(tmp_path / "a.csv", head + rows(QUOTED, LABELS, separator=","), header=True)
    path = tmp_path / "b.csv"
    path.write_text(head + rows(QUOTED, LABELS, separator=","))
    assert read_table(path, like=like).texts == TEXTS
    path.write_text('"A great film, from start to end!",pos\n"Not for me, not at all.",neg\n')
    assert read_table(path, like=like).texts[0] == "A great film, from start to end!"


FRENCH = "text,label\nUn très bon film à voir,1\nLa fin est décevante,0\n"
RUSSIAN = "text,label\nОтличный фильм,1\nСкучный сюжет и плохая игра,0\n"
POLISH = "text,label\nŚwietny film i każdemu go polecam,1\nŻałuję straconego czasu,0\n"
GERMAN = "text,label\nEin schöner Film für müde Füße,1\nÜbermäßig öde,0\n"


@pytest.mark.parametrize(
    ("usual", "text", "encoding"),
    [
        ("cp1252", RUSSIAN, "cp1251"),
        ("cp1252", POLISH, "cp1250"),
        ("cp1251", FRENCH, "cp1252"),
        ("cp1252", FRENCH, "cp1252"),
        ("latin-1", FRENCH, "cp1252"),
        ("koi8-r", RUSSIAN, "cp1251"),
        # These are not recognised.
        ("cp850", GERMAN, "cp850"),
        ("cp866", RUSSIAN, "cp866"),
        ("mac_roman", GERMAN, "mac_roman"),
    ],
)
def test_a_remembered_encoding_is_used_where_it_fits(
    usual: str, text: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "b.csv"
    path.write_bytes(text.encode(encoding))
    table = read_table(path, like={"encoding": usual, "suffix": ".csv"})
    assert table.texts == [line.partition(",")[0] for line in text.splitlines()[1:]]
    note = next(note for note in table.notes if "UTF-8" in note)
    assert ("in training" in note) == (text.encode(encoding) != text.encode(usual, "replace"))


def test_a_remembered_format_is_used_where_the_file_is_unclear(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("one\ntwo\n")
    assert read_table(path, like={"format": "lines", "suffix": ".txt"}).texts == ["one", "two"]
    path.write_text("(3 (2 A) (3 film))\n")
    assert len(read_table(path, like={"format": "sst-phrases", "suffix": ".txt"})) == 3
    path.write_text("text\tlabel\na film\t1\nno film\t0\n")
    assert read_table(path, like={"format": "lines", "suffix": ".txt"}).texts == ["a film", "no film"]
