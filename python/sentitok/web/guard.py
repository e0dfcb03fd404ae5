"""`Guard`: applies to every answer: headers, whom the server answers, and errors without texts.

A browser that was led here by another name than the server's own (DNS rebinding) is refused. An error of ours
is one line in the log: where and of what type, never the request.
"""

import json
import logging
from collections.abc import Collection
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "Guard"]

_log = logging.getLogger("sentitok.web")

# The page has no script, style or picture but its own, asks nobody else, and is never in a frame.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """An application behind these rules.

    Args:
        app: the application.
        hosts: names that requests may call the server by, without port; `None`: any.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        self._app = app
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                more = [(name, value) for name, value in _RAW if name not in own]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if not self._answers(scope):
            await _refuse(send_guarded, 421, "this server answers by its own name only; see --host")
            return
        try:
            await self._app(scope, receive, send_guarded)
        except ClientDisconnect:
            pass
        except Exception as error:
            # It has been answered (`app.py`), or nobody listens any more.
            _log.error("%s %s: %s", scope["method"], _route(scope), type(error).__name__)

    def _answers(self, scope: Scope) -> bool:
        if self._hosts is None:
            return True
        given = next((value for name, value in scope["headers"] if name == b"host"), b"")
        name = given.decode("latin-1").lower()
        address, bracket, _ = name.partition("]")
        return (address + bracket if name.startswith("[") else name.partition(":")[0]) in self._hosts


def _route(scope: Scope) -> str:
    """Returns a path for the log, if it is one of ours: what a stranger asks for may be anything."""
    path: str = scope["path"]
    return path if scope.get("endpoint") is not None else "(no route)"


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"error": reason}).encode()
    headers: list[Any] = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
