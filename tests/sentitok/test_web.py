"""The server of the page: its JSON, its limits, its secrets; by requests to a real one."""

import contextlib
import http.client
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fuzz_page
import sentitok

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

from sentitok.web import Limits, TokenizerModel, create_app, named
from sentitok.web.app import page_files
from sentitok.web.server import bind
from web_server import Client, serving

HOSTILE = "<script>alert(1)</script> \" onload='x' ${7*7} \x00\x1b[31m"
SMALL = Limits(max_bytes=4096, threads=1, waiting=2, texts=3, tokens=50)
# A busy machine may take longer for any request: only for tests of requests that time out.
SHORT = 0.5


@pytest.fixture(scope="module")
def tokenizers(tokenizer: sentitok.Tokenizer, sherlock: Path) -> dict[str, TokenizerModel]:
    other = sentitok.train_wordpiece(sherlock, vocab_size=600)
    return {"bytes": TokenizerModel(tokenizer), "words": TokenizerModel(other)}


@pytest.fixture(scope="module")
def client(tokenizers: dict[str, TokenizerModel]) -> Iterator[Client]:
    with serving(create_app(tokenizers, Limits(), hosts=["127.0.0.1", "localhost", "[::1]"])) as made:
        yield made


class Held(TokenizerModel):
    """Answers the text "wait" when `release` is set, and fails at "fail"."""

    def __init__(self, tokenizer: sentitok.Tokenizer) -> None:
        super().__init__(tokenizer)
        self.begun, self.release = threading.Event(), threading.Event()

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        if text.startswith("fail"):
            raise RuntimeError(text)
        if text == "wait":
            self.begun.set()
            assert self.release.wait(180)
        return super().tokens(text, most)


@pytest.fixture
def held(tokenizer: sentitok.Tokenizer) -> Iterator[Held]:
    model = Held(tokenizer)
    yield model
    model.release.set()


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


TEXTS = [
    "",
    " ",
    "It is a truth",
    "naïve 👍🏽 👩‍👩‍👧‍👦",
    "我喜欢这部电影",
    "a\n\tb  c\r\n",
    HOSTILE,
    "\ud800 x",
]


@pytest.mark.parametrize("text", TEXTS, ids=repr)
@pytest.mark.parametrize("name", ["bytes", "words"])
def test_tokens_are_those_of_the_tokenizer(
    client: Client, tokenizers: dict[str, TokenizerModel], name: str, text: str
) -> None:
    found = client.json("/api/tokenize", {"text": text, "model": name})
    tokenizer = tokenizers[name].tokenizer
    encoding = tokenizer.encode(text)
    assert [token["id"] for token in found["tokens"]] == encoding.ids.tolist()
    spans = [[token["start"], token["end"]] for token in found["tokens"]]
    assert spans == encoding.offsets("chars", trim=False).tolist()
    assert found["n_tokens"] == len(encoding)
    assert found["model"] == name
    assert found["ms"] >= 0
    if name == "bytes":
        assert bytes.fromhex("".join(token["bytes"] for token in found["tokens"])) == text.encode(
            "utf-8", "replace"
        ).replace(b"?" if "\ud800" in text else b"\0\0", "\ufffd".encode())


def test_a_lone_surrogate_has_the_bytes_of_what_it_becomes(tokenizers: dict[str, TokenizerModel]) -> None:
    found = tokenizers["bytes"].tokens("a\ud800", 10)
    assert found["n_bytes"] == len("a\ufffd".encode()) == 4
    assert found["n_tokens"] == len(tokenizers["bytes"].tokenizer.encode("a\ufffd"))


def test_white_space_and_parts_of_characters_are_spelled(client: Client) -> None:
    found = client.json("/api/tokenize", {"text": " 👍\n"})["tokens"]
    text = "".join(token["text"] for token in found)
    assert text.startswith("⋅")
    assert "\\xf0" in text
    assert text.endswith("↵")
    assert "\ufffd" not in text


def test_a_long_text_is_counted_and_not_all_listed(client: Client) -> None:
    text = "word and " * 11_200
    found = client.json("/api/tokenize", {"text": text, "max_tokens": 10})
    assert len(found["tokens"]) == 10
    assert found["n_tokens"] > 20_000
    assert len(client.json("/api/tokenize", {"text": text})["tokens"]) == Limits().tokens


def test_the_first_model_answers_where_none_is_named(client: Client) -> None:
    assert client.json("/api/tokenize", {"text": "a"})["model"] == "bytes"


