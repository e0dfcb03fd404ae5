"""The runs of `bert.py`: models that are pre-trained, and classifiers that start from them, in a folder.

`pretrained_rows.py` lists the models, and `bert.py` judges them.
"""

import json
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from as_phrases import as_phrases, tokenizer_of
from parts import HELD_OUT, SETS, Parts
from pretrained_rows import (
    BASES,
    CONTEXT,
    KINDS,
    OF_ARCH,
    OF_SET,
    PRESET,
    SEEDS,
    VOCABULARY,
    WAYS,
    Tree,
    Trial,
    chosen,
    trials,
)  # fmt: skip
from result import data_folder
from run import fewer
from steps import Stop, pretrained, trained

from sentimodels.config import RunConfig
from sentimodels.data import Table
from sentimodels.data.normalization import fold
from sentimodels.data.table import sentences
from sentimodels.runs.directory import finished, read_json
from sentimodels.runs.families import LANGUAGE_MODEL, resolve
from sentimodels.runs.init_weights import inherit_config
from sentimodels.runs.tables import Tables
from sentitok.atomic import write as write_atomically


class Bench:
    """The runs of the benchmark, in a folder.

    Args:
        out: the folder.
        stop: whether the time has ended.
        small: whether rows and sizes are few.
    """

    def __init__(self, out: Path, stop: Stop, *, small: bool = False) -> None:
        self.out, self.stop, self.small = out, stop, small
        self.seeds = 2 if small else SEEDS

    @cache  # noqa: B019  # 2026-11-23: one bench a process
    def parts(self, of_set: str) -> Parts:
        """Returns the rows of a set, written as the phrases are; small ones leave the sealed part alone."""
        (whole,) = SETS[of_set](data_folder())
        if self.small:
            some = fewer(whole, 200)
            whole = Parts(some.train, some.dev, lambda: some.dev)
        return Parts(written(whole.train), written(whole.dev), lambda: written(whole.sealed()))

    @cached_property
    def corpus(self) -> Path:
        """Training texts of both sets, without those in dev or the sealed part of either too."""
        path = self.out / "as-phrases.jsonl"
        if not path.is_file():
            reviews, phrases = self.parts("imdb"), self.parts("kaggle")
            judge = {
                fold(text)
                for of in (reviews, phrases)
                for table in (of.dev, of.sealed())
                for text in table.texts
            }
            texts = [*reviews.train.texts, *sentences(phrases.train)]
            kept = [json.dumps({"text": text}) + "\n" for text in texts if fold(text) not in judge]
            self.out.mkdir(parents=True, exist_ok=True)
            write_atomically(path, "".join(kept).encode())
        return path

    def tokenizer(self, arch: str, vocab_size: int) -> Path:
        """The tokenizer of an architecture, trained on the corpus."""
        path = self.out / f"as-phrases-{arch}.json"
        if not path.is_file():
            with self.corpus.open(encoding="utf-8") as lines:
                texts = [json.loads(line)["text"] for line in lines]
            tokenizer_of(texts, vocab_size, masked=arch == "bert").save(path)
        return path

    def base_folder(self, name: str) -> Path:
        return self.out / "bases" / name

    def base_tree(self, name: str) -> Tree:
        """Returns the configuration of a pre-trained model."""
        tree = BASES[name]
        train = {**tree["train"], "threads": 1, "save_every": 50}
        size, vocab = (PRESET, VOCABULARY) if not self.small else ("nano", 600)
        if self.small:
            train = {"max_steps": 6, "batch_size": 8, "threads": 1, "save_every": 2}
        data: Tree = {"corpus": [str(self.corpus)], "tokenizer": str(self.tokenizer(tree["arch"], vocab))}
        data |= {"context": CONTEXT, "valid_tokens": 100_000, "exclude": str(HELD_OUT)}
        return {**tree, "preset": size, "data": data, "train": train}

    def base(self, name: str) -> dict[str, Any] | None:
        """Pre-trains a model as far as the time goes."""
        return pretrained(LANGUAGE_MODEL.resolve(self.base_tree(name)), self.base_folder(name), self.stop)

    def config(self, of_set: str, kind: str, trial: Trial, seed: int) -> RunConfig:
        """Returns the configuration of a classifier; the base must be there.

        One whose weights are drawn has that of one that starts from the base, which is named no more; so
        the tokenizer is.
        """
        one = KINDS[kind]
        base = self.base_folder(one.base)
        start = {"train": {"init_from": str(base)}}
        own = {"optim": {"lr": trial.rate}, "train": {"seed": seed, "threads": 1, "save_every": 50}}
        way = WAYS[trial.way]
        made = resolve(
            *inherit_config({"arch": one.arch}, start, OF_ARCH[one.arch], way, OF_SET[of_set], own)
        )
        if self.small:
            made = resolve(made.tree(), {"train": {"max_steps": 3}})
        if one.starts:
            return made
        tree = made.tree()
        tree["train"].pop("init_from")
        return resolve(tree, {"data": {"tokenizer": str(base / "tokenizer.json")}})

    def folder(self, of_set: str, kind: str, trial: Trial, seed: int) -> Path:
        name = f"{kind}-rate-{trial}-seed-{seed}".replace(", ", "+").replace(" ", "-")
        return self.out / of_set / name

    def classifier(self, of_set: str, kind: str, trial: Trial, seed: int) -> dict[str, Any] | None:
        """Trains a classifier as far as the time goes, its base first."""
        run = self.folder(of_set, kind, trial, seed)
        if not finished(run) and self.base(KINDS[kind].base) is None:
            return None
        parts = self.parts(of_set)
        config = self.config(of_set, kind, trial, seed)
        return trained(config, run, self.stop, Tables.of(parts.train, parts.dev))

    def trials(self, of_set: str, kind: str) -> list[Trial]:
        return trials(of_set, KINDS[kind].arch)[: 2 if self.small else None]

    def tried(self, of_set: str, kind: str) -> dict[Trial, float] | None:
        """Returns what each trial reaches on dev, first seed; `None` where the time ended before."""
        reached = {}
        for trial in self.trials(of_set, kind):
            about = self.classifier(of_set, kind, trial, 0)
            if about is None:
                return None
            reached[trial] = about["valid"]["accuracy"]
        return reached

    def chosen(self, of_set: str, kind: str) -> Trial | None:
        """Returns the trial that is best on dev; `None` where the time ended before all were there."""
        reached = self.tried(of_set, kind)
        return None if reached is None else chosen(reached)

    def runs(self, of_set: str, kind: str) -> list[Path] | None:
        """Trains all seeds of a kind; returns their folders, `None` where the time ended before."""
        best = self.chosen(of_set, kind)
        if best is None:
            return None
        if any(self.classifier(of_set, kind, best, seed) is None for seed in range(self.seeds)):
            return None
        return [self.folder(of_set, kind, best, seed) for seed in range(self.seeds)]

    def there(self, of_set: str, kind: str) -> tuple[int, int]:
        """Returns how many runs of a kind have finished, and of how many."""
        every = self.trials(of_set, kind)
        first = [finished(self.folder(of_set, kind, trial, 0)) for trial in every]
        most = max(
            sum(finished(self.folder(of_set, kind, trial, seed)) for seed in range(1, self.seeds))
            for trial in every
        )
        return sum(first) + most, len(first) + self.seeds - 1


def written(table: Table) -> Table:
    """Returns a table whose texts are written as the phrases are."""
    return replace(table, texts=[as_phrases(text) for text in table.texts])


def about(run: Path) -> dict[str, Any]:
    """Returns what a run says of itself."""
    return read_json(run / "run.json")
