"""Installs requirements into a Python of `.venv`: by uv, which needs seconds where pip needs minutes.

    install.py "maturin>=1.14,<2"                  # into the Python that runs this
    install.py --extras dev models                 # what extras of pyproject.toml name
    install.py --extras models --only torch        # of these, what begins so
    install.py --into OTHER/bin/python tokenizers

Where there is no uv (`make` leaves it out for some), or where it fails, pip installs. maturin builds and
installs the package itself.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec

from extras import requirements


def by(installer: list[str], wanted: list[str]) -> bool:
    """Runs an installer; returns whether it could."""
    return subprocess.run([*installer, "install", "--quiet", *wanted], check=False).returncode == 0


def install(python: str, wanted: list[str]) -> bool:
    """Installs by uv or else by pip; returns whether one could."""
    if find_spec("uv") is not None:
        if by([sys.executable, "-m", "uv", "pip"], ["--python", python, *wanted]):
            return True
        print("uv could not install these; pip tries", file=sys.stderr)
    return by([python, "-m", "pip", "--disable-pip-version-check"], wanted)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("requirement", nargs="*")
    parser.add_argument("--extras", nargs="+", default=[], metavar="EXTRA")
    parser.add_argument("--only", default="", metavar="PREFIX", help="what begins so, of the extras")
    parser.add_argument("--into", default=sys.executable, metavar="PYTHON")
    asked = parser.parse_args()
    named = [line for line in requirements(asked.extras) if line.startswith(asked.only)]
    sys.exit(0 if install(asked.into, [*asked.requirement, *named]) else 1)


if __name__ == "__main__":
    main()