def test_ids_lead_back_to_the_text(client: Client) -> None:
    ids = [token["id"] for token in client.json("/api/tokenize", {"text": "naïve 👍🏽"})["tokens"]]
    assert client.json("/api/decode", {"ids": ids})["text"] == "naïve 👍🏽"


def test_about(client: Client, tokenizers: dict[str, TokenizerModel]) -> None:
    found = client.json("/api/model")
    assert [model["name"] for model in found["models"]] == ["bytes", "words"]
    assert [model["fingerprint"] for model in found["models"]] == [
        model.tokenizer.fingerprint for model in tokenizers.values()
    ]
    assert found["limits"] == {"max_bytes": 1 << 20, "seconds": 30.0, "texts": 1024, "tokens": 16_384}
    assert client.json("/api/health") == {"status": "ok"}


# Path, body, status, message.
REFUSED: list[tuple[str, Any, int, str]] = [
    ("/api/tokenize", {}, 400, "text: expected a text"),
    ("/api/tokenize", {"text": 7}, 400, "text: expected a text"),
    ("/api/tokenize", {"text": "a", "model": "none"}, 404, "bytes, words"),
    ("/api/tokenize", {"text": "a", "model": 1}, 400, "model: expected a name"),
    ("/api/tokenize", {"text": "a", "max_tokens": -1}, 400, "from 0 to 16384"),
    ("/api/tokenize", {"text": "a", "max_tokens": True}, 400, "from 0 to 16384"),
    ("/api/tokenize", {"text": "a", "other": 1}, 400, "'other': no such field"),
    ("/api/tokenize", [], 400, "expected a JSON object"),
    ("/api/decode", {"ids": [1 << 31]}, 400, "not in the vocabulary"),
    ("/api/decode", {"ids": ["a"]}, 400, "expected a list of ids"),
    ("/api/decode", {"ids": [1] * 20_000}, 413, "16384 at once"),
    ("/api/nothing", {}, 404, "Not Found"),
]


@pytest.mark.parametrize(("path", "body", "status", "said"), REFUSED)
def test_refusals_say_what_is_wrong(client: Client, path: str, body: Any, status: int, said: str) -> None:
    answer = client.ask(path, body)
    assert answer.status == status
    assert said in answer.json["error"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"text": "\\', b'{"text": ' + b"9" * 50_000 + b"}"]
)
def test_damaged_bodies_are_refused(client: Client, data: bytes) -> None:
    answer = client.ask("/api/tokenize", data=data, content_type="application/json")
    assert answer.status == 400
    assert answer.json["error"]


def test_only_json_is_read(client: Client) -> None:
    """A form of another page can send plain text, but not this type."""
    answer = client.ask("/api/tokenize", data=b'{"text": "a"}', content_type="text/plain")
    assert answer.status == 415


def test_only_posts_are_answered(client: Client) -> None:
    assert client.ask("/api/tokenize").status == 405
    assert client.ask("/api/model", data=b"").status == 405


FOREIGN_HOSTS = (
    *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.2"),
    *("[::1", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost@evil.example", "2130706433", "", " ", "\xff"),
)


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_name_that_is_not_the_servers_is_refused(client: Client, host: str) -> None:
    for path in ("/", "/main.mjs", "/api/model", "/api/none"):
        assert client.ask(path, host=host).status == 421
    assert client.ask("/api/tokenize", {"text": "a"}, host=host).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]", "[::1]:80"])
def test_requests_with_the_names_of_the_server_are_answered(client: Client, host: str) -> None:
    assert client.ask("/api/model", host=host).status == 200


def test_another_origin_gets_no_permission(client: Client) -> None:
    """A browser asks before it sends JSON to another origin, and refuses its answer to the page there."""
    for origin in ("http://evil.example", "null", f"http://localhost:{client.port + 1}"):
        asked: dict[str, Any] = {"access-control-request-method": "POST"}
        before = client.ask("/api/tokenize", method="OPTIONS", origin=origin, **asked)
        assert before.status == 405
        for answer in (before, client.ask("/api/model", origin=origin)):
            assert not [name for name in answer.headers if name.startswith("access-control-")]
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            sent = client.ask("/api/tokenize", data=b'{"text": "a"}', content_type=kind, origin=origin)
            assert sent.status == 415


