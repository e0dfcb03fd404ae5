"""`Tokenizer`: tokenizers' calls on sentitok's tokenizer.

Source of what the calls mean: tokenizers 0.23, `Tokenizer`.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from ... import numbers
from ...messages import shown
from .added import AddedToken
from .encoding import Encoding
from .inputs import Row, row_of, rows_of
from .lengths import Padding, Truncation
from .parity import trained_languages
from .pipeline import Pipeline
from .trainers import ParityBpeTrainer, Trainer
from .training import trained

__all__ = ["Tokenizer"]


class Tokenizer(Pipeline):
    """A model with the stages around it, all of which may be set.

    Args:
        model: such as `models.BPE()`.
    """

    # Text to ids

    def encode(
        self,
        sequence: str | Sequence[str],
        pair: str | Sequence[str] | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Returns the tokens of a text, or of a pair.

        Args:
            sequence: the text; with `is_pretokenized` its words.
            pair: the other text.
            is_pretokenized: whether texts are lists of words.
            add_special_tokens: whether the post-processor puts tokens around them.

        Raises:
            TypeError: if it is not text.
            ValueError: where truncation cannot cut as much.
        """
        row = row_of(sequence, pair, is_pretokenized)
        return self._encode([row], is_pretokenized, add_special_tokens, places=True)[0]

    def encode_batch(
        self,
        input: Sequence[object],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Returns the tokens of texts and pairs, each as `encode` has them."""
        rows = rows_of(input, is_pretokenized)
        return self._encode(rows, is_pretokenized, add_special_tokens, places=True)

    def encode_batch_fast(
        self,
        input: Sequence[object],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Returns what `encode_batch` does, without where tokens are, and without words."""
        rows = rows_of(input, is_pretokenized)
        return self._encode(rows, is_pretokenized, add_special_tokens, places=False)

    def _encode(self, rows: list[Row], is_split: bool, add: bool, places: bool) -> list[Encoding]:
        specials = "none" if self.encode_special_tokens else "all"
        current = self._current()
        made = current.encode(rows, is_split, add, specials, places)
        if cut := self._truncation:
            for place, (one, pair) in enumerate(rows):
                if len(made[place]) > cut.max_length:
                    first = current.raw(one, 0, is_split, specials, places)
                    second = None if pair is None else current.raw(pair, 1, is_split, specials, places)
                    made[place] = self._finished(first, second, add)
        if self._padding:
            self._padding.fill(made)
        return made

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Returns encodings cut, with the tokens around them, and filled up."""
        first, second = encoding.copy(), None if pair is None else pair.copy()
        made = self._finished(first, second, add_special_tokens)
        if self._padding:
            self._padding.fill([made])
        return made

    def _finished(self, one: Encoding, pair: Encoding | None, add: bool) -> Encoding:
        if self._truncation:
            n_added = self.num_special_tokens_to_add(pair is not None) if add else 0
            self._truncation.cut(one, pair, n_added)
        if self.post_processor is not None:
            return self.post_processor.process(one, pair, add)
        if pair is None:
            return one
        for number, encoding in enumerate((one, pair)):
            encoding.set_sequence_id(number)
        return Encoding.merge([one, pair], growing_offsets=False)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns how many tokens are put around a text, or around two."""
        return 0 if self.post_processor is None else self.post_processor.num_special_tokens_to_add(is_pair)

    async def async_encode(
        self,
        sequence: str | Sequence[str],
        pair: str | Sequence[str] | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Does what `encode` does, in a thread."""
        return await asyncio.to_thread(self.encode, sequence, pair, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self,
        input: Sequence[object],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Does what `encode_batch` does, in a thread."""
        return await asyncio.to_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self,
        input: Sequence[object],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Does what `encode_batch_fast` does, in a thread."""
        return await asyncio.to_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    # Ids to text

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Returns the text of ids; an id without a token is left out."""
        return self._current().decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Returns the texts of lists of ids."""
        current = self._current()
        return [current.decode(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Does what `decode_batch` does, in a thread."""
        return await asyncio.to_thread(self.decode_batch, sequences, skip_special_tokens)

    # The vocabulary

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token."""
        if not isinstance(token, str):
            raise TypeError(f"token is {shown(token)}; it is a str")
        added_id = self._added.ids.get(token)
        return self.model.token_to_id(token) if added_id is None else added_id

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id."""
        added = self._added.tokens.get(numbers.whole("id", id, error=OverflowError, bits=32))
        return self.model.id_to_token(id) if added is None else added.content

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns the ids of all tokens."""
        return {**self.model.vocab, **(self._added.ids if with_added_tokens else {})}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Returns how many tokens there are. An embedding needs `tokenizer.sentitok.vocab_size`."""
        vocab = self.model.vocab
        more = sum(token not in vocab for token in self._added.ids) if with_added_tokens else 0
        return len(vocab) + more

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Returns the added tokens by id."""
        return {id: AddedToken(**self._added.tokens[id].spec()) for id in sorted(self._added.tokens)}

    def add_tokens(self, tokens: Iterable[str | AddedToken]) -> int:
        """Adds tokens that are found before a text is split, and returns how many are new."""
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: Iterable[str | AddedToken]) -> int:
        """Adds special tokens, which decoding can leave out, and returns how many are new."""
        return self._add(tokens, special=True)

    def _add(self, tokens: Iterable[str | AddedToken], special: bool) -> int:
        if isinstance(tokens, str):
            raise TypeError("Input must be a List[Union[str, AddedToken]]")
        n = self._added.add(tokens, special, self.get_vocab_size(False), self.model.token_to_id)
        self._changed()
        return n

    # Lengths

    @property
    def truncation(self) -> dict[str, int | str] | None:
        """How texts are cut: what `enable_truncation` takes."""
        return None if self._truncation is None else dict(vars(self._truncation))

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Cuts texts to a length from now on.

        Args:
            max_length: how many tokens stay, special ones too.
            stride: how many tokens an overflowing part shares with the part before it.
            strategy: `"longest_first"`, `"only_first"` or `"only_second"`.
            direction: the end at which is cut, `"right"` or `"left"`.

        Raises:
            ValueError: for another strategy or direction, or a stride that leaves nothing.
        """
        made = Truncation(max_length, stride, strategy, direction)
        n_added = self.num_special_tokens_to_add(False)
        if 0 <= made.max_length - n_added < made.stride:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its effective max "
                f"length of {max_length - n_added} (= {max_length} original max length - {n_added} added "
                "special tokens), "
            )
        self._truncation = made

    def no_truncation(self) -> None:
        """Leaves texts as long as they are."""
        self._truncation = None

    @property
    def padding(self) -> dict[str, int | str | None] | None:
        """How texts are filled up: what `enable_padding` takes."""
        return None if self._padding is None else dict(vars(self._padding))

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Fills up texts from now on.

        Args:
            direction: the end that is filled, `"right"` or `"left"`.
            pad_id: the id.
            pad_type_id: its segment.
            pad_token: its spelling.
            length: the length; by default that of the longest text of a batch.
            pad_to_multiple_of: the length grows to a multiple of this.

        Raises:
            ValueError: for another direction.
        """
        self._padding = Padding(length, pad_to_multiple_of, pad_id, pad_token, pad_type_id, direction)

    def no_padding(self) -> None:
        """Leaves texts as short as they are."""
        self._padding = None

    # Training

    def train(self, files: Sequence[str], trainer: Trainer | None = None) -> None:
        """Trains the model on files, whose lines are texts.

        Args:
            files: their paths.
            trainer: the trainer; by default that of the model.

        Raises:
            TrainError: for options that cannot be.
        """
        if isinstance(files, str):
            raise TypeError(f"files is a list of paths: [{files!r}]")
        self._trained(trainer or self.model.get_trainer(), files=list(files))

    def train_from_iterator(
        self,
        iterator: Iterable[str | Iterable[str]],
        trainer: Trainer | None = None,
        length: int | None = None,
    ) -> None:
        """Trains the model on texts.

        Args:
            iterator: texts, or lists of texts.
            trainer: as in `train`.
            length: taken and not used: no progress is shown.
        """
        self._trained(trainer or self.model.get_trainer(), texts=iterator)

    def _training_stages(self) -> dict[str, Any]:
        return {"normalizer": self.normalizer, "pre_tokenizer": self.pre_tokenizer}

    def _trained_on_languages(
        self,
        trainer: ParityBpeTrainer,
        train: Sequence[Iterable[str | Iterable[str]]],
        dev: Sequence[Iterable[str | Iterable[str]]] | None,
        ratio: Sequence[float] | None,
    ) -> None:
        self.model = trained_languages(trainer, self._training_stages(), train, dev, ratio)
        self.add_special_tokens(trainer.special_tokens)

    def _trained(self, trainer: Trainer, **source: Any) -> None:
        fields = trained(trainer, self.model, self._training_stages(), **source)
        self.model.become(fields)
        self.add_special_tokens(trainer.special_tokens)
