"""Random small BPE models against their slow definitions and the reference libraries.

Few letters, few distinct scores, all types of pieces: ids, text, reachable tokens,
pruning, dropout and every saved format. A failure names the seed of its model.
"""

import base64
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tiktoken
import tokenizers

from oracles.bpe import BYTE_TO_CHAR
from oracles.merging import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, ByList, ByRanks, ByScores, Ids
from oracles.model_file import bpe_model
from sentitok import FormatError, Tokenizer

# What a format leaves out is said; ids are what is compared here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# Of each kind: enough for every run, and those of `make test-slow`.
FEW, MANY = 60, 20_000
#: Of one model, how often a text is drawn with dropout.
DRAWS = 300

Ids_of = Callable[[str], list[int]]


def seeds(name: str, n_models: int) -> Iterator[random.Random]:
    """A source of numbers for each model; its seed tells which."""
    return (random.Random(f"{name} {number}") for number in range(n_models))


def texts_over(letters: str, rng: random.Random, more: Iterable[str] = ()) -> list[str]:
    """All short texts, some longer ones, and `more`."""
    short = ["".join(t) for n in range(1, 5 if len(letters) < 4 else 4) for t in itertools.product(letters, repeat=n)]
    long = ["".join(rng.choices(letters, k=rng.randint(5, 12))) for _ in range(20)]
    # Beyond the length that is merged by scanning.
    return [*short, *long, "".join(rng.choices(letters, k=80)), *more]


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], seed: int = 0) -> list[list[int]]:
    return tokenizer.encode_batch(texts, threads=1, add_special_tokens=False, seed=seed).to_list()


def check_pruned(tokenizer: Tokenizer, texts: Sequence[str], ids: Sequence[list[int]], rng: random.Random) -> Tokenizer:
    """Texts whose ids are all kept keep them, by their new numbers."""
    known = [id for id in range(tokenizer.vocab_size) if tokenizer.id_to_token(id) is not None]
    keep = set(rng.sample(known, rng.randint(0, len(known))) if rng.random() < 0.5 else rng.choice(ids))
    pruned, new_ids = tokenizer.prune(sorted(keep))
    assert all(new_ids[id] >= 0 for id in keep)
    kept = [(text, old) for text, old in zip(texts, ids, strict=True) if all(new_ids[id] >= 0 for id in old)]
    found = encode_all(pruned, [text for text, _ in kept])
    assert found == [new_ids[old].tolist() if old else [] for _, old in kept], keep
    for (_, old), new in zip(kept, found, strict=True):
        assert pruned.decode(new) == tokenizer.decode(old)
    return pruned


