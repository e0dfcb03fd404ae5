"""Commands that are killed, whose disk is full, whose files change: what they leave, and what comes next.

    python tests/fuzz_faults.py kill --count 100           # 100 kills of each command
    python tests/fuzz_faults.py --minutes 30 full train    # full disks only, of commands with this word

Faults:
kill    SIGKILL or SIGTERM at a random moment
full    a disk, or the files on it, of a random size
change  the file that is read grows, shrinks, is overwritten, replaced or deleted at a random moment
short   the file that is read is a pipe, or stdin, whose parts come a few bytes at a time

After a fault each output is whole: the old one or the new one. An error names a file and a reason. The same
command, typed again (with --resume where there is something to resume), gives the bytes of an undisturbed one
and leaves no temporary file and no process. Commands are forked from this process, which has imported
everything. Prints a line per command, and what repeats a failure; ends with status 1 after one.
"""

import argparse
import contextlib
import ctypes
import fcntl
import os
import pkgutil
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

#: When a command counts as hanging, in seconds.
PATIENCE = 60
#: Exit codes of commands that end by a signal: before the first line of the program, and after it.
STOPPED = {signal.SIGKILL: {-signal.SIGKILL}, signal.SIGTERM: {-signal.SIGTERM, 143}}
#: How temporary files begin.
TEMPORARY = ".sentitok-"
SPREAD = "--engine processes --workers 2"


@dataclass
class Command:
    """A command, and how it is typed again."""

    #: A command line, or what a process runs.
    line: "str | Callable[[], object]"
    #: The files and folders that it writes.
    outputs: list[str]
    #: Lines to type after a fault: the first that succeeds.
    again: list[str] | None = None
    #: Whether it reads a text that may change, or come from a pipe: its name in the line.
    reads: str = ""
    #: The same with other input, to have old files.
    other: str = ""
    #: Whether it needs PyTorch.
    models: bool = False
    #: Whether runs of the same bytes write files that differ, by the times in them.
    timed: bool = False


def trained(name: str, **options: Any) -> Callable[[], object]:
    """A training that saves its progress every moment, and its tokenizer at the end."""

    def train() -> None:
        import sentitok

        saving = {"checkpoint": "saved", "checkpoint_seconds": 0.01, "resume": True}
        made = getattr(sentitok, name)("text.txt", **saving, **options)
        made.save("out.json")
        sentitok.remove_checkpoint("saved")

    return train


def of_senti(line: str, reads: str = "") -> Command:
    """A training of `senti`: it is resumed, or begins again if there is nothing to resume."""
    program = line.split()[0].replace("sweep", "train")
    again = [f"senti {program} --resume out", f"senti {line}", f"senti {line} --force"]
    return Command(f"senti {line}", ["out"], again, reads=reads, models=True, timed=True)


