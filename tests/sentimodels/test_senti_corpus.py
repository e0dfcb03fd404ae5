"""Corpora of `senti pretrain`: files of `sentitok encode` and `senti data dump`, and refusals."""

import gzip
import re
from pathlib import Path

import pytest

from labelled_reviews import write_books
from senti_in_process import senti
from sentitok import encode_files, train_bpe


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, with labels and without."""
    path = tmp_path_factory.mktemp("corpora")
    write_books(path)
    return path


def test_encoded_corpora_that_cannot_be_read(folder: Path) -> None:
    tokenizer = train_bpe(folder / "books.txt", vocab_size=300, special_tokens=["<|endoftext|>"])
    tokenizer.save(folder / "own.json")
    encode_files(folder / "books.txt", folder / "shards", tokenizer, separator="<|endoftext|>")
    options = ["--preset", "nano", "--steps", "1", "--tokenizer", "own.json", "-o", "refused"]
    done = senti("pretrain", "shards", "books.txt", *options, cwd=folder)
    assert done.code == 2
    assert re.search(r"shards: an encoded corpus, which no texts .* to; leave out .*books\.txt and", done.err)
    (folder / "shards" / "shard-00000.bin").unlink()
    done = senti("pretrain", "shards", *options, cwd=folder)
    assert done.code != 0
    assert "shard-00000.bin: no such file, though the manifest names it; copy it there" in done.err
    assert not (folder / "refused").exists()


def test_half_a_character_is_dumped_as_unknown(folder: Path) -> None:
    (folder / "halves.jsonl").write_text('{"text": "a \\ud83d b", "label": "1", "sentence": "1"}\n')
    columns = ("--group-column", "sentence")
    done = senti("data", "dump", "halves.jsonl", *columns, "-o", "halves.txt", cwd=folder)
    assert done.code == 0, done.err
    assert (folder / "halves.txt").read_text("utf-8") == "a \ufffd b\n"


def test_dump_says_where_a_file_lies_compressed(folder: Path) -> None:
    with gzip.open(folder / "packed.tsv.gz", "wt") as file:
        file.write("a\n")
    done = senti("data", "dump", "packed.tsv", "-o", "x.txt", cwd=folder)
    assert (done.code, done.err) == (
        2,
        "senti: packed.tsv: No such file or directory; there is packed.tsv.gz\n",
    )


def test_dump_writes_the_longest_phrase_of_each_sentence(folder: Path) -> None:
    rows = [
        (1, 1, "a fine film", 3), (2, 1, "fine film", 3), (3, 2, "dull", 1), (4, 2, "dull and  slow", 1),
        (5, 3, "so", 2),
    ]  # fmt: skip
    lines = ["PhraseId\tSentenceId\tPhrase\tSentiment", *("\t".join(map(str, row)) for row in rows)]
    (folder / "phrases.tsv").write_text("\n".join(lines) + "\n")
    done = senti("data", "dump", "phrases.tsv", "-o", "sentences.txt", cwd=folder)
    assert done.code == 0, done.err
    assert (folder / "sentences.txt").read_text() == "a fine film\ndull and slow\nso\n"
    assert re.search(r"^sentences +3 of 5 phrases$", done.out, re.M)
    assert "senti pretrain sentences.txt" in done.out
    bare = senti("data", "dump", "reviews.csv", "-o", "no.txt", cwd=folder)
    assert bare.code == 2
    assert "no column says which sentence a phrase is of; name it: --group-column NAME" in bare.err


def test_dump_of_a_name_too_long_for_a_file(folder: Path) -> None:
    done = senti("data", "dump", "a" * 253, "-o", "x.txt", cwd=folder)
    assert (done.code, done.err) == (2, f"senti: {'a' * 253}: No such file or directory\n")
