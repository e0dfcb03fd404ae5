"""Prints the requirements of an extra of pyproject.toml, one a line.

`pip install -e .[dev]` would build the extension a second time; this installs
only what the extra names. pip 23.2 knows no dependency groups.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text("utf-8"))
print("\n".join(project["project"]["optional-dependencies"][sys.argv[1]]))
