"""A byte order mark is not part of a file: settings, weights and pairs read the same with it and without."""

import json
from pathlib import Path

import pytest

from sentimodels.alignment.preferences import read_preferences
from sentimodels.config import AlignDataConfig
from sentimodels.data.opening import read_small
from sentimodels.errors import ConfigError, DataError
from sentimodels.runs.families import read_toml
from sentimodels.tasks.classification import read_weights

MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", "neg,1\npos,2\n"),
        ("w.csv", "label,weight\nneg,1\npos,2\n"),
        ("w.json", '{"neg": 1, "pos": 2}'),
        ("w.toml", "neg = 1\npos = 2\n"),
        ("w.toml", "[class_weights]\nneg = 1\npos = 2\n"),
    ],
)
def test_class_weights_may_begin_with_a_mark(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_bytes(MARK + content.encode())
    assert read_weights(str(path)) == {"neg": 1.0, "pos": 2.0}


def test_settings_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(MARK + b'arch = "bow"\n[train]\nseed = 3\n')
    assert read_toml(path) == {"arch": "bow", "train": {"seed": 3}}


def test_pairs_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(MARK + json.dumps({"prompt": "a", "chosen": " b", "rejected": " c"}).encode())
    pairs, _ = read_preferences(path, AlignDataConfig())
    assert pairs[0].prompt == "a"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_another_mark_is_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[train]", encoding)
    with pytest.raises(DataError, match=rf"run\.toml.*{encoding}.*UTF-8"):
        read_small(path)


def test_names_in_class_weights_become_labels_as_cells_do(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("1.0,1\nTRUE,2\n neu ,3\nN/A,4\n", "utf-8")
    assert read_weights(str(path)) == {"1": 1.0, "true": 2.0, "neu": 3.0, "N/A": 4.0}


def test_class_weights_between_semicolons_are_read(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("label;weight\nneg;1\npos;2.5\n")
    assert read_weights(str(path)) == {"neg": 1.0, "pos": 2.5}
    path.write_text("neg,1\npos\n")
    with pytest.raises(ConfigError, match=r"w\.csv.*'pos'"):
        read_weights(str(path))


def test_settings_in_another_encoding_have_their_place(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b'arch = "bow"\n# caf\xe9\n')
    with pytest.raises(DataError, match=r"run\.toml: byte 18 \(line 2\).*UTF-8"):
        read_small(path)
