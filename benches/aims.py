"""Section of the report: what is aimed at and whether it is reached, from the tables of the page alone.

    python benches/aims.py      # writes it; `report.py` does so as well

Not for measuring. A row names its cells; where a cell is missing the aim is *not measured*. Why an aim is
missed is in docs/performance.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import front_page
from front_page import OURS, PAGE, section
from measure import markdown

Rows = list[dict[str, str]]
BYTES = ("gpt2", "cl100k", "o200k")
ENGLISH, CHINESE, CODE, SCRIPTS = (
    "English (IMDB reviews)",
    "Chinese (news)",
    "code (Python's library)",
    "many scripts (UDHR)",
)
UNIGRAM = ("t5 .model", "t5 .json", "t5 hub .json", "xlnet .model", "xlnet .json")
MISTRAL = ("mistral .model", "mistral .json")
FIRST, REPEAT = 0, 1


@dataclass(frozen=True)
class Aim:
    """One aim.

    Attributes:
        what: in words.
        bar: what is aimed at.
        figures: the figures, one a row or cell it speaks of.
        least: whether figures must not be below the bar; else not above it.
    """

    what: str
    bar: float
    figures: Callable[[str], Iterable[float | None]]
    least: bool = True

    def row(self, page: str) -> list[str]:
        """What it is, the bar, the range of what was measured, and the verdict."""
        sign = "at least" if self.least else "at most"
        figures = list(self.figures(page))
        known = [figure for figure in figures if figure is not None]
        if not known or len(known) < len(figures):
            return [self.what, f"{sign} {self.bar:g}", "-", "not measured"]
        n_met = sum(figure >= self.bar if self.least else figure <= self.bar for figure in known)
        low, high = f"{min(known):.2f}", f"{max(known):.2f}"
        verdict = {0: "**missed**", len(known): "met"}.get(n_met, f"met in {n_met} of {len(known)}")
        return [self.what, f"{sign} {self.bar:g}", low if low == high else f"{low} to {high}", verdict]


def tables(text: str) -> Iterator[tuple[str, Rows]]:
    """Yields each table of a section with the title above it, empty for one before any title.

    Columns of one name are told apart by a number: `ours / this`, `ours / this 2`.
    """
    for part in re.split(r"(?m)^### ", text):
        title = part.splitlines()[0] if part.splitlines() else ""
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if len(lines) < 2:
            continue
        cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        names: list[str] = []
        for name in cells[0]:
            n = sum(known.split(" #")[0] == name for known in names)
            names.append(f"{name} #{n + 1}" if n else name)
        yield title, [dict(zip(names, line, strict=True)) for line in cells[2:]]


def number(cell: str | None) -> float | None:
    """The number that a cell begins with, if it does."""
    match = re.match(r"\d[\d,]*\.?\d*", cell or "")
    return float(match[0].replace(",", "")) if match else None


def _tables(page: str, title: str) -> list[tuple[str, Rows]]:
    try:
        return list(tables(section(page, title)))
    except ValueError:
        return []


def _rows(page: str, title: str, table: str = "") -> Rows:
    return next((rows for name, rows in _tables(page, title) if name.startswith(table)), [])


def _best(texts: Iterable[str], names: Iterable[str], which: int) -> Callable[[str], list[float | None]]:
    """Our speed by that of the fastest rival with equal ids, of tokenizers on texts."""

    def figures(page: str) -> list[float | None]:
        rows = {row["tokenizer"]: row for row in _rows(page, "Encoding")}
        # A tokenizer that came to the bench after the page was measured has no row yet.
        known = [rows[name] for name in names if name in rows]
        cells = [row.get(f"{text}: first / repeat", "") for row in known for text in texts]
        # Where nobody else gives the same ids there is no rival.
        return [number(cell.split(" / ")[which]) for cell in cells if cell != "- / -"] or [None]

    return figures


def _encoding(name: str, text: str) -> tuple[Callable[[str], dict[str, str]], Callable[[str], Rows]]:
    def rows(page: str) -> Rows:
        # Texts of other sizes are for a few libraries only.
        by_title = [rows for title, rows in _tables(page, "Encoding") if title.startswith(f"{name}, {text}")]
        return max(by_title, key=len, default=[])

    return lambda page: next((row for row in rows(page) if row["library"].startswith(OURS)), {}), rows


def _column(title: str, table: str, *columns: str, row: str = "") -> Callable[[str], list[float | None]]:
    """The cells of some columns, of the rows whose first cell begins so."""

    def figures(page: str) -> list[float | None]:
        rows = _rows(page, title, table)
        taken = [one for one in rows if next(iter(one.values())).startswith(row)]
        return [number(one.get(column)) for one in taken for column in columns] or [None]

    return figures


def _same_vocabulary(page: str) -> list[float | None]:
    """First passes of Mistral's file as .json by those of the .model."""
    ratios: list[float | None] = []
    for text in (ENGLISH, CHINESE, CODE, SCRIPTS):
        speeds = []
        for name in MISTRAL:
            ours, _ = _encoding(name, text)
            speeds.append(number(ours(page).get("first pass MB/s")))
        model, json = speeds
        ratios.append(json / model if model and json else None)
    return ratios


