"""Nothing trains, tunes or stops on the sentences of SST dev and test."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shared_data
from sentimodels.data import Table, check_trainable, read_table, rules, training_table
from sentimodels.data.normalization import among, letters, text_hash
from sentimodels.data.sst.guard import (
    HELD_OUT_FILES,
    concerns,
    held_out_hashes,
    held_out_sentences,
    key_hashes,
    phrase_hashes,
    sentence_key,
)
from sentimodels.data.sst.kaggle import submission, with_rebuilt_labels
from sentimodels.data.table import Labels
from sentimodels.data.writers import write_table
from sentimodels.errors import DataError
from sentimodels.evaluation.phrase_memory import PhraseMemory

# (file, options)
HELD_OUT: list[tuple[str, dict[str, Any]]] = [
    ("sst-trees/dev.txt.xz", {}),
    ("sst-trees/test.txt.xz", {"format": "sst-phrases"}),
    ("sst-trees/dev.txt.xz", {"format": "sst-binary", "limit": 3}),
    ("sst2/dev.tsv.xz", {}),
    ("sst2/test.tsv.xz", {"limit": 1}),
    ("kaggle-movie-reviews/test.tsv.xz", {}),
]

ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("kaggle-movie-reviews/train.tsv.xz", {}),
    ("sst-trees/train.txt.xz", {}),
    ("sst2/train.tsv.xz", {}),
    ("mr-rt-polarity", {}),
    ("tweet-sentiment/train.csv.xz", {}),
    ("yelp-labelled/yelp_labelled.txt", {}),
]


@pytest.mark.parametrize(("file", "options"), HELD_OUT)
def test_held_out_files_are_refused(file: str, options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="nothing may train on it"):
        training_table(shared_data.folder() / file, **options)
    # Reading it to score on is no offence.
    assert read_table(shared_data.folder() / file, **options).held_out


@pytest.mark.parametrize("part", ["dev", "test"])
def test_every_sentence_of_sst2_is_known(part: str) -> None:
    # Row by row, as it would be found among others: SST-2 spells some otherwise than the treebank.
    known = set(held_out_hashes().tolist())
    keys = [sentence_key(text) for text in read_table(shared_data.folder() / f"sst2/{part}.tsv.xz").texts]
    long = [key for key in keys if key is not None]
    assert len(long) > 0.95 * len(keys)
    assert [key for key in long if text_hash(key) not in known] == []


@pytest.mark.parametrize(("file", "options"), ALLOWED)
def test_training_files_are_not(file: str, options: dict[str, Any]) -> None:
    assert training_table(shared_data.folder() / file, **options).held_out is None


def test_rt_polarity_says_what_it_overlaps() -> None:
    notes = training_table(shared_data.folder() / "mr-rt-polarity").notes
    assert any("do not score" in note for note in notes)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("part", ["dev", "test"])
def test_copies_in_another_format_are_refused(tmp_path: Path, suffix: str, part: str) -> None:
    trees = read_table(shared_data.folder() / "sst-trees" / f"{part}.txt.xz", unescape=True)
    lowered = Table.of([text.lower() for text in trees.texts], trees.labels)
    write_table(lowered, tmp_path / f"copy{suffix}")
    with pytest.raises(DataError, match="sentences are in SST dev and test"):
        training_table(tmp_path / f"copy{suffix}")


def test_train_trees_with_dev_among_them_are_refused(tmp_path: Path) -> None:
    """As one copy of the treebank comes: train followed by dev."""
    folder = shared_data.folder() / "sst-trees"
    trees = tmp_path / "train.txt"
    trees.write_text(
        "".join(shared_data.text("sst-trees", f"{part}.txt.xz") for part in ("train", "dev")), "utf-8"
    )
    assert training_table(folder / "train.txt.xz").held_out is None
    with pytest.raises(DataError, match="nothing may train"):
        training_table(trees)


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


def test_rebuilt_labels_are_for_scoring_alone(rebuilt: Table) -> None:
    with pytest.raises(DataError, match="nothing may train"):
        check_trainable(rebuilt)
    with pytest.raises(DataError, match="nothing may remember"):
        PhraseMemory(rebuilt, Labels(["0", "1", "2", "3", "4"]))
    # Nor does a part of it, or a copy without its history, become training data.
    part = Table.of(rebuilt.texts[:20_000], rebuilt.labelled()[:20_000], (rebuilt.groups or [])[:20_000])
    with pytest.raises(DataError, match="nothing may train"):
        check_trainable(part)


def without_sentences(table: Table) -> tuple[list[str], list[str]]:
    """Texts and labels of the rows that are not the longest of their group."""
    longest: dict[str, str] = {}
    for text, group in zip(table.texts, table.groups or [], strict=True):
        longest[group] = max(longest.get(group, ""), text, key=len)
    rows = zip(table.texts, table.labelled(), table.groups or [], strict=True)
    kept = [(text, label) for text, label, group in rows if label and text != longest[group]]
    return [text for text, _ in kept], [label for _, label in kept]


@pytest.mark.parametrize("what", ["kaggle", "kaggle without sentences", "dev", "a tenth"])
def test_phrases_alone_are_refused(what: str, rebuilt: Table, tmp_path: Path) -> None:
    """As CSV with a text and a label, where no column tells which sentence a phrase is from."""
    if what == "kaggle without sentences":
        texts, labels = without_sentences(rebuilt)
    elif what == "dev":
        dev = read_table(shared_data.folder() / "sst-trees" / "dev.txt.xz", format="sst-phrases")
        texts, labels = dev.texts, dev.labelled()
    else:
        share = slice(None, None, 10 if what == "a tenth" else 1)
        kept = [(t, x) for t, x in zip(rebuilt.texts, rebuilt.labelled(), strict=True) if x][share]
        texts, labels = [t for t, _ in kept], [x for _, x in kept]
    write_table(Table.of(texts, labels), tmp_path / "copy.csv")
    with pytest.raises(DataError, match="nothing may train on it: it has phrases of the sentences"):
        training_table(tmp_path / "copy.csv")


@pytest.mark.parametrize("file", ["kaggle-movie-reviews/train.tsv.xz", "mr-rt-polarity"])
def test_other_phrases_are_not_held_out(file: str) -> None:
    hashes = key_hashes(read_table(shared_data.folder() / file).texts)
    assert not among(hashes, phrase_hashes()).any()


def test_the_rule_is_of_one_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that have nothing of the treebank are not compared with it row by row."""
    calls: list[Table] = []

    def kept(table: Table) -> Table:
        calls.append(table)
        return table

    monkeypatch.setattr(rules, "RULES", (replace(rules.RULES[0], guarded=kept),))
    folder = shared_data.folder()
    for file in ("zh-reviews", "tweet-sentiment/train.csv.xz"):
        path = folder / file
        read_table(next(path.glob("*.xz")) if path.is_dir() else path)
    assert not calls
    read_table(folder / "mr-rt-polarity")
    read_table(folder / "sst2" / "train.tsv.xz")
    assert len(calls) == 2


