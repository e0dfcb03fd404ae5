"""Texts that grow: `encode_more`, `StreamEncoder` and a `StreamDecoder` behind a prompt.

The reference is plain: the whole text, encoded or decoded at once. Texts grow at every character, so
also inside graphemes, `\\r\\n`, added tokens and the white space that they take along.
"""

import json
import random
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shared_data
from oracles.families import FAMILIES, file_of
from oracles.random_pipelines import CONTENTS, KINDS, LETTERS, SIGNS, Pipeline, loaded, pipeline
from sampled_cases import sample
from sentitok import DecodeError, EncodeError, StreamEncoder, Tokenizer

#: Pipelines of each kind in an ordinary run, and in a long one.
FEW = 25
MANY = 4000
WORDS = ["ab", "a", "foo", "Ab1", "film", "was", "ABBA"]
#: Families whose texts are cut behind added tokens alone: by a pattern or a list of splitters without a rule,
#: or, as built small here, with merges across words.
HELD = {
    "Llama-2, Mistral v1", "Llama-2, newer files", "CodeLlama", "Phi-3", "Gemma 2 and 3", "DeepSeek LLM",
    "BLOOM", "CLIP", "DeBERTa v2, punctuation split", "DeBERTa v2, newer files", "ALBERT, newer files",
}  # fmt: skip
#: Characters that join the text before them, and clusters that a place between must not cut.
JOINING = ["\u0301", "\u0327", "\r\n", "\r", "가", "ᄀ", "ᅡ", "か\u3099", "\u200d", "👩\u200d👩"]
CHAT = (
    "<|im_start|>system\nYou are helpful, and don't guess.<|im_end|>\n"
    "<|im_start|>user\nWhat's 12345 + 678?\r\n\r\n"
    "Une réponse brève, s'il vous plaît…  中文，也可以。\t<|im_end|>\n"
    "<|im_start|>assistant\n\n`x = 1`: é, e\u0301 👍🏽!  "
)
MODELS = {
    "gpt2": "gpt2/tokenizer.json",
    "bert": "bert-base-uncased/tokenizer.json",
    "t5": "t5/spiece.model",
    "xlnet": "xlnet-base-cased/spiece.model",
    "mistral": "mistral-7b-v0.1/tokenizer.model",
}

Ids = NDArray[np.uint32]


def model(name: str) -> Tokenizer:
    vocabs = shared_data.folder() / "vocabs"
    if name in ("cl100k", "o200k"):
        return Tokenizer.from_tiktoken(vocabs / f"{name}_base.tiktoken", name)
    return Tokenizer.from_file(vocabs / MODELS[name])


def random_text(rng: random.Random) -> str:
    pools = [WORDS, WORDS, LETTERS, SIGNS, CONTENTS, JOINING]
    blanks = [" ", " ", " ", "", "", "  ", "\n"]
    parts = (rng.choice(rng.choice(pools)) + rng.choice(blanks) for _ in range(rng.randrange(1, 25)))
    return "".join(parts)


def encoded(tokenizer: Tokenizer, text: str, **options: Any) -> Any:
    """The encoding, or the error."""
    try:
        return tokenizer.encode(text, **options)
    except EncodeError as error:
        return str(error)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, str) or isinstance(expected, str):
        return bool(found == expected)
    return np.array_equal(found.ids, expected.ids)


def streamed(encoder: StreamEncoder, parts: Iterator[str]) -> Ids | str:
    """All ids of a text in parts, or the error."""
    try:
        ids = [encoder.push(part) for part in parts]
        return np.concatenate([*ids, encoder.finish()])
    except EncodeError as error:
        return str(error)


