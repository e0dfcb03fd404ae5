"""A cache of tiktoken's, filled with published ranks without the network; both libraries read it."""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiktoken.registry

import shared_data
from sentitok import names
from sentitok.compat import tiktoken as compat_tiktoken

__all__ = ["filled"]

_FILES = (
    "gpt2/vocab.bpe", "gpt2/encoder.json", "gpt2/r50k_base.tiktoken", "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
)  # fmt: skip


def _address(name: str) -> str:
    place = "gpt-2/encodings/main" if name in ("vocab.bpe", "encoder.json") else "encodings"
    return f"https://openaipublic.blob.core.windows.net/{place}/{name}"


def _p50k(r50k: bytes) -> bytes:
    """The ranks of p50k_base: those of r50k_base, and 24 runs of spaces; its SHA-256 is the published one."""
    runs = (b"%s %d\n" % (base64.b64encode(b" " * n), 50255 + n) for n in range(2, 26))
    content = r50k + b"".join(runs)
    assert hashlib.sha256(content).hexdigest() == names._P50K.sha256
    return content


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """Lets both libraries read a folder as their cache, and forget what they found elsewhere."""
    source = shared_data.folder() / "vocabs"
    ranks = {_address(file.split("/")[-1]): (source / file).read_bytes() for file in _FILES}
    ranks[_address("p50k_base.tiktoken")] = _p50k(ranks[_address("r50k_base.tiktoken")])
    for address, content in ranks.items():
        (folder / hashlib.sha1(address.encode()).hexdigest()).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        patch.setattr(names, "_found", {})
        # Encodings of both libraries take 100 MB each: none stays after the tests that ask for them.
        patch.setattr(tiktoken.registry, "ENCODINGS", {})
        yield folder
    compat_tiktoken._wrapped.cache_clear()
