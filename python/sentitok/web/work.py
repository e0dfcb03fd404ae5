"""`Work`: runs long work in threads, so many at once, and each request within its time.

A request that is over its time is answered at once; if its work has begun, it ends in its thread, and keeps
it until then, so that no number of requests can take more threads than there are.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from starlette.exceptions import HTTPException

from .limits import Limits

__all__ = ["Work"]

P = ParamSpec("P")
T = TypeVar("T")


class Work:
    """The threads of one server.

    Args:
        limits: how many there are, and what a request may take.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="web")
        self._asked = 0

    async def run(self, function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Calls a function in a thread.

        Raises:
            HTTPException: if it takes too long, or too many wait.
        """
        if self._asked >= self.limits.waiting + self.limits.threads:
            raise HTTPException(503, f"{self._asked} requests are waiting; try again", {"retry-after": "1"})
        self._asked += 1
        future = self._threads.submit(function, *args, **more)
        future.add_done_callback(self._done(asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError:
            raise HTTPException(
                503, f"no answer within {self.limits.seconds:g} s; send less text, or raise --timeout"
            ) from None

    def stop(self) -> None:
        """Lets running work end, and drops waiting work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _done(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        def leave() -> None:
            self._asked -= 1

        def done(_: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(leave)

        return done
