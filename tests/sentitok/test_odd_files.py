"""tokenizer.json files that are odd and that tokenizers loads: they load here, with equal ids.

Files that are refused although tokenizers loads them are in docs/explanation/exactness.md; `REFUSED` names
them.
"""

import json
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import tokenizers

import sentitok

TEXTS = [
    "a",
    "ab a",
    "a ab b aab",
    "ı ış a ş",
    "x",
    "日",
    "a x b",
    "",
    "Ä±",
    "<unk> a",
    "[UNK]",
    " ab",
    "b\x00a",
]

#: What docs/explanation/exactness.md says is refused.
REFUSED = re.compile(
    r"id \d+ occurs twice|ids without a token|is not in the vocabulary$|special_tokens: the field"
    r"|they must be 0 to|has 0 bytes|expected an array of tokens and scores"
    r"|with ByteLevel it is not supported"
)

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
WHITESPACE = {"type": "Whitespace"}
TURKISH = {"Ä": 0, "±": 1, "Ä±": 2, "ı": 3, "ş": 4, "ış": 5, "a": 6, " ": 7}


def bpe(**fields: Any) -> dict[str, Any]:
    vocab = {"a": 0, "b": 1, "ab": 2}
    return {"type": "BPE", "unk_token": None, "vocab": vocab, "merges": ["a b"], **fields}


def word_level(**fields: Any) -> dict[str, Any]:
    return {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "<unk>", **fields}


def word_piece(**fields: Any) -> dict[str, Any]:
    model = {"type": "WordPiece", "vocab": {"a": 0, "##b": 1, "[UNK]": 2}, "unk_token": "[UNK]"}
    return {**model, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, **fields}


def unigram(**fields: Any) -> dict[str, Any]:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -2.0], ["ab", -2.5]]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False, **fields}


def added(*tokens: tuple[int, str]) -> list[dict[str, Any]]:
    rules = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized", "special"], False)
    return [{"id": id, "content": content, **rules} for id, content in tokens]