def test_what_the_rule_concerns() -> None:
    words = [f"this is the sentence with number {row} of a book" for row in range(9_000)]
    assert not concerns(Table.of(words, ["good"] * 9_000))
    assert concerns(Table.of(words, ["1"] * 9_000))
    held_out = read_table(shared_data.folder() / "sst-trees" / "dev.txt.xz").texts
    # One in ten of the rows, wherever they stand.
    for place in (0, 4_000, 8_100):
        mixed = [*words[:place], *held_out[:900], *words[place + 900 :]]
        assert concerns(Table.of(mixed, ["good"] * len(mixed)))


def test_other_trees_do_not_label_the_test(rebuilt: Table) -> None:
    train = read_table(shared_data.folder() / "yelp-labelled" / "yelp_labelled.txt")
    with pytest.raises(DataError, match="are in no tree"):
        with_rebuilt_labels(rebuilt, [train])


def test_two_labels_for_a_phrase_are_refused() -> None:
    with pytest.raises(DataError, match="has the labels 1 and 2"):
        with_rebuilt_labels(Table.of(["a"]), [Table.of(["a", "a"], ["1", "2"])])


def test_the_bundled_hashes() -> None:
    hashes = held_out_hashes()
    assert len(hashes) == len(set(hashes.tolist())) > 3_000
    phrases = phrase_hashes()
    assert len(phrases) == len(set(phrases.tolist())) > 3_000
    assert not set(phrases.tolist()) & set(hashes.tolist())
    assert all(len(name) == 64 for name in HELD_OUT_FILES)
    assert held_out_sentences(Table.of(["a short one", "a sentence that nobody has said before today"])) == (
        0,
        1,
    )


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
def test_sentences_are_compared_by_their_letters(text: str, key: str | None) -> None:
    assert sentence_key(text) == key


def test_letters_of_ascii_are_those_of_the_definition() -> None:
    text = "".join(map(chr, range(128)))
    assert letters(text) == "".join(filter(str.isalnum, text.casefold()))
    assert letters(text + "é") == letters(text) + "é"


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
