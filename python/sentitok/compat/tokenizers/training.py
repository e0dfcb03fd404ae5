"""`trained`: trains by sentitok's trainers, and returns the fields of a model.

BPE has the vocabulary and merges of tokenizers, one for one; WordPiece its tokens; WordLevel its
words. Unigram follows SentencePiece, not tokenizers' trainer: see docs/explanation/exactness.md.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ... import _sentitok
from .alphabet import spelled
from .carrier import carried
from .fields import Json
from .models import Model
from .trainers import Merging, Trainer, UnigramTrainer, WordLevelTrainer

__all__ = ["as_tokenizer_json", "trained"]


def trained(
    trainer: Trainer,
    model: Model,
    stages: dict[str, Any],
    files: list[str] | None = None,
    texts: Iterable[str | Iterable[str]] | None = None,
) -> Json:
    """Returns the fields of a model that training makes.

    Args:
        trainer: the options.
        model: the model to train.
        stages: the normalizer and the pre-tokenizer, by these names, `None` where there is none.
        files: files whose lines are texts.
        texts: texts, or lists of texts, if there are no files.

    Raises:
        ValueError: for a trainer of another model.
        TrainError: for options that cannot be.
    """
    if trainer.model != type(model).__name__:
        raise ValueError(
            f"{type(trainer).__name__} can only train a {trainer.model}, and not a {type(model).__name__}"
        )
    specs = {name: None if stage is None else stage.spec() for name, stage in stages.items()}
    carrier = carried(**specs)
    source: Json = {"normalizer": carrier.normalizer, "pre_tokenizer": carrier.pre_tokenizer}
    if files is not None:
        source.update(source=files, format="lines")
    else:
        source["texts"] = flat(iter(cast("Iterable[str | Iterable[str]]", texts)))
    spells_bytes = any(stage is not None and stage.spells_bytes() for stage in stages.values())
    if isinstance(trainer, Merging):
        try:
            return _merges(trainer, source, spells_bytes)
        except _sentitok.TrainError as error:
            if not str(error).startswith("the corpus is empty"):
                raise
            return _merges_of_nothing(trainer)
    counts = cast("_sentitok.WordCounts", _sentitok.count(**source))
    spell = spelled if spells_bytes else bytes.decode
    words = {spell(word): n for word, n in counts.items()}
    if isinstance(trainer, UnigramTrainer):
        return _pieces(trainer, words) if words else _pieces_of_nothing(trainer)
    return _words(cast("WordLevelTrainer", trainer), words)


def flat(texts: Iterable[str | Iterable[str]]) -> Iterator[str]:
    """Returns the texts of texts and lists of texts."""
    for given in texts:
        if isinstance(given, str):
            yield given
        else:
            yield from given


def _merges(trainer: Merging, source: Json, spells_bytes: bool) -> Json:
    made = _sentitok.train_bpe(
        **source,
        vocab_size=trainer.vocab_size,
        min_frequency=trainer.min_frequency,
        special_tokens=[token.content for token in trainer.special_tokens],
        limit_alphabet=trainer.limit_alphabet,
        initial_alphabet=trainer.initial_alphabet,
        unit="bytes" if spells_bytes else "chars",
        continuing_subword_prefix=trainer.continuing_subword_prefix,
        end_of_word_suffix=trainer.end_of_word_suffix,
        max_token_length=trainer.max_token_length,
    )
    return _with_affixes(trainer, model_of(made))


def _merges_of_nothing(trainer: Merging) -> Json:
    """The special tokens and the initial alphabet, which tokenizers gives for texts without a piece."""
    tokens = [token.content for token in trainer.special_tokens] + sorted({*trainer.initial_alphabet})
    return _with_affixes(trainer, {"vocab": _numbered(tokens), "merges": []})


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: id for id, token in enumerate(dict.fromkeys(tokens))}


def _with_affixes(trainer: Merging, fields: Json) -> Json:
    prefix = trainer.continuing_subword_prefix
    if trainer.model == "WordPiece":
        # A WordPiece always has a prefix.
        return {"vocab": fields["vocab"], "continuing_subword_prefix": "##" if prefix is None else prefix}
    return {
        "vocab": fields["vocab"],
        "merges": fields["merges"],
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": trainer.end_of_word_suffix,
    }


def _pieces(trainer: UnigramTrainer, words: dict[str, int]) -> Json:
    made = _sentitok.train_unigram(
        counts=words,
        pre_tokenizer="bytes",  # they are split
        vocab_size=trainer.vocab_size,
        special_tokens=[token.content for token in trainer.special_tokens],
        unk_token=trainer.unk_token,
        bos_token=None,
        eos_token=None,
        character_coverage=1.0,
        required_chars="".join(trainer.initial_alphabet),
        seed_size=trainer.seed_size,
        shrinking_factor=trainer.shrinking_factor,
        sub_iterations=trainer.n_sub_iterations,
        max_piece_length=trainer.max_piece_length,
        split_by_unicode_script=False,
        split_by_number=False,
        split_by_whitespace=False,
    )
    fields = model_of(made)
    return _untouched_pieces(fields["unk_id"], fields["vocab"])


def _pieces_of_nothing(trainer: UnigramTrainer) -> Json:
    """The special tokens, which tokenizers gives for texts without a piece."""
    tokens = [token.content for token in trainer.special_tokens]
    if trainer.unk_token is not None and trainer.unk_token not in tokens:
        tokens.insert(0, trainer.unk_token)
    unk_id = None if trainer.unk_token is None else tokens.index(trainer.unk_token)
    return _untouched_pieces(unk_id, [[token, 0.0] for token in tokens])


def _untouched_pieces(unk_id: int | None, vocab: list[Any]) -> Json:
    """The fields of a trained Unigram: tokenizers makes a new model, without the options of the old one."""
    return {"unk_id": unk_id, "vocab": vocab, "byte_fallback": False}


def _words(trainer: WordLevelTrainer, words: dict[str, int]) -> Json:
    frequent = [(word, n) for word, n in words.items() if n >= trainer.min_frequency]
    frequent.sort(key=lambda item: (-item[1], item[0]))
    tokens = [token.content for token in trainer.special_tokens] + [word for word, _ in frequent]
    return {"vocab": {token: id for id, token in enumerate(tokens[: trainer.vocab_size])}}


def model_of(tokenizer: _sentitok.Tokenizer) -> Json:
    """Returns the model as in tokenizer.json."""
    model: Json = json.loads(as_tokenizer_json(tokenizer))["model"]
    return model


def as_tokenizer_json(tokenizer: _sentitok.Tokenizer) -> str:
    """Returns the tokenizer.json of a tokenizer of sentitok."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        return path.read_text("utf-8")
