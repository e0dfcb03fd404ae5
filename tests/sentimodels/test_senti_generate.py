"""`senti generate`: prompts of arguments, files and stdin, a terminal, and what it says."""

import json
import os
import re
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_group

import commands
from language_runs import TEXTS, language_run
from senti_in_process import senti
from sentimodels import LanguageModel
from sentimodels.cli.app import build
from sentitok import train_bpe, train_wordpiece

COMMANDS = get_group(build()).commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("generate")
    language_run(made / "runs" / "base", "gpt", 64)
    language_run(made / "runs" / "bert", "bert")
    without_end = train_bpe(texts=TEXTS, vocab_size=280)
    language_run(made / "runs" / "endless", "gpt", 64, without_end)
    special = ["[UNK]", "<|endoftext|>"]
    wordpiece = train_wordpiece(texts=TEXTS, vocab_size=200, special_tokens=special)
    language_run(made / "runs" / "wordpiece", "gpt", 64, wordpiece)
    (made / "prompts.txt").write_text("the cat\na dog\n", "utf-8")
    (made / "folder.txt").mkdir()
    (made / "gap.txt").write_text("the cat\n\na dog\n", "utf-8")
    return made


def model_of(folder: Path) -> LanguageModel:
    return LanguageModel.load(folder / "runs" / "base")


def test_one_prompt_is_written_as_the_library_writes_it(folder: Path) -> None:
    done = senti("generate", "runs/base", "the cat", "--seed", "3", "--top-p", "0.9", cwd=folder)
    assert done.code == 0, done.err
    assert done.out == "the cat" + model_of(folder).generate("the cat", seed=3, top_p=0.9) + "\n"
    assert " prompt tokens, " in done.err
    assert "tokens/s" in done.err
    quiet = senti("generate", "runs/base", "the cat", "--seed", "3", "--top-p", "0.9", "-q", cwd=folder)
    assert "the cat" + quiet.out == done.out
    assert quiet.err == ""


def test_a_prompt_of_unknown_letters_is_said(folder: Path) -> None:
    for options in (["ночь"], ["the cat", "ночь", "--json"]):
        done = senti("generate", "runs/wordpiece", *options, "--seed", "1", cwd=folder)
        assert done.code == 0, done.err
        assert "1 prompt with letters that the tokenizer does not know" in done.err
        assert f"prompt {len(options) - (len(options) > 1)}: 'ночь'" in done.err
        assert "##" not in done.out
    known = senti("generate", "runs/wordpiece", "the cat", "--seed", "1", cwd=folder)
    assert "does not know" not in known.err


def test_an_input_without_prompts_says_so(folder: Path) -> None:
    done = senti("generate", "runs/base", cwd=folder, stdin="")
    assert (done.code, done.out) == (0, "")
    assert done.err == "no prompts: give texts, files of them (--file), or lines on stdin\n"


def test_prompts_of_arguments_files_and_stdin(folder: Path) -> None:
    options = ("--seed", "1", "--max-new-tokens", "9", "--json", "--n", "2")
    of_arguments = senti("generate", "runs/base", "the cat", "a dog", *options, cwd=folder)
    of_file = senti("generate", "runs/base", "--file", "prompts.txt", *options, cwd=folder)
    of_stdin = senti("generate", "runs/base", *options, cwd=folder, stdin="the cat\na dog\n")
    expected = model_of(folder).generate(["the cat"] * 2 + ["a dog"] * 2, seed=1, max_new_tokens=9)
    for done in (of_arguments, of_file, of_stdin):
        records = [json.loads(line) for line in done.out.splitlines()]
        assert [record["prompt"] for record in records] == ["the cat"] * 2 + ["a dog"] * 2
        assert [record["text"] for record in records] == expected
        assert all(0 < record["tokens"] <= 9 and record["seconds"] > 0 for record in records)
        assert {record["schema"] for record in records} == {"senti.generate/1"}
        assert {record["reason"] for record in records} <= {"end", "length"}
    assert len(set(expected)) == 4


