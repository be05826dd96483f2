"""How a run looks: `Live` on a terminal, `Plain` into pipes and files, `Lines` as JSON.

On a terminal the answer streams and below it stands one line for each call that is not over, drawn anew in
place; a card that is over is written for good at the next line break of the text, so that text is never cut.
Into a pipe goes the text alone, and the cards' last lines to the error stream. Promises: no control code of a
model or tool reaches a terminal; without a terminal there is no escape code; nothing here blocks the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from sidestream.cli.cards import Cards, Ink, Marks
from sidestream.cli.pen import Pen
from sidestream.cli.screen import Screen
from sidestream.codec import encode
from sidestream.events import (
    AnyEvent,
    CallClosed,
    CallRejected,
    Note,
    Retrying,
    RoundFinished,
    RoundStarted,
    RunFinished,
    Stamped,
    Text,
    Thinking,
)
from sidestream.timeline import label, printable, seconds

__all__ = ["Lines", "Live", "Plain", "View"]

_C1 = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


class View(Protocol):
    """Whoever shows a run."""

    @property
    def gone(self) -> bool:
        """True once nobody looks any more."""
        ...

    async def show(self, stamped: Stamped) -> None:
        """Show what happened. Raises BrokenPipeError if nobody looks any more."""
        ...

    def tick(self) -> None:
        """Time has passed."""

    def disturbed(self) -> None:
        """The terminal itself has written where the text ends: an echoed ^C."""

    def say(self, text: str) -> None:
        """Say something of our own, on lines of its own."""

    async def close(self) -> None:
        """Leave the screen in order, with everything written."""


def _remark(event: AnyEvent) -> str:
    """What is worth a line of our own."""
    match event:
        case Retrying():
            return f"{label(event.error)}" + (f": asking again in {seconds(event.delay)}" if event.delay else "")
        case Note(name="source_failed", data={"source": source, "error": error}):
            return f"tools of {source} are missing: {label(str(error))}"
        case Note(name="abandoned", data={"calls": [*calls]}):
            return f"would not stop and was left behind: {', '.join(map(label, map(str, calls)))}"
        case RunFinished(reason="rounds"):
            return "stopped asking for tools: the limit of rounds was reached (--limits rounds=N)"
        case RunFinished(reason="calls"):
            return "stopped asking for tools: the limit of calls was reached (--limits per_run=N)"
        case RunFinished(reason="cancelled"):
            return "interrupted"
        case _:
            return ""


class Live:
    """For a terminal of `size()` columns and rows. `clock` gives seconds for the running cards."""

    def __init__(
        self,
        pen: Pen,
        size: Callable[[], tuple[int, int]],
        clock: Callable[[], float],
        marks: Marks,
        ink: Ink,
    ) -> None:
        self._pen, self._clock, self._marks, self._ink = pen, clock, marks, ink
        self._size = size
        self._screen = Screen(size)
        self._cards = Cards()
        self._style = ""
        self._swallow = False  # line breaks that come next

    @property
    def gone(self) -> bool:
        """True once nobody looks any more."""
        return self._pen.gone

    async def show(self, stamped: Stamped) -> None:
        """Show what happened."""
        event, now = stamped.event, self._clock()
        changed = self._cards.take(event, now)
        match event:
            case Text():
                self._write(event.text)
            case CallRejected() if not event.native:
                self._write(event.raw)
            case Thinking():
                self._write(event.text, self._ink.dim)
            case CallClosed():
                self._swallow = True
            case RoundFinished() | RunFinished():
                self._screen.fresh_line()
        self._settle()
        if remark := _remark(event):
            self._screen.line(self._ink.paint(self._ink.dim, f"({remark})"))
        self._frame(changed)
        await self._pen.room()

    def _write(self, text: str, style: str = "") -> None:
        if style != self._style:
            self._screen.fresh_line()
            self._swallow = True
            self._style = style
        if self._swallow and not self._screen.column:  # the line is fresh already
            text = text.lstrip("\n")
        self._swallow = self._swallow and not text
        for line in printable(text).splitlines(keepends=True):
            self._screen.text(line, style, self._ink.off)
            self._settle()

    def _settle(self) -> None:
        """At the beginning of a line, cards that are over are written for good."""
        if self._screen.column == 0:
            width, _ = self._size()
            for card in self._cards.done():
                self._screen.line(card.line(self._marks, self._ink, width=width - 1))

    def _frame(self, changed: bool = True) -> None:
        width, height = self._size()
        cards, most = self._cards.all, max(1, height - 2)
        lines = [card.line(self._marks, self._ink, self._clock(), width - 1) for card in cards[:most]]
        if len(cards) > most:
            lines[-1] = self._ink.paint(self._ink.dim, f"{self._marks.more} and {len(cards) - most + 1} more")
        self._pen.write(self._screen.frame(lines, changed))

    def tick(self) -> None:
        """Running cards show their time."""
        if any(card.state == "running" for card in self._cards.all):
            self._frame()

    def disturbed(self) -> None:
        """What comes next begins on a line of its own."""
        self._screen.column = max(2, self._screen.column)

    def say(self, text: str) -> None:
        """Lines of our own."""
        self._screen.fresh_line()
        for line in text.splitlines():
            self._screen.line(line)
        self._frame()

    async def close(self) -> None:
        """What was still open is written as it is."""
        self._screen.fresh_line()
        width, _ = self._size()
        for card in self._cards.all:
            self._screen.line(card.line(self._marks, self._ink, self._clock(), width - 1))
        self._cards = Cards()
        self._frame()
        await self._pen.drained()


class Plain:
    """For everything else: text to `out`, cards and remarks to `err`. `one`: both end in the same file, so
    lines must not cut each other."""

    def __init__(self, out: Pen, err: Pen, marks: Marks, *, one: bool) -> None:
        self._out, self._err, self._marks, self._one = out, err, marks, one
        self._cards = Cards()
        self._said: list[str] = []
        self._column = 0  # 0: at the beginning of a line
        self._wrote = self._gap = False

    @property
    def gone(self) -> bool:
        """True once nobody reads any more."""
        return self._out.gone or self._err.gone

    async def show(self, stamped: Stamped) -> None:
        """Show what happened."""
        event = stamped.event
        self._cards.take(event, 0.0)
        match event:
            case Text():
                self._write(event.text)
            case CallRejected() if not event.native:
                self._write(event.raw)
            case RoundStarted():
                self._gap = self._wrote
            case RoundFinished() | RunFinished():
                self._end_line()
        self._said += [card.line(self._marks, Ink()) for card in self._cards.done()]
        if remark := _remark(event):
            self._said.append(f"({remark})")
        await self._settle()
        await self._out.room()

    def _write(self, text: str) -> None:
        if text and self._gap:
            self._end_line()
            self._out.write("\n")
            self._gap = False
        text = printable(text)
        self._out.write(text)
        self._wrote = self._wrote or bool(text)
        if text:
            self._column = 0 if text.endswith("\n") else 1

    def _end_line(self) -> None:
        if self._column:
            self._out.write("\n")
            self._column = 0

    async def _settle(self) -> None:
        if self._said and not (self._one and self._column):
            if self._one:
                await self._out.drained()
            self._err.write("".join(f"{line}\n" for line in self._said))
            self._said = []
            if self._one:
                await self._err.drained()

    def tick(self) -> None:
        """Nothing moves here."""

    def disturbed(self) -> None:
        """That is not in the pipe."""

    def say(self, text: str) -> None:
        """Lines of our own, beside the text."""
        self._said += text.splitlines()

    async def close(self) -> None:
        """Everything is written."""
        self._end_line()
        await self._settle()
        await self._out.drained()
        await self._err.drained()


class Lines:
    """One line of JSON for each event, as a journal keeps it."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen

    @property
    def gone(self) -> bool:
        """True once nobody reads any more."""
        return self._pen.gone

    async def show(self, stamped: Stamped) -> None:
        """Write it down."""
        line = _C1.sub(lambda found: b"\\u%04x" % found[0][-1], encode(stamped))  # the same JSON, inert
        self._pen.write(line.decode() + "\n")
        await self._pen.room()

    def tick(self) -> None:
        """Nothing moves here."""

    def disturbed(self) -> None:
        """That is not in the pipe."""

    def say(self, text: str) -> None:
        """Only events are said here."""

    async def close(self) -> None:
        """Everything is written."""
        await self._pen.drained()
