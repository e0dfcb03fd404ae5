"""Files behind HTTP and S3 on the loopback, compared with the same files on the disk.

Both are answered by one small server in a separate process, which sends ranges by `sendfile`; for S3 it
answers what s3fs asks to read an object. (moto, which the tests use, is written in Python and copies a whole
object for each range.) `read` is what the server can give at best: four threads of another process fetch the
same ranges with `http.client` and drop them. Sources take turns; the best of several turns is shown, and the
share of the local speed.

    python benches/remote.py [FILE] [--turns 5] [--threads 1]
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import corpora
import sentitok

FILES = 8
FILE_BYTES = 64_000_000
TEXT_BYTES = FILES * FILE_BYTES


def serve(folder: str, port: int) -> None:
    """Serves the files of a folder by their names, whole and by ranges, until it is killed."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = Path(folder) / Path(self.path.partition("?")[0]).name
            about = path.stat()
            found = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            start, end = (
                (int(found[1]), min(int(found[2]) + 1, about.st_size)) if found else (0, about.st_size)
            )
            self.send_response(206 if found else 200)
            self.send_header("Content-Length", str(end - start))
            if found:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{about.st_size}")
            self.send_header("ETag", f'"{about.st_mtime_ns}"')
            self.send_header("Last-Modified", formatdate(about.st_mtime, usegmt=True))
            self.end_headers()
            self.wfile.flush()
            if self.command == "GET":
                with path.open("rb") as file:
                    self.connection.sendfile(file, start, end - start)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


# Fetches all files by ranges of 8 MB over four connections, and prints the seconds.
PLAIN = """
import http.client, queue, sys, threading, time
address, block = sys.argv[1], 8 << 20
ranges = queue.SimpleQueue()
for name in sys.argv[2:]:
    path, _, size = name.partition("=")
    for start in range(0, int(size), block):
        ranges.put((path, start, min(start + block, int(size)) - 1))
def work():
    connection = http.client.HTTPConnection(address)
    buffer = bytearray(1 << 20)
    while not ranges.empty():
        try:
            path, first, last = ranges.get_nowait()
        except queue.Empty:
            return
        connection.request("GET", path, headers={"Range": f"bytes={first}-{last}"})
        answer = connection.getresponse()
        assert answer.status == 206, answer.status
        while answer.readinto(buffer):
            pass
started = time.perf_counter()
threads = [threading.Thread(target=work) for _ in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
print(time.perf_counter() - started)
"""


def plain(address: str, names: list[str]) -> float:
    """Returns the seconds in which a plain reader fetches all files."""
    paths = [f"/{name}={FILE_BYTES}" for name in names]
    call = [sys.executable, "-c", PLAIN, address, *paths]
    return float(subprocess.run(call, check=True, capture_output=True).stdout)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no server at port {port}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = (given.file or corpora.english().path).read_bytes()
        data = (data * (TEXT_BYTES // len(data) + 1))[:TEXT_BYTES]
        names = [f"{number}.txt" for number in range(FILES)]
        for number, name in enumerate(names):
            (Path(folder) / name).write_bytes(data[number * FILE_BYTES :][:FILE_BYTES])
        beginning = data[:4_000_000].decode("utf-8", "ignore")
        del data
        port = free_port()
        os.environ |= {
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
        }  # fmt: skip
        server = subprocess.Popen([sys.executable, __file__, "--serve", folder, str(port)])
        try:
            wait_for(port)
            roots = {"local": folder, "http": f"http://127.0.0.1:{port}", "s3": "s3://texts"}
            urls = {source: [f"{root}/{name}" for name in names] for source, root in roots.items()}
            print(f"{TEXT_BYTES / 1e6:.0f} MB, {given.threads} threads, best of {given.turns} turns\n")
            print("| job | source | MB/s | share of local |\n|---|---|---:|---:|")
            best = min(plain(f"127.0.0.1:{port}", names) for _ in range(given.turns))
            print(f"| read | server | {TEXT_BYTES / 1e6 / best:.0f} | |", flush=True)
            show(urls, beginning, given.turns, given.threads)
        finally:
            server.terminate()
            server.wait()


def show(urls: dict[str, list[str]], beginning: str, turns: int, threads: int) -> None:
    """Prints the rows of speeds and shares."""
    tokenizer = sentitok.train_bpe(texts=beginning.splitlines(keepends=True), vocab_size=8000)
    out = tempfile.TemporaryDirectory()

    def encode(url: list[str]) -> object:
        return sentitok.encode_files(
            url, out.name, tokenizer, resume=False, threads=threads, invalid_utf8="replace"
        )

    jobs: dict[str, Callable[[list[str]], object]] = {
        "count": lambda url: sentitok.count(url, threads=threads, invalid_utf8="replace"),
        "encode": encode,
    }
    for job, run in jobs.items():
        best = dict.fromkeys(urls, float("inf"))
        for _ in range(turns):
            for name, url in urls.items():
                started = time.perf_counter()
                run(url)
                best[name] = min(best[name], time.perf_counter() - started)
        for name, seconds in best.items():
            speed = TEXT_BYTES / 1e6 / seconds
            print(f"| {job} | {name} | {speed:.0f} | {best['local'] / seconds:.2f} |", flush=True)
    out.cleanup()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        main()
