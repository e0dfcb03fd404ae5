"""`Pipeline`: the stages of a tokenizer and its files; sentitok's tokenizer is made of them.

That happens when it is first used, and again when a stage was set or one of its fields.

Source of what the calls mean: tokenizers 0.23, `Tokenizer`.
"""

import errno
import json
import threading
from pathlib import Path
from typing import Any, Self

from ... import _sentitok, atomic
from ..._sentitok import FormatError
from ...pretrained.places import folder_of
from .added import AddedTokens
from .decoders import Decoder
from .fields import changes
from .lengths import Padding, Truncation
from .models import Model, Unigram
from .normalizers import Normalizer
from .pre_tokenizers import PreTokenizer
from .processors import PostProcessor
from .shown import written
from .stages import Stage
from .texts_and_ids import Codec

__all__ = ["Pipeline"]

_STAGES: dict[str, type[Stage]] = {
    "normalizer": Normalizer, "pre_tokenizer": PreTokenizer, "post_processor": PostProcessor,
    "decoder": Decoder,
}  # fmt: skip


class Pipeline:
    """A model with the stages around it, all of which may be set.

    Args:
        model: such as `models.BPE()`.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"{type(model).__name__!r} object is not an instance of 'Model'")
        self._model = model
        self._stages: dict[str, Any] = dict.fromkeys(_STAGES)
        self._added = AddedTokens()
        self._truncation: Truncation | None = None
        self._padding: Padding | None = None
        #: Whether special tokens in a text are text.
        self.encode_special_tokens = False
        self._lock = threading.Lock()
        self._codec: Codec | None = None
        self._seen: tuple[int, str] = (-1, "")

    # Files

    @classmethod
    def from_str(cls, json: str) -> Self:
        """Returns the tokenizer of a tokenizer.json.

        Raises:
            FormatError: if it is not a tokenizer.json, or not supported.
        """
        return cls.from_buffer(json.encode())

    @classmethod
    def from_buffer(cls, buffer: bytes) -> Self:
        """Returns the tokenizer of the bytes of a tokenizer.json; errors as in `from_str`."""
        data = bytes(buffer)
        checked = _sentitok.Tokenizer.from_bytes(data)
        try:
            document = json.loads(data)
            parts = {name: document.get(name) for name in ("truncation", "padding", *_STAGES)}
            made = cls(Model.from_spec(_named(document["model"])))
            for name, kind in _STAGES.items():
                if parts[name] is not None:
                    made._stages[name] = kind.from_spec(parts[name])
            vocab = made._model.vocab
            made._added = AddedTokens.from_specs(document.get("added_tokens") or [], len(vocab), vocab.get)
            made._truncation = Truncation.from_spec(parts["truncation"])
            made._padding = Padding.from_spec(parts["padding"])
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"this is not a tokenizer.json as tokenizers writes it: {error!r}") from error
        made._keep(checked)
        return made

    @classmethod
    def from_file(cls, path: str) -> Self:
        """Returns the tokenizer of a file; errors as in `from_str`."""
        return cls.from_buffer(Path(path).read_bytes())

    @classmethod
    def from_pretrained(cls, identifier: str, revision: str = "main", token: str | None = None) -> Self:
        """Returns the tokenizer of the tokenizer.json in a folder, or in the cache of huggingface_hub.

        Args:
            identifier: the folder, or `"org/name"`.
            revision: a branch, tag or commit.
            token: kept and not used: nothing is fetched.

        Raises:
            FileNotFoundError: if it is not there; says where it was looked for.
        """
        path = folder_of(identifier, "", revision, None, False) / "tokenizer.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is not there, and nothing is fetched; sentitok.Tokenizer.from_pretrained reads "
                "folders without it"
            )
        return cls.from_file(str(path))

    def to_str(self, pretty: bool = False) -> str:
        """Returns the tokenizer.json."""
        spacing: Any = {"indent": 2} if pretty else {"separators": (",", ":")}
        return json.dumps(self._document(), ensure_ascii=False, **spacing)

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes the tokenizer.json."""
        file = Path(path)
        if not file.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(file.parent))
        atomic.write(file, self.to_str(pretty).encode())

    def _document(self) -> dict[str, Any]:
        return {
            "version": "1.0",
            "truncation": self._truncation and self._truncation.spec(),
            "padding": self._padding and self._padding.spec(),
            "added_tokens": self._added.specs(),
            **{name: None if stage is None else stage.spec() for name, stage in self._stages.items()},
            "model": self._model.spec(),
        }

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(vars(type(self).from_buffer(state)))

    def __repr__(self) -> str:
        return written({"type": "Tokenizer", **self._document()})

    def __str__(self) -> str:
        return written({"type": "Tokenizer", **self._document()}, short=True)

    # sentitok's tokenizer

    @property
    def sentitok(self) -> _sentitok.Tokenizer:
        """The tokenizer of sentitok that does the work: made again when a stage was changed.

        Raises:
            FormatError: for stages that sentitok does not put together.
        """
        return self._current().tokenizer

    def _state(self) -> str:
        """The stages of the tokenizer, without the model's vocabulary."""
        model = {name: value for name, value in self._model.fields.items() if name not in ("vocab", "merges")}
        stages = {name: None if stage is None else stage.spec() for name, stage in self._stages.items()}
        return json.dumps([model, stages, self._added.specs()])

    def _keep(self, tokenizer: _sentitok.Tokenizer) -> Codec:
        self._seen = (changes(), self._state())
        self._codec = Codec(tokenizer, self._model, self._stages, self._added)
        return self._codec

    def _current(self) -> Codec:
        with self._lock:
            if self._codec is not None:
                now = changes()
                if self._seen[0] == now:
                    return self._codec
                state = self._state()
                if state == self._seen[1]:
                    self._seen = (now, state)
                    return self._codec
            if isinstance(self._model, Unigram) and self._model.alpha:
                raise NotImplementedError(
                    f"alpha={self._model.alpha}: encode() gives the best way alone; draw another with "
                    f"tokenizer.sentitok.sample(text, {self._model.alpha})"
                )
            document = {**self._document(), "truncation": None, "padding": None}
            data = json.dumps(document, ensure_ascii=False).encode()
            return self._keep(_sentitok.Tokenizer.from_bytes(data))

    def _changed(self) -> None:
        self._codec = None

    # The stages

    @property
    def model(self) -> Model:
        """The model."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"{type(model).__name__!r} object is not an instance of 'Model'")
        self._model = model
        self._changed()

    def _set(self, name: str, stage: Any) -> None:
        if stage is not None and not isinstance(stage, _STAGES[name]):
            raise TypeError(
                f"{type(stage).__name__!r} object is not an instance of {_STAGES[name].__name__!r}"
            )
        self._stages[name] = stage
        self._changed()

    @property
    def normalizer(self) -> Normalizer | None:
        """The stage that changes a text first."""
        stage: Normalizer | None = self._stages["normalizer"]
        return stage

    @normalizer.setter
    def normalizer(self, stage: Normalizer | None) -> None:
        self._set("normalizer", stage)

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """The stage that splits a text."""
        stage: PreTokenizer | None = self._stages["pre_tokenizer"]
        return stage

    @pre_tokenizer.setter
    def pre_tokenizer(self, stage: PreTokenizer | None) -> None:
        self._set("pre_tokenizer", stage)

    @property
    def post_processor(self) -> PostProcessor | None:
        """The stage that adds special tokens."""
        stage: PostProcessor | None = self._stages["post_processor"]
        return stage

    @post_processor.setter
    def post_processor(self, stage: PostProcessor | None) -> None:
        self._set("post_processor", stage)

    @property
    def decoder(self) -> Decoder | None:
        """The stage that makes a text of tokens."""
        stage: Decoder | None = self._stages["decoder"]
        return stage

    @decoder.setter
    def decoder(self, stage: Decoder | None) -> None:
        self._set("decoder", stage)


def _named(model: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a model with its type, which older files leave out."""
    if "type" in model:
        return model
    if "merges" in model:
        kind = "BPE"
    elif isinstance(model.get("vocab"), list):
        kind = "Unigram"
    else:
        kind = "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"
    return {"type": kind, **model}