_LSTM = "--epochs 3 --set model.d_model=8 --set model.d_hidden=8 --set data.vocab_size=300"
_GPT = (
    "--tokenizer tokenizer.json --context 16 --steps 12 --set model.d_model=16 --set model.n_layers=1 "
    "--set model.n_heads=2 --set train.batch_size=4"
)
COMMANDS: dict[str, Command] = {
    **{
        name: Command(line, [out], reads="text.txt", other="other.txt")
        for name, line, out in [
            ("count", "sentitok count text.txt -o out.counts", "out.counts"),
            ("count-memory", "sentitok count text.txt -o out.counts --max-memory 256k", "out.counts"),
            ("train-bpe", "sentitok train-bpe text.txt --vocab 1000 -o out.json", "out.json"),
            (
                "train-memory",
                "sentitok train-bpe text.txt --vocab 1000 -o out.json --max-memory 256k",
                "out.json",
            ),
            ("train-unigram", "sentitok train-unigram text.txt --vocab 400 -o out.json", "out.json"),
            ("train-wordpiece", "sentitok train-wordpiece text.txt --vocab 400 -o out.json", "out.json"),
            ("encode", "sentitok encode text.txt -o out --shard-tokens 30000", "out"),
            ("encode-megatron", "sentitok encode text.txt -o out --layout megatron", "out"),
            ("eval", "sentitok eval tokenizer.json text.txt --plot out.svg", "out.svg"),
        ]
    },
    **{
        f"checkpoint-{name}": Command(line, ["out.json", "saved"])
        for name, line in [
            ("bpe", trained("train_bpe", vocab_size=2000)),
            ("memory", trained("train_bpe", vocab_size=2000, max_memory=1 << 18)),
            ("superwords", trained("train_bpe", vocab_size=1000, superwords_from=600)),
            ("unigram", trained("train_unigram", vocab_size=400)),
            ("wordpiece", trained("train_wordpiece", vocab_size=1000)),
        ]
    },
    "checkpoint-line": Command(
        "sentitok train-bpe text.txt --vocab 1000 -o out.json --checkpoint saved --resume",
        ["out.json", "saved"],
        reads="text.txt",
    ),
    "count-engine": Command(
        f"sentitok count text.txt -o out.counts {SPREAD} --shard-bytes 100k", ["out.counts"]
    ),
    "encode-engine": Command(f"sentitok encode text.txt -o out {SPREAD} --shard-bytes 100k", ["out"]),
    "encode-chats": Command(
        "sentitok encode --chat model chats.jsonl -o out --pack 64 --truncate right --mask",
        ["out"],
        reads="chats.jsonl",
    ),
    "merge-counts": Command("sentitok merge-counts a.counts b.counts -o out.counts", ["out.counts"]),
    "prune": Command(
        "sentitok prune tokenizer.json text.txt -o out.json --id-map out.npy",
        ["out.json", "out.npy"],
        reads="text.txt",
        other="other.txt",
    ),
    "convert": Command("sentitok convert tokenizer.json out", ["out"]),
    "transplant": Command(
        "sentitok transplant base merged.json base -o out", ["out"], other="--pad-to-multiple 64"
    ),
    "lock": Command("sentitok lock locked", ["locked"]),
    "senti-train-nb": of_senti("train reviews.csv -o out --arch nb --no-baseline", reads="reviews.csv"),
    "senti-train-lstm": of_senti(
        f"train reviews.csv -o out --arch lstm --no-baseline {_LSTM}", reads="reviews.csv"
    ),
    "senti-train-folds": of_senti("train reviews.csv -o out --arch tfidf --folds 3 --no-baseline"),
    "senti-sweep": of_senti(f"sweep reviews.csv -o out --arch lstm --set optim.lr=0.01,0.03 {_LSTM}"),
    "senti-pretrain": of_senti(f"pretrain books.txt -o out --arch gpt {_GPT}", reads="books.txt"),
    "senti-predict": Command(
        "senti predict nb reviews.csv -o out.csv", ["out.csv"], reads="reviews.csv", models=True
    ),
    "senti-split": Command("senti data split reviews.csv -o out", ["out"], reads="reviews.csv", models=True),
    "senti-export": Command("senti export nb --numpy -o out", ["out"], models=True),
}


# Processes.


def program(line: Any) -> None:
    """Runs a command line in this process, to its end."""
    if callable(line):
        line()
        return
    sys.argv = line.split()
    if sys.argv[0] == "sentitok":
        from sentitok.cli import main
    else:
        from sentimodels.cli import main
    main()


