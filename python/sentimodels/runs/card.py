"""The facts of a run's model card: one dictionary for runs of every kind.

`cli/card/` lays it out. Nothing is measured again and nothing is typed: data, scores, intervals, limits and
hashes are those of the run directory, which is checked against its manifest first.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from ..config import (
    AlignConfig,
    DistillationConfig,
    LanguageConfig,
    MaskedConfig,
    RunConfig,
    Section,
    TranslationConfig,
    Written,
    reward_weights,
)
from ..data.label_sets import labels_kind
from ..data.record import BASE as BASE_ROLES
from ..data.record import TrainingRecord
from ..data.table import Labels
from ..errors import CheckpointError
from ..evaluation.answers import read_temperature
from ..evaluation.slices import wilson
from ..evaluation.thresholds import load_thresholds
from ..models.language import language_model_shape
from .directory import LABELS, WEIGHTS, listed, load_labels, manifest_hash, read_json
from .ensemble import FILE, members_of, predictor_hash, read_ensemble, verify_ensemble
from .families import (
    ALIGNMENT,
    CLASSIFIER,
    LANGUAGE_MODEL,
    SEQ2SEQ,
    TRANSLATOR,
    check_there,
    family_of,
    resolve,
)
from .group import is_group
from .language_directory import SAMPLES, SOURCES, load_tokenizer
from .lineage import BASE
from .pretrained import without_folder
from .verify import verify

__all__ = ["ENSEMBLE", "card", "kind_of"]

# The kind of a folder that combines several runs.
ENSEMBLE = "ensemble"

# Parts that are scored, with the rows that they are.
_PARTS = {"test": "test", "crossed": "valid", "valid": "valid"}
_TEXTS = ("max_tokens", "long", "lowercase", "tokenizer_model")
_SCORES = ("accuracy", "macro_f1", "micro_f1", "mae", "quadratic_kappa", "log_loss", "ece")
# Keys that name files of the machine that trained, and keys that the card shows elsewhere.
_ELSEWHERE = (
    "arch", "data.train", "data.valid", "data.test", "data.tokenizer", "data.vectors",
    "train.init_from", "task.teacher", "task.teacher_sha256",
)  # fmt: skip
_LANGUAGE_ELSEWHERE = (
    "arch", "preset", "task.kind", "data.corpus", "data.train", "data.valid", "data.tokenizer",
    "train.init_from",
)  # fmt: skip
_ALIGNMENT_ELSEWHERE = (
    "base", "base_sha256", "reward_sha256", "data.train", "data.held_out", "task.kind", "task.reward_run",
    "task.reward", "task.reward_value",
)  # fmt: skip


def card(folder: Path) -> dict[str, Any]:
    """Returns the facts in the directory of a run of any kind, or in an ensemble's folder.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
        ConfigError: if its configuration is not valid.
    """
    kind = kind_of(folder)
    facts = {"kind": kind, "name": folder.resolve().name}
    if kind == ENSEMBLE:
        return facts | _of_ensemble(folder)
    config = family_of(folder).load(folder)
    about = about_of(folder)
    own, usual, elsewhere = _FACTS[kind](folder, config, about)
    return {
        **facts,
        **own,
        "training": training_of(about, config.train.seed),
        "settings": differing(config.tree(), usual.tree(), elsewhere),
        **ending(folder, about),
    }


# Facts of one kind of run; the configuration that its settings are compared with; and the settings
# that a card leaves out.
_Facts = tuple[dict[str, Any], Written, Collection[str]]


def _of_classifier(folder: Path, config: RunConfig, about: Mapping[str, Any]) -> _Facts:
    record, first, model = TrainingRecord.load(folder), about.get("chosen", about), config.model.plain()
    # The folder that an `hf:` architecture was read from may be gone; the run has its settings.
    read = {"model": {"settings": model["settings"]}} if "settings" in model else {}
    own = {
        "arch": without_folder(config.arch),
        "example": about.get("example", "great fun"),
        "parameters": about["parameters"],
        "labels": {
            label: about.get("labels", {}).get(label) for label in read_json(folder / LABELS)["labels"]
        },
        "data": [
            {
                "role": source.role, "file": PurePath(source.source).name, "format": source.format,
                "rows": source.rows, "sha256": source.sha256,
            }
            for source in record.sources
        ],
        "texts": {key: config.data.plain().get(key) for key in _TEXTS},
        "cut": first.get("cut", {}),
        "scores": {
            **{part: _scores(first, part) for part in _PARTS if part in first and part != "test"},
            **({"test": _scores(about, "test")} if "test" in about else {}),
        },
        **{key: True for key in ("several", "ordered") if about.get(key)},
        "refitted": "chosen" in about,
        "judged": about.get("judged"),
        "taught": _taught(config, about),
        "imported": about.get("imported"),
        "baselines": about.get("baselines", {}),
        "thresholds": _thresholds(folder, load_labels(folder), about),
        "calibration": {
            "temperature": about.get("temperature", 1.0),
            "ece_before": first.get("valid", {}).get("ece_before"),
            "ece": first.get("valid", {}).get("ece"),
        },
    }  # fmt: skip
    return own, resolve({"arch": config.arch, **read}), _ELSEWHERE


def _thresholds(folder: Path, labels: Labels, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the thresholds that a folder answers by, and their scores where recorded."""
    own = load_thresholds(folder, labels)
    if own is None:
        return None
    recorded = about.get("thresholds") or {}
    same = recorded if recorded.get("rule") == own.rule and recorded.get("least") == list(own.least) else {}
    chosen_on = own.chosen_on or {}
    # What `senti thresholds` found on its rows: each half scored by the other's choice, else all of them.
    of_rows = {"chosen_crossed": chosen_on.get("crossed"), "chosen": chosen_on.get("scores")}
    same = {part: same[part] for part in _PARTS if same.get(part)} or of_rows
    part = next((part for part, scores in same.items() if scores), None)
    source = chosen_on.get("source")
    return {
        "rule": own.rule,
        "may_be_unsure": own.may_be_unsure,
        "file": None if source is None else PurePath(str(source)).name,
        "rows": chosen_on.get("rows"),
        "part": part,
        "scores": None if part is None else same[part],
    }


