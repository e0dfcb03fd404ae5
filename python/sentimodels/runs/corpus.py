"""The corpus of a run of pre-training: its rows in the run directory, and notes for the user.

`text/corpus_stats.py` refuses corpora that cannot be trained on.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sentitok import Tokenizer
from sentitok.datasets import TokenDataset

from ..config import TASKS, CorpusConfig, LanguageConfig, MaskedConfig
from ..data.record import JSON_NAME
from ..errors import CheckpointError, ConfigError, SentiError
from ..models.language import build_language_model, language_model_shape
from ..nn.backbone import set_recompute
from ..tasks.masked import share_read
from ..tasks.next_token import LanguageRows
from ..text.corpus import Corpus, is_encoded, open_corpus, prepare, shards_hash
from ..text.documents import kind_of
from ..text.packed import RowOrder
from ..text.special_tokens import masked_tokens
from ..training.optimizer import validate_optim
from .directory import read_json
from .families import LANGUAGE_MODEL
from .init_weights import init_weights
from .language_directory import SOURCES, begin_language_run, end_of_start, load_tokenizer, tokenizer_of_start
from .lineage import own_sources, record_of, sources_of_start

__all__ = [
    "TOKENS",
    "begin_on_rows",
    "check_same_corpus",
    "first_documents",
    "is_first_part",
    "notes_of",
    "planned_of",
    "task_of",
    "with_end_of_start",
]

# The folder of a run that holds its rows until it has finished.
TOKENS, _CLAIM = "tokens", ".rows"

# Documents that a plan reads, at most.
_DOCUMENTS = 100_000
# Where rows of two halves read a smaller share of the tokens than this, a note says so.
_MUCH = 0.7
# Settings that decide which documents of files validate, apart from how the files are read.
_DIVIDING = ("limit", "valid_share", "split_seed")


def begin_on_rows(config: LanguageConfig, out: Path, world: int, say: Callable[[str], None]) -> None:
    """Writes rows and all that is known before training, once nothing can be refused any more.

    Args:
        config: the run.
        out: its directory.
        world: how many processes train.
        say: called with notes for the user.

    Raises:
        SentiError: if the model cannot do the task, or the corpus cannot be trained on.
    """
    _refuse_impossible(config, world)
    with rows_in(out):
        encoder = prepare(config, out / TOKENS, tokenizer_of_start(config), say=say)
        if config.train.init_from is not None:  # weights that do not fit leave no run behind
            init_weights(build_language_model(config, encoder.vocab_size), config, encoder)
        corpus = open_corpus(out / TOKENS)
        task_of(config, corpus, encoder, bfloat16=False).plan(world)  # fewer rows than processes, for one
        sources = corpus.facts.sources + sources_of_start(config.train.init_from)
        begin_language_run(out, config, encoder, {"sources": sources})


def task_of(config: LanguageConfig, corpus: Corpus, tokenizer: Tokenizer, *, bfloat16: bool) -> Any:
    """Returns the task of a run.

    Args:
        config: the run.
        corpus: its rows.
        tokenizer: encoded them.
        bfloat16: whether validation computes in bfloat16.

    Raises:
        ConfigError: if the rows do not allow the task.
    """
    rows = LanguageRows(corpus, RowOrder(config, corpus.train.n_rows), tokenizer, bfloat16)
    return TASKS[config.task.kind].make(config, rows)


def _refuse_impossible(config: LanguageConfig, world: int) -> None:
    """Refuses a model that cannot do the task or be trained so, before the corpus is read."""
    if config.train.parallel == "fsdp":
        from ..training.fsdp import check_sharded

        check_sharded(config, world)
    module = language_model_shape(config, 8)
    validate_optim(module, config.optim)
    if config.train.recompute and not set_recompute(module, True):
        raise ConfigError(f"train.recompute: {config.arch} has no blocks to compute again; leave it out")


def first_documents(config: LanguageConfig) -> LanguageConfig:
    """Returns the configuration of a plan, which reads the first documents of a large corpus."""
    data = config.data
    if data.limit is not None and data.limit <= _DOCUMENTS:
        return config
    return config.model_copy(update={"data": data.model_copy(update={"limit": _DOCUMENTS})})


def planned_of(config: LanguageConfig, corpus: Corpus | None, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """Returns the plan's facts on sizes and, once it is read, on the size of the corpus."""
    about: dict[str, Any] = {"preset": config.preset, "task": config.task.kind}
    if corpus is not None and tokenizer is not None:
        documents, tokens = corpus.facts.documents, corpus.facts.tokens
        about |= {"train_documents": documents[0], "valid_documents": documents[1]}
        about |= {"vocabulary": tokenizer.vocab_size, "corpus_tokens": tokens[0]}
    rows = (config.train.batch_size or 1) * config.train.accumulate
    about["tokens_of_a_step"] = rows * config.data.context
    return {key: value for key, value in about.items() if value is not None}