def test_equal_prompts_differ_however_many_there_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentimodels.cli.generate._AT_ONCE", 2)
    options = ("--seed", "1", "--max-new-tokens", "9", "--json")
    done = senti("generate", "runs/base", *["the cat"] * 5, *options, cwd=folder)
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == model_of(folder).generate(
        ["the cat"] * 5, seed=1, max_new_tokens=9
    )


def test_more_texts_of_a_prompt_than_go_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentimodels.cli.generate._AT_ONCE", 2)
    options = ("--n", "5", "--seed", "1", "--max-new-tokens", "9", "--json")
    done = senti("generate", "runs/base", "the cat", *options, cwd=folder)
    assert [json.loads(line)["text"] for line in done.out.splitlines()] == model_of(folder).generate(
        ["the cat"] * 5, seed=1, max_new_tokens=9
    )


def test_a_prompt_may_be_longer_than_a_name_of_a_file(folder: Path) -> None:
    """Of fewer characters than a name may have, and of more bytes."""
    prompt = "д" * 140
    done = senti("generate", "runs/base", prompt, "--window", "--max-new-tokens", "2", cwd=folder)
    assert done.code == 0, done.err
    assert done.out.startswith(prompt)


def test_a_byte_order_mark_is_no_text(folder: Path) -> None:
    options = ("--temperature", "0", "--max-new-tokens", "9", "--json")
    marked, plain = (
        senti("generate", "runs/base", *options, cwd=folder, stdin=f"{mark}the cat\n")
        for mark in ("\ufeff", "")
    )
    assert [json.loads(done.out)["prompt"] for done in (marked, plain)] == ["the cat"] * 2


