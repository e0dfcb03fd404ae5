"""The code of another commit in a folder of its own, to run beside today's, with today's extension.

Not for what is run there (`unchanged.py`, `before.py`).
"""

import shutil
import subprocess
from pathlib import Path

from result import ROOT

EXTENSION = Path("python/sentitok/_sentitok.abi3.so")


def add(folder: Path, commit: str) -> None:
    """Puts the code of a commit into a folder that is not there yet."""
    subprocess.run(["git", "-C", str(ROOT), "worktree", "prune"], check=True)
    subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "add", "-q", "--detach", str(folder), commit], check=True
    )
    shutil.copy(ROOT / EXTENSION, folder / EXTENSION)


def remove(folder: Path) -> None:
    """Removes such a folder."""
    subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(folder)], check=True)