def is_first_part(corpus: Corpus) -> bool:
    """Whether a plan has read the first documents of a corpus alone."""
    return sum(corpus.facts.documents) >= _DOCUMENTS


@contextmanager
def rows_in(out: Path) -> Iterator[None]:
    """A block that writes rows: where it fails, they go, and so does the folder that was made for them.

    Raises:
        CheckpointError: if files lie there that no run has put there.
    """
    folder, was_there = out / TOKENS, out.exists()
    others = folder.is_dir() and any(folder.iterdir()) and not (folder / _CLAIM).is_file()
    if others or folder.is_file():
        raise CheckpointError(
            f"{folder}: is not empty, and the run would keep its rows there and remove them in the end; give "
            "another --out, or move it away"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _CLAIM).touch()
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if not was_there:
            with suppress(OSError):
                out.rmdir()
        raise


def check_same_corpus(config: LanguageConfig, out: Path) -> None:
    """Writes the rows again where they are gone; refuses a corpus that differs from that of the run.

    Raises:
        CheckpointError: naming the file.
    """
    then = own_sources(read_json(out / SOURCES).get("sources", []))
    for source in then if is_encoded(config) else ():
        if shards_hash(TokenDataset(Path(source["source"]))) != source["sha256"]:
            raise _changed(source)
    with suppress(SentiError):
        if own_sources(open_corpus(out / TOKENS).facts.sources) == then:
            return
    prepare(config, out / TOKENS, load_tokenizer(out), resumed=True)
    now = own_sources(open_corpus(out / TOKENS).facts.sources)
    if now != then:
        shutil.rmtree(out / TOKENS)
        old, new = next(pair for pair in zip_longest(then, now) if pair[0] != pair[1])
        raise _changed(new or old)


def _changed(source: Mapping[str, Any]) -> CheckpointError:
    """Returns the error of a corpus that differs from that of the run."""
    return CheckpointError(
        f"{source['source']}: has changed since the run began; start a new one, with another --out"
    )


def with_end_of_start(config: LanguageConfig) -> LanguageConfig:
    """Returns the configuration, with the end of documents of the run that a model starts from.

    That model knows no other. One that is named takes precedence, as does the separator of an encoded corpus.
    """
    tokenizer = tokenizer_of_start(config)
    if tokenizer is None or config.data.end is not None or is_encoded(config):
        return config
    end = end_of_start(config, tokenizer)
    return config.model_copy(update={"data": config.data.model_copy(update={"end": end})})


