"""Text stays text: no model makes a special token of its spelling unless asked to."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from conftest import CORPUS
from sentitok import EncodeError, Tokenizer, train_bpe, train_unigram, train_wordpiece

TEXT = CORPUS / "sherlock-holmes.txt"


def bpe() -> Tokenizer:
    return train_bpe(TEXT, vocab_size=600, special_tokens=["<s>"], pre_tokenizer="whitespace-split")


def wordpiece() -> Tokenizer:
    return train_wordpiece(
        TEXT,
        vocab_size=600,
        special_tokens=["[UNK]", "<s>"],
        normalizer="none",
        pre_tokenizer="whitespace-split",
    )


def unigram() -> Tokenizer:
    return train_unigram(TEXT, vocab_size=600)


@pytest.mark.parametrize("train", [bpe, wordpiece, unigram], ids=lambda train: str(train.__name__))
def test_specials_in_text(train: Callable[[], Tokenizer], tmp_path: Path) -> None:
    trained = train()
    trained.save(tmp_path / "tokenizer.json")
    for tokenizer in (trained, Tokenizer.from_file(tmp_path / "tokenizer.json")):
        special = tokenizer.token_to_id("<s>")
        for text in ("<s>", "a <s> b", "a<s>", "<s>b"):
            assert special not in tokenizer.encode(text, add_special_tokens=False).ids, text
            assert special in tokenizer.encode(text, specials="all", add_special_tokens=False).ids, text


def speaking(model: Any) -> tokenizers.Tokenizer:
    """A tokenizer of tokenizers that lowers text and has `speaker` both as a piece and special."""
    made = tokenizers.Tokenizer(model)
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["speaker"])
    return made


LETTERS = list("speakr")
STEPS = [("s", "p"), ("sp", "e"), ("spe", "a"), ("spea", "k"), ("speak", "e"), ("speake", "r")]
MERGES = {name: id for id, name in enumerate([*LETTERS, *("".join(step) for step in STEPS), "<unk>"])}
SPEAKING: dict[str, Any] = {
    "wordpiece": models.WordPiece({"[UNK]": 0, "speaker": 1, "speak": 2, "##er": 3}, unk_token="[UNK]"),
    "merges": models.BPE(MERGES, STEPS, unk_token="<unk>"),
    "ignore_merges": models.BPE(MERGES, STEPS[:5], unk_token="<unk>", ignore_merges=True),
    "unigram": models.Unigram(
        [("<unk>", 0.0), ("speaker", -1.0), ("speak", -2.0), ("er", -3.0)], unk_id=0, byte_fallback=False
    ),
}


@pytest.mark.parametrize("kind", SPEAKING)
def test_a_special_token_that_is_a_piece(kind: str) -> None:
    theirs = speaking(SPEAKING[kind])
    ours = Tokenizer.from_bytes(theirs.to_str().encode())
    for text in ("Speaker", "speaker", "a Speaker speaks", "speaker Speaker"):
        expected = theirs.encode(text).ids
        assert ours.encode(text, specials="all").ids.tolist() == expected
        assert ours.encode(text, specials={"speaker"}).ids.tolist() == expected
        special = ours.token_to_id("speaker")
        for none in (ours.encode(text), ours.encode(text, specials=set()), ours.encode_batch([text])):
            assert special not in none.ids
    assert ours.decode(ours.encode("Speaker").ids).replace(" ##", "").replace(" ", "") == "speaker"


def test_a_special_token_that_merging_by_rank_would_make(tmp_path: Path) -> None:
    import base64

    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc"]
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % id for id, t in enumerate(tokens)))
    plain = Tokenizer.from_tiktoken(path, pattern="o200k")
    ours = plain.with_specials(["abc"])
    assert plain.encode("abc").ids.tolist() == [257]
    assert ours.encode("abc").ids.tolist() == [256, 99]
    assert ours.encode("xabcx").ids.tolist() == [120, 256, 99, 120]
    assert ours.encode("abc", specials="all").ids.tolist() == [257]
    with pytest.raises(EncodeError, match="abc"):
        ours.encode("abc", specials="raise")


def test_raise_gives_what_none_gives() -> None:
    made = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1, " ": 2}, []))
    made.add_tokens(["ab"])
    made.add_special_tokens([tokenizers.AddedToken("ab b", single_word=True)])
    ours = Tokenizer.from_bytes(made.to_str().encode())
    # The special token is not alone, but hides the other one from the search for all.
    text = "ab ba"
    assert ours.encode(text, specials="raise").ids.tolist() == ours.encode(text).ids.tolist() == [3, 2, 1, 0]
    assert ours.encode(text, specials="all").ids.tolist() == made.encode(text).ids


def many_specials(n: int) -> Tokenizer:
    vocab = {name: id for id, name in enumerate(["a", "b", *(f"<{at}>" for at in range(n))])}
    added = [
        {"id": id, "content": name, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for name, id in list(vocab.items())[2:]
    ]
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    return Tokenizer.from_bytes(
        json.dumps({"version": "1.0", "added_tokens": added, "model": model}).encode()
    )


def test_a_set_of_many_names_is_ready_at_once() -> None:
    ours = many_specials(20_000)
    names = {f"<{at}>" for at in range(20_000)} - {"<7>"}
    text = "<1><7><19999>"
    assert ours.encode(text, specials=names).ids.tolist() == [3, 20001]
    start = time.process_time()
    for _ in range(20):
        ours.encode(text, specials=names)
    assert time.process_time() - start < 10  # 0.2 s; with one built for each call 1.7 s
    with pytest.raises(EncodeError, match=r"\"<0\"|'<00>'|<00>"):
        ours.encode(text, specials=names | {"<00>", "<01>"})


def test_sets_in_threads() -> None:
    ours = many_specials(200)
    sets = [{f"<{at}>", f"<{at + 1}>"} for at in range(30)]
    expected = [ours.encode("".join(names), specials=names).ids.tolist() for names in sets]
    wrong: list[object] = []

    def work() -> None:
        for _ in range(20):
            for names, ids in zip(sets, expected, strict=True):
                if sorted(ours.encode("".join(names), specials=names).ids.tolist()) != sorted(ids):
                    wrong.append(names)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
