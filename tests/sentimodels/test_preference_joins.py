"""Where a prompt and an answer join: the ids of pairs decode to the text that the file holds."""

import json
import random
from pathlib import Path

import pytest

from sentimodels.alignment.preferences import encode_pairs, read_preferences
from sentimodels.config import AlignDataConfig
from sentimodels.errors import DataError
from sentitok import Tokenizer, train_bpe, train_unigram, train_wordpiece

TEXTS = ["it was a dark night and the man went to the house by the sea with his dog , and then :"] * 50
LOSSLESS = {
    "bpe": train_bpe(texts=TEXTS, vocab_size=320),
    "unigram": train_unigram(texts=TEXTS, vocab_size=60),
}


def write(path: Path, pairs: list[tuple[str, str, str]]) -> Path:
    names = ("prompt", "chosen", "rejected")
    lines = [json.dumps(dict(zip(names, pair, strict=True))) for pair in pairs]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def encoded(path: Path, tokenizer: Tokenizer) -> list[tuple[list[int], list[int], list[int]]]:
    data = AlignDataConfig()
    pairs, table = read_preferences(path, data)
    rows = encode_pairs(pairs, table, tokenizer, data, end=None, ends=False, context=None)
    return list(zip(rows.prompts, rows.chosen, rows.rejected, strict=True))


@pytest.mark.parametrize("name", LOSSLESS)
def test_joined_ids_decode_to_the_joined_text(tmp_path: Path, name: str) -> None:
    tokenizer, drawn = LOSSLESS[name], random.Random(7)

    def text() -> str:
        words = [drawn.choice(TEXTS[0].split()) for _ in range(drawn.randint(1, 4))]
        return (
            drawn.choice(["", " ", "  "]) + " ".join(words)[drawn.randint(0, 2) :] + drawn.choice(["", " "])
        )

    pairs = [(f"it {text()}", text() + "s", text() + "a") for _ in range(300)]
    pairs = [(prompt.lstrip(), one, other) for prompt, one, other in pairs if one != other]
    rows = encoded(write(tmp_path / "p.jsonl", pairs), tokenizer)
    alone = 0
    for (prompt, chosen, rejected), (before, one, other) in zip(pairs, rows, strict=True):
        assert tokenizer.decode([*before, *one]) == prompt + chosen
        assert tokenizer.decode([*before, *other]) == prompt + rejected
        own = tokenizer.encode(prompt, add_special_tokens=False).ids.tolist()
        assert own[: len(before)] == before
        alone += own == before
    assert alone > 0.5 * len(pairs)  # most prompts are read as a policy reads them


def test_an_answer_that_begins_with_a_blank_gets_one(tmp_path: Path) -> None:
    pair = ("it was a", " dark night", " the sea")
    for tokenizer in (*LOSSLESS.values(), train_wordpiece(texts=TEXTS, vocab_size=100)):
        [(prompt, chosen, _)] = encoded(write(tmp_path / "p.jsonl", [pair]), tokenizer)
        assert tokenizer.decode([*prompt, *chosen]) == "it was a dark night"


@pytest.mark.parametrize("answer", ["", " ", "\t\n"])
def test_empty_and_blank_answers_are_refused(tmp_path: Path, answer: str) -> None:
    path = write(tmp_path / "p.jsonl", [("a", "b", "c"), ("a", answer, "c")])
    with pytest.raises(DataError, match=r"line 2: chosen is empty"):
        read_preferences(path, AlignDataConfig())


def test_equal_answers_are_counted_and_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", [("a", "b", "c"), ("a", "b", "b"), ("a", "c", "c")])
    with pytest.raises(DataError, match=r"line 2: chosen and rejected are equal.*2 of 3 pairs"):
        read_preferences(path, AlignDataConfig())


def test_answers_with_the_same_tokens_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", [("it was", " a dark", " a  dark")])
    with pytest.raises(DataError, match=r"line 1: chosen and rejected have the same tokens"):
        encoded(path, train_wordpiece(texts=TEXTS, vocab_size=100))