def signal_after(number: int, seconds: float) -> None:
    """Lets the system send a signal to this process after so many seconds of a processor.

    Another process would be too late on a busy machine, where a command takes one turn.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # A `sigevent` with the signal, of 64 bytes; an `itimerspec` without repetition.
    event, timer = struct.pack("=qii48x", 0, number, 0), ctypes.c_void_p()
    when = struct.pack("=qqqq", 0, 0, int(seconds), int(seconds % 1 * 1e9) + 1)
    if libc.timer_create(time.CLOCK_PROCESS_CPUTIME_ID, event, ctypes.byref(timer)):
        raise OSError(ctypes.get_errno(), "timer_create")
    if libc.timer_settime(timer, 0, when, None):
        raise OSError(ctypes.get_errno(), "timer_settime")


class Started:
    """A command in a forked process, whose output goes to a pipe."""

    def __init__(
        self,
        line: Any,
        folder: Path,
        file_bytes: int | None = None,
        stdin: int | None = None,
        stop: tuple[int, float] | None = None,
    ) -> None:
        here, there = os.pipe()
        fcntl.fcntl(there, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.pid = os.fork()
        if not self.pid:
            self._be(line, folder, there, file_bytes, stdin, stop)
        os.close(there)
        self.out = b""
        self._reader = threading.Thread(target=self._read, args=(here,))
        self._reader.start()

    @staticmethod
    def _be(
        line: Any,
        folder: Path,
        there: int,
        file_bytes: int | None,
        stdin: int | None,
        stop: tuple[int, float] | None,
    ) -> None:
        code: object = 1
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
            for stream in (1, 2):
                os.dup2(there, stream)
            os.closerange(3, 256)
            sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # 2026-11-30: of the process
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # 2026-11-30: the same
            sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115  # 2026-11-30: the same
            os.chdir(folder)
            os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if file_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
            if stop is not None:
                signal_after(*stop)
            program(line)
            code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(code if isinstance(code, int) else 1)

    def _read(self, here: int) -> None:
        while part := os.read(here, 1 << 16):
            self.out += part
        os.close(here)

    def wait(self, seconds: float, used: float) -> None:
        """Waits until it has used so many seconds of a processor, or for so long."""
        until = time.monotonic() + seconds
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while time.monotonic() < until and os.waitid(os.P_PID, self.pid, flags) is None:
            with contextlib.suppress(OSError, IndexError):  # one of its threads has ended
                tasks = [path / "schedstat" for path in Path(f"/proc/{self.pid}/task").iterdir()]
                if sum(int(task.read_text().split()[0]) for task in tasks) > used * 1e9:
                    return
            time.sleep(0.0005)

    def end(self) -> tuple[int, str]:
        """Waits; returns the exit code, or the number of the signal below zero, and what it wrote."""
        until = time.monotonic() + PATIENCE
        while not (done := os.wait4(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"it hung: {self.out.decode()[-1000:]}")
            time.sleep(0.001)
        until = time.monotonic() + 20
        while left := members(self.pid):
            assert time.monotonic() < until, f"{len(left)} processes outlive it"
            time.sleep(0.01)
        self._reader.join()
        self.used = done[2].ru_utime + done[2].ru_stime
        return os.waitstatus_to_exitcode(done[1]), self.out.decode(errors="replace")


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    found.append(int(path.name))
    return found


# Files.


def contents(folder: Path, names: list[str]) -> dict[str, bytes]:
    """The files of an output, by name."""
    found = {}
    for name in names:
        path = folder / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


def temporary(folder: Path) -> list[str]:
    """The files that a command must not leave; PyTorch makes an empty folder of its own."""
    found = [path for path in folder.rglob("*") if path.name.startswith(TEMPORARY)]
    found += [path for path in (folder / "tmp").iterdir() if not path.name.startswith("torchinductor")]
    return sorted(str(path.relative_to(folder)) for path in found)


def prepare(folder: Path, models: bool) -> None:
    """Writes what the commands read."""
    import json

    import sentitok
    from chat_templates import CHATML, IM, assistant, user
    from cli_runs import write_base
    from labelled_reviews import write_books

    rng = random.Random(4)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(60_000)]
    for name, lines in (("text.txt", 30_000), ("other.txt", 3_000)):
        (folder / name).write_text("".join(" ".join(rng.choices(words, k=9)) + "\n" for _ in range(lines)))
    (folder / "tmp").mkdir()
    tokenizer = sentitok.train_bpe(folder / "other.txt", vocab_size=1000, special_tokens=[*IM])
    tokenizer.save(folder / "tokenizer.json")
    sentitok.train_bpe(folder / "text.txt", vocab_size=1200).save(folder / "merged.json")
    write_base(folder / "base", tokenizer)
    write_base(folder / "locked", tokenizer)
    for part, name in enumerate(("a.counts", "b.counts")):
        sentitok.count(folder / "text.txt", shard=(part, 2), out=folder / name)
    settings = tokenizer.settings.replace(chat_template=CHATML, eos_token=IM[1])
    tokenizer.with_settings(settings).save_pretrained(folder / "model")
    chats = [{"messages": [user(f"{n} {n * 7}"), assistant("So it is." * (n % 9))]} for n in range(2_000)]
    (folder / "chats.jsonl").write_text("".join(f"{json.dumps(chat)}\n" for chat in chats))
    if models:
        write_books(folder)


def must(line: Any, folder: Path) -> tuple[float, float]:
    """Runs a command that has to succeed; returns its seconds, and those of a processor."""
    began, started = time.monotonic(), Started(line, folder)
    code, out = started.end()
    assert code == 0, f"{line}: {code}: {out}"
    return time.monotonic() - began, started.used


@dataclass
class Trial:
    """A command with its undisturbed results."""

    command: Command
    #: A folder of what it reads, never written to.
    given: Path
    #: A folder to try in.
    folder: Path
    seconds: float = 0.0
    used: float = 0.0
    new: dict[str, bytes] = field(default_factory=dict)
    old: dict[str, bytes] = field(default_factory=dict)
    #: Files whose bytes differ from run to run.
    timed: set[str] = field(default_factory=set)
    found: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        """Runs the command undisturbed, twice, and with other input."""
        for turn in range(2):
            self.clean()
            self.seconds, self.used = must(self.command.line, self.folder)
            made = contents(self.folder, self.command.outputs)
            if turn:
                self.timed = {name for name in made if made[name] != self.new.get(name)}
                assert self.command.timed or not self.timed, f"differ from run to run: {self.timed}"
                assert made.keys() == self.new.keys()
            self.new = made
            assert not temporary(self.folder), temporary(self.folder)
        if self.command.other:
            self.clean()
            must(self.other(), self.folder)
            self.old = contents(self.folder, self.command.outputs)

    def other(self) -> str:
        assert isinstance(self.command.line, str)
        if self.command.other.startswith("-"):
            return f"{self.command.line} {self.command.other}"
        return self.command.line.replace(self.command.reads, self.command.other)

    def clean(self) -> None:
        """Makes the folder what it is before the command."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.given, self.folder, dirs_exist_ok=True)

    def begin_one(self, rng: random.Random) -> Any:
        """Prepares the folder, maybe with old outputs; returns the line."""
        self.clean()
        if self.old and rng.random() < 0.5:
            for name, data in self.old.items():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(data)
            return f"{self.command.line} --force"
        return self.command.line

    def check_whole(self, line: Any) -> None:
        """Each file of the output is the old or the new one."""
        replaces = isinstance(line, str) and line.endswith("--force")
        if self.command.timed or "saved" in self.command.outputs:
            return
        for name, data in contents(self.folder, self.command.outputs).items():
            if Path(name).name.startswith(TEMPORARY) or "parts/" in name:
                continue
            if name.endswith("manifest.json") and b'"complete": false' in data:
                continue  # of a data set whose parts are not all there
            given = self.given / name
            expected = [self.new.get(name), self.old.get(name) if replaces else None]
            whole = data in expected or (given.is_file() and data == given.read_bytes())
            assert whole, f"{name} is half written: {len(data)} bytes, {data[:300]!r}"

    def check_again(self, line: Any) -> None:
        """Typed again, the command gives what an undisturbed one does, and leaves nothing else."""
        lines: list[Any] = self.command.again or [self.command.line]
        if isinstance(line, str) and line.endswith("--force"):
            lines = [line]
        tried = []
        for one in lines:
            code, out = Started(one, self.folder).end()
            tried.append(f"{one}: {code}: {out[-1500:]}")
            assert "Traceback" not in out, tried
            # It was stopped when all was written.
            if code == 0 or "has finished" in out or "have finished" in out:
                how = (
                    "--resume"
                    if "--resume" in str(one)
                    else "--force"
                    if "--force" in str(one)
                    else "the line"
                )
                self.found[f"again by {how}"] += len(lines) > 1
                break
        else:
            raise AssertionError(f"it cannot be typed again: {tried}")
        made = contents(self.folder, self.command.outputs)
        extra = made.keys() - self.new.keys()
        if isinstance(line, str) and line.endswith("--force"):
            extra -= self.old.keys()
        assert not extra, f"left behind: {sorted(extra)}"
        assert self.new.keys() <= made.keys(), f"missing: {sorted(self.new.keys() - made.keys())}, {tried}"
        differ = [name for name in self.new.keys() - self.timed if made[name] != self.new[name]]
        if differ:
            one = sorted(differ)[0]
            pair = f"{made[one][-300:]!r} for {self.new[one][-300:]!r}"
            raise AssertionError(f"other bytes: {sorted(differ)}, at the end of {one} {pair}, {tried}")
        assert not temporary(self.folder), f"left behind: {temporary(self.folder)}"
        there = {path.name for path in self.folder.iterdir()}
        tops = {Path(name).parts[0] for name in [*self.new, *self.old]} | {
            path.name for path in self.given.iterdir()
        }
        assert there <= tops, f"left behind: {there - tops}"


