"""Tables as people have them: files with known rows, read to these or refused with a remedy."""

import csv
import dataclasses
import hashlib
import io
import itertools
import json
import random
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sentimodels.data import Labels, Table, columns, read_table, separated
from sentimodels.data.frames import table_of_frame
from sentimodels.data.opening import open_text
from sentimodels.data.readers import open_texts
from sentimodels.data.writers import write_table
from sentimodels.errors import DataError

# (script, encodings of it in addition to those of Unicode, sentences)
SCRIPTS: dict[str, tuple[list[str], list[str]]] = {
    "english": (
        ["ascii"],
        ["a fine film, really", "dull and far too long", "he said so; and left", "NA", "null"],
    ),
    "french": (
        ["cp1252", "latin-1", "mac_roman", "cp850"],
        ["un très beau film, à voir", "l'été était fâcheux", "côté décor, réussi"],
    ),
    "german": (
        ["cp1252", "mac_roman", "cp437"],
        ["ein schöner Film für große Leute", "müde, öde und süß", "über die Straße"],
    ),
    "polish": (
        ["cp1250", "iso8859_2", "cp852"],
        ["świetny film, bardzo mi się podobał", "końcówka była słaba", "żółć i gęś, może"],
    ),
    "hungarian": (
        ["cp1250", "iso8859_2", "cp852"],
        ["a főszereplő gyönyörűen játszik", "túl hosszú, és nem is jó", "szörnyű, unalmas történet"],
    ),
    "romanian": (
        ["cp1250"],
        ["un film foarte bun, cu o poveste frumoasă", "nu mi-a plăcut şi nici ţie", "e slab, însă lung"],
    ),
    "turkish": (
        ["cp1254", "iso8859_9"],
        ["çok güzel bir film, beğendim", "sıkıcı ve uzun, hiç iyi değil", "oyuncular şahane"],
    ),
    "lithuanian": (
        ["cp1257"],
        ["labai geras filmas, man patiko", "nuobodus ir per ilgas, siužetas blogas", "aktorių vaidyba puiki"],
    ),
    "russian": (
        ["cp1251", "koi8-r", "mac_cyrillic"],
        ["очень хороший фильм", "актёры играют слабо, жаль", "мне понравилось"],
    ),
    "chinese": (["gb18030", "gbk"], ["这部电影非常好看", "剧情有点慢,但是结局不错", "演员的表演很精彩"]),
    "japanese": (
        ["cp932", "euc_jp"],
        ["とても面白い映画でした", "俳優の演技が素晴らしい", "結末は少し残念です"],
    ),
    "korean": (["cp949"], ["정말 재미있는 영화였어요", "결말은 아쉬웠어요", "연기가 훌륭했습니다"]),
    "hindi": ([], ["यह फिल्म बहुत अच्छी है", "हिन्दी में अच्छी नहीं", "बेकार फिल्म"]),
}
# Pairs of values that are one class each, in formats with and without types.
LABELS: list[list[Any]] = [
    ["pos", "neg"],
    [1, 0],
    [True, False],
    [1.0, 0.0],
    [0.5, 2.5],
    ["N/A", "nan"],
    [5, 4],
]
UNICODE = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"]
HEADERS = [("text", "label"), ("review", "sentiment"), ("v2", "v1"), ("Reviews", "mood")]


def spelled(value: Any) -> str:
    """A label as the documentation says it is read."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Wild:
    """One file with its rows, and what a user would have to say of it at most."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = rng = random.Random(seed)
        self.script = rng.choice(list(SCRIPTS))
        own, sentences = SCRIPTS[self.script]
        self.format = rng.choice(["csv", "csv", "csv", "tsv", "tsv", "jsonl", "parquet"])
        self.encoding = rng.choice([*UNICODE, *own, *own])
        self.separator = "\t" if self.format == "tsv" else rng.choice(",,;|\t")
        kinds: list[Literal[0, 1, 2]] = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]
        self.quoting = rng.choice(kinds)
        self.header = rng.random() < 0.7
        self.ends = rng.choice(["\n", "\n", "\r\n"])
        self.labels = rng.choice(LABELS)
        n = rng.randint(12, 40)
        self.texts = [f"{rng.choice(sentences)} {rng.choice(sentences)} {i}" for i in range(n)]
        if rng.random() < 0.3:
            self.texts[rng.randrange(n)] = f'he said "{sentences[0]}" 7'
        if rng.random() < 0.2:
            self.texts[rng.randrange(n)] = f'"{sentences[-1]}" 8'
        if rng.random() < 0.2 and self.format != "tsv":
            self.texts[rng.randrange(n)] = f"{sentences[0]}\n{sentences[1]} 9"
        self.values = [self.labels[i % 2] for i in range(n)]
        self.names = rng.choice(HEADERS)
        self.first = rng.random() < 0.7  # the text is the first column
        self.empty = rng.choice([0, 0, 0, 3])  # columns without a name and a cell
        self.path = folder / f"{seed}.{self.format}"
        getattr(self, f"_write_{self.format}")()

    def _rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = [list(self.names)] if self.header else []
        rows += [[text, value] for text, value in zip(self.texts, self.values, strict=True)]
        rows = rows if self.first else [row[::-1] for row in rows]
        return [row + [""] * self.empty for row in rows]

    def _write_csv(self) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=self.separator, quoting=self.quoting, lineterminator=self.ends).writerows(
            self._rows()
        )
        self.path.write_bytes(text.getvalue().encode(self.encoding))

    def _write_tsv(self) -> None:
        if self.rng.random() < 0.5:  # literal, as most TSV is
            cells = [["\t".join(map(str, row))] for row in self._rows()]
            text = self.ends.join(row[0] for row in cells) + self.ends
            self.path.write_bytes(text.encode(self.encoding))
        else:
            self._write_csv()

    def _write_jsonl(self) -> None:
        self.header, self.encoding = True, "utf-8"
        lines = [
            json.dumps(dict(zip(self.names, row, strict=True)), ensure_ascii=self.rng.random() < 0.5)
            for row in zip(self.texts, self.values, strict=True)
        ]
        self.path.write_text("\n".join(lines) + "\n", "utf-8")

    def _write_parquet(self) -> None:
        self.header, self.encoding = True, "utf-8"
        texts: Any = pa.array(self.texts)
        kind = self.rng.choice(["plain", "binary", "dictionary", "large"])
        if kind == "binary":
            texts = pa.array([text.encode() for text in self.texts], pa.binary())
        elif kind == "dictionary":
            texts = texts.dictionary_encode()
        elif kind == "large":
            texts = texts.cast(pa.large_string())
        values: Any = pa.array(self.values)
        if pa.types.is_floating(values.type) and self.rng.random() < 0.5:
            values = pa.array(self.values, pa.float32())
        elif pa.types.is_integer(values.type) and self.rng.random() < 0.5:
            values = pa.array([Decimal(f"{value}.00") for value in self.values], pa.decimal128(5, 2))
        pq.write_table(pa.table({self.names[0]: texts, self.names[1]: values}), self.path)

    def __str__(self) -> str:
        return (
            f"{self.path.name} {self.encoding} {self.separator!r} {self.quoting} {self.header} {self.script}"
        )


