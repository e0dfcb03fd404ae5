"""Parts of an encoding made on demand: the same as those made with the ids.

`encode` keeps ids alone. Its offsets, surfaces, type ids and mask are made on demand, of the
sizes of tokens or by walking along the normalized text; where tokens are not nearly the text,
`encode_batch(offsets=True)` makes spans with the ids, the same way. `encode_segments` lets the
model say what each id covers: that is the reference implementation.
"""

import gc
import json
import pickle
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tokenizers

from oracles.random_pipelines import KINDS, pipeline, text
from sentitok import EncodeError, Encoding, FormatError, SentitokError, Tokenizer

FEW = 20
MANY = 6_000
N_THREADS = 8
UNITS: tuple[Any, ...] = ("bytes", "chars")
#: What `trim` may be.
TRIMS = (None, False, True)


def made(kind: str, rng: random.Random) -> Tokenizer | None:
    """A random tokenizer; `None` if the file is refused."""
    case = pipeline(kind, rng)
    model = case.file["model"]
    known = [piece for piece, _ in model["vocab"]] if kind == "unigram" else list(model["vocab"])
    contents = [content for content, _, _ in case.added if content not in known]
    case.file["added_tokens"] = [
        {
            "id": (known.index if content in known else lambda c: len(known) + contents.index(c))(content),
            "content": content,
            "special": special,
            **{flag: flags[flag] for flag in ("single_word", "lstrip", "rstrip", "normalized")},
        }
        for content, special, flags in case.added
    ]
    try:
        return Tokenizer.from_bytes(json.dumps(case.file).encode())
    except FormatError:
        return None


def offsets(encoding: Any) -> list[list[list[int]]]:
    """Offsets of every unit and kind."""
    return [encoding.offsets(unit, trim=trim).tolist() for unit in UNITS for trim in TRIMS]


def parts(encoding: Encoding) -> list[Any]:
    """All that an encoding says."""
    lists = [encoding.ids.tolist(), encoding.type_ids.tolist(), encoding.special_tokens_mask.tolist()]
    return [*lists, encoding.tokens, encoding.surfaces, *offsets(encoding)]


def check(tokenizer: Tokenizer, rng: random.Random) -> None:
    first, second = text(rng), text(rng)
    inputs: list[str | bytes] = [first, first.encode(), first.encode()[:-1] + b"\xff"]
    for given in inputs:
        for specials in ("none", "all"):
            for template in (True, False):
                options: dict[str, Any] = {"specials": specials, "add_special_tokens": template}
                lazy = tokenizer.encode(given, **options)
                batch = tokenizer.encode_batch([given], offsets=True, **options)
                assert lazy.ids.tolist() == batch.ids.tolist()
                for unit in UNITS:
                    for trim in TRIMS:
                        there = batch.offsets(unit, trim=trim)
                        assert lazy.offsets(unit, trim=trim).tolist() == there.tolist()
                assert len(lazy.type_ids) == len(lazy.special_tokens_mask) == len(lazy)
        # At once, by the reference implementation.
        whole = tokenizer.encode_segments([given])
        lazy = tokenizer.encode(given, add_special_tokens=False)
        assert lazy.surfaces == whole.surfaces
        assert offsets(lazy) == offsets(whole)
        for most in range(len(whole)):
            cut = tokenizer.encode(given, add_special_tokens=False, max_tokens=most)
            assert cut.offsets(trim=False).tolist() == whole.offsets(trim=False).tolist()[:most]
            assert cut.surfaces == whole.surfaces[:most]
            # A row before it, whose ids are not counted.
            twice = tokenizer.encode_batch(
                [given] * 2, add_special_tokens=False, max_tokens=most, offsets=True
            )
            for trim in TRIMS:
                assert twice.offsets(trim=trim).tolist() == 2 * cut.offsets(trim=trim).tolist()
        if len(whole) > 2:
            windows = tokenizer.windows(given, 2, 1, add_special_tokens=False)
            rows = [whole.offsets(trim=False)[at : at + 2] for at in range(len(whole) - 1)]
            assert windows.offsets(trim=False).tolist() == np.concatenate(rows).tolist()
    for template in (True, False):
        fresh = [tokenizer.encode(first, second, add_special_tokens=template) for _ in range(4)]
        again = pickle.loads(pickle.dumps(fresh[0]))
        assert parts(again) == parts(fresh[1]) == parts(fresh[1])
        # Asked in another order.
        assert offsets(fresh[2]) == offsets(fresh[1])
        assert fresh[2] == fresh[3]
        assert hash(fresh[2]) == hash(fresh[3])
        if template:
            continue
        alone = [tokenizer.encode(one, add_special_tokens=False) for one in (first, second)]
        rows = [one.offsets("bytes", trim=False).tolist() for one in alone]
        assert fresh[2].offsets("bytes", trim=False).tolist() in (rows[0] + rows[1], rows[1] + rows[0])


