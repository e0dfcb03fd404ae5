"""`sentitok eval --parallel`: how evenly tokenizers treat languages, on text that says the same in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import UsageError, refuse
from .engine import EngineOptions
from .languages import SHOWN, by_language
from .output import Output, lines, number, of_total, table
from .texts import TextOptions, note_replaced

if TYPE_CHECKING:
    from sentitok import Tokenizer
    from sentitok.fairness import Fairness


@dataclass(frozen=True, slots=True)
class Parallel:
    """Whether languages are compared; each field is an option (`grouped`)."""

    parallel: Annotated[
        bool,
        typer.Option(
            "--parallel",
            help="Compare languages: each FILE is LANGUAGE=FILE, a translation of the same text. "
            "Without LANGUAGE the name of the file is taken.",
            rich_help_panel="Languages",
        ),
    ] = False
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="LANGUAGE",
            help="With --parallel: language to compare with. [default: en, else that of the fewest tokens]",
            rich_help_panel="Languages",
        ),
    ] = None

    def is_wanted(self) -> bool:
        """Whether languages are compared.

        Raises:
            UsageError: for options that do not go with it.
        """
        if self.parallel:
            refuse("with --parallel each language is measured; leave one of the two out", "per_file", "plot")
        else:
            refuse("it goes with --parallel", "against")
        return self.parallel

    def split(self, files: list[str]) -> int:
        """Returns how many of the files are before the first that names its language."""
        return next((n for n, file in enumerate(files) if "=" in file), len(files))

    def measure(
        self,
        paths: list[Path],
        tokenizers: "Sequence[Tokenizer]",
        texts: list[str],
        reading: TextOptions,
        engine: EngineOptions,
        output: Output,
        parts: str | None,
    ) -> None:
        """Measures tokenizers on the files of languages, and prints what came of it.

        Raises:
            UsageError: for a language without text, or an unknown one in `--against`.
        """
        from sentitok.documents import n_bytes
        from sentitok.evaluate import evaluate_all
        from sentitok.fairness import Fairness

        files = by_language(texts)
        if self.against is not None and self.against not in files:
            raise UsageError(f"--against {self.against}: no such language; there are {', '.join(files)}")
        total = len(tokenizers) * n_bytes(
            [file for found in files.values() for file in found], reading.format
        )
        tokens: list[dict[str, int]] = [{} for _ in tokenizers]
        sizes: dict[str, int] = {}
        with output.progress() as progress, engine.running() as running:
            for language, group in files.items():
                documents = reading.documents(group)
                measured = evaluate_all(
                    tokenizers,
                    documents,
                    threads=reading.threads,
                    progress=of_total(progress, total, sum(sizes.values()) * len(tokenizers)),
                    parts=parts,
                    **running,
                )
                note_replaced(output, group, documents.replaced)
                sizes[language] = measured[0].bytes
                if measured[0].tokens == 0:
                    raise UsageError(f"{language}: its text is empty; leave the language out")
                for counted, one in zip(tokens, measured, strict=True):
                    counted[language] = one.tokens
        fair = [Fairness.of_tokens(counted, self.against) for counted in tokens]
        results = [
            {"tokenizer": str(path), "vocab_size": tokenizer.vocab_size, **one.as_dict()}
            for path, tokenizer, one in zip(paths, tokenizers, fair, strict=True)
        ]
        text = _text(paths, fair) if output.human else ""
        value: dict[str, Any] = {"fairness": results, "bytes": sizes}
        output.result(value, text, "\n".join(f"{one.gini:.4f}" for one in fair))


def _text(paths: list[Path], fair: "Sequence[Fairness]") -> str:
    """Writes the languages, worst first by the first tokenizer, and what sums them up."""
    order = sorted(fair[0].tokens, key=lambda language: -fair[0].tokens[language])
    head = ["language"]
    for path in paths:
        head += [f"{path.name} tokens", "premium"]
    rows = [
        [
            language,
            *(
                cell
                for one in fair
                for cell in (number(one.tokens[language]), f"{one.premium[language]:.2f}")
            ),
        ]
        for language in order[:SHOWN]
    ]
    text = table(head, rows)
    if len(order) > SHOWN:
        text += f"\n{number(len(order) - SHOWN)} more languages have fewer tokens; --json names all"
    pairs = [
        (
            path.name,
            f"Gini {one.gini:.4f}; worst {one.worst}, {one.premium[one.worst]:.2f} times {one.against}",
        )
        for path, one in zip(paths, fair, strict=True)
    ]
    return f"{text}\n\n{lines(pairs)}"
