"""Runs as other programs read them; `EXPORTERS` is the table of formats.

To add one: write a module with a function of the signature of `export_onnx` and a function `refuse(config)`,
and add a row here; `senti export --to`, its help and the contract test read this table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..config import RunConfig

__all__ = ["EXPORTERS", "Exporter"]


@dataclass(frozen=True)
class Exporter:
    """A format that classifiers are written in.

    Attributes:
        file: the module in this package.
        name: of its function there.
        option: of `senti export`.
        tolerance: by how much a probability may differ from that of the run.
        reads: a line that reads a folder, to be shown; `{folder}` is replaced by its name, `{typed}` by
            its name as a shell takes it.
    """

    file: str
    name: str
    option: str
    tolerance: float
    reads: str

    def refuse(self, config: RunConfig) -> None:
        """Refuses a run that the format has no place for.

        Raises:
            ConfigError: naming the setting.
        """
        self._module().refuse(config)

    def export(
        self,
        run: Path,
        folder: Path,
        texts: Sequence[str],
        tolerance: float,
        *,
        replace: bool,
        **options: Any,
    ) -> dict[str, Any]:
        """Writes a run, compared with the run on texts; see `export_onnx`."""
        call: Callable[..., dict[str, Any]] = getattr(self._module(), self.name)
        return call(run, folder, texts, tolerance, replace=replace, **options)

    def _module(self) -> Any:
        return import_module(f".{self.file}", __package__)


EXPORTERS = {
    "transformers": Exporter(
        "transformers.classifier", "export_transformers", "--hf", 1e-5,
        "in Python: transformers.AutoModelForSequenceClassification.from_pretrained({folder!r})",
    ),
    "onnx": Exporter(
        "onnx.folder", "export_onnx", "--onnx", 1e-4,
        "in Python: sentimodels.export.onnx.OnnxReader.load({folder!r})",
    ),
    "numpy": Exporter(
        "numpy.folder", "export_numpy", "--numpy", 1e-6, "python {typed}/classifier.py < texts.txt"
    ),
}  # fmt: skip
