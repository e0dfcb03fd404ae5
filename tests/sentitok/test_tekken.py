"""tekken.json of Mistral: ids and text are those of mistral-common, whose engine is tiktoken.

mistral-common itself pins an older NumPy than ours, so it is used where it is installed, and tiktoken with
its layout of ids everywhere.
"""

import base64
import importlib
import importlib.util
import json
import random
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from cli_runs import Done, run_inside
from conftest import CORPUS
from sentitok import FormatError, PreTokenizer, Tokenizer, train_bpe

TEXT = CORPUS / "sherlock-holmes.txt"
TEKKEN = PreTokenizer("tekken").pattern
NAMES = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
TEXTS = [
    "",
    "The fox, isn't it? IT'LL do 12345 things/\n\n  naïve — 10/10",
    "[INST]<s>plain</s> <SPECIAL_7>",
    "日本語 हिन्दी 😀‍🔥 é é\r\n\t x",
    "a" * 300 + " " * 50,
]


@pytest.fixture(scope="module")
def tokens() -> list[bytes]:
    """The 256 bytes in order, then tokens trained on a text."""
    trained = train_bpe(TEXT, vocab_size=1200, pre_tokenizer=PreTokenizer("tekken"))
    vocab = [trained.id_to_bytes(id) or b"" for id in range(trained.vocab_size)]
    return [*(bytes([byte]) for byte in range(256)), *(token for token in vocab if len(token) > 1)]


def file_of(
    tokens: list[bytes],
    *,
    names: list[str] | None = NAMES,
    n_specials: int = 10,
    cut: int = 0,
    pattern: str | None = TEKKEN,
    version: str = "v7",
) -> dict[str, Any]:
    def text(token: bytes) -> str | None:
        try:
            return token.decode()
        except UnicodeDecodeError:
            return None

    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text(token)}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": pattern,
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) - cut + n_specials,
        "default_num_special_tokens": n_specials,
        "version": version,
    }
    file: dict[str, Any] = {"config": config, "vocab": vocab}
    if names is not None:
        file["special_tokens"] = [
            {"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)
        ]
    return file


CASES: list[dict[str, Any]] = [
    {},
    {"cut": 300},
    {"names": None, "n_specials": 1000, "version": "v3"},
    {"names": NAMES, "n_specials": len(NAMES)},
    {"names": [], "n_specials": 0},
    {"pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+|."},
    {"pattern": r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+|\s+|[^\s\p{L}]+"},
    {"version": "v13"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ids_are_those_of_mistral_common(case: dict[str, Any], tokens: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    file = file_of(tokens, **case)
    path.write_text(json.dumps(file), "utf-8")
    ours = Tokenizer.from_file(path)
    n = file["config"]["default_num_special_tokens"]
    kept = tokens[: file["config"]["default_vocab_size"] - n]
    ranks = {token: rank for rank, token in enumerate(kept)}
    theirs = tiktoken.Encoding(
        "tekken", pat_str=file["config"]["pattern"], mergeable_ranks=ranks, special_tokens={}
    )
    assert ours.vocab_size == len(kept) + n
    for text in [*TEXTS, TEXT.read_text("utf-8")[:20_000]]:
        ids = [id + n for id in theirs.encode(text)]
        assert ours.encode(text).ids.tolist() == ids
        assert ours.decode(ids) == text
    for name in case.get("names") or []:
        assert ours.encode(name, specials="all").ids.tolist() == [(case.get("names") or []).index(name)]
    if n > len(NAMES):
        assert ours.id_to_token(n - 1) == f"<SPECIAL_{n - 1}>"
    assert Tokenizer.from_file(tmp_path) == Tokenizer.from_pretrained(tmp_path) == ours
    with pytest.warns(UserWarning, match=r"config\.version"):
        ours.save(tmp_path / "again.json", "tekken.json")
    assert Tokenizer.from_file(tmp_path / "again.json") == ours


@pytest.mark.skipif(
    importlib.util.find_spec("mistral_common") is None,
    reason="mistral-common is not installed: it pins NumPy below 2.4",
)
def test_mistral_common_reads_what_is_written(tokens: list[bytes], tmp_path: Path) -> None:
    tekken = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    data = Path(str(tekken.__file__)).parents[2] / "data"
    mine = tmp_path / "tekken.json"
    mine.write_text(json.dumps(file_of(tokens)), "utf-8")
    for path in [mine, *sorted(data.glob("tekken*.json"))]:
        ours = Tokenizer.from_file(path)
        with pytest.warns(UserWarning, match=r"config\.version"):
            ours.save(tmp_path / "tekken.json")
        texts = [*TEXTS, TEXT.read_text("utf-8")[:200_000]]
        for theirs in (
            tekken.Tekkenizer.from_file(path),
            tekken.Tekkenizer.from_file(tmp_path / "tekken.json"),
        ):
            assert theirs.n_words == ours.vocab_size
            for text in texts:
                ids = theirs.encode(text, bos=False, eos=False)
                assert ours.encode(text).ids.tolist() == ids
                assert ours.decode(ids) == theirs.decode(ids)
            for id in range(theirs.num_special_tokens):
                assert ours.id_to_token(id) == theirs.id_to_piece(id)


def run(*arguments: str | Path) -> Done:
    return run_inside(*arguments, cwd=Path.cwd())


def test_convert_and_info(tokens: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(file_of(tokens)), "utf-8")
    there = run("convert", path, tmp_path / "tokenizer.json", "--verify", TEXT)
    assert there.code == 0, there.err
    back = run("convert", tmp_path / "tokenizer.json", tmp_path / "back.json", "--to", "tekken.json")
    assert back.code == 0, back.err
    assert Tokenizer.from_file(tmp_path / "back.json") == Tokenizer.from_file(path)
    # A rerun writes the same bytes; other files of Mistral are named so.
    for target in ("tekken.json", "tekken_240911.json"):
        again = run("convert", tmp_path / "tokenizer.json", tmp_path / target)
        assert again.code == (2 if target == "tekken.json" else 0), again.err
    again = run("convert", tmp_path / "tokenizer.json", tmp_path / "tekken_240911.json")
    assert again.code == 0, again.err
    assert (tmp_path / "tekken_240911.json").read_bytes() == (tmp_path / "back.json").read_bytes()
    info = json.loads(run("info", path, "--json").out)
    assert info["vocab_size"] == len(tokens) + 10


def test_damaged_files_are_read_or_refused(tokens: list[bytes]) -> None:
    """Cut, repeated and changed bytes; a panic would not be a FormatError."""
    draw = random.Random(5)
    content = json.dumps(file_of(tokens[:280])).encode()
    read = 0
    for _ in range(400):
        bad = bytearray(content)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(bad))
            end = at + draw.randrange(20)
            kind = draw.randrange(4)
            if kind == 0:
                bad[at] = draw.randrange(256)
            elif kind == 1:
                del bad[at:end]
            elif kind == 2:
                bad[at:at] = bad[at:end]
            else:
                bad[at:end] = draw.choice([b"-1", b"1e9", b"null", b'"', b"{}", b"[", b"99999999999"])
        try:
            tokenizer = Tokenizer.from_bytes(bytes(bad))
        except FormatError:
            continue
        tokenizer.encode("[INST]ab é", specials="all")
        read += 1
    assert read > 10
