"""What follows when a block was rejected: the rest of it is text, and nothing in it may run.

`Skim` gives text out at once, and says when the rejected block is over: at its closing tag. A block that begins
before that stood inside the rejected one; behind it, closing tags and further blocks still belong to the
outer one, and anything else does not (the outer one was left open, and what comes next is the model's again).
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import ClassVar

from sidestream.dialects.scan import Markers
from sidestream.dialects.tag_head import read_head
from sidestream.events import AnyEvent, Text

__all__ = ["BLANKS", "CLOSER", "CLOSER_BEGUN", "Skim", "State"]

BLANKS = re.compile(r"\s*")
CLOSER = re.compile(r"</([A-Za-z_][\w.-]{0,63})\s{0,16}>")
CLOSER_BEGUN = re.compile(r"<(?:/(?:[A-Za-z_][\w.-]{0,63}\s{0,16})?)?\Z")
_LONGEST_CLOSER = 96


class State(Enum):
    """Where the stream is."""

    HEAD = auto()  # in an opening tag: does it close itself?
    INSIDE = auto()
    AFTER = auto()  # behind an inner block


class Skim:
    """Skims one rejected block from `state` on; `inner` if an inner block is what begins there. `carry` is what was
    given out just before and may begin a closing tag. `done` once the rejected block is over."""

    def __init__(self, tag: str, openers: tuple[str, ...], hold: int, state: State, *, inner: bool, carry: str) -> None:
        self._tag, self._openers, self._hold = tag, openers, hold
        self._marks = Markers([f"</{tag}", *openers])
        self._state, self._inner, self._carry = state, inner, carry
        self._slash = False
        self.done = False

    def step(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The index it came to, or -1 for "more"."""
        return self._steps[self._state](self, text, position, out)

    def _say(self, text: str, out: list[AnyEvent]) -> None:
        if text:
            out.append(Text(text))

    def _head(self, text: str, position: int, out: list[AnyEvent]) -> int:
        found = text.find(">", position)
        end = found + 1 or len(text)
        self._say(text[position:end], out)
        closed = self._slash if found <= position else text[found - 1] == "/"
        self._slash = text[end - 1] == "/"
        if found >= 0:
            self._state = State.INSIDE
            if closed:
                self._close()
        return end

    def _close(self) -> None:
        """A block has ended: the inner one, or the rejected one itself."""
        self._state, self.done = State.AFTER, not self._inner

    def _inside(self, text: str, position: int, out: list[AnyEvent]) -> int:
        if self._carry:
            return self._carried(text, position, out)
        found = self._marks.find(text, position)
        start = found.start() if found else self._marks.held(text, position)
        if start > position:
            self._say(text[position:start], out)
            return start
        if found is None:
            return -1
        if found[0] in self._openers:
            return self._opener(text, start, out)
        closer = CLOSER.match(text, start)
        if closer is None and CLOSER_BEGUN.match(text, start):
            return -1
        end = closer.end() if closer else start + 2
        self._say(text[start:end], out)
        if closer and closer[1] == self._tag:
            self._close()
        return end

    def _carried(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The rejected text ended in what may have been the beginning of its closing tag."""
        joined = self._carry + text[position : position + _LONGEST_CLOSER]
        closer = CLOSER.match(joined)
        if closer is None and CLOSER_BEGUN.match(joined):
            return -1
        end = position
        if closer and closer[1] == self._tag:
            end += closer.end() - len(self._carry)
            self._say(text[position:end], out)
            self._close()
        self._carry = ""
        return end

    def _opener(self, text: str, start: int, out: list[AnyEvent]) -> int:
        """A block in the rejected block, if it is one."""
        head = read_head(text, start, self._tag, self._hold)
        if head.kind == "more":
            return -1
        if head.kind == "text" or self._inner:
            self._say(text[start : start + 1], out)
            return start + 1
        self._inner, self._state = True, State.HEAD
        return start

    def _after(self, text: str, position: int, out: list[AnyEvent]) -> int:
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            self._say(text[position:start], out)
            return start
        if closer := CLOSER.match(text, start):
            self._say(closer[0], out)
            self.done = closer[1] == self._tag
            return closer.end()
        if text.startswith(self._openers, start):
            head = read_head(text, start, self._tag, self._hold)
            if head.kind == "more":
                return -1
            if head.kind != "text":
                self._state = State.HEAD
                return start
        elif CLOSER_BEGUN.match(text, start) or self._marks.held(text, start) == start:
            return -1
        self.done = True
        return start

    _steps: ClassVar = {State.HEAD: _head, State.INSIDE: _inside, State.AFTER: _after}
