"""The lower end of a terminal: text that grows, and below it lines that are drawn anew in place.

A frame erases the lines below the text, writes what is new, and draws the lines again. The terminal itself
keeps the place where the text goes on: lines are made room for with IND (which keeps the column) and reached
between a save and a restore of the cursor, so a resized window or a wrongly guessed width costs nothing. The
one thing guessed is whether a row is exactly full: its last character then waits for the next one, because
terminals disagree about where the cursor is until then. Pure: `frame` gives the text to write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sidestream.timeline import columns

__all__ = ["Screen"]

_ERASE, _DOWN, _SAVE, _RESTORE = "\x1b[J", "\x1bD", "\x1b7", "\x1b8"
_TAB = 8


class Screen:
    """What is to be written, until a `frame` takes it. `column` is 0 only at the beginning of a line."""

    def __init__(self, size: Callable[[], tuple[int, int]]) -> None:
        self._size = size
        self._new: list[str] = []
        self._held = ""  # the last character of a row that is exactly full, with its style
        self._drawn = 0
        self.column = 0

    def text(self, text: str, style: str = "", off: str = "") -> None:
        """Text that goes on where it ended; a line break may only be its last character."""
        body = text.removesuffix("\n")
        if "\t" in body:
            before = self.column % _TAB
            body = (" " * before + body).expandtabs(_TAB)[before:]
        if body:
            self._release()
            width = max(1, self._size()[0])
            self.column = _after(body, self.column, width)
            if self.column == width:
                body, self._held = body[:-1], f"{style}{body[-1]}{off if style else ''}"
            self._new.append(f"{style}{body}{off}" if style and body else body)
        if text.endswith("\n"):
            self._end_line()

    def _release(self) -> None:
        self._new.append(self._held)
        self._held = ""

    def _end_line(self) -> None:
        self._release()
        self._new.append("\r\n")
        self.column = 0

    def fresh_line(self) -> None:
        """Go to the beginning of a line, unless there already."""
        if self.column:
            self._end_line()

    def line(self, line: str) -> None:
        """A line of its own, written for good."""
        self.fresh_line()
        self._new.append(f"{line}\r\n")

    def frame(self, below: Sequence[str], changed: bool = True) -> str:
        """What to write now, so that everything new stands there and `below` under it."""
        if not any(self._new) and not changed:
            return ""
        parts = [_ERASE if self._drawn else "", *self._new]
        self._new = []
        self._drawn = len(below)
        if below:
            parts += (_DOWN * len(below), f"\x1b[{len(below)}A", _SAVE)
            parts += [f"\x1b[B\r{line}" for line in below]
            parts.append(_RESTORE)
        return "".join(parts)


def _after(text: str, column: int, width: int) -> int:
    """The column, 1 to `width`, that the end of `text` comes to; a wide character does not straddle rows."""
    if text.isascii():
        return (column + len(text) - 1) % width + 1
    for character in text:
        size = columns(character)
        column = size if column + size > width else column + size
    return column
