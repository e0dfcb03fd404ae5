"""`accelerate`: each call against the same call of the untouched object, family by family.

Both get the same texts and options; what they answer, or raise, must be equal: fields and their
order, arrays and their types, encodings, and the settings of the backend afterwards.
"""

import dataclasses
import json
import logging
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import tokenizers

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

from oracles.accelerated import TEXTS, asked, decodes, pair_of, pair_of_file, plain, runs, same  # noqa: E402  # 2026-11-24: needs both
from oracles.families import FAMILIES, FILES, file_of  # noqa: E402  # 2026-11-24: needs both
from sampled_cases import THOROUGH  # noqa: E402  # 2026-11-29: the same

# 2026-11-23: warnings of its imports, and of arguments that its calls ignore.
pytestmark = pytest.mark.filterwarnings("ignore")

# One family of five; of seventeen, where the environment of transformers 4 runs these checks once more.
SOME = [*FAMILIES][:: int(os.environ.get("SENTITOK_EVERY_FAMILY", "1" if THOROUGH else "5"))]
WORDS = [["It's", "naïve", "—", "日本語"], ["a"], [" b", "c ", "", "<s>"], ["The", "quick", "fox"]]

OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_special_tokens": False},
    {"padding": True},
    {"padding": True, "padding_side": "left", "return_token_type_ids": True},
    {"padding": "max_length", "max_length": 40, "pad_to_multiple_of": 7},
    {"truncation": True, "max_length": 9},
    {"truncation": "only_first", "max_length": 12, "padding": "max_length"},
    {"truncation": "only_second", "max_length": 30},
    {"truncation": True, "max_length": 2},
    {"truncation": True, "max_length": 1, "add_special_tokens": False},
    {"truncation": True, "max_length": 14, "stride": 4, "return_overflowing_tokens": True},
    {"truncation": True, "max_length": 14, "stride": 20, "return_overflowing_tokens": True},
    {
        "truncation": "only_second",
        "max_length": 90,
        "stride": 3,
        "return_overflowing_tokens": True,
        "padding": "max_length",
    },
    {
        "truncation": "only_second",
        "max_length": 90,
        "return_overflowing_tokens": True,
        "return_token_type_ids": True,
    },
    {"return_overflowing_tokens": True},
    {"return_special_tokens_mask": True, "return_length": True, "padding": "longest"},
    {"return_offsets_mapping": True},
    {"return_offsets_mapping": True, "padding": True, "padding_side": "left", "return_tensors": "np"},
    {"return_offsets_mapping": True, "padding": True, "return_tensors": "pt", "return_length": True},
    {
        "return_offsets_mapping": True,
        "truncation": "only_second",
        "max_length": 90,
        "stride": 30,
        "return_overflowing_tokens": True,
        "padding": True,
    },
    {"return_tensors": "np"},
    {"return_tensors": "pt", "padding": True, "return_token_type_ids": True},
    {"return_tensors": "np", "padding": True, "truncation": True, "max_length": 8, "return_length": True},
    {"return_attention_mask": False, "return_token_type_ids": False},
    {"split_special_tokens": True},
    {"truncation": True},
    {"max_length": 6},
    {"padding": "never"},
    {"sanitize_control_tokens": False},
]


