"""A text classifier that needs numpy and sentitok alone. `senti export --numpy` has written it and its files.

    from reviews.classifier import Classifier  # `reviews` is this folder
    Classifier().predict_proba(["The food was wonderful."])

`python reviews/classifier.py < texts.txt` prints the label of each line. `classifier.json` says how texts
are read and scored, `model.safetensors` holds the weights, one more file the vocabulary. None is a pickle.
"""

import base64
import json
import re
import sys
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok import PreTokenizer, Tokenizer

Array = NDArray[Any]
# Texts that are read at once, and tokens that go through the convolutions at once.
_TEXTS, _TOKENS = 2048, 4096


class Classifier:
    """Answers as the run does that was exported.

    Args:
        folder: with the files; by default that of this file.

    Attributes:
        labels: names of the classes, in the order of the probabilities.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        folder = Path(__file__).parent if folder is None else Path(folder)
        about = self.about = json.loads((folder / "classifier.json").read_text("utf-8"))
        self.labels: list[str] = about["labels"]
        self._replaced = {c: to for first, last, to in about["replaced"] for c in range(first, last + 1)}
        self._stray = re.compile(about["stray"])
        tensors = read_safetensors(folder / "model.safetensors")
        self._scorer = globals()[about["scorer"]](folder, about, tensors)

    def predict(self, texts: Iterable[str], unsure: Any = None) -> list[Any]:
        """Returns the likeliest label of each text; of several labels a text, the list from 0.5 on.

        Where the run has thresholds they decide; a text that they leave without an answer gets `unsure`.
        """
        probs, own = self.predict_proba(texts), self.about.get("thresholds")
        if self.about.get("several"):
            least = np.array(own["least"]) if own else 0.5
            return [[self.labels[place] for place in np.flatnonzero(row)] for row in probs >= least]
        answers = probs.argmax(1)
        if own and own["costs"]:  # a last column is what no answer costs
            answers = (probs.astype(np.float64) @ np.array(own["costs"])).argmin(1)
        sure = (probs.max(1, initial=0) >= (own["least"][0] if own else 0)) & (answers < len(self.labels))
        return [self.labels[place] if ok else unsure for place, ok in zip(answers, sure, strict=True)]

    def predict_proba(self, texts: Iterable[str]) -> NDArray[np.float32]:
        """Returns the probabilities (texts, labels)."""
        if isinstance(texts, str):
            raise TypeError("texts: one string; give a list of texts")
        read = [self._prepared(text) for text in texts]
        parts = [self._scorer.scores(read[i : i + _TEXTS]) for i in range(0, len(read), _TEXTS)]
        temperature = np.asarray(self.about["temperature"])
        scores = np.concatenate([np.zeros((0, len(self.labels))), *parts]) / temperature
        if self.about.get("several"):  # each label alone; a clip keeps exp within its range
            alone: NDArray[np.float32] = (1 / (1 + np.exp(-np.clip(scores, -700, 700)))).astype(np.float32)
            return alone
        shares = np.exp(scores - scores.max(1, keepdims=True))
        probs: NDArray[np.float32] = (shares / shares.sum(1, keepdims=True)).astype(np.float32)
        return probs

    def _prepared(self, text: str) -> str:
        """Leaves out invisible characters, composes accents, and lowercases, as the run does."""
        if self.about["normalize"]:
            text = unicodedata.normalize("NFC", self._stray.sub("", text.translate(self._replaced)))
            if "\u0130" in text or "i\u0307" in text:  # the dotted capital I of Turkish is an I
                text = unicodedata.normalize("NFC", text.replace("\u0130", "I").replace("i\u0307", "i"))
        return text.lower() if self.about["lowercase"] else text


def read_safetensors(path: Path) -> dict[str, Array]:
    """Maps the tensors of a file: the length of a JSON header, the header, and the numbers."""
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int(data[:8].view("<u8")[0])
    kinds = {"F32": "<f4", "I64": "<i8"}
    tensors = {}
    for name, about in json.loads(bytes(data[8:start])).items():
        if name != "__metadata__":
            first, end = about["data_offsets"]
            raw = np.asarray(data[start + first : start + end])
            tensors[name] = raw.view(kinds[about["dtype"]]).reshape(about["shape"])
    return tensors


def hashed(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Returns the FNV-1a hashes of the UTF-8 of texts."""
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(one) for one in data], np.int64)
    joined, starts = np.frombuffer(b"".join(data), np.uint8), np.cumsum(lengths) - lengths
    values, longer = np.full(len(data), 0xCBF29CE484222325, np.uint64), np.arange(len(data))
    for place in range(int(lengths.max(initial=0))):
        longer = longer[lengths[longer] > place]
        values[longer] = (values[longer] ^ joined[starts[longer] + place]) * np.uint64(0x100000001B3)
    return values


