"""The result files of benches/models: none is stale, and the pages are what they say.

Whoever changes code that makes numbers either runs the rows again (`run_all.py`) or shows that the
numbers are the same (`unchanged.py`). Data is not compared here: it is where SENTITOK_DATA is.
"""

import platform
from typing import Any

import pytest

from bench_results import FOLDER
from sentimodels.runs.config import resolve

ROOT = FOLDER.parents[1]
PYTHON = ".".join(platform.python_version_tuple()[:2])
ROWS = sorted((FOLDER / "results").glob("*/*.json"))


def of_this_python(result: dict[str, Any]) -> bool:
    """Whether hashes of code can be compared: syntax trees are spelled otherwise by each minor version."""
    return bool(result["stamp"]["versions"]["python"].rpartition(".")[0] == PYTHON)


def compared(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of this Python; skips the test where there is none, and says so."""
    found = [one for one in results if of_this_python(one)]
    if not found:
        others = {one["stamp"]["versions"]["python"] for one in results}
        pytest.skip(f"the results are of Python {', '.join(sorted(others))}: their hashes differ in this one")
    return found


def test_no_result_of_a_row_is_stale(bench: Any) -> None:
    trained = [one for one in map(bench.result.read, ROWS) if "config" in one]
    stale = {}
    for one in compared(trained):
        row = bench.rows.rows_of(one["set"]).get(one["row"])
        tree = one["config"] if row is None else row.tree  # the row of MR is chosen by other results
        if reasons := bench.result.stale(one, resolve(tree), one["data"]):
            stale[f"{one['set']}: {one['row']}, seed {one['seed']}"] = reasons
    assert stale == {}


# (file, architecture, taught): results that are no rows of `run_all.py`
OTHERS = [("distillation", "lstm", True), ("chinese", "nb", False), ("trainer-speed", "encoder", False)]


@pytest.mark.parametrize(("name", "arch", "taught"), OTHERS)
def test_no_other_result_is_stale(bench: Any, name: str, arch: str, taught: bool) -> None:
    path = FOLDER / "results" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path.name}: not measured")
    (one,) = compared([bench.result.read(path)])
    now = bench.result.code_hash(arch, taught=taught)
    assert bench.result.links(one["stamp"]["code"], now, bench.result.unchanged())


def test_the_table_of_the_order_is_what_its_file_says(bench: Any) -> None:
    cells = bench.result.read(bench.auto_order.TARGET)["cells"]
    compared(list(cells.values()))
    known = {
        f"{texts.title}: {arch}": (texts, arch) for texts in bench.auto_order.TEXTS for arch in texts.archs
    }
    assert {name for name, cell in cells.items() if not bench.auto_order.counts(cell, *known[name])} == set()
    page = bench.auto_order.PAGE.read_text("utf-8")
    assert f"{bench.auto_order.BEGIN}\n{bench.auto_order.part(cells)}\n{bench.auto_order.END}" in page


def test_the_mixture_and_rows_with_memory_are_of_results_that_are_there(bench: Any) -> None:
    found: dict[tuple[str, str], list[Any]] = {}
    for one in map(bench.result.read, ROWS):
        found.setdefault((one["set"], one["row"]), []).append(one)
    made = [one for results in found.values() for one in results if "config" not in one]
    assert {one["row"]: gone for one in made if (gone := bench.mixtures.parents_gone(one, found))} == {}


def test_a_change_of_code_is_named_by_its_whole_path(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = " M python/sentimodels/models/nb.py\nM  python/sentimodels/layers/norm.py\n"

    class Done:
        returncode, stdout = 0, said

    monkeypatch.setattr(bench.result.subprocess, "run", lambda *args, **kwargs: Done())
    assert bench.result.changed("nb") == [
        "python/sentimodels/models/nb.py",
        "python/sentimodels/layers/norm.py",
    ]


def test_the_pages_are_what_the_result_files_say(bench: Any) -> None:
    """Every number of docs/results.md and of the guide's table comes from a file that is there."""
    found: dict[tuple[str, str], list[Any]] = {}
    for path in sorted((FOLDER / "results").glob("*/*.json")):
        one = bench.result.read(path)
        found.setdefault((one["set"], one["row"]), []).append(one)
    assert found
    for results in found.values():
        results.sort(key=lambda one: one["seed"])
    chosen, beside = bench.run_all.chosen_for_mr(found), bench.bars.others(FOLDER / "results")
    assert (ROOT / "docs" / "results.md").read_text("utf-8") == bench.results_page.page(found, chosen, beside)
    guide = (ROOT / "docs" / "senti.md").read_text("utf-8")
    assert bench.results_page.between(guide, bench.results_page.guide_table(found, beside)) == guide
