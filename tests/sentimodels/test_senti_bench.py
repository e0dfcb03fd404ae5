"""`senti bench`: a row for each architecture that is asked for."""

import json
from pathlib import Path

import pytest

from labelled_reviews import write
from senti_in_process import senti


def test_each_architecture_has_a_row(tmp_path: Path) -> None:
    write(tmp_path / "reviews.csv", 60)
    call = ["bench", "reviews.csv", "--arch", "nb", "--arch", "cnn", "--steps", "2"]
    done = senti(*call, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["schema"] == "senti.bench/1"
    assert found["texts"] == 60
    assert [(row["arch"], row["preset"]) for row in found["results"]] == [("nb", None), ("cnn", "nano")]
    for row in found["results"]:
        assert min(row[key] for key in row if key.endswith("_per_s") or key in ("parameters", "bytes")) > 0
        assert 0 < row["latency_ms"] <= row["latency_p95_ms"]
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.csv"]


@pytest.mark.parametrize("option", ["--arch", "--preset"])
def test_an_unknown_name_is_refused(option: str, tmp_path: Path) -> None:
    done = senti("bench", option, "nothing-such", cwd=tmp_path)
    assert done.code == 2
    assert option in done.err
    assert "nothing-such" in done.err


def test_files_are_read_as_other_commands_read_them(tmp_path: Path) -> None:
    rows = [f"4,a fine film {n},pos,{n}\n5,a dull film {n},neg,\n6,no label {n},,\n" for n in range(20)]
    (tmp_path / "reviews.csv").write_text("stars,body,mood,note\n" + "".join(rows))
    call = ["bench", "reviews.csv", "--arch", "nb", "--text-column", "body", "--label-column", "mood"]
    done = senti(*call, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["texts"] == 40
