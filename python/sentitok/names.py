"""Tokenizers by the names that OpenAI gave them: `get_encoding("cl100k_base")`.

A name means a pattern and special tokens, which are here, and for ranks, which are a file:
the one given, one in a folder, or one in the cache of tiktoken (`TIKTOKEN_CACHE_DIR`, where each
file is called after the SHA-1 of its address). The network is left alone unless a call says
`download=True`. Whatever ranks come from, their SHA-256 is that of the published file.

Source: openai/tiktoken 0.14, `tiktoken_ext/openai_public.py` and `tiktoken/model.py`.
"""

import base64
import hashlib
import os
import tempfile
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from ._sentitok import FormatError, Tokenizer
from .atomic import write
from .messages import shown
from .remote import local_path

__all__ = ["encoding_for_model", "encoding_name_for_model", "get_encoding", "names"]

_PUBLIC = "https://openaipublic.blob.core.windows.net/"
_END = "<|endoftext|>"
_FILL = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_PROMPT_END = "<|endofprompt|>"
# Of o200k_harmony, from id 199998 on; ids without a name here are `<|reserved_ID|>`. tiktoken calls 200018
# `<|reserved_200018|>` as well; an id has one name here.
_HARMONY = {
    199998: "<|startoftext|>", 199999: _END, 200002: "<|return|>", 200003: "<|constrain|>",
    200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>", 200008: "<|message|>",
    200012: "<|call|>", 200018: _PROMPT_END,
}  # fmt: skip
_HARMONY_END = 201088


class _Ranks(NamedTuple):
    """A published file of ranks: its address, and the SHA-256 of its bytes."""

    address: str
    sha256: str

    @property
    def name(self) -> str:
        """The name it was published by."""
        return self.address.rsplit("/", 1)[-1]

    @property
    def cached_name(self) -> str:
        """The name tiktoken's cache gives it."""
        return hashlib.sha1(self.address.encode(), usedforsecurity=False).hexdigest()


_R50K = _Ranks(
    f"{_PUBLIC}encodings/r50k_base.tiktoken",
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
)
_P50K = _Ranks(
    f"{_PUBLIC}encodings/p50k_base.tiktoken",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CL100K = _Ranks(
    f"{_PUBLIC}encodings/cl100k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = _Ranks(
    f"{_PUBLIC}encodings/o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
# The merges of GPT-2, whose ranks are those of r50k_base.
_GPT2 = _Ranks(
    f"{_PUBLIC}gpt-2/encodings/main/vocab.bpe",
    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
)


class _Named(NamedTuple):
    """The meaning of a name; any one of the files will do."""

    files: tuple[_Ranks, ...]
    pattern: str  # a name of PreTokenizer.names()
    special_tokens: dict[str, int]


_NAMED = {
    "gpt2": _Named((_GPT2, _R50K), "r50k", {_END: 50256}),
    "r50k_base": _Named((_R50K,), "r50k", {_END: 50256}),
    "p50k_base": _Named((_P50K,), "r50k", {_END: 50256}),
    "p50k_edit": _Named((_P50K,), "r50k", {_END: 50256, **{t: 50281 + i for i, t in enumerate(_FILL)}}),
    "cl100k_base": _Named(
        (_CL100K,),
        "cl100k-possessive",
        {_END: 100257, **{t: 100258 + i for i, t in enumerate(_FILL)}, _PROMPT_END: 100276},
    ),
    "o200k_base": _Named((_O200K,), "o200k", {_END: 199999, _PROMPT_END: 200018}),
    "o200k_harmony": _Named(
        (_O200K,), "o200k", {_HARMONY.get(i, f"<|reserved_{i}|>"): i for i in range(199998, _HARMONY_END)}
    ),
}

# Models, and prefixes of their names, by their encoding.
_MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
        "text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
        "code-cushman-001 davinci-codex cushman-codex"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": (
        "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 "
        "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001 "
        "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001 "
        "code-search-ada-code-001"
    ),
    "gpt2": "gpt2 gpt-2",
}
# In order: the first that fits decides.
_BEGINNINGS = (
    ("o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-", "o200k_base"),
    ("gpt-4- gpt-3.5-turbo- gpt-35-turbo-", "cl100k_base"),
    ("gpt-oss-", "o200k_harmony"),
    ("ft:gpt-4o", "o200k_base"),
    ("ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002", "cl100k_base"),
)

# Tokenizers that were found without a path: they do not change.
_found: dict[str, Tokenizer] = {}


def names() -> list[str]:
    """The names that `get_encoding` knows."""
    return list(_NAMED)


