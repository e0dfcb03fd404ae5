"""Files made to be slow or large are loaded and used, or refused, in little time and memory.

The files and the steps are those of `benches/hostile_files.py`, which measures
them. Limits here are wide: quadratic work takes ten times as long.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from sentitok import FormatError, Tokenizer

BENCHES = Path(__file__).resolve().parents[2] / "benches"
SECONDS = 180
MEMORY = 4 << 30

ONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import hostile_files
from pathlib import Path
found = {}
for name, make in hostile_files.files(int(sys.argv[3])).items():
    job = hostile_files.write(Path(sys.argv[2]), name, make(), 50_000)
    found[name] = hostile_files.use(**job)
print(json.dumps(found))
"""


def run(folder: Path, n_bytes: int) -> dict[str, dict[str, float | str]]:
    """Uses all files in one process that is stopped if it does not end."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ONE, str(BENCHES), str(folder), str(n_bytes)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, float | str]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_no_small_file_takes_long(tmp_path: Path) -> None:
    found = run(tmp_path, 50_000)
    assert len(found) > 15
    for name, steps in found.items():
        assert float(steps["memory"]) < 200e6, (name, steps)
        assert "load" in steps, name


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_one_long_token_loads_in_linear_time(tmp_path: Path) -> None:
    """Ten megabytes of one token: hours where each of its cuts is looked up."""
    script = """
import base64, sys
from pathlib import Path
import sentitok
from sentitok.cli.output import peak_memory
every = [bytes([byte]) for byte in range(256)]
rows = [*every, b"ab" * 3_750_000]
path = Path(sys.argv[1]) / "x.tiktoken"
path.write_bytes(b"".join(base64.b64encode(row) + f" {rank}\\n".encode() for rank, row in enumerate(rows)))
rows.clear()
before = peak_memory()
tokenizer = sentitok.Tokenizer.from_tiktoken(path, "cl100k")
print((peak_memory() - before) / path.stat().st_size)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) < 10, "times the size of the file"


def test_an_own_file_with_an_empty_delimiter_is_refused() -> None:
    split = {"type": "Split", "pattern": {"String": "--"}, "behavior": "Removed", "invert": False}
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    file = {"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": model}
    own = Tokenizer.from_bytes(json.dumps(file).encode()).to_bytes()
    assert own.count(b'"text":"--"') == 1
    with pytest.raises(FormatError, match="the delimiter is empty"):
        Tokenizer.from_bytes(own.replace(b'"text":"--"', b'"text":""'))
