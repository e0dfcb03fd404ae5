"""The language models of a folder, ranked by bits per byte of the validation text, or by loss.

Not for classifiers (`leaderboard.py`). Bits per byte do not depend on the tokenizer, so runs are ranked
among those with the same validation documents; perplexity compares runs of one tokenizer alone. An aligned
model has neither: of it the rewards are told, with what they cost, the greatest gain first.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from ..config import LanguageConfig
from ..errors import CheckpointError, ConfigError
from ..training.state import STATE
from .config import read_toml
from .families import ALIGNMENT, LANGUAGE_MODEL
from .lineage import own_sources
from .manifest import MANIFEST, read_json

__all__ = ["entry", "place"]

# What the board shows of an aligned model's answers.
_JUDGED = ("reward_mean", "kl", "distinct_2")


def place(one: dict[str, Any]) -> tuple[Any, ...]:
    """Returns what runs are ordered by; not the loss, which has that of next sentences in it."""
    bits, per_token = one.get("bits_per_byte"), one.get("perplexity")
    gain = one.get("alignment", {}).get("gain")
    return (
        "method" in one,
        per_token is None,
        bits is None,
        bits or 0.0,
        per_token or 0.0,
        -(gain or 0.0),
        one["run"],
    )


def entry(folder: Path, run: Path) -> dict[str, Any]:
    """Returns what is known of a language model.

    Args:
        folder: the folder that the path of the run starts from.
        run: its directory.

    Returns:
        `run`; `arch`, `task`, `preset`; `state`, `finished`, `stopped` or `unfinished`;
        `data`, which tells runs with the same validation documents; and once it is known `perplexity`,
        `loss`, `bits_per_byte` of next-token models, `parameters`, `tokens` and `seconds`. Aligned ones
        come last and have `method` and, once it is known, `alignment`: `gain`; `preferred`, the share of
        pairs whose chosen answer DPO has it prefer; and of the answers `before` and `after` `reward_mean`,
        `kl` and `distinct_2`.
    """
    config = LANGUAGE_MODEL.resolve(read_toml(run / "config.toml"))
    state = "finished" if (run / MANIFEST).is_file() else "unfinished"
    if (run / STATE).is_file():
        state = "stopped"
    about = read_json(run / "run.json") if (run / "run.json").is_file() else {}
    found: dict[str, Any] = {
        "run": run.relative_to(folder).as_posix() if run != folder else run.name,
        "arch": config.arch, "task": config.task.kind, "preset": config.preset, "state": state,
        "data": _data(run, config, about),
    }  # fmt: skip
    if (run / ALIGNMENT.file).is_file():
        found["method"] = read_toml(run / ALIGNMENT.file)["task"]["kind"]
    if not about:
        return found
    if (judged := about.get("alignment")) is not None:
        parts = {when: {key: judged[when].get(key) for key in _JUDGED} for when in ("before", "after")}
        preferred = judged.get("preferences", {}).get("accuracy")
        found["alignment"] = {"gain": judged.get("gain"), "preferred": preferred, **parts}
    valid = about.get("valid", {})
    found |= {key: valid[key] for key in ("loss", "perplexity", "bits_per_byte") if key in valid}
    return found | {
        "parameters": about.get("parameters"), "tokens": about.get("fit", {}).get("tokens"),
        "valid_tokens": about.get("corpus", {}).get("tokens", [0, 0])[1],
        "seconds": round(sum(about.get("seconds", {}).values()), 1),
    }  # fmt: skip


def _data(run: Path, config: LanguageConfig, about: dict[str, Any]) -> str | None:
    """Returns what is the same for runs with the same validation documents.

    How many documents `data.valid_tokens` allows depends on the tokenizer, so their bytes count as well.
    """
    try:
        sources = read_json(run / "training_data.json").get("sources", [])
    except (CheckpointError, ConfigError):
        return None
    data = config.data
    own = sorted(str(source.get("sha256")) for source in own_sources(sources))
    told: list[Any] = [own, data.format, data.limit]
    told += [data.valid_share, data.split_seed, about.get("corpus", {}).get("valid_bytes")]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
