"""Random small BPE models against their slow definitions and the reference libraries.

Ids, text, reachable tokens, pruning, dropout and every saved format, for merging by
scores, by list and by rank. A failure names the seed of its model.
"""

import base64
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
import sentencepiece
import tiktoken
import tokenizers
import tokenizers.models

from oracles import random_bpe
from oracles.merging import BYTE, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, ByList, ByScores, Ids
from oracles.model_file import bpe_model
from oracles.random_bpe import CHAR_TO_BYTE, json_file, spelled, texts_over, words_of
from sentitok import FormatError, Tokenizer

# Parts that a format leaves out are warned of; here ids are compared.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Models of each order: enough for every run, and those of `make test-slow`.
FEW, MANY = 20, 20_000
# How often a text of a model is drawn with dropout.
DRAWS = 300
# The longest such text in bytes: the outcomes of more than that are millions.
DRAWN_BYTES = 7
# GPT-2's.
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], seed: int = 0) -> list[list[int]]:
    return tokenizer.encode_batch(texts, threads=1, add_special_tokens=False, seed=seed).to_list()


def is_written(tokenizer: Tokenizer, path: Path, format: str | None = None) -> bool:
    """Saves a tokenizer, or sees that it is refused with a reason."""
    try:
        tokenizer.save(path, format)
    except FormatError as error:
        reason = str(error)
    else:
        return True
    assert len(reason) > 40
    return False


def check_pruned(
    tokenizer: Tokenizer, texts: Sequence[str], ids: Sequence[list[int]], rng: random.Random
) -> Tokenizer:
    """Texts whose ids are all kept keep them, by their new numbers."""
    known = [id for id in range(tokenizer.vocab_size) if tokenizer.id_to_token(id) is not None]
    keep = set(rng.sample(known, rng.randint(0, len(known))) if rng.random() < 0.5 else rng.choice(ids))
    pruned, new_ids = tokenizer.prune(sorted(keep))
    assert all(new_ids[id] >= 0 for id in keep)
    kept = [(text, old) for text, old in zip(texts, ids, strict=True) if all(new_ids[id] >= 0 for id in old)]
    found = encode_all(pruned, [text for text, _ in kept])
    assert found == [[int(new_ids[id]) for id in old] for _, old in kept], keep
    for (_, old), new in zip(kept, found, strict=True):
        assert pruned.decode(new) == tokenizer.decode(old)
    return pruned


def check_reachable(
    tokenizer: Tokenizer, ids: Iterable[list[int]], alone: Mapping[int, list[int]] | None
) -> None:
    """No text becomes an unreachable token; its own text becomes any other.

    `alone` are the ids of the texts of tokens, where these decide it.
    """
    found = set(tokenizer.doctor()["unreachable"])
    assert found.isdisjoint(itertools.chain.from_iterable(ids))
    if alone is not None:
        assert found == {id for id, own in alone.items() if id not in own}


def check_own_file(tokenizer: Tokenizer, texts: Sequence[str], ids: Sequence[list[int]]) -> None:
    again = Tokenizer.from_bytes(tokenizer.to_bytes())
    assert encode_all(again, texts) == list(ids)
    assert again.to_bytes() == tokenizer.to_bytes()


def check_json(tokenizer: Tokenizer, path: Path, texts: Sequence[str], ids: Sequence[list[int]]) -> bool:
    """Written as tokenizer.json it gives the same ids in both libraries, or is refused."""
    path = path / "tokenizer.json"
    if not is_written(tokenizer, path):
        return False
    assert encode_all(Tokenizer.from_file(path), texts) == list(ids)
    # There special tokens are found in any text.
    special = [token.content for token in tokenizer.added_tokens if token.special]
    plain = [at for at, text in enumerate(texts) if not any(content in text for content in special)]
    theirs = tokenizers.Tokenizer.from_file(str(path))
    found = theirs.encode_batch([texts[at] for at in plain], add_special_tokens=False)
    assert [encoding.ids for encoding in found] == [ids[at] for at in plain]
    return True


