"""Sentences of SST dev and test in a corpus: files that are refused, lines that are left out."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sentimodels.data.sst import guard
from sentimodels.errors import DataError
from sentimodels.text.held_out import _LEAF, HeldOutLines
from sentitok import encode_files, train_bpe
from shared_data import text as shared_text
from token_corpora import corpus_of, documents_of, texts_of, write


def trees(part: str) -> list[str]:
    return shared_text("sst-trees", f"{part}.txt.xz").splitlines()


def words_of(tree: str) -> str:
    return " ".join(_LEAF.findall(tree))


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("form", ["file", "sentences", "columns", "json", "changed", "joined", "encoded"])
def test_held_out_sentences_are_refused_by_name(part: str, form: str, tmp_path: Path) -> None:
    sentences = [words_of(tree) for tree in trees(part)]
    format = None
    sections: dict[str, Any] = {}
    path = tmp_path / "a.txt"
    if form == "file":
        path.write_bytes(gzip.compress(shared_text("sst-trees", f"{part}.txt.xz").encode()))
    elif form == "sentences":
        write(path, sentences)
    elif form == "columns":
        write(path, [f"{number}\t{text}\t2" for number, text in enumerate(sentences)])
    elif form == "json":
        path, format = tmp_path / "a.jsonl", "jsonl:s"
        write(path, [json.dumps({"s": text.upper()}) for text in sentences])
    elif form == "changed":
        write(path, [tree.replace("(2 ", "(1 ") for tree in trees(part)])
    elif form == "joined":
        write(path, [" ".join(sentences)])
    else:
        tokenizer = train_bpe(texts=sentences[:50], vocab_size=290, special_tokens=["<|endoftext|>"])
        tokenizer.save(tmp_path / "t.json")
        encode_files(write(path, sentences), tmp_path / "shards", tokenizer, separator="<|endoftext|>")
        path, sections = tmp_path / "shards", {"data": {"tokenizer": str(tmp_path / "t.json")}}
    said = rf"{path.name}: nothing may pre-train on it: .*SST {part if form == 'file' else 'dev and test'}"
    with pytest.raises(DataError, match=said):
        corpus_of(tmp_path / "index", path, data={"format": format, **sections.get("data", {})})


def test_held_out_sentences_among_others_are_left_out(tmp_path: Path) -> None:
    sentence = next(text for tree in trees("test") if guard.sentence_key(text := words_of(tree)))
    texts = texts_of(200)
    texts[7] = sentence
    texts[9] = f"{texts[9]}\n{sentence.upper()}\nand more"
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    corpus, tokenizer = corpus_of(tmp_path / "index", path)
    assert corpus.facts.left_out == 2
    found = [*documents_of(corpus.train, tokenizer), *documents_of(corpus.valid, tokenizer)]
    assert len(found) == 199
    assert not any(sentence.lower() in text.lower() for text in found)
    # Encoded already, the whole document goes.
    tokenizer.save(tmp_path / "t.json")
    encode_files(path, tmp_path / "shards", tokenizer, separator="<|endoftext|>")
    corpus, _ = corpus_of(tmp_path / "two", tmp_path / "shards", data={"tokenizer": str(tmp_path / "t.json")})
    assert corpus.facts.left_out == 2
    assert sum(corpus.facts.documents) == 198


ROWS = [
    ("label first", "3 {}"), ("label last", "{} 3"), ("numbers", "17 3 {}"), ("commas", "17,{},3"),
    ("fastText", "__label__3 {}"), ("named", "__label__pos {}"), ("dictionary", "{}|1234"),
    ("quoted", '"{}",3'), ("all quoted", '"17","{}","very positive"'), ("page", "<li><b>{}</b></li>"),
    ("JSON", '{{"id": 17, "text": "{}", "label": 3}}'), ("JSON by lines", '  "text": "{}",'),
    ("in brackets", "[4] {}"), ("in a list", "3) {}"), ("page and label", "<b>{}</b> 4"),
    ("label and page", "4 <b>{}</b>"), ("Kaggle's names", "somewhat negative {}"),
]  # fmt: skip


@pytest.mark.parametrize(("_", "row"), ROWS)
def test_rows_of_held_out_sentences_are_found(_: str, row: str) -> None:
    watch = HeldOutLines()
    sentences = [text for text in map(words_of, trees("test")) if guard.sentence_key(text)]
    watch.begin(Path("copy.txt"))
    for text in sentences:
        watch.holds(row.format(text.replace('"', '""')))
    assert watch.n_left_out > 0.99 * len(sentences)
    with pytest.raises(DataError, match=r"copy\.txt: nothing may pre-train on it"):
        watch.end()
    # Some among many others are left out, and the others stay.
    watch = HeldOutLines()
    watch.begin(Path("other.txt"))
    n_found = sum(watch.holds(row.format(text.replace('"', '""'))) for text in sentences[:45])
    assert not any(watch.holds(row.format(text)) for text in texts_of(200))
    assert n_found == watch.n_left_out >= 43
    watch.end()


INSIDE = [
    ("among others", "I say: {} Indeed. So it is.", True),
    ("in quotes", '"{}" he said. She left.', True),
    ("of a web page", "They left.<br /><br />{}<br />They came.", True),
    ("two of them", "Before this. {} {}", True),
    ("in the middle of another", "I say that {} and so on", False),
]


@pytest.mark.parametrize(("_", "line", "left_out"), INSIDE)
def test_held_out_sentences_inside_a_line_are_found(_: str, line: str, left_out: bool) -> None:
    said = [text for text in map(words_of, trees("test")) if text.endswith(" .") and text.count(" ") > 9]
    watch = HeldOutLines()
    sentences = [text for text in said if guard.sentence_key(text)][:50]
    found = sum(watch.without(line.format(text, text)) == "" for text in sentences)
    assert found == watch.n_left_out
    assert found >= 48 if left_out else found == 0
    # What anyone may say is no such sentence, nor is a longer text that has none.
    short = next(text for text in map(words_of, trees("test")) if text.count(" ") == 4)
    for text in (line.format(short, short), " ".join(texts_of(30))):
        assert watch.without(text) == text
