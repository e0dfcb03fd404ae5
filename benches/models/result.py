"""One file of results: what a run reached, and all that says whether it still counts.

Not for running (`train_one.py`) nor for pages (`results_page.py`). A file holds the commit, the
configuration, hashes of the data and of the code that makes the numbers, versions, date, load and
command. `stale` compares these with what is there now; no page is made from a result that is stale.

Code that matters is where numbers are made: from rows to ids, the model's own file, its layers and head,
losses, the loop, the run around it, calibration, scores and the choice of members. It is hashed by its
syntax tree without docstrings and without what errors say, so comments, layout and messages make
nothing stale. Code that is otherwise the same may be shown to make the same numbers, bit by bit
(`unchanged.py`). What reads files and passes values on is not in it: what it read and passed is in the
hashes of the data and in the configuration.
"""

import ast
import base64
import hashlib
import json
import os
import platform
import subprocess
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentimodels.config import RunConfig
from sentimodels.runs.directory import versions

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
# Which code makes the numbers of which, as `unchanged.py` has shown.
UNCHANGED = RESULTS / "unchanged.json"
PACKAGE = ROOT / "python" / "sentimodels"
FORMAT = "sentimodels.evidence/1"

Result = dict[str, Any]
Links = list[dict[str, Any]]

# Files and folders of the package where numbers are made; of `models/` only the architecture's own.
MATTERS = (
    "text", "tasks/__init__.py", "tasks/class_weights.py", "tasks/classification.py",
    "tasks/loss.py", "tasks/validation.py", "training", "inference.py", "data/batches.py", "data/encoded.py",
    "data/scripts.py",
    "evaluation/calibration.py", "evaluation/metrics.py", "evaluation/phrase_memory.py",
    "evaluation/predictions.py", "evaluation/selection.py", "runs/refit.py", "runs/train.py",
)  # fmt: skip
# Files in there that measure speed, and make no other number.
APART = ("training/throughput.py",)
# Of these folders only what those files import, and what that imports: a change of attention leaves an LSTM's
# results alone, and one of a language model's head leaves those of all classifiers.
IMPORTED = ("layers", "heads")
# What makes the numbers of a student beside these.
TAUGHT = ("tasks/distillation.py", "distillation.py")
# Architectures that share a file.
FILE_OF = {"gru": "rnn", "lstm": "rnn"}
# Keys of a configuration that say where and how, not what.
ELSEWHERE = {
    "data": {"train", "valid", "test", "where", "valid_where", "test_where", "valid_share", "test_share"},
    "train": {"seed", "baseline", "device", "threads", "track", "log_every", "save_every"},
}


def files_that_matter(arch: str, *, taught: bool = False, package: Path = PACKAGE) -> list[Path]:
    """Returns the files whose code makes the numbers of an architecture, or of it as a student."""
    own = package / "models" / f"{FILE_OF.get(arch, arch)}.py"
    paths = [own, package / "models" / "sequence_classifier.py"]
    for name in MATTERS + TAUGHT * taught:
        path = package / name
        paths += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    paths = [path for path in paths if path.relative_to(package).as_posix() not in APART]
    return paths + sorted(imported(paths))


def imported(paths: Iterable[Path]) -> set[Path]:
    """Returns the files of `IMPORTED` that some files import, directly or through one another."""
    found: set[Path] = set()
    left = list(paths)
    while left:
        path = left.pop()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            module = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            named = [module.with_suffix(".py"), *(module / f"{one.name}.py" for one in node.names)]
            below = {one for one in named if one.is_file() and one.parent.name in IMPORTED}
            left += below - found
            found |= below
    return found


@cache
def code_hash(arch: str, *, taught: bool = False, package: Path = PACKAGE) -> str:
    """Returns the hash of that code, without docstrings, messages, comments and layout.

    Raises:
        FileNotFoundError: if another commit's package lacks one of the files.
    """
    digest = hashlib.sha256()
    for path in files_that_matter(arch, taught=taught, package=package):
        digest.update(
            f"{path.relative_to(package).as_posix()}\n{meaning(path.read_text('utf-8'))}\n".encode()
        )
    return digest.hexdigest()


@cache
def unchanged() -> Links:
    """Returns what `unchanged.py` has shown."""
    shown: Links = json.loads(UNCHANGED.read_text("utf-8")) if UNCHANGED.is_file() else []
    return shown


def links(then: str, now: str, shown: Links) -> bool:
    """Whether code of one hash makes the numbers of code of another: it is the same, or was shown to."""
    reached = {then}
    while True:
        further = {entry["to"]["code"] for entry in shown if entry["from"]["code"] in reached} - reached
        if now in reached or not further:
            return now in reached
        reached |= further


