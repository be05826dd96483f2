"""A clock that costs no time: an event loop whose `sleep` and timeouts pass at once, in the right order.

    with virtual_loop() as loop: loop.run_until_complete(main())   # or: run(main())

When nothing is ready the clock jumps to the next timer. Promises: `loop.time()` moves only by timers, so a
test sees exact times. It does not cover real sockets and threads: time does not pass while they work.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["VirtualLoop", "run", "virtual_loop"]

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Asks what is ready and never waits: it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:  # nothing will ever happen but from another thread: wait for that
            return super().select(0.05)
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which begins at 0."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


@contextmanager
def virtual_loop(*, abandoned: int = 0) -> Iterator[VirtualLoop]:
    """A loop on virtual time. On leaving, more tasks left over than `abandoned` are an AssertionError."""
    loop = VirtualLoop()
    try:
        yield loop
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        assert len(left) <= abandoned, f"tasks left behind: {left}"
        for _ in range(1000):  # a task that swallows cancellation is told again
            left = [task for task in left if not task.done() and task.cancel()]
            if not left:
                break
            loop.run_until_complete(asyncio.sleep(1))
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def run(main: Coroutine[Any, Any, T], *, abandoned: int = 0) -> T:
    """`asyncio.run` on virtual time."""
    with virtual_loop(abandoned=abandoned) as loop:
        return loop.run_until_complete(main)
