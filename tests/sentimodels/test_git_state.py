"""What `run.json` says of the repository a run was started in."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sentimodels.runs.directory import git_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def test_the_commit_and_whether_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert git_state() is None  # no repository

    def git(*args: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *args], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    assert git_state() is None  # no commit
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-qm", "one")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "changed": False}
    (tmp_path / "untracked").write_text("two")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "changed": False}
    (tmp_path / "file").write_text("two")
    assert git_state() == {"commit": git("rev-parse", "HEAD"), "changed": True}
    monkeypatch.setenv("PATH", "")
    assert git_state() is None  # no git
