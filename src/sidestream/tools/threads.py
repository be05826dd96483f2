"""Blocking functions on threads of our own: daemons that nothing waits for, never asyncio's executor.

Promises: whatever the function raises reaches the caller as something that `except Exception` or the name of
a way to leave Python (SystemExit, KeyboardInterrupt, GeneratorExit) catches; context variables are those of
the caller; a cancelled caller goes on at once; a thread that outlives its loop ends in silence. It will not
stop a thread, nobody can: `running_threads` tells which still work for a run.

A place with a broad catch, beside those of crew, shelf and serve: it carries, and decides nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["in_thread", "running_threads"]


class _Work(NamedTuple):
    """What a thread does: `label` says for whom, `ended` is done when it is."""

    label: str
    ended: asyncio.Future[None]


_running: dict[object, _Work] = {}


async def in_thread(label: str, function: Callable[[], Any]) -> Any:
    """What `function()` gives, run on a thread of its own; `label` names it in `running_threads`."""
    loop, key, context = asyncio.get_running_loop(), object(), contextvars.copy_context()
    ended: asyncio.Future[None] = loop.create_future()
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            outcome.append((context.run(function), None))
        except BaseException as error:
            outcome.append((None, error))
        _running.pop(key, None)
        try:
            loop.call_soon_threadsafe(ended.set_result, None)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            pass

    _running[key] = _Work(label, ended)
    try:
        threading.Thread(target=work, name=f"sidestream {label}", daemon=True).start()
    except RuntimeError:  # the system has no thread left
        del _running[key]
        raise
    await asyncio.wait([ended])  # a wait that is cancelled leaves `ended` alone
    return _unpacked(*outcome.pop())


def _unpacked(value: Any, error: BaseException | None) -> Any:
    """The value, or what was raised; what no coroutine can raise, or no caller expects, as a cause."""
    if error is None:
        return value
    carried = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
    try:
        if isinstance(error, StopIteration | StopAsyncIteration) or not isinstance(error, carried):
            raise RuntimeError("the tool raised what is no error") from error
        raise error
    finally:
        del error  # no circle of frame and traceback


async def running_threads(prefix: str, seconds: float) -> list[str]:
    """The labels, beginning with `prefix`, of this loop's threads that still work after up to `seconds`."""
    loop = asyncio.get_running_loop()
    works = [work for work in list(_running.values()) if work.label.startswith(prefix)]
    works = [work for work in works if work.ended.get_loop() is loop]
    if works:
        await asyncio.wait([work.ended for work in works], timeout=max(seconds, 0))
    return sorted(work.label for work in works if not work.ended.done())
