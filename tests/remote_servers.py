"""Servers on the loopback that tests read from: a web server that can fail, one of S3, one of a hub."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Web", "hub_server", "s3_server", "web_server"]


@dataclass
class Web:
    """What a web server holds and how it behaves; tests change it while it runs.

    Attributes:
        files: by path.
        ranges: whether it sends ranges.
        failures: statuses of the next answers.
        cut: how many of the next answers end in the middle.
        etag: the mark of all files.
        requests: path and range of each request.
        change_after: number of requests after which `etag` changes.
        hub: the data set that it serves as huggingface.co does, such as `team/texts`.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    failures: list[int] = field(default_factory=list)
    cut: int = 0
    etag: str = '"1"'
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    change_after: int | None = None
    hub: str | None = None
    address: str = ""


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked = self.headers.get("Range")
            web.requests.append((self.path, asked))
            if web.change_after is not None and len(web.requests) > web.change_after:
                web.etag = '"2"'
            if web.failures:
                self._answer(web.failures.pop(0), b"")
                return
            data = web.files.get(path)
            if data is None and web.hub is not None and path.startswith(f"/api/datasets/{web.hub}"):
                self._answer(200, json.dumps(_about_hub(web, path)).encode())
                return
            if data is None and path.endswith("/"):
                names = [name.removeprefix(path) for name in web.files if name.startswith(path)]
                page = "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()
                self._answer(200, page)
                return
            if data is None:
                self._answer(404, b"")
                return
            found = re.match(r"bytes=(\d+)-(\d+)", asked or "")
            if found is None or not web.ranges:
                self._answer(200, data)
                return
            start, end = int(found[1]), min(int(found[2]) + 1, len(data))
            if start >= len(data):
                self._answer(416, b"")
                return
            self._answer(206, data[start:end], f"bytes {start}-{end - 1}/{len(data)}")

        def _answer(self, status: int, data: bytes, content_range: str | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status != 416:
                self.send_header("ETag", web.etag)
            if content_range is not None:
                self.send_header("Content-Range", content_range)
            self.end_headers()
            if self.command == "HEAD":
                return
            if web.cut and len(data) > 1:
                web.cut -= 1
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
                return
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keeps stderr clean."""

    return Handler


def _about_hub(web: Web, path: str) -> object:
    """The answer of huggingface.co for a data set, or for its files, or for a folder of it."""
    found = re.match(rf"/api/datasets/{web.hub}/tree/main/?(.*)", path)
    if found is None:
        return {"id": web.hub, "sha": "0" * 40}
    entries: dict[str, dict[str, Any]] = {}
    for url, data in web.files.items():
        name = url.removeprefix(f"/datasets/{web.hub}/resolve/main/")
        oid = hashlib.sha1(data).hexdigest()
        entries[name] = {"type": "file", "path": name, "size": len(data), "oid": oid}
        folder = name.rpartition("/")[0]
        entries[folder] = {"type": "directory", "path": folder, "oid": "0" * 40}
    return [entry for name, entry in entries.items() if name.rpartition("/")[0] == found[1]]


@contextmanager
def hub_server(data_set: str, files: dict[str, bytes]) -> Iterator[Web]:
    """Yields a web server that serves a data set as huggingface.co does, with each file in a folder."""
    with web_server() as web:
        web.hub = data_set
        web.files = {f"/datasets/{data_set}/resolve/main/{name}": data for name, data in files.items()}
        yield web


@contextmanager
def web_server() -> Iterator[Web]:
    """Yields a web server, started; `address` is its URL."""
    web = Web()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(web))
    server.daemon_threads = True
    web.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def s3_server() -> Iterator[str]:
    """Yields the URL of an S3 server of moto."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
