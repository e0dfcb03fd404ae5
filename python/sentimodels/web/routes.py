"""Routes of runs: predict, predict batch, effects, generate.

A text that is written streams as one JSON object a line; it ends when nobody reads any more.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from sentitok import SentitokError
from sentitok.web.app import Desk, json_response, ms_since
from sentitok.web.body import Body, read_body

from ..errors import SentiError
from ..explain import EXPLAINERS
from ..generation.sampling import Sampling
from .models import Answering, Writing

__all__ = ["routes"]

# Tokens of one text at most, and runners-up of each.
_MAX_NEW_TOKENS = 4096
_MAX_LIKELY = 20


def routes(desk: Desk) -> list[BaseRoute]:
    """Returns the routes."""
    return [
        Route("/api/predict", _predict(desk), methods=["POST"]),
        Route("/api/predict/batch", _predict_batch(desk), methods=["POST"]),
        Route("/api/effects", _effects(desk), methods=["POST"]),
        Route("/api/generate", _generate(desk), methods=["POST"]),
    ]


def _predict(desk: Desk) -> Callable[[Request], Any]:
    async def predict(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "predict")
        assert isinstance(model, Answering)
        text, most = body.text(), desk.n_tokens(body)
        body.end()
        return await _answered(desk, name, model.predict, text, most)

    return predict


def _predict_batch(desk: Desk) -> Callable[[Request], Any]:
    async def predict_batch(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "predict")
        assert isinstance(model, Answering)
        texts = body.texts(desk.work.limits.texts)
        body.end()
        return await _answered(desk, name, model.predict_batch, texts)

    return predict_batch


def _effects(desk: Desk) -> Callable[[Request], Any]:
    async def effects(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "effects")
        assert isinstance(model, Answering)
        text, method = body.text(), body.name("method") or next(iter(EXPLAINERS))
        body.end()
        if method not in EXPLAINERS:
            raise HTTPException(400, f"method: expected {' or '.join(EXPLAINERS)}")
        return await _answered(desk, name, model.effects, text, method)

    return effects


def _generate(desk: Desk) -> Callable[[Request], Any]:
    async def generate(request: Request) -> Response:
        body = await read_body(request, desk.work.limits)
        name, model = desk.model(body, "generate")
        assert isinstance(model, Writing)
        text, asked = body.text(), _asked(body)
        began = time.perf_counter()
        pieces = await desk.work.run(_or_refusal, model.write, text, **asked)
        return StreamingResponse(_lines(desk, name, pieces, began), media_type="application/x-ndjson")

    return generate


async def _answered(desk: Desk, name: str, function: Callable[..., Any], *args: Any) -> Response:
    began = time.perf_counter()
    answer = await desk.work.run(_or_refusal, function, *args)
    return json_response({"model": name, **answer, "ms": ms_since(began)})


def _or_refusal(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Calls a function; what it refuses is a wrong request."""
    try:
        return function(*args, **more)
    except (SentiError, SentitokError) as error:
        raise HTTPException(400, str(error)) from None


def _asked(body: Body) -> dict[str, Any]:
    """Takes how a text is written."""
    max_new_tokens = body.whole("max_new_tokens", 128, 1, _MAX_NEW_TOKENS)
    temperature = body.number("temperature", 1.0, 0, 100)
    top_k = body.whole("top_k", None, 1, 1 << 31)
    top_p, min_p = body.number("top_p", None, 0, 1), body.number("min_p", None, 0, 1)
    penalty = body.number("repetition_penalty", 1.0, 0, 100)
    seed, n_likely = body.whole("seed", None, 0, 1 << 53), body.whole("n_likely", 5, 0, _MAX_LIKELY)
    begin = body.flag("begin")
    body.end()
    assert temperature is not None
    assert penalty is not None
    try:
        sampling = Sampling(temperature, top_k, top_p, min_p, penalty)
    except SentiError as error:
        raise HTTPException(400, str(error)) from None
    return {
        "sampling": sampling, "max_new_tokens": max_new_tokens, "seed": seed, "begin": begin,
        "n_likely": n_likely,
    }  # fmt: skip


async def _lines(
    desk: Desk, name: str, pieces: Iterator[dict[str, Any]], began: float
) -> AsyncIterator[bytes]:
    """Yields a text that is being written, one JSON object a line; the last has `end` or `error`."""
    loop = asyncio.get_running_loop()
    last = loop.time() + desk.work.limits.seconds
    n_tokens = 0
    try:
        while True:
            piece = await desk.work.run(_or_refusal, next, pieces, None)
            if piece is None:
                return
            n_tokens += len(piece["tokens"])
            late = "end" not in piece and loop.time() > last
            if late:
                piece["end"] = {"reason": "time", "n_tokens": n_tokens}
            if "end" in piece:
                piece["end"] |= {"model": name, "ms": ms_since(began)}
            yield _line(piece)
            if late:
                return
    except HTTPException as error:
        yield _line({"error": error.detail})
    finally:
        with contextlib.suppress(ValueError):  # it is at its next token, and ends with that
            pieces.close()  # type: ignore[attr-defined]  # 2026-11-23: an iterator that is a generator


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