def check_reachable(tokenizer: Tokenizer, ids: Iterable[list[int]], alone: Mapping[int, list[int]] | None) -> None:
    """No text becomes an unreachable token; its own text becomes any other.

    `alone` are the ids of the texts of tokens, where that is known to decide.
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
    try:
        tokenizer.save(path / "tokenizer.json")
    except FormatError as error:
        assert len(str(error)) > 40
        return False
    assert encode_all(Tokenizer.from_file(path / "tokenizer.json"), texts) == list(ids)
    theirs = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    # They find special tokens in any text.
    special = [token.content for token in tokenizer.added_tokens if token.special]
    plain = [at for at, text in enumerate(texts) if not any(content in text for content in special)]
    found = theirs.encode_batch([texts[at] for at in plain], add_special_tokens=False)
    assert [encoding.ids for encoding in found] == [ids[at] for at in plain]
    return True


class Draws:
    """Sums over many models how often dropout did what it should."""

    def __init__(self) -> None:
        self.seen = self.expected = self.variance = 0.0

    def add(self, tokenizer: Tokenizer, text: str, p: float, ways: Mapping[Ids, float], seed: int) -> None:
        """Draws a text; no outcome is off by more than 6 standard deviations."""
        found = Counter(map(tuple, encode_all(tokenizer.with_dropout(p), [text] * DRAWS, seed)))
        assert set(found) <= set(ways), (text, p)
        assert math.isclose(sum(ways.values()), 1)
        for way, probability in ways.items():
            deviation = math.sqrt(DRAWS * probability * (1 - probability))
            # Two draws more: what is rare is not normally distributed.
            assert abs(found[way] - DRAWS * probability) <= 6 * deviation + 2, (text, p, way, found, ways)
        whole = min(ways, key=lambda way: (len(way), way))
        self.seen += found[whole]
        self.expected += DRAWS * ways[whole]
        self.variance += DRAWS * ways[whole] * (1 - ways[whole])

    def check(self) -> None:
        """The most merged outcome came as often as it should, over all models."""
        assert abs(self.seen - self.expected) <= 5 * math.sqrt(self.variance) + 2


# SentencePiece's BPE: by scores.

BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def random_pieces(rng: random.Random) -> tuple[list[tuple[str, float, int]], bool]:
    """Pieces over two or three letters, few scores, of some types; and byte fallback."""
    letters = rng.choice(["ab", "ab", "abc", "aé"])
    others = rng.choice([[], [], [UNUSED], [USER_DEFINED], [CONTROL], [UNUSED, USER_DEFINED, CONTROL]])
    least = rng.choice([0, -1, -2, -4, -30])
    pieces: dict[str, tuple[float, int]] = {}
    if rng.random() < 0.7:
        pieces = {letter: (rng.randint(least, 0), NORMAL) for letter in letters}
    for _ in range(rng.randint(1, 10)):
        # Pieces made of others merge more often than any.
        text = "".join(rng.choices(list(pieces) or letters, k=2)) if rng.random() < 0.6 else None
        text = text or "".join(rng.choices(letters, k=rng.randint(1, 5)))
        kind = rng.choice(others) if others and rng.random() < 0.4 else NORMAL
        if len(text) <= 9:
            pieces[text] = (rng.randint(least, 0), kind)
    listed = [(text, float(score), kind) for text, (score, kind) in pieces.items()]
    if not any(kind in (NORMAL, USER_DEFINED) for _, _, kind in listed):
        listed.append(("c" * 3, 0.0, NORMAL))
    byte_fallback = rng.random() < 0.3
    special = [("<s>", 0.0, CONTROL), *(BYTES if byte_fallback else [])]
    unknown = ("<unk>" if rng.random() < 0.95 or "a" in pieces else "a", 0.0, UNKNOWN)
    if rng.random() < 0.5:
        return [unknown, *special, *listed], byte_fallback
    rng.shuffle(listed)
    return [*listed[:2], *special, unknown, *listed[2:]], byte_fallback


def check_scores(rng: random.Random, path: Path, draws: Draws) -> None:
    pieces, byte_fallback = random_pieces(rng)
    data = bpe_model(pieces, byte_fallback)
    theirs = sentencepiece.SentencePieceProcessor()
    theirs.LoadFromSerializedProto(data)
    oracle = ByScores(pieces, byte_fallback)
    ours = Tokenizer.from_bytes(data)
    letters = "".join(sorted({c for text, _, kind in pieces if kind in (NORMAL, UNUSED, USER_DEFINED, CONTROL) for c in text if c not in "<s>"}))
    in_text = [text for text, _, kind in pieces if kind != BYTE]
    texts = texts_over(letters + "x", rng, in_text)
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(text) for text in texts]
    assert ids == theirs.encode(texts)
    for row in ids:
        assert ours.decode(row) == theirs.decode(row)
    # The worker's other path, which knows the lengths.
    assert [ours.encode(text).ids.tolist() for text in texts] == ids

    in_pieces = [text for text, _, kind in pieces if kind in (NORMAL, USER_DEFINED)]
    alone = {id: oracle.encode(text) for id, (text, _, kind) in enumerate(pieces) if kind in (NORMAL, USER_DEFINED)}
    check_reachable(ours, ids, alone)
    pruned = check_pruned(ours, texts, ids, rng)
    check_own_file(ours, texts, ids)
    check_json(ours, path, texts, ids)
    check_model_file(ours, path / "saved.model", texts)
    if any(pruned.token_to_id(t) is not None for t in in_pieces):
        check_model_file(pruned, path / "pruned.model", texts)
    for name in ("saved.tiktoken", "vocab.json"):
        with pytest.raises(FormatError):
            ours.save(path / name, "gpt2" if name == "vocab.json" else None)

    if all(kind != UNUSED for _, _, kind in pieces):
        text = "".join(rng.choices(letters, k=rng.randint(2, 5)))
        p = rng.choice([0.1, 0.5, 0.8])
        draws.add(ours, text, p, oracle.dropout(text, p), rng.getrandbits(60))


def check_model_file(tokenizer: Tokenizer, path: Path, texts: Sequence[str]) -> None:
    tokenizer.save(path)
    expected = encode_all(tokenizer, texts)
    assert encode_all(Tokenizer.from_file(path), texts) == expected
    assert sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(texts) == expected


def run(name: str, n_models: int, check: Callable[[random.Random, Path, Draws], None], path: Path) -> None:
    draws = Draws()
    for number, rng in enumerate(seeds(name, n_models)):
        try:
            check(rng, path, draws)
        except Exception as error:
            error.add_note(f"model {name} {number}")
            raise
    draws.check()


# By list of merges, as tokenizers has it.


def random_list(rng: random.Random, alphabet: Sequence[str], known: Sequence[str], *, affixes: bool) -> ByList:
    """Merges of random tokens over `alphabet`; `known` are tokens beside it."""
    prefix, suffix = (rng.choice(["", "##", "a"]), rng.choice(["", "</w>", "b"])) if affixes else ("", "")
    units = dict.fromkeys(p + c + s for c in alphabet for p in ("", prefix) for s in ("", suffix))
    tokens = [*known, *(unit for unit in units if unit not in known)]
    some = [unit for unit in tokens if unit not in known]
    merges = []
    for _ in range(rng.randint(0, 10)):
        inner = [token for token in some if token.startswith(prefix) and token != prefix]
        if not inner:
            break
        left, right = rng.choice(some), rng.choice(inner)
        if known and rng.random() < 0.03:
            left = rng.choice(known)
        joined = left + right.removeprefix(prefix)
        if len(joined) < 12:
            merges.append((left, right))
            some += [] if joined in tokens else [joined, joined]
            tokens += [] if joined in tokens else [joined]
    # Tokens that no merge makes.
    tokens += {t for t in ("".join(rng.choices(alphabet, k=3)) for _ in range(2)) if t not in tokens}
    rng.shuffle(merges if rng.random() < 0.3 else [])
    rng.shuffle(tokens if rng.random() < 0.5 else [])
    return ByList(
        {token: id for id, token in enumerate(tokens)}, merges, ignore_merges=rng.random() < 0.3, prefix=prefix, suffix=suffix
    )


def json_file(model: ByList, *, byte_level: bool) -> bytes:
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    stages = {"pre_tokenizer": step, "decoder": step} if byte_level else {}
    file = {
        "version": "1.0",
        "added_tokens": [],
        **stages,
        "model": {
            "type": "BPE",
            "unk_token": model.unk,
            "continuing_subword_prefix": model.prefix or None,
            "end_of_word_suffix": model.suffix or None,
            "fuse_unk": model.fuse_unk,
            "byte_fallback": model.byte_fallback,
            "ignore_merges": model.ignore_merges,
            "vocab": model.tokens,
            "merges": [list(pair) for pair in model.merges],
        },
    }
    return json.dumps(file).encode()


def check_list(rng: random.Random, path: Path, draws: Draws) -> None:
    letters = rng.choice(["ab", "abc", "aé"])
    unk = rng.choice([None, "<unk>", "<unk>", "a"])
    byte_fallback = rng.random() < 0.2
    known = [*([unk] if unk else []), *([token for token, _, _ in BYTES] if byte_fallback else [])]
    alphabet = [c for c in letters if rng.random() < 0.9] or ["a"]
    oracle = random_list(rng, alphabet, known, affixes=rng.random() < 0.3)
    oracle.unk, oracle.byte_fallback, oracle.fuse_unk = unk, byte_fallback, rng.random() < 0.5
    file = json_file(oracle, byte_level=False)
    texts = texts_over(letters + "x", rng, [token for token in oracle.tokens if token not in known])
    ours, theirs = Tokenizer.from_bytes(file), tokenizers.Tokenizer.from_str(file.decode())
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(text) for text in texts]
    assert ids == [encoding.ids for encoding in theirs.encode_batch(texts)]
    for row in ids:
        assert ours.decode(row) == theirs.decode(row, skip_special_tokens=False)
    assert [ours.encode(text).ids.tolist() for text in texts] == ids

    plain = not (oracle.prefix or oracle.suffix or oracle.ignore_merges or any(t in known for pair in oracle.merges for t in pair))
    alone = {id: oracle.encode(token) for token, id in oracle.tokens.items() if token not in known}
    check_reachable(ours, ids, alone if plain else None)
    pruned = check_pruned(ours, texts, ids, rng)
    for model in (ours, pruned):
        expected = encode_all(model, texts)
        check_own_file(model, texts, expected)
        assert check_json(model, path, texts, expected)
        for name, format in (("saved.tiktoken", None), ("gpt2", "gpt2"), ("saved.model", None)):
            with pytest.raises(FormatError):
                model.save(path / name, format)

    text = "".join(rng.choices(letters, k=rng.randint(2, 5)))
    p = rng.choice([0.1, 0.5, 0.8])
    draws.add(ours, text, p, oracle.dropout(text, p), rng.getrandbits(60))


# Bytes: by list, as GPT-2 has it, and by rank, as tiktoken does.

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
ALL_BYTES = [BYTE_TO_CHAR[byte] for byte in range(256)]
CHAR_TO_BYTE = {char: byte for byte, char in BYTE_TO_CHAR.items()}


def spelled(text: str) -> str:
    return "".join(BYTE_TO_CHAR[byte] for byte in text.encode())


def check_byte_formats(tokenizer: Tokenizer, path: Path, texts: Sequence[str]) -> set[str]:
    """Each format gives the same ids or is refused with a reason; those that are written."""
    expected = encode_all(tokenizer, texts)
    check_own_file(tokenizer, texts, expected)
    written = {"json"} if check_json(tokenizer, path, texts, expected) else set()
    try:
        tokenizer.save(path / "saved.tiktoken")
    except FormatError as error:
        assert len(str(error)) > 40
    else:
        assert encode_all(Tokenizer.from_tiktoken(path / "saved.tiktoken", "gpt2"), texts) == expected
        check_tiktoken(path / "saved.tiktoken", texts, expected)
        written.add("tiktoken")
    try:
        tokenizer.save(path / "gpt2", "gpt2")
    except FormatError as error:
        assert len(str(error)) > 40
    else:
        again = Tokenizer.from_gpt2(path / "gpt2" / "vocab.json", path / "gpt2" / "merges.txt")
        assert encode_all(again, texts) == expected
        written.add("gpt2")
    with pytest.raises(FormatError):
        tokenizer.save(path / "saved.model")
    return written


def check_tiktoken(path: Path, texts: Sequence[str], expected: Sequence[list[int]]) -> None:
    lines = (line.split() for line in path.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding("random", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    assert [encoding.encode_ordinary(text) for text in texts] == list(expected)


def check_bytes(rng: random.Random, path: Path, draws: Draws) -> None:
    letters = rng.choice(["ab", "aé", "éè"])
    oracle = random_list(rng, list(spelled(letters)), [], affixes=rng.random() < 0.2)
    rest = [char for char in ALL_BYTES if char not in oracle.tokens]
    if rng.random() < 0.8:
        first = rng.random() < 0.5 and not oracle.prefix
        tokens = [*rest, *oracle.tokens] if first else [*oracle.tokens, *rest]
        oracle.tokens = {token: id for id, token in enumerate(tokens)}
    file = json_file(oracle, byte_level=True)
    tokens = [bytes(CHAR_TO_BYTE[char] for char in token) for token in oracle.tokens]
    whole = [token.decode("utf-8", "ignore") for token in tokens if len(token) > 1]
    texts = texts_over(letters + "x", rng, [text for text in whole if text.isalpha()])
    ours, theirs = Tokenizer.from_bytes(file), tokenizers.Tokenizer.from_str(file.decode())
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(spelled(text)) for text in texts]
    assert ids == [encoding.ids for encoding in theirs.encode_batch(texts)]
    for row in ids:
        assert ours.decode(row) == b"".join(tokens[id] for id in row).decode("utf-8", "replace")
    assert [ours.encode(text).ids.tolist() for text in texts] == ids
    alone = {id: oracle.encode(token) for token, id in oracle.tokens.items()}
    plain = not (oracle.prefix or oracle.suffix or oracle.ignore_merges)
    check_reachable(ours, ids, alone if plain else None)
    check_byte_formats(ours, path, texts)
    check_byte_formats(check_pruned(ours, texts, ids, rng), path, texts)
    text = "".join(rng.choices(letters, k=rng.randint(1, 4)))
    p = rng.choice([0.1, 0.5, 0.8])
    draws.add(ours, text, p, oracle.dropout(spelled(text), p), rng.getrandbits(60))


def check_ranks(rng: random.Random, path: Path, draws: Draws) -> None:
    letters = rng.choice(["ab", "abc", "aé", "éè"])
    units = list(spelled(letters))
    longer = {"".join(rng.choices(units, k=rng.randint(2, 5))) for _ in range(rng.randint(1, 10))}
    tokens = [*ALL_BYTES, *sorted(longer)]
    rng.shuffle(tokens if rng.random() < 0.5 else [])
    gap = rng.randint(0, len(tokens)) if rng.random() < 0.2 else len(tokens)
    oracle = ByRanks({token: id + (id >= gap) for id, token in enumerate(tokens)})
    bytes_of = {id: bytes(CHAR_TO_BYTE[char] for char in token) for token, id in oracle.tokens.items()}
    lines = (f"{base64.b64encode(token).decode()} {id}\n" for id, token in bytes_of.items())
    (path / "ranks.tiktoken").write_text("".join(lines))
    ours = Tokenizer.from_tiktoken(path / "ranks.tiktoken", "gpt2")
    whole = [token.decode("utf-8", "ignore") for token in bytes_of.values() if len(token) > 1]
    texts = texts_over(letters + "x", rng, [text for text in whole if text.isalpha()])
    ids = encode_all(ours, texts)
    assert ids == [oracle.encode(spelled(text)) for text in texts]
    check_tiktoken(path / "ranks.tiktoken", texts, ids)
    for text, row in zip(texts, ids, strict=True):
        assert ours.decode(row) == text
    assert [ours.encode(text).ids.tolist() for text in texts] == ids
    check_reachable(ours, ids, {id: oracle.encode(token) for token, id in oracle.tokens.items()})
    assert "tiktoken" in check_byte_formats(ours, path, texts)
    assert "tiktoken" in check_byte_formats(check_pruned(ours, texts, ids, rng), path, texts)
    text = "".join(rng.choices(letters, k=rng.randint(1, 4)))
    p = rng.choice([0.1, 0.5, 0.8])
    draws.add(ours, text, p, oracle.dropout(spelled(text), p), rng.getrandbits(60))


CHECKS = {"scores": check_scores, "list": check_list, "bytes": check_bytes, "ranks": check_ranks}


@pytest.mark.parametrize("kind", CHECKS)
def test_random_models(kind: str, tmp_path: Path) -> None:
    run(kind, FEW, CHECKS[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHECKS)
def test_many_random_models(kind: str, tmp_path: Path) -> None:
    run(kind, MANY, CHECKS[kind], tmp_path)
