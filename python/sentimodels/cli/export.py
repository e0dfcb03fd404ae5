"""`senti export`, `page` and `import`: models as other programs read and write them.

Language models as transformers does (`export/transformers/folder.py`), classifiers in the formats of the
table `export.EXPORTERS`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sentitok.cli.output import bytes_text, counted, lines, number

from ..export import EXPORTERS
from .command import (
    AsJson,
    Force,
    Output,
    Quiet,
    Traceback,
    UsageError,
    add,
    announce,
    put,
    put_file,
    typed,
)
from .tables import READ_WHOLE, TextColumn, Windows, read, refuse_idle_windows

_FORMATS = tuple(EXPORTERS)


def export(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="Run directory of a language model or a classifier."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="Format to write: transformers, onnx or numpy. [default: transformers]",
            autocompletion=lambda: list(_FORMATS),
        ),
    ] = None,
    hf: Annotated[bool, typer.Option("--hf", help="Same as --to transformers.")] = False,
    onnx: Annotated[bool, typer.Option("--onnx", help="Same as --to onnx.")] = False,
    numpy: Annotated[bool, typer.Option("--numpy", help="Same as --to numpy.")] = False,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8",
            help="With --onnx: hold the weights in 8 bits, and print the loss in accuracy and the gain in "
            "speed.",
        ),
    ] = False,
    windows: Windows = False,
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="File of texts to compare the export with the run on. [default: the validation or training "
            "file]",
        ),
    ] = None,
    text_column: TextColumn = None,
    limit: Annotated[
        int,
        typer.Option("--limit", min=1, metavar="N", help="Maximum number of texts to compare on."),
    ] = 1000,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="P",
            help="Maximum difference of a probability between the run and the export. [default: 0.00001 for "
            "transformers, 0.0001 for onnx, 0.000001 for numpy]",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a model as another library reads it.

    For transformers: a gpt that is GPT-2 (learned positions, LayerNorm first, biases) or a bert, with
    its heads and its tokenizer, as safetensors, or a classifier of transformers with its own head. As ONNX
    (extra onnx): a classifier, with its tokenizer, for any number of texts of any length. For numpy: a
    classifier (tfidf, nb, bow, cnn) with a reader that needs numpy and sentitok alone. A classifier is
    compared with the run on real texts before it is written.
    """
    output = Output("senti.export/1", as_json=as_json, quiet=quiet)
    typed = {"transformers": hf, "onnx": onnx, "numpy": numpy}
    named = {EXPORTERS[name].option: name for name, is_typed in typed.items() if is_typed}
    named |= {} if to is None else {f"--to {to}": to}
    if len(set(named.values())) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other")
    wanted = next(iter(named.values()), "transformers")
    if wanted not in _FORMATS:
        raise UsageError(f"--to {wanted}: expected {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}")
    if int8 and wanted != "onnx":
        raise UsageError("--int8: weights of 8 bits are ONNX's; add --onnx")
    if windows and wanted == "transformers":
        raise UsageError(
            "--windows: a folder of transformers does not say how texts are cut; --onnx and --numpy do"
        )
    if _is_classifier(run, wanted):
        if windows:
            refuse_idle_windows([run])
        compared_on = (texts, text_column, limit)
        options = {"int8": int8, "windows": windows}
        _classifier(output, run, out, wanted, compared_on, tolerance, options, force=force)
        return
    from ..export.transformers.folder import export_model
    from ..runs.directory import read_json
    from ..runs.language_directory import load_language_model

    model = load_language_model(run)
    files, _ = put((out, lambda path: export_model(model, path, replace=force)), force=force)
    (with_heads,) = read_json(out / "config.json")["architectures"]
    read_back = ("next", f"in Python: transformers.{with_heads}.from_pretrained({str(out)!r})")
    output.result({"out": str(out), "files": files}, lines([*_written(files), read_back]), str(out))


