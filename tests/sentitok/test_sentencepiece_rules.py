"""The rules that SentencePiece has names for: every one equals that of the library."""

from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from conftest import CORPUS
from sentitok import Normalizer, SentitokError, Tokenizer, train_bpe, train_unigram

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")
TRAINERS: dict[str, Any] = {"bpe": train_bpe, "unigram": train_unigram}
TEXTS = [
    "  Ａ①ﬁ  ½ \u3000x",
    "e\u0301 ＡＢＣ ㋿ ～",
    "ＳＴＲＡẞE ΣΑΣ İ",
    "\u200b\u061c\x07\u00ad",
    "각 \u1100\u1161\u11a8",
    "\ufdfa" * 3,
]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return (CORPUS / "udhr-23-languages.txt").read_bytes().decode("utf-8").split("\n")[:700]


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_is_theirs(name: str, lines: list[str]) -> None:
    normalizer = Normalizer.sentencepiece(name)
    tokenizer = train_bpe(texts=lines[:80], vocab_size=300, method="sentencepiece", normalizer=normalizer)
    written = sentencepiece.SentencePieceNormalizer(model_proto=tokenizer.to_sentencepiece())
    published = sentencepiece.SentencePieceNormalizer(rule_name=name)
    assert dict(written.Decompile()) == dict(published.Decompile())


@pytest.fixture(scope="module")
def normalizers() -> dict[str, tuple[Normalizer, sentencepiece.SentencePieceNormalizer]]:
    options: dict[str, Any] = {
        "escape_whitespaces": True,
        "add_dummy_prefix": True,
        "remove_extra_whitespaces": True,
    }
    theirs = {name: sentencepiece.SentencePieceNormalizer(rule_name=name, **options) for name in NAMES}
    return {name: (Normalizer.sentencepiece(name), theirs[name]) for name in NAMES}


@given(text=st.one_of(st.text(), st.text(st.sampled_from("aÀA \u0301\u0327①½ﬁ각ᄀ\u1161\u11a8～\u200b▁"))))
@example(text=TEXTS[0])
@example(text=TEXTS[1])
@example(text=TEXTS[2])
def test_any_text_is_normalized_alike(normalizers: dict[str, Any], text: str) -> None:
    for ours, theirs in normalizers.values():
        assert ours.normalize(text) == theirs.Normalize(text)


@pytest.mark.parametrize("model_type", TRAINERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_trained_file_gives_their_ids(model_type: str, name: str, lines: list[str]) -> None:
    normalizer = Normalizer.sentencepiece(name, user_defined_symbols=())
    made = TRAINERS[model_type](
        texts=lines,
        vocab_size=1100,
        method="sentencepiece",
        normalizer=normalizer,
        character_coverage=0.98,
        user_defined_symbols=["①", "<X>"],
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=made.to_sentencepiece())
    again = Tokenizer.from_bytes(made.to_sentencepiece())
    assert again.fingerprint == made.fingerprint
    for text in [*TEXTS, "① <X>Ａ", *lines[::9]]:
        assert made.encode(text).ids.tolist() == theirs.encode(text), text


def test_names_and_options() -> None:
    assert Normalizer("sentencepiece-nmt-nfkc") == Normalizer.sentencepiece()
    assert Normalizer.sentencepiece("nfkc_cf").name == "sentencepiece-nfkc-cf"
    assert Normalizer.sentencepiece(add_dummy_prefix=False).normalize(" a") == "a"
    kept = Normalizer.sentencepiece("identity", remove_extra_whitespaces=False)
    assert kept == Normalizer("sentencepiece")
    assert kept.normalize(" a  b") == "▁▁a▁▁b"
    shielded = Normalizer.sentencepiece(user_defined_symbols=["①"])
    assert shielded.normalize("①②") == "▁①2"
    with pytest.raises(SentitokError, match="nmt_nfkc, nfkc"):
        Normalizer.sentencepiece("nmt-nfkc")


SPECIALS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["<unk>", "<s>", "</s>"]),
    ({"special_tokens": ["<pad>"]}, ["<unk>", "<s>", "</s>", "<pad>"]),
    ({"special_tokens": ["<pad>", "</s>", "<s>"]}, ["<unk>", "<pad>", "</s>", "<s>"]),
    ({"special_tokens": ["<pad>"], "bos_token": None, "eos_token": "[E]"}, ["<unk>", "[E]", "<pad>"]),
    ({"special_tokens": ["<pad>"], "special_ids": {"<pad>": 0}}, ["<pad>", "<unk>", "<s>", "</s>"]),
]


@pytest.mark.parametrize("model_type", TRAINERS)
@pytest.mark.parametrize(("options", "first"), SPECIALS)
def test_no_special_token_is_dropped(
    model_type: str, options: dict[str, Any], first: list[str], lines: list[str]
) -> None:
    made = TRAINERS[model_type](texts=lines, vocab_size=1100, method="sentencepiece", **options)
    assert [made.id_to_token(id) for id in range(len(first))] == first
    assert {token.content for token in made.added_tokens} == set(first)


def test_ids_beyond_the_first(lines: list[str]) -> None:
    made = train_unigram(
        texts=lines, vocab_size=1100, special_tokens=["<pad>"], special_ids={"<pad>": 1099, "<unk>": 7}
    )
    assert (made.token_to_id("<pad>"), made.token_to_id("<unk>"), made.token_to_id("<s>")) == (1099, 7, 0)
    for ids, message in (
        ({"<pad>": 1100}, "end at 1099"),
        ({"<x>": 3}, "none of the special tokens"),
        ({"<pad>": 3, "<unk>": 3}, "another special token"),
    ):
        with pytest.raises(SentitokError, match=message):
            train_unigram(texts=lines, vocab_size=1100, special_tokens=["<pad>"], special_ids=ids)
    with pytest.raises(SentitokError, match="smaller id"):
        train_unigram(texts=["a b"] * 9, vocab_size=1000, special_ids={"<s>": 900})
    with pytest.raises(SentitokError, match="method='sentencepiece'"):
        train_bpe(texts=lines, bos_token=None)
