"""What the commands say unasked, and ask, to a person who uses them for the first time."""

import json
import shutil
from pathlib import Path

import pytest

import sentitok
from cli_runs import run, run_inside

END = "<|endoftext|>"


@pytest.fixture
def folder(prepared: Path) -> Path:
    """With a tokenizer that has special tokens, and its ranks."""
    tokenizer = sentitok.train_bpe(prepared / "corpus.txt", vocab_size=1000, special_tokens=[END, "<sep>"])
    tokenizer.save(prepared / "tokenizer.json")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(prepared / "ranks.tiktoken")
    return prepared


@pytest.mark.parametrize(("text", "n"), [(f"a{END}", 1), (f"{END}<sep> b {END}", 3), ("plain", 0)])
def test_special_tokens_read_as_text_are_counted(text: str, n: int, folder: Path) -> None:
    (folder / "text.txt").write_text(text)
    runs = [
        run_inside("show", text, cwd=folder),
        run_inside("show", cwd=folder, stdin=text.encode()),
        run_inside("encode", "--text", text, cwd=folder),
        run_inside("encode", cwd=folder, stdin=text.encode()),
        run_inside("encode", "text.txt", "-o", "new", "--separator", END, cwd=folder),
    ]
    for done in runs:
        assert done.code == 0
        assert (f"{n} special token" in done.err, "--specials all" in done.err) == (n > 0, n > 0)
    for quiet in (("--specials", "all"), ("--json",)):
        assert run_inside("show", text, *quiet, cwd=folder).err == ""


def test_a_missing_separator_is_said(folder: Path) -> None:
    done = run_inside("encode", "corpus.txt", "-o", "new", cwd=folder)
    assert f"--separator '{END}'" in done.err
    done = run_inside("encode", "corpus.txt", "-o", "ended", "--separator", END, cwd=folder)
    assert "--separator" not in done.err
    done = run_inside("encode", "corpus.txt", "-o", "no-end", "-t", "merged.json", cwd=folder)
    assert "--separator" not in done.err


@pytest.mark.parametrize("command", ["train-bpe", "train-wordpiece", "train-unigram"])
def test_a_comma_between_special_tokens_is_asked_about(command: str, folder: Path) -> None:
    new = "new.model" if command == "train-unigram" else "new.json"
    call = (command, "corpus.txt", "--vocab", "500", "-o", new, "--special")
    asked = run_inside(*call, "<a>, <b>", cwd=folder)
    assert asked.code == 2
    assert "--special '<a>' --special '<b>'" in asked.err
    assert r"--special '<a>\, <b>'" in asked.err
    assert not (folder / new).exists()
    assert run_inside(*call, r"<a>\, <b>", cwd=folder).code == 0
    assert sentitok.Tokenizer.from_file(folder / new).token_to_id("<a>, <b>") is not None
    assert run_inside(*call, ",", "--force", cwd=folder).code == 0
    assert sentitok.Tokenizer.from_file(folder / new).token_to_id(",") is not None


def test_special_tokens_of_ranks_are_given_one_by_one(folder: Path) -> None:
    call = ("convert", "ranks.tiktoken", "new.json", "--pattern", "gpt2", "--special")
    asked = run_inside(*call, f"{END}=0,<sep>=1", cwd=folder)
    assert asked.code == 2
    assert "repeat --special" in asked.err


def test_an_extension_says_what_it_adds_and_changes(folder: Path) -> None:
    (folder / "more.txt").write_text("Zounds, zounds, said the zounding zounder of zounds.\n" * 50)
    call = ("train-bpe", "more.txt", "--extend", "tokenizer.json", "-o", "new.json")
    done = run_inside(*call, "--add", "5", cwd=folder)
    assert done.code == 0, done.err
    assert sentitok.Tokenizer.from_file(folder / "new.json").vocab_size == 1005
    same = run_inside(*call[:-1], "same.json", "--vocab", "1005", cwd=folder)
    assert same.code == 0, same.err
    assert (folder / "same.json").read_bytes() == (folder / "new.json").read_bytes()
    found = json.loads(run_inside(*call[:-1], "again.json", "--add", "5", "--json", cwd=folder).out)
    base = sentitok.Tokenizer.from_file(folder / "tokenizer.json")
    extended = sentitok.Tokenizer.from_file(folder / "new.json")
    text = (folder / "more.txt").read_text().splitlines(keepends=True)[0]
    old, new = (
        {*zip(map(tuple, e.offsets().tolist()), e.ids.tolist(), strict=True)}
        for e in (t.encode(text) for t in (base, extended))
    )
    share = sum(end - start for (start, end), _ in old - new) / len(text)
    assert found["changed_share"] == pytest.approx(share)
    assert 0 < share < 1
    assert f"{share:.1%}" in done.out
    for size in ("--vocab", "900"), ("--vocab", "1000"):
        refused = run_inside(*call, *size, cwd=folder)
        assert refused.code == 2
        assert "1,000 tokens" in refused.err
        assert "--add" in refused.err
    assert run_inside(*call, "--add", "5", "--vocab", "2000", cwd=folder).code == 2
    assert run_inside("train-bpe", "more.txt", "--add", "5", "-o", "x.json", cwd=folder).code == 2


@pytest.mark.parametrize("layout", ["sentitok", "megatron", "text"])
def test_info_reads_the_manifest_of_a_folder(layout: str, folder: Path) -> None:
    done = run_inside("encode", "corpus.txt", "-o", "new", "--layout", layout, cwd=folder)
    assert done.code == 0, done.err
    shown = run_inside("info", "new", cwd=folder)
    assert shown.code == 0, shown.err
    assert "token shards" in shown.out
    manifest = json.loads((folder / "new" / "manifest.json").read_text())
    assert f"{manifest['tokens']:,}" in shown.out
    found = json.loads(run_inside("info", "new", "--json", cwd=folder).out)
    assert {key: found[key] for key in manifest if key != "schema"} == {
        key: value for key, value in manifest.items() if key != "schema"
    }


@pytest.mark.parametrize(
    "args",
    [
        ["train-bpe", "{}", "--vocab", "300", "-o", "new.json"],
        ["count", "{}", "-o", "new.counts"],
        ["encode", "{}", "-o", "new"],
        ["eval", "tokenizer.json", "{}"],
    ],
    ids=lambda args: args[0],
)
def test_json_lines_that_nobody_named_are_asked_about(args: list[str], folder: Path) -> None:
    shutil.copy(folder / "reviews.jsonl", folder / "reviews.txt")
    named = run_inside(*(arg.format("reviews.txt") for arg in args), cwd=folder)
    piped = run(*(arg.format("-") for arg in args), cwd=folder, stdin=(folder / "reviews.jsonl").read_bytes())
    for done in (named, piped):
        assert done.code == 2
        assert "jsonl:text" in done.err
        assert "--format lines" in done.err
    for format in ("jsonl:text", "lines"):
        call = [*(arg.format("reviews.txt").replace("new", format[0]) for arg in args), "--format", format]
        assert run_inside(*call, cwd=folder).code == 0


def test_bench_reads_ranks_and_explains_its_passes(folder: Path) -> None:
    call = ("bench", "corpus.txt", "-t", "ranks.tiktoken", "--rival", "sentitok")
    assert "--pattern" in run_inside(*call, cwd=folder).err
    done = run_inside(*call, "--pattern", "gpt2", cwd=folder)
    assert done.code == 0, done.err
    assert "first pass: " in done.out
    assert "repeat: " in done.out
