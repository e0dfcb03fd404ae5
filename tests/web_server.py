"""A server of this process on a free port, and what asks it."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from sentitok.web.server import bind, server_of


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Client:
    """Asks a server; each request has a separate connection."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)
    server: uvicorn.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def connections(self) -> int:
        """How many connections the server keeps."""
        assert self.server is not None
        return len(self.server.server_state.connections)

    def ask(
        self, path: str, body: object = None, *, data: bytes | None = None, method: str = "", **headers: str
    ) -> Answer:
        """Sends a JSON object, or bytes as they are; without both, a GET."""
        sent = json.dumps(body).encode() if body is not None else data
        kind = {"content-type": "application/json"} if body is not None else {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        try:
            given = {**kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
            connection.request(method or ("GET" if sent is None else "POST"), path, sent, given)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def json(self, path: str, body: object = None) -> Any:
        """Asks for what must be there."""
        answer = self.ask(path, body)
        assert answer.status == 200, answer.data
        return answer.json


@contextmanager
def serving(app: Any, seconds: float = 180) -> Iterator[Client]:
    """Runs an application until the block ends; waits so long for clients."""
    bound = bind("127.0.0.1", 0)
    bound.listen()
    server = server_of(app, seconds)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        until = time.monotonic() + 120
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < until
            time.sleep(0.005)
        yield Client(bound.getsockname()[1], server=server)
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()
        assert not thread.is_alive()
