"""One long text on many threads: cut wherever its pipeline allows it, with the ids of one thread.

What one thread makes of a text is compared with tokenizers and sentencepiece here and elsewhere;
here, too, with what many make of it, for random pipelines, for the models of the shared data, and
for texts on which cuts could go wrong.
"""

import json
import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tokenizers
from numpy.typing import NDArray

import shared_data
from oracles.random_pipelines import CONTENTS, KINDS, LETTERS, SIGNS, pipeline
from sentitok import EncodeError, FormatError, Tokenizer

#: A text of fewer bytes is not cut.
CUT_BYTES = 256 << 10
#: Pipelines of each kind in an ordinary run, and in a long one.
FEW = 4
MANY = 400
MODELS = [
    "t5/spiece.model",
    "mistral-7b-v0.1/tokenizer.model",
    pytest.param("xlnet-base-cased/spiece.model", marks=pytest.mark.slow),
]


def repeated(part: str) -> str:
    """A text of two cuts or so."""
    return part * (2 * CUT_BYTES // len(part.encode()) + 2)


def random_text(rng: random.Random, extra: list[str]) -> str:
    """Words between which most cuts lie, and characters that may be next to them."""
    words = ["ab", "a", "foo", "Ab1", "film", "was", "ABBA"]
    pools = [words, words, LETTERS, SIGNS, CONTENTS, extra or words]
    parts = []
    for _ in range(2000):
        parts.append(rng.choice(rng.choice(pools)))
        parts.append(rng.choice([" ", " ", " ", " ", "", "  ", "\u0301", "▁"]))
    return repeated("".join(parts))


def hostile_texts() -> Iterator[tuple[str, str]]:
    """Texts without a place to cut, or with doubtful ones everywhere."""
    yield "blanks", repeated(" ")
    yield "no blanks", repeated("abc")
    yield "marks of blanks", repeated("▁")
    yield "a cut and blanks", "a" + " " * CUT_BYTES + "film was" + " " * CUT_BYTES + "b c"
    yield "marks of blanks beside blanks", repeated("film ▁was▁ good ▁▁ ab▁cd ")
    yield "combining marks", repeated("film\u0301 was \u0301good e\u0301 \u0308 ab cd\u0301 ef")
    yield "ligatures", repeated("ﬁlm wa\u017f good Ⅷ ½ ab ﷺ cd ef ")
    yield "line feeds and tabs", repeated("film was\n\n good\t ab cd\r\n ef\u3000gh \u200b ij kl ")
    yield "unknown characters", repeated("film \U0001f600\U0001f600 \ue000 was \ue000\ue000 ab cd 中文 ")
    yield "special tokens", repeated("film was <s> good </s>ab cd <unk> ef<0x41> gh ij <pad> ")
    yield "one long word", "ab cd " + "x" * CUT_BYTES + " ef gh " + "y" * CUT_BYTES
    yield "English", repeated("The film was not as good as the book, which I had read twice. ")


def ids(tokenizer: Tokenizer, text: str, **options: Any) -> NDArray[np.uint32]:
    try:
        return tokenizer.encode_batch([text, "a b"], **options).ids
    except EncodeError as error:
        # Where the text may not grow so far, whatever the threads.
        return np.array([len(str(error))], np.uint32)


def check_threads(tokenizer: Tokenizer, text: str, what: Any) -> NDArray[np.uint32]:
    """One thread and three make the same ids and spans, and count as many."""
    one = ids(tokenizer, text, specials="all", threads=1)
    assert np.array_equal(ids(tokenizer, text, specials="all", threads=3), one), what
    try:
        plain, cut = (tokenizer.encode_batch([text], offsets=True, threads=threads) for threads in (1, 3))
    except EncodeError:
        return one
    assert np.array_equal(plain.ids, cut.ids), what
    assert np.array_equal(plain.offsets(), cut.offsets()), what
    assert tokenizer.count_batch([text], threads=3).tolist() == [len(plain.ids)], what
    return one


def check_random(kind: str, numbers: range) -> int:
    n_checked = 0
    for number in numbers:
        rng = random.Random(f"long {kind} {number}")
        case = pipeline(kind, rng)
        try:
            theirs = tokenizers.Tokenizer.from_str(json.dumps(case.file))
            for content, special, flags in case.added:
                token = tokenizers.AddedToken(content, **flags)
                (theirs.add_special_tokens if special else theirs.add_tokens)([token])
            ours = Tokenizer.from_bytes(theirs.to_str().encode())
        except (KeyboardInterrupt, SystemExit):
            raise
        except (FormatError, Exception):
            continue
        n_checked += 1
        check_threads(ours, random_text(rng, [content for content, _, _ in case.added]), (number, case))
    return n_checked


@pytest.mark.parametrize("kind", KINDS)
def test_random_pipelines(kind: str) -> None:
    assert check_random(kind, range(FEW)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_pipelines(kind: str) -> None:
    assert check_random(kind, range(FEW, MANY)) > MANY // 3


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    path = shared_data.folder() / "vocabs" / name
    files = {"model": Tokenizer.from_file(path)}
    with warnings.catch_warnings():
        # What the other format cannot say does not matter here.
        warnings.simplefilter("ignore", UserWarning)
        files["json"] = Tokenizer.from_bytes(files["model"].to_hf().to_str().encode())
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for kind, tokenizer in files.items():
        for what, text in hostile_texts():
            found = check_threads(tokenizer, text, (kind, what))
            if kind == "model" and what in ("English", "combining marks", "ligatures"):
                plain = tokenizer.encode(text, add_special_tokens=False)
                assert plain.ids.tolist() == theirs.encode(text), what
            assert len(found), what


def test_long_sums_of_ties() -> None:
    """Pieces whose sums differ by rounding alone, so that each part depends on the text before it."""
    pieces = [
        ["<unk>", 0.0],
        ["▁", -2.0],
        ["a", -3.1],
        ["b", -3.3],
        ["ab", -6.4],
        ["▁ab", -8.4],
        ["ba", -6.4],
    ]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}
    file: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
        "post_processor": None, "decoder": None, "model": model,
    }  # fmt: skip
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    rng = random.Random(1)
    text = "".join(rng.choice(["ab", "ba", "a", "b", " ", "é"]) for _ in range(2 * CUT_BYTES))
    found = check_threads(tokenizer, text, "ties")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    assert found.tolist() == theirs.encode(text).ids + theirs.encode("a b").ids