def random_parts(rng: random.Random, text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + rng.choice([0, 1, 1, 1, 2, 3, 10, 40])
        yield text[start:end]
        start = end


def check_case(number: int, rng: random.Random, case: Pipeline, tokenizer: Tokenizer) -> int:
    """Checks one text under random options, grown at every character; returns how many times."""
    text = random_text(rng)
    names = {content for content, special, _ in case.added if special and rng.random() < 0.6}
    options: dict[str, Any] = {
        "specials": rng.choice(["none", "all", "raise", names]),
        "add_special_tokens": rng.random() < 0.6,
    }
    limits = {} if rng.random() < 0.7 else {"max_tokens": rng.randint(3, 30)}
    wholes = [encoded(tokenizer, text[:end], **options, **limits) for end in range(len(text) + 1)]
    what = (number, case, options, limits, text)
    n_checked = 0
    for end, whole in enumerate(wholes):
        if isinstance(whole, str):
            continue
        before = whole
        # Further ends, each reached from the one before.
        steps = sorted({end, min(end + 1, len(text)), rng.randint(end, len(text)), len(text)})
        for longer in steps:
            try:
                found: Any = tokenizer.encode_more(before, text[:longer])
            except EncodeError as error:
                found = str(error)
            assert same(found, wholes[longer]), (what, end, longer)
            n_checked += 1
            if isinstance(found, str):
                break
            before = found
    whole = encoded(tokenizer, text, **options)
    for _ in range(3):
        encoder = tokenizer.stream_encoder(**options)
        ids = streamed(encoder, random_parts(rng, text))
        assert isinstance(ids, str) == isinstance(whole, str), what
        assert isinstance(ids, str) or np.array_equal(ids, whole.ids), what
        n_checked += 1
    return n_checked


def check_random(kind: str, numbers: range) -> int:
    n_checked = 0
    for number in numbers:
        rng = random.Random(f"growing {kind} {number}")
        case = pipeline(kind, rng)
        tokenizer = loaded(case)
        if tokenizer is not None:
            n_checked += check_case(number, rng, case, tokenizer)
    return n_checked


@pytest.mark.parametrize("kind", KINDS)
def test_random_pipelines(kind: str) -> None:
    assert check_random(kind, range(FEW)) > 20 * FEW


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_pipelines(kind: str) -> None:
    assert check_random(kind, range(FEW, MANY)) > 250_000


@pytest.mark.parametrize("name", [*MODELS, "cl100k", "o200k"])
def test_models_at_every_character(name: str) -> None:
    tokenizer = model(name).with_specials(["<|im_start|>", "<|im_end|>"])
    for specials in ("none", "all"):
        wholes = [tokenizer.encode(CHAT[:end], specials=specials) for end in range(len(CHAT) + 1)]
        for end, whole in enumerate(wholes[1:], 1):
            assert tokenizer.encode_more(wholes[end - 1], CHAT[:end]) == whole, (specials, end)
            assert tokenizer.encode_more(wholes[end // 2], CHAT[:end]) == whole, (specials, end)
        encoder = tokenizer.stream_encoder(specials=specials)
        ids = streamed(encoder, iter(CHAT))
        assert np.array_equal(ids, wholes[-1].ids)


@pytest.mark.parametrize("name", [*MODELS, "cl100k", "o200k"])
def test_little_of_a_text_is_held(name: str) -> None:
    encoder = model(name).stream_encoder()
    text = "The film was not as good as the book, which I had read twice. " * 30
    held = []
    for char in text:
        encoder.push(char)
        held.append(encoder.n_held)
    assert max(held) < 64


@pytest.mark.parametrize(
    "pattern",
    ["[^ ]+| +", r"\p{N}{1,3}", "a|ab"],
)
def test_custom_patterns_resume_behind_added_tokens(pattern: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    file = {
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": split,
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "ab": 3, "1": 4}, "merges": ["a b"]},
    }  # fmt: skip
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode()).with_specials(["<s>"])
    encoder = tokenizer.stream_encoder(specials="all")
    ids = [encoder.push(part) for part in ("ab a", "b1<s", ">", "ab", "ab <s>ab 1", "1")]
    assert [len(part) for part in ids[:3]] == [0, 0, 0]
    assert len(ids[3])
    assert len(ids[4])
    assert encoder.n_held == len("ab 11")
    whole = tokenizer.encode("ab ab1<s>abab <s>ab 11", specials="all")
    assert np.array_equal(np.concatenate([*ids, encoder.finish()]), whole.ids)


def test_pushes_take_linear_time() -> None:
    """Of text that can be cut, and of text with no place to cut, which is held."""
    gpt2 = model("gpt2")
    unsplit = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
    held = Tokenizer.from_bytes(json.dumps(unsplit).encode()).with_specials(["aaaab", "b" * 50])

    def seconds(tokenizer: Tokenizer, part: str, n: int) -> float:
        encoder = tokenizer.stream_encoder(specials="all")
        start = time.process_time()
        for _ in range(n):
            encoder.push(part)
        assert len(encoder.finish())
        return time.process_time() - start

    for tokenizer, part in ((gpt2, "a"), (gpt2, "a "), (held, "a"), (held, "b")):
        # Quadratic time would be 400 times as long. Other programs may slow one try down.
        few = min(seconds(tokenizer, part, 5_000) for _ in range(3))
        assert any(seconds(tokenizer, part, 100_000) < 100 * few for _ in range(3)), part


def test_text_that_does_not_begin_with_the_earlier_one() -> None:
    tokenizer = model("gpt2")
    encoding = tokenizer.encode("the film is")
    for text, place in (("the fish", "character 6"), ("the film", "character 8"), ("", "character 0")):
        with pytest.raises(EncodeError, match=place):
            tokenizer.encode_more(encoding, text)
    with pytest.raises(EncodeError, match=r"character 1 \(byte 2\)"):
        tokenizer.encode_more(tokenizer.encode("éa"), "éb")
    with pytest.raises(TypeError, match="list"):
        tokenizer.encode_more(encoding, ["the film is"])  # type: ignore[arg-type]  # 2026-11-30: wrong on purpose


def test_encodings_that_cannot_be_continued() -> None:
    tokenizer = model("gpt2")
    import pickle

    others = [
        tokenizer.encode("a", "b"),
        tokenizer.encode_batch(["a b"])[0],
        tokenizer.encode(["a", "b"], is_split_into_words=True),
        tokenizer.encode_segments(["a"]),
        pickle.loads(pickle.dumps(tokenizer.encode("a"))),
        model("t5").encode("a"),
    ]
    for other in others:
        with pytest.raises(ValueError, match="encode_more"):
            tokenizer.encode_more(other, "a b")


def test_encoding_of_a_longer_text_is_whole() -> None:
    tokenizer = model("bert")
    text = "The film, not the book. " * 20
    whole = tokenizer.encode(text)
    found = tokenizer.encode_more(tokenizer.encode(text[:200]), text)
    assert found == whole
    assert hash(found) == hash(whole)
    assert np.array_equal(found.offsets(), whole.offsets())
    assert np.array_equal(found.special_tokens_mask, whole.special_tokens_mask)
    assert found.tokens == whole.tokens
    # What it continued stays.
    assert tokenizer.encode_more(whole, text) == whole


def test_bytes_and_surrogates() -> None:
    tokenizer = model("gpt2")
    before = tokenizer.encode(b"a film \xff")
    assert tokenizer.encode_more(before, b"a film \xff\xfe b") == tokenizer.encode(b"a film \xff\xfe b")
    assert tokenizer.encode_more(tokenizer.encode("a film"), b"a film b") == tokenizer.encode("a film b")
    # A half is U+FFFD until its other half comes.
    with pytest.raises(EncodeError, match="character 2"):
        tokenizer.encode_more(tokenizer.encode("a \ud83d"), "a \ud83d\ude00")
    with pytest.raises(EncodeError, match="surrogate"):
        tokenizer.encode_more(tokenizer.encode("a"), "a\ud83d", errors="strict")
    whole = "a \ud83d\ude00 b\ud83d c\ude00 \ud83d"
    ids = streamed(tokenizer.stream_encoder(), iter(whole))
    assert np.array_equal(ids, tokenizer.encode(whole).ids)
    encoder = tokenizer.stream_encoder(errors="strict")
    encoder.push("a \ud83d")
    encoder.push("\ude00")
    encoder.push("\ud83d")
    with pytest.raises(EncodeError, match="surrogate"):
        encoder.push("b")


def test_texts_that_are_not_ascii() -> None:
    tokenizer = model("gpt2")
    text = "é a film of a man, 中文 \U0001f3ac\n" * 40
    chained = tokenizer.encode(text[:100])
    for end in (101, 300, 301, 700, len(text)):
        chained = tokenizer.encode_more(chained, text[:end])
        assert chained == tokenizer.encode(text[:end]), end
    # Nothing but what follows the earlier text is looked at, and still this is said.
    with pytest.raises(EncodeError, match="they differ at character 150"):
        tokenizer.encode_more(chained, text[:150] + "?" * 2000)
    longer = text + "\ud83d"
    assert tokenizer.encode_more(chained, longer) == tokenizer.encode(longer)
    with pytest.raises(EncodeError, match="surrogate"):
        tokenizer.encode_more(chained, longer, errors="strict")
    with pytest.raises(TypeError):
        tokenizer.encode_more(chained, [text])  # type: ignore[arg-type]  # 2026-11-30: wrong on purpose


def test_template_that_holds_the_text_twice() -> None:
    special = {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    file = {
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 9, "vocab": {"a": 0, "b": 1, "##b": 2, "<s>": 3}},
        "post_processor": {"type": "TemplateProcessing", "special_tokens": special, "pair": [text],
                           "single": [text, {"SpecialToken": {"id": "<s>", "type_id": 0}}, text]},
    }  # fmt: skip
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    longer = tokenizer.encode_more(tokenizer.encode("a b"), "a bb")
    assert longer.ids.tolist() == [0, 1, 2, 3, 0, 1, 2]
    with pytest.raises(EncodeError, match="template"):
        tokenizer.stream_encoder()


def test_unknown_text_with_a_mark_that_is_no_piece() -> None:
    """Unknown text is one token across blanks, which are `▁`, also behind an added token."""
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False}
    file = {
        "version": "1.0",
        "added_tokens": [{
            "id": 2, "content": "foo", "special": False, "single_word": False, "lstrip": False,
            "rstrip": True, "normalized": True,
        }],
        "pre_tokenizer": metaspace,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", -7.0], ["a", -1.0], ["foo", -9.0]]},
    }  # fmt: skip
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    text = "foo <0 foo < < a < foo x"
    for end in range(len(text)):
        before = tokenizer.encode(text[:end])
        for longer in range(end, len(text) + 1):
            found = tokenizer.encode_more(before, text[:longer])
            assert same(found, tokenizer.encode(text[:longer])), (end, longer)
    encoder = tokenizer.stream_encoder()
    assert np.array_equal(streamed(encoder, iter(text)), tokenizer.encode(text).ids)


