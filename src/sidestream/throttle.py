"""Fewer events for sinks that cannot take every token: chat platforms with rate limits, slow terminals.

`coalesce` merges adjacent text. It promises: the same bytes in the same order; a merged event carries the last
`seq` it was made of, so that a reader can go on from there; any other event is handed on at once, with what was
merged before it; the tail is never lost; cost linear in what went through. It drops nothing that was not asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Literal

from sidestream.errors import UsageError
from sidestream.events import AnyEvent, CallArgs, Hidden, Stamped, Text, Thinking

__all__ = ["coalesce"]


class _Merged:
    """Adjacent pieces of text, or of reasoning, not handed on yet."""

    def __init__(self) -> None:
        self.kind: type[Text] | type[Thinking] = Text
        self.pieces: list[str] = []
        self.last: Stamped | None = None
        self.due = 0.0

    def take(self) -> Stamped | None:
        """All of it as one event, if there is any."""
        if self.last is None:
            return None
        merged = self.last._replace(event=self.kind("".join(self.pieces)))
        self.pieces, self.last = [], None
        return merged


class _Filter:
    """What is left out."""

    def __init__(self, calls: str, thinking: str) -> None:
        self._whole, self._thinking = calls == "whole", thinking
        self._bare = False  # reasoning was the last that was said: blanks that follow it belong to it

    def __call__(self, stamped: Stamped) -> Stamped | None:
        match stamped.event:
            case Thinking() | Hidden() if self._thinking != "show":
                self._bare = True
                return None
            case CallArgs() if self._whole:
                return None
            case Text(text) if self._bare and self._thinking == "strip":
                rest = text.lstrip()
                self._bare = not rest
                return stamped._replace(event=Text(rest)) if rest else None
            case _:
                return stamped


async def coalesce(
    events: AsyncIterator[Stamped],
    *,
    chunks: int = 8,
    seconds: float = 0.05,
    calls: Literal["deltas", "whole"] = "deltas",
    thinking: Literal["show", "hide", "strip"] = "show",
) -> AsyncIterator[Stamped]:
    """The events of `run.stamped()` with at most `chunks` adjacent texts merged into one, none held longer than
    `seconds`. `calls="whole"` leaves `CallArgs` out; `thinking="hide"` leaves reasoning and its markers out,
    `"strip"` the blanks behind it too. Raises UsageError."""
    if chunks < 1 or seconds < 0:
        raise UsageError(f"chunks must be at least 1 and seconds not negative, got {chunks!r} and {seconds!r}")
    if calls not in ("deltas", "whole") or thinking not in ("show", "hide", "strip"):
        raise UsageError("calls is 'deltas' or 'whole', thinking 'show', 'hide' or 'strip'")
    merged, wanted = _Merged(), _Filter(calls, thinking)
    async with aclosing(_ticks(events, merged)) as source:
        async for stamped in source:
            if stamped is not None and (stamped := wanted(stamped)) is None:
                continue
            for one in _step(merged, stamped, chunks, seconds):
                yield one


def _step(merged: _Merged, stamped: Stamped | None, chunks: int, seconds: float) -> list[Stamped]:
    """What is to be handed on now that `stamped` has come (None: it is time)."""
    if stamped is None:
        return [one for one in (merged.take(),) if one]
    event: AnyEvent = stamped.event
    if not isinstance(event, Text | Thinking):
        return [one for one in (merged.take(), stamped) if one]
    before = merged.take() if type(event) is not merged.kind else None
    if merged.last is None:
        merged.kind, merged.due = type(event), asyncio.get_running_loop().time() + seconds
    merged.pieces.append(event.text)
    merged.last = stamped
    full = merged.take() if len(merged.pieces) >= chunks else None
    return [one for one in (before, full) if one]


async def _ticks(events: AsyncIterator[Stamped], merged: _Merged) -> AsyncGenerator[Stamped | None]:
    """Every event as it comes; None whenever what is merged has waited long enough, and at the end."""
    loop = asyncio.get_running_loop()
    coming: asyncio.Future[Stamped] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(events))
            patience = max(0.0, merged.due - loop.time()) if merged.last else None
            await asyncio.wait({coming}, timeout=patience)
            if not coming.done():
                yield None
                continue
            done, coming = coming, None
            try:
                yield done.result()
            except StopAsyncIteration:
                yield None
                return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
        if isinstance(events, AsyncGenerator):
            await events.aclose()
