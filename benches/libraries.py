"""How each library encodes and decodes: its fastest documented call from Python, on a number of threads.

One row of `LIBRARIES` each; `passes.py` measures them, and `trainers.py` trains. It runs in
environments without sentitok too: standard library
and NumPy alone are imported here.

A loader gets the job and returns two functions: one that encodes documents, and
one that turns what it returned into arrays of ids, which is not timed. A decoder
gets the job and an array of ids a document, makes of it what the library takes, and
returns a function that gives the texts, as `str` or as UTF-8. Threads
are limited by the call where it has an argument for them, else by
`RAYON_NUM_THREADS`, which the measuring process sets; a process of one thread has one
processor alone, as some libraries heed neither.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Job = dict[str, Any]
Encode = Callable[[list[str]], Any]
Rows = Callable[[Any], Sequence[Any]]
Decode = Callable[[], Sequence[Any]]


class CannotLoadError(Exception):
    """This library cannot run this tokenizer."""


@dataclass(frozen=True)
class Library:
    """One library.

    Attributes:
        package: the name to install, with its version where it must be one.
        module: the name to import.
        load: makes the functions of a job.
        decoder: makes the function that decodes, if it can.
        apart: whether it needs a separate environment.
    """

    package: str
    module: str
    load: Callable[[Job], tuple[Encode, Rows]]
    apart: bool = False
    decoder: Callable[[Job, list[Any]], Decode] | None = None


def _cut(ids: Any, starts: Any) -> list[Any]:
    """One array a document from all ids and the places where documents start and the last ends."""
    return np.split(np.asarray(ids), np.asarray(starts)[1:-1].astype(np.int64))


def _open_sentitok(job: Job) -> Any:
    from sentitok import Tokenizer

    if "ranks" in job:
        return Tokenizer.from_tiktoken(job["ranks"], job["name"], job["specials"])
    return Tokenizer.from_file(job["file"])


def _sentitok(job: Job) -> tuple[Encode, Rows]:
    tokenizer = _open_sentitok(job)
    threads = job["threads"]
    return (
        lambda texts: tokenizer.encode_batch(texts, threads=threads, add_special_tokens=False),
        list,
    )


def _open_gigatoken(job: Job) -> Any:
    import gigatoken

    if "ranks" in job:
        return gigatoken.Tokenizer.from_tiktoken(job["ranks"], job["name"], job["specials"])
    if job["file"].endswith(".model"):
        return gigatoken.Tokenizer.from_sentencepiece(job["file"])
    return gigatoken.Tokenizer(job["file"])


def _gigatoken(job: Job) -> tuple[Encode, Rows]:
    tokenizer = _open_gigatoken(job)
    parallel = job["threads"] > 1
    return (
        lambda texts: tokenizer.encode_batch(texts, parallel=parallel),
        lambda rows: [np.asarray(row) for row in rows],
    )


def _tokenizers(job: Job) -> tuple[Encode, Rows]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(_json(job))
    # The fast call leaves offsets out, as ours does; 1.0 has one call that is fast.
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return (
        lambda texts: encode(texts, add_special_tokens=False),
        lambda encodings: [encoding.ids for encoding in encodings],
    )


def _fastokens(job: Job) -> tuple[Encode, Rows]:
    from fastokens import Tokenizer

    tokenizer = Tokenizer.from_file(_json(job))
    return (
        lambda texts: tokenizer.encode_batch_flat(texts, add_special_tokens=False),
        lambda flat: _cut(np.frombuffer(flat[0], np.uint32), np.frombuffer(flat[1], np.uint64)),
    )


def _tokie(job: Job) -> tuple[Encode, Rows]:
    from tokie import Tokenizer

    tokenizer: Any = Tokenizer.from_json(_json(job))  # its stub lacks the call
    return (
        lambda texts: tokenizer.encode_batch_flat(texts, add_special_tokens=False),
        lambda flat: _cut(flat[0], np.concatenate([[0], np.cumsum(flat[1])])),
    )


def _quicktok(job: Job) -> tuple[Encode, Rows]:
    import quicktok

    bundled = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
    if job["name"] not in bundled:
        raise CannotLoadError("it bundles no such encoding")
    tokenizer = quicktok.get_encoding(bundled[job["name"]])
    threads = job["threads"]
    return (
        lambda texts: tokenizer.encode_batch(texts, threads=threads),
        lambda flat: _cut(flat[0], flat[1]),
    )


def _kitoken(job: Job) -> tuple[Encode, Rows]:
    from kitoken import Kitoken

    if job["file"].endswith(".model"):
        tokenizer = Kitoken.from_sentencepiece_file(job["file"])
    else:
        tokenizer = Kitoken.from_tokenizers_file(job["file"])
    return (lambda texts: tokenizer.encode_all(texts, False), lambda rows: rows)


def _open_tiktoken(job: Job) -> Any:
    import tiktoken

    if "ranks" not in job:
        raise CannotLoadError("it reads only ranks")
    with open(job["ranks"], "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file)}
    return tiktoken.Encoding(
        "bench", pat_str=job["pattern"], mergeable_ranks=ranks, special_tokens=job["specials"]
    )


def _tiktoken(job: Job) -> tuple[Encode, Rows]:
    encoding = _open_tiktoken(job)
    threads = job["threads"]
    if threads == 1:
        # Its batch call starts a pool of threads even for one.
        return (lambda texts: [encoding.encode_ordinary(text) for text in texts], lambda rows: rows)
    return (lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads), lambda rows: rows)


def _open_sentencepiece(job: Job) -> Any:
    import sentencepiece

    if not job["file"].endswith(".model"):
        raise CannotLoadError("it reads only .model files")
    return sentencepiece.SentencePieceProcessor(model_file=job["file"])


def _sentencepiece(job: Job) -> tuple[Encode, Rows]:
    processor = _open_sentencepiece(job)
    threads = job["threads"]
    return (lambda texts: processor.encode(texts, num_threads=threads), lambda rows: rows)


def _json(job: Job) -> str:
    """The tokenizer.json of a job.

    Raises:
        CannotLoadError: if the job has another file.
    """
    path: str = job["file"]
    if not path.endswith(".json"):
        raise CannotLoadError("it reads only tokenizer.json")
    return path


def _decode_sentitok(job: Job, rows: list[Any]) -> Decode:
    tokenizer = _open_sentitok(job)
    return lambda: tokenizer.decode_batch(rows)


def _decode_gigatoken(job: Job, rows: list[Any]) -> Decode:
    tokenizer = _open_gigatoken(job)
    return lambda: [tokenizer.decode(row) for row in rows]  # bytes; it has no call for many


def _decode_tokenizers(job: Job, rows: list[Any]) -> Decode:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(_json(job))
    lists = [row.tolist() for row in rows]
    return lambda: tokenizer.decode_batch(lists, skip_special_tokens=False)


def _decode_tiktoken(job: Job, rows: list[Any]) -> Decode:
    encoding = _open_tiktoken(job)
    lists = [row.tolist() for row in rows]
    return lambda: [encoding.decode_bytes(row) for row in lists]


def _decode_sentencepiece(job: Job, rows: list[Any]) -> Decode:
    processor = _open_sentencepiece(job)
    lists = [row.tolist() for row in rows]
    return lambda: processor.decode(lists)


LIBRARIES = {
    "sentitok": Library("sentitok", "sentitok", _sentitok, decoder=_decode_sentitok),
    "gigatoken": Library("gigatoken", "gigatoken", _gigatoken, decoder=_decode_gigatoken),
    "tokenizers 1.0rc": Library("tokenizers==1.0.0rc3", "tokenizers", _tokenizers, apart=True),
    "fastokens": Library("fastokens", "fastokens", _fastokens),
    "tokie": Library("tokie", "tokie", _tokie),
    "quicktok": Library("quicktok-v1", "quicktok", _quicktok),
    "kitoken": Library("kitoken", "kitoken", _kitoken),
    "tokenizers": Library("tokenizers", "tokenizers", _tokenizers, decoder=_decode_tokenizers),
    "tiktoken": Library("tiktoken", "tiktoken", _tiktoken, decoder=_decode_tiktoken),
    "sentencepiece": Library("sentencepiece", "sentencepiece", _sentencepiece, decoder=_decode_sentencepiece),
}
