"""Hostile clients of the page: each request gets its answer or a refusal, and memory stays as it was.

    python tests/fuzz_page.py --requests 10000 --clients 100          # of `sentitok serve` and `senti serve`
    python tests/fuzz_page.py --minutes 60 --clients 2 --pause 0.2    # memory over an hour

Some requests are right. Others have damaged bodies or heads, foreign names or origins, or ask for files. Some
come in small parts, stop in the middle, or do not wait for the answer. A failure is a status of 500 or more,
a right request whose answer differs from the one it gets alone, permission for another origin, connections or
memory that remain, or a line on stderr. Prints what repeats each failure; ends with status 1 after one.
"""

import argparse
import contextlib
import http.client
import json
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "sentitok"))

from fuzz_files import ODD, copied, damaged_bytes, damaged_json

PATIENCE = 180
#: How much memory may grow after the first fifth of the requests, or the first five minutes.
GROWTH = 1.05
#: So many requests are sent before memory is compared.
ENOUGH = 1000
TEXTS = [
    "",
    "a great film",
    "the cat sat on the mat",
    "naïve 👍🏽 日本\n\t",
    "<script>alert(1)</script>",
    "x " * 300,
]
#: What a request asks for: a path and a JSON object, or `None` for a GET.
Asked = tuple[str, dict[str, Any] | None]


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    data: bytes


class Client:
    """Asks a server; each request has its own connection."""

    def __init__(self, port: int) -> None:
        self.port = port

    @contextlib.contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
            yield raw

    def read(self, raw: socket.socket, method: str = "GET") -> Answer | None:
        """Reads an answer; `None` if the connection ends without one."""
        response = http.client.HTTPResponse(raw, method=method)
        try:
            response.begin()
            return Answer(response.status, response.getheaders(), response.read())
        except (http.client.HTTPException, ConnectionError):
            return None
        finally:
            response.close()

    def ask(self, data: bytes) -> Answer | None:
        with self.connected() as raw:
            with contextlib.suppress(ConnectionError):  # it was refused before all had come
                raw.sendall(data)
            return self.read(raw)


def request(path: str, body: bytes | None, *headers: str, method: str = "", host: str = "localhost") -> bytes:
    """Writes a request."""
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1", f"Host: {host}"]
    if body is not None:
        if not any(name.lower().startswith("content-type") for name in headers):
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1", "replace") + (body or b"")


def right(asked: Asked) -> bytes:
    path, body = asked
    return request(path, None if body is None else json.dumps(body).encode())


def plain(data: bytes) -> bytes:
    """An answer without its time."""
    return re.sub(rb'"ms": [0-9.e-]+', b"", data)


@dataclass
class Trial:
    """A server, its right answers, and what came of the requests."""

    client: Client
    asked: list[Asked]
    expected: list[bytes] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def learn(self) -> None:
        """Asks for each answer alone."""
        for asked in self.asked:
            answer = self.client.ask(right(asked))
            assert answer is not None
            assert answer.status == 200, (asked, answer)
            self.expected.append(plain(answer.data))

    def one(self, seed: str, number: int) -> None:
        """Sends the request of a number."""
        rng = random.Random(f"{seed} {number}")
        kind = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        try:
            answer = KINDS[kind][1](self, rng)
            self.found[f"{kind} {answer.status if answer else 'no answer'}"] += 1
            if answer is not None:
                check(answer)
        except Exception as error:
            self.failed.append(f"--seed {seed} --first {number} --requests 1: {kind}: {error!r}"[:600])


def check(answer: Answer) -> None:
    assert answer.status < 500, answer
    assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")], answer
    assert b"Traceback" not in answer.data, answer
    assert b"root:" not in answer.data, answer


# The kinds of requests.


def is_right(trial: Trial, rng: random.Random) -> Answer | None:
    at = rng.randrange(len(trial.asked))
    return equal(trial, at, trial.client.ask(right(trial.asked[at])))