def get_encoding(
    name: str, path: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Tokenizer:
    """Returns the tokenizer of a name of tiktoken's, such as `"cl100k_base"`.

    For an object with tiktoken's methods use `sentitok.compat.tiktoken.get_encoding`.

    Args:
        name: one of `names()`.
        path: the file of ranks, or a folder that holds it; by default tiktoken's cache.
        download: fetch the ranks if they are not there, by fsspec, and keep them in the folder
            given or in that of `TIKTOKEN_CACHE_DIR`; without either they are not kept.

    Raises:
        ValueError: for a name that is none of them.
        FileNotFoundError: if the ranks are not there; says where they were looked for.
        FormatError: for a file that is not the published one.
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name is {shown(name)}; it is a str, such as 'cl100k_base'")
    named = _NAMED.get(name)
    if named is None:
        raise ValueError(
            f"no encoding is called {shown(name)}; there are {', '.join(_NAMED)}{_hint(str(name))}"
        )
    if path is None and (known := _found.get(name)) is not None:
        return known
    tokenizer = _read(named, *_ranks(name, named, None if path is None else local_path(path), download))
    return _found.setdefault(name, tokenizer) if path is None else tokenizer


def encoding_name_for_model(model: str) -> str:
    """Returns the name of the encoding of a model: `"o200k_base"` for `"gpt-4o"`.

    Raises:
        KeyError: for a model whose encoding is not known.
    """
    if not isinstance(model, str):
        raise TypeError(f"model is {shown(model)}; it is a str, such as 'gpt-4o'")
    for name, models in _MODELS.items():
        if model in models.split():
            return name
    for beginnings, name in _BEGINNINGS:
        if model.startswith(tuple(beginnings.split())):
            return name
    raise KeyError(
        f"no encoding is known for the model {shown(model)}; name one yourself, as in "
        'get_encoding("o200k_base")'
    )


def encoding_for_model(
    model: str, path: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Tokenizer:
    """Returns the tokenizer of a model of OpenAI's, such as `"gpt-4o"`.

    Args:
        model: the name of the model.
        path: as in `get_encoding`.
        download: as in `get_encoding`.

    Raises:
        KeyError: for a model whose encoding is not known.
    """
    return get_encoding(encoding_name_for_model(model), path, download=download)


def _hint(name: str) -> str:
    """The call to use where a model, a path or another spelling is given instead of a name."""
    try:
        return (
            f". {name} is a model of {encoding_name_for_model(name)}: encoding_for_model({name!r}) gives it"
        )
    except KeyError:
        pass
    path = Path(name)
    if len(path.parts) < 2 and not path.suffix and not path.exists():
        near = get_close_matches(name, _NAMED, 1)
        return f" (did you mean {near[0]}?)" if near else ""
    return (
        ". A path is the second argument, as in get_encoding('cl100k_base', path); ranks that have no name "
        "are read by Tokenizer.from_tiktoken(path, pattern, special_tokens)"
    )


def _read(named: _Named, file: _Ranks, content: bytes) -> Tokenizer:
    ranks = _ranks_of_merges(content) if file is _GPT2 else content
    return Tokenizer.from_tiktoken(ranks, named.pattern, named.special_tokens)


def _cache() -> tuple[Path, bool]:
    """The folder of tiktoken's cache, and whether the user named it."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if folder := os.environ.get(variable):
            return Path(folder), True
    return Path(tempfile.gettempdir()) / "data-gym-cache", False


def _ranks(name: str, named: _Named, path: Path | None, download: bool) -> tuple[_Ranks, bytes]:
    """Which file was found, and what it holds."""
    if path is not None and path.is_file():
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        for file in named.files:
            if file.sha256 == digest:
                return file, content
        raise FormatError(
            f"{path} is not the file of ranks published for {name}: its SHA-256 is {digest}, not "
            f"{' or '.join(file.sha256 for file in named.files)}; read other ranks by "
            f"Tokenizer.from_tiktoken(path, {named.pattern!r}, special_tokens)"
        )
    if path is not None and not path.exists() and not download:
        raise FileNotFoundError(
            f"{path}: there is no such file or folder; give the published {named.files[-1].name} or its "
            f"folder as path=, or pass download=True to fetch {named.files[-1].address}"
        )
    folder, keeps = (path, True) if path is not None else _cache()
    looked = [folder / place for file in named.files for place in (file.cached_name, file.name)]
    for file in named.files:
        for place in (file.cached_name, file.name):
            if not (folder / place).is_file():
                continue
            content = (folder / place).read_bytes()
            if hashlib.sha256(content).hexdigest() == file.sha256:
                return file, content
            if not download:
                raise FormatError(
                    f"{folder / place} is not the published {file.name}: its SHA-256 is not {file.sha256}; "
                    "delete it, and fetch it again by download=True"
                )
    file = named.files[-1]
    if not download:
        raise FileNotFoundError(
            f"the ranks of {name} are not there: looked for {', '.join(map(str, looked))}; give the file or "
            f"its folder as path=, set TIKTOKEN_CACHE_DIR, or pass download=True to fetch {file.address}"
        )
    content = _fetched(file)
    if keeps:
        write(folder / file.cached_name, content)
    return file, content


def _fetched(file: _Ranks) -> bytes:
    try:
        # 2026-11-23: optional, and without types
        import fsspec  # type: ignore[import-not-found, import-untyped, unused-ignore]

        with fsspec.open(file.address, "rb") as stream:
            content = bytes(stream.read())
    except ImportError as error:
        raise ImportError(
            f"download=True needs fsspec and aiohttp ({error}): pip install fsspec aiohttp; or fetch "
            f"{file.address} yourself and give the file as path="
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise FormatError(
            f"{file.address} gave a file of SHA-256 {digest}, not {file.sha256}; try again later"
        )
    return content


def _ranks_of_merges(content: bytes) -> bytes:
    """GPT-2's `vocab.bpe` as a file of ranks: the 256 bytes in GPT-2's order, then a token a merge."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and byte != ord(" ")]
    others = [byte for byte in range(256) if byte not in set(printable)]
    byte_of = {chr(byte): byte for byte in printable}
    byte_of |= {chr(256 + place): byte for place, byte in enumerate(others)}
    tokens = [bytes([byte]) for byte in printable + others]
    for line in content.decode("utf-8").splitlines()[1:]:
        tokens.append(bytes(byte_of[c] for c in line if c != " "))
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
