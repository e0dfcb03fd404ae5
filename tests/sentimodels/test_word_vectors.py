"""Files of word vectors: those of GloVe, and those of word2vec and fastText, which begin with two counts."""

from pathlib import Path

import pytest

from sentimodels.errors import DataError
from sentimodels.text.encoder import vectors_for

GLOVE = "film 0.5 1\nthe -1 2\n"


@pytest.mark.parametrize("content", [GLOVE, f"2 2\n{GLOVE}", GLOVE.replace("\n", " \n")])
def test_vectors_of_tokens(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_text(content)
    table, found = vectors_for(tmp_path / "x.vec", ["", "film", "unknown", "the", "film"])
    assert found == 3
    assert table.tolist() == [[0, 0], [0.5, 1], [0, 0], [-1, 2], [0.5, 1]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no vectors"),
        ("2 2\n", "no vectors"),
        ("film\n", "line 1: expected a word and its numbers"),
        ("2 2\n3 3\n", "line 2: expected a word and its numbers"),  # only the first line may count
        ("film 1 2\nthe 1\n", "line 2 has 1 numbers, the first 2"),
    ],
)
def test_what_are_no_vectors(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_text(content)
    with pytest.raises(DataError, match=said):
        vectors_for(tmp_path / "x.vec", ["the"])
