"""Runs as the page shows them: a classifier, an ensemble, a language model.

Each says in `about` which of them it answers. Nothing here changes a model, so threads share them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.spelling import readable, spelled_tokens, token_bytes
from sentitok.web import Model, named

from ..classifier import Classifier
from ..config import DataConfig
from ..data.encoded import Cut, said_windows
from ..errors import CheckpointError
from ..evaluation.predictions import Predictor, answer
from ..evaluation.thresholds import decided
from ..explain import EXPLAINERS, Attribution, Effects, explain
from ..generation.decoding import TokenProbs
from ..generation.generate import Piece
from ..generation.sampling import Sampling
from ..language_model import LanguageModel
from ..predictor import load_predictor
from ..runs.ensemble import Ensemble
from ..runs.families import ALIGNMENT, LANGUAGE_MODEL, check_there, family_of
from ..text.reading import ReadToken, plain_words, read_tokens

__all__ = ["Answering", "Writing", "is_classifier", "load_models"]

# Gradients for one request at most; the answer has the part missed by then.
_MOST_GRADIENTS = 512


class Answering:
    """A classifier or an ensemble.

    Args:
        predictor: the model.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.predict("a", 1)  # builds lazily made objects before the first request

    def about(self) -> dict[str, Any]:
        """Describes it."""
        labels = list(self.predictor.labels.names)
        answers = ["tokenize", "predict", "effects"]
        if isinstance(self.predictor, Ensemble):
            summary = f"ensemble of {len(self.predictor.members)} runs"
            return {
                "kind": "ensemble", "answers": answers, "summary": summary, "labels": labels,
                "explains": [name for name, row in EXPLAINERS.items() if row.of_ensembles],
            }  # fmt: skip
        assert isinstance(self.predictor, Classifier)
        encoder, config = self.predictor.encoder, self.predictor.config
        if isinstance(encoder.encoder, Tokenizer):
            answers.append("decode")
        return {
            "kind": "classifier",
            "answers": answers,
            "summary": f"{config.arch}, {self.predictor.n_parameters:,} parameters",
            "labels": labels,
            "explains": list(EXPLAINERS),
            "vocab_size": encoder.vocab_size,
            "fingerprint": encoder.fingerprint,
            "temperature": self.predictor.temperature,
        }

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        """Returns the tokens of a text, and how a text is cut that is longer than the run reads."""
        if not isinstance(self.predictor, Classifier):
            words, n_words = plain_words(text, most)
            return {"tokens": [_plain(word) for word in words], "n_tokens": n_words}
        encoder = self.predictor.encoder
        tokens, n_tokens = read_tokens(encoder, text, most)
        answer: dict[str, Any] = {"tokens": [_plain(token) for token in tokens], "n_tokens": n_tokens}
        if encoder.vocabulary.in_order and n_tokens > encoder.data.max_tokens:
            answer["cut"] = _said(1 - encoder.data.max_tokens / n_tokens, encoder.data)
        return answer

    def predict(self, text: str, most: int) -> dict[str, Any]:
        """Returns the probabilities of a text, and its tokens."""
        [probs], [unread] = answer(self.predictor, [text])
        found = {**self._answer(probs), **self.tokens(text, most)}
        if unread > 0 and "cut" not in found:  # an ensemble: its members read texts differently
            found["cut"] = _said(
                float(unread), DataConfig(max_tokens=getattr(self.predictor, "max_tokens", 1))
            )
        return found

    def predict_batch(self, texts: list[str]) -> dict[str, Any]:
        """Returns the probabilities of texts, in the order of `labels`."""
        probs, unread = answer(self.predictor, texts)
        labels = self.predictor.labels
        answers = [
            {"label": label, "probs": [_rounded(p) for p in row], "cut": left > 0}
            for label, row, left in zip(
                decided(self.predictor, probs), probs.tolist(), unread.tolist(), strict=True
            )
        ]
        return {"labels": list(labels), "answers": answers, **Cut.of(unread).tree()}

    def effects(self, text: str, method: str) -> dict[str, Any]:
        """Returns the contribution of each token of a text to the answer, for each class.

        Raises:
            DataError: if the text is too long for that.
            ConfigError: if the method is for single models, and this is an ensemble.
        """
        name, found = explain(self.predictor, text, method, most=_MOST_GRADIENTS)
        answer = self._explained(found) | {"method": name}
        if isinstance(found, Attribution):
            answer |= {
                "scores": [_rounded(one) for one in found.scores.tolist()],
                "baseline": [_rounded(one) for one in found.baseline.tolist()],
                "gap": float(f"{found.gap:.2e}"),
            }
        return answer

    def _explained(self, explained: Effects | Attribution) -> dict[str, Any]:
        tokens = [
            {**_plain(token), "effects": [_rounded(one) for one in row]}
            for token, row in zip(explained.tokens, explained.effects.tolist(), strict=True)
        ]
        return {**self._answer(explained.probs), "tokens": tokens, "n_tokens": len(tokens)}

    def decode(self, ids: list[int]) -> str:
        """Returns the text of ids."""
        assert isinstance(self.predictor, Classifier)
        assert isinstance(self.predictor.tokenizer, Tokenizer)
        return self.predictor.tokenizer.decode(ids)

    def _answer(self, probs: NDArray[np.float32]) -> dict[str, Any]:
        names = self.predictor.labels.names
        shares = [{"label": name, "p": _rounded(p)} for name, p in zip(names, probs.tolist(), strict=True)]
        [label] = decided(self.predictor, probs[None])
        return {"label": label, "probs": shares}