def equal(trial: Trial, at: int, answer: Answer | None) -> Answer:
    assert answer is not None, f"no answer to {trial.asked[at]}"
    assert answer.status == 200, (trial.asked[at], answer)
    assert plain(answer.data) == trial.expected[at], (
        f"another answer to {trial.asked[at]}: {answer.data[:300]!r}"
    )
    return answer


def has_a_damaged_body(trial: Trial, rng: random.Random) -> Answer | None:
    path, body = rng.choice([asked for asked in trial.asked if asked[1] is not None])
    data = json.dumps(body).encode()
    match rng.randrange(6):
        case 0 | 1 if body:
            changed = dict(body)
            changed[rng.choice([*body, "model", "max_tokens", "temperature", "ids", "texts"])] = copied(
                rng.choice(ODD)
            )
            data = json.dumps(changed).encode()
        case 2:
            data = damaged_json(data, rng) or b""
        case 3:
            data = damaged_bytes(data, b"", rng)
        case 4:
            data = rng.choice(
                [b"[" * 100_000, b'{"text":' * 50_000, b'{"text": ' + b"9" * 50_000 + b"}", b"x" * (1 << 21)]
            )
        case _:
            number = rng.choice(
                [b"1e999", b"-1e999", b"NaN", b"9" * 400, b"0." + b"0" * 400 + b"1", b"-0", b"1e-999"]
            )
            name = rng.choice([b"max_tokens", b"temperature", b"top_p", b"top_k", b"seed", b"n_likely"])
            data = b'{"text": "a", "' + name + b'": ' + number + b"}"
    kinds = ["Content-Type: application/json"] * 8 + [
        "Content-Type: text/plain",
        "Content-Type: ,;=",
        "Content-Type:",
    ]
    return trial.client.ask(request(path, data, rng.choice(kinds)))


HEADS: list[bytes] = [
    b"\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET /\r\n\r\n",
    b"G\0T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x80" * 300,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /?" + b"%ff" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/none HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n",
    b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50,
    b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n\0\0\0",
    b"DELETE /api/model HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
]  # fmt: skip


def has_a_damaged_head(trial: Trial, rng: random.Random) -> Answer | None:
    data = rng.choice(HEADS)
    if rng.random() < 0.3:
        data = damaged_bytes(right(rng.choice(trial.asked)), data[:1000], rng)
    with trial.client.connected() as raw:
        with contextlib.suppress(OSError):  # it was refused before all had come
            raw.sendall(data)
            # What is damaged may look like the beginning of a longer request.
            raw.shutdown(socket.SHUT_WR)
        return trial.client.read(raw)


PATHS = [
    "/../app.py", "/..%2fapp.py", "/%2e%2e/%2e%2e/server.py", "/./main.mjs/../../app.py", "//etc/passwd",
    "/%2fetc%2fpasswd", "/..\\app.py", "/main.mjs%00", "/%C0%AE%C0%AE/app.py", "file:///etc/passwd", "*",
    "http://evil.example/etc/passwd", "/api/tokenize/../../etc/passwd", "/api/none", "/__init__.py",
]  # fmt: skip


def asks_for_a_file(trial: Trial, rng: random.Random) -> Answer | None:
    answer = trial.client.ask(request(rng.choice(PATHS), None))
    assert answer is not None
    assert 400 <= answer.status < 500, answer
    return answer


def has_a_foreign_name(trial: Trial, rng: random.Random) -> Answer | None:
    path, body = rng.choice(trial.asked)
    host = rng.choice(
        ["evil.example", "127.0.0.1.evil.example:80", "", "0.0.0.0", "[::1", "localhost@evil.example"]
    )
    answer = trial.client.ask(request(path, None if body is None else json.dumps(body).encode(), host=host))
    assert answer is not None
    assert answer.status == 421, answer
    return answer


