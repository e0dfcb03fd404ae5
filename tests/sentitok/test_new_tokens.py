"""Tokens added to a tokenizer, with rules; ids without a token; what objects show of themselves."""

import pickle
import time
from typing import Any

import numpy as np
import pytest
import tokenizers

import shared_data
from sentitok import (
    AddedToken,
    DecodeError,
    FormatError,
    Normalizer,
    SentitokError,
    Tokenizer,
    train_bpe,
    train_unigram,
)

TEXTS = ["a <x> b", "a<x>b", " <x>  <y> <z> ", "<x><y>", "<Z> <z>x"]


def test_tokens_have_rules(tokenizer: Tokenizer) -> None:
    base = tokenizer.to_hf()
    rules = [
        ("<x>", {"lstrip": True, "rstrip": True}),
        ("<y>", {"single_word": True}),
        ("<z>", {"special": False, "normalized": True}),
    ]
    ours = tokenizer.with_specials([AddedToken(content, **flags) for content, flags in rules])
    theirs = [
        tokenizers.AddedToken(content, **({"special": True, "normalized": False} | flags))
        for content, flags in rules
    ]
    assert tokenizer.with_specials(theirs) == ours
    for token in theirs:
        (base.add_special_tokens if token.special else base.add_tokens)([token])
    for text in TEXTS:
        assert ours.encode(text, specials="all").ids.tolist() == base.encode(text).ids, text
    assert [(t.content, t.id, t.special) for t in ours.added_tokens[-3:]] == [
        ("<x>", len(tokenizer), True),
        ("<y>", len(tokenizer) + 1, True),
        ("<z>", len(tokenizer) + 2, False),
    ]
    # A string keeps the rules there are, a token with rules brings its own.
    assert ours.with_specials(["<x>"]) == ours
    assert not ours.with_specials([AddedToken("<x>")]).added_tokens[-3].lstrip
    assert ours.with_specials(["<z>"]).added_tokens[-1].special
    # Twice in a list is once.
    assert len(tokenizer.with_specials(["<x>", "<x>"])) == len(tokenizer) + 1


def test_many_tokens_are_added_in_linear_time(tokenizer: Tokenizer) -> None:
    # Each was looked for in the list of all: half a minute.
    tokens = [AddedToken(f"word{n}", special=False) for n in range(200_000)]
    start = time.process_time()
    assert len(tokenizer.with_specials(tokens).added_tokens) == len(tokenizer.added_tokens) + len(tokens)
    assert time.process_time() - start < 10


def test_a_token_without_an_id(tokenizer: Tokenizer) -> None:
    token = AddedToken("<x>", lstrip=True)
    assert repr(token) == 'AddedToken("<x>", special=True)'
    assert pickle.loads(pickle.dumps(token)) == token
    with pytest.raises(ValueError, match=r"has no id yet; Tokenizer\.with_specials gives it one"):
        _ = token.id
    n = len(tokenizer)
    assert tokenizer.with_specials([AddedToken("<x>", n)]).token_to_id("<x>") == n
    with pytest.raises(SentitokError, match=rf"would get id {n} here; leave the id out, as in AddedToken"):
        tokenizer.with_specials([AddedToken("<x>", 7)])
    with pytest.raises(FormatError, match="has no text"):
        tokenizer.with_specials([AddedToken("")])
    with pytest.raises(TypeError):
        tokenizer.with_specials([7])  # type: ignore[list-item]  # 2026-11-24: refused


def test_ids_without_a_token_are_left_out_on_request(tokenizer: Tokenizer) -> None:
    known = tokenizer.encode("a film").ids.tolist()
    n = tokenizer.vocab_size
    odd = [known[0], n, -1, 2**40, 2**200, *known[1:], n + 7]
    assert tokenizer.decode(odd, errors="ignore") == "a film"
    assert tokenizer.decode_bytes(odd, errors="ignore") == b"a film"
    for kind in (np.uint32, np.int64):
        ids = np.array([known[0], n, *known[1:]], dtype=kind)
        assert tokenizer.decode(ids, errors="ignore") == "a film"
    assert tokenizer.decode(np.array([-5, *known]), errors="ignore") == "a film"
    assert tokenizer.decode_batch([odd, [n], []], errors="ignore") == ["a film", "", ""]
    wide = tokenizer.with_specials(["<x>"])
    batch = wide.encode_batch(["a<x> film", "<x>"], specials="all")
    assert tokenizer.decode_batch(batch, errors="ignore") == ["a film", ""]
    for unknown in ([n], np.array([n], dtype=np.uint32), [-1]):
        with pytest.raises(DecodeError, match="is not in the vocabulary"):
            tokenizer.decode(unknown)
    with pytest.raises(TypeError, match="an id is an int"):
        tokenizer.decode(["a"], errors="ignore")  # type: ignore[list-item]  # 2026-11-24: refused
    with pytest.raises(SentitokError, match=r"errors.*left out by 'ignore'"):
        tokenizer.decode(known, errors="replace")  # type: ignore[arg-type]  # 2026-11-24: refused


def test_long_steps_are_shown_in_short() -> None:
    replaces = "+".join(["nfkc"] * 3)
    assert repr(Normalizer(replaces)) == f'Normalizer("{replaces}")'
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": "a" * n}, "content": "b"} for n in range(1, 60)
    ]
    theirs = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    theirs.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Replace(step["pattern"]["String"], "b") for step in steps]
    )
    shown = repr(Tokenizer.from_hf(theirs).normalizer)
    assert shown.startswith('<Normalizer {"type":"Sequence"')
    assert len(shown) < 400
    assert shown.endswith("characters>")
    t5 = Tokenizer.from_sentencepiece(shared_data.folder() / "vocabs" / "t5" / "spiece.model")
    assert len(repr(t5.normalizer)) < 400
    assert len(repr(t5)) < 400


def test_reports_name_what_was_learnt() -> None:
    texts = ["low lower lowest new newer newest"] * 20
    assert " merges from " in repr(train_bpe(texts=texts, vocab_size=265).report)
    unigram = train_unigram(texts=texts, vocab_size=30)
    assert repr(unigram.report).startswith(f"TrainReport({unigram.vocab_size} pieces from ")
    assert pickle.loads(pickle.dumps(unigram.report)).merges == 0
