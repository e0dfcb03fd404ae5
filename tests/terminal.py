"""The commands on a terminal: what a person sees, where `commands.run` sees what a program gets."""

import os
import re
import struct
import time

from commands import environment, start

# What steers a terminal: colours, the cursor, the title.
STEERING = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")


def on_terminal(
    line: str,
    *,
    program: str = "sentitok",
    columns: int = 90,
    seconds: float = 180,
    cwd: object = None,
    variables: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Runs a command line on a terminal of so many columns; returns its code and all that it wrote."""
    import fcntl
    import pty
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {key: value for key, value in environment().items() if key not in ("COLUMNS", "LINES", "CI")}
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    until = time.monotonic() + seconds
    written = b""
    with start(
        line, program=program, cwd=cwd, env={**env, "TERM": "xterm-256color", **(variables or {})}, **streams
    ) as process:
        os.close(follower)
        try:
            while time.monotonic() < until:
                try:
                    part = os.read(leader, 1 << 16)
                except OSError:  # Linux says so where the other side has closed
                    break
                if not part:
                    break
                written += part
            code = process.wait(max(0.1, until - time.monotonic()))
        finally:
            process.kill()
            os.close(leader)
    return code, written.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """The output, without control codes of the terminal."""
    return STEERING.sub("", text)