def comes_from_another_origin(trial: Trial, rng: random.Random) -> Answer | None:
    origin = rng.choice(["Origin: http://evil.example", "Origin: null"])
    if rng.random() < 0.5:
        preflight = request(
            "/api/tokenize", None, origin, "Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: content-type", method="OPTIONS",
        )  # fmt: skip
        answer = trial.client.ask(preflight)
        assert answer is not None
        assert answer.status == 405, answer
        return answer
    kind = rng.choice(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
    answer = trial.client.ask(request("/api/tokenize", b'{"text": "a"}', f"Content-Type: {kind}", origin))
    assert answer is not None
    assert answer.status == 415, answer
    return answer


def comes_slowly(trial: Trial, rng: random.Random) -> Answer | None:
    at = rng.randrange(len(trial.asked))
    data = right(trial.asked[at])
    cuts = sorted(rng.sample(range(1, len(data)), min(len(data) - 1, rng.randint(2, 40))))
    with trial.client.connected() as raw:
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            raw.sendall(data[start:end])
            time.sleep(rng.random() * 0.05)
        return equal(trial, at, trial.client.read(raw))


def stops_in_the_middle(trial: Trial, rng: random.Random) -> Answer | None:
    data = right(rng.choice(trial.asked))
    with trial.client.connected() as raw:
        raw.sendall(data[: rng.randrange(len(data))])
        time.sleep(rng.random() * 0.3)
        leave(raw, rng)
    return None


def does_not_wait(trial: Trial, rng: random.Random) -> Answer | None:
    with trial.client.connected() as raw:
        raw.sendall(right(rng.choice(trial.asked)))
        if rng.random() < 0.5:
            raw.recv(rng.randint(1, 300))
        leave(raw, rng)
    return None


def leave(raw: socket.socket, rng: random.Random) -> None:
    """Lets the end of a connection be a reset, or not."""
    if rng.random() < 0.5:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


KINDS: dict[str, tuple[int, Callable[[Trial, random.Random], Answer | None]]] = {
    "right": (30, is_right),
    "body": (25, has_a_damaged_body),
    "head": (10, has_a_damaged_head),
    "path": (5, asks_for_a_file),
    "name": (5, has_a_foreign_name),
    "origin": (5, comes_from_another_origin),
    "slow": (5, comes_slowly),
    "half": (5, stops_in_the_middle),
    "unread": (10, does_not_wait),
}


# Servers.


def questions(models: list[dict[str, Any]]) -> list[Asked]:
    """Right requests to models, as `/api/model` describes them."""
    asked: list[Asked] = [("/", None), ("/main.mjs", None), ("/api/model", None), ("/api/health", None)]
    for model in models:
        name, answers = model["name"], model["answers"]
        for text in TEXTS:
            given = {"model": name, "text": text}
            if "tokenize" in answers:
                asked.append(("/api/tokenize", given))
            if "predict" in answers:
                asked.append(("/api/predict", given))
            if "effects" in answers and len(text) < 50:
                asked.append(("/api/effects", given))
            if "generate" in answers and 0 < len(text) < 30:
                asked.append(("/api/generate", {**given, "max_new_tokens": 5, "temperature": 0}))
        if "decode" in answers:
            asked.append(("/api/decode", {"model": name, "ids": [1, 2, 3]}))
        if "predict" in answers:
            asked.append(("/api/predict/batch", {"model": name, "texts": TEXTS[1:4]}))
    return asked


def trial_of(port: int) -> Trial:
    """A trial of a server that runs, with its right answers."""
    client = Client(port)
    about = client.ask(request("/api/model", None))
    assert about is not None
    assert about.status == 200, about
    trial = Trial(client, questions(json.loads(about.data)["models"]))
    trial.learn()
    return trial


def hammer(
    trial: Trial,
    seed: str,
    numbers: Iterable[int],
    clients: int,
    pause: float = 0.0,
    ends: float = float("inf"),
) -> int:
    """Sends requests from so many clients at once; returns how many."""
    lock, left, sent = threading.Lock(), iter(numbers), 0

    def work(_: int) -> None:
        nonlocal sent
        while time.monotonic() < ends and len(trial.failed) < 20:
            with lock:
                number = next(left, None)
                if number is None:
                    return
                sent += 1
            trial.one(seed, number)
            time.sleep(pause)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))
    return sent


