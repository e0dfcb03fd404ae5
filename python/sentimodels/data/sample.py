"""`Sample`: which rows of a stream are kept when at most `limit` are wanted, each label with its share.

Keeps a reservoir of up to `limit` rows for each label (Vitter 1985, algorithm R), because the shares are
known only at the end of the file. Memory is at most `limit` rows for each label, whatever the file's size.
"""

from collections.abc import Mapping
from random import Random

__all__ = ["Sample", "allot"]


class Sample:
    """The reservoirs.

    Args:
        limit: rows wanted.
        seed: of the draw.
    """

    def __init__(self, limit: int, seed: int) -> None:
        self.limit = limit
        self.counts: dict[str, int] = {}
        self._slots: dict[str, list[int]] = {}
        self._n_slots = 0
        self._random = Random(seed)

    def slot(self, label: str) -> int | None:
        """Returns where to keep the next row: a new slot, one to overwrite, or `None` for nowhere."""
        count = self.counts[label] = self.counts.get(label, 0) + 1
        slots = self._slots.setdefault(label, [])
        if count <= self.limit:
            slots.append(self._n_slots)
            self._n_slots += 1
            return slots[-1]
        place = self._random.randrange(count)
        return slots[place] if place < self.limit else None

    def chosen(self) -> list[int]:
        """Returns the slots of the sample."""
        shares = allot(self.counts, self.limit)
        return [
            slot for label, n in shares.items() for slot in self._random.sample(sorted(self._slots[label]), n)
        ]

    def note(self) -> str | None:
        """Returns what to say of the draw; `None` if all rows are in it."""
        total = sum(self.counts.values())
        if total <= self.limit:
            return None
        labelled = ", each label with its share" if len(self.counts) > 1 else ""
        note = f"limit: {self.limit:,} rows drawn from {total:,}{labelled}"
        missing = [label for label, n in allot(self.counts, self.limit).items() if n == 0]
        if missing:
            named = ", ".join(f"{label!r} ({self.counts[label]:,})" for label in missing[:5])
            note += f"; too few for {len(missing):,} of the {len(self.counts):,} labels: {named}" + (
                ", ..." if len(missing) > 5 else ""
            )
        return note


def allot(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """Returns how many rows of each label are in a sample.

    Each label has its share, rounded by largest remainder, and at least one row where the limit allows.
    """
    total = sum(counts.values())
    if total <= limit:
        return dict(counts)
    # Frequent labels first, so that rare ones are left out if there are more labels than rows wanted.
    order = sorted(counts, key=lambda label: (-counts[label], label))
    given = {label: int(place < limit) for place, label in enumerate(order)}
    left = limit - sum(given.values())
    rest = {label: counts[label] - given[label] for label in order}
    total = sum(rest.values())
    exact = {label: left * rest[label] / total for label in order}
    for label in order:
        given[label] += int(exact[label])
    remainders = sorted(order, key=lambda label: int(exact[label]) - exact[label])
    for label in remainders[: limit - sum(given.values())]:
        given[label] += 1
    return given