# Faults.


def kill(trial: Trial, rng: random.Random) -> None:
    line = trial.begin_one(rng)
    number = rng.choice([signal.SIGKILL, signal.SIGTERM])
    share = rng.random() * 1.05
    if SPREAD in str(line):  # the work of other processes is not that of the command
        started = Started(line, trial.folder)
        time.sleep(share * trial.seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(started.pid, number)
    else:
        started = Started(line, trial.folder, stop=(number, share * trial.used))
    code, out = started.end()
    trial.found[f"{number.name} {code}"] += 1
    assert code == 0 or code in STOPPED[number], f"ended with {code}: {out[-1500:]}"
    # A worker that Python was starting finds its parent gone before it has begun.
    is_orphan = code == -signal.SIGKILL and "spawn_main" in out and "EOFError" in out
    assert "Traceback" not in out or is_orphan, out[-1500:]
    if code in (0, 143):
        # Workers end at once; what they left next to finished parts goes with the next command.
        left = [name for name in temporary(trial.folder) if "parts/" not in name]
        assert not left, f"left after SIGTERM: {left}"
    # Nobody can remove the folders of `tempfile` of a process that was killed.
    for path in (trial.folder / "tmp").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    trial.check_whole(line)
    trial.check_again(line)


def full(trial: Trial, rng: random.Random) -> None:
    line = trial.begin_one(rng)
    total = sum(map(len, trial.new.values()))
    how = rng.choice(["files", "disk"]) if can_mount() else "files"
    if how == "files":
        largest = max(map(len, trial.new.values()))
        limit = rng.choice([0, 1, 100, 4096, largest - 1, rng.randrange(largest), rng.randrange(largest)])
        if SPREAD in str(line):
            limit += 100  # Python's own semaphores are files of 32 bytes
        code, out = Started(line, trial.folder, file_bytes=limit).end()
    else:
        there = sum(path.stat().st_size + 8192 for path in trial.folder.rglob("*"))
        with small_disk(trial.folder, there + rng.randrange(total * 2 + 16_384)):
            code, out = Started(line, trial.folder).end()
            if code:
                check_error(code, out)
                left = temporary(trial.folder)
                assert not left, f"left on a full disk: {left}"
            trial.check_whole(line)
    trial.found[f"{how} {code}"] += 1
    if code:
        check_error(code, out)
        assert not temporary(trial.folder), f"left behind: {temporary(trial.folder)}"
    trial.check_whole(line)
    trial.check_again(line)


def check_error(code: int, out: str) -> None:
    """It names a file and the reason."""
    assert code in (1, 2), f"ended with {code}: {out[-1500:]}"
    assert "Traceback" not in out, out[-3000:]
    reasons = ("File too large", "No space left", "file too large", "no space left")
    assert any(reason in out for reason in reasons), out[-1500:]


def can_mount() -> bool:
    """Whether this process may mount a small disk."""
    if not hasattr(can_mount, "known"):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True, check=False)
            if done.returncode == 0:
                subprocess.run(["umount", folder], check=True)
        can_mount.known = done.returncode == 0  # type: ignore[attr-defined]  # 2026-11: found once
    return can_mount.known  # type: ignore[attr-defined,no-any-return]  # 2026-11: the same


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """Makes a folder with its files a disk of so many bytes; what is on it at the end stays in the folder."""
    aside = folder.with_name(folder.name + ".aside")
    shutil.copytree(folder, aside)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        yield
        shutil.rmtree(aside)
        shutil.copytree(folder, aside)
    finally:
        subprocess.run(["umount", folder], check=True)
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        shutil.rmtree(aside)


