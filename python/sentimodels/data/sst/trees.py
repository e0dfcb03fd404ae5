r"""Stanford Sentiment Treebank trees: one a line, `(label child child)` or `(label word)`.

Not for other treebanks: a leaf holds one word and every node a label. Words are
told apart by the plain space only, since some hold a no-break space. Phrases come
in the order of the Kaggle file: pre-order, the whole sentence first. The text keeps
the treebank's escapes (`-LRB-`, `\/`), as the Kaggle file does, unless they are undone.
No recursion: depth is limited only by memory. Source: Socher et al. 2013.
"""

import re
from collections.abc import Iterator
from typing import Literal

from ...errors import DataError
from ..opening import TextFile

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
        DataError: if the line is no tree.
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
        DataError: if a line is no tree.
    """
    for number, line in enumerate(file.lines(), 1):
        if not line:
            continue
        try:
            pairs = phrases(line, nodes)
        except DataError as error:
            raise DataError(f"{file.path}: line {number}: {error}") from error
        for label, phrase in _kept(pairs, binary):
            text = unescape(phrase) if undo_escapes else phrase
            yield number, text, label, str(number)
