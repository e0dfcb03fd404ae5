"""`alignment_card`: what a run of `senti align` recorded: its base, its reward, and what changed.

Not for laying it out (`cli/cards/aligned.py`). What the model is, its configuration says as a language
model (`runs/card.py`), how it was aligned in `alignment.toml`.
"""

from pathlib import Path
from typing import Any

from ..runs.card import about_of, base_of, differing, ending, model_of, name_of, sources_of, training_of
from ..runs.families import ALIGNMENT, LANGUAGE_MODEL
from ..runs.lineage import BASE
from .judge import SAMPLES
from .rollout import weights_of

__all__ = ["alignment_card"]

# Keys that name files of the machine that trained, and what a card says elsewhere.
_ELSEWHERE = (
    "base", "base_sha256", "reward_sha256", "data.train", "data.held_out", "task.kind", "task.reward_run",
    "task.reward", "task.reward_value",
)  # fmt: skip


def alignment_card(folder: Path) -> dict[str, Any]:
    """Returns what the run directory of an aligned language model says of it.

    Raises:
        CheckpointError: if it is none, or its files are not those it was written with.
        ConfigError: if its configuration is not valid.
    """
    config, language = ALIGNMENT.load(folder), LANGUAGE_MODEL.load(folder)
    about, task = about_of(folder), config.task
    sources = sources_of(folder)
    reward = None
    if task.reward_run is not None:
        reward = {
            "name": name_of(task.reward_run),
            "sha256": config.reward_sha256,
            "weights": weights_of(task.reward) if task.reward is not None else {},
            "value": task.reward_value,
        }
    usual = ALIGNMENT.resolve({"task": {"kind": task.kind}}, complete=False)
    settings = differing(config.tree(), usual.tree(), _ELSEWHERE)
    return {
        "kind": "aligned-model",
        "name": folder.resolve().name,
        **model_of(language, folder, about),
        "method": task.kind,
        "base": base_of(config.base, config.base_sha256, any(one["role"] == BASE for one in sources)),
        "reward": reward,
        "data": sources,
        "opening_tokens": config.data.opening_tokens if task.kind == "ppo" else None,
        "max_new_tokens": task.max_new_tokens,
        "max_kl": task.max_kl,
        "alignment": about.get("alignment"),
        "samples": SAMPLES if (folder / SAMPLES).is_file() else None,
        "training": training_of(about, config.train.seed),
        "settings": {key: value for key, value in settings.items() if not key.startswith("task.reward.")},
        **ending(folder, about),
    }
