"""`create_app`: the page and its JSON, as an ASGI application.

Routes that every model answers are here; `more` adds further ones. `docs/how-to/serve.md` describes each of
them.
"""

import json
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from sentitok import SentitokError, __version__

from .body import Body, read_body
from .guard import Guard
from .limits import Limits
from .models import Model
from .work import Work

__all__ = ["Desk", "create_app", "json_response", "page_files"]

_KINDS = {".html": "text/html", ".css": "text/css", ".mjs": "text/javascript", ".svg": "image/svg+xml"}


class Desk:
    """The data of every route: the models by name, and the threads that work.

    Args:
        models: by name, at least one.
        work: the threads.

    Attributes:
        about: each model's description, by name.
    """

    def __init__(self, models: Mapping[str, Model], work: Work) -> None:
        self.models = models
        self.work = work
        # Asked once: a fingerprint of a large vocabulary takes longer than an answer.
        self.about = {name: model.about() for name, model in models.items()}

    def model(self, body: Body, answers: str) -> tuple[str, Model]:
        """Returns the model that a request names, or the first, and its name.

        Raises:
            HTTPException: if there is none, or it does not answer that.
        """
        name = body.name("model")
        if name is None:
            name = next(iter(self.models))
        if name not in self.models:
            raise HTTPException(404, f"model: no such model; there are {', '.join(self.models)}")
        about = self.about[name]
        if answers not in about["answers"]:
            raise HTTPException(400, f"model: {name} does not {answers}; it is a {about['kind']}")
        return name, self.models[name]

    def n_tokens(self, body: Body) -> int:
        """Takes how many tokens a request wants to see."""
        return body.whole("max_tokens", self.work.limits.tokens, 0, self.work.limits.tokens) or 0


def create_app(
    models: Mapping[str, Model],
    limits: Limits | None = None,
    *,
    more: Callable[[Desk], Iterable[BaseRoute]] | None = None,
    hosts: Collection[str] | None = None,
) -> ASGIApp:
    """Returns the application.

    Args:
        models: the models of the page, by name, at least one.
        limits: its limits; by default one request at a time for each processor.
        more: makes routes in addition to the ones of every model.
        hosts: names that requests may call the server by; `None`: any.
    """
    limits = limits or replace(Limits(), threads=os.cpu_count() or 1)
    work = Work(limits)
    desk = Desk(models, work)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        work.stop()

    routes = [
        *_page_routes(),
        Route("/api/health", _health),
        Route("/api/model", _about(desk)),
        Route("/api/tokenize", _tokenize(desk), methods=["POST"]),
        Route("/api/decode", _decode(desk), methods=["POST"]),
        *(more(desk) if more is not None else ()),
    ]
    handlers: Any = {HTTPException: _refused, Exception: _failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), hosts)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Returns a JSON answer."""
    return Response(json.dumps(value), status, dict(headers or {}), media_type="application/json")


def page_files() -> dict[str, bytes]:
    """Returns the files of the page, by name."""
    folder = files(__package__) / "page"
    return {entry.name: entry.read_bytes() for entry in sorted(folder.iterdir(), key=lambda one: one.name)}


def _page_routes() -> list[Route]:
    def of(data: bytes, kind: str) -> Callable[[Request], Response]:
        return lambda _: Response(data, media_type=kind)

    routes = []
    for name, data in page_files().items():
        path = "/" if name == "index.html" else f"/{name}"
        routes.append(Route(path, of(data, _KINDS["." + name.rpartition(".")[2]])))
    return routes


async def _health(_: Request) -> Response:
    return json_response({"status": "ok"})


def _about(desk: Desk) -> Callable[[Request], Any]:
    limits = desk.work.limits
    value = {
        "schema": "sentitok.web/1",
        "version": __version__,
        "models": [{"name": name, **about} for name, about in desk.about.items()],
        "limits": {
            "max_bytes": limits.max_bytes,
            "seconds": limits.seconds,
            "texts": limits.texts,
            "tokens": limits.tokens,
        },
    }

    async def about(_: Request) -> Response:
        return json_response(value)

    return about


def _tokenize(desk: Desk) -> Callable[[Request], Any]:
    async def tokenize(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "tokenize")
        text, most = body.text(), desk.n_tokens(body)
        body.end()
        began = time.perf_counter()
        answer = await desk.work.run(model.tokens, text, most)
        return json_response({"model": name, **answer, "ms": ms_since(began)})

    return tokenize


def _decode(desk: Desk) -> Callable[[Request], Any]:
    async def decode(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "decode")
        ids = body.ids(desk.work.limits.tokens)
        body.end()
        try:
            text = await desk.work.run(model.decode, ids)
        except (SentitokError, ValueError) as error:
            raise HTTPException(400, str(error)) from None
        return json_response({"model": name, "text": text})

    return decode


def ms_since(began: float) -> float:
    """Returns the milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - began) * 1000, 3)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return json_response({"error": error.detail}, error.status_code, error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    # The message may hold a text; `Guard` notes it, for Starlette raises it again.
    return json_response({"error": f"{type(error).__name__}; this is a bug of the server"}, 500)