def method(name: str, *given: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda tokenizer: getattr(tokenizer, name)(*given, **options)


def batches() -> Iterator[tuple[Any, ...]]:
    yield (TEXTS,)
    yield TEXTS, TEXTS[::-1]


def others() -> Iterator[tuple[Any, ...]]:
    yield from ((text,) for text in TEXTS)
    yield (TEXTS[:1],)
    yield TEXTS[0], TEXTS[6]
    yield TEXTS[6], ""
    yield (list(zip(TEXTS, TEXTS[::-1], strict=True)),)


# By default a family takes every fourth option, the next family the options next to those.
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", SOME)
def test_texts(family: str, step: int) -> None:
    first, second = pair_of(family, pad_token="</s>", model_max_length=50)
    assert runs(second)
    for place, options in [*enumerate(OPTIONS)][SOME.index(family) % step :: step]:
        for given in batches():
            if len(given) > 1 and "stride" in options and options["truncation"] is True:
                continue  # each window of one text with each of the other: thousands
            same(first, second, asked(*given, **options))
        # Each of the remaining ones alternately.
        given = [*others()][place % len([*others()])]
        same(first, second, asked(*given, **options))


@pytest.mark.parametrize("family", SOME)
def test_texts_of_many_ids(family: str) -> None:
    first, second = pair_of(family, pad_token="</s>")
    text = "\n".join(TEXTS) * (1 + 5000 // len(first("\n".join(TEXTS))["input_ids"]))
    for given in ((text,), ([text, TEXTS[0]],), (text, text)):
        for options in ({}, {"padding": True}, {"return_tensors": "np", "padding": True}):
            same(first, second, asked(*given, **options))


@pytest.mark.slow
@pytest.mark.parametrize("family", SOME)
def test_each_text_with_each_option(family: str) -> None:
    first, second = pair_of(family, pad_token="</s>", model_max_length=50)
    lines = [line for path in FILES for line in path.read_text("utf-8").split("\n")[3::40]]
    for options in OPTIONS:
        for given in (*others(), (lines,), (lines, lines[::-1])):
            same(first, second, asked(*given, **options))


@pytest.mark.parametrize("family", SOME)
def test_words(family: str) -> None:
    first, second = pair_of(family, pad_token="</s>")
    for options in (*OPTIONS[:7:2], OPTIONS[10]):
        for given in ((WORDS[0],), (WORDS,), (WORDS[0], WORDS[2]), (WORDS, WORDS[::-1])):
            call = {**options, "is_split_into_words": True}
            same(first, second, asked(*given, **call))


@pytest.mark.parametrize("family", SOME)
def test_ids(family: str) -> None:
    first, second = pair_of(family, bos_token="<s>", eos_token="</s>")
    assert decodes(second)
    rows = [first(text)["input_ids"] for text in TEXTS]
    ids = [id for row in rows for id in row]
    few = ids[:25]  # `batch_decode` takes each by itself
    windows = [ids[start : start + 10] for start in range(0, len(ids), 7)]
    last = len(first)
    given: list[Any] = [
        *rows, rows, windows, tuple(few), np.array(few), torch.tensor(few),
        [torch.tensor(3), torch.tensor(4)],
        ids[0], [], [[]], [last + 9, 3], [[last + 9], [3]], [-1], [2**40], ["a"], [1.5], "text", None,
        {"input_ids": rows[0]}, np.array(windows[:5]), [rows[0], 3], [True, 2],
    ]  # fmt: skip
    for skip in (False, True):
        for clean in (None, False, True):
            for value in given:
                for name in ("decode", "batch_decode"):
                    options = {
                        "skip_special_tokens": skip,
                        "clean_up_tokenization_spaces": clean,
                        "spaces_between_special_tokens": True,
                    }
                    same(first, second, method(name, value, **options))
        for value in given:
            same(first, second, method("convert_ids_to_tokens", value, skip))


def test_where_the_original_decodes_no_call_looks_at_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    _, second = pair_of("BERT")
    running = second.__dict__["_sentitok_running"]
    running._know(dataclasses.replace(running._known, decodes=False))
    monkeypatch.setattr(running, "look", pytest.fail)
    assert [second.decode([5, 6]) for _ in range(3)] == [second.backend_tokenizer.decode([5, 6])] * 3
    monkeypatch.undo()
    assert second("a fox")["input_ids"]


def test_other_calls() -> None:
    for family in ("BERT", "Llama-3", "XLM-R"):
        first, second = pair_of(family, bos_token="<s>", eos_token="</s>", pad_token="</s>")
        calls: list[Callable[[Any], Any]] = [
            lambda t: t.encode(TEXTS[0]),
            lambda t: t.encode(TEXTS[0], TEXTS[6], add_special_tokens=False, return_tensors="np"),
            lambda t: t.tokenize("un☃known 日 <s>"),
            lambda t: t("a", text_target="b"),
            lambda t: t(None),
            lambda t: t(7),
            lambda t: t([]),
            lambda t: t(["a", 7]),
            lambda t: t(["a", ["b", "c"]]),
            lambda t: t("\ud800 lone"),
            lambda t: t(["a", "b"], ["c"]),
            lambda t: t(["a", "b"], "c"),
            lambda t: t("a", padding=True, max_length=5),
            lambda t: len(t),
            lambda t: t.convert_tokens_to_ids(["a", "<s>", "no such token"]),
            lambda t: t.pad({"input_ids": [[1], [1, 2]]}, padding=True),
            lambda t: t.apply_chat_template(
                [{"role": "user", "content": "hi"}], chat_template="{{messages[0].content}}"
            ),
            lambda t: t(TEXTS[0]).word_ids(),
            lambda t: t(TEXTS).char_to_token(0, 3),
            lambda t: t(TEXTS)[0].offsets,
            lambda t: t(TEXTS[0]).token_to_chars(2),
            lambda t: t(TEXTS).to("cpu"),
        ]
        for call in calls:
            same(first, second, call)


def cut_calls(length: int) -> list[Callable[[Any], Any]]:
    """Calls that cut texts, pairs and windows."""
    cut = {"truncation": True, "max_length": length}
    pairs = {"truncation": "only_second", "max_length": length + 40, "stride": 2}
    windows = {"return_overflowing_tokens": True, "return_token_type_ids": False}
    return [
        lambda t: t(TEXTS, **cut),
        lambda t: t(TEXTS[0], **cut),
        lambda t: t(TEXTS, TEXTS[::-1], **cut),
        lambda t: t(TEXTS, stride=1, **windows, **cut),
        lambda t: t(TEXTS, TEXTS[::-1], **windows, **pairs),
    ]


@pytest.mark.parametrize("family", SOME)
def test_where_offsets_run_here(family: str, caplog: pytest.LogCaptureFixture) -> None:
    first, second = pair_of(family, pad_token="</s>")
    with caplog.at_level(logging.INFO, "sentitok.acceleration"):
        same(first, second, lambda t: t(TEXTS, return_offsets_mapping=True))
    puts_marks = any(
        name in file_of(family)
        for name in (
            '"Metaspace"',
            '"Prepend"',
            '"Precompiled"',
            '"add_prefix_space":true',
            '"add_prefix_space": true',
        )
    )
    if not puts_marks:
        assert "return_offsets_mapping" not in caplog.text


def test_sides_and_too_long(caplog: pytest.LogCaptureFixture) -> None:
    sides = {"padding_side": "left", "truncation_side": "left"}
    first, second = pair_of("RoBERTa", pad_token="<pad>", **sides)
    same(first, second, lambda t: t(TEXTS, padding=True))
    with caplog.at_level(logging.INFO, "sentitok.acceleration"):
        for length in (3, 5, 8, 13):
            for call in cut_calls(length):
                same(first, second, call)
        assert not [record for record in caplog.records if record.name == "sentitok.acceleration"]
        same(first, second, lambda t: t(TEXTS, split_special_tokens=True))
        second(TEXTS, split_special_tokens=True)
    assert [record.getMessage() for record in caplog.records if record.name == "sentitok.acceleration"] == [
        "calls with split_special_tokens=True run in transformers as before"
    ]
    first, second = pair_of("RoBERTa", model_max_length=5)
    for tokenizer in (first, second):
        tokenizer(TEXTS[0])
        assert tokenizer.deprecation_warnings == {
            "sequence-length-is-longer-than-the-specified-maximum": True
        }


# What changes a tokenizer, by name.
CHANGES: dict[str, Callable[[Any], Any]] = {
    "tokens": lambda t: t.add_tokens(["quick brown", "nai"]),
    "special tokens": lambda t: t.add_special_tokens({"additional_special_tokens": ["The", "<hi>"]}),
    "tokens of the backend": lambda t: t.backend_tokenizer.add_tokens(["quick brown"]),
    "beginning": lambda t: setattr(t, "add_bos_token", True),
    "normalizer": lambda t: setattr(t._tokenizer, "normalizer", tokenizers.normalizers.Lowercase()),
    "splitter": lambda t: setattr(t._tokenizer, "pre_tokenizer", tokenizers.pre_tokenizers.ByteLevel()),
    "frame": lambda t: setattr(
        t.backend_tokenizer,
        "post_processor",
        tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)]),
    ),
    "decoder": lambda t: setattr(t._tokenizer, "decoder", tokenizers.decoders.Fuse()),
    "another backend": lambda t: setattr(t, "_tokenizer", tokenizers.Tokenizer.from_str(file_of("BLOOM"))),
    "special tokens as text": lambda t: setattr(t, "split_special_tokens", True),
    "side": lambda t: setattr(t, "padding_side", "left"),
    "token that pads": lambda t: setattr(t, "pad_token", "<unk>"),
    "truncation": lambda t: t.backend_tokenizer.enable_truncation(3),
    "padding": lambda t: t.backend_tokenizer.enable_padding(length=30),
    "cleaning": lambda t: setattr(t, "clean_up_tokenization_spaces", True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_later_is_seen(change: str) -> None:
    first, second = pair_of("RoBERTa", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    before = second(TEXTS)
    encodings = plain(first(TEXTS))
    for tokenizer in (first, second):
        CHANGES[change](tokenizer)
    for _ in range(2):
        same(first, second, lambda t: t(TEXTS, padding=True))
        same(first, second, lambda t: t.batch_decode([[0, 300, 301, 2], [5, 400]], skip_special_tokens=True))
        same(first, second, lambda t: t.convert_ids_to_tokens(list(range(len(t)))))
        assert runs(second)
    # A batch made before holds what it held.
    assert plain(before)[:-2] == encodings[:-2]
    if change not in ("side", "token that pads", "special tokens as text"):
        assert plain(before) == encodings


# Settings changed between a call and the first access to its encodings.
SETTINGS: dict[str, Callable[[Any], Any]] = {
    "side that is padded": lambda t: setattr(t, "padding_side", "left"),
    "side that is cut": lambda t: setattr(t, "truncation_side", "left"),
    "token that pads": lambda t: setattr(t, "pad_token", "<unk>"),
    "type id of pads": lambda t: setattr(t, "_pad_token_type_id", 3),
    "special tokens as text": lambda t: setattr(t, "split_special_tokens", True),
    "another call": lambda t: t(TEXTS, truncation=True, max_length=3, padding="max_length"),
    "call of special tokens as text": lambda t: t(TEXTS, split_special_tokens=True),
    "backend": lambda t: t.backend_tokenizer.enable_padding(length=100),
    "tokens": lambda t: t.add_tokens(["quick brown", "nai"]),
    "template": lambda t: setattr(
        t.backend_tokenizer,
        "post_processor",
        tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)]),
    ),
    "another backend": lambda t: setattr(t, "_tokenizer", tokenizers.Tokenizer.from_str(file_of("BLOOM"))),
    "model": lambda t: setattr(t.backend_tokenizer.model, "dropout", 1.0),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_encodings_are_those_of_the_call(setting: str) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda t: t(TEXTS, padding=True),
        lambda t: t(TEXTS, truncation=True, max_length=6),
        lambda t: t(
            TEXTS, truncation=True, max_length=6, stride=2, return_overflowing_tokens=True, padding=True
        ),
        lambda t: t(TEXTS[0], TEXTS[6], truncation=True, max_length=12),
        lambda t: t(WORDS, WORDS[::-1], is_split_into_words=True, padding="max_length", max_length=50),
        lambda t: t(TEXTS[0], add_special_tokens=False),
    ]
    first, second = pair_of("RoBERTa", pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    batches = [(call(first), call(second)) for call in calls]
    assert runs(second)
    for tokenizer in (first, second):
        SETTINGS[setting](tokenizer)
    for expected, found in batches:
        assert plain(found) == plain(expected)


def test_encodings_of_threads_are_their_own() -> None:
    second = pair_of("RoBERTa", pad_token="<pad>")[1]
    wrong: list[Any] = []

    def work(length: int) -> None:
        options = {"truncation": True, "max_length": length, "padding": "max_length"}
        for _ in range(100):
            batch = second(TEXTS, **options)
            for row, ids in enumerate(batch["input_ids"]):
                if batch[row].ids != ids or len(batch.word_ids(row)) != length:
                    wrong.append((length, row))

    threads = [threading.Thread(target=work, args=(length,)) for length in (3, 5, 7, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_backend_that_is_held_may_change_at_any_time() -> None:
    first, second = pair_of("RoBERTa")
    backends = [tokenizer.backend_tokenizer for tokenizer in (first, second)]
    for token in ("quick brown", "fox jumps", "lazy"):
        same(first, second, lambda t: t(TEXTS))
        for backend in backends:
            backend.add_tokens([token])
        same(first, second, lambda t: t.decode(list(range(len(t)))))
        same(first, second, lambda t: t(TEXTS))


def test_frequent_changes_cost_less_and_less() -> None:
    first, second = pair_of("RoBERTa")
    running = second.__dict__["_sentitok_running"]
    made = 0
    for n in range(40):
        for tokenizer in (first, second):
            tokenizer.add_tokens([f"token-{n}"])
        same(first, second, asked(f"token-{n} x"))
        made += running._known.tokenizer is not None
    assert made <= 2
    for _ in range(2000):
        second("x")
    assert runs(second)


def pickled_places(given: Any, options: dict[str, Any], tokenizer: Any) -> list[Any]:
    batch = pickle.loads(pickle.dumps(tokenizer(*given, **options)))
    return [(encoding.tokens, encoding.offsets) for encoding in batch.encodings]


@pytest.mark.parametrize("post_processor", ["ByteLevel", "RobertaProcessing"])
@pytest.mark.parametrize("model", ["WordPiece", "Unigram", "BPE"])
def test_places_in_words_that_lose_their_first_characters(model: str, post_processor: str) -> None:
    """A blank is trimmed there, although the post-processor leaves a blank that begins a text."""
    pieces = ["u", "a", " ", " a"]
    vocab = {piece: id for id, piece in enumerate(pieces)}
    models: dict[str, dict[str, Any]] = {
        "WordPiece": {"vocab": vocab, "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
        "Unigram": {"vocab": [[piece, -1.0] for piece in pieces], "unk_id": 0, "byte_fallback": False},
        "BPE": {"vocab": vocab, "merges": [[" ", "a"]]},
    }
    processor = {"type": post_processor, "trim_offsets": True, "add_prefix_space": True}
    processor |= {"sep": ["u", 0], "cls": ["u", 0]} if post_processor == "RobertaProcessing" else {}
    document: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "-"}, "post_processor": processor,
        "decoder": None, "model": {"type": model, "unk_token": "u", **models[model]},
    }  # fmt: skip
    first, second = pair_of_file(json.dumps(document), pad_token="u")
    assert runs(second)
    words = ["a", "- a", "- -a", "-a", " a"]
    for given in ((words,), ([words, words[:1], words[1:]],), ([words[1:], words], [words, words[1:]])):
        for some in OPTIONS:
            options = {**some, "is_split_into_words": True}
            same(first, second, asked(*given, **{**options, "return_offsets_mapping": True}))
            same(first, second, partial(pickled_places, given, options))
