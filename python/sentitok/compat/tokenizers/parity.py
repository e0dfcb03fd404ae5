"""`trained_languages`: what `trainers.ParityBpeTrainer` makes of the texts of several languages.

Training itself is `sentitok.train_parity_bpe`, whose merges are those of tokenizers.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ... import _sentitok
from .carrier import carried
from .fields import Json
from .models import BPE
from .trainers import ParityBpeTrainer, ratios_of
from .training import flat, model_of

__all__ = ["trained_languages"]

#: More tokens than any vocabulary has, where merges are limited instead.
_NO_LIMIT = (1 << 30) - 1

_Texts = Iterable[str | Iterable[str]]


def trained_languages(
    trainer: ParityBpeTrainer,
    stages: dict[str, Any],
    train: Sequence[_Texts],
    dev: Sequence[_Texts] | None,
    ratio: Sequence[float] | None,
) -> BPE:
    """Returns a new model, trained on the texts of each language.

    Args:
        trainer: the options.
        stages: the normalizer and the pre-tokenizer, by these names, `None` where there is none.
        train: the texts of each language, or lists of texts.
        dev: the texts that decide, if there are some.
        ratio: the ratios, if they are not those of the trainer.

    Raises:
        ValueError: for another number of languages.
        TrainError: for options that cannot be, or a language without text.
    """
    if not train:
        raise ValueError("train_iterators must not be empty; give the texts of each language")
    n = len(train)
    if dev is not None and len(dev) != n:
        raise ValueError(f"dev_iterators length ({len(dev)}) must match train_iterators length ({n})")
    carrier = carried(**{name: None if stage is None else stage.spec() for name, stage in stages.items()})
    pipeline: Json = {"normalizer": carrier.normalizer, "pre_tokenizer": carrier.pre_tokenizer}

    def counted(texts: Sequence[_Texts]) -> dict[str, Any]:
        return {f"{at}": _sentitok.count(texts=flat(iter(one)), **pipeline) for at, one in enumerate(texts)}

    options: Json = {"counts": counted(train), **pipeline}
    if dev:
        options["development"] = counted(dev)
    elif ratios := trainer.ratios if ratio is None else ratios_of(ratio):
        if len(ratios) != n:
            raise ValueError(f"ratio length ({len(ratios)}) does not match number of languages ({n})")
        options["ratios"] = {f"{at}": value for at, value in enumerate(ratios)}
    if trainer.variant == "window":
        options |= {"variant": "window", "window_size": trainer.window_size, "alpha": trainer.alpha}
    spells_bytes = any(stage is not None and stage.spells_bytes() for stage in stages.values())
    options["unit"] = "bytes" if spells_bytes else "chars"
    fields = model_of(_trained(trainer, options))
    return BPE(
        vocab=fields["vocab"],
        merges=[tuple(pair) for pair in fields["merges"]],
        continuing_subword_prefix=trainer.continuing_subword_prefix,
        end_of_word_suffix=trainer.end_of_word_suffix,
    )


def _trained(trainer: ParityBpeTrainer, options: Json) -> _sentitok.Tokenizer:
    def train(vocab_size: int, max_merges: int | None) -> _sentitok.Tokenizer:
        return _sentitok.train_parity_bpe(
            vocab_size=vocab_size,
            max_merges=max_merges,
            min_frequency=trainer.min_frequency,
            global_merges=trainer.global_merges,
            special_tokens=[token.content for token in trainer.special_tokens],
            limit_alphabet=trainer.limit_alphabet,
            initial_alphabet=trainer.initial_alphabet,
            continuing_subword_prefix=trainer.continuing_subword_prefix,
            end_of_word_suffix=trainer.end_of_word_suffix,
            max_token_length=trainer.max_token_length,
            **options,
        )

    if not trainer.total_symbols:
        return train(_NO_LIMIT, trainer.num_merges)
    n_symbols = train(_NO_LIMIT, 0).n_tokens
    return train(max(trainer.num_merges, n_symbols), None)