def test_dropout_encodes_whole() -> None:
    merges = ["a b", "ab ab", "abab abab"]
    vocab = {"a": 0, "b": 1, "ab": 2, "abab": 3, "abababab": 4, " ": 5}
    file = {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "Isolated",
            "invert": False,
        },
        "model": {"type": "BPE", "dropout": 0.5, "vocab": vocab, "merges": merges},
    }
    tokenizer = Tokenizer.from_bytes(json.dumps(file).encode())
    text = "abababab " * 20
    before = tokenizer.encode(text[:50], seed=7)
    assert tokenizer.encode_more(before, text) == tokenizer.encode(text, seed=7)
    ids = streamed(tokenizer.stream_encoder(seed=7), iter(text))
    assert np.array_equal(ids, tokenizer.encode(text, seed=7).ids)


def test_stream_encoder_states() -> None:
    tokenizer = model("bert")
    encoder = tokenizer.stream_encoder()
    assert encoder.push("").tolist() == tokenizer.encode("").ids[:1].tolist()
    with pytest.raises(TypeError, match="bytes"):
        encoder.push(b"a")  # type: ignore[arg-type]  # 2026-11-30: wrong on purpose
    encoder.push("a film")
    assert len(encoder.finish())
    for call in (encoder.finish, lambda: encoder.push("a"), lambda: encoder.push("")):
        with pytest.raises(EncodeError, match="finished"):
            call()
    encoder = tokenizer.stream_encoder(specials="raise")
    with pytest.raises(EncodeError, match=r"\[SEP\].* byte 7"):
        list(map(encoder.push, ["a film ", "[SE", "P] a film", " a b"]))
    with pytest.raises(EncodeError, match="not a special token"):
        tokenizer.stream_encoder(specials={"film"})


