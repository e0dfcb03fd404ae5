"""Superwords: equal to the literal algorithms, in tokenizers, in every option, and refusals."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import sentitok
from cli_runs import run, run_json
from commands import environment
from commands import run as run_apart
from oracles import superwords as oracle
from pages import ROOT, blocks, commands, prepare, run_all
from sentitok import PreTokenizer, TrainError
from sentitok.evaluate import evaluate

FAMILIES = ("gpt2", "cl100k", "cl100k-1digit", "o200k", "tekken")

#: Parts of texts that repeat phrases, and what superwords must not cross.
WORDS = ["of", " the", " of", " a", ".", ":", ",", " and", "!!", " 12", "3", "\n", "  ", "the", "'s", " it"]
WORDS += ["é", "中", " Ab", ";\n", "\n\n", "\t", "./"]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map("".join), min_size=1, max_size=8
)


def model_of(tokenizer: sentitok.Tokenizer) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """The tokens by id, and the merges."""
    tokens = [tokenizer.id_to_bytes(id) or b"" for id in range(tokenizer.vocab_size)]
    return tokens, tokenizer.merges()


def splits(family: str, rule: str = "lines") -> tuple[oracle.Split, oracle.Split]:
    """The pieces of a family, and the stretches that `tokenizers` finds by the pattern."""
    across = "-across-lines" if rule == "documents" else ""
    pattern = PreTokenizer(f"{family}-superwords{across}").pattern
    splitter = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern or ""), "isolated")
    return PreTokenizer(family).pieces, lambda text: [piece for piece, _ in splitter.pre_tokenize_str(text)]


@settings(max_examples=60, deadline=None)
@given(
    texts,
    st.sampled_from(FAMILIES),
    st.integers(258, 275),
    st.integers(1, 40),
    st.integers(2, 5),
    st.sampled_from(["sentences", "lines", "documents"]),
    st.integers(0, 3),
    st.sampled_from(["huggingface", "bytes", "sentencepiece"]),
    st.sampled_from([None, 6]),
)
def test_superbpe_is_the_literal_algorithm(
    documents: list[str], family: str, size: int, more: int, max_words: int, rule: Any, min_count: int,
    tie_break: Any, max_length: int | None,
) -> None:  # fmt: skip
    try:
        made = sentitok.train_bpe(
            texts=documents, vocab_size=size + more, superwords_from=size, pre_tokenizer=family,
            max_superword_words=max_words, superword_rule=rule, min_count=min_count, tie_break=tie_break,
            max_token_length=max_length,
        )  # fmt: skip
    except TrainError:
        assert min_count > 1  # no piece is left
        return
    tokens, merges = oracle.superbpe(
        documents, *splits(family, rule), size + more, size, max_words=max_words, rule=rule,
        min_count=min_count, tie_break=tie_break, max_token_length=max_length or float("inf"),
    )  # fmt: skip
    assert model_of(made) == (tokens, [(left, right) for left, right, _ in merges])
    if rule == "documents":
        return  # not from counts
    counts = sentitok.count(texts=documents, pre_tokenizer=f"{family}-superwords")
    from_counts = sentitok.train_bpe(
        counts=counts, vocab_size=size + more, superwords_from=size, max_superword_words=max_words,
        superword_rule=rule, min_count=min_count, tie_break=tie_break, max_token_length=max_length,
    )  # fmt: skip
    assert from_counts.to_bytes() == made.to_bytes()


@settings(max_examples=60, deadline=None)
@given(
    texts,
    st.sampled_from(["gpt2", "cl100k", "o200k"]),
    st.integers(1, 40),
    st.integers(2, 5),
    st.sampled_from(["sentences", "lines"]),
    st.sampled_from(["huggingface", "bytes"]),
)
def test_boundless_is_the_literal_algorithm(
    documents: list[str], family: str, more: int, max_words: int, rule: Any, tie_break: Any
) -> None:
    documents = [document.replace("é", "e").replace("中", "z") for document in documents]
    made = sentitok.train_bpe(
        texts=documents, vocab_size=256 + more, superwords="auto", pre_tokenizer=family,
        max_superword_words=max_words, superword_rule=rule, tie_break=tie_break,
    )  # fmt: skip
    regular, supers = oracle.boundless(
        documents, *splits(family), 256 + more, max_words=max_words, rule=rule, tie_break=tie_break
    )
    assert made.report is not None
    assert made.report.superwords_from == 256 + len(regular)
    assert model_of(made)[1] == [(left, right) for left, right, _ in [*regular, *supers]]
    from_counts = sentitok.train_bpe(
        counts=sentitok.count(texts=documents, pre_tokenizer=f"{family}-superwords"),
        vocab_size=256 + more, superwords="auto", max_superword_words=max_words, superword_rule=rule,
        tie_break=tie_break,
    )  # fmt: skip
    assert from_counts.to_bytes() == made.to_bytes()


PHRASES = ["in the end", "one of the", "it is a", "at the same time", "of course", "as well as"]


def corpus(lines: int = 400) -> list[str]:
    """Sentences of phrases, the same ones on every machine."""
    rng = random.Random(59)
    phrases = [*PHRASES, "Anna", "Ben", "a dog", "the film", "2024", "x = 3;", "他说的", "das Haus"]

    def sentence() -> str:
        return " ".join(rng.choice(phrases) for _ in range(rng.randrange(2, 9)))

    return [". ".join(sentence() for _ in range(rng.randrange(1, 4))) + ".\n" for _ in range(lines)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", [{"superwords_from": 330}, {"superwords": "auto"}])
def test_ids_are_those_of_tokenizers(family: str, options: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = sentitok.train_bpe(texts=corpus(), vocab_size=420, pre_tokenizer=family, **options)
    assert any(b" " in (tokenizer.id_to_bytes(id) or b"")[1:] for id in range(300, 420))
    tokenizer.save(tmp_path / "tokenizer.json")
    reference = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = sentitok.Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert again.pre_tokenizer.name == f"{family}-superwords"
    assert again.fingerprint == tokenizer.fingerprint
    rng = random.Random(3)
    made_up = ["".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 30))) for _ in range(500)]
    for text in [*corpus(100), *made_up]:
        expected = reference.encode(text)
        found = tokenizer.encode(text)
        assert found.ids.tolist() == expected.ids == again.encode(text).ids.tolist(), text
        assert [tuple(span) for span in found.offsets("chars").tolist()] == expected.offsets
        assert tokenizer.decode(expected.ids) == text == reference.decode(expected.ids)


@pytest.mark.parametrize("options", [{"superwords_from": 290}, {"superwords": "auto"}])
def test_ids_are_those_of_the_list_of_merges(options: dict[str, Any]) -> None:
    chinese = [line.replace("a dog", "一只狗，他说的。").replace("Anna", "他说") for line in corpus()]
    tokenizer = sentitok.train_bpe(
        texts=chinese, vocab_size=420, max_superword_words=9, superword_rule="lines", **options
    )
    merges = tokenizer.merges()
    rng = random.Random(7)
    words = [
        *WORDS,
        *PHRASES,
        "，",
        "他说",
        "的",
        "一只狗",
        " naïveté",
        "’s",
        "\t",
        "supercalifragilistic",
        "-",
    ]
    made_up = ["".join(rng.choice(words) for _ in range(rng.randrange(1, 25))) for _ in range(300)]
    made_up += [" of the" * 40, "他说的，" * 20, " it is a" * 30 + "。", "one of the " * 30]
    for text in [*chinese[:30], *made_up]:
        tokens = [tokenizer.id_to_bytes(id) for id in tokenizer.encode(text).ids]
        expected = [
            token for stretch in splits("gpt2")[1](text) for token in oracle.encode(stretch.encode(), merges)
        ]
        assert tokens == expected, text
    whole = "\n".join(made_up) * 3
    found = [id for line in whole.splitlines(keepends=True) for id in tokenizer.encode(line).ids]
    assert tokenizer.encode(whole).ids.tolist() == found


def test_transformers_gives_the_same_ids(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = sentitok.train_bpe(texts=corpus(), vocab_size=420, superwords_from=330)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    for text in corpus(50):
        assert loaded(text)["input_ids"] == tokenizer.encode(text).ids.tolist()


@pytest.mark.parametrize("options", [{"superwords_from": 330}, {"superwords": "auto"}])
def test_any_threads_and_any_memory_give_the_same_bytes(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(corpus(300)), "utf-8")
    (tmp_path / "b.txt").write_text("".join(reversed(corpus(300))), "utf-8")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    made = {
        sentitok.train_bpe(paths, vocab_size=420, threads=threads, max_memory=memory, **options).to_bytes()
        for paths, threads, memory in [(files, 1, None), (files, 4, 0), (files[::-1], 2, None)]
    }
    lines = [line for file in files for line in file.read_text("utf-8").splitlines(keepends=True)]
    made.add(sentitok.train_bpe(texts=lines, vocab_size=420, **options).to_bytes())
    assert len(made) == 1


@pytest.mark.parametrize("family", ["gpt2", "o200k"])
@pytest.mark.parametrize("options", [{"superwords_from": 330}, {"superwords": "auto"}])
def test_counts_give_the_same_bytes_as_text(family: str, options: dict[str, Any], tmp_path: Path) -> None:
    pieces = f"{family}-superwords"
    # A stretch that is longer than the longest piece, and bytes that are not text.
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    files[0].write_text("".join(corpus(200)) + "it is a dog " * 8000 + "\n", "utf-8")
    files[1].write_bytes("".join(reversed(corpus(200))).encode() + b"one of \xff the end\n")
    options = {"vocab_size": 420, "min_count": 2, **options}
    text = sentitok.train_bpe(files, pre_tokenizer=family, invalid_utf8="bytes", **options)
    shards = [tmp_path / f"{number}.counts" for number in range(3)]
    for number, out in enumerate(shards):
        sentitok.count(
            files, shard=(number, 3), pre_tokenizer=pieces, invalid_utf8="bytes", max_memory=0, out=out
        )
    merged = tmp_path / "merged.counts"
    sentitok.merge_counts(shards, merged)
    in_memory = sentitok.count(files, pre_tokenizer=pieces, invalid_utf8="bytes", threads=1)
    assert in_memory is not None
    assert merged.read_bytes() == in_memory.to_bytes()
    forms: list[Any] = [merged, shards, in_memory, [(in_memory, 1)]]
    for counts in forms:
        for how in ({}, {"threads": 3, "max_memory": 0}, {"pre_tokenizer": family}):
            made = sentitok.train_bpe(counts=counts, **how, **options)
            assert made.to_bytes() == text.to_bytes()
            assert made.report is not None
            assert text.report is not None
            assert made.report.totals == text.report.totals
            assert made.report.distinct_pieces == text.report.distinct_pieces
    twice = sentitok.train_bpe([*files, *files], pre_tokenizer=family, invalid_utf8="bytes", **options)
    weighted = sentitok.train_bpe(counts=[(merged, 2)], **options)
    assert weighted.to_bytes() == twice.to_bytes()


def test_counts_add_superwords_to_a_base() -> None:
    base = sentitok.train_bpe(texts=corpus(), vocab_size=330)
    counts = sentitok.count(texts=corpus(), pre_tokenizer="gpt2-superwords")
    options: dict[str, Any] = {"extend": base, "vocab_size": 420, "superwords_from": 330}
    made = sentitok.train_bpe(counts=counts, **options)
    assert made.to_bytes() == sentitok.train_bpe(texts=corpus(), **options).to_bytes()


def test_the_second_stage_is_the_trainer_of_tokenizers() -> None:
    # Each token of the first stage is a character, and each stretch a word: what follows is BPE on words.
    first = sentitok.train_bpe(texts=corpus(), vocab_size=330)
    made = sentitok.train_bpe(
        texts=corpus(), vocab_size=420, superwords_from=330, max_superword_words=99, superword_rule="lines"
    )
    _, stretches = splits("gpt2")
    merges = first.merges()
    ids = {first.id_to_bytes(id): id for id in range(330)}
    spelled = [
        "".join(chr(0x4E00 + ids[token]) for token in oracle.encode(stretch.encode(), merges))
        for line in corpus()
        for stretch in stretches(line)
    ]
    reference = tokenizers.Tokenizer(tokenizers.models.BPE())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420, show_progress=False, initial_alphabet=[chr(0x4E00 + id) for id in range(330)]
    )
    reference.train_from_iterator([spelled], trainer)
    found = json.loads(reference.to_str())["model"]["merges"]

    def token(text: str) -> bytes:
        return b"".join(first.id_to_bytes(ord(c) - 0x4E00) or b"" for c in text)

    assert [(token(left), token(right)) for left, right in found] == made.merges()[len(merges) :]


@pytest.mark.parametrize("size", [330, 350])
def test_extend_keeps_the_ids_of_the_base(size: int) -> None:
    base = sentitok.train_bpe(texts=corpus(), vocab_size=330, special_tokens=["<|end|>"])
    made = sentitok.train_bpe(texts=corpus(), extend=base, vocab_size=420, superwords_from=size)
    whole = sentitok.train_bpe(
        texts=corpus(), vocab_size=420, superwords_from=size, special_tokens=["<|end|>"]
    )
    assert made.vocab() == whole.vocab()
    assert made.merges() == whole.merges()
    assert made.encode("<|end|>").ids.tolist() == base.encode("<|end|>").ids.tolist()
    # Superwords may be added to superwords.
    more = sentitok.train_bpe(texts=corpus(), extend=made, vocab_size=440, superwords_from=420)
    longer = sentitok.train_bpe(
        texts=corpus(), vocab_size=440, superwords_from=size, special_tokens=["<|end|>"]
    )
    assert more.merges() == longer.merges()


def test_auto_extends_a_base() -> None:
    base = sentitok.train_bpe(texts=corpus(), vocab_size=300)
    made = sentitok.train_bpe(texts=corpus(), extend=base, vocab_size=420, superwords="auto")
    assert made.merges() == sentitok.train_bpe(texts=corpus(), vocab_size=420, superwords="auto").merges()


def test_rules_and_limits_hold() -> None:
    made = sentitok.train_bpe(texts=corpus(), vocab_size=900, superwords_from=330, max_superword_words=3)
    tokens = [made.id_to_bytes(id) or b"" for id in range(330, made.vocab_size)]
    assert max(len(token.split()) for token in tokens) == 3
    assert not any(b". " in token or b": " in token or b"\n" in token for token in tokens)
    assert not any(any(c in b"0123456789" for c in pair) for token in tokens for pair in pairwise(token))
    lines = sentitok.train_bpe(texts=corpus(), vocab_size=900, superwords_from=330, superword_rule="lines")
    assert any(b". " in (lines.id_to_bytes(id) or b"") for id in range(330, lines.vocab_size))


def lines_of_code() -> list[str]:
    """Documents of several lines, the same ones on every machine."""
    rng = random.Random(60)
    lines = ["    return x;\n", "}\n\n", "if (a) {\n", "\tint n;\r\n", "x = 12;\n", "// of the\n"]
    return ["".join(rng.choices(lines, k=rng.randrange(3, 12))) for _ in range(300)]


@pytest.mark.parametrize("family", FAMILIES)
def test_superwords_cross_lines_by_rule(family: str, tmp_path: Path) -> None:
    texts = lines_of_code()
    options: dict[str, Any] = {"vocab_size": 420, "superwords_from": 330, "superword_rule": "documents"}
    made = sentitok.train_bpe(texts=texts, pre_tokenizer=family, **options)
    tokens = [made.id_to_bytes(id) or b"" for id in range(330, made.vocab_size)]
    assert any(b"\n" in token.strip() for token in tokens)
    assert not any(c in b"0123456789" for token in tokens for c in token)
    made.save(tmp_path / "tokenizer.json")
    reference = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = sentitok.Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert again.pre_tokenizer.name == f"{family}-superwords-across-lines"
    rng = random.Random(4)
    made_up = ["".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 30))) for _ in range(500)]
    for text in [*texts[:100], *made_up]:
        expected = reference.encode(text)
        assert made.encode(text).ids.tolist() == expected.ids == again.encode(text).ids.tolist(), text
        assert [tuple(span) for span in made.encode(text).offsets("chars").tolist()] == expected.offsets
    # A base that crosses lines is extended by the same rule.
    more = sentitok.train_bpe(
        texts=texts, extend=made, **options | {"vocab_size": 440, "superwords_from": 420}
    )
    assert more.merges()[: len(made.merges())] == made.merges()
    with pytest.raises((ValueError, TrainError), match="documents"):
        sentitok.train_bpe(texts=texts, extend=made, vocab_size=440, superwords_from=420)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"superwords_from": 420}, ["superwords_from", "420"]),
        ({"superwords_from": 100}, ["100"]),
        ({"superwords": "auto", "superwords_from": 300}, ["superwords_from"]),
        ({"superwords": "yes"}, ["yes", "auto"]),
        ({"max_superword_words": 3}, ["superwords_from"]),
        ({"superwords_from": 300, "max_superword_words": 1}, ["max_superword_words", "1"]),
        ({"superword_rule": "lines"}, ["superwords_from"]),
        ({"superwords_from": 300, "superword_rule": "words"}, ["words", "sentences", "lines", "documents"]),
        ({"superwords": "auto", "superword_rule": "documents"}, ["documents", "superwords_from"]),
        ({"superwords_from": 300, "pre_tokenizer": "whitespace"}, ["whitespace", "gpt2"]),
        ({"superwords_from": 300, "unit": "chars"}, ["chars"]),
        ({"superwords_from": 300, "end_of_word_suffix": "</w>"}, ["</w>"]),
        ({"superwords_from": 300, "method": "sentencepiece"}, ["superwords"]),
    ],
)
def test_what_is_refused(options: dict[str, Any], named: list[str]) -> None:
    with pytest.raises((ValueError, TrainError)) as caught:
        sentitok.train_bpe(texts=corpus(5), vocab_size=420, **options)
    assert all(name in str(caught.value) for name in named), caught.value


def test_text_must_be_readable_again() -> None:
    with pytest.raises((ValueError, TrainError), match="generator"):
        sentitok.train_bpe(texts=(line for line in corpus(5)), vocab_size=420, superwords_from=300)
    counts = sentitok.count(texts=corpus(5), pre_tokenizer="o200k")
    with pytest.raises((ValueError, TrainError), match="o200k-superwords"):
        sentitok.train_bpe(counts=counts, vocab_size=420, superwords_from=300)
    stretches = sentitok.count(texts=corpus(5), pre_tokenizer="o200k-superwords")
    with pytest.raises((ValueError, TrainError), match="sample"):
        sentitok.train_bpe(counts=stretches, vocab_size=420, superwords_from=300, sample=0.5)
    with pytest.raises((ValueError, TrainError), match="gpt2"):
        sentitok.train_bpe(counts=stretches, vocab_size=420, superwords_from=300, pre_tokenizer="gpt2")
    with pytest.raises((ValueError, TrainError), match="text"):
        sentitok.train_bpe(
            counts=stretches, vocab_size=420, superwords_from=300, superword_rule="documents",
            pre_tokenizer="o200k",
        )  # fmt: skip
    across = sentitok.count(texts=corpus(5), pre_tokenizer="o200k-superwords-across-lines")
    with pytest.raises((ValueError, TrainError), match="across-lines"):
        sentitok.train_bpe(counts=across, vocab_size=420, superwords_from=300)
    base = sentitok.train_bpe(texts=corpus(), vocab_size=350, superwords="auto")
    with pytest.raises((ValueError, TrainError), match="superwords_from"):
        sentitok.train_bpe(texts=corpus(5), vocab_size=420, extend=base, superwords="auto")


def test_a_report_says_where_superwords_begin() -> None:
    made = sentitok.train_bpe(texts=corpus(), vocab_size=420, superwords_from=330)
    assert made.report is not None
    assert made.report.superwords_from == 330
    plain = sentitok.train_bpe(texts=corpus(), vocab_size=420)
    assert plain.report is not None
    assert plain.report.superwords_from is None


def test_the_command_trains_what_the_library_trains(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("".join(corpus()), "utf-8")
    counted = ("corpus.txt", "--pre-tokenizer", "gpt2-superwords", "-o", "corpus.counts")
    run_json("count", *counted, cwd=tmp_path)
    for flags, options in (
        (["--superwords-from", "330"], {"superwords_from": 330}),
        (["--superwords", "auto"], {"superwords": "auto"}),
        (
            ["--superwords-from", "330", "--max-superword-words", "2", "--superword-rule", "lines"],
            {"superwords_from": 330, "max_superword_words": 2, "superword_rule": "lines"},
        ),
    ):
        expected = sentitok.train_bpe(tmp_path / "corpus.txt", vocab_size=420, **options)
        for what in (["corpus.txt"], ["--counts", "corpus.counts"]):
            found = run_json("train-bpe", *what, "--vocab", "420", *flags, "--force", cwd=tmp_path)
            assert found["fingerprint"] == expected.fingerprint


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["corpus.txt", "--superwords-from", "420"], ["--superwords-from 420", "--vocab"]),
        (["corpus.txt", "--superwords", "always"], ["always", "auto"]),
        (["corpus.txt", "--superwords", "auto", "--superwords-from", "300"], ["--superwords-from"]),
        (["corpus.txt", "--superword-rule", "lines"], ["--superword-rule", "--superwords-from"]),
        (["corpus.txt", "--superwords", "auto", "--pre-tokenizer", "bert"], ["bert", "gpt2"]),
        (["--counts", "corpus.counts", "--superwords", "auto"], ["corpus.counts", "gpt2-superwords"]),
    ],
)
def test_what_the_command_refuses(flags: list[str], named: list[str], tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("".join(corpus(5)), "utf-8")
    sentitok.count(tmp_path / "corpus.txt", out=tmp_path / "corpus.counts")
    done = run("train-bpe", *flags, "--vocab", "420", "-o", "made.json", cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert all(name in done.err for name in named), done.err
    assert not (tmp_path / "made.json").exists()


def test_a_dry_run_tells_the_memory(tmp_path: Path) -> None:
    text = (ROOT / "tests/data/corpus/sherlock-holmes.txt").read_text("utf-8")
    (tmp_path / "corpus.txt").write_text(text * 4, "utf-8")
    run_json(
        "count", "corpus.txt", "--pre-tokenizer", "gpt2-superwords", "-o", "corpus.counts", cwd=tmp_path
    )  # fmt: skip
    flags = "--vocab 6000 --superwords-from 4000 --json -o made.json"
    for source in ("corpus.txt", "--counts corpus.counts"):
        # Each in a process of its own, whose peak is that of the training.
        code, out, err = run_apart(f"train-bpe {source} {flags} --dry-run", cwd=tmp_path, env=environment())
        assert code == 0, err
        expected = json.loads(out)["estimated_memory_bytes"]
        assert not (tmp_path / "made.json").exists()
        code, out, err = run_apart(f"train-bpe {source} {flags}", cwd=tmp_path, env=environment())
        assert code == 0, err
        assert expected == pytest.approx(json.loads(out)["peak_memory_bytes"], rel=0.25)
        (tmp_path / "made.json").unlink()


def test_texts_that_grow_and_arrive_in_parts() -> None:
    tokenizer = sentitok.train_bpe(texts=corpus(), vocab_size=420, superwords_from=330)
    text = "".join(corpus(20))
    for end in (5, 40, 200, len(text)):
        encoding = tokenizer.encode(text[:end])
        assert tokenizer.encode_more(encoding, text).ids.tolist() == tokenizer.encode(text).ids.tolist()
    stream = tokenizer.stream_encoder()
    ids = [id for at in range(0, len(text), 7) for id in stream.push(text[at : at + 7])]
    assert [*ids, *stream.finish()] == tokenizer.encode(text).ids.tolist()


def test_eval_shows_superwords() -> None:
    tokenizer = sentitok.train_bpe(texts=corpus(), vocab_size=420, superwords_from=330)
    plain = sentitok.train_bpe(texts=corpus(), vocab_size=420)
    measured, before = (evaluate(one, corpus()) for one in (tokenizer, plain))
    assert measured.superword_share > 0.1
    assert before.superword_share == 0
    assert measured.bytes_per_token > before.bytes_per_token


def test_eval_leaves_superwords_out_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("".join(corpus(100)), "utf-8")
    lines = (tmp_path / "corpus.txt").read_text("utf-8").splitlines(keepends=True)
    sentitok.train_bpe(texts=lines, vocab_size=420).save(tmp_path / "plain.json")
    sentitok.train_bpe(texts=lines, vocab_size=420, superwords_from=330).save(tmp_path / "supers.json")
    alone = run("eval", "plain.json", "corpus.txt", cwd=tmp_path)
    assert alone.code == 0
    assert "superwords" not in alone.out
    both = run("eval", "plain.json", "supers.json", "corpus.txt", cwd=tmp_path)
    head, *rows = (line.split() for line in both.out.splitlines() if line.strip())
    assert "superwords" in head
    shares = {row[0]: row[-2] for row in rows if row[0].endswith(".json")}
    assert shares["plain.json"] == "-"
    assert shares["supers.json"].endswith("%")


def test_commands_and_python_of_the_page(tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "superwords.md"
    prepare(tmp_path)
    found = [one for block in blocks(page, "console") for one in commands(block)]
    assert len(found) == 5
    run_all(found, tmp_path)
    (code,) = blocks(page, "python")
    exec(code, {})  # 2026-11-30: the code of our own page
