"""`--superwords-from` and `--superwords` of `train-bpe`: tokens of several words."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from .command import UsageError, refuse


@dataclass(frozen=True, slots=True)
class Superwords:
    """Which superwords are trained; each field is an option (`grouped`)."""

    superwords_from: Annotated[
        int | None,
        typer.Option(
            "--superwords-from",
            min=1,
            metavar="N",
            help="Merge across words once the vocabulary has N tokens: 24000 or 24k (SuperBPE); with "
            "--extend, the size of the base adds superwords only. The text is read three times; --counts are "
            "those of --pre-tokenizer gpt2-superwords.",
            rich_help_panel="Superwords",
        ),
    ] = None
    superwords: Annotated[
        str | None,
        typer.Option(
            "--superwords",
            metavar="auto",
            help="Join words of one token each as soon as they are more frequent than other merges "
            "(BoundlessBPE), instead of --superwords-from.",
            rich_help_panel="Superwords",
        ),
    ] = None
    max_superword_words: Annotated[
        int | None,
        typer.Option(
            "--max-superword-words",
            min=2,
            metavar="N",
            help="Maximum number of words in a superword. [default: 4]",
            rich_help_panel="Superwords",
        ),
    ] = None
    superword_rule: Annotated[
        str | None,
        typer.Option(
            "--superword-rule",
            metavar="RULE",
            help="What no superword crosses: sentences (a full stop or colon before a space, and line "
            "feeds), lines (line feeds), or documents (their ends). Numbers stay alone. "
            "[default: sentences]",
            rich_help_panel="Superwords",
        ),
    ] = None

    def options(self, vocab: int) -> dict[str, Any]:
        """Returns them as the library takes them; empty without superwords.

        Args:
            vocab: the size of the vocabulary.

        Raises:
            UsageError: if other options of the call exclude superwords.
        """
        given = {
            "superwords": self.superwords,
            "superwords_from": self.superwords_from,
            "max_superword_words": self.max_superword_words,
            "superword_rule": self.superword_rule,
        }
        if self.superwords is None and self.superwords_from is None:
            needs = (
                "there are no superwords without --superwords-from N or --superwords auto; give one of them"
            )
            refuse(needs, "max_superword_words", "superword_rule")
            return {}
        if self.superwords_from is not None and self.superwords_from >= vocab:
            raise UsageError(
                f"--superwords-from {self.superwords_from}: the vocabulary has {vocab:,} tokens, so none "
                "would be a superword; give less, or a greater --vocab"
            )
        return {name: value for name, value in given.items() if value is not None}
