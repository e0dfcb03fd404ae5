"""Files of ranks as dicts: `tiktoken.load.load_tiktoken_bpe(path)`, for an `Encoding` built by hand.

Nothing is fetched.

Source of what the calls mean: openai/tiktoken 0.14, `tiktoken/load.py`.
"""

import base64
import codecs
import hashlib
import os
from collections.abc import Mapping

from ... import atomic
from ...messages import shown
from ...numbers import whole

__all__ = ["dump_tiktoken_bpe", "load_tiktoken_bpe"]


def load_tiktoken_bpe(
    tiktoken_bpe_file: str | os.PathLike[str], expected_hash: str | None = None
) -> dict[bytes, int]:
    """Returns the rank of each token of a file.

    Args:
        tiktoken_bpe_file: its path.
        expected_hash: the SHA-256 of its bytes, to be compared.

    Raises:
        ValueError: for a line that is not a token with its rank, another hash, or an address.
        OSError: if the file cannot be read.
    """
    path = os.fspath(tiktoken_bpe_file)
    if "://" in path:
        raise ValueError(f"{shown(path)} is an address; nothing is fetched here: give the path of a file")
    with open(path, "rb") as file:
        content = file.read()
    digest = hashlib.sha256(content).hexdigest()
    if expected_hash and digest != expected_hash:
        raise ValueError(f"{shown(path)}: its SHA-256 is {digest}, not {expected_hash}; get the file again")
    ranks = {}
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except ValueError as error:
            raise ValueError(
                f"{shown(path)}, line {number}: {shown(line)} is not a token in base64, a space and its rank"
            ) from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str | os.PathLike[str]) -> None:
    """Writes ranks as a file, in order.

    Args:
        bpe_ranks: the rank of each token, by its bytes.
        tiktoken_bpe_file: the path of the file, which is written whole or not at all.

    Raises:
        OSError: if the file cannot be written.
    """
    ordered = sorted(bpe_ranks.items(), key=lambda item: item[1])
    atomic.write(tiktoken_bpe_file, b"".join(map(line, ordered)))


def line(ranked: tuple[bytes, int]) -> bytes:
    """Returns the line of a token and its rank.

    Raises:
        TypeError: for a rank that is not a whole number.
        ValueError: for one below 0.
    """
    token, rank = ranked
    return base64.b64encode(token) + b" %d\n" % whole(f"the rank of {shown(token)}", rank)