class Writing:
    """A language model.

    Args:
        model: the model.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.tokens("a", 1)

    def about(self) -> dict[str, Any]:
        """Describes it."""
        writes = self.model.writes
        return {
            "kind": "language-model",
            "answers": ["tokenize", "decode", *(["generate"] if writes else [])],
            "summary": f"{self.model.config.arch}, {self.model.n_parameters:,} parameters"
            + ("" if writes else "; it reads both ways, so it writes no text"),
            "vocab_size": self.model.tokenizer.vocab_size,
            "fingerprint": self.model.tokenizer.fingerprint,
            "context": self.model.context,
            "end": self.model.end,
        }

    def tokens(self, text: str, most: int) -> dict[str, Any]:
        """Returns the tokens of a text, without the tokens of a template."""
        encoding = self.model.tokenizer.encode(text, add_special_tokens=False)
        answer = {"tokens": spelled_tokens(self.model.tokenizer, encoding, most), "n_tokens": len(encoding)}
        return {**answer, "n_bytes": len(text.encode("utf-8", "replace"))}

    def decode(self, ids: list[int]) -> str:
        """Returns the text of ids."""
        return self.model.tokenizer.decode(ids)

    def write(
        self,
        text: str,
        sampling: Sampling,
        *,
        max_new_tokens: int,
        seed: int | None,
        begin: bool,
        n_likely: int,
    ) -> Iterator[dict[str, Any]]:
        """Continues a text; yields what follows, piece by piece, and how it ended.

        Each piece has its `text` and the `tokens` that made it certain: usually one, several that
        share a character. A prompt that is empty begins a document.

        Raises:
            DataError: if the text is too long for the model.
            ConfigError: if it cannot write.
        """
        likely = TokenProbs(n_likely)
        pieces = self.model.pieces(
            [text],
            self.model.limits(max_new_tokens),
            sampling,
            seed=seed,
            begin=begin or (not text and self.model.end is not None),
            watch=likely,
        )
        return self._told(pieces, likely)

    def _told(self, pieces: Iterator[Piece], likely: TokenProbs) -> Iterator[dict[str, Any]]:
        for piece in pieces:
            tokens = [
                {
                    **self._spelled(step.id, step.p),
                    "likely": [self._spelled(id, p) for id, p in step.likely],
                }
                for step in likely.take()
            ]
            message: dict[str, Any] = {"text": piece.text, "tokens": tokens}
            if piece.ending is not None:
                message["end"] = {"reason": piece.ending.reason, "n_tokens": len(piece.ending.ids)}
            yield message

    def _spelled(self, id: int, p: float) -> dict[str, Any]:
        [data] = token_bytes(self.model.tokenizer, [id])
        return {"id": id, "text": readable(data), "p": _rounded(p)}


def load_models(
    paths: Sequence[Path], device: str | None = None, *, windows: bool = False
) -> dict[str, Model]:
    """Loads run directories and ensembles.

    Args:
        paths: of the runs.
        device: `cpu`, `cuda`, ... or `auto`; `None` is the CPU.
        windows: whether classifiers read long texts in windows, whatever they were trained with.

    Raises:
        CheckpointError: if one is neither, or damaged.
    """
    return named([(path, _load(path, device, windows)) for path in paths])


def is_classifier(path: Path) -> bool:
    """Whether a folder holds a classifier or an ensemble, and not a language model."""
    check_there(path)
    return not (path / "config.toml").is_file() or family_of(path) not in (LANGUAGE_MODEL, ALIGNMENT)


def _load(path: Path, device: str | None, windows: bool) -> Model:
    if not is_classifier(path):
        return Writing(LanguageModel.load(path, device or "cpu"))
    try:
        return Answering(load_predictor(path, device, windows=windows))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _plain(token: ReadToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "text": token.text,
        "start": token.start,
        "end": token.end,
        "special": token.special,
    }


def _said(unread: float, data: DataConfig) -> dict[str, Any]:
    """Returns the page's note on a text that is longer than a run reads.

    Args:
        unread: the share of the text that is not read.
        data: how the run cuts texts.
    """
    windows = data.long == "windows"
    said = said_windows(1, 1, data.max_tokens) if windows else Cut(1, 1, unread).said(data.max_tokens)
    about = {"long": data.long, "max_tokens": data.max_tokens, "unread": 0.0 if windows else round(unread, 6)}
    return {**about, "said": said[0].upper() + said[1:]}


def _rounded(p: float) -> float:
    return round(p, 6)
