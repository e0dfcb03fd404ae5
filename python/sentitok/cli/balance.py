"""The options of `train-bpe --balance`, which shares a vocabulary between languages."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import UsageError, refuse
from .languages import by_language, named
from .train import Training

if TYPE_CHECKING:
    from sentitok import Tokenizer

# Options of `train-bpe` that parity-aware training does not have.
_WITHOUT = (
    "extend",
    "add",
    "byte_fallback",
    "tie_break",
    "method",
    "character_coverage",
    "max_piece_length",
    "split_digits",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "user_defined",
    "superwords_from",
    "superwords",
    "max_superword_words",
    "superword_rule",
)

# The training options that `train_parity_bpe` takes.
_SHAPE = (
    "special_tokens",
    "normalizer",
    "pre_tokenizer",
    "initial_alphabet",
    "limit_alphabet",
    "max_token_length",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "unit",
    "unk_token",
)


@dataclass(frozen=True, slots=True)
class Balance:
    """How a vocabulary is shared between languages; each field is an option (`grouped`)."""

    balance: Annotated[
        str | None,
        typer.Option(
            "--balance",
            metavar="HOW",
            help="Share the vocabulary between languages: parity makes each merge for the language that "
            "needs the most tokens. Each SRC is then LANGUAGE=FILE, and so is each --counts; without "
            "LANGUAGE the name of the file is taken. [default: by counts alone]",
            rich_help_panel="Languages",
        ),
    ] = None
    development: Annotated[
        list[str] | None,
        typer.Option(
            "--development",
            metavar="LANGUAGE=FILE",
            help="With --balance: text that says the same in every language, whose tokens decide; one for "
            "each language. [default: the tokens of all text decide]",
            rich_help_panel="Languages",
        ),
    ] = None
    ratio: Annotated[
        list[str] | None,
        typer.Option(
            "--ratio",
            metavar="LANGUAGE=NUMBER",
            help="With --balance: wanted compression of a language relative to the other languages, instead "
            "of --development; one for each language.",
            rich_help_panel="Languages",
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=1,
            metavar="N",
            help="With --balance: limit the share of each language in the last N merges; 100 is usual. "
            "[default: no limit]",
            rich_help_panel="Languages",
        ),
    ] = None
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            metavar="X",
            help="With --window: the limit is X divided by the number of languages.",
            rich_help_panel="Languages",
        ),
    ] = 2.0
    global_merges: Annotated[
        int,
        typer.Option(
            "--global-merges",
            min=0,
            metavar="N",
            help="With --balance: make the first N merges by the counts of all languages together.",
            rich_help_panel="Languages",
        ),
    ] = 0

    def training(self, training: Training) -> Training:
        """Returns the training of one vocabulary for the languages of a command.

        Args:
            training: the training without languages, whose sources have their names still.

        Raises:
            UsageError: if an option is missing, or contradicts another one.
        """
        if self.balance is None:
            refuse("it goes with --balance parity", "development", "ratio", "window", "global_merges")
        if self.window is None:
            refuse("it goes with --window", "alpha")
        if self.balance is None:
            _check_files(training.src or [])
            return training
        if self.balance != "parity":
            raise UsageError(f"--balance {self.balance}: the only way is parity")
        refuse("--balance has no such option; leave one of the two out", *_WITHOUT)
        refuse("--balance saves no progress; count the text first, by sentitok count", "checkpoint", "resume")
        refuse("--balance estimates nothing; leave one of the two out", "dry_run")
        sources = by_language(training.src or [])
        counts: dict[str, list[tuple[Path, str]]] = {}
        for path, weight in training.counts:
            language, name = named(str(path))
            if ":/" in name:
                raise UsageError(
                    f"--counts {path}: counts of a language are a file here; copy it to this machine"
                )
            counts.setdefault(language, []).append((Path(name), weight))
        languages = list(sources or counts)
        options: dict[str, Any] = {"global_merges": self.global_merges}
        if self.window is not None:
            options |= {"variant": "window", "window_size": self.window, "alpha": self.alpha}
        if self.development:
            options["development"] = by_language(self.development)
            _check_languages("--development", options["development"], languages)
        if self.ratio:
            if self.development:
                raise UsageError("--ratio and --development exclude each other; give one of them")
            options["ratios"] = _ratios(self.ratio)
            _check_languages("--ratio", options["ratios"], languages)
        if len(languages) == 1:
            raise UsageError(
                f"--balance parity: all files are of one language, {languages[0]}; name the language of "
                "each, as in en=reviews.txt"
            )
        return replace(
            training,
            train=_Trainer(sources, counts, options),
            shape={name: training.shape[name] for name in _SHAPE},
            src=[path for paths in sources.values() for path in paths] or None,
            counts=[pair for pairs in counts.values() for pair in pairs],
        )


@dataclass(frozen=True)
class _Trainer:
    """`sentitok.train_parity_bpe` with the languages of a command, called as the other trainers are."""

    sources: dict[str, list[str]]
    counts: dict[str, list[tuple[Path, str]]]
    options: dict[str, Any]
    __name__ = "train_parity_bpe"

    def __call__(self, *_: object, texts: list[str] | None = None, **options: Any) -> "Tokenizer":
        from sentitok import train_parity_bpe

        for name in ("counts", "checkpoint", "resume"):
            options.pop(name, None)
        if texts is not None:
            return train_parity_bpe(texts={"text": texts}, **options)
        if self.counts:
            return train_parity_bpe(counts=self.counts, **self.options, **options)
        return train_parity_bpe(self.sources, **self.options, **options)


def _ratios(texts: list[str]) -> dict[str, float]:
    ratios = {}
    for text in texts:
        language, _, value = text.partition("=")
        if language in ratios:
            raise UsageError(f"--ratio {text}: {language} has a ratio already; leave one of them out")
        try:
            ratios[language] = float(value)
        except ValueError:
            ratios[language] = math.nan
        if not 0 < ratios[language] < math.inf:
            raise UsageError(
                f"--ratio {text}: expected LANGUAGE=NUMBER, a number of more than 0, as in en=1.5"
            )
    return ratios


def _check_files(sources: list[str]) -> None:
    """Refuses LANGUAGE=FILE where languages are not told apart.

    Raises:
        UsageError: for the first such name.
    """
    for text in sources:
        language, file = named(text)
        if text == f"{language}={file}" and Path(file).exists() and not Path(text).exists():
            raise UsageError(
                f"{text}: no such file; --balance parity takes it as the text of {language}, without it "
                f"name {file}"
            )


def _check_languages(option: str, given: Iterable[str], languages: list[str]) -> None:
    """Refuses an option that does not name exactly the languages.

    Raises:
        UsageError: naming the first that is missing, or too many.
    """
    if unknown := [language for language in given if language not in languages]:
        raise UsageError(f"{option} {unknown[0]}=...: no such language; there are {', '.join(languages)}")
    if missing := [language for language in languages if language not in given]:
        raise UsageError(f"{option}: {missing[0]} is missing; name every language, as in {missing[0]}=...")
