"""Result files beside those of rows: whether each is still of the settings and the data of today.

`run_all.py --pages` writes no page from one that is not; it says what to type. Code is compared where an
architecture's alone makes the numbers (`result.stale`); a figure of speed, of generated or of translated text
is of the commit that it names, whatever was committed since. Settings that other runs decide, such as those
of a base, are compared with the hash that the file states. Not for rows of `run_all.py`, which refuses these
one by one.
"""

import json
from collections.abc import Callable
from pathlib import Path

import auto_order
import bars
import before
import chinese
import distill
import generate
import gpu
import in_use_page
import lengths
import onnx_equal
import optimizers
import pretrain
import pretrain_sides
import style
import translate
import translations
from parts import FILES, fingerprints
from pretrained_rows import OF_SETS, by_arch, recipe
from result import Result, code_hash, data_folder, digest, links, outdated, read, settings, stale, unchanged
from rows import BY_STEPS, TUNING

from sentimodels.runs.config import resolve

Reasons = list[str]
# How each file is checked, by its name in results/.
CHECKS: dict[str, Callable[[Result], Reasons]] = {
    "alignment": lambda one: outdated(one, None, [FILES["imdb"]]),
    "auto-order": lambda one: of_cells(one["cells"], _of_order),
    "before": lambda one: outdated(one, before.SETTINGS, [FILES["kaggle"]]),
    "chinese": lambda one: outdated(one, chinese.SETTINGS, [FILES["chinese"]]) + _of_code(one, "nb"),
    "distillation": lambda one: stale(one, resolve(distill.settings_of()), _parts_today("kaggle", one)),
    "generation": lambda one: of_cells(
        one["cases"], lambda name, case: outdated(case, generate.settings_of(name), [generate.CORPUS])
    ),
    "gpu_speed": lambda one: outdated(one, None, gpu.FILES),
    "in-use": in_use_page.reasons,
    "onnx": lambda one: of_cells(
        one["archs"], lambda arch, graph: outdated(graph, onnx_equal.settings_of(arch), onnx_equal.ASKED)
    ),
    "optimizers": lambda one: outdated(one, optimizers.settings_of(), [FILES["imdb"]]),
    **{
        f"pretrained-{of_set}-{arch}": lambda one: _of_pretrained(one)
        for of_set, kinds in OF_SETS.items()
        for arch in by_arch(kinds)
    },
    "style": lambda one: outdated(
        one, style.settings_of(one["config"]["preset"], one["config"]["epochs"]), [style.SONNETS, style.PLAYS]
    ),
    "trainer-speed": lambda one: stale(one, resolve({"arch": "encoder"}), _parts_today("kaggle", one)),
    **{
        file: lambda one: outdated(one, pretrain_sides.SIZES, pretrain.FILES)
        for file, _ in bars.PRETRAINED.values()
    },
    **{row.result: lambda one: _of_translation(one) for row in translations.ROWS.values()},
}


def refused(folder: Path) -> dict[str, Reasons]:
    """Returns the files that no longer count, with what is wrong and what to type."""
    wrong = {}
    for name, check in CHECKS.items():
        path = folder / f"{name}.json"
        if path.is_file() and (reasons := check(result := read(path))):
            command = result.get("command") or result.get("stamp", {}).get("command")
            wrong[path.name] = reasons if command is None else [*reasons, f"type: {command}"]
    tuned = json.loads((folder / TUNING.name).read_text("utf-8"))["rows"]
    if reasons := of_cells(tuned, _of_tuning):
        wrong[TUNING.name] = reasons
    for (kind, length), point in lengths.there(folder / lengths.TARGET.name).items():
        if reasons := outdated(point, lengths.settings_of(kind, length)):
            wrong.setdefault(lengths.TARGET.name, []).append(f"{kind}, {length}: {'; '.join(reasons)}")
    return wrong


def of_cells(cells: dict[str, Result], reasons: Callable[[str, Result], Reasons]) -> Reasons:
    """Returns the reasons of the parts of a file, each after the name of its part."""
    return [f"{name}: {reason}" for name, cell in cells.items() for reason in reasons(name, cell)]


def _of_code(result: Result, arch: str) -> Reasons:
    same = links(result["stamp"]["code"], code_hash(arch), unchanged())
    return [] if same else [f"the code has changed since commit {str(result['stamp']['commit'])[:9]}"]


def _of_order(name: str, cell: Result) -> Reasons:
    for texts in auto_order.TEXTS:
        for arch in texts.archs:
            if f"{texts.title}: {arch}" == name and auto_order.counts(cell, texts, arch):
                return []
    return ["it is of other code, settings or data, or no cell of the table"]


def _of_pretrained(result: Result) -> Reasons:
    today = _parts_today(result["set"], result)
    wrong = [f"data: {part} is not what it was" for part in today if today[part] != result["data"].get(part)]
    # The trees of its classifiers need its bases, which are no files of the project; what made them does not.
    made = {"config": result["recipe"], "config_sha256": digest(result["recipe"]), "data": {}}
    arch = next(iter(result["config"].values()))["arch"]
    return outdated({**result, "data": {}}) + outdated(made, recipe(result["set"], arch)) + wrong


def _of_translation(result: Result) -> Reasons:
    row, then = translations.ROWS[result["set"]], result["config"]
    today = translate.settings(translate.configured(row, 0, then["train"]["threads"], []))
    today["data"]["end"] = then["data"]["end"]  # the tokenizer that is trained decides it
    return outdated(result, today, row.read())


def _of_tuning(name: str, tuned: Result) -> Reasons:
    row = next(row for row in BY_STEPS if row.name == name)
    return outdated(tuned, settings(resolve(row.tree)), [FILES["kaggle"]])


def _parts_today(of_set: str, result: Result) -> Result:
    """Returns the hashes of the parts of a set; those of the result where the data is not here."""
    return fingerprints(of_set, data_folder()) if data_folder().is_dir() else result["data"]