PATHS = (
    *("/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "/page/../app.py", "/./main.mjs/../../app.py"),
    *("//etc/passwd", "/%2fetc%2fpasswd", "/..\\app.py", "/main.mjs%00", "/main.mjs/", "/main.mjs%0d%0aX: y"),
    *("/index.html", "/__init__.py", "/api", "/api/", "/api/tokenize/../model", "/%C0%AE%C0%AE/app.py"),
    *("file:///etc/passwd", "http://evil.example/etc/passwd", "/?file=/etc/passwd#x/../y", "*"),
)


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_to_nothing_but_the_page(client: Client, path: str) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=180) as raw:
        raw.sendall(f"GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n".encode())
        answer = b""
        while part := raw.recv(1 << 16):
            answer += part
    if path.startswith("/?"):
        assert answer.endswith(page_files()["index.html"])
    else:
        assert re.match(rb"HTTP/1\.1 (307|4\d\d) ", answer), answer[:200]
    assert b"root:" not in answer
    assert b"import" not in answer or path.startswith("/?")


def test_every_answer_has_the_headers(client: Client) -> None:
    for path in ("/", "/main.mjs", "/api/model", "/nothing"):
        headers = client.ask(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_sizes_are_limited(tokenizers: dict[str, TokenizerModel]) -> None:
    with serving(create_app(tokenizers, SMALL)) as client:
        answer = client.ask("/api/tokenize", {"text": "x" * 5000})
        assert answer.status == 413
        assert "--max-bytes" in answer.json["error"]
        with socket.create_connection(("127.0.0.1", client.port), timeout=180) as raw:
            # No length is announced, so it is what comes that counts.
            head = "POST /api/tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            raw.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
            raw.sendall(b"1388\r\n" + b"x" * 5000 + b"\r\n")
            assert b" 413 " in raw.recv(4096)


def test_time_is_limited(held: Held) -> None:
    with serving(create_app({"held": held}, replace(SMALL, seconds=SHORT))) as client:
        answer = client.ask("/api/tokenize", {"text": "wait"})
        assert answer.status == 503
        assert "0.5 s" in answer.json["error"]
        held.release.set()
        wait_until(lambda: client.ask("/api/tokenize", {"text": "a"}).status == 200)


def test_a_request_that_does_not_come_is_given_up(tokenizers: dict[str, TokenizerModel]) -> None:
    with serving(create_app(tokenizers, replace(SMALL, seconds=SHORT))) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=180) as raw:
            head = "POST /api/tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            raw.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
            assert b" 408 " in raw.recv(4096)
        assert client.ask("/api/health").status == 200


@pytest.mark.parametrize("sent", [b"", b"GET /api/he", b"GET /api/health HTTP/1.1\r\nhost: x\r\n"])
def test_a_connection_without_a_request_is_closed(sent: bytes, tokenizers: dict[str, TokenizerModel]) -> None:
    with serving(create_app(tokenizers, SMALL), seconds=0.3) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw:
            raw.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                while raw.recv(4096):
                    pass
        with (
            socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw,
            pytest.raises(OSError, match=r"reset|[Bb]roken"),
        ):
            send_slowly(raw, b"GET /" + b"a" * 1200)
        wait_until(lambda: answers(client))


def send_slowly(raw: socket.socket, data: bytes) -> None:
    """Sends a byte at a time, for a minute."""
    for byte in data:
        raw.sendall(bytes([byte]))
        time.sleep(0.05)


def answers(client: Client) -> bool:
    """Whether the server answers; this thread may be too slow for a server that waits 0.3 s."""
    try:
        return client.ask("/api/health").status == 200
    except (OSError, http.client.HTTPException):
        return False


def test_a_client_that_does_not_read_is_left(tokenizers: dict[str, TokenizerModel]) -> None:
    with serving(create_app(tokenizers, Limits()), seconds=0.5) as client:
        body = json.dumps({"text": "a film, " * 4000}).encode()
        head = "POST /api/tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
        with socket.socket() as raw:
            # The answers are more than the system keeps for a connection.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.settimeout(60)
            raw.connect(("127.0.0.1", client.port))
            raw.sendall(request * 10)
            assert raw.recv(1, socket.MSG_PEEK)
            wait_until(lambda: not client.connections)
        wait_until(lambda: answers(client))


def test_too_many_that_wait_are_refused(held: Held) -> None:
    limits = Limits(threads=1, waiting=2, seconds=180)
    with serving(create_app({"held": held}, limits)) as client, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(client.ask, "/api/tokenize", {"text": "wait"}) for _ in range(8)]
        try:
            # One is at work and two wait, until all others are refused.
            wait_until(lambda: sum(one.done() for one in asked) == 5)
        finally:
            held.release.set()
        assert sorted(one.result().status for one in asked) == [200] * 3 + [503] * 5
        wait_until(lambda: client.ask("/api/tokenize", {"text": "a"}).status == 200)


