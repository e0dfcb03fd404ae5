"""The normalizers of tokenizer.json against tokenizers 0.23.3.

A byte-level model keeps every byte, so equal ids mean equal normalized text.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from oracles.normalizer_texts import code_points, odd_texts
from sentitok import Tokenizer


def bert(clean: bool, chinese: bool, strip: bool | None, lower: bool) -> dict[str, Any]:
    return {
        "type": "BertNormalizer",
        "clean_text": clean,
        "handle_chinese_chars": chinese,
        "strip_accents": strip,
        "lowercase": lower,
    }


def strip(left: bool, right: bool) -> dict[str, Any]:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


NORMALIZERS: dict[str, dict[str, Any]] = {
    **{name: {"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")},
    "Strip": strip(True, True),
    "Strip left": strip(True, False),
    "Strip right": strip(False, True),
    "bert, uncased": bert(True, True, None, True),
    "bert, cased": bert(True, True, None, False),
    "bert, accents only": bert(False, False, True, False),
    "bert, lower only": bert(False, True, False, True),
    "albert": {
        "type": "Sequence",
        "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
    },
}


@pytest.fixture(scope="module")
def saved(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level tokenizer on disk."""
    path = tmp_path_factory.mktemp("normalizers") / "tokenizer.json"
    tokenizer.save(path)
    return path


def agree(saved: Path, name: str, texts: list[str]) -> None:
    contents = json.loads(saved.read_text("utf-8"))
    contents["normalizer"] = NORMALIZERS[name]
    path = saved.with_name(f"{name}.json")
    path.write_text(json.dumps(contents), "utf-8")
    ours, theirs = Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(str(path))
    # tokenizers' encodings are large: those of a whole plane at once take gigabytes.
    for at in range(0, len(texts), 500):
        batch = texts[at : at + 500]
        for text, expected in zip(batch, theirs.encode_batch(batch, add_special_tokens=False), strict=True):
            assert ours.encode(text, add_special_tokens=False).ids.tolist() == expected.ids, text


@pytest.mark.parametrize("name", NORMALIZERS)
def test_code_points_and_odd_texts(saved: Path, name: str) -> None:
    agree(saved, name, [*code_points(811), *odd_texts(400)])


@pytest.mark.slow
@pytest.mark.parametrize("plane", range(17))
@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_code_point(saved: Path, name: str, plane: int) -> None:
    agree(saved, name, list(code_points(1, range(plane << 16, (plane + 1) << 16))))
