"""Files of a folder that begin with a byte order mark, or are not UTF-8.

transformers refuses a mark in JSON; tiktoken ignores it in a file of ranks.
"""

import codecs
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from sentitok import FormatError, Tokenizer

CHARACTERS = {"<unk>": 0, "a</w>": 1, "b</w>": 2, "a": 3, "b": 4}
TOKENIZER = {"added_tokens": [], "model": {"type": "BPE", "vocab": CHARACTERS, "merges": []}}
FILES = {
    "tokenizer.json": json.dumps(TOKENIZER),
    "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
    "special_tokens_map.json": "{}",
}
CLIP = {
    "vocab.json": json.dumps({"<|startoftext|>": 0, "<|endoftext|>": 1, "a</w>": 2, "a": 3}),
    "merges.txt": "#version: 0.2\n",
    "tokenizer_config.json": json.dumps({"tokenizer_class": "CLIPTokenizer"}),
}


def marked(text: str) -> bytes:
    return codecs.BOM_UTF8 + text.encode()


@pytest.mark.parametrize("files", [FILES, CLIP], ids=["tokenizer.json", "vocab.json"])
@pytest.mark.parametrize(
    ("encode", "expected"),
    [
        (marked, "EF BB BF"),
        (lambda text: text.encode("utf-16"), r"UTF-16 \(little-endian\)"),
        (lambda text: text.encode("utf-16-be"), r"UTF-16 \(big-endian\)"),
        (lambda text: codecs.BOM_UTF32_LE + text.encode("utf-32-le"), r"UTF-32 \(little-endian\)"),
    ],
    ids=["mark", "UTF-16", "UTF-16 without a mark", "UTF-32"],
)
def test_mark_and_encoding_are_named(
    files: dict[str, str], encode: Callable[[str], bytes], expected: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    for name, text in files.items():
        if len(text) < 4:
            continue
        (tmp_path / name).write_bytes(encode(text))
        with pytest.raises(FormatError, match=f"{name}.*{expected}"):
            Tokenizer.from_pretrained(tmp_path)
        (tmp_path / name).write_text(text, "utf-8")


def test_ranks_are_read_without_their_mark(tmp_path: Path) -> None:
    ranks = "".join(f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    plain, with_mark = tmp_path / "plain.tiktoken", tmp_path / "mark.tiktoken"
    plain.write_text(ranks)
    with_mark.write_bytes(marked(ranks))
    expected = Tokenizer.from_tiktoken(plain, "gpt2")
    assert Tokenizer.from_tiktoken(with_mark, "gpt2").fingerprint == expected.fingerprint
    load = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
    assert load(str(with_mark)) == load(str(plain))


def test_marks_of_chat_templates_stay(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "chat_template.jinja").write_bytes(marked("a\r\nb"))
    settings = Tokenizer.from_pretrained(tmp_path).settings
    assert settings is not None
    assert settings.chat_templates["default"] == "\ufeffa\nb"