def judge(wild: Wild) -> str:
    """Reads a file as a user does; returns what came of it.

    A file is read to its rows, or refused in one line that names the file and what to do.
    """
    try:
        table = read_table(wild.path)
    except DataError as error:
        message = str(error)
        assert "\n" not in message
        assert str(wild.path) in message, message
        assert re.search(r"--[a-z]|write|close|quote", message), message
        return "refused"
    assert table.texts == wild.texts, f"{wild}: {table.notes}"
    if table.labels is None:
        assert any("no label column" in note for note in table.notes)
        return "unlabelled"
    assert table.labels == [spelled(value) for value in wild.values], f"{wild}: {table.notes}"
    return "read"


def _judge_all(seeds: range, folder: Path) -> dict[str, int]:
    counts = {"read": 0, "refused": 0, "unlabelled": 0}
    for seed in seeds:
        wild = Wild(seed, folder)
        counts[judge(wild)] += 1
        wild.path.unlink()
    return counts


def test_files_in_the_wild_are_read_to_their_rows(tmp_path: Path) -> None:
    counts = _judge_all(range(200), tmp_path)
    assert counts["read"] >= 180, counts


@pytest.mark.slow
def test_five_thousand_files_in_the_wild(tmp_path: Path) -> None:
    counts = _judge_all(range(5000), tmp_path)
    print(counts)
    assert counts["read"] >= 4500, counts


CELLS = ["", " ", "a", "b c", '"', '""', "\t", ",", ";", "\n", "\r", "\r\n", "NA", "null", "None", "'", "é",
         "\0", "😀", "\ufeff", "\x1a", "|", "\x85", "\u2028", "\\", "1", "1.0", "__label__x", "#",
         "(", "हिन्दी"]  # fmt: skip
LABEL_CELLS = ["pos", "neg", "N/A", "nan", "null", "5", 'a "b"', "x\ty", "x,y"]


def _random_table(rng: random.Random) -> Table:
    n = rng.randint(1, 6)
    texts = ["".join(rng.choices(CELLS, k=rng.randint(0, 4))) for _ in range(n)]
    labels = rng.choices(LABEL_CELLS, k=n) if rng.random() < 0.8 else None
    groups = [f"g{rng.randint(0, 2)}{rng.choice(CELLS)}" for _ in range(n)] if rng.random() < 0.5 else None
    return Table.of(texts, labels, groups)


def _check_written(seeds: range, folder: Path) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        table = _random_table(rng)
        path = folder / f"a{rng.choice(['.csv', '.tsv', '.jsonl'])}"
        write_table(table, path)
        back = read_table(path)
        assert (back.texts, back.labels, back.groups) == (table.texts, table.labels, table.groups), (
            seed,
            path.read_bytes(),
            back.notes,
        )


def test_written_tables_read_back_equal(tmp_path: Path) -> None:
    _check_written(range(200), tmp_path)


@pytest.mark.slow
def test_ten_thousand_written_tables_read_back_equal(tmp_path: Path) -> None:
    _check_written(range(10_000), tmp_path)


# A cell by pandas, by JSON and by CSV is one label.
# (value of JSON and pandas, how CSV may write it, label)
VALUES: list[tuple[Any, list[str], str]] = [
    (True, ["True", "true", "TRUE"], "true"),
    (1, ["1", "1.0", " 1 ", "1.00"], "1"),
    (5.0, ["5", "5.0"], "5"),
    (0.1, ["0.1", "0.10"], "0.1"),
    (-1.0, ["-1", "-1.0"], "-1"),
    ("N/A", ["N/A"], "N/A"),
    ("nan", ["nan"], "nan"),
    ("None", ["None"], "None"),
    ("cafe\u0301", ["café", " cafe\u0301"], "café"),
    ("01", ["01"], "01"),
    ("Pos", ["Pos"], "Pos"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "spellings", "label"), VALUES, ids=[row[2] for row in VALUES])
