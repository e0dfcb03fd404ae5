"""A teacher and small students of it: what tests of distillation begin with."""

from pathlib import Path
from typing import Any

from labelled_reviews import rows, tree, write
from sentimodels.config import RunConfig
from sentimodels.recipes.distillation import resolve_distillation
from sentimodels.runs.execute import train
from sentimodels.runs.families import resolve

__all__ = ["make", "student"]


def make(folder: Path) -> Path:
    """Writes a teacher, trained on nine tenths of `reviews.csv`, and texts without labels."""
    write(folder / "reviews.csv", 400)
    train(resolve(tree("bow", folder / "reviews.csv")), folder / "teacher", baseline=False)
    texts = [text for text, _ in rows(300, seed=7)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n\n", "utf-8")
    return folder


def student(made: Path, arch: str = "cnn", /, **more: dict[str, Any]) -> RunConfig:
    """A small student of the teacher."""
    small = tree(arch, made / "reviews.csv")
    data = {"vocab_size": 300, **more.pop("data", {})}
    task = {"teacher": str(made / "teacher"), **more.pop("task", {})}
    return resolve_distillation({**small, "data": data, "task": task}, more)
