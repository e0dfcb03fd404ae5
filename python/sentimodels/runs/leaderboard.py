"""The runs of a folder, ranked by the score that chose their weights.

Scores are of validation data, so runs are ranked among those with the same data; `data` identifies it.
`BOARDS` has a row for each kind of run.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config import LanguageConfig, RunConfig, TranslationConfig
from ..data.record import TrainingRecord
from ..errors import CheckpointError, ConfigError
from ..tasks.classification import MONITOR
from ..training.state import STATE
from .directory import FIRST, MANIFEST, read_json
from .families import (
    ALIGNMENT,
    CLASSIFIER,
    LANGUAGE_MODEL,
    TRANSLATOR,
    Family,
    check_there,
    family_of,
    read_toml,
)
from .lineage import own_sources

__all__ = ["BOARDS", "leaderboard"]

# Folders below which no run is looked for.
_DEPTH = 4
# The score of classifiers.
_SCORE = MONITOR.removeprefix("val_")
# Scores of an aligned model's answers on the board.
_JUDGED = ("reward_mean", "kl", "distinct_2")


@dataclass(frozen=True)
class Board:
    """How the runs of one kind are listed.

    Attributes:
        family: the kind; it reads their configuration.
        about: facts known before a run is scored, from its configuration, `run.json` (empty until it is
            written), its directory and the folder that is listed.
        scores: what `run.json` adds to that.
        place: the key by which runs are ordered, unfinished ones last.
    """

    family: Family[Any]
    about: Callable[[Any, Mapping[str, Any], Path, Path], dict[str, Any]]
    scores: Callable[[Mapping[str, Any]], dict[str, Any]]
    place: Callable[[dict[str, Any]], tuple[Any, ...]]


def leaderboard(
    folder: Path, say: Callable[[str], None] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the facts of each run in a folder, the best first; unfinished ones last.

    Args:
        folder: a run, or a folder of runs.
        say: called with each folder that is left out: not a run, or damaged.

    Returns:
        Classifiers, language models, and translation models. Of each run: `run`, its path below the folder;
        `arch`; `state`, `finished`, `stopped` or `unfinished`; `data`, which is equal for runs with the same
        validation data; and once they are known `parameters`, `seconds` and scores.

        Of classifiers `seed`, the monitored score under its own name, with `interval` where it is known,
        `accuracy`, `log_loss`, `rows`, and `test` where there are test rows.

        Of language models `task`, `preset`, `perplexity`, `loss`, `bits_per_byte` of next-token models, and
        `tokens`. Aligned ones come last and have `method` and `alignment`: `gain`; `preferred`, the share of
        pairs whose chosen answer DPO's model prefers; and of the answers `before` and `after` `reward_mean`,
        `kl` and `distinct_2`.

        Of translation models `bleu`, `chrf`, `signatures`, `loss` and `perplexity`.

    Raises:
        CheckpointError: if there is no such folder, it holds no run, or all are damaged.
    """
    check_there(folder)
    runs = list(_runs(folder, _DEPTH))
    if not runs:
        raise CheckpointError(
            f"{folder}: no run in this folder; give a folder of runs, as senti train writes them"
        )
    found: dict[str, list[dict[str, Any]]] = {board.family.name: [] for board in BOARDS}
    failed: CheckpointError | None = None
    for run in runs:
        try:
            family = family_of(run)
            board = next(one for one in BOARDS if one.family in (family, _LISTED_AS.get(family.name)))
            found[board.family.name].append(_entry(board, folder, run))
        # Of any folder, a file may be of another program, or damaged in any way.
        except (OSError, ValueError, TypeError, AttributeError, LookupError) as error:
            failed = CheckpointError(f"{run}: not a run, or damaged: {error}")
            if say is not None:
                say(f"left out: {failed}")
    if failed is not None and not any(found.values()):
        raise failed
    classifiers, models, translations = (
        sorted(found[board.family.name], key=board.place) for board in BOARDS
    )
    return classifiers, models, translations


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    """Yields the run directories in a folder, itself too."""
    if (folder / "config.toml").is_file():
        yield folder
    elif depth:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                yield from _runs(path, depth - 1)


def _entry(board: Board, folder: Path, run: Path) -> dict[str, Any]:
    """Returns the facts of a run."""
    config = board.family.resolve(read_toml(run / "config.toml"))
    about = read_json(run / "run.json") if (run / "run.json").is_file() else {}
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    entry = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": config.arch,
        "state": "stopped" if (run / STATE).is_file() else state,
        **board.about(config, about, run, folder),
    }
    if not about:
        return entry
    return entry | {
        **board.scores(about),
        "parameters": about.get("parameters"),
        "seconds": round(sum(about.get("seconds", {}).values()), 1),
    }


def _identity(run: Path) -> str | None:
    """Returns a key of the validation rows: of their file, and their places."""
    try:
        return TrainingRecord.load(run).identity("valid")
    except CheckpointError:
        return None