def test_a_cell_is_one_label_in_every_format(
    tmp_path: Path, value: Any, spellings: list[str], label: str
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a text", "label": value}) + "\n")
    frame = pd.DataFrame({"text": ["a text"], "label": [value]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"label": "category"}).to_parquet(tmp_path / "b.parquet")
    for name, separator in (("a.csv", ","), ("a.tsv", "\t")):
        rows = [f"a text{separator}{spelling}\n" for spelling in spellings]
        (tmp_path / name).write_text(f"text{separator}label\n{''.join(rows)}", "utf-8")
    for path in sorted(tmp_path.iterdir()):
        assert set(read_table(path).labelled()) == {label}, path.name


def test_labels_that_differ_in_case_alone_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na text,Pos\nanother,pos\n")
    table = read_table(path)
    assert table.labels == ["Pos", "pos"]
    assert any("'Pos', 'pos'" in note for note in table.notes)


# (file, what of it is wrong, words of the message)
NOT_ONE_TEXT: list[tuple[str, Any, list[str]]] = [
    ("a.jsonl", {"text": "a", "label": ["joy", "anger"]}, ["line 2", "'label'", "list"]),
    ("a.jsonl", {"text": {"en": "a"}, "label": "joy"}, ["line 2", "'text'", "object"]),
    ("a.parquet", {"text": "a", "label": ["joy", "anger"]}, ["row 1", "'label'", "list"]),
    ("a.parquet", {"text": b"\xff", "label": "joy"}, ["row 1", "'text'", "UTF-8"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "words"), NOT_ONE_TEXT, ids=range(len(NOT_ONE_TEXT)))
def test_cells_that_are_not_one_text_are_refused(
    tmp_path: Path, name: str, row: Any, words: list[str]
) -> None:
    path = tmp_path / name
    if name.endswith(".jsonl"):
        path.write_text('{"text": "a", "label": "joy"}\n' + json.dumps(row) + "\n")
    else:
        pq.write_table(pa.table({key: [value] for key, value in row.items()}), path)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert all(word in str(caught.value) for word in words), str(caught.value)


LISTS = [
    '["neg", "x0"]',
    "['pos', 'x']",
    '{"choices": ["pos", "x"]}',
    " [1, 0] ",
    "[]",
    "{'a', 'b'}",
    "[None]",
]
NOT_LISTS = ["[joy]", "[", "{joy}", "[1", "(1)", "['a", '"[1]"', "[" * 5_000 + "]" * 5_000]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.txt"])
def test_labels_that_are_lists_written_as_text_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def save(label: str) -> None:
        frame = pd.DataFrame({"text": ["a film", "a book"], "label": ["joy", label]})
        if name == "a.jsonl":
            frame.to_json(path, orient="records", lines=True)
        elif name == "a.parquet":
            frame.to_parquet(path)
        elif name == "a.txt":
            path.write_text("".join(f"__label__{row.label} {row.text}\n" for row in frame.itertuples()))
        else:
            frame.to_csv(path, index=False, sep="\t" if name == "a.tsv" else ",")

    place = {"a.parquet": "row 2", "a.jsonl": "line 2", "a.txt": "line 2"}.get(name, "line 3")
    for label in LISTS:
        if name == "a.txt":
            label = re.sub(" ", "", label)
        save(label)
        for sample in (False, True):
            with pytest.raises(DataError) as caught:
                read_table(path, limit=2, sample=sample)
            assert all(word in str(caught.value) for word in (name, place, "one class")), str(caught.value)
        assert read_table(path, limit=1).labels == ["joy"]
    for label in NOT_LISTS:
        save(label)
        assert read_table(path).labels == ["joy", label]


def test_half_a_character_is_read_as_a_mark_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "bad \\ud83d", "label": "x\\udc00"}\n{"text": "good \\ud83d\\ude00", "label": "y"}\n'
    )
    table = read_table(path)
    assert table.texts == ["bad \ufffd", "good 😀"]
    assert table.labels == ["x\ufffd", "y"]
    assert any("2 cells" in note for note in table.notes)


