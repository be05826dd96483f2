"""ReAct's `Action Input:`: a JSON object, or plain text for the tool's main argument.

Promises: an object is certain at its last character; plain text ends before the next keyword at a line's start, or at
a natural end of the stream. Its head, `Action: name`, and what a model makes up behind a call are `section.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from sidestream.dialects.body import BLANKS, Body, Head, Read, UnreadableError
from sidestream.dialects.inert import Escape
from sidestream.dialects.scan import Balance, Markers
from sidestream.dialects.values import as_arguments, dumps, each_text, loads, typed
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["ActionInput"]

_KEYWORDS = tuple(f"\n{word}:" for word in ("Observation", "Thought", "Action", "Final Answer"))


class ActionInput(msgspec.Struct, frozen=True):
    """What stands behind `Action Input:`."""

    lists: bool = False
    why: str = "malformed"
    waits: tuple[str, ...] = _KEYWORDS

    def read(self, head: Head, /) -> Body:
        """A machine for the input that begins here."""
        return _Input(head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """The head says it all."""
        return True

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The arguments as JSON."""
        return dumps(each_text(call.args, escape))


class _Input:
    """One input while it is read."""

    def __init__(self, head: Head) -> None:
        self.name, self.whole, self.broken, self.size = head.name, False, "", 0
        self._head = head
        self._balance: Balance | None = None
        self._plain = False
        self._ends = Markers(_KEYWORDS)

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        if self._balance is not None:
            return self._balance.plain
        return self._ends.begins if self._plain else None

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        if self._balance is None and not self._plain:
            found = BLANKS.match(text, position)
            start = found.end() if found else position
            if start == len(text):  # a keyword may stand on the next line
                return max(position, text.rfind("\n", position)) if "\n" in text[position:] else start
            if text[start] == "{":
                self._balance = Balance(lax=True)
            else:
                self._plain = True
        if self._balance is not None:
            end = self._balance.feed(text, position)
            self.whole = end >= 0
            self.broken = "invalid_json" if self._balance.broken else ""
            return end if end >= 0 else len(text)
        stop = self._ends.find(text, position)
        self.whole = stop is not None
        return stop.start() if stop else self._ends.held(text, position)

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        if self._balance is not None:
            try:
                return Read(self.name, "", as_arguments(loads(text, lax=True), lax=True))
            except ValueError:
                raise UnreadableError("invalid_json") from None
        cut = self._ends.held(text)  # the beginning of the stop word, where the server has cut it off
        spec, plain = self._head.spec, (text[:cut] if "\nObservation:".startswith(text[cut:]) else text).strip()
        if not plain or plain in ("null", "None"):
            return Read(self.name, "", {})
        key = (spec.bare if spec else "") or "input"
        return Read(self.name, "", {key: typed(plain, key, spec)})

    def rescued(self, text: str) -> bool:
        """Plain text may end with the stream; see Body.rescued."""
        return self._plain or self._balance is None
