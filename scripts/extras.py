"""Prints the requirements of extras of pyproject.toml, one a line.

`pip install -e .[dev]` would build the extension a second time; this installs
only what the extras name. pip 23.2 knows no dependency groups.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text("utf-8"))
extras = project["project"]["optional-dependencies"]
print("\n".join(dict.fromkeys(line for name in sys.argv[1:] for line in extras[name])))