def test_a_file_may_be_of_another_encoding(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("the café\n", "latin-1")
    call = ("generate", folder / "runs" / "base", "-f", "prompts.txt", "--seed", "1", "--json")
    done = senti(*call, "--encoding", "latin-1", cwd=tmp_path)
    assert json.loads(done.out)["prompt"] == "the café", done.err
    done = senti(*call, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "prompts.txt" in done.err
    assert "--encoding" in done.err


@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_texts_go_to_a_file(suffix: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / f"texts{suffix}"
    options = ("--seed", "1", "--max-new-tokens", "9", "-o", out)
    done = senti("generate", "runs/base", "-f", "prompts.txt", *options, cwd=folder)
    assert done.code == 0, done.err
    assert done.out == f"2 texts in {out}\n"
    texts = model_of(folder).generate(["the cat", "a dog"], seed=1, max_new_tokens=9)
    if suffix == ".txt":
        assert out.read_text("utf-8") == f"the cat{texts[0]}\na dog{texts[1]}\n"
    else:
        records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert [record["text"] for record in records] == texts


def test_stop_strings_may_be_escaped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentimodels.cli.generate import _unescaped

    assert _unescaped(r"a\n\t\\n\x") == "a\n\t\\n\\x"
    whole = model_of(folder).generate("the cat", seed=3)
    done = senti("generate", "runs/base", "the cat", "--seed", "3", "-q", "--stop", whole[4], cwd=folder)
    assert done.out == whole[: whole.index(whole[4])] + "\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_control_characters_do_not_reach_a_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentimodels.cli.generate import _shown

    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    text = "a\x1b[2Jb\r\x9bc\n\té"
    assert _shown(text) == ("a�[2Jb��c\n\té" if terminal else text)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["runs/base", "the", "--top-p", "2"], "--top-p 2.0: expected a share above 0"),
        (["runs/base", "the", "--temperature", "-1"], "temperature -1.0: expected"),
        (["runs/base", ""], "prompt 1 is empty: .*--begin"),
        (["runs/base", "a", "the cat " * 90], r"prompt 2 has \d+ tokens, but the model reads 64; .*--window"),
        (["runs/base", "a", "-o", "texts.csv"], r"--out texts.csv: writes .jsonl or .txt"),
        (["runs/base", "a", "-o", "folder.txt"], r"--out folder.txt: a folder; name a file in it"),
        (["runs/bert", "a"], "bert reads both ways, so it cannot write"),
        (["runs/none", "a"], "no such folder"),
        (["runs/base", "-f", "none.txt"], "none.txt: No such file"),
        (["runs/base", "-f", "gap.txt"], "gap.txt, line 2: empty, and there is nothing to continue"),
        (["runs", "a"], "runs: no config.toml; not a run directory; there are runs in it: runs/base, runs/b"),
        (["runs/base", "a", "--stop", ""], "an empty string is everywhere"),
        (["runs/base", "a", "--seed", "-1"], "seed -1: expected a whole number from 0"),
    ],
)
def test_wrong_calls(args: list[str], said: str, folder: Path) -> None:
    done = senti("generate", *args, cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert re.search(said, done.err), done.err
    assert done.err.count("\n") == 1


def test_what_a_user_may_not_have_meant(folder: Path) -> None:
    """A prompt that is a file's name, and a text that ends before it is as long as was asked."""
    done = senti("generate", "runs/base", "prompts.txt", "--max-new-tokens", "2", cwd=folder)
    assert done.code == 0
    assert (
        "prompts.txt is a prompt here; to continue the lines of the file, type --file prompts.txt" in done.err
    )
    done = senti("generate", "runs/endless", "the cat " * 20, "--seed", "1", cwd=folder)
    assert "1 text ended where the context of 64 tokens was full; --window drops the oldest" in done.err
    done = senti("generate", "runs/endless", "the cat " * 20, "--seed", "1", "--json", cwd=folder)
    assert json.loads(done.out)["reason"] == "context"


def test_prompts_are_numbered_as_they_came(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentimodels.cli.generate._AT_ONCE", 2)
    options = ("--n", "2", "--json", "--max-new-tokens", "2")
    done = senti("generate", "runs/base", *options, cwd=folder, stdin="a\nb\n\n")
    assert done.code == 2
    assert "prompt 3 is empty" in done.err
    assert len(done.out.splitlines()) == 4  # what was before it
    # Prompts that are there already are read first.
    done = senti("generate", "runs/base", *options, "a", "b", "", cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert "prompt 3 is empty" in done.err


def test_help_ends_with_examples_that_run(folder: Path) -> None:
    epilog = str(COMMANDS["generate"].epilog)
    found = [line.removeprefix("$ ") for line in epilog.splitlines() if line.startswith("$ ")]
    assert 2 <= len(found) <= 3
    for line in found:
        before, _, command = line.rpartition(" | ")
        stdin = shlex.split(before)[1] + "\n" if before else ""
        done = senti(*shlex.split(command)[1:], "--max-new-tokens", "8", cwd=folder, stdin=stdin)
        assert done.code == 0, (line, done.err)
        assert done.out


# As separate processes.


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    line = "generate runs/endless the --window --max-new-tokens 100000"
    with commands.start(line, program="senti", cwd=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(20)  # streamed: the text is far from its end
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(180) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child here")
def test_ctrl_c_ends_a_text(folder: Path) -> None:
    line = "generate runs/endless the --window --max-new-tokens 1000000"
    with commands.start(line, program="senti", cwd=folder) as process:
        assert process.stdout is not None
        process.stdout.read(20)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert err.decode().endswith("senti: stopped by Ctrl-C\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
def test_a_terminal_is_asked_for_prompts(folder: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    line, env = "generate runs/base --seed 3", commands.environment(TERM="dumb")
    with commands.start(line, program="senti", cwd=folder, stdin=theirs, env=env) as process:
        os.close(theirs)
        for typed in (b"the cat\n", b"\n", b"the " * 80 + b"\n", b"a dog\n"):
            os.write(ours, typed)
            time.sleep(0.01)
        os.write(ours, b"\x04")
        out, err = process.communicate(timeout=180)
    os.close(ours)
    assert process.returncode == 0, err
    model = model_of(folder)
    assert out.decode() == "".join(f"{text}{model.generate(text, seed=3)}\n" for text in ("the cat", "a dog"))
    said = err.decode()
    assert "Type a text to continue" in said
    assert said.count("tokens/s") == 2
    assert "prompt 1 has" in said
