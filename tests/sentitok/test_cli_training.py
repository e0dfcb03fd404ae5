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


# Trainer, and the options by which `count` cuts text as it does.
COUNTED = [
    ("train-bpe", "", ""),
    ("train-wordpiece", "", "--normalizer hf-bert --pre-tokenizer bert"),
    ("train-wordpiece", "--cased", "--normalizer hf-bert-cased --pre-tokenizer bert"),
    ("train-unigram", "", "--normalizer sentencepiece --pre-tokenizer metaspace-never"),
    *(
        (
            command,
            "--method sentencepiece",
            "--normalizer sentencepiece --pre-tokenizer metaspace-never --line-ends",
        )
        for command in ("train-bpe", "train-unigram")
    ),
]


@pytest.mark.parametrize(("command", "options", "counting"), COUNTED)
def test_counts_are_the_text_or_refused(command: str, options: str, counting: str, prepared: Path) -> None:
    train = [command, *options.split(), "--vocab", "400"]
    text = run(*train, "corpus.txt", "-o", "text.json", "--force", cwd=prepared)
    assert text.code == 0, text.err
    for _, _, others in COUNTED:
        counted = run("count", "corpus.txt", *others.split(), "-o", "made.counts", "--force", cwd=prepared)
        assert counted.code == 0, counted.err
        done = run(*train, "--counts", "made.counts", "-o", "counts.json", "--force", cwd=prepared)
        if others == counting:
            assert done.code == 0, done.err
            assert (prepared / "counts.json").read_bytes() == (prepared / "text.json").read_bytes()
        else:
            assert done.code == 2
            assert "made.counts" in done.err
            assert f"sentitok count FILE... {counting}" in done.err


def test_counts_of_any_pipeline_train_if_it_is_named(prepared: Path) -> None:
    made = ["--pre-tokenizer", "whitespace", "--normalizer", "nfkc+lowercase"]
    assert run("count", "corpus.txt", *made, "-o", "made.counts", cwd=prepared).code == 0
    train = ("train-wordpiece", "--vocab", "400", "--counts", "made.counts", "-o", "new.json")
    refused = run(*train, cwd=prepared)
    assert refused.code == 2
    assert "--normalizer nfkc+lowercase --pre-tokenizer whitespace" in refused.err
    assert run(*train, *made, cwd=prepared).code == 0
    for command in ("train-bpe", "train-unigram"):
        options = ("--method", "sentencepiece", "--counts", "made.counts", "--spaces-behind")
        cut = run(command, *options, cwd=prepared)
        assert cut.code == 2
        assert "--spaces-behind" in cut.err


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
    assert "not a counts file" in no_counts.err


def test_merge_refuses_another_pipeline(prepared: Path) -> None:
    sentitok.count(prepared / "corpus.txt", pre_tokenizer="cl100k", out=prepared / "other.counts")
    done = run("merge-counts", "all.counts", "other.counts", "-o", "sum.counts", cwd=prepared)
    assert done.code == 2
    assert not (prepared / "sum.counts").exists()


def test_merged_parts_are_the_whole(prepared: Path) -> None:
    assert run("merge-counts", "part-0.counts", "part-1.counts", "-o", "sum.counts", cwd=prepared).code == 0
    assert (prepared / "sum.counts").read_bytes() == (prepared / "all.counts").read_bytes()


# (name, text as bytes)
