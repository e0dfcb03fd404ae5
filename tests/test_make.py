"""What `make` builds for what, as `make -n` tells it: nothing is built here."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK, RELEASE = "maturin develop --locked", "maturin develop --release"
FEATURES = "cargo test --quiet --locked --features python --lib --no-run"


def lines(target: str, folder: Path) -> list[str]:
    """The commands of a target where nothing is set up yet."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make here")
    told = subprocess.run(
        [make, "-n", f"VENV={folder}", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return told.stdout.splitlines()


def place(found: list[str], what: str) -> int:
    """The line of a command; -1 where there is none."""
    return next((n for n, line in enumerate(found) if what in line), -1)


@pytest.mark.parametrize("target", ["demo", "test", "lint"])
def test_trying_and_testing_take_the_quick_build(target: str, tmp_path: Path) -> None:
    found = lines(target, tmp_path)
    assert place(found, QUICK) >= 0
    assert place(found, RELEASE) < 0


@pytest.mark.parametrize("target", ["bench", "test-slow", "release"])
def test_figures_are_of_the_release(target: str, tmp_path: Path) -> None:
    found = lines(target, tmp_path)
    assert 0 <= place(found, QUICK) < place(found, RELEASE)
    if target == "bench":
        assert place(found, RELEASE) < place(found, "benches/report.py")


def test_rust_tests_wait_for_no_build(tmp_path: Path) -> None:
    found = lines("test-rust", tmp_path)
    assert "cargo test --quiet --locked" in found
    assert place(found, QUICK) < 0
    assert place(found, "install.py") < 0
    assert place(lines("test", tmp_path), "cargo test --quiet --locked") >= 0


def test_the_unit_tests_with_all_features_are_in_continuous_integration(tmp_path: Path) -> None:
    assert place(lines("test-features", tmp_path), FEATURES) >= 0
    assert place(lines("test-slow", tmp_path), FEATURES) >= 0
    assert "make test-features" in (ROOT / ".ci" / "run").read_text("utf-8")


def profiles() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["profile"]
    return found


def test_the_quick_build_is_a_release_but_for_how_it_is_compiled() -> None:
    quick = profiles()["dev"]
    assert {key for key in ("lto", "codegen-units") if quick.pop(key) != profiles()["release"][key]}
    # What a release has by itself.
    release = {"opt-level": 3, "debug": False, "debug-assertions": False, "overflow-checks": False}
    assert quick == release


def test_tests_and_extension_share_what_they_depend_on() -> None:
    """A setting of the tests' profile that is for all crates would have each compiled once more."""
    tests = profiles()["test"]
    assert list(tests) == ["package"]
    assert list(tests["package"]) == ["sentitok"]
    assert tests["package"]["sentitok"]["debug-assertions"]