def _of_language_model(folder: Path, config: LanguageConfig, about: Mapping[str, Any]) -> _Facts:
    task, sources = config.task, sources_of(folder)
    own = {
        **model_of(config, folder, about),
        "mask_rate": task.rate if isinstance(task, MaskedConfig) else None,
        "imported": about.get("imported"),
        "base": base_of(config.train.init_from, None, any(one["role"] == BASE for one in sources)),
        "data": sources,
        "corpus": corpus_of(about),
        "scores": dict(about.get("valid", {})),
        # Baselines are bits per byte of the text, which masked models do not have.
        "baselines": about.get("baselines", {}) if "bits_per_byte" in about.get("valid", {}) else {},
    }
    same = {"arch": config.arch, "task": {"kind": task.kind}, "data": {"context": config.data.context}}
    return own, LANGUAGE_MODEL.resolve({**same, **_preset(config)}), _LANGUAGE_ELSEWHERE


def _of_translator(folder: Path, config: TranslationConfig, about: Mapping[str, Any]) -> _Facts:
    record, task, model = TrainingRecord.load(folder), config.task, config.model
    learned = getattr(model, "positions", None) == "learned"
    of_base = any(one.role.startswith(BASE_ROLES) for one in record.sources)
    own = {
        "arch": config.arch,
        "preset": config.preset,
        "parameters": parameters_of(about),
        "vocabulary": about.get("vocabulary") or load_tokenizer(folder).vocab_size,
        "sizes": sizes_of(model),
        "prompt": None if config.arch == SEQ2SEQ else task.prompt,
        "reads": getattr(model, "max_len", None) if learned else None,
        "max_tokens": config.data.max_tokens,
        "base": base_of(config.train.init_from, None, of_base),
        "data": [
            {
                "role": one.role, "file": ", ".join(map(name_of, one.source.split(", "))),
                "rows": one.rows, "sha256": one.sha256,
            }
            for one in record.sources
        ],
        "pairs": about.get("pairs", {}),
        "valid_given": bool(config.data.valid),
        "scores": dict(about.get("valid", {})),
        "search": {
            key: getattr(task, key) for key in ("beam", "norm", "alpha", "length_ratio", "length_extra")
        },
    }  # fmt: skip
    return own, TRANSLATOR.resolve({"arch": config.arch, **_preset(config)}), _LANGUAGE_ELSEWHERE


def _of_alignment(folder: Path, config: AlignConfig, about: Mapping[str, Any]) -> _Facts:
    task, sources, reward = config.task, sources_of(folder), None
    if task.reward_run is not None:
        reward = {
            "name": name_of(task.reward_run),
            "sha256": config.reward_sha256,
            "weights": reward_weights(task.reward) if task.reward is not None else {},
            "value": task.reward_value,
        }
    own = {
        **model_of(LANGUAGE_MODEL.load(folder), folder, about),
        "method": task.kind,
        "base": base_of(config.base, config.base_sha256, any(one["role"] == BASE for one in sources)),
        "reward": reward,
        "data": sources,
        "opening_tokens": config.data.opening_tokens if task.kind == "ppo" else None,
        "max_new_tokens": task.max_new_tokens,
        "max_kl": task.max_kl,
        "alignment": about.get("alignment"),
        "samples": SAMPLES if (folder / SAMPLES).is_file() else None,
    }
    usual = ALIGNMENT.resolve({"task": {"kind": task.kind}}, complete=False)
    return own, usual, _ALIGNMENT_ELSEWHERE


