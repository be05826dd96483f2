"""What stands in a call between its head and its tail, as `section.py` needs it: a machine and its row.

A `Body` is fed the text of one call and says where that call is whole; it keeps offsets, never text, and
emits nothing. A `BodyRow` is data over such a machine: it opens it, says whether what stands at a place may
be one, and writes it. Each family has a file with both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sidestream.dialects.block import Options
from sidestream.dialects.inert import Escape
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["BLANKS", "Body", "BodyRow", "Head", "Read", "UnreadableError"]

BLANKS = re.compile(r"\s*")


class UnreadableError(ValueError):
    """A whole call that cannot be read; `why` is a `CallRejected.why`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Head(NamedTuple):
    """What was known before the body began; `closers` are the templates that may end what holds the call."""

    name: str
    wire: str
    specs: Mapping[str, ToolSpec]
    options: Options
    closers: tuple[str, ...] = ()
    values: Mapping[str, str] = {}

    @property
    def spec(self) -> ToolSpec | None:
        """The tool's spec, if it is known."""
        return self.specs.get(self.name)


class Read(NamedTuple):
    """A whole call."""

    name: str
    wire: str
    args: dict[str, Any]


class Body(Protocol):
    """One call while it is read."""

    name: str  # as soon as it is known
    size: int  # characters taken
    whole: bool
    broken: str  # why it is no call; then what is left of it is skipped until `whole`

    @property
    def plain(self) -> re.Pattern[str] | None:
        """Text in which this finds nothing goes by without any effect; None: all text has to be fed."""
        ...

    def step(self, text: str, position: int) -> int:
        """Read on; the index of the first character not taken (`position` itself: more text is needed)."""
        ...

    def finish(self, text: str) -> Read:
        """The call; `text` is all that the steps have taken. Raises UnreadableError."""
        ...

    def rescued(self, text: str) -> bool:
        """True if at a natural end of the stream `text` counts as whole, though closers are missing."""
        ...


class BodyRow(Protocol):
    """Data over a family's machine."""

    @property
    def lists(self) -> bool:
        """May calls stand in a list, `[…, …]`?"""
        ...

    @property
    def why(self) -> str:
        """The word for what stands where a call should and is none."""
        ...

    @property
    def waits(self) -> tuple[str, ...]:
        """Literal texts whose beginnings may be held back."""
        ...

    def read(self, head: Head, /) -> Body:
        """A machine for the call that begins here."""
        ...

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """True if a call stands there, None if it may yet, False if it cannot."""
        ...

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The body of a call; `guard` are texts that no value may hold."""
        ...
