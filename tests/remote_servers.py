"""Servers on the loopback for tests: a web server that can fail, one of S3, of Google's storage, of a hub."""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

__all__ = ["Bucket", "Web", "gs_server", "hub_server", "s3_server", "web_server"]


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
    with _serving(_handler(web)) as web.address:
        yield web


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *about: Any) -> None:
        """Prints an error, unless the client has left: gcsfs sends two requests and waits for one."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*about)


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Yields the address of a server, which stops at the end."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Bucket:
    """The one bucket that a server of Google's storage has, and how it behaves.

    Attributes:
        name: of the bucket.
        objects: by name.
        generations: of objects; each change gives the object another.
        failures: statuses of the next answers.
        requests: method and path of each request.
        page: objects in one answer to a listing.
    """

    name: str
    objects: dict[str, bytes] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    failures: list[int] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    page: int = 3
    address: str = ""

    def put(self, name: str, data: bytes) -> dict[str, Any]:
        """Writes an object; returns what the server says of it."""
        self.objects[name] = data
        self.generations[name] = len(self.requests) + sum(self.generations.values()) + 1
        return self.about(name)

    def about(self, name: str) -> dict[str, Any]:
        """What the server says of an object."""
        generation = str(self.generations[name])
        return {"bucket": self.name, "name": name, "size": str(len(self.objects[name])), "etag": generation,
                "generation": generation, "updated": "2026-11-30T10:00:00.000Z"}  # fmt: skip

    def listing(self, asked: dict[str, str]) -> dict[str, Any]:
        """A page of the objects and folders that begin with a prefix."""
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter")
        entries: dict[str, bool] = {}
        for name in sorted(self.objects):
            if name.startswith(prefix):
                folder, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
                entries[f"{prefix}{folder}{found}" if found else name] = bool(found)
        start = int(asked.get("pageToken", 0))
        stop = start + min(self.page, int(asked.get("maxResults", self.page)))
        chosen = [*entries.items()][start:stop]
        answer: dict[str, Any] = {"kind": "storage#objects"}
        answer["items"] = [self.about(name) for name, is_folder in chosen if not is_folder]
        answer["prefixes"] = [name for name, is_folder in chosen if is_folder]
        return answer | ({"nextPageToken": str(stop)} if stop < len(entries) else {})


def _gs_handler(bucket: Bucket) -> type[BaseHTTPRequestHandler]:
    """Answers the calls of the JSON API that gcsfs makes."""
    uploads: dict[str, bytearray] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, _, query = self.path.partition("?")
            asked = {key: values[0] for key, values in parse_qs(query).items()}
            bucket.requests.append((self.command, path))
            if bucket.failures:
                self._answer(bucket.failures.pop(0), {"error": {"message": "it failed as the test says"}})
                return
            found = re.fullmatch(r"(/upload|/download)?/storage/v1/b/([^/]+)(?:/o(?:/(.+))?)?", path)
            if found is None or found[2] != bucket.name:
                self._answer(404, {"error": {"message": "no such bucket"}})
            elif found[1] == "/upload":
                self._upload(asked, body)
            elif found[3] is None:
                self._answer(200, bucket.listing(asked) if path.endswith("/o") else {"name": bucket.name})
            else:
                self._object(*map(unquote, found[3].split("/")), is_media=asked.get("alt") == "media")

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815  # 2026-11-30: names that http.server calls

        def _upload(self, asked: dict[str, str], body: bytes) -> None:
            """A whole object, or one that comes in pieces of a range each."""
            if asked["uploadType"] == "multipart":
                _, about, data = body.split(b"--==0==\n", 2)
                name = json.loads(about.partition(b"\n\n")[2])["name"]
                data = data.partition(b"\n\n")[2].removesuffix(b"\n--==0==--")
                self._answer(200, bucket.put(name, data))
                return
            name = asked["name"]
            sent = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", self.headers.get("Content-Range") or "")
            if sent is None:
                uploads[name] = bytearray()
                self._answer(200, None, Location=bucket.address + self.path)
                return
            uploads[name] += body
            if len(uploads[name]) < int(sent[3]):
                self._answer(308, None, Range=f"bytes=0-{len(uploads[name]) - 1}")
            else:
                self._answer(200, bucket.put(name, bytes(uploads.pop(name))))

        def _object(self, name: str, verb: str = "", *target: str, is_media: bool) -> None:
            if name not in bucket.objects:
                self._answer(404, {"error": {"message": "no such object"}})
            elif self.command == "DELETE":
                del bucket.objects[name]
                self._answer(204, None)
            elif verb in ("moveTo", "rewriteTo"):
                about = bucket.put(target[-1], bucket.objects[name])
                if verb == "moveTo":
                    del bucket.objects[name]
                self._answer(200, about if verb == "moveTo" else {"done": True, "resource": about})
            elif not is_media:
                self._answer(200, bucket.about(name))
            elif asked := re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or ""):
                self._answer(206, bucket.objects[name][int(asked[1]) : int(asked[2]) + 1])
            else:
                self._answer(200, bucket.objects[name])

        def _answer(self, status: int, data: Any, **headers: str) -> None:
            body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keeps stderr clean."""

    return Handler


@contextmanager
def gs_server(name: str) -> Iterator[Bucket]:
    """Yields a server of Google's storage that has one bucket; `STORAGE_EMULATOR_HOST` is its `address`."""
    bucket = Bucket(name)
    with _serving(_gs_handler(bucket)) as bucket.address:
        yield bucket


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
