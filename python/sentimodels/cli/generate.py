"""`senti generate`: prompts in, continued texts out.

One prompt is written as it comes; several go through the model together, and come out in their order. On a
terminal without a prompt, it asks for prompts repeatedly, each independent of the earlier ones.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.output import counted, json_line, number
from sentitok.cli.process import complain, to_stdout

from .command import (
    Force,
    JsonLines,
    Output,
    Traceback,
    UsageError,
    add,
    announce,
    put_file,
    refuse_input,
    size,
)
from .predict import lines_of_stdin
from .tables import Device, Encoding, MaxLineBytes

if TYPE_CHECKING:
    from ..generation.generate import Limits
    from ..generation.sampling import Sampling
    from ..language_model import LanguageModel

# Texts written at a time, so that a long stream of prompts needs little memory.
_AT_ONCE = 256
# What --stop may spell, as a shell passes no line end easily.
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
# A model may write any character, and a terminal obeys some of them.
_CONTROLS = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def generate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory of a language model.")],
    prompts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROMPT",
            help="Texts to continue. [default: lines of stdin; on a terminal, lines as they are typed]",
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="File of prompts, one a line. Repeatable."),
    ] = None,
    max_new_tokens: Annotated[
        int,
        typer.Option(
            "--max-new-tokens", min=1, metavar="N", help="Maximum number of tokens to generate for each text."
        ),
    ] = 128,
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature",
            metavar="T",
            help="Sampling temperature: below 1 for likelier tokens, above 1 for more variety; 0 always "
            "takes the likeliest token.",
            rich_help_panel="Sampling",
        ),
    ] = 1.0,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k",
            metavar="K",
            help="Sample only from the K likeliest tokens. [default: all]",
            rich_help_panel="Sampling",
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            "--top-p",
            metavar="P",
            help="Sample only from the likeliest tokens whose probabilities add up to P, between 0 and 1. "
            "[default: all]",
            rich_help_panel="Sampling",
        ),
    ] = None,
    min_p: Annotated[
        float | None,
        typer.Option(
            "--min-p",
            metavar="P",
            help="Sample only tokens at least P times as likely as the likeliest one, P between 0 and 1. "
            "[default: all]",
            rich_help_panel="Sampling",
        ),
    ] = None,
    repetition_penalty: Annotated[
        float,
        typer.Option(
            "--repetition-penalty",
            metavar="R",
            help="Penalty on tokens that the text already has; above 1 makes them less likely, 1 means no "
            "penalty.",
            rich_help_panel="Sampling",
        ),
    ] = 1.0,
    stop: Annotated[
        list[str] | None,
        typer.Option(
            "--stop",
            metavar="TEXT",
            help=r"End a text before this string; \n is a line end, \t a tab. Repeatable.",
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="Number of texts for each prompt.")] = 1,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Random seed; the same seed gives the same texts. [default: a new one each time]",
            rich_help_panel="Sampling",
        ),
    ] = None,
    begin: Annotated[
        bool,
        typer.Option(
            "--begin",
            help="Start each prompt as a new document, with the end-of-document token before it; a prompt "
            "may then be empty.",
        ),
    ] = False,
    window: Annotated[
        bool,
        typer.Option(
            "--window", help="Let texts grow beyond the model's context; the oldest tokens are then dropped."
        ),
    ] = False,
    batch_size: Annotated[
        int,
        typer.Option("--batch-size", min=1, metavar="N", help="Maximum number of texts generated at once."),
    ] = 32,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write to: .jsonl or .txt. [default: stdout]"
        ),
    ] = None,
    encoding: Encoding = None,
    max_line_bytes: MaxLineBytes = None,
    device: Device = None,
    force: Force = False,
    as_json: JsonLines = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print only the generated texts, without prompts or speed.",
            rich_help_panel="Output",
        ),
    ] = False,
    traceback: Traceback = False,
) -> None:
    """Continue texts with a language model.

    Each text is written with its prompt before it; --quiet leaves the prompt out, --json prints one
    object a text. The speed is reported on stderr.
    """
    from ..data.writers import write_texts
    from ..generation.sampling import Sampling
    from ..language_model import LanguageModel

    output = Output("senti.generate/1", as_json=as_json, quiet=quiet)
    if out is not None and out.suffix not in (".jsonl", ".txt"):
        raise UsageError(f"--out {out}: writes .jsonl or .txt")
    if out is not None and out.is_dir():
        raise UsageError(f"--out {out}: a folder; name a file in it")
    refuse_input(out, file or ())
    announce(out, output, force=force)
    longest = size(max_line_bytes, "--max-line-bytes")
    sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
    model = LanguageModel.load(run, device or "cpu")
    stops = tuple(_unescaped(text) for text in stop or ())
    writer = _Writer(output, model, model.limits(max_new_tokens, stops, window=window), sampling)
    writer.options = {"seed": seed, "begin": begin, "batch_size": batch_size}
    given = _given(prompts or [], file or [], encoding, longest, begin=begin)
    for prompt in prompts or ():
        if os.path.isfile(prompt):  # noqa: PTH113  # 2026-11-28: Path.is_file raises where a name is too long
            output.note(f"{prompt} is a prompt here; to continue the lines of the file, type --file {prompt}")
    if given is None and out is None and not as_json and sys.stdin is not None and sys.stdin.isatty():
        _ask(writer)
        return
    asked = lines_of_stdin(longest) if given is None else iter(given)
    if given is not None:  # before minutes are spent on those before one that is too long
        model.check(given, writer.limits, begin=begin)
    if out is not None:
        form = "json" if out.suffix == ".jsonl" else "quiet" if quiet else "text"
        texts = writer.together(asked, n, form)
        put_file(out, lambda path: write_texts(path, texts), force=force, keep=True)
        said = f"{counted(writer.n_texts, 'text')} in {out}"
        output.result({"out": str(out), "texts": writer.n_texts}, said, str(out))
    elif output.human and given is not None and len(given) * n == 1:
        writer.as_it_comes(given[0])
    else:
        for part in writer.together(asked, n, "json" if as_json else "quiet" if quiet else "text"):
            with to_stdout():
                sys.stdout.write(_shown(part))
                sys.stdout.flush()
    writer.tell_speed()


class _Writer:
    """Writes texts, and counts tokens and time."""

    def __init__(
        self, output: Output, model: "LanguageModel", limits: "Limits", sampling: "Sampling"
    ) -> None:
        self.output, self.model, self.limits, self.sampling = output, model, limits, sampling
        self.options: dict[str, Any] = {}
        self.n_texts = self.n_read = self.n_new = self.n_full = 0
        self.seconds = 0.0
        self.n_unknown, self.first_unknown = 0, ""

    def as_it_comes(self, prompt: str) -> None:
        """Writes one text piece by piece."""
        began = time.perf_counter()
        self._note_unknown([prompt], 1)
        pieces = self.model.pieces([prompt], self.limits, self.sampling, **self.options)
        self.n_read += self.model.check([prompt], self.limits, begin=self.options["begin"])
        with to_stdout():
            sys.stdout.write(_shown(prompt))
            sys.stdout.flush()
            for piece in pieces:
                sys.stdout.write(_shown(piece.text))
                sys.stdout.flush()
                if piece.ending is not None:
                    self.n_new += len(piece.ending.ids)
                    self.n_full += piece.ending.reason == "context"
            sys.stdout.write("\n")
        self.seconds += time.perf_counter() - began

    def together(self, prompts: Iterator[str], n: int, form: str) -> Iterator[str]:
        """Yields each text as it is printed, n of each prompt, in the order of the prompts."""
        first, copies = 1, Counter[bytes]()
        while asked := list(islice(prompts, max(1, _AT_ONCE // n))):
            self.n_read += n * self.model.check(asked, self.limits, begin=self.options["begin"], first=first)
            self._note_unknown(asked, first)
            first += len(asked)
            for begun in range(0, n, _AT_ONCE):  # more than one round of one prompt
                times = min(_AT_ONCE, n - begun)
                yield from self._some([prompt for prompt in asked for _ in range(times)], copies, form)

    def _some(self, prompts: list[str], copies: Counter[bytes], form: str) -> Iterator[str]:
        """Yields the texts of prompts that are continued together."""
        began = time.perf_counter()
        texts = [""] * len(prompts)
        took, tokens, reasons = [0.0] * len(prompts), [0] * len(prompts), [""] * len(prompts)
        for piece in self.model.pieces(prompts, self.limits, self.sampling, copies=copies, **self.options):
            texts[piece.row] += piece.text
            if piece.ending is not None:
                took[piece.row] = time.perf_counter() - began
                tokens[piece.row], reasons[piece.row] = len(piece.ending.ids), piece.ending.reason
        self.n_texts += len(prompts)
        self.n_new += sum(tokens)
        self.n_full += reasons.count("context")
        self.seconds += time.perf_counter() - began
        for prompt, text, n_new, reason, seconds in zip(prompts, texts, tokens, reasons, took, strict=True):
            if form == "json":
                record = {"schema": self.output.schema, "prompt": prompt, "text": text, "tokens": n_new}
                yield json_line({**record, "reason": reason, "seconds": round(seconds, 6)}) + "\n"
            else:
                yield (text if form == "quiet" else prompt + text) + "\n"

    def _note_unknown(self, prompts: list[str], first: int) -> None:
        """Remembers which prompts have parts that the model cannot read."""
        for place, prompt in enumerate(prompts, first):
            parts = self.model.unknown_parts(prompt)
            if parts and not self.n_unknown:
                self.first_unknown = f"prompt {place}: {', '.join(map(repr, parts[:5]))}"
            self.n_unknown += bool(parts)

    def _tell_unknown(self) -> None:
        """Warns on stderr, with --json too, since nothing in the texts shows it."""
        if self.n_unknown and not self.output.quiet:
            complain(
                f"{counted(self.n_unknown, 'prompt')} with letters that the tokenizer does not know, so the "
                f"model did not read them ({self.first_unknown}); write in the letters that it was trained on"
            )

    def tell_speed(self) -> None:
        """Says on stderr how many tokens were read and written, how fast, and which text was unreadable."""
        self._tell_unknown()
        if not self.seconds:
            self.output.note("no prompts: give texts, files of them (--file), or lines on stdin")
            return
        rate = self.n_new / max(self.seconds, 1e-9)
        self.output.note(
            f"{number(self.n_read)} prompt tokens, {number(self.n_new)} new tokens in {self.seconds:.2f} s: "
            f"{number(round(rate, 1))} tokens/s"
        )
        if self.n_full:
            self.output.note(
                f"{counted(self.n_full, 'text')} ended where the context of {self.limits.context} tokens was "
                "full; --window drops the oldest tokens and continues"
            )


def _given(
    prompts: list[str], files: list[Path], encoding: str | None, longest: int | None, *, begin: bool
) -> list[str] | None:
    """Returns the prompts of the arguments, then those of the files; `None` without either.

    Raises:
        UsageError: if a line of a file is empty and texts do not `begin` a document.
    """
    from ..data.opening import open_text

    if not prompts and not files:
        return None
    texts = list(prompts)
    for path in files:
        with open_text(path, encoding or "utf-8", longest) as opened:
            for number, line in enumerate(opened.lines(), 1):
                texts.append(line.rstrip("\r\n"))
                if not texts[-1] and not begin:
                    raise UsageError(
                        f"{path}, line {number}: empty, and there is nothing to continue; delete the line, "
                        "or type --begin, which starts each prompt as a new document"
                    )
    return texts


def _ask(writer: _Writer) -> None:
    """Asks for prompts until the input ends; Ctrl-C ends a text, and between two texts the command."""
    from rich.console import Console

    from ..errors import SentiError

    console = Console(stderr=True)
    console.print("Type a text to continue; Ctrl-D ends.", style="dim", highlight=False)
    while True:
        try:
            prompt = console.input("[bold]> [/bold]")
        except EOFError:
            console.print()
            return
        if not prompt and not writer.options["begin"]:
            continue
        writer.n_read = writer.n_new = writer.n_full = 0
        writer.seconds, writer.n_unknown = 0.0, 0
        try:
            writer.as_it_comes(prompt)
        except KeyboardInterrupt:
            with to_stdout():
                sys.stdout.write("\n")
            continue
        except SentiError as error:
            complain(f"senti: {error}")
            continue
        writer.tell_speed()


def _shown(text: str) -> str:
    """Returns a text for the output: on a terminal without control characters."""
    return text.translate(_CONTROLS) if sys.stdout.isatty() else text


def _unescaped(text: str) -> str:
    """Reads the escapes of `--stop`."""
    out, place = "", 0
    while place < len(text):
        pair = text[place : place + 2]
        out += _ESCAPES.get(pair, text[place])
        place += 2 if pair in _ESCAPES else 1
    return out


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "generate",
        generate,
        'senti generate runs/base "It was a dark" --temperature 0.8 --top-p 0.9',
        'senti generate runs/base "It was a dark" --n 3 --seed 1 -o texts.jsonl',
        r'echo "Q: why?" | senti generate runs/base --stop "\n" --quiet',
    )
