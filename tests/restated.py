"""Cases of other libraries' own test suites, restated, and what a page says of them.

Not the cases: each library has a separate folder, `tests/LIBRARY_cases`, where a function is
registered by the names that its cases have in the suite, and takes any library of those calls.
"""

import pickle
import re
from collections.abc import Callable, Collection
from typing import Any

__all__ = ["Cases", "Library", "check_page", "pickled"]

Library = Any  # a module with the calls of the library
Case = Callable[[Library], None]


class Cases(dict[str, Case]):
    """Cases by their names in a suite."""

    def __call__(self, *names: str) -> Callable[[Case], Case]:
        """Registers a function as what cases of the suite ask."""

        def register(function: Case) -> Case:
            for name in names:
                assert name not in self, name
                self[name] = function
            return function

        return register


def pickled(value: Any) -> Any:
    """A value once through pickle."""
    return pickle.loads(pickle.dumps(value))


def listed(text: str) -> list[str]:
    """The cases of tables, each with a reason."""
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| ([^|]+) \|$", text, re.M)
    assert all(len(reason) > 10 for _, reason in rows)
    return [name for name, _ in rows]


def check_page(page: str, cases: Collection[str], names: Collection[str]) -> None:
    """Every case of a suite passes, or is in one of the page's tables; the page counts them right."""
    text = page.split(" own tests\n")[1]
    counted, _, aside = text.partition("not counted:")
    failing, uncounted = listed(counted), listed(aside)
    assert sorted([*cases, *failing, *uncounted]) == sorted(names)
    n = len(cases) + len(failing)
    share = f"{100 * len(cases) / n:.1f}"
    assert f"Of {n} cases that are about what the library gives, {len(cases)} pass ({share} %)." in text
    assert float(share) >= 95
