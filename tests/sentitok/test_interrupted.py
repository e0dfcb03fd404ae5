"""Commands that are killed, ended or stopped: the files they leave, and what removes these."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import environment, run, start
from sentitok import Tokenizer, atomic, encode_files, train_bpe
from sentitok.datasets import TokenDataset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

# How long a command has to get somewhere on a busy machine, in seconds.
PATIENCE = 180


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    tokenizer.save(tmp_path / "tokenizer.json")
    return tmp_path


def temporary(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".sentitok-*"))


def wait_for(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until the command has begun to write a shard."""
    end = time.monotonic() + PATIENCE
    while not any("shard-" in name for name in temporary(folder)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def encoding(folder: Path) -> subprocess.Popen[bytes]:
    """A command in the midst of a shard, waiting for more text."""
    line = "encode - -o tokens --shard-tokens 1000000000"
    process = start(line, cwd=folder, stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        # More than is encoded at once.
        process.stdin.write(b"A film of a man.\n" * 500_000)
        process.stdin.flush()
        wait_for(folder / "tokens", process)
    except BaseException:
        process.kill()
        raise
    return process


def ended(process: subprocess.Popen[bytes], number: signal.Signals) -> tuple[int, str]:
    """Sends a signal; returns code and stderr. Stdin stays open meanwhile."""
    process.send_signal(number)
    try:
        code = process.wait(PATIENCE)
    finally:
        process.kill()
    assert process.stderr is not None
    message = process.stderr.read().decode()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return code, message


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 143, "stopped by SIGTERM"), (signal.SIGINT, 130, "stopped by Ctrl-C")],
)
def test_a_command_that_is_told_to_end_leaves_nothing(
    number: signal.Signals, code: int, words: str, folder: Path
) -> None:
    ended_with, err = ended(encoding(folder), number)
    # Before it, a notice says that no separator is given.
    assert (ended_with, err.splitlines()[-1]) == (code, f"sentitok: {words}")
    assert temporary(folder) == []


def test_what_a_killed_one_left_goes_with_the_next_run(folder: Path, tokenizer: Tokenizer) -> None:
    code, _ = ended(encoding(folder), signal.SIGKILL)
    assert code == -signal.SIGKILL
    left = temporary(folder)
    assert len(left) == 2
    # Not of this data set, or not of this program: they stay.
    strangers = [".sentitok-notes.bin-abcdef", ".sentitok-shard-x.bin-abcdef", ".sentitok-abcdef"]
    for name in strangers:
        (folder / "tokens" / name).touch()
    text = folder / "text.txt"
    text.write_text("A film of a man.\n")
    # A living one writes next to it, and is not disturbed.
    living = encoding_into(folder)
    try:
        assert len(temporary(folder)) == len([*left, *strangers]) + 2
        encode_files(text, folder / "tokens", tokenizer)
        assert temporary(folder) == sorted([*strangers, *temporary(folder / "other")])
        assert len(temporary(folder / "other")) == 2
    finally:
        living.kill()
        living.communicate()
    TokenDataset(folder / "tokens").verify()


def encoding_into(folder: Path) -> subprocess.Popen[bytes]:
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "tokenizer.json", other)
    return encoding(other)


def test_a_living_writer_of_the_same_shards_is_not_disturbed(folder: Path, tokenizer: Tokenizer) -> None:
    process = encoding(folder)
    try:
        living = temporary(folder)
        (folder / "text.txt").write_text("A film of a man.\n")
        encode_files(folder / "text.txt", folder / "tokens", tokenizer)
        assert temporary(folder) == living
    finally:
        process.kill()
        process.communicate()