def run(kind: str, models: range) -> None:
    n_checked = 0
    for seed in models:
        rng = random.Random(f"{kind} {seed}")
        tokenizer = made(kind, rng)
        if tokenizer is None:
            continue
        for _ in range(3):
            state = rng.getstate()
            try:
                check(tokenizer, rng)
            except EncodeError:
                continue
            except (AssertionError, SentitokError) as error:
                rng.setstate(state)
                error.add_note(f"{kind}, seed {seed}, texts {text(rng)!r}, {text(rng)!r}")
                raise
            n_checked += 1
    assert n_checked > len(models)


@pytest.mark.parametrize("kind", KINDS)
def test_asked_later_is_made_at_once(kind: str) -> None:
    run(kind, range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_asked_later_is_made_at_once_many(kind: str) -> None:
    run(kind, range(FEW, MANY))


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_many_threads_ask_one_encoding(kind: str, rounds: int) -> None:
    rng = random.Random(kind)
    tokenizer = None
    while tokenizer is None:
        tokenizer = made(kind, rng)
    long = "".join(text(rng) for _ in range(120))
    ask: list[Callable[[Encoding], Any]] = [offsets, parts, pickle.dumps, repr, hash]
    whole = tokenizer.encode(long)
    expected = [question(whole) for question in ask]
    for _ in range(rounds):
        fresh = tokenizer.encode(long)
        start = threading.Barrier(N_THREADS)

        def answers(
            number: int, fresh: Encoding = fresh, start: threading.Barrier = start
        ) -> list[tuple[int, Any]]:
            start.wait()
            order = random.Random(number).sample(range(len(ask)), len(ask))
            return [(at, ask[at](fresh)) for at in order]

        with ThreadPoolExecutor(N_THREADS) as pool:
            for found in pool.map(answers, range(N_THREADS)):
                assert all(answer == expected[at] for at, answer in found)


def test_the_text_is_kept_as_long_as_the_encoding(tokenizer: Tokenizer) -> None:
    given = "a text " * 1000
    before = sys.getrefcount(given)
    encoding = tokenizer.encode(given)
    ids = encoding.ids
    assert sys.getrefcount(given) == before + 1
    encoding.offsets()
    del encoding
    gc.collect()
    assert sys.getrefcount(given) == before
    assert tokenizer.decode(ids) == given


BERT = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "?",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {
            token: id for id, token in enumerate(["?", "a", "##a", "e", "##e", "中", ".", "b", "##b", "##中"])
        },
    },
}


@pytest.mark.parametrize("kind", ["bert", "bytes"])
def test_a_long_text_is_cut_where_nothing_changes(kind: str, tokenizer: Tokenizer) -> None:
    if kind == "bert":
        tokenizer = Tokenizer.from_bytes(json.dumps(BERT).encode())
    rng = random.Random(kind)
    letters = ["a", "B", "e\u0301", "\u0301", "中", ".", "İ", "Σ", "\u00ad", "\x00", "\u00a0", "\n", "\t"]
    for blanks in (0.3, 0.01):
        given = "".join(" " if rng.random() < blanks else rng.choice(letters) for _ in range(700_000))
        one = tokenizer.encode_batch([given], threads=1)
        for threads in (2, 3):
            assert np.array_equal(tokenizer.encode_batch([given], threads=threads).ids, one.ids)
        assert np.array_equal(tokenizer.encode(given).ids, one.ids)
        assert tokenizer.count(given) == len(one.ids)
        with_offsets = tokenizer.encode_batch([given], threads=2, offsets=True)
        assert np.array_equal(with_offsets.offsets(), tokenizer.encode(given).offsets())


def test_white_space_is_left_out_by_the_normalized_text() -> None:
    """The normalized text of an unknown token there, not the original, as in tokenizers."""
    unknown = {"content": "<unk>", "special": True, "normalized": False}
    file: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [{"id": 0, **unknown, "single_word": False, "lstrip": False, "rstrip": False}],
        "normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": "  q "},
        "post_processor": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.5]]},
    }
    reference = tokenizers.Tokenizer.from_str(json.dumps(file))
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    for given in ("axb", "xx a", "a  zb", "x", " z"):
        expected = [list(span) for span in reference.encode(given).offsets]
        assert tokenizer.encode(given).offsets().tolist() == expected
        assert tokenizer.encode_batch([given] * 2, offsets=True).offsets().tolist() == expected * 2
        windows = tokenizer.windows(given, 2, 1)
        rows = [expected[at : at + 2] for at in range(max(len(expected) - 1, 1))]
        assert windows.offsets().tolist() == [span for row in rows for span in row]
