"""`bind` and `serve`: where the page is found, until somebody stops it.

The only file of `sentitok` that opens a socket, and only to be asked; it calls nobody. A signal ends it
gently: no new requests, those begun are answered.
"""

import asyncio
import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Iterator
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Application", "bind", "hosts_of", "is_loopback", "serve", "server_of", "url_of"]

# The type of applications that can be served: ASGI.
Application = ASGIApp
# Requests at the same time, and connections that wait; further ones get 503, or no connection.
_CONNECTIONS = 2048
_LAST_PORT = 65_535
# Seconds that requests have to end once the server stops.
_GRACE_S = 5


def bind(host: str, port: int) -> socket.socket:
    """Takes an address, so that errors show before models are loaded.

    Args:
        host: a name or an address of this machine.
        port: 0 for any that is free.

    Raises:
        OSError: if the address is taken or not this machine's.
    """
    if not 0 <= port <= _LAST_PORT:
        raise OSError(f"{host}:{port}: ports are 0 to {_LAST_PORT}; give another --port")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # Only where the protocol is named does asyncio send small answers at once, not after 40 ms.
        made = socket.socket(family, kind, socket.IPPROTO_TCP)
    except (OSError, OverflowError, UnicodeError) as error:
        raise OSError(f"{host}:{port}: {getattr(error, 'strerror', None) or error}; see --host") from None
    try:
        if hasattr(socket, "SO_REUSEADDR") and not hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        raise OSError(f"{host}:{port}: {error.strerror or error}; give another --port") from None
    return made


class _Server(uvicorn.Server):
    """A server that ends when a signal comes, and keeps it for its caller.

    uvicorn raises it again within the event loop, which shows a traceback as an error.
    """

    stopped_by: int | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Answers signals while it runs, in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    # 2026-11-23: uvicorn's signature
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stops gently; at a second signal at once."""
        self.force_exit = self.stopped_by is not None
        self.stopped_by = self.stopped_by or sig
        self.should_exit = True


def _protocol(seconds: float) -> type[asyncio.Protocol]:
    """Returns the protocol of connections that a client can hold no longer than a request may take.

    uvicorn waits forever for the first line of a request, and for clients that do not read their answer.
    """

    class Protocol(H11Protocol):
        _head: asyncio.TimerHandle | None = None
        _answer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # 2026-11: as uvicorn declares it
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait_for_head()

        def _wait_for_head(self) -> None:
            """Starts the time of a request that is to come, unless it runs, or ends it."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop(self._head)
                self._head = None
            elif self._head is None:
                self._head = self.loop.call_later(seconds, self.transport.abort)

        def send_400_response(self, msg: str) -> None:
            """Refuses a request of which a part is not HTTP; nothing else can be answered to it then."""
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.abort()
                return
            super().send_400_response(msg)
            if self.cycle is not None:
                self.cycle.disconnected = True

        def pause_writing(self) -> None:
            super().pause_writing()
            self._answer = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop(self._answer)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop(self._head)
            self._stop(self._answer)
            super().connection_lost(exc)

        @staticmethod
        def _stop(timer: asyncio.TimerHandle | None) -> None:
            if timer is not None:
                timer.cancel()

    return Protocol


def server_of(app: ASGIApp, seconds: float) -> _Server:
    """Returns a server that logs no request.

    Args:
        app: the application.
        seconds: how long it waits for the head of a request, and for a client to read.
    """
    config = uvicorn.Config(
        app,
        http=_protocol(seconds),
        loop="asyncio",
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        backlog=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return _Server(config)


def serve(app: ASGIApp, bound: socket.socket, seconds: float) -> None:
    """Answers requests until a signal comes, which is then raised again.

    Args:
        app: the application.
        bound: the address, as of :func:`bind`.
        seconds: how long it waits for the head of a request, and for a client to read.
    """
    server = server_of(app, seconds)
    bound.listen(_CONNECTIONS)
    server.run(sockets=[bound])
    if server.stopped_by is not None:
        signal.raise_signal(server.stopped_by)


def url_of(bound: socket.socket) -> str:
    """Returns the address to open."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can ask."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def hosts_of(host: str, bound: socket.socket) -> list[str] | None:
    """Returns the names that requests may call the server by; `None`: any, if the network may ask too."""
    if not is_loopback(bound):
        return None
    own = bound.getsockname()[0].lower()
    return ["localhost", "127.0.0.1", "[::1]", f"[{own}]" if ":" in own else own, host.lower()]
