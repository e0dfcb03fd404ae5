"""`sentitok serve` as it is typed: examples, signals, addresses, wrong calls."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

import sentitok
from commands import environment, run, start
from sentitok.cli.app import app
from web_server import Client


def url_of(process: "subprocess.Popen[bytes]") -> str:
    """Reads where a server is, from what it says first."""
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(rb"http://\S+", line)
        if found:
            return found.group().decode()
    raise AssertionError(process.stderr.read() if process.stderr else "")


@pytest.fixture
def folder(tokenizer: sentitok.Tokenizer, tmp_path: Path) -> Path:
    tokenizer.save(tmp_path / "tokenizer.json")
    tokenizer.save(tmp_path / "merged.json")
    return tmp_path


EXAMPLES = re.findall(
    r"\$ sentitok (.+)",
    str(next(one.epilog for one in app.registered_commands if one.name == "serve")),
)


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples(folder: Path, line: str) -> None:
    """On a port that is free: the line's own may be taken."""
    line = f"{line.partition(' --port')[0]} --port 0"
    with start(line, cwd=folder) as process:
        client = Client(int(url_of(process).rstrip("/").rpartition(":")[2]))
        names = [model["name"] for model in client.json("/api/model")["models"]]
        process.kill()
        process.communicate()
    assert names == [word for word in line.split() if word.endswith(".json")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, "stopped by Ctrl-C"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
    ids=["ctrl-c", "sigterm"],
)
def test_the_command_serves_until_a_signal(folder: Path, sent: signal.Signals, code: int, said: str) -> None:
    with start("serve tokenizer.json merged.json --port 0", cwd=folder) as process:
        url = url_of(process)
        client = Client(int(url.rstrip("/").rpartition(":")[2]))
        assert len(client.json("/api/model")["models"]) == 2
        process.send_signal(sent)
        _, err = process.communicate(timeout=180)
    assert process.returncode == code
    assert err.decode() == f"sentitok: {said}\n"


def test_what_the_command_prints(folder: Path) -> None:
    for flag, read in (("--json", json.loads), ("--quiet", lambda line: {"url": line.strip()})):
        with start(f"serve tokenizer.json --port 0 {flag}", cwd=folder) as process:
            assert process.stdout is not None
            told = read(process.stdout.readline().decode())
            process.kill()
            process.communicate()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", told["url"])
        if flag == "--json":
            assert told["schema"] == "sentitok.serve/1"
            assert told["models"] == ["tokenizer.json"]


def test_an_address_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run(f"serve tokenizer.json --port {port}", cwd=folder)
    assert code == 2
    assert f"127.0.0.1:{port}" in err
    assert "--port" in err


WRONG: list[tuple[str, int, str]] = [
    ("serve none.json", 2, "none.json"),
    ("serve tokenizer.json --host 203.0.113.1", 2, "203.0.113.1"),
    ("serve tokenizer.json --port 65536", 2, "65536"),
    ("serve tokenizer.json --max-bytes much", 2, "--max-bytes much"),
]


@pytest.mark.parametrize(("line", "code", "said"), WRONG)
def test_wrong_calls(folder: Path, line: str, code: int, said: str) -> None:
    found, out, err = run(f"{line} --quiet" if "--port" in line else f"{line} --port 0", cwd=folder)
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_without_the_extra_the_command_says_what_to_install(folder: Path) -> None:
    code = (
        "import sys, runpy; sys.modules['uvicorn'] = None; sys.argv = ['sentitok', 'serve', 'a.json'];"
        "runpy.run_module('sentitok.cli', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 1
    assert 'pip install "sentitok[web]"' in done.stderr


def test_serving_loads_no_model_library() -> None:
    code = "import sys, sentitok.web; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "pandas", "sklearn", "sentimodels", "typer", "rich", "httpx", "jinja2"}
