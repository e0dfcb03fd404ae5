"""Pickle, copy, deepcopy: the same object, no file needed, no code run but ours."""

import copy
import os
import pickle
import pickletools
import subprocess
import sys
import timeit
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sentitok
from sentitok import AddedToken, Normalizer, PreTokenizer, Special, Tokenizer, WordCounts

MIXED: dict[str | bytes, int] = {"a": 1, b"\xff": 2**64 - 2}
TEXT = "naïve 😀 a\ud800"


def things(tokenizer: Tokenizer) -> list[Any]:
    return [
        tokenizer,
        tokenizer.with_specials(["<s>"]),
        tokenizer.with_dropout(0.25),
        tokenizer.encode(TEXT),
        tokenizer.encode("a", "b"),
        tokenizer.encode(b"\xff\xfe"),
        tokenizer.encode_batch([TEXT, "", b"\xff"]),
        tokenizer.encode_batch([TEXT, "", b"\xff"], offsets=True),
        tokenizer.windows("a b c d e f", 3, 1),
        WordCounts(MIXED),
        sentitok.count(texts=["a b"], pre_tokenizer="cl100k"),
        Normalizer("hf-bert"),
        Normalizer.sentencepiece("nmt_nfkc_cf", add_dummy_prefix=False),
        PreTokenizer("o200k"),
        PreTokenizer(pattern=r"\d+|\s"),
        PreTokenizer(pattern=r"a(?=b)", look_around=True),
        Special("<s>"),
        AddedToken("<x>", 5, special=False, single_word=True, lstrip=True, rstrip=True, normalized=True),
    ]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_round_trip(protocol: int, tokenizer: Tokenizer) -> None:
    for thing in things(tokenizer):
        again = pickle.loads(pickle.dumps(thing, protocol))
        assert again == thing, thing
        assert hash(again) == hash(thing)
        assert repr(again) == repr(thing)
        assert type(again) is type(thing)
        assert copy.copy(thing) == thing
        assert copy.deepcopy([thing]) == [thing]


def test_bytes_are_deterministic(tokenizer: Tokenizer) -> None:
    # Caches, such as those of Hugging Face's datasets, are keyed by them.
    for thing in [tokenizer, WordCounts({"b": 1, "a": 2}), PreTokenizer("o200k"), Special("<s>")]:
        assert pickle.dumps(thing) == pickle.dumps(pickle.loads(pickle.dumps(thing)))


def test_another_process_writes_the_same_bytes() -> None:
    """Whatever the order of its sets: a cache of an earlier run is found again."""
    code = """
import hashlib, pickle, sys, sentitok
from sentitok import Normalizer, PreTokenizer
tokenizer = sentitok.train_bpe(texts=["low lower lowest"], vocab_size=260, special_tokens=["<s>", "</s>"])
counts = sentitok.count(texts=["low lower lowest"])
for thing in (tokenizer, counts, Normalizer("hf-bert"), PreTokenizer("o200k")):
    print(hashlib.sha256(pickle.dumps(thing)).hexdigest())
"""
    written = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1


def test_cloudpickle(tokenizer: Tokenizer) -> None:
    """Ray, Dask and Spark send objects and functions so."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    for thing in things(tokenizer):
        assert pickle.loads(cloudpickle.dumps(thing)) == thing
    count = pickle.loads(cloudpickle.dumps(lambda text: tokenizer.count(text)))
    assert count("low lower") == tokenizer.count("low lower")
    assert cloudpickle.dumps(tokenizer) == cloudpickle.dumps(pickle.loads(pickle.dumps(tokenizer)))


def test_tables_are_shared_between_tasks(tmp_path: Path) -> None:
    """A worker that loads the same tokenizer in each task, and drops it, builds its tables once."""
    words = {f"{number:06}": 1 + number % 7 for number in range(30_000)}
    data = sentitok.train_bpe(counts=words, vocab_size=8000).to_bytes()
    path = tmp_path / "tokenizer.sentitok"
    path.write_bytes(data)
    others = [sentitok.train_bpe(counts=words, vocab_size=8000 - n).to_bytes() for n in range(1, 4)]
    built = min(timeit.timeit(partial(Tokenizer.from_bytes, other), number=1) for other in others)
    for load in (partial(Tokenizer.from_bytes, data), partial(Tokenizer.from_file, path)):
        load()
        assert min(timeit.repeat(load, number=1, repeat=20)) < built / 2


def test_only_public_names_are_in_a_pickle(tokenizer: Tokenizer) -> None:
    for thing in things(tokenizer):
        data = pickle.dumps(thing, 2)
        modules = {
            arg.split(" ")[0] for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL" and arg
        }
        assert modules <= {
            "sentitok",
            "__builtin__",
            "numpy",
            "numpy.core.multiarray",
            "numpy._core.multiarray",
            "_codecs",
        }


def test_an_encoding_is_whole_without_its_tokenizer(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode(TEXT)
    again = pickle.loads(pickle.dumps(encoding))
    assert again.tokens == encoding.tokens
    for unit in ("bytes", "chars"):
        for trim in (False, True):
            assert again.offsets(unit, trim=trim).tolist() == encoding.offsets(unit, trim=trim).tolist()
    pair = tokenizer.encode("é a", "日本")
    assert pickle.loads(pickle.dumps(pair)).offsets().tolist() == pair.offsets().tolist()
    batch = tokenizer.encode_batch([TEXT, "日"], offsets=True)
    assert pickle.loads(pickle.dumps(batch)).offsets().tolist() == batch.offsets().tolist()
    assert pickle.loads(pickle.dumps(batch)).pad()[0].tolist() == batch.pad()[0].tolist()


def test_a_report_survives(tokenizer: Tokenizer) -> None:
    report = tokenizer.report
    assert report is not None
    again = pickle.loads(pickle.dumps(report))
    assert (again.stop, again.totals, again.merges, again.seconds, again.dropped, again.distinct_pieces) == (
        report.stop,
        report.totals,
        report.merges,
        report.seconds,
        report.dropped,
        report.distinct_pieces,
    )


def test_a_stream_is_not_pickled(tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(tokenizer.stream_decoder())


def test_tokenizers_are_weakly_referenced(tokenizer: Tokenizer) -> None:
    other = tokenizer.with_specials(["<t>"])
    reference = weakref.ref(other)
    assert reference() is other
    del other
    assert reference() is None