def check_sentencepiece(tokenizer: Tokenizer, path: Path, texts: Sequence[str]) -> None:
    path = path / "saved.model"
    tokenizer.save(path)
    expected = encode_all(tokenizer, texts)
    assert encode_all(Tokenizer.from_file(path), texts) == expected
    assert sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(texts) == expected


def check_tiktoken(path: Path, texts: Sequence[str], expected: Sequence[list[int]]) -> None:
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding("random", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    assert [encoding.encode_ordinary(text) for text in texts] == list(expected)


def check_byte_formats(tokenizer: Tokenizer, path: Path, texts: Sequence[str]) -> bool:
    """Each format gives the same ids or is refused; whether there are ranks."""
    expected = encode_all(tokenizer, texts)
    check_own_file(tokenizer, texts, expected)
    check_json(tokenizer, path, texts, expected)
    assert not is_written(tokenizer, path / "saved.model")
    if is_written(tokenizer, path / "gpt2", "gpt2"):
        again = Tokenizer.from_gpt2(path / "gpt2" / "vocab.json", path / "gpt2" / "merges.txt")
        assert encode_all(again, texts) == expected
    path = path / "saved.tiktoken"
    if not is_written(tokenizer, path):
        return False
    assert encode_all(Tokenizer.from_tiktoken(path, "gpt2"), texts) == expected
    check_tiktoken(path, texts, expected)
    return True


class Draws:
    """Dropout against its distribution, for each model and over all of them."""

    def __init__(self) -> None:
        self.seen = self.expected = self.variance = 0.0

    def check(
        self, rng: random.Random, tokenizer: Tokenizer, letters: str, oracle: Callable[..., dict[Ids, float]]
    ) -> None:
        """Draws a text; no outcome is off by more than 6 standard deviations."""
        text, p = "".join(rng.choices(letters, k=rng.randint(2, 5))), rng.choice([0.1, 0.5, 0.8])
        while len(text.encode()) > DRAWN_BYTES:
            text = text[:-1]
        ways = oracle(text, p)
        rows = encode_all(tokenizer.with_dropout(p), [text] * DRAWS, rng.getrandbits(60))
        found = Counter(map(tuple, rows))
        check_distribution(found, ways, 6)
        whole = min(ways, key=lambda way: (len(way), way))
        self.seen += found[whole]
        self.expected += DRAWS * ways[whole]
        self.variance += DRAWS * ways[whole] * (1 - ways[whole])

    def check_sum(self) -> None:
        """The most merged outcome came as often as it should, over all models."""
        assert abs(self.seen - self.expected) <= 5 * math.sqrt(self.variance) + 2


def check_distribution(found: Counter[Ids], ways: Mapping[Ids, float], deviations: float) -> None:
    """No outcome is off by more; two draws are allowed, as rare outcomes are not normal."""
    n = found.total()
    assert set(found) <= set(ways)
    assert math.isclose(sum(ways.values()), 1)
    for way, p in ways.items():
        assert abs(found[way] - n * p) <= deviations * math.sqrt(n * p * (1 - p)) + 2, (way, found, ways)


def check_scores(rng: random.Random, path: Path, draws: Draws) -> None:
    """SentencePiece's: equal scores, unused, control and byte pieces, the user's."""
    pieces, byte_fallback = random_bpe.random_pieces(rng)
    data = bpe_model(pieces, byte_fallback)
    oracle, ours = ByScores(pieces, byte_fallback), Tokenizer.from_bytes(data)
    theirs = sentencepiece.SentencePieceProcessor()
    theirs.LoadFromSerializedProto(data)
    plain = [text for text, _, kind in pieces if kind not in (BYTE, UNKNOWN)]
    letters = "".join(sorted(set("".join(plain)) - set("<s>")))
    texts = texts_over(letters, rng, [*plain, pieces[oracle.unk][0]])
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(text) for text in texts]
    assert ids == theirs.encode(texts)
    for text, row in zip(texts, ids, strict=True):
        assert ours.encode(text).ids.tolist() == row
        assert ours.decode(row) == theirs.decode(row)

    in_text = {id: text for id, (text, _, kind) in enumerate(pieces) if kind in (NORMAL, USER_DEFINED)}
    check_reachable(ours, ids, {id: oracle.encode(text) for id, text in in_text.items()})
    pruned = check_pruned(ours, texts, ids, rng)
    for model in (ours, pruned):
        expected = encode_all(model, texts)
        check_own_file(model, texts, expected)
        check_json(model, path, texts, expected)
        if any(model.token_to_id(text) is not None for text in in_text.values()):
            check_sentencepiece(model, path, texts)
        assert not is_written(model, path / "saved.tiktoken")
        assert not is_written(model, path / "gpt2", "gpt2")
    if all(kind != UNUSED for _, _, kind in pieces):
        draws.check(rng, ours, letters, oracle.dropout)