def char_ngrams(word: str, low: int, high: int) -> list[str]:
    """Returns the n-grams of the characters of `<word>`, without `<word>` itself."""
    marked = f"<{word}>"
    sizes = range(low, min(high, len(marked) - 1) + 1) if low else range(0)
    return [marked[i : i + size] for size in sizes for i in range(len(marked) - size + 1)]


def of_cuts(scores: Array, cuts: Array | None) -> Array:
    """Returns log-probabilities of ordered labels, which are cut from one score; scores of other labels."""
    if cuts is None:
        return scores
    at = cuts.astype(np.float64) - scores  # log odds that a label is at most this
    at_most, above = -np.logaddexp(0, -at), -np.logaddexp(0, at)
    between = at_most[:, 1:] + above[:, :-1] + np.log(-np.expm1(-np.diff(at)))
    return np.concatenate([at_most[:, :1], between, above[:, -1:]], 1)


class Bag(ABC):
    """Scores of texts as bags of n-grams: of each n-gram a value times a row of weights."""

    def __init__(self, folder: Path, about: dict[str, Any], tensors: dict[str, Array]) -> None:
        self.about, self.tensors = about, tensors
        self.read = json.loads((folder / about["vocabulary"]).read_text("utf-8", "surrogatepass"))
        self.config = self.read.get("config", self.read)
        own = self.config.get("token_pattern", self.config.get("pattern"))
        self.own = None if own is None else re.compile(own)
        self.rule = PreTokenizer(pattern=about["word"])

    def words(self, text: str) -> list[str]:
        """Returns the words of a text."""
        if self.config["lowercase"]:
            text = text.lower()
        if self.own is not None:
            return self.own.findall(text)
        return [word for word in self.rule.pieces(text) if not word.isspace()]

    @abstractmethod
    def features(self, texts: list[str]) -> tuple[Array, Array]:
        """Returns the n-grams of all texts: the text each is of, and its id."""

    def scores(self, texts: list[str]) -> Array:
        """Returns the scores (texts, labels)."""
        table, scale = self.tensors["table"], self.tensors["scale"]
        owner, feature = self.features(texts)
        distinct, count = np.unique(owner * len(scale) + feature, return_counts=True)
        owner, feature = np.divmod(distinct, len(scale))
        value = {"count": count, "log": 1 + np.log(count), "once": 1}[self.about["counts"]] * scale[feature]
        squares = {"euclidean": value * value, "weighted": value * scale[feature], "none": 0 * value}
        length = np.bincount(owner, squares[self.about["length"]], len(texts)) ** 0.5
        value = value / np.where(length > 0, length, 1)[owner]
        rows = table[feature]
        sums = [np.bincount(owner, value * column, len(texts)) for column in rows.T]
        return of_cuts(np.stack(sums, 1) + self.tensors["bias"], self.tensors.get("cuts"))


class NgramBag(Bag):
    """N-grams of words and characters that are looked up by their text."""

    def __init__(self, folder: Path, about: dict[str, Any], tensors: dict[str, Array]) -> None:
        super().__init__(folder, about, tensors)
        self.ids = {ngram: place for place, ngram in enumerate(self.read["ngrams"], 1)}
        self.alone = re.compile(about["alone"])

    def features(self, texts: list[str]) -> tuple[Array, Array]:
        """Returns the n-grams of all texts: the text each is of, and its id."""
        rows = [self.row(text) for text in texts]
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        return owner, np.fromiter((id for row in rows for id in row), np.int64, len(owner))

    def row(self, text: str) -> list[int]:
        """Returns the ids of the known n-grams of a text."""
        words, config = self.words(text), self.config
        (low, high), found = config["ngram_range"], []
        if low == 1:
            found += words
        known = [word for word in words if config["char_ngrams"][0]]
        found += ["\x01" + part for word in known for part in char_ngrams(word, *config["char_ngrams"])]
        if config["ends"] and words:
            words = ["\x02", *words, "\x03"]
        for size in range(max(low, 2), high + 1):
            found += [" ".join(words[i : i + size]) for i in range(len(words) - size + 1)]
        if config["char_run"] > high and not text.isascii():
            for alone, run in groupby(words, self.is_character):
                chars = list(run) if alone else []
                for size in range(high + 1, config["char_run"] + 1):
                    found += [" ".join(chars[i : i + size]) for i in range(len(chars) - size + 1)]
        return [self.ids[ngram] for ngram in found if ngram in self.ids]

    def is_character(self, word: str) -> bool:
        """Whether a word is one character of a script without spaces, with its marks."""
        marks = all(unicodedata.category(char)[0] == "M" for char in word[1:])
        return marks and self.alone.match(word) is not None


