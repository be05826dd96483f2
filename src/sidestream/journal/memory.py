"""The journal that forgets with its process: for tests, and for sessions that engines share.

Everything appended is safe at once, so its barrier never waits. It keeps all it is given.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sidestream.errors import UsageError
from sidestream.events import RunFinished, RunInfo, RunStarted, Stamped

__all__ = ["MemoryJournal"]


class _Lease:
    def __init__(self, run: str, held: set[str]) -> None:
        self.run = run
        self._held = held

    async def release(self) -> None:
        self._held.discard(self.run)


class MemoryJournal:
    """Runs in memory, in order of their beginning."""

    def __init__(self) -> None:
        self._runs: dict[str, list[Stamped]] = {}
        self._held: set[str] = set()

    def append(self, run: str, events: Sequence[Stamped]) -> None:
        """Keep these events; what is already there (by `seq`) is not kept twice."""
        kept = self._runs.setdefault(run, [])
        last = kept[-1].seq if kept else 0
        kept.extend(stamped for stamped in events if stamped.seq > last)

    async def barrier(self, run: str) -> None:
        """Everything is as safe as it will ever be."""

    async def after(self, run: str, seq: int) -> AsyncIterator[Stamped]:
        """The events of `run` after `seq`."""
        for stamped in list(self._runs.get(run, ())):
            if stamped.seq > seq:
                yield stamped

    async def runs(self, session: str | None = None, open: bool = False) -> Sequence[RunInfo]:
        """The runs in order; of one session, or only the open ones, if asked."""
        found = [self._info(run, events) for run, events in self._runs.items()]
        return [info for info in found if (session is None or info.session == session) and not (open and info.reason)]

    def _info(self, run: str, events: list[Stamped]) -> RunInfo:
        first, last = events[0].event, events[-1].event
        session = first.session if isinstance(first, RunStarted) else ""
        reason = last.reason if isinstance(last, RunFinished) else ""
        return RunInfo(run, session, events[-1].seq, reason)

    async def claim(self, run: str) -> _Lease:
        """The right to continue `run`. Raises UsageError while it is lent."""
        if run in self._held:
            raise UsageError(f"run {run!r} is being continued by someone else")
        self._held.add(run)
        return _Lease(run, self._held)