def notes_of(
    config: LanguageConfig, corpus: Corpus, tokenizer: Tokenizer, *, resumed: bool = False
) -> Iterator[str]:
    """Yields notes for the user of a run, one sentence each.

    Args:
        config: the run.
        corpus: its rows.
        tokenizer: encoded them.
        resumed: whether the run has begun before, so that its base is known.
    """
    facts = corpus.facts
    (train, valid), (train_tokens, valid_tokens) = facts.documents, facts.tokens
    yield (
        f"{train_tokens:,} tokens of {train:,} documents to train on, {valid_tokens:,} of {valid:,} to "
        f"validate; vocabulary {tokenizer.vocab_size:,}"
    )
    if facts.left_out:
        were = "line or document was" if facts.left_out == 1 else "lines or documents were"
        yield (f"{facts.left_out:,} {were} left out, because --exclude {config.data.exclude} has their texts")
    yield from _of_tokenizer(config, tokenizer, facts.end)
    if isinstance(config.task, MaskedConfig) and config.task.next_sentence:
        share = share_read(corpus)
        if share < _MUCH:
            yield (
                f"--next-sentence reads the longest document of each {config.data.context} tokens and pads "
                f"the rest: about {share:.0%} of the tokens are read; documents have "
                f"{train_tokens // train:,} tokens on average, so lower --context, or leave out "
                "--next-sentence"
            )
    start = config.train.init_from
    if not resumed and (of_start := tokenizer_of_start(config)) is not None:
        end, known = tokenizer.id_to_token(facts.end), end_of_start(config, of_start)
        if known not in (None, end):
            yield (
                f"documents end with {end}, but those of {start} with {known}: the model has to learn {end} "
                "again"
            )
    if start is not None and not resumed:
        yield from _known_to(Path(start), config, own_sources(facts.sources))


def _of_tokenizer(config: LanguageConfig, tokenizer: Tokenizer, end: int) -> Iterator[str]:
    """Yields notes on text that a tokenizer loses, and on tokens that classifiers would add around it."""
    around = tokenizer.encode("")
    if config.task.kind == "masked":
        _, special = masked_tokens(tokenizer)
        if not {special.cls, special.sep} <= set(around.ids.tolist()):
            first, last = (tokenizer.id_to_token(id) for id in (special.cls, special.sep))
            yield (
                f"the tokenizer adds no {first} and {last} to a text that is classified, between which this "
                "model reads; if classifiers are to start from it, use a tokenizer that adds them"
            )
        return
    if not tokenizer.is_lossless:
        yield (
            "the tokenizer loses parts of texts, which bits per byte then leave out; compare them only with "
            "those of the same tokenizer"
        )
    unread = [name for name, id in zip(around.tokens, around.ids, strict=True) if id != end]
    if unread:
        yield (
            f"the tokenizer adds {' and '.join(unread)} to a text that is classified, which this model does "
            "not read; if classifiers are to start from it, use a tokenizer that adds nothing"
        )


def _known_to(start: Path, config: LanguageConfig, files: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the warnings about files that a base was trained on, if it may have read what validates here.

    A document validates by its number, so the base may have trained on documents that validate here, unless
    the same files came first and in the same order there, divided by the same settings.
    """
    known = {one.sha256 for one in record_of(start).learned}
    hashes = [file["sha256"] for file in files]
    if not (n_known := sum(file in known for file in hashes)):
        return
    differ = "other files before or among them"
    try:
        then = LANGUAGE_MODEL.load(start).data
        of_base = own_sources(read_json(start / JSON_NAME).get("sources", []))
        n_same = min(len(files), len(of_base))
        settings = [name for name in _DIVIDING if getattr(then, name) != getattr(config.data, name)]
        same = hashes[:n_same] == [one["sha256"] for one in of_base[:n_same]]
        if settings:
            differ = f"another data.{settings[0]}"
        elif same and _read_as(then, of_base[:n_same]) != _read_as(config.data, files[:n_same]):
            differ = "documents read in another way"
        elif same and known.isdisjoint(hashes[n_same:]):
            return
    except (SentiError, OSError):  # no language model: a classifier, or weights alone
        differ = "a different division"
    yield (
        f"{start} was trained on {n_known:,} of the {len(files):,} files of the corpus, with {differ}: it "
        "may have read documents that validate, and the loss there may be too low"
    )


def _read_as(data: CorpusConfig, files: list[Mapping[str, Any]]) -> tuple[object, ...]:
    """Returns how files are decoded, and the unit of documents in each."""
    kinds = [kind_of(Path(one["source"]), data) for one in files]
    return data.encoding or "utf-8", data.separator, data.header, kinds