def test_no_text_is_logged(
    held: Held, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(create_app({"held": held}, SMALL)) as client:
        answer = client.ask("/api/tokenize", {"text": "fail secret-word"})
        assert answer.status == 500
        assert answer.json == {"error": "RuntimeError; this is a bug of the server"}
        assert client.ask("/api/secret-word?secret-word").status == 404
        assert (
            client.ask("/api/tokenize", data=b'{"secret-word', content_type="application/json").status == 400
        )
    said = caplog.text + "".join(capfd.readouterr())
    assert "POST /api/tokenize: RuntimeError" in said
    assert "secret-word" not in said


def test_a_client_that_leaves_is_not_an_error(
    tokenizers: dict[str, TokenizerModel], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(create_app(tokenizers, SMALL)) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=180) as raw:
            head = "POST /api/tokenize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
            raw.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
            wait_until(lambda: client.connections == 1)
        wait_until(lambda: not client.connections)
    assert caplog.text == ""


@pytest.mark.parametrize("path", ["/api/none", "/api/tokenize"])
@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_a_body_that_is_not_http_is_not_an_error(
    path: str, wait: float, tokenizers: dict[str, TokenizerModel], caplog: pytest.LogCaptureFixture
) -> None:
    with (
        serving(create_app(tokenizers, SMALL)) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=60) as raw,
    ):
        raw.sendall(f"POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na".encode())
        # With a pause it is answered before the rest comes.
        time.sleep(wait)
        raw.sendall(b"\r\nzz\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert re.match(rb"HTTP/1\.1 4\d\d ", raw.recv(4096))
            while raw.recv(4096):
                pass
    assert caplog.text == ""


def test_hostile_clients(client: Client) -> None:
    """`python tests/fuzz_page.py` sends more of them."""
    trial = fuzz_page.trial_of(client.port)
    fuzz_page.hammer(trial, "tests", iter(range(300)), clients=20)
    assert trial.failed == []


def test_a_hundred_clients_lose_nothing(client: Client, tokenizers: dict[str, TokenizerModel]) -> None:
    texts = [f"client {number} says naïve 👍🏽 things" for number in range(100)]
    expected = {text: tokenizers["bytes"].tokenizer.encode(text).ids.tolist() for text in texts}
    ready = threading.Barrier(100)

    def asking(text: str) -> list[list[int]]:
        ready.wait(180)
        found = [client.json("/api/tokenize", {"text": text}) for _ in range(3)]
        return [[token["id"] for token in one["tokens"]] for one in found]

    with ThreadPoolExecutor(100) as pool:
        for text, found in zip(texts, pool.map(asking, texts), strict=True):
            assert found == [expected[text]] * 3


def test_names_tell_models_apart() -> None:
    paths = [Path("/r/a/x.json"), Path("/r/b/x.json"), Path("/r/y.json")]
    assert named([(path, path) for path in paths]) == dict(
        zip(["a/x.json", "b/x.json", "y.json"], paths, strict=True)
    )
    assert len(named([(path, path) for path in [*paths, *paths]])) == 6


# The page.


def test_the_page_is_small_and_asks_no_other_origin(client: Client) -> None:
    files = page_files()
    assert sum(len(data) for data in files.values()) < 60_000
    for name, data in files.items():
        text = data.decode("utf-8")
        assert not re.search(
            r"(?i)https?:|//[a-z]|@import|url\(|innerHTML|outerHTML|insertAdjacentHTML",
            re.sub(r"(?m)^\s*(//|/\*|\*).*$", "", text),
        ), name
        served = client.ask("/" if name == "index.html" else f"/{name}")
        assert served.data == data
    page = client.ask("/").data.decode()
    # Nothing that the policy would refuse.
    assert not re.search(r"<script(?![^>]* src=)|<style|\bon\w+=|\bstyle=", page)
    for path in re.findall(r'(?:src|href)="([^":]+)"', page):
        assert client.ask(f"/{path}").status == 200


def test_a_stop_lets_requests_end(held: Held) -> None:
    with ThreadPoolExecutor(2) as pool:
        with serving(create_app({"held": held}, Limits(threads=1))) as client:
            asked = pool.submit(client.ask, "/api/tokenize", {"text": "wait"})
            assert held.begun.wait(60)
            pool.submit(release_once_stopping, client, held)
        assert asked.result().status == 200


def release_once_stopping(client: Client, held: Held) -> None:
    """Has the model answer in the midst of the stop."""
    server = client.server
    assert server is not None
    wait_until(lambda: server.should_exit)
    time.sleep(0.2)
    held.release.set()


def test_answers_are_sent_at_once() -> None:
    """Else the system waits for more, or for the other side: 40 ms."""
    with bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP
