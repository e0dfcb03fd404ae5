"""Which texts may hold a held-out sentence: every one that does, and few others."""

import random
from itertools import chain
from typing import Any

import pytest

from sentimodels.data import read_table
from sentimodels.data.normalization import text_hash
from sentimodels.data.sst.anchors import _BLOCK, WINDOW, codes_of, hashes_of, may_hold
from sentimodels.data.sst.guard import held_out_hashes, phrase_hashes, sentence_key
from sentimodels.text.held_out import HeldOutLines
from shared_data import folder

# Around and inside a sentence, as files have it: labels, columns, quotes, tags, escapes, other sentences.
FORMS = (
    "{0}", "{1}", "3\t{0}\t2", '"{0}",1', "<p>{0}</p>", "<b>{2}</b>", "It was long.<br /><br />{0}<br />Yes!",
    "He said it.{0}", "4|{0}|x", "({0})", "{3}", "\\u201c{0}\\u201d", "Once more\n{0}\nand again", "{4}",
    "pos {0}", "{5}",
)  # fmt: skip


def sentences() -> list[str]:
    """The sentences of SST dev and test, as the trees and as SST-2 spell them, and phrases that are known."""
    trees = [folder() / "sst-trees" / f"{part}.txt.xz" for part in ("dev", "test")]
    tables = [read_table(path, format="sst") for path in trees]
    tables += [read_table(folder() / "sst2" / f"{part}.tsv.xz") for part in ("dev", "test")]
    known = set(phrase_hashes().tolist())
    phrases = chain.from_iterable(read_table(path, format="sst-phrases").texts for path in trees)
    some = [one for one in phrases if (key := sentence_key(one)) is not None and text_hash(key) in known]
    return [*chain.from_iterable(table.texts for table in tables), *some]


def written(form: str, sentence: str) -> str:
    """A sentence in a form: itself, in capitals, with a tag, as a tree, with a bracket, in wide letters."""
    half = len(sentence) // 2
    tree = f"(3 {' '.join(f'(2 {word})' for word in sentence.split() if not set('()') & set(word))})"
    tag, bracket = (f"{sentence[:half]}{mark}{sentence[half:]}" for mark in ("<i>", " -LRB- "))
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in sentence)
    return form.format(sentence, sentence.upper(), tag, tree, bracket, wide)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_found_may_be_there(form: str) -> None:
    """The slow search is the oracle: what it finds may be there."""
    watch = HeldOutLines()
    texts = [written(form, sentence) for sentence in sentences()]
    found = [sum(watch.holds(line) for line in text.split("\n")) > 0 for text in texts]
    may = may_hold(texts)
    assert not [text for text, there, told in zip(texts, found, may, strict=True) if there and not told]
    assert any(found)


def test_in_a_long_text_with_others() -> None:
    drawn = random.Random(0)
    known = set(held_out_hashes().tolist())
    every = [one for one in sentences() if (key := sentence_key(one)) and text_hash(key) in known]
    reviews = list(read_table(folder() / "imdb" / "imdb_40k.csv.xz", where="split=train", limit=300).texts)
    texts = []
    for text in reviews:
        at = drawn.randrange(len(text))
        texts += [text, f"{text[:at]}\n{drawn.choice(every)}\n{text[at:]}"]
    may = may_hold(texts)
    assert all(may[1::2])
    assert sum(may[::2]) < 0.15 * len(reviews)  # most texts need no closer look
    plain, screened = HeldOutLines(), HeldOutLines()
    expected = [plain.without(text) for text in texts]
    told = screened.screened(texts)
    assert [screened.without(text) if next(told) else text for text in texts] == expected
    kept: list[dict[str, Any]] = [
        {key: value for key, value in vars(watch).items() if key != "_path"} for watch in (plain, screened)
    ]
    assert kept[0] == kept[1]
    assert plain.n_left_out >= 200


def test_windows() -> None:
    assert codes_of("Ça va, n° 1?") == codes_of("cavan1")
    assert len(hashes_of(codes_of("a" * (WINDOW - 1)))) == 0
    (window,) = hashes_of(codes_of("Four movie's!")).tolist()
    assert window in hashes_of(codes_of("See: four Mo-vies.")).tolist()
    # A window that begins in one block and ends in the next.
    (sentence,) = sentences()[:1]
    for pad in range(_BLOCK - 60, _BLOCK + 5, 7):
        assert may_hold(["x" * pad + sentence]) == [True]
    assert may_hold([]) == []
    assert may_hold(["", "short"]) == [False, False]
