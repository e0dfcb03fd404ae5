"""`Limits`: how much one request may ask for, and how long it may take."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Attributes:
        max_bytes: bytes of a request's body.
        seconds: for a request to come, and then for its answer.
        threads: requests that are worked on at the same time.
        waiting: requests that may wait for that; more are refused.
        texts: texts of one batch.
        tokens: tokens of one answer; more are counted, not listed.
    """

    max_bytes: int = 1 << 20
    seconds: float = 30.0
    threads: int = 2
    waiting: int = 1024
    texts: int = 1024
    tokens: int = 16_384