def _decoding(page: str) -> list[float | None]:
    """Our speed by that of the fastest rival with equal texts, for each tokenizer and text."""
    ratios: dict[tuple[str, str], float] = {}
    for row in _rows(page, "Decoding"):
        ratio = number(row.get("ours / this"))
        if row["texts"] == "equal" and not row["library"].startswith(OURS) and ratio is not None:
            key = (row["tokenizer"], row["text"])
            ratios[key] = min(ratio, ratios.get(key, ratio))
    return list(ratios.values()) or [None]


def _decoded(page: str) -> list[float | None]:
    rows = [row for row in _rows(page, "Decoding") if row["library"].startswith(OURS)]
    return [speed / 1000 if (speed := number(row["MB/s"])) else None for row in rows] or [None]


def _memory(page: str) -> list[float | None]:
    """Our peak by the least of those whose ids are equal, for each of three tokenizers and texts."""
    ratios: list[float | None] = []
    for name in BYTES:
        for text in (ENGLISH, CHINESE, CODE, SCRIPTS):
            ours, rows = _encoding(name, text)
            others = [
                peak
                for row in rows(page)
                if row["ids"] == "equal" and not row["library"].startswith(OURS)
                and (peak := number(row["peak"]))
            ]  # fmt: skip
            mine = number(ours(page).get("peak"))
            ratios.append(mine / min(others) if mine and others else None)
    return ratios


def _training(text: str, column: str) -> Callable[[str], list[float | None]]:
    """What the best rival with the same tokens takes by what we take: time, or memory."""

    def figures(page: str) -> list[float | None]:
        rows = _rows(page, "Training", text)
        mine = next((number(row[column]) for row in rows if row["library"].startswith(OURS)), None)
        others = [
            value
            for row in rows
            if not row["library"].startswith(OURS) and front_page.is_shared(row)
            and (value := number(row[column]))
        ]  # fmt: skip
        return [min(others) / mine] if mine and others else [None]

    return figures


def _serving(*calls: str) -> Callable[[str], list[float | None]]:
    """How many times as fast transformers' calls are, of rows whose call begins so."""

    def figures(page: str) -> list[float | None]:
        rows = [row for row in _rows(page, "Serving") if row["call"].startswith(calls)]
        return [number(row["ratio"]) for row in rows] or [None]

    return figures


