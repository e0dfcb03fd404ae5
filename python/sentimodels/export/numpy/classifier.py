"""A text classifier that needs numpy and sentitok alone; `senti export --numpy` has written it and its files.

    from reviews.classifier import Classifier  # `reviews` is this folder
    Classifier().predict_proba(["The food was wonderful."])

`python reviews/classifier.py < texts.txt` prints the label of each line.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sentitok import PreTokenizer, Tokenizer

# Options of a run. `source.py` sets them, and writes only the lines that such a run needs.
KIND = "ngrams"
NORMALIZE = LOWERCASE = True
OWN_WORDS = CHARS = ENDS = SUBWORDS = False
SEVERAL = ORDERED = COSTS = False
COUNTS, LENGTH = "count", True
LONG, POOLING, HEAD = "truncate", "max", "linear"


class Classifier:
    """Answers as the run does; `labels` are the names of the classes, in the order of the probabilities."""

    def __init__(self, folder: str | Path | None = None) -> None:
        folder = Path(folder or Path(__file__).parent)
        self.about = json.loads((folder / "classifier.json").read_text("utf-8"))
        self.labels: list[str] = self.about["labels"]
        self.tensors = read_safetensors(folder / "model.safetensors")
        if SUBWORDS:
            self.tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
        else:
            vocabulary = json.loads((folder / "vocabulary.json").read_text("utf-8"))
            self.ids = {text: id for id, text in enumerate(vocabulary)}
            if not OWN_WORDS:
                self.pieces = PreTokenizer(**self.about["words"]).pieces
        if NORMALIZE:
            rules = self.about["replaced"]
            self.replaced = {code: to for first, last, to in rules for code in range(first, last + 1)}

    def predict(self, texts: Iterable[str], unsure: Any = None) -> list[Any]:
        """Returns the label of each text, of several labels a list; `unsure` where thresholds give none."""
        probs = self.predict_proba(texts)
        if SEVERAL:
            chosen = probs >= np.array(self.about["least"])
            return [[self.labels[place] for place in np.flatnonzero(row)] for row in chosen]
        chosen = probs.argmax(1)
        if COSTS:
            chosen = (probs @ np.array(self.about["costs"])).argmin(1)  # the last cost: no answer
        chosen[probs.max(1, initial=0) < self.about["least"]] = len(self.labels)
        return [[*self.labels, unsure][place] for place in chosen]

    def predict_proba(self, texts: Iterable[str]) -> Any:
        """Returns the probabilities (texts, labels)."""
        if isinstance(texts, str):
            raise TypeError("texts: one string; give a list of texts")
        read = [self.prepared(text) for text in texts]
        parts = [self.scores(read[i : i + 2048]) for i in range(0, len(read), 2048)]
        scores = np.concatenate(parts or [np.zeros((0, len(self.labels)))])
        if ORDERED:  # log-probabilities between cut points of one score
            above, below, width = self.tensors["cuts"].astype(np.float64)
            scores = width - np.logaddexp(0, scores - above) - np.logaddexp(0, below - scores)
        scores = scores / np.array(self.about["temperature"])
        if SEVERAL:  # each label alone
            return (1 / (1 + np.exp(-scores.clip(-700, 700)))).astype(np.float32)
        shares = np.exp(scores - scores.max(1, keepdims=True))
        return (shares / shares.sum(1, keepdims=True)).astype(np.float32)

    def prepared(self, text: str) -> str:
        """Returns a text as the run reads it: visible characters, composed accents, small letters."""
        if NORMALIZE:
            text = re.sub(self.about["stray"], "", text.translate(self.replaced))
            text = unicodedata.normalize("NFC", text).replace("\u0130", "I").replace("i\u0307", "i")
            text = unicodedata.normalize("NFC", text)
        if LOWERCASE:
            text = text.lower()
        return text

    def words(self, text: str) -> list[str]:
        """Returns the words of a text."""
        if OWN_WORDS:
            return re.findall(self.about["token_pattern"], text)
        return [piece for piece in self.pieces(text) if not piece.isspace()]

    if KIND == "ngrams":

        def scores(self, texts: list[str]) -> Any:
            """Returns the scores (texts, labels): weights of n-grams times their values, over the length."""
            found = [[self.ids[gram] for gram in self.ngrams(text) if gram in self.ids] for text in texts]
            owner = np.repeat(np.arange(len(found)), [len(row) for row in found])
            feature = np.array([id for row in found for id in row], np.int64)
            table = self.tensors["table"]
            distinct, count = np.unique(owner * len(table) + feature, return_counts=True)
            owner, feature = np.divmod(distinct, len(table))
            if COUNTS == "once":
                value = np.ones(len(count))
            elif COUNTS == "log":
                value = 1 + np.log(count)
            else:
                value = count.astype(np.float64)
            sums = [np.bincount(owner, value * column, len(texts)) for column in table[feature].T]
            scores: Any = np.stack(sums, 1)
            if LENGTH:
                square = np.bincount(owner, value**2 * self.tensors["square"][feature], len(texts))
                scores = scores / np.where(square > 0, square, 1)[:, None] ** 0.5
            return scores + self.tensors["bias"]

        def ngrams(self, text: str) -> list[str]:
            """Returns the n-grams of a text."""
            words = self.words(text)
            found: list[str] = []
            if CHARS:
                found = ["\x01" + gram for word in words for gram in self.char_ngrams(word)]
            if ENDS:
                words = ["\x02", *words, "\x03"]
            low, high = self.about["word_ngrams"]
            for size in range(low, high + 1):
                found += map(" ".join, zip(*(words[start:] for start in range(size)), strict=False))
            return found

    if KIND == "hashes":

        def scores(self, texts: list[str]) -> Any:
            """Returns the scores (texts, labels) by words, and by hashes of n-grams."""
            cut = [self.words(text.replace("\n", " ")) for text in texts]
            # A line end at both ends of a text counts as a word; `None` is in no n-gram.
            rows = [["\n", *words, "\n", None] if words else [] for words in cut]
            pieces = [word for row in rows for word in row]
            owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
            ids = np.array([self.ids.get(word, -1) for word in pieces], np.int64)
            value = hashes = self.tensors["hashes"].view(np.uint64)[ids]
            known, mix = ids >= 0, np.uint64(0x9E3779B97F4A7C15)
            owners, features = [owner[known]], [ids[known]]
            for size in range(2, self.about["word_ngrams"] + 1):
                value = (value[:-1] ^ (value[:-1] >> np.uint64(29))) * mix + hashes[size - 1 :]
                known = known[:-1] & known[1:]
                mixed = (value[known] ^ (value[known] >> np.uint64(32))) * mix >> np.uint64(20)
                owners.append(owner[: len(value)][known])
                features.append(self.bucket_rows(mixed) + len(self.ids))
            if CHARS:
                place, row = self.spelled(pieces)
                owners.append(owner[place])
                features.append(row + len(self.ids))
            owner, feature = np.concatenate(owners), np.concatenate(features)
            columns = self.tensors["table"][feature].T  # the last one sums up to the squared length
            *sums, square = [np.bincount(owner, column, len(texts)) for column in columns]
            scores = np.stack(sums, 1) / np.where(square > 0, square, 1)[:, None] ** 0.5
            return scores + self.tensors["bias"]

    if KIND == "convolutions":

        def scores(self, texts: list[str]) -> Any:
            """Returns the scores of texts (texts, labels)."""
            if LONG == "windows":  # the mean of those of its windows
                windows = [self.windows(text) for text in texts]
                rows = [row or [self.about["pad"]] for some in windows for row in some]
            else:
                rows = [self.tokens(text) or [self.about["pad"]] for text in texts]
            parts = [self.scores_of(rows[i : i + 256]) for i in range(0, len(rows), 256)]
            if LONG == "windows":
                count = np.array([len(some) for some in windows])
                return np.add.reduceat(np.concatenate(parts), np.cumsum(count) - count) / count[:, None]
            return np.concatenate(parts)

        if LONG == "windows":

            def windows(self, text: str) -> list[list[Any]]:
                """Returns the tokens of a text, cut into windows that share some."""
                size, stride = self.about["max_tokens"], self.about["stride"]
                if SUBWORDS:
                    return [row.ids.tolist() for row in self.tokenizer.windows(text, size, stride)]
                words = [word.strip() for word in self.words(text)]
                starts = range(0, max(1, len(words) - stride), size - stride)
                return [words[start : start + size] for start in starts]

        else:

            def tokens(self, text: str) -> Any:
                """Returns the tokens of a text, cut as the run cuts long ones."""
                size = self.about["max_tokens"]
                if SUBWORDS:
                    if LONG == "truncate":
                        return self.tokenizer.encode(text, max_tokens=size).ids.tolist()
                    tokens = self.tokenizer.encode(text).ids.tolist()
                else:
                    tokens = [word.strip() for word in self.words(text)]
                if LONG == "head-tail":
                    tail = size // 2
                    del tokens[size - tail : max(size, len(tokens)) - tail]
                return tokens[:size]

        def vectors(self, tokens: list[Any]) -> Any:
            """Returns a vector for each token."""
            if SUBWORDS:
                return self.tensors["table"][tokens]
            vectors = self.tensors["table"][[self.ids.get(word, self.ids[""]) for word in tokens]]
            if CHARS:  # of an unknown word the mean vector of its n-grams
                owner, row = self.spelled(tokens)
                words, first, count = np.unique(owner, return_index=True, return_counts=True)
                grams = self.tensors["grams"][row]
                vectors[words, : grams.shape[1]] += np.add.reduceat(grams, first) / count[:, None]
            return vectors

        def scores_of(self, rows: list[list[Any]]) -> Any:
            """Returns the scores of rows of tokens."""
            gap = [None] * self.about["gap"]  # after each row come zeros, and then the next one
            ids: dict[Any, int] = {None: 0}
            index = np.array([ids.setdefault(token, len(ids)) for row in rows for token in (*row, *gap)])
            vectors = np.pad(self.vectors(list(ids)[1:]), ((1, 0), (0, 0)))
            at, maps = np.flatnonzero(index), []
            for number in range(self.about["kernels"]):
                states = np.tile(self.tensors[f"kernel_bias.{number}"], (len(at), 1))
                for offset, part in enumerate(self.tensors[f"kernel.{number}"]):
                    states += (vectors @ part)[index[at + offset]]  # each distinct token is multiplied once
                maps.append(np.maximum(states, 0, out=states))
            lengths, states = np.array([len(row) for row in rows]), np.concatenate(maps, 1)
            starts = np.cumsum(lengths) - lengths
            if POOLING == "first":
                pooled = states[starts]
            elif POOLING == "last":
                pooled = states[starts + lengths - 1]
            elif POOLING == "max":
                pooled = np.maximum.reduceat(states, starts)
            elif POOLING == "attention":
                score = states @ self.tensors["pooling"]
                weight = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), lengths))
                pooled = np.add.reduceat(states * weight[:, None], starts)
                pooled /= np.add.reduceat(weight, starts)[:, None]
            else:
                pooled = np.add.reduceat(states, starts) / lengths[:, None]
            if POOLING == "mean-max":
                pooled = np.concatenate([pooled, np.maximum.reduceat(states, starts)], 1)
            if HEAD != "linear":
                pooled = pooled @ self.tensors["hidden"].T + self.tensors["hidden_bias"]
            if HEAD == "tanh":
                pooled = np.tanh(pooled)
            elif HEAD == "mlp":
                pooled = pooled / (1 + np.exp(-pooled))
            return pooled @ self.tensors["head"].T + self.tensors["head_bias"]

    def bucket_rows(self, hashes: Any) -> Any:
        """Returns the row of the bucket of each hash; after all buckets that of an unknown one."""
        buckets = self.tensors["buckets"]  # rising; the last one is above all
        bucket = (hashes % np.uint64(self.about["n_buckets"])).astype(np.int64)
        row = np.searchsorted(buckets, bucket)
        return np.where(buckets[row] == bucket, row, len(buckets) - 1)

    def spelled(self, words: list[Any]) -> tuple[Any, Any]:
        """Returns the rows of known n-grams of unknown words (FNV-1a hashes), and the place of each word."""
        places = [place for place, word in enumerate(words) if word is not None and word not in self.ids]
        grams = [self.char_ngrams(words[place]) for place in places]
        data = [gram.encode("utf-8", "surrogatepass") for some in grams for gram in some]
        length, padded = np.array([len(one) for one in data]), np.array(data, "S")
        hashes = np.full(len(data), 0xCBF29CE484222325, np.uint64)
        for place, column in enumerate(padded.view(np.uint8).reshape(len(data), padded.itemsize).T):
            hashes = np.where(place < length, (hashes ^ column) * np.uint64(0x100000001B3), hashes)
        row = self.bucket_rows(hashes)
        known = row < len(self.tensors["buckets"]) - 1
        return np.repeat(np.array(places, np.int64), [len(some) for some in grams])[known], row[known]

    def char_ngrams(self, word: str) -> list[str]:
        """Returns the n-grams of the characters of `<word>`, but `<word>`."""
        marked, (low, high) = f"<{word}>", self.about["char_ngrams"]
        sizes = range(low, min(high, len(marked) - 1) + 1)
        return [marked[i : i + size] for size in sizes for i in range(len(marked) - size + 1)]


def read_safetensors(path: Path) -> dict[str, Any]:
    """Maps the tensors of a file: the length of a JSON header, the header, and the numbers."""
    data, tensors = np.memmap(path, np.uint8, "r"), {}
    start = 8 + int(data[:8].view("<u8")[0])
    for name, about in json.loads(bytes(data[8:start])).items():
        first, end = about["data_offsets"]
        kind = {"F32": "<f4", "I64": "<i8"}[about["dtype"]]
        tensors[name] = np.asarray(data[start + first : start + end]).view(kind).reshape(about["shape"])
    return tensors


if __name__ == "__main__":
    for label in Classifier().predict([line.rstrip("\r\n") for line in sys.stdin]):
        sys.stdout.write("\n" if label is None else f"{label}\n")
