"""Prints what sentitok says to people, to be read in one sitting: every `--help`, every message of an error.

    python scripts/messages.py            # all of it: the help, then messages by file
    python scripts/messages.py --count    # words, long sentences and clumsy phrases, by place

Messages of Python are the texts of exceptions, warnings and notes, with `…` for values. Messages of Rust are
the string literals of three words or more outside tests.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parent.parent
# Phrases that plain English has a better word for.
PHRASES = (
    "what is", "those that", "that which", "(?<!there )is no(?! longer)", "(?<!there )are no(?! longer)",
    "has not", "Not for", "beside", "anew", "goes on",
    "is told", "whoever", "in place of", "of one's own", "stands in",
    "stands for", "by itself", "in turns", "save for", "learnt", "worth it",
)  # fmt: skip
LONG = 30  # words of a sentence
# Functions that say something, other than classes of errors.
_SAYING = {"complain", "note", "refuse", "warn", "refuse_arguments"}
_RUST_STRING = re.compile(r'(?<![\'\\])"((?:[^"\\]|\\.)*)"', re.S)


def helps() -> str:
    """Returns the help of all commands."""
    pages = reference.command_pages()
    return "\n".join(pages[f"commands/{program}.md"] for program in ("sentitok", "senti"))


def python_messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each message of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in _SAYING or name.endswith(("Error", "Exception", "BadParameter")):
            texts = [_written(one) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
            if text := " | ".join(text for text in texts if " " in text.strip()):
                yield node.lineno, text


def _written(node: ast.AST) -> str:
    """Returns the text that an expression writes; `…` for values."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_written(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _written(node.left) + _written(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_written(node.body)} / {_written(node.orelse)}"
    return "…"


def rust_messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each string of a file that is long enough to be a message."""
    source = path.read_text("utf-8").partition("#[cfg(test)]\nmod ")[0]
    # Comments and attributes give way to blanks, so that lines keep their numbers.
    source = re.sub(r"//[^\n]*|#!?\[[^\]\n]*\]", "", source)
    for found in _RUST_STRING.finditer(source):
        text = re.sub(r"\\\n\s*", "", found[1])
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text and "\n" not in text:
            yield source.count("\n", 0, found.start()) + 1, text


def messages() -> Iterator[tuple[Path, int, str]]:
    """Yields file, line and text of every message."""
    for path in sorted((ROOT / "python").rglob("*.py")):
        yield from ((path, line, text) for line, text in sorted(python_messages(path)))
    for path in sorted((ROOT / "rust").rglob("*.rs")):
        if not {"tests", "tests.rs"} & set(path.parts) and path.name != "oracle.rs":
            yield from ((path, line, text) for line, text in rust_messages(path))


def comments() -> str:
    """Returns the comments and docstrings of the code, one a line."""
    lines = []
    for path in sorted((ROOT / "python").rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            text = path.read_text("utf-8")
            lines += re.findall(r"(?m)(?:^|\s)#\s(.+)$", text) + re.findall(r'(?s)"""(.*?)"""', text)
    for path in sorted((ROOT / "rust").rglob("*.rs")):
        lines += re.findall(r"(?m)//[/!]?\s?(.*)$", path.read_text("utf-8"))
    return "\n".join(lines)


def pages() -> str:
    """Returns the text of the hand-written pages."""
    written = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = "\n".join(path.read_text("utf-8") for path in written)
    return re.sub(r"(?s)```.*?```", "", text)


def long_sentences(text: str) -> int:
    """Counts sentences over `LONG` words; rows of tables and items of lists are sentences."""
    text = re.sub(r"\n\s*(?=\n|[-*|#>$]|\d+\. )", ".\n", text)
    return sum(len(one.split()) > LONG for one in re.split(r"[.!?:;](?:\s|$)|\|", text))


def count() -> None:
    """Prints a table of words, long sentences and phrases."""
    places = {
        "docs": pages(),
        "help": helps(),
        "messages": ".\n\n".join(text for *_, text in messages()),
        "code": comments(),
    }
    print(f"{'':14}" + "".join(f"{name:>10}" for name in places))
    print(f"{'words':14}" + "".join(f"{len(text.split()):>10,}" for text in places.values()))
    print(f"{'over 30 words':14}" + "".join(f"{long_sentences(text):>10,}" for text in places.values()))
    totals = dict.fromkeys(places, 0)
    for phrase in PHRASES:
        pattern = re.compile(rf"\b{phrase}\b".replace(" ", r"\s"))
        found = {name: len(pattern.findall(text)) for name, text in places.items()}
        totals = {name: totals[name] + found[name] for name in places}
        plain = re.sub(r"\(.*?\)", "", phrase)
        print(f"{plain:14}" + "".join(f"{n:>10,}" for n in found.values()))
    print(f"{'phrases':14}" + "".join(f"{n:>10,}" for n in totals.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", action="store_true", help="print counts instead of the texts")
    if parser.parse_args().count:
        count()
        return 0
    print(helps())
    place = None
    for path, line, text in messages():
        if path != place:
            print(f"\n## {path.relative_to(ROOT)}")
            place = path
        print(f"{line}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