def check_list(rng: random.Random, path: Path, draws: Draws) -> None:
    """Hugging Face's, of characters: affixes, unknown tokens, bytes, whole tokens."""
    letters, apart, oracle = random_bpe.random_chars(rng)
    file = json_file(oracle, byte_level=False)
    ours, theirs = Tokenizer.from_bytes(file), tokenizers.Tokenizer.from_str(file.decode())
    texts = texts_over(letters, rng, [token for token in oracle.tokens if token not in apart])
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(text) for text in texts]
    assert ids == [encoding.ids for encoding in theirs.encode_batch(texts)]
    for text, row in zip(texts, ids, strict=True):
        assert ours.encode(text).ids.tolist() == row
        assert ours.decode(row) == theirs.decode(row, skip_special_tokens=False)

    alone = {id: oracle.encode(token) for token, id in oracle.tokens.items() if token not in apart}
    of_apart = any(token in apart for pair in oracle.merges for token in pair)
    is_plain = not (oracle.prefix or oracle.suffix or oracle.ignore_merges or of_apart)
    check_reachable(ours, ids, alone if is_plain else None)
    for model in (ours, check_pruned(ours, texts, ids, rng)):
        expected = encode_all(model, texts)
        check_own_file(model, texts, expected)
        assert check_json(model, path, texts, expected)
        for name, format in (("saved.tiktoken", None), ("gpt2", "gpt2"), ("saved.model", None)):
            assert not is_written(model, path / name, format)
    draws.check(rng, ours, letters, oracle.dropout)


def check_bytes(rng: random.Random, path: Path, draws: Draws) -> None:
    """Hugging Face's, of bytes, as GPT-2 does."""
    letters, oracle = random_bpe.random_bytes(rng)
    file = json_file(oracle, byte_level=True)
    ours, theirs = Tokenizer.from_bytes(file), tokenizers.Tokenizer.from_str(file.decode())
    texts = texts_over(letters, rng, words_of(oracle.tokens))
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(spelled(text)) for text in texts]
    assert ids == [encoding.ids for encoding in theirs.encode_batch(texts)]
    tokens = [bytes(CHAR_TO_BYTE[char] for char in token) for token in oracle.tokens]
    for text, row in zip(texts, ids, strict=True):
        assert ours.encode(text).ids.tolist() == row
        assert ours.decode(row) == b"".join(tokens[id] for id in row).decode("utf-8", "replace")

    alone = {id: oracle.encode(token) for token, id in oracle.tokens.items()}
    is_plain = not (oracle.prefix or oracle.suffix or oracle.ignore_merges)
    check_reachable(ours, ids, alone if is_plain else None)
    check_byte_formats(ours, path, texts)
    check_byte_formats(check_pruned(ours, texts, ids, rng), path, texts)
    draws.check(rng, ours, letters, lambda text, p: oracle.dropout(spelled(text), p))


