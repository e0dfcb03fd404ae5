"""Runs the recipes for Ray Data, Daft, Spark, datasets and datatrove: the same ids and counts as here.

Each page's Python is one script, which runs in a separate process and folder. Daft and Spark may be in
the environment `.venv/apart/engines`, which `make test` sets up, or in that of the Python that
SENTITOK_ENGINES names: Daft needs an older pyarrow.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sentitok
from pages import ROOT, blocks, commands, prepare, run_all
from sentitok.datasets import TokenDataset

pytestmark = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
CORPUS = ROOT / "tests" / "data" / "corpus"
# The smaller file is the first: Spark reads the larger one first.
FILES = ("udhr-23-languages.txt", "pride-and-prejudice.txt")
APART = os.environ.get("SENTITOK_ENGINES") or str(Path(sys.prefix) / "apart" / "engines" / "bin" / "python")
#: Seconds for a recipe: an engine that waits for a free CPU waits for ever.
LIMIT = 300
SETTINGS = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYSPARK_SUBMIT_ARGS": "--master local[2] --driver-memory 512m --conf spark.ui.enabled=false "
    # One compiler: the better one takes 9 of 27 s of processor time, which a short run does not gain back.
    "--conf spark.sql.shuffle.partitions=2 --driver-java-options -XX:TieredStopAtLevel=1 pyspark-shell",
    "SPARK_LOCAL_IP": "127.0.0.1",
}
START_RAY = """
import ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 * 1024**2, log_to_driver=False)
"""


@pytest.fixture(scope="module")
def texts() -> list[str]:
    lines = [(CORPUS / name).read_bytes().decode("utf-8").splitlines(keepends=True) for name in FILES]
    return [line for part in lines for line in part]


@pytest.fixture(scope="module")
def tokenizer(texts: list[str]) -> sentitok.Tokenizer:
    return sentitok.train_bpe(texts=texts, vocab_size=3000)


@pytest.fixture
def folder(tmp_path: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> Path:
    """A folder with what the pages start from."""
    import pyarrow as pa
    from pyarrow import parquet

    prepare(tmp_path)
    tokenizer.save(tmp_path / "tokenizer.json")
    (tmp_path / "corpus").mkdir()
    first = 0
    for number, name in enumerate(FILES):
        lines = (CORPUS / name).read_bytes().decode("utf-8").splitlines(keepends=True)
        table = pa.table({"id": range(first, first + len(lines)), "text": lines})
        parquet.write_table(table, tmp_path / "corpus" / f"{number}.parquet", row_group_size=2000)
        first += len(lines)
    assert first == len(texts)
    return tmp_path


def python_with(*packages: str) -> str:
    """The Python that has these packages: this one, or that of the engines' environment."""
    for python in (sys.executable, APART):
        test = f"from importlib.util import find_spec; assert all(map(find_spec, {packages}))"
        if Path(python).exists() and not subprocess.run([python, "-c", test], capture_output=True).returncode:
            return python
    pytest.skip(f"no Python with {' and '.join(packages)}; `make test` sets one up in {APART}")


def run_page(name: str, folder: Path, python: str, before: str = "") -> None:
    """Runs the Python of a page as one script."""
    script = folder / "job.py"
    script.write_text(
        "\n".join([before, *blocks(ROOT / "docs" / "how-to" / f"{name}.md", "python")]), "utf-8"
    )
    package = str(Path(sentitok.__file__).resolve().parent.parent)
    try:
        done = subprocess.run(
            [python, script.name],
            cwd=folder,
            env={**os.environ, **SETTINGS, "PYTHONPATH": package, "PYSPARK_PYTHON": python},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"{name}: not done after {LIMIT} s\n{str(error.stderr)[-4000:]}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]


def check_ids(table: Any, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    """Compares a table of `id` and `input_ids` with what `encode_batch` gives here."""
    rows = table.sort_by("id").to_pydict()
    assert rows["id"] == list(range(len(texts)))
    assert rows["input_ids"] == tokenizer.encode_batch(texts).to_list()
    if "attention_mask" in rows:
        assert rows["attention_mask"] == [[1] * len(ids) for ids in rows["input_ids"]]


def test_ray_data(folder: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    from pyarrow import parquet

    run_page("ray-data", folder, python_with("ray", "pyarrow"), START_RAY)
    check_ids(parquet.read_table(folder / "ids"), texts, tokenizer)


def test_daft(folder: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    from pyarrow import parquet

    run_page("daft", folder, python_with("daft", "pyarrow"))
    check_ids(parquet.read_table(folder / "ids"), texts, tokenizer)


@pytest.mark.slow  # half a minute of a processor
def test_spark(folder: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    from pyarrow import parquet

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    python = python_with("pyspark", "pandas", "pyarrow", "duckdb")
    run_page("spark", folder, python)
    check_ids(parquet.read_table(folder / "ids"), texts, tokenizer)
    counts, here = sentitok.WordCounts.load(folder / "corpus.counts"), sentitok.count(texts=texts)
    assert here is not None
    # All but the header, whose totals have no documents and bytes.
    assert counts.to_bytes().partition(b"\n")[2] == here.to_bytes().partition(b"\n")[2]
    assert counts.totals["pieces"] == here.totals["pieces"]
    trained = sentitok.Tokenizer.from_file(folder / "trained.json")
    assert trained.fingerprint == sentitok.train_bpe(texts=texts, vocab_size=8000).fingerprint


def test_hugging_face_datasets(folder: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    run_page("hugging-face-datasets", folder, python_with("datasets", "pyarrow"))
    ids = datasets.load_from_disk(folder / "ids").with_format(None)
    assert ids[:]["input_ids"] == tokenizer.encode_batch(texts).to_list()
    assert ids.column_names == ["input_ids", "attention_mask"]


def test_datatrove(folder: Path, texts: list[str], tokenizer: sentitok.Tokenizer) -> None:
    run_page("datatrove", folder, python_with("datatrove", "pyarrow"))
    ids = TokenDataset(folder / "ids")
    assert [one.tolist() for one in ids] == tokenizer.encode_batch(texts).to_list()
    page = ROOT / "docs" / "how-to" / "datatrove.md"
    run_all([one for block in blocks(page, "console") for one in commands(block)], folder)
    counted = sentitok.count(texts=texts)
    assert counted is not None
    assert (folder / "corpus.counts").read_bytes() == counted.to_bytes()
