"""`sentitok eval --plot`: counts against slow reference implementations, and the output."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentitok
from cli_runs import run_inside
from sentitok.evaluate import evaluate, unknown_id
from sentitok.scripts import script_of

matplotlib = pytest.importorskip("matplotlib", reason="the extra plot is not installed")

TEXT = "The cat sat on the mat. Кошка сидела.\n日本語 naïve 👍🏽 café 12,5\n" * 20
TOKENIZER = sentitok.train_bpe(texts=[TEXT], vocab_size=300)


def slow(texts: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes and tokens of each script, a character after another."""
    scripts: list[str] = []
    for char in "\n".join(texts):
        scripts.append(script_of(char) if char.isalpha() else "")
    following = next((name for name in reversed(scripts) if name), "no letters")
    for place in range(len(scripts) - 1, -1, -1):
        following = scripts[place] or following
        scripts[place] = following
    n_bytes: dict[str, float] = {}
    tokens: dict[str, float] = {}
    at = 0
    for text in texts:
        for place, char in enumerate(text):
            name = scripts[at + place]
            n_bytes[name] = n_bytes.get(name, 0) + len(char.encode())
        for start, end in TOKENIZER.encode(text).offsets("chars", trim=False).tolist():
            covered = range(start, max(end, start + 1))
            for place in covered:
                name = scripts[at + place]
                tokens[name] = tokens.get(name, 0) + 1 / len(covered)
        at += len(text) + 1
    return n_bytes, tokens


texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=5)


@given(texts)
def test_bytes_and_tokens_of_scripts_equal_the_definition(texts: list[str]) -> None:
    from sentitok.figures.tokenizers import Counts

    counts = Counts(TOKENIZER.vocab_size)
    evaluate(TOKENIZER, texts, seen=counts.add)
    n_bytes, tokens = slow(texts)
    assert {k: v for k, v in counts.bytes.items() if v} == pytest.approx(n_bytes)
    assert {k: v for k, v in counts.tokens.items() if v > 1e-9} == pytest.approx(tokens)


def test_counts_of_a_text_add_up() -> None:
    from sentitok.figures.tokenizers import Counts

    counts = Counts(TOKENIZER.vocab_size)
    measured = evaluate(TOKENIZER, TEXT.splitlines(keepends=True), seen=counts.add)
    assert counts.frequency.sum() == measured.tokens
    assert sum(counts.bytes.values()) == measured.bytes
    assert sum(counts.tokens.values()) == pytest.approx(measured.tokens)
    assert counts.bytes_per_token == pytest.approx(measured.bytes_per_token)
    assert set(counts.bytes) == {"Latin", "Cyrillic", "CJK"}


# (character, its script)
SCRIPTS = [
    ("a", "Latin"), ("Ａ", "Latin"), ("ж", "Cyrillic"), ("中", "CJK"), ("々", "CJK"), ("か", "Japanese"),
    ("ｶ", "Japanese"), ("ا", "Arabic"), ("\ue000", "other"),
]  # fmt: skip


@pytest.mark.parametrize(("char", "script"), SCRIPTS)
def test_scripts(char: str, script: str) -> None:
    assert script_of(char) == script


def test_figures_show_what_was_counted() -> None:
    from sentitok.figures.tokenizers import Counts, figure

    counted = {}
    for size in (280, 320):
        tokenizer = sentitok.train_bpe(texts=[TEXT], vocab_size=size)
        counted[str(size)] = Counts(tokenizer.vocab_size)
        evaluate(tokenizer, [TEXT], seen=counted[str(size)].add)
    made = figure(counted, "text.txt")
    titles = ["by script", "against size", "coverage", "frequencies (Zipf)"]
    assert [axes.get_title() for axes in made.axes] == titles
    assert made.get_suptitle() == "text.txt"
    by_script, _, coverage, zipf = made.axes
    assert next(label.get_text() for label in by_script.get_yticklabels()) == "Latin"
    covered = np.asarray(coverage.lines[0].get_ydata())
    assert covered[-1] == pytest.approx(100)
    assert (np.diff(covered) >= 0).all()
    occurrences = np.asarray(zipf.lines[0].get_ydata())
    assert occurrences[0] == counted["280"].frequency.max()
    assert (np.diff(occurrences) <= 0).all()
    many = Counts(300)
    evaluate(sentitok.train_bpe(texts=["a"], vocab_size=280), ["a" * 50, *"აԱбα日กあ한אاहா০"], seen=many.add)
    assert figure({"many": many}, "text.txt").axes[0].get_title() == "by script (2 with less text not shown)"
    alone = figure({"one": counted["280"]}, "text.txt")
    assert len(alone.axes) == 3
    assert alone.get_suptitle() == "one on text.txt"


