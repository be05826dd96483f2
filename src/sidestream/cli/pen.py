"""Writes to a stream from a thread of its own, so that a stalled terminal or pipe holds up nothing.

`write` never waits; `room` waits, without blocking the loop, until little is left to write, `drained` until
nothing is. Promises: in order, whole, and at once; what the stream's encoding cannot carry becomes `?`; a
reader that has gone away is `BrokenPipeError` at the next `room` or `drained`. It styles nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TextIO

__all__ = ["Pen"]

_ROOM = 16_384  # characters that may lie unwritten before `room` waits


class Pen:
    """A pen for one stream. Its thread is a daemon: a stalled one does not keep the program alive."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._encoding = getattr(file, "encoding", None) or "utf-8"
        self._queue: deque[str] = deque()
        self._left = 0
        self._wanted = threading.Condition()
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[None], int] | None = None
        self._broken: OSError | None = None
        self._thread: threading.Thread | None = None

    @property
    def gone(self) -> bool:
        """True once nobody reads any more."""
        return self._broken is not None

    def write(self, text: str) -> None:
        """Have `text` written. Never waits."""
        if not text or self._broken is not None:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pen", daemon=True)
            self._thread.start()
        with self._wanted:
            self._queue.append(text)
            self._left += len(text)
            self._wanted.notify()

    async def room(self) -> None:
        """Wait until little is left to write. Raises BrokenPipeError if nobody reads any more."""
        await self._at_most(_ROOM)

    async def drained(self) -> None:
        """Wait until everything is written. Raises BrokenPipeError if nobody reads any more."""
        await self._at_most(0)

    async def _at_most(self, most: int) -> None:
        if self._left > most and self._broken is None:
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            with self._wanted:
                if self._left > most:
                    self._waiting = (loop, future, most)
                else:
                    future.set_result(None)
            await future
        if self._broken is not None:
            raise BrokenPipeError(str(self._broken)) from self._broken

    def _work(self) -> None:
        while True:
            with self._wanted:
                while not self._queue:
                    self._wanted.wait()
                text = "".join(self._queue)
                self._queue.clear()
            try:
                self._file.write(text.encode(self._encoding, "replace").decode(self._encoding))
                self._file.flush()
            except (OSError, ValueError) as error:
                self._broken = error if isinstance(error, OSError) else OSError(str(error))
            with self._wanted:
                self._left -= len(text)
                if self._broken is not None:
                    self._queue.clear()
                    self._left = 0
                self._tell()

    def _tell(self) -> None:
        """Wake who waits, if there is room now; the lock is held."""
        if self._waiting is None or self._left > self._waiting[2]:
            return
        loop, future, _ = self._waiting
        self._waiting = None
        try:
            loop.call_soon_threadsafe(_done, future)
        except RuntimeError:  # the loop is closed: nobody waits any more
            pass


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
