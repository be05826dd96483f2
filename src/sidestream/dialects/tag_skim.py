"""What follows when a block stood in a block: the outer one was rejected, and no inner one may run.

`Skim` gives text out as text, at once, and says when the outer block is over: behind an inner block, closing tags
and further inner blocks still belong to the outer one, anything else does not (the outer one was left open,
and what comes next is the model's again).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import ClassVar

from sidestream.dialects.scan import Markers
from sidestream.events import AnyEvent, Text

__all__ = ["BLANKS", "CLOSER", "CLOSER_BEGUN", "Skim"]

BLANKS = re.compile(r"\s*")
CLOSER = re.compile(r"</([A-Za-z_][\w.-]{0,63})\s{0,16}>")
CLOSER_BEGUN = re.compile(r"<(?:/(?:[A-Za-z_][\w.-]{0,63}\s{0,16})?)?\Z")


class State(Enum):
    """Where in the inner block the stream is."""

    HEAD = auto()
    INSIDE = auto()
    AFTER = auto()


class Skim:
    """Skims one rejected block, from an inner opener on. `done` once the outer block is over."""

    def __init__(self, tag: str, openers: tuple[str, ...]) -> None:
        self._tag, self._openers = tag, openers
        self._opener = Markers(openers)
        self._closing = Markers([f"</{tag}"])
        self._state, self._slash = State.HEAD, False
        self.done = False

    def step(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The index it came to, or -1 for "more"."""
        return self._steps[self._state](self, text, position, out)

    def _head(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The inner block's opening tag: does it close itself?"""
        found = text.find(">", position)
        end = found + 1 or len(text)
        out.append(Text(text[position:end]))
        closed = self._slash if found <= position else text[found - 1] == "/"
        self._slash = text[end - 1] == "/"
        if found >= 0:
            self._state = State.AFTER if closed else State.INSIDE
        return end

    def _inside(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """On to the inner block's closing tag."""
        found = self._closing.find(text, position)
        start = found.start() if found else self._closing.held(text, position)
        if start > position:
            out.append(Text(text[position:start]))
            return start
        closer = CLOSER.match(text, start)
        if closer is None and (found is None or CLOSER_BEGUN.match(text, start)):
            return -1
        end = closer.end() if closer else start + 2
        out.append(Text(text[start:end]))
        if closer and closer[1] == self._tag:
            self._state = State.AFTER
        return end

    def _after(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Behind an inner block."""
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            out.append(Text(text[position:start]))
            return start
        if closer := CLOSER.match(text, start):
            out.append(Text(closer[0]))
            self.done = closer[1] == self._tag
            return closer.end()
        if text.startswith(self._openers, start):
            self._state = State.HEAD
            return start
        if CLOSER_BEGUN.match(text, start) or self._opener.held(text, start) == start:
            return -1
        self.done = True
        return start

    _steps: ClassVar = {State.HEAD: _head, State.INSIDE: _inside, State.AFTER: _after}
