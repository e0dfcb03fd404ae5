"""`--exclude FILE`: rows, lines and pairs with a held-out text are left out, whatever reads them."""

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import shared_data
from labelled_reviews import tree, write
from senti_in_process import senti
from sentimodels.data import Table, read_table
from sentimodels.data.exclusion import Exclusion, hash_file_of, text_key
from sentimodels.data.normalization import letters, text_hash
from sentimodels.data.sst import submission, with_rebuilt_labels
from sentimodels.data.writers import write_table
from sentimodels.errors import DataError
from sentimodels.runs.families import read_toml, resolve
from sentimodels.runs.tables import Tables

HELD = [f"The judges of part {n} alone have read this long sentence." for n in range(30)]


@pytest.fixture
def hashes(tmp_path: Path) -> Path:
    path = tmp_path / "held-out.txt"
    path.write_bytes(hash_file_of(HELD)[0])
    return path


# How a copy of a text may look.
COPIES = [
    "{0}", "  {0} ", "{1}", "{2}", "{3}", "1\t{0}\tx", "It was so. {0} I left.", "First line\n{0}\nlast line",
    "So he says:<br />{0}<br />",
]  # fmt: skip


# A text as a row of a file of another format, whose lines are read as texts.
ROWS = [
    "3 {}", "{} 3", "17 3 {}", "17,{},3", "__label__3 {}", "__label__pos {}", "{}|1234", '"{}",3',
    '"17","{}","very positive"', "<li><b>{}</b></li>", '{{"id": 17, "text": "{}", "label": 3}}',
    '  "text": "{}",', "[4] {}", "3) {}", "<b>{}</b> 4", "4 <b>{}</b>", "somewhat negative {}",
    '{{"text": "{}", "label": 3}}',
]  # fmt: skip
# What writes a text otherwise: (name, what it becomes).
SPELLINGS: list[tuple[str, Callable[[str], str]]] = [
    ("quotes", lambda text: text.replace("'", "\u2019").replace('"', "``")),
    ("entities", lambda text: text.replace("'", "&#39;").replace('"', "&quot;").replace("&", "&amp;")),
    ("tags", lambda text: text.replace("judges", "<b>judges</b>").replace("long", '<a href="x">long</a>')),
    ("line tags", lambda text: f"<p>{text.replace(' of ', ' of<br/>')}</p>"),
    ("brackets", lambda text: text.replace("(", "-LRB-").replace(")", "-RRB-")),
    ("lower brackets", lambda text: text.lower().replace("(", "lrb ").replace(")", " rrb")),
    ("tree", lambda text: f"(3 {' '.join(f'(2 {word})' for word in re.findall('[^ ()]+', text))})"),
    ("JSON escapes", lambda text: json.dumps({"text": text.replace("e", "\u00e9")})),
]
TYPED = [f'Judges of "part {n}" (alone) haven\'t read this long sentence.' for n in range(9)]


@pytest.mark.parametrize("row", ROWS)
def test_rows_of_other_formats_are_found(row: str, hashes: Path) -> None:
    exclusion = Exclusion.read(str(hashes))
    assert all(exclusion.holds(row.format(text)) for text in HELD)
    assert not any(exclusion.holds(row.format(text.replace("judges", "readers"))) for text in HELD)


@pytest.mark.parametrize(("name", "spelled"), SPELLINGS, ids=[name for name, _ in SPELLINGS])
def test_spellings_are_found_both_ways(name: str, spelled: Callable[[str], str], tmp_path: Path) -> None:
    """A copy is found by the hash of the text, and, unless it is a row, the text by that of the copy."""
    (tmp_path / "typed.txt").write_bytes(hash_file_of(TYPED)[0])
    exclusion = Exclusion.read(str(tmp_path / "typed.txt"))
    assert all(exclusion.holds(spelled(text)) for text in TYPED)
    assert not any(exclusion.holds(spelled(text.replace("long", "short"))) for text in TYPED)
    if name in ("tree", "JSON escapes"):
        return
    (tmp_path / "spelled.txt").write_bytes(hash_file_of(map(spelled, TYPED))[0])
    assert all(map(Exclusion.read(str(tmp_path / "spelled.txt")).holds, TYPED))


def test_older_hashes_of_texts_with_tags_are_found(tmp_path: Path) -> None:
    """They were made of the letters of tags and entities too."""
    texts = [f"<b>{text}</b> &amp; more" for text in HELD]
    (tmp_path / "old.txt").write_text("".join(f"{text_hash(text_key(text) or ''):016x}\n" for text in texts))
    exclusion = Exclusion.read(str(tmp_path / "old.txt"))
    assert all(map(exclusion.holds, texts))
    assert all(exclusion.holds(f"a line\n{text}") for text in texts)
    assert not any(map(exclusion.holds, HELD))


