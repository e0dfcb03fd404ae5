"""Openings: beginnings of texts that a policy continues; and `Seen`, texts that must not train or judge.

Rows that `--exclude` names are left out, and nothing judges that a run behind the alignment was trained on.
Pairs of answers are in `preferences.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentitok import Tokenizer

from ..config import AlignConfig, AlignDataConfig
from ..data.opening import plain_suffix
from ..data.readers import read_table
from ..data.table import Table
from ..errors import CheckpointError, ConfigError, DataError
from ..runs.lineage import record_of, sources_of_start
from ..runs.report import records_of

__all__ = ["Openings", "Parts", "Seen", "divide", "encode", "read_openings", "sources_of"]


def sources_of(config: AlignConfig, tables: dict[str, Table]) -> list[dict[str, Any]]:
    """Returns the sources of a run.

    What its base has learned from, what the reward's run has, and the openings or pairs; the parts that
    judge are named too, with their own role. Runs that start from this one read it
    (`runs/lineage.py`).

    Args:
        config: names the base and the reward's run.
        tables: the tables read here, by role: `train` and `judge`.
    """
    sources = sources_of_start(config.base)
    if config.task.reward_run is not None:
        for record in records_of(Path(config.task.reward_run)):
            sources += [
                {"role": "reward", "source": source.source, "sha256": source.sha256, "documents": source.rows}
                for source in record.learned
            ]
    for role, table in tables.items():
        sources.append({
            "role": role, "source": str(table.source), "sha256": table.sha256, "documents": len(table),
        })  # fmt: skip
    return sources


def check_same_sources(sources: list[dict[str, Any]], record: Mapping[str, Any]) -> None:
    """Refuses sources that are not those a run began with.

    Args:
        sources: the files and rows, as read now.
        record: the record of them in the run.

    Raises:
        CheckpointError: naming the file.
    """
    for source in sources:
        if source not in record.get("sources", []):
            raise CheckpointError(
                f"{source['source']}: has changed since the alignment began; start a new one, with "
                "another --out"
            )


class Seen:
    """The texts that runs have seen.

    Nothing judges that the base, the reward's run or the alignment itself was trained on; rows that
    judge the reward's run are not trained on. Rows of one file are identified by their places where a
    run recorded them, texts by their hashes; of a language model's corpus only the file is known.

    Args:
        base: run directory of the language model.
        reward: that of the classifier, or an ensemble's; `None`: there is none.
    """

    def __init__(self, base: Path, reward: Path | None) -> None:
        self.base, self.reward = base, reward
        self._records = [] if reward is None else records_of(reward)
        self._of_base = record_of(base)

    def by_row(self, table: Table) -> tuple[NDArray[np.bool_], str]:
        """Returns the rows of a table that a run was trained on, and which run it was."""
        rows = self._of_base.learned_from(table)
        if rows.any():
            return rows, str(self.base)
        for record in self._records:
            rows |= record.learned_from(table)
        return rows, str(self.reward)

    def by_text(self, table: Table) -> NDArray[np.bool_]:
        """Returns the rows whose text the reward's run was trained on, in whatever file."""
        rows = np.zeros(len(table), np.bool_)
        for record in self._records:
            rows |= record.seen(table)
        return rows

    def sealed(self, table: Table) -> NDArray[np.bool_]:
        """Returns the rows that judge the reward's run."""
        rows = np.zeros(len(table), np.bool_)
        for record in self._records:
            rows |= record.shared("test", table)
        return rows


_Say = Callable[[str], None]


@dataclass(frozen=True)
class Parts:
    """Tables of texts: for training and for judging."""

    train: Table
    judge: Table


@dataclass(frozen=True)
class Openings:
    """The ids of openings: for training and for judging."""

    train: list[list[int]]
    judge: list[list[int]]


def read_openings(path: Path, data: AlignDataConfig, where: str | None) -> Table:
    """Reads texts: the lines of a .txt file, else a column of a table.

    Raises:
        DataError: if the file is malformed.
        FileNotFoundError: if there is none.
    """
    is_table = (data.format or "lines") != "lines" or data.separator is not None or data.header is not None
    lines = plain_suffix(path) == ".txt" and not is_table and not path.is_dir()
    if lines and (where is not None or data.text_column is not None):
        raise ConfigError(f"{path}: a file of lines has no columns; leave out --where and --text-column")
    return read_table(
        path, data.text_column, format="lines" if lines else data.format, where=where, limit=data.limit,
        encoding=data.encoding, max_line_bytes=data.max_line_bytes, clean=data.clean, blank_labels="keep",
        separator=data.separator, header=data.header,
    )  # fmt: skip


def divide(train: Table, judge: Table | None, seen: Seen, data: AlignDataConfig, say: _Say) -> Parts:
    """Returns training rows and held-out rows.

    Args:
        train: rows to train on, which may be trained on.
        judge: rows of another file, or part, to judge on; `None`: some of the first ones.
        seen: the training texts of the runs behind the alignment.
        data: how many judge.
        say: called with the openings left out.

    Raises:
        DataError: if nothing is left to judge or to train on, or rows to judge on were trained on.
    """
    if judge is None:
        judged = _held_out_rows(train, seen, data)
        part = train.take(judged)
        train = train.take(sorted(set(range(len(train))) - set(judged)))
    else:
        part = _not_trained_on(judge, train, seen, data, say)
    sealed = seen.sealed(train)
    if sealed.any():
        train = train.take(np.flatnonzero(~sealed).tolist())
        rows = (
            "row is left out: it is a test row"
            if sealed.sum() == 1
            else "rows are left out: they are test rows"
        )
        say(f"{int(sealed.sum()):,} {rows} of {seen.reward}, which nothing is trained on")
    if not len(train):
        raise DataError(f"{train.source}: no row is left to train on; give more rows, or another file")
    return Parts(train, part)


