"""The result files of benches/models: none is stale, and the pages are what they say.

Whoever changes code that makes numbers either runs the rows again (`run_all.py`) or shows that the
numbers are the same (`unchanged.py`). Data is not compared here: it is where SENTITOK_DATA is.
"""

import json
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


def is_of_others(one: dict[str, Any]) -> bool:
    """Whether a result is made of others: the mixture, and what has a memory of phrases beside a model."""
    return "among" in one or "of" in one


def test_no_result_of_a_row_is_stale(bench: Any) -> None:
    trained = [one for one in map(bench.result.read, ROWS) if not is_of_others(one)]
    stale = {}
    for one in compared(trained):
        row = bench.rows.rows_of(one["set"]).get(one["row"])
        tree = one["config"] if row is None else row.tree  # the row of MR is chosen by other results
        if reasons := bench.result.stale(one, resolve(tree), one["data"]):
            stale[f"{one['set']}: {one['row']}, seed {one['seed']}"] = reasons
    assert stale == {}


def test_no_other_result_is_stale(bench: Any) -> None:
    others = FOLDER / "results"
    compared([bench.result.read(others / f"{name}.json") for name in ("distillation", "chinese")])
    assert bench.origins.refused(others) == {}


def test_every_file_beside_those_of_rows_is_checked(bench: Any) -> None:
    others = {path.name for path in (FOLDER / "results").iterdir() if path.is_file()}
    known = {f"{name}.json" for name in bench.origins.CHECKS} | {"tuning.json", "growth.jsonl"}
    assert others - known == {"unchanged.json"}


def said_of(one: dict[str, Any]) -> dict[str, Any]:
    """What a result says of itself, whichever of both forms it has."""
    stamp = one.get("stamp", one)
    torch = stamp.get("versions", {}).get("torch") or stamp.get("torch")
    return {"commit": stamp.get("commit") or stamp.get("git"), "date": stamp.get("date"), "torch": torch}


def test_every_result_says_what_it_is_of(bench: Any) -> None:
    """Commit, date, versions and load; the hashes of settings and of data, or of the runs it is made of."""
    results: dict[str, dict[str, Any]] = {path.name: bench.result.read(path) for path in ROWS}
    for path in sorted((FOLDER / "results").glob("*.json*")):
        if path.suffix == ".jsonl":
            lines = path.read_text("utf-8").splitlines()
            parts: Any = {str(place): json.loads(line) for place, line in enumerate(lines)}
        elif path.name == "unchanged.json":
            continue
        else:
            one = json.loads(path.read_text("utf-8"))
            # Measured one by one, or at once.
            of_parts = ("cells", "cases", "archs", "sections") if "config" not in one else ()
            parts = next((one[key] for key in of_parts if key in one), {"": one})
            parts = one["rows"] if path.name == "tuning.json" else parts
        results |= {f"{path.name} {name}": part for name, part in parts.items()}
    for name, one in results.items():
        assert all(said_of(one).values()), name
        assert len(one.get("stamp", one)["load"]) == 2, name
        assert bench.result.digest(one["config"]) == one["config_sha256"], name
        assert isinstance(one["data"], dict), name


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
    made = [one for results in found.values() for one in results if is_of_others(one)]
    assert len(made) >= 3
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
    """Every number of docs/results.md, of the guide's table and of sections of docs/benchmarks.md."""

    def beside_of(name: str) -> Any:
        return bench.result.read(FOLDER / "results" / f"{name}.json")

    found: dict[tuple[str, str], list[Any]] = {}
    for path in sorted((FOLDER / "results").glob("*/*.json")):
        one = bench.result.read(path)
        found.setdefault((one["set"], one["row"]), []).append(one)
    assert found
    for results in found.values():
        results.sort(key=lambda one: one["seed"])
    chosen, beside = bench.run_all.chosen_for_mr(found), bench.judged.others(FOLDER / "results")
    assert (ROOT / "docs" / "results.md").read_text("utf-8") == bench.results_page.page(found, chosen, beside)
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    made = [bench.onnx_equal.section(beside_of("onnx"))]
    made += [bench.in_use_page.section(*one) for one in beside_of("in-use")["sections"].items()]
    assert [section for section in made if f"{section}\n" not in benchmarks] == []
    guide = (ROOT / "docs" / "senti.md").read_text("utf-8")
    assert bench.results_page.between(guide, bench.results_page.guide_table(found, beside)) == guide