class HashedBag(Bag):
    """Words, hashed n-grams of known words, and hashed n-grams of the characters of unknown ones."""

    def __init__(self, folder: Path, about: dict[str, Any], tensors: dict[str, Array]) -> None:
        super().__init__(folder, about, tensors)
        words, buckets = self.read["words"], np.frombuffer(base64.b64decode(self.read["buckets"]), "<u4")
        self.ids = {"\n": 0} | {word: place for place, word in enumerate(words, 1)}
        self.hashes = hashed(["", *words])
        self.id_of_bucket = np.zeros(self.read["n_buckets"], np.int64)
        self.id_of_bucket[buckets] = np.arange(len(buckets)) + len(words) + 1

    def features(self, texts: list[str]) -> tuple[Array, Array]:
        """Returns the n-grams of all texts: the text each is of, and its id."""
        pieces = ["\n"]  # a border before the first text and after each
        for text in texts:
            pieces += [*self.words(text.replace("\n", " ")), "\n"]
        ids = np.array([self.ids.get(piece, -1) for piece in pieces])
        text_of, hashes, mix = (
            (ids == 0).cumsum() - 1,
            self.hashes[ids.clip(0)],
            np.uint64(0x9E3779B97F4A7C15),
        )
        value, known, parts = hashes, ids >= 0, [(text_of[ids > 0], ids[ids > 0])]
        for size in range(2, min(self.read["word_ngrams"], len(ids)) + 1):
            value = (value[:-1] ^ (value[:-1] >> np.uint64(29))) * mix + hashes[size - 1 :]
            # A border is first or last, never between words, and never alone.
            inside = ids[size - 2 : -1] > 0 if size > 2 else (ids[:-1] > 0) | (ids[1:] > 0)
            known = known[:-1] & (ids[size - 1 :] >= 0) & inside
            bucket = (value[known] ^ (value[known] >> np.uint64(32))) * mix >> np.uint64(20)
            parts.append((text_of[: len(value)][known], self._ids(bucket)))
        spelled = [char_ngrams(pieces[place], *self.read["char_ngrams"]) for place in np.flatnonzero(ids < 0)]
        owner = np.repeat(text_of[ids < 0], [len(grams) for grams in spelled])
        parts.append((owner, self._ids(hashed([gram for grams in spelled for gram in grams]))))
        owner, feature = (np.concatenate(column) for column in zip(*parts, strict=True))
        return owner[feature > 0], feature[feature > 0]

    def _ids(self, hashes: Array) -> Array:
        return self.id_of_bucket[(hashes % np.uint64(self.read["n_buckets"])).astype(np.int64)]


