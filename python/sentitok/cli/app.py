"""The commands of `sentitok`, put together.

The libraries for numbers and tables are imported by the command that needs them, so that `sentitok train-bpe`
starts at once.
"""

import typer

from . import (
    align,
    bench,
    compare,
    convert,
    counts,
    doctor,
    encode,
    evaluate,
    inspect,
    lock,
    serve,
    train_bpe,
    train_unigram,
    train_wordpiece,
    transplant,
    verify,
)
from .command import Group, examples, on_terminal

__all__ = ["app"]

_HELP = """Train and run tokenizers: exact, deterministic, fast.

In Python: Tokenizer.encode_batch encodes many texts, count_batch counts their tokens without keeping ids, and
stream_decoder decodes ids as they arrive; see help(sentitok.Tokenizer)."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from sentitok import __version__

        print(f"sentitok {__version__}")
        raise typer.Exit


def _build() -> typer.Typer:
    # Boxes and colours are for people: in a pipe or a log, plain text.
    built = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="rich" if on_terminal() else None,
        pretty_exceptions_enable=False,
        epilog=examples(
            "sentitok train-bpe corpus.txt --vocab 2000",
            "sentitok train-bpe corpus.txt --extend tokenizer.json --add 100 -o extended.json",
            'sentitok show "A gripping film."',
            "sentitok bench corpus.txt --tokenizer tokenizer.json",
        ),
        help=_HELP,
    )

    @built.callback()
    def sentitok(
        version: bool = typer.Option(
            False, "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ) -> None:
        """Prints the version where it is asked for; the commands do the rest."""

    trainers = (train_bpe, train_wordpiece, train_unigram)
    others = (
        counts,
        encode,
        inspect,
        verify,
        evaluate,
        compare,
        align,
        convert,
        doctor,
        transplant,
        lock,
        bench,
        serve,
    )
    for group in (*trainers, *others):
        group.register(built)
    return built


app = _build()