def test_a_text_in_the_middle_of_another_is_not_found(hashes: Path) -> None:
    exclusion = Exclusion.read(str(hashes))
    assert not any(exclusion.holds(f"I say that {text.rstrip('.')} and so on") for text in HELD)


def copied(form: str, text: str) -> str:
    """A text in a form: itself, in capitals, with accents, without punctuation and with double blanks."""
    bare = text.replace(".", "").replace(" ", "  ")
    return form.format(text, text.upper(), text.replace("e", "é"), bare)


@pytest.mark.parametrize("form", COPIES)
def test_copies_are_found(form: str, hashes: Path) -> None:
    exclusion = Exclusion.read(str(hashes))
    assert all(exclusion.holds(copied(form, text)) for text in HELD)
    others = ["The judges of part 31 alone have read this long sentence.", "The judges of part 1", ""]
    assert not any(exclusion.holds(copied(form, text)) for text in others)


def test_only_excluded_lines_are_left_out(hashes: Path) -> None:
    exclusion = Exclusion.read(str(hashes))
    assert exclusion.without(f"a line\n{HELD[0]}\n\nanother") == "a line\n\nanother"
    assert exclusion.without(HELD[0]) == ""
    text = "a text\nof two lines"
    assert exclusion.without(text) is text
    assert Exclusion.read(None).without(HELD[0]) is HELD[0]


@pytest.mark.parametrize("part", ["train", "valid"])
def test_rows_neither_train_nor_validate(part: str, hashes: Path, tmp_path: Path) -> None:
    reviews = write(tmp_path / "reviews.csv", 60)
    texts = [*HELD[:7], "a text of its own that nobody holds out"]
    write_table(Table.of(texts, ["pos"] * 7 + ["neg"]), tmp_path / "more.csv")
    files = {"train": str(reviews), "valid": str(reviews)}
    files[part] = str(tmp_path / "more.csv")
    config = resolve(tree("nb", reviews, data={**files, "exclude": str(hashes)}))
    if part == "train":
        with pytest.raises(DataError, match=r"more\.csv"):  # one label is left
            Tables(config.data)
        return
    tables = Tables(config.data)
    assert tables.valid is not None
    assert len(tables.valid) == 1
    assert any("more.csv: 7 rows" in note for note in tables.notes)
    # A test part is scored, never trained on.
    config = resolve(tree("nb", reviews, data={"test": str(tmp_path / "more.csv"), "exclude": str(hashes)}))
    tables = Tables(config.data)
    assert tables.test is not None
    assert len(tables.test) == 8


def test_a_file_with_nothing_else_is_refused(hashes: Path, tmp_path: Path) -> None:
    write_table(Table.of(HELD, ["pos", "neg"] * 15), tmp_path / "copy.csv")
    done = senti("train", "copy.csv", "--arch", "nb", "--exclude", "held-out.txt", "-o", "run", cwd=tmp_path)
    assert done.code == 2
    assert "copy.csv" in done.err
    assert "held-out.txt" in done.err
    assert not (tmp_path / "run").exists()


def test_the_environment_names_a_default(
    hashes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(Table.of(HELD, ["pos", "neg"] * 15), tmp_path / "copy.csv")
    (tmp_path / "other.txt").write_bytes(hash_file_of(["a text that only the other file holds out"])[0])
    monkeypatch.setenv("SENTI_EXCLUDE", str(hashes))
    train = ("train", "copy.csv", "--arch", "nb", "--no-baseline")
    refused = senti(*train, "-o", "run", cwd=tmp_path)
    assert refused.code == 2
    assert str(hashes) in refused.err
    done = senti(*train, "--exclude", "other.txt", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    config = read_toml(tmp_path / "run" / "config.toml")
    assert Path(config["data"]["exclude"]).name == "other.txt"


def test_a_corpus_loses_excluded_lines(hashes: Path, tmp_path: Path) -> None:
    lines = [f"line {n} of a book that anyone may read" for n in range(200)]
    (tmp_path / "book.txt").write_text("\n".join([*lines, *HELD]) + "\n", "utf-8")
    small = ["--preset", "nano", "--steps", "1", "--batch-size", "2", "--context", "16", "--vocab", "300"]
    done = senti("pretrain", "book.txt", *small, "--exclude", "held-out.txt", "-o", "run", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "30 lines or documents were left out" in done.err


def test_the_command_writes_what_is_read(tmp_path: Path) -> None:
    write_table(Table.of([*HELD, "short"], ["x"] * 31), tmp_path / "test.csv")
    done = senti("data", "hashes", "test.csv", "-o", "held-out.txt", cwd=tmp_path)
    assert done.code == 0, done.err
    found = Exclusion.read(str(tmp_path / "held-out.txt"))
    assert len(found.hashes) == 30
    assert all(map(found.holds, HELD))
    assert not any(text in (tmp_path / "held-out.txt").read_text("utf-8") for text in HELD)


@pytest.mark.parametrize(("content", "said"), [("", "no hashes"), ("0" * 16 + "\nabc\n", "line 2: 'abc'")])
def test_a_file_that_holds_no_hashes_is_refused(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "held-out.txt").write_text(content)
    with pytest.raises(DataError, match=said):
        Exclusion.read(str(tmp_path / "held-out.txt"))


# (text, key)
KEYS = [
    ("Too short .", None),
    ("It 's a -LRB- really -RRB- GOOD film !", None),
    ("It 's a -LRB- really -RRB- very GOOD film !", "itsareallyverygoodfilm"),
    ("it's a (really) very good film", "itsareallyverygoodfilm"),
    ("it 's a lrb really rrb very good film", "itsareallyverygoodfilm"),
    ("it 's a -lrb- really -rrb- very good film", "itsareallyverygoodfilm"),
    ("It 's a r\u00e9ally very good film", "itsareallyverygoodfilm"),
    ("It 's a Lrbian really very good film", "itsalrbianreallyverygoodfilm"),
    ("x" * 601, None),
]


@pytest.mark.parametrize(("text", "key"), KEYS, ids=range(len(KEYS)))
def test_texts_are_compared_by_their_letters(text: str, key: str | None) -> None:
    assert text_key(text) == key


def test_letters_of_ascii_are_those_of_the_definition() -> None:
    text = "".join(map(chr, range(128)))
    assert letters(text) == "".join(filter(str.isalnum, text.casefold()))
    assert letters(text + "é") == letters(text) + "é"


def test_the_hashes_of_the_kaggle_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """They know the sentences that judge it, in each file that has them, and few further ones."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benches" / "models")
    exclusion = Exclusion.read(str(importlib.import_module("parts").HELD_OUT))
    folder = shared_data.folder()
    for file, most in (
        ("sst-trees/dev.txt.xz", 1),
        ("sst2/test.tsv.xz", 1),
        ("sst-trees/train.txt.xz", 0.01),
    ):
        texts = [text for text in read_table(folder / file, limit=600).texts if text_key(text)]
        share = sum(map(exclusion.holds, texts)) / len(texts)
        assert share == 1 if most == 1 else share < most, file


@pytest.fixture(scope="module")
def rebuilt() -> Table:
    folder = shared_data.folder()
    trees = [read_table(folder / "sst-trees" / f"{p}.txt.xz", format="sst-phrases") for p in ("dev", "test")]
    return with_rebuilt_labels(read_table(folder / "kaggle-movie-reviews" / "test.tsv.xz"), trees)


def test_rebuilt_labels(rebuilt: Table) -> None:
    labels = rebuilt.labelled()
    assert len(labels) == 66_292
    assert labels.count("") == 1
    assert rebuilt.texts[labels.index("")] == " "
    share = labels.count("2") / 66_291
    assert round(share, 4) == 0.5179


def test_other_trees_do_not_label_the_test(rebuilt: Table) -> None:
    train = read_table(shared_data.folder() / "yelp-labelled" / "yelp_labelled.txt")
    with pytest.raises(DataError, match="are in no tree"):
        with_rebuilt_labels(rebuilt, [train])


def test_two_labels_for_a_phrase_are_refused() -> None:
    with pytest.raises(DataError, match="has the labels 1 and 2"):
        with_rebuilt_labels(Table.of(["a"]), [Table.of(["a", "a"], ["1", "2"])])


def test_submissions() -> None:
    assert (
        submission("movie-reviews", ["156061", "156062"], ["2", "3"])
        == "PhraseId,Sentiment\n156061,2\n156062,3\n"
    )
    assert submission("imdb", None, ["1"]) == "Id,Category\n0,1\n"
    with pytest.raises(DataError, match="one of movie-reviews, imdb"):
        submission("poems", None, ["1"])
    with pytest.raises(DataError, match="share an id"):
        submission("imdb", ["1", "1"], ["1", "0"])
