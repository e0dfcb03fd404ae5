"""The pairs of a translation run: read, without excluded texts, as ids.

`text/pairs.py` makes batches of them, `generation/pair_formats.py` what a model reads.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import nn

from sentitok import Tokenizer

from ..config import TranslationConfig
from ..data.exclusion import Exclusion
from ..data.parallel import ParallelText, read_parallel, split_pairs
from ..data.record import TrainingRecord
from ..errors import DataError
from ..tasks.seq2seq import PairFormat
from ..text.pairs import Pairs, Rows, encode_rows
from .lineage import check_unlearned, record_of

__all__ = ["read_pairs", "training_pairs", "validation_pairs"]

Say = Callable[[str], None] | None


def read_pairs(
    config: TranslationConfig, say: Say, *, resumes: bool = False
) -> tuple[ParallelText, ParallelText]:
    """Reads the pairs to train on and those to validate on.

    What the base of a resumed run has learned was checked when the run began.

    Raises:
        DataError: if they are the same, or may not be trained on, or if the base has learned what validates.
    """
    data = config.data
    exclusion = Exclusion.read(data.exclude)
    train = _trainable(_pairs(config, data.train, data.limit, say), exclusion, say)
    if data.valid:
        valid = _trainable(_pairs(config, data.valid, None, say), exclusion, say)
        if valid.sha256 == train.sha256:
            raise DataError(f"{valid.name}: it is trained on, so it cannot be validated on")
        seen = int(TrainingRecord.of(train.table()).seen(valid.table()).sum())
        if seen and say is not None:
            are = "is a training pair" if seen == 1 else "are training pairs"
            say(f"{seen:,} of {len(valid):,} validation pairs {are} as well")
    else:
        train, valid = split_pairs(train, data.valid_share, config.train.seed)
    if not resumes:
        _say_of_base(config, train, valid, say)
    return train, valid


def _say_of_base(config: TranslationConfig, train: ParallelText, valid: ParallelText, say: Say) -> None:
    """Notes which validation pairs the run that this one starts from has read.

    Raises:
        DataError: if it was trained on them, and different ones could be named.
    """
    start = config.train.init_from
    base = record_of(start)
    both = [(train.table(), valid.table()), *zip(train.sides(), valid.sides(), strict=True)]
    notes = [note for ours, theirs in both for note in check_unlearned(start, base, ours, validation=theirs)]
    for note in dict.fromkeys(notes):
        if say is not None:
            say(note)


def _pairs(config: TranslationConfig, files: Sequence[str], limit: int | None, say: Say) -> ParallelText:
    data = config.data
    pairs = read_parallel(
        files, source_column=data.source_column, target_column=data.target_column, encoding=data.encoding,
        max_line_bytes=data.max_line_bytes, limit=limit, format=data.format,
        separator=data.separator, header=data.header,
    )  # fmt: skip
    if say is not None:
        for note in pairs.notes:
            say(f"{pairs.name}: {note}")
    if not len(pairs):
        raise DataError(f"{pairs.name}: no pairs; give files with at least one text and its translation")
    return pairs


def _trainable(pairs: ParallelText, exclusion: Exclusion, say: Say) -> ParallelText:
    """Returns the pairs that may be trained or stopped on.

    Raises:
        DataError: if no pair is left.
    """
    kept = exclusion.kept(zip(pairs.sources, pairs.targets, strict=True))
    for note in exclusion.notes(pairs.name, len(pairs), len(kept)):
        if say is not None:
            say(note)
    return pairs if len(kept) == len(pairs) else pairs.take(kept)


def validation_pairs(
    config: TranslationConfig,
    format: PairFormat,
    module: nn.Module,
    tokenizer: Tokenizer,
    valid: ParallelText,
    say: Say,
) -> tuple[ParallelText, Pairs]:
    """Returns the pairs that validate and their ids, sources as the model reads them.

    Of a part that was split off those are left out that would be in training: with an empty side, too long,
    or beyond the places of the model.

    Raises:
        DataError: if one in a file that was named does not fit, or all.
    """
    plain = encode_rows(tokenizer, valid.sources)
    pairs = Pairs(format.sources(plain), encode_rows(tokenizer, valid.targets))
    room = format.room(module, pairs.sources)
    fits = np.ones(len(valid), np.bool_) if room is None else pairs.targets.lengths < room
    kept, reason = fits, "longer than the positions of the model reach"
    if not config.data.valid:
        kept, reason = _wanted(config, format, module, plain, pairs)
    if kept.all():
        return valid, pairs
    row, n_beyond = int(np.argmin(fits)), int((~fits).sum())
    if not fits.all() and (config.data.valid or not fits.any()):
        lengths = f"{int(pairs.sources.lengths[row]):,} and {int(pairs.targets.lengths[row]):,}"
        raise DataError(
            f"{valid.name}: pair {row + 1:,} of validation has {lengths} tokens as the model reads it, too "
            f"many for the places that its positions are learned for; pairs too long: {n_beyond:,} of "
            f"{len(valid):,}. Cut them or leave them out"
        )
    if not kept.any():
        raise DataError(f"{valid.name}: no pair to validate on: of each {reason}; give --valid")
    _say_left_out(kept, "validation", reason, say)
    rows = np.flatnonzero(kept)
    return valid.take(rows.tolist()), pairs.take(rows)


def _wanted(
    config: TranslationConfig, format: PairFormat, module: nn.Module, plain: Rows, pairs: Pairs
) -> tuple[NDArray[np.bool_], str]:
    """Returns which pairs are usable, and why the rest are not; `plain` are the sources as texts."""
    longest = np.maximum(plain.lengths, pairs.targets.lengths)
    kept = (plain.lengths > 0) & (pairs.targets.lengths > 0) & (longest <= config.data.max_tokens)
    room = format.room(module, pairs.sources)
    reason = f"a side is empty, or longer than {config.data.max_tokens} tokens (data.max_tokens)"
    if room is not None:
        kept &= pairs.targets.lengths < room
        reason += ", or than the positions of the model reach"
    return kept, reason


def _say_left_out(kept: NDArray[np.bool_], part: str, reason: str, say: Say) -> None:
    """Says how many pairs of a part are left out, and why."""
    left_out = int((~kept).sum())
    if left_out and say is not None:
        are = "is" if left_out == 1 else "are"
        say(f"{left_out:,} of {len(kept):,} {part} pairs {are} left out: {reason}")


def training_pairs(
    config: TranslationConfig,
    format: PairFormat,
    module: nn.Module,
    tokenizer: Tokenizer,
    train: ParallelText,
    say: Say,
) -> tuple[Pairs, int]:
    """Returns the pairs that are trained on, and how many are not: empty or long ones.

    Raises:
        DataError: if there is none that is.
    """
    plain = encode_rows(tokenizer, train.sources)
    pairs = Pairs(format.sources(plain), encode_rows(tokenizer, train.targets))
    kept, reason = _wanted(config, format, module, plain, pairs)
    if not kept.any():
        raise DataError(f"{train.name}: no pair to train on: of each {reason}")
    _say_left_out(kept, "training", reason, say)
    return pairs.take(np.flatnonzero(kept)), int((~kept).sum())