SPAM = (
    'v1,v2,,,\nham,"Go until jurong point, crazy.. £5 a week",,,\nspam,WINNER!! å£900 prize,,,\n'
    + "".join(
        f'ham,U dun say so early hor {i},,,\nspam,"Ì¼ {i} free entries for £{i}, now",,,\n' for i in range(30)
    )
)
# (name, bytes, texts, labels)
REAL: list[tuple[str, bytes, list[str], list[str] | None]] = [
    ("spam.csv", SPAM.encode("cp1252"), ["Go until jurong point, crazy.. £5 a week", "WINNER!! å£900 prize"],
     ["ham", "spam"]),
    ("terms.csv", "Term,Sentiment,,,\n优秀,1,,,\n垃圾,-1,,,\n一干二净,1,,,\n".encode("gbk"), ["优秀", "垃圾"],
     ["1", "-1"]),
    ("tweets.csv", b"Tweets;;;;;;\nI love it &amp; you, really;;;;;;\nbad day;;;;;;\n",
     ["I love it &amp; you, really", "bad day"], None),
    ("tweets.csv", b"id,text,label;;;;\n1,I love it,pos;;;;\n2,bad day,neg;;;;\n", ["I love it", "bad day"],
     ["pos", "neg"]),
    ("reviews.csv", b"Reviews\nI love this, really\nbad day\n", ["I love this, really", "bad day"], None),
    ("emotions.txt", b"i feel so humiliated;sadness\ni am so happy today;joy\ni feel bad;sadness\n",
     ["i feel so humiliated", "i am so happy today"], ["sadness", "joy"]),
    ("SMSSpamCollection", b"ham\tGo until jurong point\nham\tOk lar... Joking wif u\nspam\tFree entry in 2\n",
     ["Go until jurong point", "Ok lar... Joking wif u"], ["ham", "ham"]),
    ("r.csv", b"text,label\n1,a good film,pos\n2,a bad film,neg\n",
     ["a good film", "a bad film"], ["pos", "neg"]),
    ("mac.csv", b"text,label\ra good film,pos\ra bad film,neg\r",
     ["a good film", "a bad film"], ["pos", "neg"]),
    *[(f"old.{name}", data, ["a good film", "a bad film"], ["pos", "neg"]) for name, data in (
        # Ends of lines of old Macs, and Ctrl-Z at the end of a text of DOS.
        ("jsonl", b'{"text":"a good film","label":"pos"}\r{"text":"a bad film","label":"neg"}\r'),
        ("txt", b"__label__pos a good film\r__label__neg a bad film\r"),
        ("tsv", b"text\tlabel\ra good film\tpos\ra bad film\tneg"),
        ("csv", b"text,label\r\na good film,pos\r\na bad film,neg\r\n\x1a"),
        ("json", b'{"text":"a good film","label":"pos"}\n{"text":"a bad film","label":"neg"}\n\x1a'),
        ("fasttext.txt", b"__label__pos a good film\n__label__neg a bad film\n\x1a"),
    )],
    ("saved.csv", b"Unnamed: 0,text\n0,a good film\n1,a bad film\n", ["a good film", "a bad film"], None),
    ("late.jsonl", b'{"text":"a good film","n":1}\n{"label":"neg","text":"a bad film"}\n',
     ["a good film", "a bad film"], ["", "neg"]),
    ("forms.csv", b"text,notes,label,notes\na good film,,pos,\na bad film,x,neg,y\n",
     ["a good film", "a bad film"], ["pos", "neg"]),
    ("ft.csv", b"__label__pos,a good film\n__label__neg,a bad film here\n",
     ["a good film", "a bad film here"], ["__label__pos", "__label__neg"]),
    *[(f"{code}.csv", "text,label\n{},1\n{},0\n".format(*said).encode(code), list(said), ["1", "0"])
      for code, said in (
          ("utf-16-le", ("一部好看的电影", "演技很差")), ("utf-16-be", ("一部好看的电影", "演技很差")),
          ("iso2022_jp", ("とても面白い", "ひどい脚本")),
          ("iso8859_5", ("Отличный фильм", "Ужасный сюжет")),
      )],
    ("air.csv", b"tweet_id,airline_sentiment,airline_sentiment_confidence,text\n57,neutral,1.0,what @x said\n"
     b"58,positive,0.3486,plus you added it\n",
     ["what @x said", "plus you added it"], ["neutral", "positive"]),
    ("air.csv", b"tweet_id,airline_sentiment,airline_sentiment_gold,text\n57,neutral,,what @x said\n"
     b"58,positive,,plus you added it\n59,negative,negative,it was late\n",
     ["what @x said", "plus you added it"], ["neutral", "positive"]),
    ("brands.csv", b"id,review_text,sentiment_label,sentiment_id\n1,it froze again,negative,0\n"
     b"2,a good phone,positive,2\n", ["it froze again", "a good phone"], ["negative", "positive"]),
    ("excel.txt", b'text\tlabel\nsteam cleaning of decks\t"Food, Services"\ncars and parts\tCars\n',
     ["steam cleaning of decks", "cars and parts"], ["Food, Services", "Cars"]),
    ("pandas.csv", '\ufeff,0,1\n0,it is close to the station,p\n1,the road is far,n\n'.encode(),
     ["it is close to the station", "the road is far"], ["p", "n"]),
    ("blank.csv", b'text,label\n" ""so""",pos\n" ""no""",neg\n', [' "so"', ' "no"'], ["pos", "neg"]),
    ("literal.tsv", b'text\tlabel\n"A gem, he said."\tpos\nbad, bad, bad\tneg\n',
     ['"A gem, he said."', "bad, bad, bad"], ["pos", "neg"]),
    ("excel.csv", b'sep=;\ntext;label\na, b;pos\n"c;d";neg\n', ["a, b", "c;d"], ["pos", "neg"]),
    ("excel.csv", '\ufeffSEP=\t\r\ntext\tlabel\r\na, b\tpos\r\nc\tneg\r\n'.encode(), ["a, b", "c"],
     ["pos", "neg"]),
    ("excel.csv", 'sep=|\rtext|label;;\ra, b|pos;;\rc|neg;;\r'.encode("utf-16"), ["a, b", "c"],
     ["pos;;", "neg;;"]),
    ("excel.txt", b'"sep=:"\na good film:pos\na bad film:neg\na new film:pos\n',
     ["a good film", "a bad film"], ["pos", "neg"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "texts", "labels"), REAL, ids=[row[0] for row in REAL])
def test_files_of_public_repositories_need_no_option(
    tmp_path: Path, name: str, data: bytes, texts: list[str], labels: list[str] | None
) -> None:
    (tmp_path / name).write_bytes(data)
    table = read_table(tmp_path / name, blank_labels="keep")
    assert table.texts[:2] == texts
    assert (None if table.labels is None else table.labels[:2]) == labels


def _rows(header: str, *columns: str, n: int = 36) -> str:
    """A CSV file whose cells are made of the number of their row, and of a sentiment."""
    said = ("a great film, loved it", "pos"), ("a dull plot and bad acting", "neg")
    lines = [
        ",".join(f'"{cell.format(i=i, text=said[i % 2][0], label=said[i % 2][1])}"' for cell in columns)
        for i in range(n)
    ]
    return "\n".join([*([header] if header else []), *lines]) + "\n"


# Files that would be read as something else, with the words of the error: the place, what it is, what to do.
REFUSED: list[tuple[str, bytes, list[str]]] = [
    ("commas.csv", b"text,label\ngood, really,1\nbad, awful,0\n", ["line 2", "3 columns", "quote cells"]),
    ("single.csv", b"text,label\n'good, really','1'\n'bad, no','0'\n", ["line 2", "3 columns"]),
    ("few.csv", b"text,label\ngood,1\nbad\n", ["line 3", "1 column", "missing cells"]),
    ("blank.csv", b'label, text\n1, "good, yes"\n0, "bad, no"\n', ["line 2", "blank", "quote"]),
    ("blank.csv", b'text, label\n"good", "1"\n"bad", "0"\n', ["column 2", "blank", "quote"]),
    ("title.csv", b"Results of 2020,\ntext,label\na film,1\nb,0\n", ["text, label", "--no-header"]),
    ("note.csv", b"# by X\ntext,label\na film,1\nb,0\n", ["text, label", "--no-header"]),
    *[
        (f"title{i}.csv", (title + _rows(names, "{text} {i}", "{label}")).encode(), words)
        for i, (title, names, words) in enumerate(
            [
                ("# a\n" * 4, "text,label", ["text, label", "--no-header"]),
                ("# exported 2020-01-01\n", "Avis,Note", ["line 1", "from 2", "--no-header"]),
                ("Feedback of 2023\n\n", "Kommentar,Gefuehl", ["line 1", "from 3", "--no-header"]),
                ("Feedback of 2023,\n", "Kommentar,Gefuehl", ["line 1", "Feedback", "--no-header"]),
                ("text,label\n", "----,-----", ["line 2", "'----'", "delete"]),
                ("text,label\n", "TEXT,Label", ["line 2", "'TEXT'", "delete"]),
                ("Comment,Rating\n", "Open-Ended Response,Response", ["line 2", "Response", "delete"]),
                (
                    "Avis,Note\nYour opinion,Rating\n",
                    '"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}"',
                    ["line 3", "ImportId", "lines 2 to 3"],
                ),
            ]
        )
    ],
    ("table.csv", b"| text | label |\n|---|---|\n| a film | pos |\n", ["line 2", "'---'", "delete"]),
    ("header.csv", b"wonderful,joy\ndull,anger\nslow,sad\n", ["--text-column", "--no-header"]),
    ("twice.csv", b"text,label,text\na b,1,c d\n", ["'text'", "rename"]),
    ("mark.csv", b"text,label\ngood,1\n\x1a\r\nbad,0\n", ["line 3", "missing cells"]),
    ("nul.csv", b"text\0x,label\ngood,1\n", ["NUL", "--encoding"]),
    ("page.csv", b"\n<!DOCTYPE html>\n<html>a, b</html>\n", ["web page", "download"]),
    ("lfs.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", ["git lfs pull"]),
    ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ["Excel", "CSV"]),
    ("book.csv", b"PK\x03\x04" + bytes(30), ["Excel", "CSV"]),
    ("a.jsonl", b"%PDF-1.4\n%\xe2\xe3\n", ["PDF"]),
    ("a.tsv", b"\x80\x04\x95\x10\0\0\0", ["pickle"]),
    ("a.parquet", b"text,label\na,b\n", ["not Parquet", "--format"]),
    ("a.jsonl", b'{"text": "a"},\n', ["line 1", "one object a line"]),
    ("a.jsonl", b'{"text": "a"}\n{"label": "b"}\n', ["line 2", "'text'"]),
]


