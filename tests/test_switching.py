"""Runs the blocks and rows of the pages for users of other libraries: docs/how-to/from-*.md and switch.md.

The blocks of a page run in order, in one namespace. Of a row, both calls are made and their results
compared. `tests/sentitok/test_compat_*.py` test the rest of `compat`.
"""

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentitok
import shared_data
from sentitok import names
from sentitok.compat import sentencepiece as our_sentencepiece
from sentitok.compat import tiktoken as our_tiktoken
from sentitok.compat.tokenizers import Tokenizer as OurTokenizer

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "data" / "corpus" / "sherlock-holmes.txt"
TEXTS = ["the fox owns it", "where is the house of the dog?", "", "naïve 東京"]
PAGES = {
    "switch.md": 2,
    "from-tiktoken.md": 2,
    "from-tokenizers.md": 4,
    "from-sentencepiece.md": 3,
    "from-transformers.md": 7,
}


def text_of(page: str) -> str:
    return (ROOT / "docs" / "how-to" / page).read_text("utf-8")


def rows_of(page: str, heading: str) -> list[tuple[str, str]]:
    """The first call in each of the two columns of the tables whose head begins with `heading`."""
    found = []
    for table in re.findall(rf"^\| {re.escape(heading)} \|.*\n\|---.*\n((?:\| .*\n)+)", text_of(page), re.M):
        for line in table.splitlines():
            cells = [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:3]]
            left, right = (re.findall(r"`([^`]+)`", cell)[0] for cell in cells)
            found.append((left, right))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the sources next to it and ranks in tiktoken's cache."""
    repository, cache, empty = (tmp_path / name for name in ("sentitok", "cache", "empty"))
    repository.symlink_to(ROOT)
    for made in (cache, empty):
        made.mkdir()
    for file in (names._CL100K, names._O200K):
        (cache / file.cached_name).symlink_to(shared_data.folder() / "vocabs" / file.name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
    monkeypatch.chdir(empty)
    return empty


# 2026-11-24: those of transformers' own imports.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(page: str, folder: Path) -> None:
    namespace: dict[str, object] = {}
    if page in ("switch.md", "from-transformers.md"):
        for library in ("torch", "transformers", "jinja2", "datasets"):
            pytest.importorskip(library)
        namespace["fast"] = sentitok.train_wordpiece(CORPUS, vocab_size=1000).to_transformers()
    blocks = re.findall(r"^```python\n(.*?)^```$", text_of(page), re.M | re.S)
    assert len(blocks) == PAGES[page]
    for block in blocks:
        exec(block, namespace)


def plain(value: Any) -> Any:
    """Arrays, batches and tensors as lists; places that are none as -1."""
    if isinstance(value, sentitok.EncodingBatch):
        return value.to_list()
    if isinstance(value, np.ndarray):
        return (
            [tuple(row) if value.shape[1] == 2 else row for row in value.tolist()]
            if value.ndim == 2
            else value.tolist()
        )
    if type(value).__module__ == "torch":
        return value.tolist()
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def outcome(call: str, namespace: dict[str, Any]) -> Any:
    """What a call gives; `ValueError` where it raises one."""
    try:
        return plain(eval(call, dict(namespace)))
    except ValueError:
        return ValueError


def same(theirs: str, ours: str, namespace: dict[str, Any]) -> Any:
    """Asserts that both calls give the same, and returns it."""
    left, right = outcome(theirs, namespace), outcome(ours, namespace)
    assert left == right, (theirs, ours)
    return left


def test_rows_of_tiktoken() -> None:
    ranks = shared_data.folder() / "vocabs" / "gpt2"
    values: dict[str, Any] = {
        "tokenizer": sentitok.get_encoding("gpt2", ranks),
        "enc": our_tiktoken.get_encoding("gpt2", ranks),
        "texts": TEXTS,
        "rows": [[262], [50256, 3]],
        "id": 50256,
    }
    rows = rows_of("from-tiktoken.md", "tiktoken")
    assert len(rows) == 10
    for theirs, ours in rows:
        left, right = (call.replace('b"..."', 'b"the"') for call in (theirs, ours))
        for text in ("hello <|endoftext|> world", "hello world"):
            same(left, right, {**values, "text": text})


def test_rows_of_tokenizers() -> None:
    import tokenizers

    data = sentitok.train_wordpiece(texts=TEXTS, vocab_size=120).to_hf().to_str()
    rows = rows_of("from-tokenizers.md", "tokenizers")
    assert len(rows) == 10
    for tok in (tokenizers.Tokenizer.from_str(data), OurTokenizer.from_str(data)):
        for text in ("The fox [SEP] owns 東京", ""):
            values: dict[str, Any] = {"tok": tok, "text": text, "pair": "a house", "texts": [text, *TEXTS]}
            values["tokenizer"] = sentitok.Tokenizer.from_bytes(data.encode())
            values["rows"] = [tok.encode(text).ids, [3, 7, 9]]
            for theirs, ours in rows:
                same(theirs, ours, values)


def test_rows_of_sentencepiece() -> None:
    file = shared_data.folder() / "vocabs" / "t5" / "spiece.model"
    data = file.read_bytes()
    values: dict[str, Any] = {
        "tokenizer": sentitok.Tokenizer.from_bytes(data),
        "SentencePieceModel": sentitok.SentencePieceModel,
        "data": data,
        "text": "a fox  日 <s>",
        "texts": TEXTS,
        "ids": [262, 5, 3],
        "id": 262,
        "n": 4,
        "alpha": 0.1,
        "seed": 3,
        "piece": "▁the",
    }
    rows = rows_of("from-sentencepiece.md", "sentencepiece")
    assert len(rows) == 13
    for library in ("sentencepiece", "sentitok.compat.sentencepiece"):
        sp = importlib.import_module(library).SentencePieceProcessor(model_file=str(file))
        for theirs, ours in rows:
            namespace = {**values, "sp": sp}
            if "sample" in theirs:  # drawn: each spells the text
                left, right = eval(theirs, namespace), eval(ours, namespace)
                assert sp.decode(left) == sp.decode(right.tolist()), theirs
            elif "nbest" in theirs:
                ways = eval(ours, namespace)
                assert eval(theirs, namespace) == [way.tolist() for way, _ in ways], theirs
            elif "proto" in theirs:
                written = sentitok.Tokenizer.from_bytes(eval(ours, namespace))
                assert written.vocab() == values["tokenizer"].vocab()
            else:
                same(theirs, ours, namespace)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_rows_of_sentencepiece_training(kind: str, folder: Path) -> None:
    """Each option gives the pieces of its counterpart, and for `bpe` those of sentencepiece itself."""
    import sentencepiece

    lines = CORPUS.read_text("utf-8").splitlines()[:400]
    Path("corpus.txt").write_text("\n".join([*lines, "in 1895 and 221, ÿ"]) + "\n", "utf-8")
    train = sentitok.train_bpe if kind == "bpe" else sentitok.train_unigram
    rows = rows_of("from-sentencepiece.md", "`SentencePieceTrainer.train`")
    assert len(rows) == 24
    for theirs, ours in [("", ""), *rows]:
        if kind == "bpe" and re.match("seed_|shrinking|num_sub|hard", theirs):
            continue
        asked: dict[str, Any] = {"normalizer": sentitok.Normalizer.sentencepiece("nmt_nfkc")}
        asked |= eval(f"dict({ours})", {"Normalizer": sentitok.Normalizer})
        size = 500
        tokenizer = train("corpus.txt", vocab_size=size, method="sentencepiece", **asked)
        pieces = [tokenizer.id_to_token(id) for id in range(tokenizer.vocab_size)]
        libraries = [our_sentencepiece] + [sentencepiece] * (kind == "bpe")
        for library in libraries:
            options: dict[str, Any] = eval(f"dict({theirs})")
            library.SentencePieceTrainer.train(
                input="corpus.txt",
                model_prefix="m",
                vocab_size=size,
                model_type=kind,
                minloglevel=2,
                **options,
            )
            sp = library.SentencePieceProcessor(model_file="m.model")
            assert pieces == [sp.id_to_piece(id) for id in range(len(sp))], (library.__name__, theirs)


# 2026-11-24: those of transformers' own imports.
@pytest.mark.filterwarnings("ignore")
def test_rows_of_transformers(folder: Path) -> None:
    for library in ("torch", "transformers", "jinja2"):
        pytest.importorskip(library)
    from transformers import AutoTokenizer

    trained = sentitok.train_wordpiece(CORPUS, vocab_size=1000)
    trained.save_pretrained("model")
    shutil.copytree("model", "saved")
    tokenizer = sentitok.Tokenizer.from_pretrained("model")
    values: dict[str, Any] = {
        "tok": AutoTokenizer.from_pretrained("model"),
        "AutoTokenizer": AutoTokenizer,
        "sentitok": sentitok,
        "tokenizer": tokenizer,
        "texts": ["who owns it?", "where is the house of the fox and of the dog?"],
        "pairs": ["The fox owns the dog. " * 9, "it is in the house"],
        "words": ["Who", "owns", "it?"],
        "template": "{% for m in messages %}[CLS] {{ m.content }} [SEP] {% endfor %}",
        "messages": [{"role": "user", "content": "is it [SEP] the fox?"}],
        "rows": [[2, 40, 41, 3], []],
        "ids": [2, 40, 41, 3],
        "n": 24, "s": 3, "i": 1, "char": 7, "token": 2, "word": 1, "pad": "[SEP]",
    }  # fmt: skip
    rows = rows_of("from-transformers.md", "transformers")
    assert len(rows) == 29
    for theirs, ours in rows:
        if " = " in theirs:
            exec(theirs, values)
            exec(ours, values)
            continue
        left, right = (plain(eval(call, values)) for call in (theirs, ours))
        if "word_ids" in theirs or "sequence_ids" in theirs:
            left = [-1 if place is None else place for place in left]
        elif "from_pretrained" in theirs:
            left, right = left(TEXTS)["input_ids"], right.encode_batch(TEXTS).to_list()
        elif "save_pretrained" in theirs:
            assert {Path(file).name for file in left} <= {path.name for path in Path("saved").iterdir()}
            continue
        elif "to_chars" in theirs or "to_tokens" in theirs:
            left, right = tuple(left), tuple(right)
        elif isinstance(right, list) and right and left != right:  # one array for all rows
            left = [part for row in left for part in row]
        assert left == right, (theirs, ours)
