"""The effects of Ctrl-C and SIGTERM on a command, from its first line on.

While nothing is half done (modules are imported, arguments read, the process ends) a signal ends the process
immediately: an exception could come up in the midst of an import, which may swallow it or show it. While
a command works it is an exception, so that half-written files are taken away. Imports next to nothing,
because signals before its import are not covered.
"""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["INTERRUPTED", "STOPPED", "TerminatedError", "listen", "working"]

# Exit codes of the shell for a process that Ctrl-C or SIGTERM ended.
INTERRUPTED = 130
STOPPED = 143


class TerminatedError(BaseException):
    """SIGTERM came; no `Exception`, so that nothing handles it as its own error."""


_program = ""
_is_working = False
_raised: type[BaseException] | None = None


def listen(program: str) -> None:
    """Answers Ctrl-C and SIGTERM from now on.

    A signal that the parent process has set to be ignored stays ignored.

    Args:
        program: its name, for messages.
    """
    global _program
    _program = program
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)


class working:  # noqa: N801  # 2026-11-23: used like a function
    """While this lasts, a signal is an exception: there is something to tidy."""

    def __enter__(self) -> None:
        global _is_working, _raised
        _is_working, _raised = True, None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        global _is_working
        _is_working = False
        # Libraries make errors of their own of the exception: pydantic while it builds a schema, the
        # bindings of NumPy while they look it up.
        if _raised is not None and isinstance(error, Exception):
            raise _raised from error


def _on_interrupt(_: int, __: "FrameType | None") -> None:
    global _raised
    if not _is_working:
        _end("Ctrl-C", INTERRUPTED)
    _raised = KeyboardInterrupt
    raise KeyboardInterrupt


def _on_sigterm(_: int, __: "FrameType | None") -> None:
    global _raised
    if not _is_working:
        _end("SIGTERM", STOPPED)
    # A second one ends the process at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _raised = TerminatedError
    raise TerminatedError


def _end(by: str, code: int) -> None:
    """Ends the process without another line of Python."""
    try:
        os.write(2, f"{_program}: stopped by {by}\n".encode())
    except OSError:  # nobody hears it
        pass
    finally:
        os._exit(code)
