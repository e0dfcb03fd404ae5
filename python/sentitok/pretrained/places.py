"""Where the folder of a model is: a path, or the cache of huggingface_hub.

The cache is read by its layout (`models--org--name/refs/main` names a commit in `snapshots`), so
that library is needed only to fetch. Nothing is fetched unless a call says so.

Source: huggingface_hub 2, `constants.py` and `file_download.py`.
"""

import os
import re
from pathlib import Path

from ..messages import shown

__all__ = ["folder_of"]

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_REVISION = re.compile(r"(?!.*\.\.)[\w.][\w./-]*")
# The files that are fetched: files of tokenizers, never weights.
_FILES = [
    "tokenizer.json", "tekken.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja",
    "vocab.json", "merges.txt", "vocab.txt", "*.model", "*.tiktoken",
]  # fmt: skip


def folder_of(
    name: str | os.PathLike[str],
    subfolder: str,
    revision: str | None,
    cache_dir: str | os.PathLike[str] | None,
    download: bool,
) -> Path:
    """Returns the folder that a call of `load` means.

    Raises:
        FileNotFoundError: if it is not there; says where it was looked for.
        ValueError: for a revision that is none.
        ImportError: for `download=True` without huggingface_hub.
    """
    path = Path(name)
    if path.is_dir():
        return _within(path, subfolder)
    if path.is_file():
        raise NotADirectoryError(
            f"{shown(str(path))} is a file; from_pretrained reads a folder: Tokenizer.from_file reads a file"
        )
    is_path = os.fspath(name).startswith((".", os.sep, "~"))
    if is_path or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FileNotFoundError(
            f'there is no folder {shown(os.fspath(name))}, and it is not a name such as "org/name"'
        )
    revision = revision or "main"
    if not _REVISION.fullmatch(revision):
        raise ValueError(
            f'{shown(revision)} is not a revision; it is a branch, a tag or a commit, such as "main"'
        )
    repository = _cache(cache_dir) / f"models--{name.replace('/', '--')}"
    snapshot = _snapshot(repository, revision)
    if snapshot is None or not (_within_is_dir(snapshot, subfolder)):
        if not download:
            raise FileNotFoundError(
                f"{shown(name)} is neither a folder nor in the cache: looked for its revision "
                f"{shown(revision)} in {repository}; give the folder, set HF_HOME, or pass download=True "
                "to fetch it by huggingface_hub"
            )
        snapshot = _fetched(name, subfolder, revision, cache_dir)
    return _within(snapshot, subfolder)


def _within_is_dir(folder: Path, subfolder: str) -> bool:
    return (folder / subfolder).is_dir()


def _within(folder: Path, subfolder: str) -> Path:
    if not _within_is_dir(folder, subfolder):
        raise FileNotFoundError(f"there is no subfolder {shown(subfolder)} in {folder}")
    return folder / subfolder


def _cache(cache_dir: str | os.PathLike[str] | None) -> Path:
    if cache_dir is not None:
        return Path(cache_dir)
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if folder := os.environ.get(variable):
            return Path(folder).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def _snapshot(repository: Path, revision: str) -> Path | None:
    """The files of a revision, if they are cached."""
    reference = repository / "refs" / revision
    commit = reference.read_text("utf-8").strip() if reference.is_file() else revision
    folder = repository / "snapshots" / commit
    return folder if folder.is_dir() else None


def _fetched(name: str, subfolder: str, revision: str, cache_dir: str | os.PathLike[str] | None) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ImportError(
            f"download=True needs huggingface_hub ({error}): pip install huggingface_hub; or fetch the "
            f"files of {name} yourself and give their folder"
        ) from error
    before = f"{subfolder.strip('/')}/" if subfolder else ""
    wanted = [before + file for file in _FILES]
    cache = None if cache_dir is None else Path(cache_dir)
    return Path(snapshot_download(name, revision=revision, cache_dir=cache, allow_patterns=wanted))
