"""Parallel text: files, tables, errors, division, batches and what each kind of model reads of a pair."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from sentimodels.config import ParallelConfig
from sentimodels.data.parallel import read_parallel, split_pairs
from sentimodels.errors import ConfigError, DataError
from sentimodels.generation.pair_formats import EncoderDecoder, Prompted
from sentimodels.nn.cross_entropy import IGNORED
from sentimodels.text.pairs import Pairs, encode_rows, end_of, joint_tokenizer, plan
from sentimodels.text.special_tokens import known_end
from sentitok import train_bpe


def written(folder: Path, source: str, target: str) -> list[Path]:
    files = [folder / "a.en", folder / "a.de"]
    files[0].write_text(source, "utf-8")
    files[1].write_text(target, "utf-8")
    return files


def test_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    files = written(tmp_path, "a man\r\n\na dog\x0c\n", "ein Mann\nleer\nein Hund")
    pairs = read_parallel(files)
    assert pairs.sources == ["a man", "", "a dog\x0c"]
    assert pairs.targets == ["ein Mann", "leer", "ein Hund"]
    assert read_parallel(files, limit=2).targets == ["ein Mann", "leer"]
    packed = [tmp_path / "b.en.gz", tmp_path / "b.de.gz"]
    for plain, file in zip(files, packed, strict=True):
        file.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_parallel(packed).sha256 == pairs.sha256  # the same data under another name
    assert read_parallel(packed[::-1]).sha256 != pairs.sha256


@pytest.mark.parametrize("limit", [None, 1])
def test_files_of_unequal_length_are_an_error_that_names_both(limit: int | None, tmp_path: Path) -> None:
    files = written(tmp_path, "a\nb\nc\n", "a\nb\n")
    with pytest.raises(DataError, match=r"a\.en has 3 lines, but .*a\.de has 2: parallel text"):
        read_parallel(files, limit=limit)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'id,en,de\n1,"a, b","c\nd"\n2,e,f\n'),
        ("a.tsv", 'en\tid\tde\na, b\t1\t"c\nd"\ne\t2\tf\n'),
        ("a.jsonl", '{"en": "a, b", "de": "c\\nd", "x": 1}\n{"en": "e", "de": "f"}\n'),
    ],
)
def test_a_table_has_two_columns_of_texts(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    pairs = read_parallel([tmp_path / name], source_column="en", target_column="de")
    assert list(zip(pairs.sources, pairs.targets, strict=True)) == [("a, b", "c\nd"), ("e", "f")]
    assert len(read_parallel([tmp_path / name], source_column="en", target_column="de", limit=1)) == 1


def test_what_cannot_be_read_says_what_to_type(tmp_path: Path) -> None:
    files = written(tmp_path, "a\n", "b\n")
    with pytest.raises(DataError, match="--source-column en --target-column de"):
        read_parallel(files[:1])
    with pytest.raises(DataError, match="columns are of one table"):
        read_parallel(files, source_column="en")
    with pytest.raises(DataError, match="3 files: expected one of sources"):
        read_parallel([*files, *files[:1]])
    (tmp_path / "a.csv").write_text("en,de\na,b\n")
    with pytest.raises(DataError, match="no column 'fr'; it has 'en', 'de'"):
        read_parallel([tmp_path / "a.csv"], source_column="en", target_column="fr")
    files[0].write_bytes(b"\xff\n")
    with pytest.raises(DataError, match=r"a\.en"):
        read_parallel(files)


def test_a_division_keeps_equal_sources_together(tmp_path: Path) -> None:
    rows = [f"s{number % 40}" for number in range(200)]
    files = written(tmp_path, "\n".join(rows), "\n".join(f"t{number}" for number in range(200)))
    pairs = read_parallel(files)
    train, valid = split_pairs(pairs, 0.2, seed=1)
    assert (len(train), len(valid)) == (160, 40)
    assert not set(train.sources) & set(valid.sources)
    assert sorted(train.targets + valid.targets) == sorted(pairs.targets)
    assert split_pairs(pairs, 0.2, seed=1)[1].targets == valid.targets
    assert split_pairs(pairs, 0.2, seed=2)[1].targets != valid.targets
    with pytest.raises(DataError, match="1 different sources, too few to hold some out; give --valid"):
        split_pairs(pairs.take([0, 40, 80]), 0.2, seed=1)


def encoded(sources: list[str], targets: list[str]) -> tuple[Pairs, int]:
    tokenizer = joint_tokenizer(ParallelConfig(vocab_size=300), sources, targets)
    return Pairs(encode_rows(tokenizer, sources), encode_rows(tokenizer, targets)), end_of(tokenizer)[1]


def random_pairs(n: int) -> tuple[Pairs, int]:
    rng = np.random.default_rng(0)
    texts = [["ab " * rng.integers(1, 30) for _ in range(n)] for _ in range(2)]
    return encoded(texts[0], texts[1])


def test_batches_hold_every_pair_once_within_their_places() -> None:
    pairs, end = random_pairs(500)
    widths = EncoderDecoder(end).widths(pairs)
    epochs = [plan(widths, 400, seed=3, epoch=epoch) for epoch in range(3)]
    for batches in epochs:
        assert sorted(np.concatenate(batches).tolist()) == list(range(500))
        places = [int(widths[rows].max(0).sum()) * len(rows) for rows in batches]
        assert max(places) <= 400
        assert len(batches) == len(epochs[0])  # an epoch is as long as any other
        assert widths.sum() / sum(places) > 0.75  # though their lengths are unrelated
    assert [rows.tolist() for rows in plan(widths, 400, seed=3, epoch=1)] == [r.tolist() for r in epochs[1]]
    assert {tuple(r.tolist()) for r in epochs[0]} != {tuple(r.tolist()) for r in epochs[1]}
    assert [len(rows) for rows in plan(widths, 1, seed=3)] == [1] * 500  # a long pair is a separate batch
    assert plan(widths[:0], 400) == []


def test_what_an_encoder_decoder_reads_of_a_pair() -> None:
    pairs, end = encoded(["a b c", "a"], ["d", "d e"])
    source, target = ([side[row].tolist() for row in (0, 1)] for side in (pairs.sources, pairs.targets))
    assert len(source[0]) > len(source[1])
    batch = EncoderDecoder(end).batch(pairs, np.array([0, 1]))
    for row in (0, 1):
        n, m = len(source[row]) + 1, len(target[row]) + 1
        assert batch.input_ids[row, :n].tolist() == [*source[row], end]
        assert batch.mask is not None
        assert batch.mask[row].tolist() == [place < n for place in range(batch.mask.shape[1])]
        assert batch.target_ids[row, :m].tolist() == [end, *target[row]]
        assert batch.labels[row, :m].tolist() == [*target[row], end]
        assert (batch.labels[row, m:] == IGNORED).all()
    real = sum(len(one) + 1 for one in source + target)
    assert batch.counted() == (real, batch.input_ids.numel() + batch.target_ids.numel())
    assert EncoderDecoder(end).batch(pairs, np.array([1])).mask is None  # nothing is padding


def test_what_a_causal_model_reads_of_a_pair() -> None:
    sources, targets = ["a b c", "a"], ["d", "d e"]
    tokenizer = joint_tokenizer(ParallelConfig(vocab_size=300), sources, targets)
    end = end_of(tokenizer)[1]
    format = Prompted.of("say {source} answer:", tokenizer, end)
    prompts = format.sources(encode_rows(tokenizer, sources))
    pairs = Pairs(prompts, encode_rows(tokenizer, targets))
    batch = format.batch(pairs, np.array([0, 1]))
    for row in (0, 1):
        prompt, target = prompts[row].tolist(), pairs.targets[row].tolist()
        assert tokenizer.decode(prompt).strip() == f"say  {sources[row]} answer:"
        n, m = len(prompt), len(target)
        assert batch.input_ids[row, : n + m].tolist() == prompt + target
        assert batch.labels[row, n - 1 : n + m].tolist() == [*target, end]
        # The prompt is read, not learned.
        assert (batch.labels[row, : n - 1] == IGNORED).all()
        assert (batch.labels[row, n + m :] == IGNORED).all()
    assert batch.counted() == (int(format.widths(pairs).sum()), batch.input_ids.numel())


def test_a_tokenizer_that_is_given_gets_an_end_where_it_has_none(tmp_path: Path) -> None:
    train_bpe(texts=["a b"], vocab_size=260).save(tmp_path / "plain.json")
    train_bpe(texts=["a b"], vocab_size=260, special_tokens=["[SEP]", "<x>"]).save(tmp_path / "bert.json")
    made = joint_tokenizer(ParallelConfig(tokenizer=str(tmp_path / "plain.json")), [], [])
    assert end_of(made) == ("</s>", made.vocab_size - 1)
    made = joint_tokenizer(ParallelConfig(tokenizer=str(tmp_path / "bert.json")), [], [])
    assert end_of(made) == ("[SEP]", 0)
    assert end_of(made, "<x>") == ("<x>", 1)
    with pytest.raises(ConfigError, match=r"lacks a token to end a text \(</s>\): set data\.end"):
        end_of(made, "</s>")
    unigram = joint_tokenizer(
        ParallelConfig(vocab_size=257, tokenizer_model="unigram"), ["ab cd"] * 9, ["ef gh"] * 9
    )
    assert unigram.decode(unigram.encode("ab gh").ids) == "ab gh"


def test_the_end_is_that_of_pre_training(tmp_path: Path) -> None:
    """So a model that learned where documents end knows where a translation does."""
    both = train_bpe(texts=["a b"], vocab_size=260, special_tokens=["</s>", "<|endoftext|>"])
    both.save(tmp_path / "both.json")
    made = joint_tokenizer(ParallelConfig(tokenizer=str(tmp_path / "both.json")), [], [])
    assert made.vocab_size == both.vocab_size
    assert end_of(made)[0] == known_end(made, None, {}) == "<|endoftext|>"
    # A piece of text that is spelled like an end is none, unless it is named.
    spelled = train_bpe(texts=["a </s> b"] * 50, vocab_size=275, pre_tokenizer="whitespace-split")
    assert spelled.token_to_id("</s>") is not None
    with pytest.raises(ConfigError, match=r"to end a text \(<\|endoftext\|>, .*</s>, "):
        end_of(spelled)
    assert end_of(spelled, "</s>")[1] == spelled.token_to_id("</s>")


def test_the_end_in_a_text_is_text() -> None:
    pairs, end = encoded(["a </s> b"], ["c"])
    assert end not in pairs.sources[0]
    assert len(pairs.sources[0]) > 3
