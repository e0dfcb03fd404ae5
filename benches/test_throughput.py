"""pytest-benchmark: throughput by task; results are checked first.

For the comparison in docs/lab/benchmarks.md see `report.py`, which gives each
library a separate process. Here the same process runs again and again, so
these figures are warm ones; use them to see your own change.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpora
import sentitok

Benchmark = Any  # the fixture of pytest-benchmark, which brings no types

SAMPLE_BYTES = 2_000_000
VOCAB_SIZE = 4_000


@pytest.fixture(scope="module", params=corpora.all_corpora(), ids=lambda corpus: corpus.name)
def sample(request: pytest.FixtureRequest) -> corpora.Corpus:
    corpus: corpora.Corpus = request.param
    return corpora.head(corpus, SAMPLE_BYTES)


@pytest.fixture(scope="module")
def tokenizer(sample: corpora.Corpus) -> sentitok.Tokenizer:
    return sentitok.train_bpe(sample.path, vocab_size=VOCAB_SIZE)


def record(benchmark: Benchmark, corpus: corpora.Corpus, *, correct: bool, **more: object) -> None:
    benchmark.extra_info.update(
        corpus=corpus.name, bytes=corpus.n_bytes, version=sentitok.__version__, correct=correct, **more
    )
    assert correct


def hf(tokenizer: sentitok.Tokenizer, folder: Path) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path = folder / "tokenizer.json"
    tokenizer.save(path)
    return tokenizers.Tokenizer.from_file(str(path))


def ids_of(encodings: list[Any]) -> list[list[int]]:
    return [encoding.ids for encoding in encodings]


@pytest.mark.benchmark(group="train")
def test_train(benchmark: Benchmark, sample: corpora.Corpus, tokenizer: sentitok.Tokenizer) -> None:
    def train() -> sentitok.Tokenizer:
        return sentitok.train_bpe(sample.path, vocab_size=VOCAB_SIZE, threads=1)

    same = train().fingerprint == tokenizer.fingerprint
    record(benchmark, sample, correct=same, threads=1, library="sentitok")
    benchmark.pedantic(train, rounds=3)


@pytest.mark.benchmark(group="encode")
@pytest.mark.parametrize("library", ["sentitok", "tokenizers"])
def test_encode(
    benchmark: Benchmark,
    sample: corpora.Corpus,
    tokenizer: sentitok.Tokenizer,
    library: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    texts = sample.lines()
    ours = tokenizer.encode_batch(texts, threads=1)
    rival = hf(tokenizer, tmp_path)
    encode: dict[str, Callable[[], object]] = {
        "sentitok": lambda: tokenizer.encode_batch(texts, threads=1),
        "tokenizers": lambda: rival.encode_batch_fast(texts),
    }
    same = ours.to_list() == ids_of(rival.encode_batch_fast(texts))
    record(benchmark, sample, correct=same, threads=1, library=library, tokens=len(ours.ids))
    benchmark.pedantic(encode[library], rounds=3)


@pytest.mark.benchmark(group="decode")
def test_decode(benchmark: Benchmark, sample: corpora.Corpus, tokenizer: sentitok.Tokenizer) -> None:
    texts = sample.lines()
    batch = tokenizer.encode_batch(texts)
    same = tokenizer.decode_batch(batch) == texts
    record(benchmark, sample, correct=same, threads=1, library="sentitok", tokens=len(batch.ids))
    benchmark.pedantic(lambda: tokenizer.decode_batch(batch), rounds=3)
