"""Files of word vectors: those of GloVe, and those of word2vec and fastText, which begin with two counts."""

from pathlib import Path
from typing import Any

import pytest

from sentimodels.errors import DataError
from sentimodels.runs.families import resolve
from sentimodels.runs.init_weights import fit_width_to_vectors
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


LINES = "film 0.5 -1 2e-3\nplot 1 2 3\n"


@pytest.mark.parametrize(
    ("text", "more", "width"),
    [
        (LINES, {}, 3),
        ("2 3\n" + LINES, {}, 3),
        (LINES, {"preset": "nano"}, 3),
        (LINES, {"model": {"d_model": 8}}, 8),
        (LINES, {"arch": "lstm"}, 3),
        ("", {}, None),
        ("film\n", {}, None),
        ("2 99999999999999999999\n", {}, None),
        ("2 2\n3 3\n", {}, None),
    ],
)
def test_a_model_is_as_wide_as_its_vectors(
    text: str, more: dict[str, Any], width: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "words.vec"
    path.write_text(text)
    given: dict[str, Any] = {"arch": "cnn", "data": {"train": "x.csv", "vectors": str(path)}, **more}
    own = resolve(given).model.plain()["d_model"]
    made = resolve(*fit_width_to_vectors(given)).model.plain()["d_model"]
    assert made == (own if width is None else width)


def test_others_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "words.vec").write_text(LINES)
    vectors = {"vectors": str(tmp_path / "words.vec")}
    for tree in ({"arch": "tfidf", "data": vectors}, {"arch": "cnn"}, {"data": vectors}, {"arch": "hf:x"},
                 {"arch": "cnn", "data": {"vectors": str(tmp_path / "none.vec")}}):  # fmt: skip
        assert fit_width_to_vectors(tree) == [tree]
