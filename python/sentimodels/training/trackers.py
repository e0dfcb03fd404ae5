"""`tracking`: sends a run's records to TensorBoard or Weights & Biases as well, if `train.track` asks for it.

Both get the resolved configuration, and by step loss, rate, tokens per second, epoch and the
scores of the validation texts; never texts or weights. `metrics.jsonl` is written in any
case. TensorBoard's files lie in the folder `tensorboard` of the run. Where wandb writes and
sends, to which project, and whether at all (`WANDB_MODE=offline`) is what the user's own
environment says. Both come with the extra `track`; nothing of them is imported without it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ..config import AlignConfig, LanguageConfig, RunConfig, TranslationConfig
from ..errors import ConfigError

__all__ = ["check_tracker", "tracking"]

AnyConfig = RunConfig | LanguageConfig | TranslationConfig | AlignConfig
OnRecord = Callable[[dict[str, Any]], None]

# Fields of `metrics.jsonl` by the name that trackers show; scores of a task, `val_x`, are `valid/x`.
_SHOWN = {
    "train/loss": "loss",
    "train/lr": "lr",
    "train/epoch": "epoch",
    "train/grad_norm": "grad_norm",
    "train/tokens_per_second": "tokens_per_second",
    "train/mfu": "mfu",
}


class _Tracker(Protocol):
    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Takes the values of a step."""

    def close(self, failed: bool) -> None:
        """Ends the run."""


# (module, the name in it that is used, the package that brings it)
_NEEDED = {
    "tensorboard": ("torch.utils.tensorboard", "SummaryWriter", "tensorboard"),
    "wandb": ("wandb", "init", "wandb"),
}


def check_tracker(kind: str) -> None:
    """Refuses a tracker that is not installed.

    Raises:
        ConfigError: naming the extra.
    """
    if kind != "none":
        _imported(kind)


def _imported(kind: str) -> Any:
    module, name, package = _NEEDED[kind]
    try:
        tracker_module = import_module(module)
        # The folder ./wandb, where wandb writes, can be imported as well.
        if not hasattr(tracker_module, name):
            raise ImportError(f"{module} has no {name}")
    except ImportError as error:
        raise ConfigError(
            f"train.track {kind!r}: {package} cannot be imported ({error}); "
            'install the extra: pip install "sentitok[track]"'
        ) from error
    return tracker_module


class _TensorBoard:
    """Event files in the run directory."""

    def __init__(self, config: AnyConfig, folder: Path) -> None:
        self._kind = _imported("tensorboard").SummaryWriter
        self._config, self._folder = config, folder / "tensorboard"
        self._writer: Any = None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Takes the values of a step."""
        if self._writer is None:  # the run directory does not exist earlier
            # A resumed run takes some steps again: their earlier values are hidden.
            again = step if self._folder.is_dir() else None
            self._writer = self._kind(log_dir=str(self._folder), purge_step=again)
            toml = self._config.to_toml()
            # Indented: TensorBoard reads Markdown.
            self._writer.add_text("config", "".join(f"    {line}\n" for line in toml.splitlines()), step)
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self, failed: bool) -> None:  # noqa: ARG002  # 2026-11-23: its files have no place for it
        """Writes the records that are left."""
        if self._writer is not None:
            self._writer.close()


class _Wandb:
    """A run of wandb; a resumed run continues under its id."""

    def __init__(self, config: AnyConfig, folder: Path) -> None:
        wandb = _imported("wandb")
        self._id_file = folder / "wandb" / "run_id"
        begun = self._id_file.read_text("utf-8").strip() if self._id_file.is_file() else None
        try:
            self._run = wandb.init(
                config=config.tree(),
                name=None if os.environ.get("WANDB_NAME") else folder.as_posix(),
                id=begun,
                resume="allow" if begun else None,
            )
        except wandb.Error as error:
            said = str(error).rstrip(".")
            raise ConfigError(
                f"train.track 'wandb': {said}; or set WANDB_MODE=offline, which sends nothing"
            ) from error

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Takes the values of a step."""
        if not self._id_file.is_file():
            self._id_file.parent.mkdir(parents=True, exist_ok=True)
            self._id_file.write_text(f"{self._run.id}\n", "utf-8")
        self._run.log(dict(values), step=step)

    def close(self, failed: bool) -> None:
        """Ends the run, as failed or as done."""
        self._run.finish(exit_code=1 if failed else 0)


_TRACKERS: dict[str, Callable[[AnyConfig, Path], _Tracker]] = {
    "tensorboard": _TensorBoard,
    "wandb": _Wandb,
}


@contextmanager
def tracking(config: AnyConfig, folder: Path, on_record: OnRecord) -> Iterator[OnRecord]:
    """Yields the function to call with each record: the tracker, then `on_record`.

    Args:
        config: the run; `train.track` names the tracker, and it is shown whole.
        folder: the directory of the run.
        on_record: called after the tracker.

    Raises:
        ConfigError: if the tracker is not installed, or its account not set up.
    """
    if config.train.track == "none":
        yield on_record
        return
    tracker = _TRACKERS[config.train.track](config, folder)

    def record_all(record: dict[str, Any]) -> None:
        values = {shown: record[field] for shown, field in _SHOWN.items() if field in record}
        scores = {name: value for name, value in record.items() if name.startswith("val_")}
        values |= {f"valid/{name.removeprefix('val_')}": value for name, value in scores.items()}
        tracker.write(record["step"], values)
        on_record(record)

    failed = True
    try:
        yield record_all
        failed = False
    finally:
        tracker.close(failed)
