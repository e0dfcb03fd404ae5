"""URLs among the paths of a command: local copies of what it reads, local places for what it writes.

Every parameter that is a `Path` goes through here. Texts given as `SRC` are strings: the library reads their
URLs block by block.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..remote import LocalOutput
    from ..remote_shards import RemotePath

__all__ = ["WRITTEN", "Url", "in_store", "local_files"]

# Parameters whose file or folder is written, by name; every other one is read.
WRITTEN = frozenset({"id_map", "out", "plot", "plots", "resume", "target"})
# Parameters that are strings because `-` or a name may be given, and name a file that is read.
_NAMED = frozenset({"file"})
# Folders that are written again and again, and must outlive a killed process; or that a file is added to.
_LOCAL = frozenset({"checkpoint", "locked_folder"})


class Url(str):
    """The URL that was given where a path is expected; a `Path` would make one slash of two."""

    __slots__ = ()


@contextmanager
def local_files(
    values: dict[str, Any], out: "Callable[[str], LocalOutput | RemotePath] | None" = None
) -> Iterator[None]:
    """Replaces URLs by local paths while a command runs, and brings what it wrote to the stores.

    Whole files are kept after a failure too: a result that may not replace another, a run to resume.

    Args:
        values: the parameters, which are changed.
        out: makes what `--out` becomes, if that is not a file or folder that is written here and copied.

    Raises:
        ModuleNotFoundError, OSError, ValueError: as `sentitok.remote`.
    """
    found = [name for name, value in values.items() if _has_url(name, value)]
    if not found:
        yield
        return
    from ..messages import with_names
    from ..remote import LocalOutput, is_url, local_name, staged

    outputs: list[LocalOutput] = []

    def local(name: str, value: object) -> object:
        if not _is_url(name, value):
            return value
        kind = Path if isinstance(value, Url) else str
        path = local_name(str(value))
        if not is_url(path):
            return kind(path)
        if name in _LOCAL:
            return value  # which the library refuses
        if name not in WRITTEN:
            return kind(staged(path))
        output = out(path) if out is not None and name == "out" else LocalOutput(path)
        if not isinstance(output, LocalOutput):
            return output
        outputs.append(output)
        stack.callback(output.close, keeps_name=True)  # an error is shown after this
        return output.path

    with ExitStack() as stack:
        for name in found:
            value = values[name]
            values[name] = (
                [local(name, one) for one in value] if isinstance(value, list) else local(name, value)
            )
        try:
            yield
        except BaseException as error:
            for output in outputs:
                try:
                    output.finish()
                except OSError as failure:
                    error.add_note(with_names(str(failure)))
            raise
        for output in outputs:
            output.finish()


def in_store(out: object) -> "RemotePath | None":
    """Returns the place of `--out` if the workers of an engine write it to a store; `None` for a path."""
    if isinstance(out, Path) or out is None:
        return None
    from ..remote_shards import RemotePath

    return out if isinstance(out, RemotePath) else None


def _has_url(name: str, value: object) -> bool:
    return any(_is_url(name, one) for one in (value if isinstance(value, list) else [value]))


def _is_url(name: str, value: object) -> bool:
    return isinstance(value, Url) or (name in _NAMED and isinstance(value, str) and "://" in value)
