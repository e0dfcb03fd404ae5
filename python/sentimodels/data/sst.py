r"""Stanford Sentiment Treebank: its trees, and its Kaggle form: labels rebuilt for scoring, submissions.

A tree is a line, `(label child child)` or `(label word)`: a leaf holds one word and every node a label.
Words are separated by the plain space only, since some hold a no-break space. Phrases come in the order of
the Kaggle file: pre-order, the whole sentence first. The text keeps the treebank's escapes (`-LRB-`, `\/`),
as the Kaggle file does, unless they are undone. No recursion: depth is limited only by memory. Source: Socher
et al. 2013. The Kaggle test file holds the phrases of SST dev and test, so each phrase has the label of its
tree node; phrases with a character outside ASCII became one space there and stay without label.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ..errors import DataError
from .opening import TextFile
from .table import Table
from .writers import separated_rows

# `(3 ` opens a node, `)` closes it, anything else without bracket or plain space is a word.
_TOKEN = re.compile(r"\((\d+) |(\))|([^() ]+)| ")

_ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "\\/": "/", "\\*": "*",
}  # fmt: skip
_ESCAPED = re.compile("|".join(map(re.escape, _ESCAPES)))

Nodes = Literal["roots", "phrases"]


def unescape(text: str) -> str:
    """Undoes the treebank's escapes."""
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)


def phrases(line: str, nodes: Nodes = "phrases") -> list[tuple[str, str]]:
    """Returns (label, phrase) of every node of a tree in pre-order, or of its root alone.

    Raises:
        DataError: if the line is not a tree.
    """
    words: list[str] = []
    labels: list[str] = []
    spans: list[tuple[int, int]] = []
    open_nodes: list[int] = []
    end = 0
    for token in _TOKEN.finditer(line):
        if token.start() != end:
            break
        end = token.end()
        label, close, word = token.groups()
        if label is not None:
            if spans and not open_nodes:
                raise DataError("a second tree on the line")
            open_nodes.append(len(spans))
            labels.append(label)
            spans.append((len(words), len(words)))
        elif close is not None:
            if not open_nodes:
                raise DataError("a bracket too many")
            node = open_nodes.pop()
            spans[node] = (spans[node][0], len(words))
        elif word is not None:
            if not open_nodes:
                raise DataError("a word outside the tree")
            words.append(word)
    if end != len(line) or open_nodes or not spans:
        raise DataError(f"no complete tree (read up to character {end + 1} of {len(line)})")
    if nodes == "roots":
        return [(labels[0], " ".join(words))]
    return [(label, " ".join(words[a:b])) for label, (a, b) in zip(labels, spans, strict=True)]


def _kept(pairs: list[tuple[str, str]], binary: bool) -> Iterator[tuple[str, str]]:
    for label, phrase in pairs:
        if not binary:
            yield label, phrase
        elif label != "2":
            yield ("1" if label in "34" else "0"), phrase


def read_trees(
    file: TextFile, *, nodes: Nodes, binary: bool, undo_escapes: bool
) -> Iterator[tuple[int, str, str, str]]:
    """Yields the line, text, label and group of each tree or node; the group is the number of the tree.

    Args:
        file: the open file.
        nodes: the root of each tree, or all nodes.
        binary: SST-2's labels: 0 and 1 become 0, 3 and 4 become 1, 2 is left out.
        undo_escapes: write brackets and slashes as people do.

    Raises:
        DataError: if a line is not a tree.
    """
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            pairs = phrases(line, nodes)
        except DataError as error:
            raise DataError(f"{file.path}: line {number}: {error}") from error
        for label, phrase in _kept(pairs, binary):
            text = unescape(phrase) if undo_escapes else phrase
            yield number, text, label, str(number)


# Name: header of the submission file. Both competitions want a label for each id.
SUBMISSIONS = {"movie-reviews": ("PhraseId", "Sentiment"), "imdb": ("Id", "Category")}


def with_rebuilt_labels(test: Table, trees: Sequence[Table]) -> Table:
    """Returns the Kaggle test with the labels of the trees' phrases; "" where none fits.

    Args:
        test: the test file, without labels.
        trees: SST dev and test, read as `sst-phrases`.

    Raises:
        DataError: if a phrase has two labels, or most phrases lack one.
    """
    known: dict[str, str] = {}
    for table in trees:
        for text, label in zip(table.texts, table.labelled(), strict=True):
            # Letter for letter: "Not" and "not" have two labels.
            if known.setdefault(text, label) != label:
                raise DataError(f"{table.source}: {text!r} has the labels {known[text]} and {label}")
    labels = [known.get(text, "") for text in test.texts]
    missing = labels.count("")
    if missing > len(labels) // 2:
        raise DataError(f"{test.source}: {missing:,} of {len(labels):,} phrases are in no tree; other files?")
    return replace(
        test,
        labels=labels,
        notes=(*test.notes, f"labels rebuilt from the trees, for scoring alone; {missing:,} rows without"),
    )


def submission(form: str, ids: Sequence[str] | None, answers: Sequence[str]) -> str:
    """Returns a submission file.

    Args:
        form: `movie-reviews` or `imdb`.
        ids: of the rows; by default 0, 1, 2, …
        answers: label names.

    Raises:
        DataError: if the form is unknown, or ids repeat.
    """
    if form not in SUBMISSIONS:
        raise DataError(f"submission form {form!r}: one of {', '.join(SUBMISSIONS)}")
    named = [str(row) for row in range(len(answers))] if ids is None else list(ids)
    if len(set(named)) != len(named):
        raise DataError("two rows share an id, so they cannot be submitted")
    return separated_rows([SUBMISSIONS[form], *zip(named, answers, strict=True)], ".csv")
