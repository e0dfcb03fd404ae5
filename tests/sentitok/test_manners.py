"""The command's manners: streams that are closed, full or not UTF-8; messages."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sentitok
from commands import environment, run, start
from sentitok import FormatError, Normalizer, PreTokenizer, Tokenizer, TrainError
from sentitok.cli import train
from sentitok.cli.command import exit_code
from sentitok.cli.output import Output

posix = pytest.mark.skipif(os.name == "nt", reason="shells of POSIX, and its devices")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    folder = tmp_path_factory.mktemp("manners")
    tokenizer.save(folder / "tokenizer.json")
    (folder / "text.txt").write_text("A film of a man.\n" * 200)
    sentitok.encode_files(folder / "text.txt", folder / "tokens", tokenizer)
    return folder


@pytest.fixture
def folder(prepared: Path) -> Path:
    """A folder to read; results have different names."""
    return prepared


def shell(line: str, folder: Path) -> tuple[int, str, str]:
    """Runs a line of the shell in which `sentitok` is the command."""
    script = f'sentitok() {{ "$PYTHON" -m sentitok.cli "$@"; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(PYTHON=sys.executable),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=180,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


EBADF = os.strerror(errno.EBADF)
ENOSPC = os.strerror(errno.ENOSPC)


@posix
@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("sentitok info tokenizer.json >&-", 1, f"sentitok: stdout: {EBADF}\n"),
        ("sentitok decode tokens >&-", 1, f"sentitok: stdout: {EBADF}\n"),
        ("sentitok --help >&-", 1, f"sentitok: stdout: {EBADF}\n"),
        ("sentitok --version >&- 2>&-", 1, ""),
        ("sentitok show film >&- 2>&-", 1, ""),
        ("sentitok info nothing.json 2>&-", 2, ""),
        ("sentitok nothing 2>&-", 2, ""),
        ("sentitok train-bpe text.txt --vocab 270 -o closed.json >&- 2>&- <&-", 1, ""),
        ("sentitok show <&-", 1, "sentitok: stdin: it is closed; name a file, or give the text\n"),
        ("sentitok decode <&-", 1, "sentitok: stdin: it is closed; name a file, or give the text\n"),
        ("sentitok encode <&-", 1, "sentitok: stdin: it is closed; name a file, or give the text\n"),
        (
            "sentitok encode - -o x --separator '<|endoftext|>' <&-",
            1,
            "sentitok: stdin: it is closed; name a file, or give the text\n",
        ),
        ("sentitok count - -o x <&-", 1, "sentitok: stdin: it is closed; name a file, or give the text\n"),
        ("sentitok show film --quiet <&-", 0, ""),
        ("sentitok info tokenizer.json > /dev/full", 1, f"sentitok: stdout: {ENOSPC}\n"),
        ("sentitok decode tokens > /dev/full", 1, f"sentitok: stdout: {ENOSPC}\n"),
        ("sentitok --help > /dev/full", 1, f"sentitok: stdout: {ENOSPC}\n"),
        ("sentitok info tokenizer.json 2> /dev/full", 0, ""),
        ("sentitok info nothing.json 2> /dev/full", 2, ""),
        ("sentitok decode tokens | head -c 1 > /dev/null; exit ${PIPESTATUS[0]}", 0, ""),
        ("sentitok --help | true", 0, ""),
        ("sentitok info nothing.json 2>&1 | true; exit ${PIPESTATUS[0]}", 2, ""),
    ],
)
def test_streams(line: str, code: int, message: str, folder: Path) -> None:
    found_code, out, err = shell(line, folder)
    assert "Traceback" not in out + err
    assert "Exception ignored" not in out + err
    assert (found_code, err) == (code, message)


@posix
def test_a_closed_stream_takes_no_other_file_in(folder: Path) -> None:
    # The next opened file would get the number of stdout or stderr.
    code, _, _ = shell("sentitok train-bpe text.txt --vocab 270 -o whole.json >&- 2>&-", folder)
    assert code == 1
    assert shell("sentitok train-bpe text.txt --vocab 270 -o other.json", folder)[0] == 0
    assert (folder / "whole.json").read_bytes() == (folder / "other.json").read_bytes()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_terminal_cannot_show_is_escaped(encoding: str, folder: Path) -> None:
    plain = environment(PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    with start("show naïve-👍", cwd=folder, env=plain) as process:
        out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, b"")
    text = out.decode(encoding)
    assert "\\u2502" in text or "|" in text
    assert "\\U0001f44d" in text or "\\x" in text
    with start("show naïve-👍 --json", cwd=folder, env=plain) as process:
        out, _ = process.communicate(timeout=180)
    tokens = json.loads(out)["tokens"]
    assert b"".join(bytes.fromhex(token["bytes"]) for token in tokens).decode() == "naïve-👍"


def test_the_c_locale_is_no_hindrance(folder: Path) -> None:
    bare = {k: v for k, v in environment().items() if k != "PYTHONIOENCODING"} | {"LC_ALL": "C", "LANG": "C"}
    with start("show naïve", cwd=folder, env=bare) as process:
        _, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cl100k_base", "cl100k"),
        ("o200k_base", "o200k"),
        ("r50k_base", "r50k"),
        ("gpt-2", "gpt2"),
        ("bert-base-uncased", "bert"),
        ("whitespce", "whitespace"),
    ],
)
def test_the_name_that_was_meant(name: str, meant: str, tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=rf"did you mean {meant}\?"):
        PreTokenizer(name)
    with pytest.raises(TrainError, match=rf"did you mean {meant}\?"):
        sentitok.train_bpe(texts=["a"], pre_tokenizer=name)
    (tmp_path / "x.tiktoken").write_text("IQ== 0\n")
    with pytest.raises(TrainError, match=rf"did you mean {meant}\?"):
        Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", name)


def test_other_names_that_were_meant(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"did you mean hf-bert\?"):
        Normalizer("hfbert")
    with pytest.raises(TrainError, match=r"did you mean tokenizer\.json\?"):
        tokenizer.save(tmp_path / "x", "tokenizer-json")
    with pytest.raises(TrainError) as unlike:
        PreTokenizer("zzz")
    assert "did you mean" not in str(unlike.value)


def test_an_unknown_file_is_told_every_format(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\x01\xfe\x00 what is this")
    with pytest.raises(FormatError) as unknown:
        Tokenizer.from_file(path)
    for format in (
        "tokenizer.json",
        ".model",
        ".tiktoken",
        "vocab.json",
        "merges.txt",
        "vocab.txt",
        "sentitok",
    ):
        assert format in str(unknown.value), format
    with pytest.raises(FormatError) as empty:
        Tokenizer.from_file(tmp_path)
    for name in ("tokenizer.json", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model"):
        assert name in str(empty.value), name


@pytest.mark.parametrize("name", ["tokenizer.model", "spiece.model"])
def test_a_folder_of_a_sentencepiece_model_is_read(name: str, tmp_path: Path) -> None:
    trained = sentitok.train_bpe(texts=["a film of a man"] * 50, vocab_size=20, method="sentencepiece")
    trained.save(tmp_path / "x.model")
    (tmp_path / "x.model").rename(tmp_path / name)
    read = Tokenizer.from_file(tmp_path)
    assert read == Tokenizer.from_sentencepiece(tmp_path / name)
    # The earlier file goes first.
    other = sentitok.train_bpe(texts=["a film of a man"] * 50, vocab_size=260)
    other.save(tmp_path / "tokenizer.json")
    assert Tokenizer.from_file(tmp_path) == other


def test_a_folder_with_ranks_or_a_vocab_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n")
    with pytest.raises(FormatError, match=r"vocab\.txt, which does not say whether text is lowered"):
        Tokenizer.from_file(tmp_path)
    # The file that some models have under this name.
    (tmp_path / "tokenizer.model").write_text("IQ== 0\nIg== 1\n")
    with pytest.raises(FormatError, match=r"tokenizer\.model: tokenizer: this is a \.tiktoken file"):
        Tokenizer.from_file(tmp_path)


@pytest.mark.parametrize("command", ["count", "train-bpe"])
def test_a_pattern_and_a_name_exclude_each_other(command: str, folder: Path) -> None:
    code, _, err = run(f"{command} text.txt --pattern x+ --pre-tokenizer gpt2 -o z.json", cwd=folder)
    assert (code, "--pre-tokenizer gpt2 and --pattern x+ exclude each other" in err) == (2, True), err
    code, _, err = run(f"{command} text.txt --pattern cl100k -o z.json", cwd=folder)
    assert (code, "--pattern cl100k is a name, not a pattern; give --pre-tokenizer cl100k" in err) == (
        2,
        True,
    )


def test_nor_does_the_library_take_both() -> None:
    with pytest.raises(TrainError, match="pre_tokenizer = gpt2: a pattern is given as well"):
        PreTokenizer("gpt2", pattern="x+")
    assert PreTokenizer().name == "gpt2"
    assert PreTokenizer(pattern="x+").name == "regex"


def read_only() -> Path:
    """A folder on a file system that nobody writes to, if this machine has one."""
    for line in Path("/proc/mounts").read_text().splitlines() if Path("/proc/mounts").exists() else []:
        _, place, _, options, *_ = line.split()
        if "ro" in options.split(",") and Path(place).is_dir() and not place.startswith("/proc"):
            return Path(place)
    pytest.skip("no file system is mounted read-only here")


@posix
def test_a_read_only_file_system_is_called_that(tokenizer: Tokenizer) -> None:
    folder = read_only()
    words = re.escape(os.strerror(errno.EROFS))
    with pytest.raises(OSError, match=words) as refused:
        train.check_out(folder / "tokenizer.json", Output("x", as_json=False, quiet=True), force=False)
    assert exit_code(refused.value) == 2
    assert refused.value.filename == str(folder)
    with pytest.raises(OSError, match=words) as refused:
        tokenizer.save(folder / "tokenizer.json")
    assert refused.value.errno == errno.EROFS


@posix
def test_the_kind_of_refusal_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        train.check_out(tmp_path / "x.json", Output("x", as_json=False, quiet=True), force=False)

    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda _: ReadOnly)
    with pytest.raises(OSError, match=re.escape(os.strerror(errno.EROFS))):
        train.check_out(tmp_path / "x.json", Output("x", as_json=False, quiet=True), force=False)


# (program, words before the cursor, what they may become)
COMPLETIONS = [
    ("sentitok", "sentitok tr", ["train-bpe", "train-wordpiece", "train-unigram", "transplant"]),
    ("sentitok", "sentitok show --to", ["--tokenizer"]),
    ("senti", "senti tr", ["train", "translate"]),
    ("senti", "senti data s", ["stats", "split", "sst", "suspects"]),
    ("senti", "senti train --pre", ["--preset", "--precision"]),
    ("senti", "senti train --arch g", ["gru", "gpt"]),
    ("senti", "senti pretrain --preset xx", ["xx-large"]),
    ("senti", "senti distill --loss l", ["logits"]),
    ("senti", "senti distill t --arch ls", ["lstm"]),
    ("senti", "senti explain r --method l", ["leave-one-out"]),
    ("senti", "senti export r --to o", ["onnx"]),
    ("senti", "senti init --arch b", ["bow", "bert"]),
    ("senti", "senti plot --kind co", ["confusion"]),
]


def _needs(program: str) -> None:
    if program == "senti":
        pytest.importorskip("torch", reason="senti needs the extra `models`")


@pytest.mark.parametrize(("program", "typed", "offered"), COMPLETIONS)
def test_the_shell_completes(
    program: str, typed: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _needs(program)
    monkeypatch.setenv(f"_{program.upper()}_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert run("", program=program) == (0, "\n".join(offered) + "\n", "")


@posix
@pytest.mark.parametrize("program", ["sentitok", "senti"])
def test_completion_is_shown_and_installed_for_the_shell_that_asks(program: str, tmp_path: Path) -> None:
    _needs(program)
    module = {"sentitok": "sentitok.cli", "senti": "sentimodels.cli"}[program]
    # `:` keeps bash there: its last command would take its place.
    code, out, err = shell(f'"$PYTHON" -m {module} --show-completion && :', tmp_path)
    assert (code, err) == (0, "")
    assert f"_{program.upper()}_COMPLETE=complete_bash" in out
    code, said, _ = shell(f'HOME="$PWD" "$PYTHON" -m {module} --install-completion && :', tmp_path)
    assert (code, "bash completion installed" in said) == (0, True)
    script = (tmp_path / ".bash_completions" / f"{program}.sh").read_text()
    assert script.split() == out.split()
    assert str(tmp_path / ".bash_completions") in (tmp_path / ".bashrc").read_text()


def test_completion_shows_help_with_its_brackets() -> None:
    _needs("senti")
    asked = environment(_SENTI_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="senti train --preset")
    assert "settings of [model] override it" in run("", program="senti", env=asked)[1]


@pytest.mark.parametrize(
    ("program", "line", "meant"),
    [
        ("sentitok", "trian-bpe x", "Did you mean 'train-bpe'?"),
        ("sentitok", "show x --tokeniser t.json", "--tokenizer"),
        ("sentitok", "--verison", "--version"),
        ("senti", "trian x", "Did you mean 'train'"),
        ("senti", "data chek x", "Did you mean 'check'?"),
        ("senti", "train x --epoch 3", "--epochs"),
        ("senti", "train x --set optim.lrr=1 --arch gpt", "did you mean lr?"),
    ],
)
def test_the_command_or_option_that_was_meant(program: str, line: str, meant: str, folder: Path) -> None:
    _needs(program)
    code, out, err = run(line, program=program, cwd=folder)
    assert (code, out) == (2, "")
    assert meant in " ".join(err.split())


@pytest.mark.parametrize("program", ["sentitok", "senti"])
def test_a_call_without_anything_is_answered_with_all_of_the_help(program: str) -> None:
    _needs(program)
    _, shown, _ = run("--help", program=program)
    code, out, err = run("", program=program)
    assert (code, out) == (2, "")
    assert err.split() == shown.split()
    assert f"Usage: {program} " in shown


LONG: Any = "x" * 100_000


@pytest.mark.parametrize(
    "line",
    [
        f"train-bpe text.txt --vocab {LONG} -o z.json",
        LONG,
        f"info --{LONG}",
        f"--{LONG}",
        f"train-bpe text.txt --tie-break {LONG} -o z.json",
        f"convert tokenizer.json z.json --format {LONG}",
    ],
)
def test_a_wrong_call_is_a_short_message(line: str, folder: Path) -> None:
    code, out, err = run(line, cwd=folder)
    assert (code, out, "Traceback" in err) == (2, "", False)
    assert "characters in all" in err
    assert len(err) < 4000


def test_values_in_messages_are_short(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("a")
    for call in (
        lambda: tokenizer.encode("a", errors=LONG),
        lambda: tokenizer.encode("a", specials=LONG),
        lambda: encoding.offsets(unit=LONG),
        lambda: tokenizer.encode_batch(["a"]).pad(side=LONG),
        lambda: sentitok.WordCounts({LONG: -1}),
        lambda: sentitok.WordCounts({"a": 10**4000}),
        lambda: sentitok.WordCounts({"a": 10**5000}),
        lambda: tokenizer.decode([10**5000]),
    ):
        with pytest.raises(ValueError, match=r"errors=|specials=|unit=|side=|the count of|^id ") as refused:
            call()
        assert 20 < len(str(refused.value)) < 2000
    with pytest.raises(sentitok.DecodeError, match=r"id \(a number of 16610 bits\) is not in the vocab"):
        tokenizer.decode([-(10**5000)])
    assert tokenizer.id_to_token(10**5000) is None
    with pytest.raises(TypeError, match="an id is an int, not 'a'"):
        tokenizer.decode(["a"])  # type: ignore[list-item]  # 2026-11-24: refused


@pytest.mark.parametrize("more", ["--format foo", "--format csv", "--max-line-bytes foo"])
def test_convert_reads_its_options_without_verify(more: str, folder: Path) -> None:
    code, _, err = run(f"convert tokenizer.json unwritten.json {more}", cwd=folder)
    assert code == 2, err
    assert "foo" in err or "name the column of text, as in csv:text" in err
    assert not (folder / "unwritten.json").exists()
