"""`sentitok train-bpe`: arguments -> `sentitok.train_bpe`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .balance import Balance
from .command import AsJson, Quiet, Traceback, UsageError, examples, grouped, refuse
from .existing import Force
from .loading import load_plain
from .output import Output
from .special_tokens import names_of
from .superwords import Superwords
from .train import (
    PARTIAL_FORMATS,
    ByteFallback,
    CountOptions,
    Counts,
    DryRun,
    LimitAlphabet,
    LookAround,
    MaxTokenLength,
    MinCount,
    MinFrequency,
    NormalizerName,
    Out,
    Pattern,
    PiecesOfSpaces,
    Saving,
    Sources,
    SpacesBehind,
    TrainCommand,
    Training,
    Vocab,
    check_out,
    check_source,
    pre_tokenizer,
    refuse_with_counts,
    run,
    weighted,
)


def _alphabet(value: str | None) -> Any:
    # `bytes` and `none` are names; anything else lists the characters.
    return value if value in (None, "bytes", "none") else list(str(value))


def _specials(special: list[str] | None, method: str) -> list[str]:
    # SentencePiece's own are always there, as in train-unigram.
    return [*(("<s>", "</s>") if method == "sentencepiece" else ()), *names_of(special, "--special")]


def _extended_size(base: int, vocab: int, add: int | None) -> int:
    """Returns the size of a vocabulary that extends a base.

    Raises:
        UsageError: if `--add` and `--vocab` were both typed, or nothing would be added.
    """
    if add is not None:
        refuse(f"--add {add} already says how large the vocabulary gets; give one of the two", "vocab")
        return base + add
    if vocab <= base:
        raise UsageError(
            f"--vocab {vocab}: the base has {base:,} tokens, so nothing would be added; ask for more, or "
            "give --add N, the number of tokens to add"
        )
    return vocab


def train_bpe(
    src: Sources = None,
    vocab: Vocab = 32_000,
    out: Out = Path("tokenizer.json"),
    counts: Counts = None,
    min_count: MinCount = 0,
    extend: Annotated[
        Path | None,
        typer.Option("--extend", metavar="FILE", help="Tokenizer to extend; its tokens keep their ids."),
    ] = None,
    add: Annotated[
        int | None,
        typer.Option(
            "--add",
            min=1,
            metavar="N",
            help="With --extend: maximum number of tokens to add to those of the base, instead of --vocab.",
        ),
    ] = None,
    normalizer: NormalizerName = None,
    pre_tokenizer_name: Annotated[
        str | None,
        typer.Option(
            "--pre-tokenizer",
            metavar="NAME",
            help="Pre-tokenizer: gpt2, cl100k, o200k, ... [default: that of --counts or --extend, else gpt2]",
        ),
    ] = None,
    pattern: Pattern = None,
    look_around: LookAround = False,
    special: Annotated[
        list[str] | None, typer.Option("--special", metavar="TOKEN", help="Special token to add; repeatable.")
    ] = None,
    min_frequency: MinFrequency = 0,
    initial_alphabet: Annotated[
        str | None,
        typer.Option(
            "--initial-alphabet",
            metavar="WHAT",
            help="Alphabet to start from: bytes, none, or a list of characters. [default: bytes; with "
            "--unit chars none]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    limit_alphabet: LimitAlphabet = None,
    max_token_length: MaxTokenLength = None,
    continuing_subword_prefix: Annotated[
        str | None,
        typer.Option(
            "--continuing-subword-prefix",
            metavar="TEXT",
            help="Prefix of tokens that continue a word, such as ##. [default: none]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    end_of_word_suffix: Annotated[
        str | None,
        typer.Option(
            "--end-of-word-suffix",
            metavar="TEXT",
            help="Suffix of tokens that end a word, such as </w>. [default: none]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    byte_fallback: ByteFallback = False,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="Unit to merge: bytes or chars. [default: chars with metaspace, --byte-fallback, or "
            "a base of characters; else bytes]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    unk_token: Annotated[
        str | None,
        typer.Option(
            "--unk-token",
            metavar="TOKEN",
            help="Token for unknown characters. [default: none]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    tie_break: Annotated[
        str | None,
        typer.Option(
            "--tie-break",
            metavar="RULE",
            help="Which of equally frequent pairs to merge first, by the rule of huggingface, bytes "
            "or sentencepiece. [default: huggingface]",
            rich_help_panel="Vocabulary",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Training method: merges (as Hugging Face), or sentencepiece, which gives a .model file.",
        ),
    ] = "merges",
    character_coverage: Annotated[
        float | None,
        typer.Option(
            "--character-coverage",
            metavar="SHARE",
            help="With --method sentencepiece: share of the text whose characters get tokens; the "
            "rarest are left out. [default: 0.9995]",
            rich_help_panel="SentencePiece",
        ),
    ] = None,
    max_piece_length: Annotated[
        int | None,
        typer.Option(
            "--max-piece-length",
            min=1,
            metavar="N",
            help="With --method sentencepiece: maximum length of a piece, in characters. [default: 16]",
            rich_help_panel="SentencePiece",
        ),
    ] = None,
    split_digits: Annotated[
        bool,
        typer.Option(
            "--split-digits",
            help="With --method sentencepiece: make each digit a separate piece.",
            rich_help_panel="SentencePiece",
        ),
    ] = False,
    treat_whitespace_as_suffix: SpacesBehind = False,
    allow_whitespace_only_pieces: PiecesOfSpaces = False,
    user_defined: Annotated[
        list[str] | None,
        typer.Option(
            "--user-defined",
            metavar="TEXT",
            help="With --method sentencepiece: text that is always one token; repeatable.",
            rich_help_panel="SentencePiece",
        ),
    ] = None,
    *,
    superwords: Superwords,
    balance: Balance,
    options: CountOptions,
    saving: Saving,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Train a BPE tokenizer, byte-level or SentencePiece's, on text or from counts."""
    import sentitok

    output = Output("sentitok.train-bpe/1", as_json=as_json, quiet=quiet)
    check_source(src, counts, "train-bpe")
    base = None if extend is None else load_plain(extend)
    if base is not None:
        vocab = _extended_size(base.vocab_size, vocab, add)
    elif add is not None:
        raise UsageError("--add goes with --extend FILE, the tokenizer to add tokens to")
    splitter = None
    if pre_tokenizer_name is not None or pattern is not None or look_around:
        splitter = pre_tokenizer(pre_tokenizer_name, pattern, look_around)
    check_out(out, output, force=force)
    if out.suffix == ".model" and method != "sentencepiece":
        raise UsageError(
            f"-o {out}: a SentencePiece model is trained by --method sentencepiece; add that, or end the "
            "name in .json"
        )
    shape: dict[str, Any] = {
        "special_tokens": _specials(special, method),
        "normalizer": normalizer,
        "pre_tokenizer": splitter,
        "continuing_subword_prefix": continuing_subword_prefix,
        "end_of_word_suffix": end_of_word_suffix,
        "byte_fallback": byte_fallback,
        "unit": unit,
        "unk_token": unk_token,
        "tie_break": tie_break,
        "method": method,
        "split_digits": split_digits or None,
        "treat_whitespace_as_suffix": treat_whitespace_as_suffix or None,
        "allow_whitespace_only_pieces": allow_whitespace_only_pieces or None,
        "user_defined_symbols": names_of(user_defined, "--user-defined") or None,
        "extend": base,
        "initial_alphabet": _alphabet(initial_alphabet),
        "limit_alphabet": limit_alphabet,
        "max_token_length": max_token_length,
        "character_coverage": character_coverage,
        "max_piece_length": max_piece_length,
    }
    # Of merges, tokenizer.json cannot hold all either, whatever the text is.
    partial = (*PARTIAL_FORMATS, ".json", "") if method == "merges" else PARTIAL_FORMATS
    if dry_run and method == "sentencepiece":
        raise UsageError("--dry-run estimates --method merges only")
    limits = {"min_frequency": min_frequency, "min_count": min_count}
    limits |= superwords.options(vocab)
    usual = (normalizer, splitter or "gpt2")
    if method == "sentencepiece":
        usual = (normalizer or "sentencepiece", splitter or "metaspace-never")
        refuse_with_counts(counts)
    training = Training(
        sentitok.train_bpe, shape, limits, usual, src, weighted(counts), vocab, out, partial, base,
        names_pipeline=normalizer is not None or splitter is not None, any_cut=method == "merges",
    )  # fmt: skip
    training = balance.training(training)
    run(training, options, saving, output, dry_run=dry_run, force=force)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command(
        "train-bpe",
        rich_help_panel="Train",
        short_help="Train a BPE tokenizer, or extend one (--extend).",
        cls=TrainCommand,
        no_args_is_help=True,
        epilog=examples(
            "sentitok train-bpe corpus.txt --vocab 2000 -o tokenizer.json",
            "sentitok train-bpe corpus.txt --vocab 2k --superwords-from 1500 -o s.json",
            "sentitok train-bpe --balance parity en=corpus.txt sw=reviews.jsonl",
        ),
    )(grouped(train_bpe))
