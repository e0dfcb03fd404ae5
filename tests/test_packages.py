"""What goes to a package index: the files of git that belong there, and no other.

The `slow` test builds all, installs each package into an empty environment and trains there.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dist

ROOT = Path(__file__).resolve().parent.parent

needs_git = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="git knows which files belong there"
)
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo lists the files")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("maturin", reason="maturin builds the sdist")
    return dist.build_sdist(tmp_path_factory.mktemp("sdist"))


@needs_git
@needs_cargo
def test_the_sdist_holds_the_files_of_git(sdist: Path) -> None:
    found = dist.of_archive(sdist)
    assert dist.differences(found, dist.of_git(dist.OF_SDIST) | dist.MADE_BY_MATURIN) == []
    assert {"rust/lib.rs", "python/sentitok/_sentitok.pyi", "LICENSE-MIT", "Cargo.lock"} <= found


@needs_git
@needs_cargo
def test_the_crate_holds_the_files_of_git() -> None:
    found = dist.of_cargo()
    assert dist.differences(found, dist.of_git(dist.OF_CRATE) | dist.MADE_BY_CARGO) == []


@needs_git
@needs_cargo
def test_what_lies_about_in_a_checkout_stays_there(tmp_path: Path) -> None:
    """Files with the names of ours deep in folders that git ignores, as virtual environments have them."""
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(checkout)], check=True)
    shutil.copy(ROOT / "Cargo.toml", checkout)
    for name in (".venv/lib/README.md", ".venv/LICENSE-MIT", "runs/rust/lib.rs", "python/sentitok/old.so"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("not ours\n")
    command = ["cargo", "package", "--list", "--allow-dirty", "--locked", "--offline"]
    listed = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout
    assert not [line for line in listed.splitlines() if line.startswith((".venv", "runs", "python"))]


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert dist.is_described(changelog, dist.version())
    assert dist.is_described("# Changelog\n\n## 1.2.0\n", "1.2.0")
    assert not dist.is_described("# Changelog\n\n## 1.2.0\n", "1.3.0")


def test_the_notes_of_a_tag_are_its_section() -> None:
    changelog = "# Changelog\n\n## 1.2.0 (today)\n\n### Added\n\n- A.\n\n## 1.1.0\n\n- B.\n"
    assert dist.notes(changelog, "1.2.0") == "1.2.0 (today)\n\nAdded\n\n- A.\n"
    assert dist.notes(changelog, "1.1.0") == "1.1.0\n\n- B.\n"
    with pytest.raises(SystemExit, match=r"no section '## 1\.3\.0'"):
        dist.notes(changelog, "1.3.0")


def test_a_tag_is_of_its_version() -> None:
    changelog = "# Changelog\n\n## 1.2.0 (today)\n"
    packages = ["sentitok-1.2.0-cp311-abi3-win_amd64.whl", "sentitok-1.2.0.tar.gz", "sentitok-1.2.0.crate"]
    assert dist.tag_problems("v1.2.0", "1.2.0", changelog, packages) == []
    assert len(dist.tag_problems("v1.3.0", "1.2.0", changelog, packages)) == 1
    assert len(dist.tag_problems("v1.3.0", "1.3.0", changelog, packages)) == 1 + len(packages)
    assert dist.tag_problems("v1.2.0", "1.2.0", changelog, []) == ["dist/ has no packages"]


@pytest.mark.slow
@needs_git
@needs_cargo
def test_packages_are_built_and_work() -> None:
    pytest.importorskip("twine", reason="twine checks what an index would show")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "dist.py")], check=True, timeout=3600)
