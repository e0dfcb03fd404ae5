"""`prepare` and `Corpus`: from files to the rows of a training and a validation part.

Texts are encoded into token shards in the run directory; directories that `sentitok encode` wrote are used
where they lie. Either way all documents go by once, in blocks: excluded lines are left out, tokens and bytes
counted, rows found. So memory does not grow with the corpus, but the index on the disk does.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sentitok import SentitokError, Tokenizer, TrainError, train_bpe, train_unigram, train_wordpiece
from sentitok.datasets import TokenDataset
from sentitok.shards import find_datasets, is_dataset

from ..config import LanguageConfig
from ..data.exclusion import Exclusion
from ..data.opening import hash_file, read_small
from ..data.record import ENCODED
from ..errors import ConfigError, DataError
from .corpus_stats import FACTS, Count, Facts, too_small
from .documents import DOCUMENTS, Documents, of_shards, of_texts
from .packed import PackedSplit, TokenWriter, held_out
from .special_tokens import end_of_document, masked_tokens
from .vocabulary import as_saved

__all__ = ["Corpus", "is_encoded", "open_corpus", "prepare", "shards_hash"]


# Settings that say how texts become ids, by their options.
_OF_TEXTS = {
    "format": "--format", "text_column": "--text-column", "encoding": "--encoding",
    "separator": "--separator", "header": "--header and --no-header",
    "tokenizer_model": "--tokenizer-model", "end": "--end",
}  # fmt: skip
# Special tokens of WordPiece. With [CLS] a classifier that starts from the model would put it before each
# text, and a causal model never reads it in pre-training.
_OF_CAUSAL = ("[UNK]", "<|endoftext|>")
_OF_MASKED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True)
class Corpus:
    """A corpus as rows.

    Attributes:
        dataset: all ids.
        train: the rows to train on.
        valid: the rows to score.
        facts: of the corpus.
    """

    dataset: TokenDataset
    train: PackedSplit
    valid: PackedSplit
    facts: Facts


def is_encoded(config: LanguageConfig) -> bool:
    """Whether the corpus is of token shards, in one directory or several.

    Raises:
        DataError: if such a directory is given together with texts, or twice.
    """
    corpus = config.data.corpus
    folders = {name: _shard_folders(name) for name in corpus}
    encoded = [name for name in corpus if folders[name]]
    if encoded and len(encoded) < len(corpus):
        texts = next(name for name in corpus if name not in encoded)
        raise DataError(
            f"{encoded[0]}: an encoded corpus, which no texts can be joined to; leave out {texts} and other "
            "texts, or encode them too: sentitok encode"
        )
    parts = Counter(part.resolve() for name in corpus for part in folders[name])
    if twice := [part for part, n in parts.items() if n > 1]:
        raise DataError(f"{twice[0]}: given twice; name each encoded corpus once")
    return bool(encoded)


def _shard_folders(name: str) -> list[Path]:
    """Returns the directories of token shards that a name means: itself, or all that are in it.

    A directory that has anything else in it is one of texts.
    """
    path = Path(name)
    folders = [Path(one) for one in find_datasets([path])] if path.is_dir() else []
    return folders if all(map(is_dataset, folders)) else []


def prepare(
    config: LanguageConfig,
    folder: Path,
    tokenizer: Tokenizer | None = None,
    *,
    resumed: bool = False,
    say: Callable[[str], None] | None = None,
) -> Tokenizer:
    """Writes the index of a corpus, and its tokens unless it is encoded.

    Args:
        config: of the run.
        folder: where the index goes.
        tokenizer: of the run, if it is known already.
        resumed: whether the run has begun before, so that its tokenizer has been checked.
        say: called with the columns that were guessed.

    Returns:
        The tokenizer, with the special tokens that the task needs.

    Raises:
        DataError: if the corpus cannot be used, or is too small.
        ConfigError: if no tokenizer is named for an encoded corpus, or what texts alone have is set.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FACTS).unlink(missing_ok=True)  # of an index whose making is broken off nothing stays
    if is_encoded(config):
        return _index(config, folder, tokenizer, resumed)
    documents = Documents(config.data, say)
    if tokenizer is None:
        tokenizer = _tokenizer(config, documents)
    tokenizer, end = _complete(config, as_saved(tokenizer))
    counting = Count(config, folder, tokenizer.vocab_size)
    with TokenWriter(folder, tokenizer, end) as writer, counting as count:
        for block in of_texts(documents, tokenizer, end):
            writer.add(block.ids, block.ends)
            count.add(block)
        writer.close()
        count.close([folder], end, documents.sources, documents.n_left_out)
    return tokenizer


def _complete(config: LanguageConfig, tokenizer: Tokenizer) -> tuple[Tokenizer, int]:
    """Returns the tokenizer with the tokens that rows are made with, and the one that ends a document."""
    if config.task.kind == "masked":
        tokenizer, _ = masked_tokens(tokenizer)
    return end_of_document(tokenizer, config.data.end)


def _tokenizer(config: LanguageConfig, documents: Documents) -> Tokenizer:
    """Returns the tokenizer that is named, or one trained on the training part."""
    data = config.data
    if data.tokenizer is not None:
        return Tokenizer.from_file(data.tokenizer)
    kind = data.tokenizer_model or ("wordpiece" if config.task.kind == "masked" else "bpe")
    texts = _training_texts(config, documents)
    causal = config.task.kind == "next-token"
    try:
        if kind == "bpe":
            names = ["<|endoftext|>"] if causal else None
            return train_bpe(texts=texts, vocab_size=data.vocab_size, special_tokens=names)
        if kind == "wordpiece":
            special = _OF_CAUSAL if causal else _OF_MASKED
            return train_wordpiece(
                texts=texts, vocab_size=data.vocab_size, lowercase=False, special_tokens=special
            )
        return train_unigram(texts=texts, vocab_size=data.vocab_size)
    except TrainError:
        if any(source["documents"] for source in documents.sources):
            raise
        raise too_small(config, 0) from None


