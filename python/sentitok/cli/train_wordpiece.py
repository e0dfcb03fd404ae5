"""`sentitok train-wordpiece`: arguments -> `sentitok.train_wordpiece`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .command import AsJson, Quiet, Traceback, examples, grouped, refuse
from .existing import Force
from .output import Output
from .special_tokens import names_of
from .train import (
    CountOptions,
    Counts,
    DryRun,
    LimitAlphabet,
    MaxTokenLength,
    MinCount,
    MinFrequency,
    NormalizerName,
    Out,
    Saving,
    Sources,
    TrainCommand,
    Training,
    Vocab,
    check_out,
    check_source,
    run,
    weighted,
)

# The tokens that BERT frames and masks text with, in the order of its ids.
_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(
    src: Sources = None,
    vocab: Vocab = 30_522,
    out: Out = Path("tokenizer.json"),
    counts: Counts = None,
    min_count: MinCount = 0,
    score: Annotated[
        str,
        typer.Option(
            "--score",
            metavar="NAME",
            help="Score of pairs, the highest merged first: frequency (as Hugging Face), likelihood or pmi.",
            rich_help_panel="Vocabulary",
        ),
    ] = "frequency",
    lowercase: Annotated[
        bool, typer.Option("--lowercase/--cased", help="Lowercase text and remove accents, or keep both.")
    ] = True,
    normalizer: NormalizerName = None,
    pre_tokenizer: Annotated[
        str | None,
        typer.Option(
            "--pre-tokenizer", metavar="NAME", help="Pre-tokenizer: bert, metaspace, ... [default: bert]"
        ),
    ] = None,
    special: Annotated[
        list[str] | None,
        typer.Option("--special", metavar="TOKEN", help="Special token to add to BERT's five; repeatable."),
    ] = None,
    unk_token: Annotated[
        str,
        typer.Option(
            "--unk-token",
            metavar="TOKEN",
            help="Token for words that the vocabulary cannot spell.",
            rich_help_panel="Vocabulary",
        ),
    ] = "[UNK]",
    min_frequency: MinFrequency = 0,
    initial_alphabet: Annotated[
        str,
        typer.Option(
            "--initial-alphabet",
            metavar="CHARS",
            help="Characters that are always tokens.",
            rich_help_panel="Vocabulary",
        ),
    ] = "",
    limit_alphabet: LimitAlphabet = None,
    max_token_length: MaxTokenLength = None,
    continuing_subword_prefix: Annotated[
        str,
        typer.Option(
            "--continuing-subword-prefix",
            metavar="TEXT",
            help="Prefix of tokens that continue a word.",
            rich_help_panel="Vocabulary",
        ),
    ] = "##",
    *,
    options: CountOptions,
    saving: Saving,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a WordPiece tokenizer, as for BERT, on text or from counts."""
    import sentitok

    output = Output("sentitok.train-wordpiece/1", as_json=as_json, quiet=quiet)
    check_source(src, counts, "train-wordpiece")
    if normalizer is not None:
        refuse(f"--normalizer {normalizer} already says how text is normalized; give one", "lowercase")
    check_out(out, output, force=force)
    shape: dict[str, Any] = {
        "score": score,
        "lowercase": lowercase,
        "special_tokens": [*_BERT, *names_of(special, "--special")],
        "unk_token": unk_token,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "continuing_subword_prefix": continuing_subword_prefix,
    }
    limits = {
        "min_count": min_count,
        "min_frequency": min_frequency,
        "initial_alphabet": initial_alphabet,
        "limit_alphabet": limit_alphabet,
        "max_token_length": max_token_length,
    }
    usual = (normalizer or ("hf-bert" if lowercase else "hf-bert-cased"), pre_tokenizer or "bert")
    named = normalizer is not None or pre_tokenizer is not None
    training = Training(
        sentitok.train_wordpiece,
        shape,
        limits,
        usual,
        src,
        weighted(counts),
        vocab,
        out,
        names_pipeline=named,
    )
    run(training, options, saving, output, dry_run=dry_run, force=force)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "train-wordpiece",
        rich_help_panel="Train",
        short_help="Train a WordPiece tokenizer, as for BERT.",
        cls=TrainCommand,
        no_args_is_help=True,
        epilog=examples(
            "sentitok train-wordpiece corpus.txt --vocab 1000 -o wordpiece.json",
            "sentitok train-wordpiece reviews.jsonl --vocab 500 -o vocab.txt",
        ),
    )(grouped(train_wordpiece))
