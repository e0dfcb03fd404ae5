"""`git_state`: which commit a run was started at, for its `run.json`.

Not a way to get that commit back: a changed working tree is only said to be changed. Git is
asked for nothing but its state: no hook runs, no lock is taken, nothing is fetched.
"""

import os
import shutil
import subprocess
from typing import Any

__all__ = ["git_state"]

_SECONDS = 10


def git_state() -> dict[str, Any] | None:
    """Returns the commit of the working folder and whether tracked files differ from it.

    `None` where there is no git, no repository, or no commit.
    """
    commit = _git("rev-parse", "--verify", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    if commit is None or changed is None:
        return None
    return {"commit": commit, "changed": bool(changed)}


def _git(*args: str) -> str | None:
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *args]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
