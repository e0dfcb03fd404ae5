"""Counts as the input of trainers: equal to the text, weighted, sampled, without rare pieces, from Arrow."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sentitok
from cli_runs import run_inside
from sampled_cases import chosen
from sentitok import Normalizer, Tokenizer, TrainError, WordCounts

ENGLISH = [
    "The quick brown fox jumps over the lazy dog, and naïve foxes jump 12 times.\n",
    "Low, lower, lowest: the lowest newest fox is widest.\n",
] * 20
SWAHILI = ["Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili.\n"] * 15

# Trainer, its options, and the options of `count` that make its counts.
SENTENCEPIECE = {"normalizer": "sentencepiece", "pre_tokenizer": "metaspace-never"}
TRAINERS: dict[str, tuple[Callable[..., Tokenizer], dict[str, Any], dict[str, Any]]] = {
    "bpe": (sentitok.train_bpe, {"vocab_size": 300}, {}),
    "bpe sentencepiece": (
        sentitok.train_bpe,
        {"vocab_size": 80, "method": "sentencepiece"},
        {**SENTENCEPIECE, "line_ends": True},
    ),
    "wordpiece": (
        sentitok.train_wordpiece,
        {"vocab_size": 90},
        {"normalizer": "hf-bert", "pre_tokenizer": "bert"},
    ),
    "wordpiece cased": (
        sentitok.train_wordpiece,
        {"vocab_size": 90, "lowercase": False, "score": "likelihood"},
        {"normalizer": "hf-bert-cased", "pre_tokenizer": "bert"},
    ),
    "unigram": (sentitok.train_unigram, {"vocab_size": 70}, SENTENCEPIECE),
    "unigram sentencepiece": (
        sentitok.train_unigram,
        {"vocab_size": 70, "method": "sentencepiece"},
        {**SENTENCEPIECE, "line_ends": True},
    ),
}
EACH = pytest.mark.parametrize("trainer", TRAINERS)


def counted(texts: Any, **options: Any) -> WordCounts:
    counts = sentitok.count(texts=texts, **options)
    assert counts is not None
    return counts


@EACH
def test_counts_equal_the_text_or_are_refused(trainer: str) -> None:
    train, options, own = TRAINERS[trainer]
    expected = train(texts=ENGLISH, **options).to_bytes()
    for name, (_, _, counting) in TRAINERS.items():
        counts = counted(ENGLISH, **counting)
        if counting == own:
            assert train(counts=counts, **options).to_bytes() == expected, name
        else:
            with pytest.raises(TrainError, match=r"count (the text|it) again"):
                train(counts=counts, **options)


@EACH
@pytest.mark.parametrize("normalizer", Normalizer.names())
def test_counts_of_a_named_normalizer_equal_the_text(trainer: str, normalizer: str) -> None:
    train, options, own = TRAINERS[trainer]
    pre_tokenizer = own.get("pre_tokenizer", "gpt2")
    named = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}
    try:
        expected = train(texts=ENGLISH, **options, **named)
    except TrainError as error:
        with pytest.raises(TrainError, match=str(error)[:20]):
            train(counts=counted(ENGLISH, **{**own, **named}), **options, **named)
        return
    counts = counted(ENGLISH, **{**own, **named})
    assert train(counts=counts, **options, **named).to_bytes() == expected.to_bytes()


def test_the_text_may_contain_the_mark_of_line_ends() -> None:
    texts = ["a\0", "b\0 c"] * 3
    expected = sentitok.train_bpe(texts=texts, vocab_size=260)
    assert sentitok.train_bpe(counts=counted(texts), vocab_size=260).to_bytes() == expected.to_bytes()


def test_counts_with_and_without_line_ends_are_not_added() -> None:
    with pytest.raises(TrainError, match="line ends"):
        counted(ENGLISH, line_ends=True) + counted(ENGLISH)


@EACH
def test_whole_weights_equal_repeated_text(trainer: str) -> None:
    train, options, counting = TRAINERS[trainer]
    parts = [(counted(ENGLISH, **counting), 1), (counted(SWAHILI, **counting), 4)]
    expected = train(texts=ENGLISH + SWAHILI * 4, **options).to_bytes()
    assert train(counts=parts, **options).to_bytes() == expected
    assert train(counts=parts[::-1], **options).to_bytes() == expected
    more = {"min_count": 30} | ({"min_frequency": 40} if "unigram" not in trainer else {})
    expected = train(texts=ENGLISH + SWAHILI * 4, **options, **more).to_bytes()
    assert train(counts=parts, **options, **more).to_bytes() == expected


@EACH
def test_fractions_train_as_whole_numbers_in_proportion(trainer: str, tmp_path: Path) -> None:
    train, options, counting = TRAINERS[trainer]
    english, swahili = counted(ENGLISH, **counting), counted(SWAHILI, **counting)
    english.save(tmp_path / "en.counts")
    expected = train(counts=[(english, 4), (swahili, 3)], **options).to_bytes()
    for weights in [
        ("1/3", "0.25"),
        (Fraction(1, 3), 0.25),
        (Fraction(1, 3), Decimal("0.25")),
        (Fraction(4, 6), "0.50"),
    ]:
        parts = [(tmp_path / "en.counts", weights[0]), (swahili, weights[1])]
        assert train(counts=parts, **options).to_bytes() == expected, weights


def test_the_report_has_the_share_of_each_source(tmp_path: Path) -> None:
    english, swahili = counted(ENGLISH), counted(SWAHILI)
    swahili.save(tmp_path / "sw.counts")
    tokenizer = sentitok.train_bpe(counts=[english, (tmp_path / "sw.counts", "1/2")], vocab_size=300)
    for report in (tokenizer.report, pickle.loads(pickle.dumps(tokenizer.report))):
        assert report is not None
        assert [(one["path"], one["weight"], one["factor"]) for one in report.sources] == [
            (None, "1", 2),
            (str(tmp_path / "sw.counts"), "1/2", 1),
        ]
        pieces = [2 * sum(english.values()), sum(swahili.values())]
        assert [one["share"] for one in report.sources] == [n / sum(pieces) for n in pieces]
        assert [one["totals"] for one in report.sources] == [english.totals, swahili.totals]
        assert report.totals["pieces"] == sum(pieces)
        assert report.totals["documents"] == len(ENGLISH) + len(SWAHILI)
    unweighted = sentitok.train_bpe(counts=english, vocab_size=300).report
    assert unweighted is not None
    assert unweighted.sources == []


@pytest.mark.parametrize("weight", ["0", "-1", "x", "1/0", "1e3", "", True, None, 2**64, 0.0, float("nan")])
def test_wrong_weights_are_refused(weight: Any) -> None:
    with pytest.raises(TrainError, match="weight"):
        sentitok.train_bpe(counts=[(counted(ENGLISH), weight)], vocab_size=300)


def test_weights_that_overflow_are_refused() -> None:
    counts = WordCounts({"ab": 2**62})
    for weights in [(8,), (1, "1/8"), ("1/4294967296", "1/4294967297")]:
        with pytest.raises(TrainError, match=r"64"):
            sentitok.train_bpe(counts=[(counts, weight) for weight in weights], vocab_size=300)


@pytest.mark.parametrize("counts", [[], [("a", 1, 2)], [3], 3, [(3, 1)]])
def test_wrong_counts_are_refused(counts: Any) -> None:
    with pytest.raises(TypeError, match="counts"):
        sentitok.train_bpe(counts=counts)


def test_weights_on_the_command_line(tmp_path: Path) -> None:
    counted(ENGLISH).save(tmp_path / "en.counts")
    counted(SWAHILI).save(tmp_path / "sw.counts")
    expected = sentitok.train_bpe(texts=ENGLISH * 4 + SWAHILI * 3, vocab_size=300).to_bytes()
    call = ["train-bpe", "--counts", "en.counts", "x=1/3", "--counts=sw.counts", "x=0.25", "--vocab", "300"]
    done = run_inside(*call, "-o", "new.json", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert Tokenizer.from_file(tmp_path / "new.json").to_bytes() == expected
    sources = json.loads(done.out)["sources"]
    assert [(one["path"], one["weight"], one["factor"]) for one in sources] == [
        ("en.counts", "1/3", 4),
        ("sw.counts", "1/4", 3),
    ]
    assert sum(one["share"] for one in sources) == pytest.approx(1)
    shown = run_inside(*call, "-o", "new.json", cwd=tmp_path)
    assert f"sw.counts x=1/4: {sources[1]['share']:.1%}" in shown.out
    for wrong in (["x=2", *call[3:]], ["--counts", "en.counts", "x=0"], ["--counts", "en.counts", "x="]):
        done = run_inside("train-bpe", *wrong, "-o", "other.json", cwd=tmp_path)
        assert done.code == 2, done.err
        assert "weight" in done.err


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty thousand different documents."""
    path = tmp_path_factory.mktemp("sampled") / "corpus.txt"
    path.write_text(
        "".join(f"document {n} has {n * n % 7919} words, of {n % 13} kinds\n" for n in range(20_000))
    )
    return path