def wait_until_listening(process: subprocess.Popen[bytes]) -> None:
    """Waits until a command answers SIGTERM: before, the system would end it without a word."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():  # no Linux
        time.sleep(5)
        return
    end = time.monotonic() + PATIENCE
    while not int(status.read_text().partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_sigterm_is_heard_where_nothing_comes(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for line in ("info pipe", "show -t pipe film", "eval tokenizer.json pipe"):
        process = start(line, cwd=folder)
        wait_until_listening(process)
        # Long enough to be in its wait on a quiet machine; a shorter one would pass too.
        time.sleep(0.5)
        assert process.poll() is None, line
        assert ended(process, signal.SIGTERM) == (143, "sentitok: stopped by SIGTERM\n"), line


# A signal comes while a library works that makes an error of its own of the exception.
SWALLOWED = """
import signal, sys
number = int(sys.argv.pop())
def building(*_, **__):
    try:
        signal.raise_signal(number)
    except BaseException as error:
        raise ValueError(f"while a schema is built: {error!r}")
import sentitok.cli.inspect as module
module.load_plain = building
from sentitok.cli import main
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 143, "stopped by SIGTERM"), (signal.SIGINT, 130, "stopped by Ctrl-C")],
)
def test_a_signal_that_a_library_swallows(
    number: signal.Signals, code: int, words: str, folder: Path
) -> None:
    call = [sys.executable, "-c", SWALLOWED, "show", "film", str(int(number))]
    done = subprocess.run(call, cwd=folder, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"sentitok: {words}\n")


