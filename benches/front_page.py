"""The table of the README, from the tables of docs/lab/benchmarks.md.

    python benches/front_page.py      # writes it; `report.py` does so as well

It measures nothing, and no figure is typed: each row names its table on that page, and takes from it
sentitok, tokenizers, and the fastest of the remaining libraries.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "lab" / "benchmarks.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

OURS, THEIRS = "sentitok 0", "tokenizers 0"
# Per cent of the reference's tokens.
SAME = 99.0
# Title in the README: section and table of the page.
TRAINING = {
    "BPE": ("Training", "English (IMDB reviews)"),
    "BPE, Chinese": ("Training", "Chinese (news)"),
    "WordPiece": ("Training WordPiece", "English (IMDB reviews)"),
    "Unigram": ("Training Unigram", "English (IMDB reviews)"),
}
ENCODING = {
    "GPT-2, English": "gpt2, English (IMDB reviews), 16 MB",
    "GPT-2, code": "gpt2, code (Python's library), 16 MB",
    "GPT-2, Chinese": "gpt2, Chinese (news)",
    "GPT-2, many scripts": "gpt2, many scripts (UDHR)",
    "o200k, English": "o200k, English (IMDB reviews), 16 MB",
    "BERT, English": "bert, English (IMDB reviews), 16 MB",
    "T5 (.model), English": "t5 .model, English (IMDB reviews), 16 MB",
    "Mistral (.model), English": "mistral .model, English (IMDB reviews), 16 MB",
}


@dataclass(frozen=True)
class Table:
    """A table of the page: what follows its title, and its rows by column."""

    title: str
    rows: list[dict[str, str]]

    def of(self, library: str) -> dict[str, str] | None:
        """Returns the first row of a library that measured something."""
        named = (row for row in self.rows if row["library"].startswith(library) and "-" not in row.values())
        return next(named, None)


def section(page: str, title: str) -> str:
    """Returns a section of the page.

    Raises:
        ValueError: there is none of this title.
    """
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    if match is None:
        raise ValueError(f"{PAGE.name} has no section {title!r}; type make bench-all")
    return match[1]


def table(text: str, title: str) -> Table:
    """Returns the table below a title that begins so.

    Raises:
        ValueError: there is none.
    """
    match = re.search(rf"^### ({re.escape(title)}.*)\n\n((?:\|.*\n)+)", text, re.M)
    if match is None:
        raise ValueError(f"{PAGE.name} has no table {title!r}; type make bench-all")
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in match[2].splitlines()]
    return Table(match[1], [dict(zip(lines[0], line, strict=True)) for line in lines[2:]])


def measured(text: str) -> str:
    """Returns when, of what and on what machine a section was measured, in words."""
    match = re.search(r"(\d{4}-\d\d-\d\d), commit (\w+)", text)
    machine = re.search(r"(\w+ \w+, \d+ CPUs)", text)
    said = [f"{match[1]}, commit {match[2]}" if match else "an earlier commit", machine[1] if machine else ""]
    return ", ".join(filter(None, said))


def training(page: str) -> list[str]:
    """Returns the rows of training."""
    lines = []
    for name, (title, text) in TRAINING.items():
        measurements = table(section(page, title), text)
        size = measurements.title.partition(": ")[2]
        rivals = [row for row in measurements.rows if not row["library"].startswith((OURS, THEIRS))]
        others = [row for row in rivals if is_shared(row)]
        fastest = min(others, key=lambda row: float(row["seconds"]), default=None)
        cells = [_spent(measurements.of(OURS)), _spent(measurements.of(THEIRS))]
        cells.append(f"{fastest['library'].split()[0]} {_spent(fastest)}" if fastest else "-")
        lines.append(f"| train {name}: {size} | {' | '.join(cells)} |")
    return lines


def is_shared(row: dict[str, str]) -> bool:
    """Whether a library found the tokens of the reference: below, it solved another problem."""
    (share,) = (value for column, value in row.items() if column.startswith("tokens shared"))
    return float(share.rstrip("%")) >= SAME


def _spent(row: dict[str, str] | None) -> str:
    return f"{row['seconds']} s, {row['peak memory']}" if row else "-"


def encoding(page: str) -> list[str]:
    """Returns the rows of encoding; a rival whose ids differ does not count."""
    lines = []
    text = section(page, "Encoding")
    for task, title in ENCODING.items():
        measurements = table(text, title)
        equal = [row for row in measurements.rows if row["ids"] == "equal" and "-" not in row.values()]
        others = [row for row in equal if not row["library"].startswith((OURS, THEIRS))]
        cells = [_speeds(measurements.of(OURS)), _speeds(measurements.of(THEIRS))]
        fastest = []
        for column in ("first pass MB/s", "repeat MB/s"):
            speed, library = max((float(row[column]), row["library"]) for row in others)
            # Of tokenizers another version than the one in the column before.
            name = library if library.startswith("tokenizers") else library.split()[0]
            fastest.append(f"{name} {speed:.0f}")
        cells.append(" / ".join(fastest))
        lines.append(f"| encode {task}, MB/s | {' | '.join(cells)} |")
    return lines


def _speeds(row: dict[str, str] | None) -> str:
    if row is None:
        return "-"
    first, repeat = (float(row[column]) for column in ("first pass MB/s", "repeat MB/s"))
    return f"{first:.0f} / {repeat:.0f}" if first >= 10 else f"{first:.1f} / {repeat:.1f}"


def figures(page: str) -> str:
    """Returns the table, and what its figures were measured on."""
    of_training, of_encoding = (measured(section(page, title)) for title in ("Training", "Encoding"))
    said = f"Training: {of_training}. Encoding: {of_encoding}."
    head = ["| task | sentitok | tokenizers | fastest other |", "|---|---:|---:|---:|"]
    return "\n".join([*head, *training(page), *encoding(page), "", said])


def written(readme: str, page: str) -> str:
    """Returns the README with this table between its marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} has no marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{figures(page)}\n{END}{after}"


def write() -> None:
    """Rewrites the README."""
    text = written(README.read_text("utf-8"), PAGE.read_text("utf-8"))
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