def change(trial: Trial, rng: random.Random) -> None:
    trial.clean()
    path = trial.folder / trial.command.reads
    started = Started(trial.command.line, trial.folder)
    started.wait(PATIENCE, rng.random() * trial.used)
    what = rng.choice(["grow", "shrink", "empty", "overwrite", "replace", "delete"])
    size = path.stat().st_size
    with path.open("r+b") as file:
        if what == "grow":
            file.seek(size)
            file.write(b"another line of words\n" * rng.randint(1, 20_000))
        elif what == "shrink":
            file.truncate(rng.randrange(size))
        elif what == "empty":
            file.truncate(0)
        elif what == "overwrite":
            file.seek(rng.randrange(size))
            file.write(rng.choice([b"\n", b"\0", b"\xff", b'"', b"w"]) * rng.randint(1, size))
    if what == "replace":
        shutil.copy(trial.folder / "other.txt", trial.folder / "another")
        (trial.folder / "another").replace(path)
    elif what == "delete":
        path.unlink()
    code, out = started.end()
    trial.found[f"{what} {code}"] += 1
    assert code in (0, 1, 2), f"ended with {code}: {out[-1500:]}"
    assert "Traceback" not in out, out[-3000:]
    assert "InternalError" not in out, out[-3000:]
    left = temporary(trial.folder)
    assert not left, f"left behind: {left}"
    shutil.copy(trial.given / trial.command.reads, path)


