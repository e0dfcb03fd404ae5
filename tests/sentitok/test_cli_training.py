"""Commands of `sentitok` that train and count, from outside."""

from collections.abc import Callable
from pathlib import Path

import pytest

import sentitok
from cli_runs import run, run_json


def test_train_summary(prepared: Path) -> None:
    done = run("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", cwd=prepared)
    assert (done.code, done.err) == (0, "")
    tokenizer = sentitok.Tokenizer.from_file(prepared / "new.json")
    for part in ("vocabulary", "400", "merges", "144", "bytes/token", "seconds", "peak memory", "new.json"):
        assert part in done.out
    assert tokenizer.fingerprint in done.out
    assert "sentitok show" in done.out.splitlines()[-1]


def test_train_quiet_and_json(prepared: Path) -> None:
    quiet = run("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", "-q", cwd=prepared)
    assert (quiet.code, quiet.out, quiet.err) == (0, "new.json\n", "")
    found = run_json("train-bpe", "corpus.txt", "--vocab", "400", "-o", "new.json", cwd=prepared)
    assert found["vocab_size"] == 400
    assert found["merges"] == 144
    assert isinstance(found["bytes_per_token"], float)


def test_train_is_the_library_and_the_road_does_not_matter(prepared: Path) -> None:
    expected = sentitok.train_bpe(prepared / "corpus.txt", vocab_size=500).to_bytes()
    text = (prepared / "corpus.txt").read_bytes()
    calls: list[tuple[list[str], bytes]] = [
        (["corpus.txt", "--threads", "2"], b""),
        (["-"], text),
        (["--counts", "all.counts"], b""),
        (["--counts", "part-0.counts", "--counts", "part-1.counts"], b""),
        (["corpus.txt", "--max-memory", "64k"], b""),
    ]
    for args, stdin in calls:
        done = run("train-bpe", *args, "--vocab", "500", "-o", "new.json", cwd=prepared, stdin=stdin)
        assert done.code == 0, done.err
        assert sentitok.Tokenizer.from_file(prepared / "new.json").to_bytes() == expected


def test_train_options_reach_the_trainer(prepared: Path) -> None:
    options = ["--special", "<a>", "--special", "<b>", "--min-frequency", "3", "--max-token-length", "6"]
    options += ["--pre-tokenizer", "cl100k", "--tie-break", "bytes"]
    assert (
        run("train-bpe", "corpus.txt", "--vocab", "450", *options, "-o", "new.json", cwd=prepared).code == 0
    )
    expected = sentitok.train_bpe(
        prepared / "corpus.txt",
        vocab_size=450,
        special_tokens=["<a>", "<b>"],
        min_frequency=3,
        max_token_length=6,
        pre_tokenizer="cl100k",
        tie_break="bytes",
    )
    assert sentitok.Tokenizer.from_file(prepared / "new.json").fingerprint == expected.fingerprint


# Command: flags, and what they mean in Python.
OPTIONS: dict[str, list[tuple[str, str, object]]] = {
    "train-wordpiece": [
        ("--cased", "lowercase", False),
        ("--score=likelihood", "score", "likelihood"),
        ("--min-frequency=2", "min_frequency", 2),
        ("--unk-token=<?>", "unk_token", "<?>"),
        ("--initial-alphabet=ßπ", "initial_alphabet", "ßπ"),
        ("--max-token-length=5", "max_token_length", 5),
    ],
    "train-unigram": [
        ("--unk-token=<?>", "unk_token", "<?>"),
        ("--required-chars=ßπ", "required_chars", "ßπ"),
        ("--join-words", "split_by_whitespace", False),
        ("--pre-tokenizer=metaspace-never-unsplit", "pre_tokenizer", "metaspace-never-unsplit"),
        ("--join-scripts", "split_by_unicode_script", False),
        ("--join-numbers", "split_by_number", False),
        ("--hard-vocab-limit", "hard_vocab_limit", True),
        ("--character-coverage=1", "character_coverage", 1.0),
        ("--max-piece-length=7", "max_piece_length", 7),
    ],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_options_reach_the_trainers(command: str, prepared: Path) -> None:
    flags = [flag for flag, _, _ in OPTIONS[command]]
    done = run(command, "corpus.txt", "--vocab", "400", *flags, "-o", "new.json", cwd=prepared)
    assert done.code == 0, done.err
    train: Callable[..., sentitok.Tokenizer] = getattr(sentitok, command.replace("-", "_"))
    options = {name: value for _, name, value in OPTIONS[command]}
    train(prepared / "corpus.txt", vocab_size=400, **options).save(prepared / "expected.json")
    assert (prepared / "new.json").read_bytes() == (prepared / "expected.json").read_bytes()


def test_extend_keeps_ids(prepared: Path) -> None:
    done = run(
        "train-bpe", "corpus.txt", "--extend", "merged.json", "--vocab", "700", "-o", "new.json", cwd=prepared
    )
    assert done.code == 0, done.err
    base = sentitok.Tokenizer.from_file(prepared / "merged.json")
    longer = sentitok.Tokenizer.from_file(prepared / "new.json")
    assert longer.vocab_size == 700
    assert [longer.id_to_bytes(id) for id in range(600)] == [base.id_to_bytes(id) for id in range(600)]


@pytest.mark.parametrize(
    ("command", "normalizer", "pre_tokenizer"),
    [
        ("train-bpe", None, "gpt2"),
        ("train-wordpiece", "hf-bert", "bert"),
        ("train-unigram", "sentencepiece", "metaspace-never"),
    ],
)
def test_dry_run_writes_nothing(
    command: str, normalizer: str | None, pre_tokenizer: str, prepared: Path
) -> None:
    found = run_json(command, "corpus.txt", "--dry-run", "-o", "new.json", cwd=prepared)
    counted = sentitok.count(prepared / "corpus.txt", normalizer=normalizer, pre_tokenizer=pre_tokenizer)
    assert counted is not None
    assert found["estimated_distinct_pieces"] == len(counted)
    assert not (prepared / "new.json").exists()


def test_count_leaves_equal_counts_and_refuses_other_files_at_once(prepared: Path) -> None:
    before = (prepared / "all.counts").stat().st_mtime_ns
    assert run("count", "corpus.txt", "-o", "all.counts", cwd=prepared).code == 0
    assert (prepared / "all.counts").stat().st_mtime_ns == before
    other = run("count", "corpus.txt", "-o", "all.counts", "--pre-tokenizer", "cl100k", cwd=prepared)
    assert other.code == 2
    assert "another pipeline" in other.err
    no_counts = run("count", "corpus.txt", "-o", "reviews.jsonl", cwd=prepared)
    assert no_counts.code == 2
    assert "no counts file" in no_counts.err


def test_merge_refuses_another_pipeline(prepared: Path) -> None:
    sentitok.count(prepared / "corpus.txt", pre_tokenizer="cl100k", out=prepared / "other.counts")
    done = run("merge-counts", "all.counts", "other.counts", "-o", "sum.counts", cwd=prepared)
    assert done.code == 2
    assert not (prepared / "sum.counts").exists()


def test_merged_parts_are_the_whole(prepared: Path) -> None:
    assert run("merge-counts", "part-0.counts", "part-1.counts", "-o", "sum.counts", cwd=prepared).code == 0
    assert (prepared / "sum.counts").read_bytes() == (prepared / "all.counts").read_bytes()


# (name, text as bytes)
