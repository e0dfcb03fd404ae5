"""`LanguageModel`: a saved language model that writes, scores texts, and turns them into vectors.

Training is `recipes/pretraining.py`, files are `cli/generate.py`. A call changes nothing in the model, so
threads may share one; an answer does not depend on the other texts of its call.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer
from sentitok.remote import local_path

from .arguments import flag, strings, texts_of
from .config import LanguageConfig
from .errors import ConfigError, DataError
from .generation.decoding import Watch, order_for_decoding
from .generation.generate import Limits, Piece, check_prompts, generate
from .generation.sampling import Sampling
from .generation.scoring import Pooling, TextScore, pooled_states, row_log_probs
from .models.language import CausalModel
from .runs.language_directory import LoadedModel, load_language_model
from .text.reading import unknown_parts
from .text.special_tokens import known_end, masked_tokens
from .training.device import device_of

__all__ = ["LanguageModel"]


class LanguageModel:
    """A pre-trained model with its tokenizer.

    Args:
        loaded: the run.
        device: `cpu`, `cuda`, ... or `auto`.
    """

    def __init__(self, loaded: LoadedModel, device: str = "cpu") -> None:
        self._loaded = loaded
        self._module = loaded.module.to(device_of(device)).eval()
        if isinstance(self._module, CausalModel):
            order_for_decoding(self._module)

    @classmethod
    def load(cls, run: str | Path, device: str = "cpu") -> Self:
        """Loads a run directory, checking its files against its manifest.

        Raises:
            CheckpointError: if it is none, or altered.
            ConfigError: if it is a classifier.
        """
        return cls(load_language_model(local_path(run)), device)

    @property
    def tokenizer(self) -> Tokenizer:
        """The run's tokenizer."""
        return self._loaded.tokenizer

    @property
    def config(self) -> LanguageConfig:
        """The run's configuration."""
        return self._loaded.config

    @property
    def writes(self) -> bool:
        """Whether it reads from left to right, and so can continue a text."""
        return isinstance(self._module, CausalModel)

    @property
    def n_parameters(self) -> int:
        """The number of trained parameters."""
        return sum(parameter.numel() for parameter in self._module.parameters())

    @property
    def context(self) -> int | None:
        """Tokens that the model reads at most; `None`: any number, in a state of one size."""
        return self.config.data.context if self._module.backbone.has_positions else None

    @property
    def end(self) -> str | None:
        """The special token that ends a document, and so comes before the next; `None`: there is none."""
        return known_end(self.tokenizer, self.config.data.end, self._loaded.about)

    @overload
    def generate(  # type: ignore[overload-overlap]  # 2026-11-23: a text is a sequence of texts to mypy
        self, prompts: str, *, max_new_tokens: int = ..., temperature: float = ..., top_k: int | None = ...,
        top_p: float | None = ..., min_p: float | None = ..., repetition_penalty: float = ...,
        stop: str | Sequence[str] = ..., seed: int | None = ..., begin: bool = ..., window: bool = ...,
        batch_size: int = ...,
    ) -> str: ...  # fmt: skip
    @overload
    def generate(
        self, prompts: Sequence[str], *, max_new_tokens: int = ..., temperature: float = ...,
        top_k: int | None = ..., top_p: float | None = ..., min_p: float | None = ...,
        repetition_penalty: float = ..., stop: str | Sequence[str] = ..., seed: int | None = ...,
        begin: bool = ..., window: bool = ..., batch_size: int = ...,
    ) -> list[str]: ...  # fmt: skip

    def generate(
        self,
        prompts: str | Sequence[str],
        *,
        max_new_tokens: int = 128,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float = 1.0,
        stop: str | Sequence[str] = (),
        seed: int | None = None,
        begin: bool = False,
        window: bool = False,
        batch_size: int = 32,
    ) -> str | list[str]:
        """Continues prompts: one text for one prompt, a list for a list.

        A text is what follows its prompt, up to an end token (see `end`), a stop string, so many
        tokens, or the end of the context.

        Args:
            prompts: a prompt, or several.
            max_new_tokens: tokens of a text at most, from 1 on.
            temperature: the divisor of logits, from 0 on; 0 always takes the likeliest token.
            top_k: draw from that many of the likeliest tokens.
            top_p: draw from the likeliest tokens that have this share of the probability together,
                above 0 and up to 1.
            min_p: draw no token less likely than this share, from 0 to 1, of the likeliest one.
            repetition_penalty: the divisor of logits of tokens in the text so far if positive,
                and the factor if negative; 1 for none.
            stop: strings before which a text ends.
            seed: random seed, from 0 on: the same seed gives the same text for a prompt,
                whatever the other prompts are. `None`: another each time.
            begin: whether prompts begin a document: the token `end` is put before them.
            window: whether texts may be longer than the context, the oldest tokens being forgotten.
            batch_size: prompts that are continued together at most.

        Raises:
            TypeError: if a value is of the wrong type.
            DataError: if a prompt is empty or longer than the context.
            ConfigError: if a value is out of range, or the model cannot write.
        """
        several = list(strings("prompts", prompts))
        limits = self.limits(max_new_tokens, stop, window=window)
        sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        texts = [""] * len(several)
        for piece in self.pieces(several, limits, sampling, seed=seed, begin=begin, batch_size=batch_size):
            texts[piece.row] += piece.text
        return texts[0] if isinstance(prompts, str) else texts

    def stream(
        self,
        prompt: str,
        *,
        max_new_tokens: int = 128,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float = 1.0,
        stop: str | Sequence[str] = (),
        seed: int | None = None,
        begin: bool = False,
        window: bool = False,
    ) -> Iterator[str]:
        """Continues one prompt, and yields the text as it comes.

        A piece is never half a character, nor a part of a stop string. All pieces together are what
        `generate` returns for the same arguments, which it describes.

        Raises:
            TypeError: as `generate`, at once.
            DataError: as `generate`, at once.
            ConfigError: as `generate`, at once.
        """
        limits = self.limits(max_new_tokens, stop, window=window)
        sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
        pieces = self.pieces([prompt], limits, sampling, seed=seed, begin=begin)
        return (piece.text for piece in pieces if piece.text)

    def limits(
        self, max_new_tokens: int = 128, stop: str | Sequence[str] = (), *, window: bool = False
    ) -> Limits:
        """Returns when texts of this model end: with its end token, and where its context is full."""
        end = None if self.end is None else self.tokenizer.token_to_id(self.end)
        ends = frozenset() if end is None else frozenset({end})
        stops = strings("stop", stop)
        return Limits(max_new_tokens, stops, ends, self.context, window)

    def pieces(
        self,
        prompts: Sequence[str],
        limits: Limits,
        sampling: Sampling,
        *,
        seed: int | None = None,
        begin: bool = False,
        batch_size: int = 32,
        watch: Watch | None = None,
        copies: Counter[bytes] | None = None,
    ) -> Iterator[Piece]:
        """Continues prompts, and yields pieces of their texts as they come, with how each ended.

        Args:
            prompts: the texts to continue.
            limits: when texts end; `limits` of this class makes them.
            sampling: how a token is taken.
            seed: as in `generate`.
            begin: as in `generate`.
            batch_size: as in `generate`.
            watch: called after each step with which of the prompts continued, the logits (B, V) of their next
                tokens, and which were taken; such as `sentimodels.generation.decoding.TokenProbs`.
            copies: a counter for prompts that are continued in several calls: equal ones then draw as they
                would in one call.

        Raises:
            TypeError: as `generate`, at once.
            DataError: as `generate`, at once.
            ConfigError: as `generate`, at once.
        """
        model, rows = self._causal("write"), self._rows(prompts, begin=begin)
        return generate(
            model, self.tokenizer, rows, limits, sampling,
            seed=seed, batch_size=batch_size, begin=self.end, watch=watch, copies=copies,
        )  # fmt: skip

    def check(self, prompts: Sequence[str], limits: Limits, *, begin: bool = False, first: int = 1) -> int:
        """Refuses prompts that `pieces` would refuse, and returns how many tokens they have.

        Args:
            prompts: the texts to continue.
            limits: when texts end.
            begin: as in `generate`.
            first: number of the first one, for the message.

        Raises:
            TypeError: as `generate`.
            DataError: as `generate`.
            ConfigError: as `generate`.
        """
        rows = self._rows(prompts, begin=begin)
        check_prompts(rows, self.tokenizer.vocab_size, limits, self.end, first)
        return sum(len(row) for row in rows)

    def unknown_parts(self, text: str) -> list[str]:
        """Returns the parts of a text that the tokenizer has no tokens for: the model cannot read them."""
        return unknown_parts(self.tokenizer, text)

    def score(self, texts: Sequence[str], *, begin: bool = True) -> list[TextScore]:
        """Returns how likely each text is, token by token, with its perplexity and bits per byte.

        Args:
            texts: the texts.
            begin: whether texts begin a document: where there is a token `end`, it is what their
                first token comes after. Else the first token has no log-probability (NaN).

        Raises:
            TypeError: if `texts` is not a list of texts.
            ConfigError: if the model reads both ways.
            CheckpointError: if its weights are not finite.
        """
        texts = texts_of("score", texts)
        flag("begin", begin)
        model = self._causal("score")
        ahead = self._ahead(begin=begin and self.end is not None)
        encoded = [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        rows = [[*ahead, *one.ids.tolist()] for one in encoded]
        all_log_probs = row_log_probs(model, rows, self.context)
        scores = []
        for text, one, log_probs in zip(texts, encoded, all_log_probs, strict=True):
            ids, offsets = one.ids.astype(np.int64), one.offsets("chars").astype(np.int64)
            n_bytes = len(text.encode("utf-8", "surrogatepass"))
            if not ahead and len(ids):
                log_probs = np.concatenate(([np.nan], log_probs))
                n_bytes -= self._bytes_of_first(text, ids, offsets)
            scores.append(TextScore(text, ids, offsets, log_probs, n_bytes))
        return scores

    def _bytes_of_first(self, text: str, ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> int:
        """Returns the bytes of a text of its first token, which need not be whole characters."""
        if self.tokenizer.is_lossless:
            return len(self.tokenizer.decode_bytes(ids[:1]))
        return len(text[: offsets[0, 1]].encode("utf-8", "surrogatepass"))

    def embed(self, texts: Sequence[str], *, pooling: Pooling = "mean") -> NDArray[np.float32]:
        """Returns one vector (n, D) for each text: its pooled states.

        A text longer than the context is read in parts.

        Args:
            texts: the texts.
            pooling: `mean` of the states, the `first` or the `last` one.

        Raises:
            TypeError: if `texts` is not a list of texts.
            DataError: if a text has no tokens.
            ConfigError: if there is no such pooling.
            CheckpointError: if its weights are not finite.
        """
        texts = texts_of("embed", texts)
        if pooling not in ("mean", "first", "last"):
            raise ConfigError(f"pooling {pooling!r}: expected mean, first or last")
        rows = self.tokenizer.encode_batch(texts, add_special_tokens=False).to_list()
        for number, row in enumerate(rows, 1):
            if not row:
                raise DataError(f"text {number} is empty: there is nothing to embed; leave it out")
        if not isinstance(self._module, CausalModel):  # as it was trained: between [CLS] and [SEP]
            _, special = masked_tokens(self.tokenizer)
            rows = [[special.cls, *row, special.sep] for row in rows]
        return pooled_states(self._module, rows, self.context, pooling, self._module.backbone.d_out)

    def _causal(self, verb: str) -> CausalModel:
        """Returns the module, if it reads from left to right.

        Raises:
            ConfigError: if it reads both ways.
        """
        if isinstance(self._module, CausalModel):
            return self._module
        raise ConfigError(
            f"{self.config.arch} reads both ways, so it cannot {verb} from left to right: "
            "take a gpt, linear, mamba or lstm of senti pretrain; embed works"
        )

    def _ahead(self, *, begin: bool) -> list[int]:
        """Returns the ids that come before a text."""
        id = self.tokenizer.token_to_id(self.end) if begin and self.end is not None else None
        return [] if id is None else [id]

    def _rows(self, prompts: Sequence[str], *, begin: bool) -> list[list[int]]:
        """Returns the ids of prompts."""
        flag("begin", begin)
        if begin and self.end is None:
            raise ConfigError("begin: the tokenizer has no special token that documents begin after")
        ahead = self._ahead(begin=begin)
        encoded = self.tokenizer.encode_batch(texts_of("prompts", prompts), add_special_tokens=False)
        return [[*ahead, *row] for row in encoded.to_list()]