def file(model: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": WHITESPACE, "model": model, **fields}


def outcome(action: Callable[[], Any]) -> tuple[bool, Any]:
    """What an action gives, or the error."""
    try:
        return True, action()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic inside tokenizers is not an Exception
        return False, f"{type(error).__name__}: {error}"


def their_ids(tokenizer: Any, text: str) -> Any:
    return tokenizer.encode(text).ids


def our_ids(tokenizer: sentitok.Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, specials="all").tolist()


def compare(data: dict[str, Any]) -> bool:
    """Loads a file by both libraries and compares them; whether both loaded it."""
    text = json.dumps(data)
    loads, theirs = outcome(lambda: tokenizers.Tokenizer.from_str(text))
    if not loads:
        return False
    loaded, ours = outcome(lambda: sentitok.Tokenizer.from_bytes(text.encode()))
    if not loaded:
        assert REFUSED.search(ours), (ours, text)
        return False
    for sample in TEXTS:
        encodes, expected = outcome(partial(their_ids, theirs, sample))
        encoded, found = outcome(partial(our_ids, ours, sample))
        if encodes:
            assert (encoded, found) == (True, expected), (sample, text)
            if data.get("decoder") is not None:
                assert ours.decode(found) == theirs.decode(expected, skip_special_tokens=False), (
                    sample,
                    text,
                )
    # tokenizers shows normalized tokens as the normalizer leaves them (docs/explanation/exactness.md).
    normalized = {token["content"] for token in data.get("added_tokens", []) if token["normalized"]}
    for id in range(12):
        if (token := ours.id_to_token(id)) not in normalized:
            assert token == theirs.id_to_token(id), (id, text)
    return True


@pytest.mark.parametrize(
    "data",
    [
        file(word_level()),
        file(word_level(vocab={})),
        file(word_level(vocab={"a": 3, "b": 9, "<unk>": 100})),
        file(word_level(), added_tokens=added((2, "<unk>"))),
        file({"vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}),
        file(word_piece(unk_token="<u>")),
        file(word_piece(vocab={"a": 0}), added_tokens=added((1, "[UNK]"))),
        file(bpe(unk_token="<u>")),
        file(bpe(unk_token="<u>"), added_tokens=added((3, "<u>"))),
        file(bpe(vocab={}, merges=[])),
        file(unigram(unk_id=None)),
        file(bpe(vocab=TURKISH, merges=["Ä ±", "ı ş"]), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL),
        file(
            bpe(vocab={**TURKISH, "ıa": 8, "Ä±a": 9}, merges=["Ä ±", "ı a", "Ä± a"], ignore_merges=True),
            pre_tokenizer=BYTE_LEVEL,
            decoder=BYTE_LEVEL,
        ),
        file(bpe(), added_tokens=added((10, "x"))),
        file(bpe(), added_tokens=added((10, "a"))),
        file(bpe(), added_tokens=added((4, "y"), (3, "x"))),
        file(bpe(), added_tokens=added((3, "x"), (3, "y"))),
        file(bpe(), added_tokens=added((3, "x"), (4, "x"))),
        file(bpe(vocab={"a": 0, "b": 5}, merges=[]), added_tokens=added((6, "x"), (7, "y"))),
        file(bpe(), post_processor={"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1]}),
    ],
    ids=lambda data: json.dumps(data)[70:150],
)
def test_odd_files_load(data: dict[str, Any]) -> None:
    assert compare(data)


@pytest.mark.parametrize(
    ("model", "text", "unknown"),
    [
        (word_level(), "a qq b", "qq"),
        (word_piece(unk_token="<u>", vocab={"a": 0, "b": 1, "##b": 2}), "a qq b", "qq"),
        (bpe(unk_token="<u>"), "a bq b", "q"),
        (unigram(unk_id=None), "a bqq b", "qq"),
    ],
)
def test_what_is_unknown_is_named_where_no_token_stands_for_it(
    model: dict[str, Any], text: str, unknown: str
) -> None:
    tokenizer = sentitok.Tokenizer.from_bytes(json.dumps(file(model)).encode())
    known = tokenizer.encode("a b a").tolist()
    assert known == tokenizer.encode_batch(["a b a"], offsets=True).to_list()[0]
    assert len(known) == 3
    for call in (
        lambda: tokenizer.encode(text),
        lambda: tokenizer.encode(text).offsets(),
        lambda: tokenizer.encode_batch(["a", text]),
        lambda: tokenizer.encode_batch(["a", text], offsets=True),
        lambda: tokenizer.count(text),
        lambda: tokenizer.count_batch([text]),
        lambda: tokenizer.fits(text, 100),
        lambda: tokenizer.encode(text * 100_000),
    ):
        # The second time it would be found in a cache.
        for _ in range(2):
            with pytest.raises(sentitok.EncodeError, match=f'"{unknown}'):
                call()


def test_tokens_that_no_text_becomes_keep_their_ids(tmp_path: Any) -> None:
    data = file(bpe(vocab=TURKISH, merges=["Ä ±", "ı ş"]), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
    tokenizer = sentitok.Tokenizer.from_bytes(json.dumps(data).encode())
    for name in ("tokenizer.json", "tokenizer.sentitok"):
        tokenizer.save(tmp_path / name)
        again = sentitok.Tokenizer.from_file(tmp_path / name)
        assert again.encode("ıa").tolist() == tokenizer.encode("ıa").tolist() == [2, 6]
        assert [again.id_to_token(id) for id in TURKISH.values()] == list(TURKISH)
        assert {token: again.token_to_id(token) for token in ("ı", "ş", "ış")} == {"ı": 3, "ş": 4, "ış": 5}


def mutated(rng: random.Random) -> dict[str, Any]:
    """A random file of few symbols."""
    pieces = [
        "a",
        "b",
        "ab",
        "##b",
        "##a",
        "aab",
        "ı",
        "Ä",
        "±",
        "Ä±",
        "ış",
        "Ġ",
        "Ġa",
        "日",
        " ",
        "<unk>",
        "[UNK]",
        "x",
        "\0",
    ]
    some = rng.sample(pieces, rng.randint(0, len(pieces)))
    ids = list(range(len(some)))
    if rng.random() < 0.2:
        ids = sorted(rng.sample(range(3 * len(some) + 1), len(some)))
    vocab = dict(zip(some, ids, strict=True))
    unk = rng.choice(["<unk>", "[UNK]", "a", "nowhere"])
    kind = rng.choice(["BPE", "WordLevel", "WordPiece", "Unigram"])
    if kind == "BPE":
        merges = [
            [left, right] for left in some for right in some if left + right in vocab and rng.random() < 0.8
        ]
        model = bpe(vocab=vocab, merges=merges, unk_token=rng.choice([None, unk]))
        for flag in ("fuse_unk", "byte_fallback", "ignore_merges"):
            if rng.random() < 0.3:
                model[flag] = rng.random() < 0.5
    elif kind == "WordLevel":
        model = word_level(vocab=vocab, unk_token=unk)
    elif kind == "WordPiece":
        model = word_piece(vocab=vocab, unk_token=unk, max_input_chars_per_word=rng.choice([1, 2, 100]))
    else:
        scored = [[piece, -rng.random() * 5] for piece in some]
        model = unigram(vocab=scored, unk_id=rng.choice([None, *range(len(some))]))
    # tokenizers matches a token inside white space that another token took (docs/explanation/exactness.md).
    contents = [*(piece for piece in pieces if piece != " "), "y", "z", ""]
    tokens = [(rng.randint(0, 20), rng.choice(contents)) for _ in range(rng.randint(0, 4))]
    data = file(model, added_tokens=added(*tokens))
    for token in data["added_tokens"]:
        for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            token[flag] = rng.random() < 0.2
    steps: dict[str, list[Any]] = {
        "pre_tokenizer": [None, WHITESPACE, {"type": "Sequence", "pretokenizers": []}],
        "normalizer": [None, {"type": "Lowercase"}, {"type": "Sequence", "normalizers": []}],
        "post_processor": [None, {"type": "Sequence", "processors": []}],
    }
    if kind == "BPE":
        steps["pre_tokenizer"].append(BYTE_LEVEL)
    for field, values in steps.items():
        value = rng.choice(values)
        if value is not None or rng.random() < 0.5:
            data[field] = value
    for field in ("version", "added_tokens"):
        if rng.random() < 0.1 and field != "added_tokens":
            del data[field]
    return data


def test_random_files_that_tokenizers_loads() -> None:
    rng = random.Random(55)
    loaded = sum(compare(mutated(rng)) for _ in range(600))
    assert loaded > 300


def test_a_bpe_model_of_sentencepiece_with_a_nul_piece_loads() -> None:
    """InternLM2's has one, which older versions of SentencePiece take."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    pieces = [("<unk>", 0.0, 2), ("\0", 0.0, 1), ("▁", -1.0, 1), ("a", -2.0, 1), ("▁a", -3.0, 1)]
    for piece, score, kind in pieces:
        proto.pieces.add(piece=piece, score=score, type=kind)
    proto.trainer_spec.model_type = 2
    proto.normalizer_spec.name = "identity"
    tokenizer = sentitok.Tokenizer.from_bytes(proto.SerializeToString())
    assert tokenizer.id_to_token(1) == "\0"
    assert tokenizer.encode("a\0a").tolist() == [4, 1, 3]
    assert tokenizer.decode([4, 1, 3]) == "a\0a"
    proto.trainer_spec.model_type = 1
    with pytest.raises(sentitok.FormatError, match="NUL"):
        sentitok.Tokenizer.from_bytes(proto.SerializeToString())