def test_stream_encoder_is_for_one_thread_at_a_time() -> None:
    tokenizer = model("gpt2")
    encoder = tokenizer.stream_encoder()
    part = "film was good. " * 2000
    n_pushed, errors = [], []

    def push() -> None:
        for _ in range(20):
            try:
                encoder.push(part)
                n_pushed.append(1)
            except EncodeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=push) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    encoder.finish()
    assert len(n_pushed) + len(errors) == 60
    assert all("thread" in error for error in errors)


@pytest.mark.parametrize("name", [*MODELS, "cl100k"])
def test_stream_decoder_behind_a_prompt(name: str) -> None:
    tokenizer = model(name)
    ids = tokenizer.encode(CHAT, add_special_tokens=False).ids
    whole = tokenizer.decode(ids)
    for end in range(0, len(ids), 3):
        first = tokenizer.stream_decoder()
        before = "".join(first.push(int(id)) for id in ids[:end])
        decoder = tokenizer.stream_decoder(prompt=ids[:end])
        cuts = sorted({end, min(end + 1, len(ids)), (end + len(ids)) // 2, len(ids)})
        after = [decoder.push(ids[start:stop].tolist()) for start, stop in pairwise(cuts)]
        assert before + "".join(after) + decoder.finish() == whole, end


def test_stream_decoder_takes_all_ids_or_none() -> None:
    tokenizer = model("gpt2")
    decoder = tokenizer.stream_decoder()
    with pytest.raises(DecodeError, match="60000"):
        decoder.push([64, 60000])
    assert decoder.push(tokenizer.encode("é")) + decoder.push(np.array([64])) == "éa"
    assert decoder.push([]) == ""
    assert decoder.finish() == ""
    with pytest.raises(DecodeError, match="60000"):
        tokenizer.stream_decoder(prompt=[60000])
    with pytest.raises(TypeError, match="int"):
        decoder.push("a")  # type: ignore[arg-type]  # 2026-11-30: wrong on purpose


@pytest.mark.parametrize("family", sample(12, FAMILIES))
def test_published_families(family: str) -> None:
    """Each at every seventh character and in one stream; few hold text that has no added token."""
    tokenizer = Tokenizer.from_bytes(file_of(family).encode())
    for end in range(0, len(CHAT), 7):
        before = tokenizer.encode(CHAT[:end], specials="all")
        for longer in (min(end + 3, len(CHAT)), len(CHAT)):
            whole = tokenizer.encode(CHAT[:longer], specials="all")
            assert np.array_equal(tokenizer.encode_more(before, CHAT[:longer]).ids, whole.ids), (end, longer)
    ids = streamed(tokenizer.stream_encoder(specials="all"), iter(CHAT))
    assert np.array_equal(ids, tokenizer.encode(CHAT, specials="all").ids)
    encoder = tokenizer.stream_encoder(specials="all")
    encoder.push("The film was not as good as the book, which I had read twice. " * 20)
    assert (encoder.n_held > 100) == (family in HELD)