def resident_mib(process: int) -> float:
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def n_open(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def of_sentitok(folder: Path) -> list[str]:
    import sentitok

    texts = [*TEXTS, *(f"{number} a film of {number * 7} minutes" for number in range(50))]
    sentitok.train_bpe(texts=texts, vocab_size=400).save(folder / "bytes.json")
    sentitok.train_wordpiece(texts=texts, vocab_size=150).save(folder / "words.json")
    return ["sentitok.cli", "serve", "bytes.json", "words.json"]


def of_senti(folder: Path) -> list[str]:
    from labelled_reviews import tree, write
    from language_runs import language_run
    from sentimodels.runs.execute import train
    from sentimodels.runs.families import resolve

    reviews = write(folder / "reviews.csv")
    for arch in ("gpt", "tfidf"):
        train(resolve(tree(arch, reviews)), folder / arch, baseline=False)
    language_run(folder / "lm", "gpt", 64)
    return ["sentimodels.cli", "serve", "gpt", "tfidf", "lm"]


PROGRAMS = {"sentitok": of_sentitok, "senti": of_senti}


def run(program: str, args: argparse.Namespace, folder: Path) -> int:
    """Tries the server of a program, and returns the number of failures."""
    line = PROGRAMS[program](folder)
    with open(folder / "stderr", "w+") as said:
        command = [sys.executable, "-m", *line, "--port", "0", "--json", "--threads", "2"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=said)
        try:
            assert process.stdout is not None
            trial = trial_of(int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2]))
            failures = watched(program, trial, process.pid, args)
            assert process.poll() is None, f"it ended with {process.returncode}"
        finally:
            process.terminate()
            process.wait(60)
        said.seek(0)
        # Its last line says that it was stopped.
        words = said.read().splitlines()[:-1]
    if words:
        failures += 1
        print(f"failed: {len(words)} lines on stderr, of which the last are:", *words[-20:], sep="\n")
    return failures


def watched(program: str, trial: Trial, process: int, args: argparse.Namespace) -> int:
    """Hammers a server, and compares its memory and connections with those after the first part."""
    started, opened = time.monotonic(), n_open(process)
    sent, memory = 0, [resident_mib(process)]
    numbers = iter(range(args.first, args.first + args.requests if args.requests else sys.maxsize))
    # Parts of requests, or of time: five minutes and then one after the other.
    shares = (
        [args.requests // 5 + 1] * 5 if args.requests else [sys.maxsize] * (max(1, int(args.minutes) - 5) + 1)
    )
    for at, share in enumerate(shares):
        ends = started + min(300 + 60 * at, args.minutes * 60) if args.minutes else float("inf")
        sent += hammer(trial, args.seed, islice(numbers, share), args.clients, args.pause, ends)
        memory.append(resident_mib(process))
        if args.minutes:
            print(f"{time.monotonic() - started:7.0f} s {sent:9,} requests {memory[-1]:8.1f} MiB", flush=True)
    until = time.monotonic() + 60
    while n_open(process) > opened and time.monotonic() < until:
        time.sleep(0.1)
    if (more := n_open(process) - opened) > 0:
        trial.failed.append(f"{more} connections remain")
    most = max(memory[2:])
    if sent >= ENOUGH and most > memory[1] * GROWTH:
        trial.failed.append(f"memory grew from {memory[1]:.1f} to {most:.1f} MiB")
    print(f"{program}: {sent:,} requests of {args.clients} clients, {time.monotonic() - started:.0f} s")
    print(
        f"memory: at first {memory[0]:.1f}, after the first part {memory[1]:.1f}, then at most {most:.1f} MiB"
    )
    for what, times in sorted(trial.found.items()):
        print(f"  {what:20} {times:8,}")
    for failure in trial.failed:
        print(f"failed: python tests/fuzz_page.py {program} {failure}")
    return len(trial.failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", nargs="*", help="sentitok, senti or both (default)")
    parser.add_argument("--requests", type=int, help="to each server (without --minutes: 1,000)")
    parser.add_argument("--minutes", type=float, help="time for each server")
    parser.add_argument("--clients", type=int, default=100, help="at the same time")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each request of a client")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first request")
    args = parser.parse_args()
    args.requests = args.requests or (None if args.minutes else 1_000)
    failures = 0
    for program in args.program or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            failures += run(program, args, Path(folder))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
