"""`RunConfig` = data + model + optim + train: all that a run is, read from and written to TOML.

Not for the fields of a model: each architecture's config sits in its file. Values are taken,
rising in weight, from the defaults of the sections, those that suit the architecture, its
preset, the file, and the command line (`resolve`). The resolved tree is saved beside the
weights in the same shape, and is enough to run again.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SerializeAsAny, ValidationError, field_validator

from .class_weights import positive
from .data.encoded import Long
from .data.opening import read_small
from .errors import ConfigError
from .models import architecture
from .section import Section

__all__ = ["DataConfig", "OptimConfig", "RunConfig", "TrainConfig", "read_toml", "resolve", "set_value"]


class DataConfig(Section):
    """What is read, and how texts become ids."""

    train: str = Field(default="", description="File or folder of the training texts.")
    valid: str | None = Field(
        default=None, description="File to stop on; without it a share of train is held out."
    )
    test: str | None = Field(default=None, description="File to report on at the end.")
    format: str | None = Field(
        default=None, description="Reader, when the name does not tell: csv, jsonl, phrases, ..."
    )
    text_column: str | None = Field(default=None, description="Column of the text; guessed when unambiguous.")
    label_column: str | None = Field(
        default=None, description="Column of the label; guessed when unambiguous."
    )
    group_column: str | None = Field(
        default=None, description="Column whose rows must not be split, as a sentence id."
    )
    where: str | None = Field(default=None, description="Rows kept, as in split=train.")
    encoding: str | None = Field(default=None, description="Encoding of the files; UTF-8 without it.")
    max_line_bytes: int | None = Field(
        default=None, ge=1, description="Longest line or row; 2^28 without it."
    )
    limit: int | None = Field(default=None, ge=1, description="Rows read at most, of each file.")
    skip: int = Field(default=0, ge=0, description="Rows left out at the beginning of each file.")
    clean: bool = Field(default=False, description="Write <br /> as a space.")
    unescape: bool = Field(default=False, description="Undo the escapes of treebanks, as in -LRB-.")
    valid_share: float = Field(
        default=0.1, ge=0, lt=1, description="Share held out when there is no valid file."
    )
    split_seed: int = Field(default=42, ge=0, description="Seed of that split.")
    tokenizer: str | None = Field(
        default=None, description="Tokenizer file; without it one is trained from train."
    )
    vocab_size: int = Field(
        default=16_000,
        ge=257,
        description="Size of a tokenizer trained here, at most; of words, the most frequent.",
    )
    tokenizer_model: Literal["words", "bpe", "wordpiece", "unigram"] = Field(
        default="words",
        description="What is made here without a tokenizer: words, whole ones, any other by its character "
        "n-grams; or a tokenizer of subwords: bpe, wordpiece, unigram.",
    )
    pre_tokenizer: str | None = Field(
        default=None, description="Where a tokenizer trained here cuts text; without it as suits its model."
    )
    lowercase: bool | None = Field(
        default=None,
        description="Whether texts are lower-cased; by default only for a tokenizer trained here.",
    )
    max_tokens: int = Field(default=256, ge=1, description="Longest row a model sees, in tokens.")
    long: Long = Field(default="truncate", description="Longer texts: truncate, head-tail or windows.")
    stride: int = Field(default=0, ge=0, description="Tokens that neighbouring windows share.")
    vectors: str | None = Field(
        default=None, description="Word vectors (GloVe text) that embeddings start from."
    )


class OptimConfig(Section):
    """How weights move."""

    name: Literal["adamw", "muon", "sgd"] = Field(
        default="adamw", description="adamw; muon: for matrices between layers, adamw for the rest; sgd."
    )
    lr: float = Field(default=1.5e-3, gt=0, description="Highest rate.")
    muon_lr: float = Field(default=0.02, gt=0, description="Highest rate of the matrices that muon moves.")
    weight_decay: float = Field(
        default=0.01, ge=0, description="Decay of matrices; embeddings and biases have none."
    )
    betas: tuple[float, float] = Field(default=(0.9, 0.98), description="Decay of the two moments.")
    eps: float = Field(default=1e-8, gt=0, description="Added to the root of the second moment.")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of sgd.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        default="cosine", description="Course of the rate."
    )
    warmup: float = Field(default=0.06, ge=0, lt=1, description="Share of all steps in which the rate rises.")
    floor: float = Field(default=0.05, ge=0, le=1, description="Rate at the end, as a share of the highest.")
    clip: float = Field(default=1.0, ge=0, description="Largest norm of all gradients together; 0 for none.")
    lazy_rows: bool = Field(default=True, description="Move only the embedding rows that a step has met.")
    rows_factor: float = Field(
        default=4.0,
        gt=0,
        description="Rate of the rows that lazy_rows moves, as a multiple: they move only when met.",
    )
    layer_decay: float = Field(
        default=1.0, gt=0, le=1, description="Factor of the rate for each layer further down."
    )
    freeze: tuple[str, ...] = Field(default=(), description="Parameters whose names begin so do not move.")
    unfreeze_at: int | None = Field(
        default=None, ge=1, description="Step at which the frozen ones begin to move."
    )

    @field_validator("betas")
    @classmethod
    def _below_one(cls, betas: tuple[float, float]) -> tuple[float, float]:
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas {list(betas)}: from 0 to below 1")
        return betas


class TrainConfig(Section):
    """How long, with which loss, on what."""

    seed: int = Field(default=0, ge=0, description="Seed of weights, order and dropout.")
    epochs: int | None = Field(
        default=None, ge=0, description="Passes over the texts; without it 2, and more where texts are few."
    )
    max_steps: int | None = Field(default=None, ge=1, description="Steps at most, whatever the epochs.")
    batch_size: int | None = Field(
        default=None, ge=1, description="Rows a batch; without it 128, and fewer where texts are few."
    )
    accumulate: int = Field(default=1, ge=1, description="Batches a step.")
    label_smoothing: float = Field(
        default=0.0, ge=0, lt=1, description="Share of each label spread over all."
    )
    focal_gamma: float = Field(default=0.0, ge=0, description="Focal loss: weight (1 - p)^gamma of each row.")
    focal_alpha: float = Field(
        default=1.0,
        gt=0,
        description="Factor of the loss of every row, the alpha of the focal loss; by class: class_weights.",
    )
    class_weights: Literal["none", "balanced"] | tuple[float, ...] | dict[str, float] = Field(
        default="none", description="none, balanced, a weight for each class in order, or by label."
    )
    sampler: Literal["shuffle", "balanced"] = Field(
        default="shuffle", description="balanced: classes equally often."
    )
    ema: float = Field(default=0.999, ge=0, lt=1, description="Decay of the averaged weights; 0 for none.")
    r_drop: float = Field(default=0.0, ge=0, description="Weight of the distance between two dropout passes.")
    mixup: float = Field(
        default=0.0, ge=0, description="Alpha of the Beta that mixes embeddings; 0 for none."
    )
    evaluate_every: int = Field(default=0, ge=0, description="Steps between evaluations; 0: once an epoch.")
    patience: int = Field(default=3, ge=0, description="Evaluations without gain before stopping; 0: never.")
    save_every: int = Field(default=0, ge=0, description="Steps between saved states; 0: at each evaluation.")
    log_every: int = Field(default=20, ge=1, description="Steps between lines of metrics.jsonl.")
    track: Literal["none", "tensorboard", "wandb"] = Field(
        default="none",
        description="Also told of the run: none, tensorboard or wandb (the extra track); "
        "metrics.jsonl is always written.",
    )
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1, mps, ...")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="auto: bfloat16 on GPUs that have it, else float32."
    )
    compile: bool = Field(default=False, description="torch.compile, with lengths padded to a multiple of 8.")
    threads: int | None = Field(
        default=None, ge=1, description="Threads of torch; by default its own choice."
    )
    deterministic: bool = Field(default=False, description="Refuse kernels whose result may vary (GPU).")

    def course(self, n_rows: int) -> "Course":
        """Returns how many rows make a batch, and batches a run, for so many rows in all.

        A thousand rows in batches of 128 would be 8 steps a pass: too few to learn from.
        """
        epochs, size = self.epochs, self.batch_size
        if epochs is None:
            epochs = min(20, max(2, -(-100_000 // max(1, n_rows))))
        if size is None:
            size = min(128, max(16, n_rows // 64))
        n_batches = -(-n_rows // size)
        steps = epochs * -(-n_batches // self.accumulate)
        return Course(size, n_batches, min(steps, self.max_steps or steps))

    @field_validator("class_weights", mode="before")
    @classmethod
    def _positive(cls, weights: Any) -> Any:
        return positive(weights)


@dataclass(frozen=True)
class Course:
    """Rows a batch, batches a pass over the rows, and steps in all."""

    batch_size: int
    n_batches: int
    steps: int


class RunConfig(Section):
    """A run."""

    arch: str = Field(default="lstm", description="Architecture; senti archs lists them.")
    preset: str | None = Field(
        default=None, description="Size of the architecture by name; [model] goes on from it."
    )
    data: DataConfig
    model: SerializeAsAny[Section]
    optim: OptimConfig
    train: TrainConfig

    def to_toml(self, *, comments: bool = False) -> str:
        """Writes the configuration as TOML, with what each key means if asked."""
        lines = _table(self, {"arch": self.arch, "preset": self.preset}, comments)
        for name in ("data", "model", "optim", "train"):
            section: Section = getattr(self, name)
            lines += ["", f"[{name}]", *_table(section, section.model_dump(mode="json"), comments)]
        return "\n".join(lines) + "\n"

    def tree(self) -> dict[str, Any]:
        """Returns the configuration as plain values, without unset ones."""
        sections = {name: getattr(self, name).plain() for name in ("data", "model", "optim", "train")}
        top = {"arch": self.arch} | ({"preset": self.preset} if self.preset else {})
        return top | sections


def _table(section: Section, values: Mapping[str, Any], comments: bool) -> list[str]:
    meaning = dict(section.documented())
    lines = []
    for key, value in values.items():
        if comments:
            lines.append(f"# {meaning.get(key, '')}")
        # TOML has no null: an unset key is shown as one that is not there.
        lines.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
    return lines if comments else [line for line in lines if not line.startswith("#")]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a configuration file.

    Raises:
        ConfigError: if it is no TOML.
    """
    try:
        return tomllib.loads(read_small(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: no TOML: {error}") from error


def set_value(tree: dict[str, Any], assignment: str) -> None:
    """Carries out `optim.lr=3e-4` on a tree; the value is TOML, or else a string.

    Raises:
        ConfigError: if it is no assignment.
    """
    path, equals, text = assignment.partition("=")
    *parents, key = path.strip().split(".")
    if not equals or not key or not all(parents):
        raise ConfigError(f"--set {assignment}: expected section.key=value, as in optim.lr=3e-4")
    for parent in parents:
        tree = tree.setdefault(parent, {})
        if not isinstance(tree, dict):
            raise ConfigError(f"--set {assignment}: {parent} is no section")
    try:
        tree[key] = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        tree[key] = text.strip()


def resolve(*trees: Mapping[str, Any]) -> RunConfig:
    """Merges trees, the last one winning, over the defaults, and checks the result.

    Raises:
        ConfigError: naming the key, its value, and what would be possible.
    """
    given = _merge(trees)
    name = given.get("arch", RunConfig.model_fields["arch"].default)
    row = architecture(name)
    preset = given.get("preset")
    if preset is not None and preset not in row.presets:
        there = ", ".join(row.presets) or "none"
        raise ConfigError(f"{name} has no preset {preset!r}; there are: {there}")
    below = {"optim": row.optim, "train": row.train, "model": row.presets[preset] if preset else {}}
    full = _merge([{"data": {}, "model": {}, "optim": {}, "train": {}}, below, given])
    # The kind of `model` depends on `arch`, so it is checked first, by itself.
    full["model"] = _checked(row.config, full["model"], "model.")
    checked = _checked(RunConfig, full, "")
    assert isinstance(checked, RunConfig)
    _reached(checked)
    return checked


def _reached(config: RunConfig) -> None:
    """Refuses rows longer than learned positions reach: training would fail at the first one."""
    model, longest = config.model, config.data.max_tokens
    if getattr(model, "positions", None) != "learned":
        return
    said = f"data.max_tokens {longest}"
    if config.train.compile and longest % 8:
        longest += -longest % 8
        said += f" ({longest} once train.compile pads to a multiple of 8)"
    reach = getattr(model, "max_len", longest)
    if longest > reach:
        raise ConfigError(
            f"{said}: longer than the {reach} places that positions are learned for; raise "
            "model.max_len, lower data.max_tokens, or take model.positions rotary, sinusoidal or alibi"
        )


def _merge(trees: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            old = out.get(key)
            out[key] = _merge([old, value]) if isinstance(old, dict) and isinstance(value, Mapping) else value
            if isinstance(out[key], Mapping):
                out[key] = dict(out[key])
    return out


def _checked(kind: type[Section], values: Any, prefix: str) -> Section:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError("; ".join(_said(kind, item, prefix) for item in error.errors())) from error


def _said(kind: type[Section], item: Any, prefix: str) -> str:
    """Writes one finding of pydantic as the key, what is wrong, and what would be right."""
    path = [str(part) for part in item["loc"]]
    where = (prefix + ".".join(path)).rstrip(".")
    if item["type"] != "extra_forbidden":
        message = str(item["msg"]).removeprefix("Value error, ")
        given = item.get("input")
        return f"{where}: {message}" + ("" if isinstance(given, dict) else f", not {given!r}")
    known = _keys(kind, path[:-1])
    elsewhere = [name for name, section in _SECTIONS.items() if path[-1] in section.model_fields]
    near = difflib.get_close_matches(path[-1], known, n=1)
    if elsewhere:
        hint = f"did you mean {elsewhere[0]}.{path[-1]}?"
    elif near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"there are {', '.join(known)}"
    return f"{where}: no such key; {hint}"


_SECTIONS: dict[str, type[Section]] = {"data": DataConfig, "optim": OptimConfig, "train": TrainConfig}


def _keys(kind: type[Section], path: list[str]) -> list[str]:
    for name in path:
        kind = _SECTIONS.get(name, kind)
    return list(kind.model_fields)