def short(trial: Trial, rng: random.Random) -> None:
    trial.clean()
    assert isinstance(trial.command.line, str)
    path = trial.folder / trial.command.reads
    data = path.read_bytes()
    end, stdin, line = -1, None, trial.command.line
    if rng.random() < 0.5:
        path.unlink()
        os.mkfifo(path)
    else:
        stdin, end = os.pipe()
        os.set_inheritable(end, False)
        line = line.replace(path.name, "-", 1)
    started = Started(line, trial.folder, stdin=stdin)
    if stdin is not None:
        os.close(stdin)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(end if end >= 0 else path, "wb", buffering=0) as file:
            at = 0
            while at < len(data):
                size = rng.choice([1, 7, 4095, 65_537, 1 << 18])
                file.write(data[at : at + size])
                at += size

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    code, out = started.end()
    if code:
        # A writer that nobody reads waits at its beginning.
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    trial.found[f"{'pipe' if stdin is None else 'stdin'} {code}"] += 1
    assert "Traceback" not in out, out[-3000:]
    assert code in (0, 2), f"ended with {code}: {out[-1500:]}"
    left = temporary(trial.folder)
    assert not left, f"left behind: {left}"
    if code == 0:
        made = contents(trial.folder, trial.command.outputs)
        # A data set and a run name their source.
        names = [
            name
            for name in trial.new.keys() - trial.timed
            if not name.endswith(".json") or name == "out.json"
        ]
        differ = [name for name in names if made.get(name) != trial.new[name]]
        assert not differ, f"other bytes: {differ}"


