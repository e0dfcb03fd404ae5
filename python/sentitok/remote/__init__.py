"""Files behind URLs (`s3://`, `gs://`, `hf://`, `https://`, `memory://`, ...), folders and globs as inputs.

fsspec knows the stores; it is imported for the first URL, so without one no package is imported and no socket
is opened. `file://` is a local path. Commands and functions use the same few parts:

- `expand`: the files that paths, folders, globs and URLs name, in order;
- `Input`: a file read in large blocks, the next ones fetched while one is used;
- `local_copy`, `LocalOutput`: small files and folders as temporary local copies, for code that needs a path.

Rules: a read that fails for a while is tried again, with growing pauses; a file that changes while it is read
is an error; a file appears in a store whole or not at all; no message holds a credential (`shown`).
"""

from .copies import local_copy, local_path, renamed, staged
from .inputs import (
    BLOCK_BYTES,
    Input,
    InputStream,
    at_once,
    first_bytes,
    open_bytes,
    open_input,
    read_bytes,
    version,
)
from .listing import expand, size, sizes
from .outputs import LocalOutput, check_writable, move, remove, shards_output, upload, write_bytes, written
from .stores import exists
from .urls import is_url, join, local_name, named, real_url, shown, text_of

__all__ = [
    "BLOCK_BYTES",
    "Input",
    "InputStream",
    "LocalOutput",
    "at_once",
    "check_writable",
    "exists",
    "expand",
    "first_bytes",
    "is_url",
    "join",
    "local_copy",
    "local_name",
    "local_path",
    "move",
    "named",
    "open_bytes",
    "open_input",
    "read_bytes",
    "real_url",
    "remove",
    "renamed",
    "shards_output",
    "shown",
    "size",
    "sizes",
    "staged",
    "text_of",
    "upload",
    "version",
    "write_bytes",
    "written",
]
