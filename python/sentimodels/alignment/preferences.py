"""Preferences: pairs of answers to a prompt, one chosen and one rejected, as texts and as rows of ids.

A file is a table of any format with columns `prompt`, `chosen` and `rejected`, such as JSON lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from sentitok import Tokenizer

from ..config import AlignDataConfig
from ..data.readers import read_table
from ..data.table import Table
from ..errors import ConfigError, DataError
from .openings import begin_ids

__all__ = ["PairRows", "Preference", "encode_pairs", "read_preferences", "texts_of"]

_FIELDS = ("prompt", "chosen", "rejected")


@dataclass(frozen=True)
class Preference:
    """A prompt with two answers."""

    prompt: str
    chosen: str
    rejected: str


def read_preferences(path: Path, data: AlignDataConfig) -> tuple[dict[int, Preference], Table]:
    """Reads pairs by their row, and the table of their prompts, whose numbers are these rows.

    Raises:
        DataError: if a text is missing or empty, or both answers of some pairs are the same.
        FileNotFoundError: if there is none.
    """
    prompt, *answers = (data.prompt_column, data.chosen_column, data.rejected_column)
    if len({prompt, *answers}) < len(_FIELDS):
        raise ConfigError(
            f"data: {prompt!r}, {answers[0]!r} and {answers[1]!r} are not three columns; name that of the "
            "prompts, of chosen and of rejected answers: --prompt-column, --chosen-column, --rejected-column"
        )
    table = read_table(
        path, prompt, format=data.format, limit=data.limit, keep=answers, encoding=data.encoding,
        max_line_bytes=data.max_line_bytes, separator=data.separator, header=data.header, with_lines=True,
        classes=False,
    )  # fmt: skip
    numbers = table.numbers or []
    pairs = {
        number: Preference(*texts)
        for number, *texts in zip(numbers, table.texts, *(table.kept[name] for name in answers), strict=True)
    }
    equal = []
    for row, pair in enumerate(pairs.values()):
        for name, text in zip(_FIELDS, vars(pair).values(), strict=True):
            if not text or (name != "prompt" and not text.strip()):
                raise DataError(f"{place(table, row)}: {name} is empty; write a text, or take the pair out")
        if pair.chosen == pair.rejected:
            equal.append(row)
    if equal:
        more = f" ({len(equal):,} of {len(pairs):,} pairs are such)" if len(equal) > 1 else ""
        raise DataError(
            f"{place(table, equal[0])}: chosen and rejected are equal: nothing is preferred; take the "
            f"pair out{more}"
        )
    return pairs, replace(table, format="pairs-of-answers", kept={}, columns={}, notes=())


def place(table: Table, row: int) -> str:
    """Returns the place of a row of a table in its file."""
    if table.lines is not None:
        return f"{table.source}: line {table.lines[row]}"
    return f"{table.source}: row {row + 1 if table.numbers is None else table.numbers[row] + 1}"


def texts_of(pair: Preference) -> tuple[str, ...]:
    """Returns all that is trained on."""
    return (pair.prompt, pair.chosen, pair.rejected, pair.prompt + pair.chosen, pair.prompt + pair.rejected)


@dataclass(frozen=True)
class PairBatch:
    """Some pairs as rows, the chosen ones first, then the rejected ones; see `PairRows.batch`.

    Attributes:
        ids: (2 n, T + 1), padded on the right.
        mask: (2 n, T), True where `ids[:, 1:]` is a token of an answer.
        rows: which pairs these are.
        real: tokens that are read.
    """

    ids: Tensor
    mask: Tensor
    rows: list[int]
    real: int

    def inputs(self) -> dict[str, Tensor]:
        """Returns the arguments of the model."""
        return {"input_ids": self.ids[:, :-1]}

    def counted(self) -> tuple[int, int]:
        """Returns how many places hold a token, and how many there are."""
        return self.real, self.ids.numel()


@dataclass(frozen=True)
class PairRows:
    """The ids of pairs."""

    prompts: list[list[int]]
    chosen: list[list[int]]
    rejected: list[list[int]]

    def __len__(self) -> int:
        return len(self.prompts)

    def take(self, rows: Sequence[int]) -> "PairRows":
        """Returns some of them."""
        return PairRows(*([side[row] for row in rows] for side in (self.prompts, self.chosen, self.rejected)))

    def batch(self, rows: Sequence[int]) -> PairBatch:
        """Returns some pairs as a batch."""
        sides = [(self.prompts[row], side[row]) for side in (self.chosen, self.rejected) for row in rows]
        whole = [[*prompt, *answer] for prompt, answer in sides]
        width = max(map(len, whole))
        ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in whole])
        starts = torch.tensor([len(prompt) for prompt, _ in sides])[:, None]
        ends = torch.tensor([len(row) for row in whole])[:, None]
        place = torch.arange(1, width)
        return PairBatch(ids, (place >= starts) & (place < ends), list(rows), sum(map(len, whole)))

    def batches(self, size: int) -> Iterator[PairBatch]:
        """Yields all pairs, in their order."""
        for start in range(0, len(self), size):
            yield self.batch(range(start, min(start + size, len(self))))


def encode_pairs(
    pairs: Mapping[int, Preference],
    table: Table,
    tokenizer: Tokenizer,
    data: AlignDataConfig,
    *,
    end: str | None,
    ends: bool,
    context: int | None,
) -> PairRows:
    """Returns the ids of pairs.

    Args:
        pairs: by their row, as they were read.
        table: of the prompts of the wanted rows.
        tokenizer: of the base.
        data: whether the token that documents begin after comes before each prompt.
        end: that token, if the base has one.
        ends: whether it follows each answer.
        context: tokens that the model reads at most; `None`: any number.

    Raises:
        DataError: if a pair is longer than the context, its prompt has no tokens, or both answers have the
            same ones.
        ConfigError: if there is no token that documents begin after.
    """
    ahead = begin_ids(tokenizer, data, end)
    last = tokenizer.token_to_id(end) if ends and end is not None else None
    after = [] if last is None else [last]
    numbers = table.numbers or []
    prompts, chosen, rejected = _joined([pairs[number] for number in numbers], tokenizer)
    for row, (number, prompt, *answers) in enumerate(zip(numbers, prompts, chosen, rejected, strict=True)):
        at = place(table, row)
        for name, answer in zip(_FIELDS[1:], answers, strict=True):
            if not answer:
                text = getattr(pairs[number], name)
                raise DataError(f"{at}: {name} {text!r} has no tokens; write a text, or take the pair out")
        if not ahead and not prompt:
            raise DataError(
                f"{at}: the prompt {pairs[number].prompt!r} has no tokens, so there is nothing to "
                "continue; take the pair out, or add --begin"
            )
        if answers[0] == answers[1]:
            raise DataError(f"{at}: chosen and rejected have the same tokens; take the pair out")
        # The last token is learned, not read.
        longest = len(ahead) + len(prompt) + max(map(len, answers)) + len(after) - 1
        if context is not None and longest > context:
            raise DataError(
                f"{at}: prompt and answer have {longest} tokens, but the model reads {context}; shorten "
                "it, or take the pair out"
            )
    return PairRows(
        [[*ahead, *prompt] for prompt in prompts],
        *([[*answer, *after] for answer in side] for side in (chosen, rejected)),
    )


def _joined(
    pairs: Sequence[Preference], tokenizer: Tokenizer
) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Returns the ids of prompts, chosen answers and rejected answers, which decode to both texts joined.

    A prompt and an answer that are encoded alone may decode to other text: a Unigram tokenizer puts a blank
    before each text, so an answer that begins with a blank would have two. Their joined text is encoded
    instead, and the answer is what follows the tokens of the prompt. Where a token spans the join, a prompt
    and an answer encoded alone are taken if they decode to the joined text, because a policy continues
    prompts that are encoded alone; otherwise the answer begins with that token.
    """

    def encode(texts: list[str]) -> list[list[int]]:
        found: list[list[int]] = tokenizer.encode_batch(texts, add_special_tokens=False).to_list()
        return found

    prompts = encode([pair.prompt for pair in pairs])
    rows: list[list[list[int]]] = []
    for name in _FIELDS[1:]:
        answers = [getattr(pair, name) for pair in pairs]
        texts = [pair.prompt + answer for pair, answer in zip(pairs, answers, strict=True)]
        alone = encode(answers)
        rows.append([])
        for text, prompt, whole, answer in zip(texts, prompts, encode(texts), alone, strict=True):
            spans = whole[: len(prompt)] != prompt
            rows[-1].append(
                [*prompt, *answer] if spans and tokenizer.decode([*prompt, *answer]) == text else whole
            )
    shared = [
        min(_n_common(prompt, one), _n_common(prompt, other))
        for prompt, one, other in zip(prompts, *rows, strict=True)
    ]
    prompts, chosen, rejected = (
        [row[n:] if side else row[:n] for row, n in zip(ids, shared, strict=True)]
        for side, ids in enumerate((prompts, *rows))
    )
    return prompts, chosen, rejected


def _n_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Returns how many ids two rows begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