@pytest.mark.parametrize(("name", "data", "words"), REFUSED, ids=range(len(REFUSED)))
def test_files_that_would_be_misread_are_refused(
    tmp_path: Path, name: str, data: bytes, words: list[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / name)
    assert all(word in str(caught.value) for word in [name, *words]), str(caught.value)


def test_texts_with_separators_are_not_a_table_below_a_title(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    texts = [f"number {i} is good, really {i}" for i in range(40)]
    path.write_text("\n".join(["Reviews", *texts]))
    assert read_table(path).texts == texts
    path.write_text("Reviews\n" + "a film,pos\na book,neg\n" * 9)
    assert len(read_table(path, header=False)) == 19
    assert read_table(path, header=True).texts[0] == "a film,pos"
    path.write_text("text,label\n--,neg\n-,pos\n")  # a text of dashes
    assert read_table(path).texts == ["--", "-"]


def test_parquet_is_read_whatever_its_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a film"], "label": ["pos"]}), tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv").format == "parquet"
    with pytest.raises(DataError, match="--format parquet"):
        read_table(tmp_path / "a.csv", format="csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "b.parquet")
    pq.write_table(pa.table([["a"], ["b"], ["c"]], names=["text", "label", "label"]), tmp_path / "c.parquet")
    with pytest.raises(DataError, match="'label'"):
        read_table(tmp_path / "c.parquet")


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "cp1252", "utf-16", "utf-16-be"])
def test_only_ctrl_z_at_the_very_end_is_left_out(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    for text in ("a\n\x1a", "a\x1a", "\x1a", "a\x1ab\n", "\x1a\x1a", "x" * (1 << 20) + "\x1ay", "cĚ"):
        try:
            path.write_bytes(text.encode(encoding))
        except UnicodeEncodeError:
            continue
        eight_bits = not encoding.startswith("utf-16")
        left = text.removesuffix("\x1a") if eight_bits else text
        with open_text(path, encoding) as file:
            assert file.text() == left
            assert file.sha256() == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_condition_that_no_row_fulfils_names_the_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label,split\na b,x,train\nc d,y,dev\n")
    with pytest.raises(DataError) as caught:
        read_table(path, where="split=valid")
    assert all(word in str(caught.value) for word in ("'valid'", "'split'", "'train'", "'dev'"))
    # A label may be the condition and the label.
    assert read_table(path, where="label=x").labels == ["x"]


def test_lines_of_rows_are_found_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + '"two\r\nlines",1\n\none,2\n' * 20_000, newline="")
    began = time.process_time()
    lines = read_table(path, with_lines=True).lines
    assert lines == [line for start in range(2, 80_002, 4) for line in (start, start + 3)]
    assert time.process_time() - began < 20


