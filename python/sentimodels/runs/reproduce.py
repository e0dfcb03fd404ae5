"""`reproduce`: trains a finished run again, and says whether it becomes the same.

The settings are those of the run directory, the number of threads that of `run.json`. What differs (versions,
data, rows, threads, device) is reported as a `Mismatch` with what to type, and training continues: a file
that was only written in another way may give the same weights.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open

from ..config import RunConfig
from ..data.opening import hash_file
from ..data.record import JSON_NAME, TEXTS_NAME, TrainingRecord
from ..errors import CheckpointError, ConfigError, DataError, TrainingError
from ..training.device import device_of
from ..training.distributed import check_alone
from .directory import (
    FIRST,
    LAUNCH,
    MANIFEST,
    WEIGHTS,
    check_unchanged,
    finished,
    metadata_of,
    read_json,
    sha256_of,
    versions,
    without,
)
from .execute import Callbacks, train
from .families import (
    ALIGNMENT,
    CLASSIFIER,
    FILES,
    LANGUAGE_MODEL,
    TRANSLATOR,
    Family,
    family_of,
    fetched,
    read_toml,
    with_files,
)

__all__ = ["Mismatch", "Reproduction", "reproduce"]

# Scores are equal if they are to so many digits, as reports show them.
DIGITS = 4
# The parts of `run.json` that hold scores.
_SCORES = ("valid", "test", "crossed", "alignment", "distilled")
# The key of `[data]` that the files given by hand replace, and whether it takes several.
_DATA_KEY: Mapping[str, tuple[str, bool]] = {
    CLASSIFIER.name: ("train", False), LANGUAGE_MODEL.name: ("corpus", True),
    TRANSLATOR.name: ("train", True), ALIGNMENT.name: ("train", False),
}  # fmt: skip
# Settings that do not change a run, or that are compared apart.
_IGNORED = {"train.threads", "train.track", "train.device", "train.baseline", "base"}
_IGNORED |= {f"{section}.{key}" for section, keys in FILES.items() for key in keys}


@dataclass(frozen=True)
class Mismatch:
    """Something that is not as it was when a run was trained.

    Attributes:
        what: its name: a package, `threads`, the role of a file, a setting.
        then: as the run directory says.
        now: as it is.
        remedy: what to do or type to restore it.
    """

    what: str
    then: str
    now: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.then} then, {self.now} now; {self.remedy}"


@dataclass(frozen=True)
class Reproduction:
    """The result of training a run again.

    Attributes:
        run: its directory.
        mismatches: files and settings that have changed.
        weights: whether they are equal, bit by bit, tokenizer included.
        n_tensors: tensors of the run.
        differing: those of them that differ, or that one of both runs lacks.
        largest: the largest difference of two weights, where shapes are equal.
        scores: by name, the score then and now.
    """

    run: Path
    mismatches: tuple[Mismatch, ...]
    weights: bool
    n_tensors: int
    differing: tuple[str, ...]
    largest: float
    scores: Mapping[str, tuple[float | None, float | None]]

    @property
    def differing_scores(self) -> dict[str, tuple[float | None, float | None]]:
        """The scores that are not equal to `DIGITS` digits."""
        return {name: pair for name, pair in self.scores.items() if not _equal(*pair)}

    @property
    def verdict(self) -> Literal["weights", "scores", "neither"]:
        """The equal part; `weights` includes the scores. A run without scores can only have equal weights."""
        if self.weights:
            return "weights"
        return "scores" if self.scores and not self.differing_scores else "neither"

    def tree(self) -> dict[str, Any]:
        """Returns it as JSON holds it."""
        differing = {name: {"then": a, "now": b} for name, (a, b) in self.differing_scores.items()}
        return {
            "run": str(self.run),
            "verdict": self.verdict,
            "mismatches": [vars(one) for one in self.mismatches],
            "weights": {
                "equal": self.weights, "tensors": self.n_tensors, "differ": list(self.differing),
                "largest": self.largest,
            },
            "scores": {"equal": not differing, "compared": len(self.scores), "differ": differing},
        }  # fmt: skip


def reproduce(
    run: Path,
    out: Path,
    files: Sequence[Path] = (),
    callbacks: Callbacks | None = None,
    *,
    threads: int | None = None,
    device: str | None = None,
) -> Reproduction | None:
    """Trains a run again and compares.

    Args:
        run: the run directory.
        out: where to train, a folder that holds no run yet.
        files: the training data, where it is no longer where the run found it; other files of the run are
            also looked for next to it.
        callbacks: called meanwhile; `on_warning` also with each mismatch, as soon as it is known.
        threads: of PyTorch; without it as many as then.
        device: where to train; without it as the configuration says.

    Returns:
        The equal part; `None` if `callbacks.should_stop` has stopped it.

    Raises:
        CheckpointError: if the run has not finished, was not trained here, or has changed.
        ConfigError: if the files are not those of one run.
        SentiError: if a file or a setting does not allow it.
    """
    callbacks = callbacks or Callbacks()
    family = family_of(run)
    about = _checked(run, family)
    check_alone("senti reproduce")
    config = _config_of(run, family, files)
    then, now = about.get("threads"), threads or about.get("threads") or torch.get_num_threads()
    update: dict[str, Any] = {"threads": now}
    if "track" in type(config.train).model_fields:
        update["track"] = "none"
    if device is not None:
        update["device"] = device
    config = config.model_copy(update={"train": config.train.model_copy(update=update)})
    found = [*_of_machine(run, about, str(device_of(config.train.device)))]
    if then not in (None, now):
        found.append(Mismatch("threads", str(then), str(now), "leave out --threads"))
    if isinstance(config, RunConfig):
        found += _of_files(run, config)
    for one in found:
        callbacks.on_warning(str(one))
    watched = _Watched(run, out, found, callbacks)
    # Which baselines were trained does not matter to the weights.
    baseline = False if isinstance(config, RunConfig) else None
    try:
        made = train(config, out, replace(callbacks, should_stop=watched), baseline=baseline)
    except TrainingError:  # the weights before a loss that is not finite are a run
        if not finished(out):
            raise
        made = read_json(out / "run.json")
    if made["fit"]["stop"] == "stopped":
        return None
    watched.look()
    for one in _of_settings(run, out, family):
        callbacks.on_warning(str(one))
        found.append(one)
    same, n, differing, largest = _compared_weights(run, out)
    scores = _scores(about), _scores(made)
    names = [*scores[0], *(name for name in scores[1] if name not in scores[0])]
    return Reproduction(
        run, tuple(found), same, n, differing, largest,
        {name: (scores[0].get(name), scores[1].get(name)) for name in names},
    )  # fmt: skip


def _checked(run: Path, family: Family[Any]) -> dict[str, Any]:
    """Returns `run.json` of a run that can be trained again.

    Raises:
        CheckpointError: if it has not finished, was not trained here, or has changed.
    """
    if not finished(run):
        raise CheckpointError(without(run / MANIFEST))
    check_unchanged(run, {WEIGHTS, "config.toml", "run.json", family.file})
    about = read_json(run / "run.json")
    if "imported" in about:
        raise CheckpointError(
            f"{run}: imported from {about['imported']}, not trained here; give a trained run"
        )
    return about


def _config_of(run: Path, family: Family[Any], files: Sequence[Path]) -> Any:
    """Returns the configuration to train with.

    Raises:
        ConfigError: if too many files are given.
        DataError: if a file is missing.
    """
    # With train.refit the first run has the settings that were typed; the run itself those it has chosen.
    tree = read_toml((run / FIRST if (run / FIRST).is_dir() else run) / family.file)
    key, several = _DATA_KEY[family.name]
    if files:
        if len(files) > 1 and not several:
            raise ConfigError(f"{files[1]}: {run} was trained on one file; give that one alone")
        names = [str(path.absolute()) for path in files]
        tree["data"] = {**tree.get("data", {}), key: names if several else names[0]}
        tree = with_files(tree, files[0].absolute().parent)
    config = family.resolve(tree)
    if not getattr(config.data, key):
        raise DataError(f"{run}: trained on rows of no file, from Python; train it again there")
    for name in FILES["data"]:
        value = getattr(config.data, name, None)
        for path in value if isinstance(value, tuple) else [value] if isinstance(value, str) else []:
            if not Path(fetched(path)).exists():
                raise DataError(
                    f"{path}: data.{name} of {run} is not there; put it back, or give the training data, "
                    f"next to which it is looked for: senti reproduce {run} FILE"
                )
    return config


def _of_machine(run: Path, about: Mapping[str, Any], device: str) -> Iterator[Mismatch]:
    """Yields the versions and the device that differ."""
    now = versions()
    for name, then in about.get("versions", {}).items():
        if then == now.get(name, "unknown"):
            continue
        remedy = {
            "python": f"create an environment with Python {then}",
            "platform": "on another machine the last digits may differ",
        }.get(name, f"pip install {name}=={then}")
        yield Mismatch(name, str(then), now.get(name, "unknown"), remedy)
    then = about.get("device", device)
    if then.split(":")[0] != device.split(":")[0]:
        yield Mismatch("device", then, device, f"type --device {then.split(':')[0]} where there is one")
    if (run / LAUNCH).is_file():
        yield Mismatch("processes", "several, of torchrun,", "one", "the last digits of sums may differ")


def _of_files(run: Path, config: RunConfig) -> Iterator[Mismatch]:
    """Yields the files of a classifier that have changed; of folders `_of_record` sees it."""
    hashes = {one.role: (one.sha256, one.source) for one in TrainingRecord.load(run).sources}
    for role in ("train", "valid", "test"):
        path, (sha256, source) = getattr(config.data, role), hashes.get(role, (None, ""))
        if not path or sha256 is None or not Path(local := fetched(path)).is_file():
            continue
        if (now := hash_file(Path(local))) != sha256:
            yield _changed(role, source, path, sha256, now, run)


def _changed(role: str, source: str, path: str, then: str, now: str, run: Path) -> Mismatch:
    remedy = f"give the file as it was: senti reproduce {run} FILE"
    return Mismatch(f"data ({role})", f"{source} {then[:12]}", f"{path} {now[:12]}", remedy)


class _Watched:
    """`should_stop` of a run that is trained again; compares the data after the first step."""

    def __init__(self, run: Path, out: Path, found: list[Mismatch], callbacks: Callbacks) -> None:
        self._run, self._out, self._found, self._callbacks = run, out, found, callbacks
        self._looked = False

    def __call__(self) -> bool:
        """Whether to stop now."""
        self.look()
        return self._callbacks.should_stop()

    def look(self) -> None:
        """Compares the records of both runs, once."""
        if self._looked:
            return
        self._looked = True
        known = {one.what for one in self._found}
        # With train.refit the first run has the rows as they were divided.
        first = (self._out / FIRST).is_dir() and (self._run / FIRST).is_dir()
        run, out = (self._run / FIRST, self._out / FIRST) if first else (self._run, self._out)
        for one in _of_record(run, out):
            if one.what not in known:
                self._callbacks.on_warning(str(one))
                self._found.append(one)


def _of_record(run: Path, out: Path) -> Iterator[Mismatch]:
    """Yields the differences between the training data of two runs."""
    sources = [read_json(folder / JSON_NAME).get("sources", []) for folder in (run, out)]
    if len(sources[0]) != len(sources[1]):
        yield Mismatch(
            "data", f"{len(sources[0])} files", f"{len(sources[1])} files",
            f"give the same files: senti reproduce {run} FILE",
        )  # fmt: skip
        return
    records = [
        TrainingRecord.load(folder) if (folder / TEXTS_NAME).is_file() else None for folder in (run, out)
    ]
    for place, (then, now) in enumerate(zip(*sources, strict=True)):
        role = str(then.get("role", f"file {place + 1}"))
        if then["sha256"] != now["sha256"]:
            yield _changed(role, then["source"], now["source"], then["sha256"], now["sha256"], run)
            continue
        n = [int(one.get("rows", one.get("documents", 0))) for one in (then, now)]
        places = [None if record is None else record.identity(role) for record in records]
        if n[0] != n[1] or places[0] != places[1]:
            yield Mismatch(
                f"rows ({role})", f"{n[0]:,}", f"{n[1]:,}" + (" different" if n[0] == n[1] else ""),
                "the version of sentitok that trained the run reads or divides the file otherwise, or a file "
                "that excludes rows has changed",
            )  # fmt: skip


def _of_settings(run: Path, out: Path, family: Family[Any]) -> Iterator[Mismatch]:
    """Yields settings that the same configuration gives another value now."""
    then, now = (_flat(family.load(folder).tree()) for folder in (run, out))
    for key in dict.fromkeys([*then, *now]):
        if key not in _IGNORED and (a := then.get(key)) != (b := now.get(key)):
            remedy = "the run that it names has changed" if key.endswith("_sha256") else "see versions"
            yield Mismatch(f"setting {key}", str(a), str(b), remedy)


def _flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Returns the values of a tree by their whole key."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= _flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return found


def _scores(about: Mapping[str, Any]) -> dict[str, float]:
    """Returns the scores that `run.json` holds, by their whole key."""
    flat = _flat({name: _counted(about[name]) for name in _SCORES if isinstance(about.get(name), Mapping)})
    return {
        key: float(value)
        for key, value in flat.items()
        if isinstance(value, int | float) and "seconds" not in key.rsplit(".", 1)[-1]
    }


def _counted(value: Any) -> Any:
    """Returns a value with lists as mappings of their places."""
    if isinstance(value, list):
        return {str(place): _counted(one) for place, one in enumerate(value)}
    return {key: _counted(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _equal(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or abs(a - b) < 0.5 * 10**-DIGITS or (a != a and b != b)


def _compared_weights(run: Path, out: Path) -> tuple[bool, int, tuple[str, ...], float]:
    """Returns whether weights are equal, how many tensors there are, which differ, and by how much."""
    a, b = run / WEIGHTS, out / WEIGHTS
    same_tokenizer = metadata_of(run).get("tokenizer_sha256") == metadata_of(out).get("tokenizer_sha256")
    with safe_open(a, framework="pt") as then, safe_open(b, framework="pt") as now:
        names = set(then.keys())
        if sha256_of(a) == sha256_of(b):
            return True, len(names), (), 0.0
        differing, largest = sorted(names ^ set(now.keys())), 0.0
        for name in sorted(names & set(now.keys())):
            one, other = then.get_tensor(name), now.get_tensor(name)
            if one.shape != other.shape or one.dtype != other.dtype:
                differing.append(name)
            elif not torch.equal(one, other):
                differing.append(name)
                apart = (one.double() - other.double()).abs().max()
                largest = max(largest, min(float(apart), sys.float_info.max))
    return same_tokenizer and not differing, len(names), tuple(differing), largest
