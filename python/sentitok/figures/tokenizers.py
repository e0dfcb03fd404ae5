"""Figures of the tokens of a text: by script, by size, by how often each token comes.

A token counts for the script of its characters, each by its share; anything but a letter (space, digit,
punctuation) belongs to the next letter, as a space belongs to the word behind it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..scripts import script_of
from .canvas import bar_style, grid, legend, line_style, plain, point_style, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._sentitok import EncodingBatch

__all__ = ["Counts", "figure"]

# The scripts with the most text are drawn, at most so many.
_SCRIPTS = 10
# A script with a smaller share of the text is left out: its bar would be that of a few words.
_LEAST_SHARE = 0.002
# Points of a curve over the ranks of tokens, evenly spread on a logarithmic axis.
_POINTS = 100
_NO_LETTERS = "no letters"


class Counts:
    """How often each token comes, and bytes and tokens of each script.

    Args:
        vocab_size: of the tokenizer.
        model: its kind, as in `Tokenizer.info`; sizes of one kind are joined by a line.
        unknown: the id of what it does not know, if it has one.
    """

    def __init__(self, vocab_size: int, model: str = "", unknown: int | None = None) -> None:
        self.vocab_size = vocab_size
        self.model = model
        self.unknown = unknown
        self.frequency: NDArray[np.int64] = np.zeros(vocab_size, dtype=np.int64)
        self.bytes: dict[str, float] = {}
        self.tokens: dict[str, float] = {}

    def add(self, batch: list[str], encoded: "EncodingBatch") -> None:
        """Counts a batch of texts; `encoded` has offsets."""
        self.frequency += np.bincount(encoded.ids, minlength=self.vocab_size)
        joined = "\n".join(batch)
        if not joined:
            return
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        names, script = _scripts(codes)
        size = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
        starts = np.zeros(len(batch), dtype=np.int64)  # of the texts, in the joined text
        starts[1:] = np.cumsum([len(text) + 1 for text in batch[:-1]])
        size[starts[1:] - 1] = 0  # what joins is not text
        spans = (
            encoded.offsets("chars", trim=False) + np.repeat(starts, np.diff(encoded.row_offsets))[:, None]
        )
        # Each token is spread evenly over its characters; one that is a part of a character is on it.
        first = np.minimum(spans[:, 0], len(codes) - 1)
        behind = np.maximum(spans[:, 1], first + 1)
        share = 1 / (behind - first)
        steps = np.zeros(len(codes) + 1)
        np.add.at(steps, first, share)
        np.add.at(steps, behind, -share)
        density = np.cumsum(steps)[:-1]
        for name, n_bytes, n_tokens in zip(
            names,
            np.bincount(script, weights=size, minlength=len(names)).tolist(),
            np.bincount(script, weights=density, minlength=len(names)).tolist(),
            strict=True,
        ):
            self.bytes[name] = self.bytes.get(name, 0.0) + n_bytes
            self.tokens[name] = self.tokens.get(name, 0.0) + n_tokens

    @property
    def bytes_per_token(self) -> float:
        """Bytes of all text, divided by its tokens; `nan` of no text."""
        n_tokens = int(self.frequency.sum())
        return sum(self.bytes.values()) / n_tokens if n_tokens else float("nan")

    @property
    def unknown_share(self) -> float:
        """Share of the tokens that are the unknown one, from 0 to 1; 0 of no text."""
        if self.unknown is None:
            return 0.0
        return float(self.frequency[self.unknown]) / max(1, int(self.frequency.sum()))


def _scripts(codes: NDArray[np.uint32]) -> tuple[list[str], NDArray[np.int64]]:
    """Returns names of scripts, and for each character the position of its script among them."""
    distinct, place = np.unique(codes, return_inverse=True)
    chars = [chr(code) for code in distinct.tolist()]
    letters = [script_of(char) if char.isalpha() else "" for char in chars]
    names = sorted(set(letters) - {""}) or [_NO_LETTERS]
    of_name = {name: number for number, name in enumerate(names)}
    script = np.array([of_name.get(name, -1) for name in letters])[place]
    # Characters that are not letters count for the next letter; after the last letter, for that.
    known = np.flatnonzero(script >= 0)
    if not len(known):
        return names, np.zeros(len(codes), dtype=np.int64)
    following = np.searchsorted(known, np.arange(len(codes)))
    filled: NDArray[np.int64] = script[known[np.minimum(following, len(known) - 1)]].astype(np.int64)
    return names, filled


def figure(by_name: Mapping[str, Counts], on: str) -> "Figure":
    """Draws a comparison of tokenizers.

    Args:
        by_name: the counts, by name.
        on: the texts, for the title.

    Returns:
        Bytes per token by script; of several tokenizers bytes per token against the size of the
        vocabulary; the share of the text that the most frequent tokens cover; and how often tokens come
        by their rank (Zipf's law is a straight line).
    """
    several = len(by_name) > 1
    by_name = {_with_unknown(name, counts): counts for name, counts in by_name.items()}
    made, all_axes = grid(4 if several else 3, columns=2 if several else 3, width=4.4, height=3.7)
    _by_script(all_axes[0], by_name)
    if several:
        _by_size(all_axes[1], by_name)
    _coverage(all_axes[-2], by_name)
    _zipf(all_axes[-1], by_name)
    for axes in all_axes:
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
    name = "" if several else f"{next(iter(by_name), '')} on "
    made.suptitle(title(f"{name}{on}"[:110]), fontsize="medium")
    legend(made, [all_axes[0], *all_axes[-2:]])
    return made


def _with_unknown(name: str, counts: Counts) -> str:
    """Says how much of a text a tokenizer does not know: one unknown token may replace many bytes."""
    percent = 100 * counts.unknown_share
    return f"{name}, {percent:.0f} % unknown" if percent >= 0.5 else name


def _by_script(axes: "Axes", by_name: Mapping[str, Counts]) -> None:
    """Bars of each script, the one with the most text above."""
    total: dict[str, float] = {}
    for counts in by_name.values():
        for name, n_bytes in counts.bytes.items():
            total[name] = total.get(name, 0.0) + n_bytes
    whole = sum(total.values())
    there = sorted(total, key=lambda name: (-total[name], name))
    names = [name for name in there[:_SCRIPTS] if total[name] >= _LEAST_SHARE * whole]
    height = 0.8 / max(1, len(by_name))
    for place, (label, counts) in enumerate(by_name.items()):
        values = [counts.bytes.get(name, 0.0) / max(counts.tokens.get(name, 0.0), 1e-9) for name in names]
        at = np.arange(len(names)) + (place - (len(by_name) - 1) / 2) * height
        bars = axes.barh(at, values, height, label=plain(label), **bar_style(place))
        if len(names) * len(by_name) <= 2 * _SCRIPTS:
            axes.bar_label(bars, [f"{value:.2f}" for value in values], fontsize=7, padding=2)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("bytes per token")
    left_out = len(there) - len(names)
    axes.set_title(
        f"by script ({left_out} with less text not shown)" if left_out else "by script", fontsize="medium"
    )


def _by_size(axes: "Axes", by_name: Mapping[str, Counts]) -> None:
    """A point for each tokenizer; the legend of the figure has its name."""
    for model in dict.fromkeys(counts.model for counts in by_name.values()):
        points = sorted(
            (one.vocab_size, one.bytes_per_token) for one in by_name.values() if one.model == model
        )
        axes.plot(*zip(*points, strict=True), color="grey", linewidth=0.8, zorder=1)
    for place, counts in enumerate(by_name.values()):
        axes.scatter([counts.vocab_size], [counts.bytes_per_token], s=45, zorder=2, **point_style(place))
    sizes = sorted({counts.vocab_size for counts in by_name.values()})
    if sizes[0] < sizes[-1]:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(_some(sizes))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.margins(0.1)
    axes.set_xlabel("size of the vocabulary (tokens)")
    axes.set_ylabel("bytes per token")
    axes.set_title("against size", fontsize="medium")


def _some(sizes: list[int]) -> list[int]:
    """Returns sizes so far apart on a logarithmic axis that their numbers do not overlap."""
    least = (sizes[-1] / sizes[0]) ** (1 / 6)
    kept = sizes[:1]
    for size in sizes[1:]:
        if size >= kept[-1] * least:
            kept.append(size)
    return kept


def _ranks(frequency: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns ranks from 1 to the number of tokens that occur, evenly spread on a logarithmic axis."""
    used = max(1, int((frequency > 0).sum()))
    return np.unique(np.geomspace(1, used, min(used, _POINTS)).round().astype(np.int64))


def _coverage(axes: "Axes", by_name: Mapping[str, Counts]) -> None:
    for place, (label, counts) in enumerate(by_name.items()):
        ordered = np.sort(counts.frequency)[::-1]
        ranks = _ranks(ordered)
        shares = 100 * np.cumsum(ordered)[ranks - 1] / max(1, int(ordered.sum()))
        axes.plot(ranks, shares, label=plain(label), **line_style(place, len(ranks)))
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_ylim(0, 102)
    axes.set_xlabel("most frequent tokens")
    axes.set_ylabel("share of the text's tokens (%)")
    axes.set_title("coverage", fontsize="medium")


def _zipf(axes: "Axes", by_name: Mapping[str, Counts]) -> None:
    for place, (label, counts) in enumerate(by_name.items()):
        ordered = np.sort(counts.frequency)[::-1]
        ranks = _ranks(ordered)
        axes.plot(ranks, ordered[ranks - 1], label=plain(label), **line_style(place, len(ranks)))
    axes.set_xscale("log")
    if any(counts.frequency.any() for counts in by_name.values()):
        axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xlabel("rank of the token")
    axes.set_ylabel("occurrences")
    axes.set_title("frequencies (Zipf)", fontsize="medium")
