"""A text classifier that needs numpy and sentitok alone; `senti export --numpy` has written it and its files.

    from reviews.classifier import Classifier  # `reviews` is this folder
    Classifier().predict_proba(["The food was wonderful."])

`python reviews/classifier.py < texts.txt` prints the label of each line.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sentitok import PreTokenizer, Tokenizer

_KINDS = {"F32": "<f4", "I64": "<i8"}


class Reader:
    """Answers as the run does; `labels` are the names of the classes, in the order of the probabilities."""

    scores: Callable[[list[str]], Any]  # of texts (texts, labels)

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder or Path(__file__).parent)
        self.about = json.loads((self.folder / "classifier.json").read_text("utf-8"))
        self.labels: list[str] = self.about["labels"]
        self.tensors = read_safetensors(self.folder / "model.safetensors")
        vocabulary = json.loads((self.folder / "vocabulary.json").read_text("utf-8"))
        self.ids = {text: id for id, text in enumerate(vocabulary)}
        self.replaced = {c: to for first, last, to in self.about["replaced"] for c in range(first, last + 1)}
        self.pieces = PreTokenizer(**self.about["words"]).pieces

    def predict(self, texts: Iterable[str], unsure: Any = None) -> list[Any]:
        """Returns the label of each text, of several labels a list; `unsure` where thresholds give none."""
        probs, least, costs = self.predict_proba(texts), np.array(self.about["least"]), self.about["costs"]
        if self.about["several"]:
            return [[self.labels[i] for i in np.flatnonzero(row)] for row in probs >= least]
        places = (probs @ np.array(costs)).argmin(1) if costs else probs.argmax(1)
        places[probs.max(1, initial=0) < least] = len(self.labels)  # like the last cost, that of no answer
        return [[*self.labels, unsure][place] for place in places]

    def predict_proba(self, texts: Iterable[str]) -> Any:
        """Returns the probabilities (texts, labels)."""
        if isinstance(texts, str):
            raise TypeError("texts: one string; give a list of texts")
        read = [self.prepared(text) for text in texts]
        parts = [self.scores(read[i : i + 2048]) for i in range(0, len(read), 2048)]
        scores = np.concatenate(parts or [np.zeros((0, len(self.labels)))])
        if "cuts" in self.tensors:  # ordered labels: log-probabilities between cut points of one score
            above, below, width = self.tensors["cuts"].astype(np.float64)
            scores = width - np.logaddexp(0, scores - above) - np.logaddexp(0, below - scores)
        scores = scores / np.array(self.about["temperature"])
        if self.about["several"]:  # each label alone
            return (1 / (1 + np.exp(-scores.clip(-700, 700)))).astype(np.float32)
        shares = np.exp(scores - scores.max(1, keepdims=True))
        return (shares / shares.sum(1, keepdims=True)).astype(np.float32)

    def prepared(self, text: str) -> str:
        """Leaves out invisible characters, composes accents, and lowercases, as the run does."""
        if self.about["normalize"]:
            text = re.sub(self.about["stray"], "", text.translate(self.replaced))
            text = unicodedata.normalize("NFC", text).replace("\u0130", "I").replace("i\u0307", "i")
            text = unicodedata.normalize("NFC", text)
        return text.lower() if self.about["lowercase"] else text

    def words(self, text: str) -> list[str]:
        """Returns the words of a text: by a regular expression of Python's, or a rule of sentitok's."""
        if own := self.about["token_pattern"]:
            return re.findall(own, text)
        return [piece for piece in self.pieces(text) if not piece.isspace()]


def read_safetensors(path: Path) -> dict[str, Any]:
    """Maps the tensors of a file: the length of a JSON header, the header, and the numbers."""
    data, tensors = np.memmap(path, np.uint8, "r"), {}
    start = 8 + int(data[:8].view("<u8")[0])
    for name, about in json.loads(bytes(data[8:start])).items():
        first, end = about["data_offsets"]
        numbers = np.asarray(data[start + first : start + end])
        tensors[name] = numbers.view(_KINDS[about["dtype"]]).reshape(about["shape"])
    return tensors


def char_ngrams(word: str, low: int, high: int) -> list[str]:
    """Returns the n-grams of the characters of `<word>`, but `<word>`."""
    marked = f"<{word}>"
    sizes = range(low, min(high, len(marked) - 1) + 1)
    return [marked[i : i + size] for size in sizes for i in range(len(marked) - size + 1)]


def known(reader: "Reader", owner: Any, hashes: Any) -> Any:
    """Returns the rows of the hashes whose bucket the run knows, and whose they are."""
    buckets = reader.tensors["buckets"]  # rising; the last one is above all
    bucket = (hashes % np.uint64(reader.about["n_buckets"])).astype(np.int64)
    row = np.searchsorted(buckets, bucket)
    there = buckets[row] == bucket
    return owner[there], row[there]


def spelled(reader: "Reader", words: list[str]) -> Any:
    """Returns the rows of the n-grams of unknown words (FNV-1a hashes), and the place of the word of each."""
    places = [place for place, word in enumerate(words) if word not in reader.ids]
    grams = [char_ngrams(words[place], *reader.about["char_ngrams"]) for place in places]
    data = [gram.encode("utf-8", "surrogatepass") for some in grams for gram in some]
    length, padded = np.array([len(one) for one in data]), np.array(data, "S")
    hashes = np.full(len(data), 0xCBF29CE484222325, np.uint64)
    for place, column in enumerate(padded.view(np.uint8).reshape(len(data), padded.itemsize).T):
        hashes = np.where(place < length, (hashes ^ column) * np.uint64(0x100000001B3), hashes)
    return known(reader, np.repeat(np.array(places, np.int64), [len(some) for some in grams]), hashes)


def weighted(reader: "Reader", n_texts: int, owner: Any, feature: Any) -> Any:
    """Returns the scores of texts: for each n-gram a row of weights, over a length.

    `owner` is the text of each n-gram, and `feature` its row in the table.
    """
    table, square = reader.tensors["table"], reader.tensors["square"]
    distinct, count = np.unique(owner * len(table) + feature, return_counts=True)
    owner, feature = np.divmod(distinct, len(table))
    value = {"count": count, "log": 1 + np.log(count), "once": count**0}[reader.about["counts"]]
    sums = [np.bincount(owner, value * column, n_texts) for column in table[feature].T]
    length = np.bincount(owner, value ** reader.about["power"] * square[feature], n_texts) ** 0.5
    return np.stack(sums, 1) / np.where(length > 0, length, 1)[:, None] + reader.tensors["bias"]


class NgramBag(Reader):
    """Reads a text as n-grams of words and of characters, which are looked up by their text."""

    def scores(self, texts: list[str]) -> Any:
        """Returns the scores of texts (texts, labels)."""
        rows = [[self.ids[gram] for gram in self.ngrams(text) if gram in self.ids] for text in texts]
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        return weighted(self, len(texts), owner, np.array([id for row in rows for id in row], np.int64))

    def ngrams(self, text: str) -> list[str]:
        """Returns the n-grams of a text; of words that are single characters there are longer ones."""
        words, (low, high, longest) = self.words(text), self.about["word_ngrams"]
        found = [*words] if low == 1 else []
        if (chars := self.about["char_ngrams"])[1]:
            found += ["\x01" + part for word in words for part in char_ngrams(word, *chars)]
        if self.about["ends"] and words:
            words = ["\x02", *words, "\x03"]
        for size in range(max(low, 2), (high if text.isascii() else longest) + 1):
            found += [" ".join(words[i : i + size]) for i in range(len(words) - size + 1)]
        return found


class HashedBag(Reader):
    """Reads a text as words, hashed n-grams of known words, and those of the characters of unknown ones."""

    def scores(self, texts: list[str]) -> Any:
        """Returns the scores of texts (texts, labels)."""
        cut = [self.words(text.replace("\n", " ")) for text in texts]
        # A line end at both ends of a text counts as a word.
        pieces = [word for words in cut if words for word in ("\n", *words, "\n")]
        owner = np.repeat(np.arange(len(cut)), [len(words) + 2 * bool(words) for words in cut])
        ids = np.array([self.ids.get(word, -1) for word in pieces], np.int64)
        value = hashes = self.tensors["hashes"].view(np.uint64)[ids]
        whole, mix = ids >= 0, np.uint64(0x9E3779B97F4A7C15)
        place, row = spelled(self, pieces)
        found = [(owner[ids > 0], ids[ids > 0]), (owner[place], row + len(self.ids))]
        for size in range(2, self.about["word_ngrams"] + 1):
            value = (value[:-1] ^ (value[:-1] >> np.uint64(29))) * mix + hashes[size - 1 :]
            whole = whole[:-1] & whole[1:] & (owner[: len(value)] == owner[size - 1 :])
            mixed = (value[whole] ^ (value[whole] >> np.uint64(32))) * mix >> np.uint64(20)
            place, row = known(self, owner[: len(value)][whole], mixed)
            found.append((place, row + len(self.ids)))
        return weighted(self, len(texts), *(np.concatenate(part) for part in zip(*found, strict=True)))


class Convolutions(Reader):
    """Reads a text as the vectors of its tokens, by convolutions."""

    def __init__(self, folder: str | Path | None = None) -> None:
        super().__init__(folder)
        file = self.folder / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(file) if file.exists() else None

    def scores(self, texts: list[str]) -> Any:
        """Returns the scores of texts (texts, labels): the mean of those of their windows."""
        rows = [(place, row) for place, text in enumerate(texts) for row in self.windows(text)]
        read = [row or [self.about["pad"]] for _, row in rows]
        parts = [self.scores_of(read[i : i + 256]) for i in range(0, len(read), 256)]
        first = np.unique([place for place, _ in rows], return_index=True)[1]
        return np.add.reduceat(np.concatenate(parts), first) / np.diff([*first, len(rows)])[:, None]

    def windows(self, text: str) -> list[list[Any]]:
        """Returns the tokens of a text, cut as the run cuts long ones."""
        size, stride, long = self.about["max_tokens"], self.about["stride"], self.about["long"]
        if self.tokenizer and long == "windows":
            return [row.ids.tolist() for row in self.tokenizer.windows(text, size, stride)]
        if self.tokenizer:
            most = size if long == "truncate" else None
            tokens: list[Any] = self.tokenizer.encode(text, max_tokens=most).ids.tolist()
        else:
            tokens = [word.strip() for word in self.words(text)]
        if long == "windows":
            return [tokens[i : i + size] for i in range(0, max(1, len(tokens) - stride), size - stride)]
        tail = size // 2 if long == "head-tail" else 0
        return [tokens if len(tokens) <= size else tokens[: size - tail] + tokens[len(tokens) - tail :]]

    def vectors(self, tokens: list[Any]) -> Any:
        """Returns a vector for each token: of an unknown word the mean of those of its n-grams."""
        if self.tokenizer:
            return self.tensors["table"][tokens]
        vectors = self.tensors["table"][[self.ids.get(word, self.ids[""]) for word in tokens]]
        if "grams" in self.tensors:
            owner, row = spelled(self, tokens)
            words, first, count = np.unique(owner, return_index=True, return_counts=True)
            grams = self.tensors["grams"][row]
            vectors[words, : grams.shape[1]] += np.add.reduceat(grams, first) / count[:, None]
        return vectors

    def scores_of(self, rows: list[list[Any]]) -> Any:
        """Returns the scores of rows of tokens."""
        kernels = [self.tensors[f"kernel.{number}"] for number in range(self.about["kernels"])]
        gap = [None] * (max(len(kernel) for kernel in kernels) - 1)
        ids: dict[Any, int] = {None: 0}  # after each row come zeros, and then the next one
        index = np.array([ids.setdefault(token, len(ids)) for row in rows for token in (*row, *gap)])
        vectors = np.pad(self.vectors(list(ids)[1:]), ((1, 0), (0, 0)))
        at, maps = np.flatnonzero(index), []
        for number, kernel in enumerate(kernels):
            states = np.tile(self.tensors[f"kernel_bias.{number}"], (len(at), 1))
            for offset, part in enumerate(kernel):  # each distinct token is multiplied once
                states += (vectors @ part)[index[at + offset]]
            maps.append(np.maximum(states, 0, out=states))
        lengths = np.array([len(row) for row in rows])
        pooled = self.pooled(np.concatenate(maps, 1), np.cumsum(lengths) - lengths, lengths)
        for number in range(self.about["layers"]):
            if number:
                pooled = np.tanh(pooled) if self.about["head"] == "tanh" else pooled / (1 + np.exp(-pooled))
            pooled = pooled @ self.tensors[f"head.{number}"].T + self.tensors[f"head_bias.{number}"]
        return pooled

    def pooled(self, states: Any, starts: Any, lengths: Any) -> Any:
        """Returns one state for each row of tokens."""
        found = []
        for kind in self.about["pooling"]:
            if kind in ("first", "last"):
                found.append(states[starts if kind == "first" else starts + lengths - 1])
            elif kind == "max":
                found.append(np.maximum.reduceat(states, starts))
            else:  # a mean, weighted where the run learned weights
                score = states @ self.tensors["pooling"]
                weight = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), lengths))
                sums = np.add.reduceat(states * weight[:, None], starts)
                found.append(sums / np.add.reduceat(weight, starts)[:, None])
        return np.concatenate(found, 1)


Classifier = NgramBag

if __name__ == "__main__":
    for label in Classifier().predict([line.rstrip("\r\n") for line in sys.stdin]):
        sys.stdout.write("\n" if label is None else f"{label}\n")