def test_a_second_sigterm_ends_at_once(folder: Path) -> None:
    code = (
        "import signal, time\nfrom sentitok.cli import process, signals\n"
        "def app():\n"
        "    with signals.working():\n"
        "        try:\n            print('ready', flush=True); time.sleep(60)\n"
        "        finally:\n            print('tidying', flush=True); time.sleep(60)\n"
        "signals.listen('x')\n"
        "process.run(app, 'x')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.stdout.readline() == b"tidying\n"
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM


# A command to which a signal comes when it imports a module.
INTERRUPTED = """
import signal, sys
module, number, package = sys.argv[1], int(sys.argv[2]), sys.argv[3]
class Moment:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            signal.raise_signal(number)
sys.meta_path.insert(0, Moment())
del sys.argv[1:4]
if package == "sentitok":
    from sentitok.cli import main
else:
    from sentimodels.cli import main
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 143, "stopped by SIGTERM"), (signal.SIGINT, 130, "stopped by Ctrl-C")],
)
@pytest.mark.parametrize(
    ("package", "module", "line"),
    [
        ("sentitok", "sentitok.cli.process", "--version"),
        ("sentitok", "sentitok.cli.app", "--version"),
        ("sentitok", "typer", "--version"),
        ("sentitok", "typer.core", "--version"),
        ("sentitok", "sentitok.cli.bench", "--version"),
        ("sentitok", "sentitok._sentitok", "--version"),
        ("sentitok", "sentitok._sentitok", "show film"),
        ("sentimodels", "sentitok.cli.process", "--version"),
        ("sentimodels", "sentimodels.cli.app", "--version"),
        ("sentimodels", "typer", "archs"),
        ("sentimodels", "sentimodels.cli.inspect", "archs"),
    ],
)
def test_a_signal_is_answered_from_the_first_line_on(
    number: signal.Signals, code: int, words: str, package: str, module: str, line: str
) -> None:
    program = {"sentitok": "sentitok", "sentimodels": "senti"}[package]
    if package == "sentimodels":
        pytest.importorskip("torch", reason="the extra `models` is not installed")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, str(int(number)), package, *line.split()],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{program}: {words}\n")


def test_a_signal_that_is_ignored_stays_ignored(folder: Path) -> None:
    code = "import signal\nfor n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)\n"
    raised = "signal.raise_signal(signal.SIGINT), signal.raise_signal(signal.SIGTERM)"
    code += "from sentitok.cli import process, signals\nsignals.listen('x')\n"
    code += f"process.run(lambda: [{raised}, print('done')], 'x')"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"done\n", b"")


def call_with_alarm(call: Callable[[str], object], text: str) -> None:
    """A function, so that the alarm of a machine that is late to begin the call is heard in it too."""
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    call(text)


def test_signals_are_answered_in_the_midst_of_a_text() -> None:
    tokenizer = train_bpe(texts=["a film of a man and the whole"], vocab_size=270)
    part = "A film of the whole man, told 12 times; " * (1 << 18)
    calls: tuple[Callable[[str], object], ...] = (
        tokenizer.encode, lambda text: tokenizer.encode_batch([text]), tokenizer.count
    )  # fmt: skip
    heard: list[int] = []

    def stop(*_: object) -> None:
        raise RuntimeError("stop")

    before = signal.getsignal(signal.SIGALRM)
    try:
        for call in calls:
            # Longer texts for a faster machine. Answered at the end alone, all signals would be one.
            for times in (1, 2, 4, 8, 16, 32):
                text = part * times
                heard.clear()
                signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
                signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
                call(text)
                signal.setitimer(signal.ITIMER_REAL, 0)
                if len(heard) >= 2:
                    break
            assert len(heard) >= 2, call
            signal.signal(signal.SIGALRM, stop)
            with pytest.raises(RuntimeError, match="stop"):
                call_with_alarm(call, text * 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_python_writers_keep_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    atomic.write(path, b"first")
    assert path.read_bytes() == b"first"
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    left = path.parent / ".sentitok-a.json-abcdef"
    strangers = [
        path.parent / name for name in (".sentitok-b.json-abcdef", ".sentitok-a.json-abc", "a.json-abcdef")
    ]
    for file in (left, *strangers):
        file.write_bytes(b"half")
    with atomic.writing(path) as living:
        living.write_bytes(b"third")
        atomic.write(path, b"second")
        assert path.read_bytes() == b"second"
        assert living.exists()
        assert not left.exists()
    assert path.read_bytes() == b"third"
    assert sorted(path.parent.iterdir()) == sorted([path, *strangers])

    def fails() -> None:
        with atomic.writing(path) as beside:
            beside.write_bytes(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fails()
    assert path.read_bytes() == b"third"
    assert sorted(path.parent.iterdir()) == sorted([path, *strangers])
    long = tmp_path / ("x" * 250)
    atomic.write(long, b"long")
    assert long.read_bytes() == b"long"


def test_both_kinds_of_writers_tidy_after_each_other(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "tokenizer.json"
    for write in (lambda: tokenizer.save(path), lambda: atomic.write(path, b"{}")):
        (tmp_path / ".sentitok-tokenizer.json-abcdef").touch()
        with atomic.writing(path):
            (tmp_path / ".sentitok-tokenizer.json-abcdeg").touch()
            write()
            # The one that is being written, and the file.
            assert len(list(tmp_path.iterdir())) == 2


def test_many_writers_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a"
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for _ in range(30):
                atomic.write(path, bytes([number]) * 100)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failed
    assert len(set(path.read_bytes())) == 1
    assert list(tmp_path.iterdir()) == [path]


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit of file size")
def test_a_full_disk_names_the_file(folder: Path) -> None:
    import resource

    def small_files() -> None:
        # As a full disk: the signal is ignored, so writing fails.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))

    text = "".join(f"word{n} of the film\n" for n in range(50_000))
    (folder / "text.txt").write_text(text)
    for line, name in (
        ("train-bpe text.txt --vocab 3000 -o out.json", "out.json"),
        ("count text.txt -o all.counts", "all.counts"),
        ("encode text.txt -o tokens", "tokens/shard-00000.bin"),
        ("prune tokenizer.json text.txt --id-map map.npy -o small.tiktoken", "map.npy"),
    ):
        code, _, message = run(line, cwd=folder, preexec_fn=small_files)
        assert (code, message.splitlines()[-1]) == (1, f"sentitok: {name}: File too large"), line
        assert temporary(folder) == []