def _refuse_ensemble(run: Path) -> None:
    """Refuses an ensemble.

    Raises:
        UsageError: naming one of its runs, and how to make one run of all.
    """
    from ..runs.ensemble import members_of

    if members := members_of(run):
        raise UsageError(
            f"{run}: an ensemble, and one run is exported at a time; name one, such as {members[0]}, or "
            f"distil all into one: senti distill {run}"
        )


def _is_classifier(run: Path, wanted: str) -> bool:
    """Whether a run is a classifier, which the table of formats writes, and not a language model.

    Raises:
        UsageError: for an ensemble, and for a language model where only classifiers are written.
    """
    from ..runs.families import ALIGNMENT, CLASSIFIER, LANGUAGE_MODEL, family_of

    _refuse_ensemble(run)
    family, option = family_of(run), EXPORTERS[wanted].option
    if wanted != "transformers" and family in (LANGUAGE_MODEL, ALIGNMENT):
        raise UsageError(
            f"{run}: a language model, and {option} writes classifiers; leave out {option} to write it "
            "for transformers"
        )
    return family is CLASSIFIER or wanted != "transformers"


def _classifier(
    output: Output,
    run: Path,
    out: Path,
    wanted: str,
    compared_on: tuple[Path | None, str | None, int],
    tolerance: float | None,
    asked: Mapping[str, bool],
    *,
    force: bool,
) -> None:
    """Writes a classifier in a format of the table, with the `asked` options."""
    from ..data.encoded import Cut
    from ..evaluation.thresholds import FILE as THRESHOLDS
    from ..evaluation.thresholds import load_thresholds
    from ..runs.directory import load_labels
    from ..runs.families import CLASSIFIER

    exporter = EXPORTERS[wanted]
    tolerance = exporter.tolerance if tolerance is None else tolerance
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise UsageError(f"--tolerance {tolerance}: expected a number above 0")
    config = CLASSIFIER.load(run)
    exporter.refuse(config)
    if wanted == "transformers" and (run / THRESHOLDS).is_file():
        output.note(
            f"the thresholds of {run} are left out: a folder of transformers has no place for them, and "
            "answers with the likeliest label; --onnx and --numpy hold them"
        )
    texts, text_column, limit = compared_on
    data = config.data
    if texts is None:
        there = [Path(path) for path in (data.valid, data.train) if path and Path(path).exists()]
        if not there:
            raise UsageError(
                f"{run}: its training file is no longer there; give texts to compare on by --texts"
            )
        table = read(
            output, there[0], text_column=data.text_column, format=data.format, limit=limit,
            label_separator=data.label_separator, label_columns=data.label_columns,
            encoding=data.encoding, run=run, unlabelled="keep",
        )  # fmt: skip
    else:
        table = read(output, texts, text_column=text_column, limit=limit, run=run, unlabelled="keep")
    own = load_thresholds(run, load_labels(run)) if wanted != "transformers" else None
    about: dict[str, Any] = {}

    def write(path: Path) -> list[Path]:
        nonlocal about
        options: dict[str, Any] = {name: True for name, wished in asked.items() if wished}
        if "int8" in options:
            options["labels"] = table.labels
        about = exporter.export(run, path, table.texts, tolerance, replace=force, **options)
        return sorted(path.iterdir())

    files, _ = put((out, write), force=force)
    compared = about["compared"]
    if n_cut := compared["n_cut"]:
        cut = Cut(compared["texts"], n_cut, n_cut * compared["unread"])
        more = "" if wanted == "transformers" else READ_WHOLE
        output.note(cut.said(config.data.max_tokens) + f"; the folder cuts such texts too{more}")
    said = (
        f"with the run on {counted(compared['texts'], 'text')} of {table.source} and an empty one: the same "
        f"labels, probabilities within {compared['worst']:.1g}"
    )
    value = {"out": str(out), "files": files, "compared": compared}
    value["thresholds"] = None if own is None else own.rule
    shown = [*_written(files), ("compared", said)]
    if own is not None:
        shown.append(("thresholds", f"{own.rule}, of the run; the folder answers by them"))
    if asked["int8"]:
        value["int8"] = about["int8"]
        shown.append(("int8", _said_of_int8(about["int8"])))
    shown.append(("next", exporter.reads.format(folder=str(out), typed=typed(out))))
    output.result(value, lines(shown), str(out))


