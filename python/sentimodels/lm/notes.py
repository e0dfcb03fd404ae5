"""`notes_of`: what a pre-training tells of its corpus before it begins.

Not for what is refused (`count.py`, `held_out.py`).
"""

from collections.abc import Iterator
from pathlib import Path

from sentitok import Tokenizer

from ..config import LanguageConfig
from ..errors import SentiError
from ..runs.language import load_language_config
from ..runs.lineage import own_sources, record_of
from .corpus import Corpus

__all__ = ["notes_of"]

# What decides which documents of a corpus validate.
_DIVIDING = ("corpus", "format", "encoding", "limit", "valid_share", "split_seed")


def notes_of(config: LanguageConfig, corpus: Corpus, tokenizer: Tokenizer) -> Iterator[str]:
    """Yields what the user of a run should know, one sentence each."""
    facts = corpus.facts
    (train, valid), (train_tokens, valid_tokens) = facts.documents, facts.tokens
    yield (
        f"{train_tokens:,} tokens of {train:,} documents to train on, {valid_tokens:,} of {valid:,} to "
        f"validate; vocabulary {tokenizer.vocab_size:,}"
    )
    if facts.left_out:
        were = "line or document was" if facts.left_out == 1 else "lines or documents were"
        yield (
            f"{facts.left_out:,} {were} left out for being sentences of SST dev or test, which nothing may "
            "train on"
        )
    if config.task.kind == "next-token" and not tokenizer.is_lossless:
        yield (
            "the tokenizer loses parts of texts, which bits per byte then leave out; compare them only with "
            "those of the same tokenizer"
        )
    start = config.train.init_from
    if start is not None and not _divided_alike(config, Path(start)):
        known = {one.sha256 for one in record_of(start).learned}
        for one in own_sources(facts.sources):
            if one["sha256"] in known:
                yield (
                    f"{start} was trained on {one['source']}, divided otherwise, so documents that validate "
                    "may be known to it; take the same files, --format, --limit and --valid-share as it had"
                )


def _divided_alike(config: LanguageConfig, start: Path) -> bool:
    """Whether a run has divided the corpus that it was trained on as this one does."""
    try:
        then = load_language_config(start).data
    except (SentiError, OSError):  # no language model
        return False
    return all(getattr(then, name) == getattr(config.data, name) for name in _DIVIDING)
