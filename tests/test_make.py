"""What `make` builds for what, as `make -n` tells it: nothing is built here."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK, RELEASE = "maturin develop --profile quick", "maturin develop --release"
GLUE = "cargo test --quiet --locked --features python --lib --no-run"


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
    assert place(found, "cargo test --quiet --locked --test rust") < place(found, GLUE)
    assert place(found, QUICK) < 0
    assert place(lines("test", tmp_path), GLUE) >= 0


def test_the_quick_build_is_a_release_but_for_how_it_is_compiled() -> None:
    import tomllib

    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["profile"]
    assert profiles["quick"].pop("inherits") == "release"
    assert set(profiles["quick"]) == {"lto", "codegen-units"}
