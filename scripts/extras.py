"""Prints the requirements of extras of pyproject.toml, one a line.

`pip install -e .[dev]` would build the extension a second time; these are only what the extras name.
pip 23.2 knows no dependency groups.
"""

import sys
import tomllib
from pathlib import Path


def requirements(extras: list[str]) -> list[str]:
    """Returns the requirements of extras, each once."""
    project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text("utf-8"))
    named = project["project"]["optional-dependencies"]
    return list(dict.fromkeys(line for extra in extras for line in named[extra]))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
