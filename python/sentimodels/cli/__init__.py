"""The command `senti`: classifiers on top of sentitok.

Its commands belong to the extra `models`; without what the extra installs, it
says what to type.
"""

import sys
from importlib.util import find_spec

__all__ = ["main"]

# What every command of `senti` needs, and the extra installs.
_NEEDED = ("torch", "pandas", "sklearn", "pydantic", "safetensors")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module blocked by an entry in sys.modules
        return False


def main() -> None:
    """Runs `senti`."""
    missing = [name for name in _NEEDED if not _installed(name)]
    if missing:
        print(f"senti: it needs {', '.join(missing)}; install the extra:", file=sys.stderr)
        print('  pip install "sentitok[models]"', file=sys.stderr)
    else:
        print("senti: this version of sentitok brings no model commands", file=sys.stderr)
    sys.exit(1)
