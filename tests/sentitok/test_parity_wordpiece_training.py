"""Training WordPiece by frequency against tokenizers, id for id, over the shared data.

tokenizers numbers the symbols with `##` in the order of a hash map, and these
ids decide ties: two runs of it may give different tokens. Given these symbols
as special tokens, in order, it gives one result, and that is compared. Left to
itself it is run in separate processes, as each has another order.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Reference
from tokenizers import models, pre_tokenizers, trainers

import sentitok
import shared_data

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CORPORA = [
    "aozora-wagahai-ja.txt.xz",
    "c4-en-1000.jsonl.xz",
    "gutenberg-2600-war-and-peace.txt.xz",
    "gutenberg-botchan-en.txt.xz",
    "gutenberg-sherlock.txt.xz",
    "shakespeare-sonnets.txt.xz",
    "tinyshakespeare.txt.xz",
    "wikitext-2.test.txt.xz",
    "zh-news",
    "declarations",
    "python",
]


def text_of(name: str) -> str:
    match name:
        case "zh-news":
            text = shared_data.text("zh-news", "peoples-daily-1998-01.txt.xz")[:400_000]
        case "declarations":
            text = "\n".join(shared_data.declarations())
        case "python":
            text = "\n".join(shared_data.python_code())[:2_000_000]
        case _:
            text = shared_data.text("corpora", name)
    return text.removeprefix("\ufeff")


def ours(path: Path, **options: Any) -> list[str]:
    tokenizer = sentitok.train_wordpiece(
        path, score="frequency", normalizer="none", pre_tokenizer="bert", format="lines", **options
    )
    vocab = tokenizer.vocab()
    return sorted(vocab, key=vocab.__getitem__)


def theirs(path: Path, **options: Any) -> list[str]:
    reference = Reference(models.WordPiece(unk_token="[UNK]"))
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    reference.train([str(path)], trainers.WordPieceTrainer(show_progress=False, **options))
    ids = reference.get_vocab()
    return sorted(ids, key=ids.__getitem__)


# By default a part of a text, which the reference splits slowly.
@pytest.mark.parametrize("most", [60_000, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CORPORA)
def test_ids_are_those_of_tokenizers(name: str, most: int | None, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    text = text_of(name)[:most]
    corpus.write_bytes(text.encode())
    words = [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    alphabet = sorted(set("".join(words)))
    continuing = ["##" + c for c in sorted({c for word in words for c in word[1:]})]
    special_tokens = [*SPECIALS, *alphabet, *continuing]
    for more, min_frequency in [(1000, 0), (4000, 2)]:
        options: dict[str, Any] = {
            "vocab_size": len(special_tokens) + more,
            "min_frequency": min_frequency,
            "special_tokens": special_tokens,
        }
        assert ours(corpus, **options) == theirs(corpus, **options)


ONE_RUN = """
import json, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
from test_parity_wordpiece_training import SPECIALS, theirs
tokens = theirs(Path(sys.argv[2]), vocab_size=int(sys.argv[3]), special_tokens=SPECIALS)
print(json.dumps(sorted(tokens)))
"""


@pytest.mark.parametrize(
    ("name", "vocab_size"),
    [
        # Not Python's own library: it is another text in each release.
        ("tinyshakespeare.txt.xz", 800),
        pytest.param("wikitext-2.test.txt.xz", 2240, marks=pytest.mark.slow),
        pytest.param("c4-en-1000.jsonl.xz", 2190, marks=pytest.mark.slow),
        pytest.param("gutenberg-2600-war-and-peace.txt.xz", 500, marks=pytest.mark.slow),
    ],
)
def test_tokens_are_theirs_where_theirs_are_always_the_same(
    name: str, vocab_size: int, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(text_of(name).encode())
    paths = json.dumps([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", ONE_RUN, paths, str(corpus), str(vocab_size)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(4)
    ]
    assert all(run == runs[0] for run in runs), "these are sizes at which no tie is cut"
    assert sorted(ours(corpus, vocab_size=vocab_size, special_tokens=SPECIALS)) == runs[0]