def check_ranks(rng: random.Random, path: Path, draws: Draws) -> None:
    """tiktoken's."""
    letters, oracle = random_bpe.random_ranks(rng)
    tokens = {id: bytes(CHAR_TO_BYTE[char] for char in token) for token, id in oracle.tokens.items()}
    lines = (f"{base64.b64encode(token).decode()} {id}\n" for id, token in tokens.items())
    (path / "ranks.tiktoken").write_text("".join(lines))
    ours = Tokenizer.from_tiktoken(path / "ranks.tiktoken", "gpt2")
    texts = texts_over(letters, rng, words_of(oracle.tokens))
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(spelled(text)) for text in texts]
    check_tiktoken(path / "ranks.tiktoken", texts, ids)
    for text, row in zip(texts, ids, strict=True):
        assert ours.encode(text).ids.tolist() == row
        assert ours.decode(row) == text

    check_reachable(ours, ids, {id: oracle.encode(token) for token, id in oracle.tokens.items()})
    assert check_byte_formats(ours, path, texts)
    assert check_byte_formats(check_pruned(ours, texts, ids, rng), path, texts)
    draws.check(rng, ours, letters, lambda text, p: oracle.dropout(spelled(text), p))


CHECKS = {"scores": check_scores, "list": check_list, "bytes": check_bytes, "ranks": check_ranks}


def check_models(order: str, n_models: int, path: Path) -> None:
    draws = Draws()
    for number in range(n_models):
        seed = f"{order} {number}"
        try:
            CHECKS[order](random.Random(seed), path, draws)
        except Exception as error:
            error.add_note(f"the model of seed {seed!r}")
            raise
    draws.check_sum()


@pytest.mark.parametrize("order", CHECKS)
def test_random_models(order: str, tmp_path: Path) -> None:
    check_models(order, FEW, tmp_path)


# Seeds of models that found something rare.
@pytest.mark.parametrize(("order", "number"), [("bytes", 6463)])
def test_rare_models(order: str, number: int, tmp_path: Path) -> None:
    CHECKS[order](random.Random(f"{order} {number}"), tmp_path, Draws())


@pytest.mark.slow
@pytest.mark.parametrize("order", CHECKS)
def test_many_random_models(order: str, tmp_path: Path) -> None:
    check_models(order, MANY, tmp_path)


# What the oracle says of dropout, held against the references.
SEVEN = {token: id for id, token in enumerate(["a", "b", "ab", "aa", "aab", "abab", "aba"])}
MERGES = [("a", "b"), ("ab", "ab"), ("a", "a"), ("a", "ab"), ("ab", "a")]
TIED = [("a", -9.0), ("b", -9.0), ("ab", -1.0), ("aa", -3.0), ("aab", -3.0), ("abab", -2.0), ("aba", -2.5)]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("text", ["aab", "abab", "ababa", "aabab"])
def test_dropout_is_that_of_the_references(text: str, p: float) -> None:
    # Their draws have no seed: 7 standard deviations are passed once in 10^11 runs.
    rows = [text] * 4000
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=SEVEN, merges=MERGES, dropout=p))
    ways = ByList(SEVEN, MERGES).dropout(text, p)
    check_distribution(Counter(tuple(encoding.ids) for encoding in theirs.encode_batch(rows)), ways, 7)
    check_distribution(Counter(map(tuple, encode_all(Tokenizer.from_hf(theirs), rows))), ways, 7)

    pieces = [("<unk>", 0.0, UNKNOWN), *((text, score, NORMAL) for text, score in TIED)]
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(bpe_model(pieces))
    ways = ByScores(pieces).dropout(text, p)
    drawn = (processor.encode(text, enable_sampling=True, alpha=p, nbest_size=-1) for text in rows)
    check_distribution(Counter(map(tuple, drawn)), ways, 7)
    ours = Tokenizer.from_bytes(bpe_model(pieces)).with_dropout(p)
    check_distribution(Counter(map(tuple, encode_all(ours, rows))), ways, 7)