CALLS = "Other calls"
AIMS = (
    Aim("GPT-2, cl100k, o200k: first pass, English and code", 1.5, _best((ENGLISH, CODE), BYTES, FIRST)),
    Aim("the same, repeated", 1.2, _best((ENGLISH, CODE), BYTES, REPEAT)),
    Aim("the same, Chinese and many scripts, first pass", 3, _best((CHINESE, SCRIPTS), BYTES, FIRST)),
    Aim("BERT, first pass, English and code", 8, _best((ENGLISH, CODE), ("bert",), FIRST)),
    Aim("BERT, first pass, Chinese and many scripts", 4, _best((CHINESE, SCRIPTS), ("bert",), FIRST)),
    Aim("T5, XLNet, first pass, English", 5, _best((ENGLISH,), UNIGRAM, FIRST)),
    Aim("T5, XLNet, first pass, other texts", 2, _best((CHINESE, CODE, SCRIPTS), UNIGRAM, FIRST)),
    Aim("Mistral, first pass, English", 1.5, _best((ENGLISH,), MISTRAL, FIRST)),
    Aim("Mistral, first pass, other texts", 2, _best((CHINESE, CODE, SCRIPTS), MISTRAL, FIRST)),
    Aim("Mistral's .json by its .model, first pass", 1, _same_vocabulary),
    Aim("decoding, by the fastest rival", 2, _decoding),
    Aim("decoding, GB/s", 1, _decoded),
    Aim(
        "ids and offsets, by ids alone",
        1.3,
        _column(CALLS, "Beside ids", "offsets, bytes", "offsets, chars"),
        False,
    ),
    Aim("a padded matrix, by ids alone", 1.15, _column(CALLS, "Beside ids", "pad"), False),
    Aim("counting tokens, by ids alone", 0.9, _column(CALLS, "Beside ids", "count"), False),
    Aim("one text of 50 bytes, µs", 2, _column(CALLS, "One short", "encode, 50 bytes"), False),
    Aim("one text of 1,000 bytes, µs", 10, _column(CALLS, "One short", "encode, 1000 bytes"), False),
    Aim("two threads, documents", 1.8, _column(CALLS, "Two threads", "documents")),
    Aim("two threads, one document", 1.8, _column(CALLS, "Two threads", "one document")),
    Aim("o200k ready, ms", 150, _column("Encoding", f"o200k, {ENGLISH}", "ready ms", row=OURS), False),
    Aim("peak memory, by the least of any rival", 1, _memory, False),
    Aim("training, English to 32,000, times as fast as the best rival", 6, _training(ENGLISH, "seconds")),
    Aim("training, Chinese to 10,000", 8, _training(CHINESE, "seconds")),
    Aim("the least memory of a rival in training, by ours, English", 1, _training(ENGLISH, "peak memory")),
    Aim("the same, Chinese", 1, _training(CHINESE, "peak memory")),
    Aim("counting pieces, by gigatoken's repeated pass", 1, _column(CALLS, "Counting", "ours / this")),
    Aim("transformers' calls accelerated: a prompt of 28,000 tokens", 40, _serving("prompt of 28,000")),
    Aim("the same, a prompt of 200 tokens", 5, _serving("prompt of 200")),
    Aim("the same, windows of 10 ids decoded", 5, _serving("1,000 windows", "a window")),
    Aim("10,000 pairs of SQuAD's size in windows, by transformers", 10, _serving("10,000 pairs")),
    Aim("100,000 added tokens: load, s", 1, _column(CALLS, "100,000 added", "load s"), False),
    Aim("100,000 added tokens: a pass, by one without", 1.05, _column(CALLS, "100,000 added", "pass"), False),
)


def aims(page: str) -> str:
    """Returns the section."""
    said = (
        "Each from the tables of this page, so of their commits. Ratios to rivals are our speed divided by "
        "that of the fastest one with equal ids; ranges go over tokenizers and texts. Why an aim is missed: "
        "[performance.md](performance.md)."
    )
    head = ["aim", "bar", "reached", "verdict"]
    return f"## Aims\n\n{said}\n\n" + markdown(head, [aim.row(page) for aim in AIMS])


def written(page: str) -> str:
    """Returns the page with this section first."""
    import page as pages

    head, *parts = re.split(r"(?m)^(?=## )", pages.updated(page, aims(page)))
    parts.sort(key=lambda part: not part.startswith("## Aims\n"))
    return head + "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), encoding="utf-8")