class Convolutions:
    """Scores of texts by convolutions over the vectors of their tokens."""

    def __init__(self, folder: Path, about: dict[str, Any], tensors: dict[str, Array]) -> None:
        self.about, self.tensors = about, tensors
        self.tokenizer: Tokenizer | None = None
        if about["vocabulary"] == "tokenizer.json":
            self.tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
        else:
            read = json.loads((folder / about["vocabulary"]).read_text("utf-8", "surrogatepass"))
            name = read["pre_tokenizer"]
            self.rule = PreTokenizer(pattern=read["pattern"]) if name is None else PreTokenizer(name)
            self.ids = {word: place for place, word in enumerate(read["words"])}

    def scores(self, texts: list[str]) -> Array:
        """Returns the scores (texts, labels): the mean of those of a text's windows."""
        unknown: dict[str, int] = {}
        rows = [self.rows(text, unknown) for text in texts]
        n_rows = np.array([len(some) for some in rows])
        flat = [row for some in rows for row in some]
        ends, made, start = np.cumsum([len(row) for row in flat]), self.vectors(list(unknown)), 0
        parts = []
        while start < len(flat):
            tokens_before = ends[start] - len(flat[start])
            stop = max(start + 1, int(np.searchsorted(ends, tokens_before + _TOKENS, "right")))
            parts.append(self.scores_of(flat[start:stop], made))
            start = stop
        sums: Array = np.add.reduceat(np.concatenate(parts), np.cumsum(n_rows) - n_rows) / n_rows[:, None]
        return sums

    def rows(self, text: str, unknown: dict[str, int]) -> list[Array]:
        """Returns the ids of a text, of several windows where it is long and the run has windows."""
        most, long, pad = self.about["max_tokens"], self.about["long"], self.about["pad_id"]
        if self.tokenizer is not None:
            ids = self.tokenizer.encode(text).ids
            if len(ids) > most and long == "windows":
                return [one.ids for one in self.tokenizer.windows(text, most, self.about["stride"])]
            if len(ids) > most and long == "truncate":
                return [self.tokenizer.encode(text, max_tokens=most).ids]
        else:
            words = [word for piece in self.rule.pieces(text) if (word := piece.strip())]
            for word in words:
                if word not in self.ids:
                    unknown.setdefault(word, pad + 1 + len(unknown))
            ids = np.array([self.ids.get(word) or unknown.get(word, 0) for word in words], np.int64)
            if len(ids) > most and long == "windows":
                starts = range(0, len(ids) - self.about["stride"], most - self.about["stride"])
                return [ids[i : i + most] for i in starts]
        if len(ids) > most:
            tail = most // 2 if long == "head-tail" else 0
            ids = np.concatenate([ids[: most - tail], ids[len(ids) - tail :]])
        return [ids if len(ids) else np.array([pad])]

    def vectors(self, unknown: list[str]) -> Array:
        """Returns a vector for each unknown word: the mean of those of its character n-grams."""
        rows = np.repeat(self.tensors["table"][self.about["pad_id"]][None], len(unknown), 0)
        grams, buckets = self.tensors.get("grams"), self.tensors.get("buckets")
        if grams is None or buckets is None or not unknown:
            return rows
        spelled = [char_ngrams(word, *self.about["char_ngrams"]) for word in unknown]
        owner = np.repeat(np.arange(len(unknown)), [len(some) for some in spelled])
        bucket = hashed([gram for some in spelled for gram in some]) % np.uint64(self.about["char_buckets"])
        place = np.searchsorted(buckets, bucket.astype(np.int64)).clip(max=len(buckets) - 1)
        there = buckets[place] == bucket.astype(np.int64)
        owner, count = np.unique(owner[there], return_counts=True)
        sums = np.add.reduceat(grams[place[there]], np.cumsum(count) - count) if len(owner) else 0
        rows[owner, : grams.shape[1]] += sums / count[:, None]
        return rows

    def scores_of(self, rows: list[Array], made: Array) -> Array:
        """Returns the scores of rows of ids."""
        kernels = [self.tensors[f"kernel.{place}"] for place in range(self.about["kernels"])]
        gap = max(len(kernel) for kernel in kernels) - 1  # a window ends in zeros, not in the next text
        lengths = np.array([len(row) for row in rows])
        starts = np.cumsum(lengths) - lengths
        # A window that reaches over the end of a text sees zeros, the vector 0, and not the next text.
        distinct, index = np.unique(np.concatenate(rows), return_inverse=True)
        new = distinct > self.about["pad_id"] if len(made) else np.zeros(len(distinct), bool)
        vectors = self.tensors["table"][np.where(new, 0, distinct)]
        vectors[new] = made[distinct[new].astype(np.int64) - self.about["pad_id"] - 1]
        vectors = np.concatenate([np.zeros_like(vectors[:1]), vectors])
        place = np.arange(len(index)) + np.repeat(np.arange(len(rows)) * gap, lengths)
        read = np.zeros(len(index) + gap * len(rows), np.int64)
        read[place] = index + 1
        maps = []
        for number, kernel in enumerate(kernels):
            # Each distinct token at each place of a window is multiplied once.
            parts = [vectors @ part for part in kernel]
            states = self.tensors[f"kernel_bias.{number}"] + parts[0][read[place]]
            for offset, part in enumerate(parts[1:], 1):
                states += part[read[place + offset]]
            maps.append(np.maximum(states, 0, out=states))
        pooled = self.pooled(np.concatenate(maps, 1), starts, lengths)
        for layer in range(self.about["layers"]):
            if layer:
                silu = self.about["head"] == "mlp"
                pooled = pooled / (1 + np.exp(-pooled)) if silu else np.tanh(pooled)
            pooled = pooled @ self.tensors[f"head.{layer}"].T + self.tensors[f"head_bias.{layer}"]
        return of_cuts(pooled, self.tensors.get("cuts"))

    def pooled(self, states: Array, starts: Array, lengths: Array) -> Array:
        """Returns one state for each row of tokens."""
        kind = self.about["pooling"]
        if kind in ("first", "last"):
            return states[starts if kind == "first" else starts + lengths - 1]
        if kind == "attention":
            score = (states @ self.tensors["pooling"].T)[:, 0]
            weight = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), lengths))
            total = np.add.reduceat(weight, starts)
            return np.add.reduceat(states * weight[:, None], starts) / total[:, None]
        found = [np.add.reduceat(states, starts) / lengths[:, None]] if "mean" in kind else []
        found += [np.maximum.reduceat(states, starts)] if "max" in kind else []
        return np.concatenate(found, 1)


if __name__ == "__main__":
    for label in Classifier().predict([line.rstrip("\r\n") for line in sys.stdin]):
        sys.stdout.write("\n" if label is None else f"{label}\n")
