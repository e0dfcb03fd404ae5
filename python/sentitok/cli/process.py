"""The streams and the end of the process that a command runs in.

A stream that is closed, full or not UTF-8 does not give a traceback.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ..messages import with_names
from .signals import INTERRUPTED, STOPPED, TerminatedError

__all__ = ["complain", "drop_stdout", "run", "stdin", "to_stdout"]


def run(app: Callable[[], object], program: str) -> None:
    """Runs a command line to the end of the process.

    Args:
        app: imports what it needs, parses `sys.argv` and ends by `SystemExit`.
        program: its name, for messages.
    """
    _open_missing()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):
            # 2026-11-23: stdout and stderr are files of text
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code: object = 0
    try:
        try:
            app()
        except SystemExit as end:
            code = end.code
        with to_stdout():
            sys.stdout.flush()
    except TerminatedError:
        complain(f"{program}: stopped by SIGTERM")
        drop_stdout()
        code = STOPPED
    except KeyboardInterrupt:
        complain(f"{program}: stopped by Ctrl-C")
        drop_stdout()
        code = INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
    except OSError as error:
        complain(f"{program}: {error.filename or 'stdout'}: {error.strerror or error}")
        drop_stdout()
        code = code or 1
    # Output that nobody could read is not another error when the process ends.
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(code)  # type: ignore[arg-type]  # 2026-11-23: what SystemExit held, it may hold again


def _open_missing() -> None:
    """Opens the standard streams that the parent process has closed.

    Otherwise the next file that is opened would be stdin, stdout or stderr to
    callers that read or write by number. Reading and writing fail as on a closed
    stream, except for stderr, whose output nobody would see.
    """
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            # 2026-11-23: open until the process ends
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def complain(text: str) -> None:
    """Says something on stderr, if anybody hears it."""
    with contextlib.suppress(OSError, ValueError):
        print(with_names(text), file=sys.stderr)


def stdin() -> BinaryIO:
    """Returns the bytes of stdin.

    Raises:
        OSError: if it is closed.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed; name a file, or give the text", "stdin")
    return sys.stdin.buffer


#: The longest text from stdin, in bytes, when no limit is named.
STDIN_BYTES = 1 << 28


def text_from_stdin(limit: int | None = None) -> bytes:
    """Reads all of stdin, of at most `limit` bytes.

    Raises:
        OSError: if it is closed.
        FormatError: if there is more.
    """
    limit = STDIN_BYTES if limit is None else limit
    data = stdin().read(limit + 1)
    if len(data) > limit:
        from sentitok import FormatError

        raise FormatError(
            f"stdin: the text is longer than {limit} bytes, the most that is held at once; "
            "name a file and an output (sentitok encode FILE -o DIR), or give less at a time"
        )
    return data


@contextlib.contextmanager
def to_stdout() -> Iterator[None]:
    """Lets a failure to write name stdout, and be the last one.

    Raises:
        BrokenPipeError: if nobody reads any more.
        OSError: if it is full or closed.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        raise OSError(error.errno, error.strerror, "stdout") from error


def drop_stdout() -> None:
    """Discards output that is still buffered: Python flushes at its exit, and would complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
