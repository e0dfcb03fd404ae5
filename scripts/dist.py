"""`make dist`: the packages that an index gets, built, checked and tried. Uploads nothing.

    dist.py            sdist, wheel and crate into dist/
    dist.py --notes    prints the section of the version in CHANGELOG.md: the message of its tag
    dist.py --tag TAG  checks that the tag, the version, CHANGELOG.md and the files in dist/ agree

The sdist and the crate hold what git knows of their folders, and nothing else; the wheel holds the
Python files and the extension. Each is installed into an empty environment, from the index only what
it depends on, and trains a tokenizer there. .github/workflows/wheels.yml builds the wheels of other systems.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
TEXT = ROOT / "tests" / "data" / "corpus" / "pride-and-prejudice.txt"
# Files of git that go into the crate, and further ones of the sdist.
OF_CRATE = (
    "rust/*",
    "tests/rust/*",
    "benches/*.rs",
    "Cargo.toml",
    "Cargo.lock",
    "README.md",
    "CHANGELOG.md",
    "LICENSE-*",
)
OF_SDIST = (*OF_CRATE, "python/*", "pyproject.toml")
# Files that the tools add.
MADE_BY_CARGO = {"Cargo.toml.orig", ".cargo_vcs_info.json"}
MADE_BY_MATURIN = {"PKG-INFO"}


def version() -> str:
    """Returns the version that Cargo.toml states, which is also that of the Python package."""
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]["version"])


def is_described(changelog: str, version: str) -> bool:
    """Whether the changelog has a section of the version, or one of unreleased changes."""
    return re.search(rf"^## (Unreleased|{re.escape(version)}\b)", changelog, re.M) is not None


def notes(changelog: str, version: str) -> str:
    """Returns the section of a version, without `#` before headings, which git takes for comments.

    Raises:
        SystemExit: if there is none.
    """
    found = re.search(rf"^## {re.escape(version)}\b.*?(?=^## |\Z)", changelog, re.M | re.S)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section '## {version}'; rename '## Unreleased'")
    return re.sub(r"^#+ ", "", found[0].strip(), flags=re.M) + "\n"


def tag_problems(tag: str, version: str, changelog: str, packages: list[str]) -> list[str]:
    """Returns a line for each thing that does not fit the tag of a release.

    Args:
        tag: as pushed, such as `v1.2.0`.
        version: of Cargo.toml.
        changelog: the text of CHANGELOG.md.
        packages: the names of the files that would be published.
    """
    problems = []
    if tag != f"v{version}":
        problems.append(f"the tag is {tag}, and the version of Cargo.toml {version}; make one fit the other")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.M):
        problems.append(f"CHANGELOG.md has no section '## {version}'")
    if not packages:
        problems.append("dist/ has no packages")
    ours = (f"sentitok-{version}-", f"sentitok-{version}.tar.gz", f"sentitok-{version}.crate")
    return problems + [f"not of version {version}: {name}" for name in packages if not name.startswith(ours)]


def of_git(patterns: tuple[str, ...]) -> set[str]:
    """Returns the files of git that match one of the patterns; `*` matches across folders."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    files = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    found = {name for name in files if any(fnmatch(name, pattern) for pattern in patterns)}
    return {name for name in found if not (name.startswith("benches/") and name.count("/") > 1)}


def of_archive(sdist: Path) -> set[str]:
    """Returns the files of an sdist, without the folder that holds them all."""
    with tarfile.open(sdist) as archive:
        return {name.name.partition("/")[2] for name in archive.getmembers() if name.isfile()}


def of_cargo() -> set[str]:
    """Returns the files of the crate's package."""
    command = ["cargo", "package", "--list", "--allow-dirty", "--locked"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {line.replace("\\", "/") for line in done.stdout.splitlines()}


def of_wheel(wheel: Path) -> set[str]:
    """Returns the files of a wheel without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def differences(found: set[str], expected: set[str]) -> list[str]:
    """Returns a line for each file that is too much or missing."""
    return [f"not expected: {name}" for name in sorted(found - expected)] + [
        f"missing: {name}" for name in sorted(expected - found)
    ]


def build_sdist(folder: Path) -> Path:
    """Builds the sdist into a folder."""
    run(sys.executable, "-m", "maturin", "sdist", "--out", str(folder))
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def run(*command: str, cwd: Path = ROOT) -> None:
    print("$", " ".join(command), flush=True)
    subprocess.run(command, cwd=cwd, check=True)


def try_out(package: Path) -> None:
    """Installs a package into an empty environment, and trains there by import and by command."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", str(package))
        script = (
            "import sentitok, sys\n"
            "tokenizer = sentitok.train_bpe(sys.argv[1], vocab_size=1000)\n"
            "assert tokenizer.decode(tokenizer.encode('A gripping film.')) == 'A gripping film.'\n"
            "print(sentitok.__version__, tokenizer)\n"
        )
        run(python, "-c", script, str(TEXT), cwd=Path(folder))
        tokenizer = str(Path(folder) / "tokenizer.json")
        run(
            str(programs / "sentitok"), "train-bpe", str(TEXT), "--vocab", "1000", "-o", tokenizer,
            cwd=Path(folder),
        )  # fmt: skip
        # Without its extra `senti` says what to install.
        senti = [str(programs / "senti"), "--help"]
        told = subprocess.run(senti, cwd=folder, capture_output=True, text=True, check=False)
        if told.returncode != 1 or "sentitok[models]" not in told.stderr:
            raise SystemExit(f"{' '.join(senti)} does not name its extra: {told.stdout}{told.stderr}")


def main() -> int:
    if sys.argv[1:] == ["--notes"]:
        print(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version()), end="")
        return 0
    if sys.argv[1:2] == ["--tag"] and len(sys.argv) == 3:
        packages = sorted(path.name for path in OUT.iterdir()) if OUT.is_dir() else []
        changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
        problems = tag_problems(sys.argv[2], version(), changelog, packages)
        print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
        return 1 if problems else 0
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    if not is_described((ROOT / "CHANGELOG.md").read_text("utf-8"), version()):
        print(f"CHANGELOG.md has no section '## {version()}'; write what changed", file=sys.stderr)
        return 1
    shutil.rmtree(OUT, ignore_errors=True)
    sdist = build_sdist(OUT)
    # From the sdist, so that it is known to hold all that a build needs.
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(OUT), str(sdist))
    (wheel,) = OUT.glob("*.whl")
    run("cargo", "package", "--locked", "--allow-dirty", "--target-dir", str(ROOT / "target"))
    crate = ROOT / "target" / "package" / f"sentitok-{version()}.crate"
    shutil.copy(crate, OUT)
    python = {name.removeprefix("python/") for name in of_git(("python/*",))}
    extension = {name for name in of_wheel(wheel) if name.startswith("sentitok/_sentitok.")} - python
    wrong = [
        f"{package}: {line}"
        for package, lines in {
            sdist.name: differences(of_archive(sdist), of_git(OF_SDIST) | MADE_BY_MATURIN),
            wheel.name: differences(of_wheel(wheel), python | extension),
            crate.name: differences(of_cargo(), of_git(OF_CRATE) | MADE_BY_CARGO),
        }.items()
        for line in lines
    ]
    if wrong or len(extension) != 1:
        print("\n".join([*wrong, f"extensions in the wheel: {sorted(extension)}"]), file=sys.stderr)
        return 1
    run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
    try_out(wheel)
    try_out(sdist)
    for path in sorted(OUT.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
