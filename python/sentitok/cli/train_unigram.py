"""`sentitok train-unigram`: arguments -> `sentitok.train_unigram`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Quiet, Traceback, UsageError, examples, grouped
from .existing import Force
from .output import Output
from .special_tokens import names_of
from .train import (
    ByteFallback,
    CountOptions,
    Counts,
    DryRun,
    MinCount,
    NormalizerName,
    Out,
    PiecesOfSpaces,
    Saving,
    Sources,
    SpacesBehind,
    TrainCommand,
    Training,
    Vocab,
    check_out,
    check_source,
    refuse_with_counts,
    run,
    weighted,
)


def train_unigram(
    src: Sources = None,
    vocab: Vocab = 8_000,
    out: Out = Path("tokenizer.json"),
    counts: Counts = None,
    min_count: MinCount = 0,
    normalizer: NormalizerName = None,
    pre_tokenizer: Annotated[
        str | None,
        typer.Option(
            "--pre-tokenizer",
            metavar="NAME",
            help="Pre-tokenizer: metaspace, bert, ... [default: as SentencePiece, a piece begins at "
            "each space]",
        ),
    ] = None,
    special: Annotated[
        list[str] | None,
        typer.Option("--special", metavar="TOKEN", help="Special token to add to <s> and </s>; repeatable."),
    ] = None,
    user_defined: Annotated[
        list[str] | None,
        typer.Option("--user-defined", metavar="TEXT", help="Text that is always one token; repeatable."),
    ] = None,
    unk_token: Annotated[
        str,
        typer.Option(
            "--unk-token", metavar="TOKEN", help="Token for unknown characters.", rich_help_panel="Vocabulary"
        ),
    ] = "<unk>",
    byte_fallback: ByteFallback = False,
    character_coverage: Annotated[
        float,
        typer.Option(
            "--character-coverage",
            metavar="SHARE",
            help="Share of the text whose characters get tokens; the rarest are left out.",
            rich_help_panel="Vocabulary",
        ),
    ] = 0.9995,
    required_chars: Annotated[
        str,
        typer.Option(
            "--required-chars",
            metavar="CHARS",
            help="Characters that are always tokens.",
            rich_help_panel="Vocabulary",
        ),
    ] = "",
    max_piece_length: Annotated[
        int,
        typer.Option(
            "--max-piece-length",
            min=1,
            metavar="N",
            help="Maximum length of a piece, in characters.",
            rich_help_panel="Vocabulary",
        ),
    ] = 16,
    split_by_script: Annotated[
        bool,
        typer.Option(
            "--split-by-script/--join-scripts",
            help="Keep characters of different scripts in different pieces, or allow both in one.",
            rich_help_panel="Splitting",
        ),
    ] = True,
    split_by_number: Annotated[
        bool,
        typer.Option(
            "--split-by-number/--join-numbers",
            help="Keep digits and letters in different pieces, or allow both in one.",
            rich_help_panel="Splitting",
        ),
    ] = True,
    split_by_whitespace: Annotated[
        bool,
        typer.Option(
            "--split-by-whitespace/--join-words",
            help="Keep words in different pieces, or allow several in one.",
            rich_help_panel="Splitting",
        ),
    ] = True,
    split_digits: Annotated[
        bool,
        typer.Option("--split-digits", help="Make each digit a separate piece.", rich_help_panel="Splitting"),
    ] = False,
    treat_whitespace_as_suffix: SpacesBehind = False,
    allow_whitespace_only_pieces: PiecesOfSpaces = False,
    hard_vocab_limit: Annotated[
        bool,
        typer.Option(
            "--hard-vocab-limit", help="Fail if --vocab cannot be reached.", rich_help_panel="Vocabulary"
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Training method: full, or sentencepiece, which follows the trainer of SentencePiece.",
        ),
    ] = "full",
    *,
    options: CountOptions,
    saving: Saving,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a Unigram tokenizer, as SentencePiece does, on text or from counts."""
    import sentitok

    output = Output("sentitok.train-unigram/1", as_json=as_json, quiet=quiet)
    check_source(src, counts, "train-unigram")
    if pre_tokenizer is None and not split_by_whitespace:
        pre_tokenizer = "metaspace-never-unsplit"
    check_out(out, output, force=force)
    if out.suffix == ".model" and (normalizer or "sentencepiece").split("-")[0] != "sentencepiece":
        raise UsageError(
            f"--normalizer {normalizer}: a SentencePiece model has its own normalizers alone, such as "
            "sentencepiece-nmt-nfkc; take one, or end the name of -o in .json"
        )
    shape: dict[str, Any] = {
        "special_tokens": ["<s>", "</s>", *names_of(special, "--special")],
        "user_defined_symbols": names_of(user_defined, "--user-defined"),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "unk_token": unk_token,
        "byte_fallback": byte_fallback,
        "split_by_unicode_script": split_by_script,
        "split_by_number": split_by_number,
        "split_by_whitespace": split_by_whitespace,
        "split_digits": split_digits,
        "treat_whitespace_as_suffix": treat_whitespace_as_suffix,
        "allow_whitespace_only_pieces": allow_whitespace_only_pieces,
        "method": method,
    }
    limits = {
        "min_count": min_count,
        "character_coverage": character_coverage,
        "required_chars": required_chars,
        "max_piece_length": max_piece_length,
        "hard_vocab_limit": hard_vocab_limit,
    }
    usual = (normalizer or "sentencepiece", pre_tokenizer or "metaspace-never")
    named = normalizer is not None or pre_tokenizer is not None
    refuse_with_counts(counts)
    training = Training(
        sentitok.train_unigram, shape, limits, usual, src, weighted(counts), vocab, out, names_pipeline=named
    )
    run(training, options, saving, output, dry_run=dry_run, force=force)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "train-unigram",
        rich_help_panel="Train",
        short_help="Train a Unigram tokenizer, as SentencePiece does.",
        cls=TrainCommand,
        no_args_is_help=True,
        epilog=examples(
            "sentitok train-unigram corpus.txt --vocab 1000 -o unigram.json",
            "sentitok train-unigram reviews.jsonl --vocab 500 -o unigram.model",
        ),
    )(grouped(train_unigram))
