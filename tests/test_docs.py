"""Runs what README.md and the pages of docs/ show: commands, Python, and compares the output.

Beside it: that the links and names of all pages lead somewhere, and that a newcomer's way is short.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest

from pages import DOCUMENTS, PAGES, ROOT, blocks, commands, prepare, run_all

posix = pytest.mark.skipif(os.name == "nt", reason="the commands are lines for a POSIX shell")
# Seconds until a newcomer has a page with a model; the install builds the package and fetches PyTorch.
NEWCOMER_WITH_INSTALL = 1200


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folders in which pages are run."""
    made: dict[str, Path] = {}

    def folder(page: str) -> Path:
        if page not in made:
            made[page] = tmp_path_factory.mktemp(page)
            prepare(made[page])
        return made[page]

    return folder


def shown(page: str) -> list[tuple[str, list[str]]]:
    """The commands of all blocks of a page, with their output."""
    return [one for block in blocks(PAGES[page], "console") for one in commands(block)]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_has_examples(page: str) -> None:
    assert shown(page) or blocks(PAGES[page], "python")


@posix
def test_a_newcomers_way_is_four_commands(folder_of: Callable[[str], Path]) -> None:
    """Install, train, evaluate, serve."""
    first = commands(blocks(PAGES["classifier"], "console")[0])
    assert [line.split()[:2] for line, _ in first] == [
        ["pip", "install"],
        ["senti", "train"],
        ["senti", "evaluate"],
        ["senti", "serve"],
    ]
    assert "web" in first[0][0]  # which brings what `senti serve` needs
    if find_spec("torch") is None:
        pytest.skip("no PyTorch for this Python, so no senti")
    run_all(first, folder_of("classifier"))


