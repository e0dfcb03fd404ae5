"""Folders of models: tokenizer.json with the files next to it, read and written.

Behind `Tokenizer.from_pretrained`, `save_pretrained`, `to_transformers` and `settings`.

Source of the files: transformers 5, `tokenization_utils_base.py`.
"""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._sentitok import AddedToken, Tokenizer
from ..messages import shown
from .classes import of_files, roles_of_class
from .places import folder_of
from .settings import Settings, config_of, read, roles_of, settings_of, tokens_of, write

__all__ = ["Settings", "again", "load", "save", "settings_of", "to_transformers"]

#: Files that say all of a tokenizer; the first that is there is read.
_WHOLE = ("tokenizer.json", "tekken.json")


def load(
    name: str | os.PathLike[str],
    *,
    subfolder: str = "",
    revision: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    download: bool = False,
) -> Tokenizer:
    """Returns the tokenizer of a folder, or of a repository in the cache of huggingface_hub.

    Args:
        name: the path or URL of a folder, or `"org/name"`.
        subfolder: where in it the tokenizer is.
        revision: a branch, tag or commit of the repository; `"main"` without it.
        cache_dir: the cache; by default that of huggingface_hub.
        download: fetch the files of the tokenizer if they are not there; needs huggingface_hub.

    Raises:
        FileNotFoundError: if there is no such folder; says where it was looked for.
        FormatError: for files that make no tokenizer.
        ImportError: for `download=True` without huggingface_hub.
    """
    if "://" in os.fspath(name):
        from .. import remote

        local = remote.local_name(name)
        if not remote.is_url(local):
            return load(local, subfolder=subfolder)
        copy = remote.local_copy(local)
        try:
            return load(copy.path, subfolder=subfolder)
        except (OSError, ValueError) as error:
            raise copy.renamed(error) from None
        finally:
            copy.close()
    folder = folder_of(name, subfolder, revision, cache_dir, download)
    whole = next((folder / name for name in _WHOLE if (folder / name).is_file()), None)
    if whole is not None:
        tokenizer = Tokenizer.from_file(whole)
    else:
        tokenizer, roles = of_files(folder)
        if roles is not None:
            settings = replace(read(folder, tokenizer.settings), special_tokens=roles)
            return tokenizer.with_settings(settings)
    there = {token.content: token for token in tokenizer.added_tokens}
    usual = roles_of_class(folder)
    named = tokens_of(folder, tokenizer.added_tokens, usual)
    new = [token for token in named if not _is_same(there.get(token.content), token)]
    if new:
        tokenizer = tokenizer.with_specials(new)
    settings = read(folder, tokenizer.settings)
    if usual:
        settings = replace(settings, special_tokens=roles_of({**usual, **config_of(folder)}))
    return tokenizer.with_settings(settings)


def save(tokenizer: Tokenizer, folder: str | os.PathLike[str]) -> list[str]:
    """Writes a folder that transformers and `load` read; returns the paths of its files.

    Raises:
        FormatError: for a tokenizer that tokenizer.json has no place for.
        OSError: naming the file.
    """
    if "://" in os.fspath(folder):
        from .. import remote

        with remote.written(folder) as local:
            files = save(tokenizer, local)
            return [remote.join(remote.shown(folder), str(Path(file).relative_to(local))) for file in files]
    if Path(folder).is_file():
        raise NotADirectoryError(f"{shown(os.fspath(folder))} is a file; save_pretrained writes a folder")
    files = tokenizer.save(folder, "huggingface")
    special = [token.content for token in tokenizer.added_tokens if token.special]
    return files + write(tokenizer.settings, special, folder)


def to_transformers(tokenizer: Tokenizer) -> Any:
    """Returns a `transformers.PreTrainedTokenizerFast` with the same ids, settings and templates.

    Raises:
        ImportError: without transformers.
        FormatError: for a tokenizer that tokenizer.json has no place for.
    """
    try:
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise ImportError(
            f"to_transformers makes an object of transformers ({error}); pip install transformers"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        save(tokenizer, folder)
        made: Any = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    made.name_or_path = ""
    made.init_kwargs.pop("name_or_path", None)
    return made


def again(content: bytes, settings: Settings) -> Tokenizer:
    """Makes a tokenizer of its bytes and its settings, as pickles hold it."""
    return Tokenizer.from_bytes(content).with_settings(settings)


def _is_same(one: AddedToken | None, other: AddedToken) -> bool:
    flags = ("special", "single_word", "lstrip", "rstrip", "normalized")
    return one is not None and all(getattr(one, flag) == getattr(other, flag) for flag in flags)
