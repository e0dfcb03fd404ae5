"""Runs the blocks of docs/switching.md, in order, in one namespace."""

import re
from pathlib import Path

import pytest

import sentitok
import shared_data
from sentitok import names

PAGE_FILE = Path(__file__).resolve().parent.parent / "docs" / "switching.md"
PAGE = PAGE_FILE.read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


# 2026-11-23: those of transformers' own imports.
@pytest.mark.filterwarnings("ignore")
def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("torch", "transformers", "jinja2"):
        pytest.importorskip(library)
    repository, cache, empty = (tmp_path / name for name in ("sentitok", "cache", "empty"))
    repository.symlink_to(PAGE_FILE.parent.parent)
    for folder in (cache, empty):
        folder.mkdir()
    for file in (names._CL100K, names._O200K):
        (cache / file.cached_name).symlink_to(shared_data.folder() / "vocabs" / file.name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    monkeypatch.chdir(empty)
    assert len(BLOCKS) == 12
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, namespace)


def calls(column: int) -> list[str]:
    """The calls in a column of the page's tables."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [row[column] for row in rows if "`" in row[column]]
    return [call.replace("\\|", "|") for cell in cells for call in re.findall(r"`([^`]+)`", cell)]


def test_names_of_the_tables_are_there() -> None:
    """Each attribute of the right column is one of ours."""
    classes = {
        "tokenizer": sentitok.Tokenizer,
        "batch": sentitok.EncodingBatch,
        "batch[i]": sentitok.Encoding,
    }
    found = [
        (owner, name)
        for call in calls(1)
        for owner, name in re.findall(r"(tokenizer|batch\[i\]|batch)\.(\w+)", call)
    ]
    assert len(found) > 15
    for owner, name in found:
        assert hasattr(classes[owner], name), f"{owner}.{name}"


def rows_of(section: str) -> list[str]:
    """The rows of a section's table."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line for line in text.splitlines() if line.startswith("| `")]


def plain(value: object) -> object:
    """Arrays and batches as lists."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return [tuple(row) for row in value.tolist()] if value.ndim == 2 else value.tolist()
    return value.to_list() if isinstance(value, sentitok.EncodingBatch) else value


def test_calls_of_tokenizers_are_equal() -> None:
    """The table's left column gives what its right column does."""
    from sentitok.compat.tokenizers import BertWordPieceTokenizer

    text, pair = "The fox [SEP] owns 東京", "a house"
    trained = sentitok.train_wordpiece(
        texts=["the fox owns it, where is the house of the dog?"], vocab_size=120
    )
    tok = BertWordPieceTokenizer(trained.vocab())._tokenizer
    rows = [tok.encode(text).ids, [3, 7, 9]]
    values = {"tok": tok, "tokenizer": tok.sentitok, "text": text, "pair": pair, "texts": [text, "", "a b"]}
    lines = rows_of("tokenizers")
    assert len(lines) > 8
    for line in lines:
        left, right = (re.findall(r"`([^`]+)`", cell)[0] for cell in line.split("|")[1:3])
        scope = {**values, "rows": rows}
        assert plain(eval(left, dict(scope))) == plain(eval(right, dict(scope))), left


def test_calls_of_tiktoken_are_equal(tmp_path: Path) -> None:
    """The table's left column gives what its right column does."""
    from sentitok.compat import tiktoken

    text, texts, id = "hello <|endoftext|> world", ["a b", "", "naïve"], 50256
    ranks = shared_data.folder() / "vocabs" / "gpt2"
    tokenizer, enc = sentitok.get_encoding("gpt2", ranks), tiktoken.get_encoding("gpt2", ranks)
    rows = [[262], [id, 3]]
    values = {"tokenizer": tokenizer, "enc": enc, "text": text, "texts": texts, "id": id, "rows": rows}
    lines = rows_of("tiktoken")
    assert len(lines) > 8
    for line in lines:
        theirs, ours = (
            re.findall(r"`([^`]+)`", cell)[0].replace("\\|", "|").replace('b"..."', 'b"the"')
            for cell in re.split(r"(?<!\\)\|", line)[1:3]
        )
        if theirs in ("enc.encode(text)", "len(enc.encode(text))"):
            values["text"] = "hello world"
        left, right = eval(theirs, dict(values)), eval(ours, dict(values))
        values["text"] = text
        assert left == plain(right), theirs


def test_calls_of_sentencepiece_are_equal() -> None:
    """The table's left column gives what its right column does, for what is asked of a model."""
    import sentencepiece

    from sentitok.compat import sentencepiece as spm

    file = shared_data.folder() / "vocabs" / "t5" / "spiece.model"
    data = file.read_bytes()
    tokenizer = sentitok.Tokenizer.from_bytes(data)
    values = {
        "tokenizer": tokenizer,
        "SentencePieceModel": sentitok.SentencePieceModel,
        "data": data,
        "text": "a fox  日 <s>",
        "texts": ["a b", "", "naïve"],
        "ids": [262, 5, 3],
        "id": 262,
        "piece": "▁the",
    }
    asked = re.compile(r"\| `(sp\.(encode|decode|piece_to_id|id_to_piece|get_score|normalize)\(|len\(sp)")
    found = [line for line in PAGE.splitlines() if asked.match(line)]
    assert len(found) == 9
    for line in found:
        theirs, ours = (re.findall(r"`([^`]+)`", cell)[0] for cell in line.split("|")[1:3])
        right = plain(eval(ours, dict(values)))
        for library in (sentencepiece, spm):
            sp = library.SentencePieceProcessor(model_file=str(file))
            assert eval(theirs, {**values, "sp": sp}) == right, theirs