def meaning(source: str) -> str:
    """Returns the syntax tree of a file as text, its docstrings and the arguments of its errors left out."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def git(*args: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed(arch: str, *, taught: bool = False) -> list[str]:
    """Returns the files that matter and are not as the commit has them."""
    return changed_below(*(str(path.relative_to(ROOT)) for path in files_that_matter(arch, taught=taught)))


def changed_below(*paths: str) -> list[str]:
    """Returns the files of these, or below these folders, that are not as the commit has them."""
    return [line.split(maxsplit=1)[1] for line in git("status", "--porcelain", "--", *paths).splitlines()]


def settings(config: RunConfig) -> dict[str, Any]:
    """Returns what of a configuration decides numbers."""
    return {
        name: {key: v for key, v in value.items() if key not in ELSEWHERE.get(name, ())}
        if isinstance(value, Mapping)
        else value
        for name, value in config.tree().items()
    }


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def load() -> float | None:
    """Returns the load of one minute, where a system tells it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def stamp(arch: str, command: str, load_before: float | None, *, taught: bool = False) -> dict[str, Any]:
    """Returns what says when, where and of what a result is."""
    return {
        "commit": git("rev-parse", "HEAD") or None,
        "changed": changed(arch, taught=taught),
        "code": code_hash(arch, taught=taught),
        "versions": versions(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "load": [load_before, load()],
        "command": command,
    }


def occasion(command: str, load_before: float | None) -> dict[str, Any]:
    """Returns what says when and of what a measurement is that no architecture's code decides alone."""
    return {
        "git": git("rev-parse", "HEAD"),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "cores": os.cpu_count(),
        "load": [load_before, load()],
        "versions": versions(),
        "command": command,
    }


def data_folder() -> Path:
    return Path(os.environ.get("SENTITOK_DATA", ROOT.parent / "shared" / "data"))


def origin(config: Any, files: Iterable[str] = ()) -> Result:
    """Returns what a measurement is of that no architecture's code decides alone.

    Args:
        config: the settings that decide its numbers.
        files: what it reads, by paths below the data folder, or below the project where they stand there.
    """
    plain = json.loads(json.dumps(config))
    return {"config": plain, "config_sha256": digest(plain), "data": {name: _sha256(name) for name in files}}


def _sha256(name: str) -> str | None:
    """Returns the hash of a file, `None` where it is not there."""
    path = next((folder / name for folder in (ROOT, data_folder()) if (folder / name).is_file()), None)
    return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()


def outdated(result: Result, config: Any = None, files: Iterable[str] = ()) -> list[str]:
    """Returns why a measurement no longer counts, one sentence each; nothing if it does.

    Args:
        result: what holds `origin`.
        config: the settings today; where other runs decide them, nothing, and only their hash is checked.
        files: what it reads today; a file that is not there is not compared.
    """
    if missing := [key for key in ("config", "config_sha256", "data") if key not in result]:
        return [f"it does not say its {', '.join(missing)}"]
    reasons = []
    if digest(result["config"]) != result["config_sha256"]:
        reasons.append("its configuration does not have the hash that it states")
    today = origin(config, files)
    if config is not None and today["config"] != result["config"]:
        if isinstance(config, Mapping):
            reasons += _differences(result["config"], today["config"])
        reasons = reasons or ["config: is not what it was"]
    for name in sorted(today["data"].keys() | result["data"].keys()):
        now = today["data"].get(name, "")
        if now is not None and now != result["data"].get(name):
            reasons.append(f"data: {name} is not what it was")
    return reasons


def pack(counts: NDArray[np.int64]) -> str:
    """Returns counts below 65,536 as text."""
    return base64.b85encode(zlib.compress(counts.astype("<u2").tobytes(), 9)).decode()


def unpack(text: str) -> NDArray[np.int64]:
    """Reads what `pack` wrote."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<u2").astype(np.int64)


def path_of(folder: Path, of_set: str, row: str, seed: int) -> Path:
    """The file of a result."""
    name = row.replace(" + ", "+").replace(", ", "-").replace(" ", "-")
    return folder / of_set / f"{name}-seed-{seed}.json"


def write(path: Path, result: Result) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({"format": FORMAT, **result}, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def read(path: Path) -> Result:
    result: Result = json.loads(path.read_text("utf-8"))
    if result.get("format") != FORMAT:
        raise ValueError(f"{path}: written as {result.get('format')!r}, expected {FORMAT!r}")
    return result


def earlier(path: Path, said: Callable[[Result], Result]) -> list[Result]:
    """Returns what the sealed part has said before of what a file is about, the last of it from the file.

    Args:
        path: the file that is to be written.
        said: from a result to what is to be remembered of it, beside date and commit.
    """
    if not path.is_file():
        return []
    before = read(path)
    stamp = before.get("stamp", before)
    last = {"date": stamp["date"], "commit": stamp.get("commit") or stamp["git"], **said(before)}
    return [*before.get("earlier", []), last]


def stale(result: Result, config: RunConfig, data: Mapping[str, Any]) -> list[str]:
    """Returns why a result no longer counts, one sentence each; nothing if it does.

    Args:
        result: as `read` returns it.
        config: the row's configuration today.
        data: fingerprints of the set's parts today.
    """
    said = result["stamp"]
    reasons = [f"{name}: was not as in the commit" for name in said["changed"]]
    if not said["commit"]:
        reasons.append("of no commit")
    if digest(result["config"]) != result["config_sha256"]:
        reasons.append("its configuration does not have the hash that it states")
    reasons += _differences(result["config"], settings(config))
    for part in sorted(data.keys() | result["data"].keys()):
        if data.get(part) != result["data"].get(part):
            reasons.append(f"data: {part} is not what it was")
    taught = config.task.kind == "distillation"
    if not links(said["code"], code_hash(config.arch, taught=taught), unchanged()):
        reasons.append(f"the code has changed since commit {str(said['commit'])[:9]}")
    return reasons


def _differences(then: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> list[str]:
    """Names keys whose value has changed; a key that is new came with code, which has its own hash."""
    changes = []
    for key, value in then.items():
        name = f"{where}{key}"
        if isinstance(value, Mapping) and isinstance(now.get(key), Mapping):
            changes += _differences(value, now[key], f"{name}.")
        elif now.get(key) != value:
            changes.append(f"config: {name} was {value}, is {now.get(key)}")
    return changes
