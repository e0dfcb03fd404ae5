"""`senti serve`: one or several runs on a page."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sentitok.cli.serve import Host, MaxBytes, Port, ServerThreads, Timeout, limits_of, run_server

from .command import AsJson, Output, Quiet, Traceback, add
from .tables import Device, Windows, refuse_idle_windows

if TYPE_CHECKING:
    from sentitok.web import Application


def serve(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run directories, of classifiers or language models, or ensembles."
        ),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    max_bytes: MaxBytes = "1M",
    timeout: Timeout = 30,
    threads: ServerThreads = None,
    windows: Windows = False,
    device: Device = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Try runs on a page: probabilities, tokens and their effects as you type, continued texts.

    The page is for a browser on this machine and asks no other host. Its JSON API (docs/how-to/serve.md) can
    be called as well. Needs the extra web.
    """
    limits = limits_of(max_bytes, timeout, threads)
    import torch

    from sentitok.web import create_app

    from ..web import is_classifier, load_models, routes

    if windows:
        refuse_idle_windows([run for run in runs if is_classifier(run)])
    output = Output("senti.serve/1", as_json=as_json, quiet=quiet)

    def make(hosts: list[str] | None) -> "tuple[Application, list[str]]":
        # Requests share the processors: threads that wait for each other would cost more than they gain.
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // limits.threads))
        models = load_models(runs, device, windows=windows)
        return create_app(models, limits, more=routes, hosts=hosts), list(models)

    run_server(make, host, port, limits, output)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(app, "serve", serve, "senti serve runs/gpt", "senti serve runs/gpt runs/lstm --port 8100")
