"""The Kaggle movie-review competition: test labels rebuilt for scoring, submission files.

The test file holds the
phrases of SST dev and test, so each phrase has the label of its tree node; phrases
with a character outside ASCII became one space there and stay without label.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...errors import DataError
from ..table import Table
from ..writers import separated_rows

# Name: header of the submission file. Both competitions want a label for each id.
SUBMISSIONS = {"movie-reviews": ("PhraseId", "Sentiment"), "imdb": ("Id", "Category")}


def with_rebuilt_labels(test: Table, trees: Sequence[Table]) -> Table:
    """Returns the Kaggle test with the labels of the trees' phrases; "" where none fits.

    Args:
        test: the test file, without labels.
        trees: SST dev and test, read as `sst-phrases`.

    Raises:
        DataError: if a phrase has two labels, or most phrases have none.
    """
    known: dict[str, str] = {}
    for table in trees:
        for text, label in zip(table.texts, table.labelled(), strict=True):
            # Letter for letter: "Not" and "not" have two labels.
            if known.setdefault(text, label) != label:
                raise DataError(f"{table.source}: {text!r} has the labels {known[text]} and {label}")
    labels = [known.get(text, "") for text in test.texts]
    missing = labels.count("")
    if missing > len(labels) // 2:
        raise DataError(f"{test.source}: {missing:,} of {len(labels):,} phrases are in no tree; other files?")
    return replace(
        test,
        labels=labels,
        notes=(*test.notes, f"labels rebuilt from the trees, for scoring alone; {missing:,} rows without"),
    )


def submission(form: str, ids: Sequence[str] | None, answers: Sequence[str]) -> str:
    """Returns a submission file.

    Args:
        form: `movie-reviews` or `imdb`.
        ids: of the rows; by default 0, 1, 2, …
        answers: label names.

    Raises:
        DataError: if the form is unknown, or ids repeat.
    """
    if form not in SUBMISSIONS:
        raise DataError(f"submission form {form!r}: one of {', '.join(SUBMISSIONS)}")
    named = [str(row) for row in range(len(answers))] if ids is None else list(ids)
    if len(set(named)) != len(named):
        raise DataError("two rows share an id, so they cannot be submitted")
    return separated_rows([SUBMISSIONS[form], *zip(named, answers, strict=True)], ".csv")
