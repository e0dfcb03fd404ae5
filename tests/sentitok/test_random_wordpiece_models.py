"""WordPiece models by chance, against tokenizers and longest match as it is specified.

Encoded, saved in every format and read again, pruned and looked through.
"""

import json
import random
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from oracles import wordpiece
from sentitok import FormatError, Tokenizer

#: How many models a run makes, and how many the thorough one.
MODELS = 50
MANY = 20_000
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
PREFIXES = ["##", "##", "##", "", "_", "a", "é"]


def words_over(alphabet: str, longest: int) -> list[str]:
    return ["".join(chars) for n in range(1, longest + 1) for chars in product(alphabet, repeat=n)]


def model_file(rng: random.Random) -> dict[str, object]:
    """The model of a tokenizer.json."""
    alphabet = rng.choice(["ab", "abc", "aé", "ab#"])
    prefix = rng.choice(PREFIXES)
    words = words_over(alphabet, rng.choice([2, 3, 4]))
    tokens = set(rng.sample(words, min(len(words), rng.randint(1, 8))))
    tokens |= {prefix + word for word in rng.sample(words, min(len(words), rng.randint(0, 8)))}
    unk = rng.choice(["[UNK]", "[UNK]", "b", "##"])
    listed = sorted(tokens | {unk})
    rng.shuffle(listed)
    return {
        "type": "WordPiece",
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": rng.choice([100, 100, 1, 2, 3, 5]),
        "vocab": {token: id for id, token in enumerate(listed)},
    }


def check(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    body = model_file(rng)
    vocab, prefix, most = body["vocab"], body["continuing_subword_prefix"], body["max_input_chars_per_word"]
    assert isinstance(vocab, dict)
    assert isinstance(prefix, str)
    assert isinstance(most, int)
    unk = str(body["unk_token"])
    path = folder / "a.json"
    document = {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": body}
    # Only behind BERT's clean-up there is a vocab.txt.
    is_bert = rng.random() < 0.3
    if is_bert:
        document |= {"normalizer": BERT, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    path.write_text(json.dumps(document), encoding="utf-8")
    reference, tokenizer = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.from_file(path)
    words = words_over("abé#", 3) + ["".join(rng.choices("abcé#z", k=rng.randint(4, 9))) for _ in range(40)]
    texts = [*words, " ".join(words[-9:]), "", "aaaaaaaaaaaaaaaaaaaaaaaa b"]
    batch = tokenizer.encode_batch(texts)
    ids = [row.tolist() for row in np.split(batch.ids, batch.row_offsets[1:-1])]
    assert ids == [reference.encode(text).ids for text in texts], body
    for text, found in zip(texts, ids, strict=True) if not is_bert else ():
        expected = [
            token
            for word in text.split()
            for token in (
                wordpiece.encode(word, vocab, prefix=prefix, unk=unk) if len(word) <= most else [unk]
            )
        ]
        assert found == [vocab[token] for token in expected], (text, body)
    saved = set()
    for name in ("a.json", "vocab.txt"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                tokenizer.save(folder / name)
            except FormatError:
                assert name == "vocab.txt"
                continue
        read = Tokenizer.from_file if name == "a.json" else Tokenizer.from_bert_vocab
        again = read(folder / name)
        saved.add(name)
        assert [again.encode(text).ids.tolist() for text in texts] == ids, (name, body)
    assert "a.json" in saved
    assert Tokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer
    unreachable = set(tokenizer.doctor()["unreachable"])
    assert not unreachable & {id for row in ids for id in row}
    # A word that is the text of a token is that token, if a word may be so long.
    for token, id in vocab.items():
        if token != unk and tokenizer.encode(token).ids.tolist() == [id]:
            assert id not in unreachable, (token, body)
        assert id not in unreachable or len(token.removeprefix(prefix)) + 1 > most or len(token) > most
    kept = rng.sample(range(len(vocab)), rng.randint(0, len(vocab)))
    pruned, new_ids = tokenizer.prune(kept)
    for text, old in zip(texts, ids, strict=True):
        if vocab[unk] not in old and all(new_ids[id] >= 0 for id in old):
            assert pruned.encode(text).ids.tolist() == new_ids[old].tolist(), (text, kept, body)


CHECKS = {"tokenizer.json": check}


def test_random_models(tmp_path: Path) -> None:
    for seed in range(MODELS):
        check(seed, tmp_path)


@pytest.mark.slow
def test_many_random_models(tmp_path: Path) -> None:
    for seed in range(MODELS, MANY):
        check(seed, tmp_path)


def test_a_token_longer_than_any_word_is_unreachable(tmp_path: Path) -> None:
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 3,
        "vocab": {"[UNK]": 0, "a": 1, "##a": 2, "aaaa": 3, "##aa": 4, "##aaa": 5},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "model": model}), encoding="utf-8")
    assert Tokenizer.from_file(path).doctor()["unreachable"] == [3, 5]