def _held_out_rows(train: Table, seen: Seen, data: AlignDataConfig) -> list[int]:
    """Returns rows that judge: some that no run was trained on."""
    if (n := len(train)) < 4:
        raise DataError(
            f"{train.source}: {n} row{'' if n == 1 else 's'}, too few to hold some out; give --held-out FILE"
        )
    by_row, by = seen.by_row(train)
    fresh = np.flatnonzero(~(by_row | seen.by_text(train)))
    wanted = min(data.n_held_out, max(2, round(data.held_out_share * len(train))))
    if len(fresh) < 2:
        raise DataError(
            f"{train.source}: {by if by_row.any() else seen.reward} was trained on all of it, so none of it "
            "can judge; name rows that no run was trained on: --held-out FILE, or --held-out-where"
        )
    return _some(fresh, min(wanted, len(train) // 2), data.split_seed)


def _not_trained_on(judge: Table, train: Table, seen: Seen, data: AlignDataConfig, say: _Say) -> Table:
    """Returns some rows that judge, none of which was trained on."""
    by_row, by = seen.by_row(judge)
    if by_row.any():
        raise DataError(
            f"{judge.source}: {by} was trained on {int(by_row.sum()):,} of these {len(judge):,} rows, so "
            "they cannot judge; give different rows with --held-out or --held-out-where"
        )
    if judge.sha256 == train.sha256:
        both = set(train.numbers or ()) & set(judge.numbers or ())
        if both or train.numbers is None or judge.numbers is None:
            raise DataError(
                f"{judge.source}: {len(both) or len(judge):,} of these rows are trained on, so they cannot "
                "judge; tell the two parts apart with --where and --held-out-where"
            )
    copies = seen.by_text(judge)
    if copies.any():
        are = "is left out" if copies.sum() == 1 else "are left out"
        say(
            f"{int(copies.sum()):,} of {len(judge):,} rows {are} of the held-out rows: {seen.reward} was "
            "trained on the text"
        )
    fresh = np.flatnonzero(~copies)
    if len(fresh) < 2:
        raise DataError(f"{judge.source}: {len(fresh)} held-out rows; at least 2 are needed")
    return judge.take(_some(fresh, data.n_held_out, data.split_seed))


def _some(rows: NDArray[np.intp], most: int, seed: int) -> list[int]:
    chosen: list[int] = np.sort(np.random.default_rng(seed).permutation(rows)[:most]).tolist()
    return chosen


def encode(
    parts: Parts, tokenizer: Tokenizer, data: AlignDataConfig, *, end: str | None, most: int | None, say: _Say
) -> Openings:
    """Returns the ids of openings.

    Args:
        parts: the texts.
        tokenizer: of the base.
        data: how long an opening is.
        end: the token that documents begin after, if the base has one.
        most: tokens that an opening may have; `None`: any number.
        say: called with the openings left out.

    Raises:
        DataError: if one is empty or too long.
        ConfigError: if there is no token that documents begin after.
    """
    ahead = begin_ids(tokenizer, data, end)
    judge, train = (_rows(part, tokenizer, data, ahead, most) for part in (parts.judge, parts.train))
    judged = set(map(tuple, judge))
    kept = [row for row in train if tuple(row) not in judged]
    if n_left_out := len(train) - len(kept):
        are = "opening is" if n_left_out == 1 else "openings are"
        say(f"{n_left_out:,} {are} left out: a held-out one begins alike")
    if not kept:
        raise DataError(
            f"{parts.train.source}: every opening is also held out, so none is left to train on; "
            "raise --opening-tokens"
        )
    return Openings(kept, judge)


def begin_ids(tokenizer: Tokenizer, data: AlignDataConfig, end: str | None) -> list[int]:
    """Returns the ids before each opening."""
    id = tokenizer.token_to_id(end) if data.begin and end is not None else None
    if data.begin and id is None:
        raise ConfigError("data.begin: the base has no special token that documents begin after")
    return [] if id is None else [id]


def _rows(
    table: Table, tokenizer: Tokenizer, data: AlignDataConfig, ahead: list[int], most: int | None
) -> list[list[int]]:
    rows = tokenizer.encode_batch(table.texts, add_special_tokens=False).to_list()
    out = []
    for row, ids in enumerate(rows):
        cut = [*ahead, *(ids[: data.opening_tokens] if data.opening_tokens else ids)]
        place = row if table.numbers is None else table.numbers[row]
        if not ids:
            raise DataError(
                f"{table.source}: row {place + 1} is empty: there is nothing to continue; take it out"
            )
        if most is not None and len(cut) > most:
            raise DataError(
                f"{table.source}: the opening of row {place + 1} has {len(cut)} tokens, but the model's "
                f"context leaves {most} next to an answer; lower --opening-tokens or --max-new-tokens"
            )
        out.append(cut)
    return out
