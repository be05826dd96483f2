"""Markdown code as a state: what stands in a fence or in inline code is shown, not run.

`Quotes` is told the text of a stream in order and says where the next live text begins. It promises to
hold nothing back: a run of backticks is text at once, and what it opened is decided by the first
character after it. Rules, after CommonMark 0.31: a fence is a run of three or more backticks or tildes
with only blanks or list markers before it on its line, closed by a line with only a run of at least that
length of the same character; a backtick run elsewhere opens inline code until the same run or the
line's end. It does not know block quotes, comments or indented code.
"""

from __future__ import annotations

import re
from enum import Enum, auto

__all__ = ["Quotes"]


class Mode(Enum):
    """Where in Markdown the stream is."""

    LIVE = auto()
    INLINE = auto()
    INFO = auto()  # on a fence's opening line, which may yet turn out to be inline code
    FENCE = auto()
    CLOSING = auto()  # after a closing run, while its line stays blank


_LEAD = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+)*\Z")
_BLANKS = re.compile(r"[ \t\r]*")
_LONGEST_LEAD = 100  # characters before a fence on its line; deeper is no fence
_INLINE = re.compile(r"`+|\n")
_NEWLINE = re.compile(r"\n")
_RUNS = {"`": re.compile(r"`+"), "~": re.compile(r"~+")}


class Quotes:
    """The state of one stream. `live` is True where calls may stand."""

    __slots__ = ("_fence", "_line", "_mode", "_run", "_size")

    def __init__(self) -> None:
        self._mode = Mode.LIVE
        self._line: str | None = ""  # the current line so far; None once no fence can follow on it
        self._run: tuple[str, int, bool] | None = None  # a run that may go on: character, length, fence-able
        self._fence, self._size = "", 0

    @property
    def live(self) -> bool:
        """True if the next character is not in code (a run that may still go on counts as code)."""
        return self._mode is Mode.LIVE and self._run is None

    def passed(self, text: str) -> None:
        """Live `text` without any run has gone by."""
        newline = text.rfind("\n")
        if newline >= 0:
            self._line = text[newline + 1 :]
        elif self._line is not None:
            self._line += text
        if self._line is not None and len(self._line) > _LONGEST_LEAD:
            self._line = None

    def skip(self, text: str, start: int) -> int:
        """From `start`, where code is or a run begins, the index where live text begins again, or
        `len(text)`."""
        position = start
        while position < len(text):
            if self._run is not None or text[position] in "`~":
                position = self._runs(text, position)
            elif self._mode is not Mode.LIVE:
                position = self._code(text, position)
            if self._mode is Mode.LIVE and self._run is None:
                break
        return position

    def _runs(self, text: str, position: int) -> int:
        """Take a run in, or more of one; once its end is seen, decide what it was."""
        if self._run is None:
            lead = self._line is not None and _LEAD.match(self._line) is not None
            self._run = (text[position], 0, lead)
        mark, size, lead = self._run
        found = _RUNS[mark].match(text, position)
        if found:
            size += len(found[0])
            self._run = (mark, size, lead)
            if found.end() == len(text):
                return len(text)
            position = found.end()
        self._run, self._line = None, None
        self._decide(mark, size, lead)
        return position

    def _decide(self, mark: str, size: int, lead: bool) -> None:
        match self._mode:
            case Mode.LIVE if size >= 3 and lead:
                self._mode, self._fence, self._size = Mode.INFO, mark, size
            case Mode.LIVE if mark == "`":
                self._mode, self._fence, self._size = Mode.INLINE, mark, size
            case Mode.INLINE | Mode.INFO if mark == self._fence == "`" and size == self._size:
                self._mode = Mode.LIVE
            case Mode.FENCE if mark == self._fence and size >= self._size and lead:
                self._mode = Mode.CLOSING
            case Mode.CLOSING:
                self._mode = Mode.FENCE

    def _code(self, text: str, position: int) -> int:
        """Inside code: on to the next run or newline that may matter."""
        if self._mode is Mode.CLOSING:
            blanks = _BLANKS.match(text, position)
            position = blanks.end() if blanks else position
            if position == len(text):
                return position
            self._mode = Mode.LIVE if text[position] == "\n" else Mode.FENCE
            if self._mode is Mode.LIVE:
                self._line = ""
                return position + 1
        if self._mode is Mode.FENCE:
            found = _RUNS[self._fence].search(text, position)
            end = found.start() if found else len(text)
            self.passed(text[position:end])
            return end
        wanted = _NEWLINE if self._mode is Mode.INFO and self._fence == "~" else _INLINE
        found = wanted.search(text, position)
        if found is None:
            return len(text)
        if found[0] != "\n":
            return found.start()
        self._mode = Mode.FENCE if self._mode is Mode.INFO else Mode.LIVE
        self._line = ""
        return found.end()