def test_kinds_of_models_are_not_joined_and_unknown_text_is_named() -> None:
    from sentitok.figures.tokenizers import Counts, figure

    text = "the cat 東京 sat on 東京"
    counted = {}
    for name, size, train in (
        ("a", 280, sentitok.train_bpe),
        ("b", 300, sentitok.train_bpe),
        ("c", 60, sentitok.train_wordpiece),
    ):
        tokenizer = train(texts=[TEXT], vocab_size=size)
        counted[name] = Counts(tokenizer.vocab_size, tokenizer.info()["model"], unknown_id(tokenizer))
        evaluated = evaluate(tokenizer, [text], seen=counted[name].add)
        assert counted[name].unknown_share == pytest.approx(evaluated.unknown_rate)
    made = figure(counted, "text.txt")
    lines = [np.asarray(line.get_xdata()).tolist() for line in made.axes[1].lines]
    assert sorted(map(len, lines)) == [1, 2]
    assert [280, 300] in lines
    named = [label.get_text() for label in made.legends[0].get_texts()]
    percent = 100 * counted["c"].unknown_share
    assert percent > 5
    assert named == ["a", "b", f"c, {percent:.0f} % unknown"]


def test_texts_without_letters_or_text_are_drawn() -> None:
    from sentitok.figures.tokenizers import Counts, figure

    for texts in ([], [""], ["12 34 ..."]):
        counts = Counts(TOKENIZER.vocab_size)
        evaluate(TOKENIZER, texts, seen=counts.add)
        assert len(figure({"a": counts, "b": counts}, "text.txt").axes) == 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TOKENIZER.save(tmp_path / "tok.json")
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    return tmp_path


def run(folder: Path, *args: str, before: str = "") -> subprocess.CompletedProcess[str]:
    if not before:
        done = run_inside("eval", *args, cwd=folder)
        return subprocess.CompletedProcess([], done.code, done.out, done.err)
    call = [sys.executable, "-c", f"{before}from sentitok.cli import main; main()", "eval", *args]
    return subprocess.run(call, capture_output=True, text=True, check=False, cwd=folder)


def test_the_command_writes_the_figure(folder: Path) -> None:
    for name in ("a.svg", "b.svg"):
        done = run(folder, "tok.json", "text.txt", "--plot", name, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["plot"] == name
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    done = run(folder, "tok.json", "text.txt", "text.txt", "--per-file", "--plot", "c.png")
    assert (done.returncode, "written  c.png" in done.stdout) == (0, True)


def test_what_cannot_be_drawn_is_said_first(folder: Path) -> None:
    done = run(folder, "tok.json", "text.txt", "--plot", "a.bmp")
    assert done.returncode == 2
    assert "name a file that ends in .png, .svg or .pdf" in done.stderr
    missing = "import sys; sys.modules['matplotlib'] = None; "
    done = run(folder, "tok.json", "nowhere.txt", "--plot", "a.png", before=missing)
    assert done.returncode == 1
    assert 'figures need matplotlib; install the extra: pip install "sentitok[plot]"' in done.stderr
    done = run(folder, "tok.json", "text.txt", before=missing)
    assert done.returncode == 0, done.stderr
