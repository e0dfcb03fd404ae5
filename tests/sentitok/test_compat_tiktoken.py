"""`sentitok.compat.tiktoken` against tiktoken 0.14: ids, texts, offsets, kinds of errors, completions.

The cases of tiktoken's own suite are in `test_compat_tiktoken_cases.py`.
"""

import base64
import hashlib
import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken as theirs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

import sentitok
import tiktoken_cache
from sentitok.compat import tiktoken as ours

NAMES = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base",
         "o200k_harmony")  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with tiktoken_cache.filled(tmp_path_factory.mktemp("cache")) as folder:
        yield folder


@pytest.fixture(scope="module", params=NAMES)
def both(request: pytest.FixtureRequest, cache: Path) -> tuple[ours.Encoding, theirs.Encoding]:
    return ours.get_encoding(request.param), theirs.get_encoding(request.param)


def small() -> tuple[ours.Encoding, theirs.Encoding]:
    """Encodings of a few hundred tokens, of white space, parts of characters and words."""
    texts = ["low lower lowest \n\n  \t \n hello fantastic fanta naïve 東京 don't x  = 10\n\n\n"] * 3
    texts += ["    if x:\n        return 1\r\n\r\n", "我非常渴望 与 人工智能 🤚🏾 é è ê ë "]
    trained = sentitok.train_bpe(texts=texts, vocab_size=400, pre_tokenizer="cl100k")
    found = ((trained.id_to_bytes(id), id) for id in range(trained.vocab_size))
    ranks = {token: id for token, id in found if token is not None}
    specials = {"<|endoftext|>": 500, "<|fim|>": 501, "<s>": 502}
    kwargs: dict[str, Any] = {"mergeable_ranks": ranks, "special_tokens": specials}
    pattern = openai_public.ENCODING_CONSTRUCTORS["cl100k_base"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
        text = pattern()["pat_str"]
    return (
        ours.Encoding("small", pat_str=text, **kwargs),
        theirs.Encoding("small", pat_str=text, **kwargs),
    )


OURS, THEIRS = small()
LETTERS = st.sampled_from(" \n\t\r'abehlostfnxé東京🤚<|>0\u00a0\u3000\x1c\x85")
TEXT = st.text(LETTERS | st.characters())
#: Without surrogates, which tiktoken joins or replaces only where it encodes a text.
UNICODE = st.text(LETTERS | st.characters(exclude_categories=["Cs"]))

TEXTS = [
    "", "hello world", "rer", "'rer", "today\n ", "today\n \n", "today\n  \n", " !", "0" * 17, "👍",
    "\ud83d\udc4d", "\ud83d", "^" * 10_000, "请考试我的软件！12345", " \x850", "hello <|endoftext|> hello",
    "Don't  stop.\r\n\r\n\tx = [1, 22, 333]", "x" * 30_000,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_text(both: tuple[ours.Encoding, theirs.Encoding], text: str) -> None:
    mine, other = both
    ids = other.encode(text, disallowed_special=())
    assert mine.encode(text, disallowed_special=()) == ids
    assert mine.encode_ordinary(text) == other.encode_ordinary(text)
    assert mine.encode(text, allowed_special="all") == other.encode(text, allowed_special="all")
    assert mine.decode(ids) == other.decode(ids)
    assert mine.decode_tokens_bytes(ids) == other.decode_tokens_bytes(ids)
    assert mine.encode_batch([text, "a"], disallowed_special=()) == [ids, other.encode("a")]


def test_vocabulary(both: tuple[ours.Encoding, theirs.Encoding]) -> None:
    mine, other = both
    assert mine.name == other.name
    assert repr(mine) == repr(other)
    assert mine.n_vocab == other.n_vocab
    assert mine.max_token_value == other.max_token_value
    assert mine.eot_token == other.eot_token
    twice = {"<|reserved_200018|>"} if mine.name == "o200k_harmony" else set()  # another name of one id
    assert mine.special_tokens_set == other.special_tokens_set - twice
    assert mine.token_byte_values() == other.token_byte_values()
    assert mine._mergeable_ranks == other._mergeable_ranks
    assert mine._special_tokens.items() <= other._special_tokens.items()
    for id in range(0, mine.n_vocab, 1009):
        try:
            token = other.decode_single_token_bytes(id)
        except KeyError:
            with pytest.raises(KeyError):
                mine.decode_single_token_bytes(id)
            continue
        assert mine.decode_single_token_bytes(id) == token
        assert mine.encode_single_token(token) == id
        assert mine.is_special_token(id) == other.is_special_token(id)


def refusal(call: Callable[[], object]) -> str | None:
    """What a refused call says."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


def test_special_tokens(both: tuple[ours.Encoding, theirs.Encoding]) -> None:
    """tiktoken's `test_special_token`, every choice against tiktoken."""
    mine, other = both
    one, two = sorted(other.special_tokens_set)[0], sorted(other.special_tokens_set)[-1]
    text = f"{one} hello {two} there {one}{two}<|not a token|>"
    choices = [frozenset(), {one}, {two}, {one, two}, {"no special token"}, "all"]
    for allowed in choices:
        for disallowed in [*choices, (), [two]]:
            kwargs: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": disallowed}
            told = refusal(lambda: other.encode(text, **kwargs))  # noqa: B023  # 2026-11-24: called at once
            if told is not None:
                found = refusal(lambda: mine.encode(text, **kwargs))  # noqa: B023  # 2026-11-24: called at once
                assert found is not None
                if len(mine.special_tokens_set) < 100:  # else tiktoken's is any of those that begin here
                    assert found.splitlines()[0] == told.splitlines()[0]
                continue
            ids = other.encode(text, **kwargs)
            assert mine.encode(text, **kwargs) == ids
            assert mine.encode_to_numpy(text, **kwargs).tolist() == ids
    assert mine.encode_to_numpy("hello").dtype == np.uint32


def test_offsets(both: tuple[ours.Encoding, theirs.Encoding]) -> None:
    """tiktoken's `test_basic_offsets`, and ids that are not text."""
    mine, other = both
    for text in ("hello world", "hello world<|endoftext|> green cow", "我非常渴望与人工智能一起工作",
                 "நடிகர் சூர்யா", " Ġ除", ""):  # fmt: skip
        ids = other.encode(text, allowed_special="all")
        assert mine.decode_with_offsets(ids) == other.decode_with_offsets(ids)
    half = [other.encode_single_token(b"\xf0")]
    with pytest.raises(UnicodeDecodeError):
        other.decode_with_offsets(half)
    with pytest.raises(UnicodeDecodeError):
        mine.decode_with_offsets(half)
    assert mine.decode(half) == other.decode(half)
    for errors in ("ignore", "backslashreplace"):
        assert mine.decode(half, errors=errors) == other.decode(half, errors=errors)
    with pytest.raises(UnicodeDecodeError):
        mine.decode(half, errors="strict")


def test_pickles(cache: Path) -> None:
    """tiktoken's `test_pickle`: by name and built by hand; a copy needs no file."""
    enc = ours.get_encoding("r50k_base")
    again = pickle.loads(pickle.dumps(enc))
    assert again.encode("hello world") == enc.encode("hello world")
    assert again.tokenizer == enc.tokenizer
    built = ours.Encoding(
        name="custom", pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks,
        special_tokens={"<|pickle|>": 100_000},
    )  # fmt: skip
    for again in (pickle.loads(pickle.dumps(built)), deepcopy(built)):
        assert again.encode("<|pickle|>", allowed_special="all") == [100_000]
        assert (again.name, again._pat_str) == ("custom", enc._pat_str)
        assert again.encode("hello  world") == enc.encode("hello  world")


def test_one_object_a_name(cache: Path) -> None:
    assert ours.get_encoding("gpt2") is ours.get_encoding("gpt2")
    assert ours.encoding_for_model("gpt-4o").name == "o200k_base"
    assert ours.encoding_name_for_model("text-embedding-3-small") == "cl100k_base"
    assert set(ours.list_encoding_names()) == set(theirs.list_encoding_names())


def test_errors(cache: Path) -> None:
    mine, other = ours.get_encoding("gpt2"), theirs.get_encoding("gpt2")
    for enc in (mine, other):
        with pytest.raises(KeyError):
            enc.encode_single_token("no such token of these")
        with pytest.raises(KeyError):
            enc.decode_bytes([50257])
        with pytest.raises(KeyError):
            enc.decode([3, 60000])
        with pytest.raises(KeyError):
            enc.decode_single_token_bytes(50257)
        with pytest.raises(TypeError):
            enc.encode(b"bytes")  # type: ignore[arg-type]  # 2026-11-24: refused
        with pytest.raises(TypeError):
            enc.encode_ordinary(b"bytes")  # type: ignore[arg-type]  # 2026-11-24: refused
        with pytest.raises(ValueError, match="disallowed"):
            enc.encode_batch(["fine", "<|endoftext|>"])
    with pytest.raises(ValueError, match=r"explicit_n_vocab=9, and there are 256 tokens"):
        ours.Encoding(
            "x", pat_str="gpt2", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={},
            explicit_n_vocab=9,
        )  # fmt: skip
    with pytest.raises(ValueError, match="all 256 must have one"):
        ours.Encoding("x", pat_str="gpt2", mergeable_ranks={b"a": 0}, special_tokens={})
    bert = sentitok.train_wordpiece(texts=["a b"], vocab_size=20)
    with pytest.raises(ValueError, match="not a byte-level tokenizer"):
        ours.Encoding.of("bert", bert)


def ways(
    enc: ours.Encoding | theirs.Encoding, text: str, **kwargs: Any
) -> tuple[list[int], set[tuple[int, ...]]]:
    stable, found = enc.encode_with_unstable(text, **kwargs)
    assert len(found) == len({tuple(way) for way in found})
    return stable, {tuple(way) for way in found}


@given(UNICODE)
@example("low\n")
@example("hello fanta")
@example("x \u3000")
@example("  \n\n  \n")
@example("<|endoftext|>")
@example("a<|end")
@example("é東")
@settings(max_examples=150)
def test_what_may_come_after_a_text(text: str) -> None:
    for kwargs in ({"disallowed_special": ""}, {"allowed_special": "all"}):
        stable, found = ways(OURS, text, **kwargs)
        assert (stable, found) == ways(THEIRS, text, **kwargs)
        rest = text.encode()[len(OURS.decode_bytes(stable)) :]
        assert all(OURS.decode_bytes(way).startswith(rest) for way in found)


@pytest.mark.parametrize("text", ["hello fanta", "low", "don'", "x\n\n", "東", "!=", "\u3000"])
def test_what_may_come_after_a_text_in_large_vocabularies(cache: Path, text: str) -> None:
    for name in ("gpt2", "cl100k_base"):
        assert ways(ours.get_encoding(name), text) == ways(theirs.get_encoding(name), text)


@given(TEXT)
def test_small_vocabularies(text: str) -> None:
    assert OURS.encode_ordinary(text) == THEIRS.encode_ordinary(text)
    ids = THEIRS.encode(text, allowed_special={"<s>"}, disallowed_special=())
    assert OURS.encode(text, allowed_special={"<s>"}, disallowed_special=()) == ids
    assert OURS.decode_with_offsets(ids) == THEIRS.decode_with_offsets(ids)


@given(st.lists(TEXT))
def test_batches(texts: list[str]) -> None:
    """tiktoken's `test_hyp_batch_roundtrip`."""
    batch = OURS.encode_batch(texts, disallowed_special=(), num_threads=2)
    assert batch == THEIRS.encode_batch(texts, disallowed_special=())
    assert batch == OURS.encode_ordinary_batch(texts)
    assert OURS.decode_batch(batch) == THEIRS.decode_batch(batch)
    assert OURS.decode_bytes_batch(batch) == THEIRS.decode_bytes_batch(batch)


def test_a_million_times_a_letter(cache: Path) -> None:
    text = "x" * 1_000_000
    ids = ours.get_encoding("o200k_base").encode(text)
    assert ids == theirs.get_encoding("o200k_base").encode(text)


@given(st.binary() | st.tuples(UNICODE, st.binary()).map(lambda parts: parts[0].encode() + parts[1]))
@example(b"low\n  \n\xe6")
@example(b"\xe6" * 300 + b"lower")
def test_bytes(data: bytes) -> None:
    """Bytes that are not text belong to the piece before."""
    assert OURS._encode_bytes(data) == THEIRS._encode_bytes(data)


def test_many_bytes_that_are_no_text() -> None:
    data = bytes(range(256)) * 1000
    assert OURS.decode_bytes(OURS._encode_bytes(data)) == data


@pytest.mark.parametrize("option", ["allowed_special", "disallowed_special"])
def test_special_tokens_that_are_none(option: str) -> None:
    calls: list[Callable[..., object]] = [OURS.encode, OURS.encode_to_numpy, OURS.encode_with_unstable]
    for call in calls:
        with pytest.raises(ValueError, match=rf"{option}='some' is a text; pass \"all\", or a set"):
            call("a", **{option: "some"})
        for wrong in (5, {5}, [["a"]]):
            with pytest.raises(TypeError, match=f"{option} is .*; "):
                call("a", **{option: wrong})
    with pytest.raises(ValueError, match="is a text"):
        OURS.encode_batch(["a"], **{option: "<s>"})  # type: ignore[arg-type]  # 2026-11-24: refused


def test_files_of_ranks(cache: Path, tmp_path: Path) -> None:
    ranks = OURS._mergeable_ranks
    file = tmp_path / "small.tiktoken"
    ours.load.dump_tiktoken_bpe(ranks, file)
    assert ours.load.load_tiktoken_bpe(file) == load_tiktoken_bpe(str(file)) == ranks
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert ours.load.load_tiktoken_bpe(str(file), expected_hash=sha256) == ranks
    with pytest.raises(ValueError, match=f"its SHA-256 is {sha256}, not 00; get the file again"):
        ours.load.load_tiktoken_bpe(file, "00")
    with pytest.raises(ValueError, match="nothing is fetched here: give the path of a file"):
        ours.load.load_tiktoken_bpe("https://example.invalid/a.tiktoken")
    with pytest.raises(FileNotFoundError, match=r"none\.tiktoken"):
        ours.load.load_tiktoken_bpe(tmp_path / "none.tiktoken")
    for line in (b"YQ== 0 1", b"YQ==", b"Y!Q= 0", b"YQ== x"):
        file.write_bytes(b"YQ== 0\n\n" + line + b"\n")
        with pytest.raises(ValueError, match=r"line 3: .* is not a token in base64, a space and its rank"):
            ours.load.load_tiktoken_bpe(file)


def test_ranks_are_written_as_they_came() -> None:
    lines = b"".join(b"%s %d\n" % (base64.b64encode(t), i) for t, i in OURS._mergeable_ranks.items())
    assert sentitok.Tokenizer.from_tiktoken(lines, "cl100k-possessive").n_tokens == len(OURS._mergeable_ranks)