FAULTS: dict[str, Callable[[Trial, random.Random], None]] = {
    "kill": kill,
    "full": full,
    "change": change,
    "short": short,
}


def suits(fault: str, command: Command) -> bool:
    return bool(command.reads) if fault in ("change", "short") else True


def run(fault: str, name: str, args: argparse.Namespace, seconds: float, given: Path) -> int:
    """Tries a command with a fault, prints a line and returns the number of failures."""
    started, tried, failures = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(dir=given.parent) as folder:
        trial = Trial(COMMANDS[name], given, Path(folder))
        try:
            trial.begin()
        except AssertionError as error:
            print(f"failed: {fault} {name}: undisturbed: {error}", flush=True)
            return 1
        while time.monotonic() - started < seconds and tried < args.count and failures < args.failures:
            number = args.first + tried
            tried += 1
            try:
                FAULTS[fault](trial, random.Random(f"{fault} {name} {args.seed} {number}"))
            except AssertionError as error:
                failures += 1
                print(
                    f"failed: {fault} {name} --seed {args.seed} --first {number} --count 1\n  {error}",
                    flush=True,
                )
    took, alone = time.monotonic() - started, f"undisturbed {trial.seconds:.2f} s, CPU {trial.used:.2f} s"
    about = ", ".join(f"{what}: {times}" for what, times in sorted(trial.found.items()) if times)
    print(
        f"{fault:6} {name:22} {tried:5,} tried {failures:3} failed {took:6.0f} s, {alone}; {about}",
        flush=True,
    )
    return failures


def chosen(words: list[str], models: bool) -> list[tuple[str, str]]:
    """The faults and commands of these words: `kill`, or a word of commands."""
    faults = [fault for fault in FAULTS if fault in words] or [*FAULTS]
    some = [word for word in words if word not in FAULTS]
    return [
        (fault, name)
        for name, command in COMMANDS.items()
        for fault in faults
        if suits(fault, command)
        and (models or not command.models)
        and (not some or any(word in name for word in some))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "word", nargs="*", help=f"faults ({', '.join(FAULTS)}), and words of {', '.join(COMMANDS)}"
    )
    parser.add_argument("--count", type=int, help="faults of each command (without --minutes: 3)")
    parser.add_argument("--minutes", type=float, help="time for all")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--failures", type=int, default=5, help="stop a command after so many")
    args = parser.parse_args()
    pairs = chosen(args.word, models=True)
    seconds = args.minutes * 60 / len(pairs) if args.minutes else float("inf")
    args.count = args.count or (sys.maxsize if args.minutes else 3)
    models = any(COMMANDS[name].models for _, name in pairs)
    import_all(models)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        given = Path(place) / "given"
        given.mkdir()
        prepare(given, models)
        if any(name in ("senti-predict", "senti-export") for _, name in pairs):
            must("senti train reviews.csv -o nb --arch nb --no-baseline", given)
        failures = sum([run(*pair, args, seconds, given) for pair in pairs])
    return 1 if failures else 0


def import_all(models: bool) -> None:
    """Imports what the commands do, so that a fork has it."""
    names = ["sentitok.cli.app", "sentitok.datasets", "sentitok.embeddings"]
    if models:
        import torch

        import sentimodels

        torch.set_num_threads(1)
        names += ["torch._dynamo", "torch._inductor.config", "sklearn.metrics", "sklearn.model_selection"]
        parts = ("cli.app", "models.", "nn.", "recipes.", "runs.", "tasks.", "text.", "training.", "data.")
        for module in pkgutil.walk_packages(sentimodels.__path__, "sentimodels."):
            if module.name.removeprefix("sentimodels.").startswith(parts):
                names.append(module.name)
    for name in names:
        import_module(name)


if __name__ == "__main__":
    sys.exit(main())
