"""`scripts/install.py`: by uv, by pip where uv is missing or fails. Nothing is installed here."""

import subprocess
import sys
from typing import Any

import pytest

import install

UV, PIP = ["uv", "pip"], ["pip", "--disable-pip-version-check"]
# (whether uv is there, failing installers, called installers, exit code)
CASES = [
    (True, [], [UV], 0),
    (True, ["uv"], [UV, PIP], 0),
    (False, [], [PIP], 0),
    (True, ["uv", "pip"], [UV, PIP], 1),
]


@pytest.mark.parametrize(("there", "failing", "expected", "code"), CASES)
def test_pip_installs_what_uv_does_not(
    there: bool, failing: list[str], expected: list[list[str]], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def run(call: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        calls.append(call)
        return subprocess.CompletedProcess(call, int(call[2] in failing))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(install, "find_spec", lambda _: there or None)
    monkeypatch.setattr(
        sys, "argv", ["install.py", "numpy", "--extras", "models", "--only", "torch", "--into", "other"]
    )
    with pytest.raises(SystemExit) as ended:
        install.main()
    assert ended.value.code == code
    assert [call[2:4] for call in calls] == expected
    for call in calls:
        assert call[0] == (sys.executable if "uv" in call else "other")
        assert call[-2] == "numpy"
        assert call[-1].startswith("torch>=")
