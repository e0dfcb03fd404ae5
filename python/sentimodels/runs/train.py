"""`train` and `resume`: a run of any kind; with `train.refit` a classifier is trained twice."""

from pathlib import Path
from typing import Any

from ..config import AlignConfig, LanguageConfig, RunConfig, TranslationConfig
from .baselines import with_baseline
from .directory import FIRST
from .execute import Callbacks, execute, recipe_of
from .families import CLASSIFIER, family_of
from .tables import Tables

__all__ = ["resume", "train"]


def train(
    config: RunConfig | LanguageConfig | TranslationConfig | AlignConfig,
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Trains a model and writes its run directory; with `train.refit` trains it twice.

    Where `torchrun` has started several processes, each calls this; the first one writes.

    Args:
        config: the run; the kind of its task says what is trained.
        out: the directory, which must hold no run yet.
        callbacks: what is called while the run goes.
        tables: the rows of a classifier, if they are read already.
        baseline: whether to train TF-IDF as a baseline of a classifier; without it as the configuration says.

    Returns:
        What `run.json` holds; in other processes than the first, only how training went.

    Raises:
        SentiError: if a file, a setting or training does not allow it.
    """
    if not isinstance(config, RunConfig):
        return execute(recipe_of(config), out, callbacks)
    config = with_baseline(config, baseline)
    if config.train.refit and config.task.kind == "classification":
        from .refit import train_twice

        return train_twice(config, out, callbacks, tables)
    return execute(recipe_of(config, tables=tables), out, callbacks)


def resume(
    out: Path,
    callbacks: Callbacks | None = None,
    *,
    tables: Tables | None = None,
    baseline: bool | None = None,
) -> dict[str, Any]:
    """Resumes a stopped run; the result is that of a run that was not stopped.

    The arguments are those of `train`.

    Raises:
        CheckpointError: if there is nothing to resume, or the data, base, teacher or reward has changed.
    """
    first = out / FIRST
    if (first / "config.toml").is_file():
        from .refit import resume_twice

        return resume_twice(with_baseline(CLASSIFIER.load(first), baseline), out, callbacks)
    family = family_of(out)
    if family is CLASSIFIER:
        config = with_baseline(CLASSIFIER.load(out), baseline)
        return execute(recipe_of(config, tables=tables), out, callbacks, resumed=True)
    from .language_directory import load_unfinished

    return execute(recipe_of(load_unfinished(out, family)), out, callbacks, resumed=True)