def _said_of_int8(found: dict[str, Any]) -> str:
    """Says how much accuracy weights of 8 bits cost, and how much size and time they save."""
    said = (
        f"{found['labels_differ']} of {counted(found['texts'], 'label')} differ, "
        f"{found['times_as_fast']:.2f} times as fast, "
        f"{found['bytes'] / found['bytes_before']:.2f} times as large"
    )
    if found["accuracy"] is None:
        return f"{said}; the texts have no labels to measure the loss in accuracy"
    return f"accuracy {found['accuracy']:.4f}, before {found['accuracy_before']:.4f}; {said}"


def _written(files: list[str]) -> list[tuple[str, str]]:
    """Lists the written files with their sizes."""
    return [
        ("" if place else "written", f"{name}, {bytes_text(Path(name).stat().st_size)}")
        for place, name in enumerate(files)
    ]


def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder that save_pretrained of transformers wrote, or sentitok transplant of a run.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Run directory to write.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Read a model of transformers, or a run with another tokenizer, into a run directory.

    A classifier or a reward model, of any architecture, with its own head; or a language model that is
    GPT-2 or BERT. Only safetensors are read, never pickles (.bin).
    """
    from ..export.transformers.classifier import has_class_head, import_classifier
    from ..export.transformers.folder import import_model
    from ..runs.families import refuse_export
    from ..runs.language_directory import import_transplanted
    from ..runs.pretrained import without_folder

    output = Output("senti.import/1", as_json=as_json, quiet=quiet)
    notes: list[str] = []
    is_classifier = False
    loaded: Any
    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise UsageError(f"{folder}: {what}; give a folder that transformers' save_pretrained wrote")
    refuse_export(folder)
    if (folder / "config.toml").is_file():
        loaded = import_transplanted(folder, out)
    elif is_classifier := has_class_head(folder):
        loaded, notes = import_classifier(folder, out)
    else:
        loaded, notes = import_model(folder, out)
    for note in notes:
        output.note(f"note: {note}")
    n_parameters = sum(parameter.numel() for parameter in loaded.module.parameters())
    arch = without_folder(loaded.config.arch)
    next_step = "senti train FILE --init"
    if is_classifier:
        next_step = "senti predict"
    elif loaded.config.task.kind == "next-token":
        next_step = "senti generate"
    value = {"out": str(out), "arch": arch, "parameters": n_parameters, "notes": notes}
    said = f"{arch} with {number(n_parameters)} parameters in {out}"
    output.result(value, f"{said}\nnext: {next_step} {typed(out)}", str(out))


def page(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of tfidf, nb or bow.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")],
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Write a classifier as one HTML file, which answers in the browser.

    The file holds the model and asks for nothing else: it can be sent by mail, and opened without a network.
    """
    from sentitok.atomic import write as write_atomically

    from ..export.page import html_page

    output = Output("senti.page/1", as_json=as_json, quiet=quiet)
    announce(out, output, force=force)
    _refuse_ensemble(run)
    data = html_page(run)
    put_file(out, lambda path: write_atomically(path, data), force=force)
    said = f"written  {out}, {bytes_text(len(data))}; open it in a browser"
    output.result({"out": str(out), "bytes": len(data)}, said, str(out))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    add(
        app,
        "export",
        export,
        "senti export runs/base --to transformers -o gpt2",
        "senti export runs/base -o gpt2-again --json",
        "senti export runs/first --onnx -o first.onnx",
        "senti export runs/first --onnx --int8 --texts valid.csv -o small.onnx",
        "senti export runs/bow --numpy -o reviews",
    )
    add(app, "page", page, "senti page runs/bow -o reviews.html")
    add(
        app,
        "import",
        import_,
        "senti import gpt2 -o runs/gpt2",
        "senti import gpt2 -o runs/again --quiet",
    )
