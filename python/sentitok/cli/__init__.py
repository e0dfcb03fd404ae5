"""The command `sentitok`: one file per group of commands.

Nothing is imported here but what answers signals (`signals.py`): all else comes after.
"""

from .signals import listen

__all__ = ["main"]


def main() -> None:
    """Runs the command line; `sentitok` is this."""
    listen("sentitok")
    from .process import run

    run(_main, "sentitok")


def _main() -> None:
    from .app import app

    app(prog_name="sentitok")