# By the name of the family (`families.py`).
_FACTS: dict[str, Callable[[Path, Any, Mapping[str, Any]], _Facts]] = {
    CLASSIFIER.name: _of_classifier,
    LANGUAGE_MODEL.name: _of_language_model,
    TRANSLATOR.name: _of_translator,
    ALIGNMENT.name: _of_alignment,
}


def _preset(config: LanguageConfig | TranslationConfig) -> dict[str, str]:
    return {} if config.preset is None else {"preset": config.preset}


def _taught(config: RunConfig, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns who taught a student, and how far it is from its teacher, if rows showed it; else `None`."""
    task = config.task
    if not isinstance(task, DistillationConfig):
        return None
    name = PurePath(task.teacher).name
    return {"teacher": name, "sha256": task.teacher_sha256, "distilled": about.get("distilled")}


def _scores(about: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Returns the scores of a part with its rows and the intervals that are known."""
    given, n = about[part], about["rows"][_PARTS[part]]
    scores = {name: given[name] for name in _SCORES if given.get(name) is not None}
    ends = dict(given.get("intervals", {}))
    # Of crossed answers no bootstrap is recorded: accuracy and rows give Wilson's interval.
    ends.setdefault("accuracy", list(wilson(given["accuracy"], n)))
    by = "bootstrap" if "accuracy" in given.get("intervals", {}) else "Wilson"
    return {"rows": n, **scores, "intervals": ends, "intervals_by": by}


def kind_of(folder: Path) -> str:
    """Returns the kind of a folder: a classifier, ensemble, language-model, translator or aligned-model.

    Raises:
        CheckpointError: if it holds no run.
        ConfigError: if its configuration is not valid TOML.
    """
    check_there(folder)
    if (folder / FILE).is_file():
        return ENSEMBLE
    if is_group(folder):
        raise CheckpointError(f"{folder}: a group of runs; name one of them, such as {_first(folder)}")
    return family_of(folder).name


def _first(folder: Path) -> Path:
    """Returns the first run of a group that has begun; the group itself, if none has."""
    return next((path.parent for path in sorted(folder.glob("*/config.toml"))), folder)


def about_of(folder: Path) -> dict[str, Any]:
    """Returns what `run.json` holds, of a run whose files are those it was written with.

    Raises:
        CheckpointError: if a file is missing, damaged or another one than the manifest names.
    """
    if wrong := verify(folder):
        raise CheckpointError(f"{folder}: not as it was written, so a card would be wrong: {wrong[0]}")
    return read_json(folder / "run.json")


def ending(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the last facts of every card: the files, their hashes, versions and the git commit."""
    return {
        "files": listed(folder),
        "manifest_sha256": manifest_hash(folder),
        "versions": about.get("versions", {}),
        "git": about.get("git"),
    }


def training_of(about: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns how training went: its steps, tokens, seconds and device; `None` where that is not recorded."""
    fit = about.get("fit", {})
    seconds = about.get("seconds")
    return {
        "seed": seed,
        **{key: fit.get(key) for key in ("stop", "steps", "best_step", "monitor", "tokens")},
        "device": about.get("device"),
        "seconds": None if seconds is None else round(sum(seconds.values()), 1),
    }


def base_of(start: str | None, sha256: str | None, learned: bool) -> dict[str, Any] | None:
    """Returns the start of weights; `None` if they were drawn.

    Args:
        start: the run directory, or the file of weights.
        sha256: the hash of its manifest, if the run recorded that.
        learned: whether the run recorded what that one had learned from.
    """
    if not start:
        return None
    return {"name": name_of(start), "sha256": sha256, "learned": learned}


def name_of(path: str) -> str:
    """Returns the name of a file or run without the folders it lies in; weights are named by their run."""
    place = PurePath(path)
    return f"{place.parent.name}/{place.name}" if place.name == WEIGHTS else place.name


def parameters_of(about: Mapping[str, Any]) -> int | None:
    """Returns how many parameters a run recorded; `None` if it did not."""
    count = about.get("parameters")
    return None if count is None else int(count)


def differing(
    tree: Mapping[str, Any], usual: Mapping[str, Any], elsewhere: Collection[str]
) -> dict[str, Any]:
    """Returns the settings of a configuration that are not the usual ones, by `section.key`.

    Args:
        tree: the configuration.
        usual: the one that they are compared with.
        elsewhere: keys that are left out, because the card shows them elsewhere or not at all.
    """
    defaults = dict(_flat(usual))
    tables = tuple(f"{key}." for key in elsewhere)
    return {
        key: value
        for key, value in _flat(tree)
        if value != defaults.get(key) and key not in elsewhere and not key.startswith(tables)
    }


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


# The settings that say how large a model is, where an architecture has them.
_SIZES = ("d_model", "n_layers", "n_decoder_layers", "n_heads", "d_hidden", "d_head", "d_state", "d_ff")


def model_of(config: LanguageConfig, folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of a language model: architecture, size, vocabulary, and how far it reads.

    `reads` are the tokens that it reads at most; `None`: any number, in a state of one size.
    """
    vocabulary = int(about.get("vocabulary") or load_tokenizer(folder).vocab_size)
    shape = language_model_shape(config, vocabulary)
    counted = sum(parameter.numel() for parameter in shape.parameters())
    return {
        "arch": config.arch,
        "task": config.task.kind,
        "preset": config.preset,
        "parameters": parameters_of(about) or counted,
        "vocabulary": vocabulary,
        "sizes": sizes_of(config.model),
        "context": config.data.context,
        "reads": config.data.context if shape.backbone.has_positions else None,
    }


def sizes_of(model: Section) -> dict[str, int]:
    """Returns widths and numbers of layers and heads, by their keys in `[model]`."""
    given = model.plain()
    return {key: given[key] for key in _SIZES if given.get(key) is not None}


def corpus_of(about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns how a corpus was divided: documents and tokens of training and validation."""
    corpus = about.get("corpus")
    if corpus is None:
        return None
    return {
        **{key: dict(zip(("train", "valid"), corpus[key], strict=True)) for key in ("documents", "tokens")},
        "valid_bytes": corpus.get("valid_bytes"),
        "left_out": corpus.get("left_out"),
    }


def sources_of(folder: Path) -> list[dict[str, Any]]:
    """Returns the files of `training_data.json`: role, file, documents, SHA-256; `corpus` is a run's own."""
    return [
        {
            "role": one.get("role", "corpus"), "file": name_of(one["source"]),
            "documents": one.get("documents") or None, "sha256": one["sha256"],
        }
        for one in read_json(folder / SOURCES).get("sources", [])
    ]  # fmt: skip


_OF_A_RUN = (
    "arch",
    "parameters",
    "labels",
    "several",
    "ordered",
    "scores",
    "refitted",
    "judged",
    "data",
    "files",
)


def _of_ensemble(folder: Path) -> dict[str, Any]:
    """Returns the facts in an ensemble's folder.

    It records members, weights, the temperature and the hash of the rows that chose them, and no scores:
    those are of each run alone.

    Raises:
        CheckpointError: if its file is damaged, or a run is gone or not the one it was made of.
    """
    value = read_ensemble(folder)
    if wrong := verify_ensemble(folder):
        raise CheckpointError(f"{folder}: not as it was written, so a card would be wrong: {wrong[0]}")
    members = []
    for one in value["members"]:
        run = folder / one["run"]
        if members_of(run) is not None:
            raise CheckpointError(f"{run}: an ensemble, not one classifier; name its runs")
        facts = card(run)
        members.append(
            {
                "name": PurePath(one["run"]).name,
                "weight": float(one["weight"]),
                "manifest_sha256": one["manifest_sha256"],
                **{key: facts[key] for key in _OF_A_RUN if key in facts},
            }
        )
    if not members:
        raise CheckpointError(f"{folder}: an ensemble of no runs; make it again: senti ensemble")
    chosen_on = value.get("dev_sha256")
    names = list(value.get("labels", members[0]["labels"]))
    return {
        "labels": names,
        **({"several": True} if "separator" in value else {}),
        **({"ordered": True} if value.get("ordered") else {}),
        "parameters": sum(one["parameters"] for one in members),
        "thresholds": _thresholds(folder, labels_kind({**value, "labels": names}), {}),
        "temperature": read_temperature(value["temperature"]),
        "members": members,
        "chosen_on": {
            "sha256": chosen_on,
            "files": sorted(
                {source["file"] for one in members for source in one["data"] if source["sha256"] == chosen_on}
            ),
        },
        "ensemble_sha256": predictor_hash(folder),
    }