@pytest.mark.slow
@posix
def test_a_newcomers_way_from_the_install_on(tmp_path: Path) -> None:
    """The same as they are typed, in a new environment; the time of each is shown (`pytest -s`)."""
    if find_spec("torch") is None:
        pytest.skip("no PyTorch for this Python, so no senti")
    checkout, env = tmp_path / "checkout", {name: v for name, v in os.environ.items() if "PYTHON" not in name}
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(checkout)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True, env=env)
    env["PATH"] = f"{tmp_path / 'env' / 'bin'}{os.pathsep}{env['PATH']}"
    took = {}
    for line, output in commands(blocks(PAGES["classifier"], "console")[0]):
        began = time.perf_counter()
        if line.startswith("senti serve"):
            words = ["senti", *line.split()[1:], "--port", "0"]
            with subprocess.Popen(words, cwd=checkout, env=env, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert [process.stdout.readline().split()[0] for _ in output[:2]] == ["serving", "open"]
                took[line] = time.perf_counter() - began
                process.send_signal(signal.SIGINT)
        else:
            subprocess.run(line, shell=True, cwd=checkout, env=env, check=True)
            took[line] = time.perf_counter() - began
    print("\n".join(f"{seconds:6.1f} s  {line}" for line, seconds in took.items()))
    assert sum(took.values()) < NEWCOMER_WITH_INSTALL


@posix
@pytest.mark.parametrize("page", PAGES)
def test_commands(page: str, folder_of: Callable[[str], Path]) -> None:
    """In order: a later command uses what an earlier one wrote. The newcomer's have run."""
    found = shown(page)
    newcomers = len(commands(blocks(PAGES[page], "console")[0])) if page == "classifier" else 0
    run_all(found[newcomers:], folder_of(page))


@posix
@pytest.mark.parametrize(
    ("page", "number"),
    [(page, number) for page, path in PAGES.items() for number in range(len(blocks(path, "python")))],
)
def test_python(page: str, number: int, folder_of: Callable[[str], Path]) -> None:
    block = blocks(PAGES[page], "python")[number].replace("runs/gpt", "runs/bow")  # trained less: `LESS`
    if re.search(r"sentimodels|torch", block) and find_spec("torch") is None:
        pytest.skip("no PyTorch for this Python, so no sentimodels")
    # A block continues the blocks before it if it imports nothing.
    before = "" if "import sentitok" in block or "sentimodels" in block else _before(page, number)
    with chdir(folder_of(page)), catch_warnings():
        simplefilter("ignore")
        exec(compile(before + block, page, "exec"), {"__name__": "__main__"})


def _before(page: str, number: int) -> str:
    """The block that another continues: the last one before it that imports sentitok."""
    earlier = [block for block in blocks(PAGES[page], "python")[:number] if "import sentitok" in block]
    return earlier[-1] if earlier else ""


def test_the_reviews_of_the_tutorial_are_those_of_their_source() -> None:
    folder = ROOT / "tests" / "data" / "sentences"
    source = (folder / "yelp_labelled.txt").read_text("utf-8").rstrip("\n").split("\n")
    rows = [(text.strip(), label) for text, label in (line.split("\t") for line in source)]
    times = Counter(text.lower() for text, _ in rows)
    held_out = [place % 5 == 4 and times[text.lower()] == 1 for place, (text, _) in enumerate(rows)]
    for name, part in (("reviews.csv", False), ("reviews-held-out.csv", True)):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            found = [
                (row["text"], {"negative": "0", "positive": "1"}[row["label"]])
                for row in csv.DictReader(file)
            ]
        assert found == [row for row, out in zip(rows, held_out, strict=True) if out == part]


def anchors(text: str) -> set[str]:
    """The anchors of a page's titles, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", path.read_text("utf-8"))):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


def test_every_picture_is_shown_and_says_where_it_comes_from() -> None:
    pictures = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    about = (ROOT / "docs" / "lab" / "pictures.md").read_text("utf-8")
    assert set(re.findall(r"^## (.+)$", about, re.M)) == pictures
    shown = "".join(path.read_text("utf-8") for path in DOCUMENTS)
    for name in pictures:
        assert f"pictures/{name})" in shown, name


def test_the_readme_is_read_in_two_minutes() -> None:
    """Both users find their commands above the tables of figures."""
    readme = PAGES["readme"].read_text("utf-8")
    assert len(readme.splitlines()) <= 150
    assert readme.index("$ sentitok train-bpe") < readme.index("$ senti train") < readme.index("| task |")


def test_every_page_is_linked_from_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text("utf-8")
    assert "(docs/index.md)" in PAGES["readme"].read_text("utf-8")
    for page in docs.glob("*/*.md"):
        assert f"({page.relative_to(docs).as_posix()})" in index, page.name


# Written by `make bench-all`.
@pytest.mark.parametrize(
    "page", [path for path in DOCUMENTS if path.name not in ("benchmarks.md", "CHANGELOG.md")], ids=str
)
def test_no_page_that_people_write_is_over_30_kb(page: Path) -> None:
    assert page.stat().st_size <= 30_000


def test_every_file_of_the_tree_exists() -> None:
    page = ROOT / "docs" / "contributing" / "changes.md"
    (tree,) = re.findall(r"^```text\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    names = re.findall(r"^(\S+)  ", tree, re.M)
    assert len(names) > 20
    for name in names:
        assert list(ROOT.glob(name.rstrip("/"))), name


def test_the_layout_of_the_code_is_that_of_the_tree() -> None:
    """The page names every folder of the packages and of rust/, and nothing else."""
    page = (ROOT / "docs" / "explanation" / "code.md").read_text("utf-8")
    for folder in ("rust", "python/sentitok", "python/sentimodels"):
        (table,) = re.findall(rf"^\| `{folder}/` \|.*\n\|---.*\n((?:\|.*\n)+)", page, re.M)
        named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
        found = {path.name for path in (ROOT / folder).iterdir() if path.is_dir()} - {"__pycache__"}
        assert found <= named, (folder, found - named)
        for name in named:
            assert (ROOT / folder / name).is_dir() or list((ROOT / folder).glob(f"{name}.*")), name


def reading_ease(text: str) -> float:
    """Flesch's formula over the sentences of a page, without its blocks, tables, titles and code.

    Syllables are counted by groups of vowels, which differs from a dictionary by a few per cent.
    """
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"^([|#!]|<!--).*$", "", text, flags=re.M)
    text = re.sub(r"`[^`]*`", "", re.sub(r"\]\([^)]*\)", "]", text))
    parts = re.split(r"[.!?:;]\s|\n\n|\n- ", text)
    sentences = [words for part in parts if (words := re.findall(r"[A-Za-z][A-Za-z'-]*", part))]
    words = [word.lower() for sentence in sentences for word in sentence]
    syllables = sum(
        max(1, len(re.findall(r"[aeiouy]+", re.sub(r"(?<=..)e[sd]?$", "", word)))) for word in words
    )
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def test_reading_ease_ranks_texts() -> None:
    plain = "The cat sat on the mat. It saw a dog."
    learned = "Organizational considerations necessitate the utilization of interdisciplinary methodologies."
    assert reading_ease(plain) > 90 > 0 > reading_ease(learned)


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))],
    ids=lambda path: path.name,
)
def test_the_first_pages_are_easy_to_read(page: Path) -> None:
    assert reading_ease(page.read_text("utf-8")) >= 60