def _hashed(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def _about_classifier(config: RunConfig, _: Mapping[str, Any], run: Path, folder: Path) -> dict[str, Any]:
    known: dict[str, Any] = {
        "seed": config.train.seed,
        "data": _identity(run / FIRST if (run / FIRST).is_dir() else run),
    }
    if config.data.fold is not None:  # folds of one table are shown together
        of = run.parent.relative_to(folder).as_posix() if run != folder else run.parent.name
        known |= {"folds_of": of, "fold": config.data.fold}
    return known


def _classifier_scores(about: Mapping[str, Any]) -> dict[str, Any]:
    # Of a refitted run, the validation rows that chose its steps.
    chosen = about.get("chosen", about)
    valid, test = chosen.get("valid"), about.get("test")
    scores: dict[str, Any] = {"rows": chosen.get("rows")}
    if valid is not None:
        scores |= {key: valid.get(key) for key in (_SCORE, "accuracy", "log_loss")}
        scores["interval"] = valid.get("intervals", {}).get(_SCORE)
    if test is not None:
        scores["test"] = {key: test.get(key) for key in (_SCORE, "accuracy")}
    return scores


def _classifier_place(one: dict[str, Any]) -> tuple[Any, ...]:
    return (one.get(_SCORE) is None, -(one.get(_SCORE) or 0.0), one["run"])


def _about_model(config: LanguageConfig, about: Mapping[str, Any], run: Path, _: Path) -> dict[str, Any]:
    known: dict[str, Any] = {
        "task": config.task.kind,
        "preset": config.preset,
        "data": _documents(run, config, about),
    }
    if (run / ALIGNMENT.file).is_file():
        known["method"] = read_toml(run / ALIGNMENT.file)["task"]["kind"]
    return known


def _documents(run: Path, config: LanguageConfig, about: Mapping[str, Any]) -> str | None:
    """Returns a key of the validation documents.

    How many documents `data.valid_tokens` allows depends on the tokenizer, so their bytes count as well.
    """
    try:
        sources = read_json(run / "training_data.json").get("sources", [])
    except (CheckpointError, ConfigError):
        return None
    data = config.data
    own = sorted(str(source.get("sha256")) for source in own_sources(sources))
    valid_bytes = about.get("corpus", {}).get("valid_bytes")
    return _hashed([own, data.format, data.limit, data.valid_share, data.split_seed, valid_bytes])


def _model_scores(about: Mapping[str, Any]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    if (judged := about.get("alignment")) is not None:
        parts = {when: {key: judged[when].get(key) for key in _JUDGED} for when in ("before", "after")}
        preferred = judged.get("preferences", {}).get("accuracy")
        scores["alignment"] = {"gain": judged.get("gain"), "preferred": preferred, **parts}
    valid = about.get("valid", {})
    scores |= {key: valid[key] for key in ("loss", "perplexity", "bits_per_byte") if key in valid}
    return scores | {
        "tokens": about.get("fit", {}).get("tokens"),
        "valid_tokens": about.get("corpus", {}).get("tokens", [0, 0])[1],
    }


def _model_place(one: dict[str, Any]) -> tuple[Any, ...]:
    """Orders by bits per byte, which no tokenizer changes; not by loss, which has next sentences in it.

    An aligned model has neither: the greatest gain of its reward comes first.
    """
    bits, per_token = one.get("bits_per_byte"), one.get("perplexity")
    gain = one.get("alignment", {}).get("gain") or 0.0
    return (
        "method" in one,
        per_token is None,
        bits is None,
        bits or 0.0,
        per_token or 0.0,
        -gain,
        one["run"],
    )


def _about_translator(config: TranslationConfig, _: Mapping[str, Any], run: Path, __: Path) -> dict[str, Any]:
    """Returns a key of the validation pairs.

    Pairs divided off a file are identified by the file and the settings of the division.
    """
    if (rows := _identity(run)) is None:
        return {"data": None}
    data = config.data
    divided = [] if data.valid else [data.limit, data.valid_share, config.train.seed]
    return {"data": _hashed([rows, divided])}


def _translator_scores(about: Mapping[str, Any]) -> dict[str, Any]:
    valid = about.get("valid", {})
    known = ("bleu", "chrf", "signatures", "loss", "perplexity")
    return {key: valid[key] for key in known if key in valid}


def _translator_place(one: dict[str, Any]) -> tuple[Any, ...]:
    bleu, loss = one.get("bleu"), one.get("loss")
    return (loss is None, bleu is None, -(bleu or 0.0), loss or 0.0, one["run"])


BOARDS = (
    Board(CLASSIFIER, _about_classifier, _classifier_scores, _classifier_place),
    Board(LANGUAGE_MODEL, _about_model, _model_scores, _model_place),
    Board(TRANSLATOR, _about_translator, _translator_scores, _translator_place),
)
# An aligned model is listed among the language models.
_LISTED_AS = {ALIGNMENT.name: LANGUAGE_MODEL}