def _training_texts(config: LanguageConfig, documents: Documents) -> Iterator[str]:
    """Yields the documents of the training part."""
    texts, first = iter(documents), 0
    while block := list(islice(texts, DOCUMENTS)):
        valid = held_out(first, first + len(block), config.data.valid_share, config.data.split_seed)
        yield from (text for text, out in zip(block, valid.tolist(), strict=True) if not out)
        first += len(block)


def _index(config: LanguageConfig, folder: Path, tokenizer: Tokenizer | None, resumed: bool) -> Tokenizer:
    """Indexes directories of token shards."""
    paths = [folder for name in config.data.corpus for folder in _shard_folders(name)]
    whole, path = TokenDataset(*paths), paths[0]
    if tokenizer is None:
        if config.data.tokenizer is None:
            raise ConfigError(
                f"{path}: an encoded corpus; name the tokenizer that encoded it: --tokenizer FILE"
            )
        tokenizer = Tokenizer.from_file(config.data.tokenizer)
    if not resumed:
        for name, option in _OF_TEXTS.items():
            if getattr(config.data, name) is not None:
                raise ConfigError(f"{path}: an encoded corpus; {option} is for texts, leave it out")
        _check_encoder(path, whole, tokenizer, config)
        tokenizer = as_saved(tokenizer)
    end = whole.manifest.get("separator")
    if not isinstance(end, int):
        raise DataError(f"{path}: its documents have no separator; encode it again with --separator TOKEN")
    if config.task.kind == "masked":
        tokenizer, _ = masked_tokens(tokenizer)
    exclusion, left_out, limit = Exclusion.read(config.data.exclude), 0, config.data.limit
    sources: list[dict[str, object]] = []
    with Count(config, folder, tokenizer.vocab_size) as count:
        for path in paths:
            before, dataset = count.n_documents, TokenDataset(path)
            left = None if limit is None else limit - before
            for block in of_shards(dataset, tokenizer, left, exclusion):
                left_out += int((~block.kept).sum())
                count.add(block)
            n_documents = count.n_documents - before
            sources.append({"source": str(path), "sha256": shards_hash(dataset), "documents": n_documents})
            sources += () if resumed else _made_from(dataset, {one["source"] for one in sources})
            if limit is not None and count.n_documents >= limit:
                break
        count.close(paths, end, sources, left_out)
    return tokenizer


def shards_hash(dataset: TokenDataset) -> str:
    """Returns the key of an encoded corpus: the hashes of its shards."""
    return " ".join(str(shard["sha256"]) for shard in dataset.manifest["shards"])


def _made_from(dataset: TokenDataset, known: Collection[object]) -> Iterator[dict[str, object]]:
    """Yields the files that shards were made from, if they are found under their names, as long as then.

    Known files are not read again: several directories may have been made from one file.
    """
    made_from = dataset.manifest.get("sources")
    for one in made_from if isinstance(made_from, list) else ():
        name, size = (one.get("name"), one.get("bytes")) if isinstance(one, dict) else (None, None)
        path = Path(str(name))
        with suppress(OSError, DataError):  # one that cannot be read any more is not known
            if path.is_file() and path.stat().st_size == size and str(path.absolute()) not in known:
                said = {"source": str(path.absolute()), "sha256": hash_file(path), "documents": 0}
                yield {"role": ENCODED, **said}


def _check_encoder(path: Path, dataset: TokenDataset, tokenizer: Tokenizer, config: LanguageConfig) -> None:
    """Refuses shards that another tokenizer than this one has made: their ids are of other tokens.

    Raises:
        DataError: naming both by their hashes.
    """
    if tokenizer.fingerprint == dataset.tokenizer_sha256:
        return
    named, start = config.data.tokenizer, config.train.init_from
    hashes = f"by SHA-256 {dataset.tokenizer_sha256[:12]}, not {tokenizer.fingerprint[:12]}"
    if named is not None:
        raise DataError(
            f"{path}: encoded by another tokenizer than {named}: {hashes}; name the one that encoded it, or "
            "encode the texts again"
        )
    raise DataError(
        f"{path}: encoded by another tokenizer than that of {start}: {hashes}; encode the texts again by "
        f"{start}/tokenizer.json, or name the one that encoded it: --tokenizer FILE (the vectors of other "
        "tokens are not used)"
    )


def open_corpus(folder: Path) -> Corpus:
    """Opens what `prepare` wrote; nothing is read yet but the index's ends.

    Raises:
        DataError: if it is not there, or damaged.
    """
    try:
        facts = Facts(**json.loads(read_small(folder / FACTS)))
        dataset = TokenDataset(*facts.datasets)
        made = {"stride": facts.stride, "end": facts.end}
        train = PackedSplit(dataset, folder, "train", total=facts.tokens[0], **made)
        valid = PackedSplit(dataset, folder, "valid", total=facts.tokens[1], **made)
    except (OSError, RecursionError, ValueError, TypeError, SentitokError) as error:
        raise DataError(f"{folder}: the index of the corpus is unreadable: {error}") from error
    return Corpus(dataset, train, valid, facts)
