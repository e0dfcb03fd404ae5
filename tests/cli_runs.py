"""Runs of the command `sentitok`, and a folder with what the examples of its help name."""

import contextlib
import io
import json
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import sentitok
from chat_templates import CHATML, IM, assistant, user
from sentitok.cli.app import app
from sentitok.embeddings.tensor_files import write_tensors
from sentitok.locks import lock

CORPUS = Path(__file__).resolve().parent / "data" / "corpus"


@dataclass
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


# To put it together takes as long as a short command; a process does it once.
_COMMAND = get_command(app)


def run_inside(*args: str | Path, cwd: Path, stdin: bytes = b"", **variables: str) -> Done:
    """Runs a command in this process: a new one imports for a quarter of a second."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        warnings.catch_warnings(),
        _piped(stdin) as given,
    ):
        warnings.simplefilter("default")
        for name in ("NO_COLOR", "FORCE_COLOR"):  # what the user of the tests wishes
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", given)
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        try:
            _COMMAND(list(map(str, args)), prog_name="sentitok")
            code: object = 0
        except SystemExit as end:
            code = end.code
    written = []
    for stream in streams:
        stream.seek(0)
        written.append(stream.read())
    return Done(code if isinstance(code, int) else 0, *written)


run = run_inside


@contextlib.contextmanager
def _piped(data: bytes) -> Iterator[io.TextIOWrapper]:
    """Makes data the standard input of this process, for Python and for the extension, as a pipe does."""
    if not data:
        yield io.TextIOWrapper(io.BytesIO())
        return
    there, end = os.pipe()
    before = os.dup(0)
    os.dup2(there, 0)
    os.close(there)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(end, "wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield io.TextIOWrapper(open(0, "rb", closefd=False))  # noqa: SIM115  # 2026-11-30: it is the input of the process
    finally:
        os.dup2(before, 0)
        os.close(before)
        writer.join()


def run_json(*args: str | Path, cwd: Path, stdin: bytes = b"") -> dict[str, object]:
    done = run(*args, "--json", cwd=cwd, stdin=stdin)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 1
    found: dict[str, object] = json.loads(done.out)
    assert str(found["schema"]).startswith(f"sentitok.{args[0]}/")
    return found


def write_base(folder: Path, tokenizer: sentitok.Tokenizer) -> None:
    """Writes a folder with the embeddings of a model."""
    tokenizer.save_pretrained(folder)
    table = np.random.default_rng(0).standard_normal((tokenizer.vocab_size, 8)).astype("<f4")
    entry = ("model.embed_tokens.weight", "F32", table.shape, lambda: [table.tobytes()])
    write_tensors(folder / "model.safetensors", [entry], {}, lambda _: None)
    (folder / "config.json").write_text(json.dumps({"vocab_size": tokenizer.vocab_size}))


@pytest.fixture(scope="session")
def named_by_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of `--help` name."""
    folder = tmp_path_factory.mktemp("cli")
    lines = (CORPUS / "pride-and-prejudice.txt").read_text("utf-8").splitlines(keepends=True)
    corpus = folder / "corpus.txt"
    corpus.write_text("".join(lines[200:500]), encoding="utf-8", newline="")
    records = [json.dumps({"text": line.strip()}) for line in lines[500:600]]
    (folder / "reviews.jsonl").write_text("\n".join(records), encoding="utf-8")
    tokenizer = sentitok.train_bpe(corpus, vocab_size=1000)
    tokenizer.save(folder / "tokenizer.json")
    shutil.copy(folder / "tokenizer.json", folder / "theirs.json")
    sentitok.train_bpe(corpus, vocab_size=600).save(folder / "merged.json")
    with pytest.warns(UserWarning, match="pattern"):
        tokenizer.save(folder / "ranks.tiktoken")
    write_base(folder / "base", tokenizer)
    shutil.copytree(folder / "base", folder / "locked")
    lock(folder / "locked")
    sentitok.count(corpus, out=folder / "all.counts")
    for part in (0, 1):
        sentitok.count(corpus, shard=(part, 2), out=folder / f"part-{part}.counts")
    sentitok.merge_counts([folder / "part-0.counts", folder / "part-1.counts"], folder / "merged.counts")
    chat_tokenizer = tokenizer.with_specials(IM)
    settings = chat_tokenizer.settings.replace(chat_template=CHATML, eos_token=IM[1])
    chat_tokenizer.with_settings(settings).save_pretrained(folder / "model")
    chats = [{"messages": [user(line.strip()), assistant("So it is.")]} for line in lines[600:620]]
    (folder / "chats.jsonl").write_text("".join(f"{json.dumps(chat)}\n" for chat in chats), encoding="utf-8")
    with contextlib.chdir(folder):
        # A data set knows its sources by the names they were given.
        sentitok.encode_files("corpus.txt", "tokens", tokenizer)
    return folder


@pytest.fixture
def prepared(named_by_examples: Path, tmp_path: Path) -> Path:
    """A copy of it, so that tests do not see each other."""
    shutil.copytree(named_by_examples, tmp_path, dirs_exist_ok=True)
    return tmp_path
