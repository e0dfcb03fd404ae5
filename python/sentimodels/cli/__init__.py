"""The command `senti`: classifiers on top of sentitok, one file per group of commands.

Not for work: each command is one or two calls into the library, and a page of
output. Nothing is imported here but what answers signals (`signals.py`): all else
comes after.
"""

from sentitok.cli.signals import listen

__all__ = ["main"]


def main() -> None:
    """Runs `senti`."""
    listen("senti")
    from sentitok.cli.process import run

    run(_main, "senti")


def _main() -> None:
    from .app import start

    start()
