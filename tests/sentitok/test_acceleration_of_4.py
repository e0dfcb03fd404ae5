"""`accelerate` with transformers 4: the checks of its calls and objects, in an environment with it.

The environment is `.venv/apart/transformers<5`, which `make test` sets up, or that of the Python
that SENTITOK_TRANSFORMERS_4 names. `versions.py` has the differences between 4 and 5.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sentitok

CHECKS = [
    str(Path(__file__).with_name(name)) for name in ("test_acceleration.py", "test_accelerated_objects.py")
]
APART = Path(sys.prefix) / "apart" / "transformers<5" / "bin" / "python"


# By default on two families: 4 and 5 differ in no way that belongs to a family.
@pytest.mark.parametrize("every", ["17", pytest.param("1", marks=pytest.mark.slow)])
def test_all_checks_pass_with_transformers_4(every: str) -> None:
    python = os.environ.get("SENTITOK_TRANSFORMERS_4") or str(APART)
    if not Path(python).exists():
        pytest.skip(f"no environment with transformers 4 ({python}): `make test` sets one up")
    package = Path(sentitok.__file__).resolve().parent.parent
    env = {**os.environ, "PYTHONPATH": str(package), "SENTITOK_EVERY_FAMILY": every}
    found = subprocess.run(
        [python, "-c", "from importlib.metadata import version; print(version('transformers'))"],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.startswith("4."), found.stdout
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *CHECKS],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