def test_labels_that_look_alike_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,1\nb,\uff11\nc,pos\nd,pos\u200b\n", "utf-8")
    notes = [note for note in read_table(path).notes if "look alike" in note]
    assert [("'1'" in note, "'pos'" in note) for note in notes] == [(True, False), (False, True)]


def test_unknown_labels_have_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,\nb,pos\nc,odd\nd,odd\n")
    labels = Labels(["neg", "pos"])
    table = read_table(path, blank_labels="keep", with_lines=True)
    for some, place in ((table, "line 4"), (dataclasses.replace(table, lines=None), "row 3")):
        with pytest.raises(DataError) as caught:
            labels.classes(some)
        assert all(word in str(caught.value) for word in ("a.csv", place, "'odd'", "2", "'neg'"))
    assert labels.classes(table.take([0, 1])).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *itertools.product(
            ["tweet_id", "date", "user", "url", "index", "#", "timestamp"],
            ["100{i}", "u{i}", "https://a.b/{i}", "0.{i}7"],
        ),
        *itertools.product(["label", "class"], ["100{i}", "0.{i}7"]),
    ],
)
def test_columns_without_equal_values_are_not_labels(tmp_path: Path, name: str, cell: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(_rows(f"{name},text", cell, "{text} {i}"))
    table = read_table(path)
    assert table.labels is None
    assert any("--label-column" in note and repr(name) in note for note in table.notes)
    with pytest.raises(DataError, match=f"different .--label-column .?{name}"):
        table.labelled()
    assert len(set(read_table(path, label_column=name).labelled())) == 36
    # So many labels of few rows each are labels.
    path.write_text(_rows(f"{name},text", cell, "{text} {i}") * 2)
    frame = pd.read_csv(path, dtype=str).query("text != 'text'")
    assert len(set(table_of_frame(frame).labelled())) == 36
    path.write_text(_rows(f"{name},text", cell, "{text} {i}", n=20))
    assert len(read_table(path).labelled()) == 20


@pytest.mark.parametrize("day", ["2024-01-{:02d}", "{}/3/2024", "{}.3.24", "2024-01-{:02d}T10:00:00Z"])
def test_dates_that_repeat_are_not_labels(tmp_path: Path, day: str) -> None:
    path = tmp_path / "days.csv"
    rows = [f"a good film number {i},{day.format(i % 3 + 1)}" for i in range(30)]
    path.write_text("\n".join(["txt,when", *rows]))
    with pytest.raises(DataError, match=r"dates.+--label-column when"):
        read_table(path).labelled()
    assert set(read_table(path, label_column="when").labels or ()) == {day.format(i) for i in (1, 2, 3)}


def test_null_of_mysql_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "dump.tsv"
    path.write_text("text\tlabel\ngood\tpos\nbad\t\\N\nso so\tneg\n\\N\tpos\n")
    with pytest.raises(DataError, match="line 3 has no label"):
        read_table(path)
    table = read_table(path, blank_labels="drop")
    assert (table.texts, table.labels) == (["good", "so so", "\\N"], ["pos", "neg", "pos"])


def test_lists_that_all_differ_are_refused_as_lists(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(_rows("text,label", "{text}", "['{label}', 'x{i}']"))
    with pytest.raises(DataError, match="line 2, column 'label': a list"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", [".txt", ".tsv", ".csv"])
@pytest.mark.parametrize("columns", [("{i}", "{text}"), ("{text}", "{i}")])
def test_numbers_of_rows_are_not_labels(tmp_path: Path, suffix: str, columns: tuple[str, str]) -> None:
    path = tmp_path / f"a{suffix}"
    text = _rows("", *columns)
    path.write_text(text if suffix == ".csv" else text.replace('","', "\t").replace('"', ""))
    table = read_table(path)
    assert (len(table), table.labels) == (36, None)
    assert any("no label column" in note for note in table.notes)


# (header, cells, columns that are taken, column that a note says is not)
PASSED_OVER: list[tuple[str, list[str], list[str | None], str]] = [
    ("Review,Comments,Sentiment", ["10{i}", "{text}", "{label}"], ["Comments", "Sentiment"], "Review"),
    ("tweet,tweet_text,sentiment", ["10{i}", "{text}", "{label}"], ["tweet_text", "sentiment"], "tweet"),
    ("Message,Email Body,Label", ["{i}", "{text}", "{label}"], ["Email Body", "Label"], "Message"),
    ("text,body,label", ["{i}", "{text}", "{label}"], ["body", "label"], "text"),
    ("id,headline,comment,label", ["{i}", "{text}", "", "{label}"], ["headline", "label"], "comment"),
    ("comment,headline", ["", "{text}"], ["headline", None], "comment"),
    ("text,class,emotion", ["{text}", "10{i}", "{label}"], ["text", "emotion"], "class"),
    ("text,sentiment,emotion", ["{text}", "0.{i}7", "{label}"], ["text", "emotion"], "sentiment"),
    ("text,label,category", ["{text}", "{i}", "{label}"], ["text", "category"], "label"),
    ("id,text,target,sentiment_class", ["{i}", "{text}", "{i}", "{label}"], ["text", "sentiment_class"],
     "target"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "cells", "taken", "not_taken"), PASSED_OVER)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_known_name_is_taken_where_its_cells_fit(
    tmp_path: Path, header: str, cells: list[str], taken: list[str | None], not_taken: str, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    frame = pd.read_csv(io.StringIO(_rows(header, *cells)), keep_default_na=False)
    {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".parquet": lambda: frame.to_parquet(path),
    }[suffix]()
    table = read_table(path)
    assert [table.columns.get("text"), table.columns.get("label")] == taken
    assert any(f"not {not_taken!r}" in note and f"-column {not_taken}" in note for note in table.notes)
    # What an earlier file had, or the user names, is not judged.
    role = "label" if not_taken in ("class", "sentiment", "label", "target") else "text"
    assert read_table(path, like={role: not_taken}, blank_labels="keep").columns[role] == not_taken


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".csv", ";"), (".tsv", "\t")])
def test_a_header_that_joined_files_repeat_is_not_a_row(
    tmp_path: Path, mark: str, end: str, suffix: str, separator: str
) -> None:
    path = tmp_path / f"a{suffix}"
    part = ["text|label|id", *(f"a film {i}|{'pn'[i % 2]}|{i}" for i in range(4))]
    text = end.join([*part, *[mark + line for line in part[:1]], *part[1:], ""]).replace("|", separator)
    path.write_bytes(text.encode())
    table = read_table(path, with_lines=True)
    assert table.texts == [f"a film {i}" for i in range(4)] * 2
    assert table.labels == list("pnpn" * 2)
    assert table.lines == [2, 3, 4, 5, 7, 8, 9, 10]
    assert any("repeat the header" in note and "line 6" in note for note in table.notes)
    assert read_table(path, where="label=p").texts == ["a film 0", "a film 2"] * 2
    with open_texts(path) as opened:
        assert list(opened.texts) == table.texts
    assert read_table(path, header=False, text_column="1").texts.count("text") == 2 - bool(mark and end)


def test_a_header_is_repeated_far_below(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"a film number {i},{i % 2}" for i in range(100_000)]
    path.write_text("\n".join(["Satz,Note", *rows, "Satz,Note", "Satz,1"]))
    table = read_table(path)
    assert len(table) == 100_001
    assert table.texts[-1] == "Satz"  # a row that only shares a cell with the header
    assert any("line 100002" in note for note in table.notes)


# (first row, the cells below it)
HEADERS_OF_FORMS: list[tuple[str, list[str]]] = [
    ("How was your stay with us in May?,Would you come back?", ["{text} {i}", "{label}"]),
    ("Kommentar,Would you recommend us?", ["{text} {i}", "{label}"]),
    ("0,1", ["{text} {i}", "{label}"]),
    ("0,1", ["{label}", "{text} {i}"]),
    ("text,label", ["{text} {i}", "label {label}"]),
]


@pytest.mark.parametrize(("header", "cells"), HEADERS_OF_FORMS)
def test_questions_and_numbers_of_pandas_name_columns(tmp_path: Path, header: str, cells: list[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(_rows(header, *cells))
    table = read_table(path)
    assert (len(table), len(set(table.labelled()))) == (36, 2)
    assert any("column: " in note and repr(header.split(",")[0]) in note for note in table.notes)


def test_numbers_of_pandas_above_numbered_labels(tmp_path: Path) -> None:
    rows = "".join(f"a film number {i}\t{i % 2}\n" for i in range(30))
    for name, text in (("a.tsv", rows), ("a.txt", rows), ("a.csv", rows.replace("\t", ","))):
        (tmp_path / name).write_text(("0,1\n" if name == "a.csv" else "0\t1\n") + text)
        table = read_table(tmp_path / name)
        assert (len(table), set(table.labelled())) == (30, {"0", "1"})
    # Rows of numbers alone have no header.
    (tmp_path / "b.csv").write_text("0,1\n1,0\n0,0\n1,1\n")
    with pytest.raises(DataError, match="'1', '2'"):
        read_table(tmp_path / "b.csv")


def test_a_first_row_that_may_be_a_header_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(_rows("headline,pos", "{text} {i}", "{label}"))
    assert any("'headline', 'pos'" in note and "--header" in note for note in read_table(path).notes)
    assert len(read_table(path, header=True)) == 36


def test_a_known_name_without_texts_is_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(_rows("text,label", "10{i}", "{label}"))
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert all(word in str(caught.value) for word in ("'text'", "numbers", "--text-column"))
    assert read_table(path, text_column="text").texts[0] == "100"
    path.write_text("text,label,label_2\n12,x,very bad\n")  # one row does not show what the column holds
    assert read_table(path).texts == ["12"]
    path.write_text(_rows("text,label,label_2", "😀!", "{label}", "{text}"))
    assert set(read_table(path).texts) == {"😀!"}


def test_texts_alone_in_another_encoding_name_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\n这部电影非常好看我很喜欢,1\n剧情太糟糕了演技也很差,0\n".encode("gbk"))
    with pytest.raises(DataError, match="--encoding gb18030"), open_texts(path) as opened:
        list(opened.texts)
    with open_texts(path, encoding="gb18030") as opened:
        assert list(opened.texts) == ["这部电影非常好看我很喜欢", "剧情太糟糕了演技也很差"]


def test_options_say_what_is_not_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("good:pos\nbad:neg\n")
    table = read_table(path, text_column="1", label_column="2", separator=":", header=False)
    assert (table.texts, table.labels) == (["good", "bad"], ["pos", "neg"])
    path.write_text("1 2 3,4\nsome words here,4\n")
    assert read_table(path, header=True).texts == ["some words here"]
    path.write_bytes("text,label\ncafé au lait,1\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").texts == ["café au lait"]


def test_the_first_line_of_excel_sets_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sep=;\ntext;label\na, b;pos\nc;neg\n")
    table = read_table(path, with_lines=True)
    assert table.lines == [3, 4]
    assert any("';'" in note and "'sep=;'" in note for note in table.notes)
    # What the user types wins; the line is not a row then either.
    path.write_text("sep=;\ntext;label,x\na b;pos,y\n")
    assert read_table(path, text_column="text;label", separator=",").texts == ["a b;pos"]
    for rows, words in (
        ("a;b;pos\n", ["line 3", "3 columns"]),
        ('"a;pos\n', ["line 3", "column 1", "quote"]),
    ):
        path.write_text(f"sep=;\ntext;label\n{rows}")
        with pytest.raises(DataError) as caught:
            read_table(path)
        assert all(word in str(caught.value) for word in words), str(caught.value)
    path.write_text("sep=;\n")
    with pytest.raises(DataError, match="no rows"):
        read_table(path)


def test_quotes_of_tsv_never_swallow_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = ['"Great\t1', "fine enough\t0", 'an instant classic"\t1', "bad\t0"]
    path.write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    assert read_table(path).texts == ['"Great', "fine enough", 'an instant classic"', "bad"]
    path.write_text('"text"\t"label"\n"a\tb\n\tc"\t"1"\n"say ""x"""\t"0"\n')
    assert read_table(path).texts == ["a\tb\n\tc", 'say "x"']


def test_texts_of_several_lines_are_no_swallowed_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    texts = ["Great, yes\nfine, no\nclassic", "x,1\ny", "a film"]
    write_table(Table.of(texts * 4, ["1", "0", "1"] * 4), path)
    assert read_table(path).texts == texts * 4


def test_a_line_limit_counts_bytes(tmp_path: Path) -> None:
    for name, content in (("a.csv", "text,label\n{},1\n"), ("a.jsonl", '{{"text":"{}","label":1}}\n')):
        (tmp_path / name).write_text(content.format("é" * 40), "utf-8")
        assert len(read_table(tmp_path / name, max_line_bytes=130)) == 1
        with pytest.raises(DataError, match="70 bytes"):
            read_table(tmp_path / name, max_line_bytes=70)


def test_reading_lines_keeps_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("good\n\nbad\n \nlast")
    assert read_table(tmp_path / "a.txt", format="lines").texts == ["good", "", "bad", " ", "last"]


def test_quoted_cells_are_masked_as_quote_by_quote() -> None:
    """The quick masking of a block equals the one that looks at each quote, wherever it answers."""
    drawn = random.Random(3)
    parts = ['"a"', '"a""b"', "x", '"é,\n"', ",", "\n", "\r\n", '""', '"', "\x1a", "\ud800"]
    ends = {",", "\r", "\n"}
    answered = 0
    for _ in range(5_000):
        text = "".join(drawn.choice(parts) + drawn.choice([",", "\n", "\r\n", ""]) for _ in range(6))
        found = separated._masked(text, ends) if '"' in text else None
        if found is not None:
            answered += 1
            assert found == separated._masked_by_cell(text, ends), text
    assert answered > 500


def test_many_columns_take_linear_time(tmp_path: Path) -> None:
    # Looking for each name among all took half a minute.
    n = 60_000
    header = ",".join(f"w{place}" for place in range(n))
    row = ",".join("0" * n)
    (tmp_path / "wide.csv").write_text(f"text,label,{header}\na good film,1,{row}\na bad film,0,{row}\n")
    start = time.process_time()
    assert read_table(tmp_path / "wide.csv").labels == ["1", "0"]
    assert time.process_time() - start < 15


def test_the_page_lists_all_known_names() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "labelled-files.md").read_text("utf-8")
    known = {
        "text": columns._TEXT,
        "label": columns._LABEL,
        "several labels": columns._LABELS,
        "group": columns._GROUP,
        "id": columns._ID,
    }
    for column, names in known.items():
        assert f"| {column} | {', '.join(f'`{name}`' for name in names)} |" in page
