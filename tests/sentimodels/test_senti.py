"""The command `senti` without its extra."""

import subprocess
import sys

CODE = """
import sys
for name in ("torch",):
    sys.modules[name] = None
from sentimodels.cli import main
main()
"""


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert 'pip install "sentitok[models]"' in done.stderr
    assert "Traceback" not in done.stderr
