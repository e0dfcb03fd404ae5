"""When offsets are those of tokenizers.

Two differences are known (docs/explanation/exactness.md): text put in front has an empty
place here and that of the first character there; and what several characters became by
`Precompiled` comes from all of them here, and may come from one there.
"""


def offsets_agree(ours: list[list[int]], theirs: list[tuple[int, int]], *, joins: bool = False) -> bool:
    """Whether each span is theirs, or nothing where theirs is; `joins` also lets it hold theirs."""
    if len(ours) != len(theirs):
        return False
    return all(
        (start, end) == other
        or other[0] <= start == end <= other[1]
        or (joins and start <= other[0] <= other[1] <= end)
        for (start, end), other in zip(ours, theirs, strict=True)
    )
