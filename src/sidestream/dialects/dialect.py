"""The two protocols of a tool-call language, and nothing else: its reader and the whole of it.

Promises of every reader and dialect are the laws in `sidestream.testing`; the first five bind here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sidestream.events import AnyDelta, AnyEvent, CallRejected
from sidestream.messages import Message, ToolCall, ToolResult, ToolSpec

__all__ = ["Dialect", "StreamParser"]


class StreamParser(Protocol):
    """Reads one stream. Pure (no I/O, no clock) and never raises on what a model may write."""

    def feed(self, text: str | AnyDelta, /) -> Iterable[AnyEvent]:
        """The events that the text so far makes certain."""
        ...

    def close(self, stop: str = "end", /) -> Iterable[AnyEvent]:
        """The rest: the stream has ended with this stop reason."""
        ...


class Dialect(Protocol):
    """A language that models write calls in: one reader and one writer."""

    @property
    def name(self) -> str:
        """Its name, as in `sidestream formats`; `native` for providers' own calls."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """What may begin a block; none for `native`. Untrusted text is made inert for these."""
        ...

    def parser(self, specs: Sequence[ToolSpec | dict[str, Any]], **options: Any) -> StreamParser:
        """A reader of one stream. `specs`: ours, or OpenAI tool schemas. Raises UsageError."""
        ...

    def teach(self, specs: Sequence[ToolSpec], /) -> str:
        """What the system prompt must say so that a model writes this language; `""` if nothing."""
        ...

    def write(self, call: ToolCall, /) -> str:
        """The call as text; the reader reads it back as the same call."""
        ...

    def tell(
        self,
        results: Sequence[ToolResult],
        rejected: Sequence[CallRejected],
        names: Mapping[str, str] = ...,
        /,
    ) -> Message:
        """The continuation: what became of the calls of one round; `names`: a call's id → its tool."""
        ...