def test_a_sample_does_not_depend_on_threads_shards_or_source(corpus: Path, tmp_path: Path) -> None:
    size = corpus.stat().st_size
    sample: dict[str, Any] = {"sample": size // 4, "seed": 7}
    expected = sentitok.count(corpus, **sample)
    assert expected is not None
    texts = corpus.read_text().splitlines()
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    share: dict[str, Any] = {"sample": expected.samples[0]["share"], "seed": 7}
    found = [
        sentitok.count(corpus, threads=1, **sample),
        sentitok.count(corpus, threads=5, max_memory=1, **sample),
        sentitok.count(corpus, **share),
        sentitok.count([corpus], **sample),
    ]
    assert [one == expected for one in found] == [True] * len(found)
    parts = [sentitok.count(corpus, shard=(n, 3), **sample) for n in range(3)]
    assert parts[0] is not None
    assert parts[1] is not None
    assert parts[2] is not None
    assert parts[2] + parts[0] + parts[1] == expected
    chosen = counted(texts[::-1], **share)
    from_json = sentitok.count(tmp_path / "a.jsonl", **share)
    assert from_json == chosen
    assert chosen.totals["documents"] == expected.totals["documents"]


def test_a_sample_says_what_it_is(corpus: Path, tmp_path: Path) -> None:
    size = corpus.stat().st_size
    sentitok.count(corpus, sample=size // 10, seed=3, out=tmp_path / "a.counts")
    counts = WordCounts.load(tmp_path / "a.counts")
    assert counts.samples == [{"share": size // 10 / size, "seed": 3}]
    totals = counts.totals
    assert totals["bytes"] == pytest.approx(size / 10, rel=0.1)
    assert totals["bytes"] + totals["bytes_left_out"] == size
    assert totals["documents"] + totals["documents_left_out"] == 20_000
    other = counted(corpus.read_text().splitlines(), sample=0.1, seed=4)
    assert dict(other) != dict(counts)
    both = counts + other + counts
    assert both.samples == sorted([*counts.samples, *other.samples], key=lambda one: one["share"])
    tokenizer = sentitok.train_bpe(corpus, vocab_size=300, sample=size // 10, seed=3)
    assert tokenizer.report is not None
    assert tokenizer.report.samples == counts.samples
    assert tokenizer.to_bytes() == sentitok.train_bpe(counts=counts, vocab_size=300).to_bytes()
    whole = sentitok.count(corpus, sample=size * 2)
    assert whole == sentitok.count(corpus)


@EACH
def test_a_sampled_text_trains_as_its_counts(trainer: str, corpus: Path) -> None:
    train, options, counting = TRAINERS[trainer]
    sample: dict[str, Any] = {"sample": 0.01, "seed": 1}
    expected = train(corpus, **options, **sample).to_bytes()
    counts = sentitok.count(corpus, **counting, **sample)
    assert counts is not None
    assert train(counts=counts, **options).to_bytes() == expected


def test_samples_in_bytes_need_a_known_size(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"some text\n" * 100))
    with pytest.raises(TrainError, match=r"a\.txt\.gz is a gzip file.*share"):
        sentitok.count(tmp_path / "a.txt.gz", sample=100)
    with pytest.raises(TrainError, match="share"):
        sentitok.count(texts=["a"], sample=100)
    counts = sentitok.count(tmp_path / "a.txt.gz", sample=0.5)
    assert counts is not None
    assert counts.totals["documents"] + counts.totals["documents_left_out"] == 100
    for wrong in (0, -1, 1.5, -0.5, float("nan"), "1G", True):
        with pytest.raises((TrainError, ValueError, TypeError), match="sample"):
            sentitok.count(tmp_path / "a.txt.gz", sample=wrong)  # type: ignore[arg-type]  # 2026-11-30: refused
    with pytest.raises(TrainError, match="sample"):
        sentitok.train_bpe(counts=counts, sample=0.5)


def test_samples_on_the_command_line(corpus: Path, tmp_path: Path) -> None:
    call = ["count", str(corpus), "--sample", "10%", "--seed", "3", "-o", "a.counts"]
    done = run_inside(*call, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "seed 3" in done.out
    assert WordCounts.load(tmp_path / "a.counts") == sentitok.count(corpus, sample=0.1, seed=3)
    train = ["train-bpe", str(corpus), "--vocab", "300", "-o", "a.json"]
    for size, expected in (("0.1", 0.1), ("100K", 100 << 10), ("5000", 5000), ("100%", None)):
        done = run_inside(*train, "--sample", size, "--force", cwd=tmp_path)
        assert done.code == 0, done.err
        tokenizer = sentitok.train_bpe(corpus, vocab_size=300, sample=expected)
        assert Tokenizer.from_file(tmp_path / "a.json").to_bytes() == tokenizer.to_bytes(), size
    for wrong in ("0", "-1", "101%", "0%", "many", "%"):
        done = run_inside(*train, f"--sample={wrong}", "--force", cwd=tmp_path)
        assert done.code == 2
        assert "--sample" in done.err
    for wrong_call in ([*train, "--seed", "3"], ["train-bpe", "--counts", "a.counts", "--sample", "10%"]):
        assert run_inside(*wrong_call, cwd=tmp_path).code == 2


def test_rare_pieces_are_dropped_from_text_counts_and_merges(tmp_path: Path) -> None:
    first, second = counted(ENGLISH), counted([*SWAHILI, "rare once"])
    first.save(tmp_path / "a.counts")
    second.save(tmp_path / "b.counts")
    kept = {piece: count for piece, count in (first + second).items() if count >= 20}
    totals = sentitok.merge_counts(
        [tmp_path / "a.counts", tmp_path / "b.counts"], tmp_path / "sum.counts", min_count=20
    )
    merged = WordCounts.load(tmp_path / "sum.counts")
    assert dict(merged) == kept
    assert merged.totals == totals
    assert totals["distinct_dropped"] == len(first + second) - len(kept) > 0
    assert totals["pieces_dropped"] + totals["pieces"] == (first + second).totals["pieces"]
    tokenizers = [
        sentitok.train_bpe(texts=[*ENGLISH, *SWAHILI, "rare once"], vocab_size=300, min_count=20),
        sentitok.train_bpe(counts=first + second, vocab_size=300, min_count=20),
        sentitok.train_bpe(counts=[first, tmp_path / "b.counts"], vocab_size=300, min_count=20),
        sentitok.train_bpe(counts=merged, vocab_size=300),
    ]
    assert len({tokenizer.to_bytes() for tokenizer in tokenizers}) == 1
    for tokenizer in tokenizers:
        assert tokenizer.report is not None
        assert tokenizer.report.totals["distinct_dropped"] == totals["distinct_dropped"]
    call = ["merge-counts", "a.counts", "b.counts", "--min-count", "20", "-o", "c.counts"]
    done = run_inside(*call, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "distinct dropped" in done.out
    assert (tmp_path / "c.counts").read_bytes() == (tmp_path / "sum.counts").read_bytes()
    with pytest.raises(TrainError, match=r"piece|empty"):
        sentitok.train_bpe(counts=first, vocab_size=300, min_count=10**6)


PIECES = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "dictionary of strings": pa.dictionary(pa.int32(), pa.string()),
    "dictionary of binary": pa.dictionary(pa.int8(), pa.binary()),
}
NUMBERS = {
    "int8": pa.int8(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "decimal of DuckDB": pa.decimal128(38, 0),
    "dictionary": pa.dictionary(pa.int32(), pa.int64()),
}


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_columns_of_any_engine_are_read(pieces: str, numbers: str) -> None:
    words = ["low", "é", "", "low"]
    kind = PIECES[pieces]
    values = pa.array(words, pa.string()).cast(kind) if "dict" not in pieces else None
    if values is None:
        values = pa.array(words, pa.string()).cast(kind.value_type).dictionary_encode().cast(kind)
    counts = pa.array([5, 100, 0, 1], pa.int64())
    number = NUMBERS[numbers]
    counts = counts.dictionary_encode().cast(number) if numbers == "dictionary" else counts.cast(number)
    table = pa.table({"other": [1, 2, 3, 4], "count": counts, "piece": values})
    expected = {b"low": 6, "é".encode(): 100}
    assert dict(WordCounts.from_arrow(table)) == expected
    halves = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    assert dict(WordCounts.from_arrow(halves)) == expected
    assert dict(
        WordCounts.from_arrow(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    ) == (expected)


def test_arrow_columns_make_the_round_trip() -> None:
    mixed: dict[str | bytes, int] = {b"\xff\x00": 2**63 - 1, "low" * 1000: 1, "a": 2}
    counts = WordCounts(mixed)
    table = counts.to_arrow()
    table.validate(full=True)
    assert WordCounts.from_arrow(table) == counts
    assert WordCounts.from_arrow(WordCounts({}).to_arrow()) == WordCounts({})
    many = WordCounts({f"{n:x}": n for n in range(1, 30_000)})
    assert WordCounts.from_arrow(many.to_arrow()) == many
    pandas = table.to_pandas()
    assert WordCounts.from_arrow(pa.Table.from_pandas(pandas)) == counts
    with pytest.raises((TrainError, OverflowError), match="int64"):
        WordCounts({"a": 2**63}).to_arrow()


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"piece": ["a", None], "count": [1, 2]}, "null"),
        ({"piece": ["a", "b"], "count": [1, None]}, "null"),
        ({"piece": ["a"], "count": [-1]}, "-1|count"),
        ({"piece": ["a"], "count": [1.5]}, "count"),
        ({"piece": ["a"], "count": ["1"]}, "count"),
        ({"piece": [1], "count": [1]}, "strings or binary"),
        ({"word": ["a"], "count": [1]}, "piece"),
        ({"piece": ["a"]}, "count"),
    ],
)
def test_wrong_columns_are_refused(table: dict[str, Any], named: str) -> None:
    with pytest.raises((ValueError, TypeError), match=named):
        WordCounts.from_arrow(pa.table(table))


@pytest.mark.parametrize("command", chosen(["train-bpe", "train-wordpiece", "train-unigram"], "train-bpe"))
def test_a_dry_run_tells_the_memory(command: str, sherlock: Path, tmp_path: Path) -> None:
    splitter = {"train-bpe": "gpt2", "train-wordpiece": "bert", "train-unigram": "metaspace-never"}[command]
    normalizer = {"train-bpe": None, "train-wordpiece": "hf-bert", "train-unigram": "sentencepiece"}[command]
    sentitok.count(sherlock, pre_tokenizer=splitter, normalizer=normalizer, out=tmp_path / "a.counts")
    sizes = []
    counts = ["--counts", "a.counts"]
    for source in ([str(sherlock)], counts, counts * 2):
        call = [command, *source, "--vocab", "8000", "-o", "new.json", "--force", "--json"]
        # Each in a separate process, whose peak is that of the training.
        expected, done = (
            json.loads(
                subprocess.run(
                    [sys.executable, "-m", "sentitok.cli", *call, *more],
                    cwd=tmp_path,
                    check=True,
                    capture_output=True,
                ).stdout
            )
            for more in (["--dry-run"], [])
        )
        # Of so small a corpus most is the memory of the process, which depends on how the extension is built.
        assert expected["estimated_memory_bytes"] == pytest.approx(done["peak_memory_bytes"], rel=0.25)
        sizes.append(expected["estimated_distinct_pieces"])
    assert sizes[1] == sizes[0] == len(WordCounts.load(tmp_path / "a.counts"))
    assert sizes[2] == pytest.approx(sizes[0], rel=0.1)


def test_workers_of_an_executor_count_the_same_sample(corpus: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        for sample in (100_000, 0.2):
            options: dict[str, Any] = {"sample": sample, "seed": 5}
            parts = sentitok.count(corpus, **options, executor=executor, shard_bytes=50_000)
            assert parts == sentitok.count(corpus, **options)
