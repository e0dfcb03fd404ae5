"""`sentitok serve`: compares tokenizers on a page.

Shared with `senti serve`: options, the extra that is needed, and the messages before
the server runs.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AnswerIsNoError, AsJson, Command, Quiet, Traceback, UsageError, examples, size
from .output import Output

if TYPE_CHECKING:
    from sentitok.web import Application, Limits

Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on; any but the default lets other machines connect.",
    ),
]
Port = Annotated[
    int, typer.Option("--port", min=0, metavar="N", help="Port to listen on; 0 picks a free one.")
]
MaxBytes = Annotated[
    str,
    typer.Option("--max-bytes", metavar="SIZE", help="Maximum size of a request, in bytes or such as 1M."),
]
Timeout = Annotated[
    int, typer.Option("--timeout", min=1, metavar="S", help="Maximum time to answer a request, in seconds.")
]
ServerThreads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        help="Number of requests handled at once. [default: the number of processors]",
    ),
]


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module blocked by an entry in sys.modules
        return False


def limits_of(max_bytes: str, timeout: int, threads: int | None) -> "Limits":
    """Returns the limits that the options set.

    Raises:
        AnswerIsNoError: if the extra is missing.
        UsageError: if a size is none.
    """
    import os

    missing = [name for name in ("starlette", "uvicorn") if not _installed(name)]
    if missing:
        raise AnswerIsNoError(
            f'the page needs {", ".join(missing)}; install the extra: pip install "sentitok[web]"'
        )
    from sentitok.web import Limits

    n_bytes = size(max_bytes, "--max-bytes")
    assert n_bytes is not None
    return Limits(max_bytes=n_bytes, seconds=float(timeout), threads=threads or os.cpu_count() or 1)


def run_server(
    make: "Callable[[list[str] | None], tuple[Application, list[str]]]",
    host: str,
    port: int,
    limits: "Limits",
    output: Output,
) -> None:
    """Takes the address, makes the application, says where it is, and serves until a signal.

    Args:
        make: loads models; takes the names the server may be called by, and returns the application
            and the names of the models.
        host: address to listen on.
        port: port to listen on.
        limits: how long a client may keep it waiting.
        output: where to say it.

    Raises:
        UsageError: if the address cannot be had.
    """
    import sys

    from sentitok.web.server import bind, hosts_of, is_loopback, serve, url_of

    try:
        bound = bind(host, port)
    except OSError as error:
        raise UsageError(str(error)) from error
    with bound:
        app, names = make(hosts_of(host, bound))
        if not is_loopback(bound):
            output.note("other machines can reach this address and use these models")
        url = url_of(bound)
        bound.listen()
        value: dict[str, Any] = {"url": url, "models": names}
        output.result(value, f"serving  {', '.join(names)}\nopen     {url}\nCtrl-C stops", url)
        sys.stdout.flush()
        serve(app, bound, limits.seconds)


def serve(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Tokenizer files.")],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    max_bytes: MaxBytes = "1M",
    timeout: Timeout = 30,
    threads: ServerThreads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show the tokens of your text on a page, of one tokenizer or of several.

    The page is for a browser on this machine and asks no other host.
    """
    limits = limits_of(max_bytes, timeout, threads)
    from sentitok.web import create_app, load_tokenizers

    output = Output("sentitok.serve/1", as_json=as_json, quiet=quiet)

    def make(hosts: list[str] | None) -> "tuple[Application, list[str]]":
        models = load_tokenizers(files)
        return create_app(models, limits, hosts=hosts), list(models)

    run_server(make, host, port, limits, output)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "serve",
        rich_help_panel="Check and serve",
        short_help="Show the tokens of your text on a page.",
        cls=Command,
        no_args_is_help=True,
        epilog=examples(
            "sentitok serve tokenizer.json",
            "sentitok serve tokenizer.json merged.json --port 8100",
        ),
    )(serve)
