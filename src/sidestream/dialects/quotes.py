"""Markdown code and quotation as a state: what stands in them is shown, not run.

`Quotes` is told the text of a stream in order and says where the next live text begins. It promises to hold
nothing back, to look at no text twice, to keep no more than the current line's first hundred characters, and
to say the same however the text is cut. Rules, after CommonMark 0.31, but judged without looking ahead:

- A fence is a run of three or more backticks or tildes with only blanks or list markers before it on its line,
  closed by a line of only blanks and a run of at least that length of the same character. A backtick after a
  run of backticks on the same line makes it inline code instead.
- A backtick run elsewhere opens inline code, until the same run or the line's end.
- A line that begins with `>`, after up to three spaces or after list markers, is a block quote to its end. The
  next line is live unless it begins so too; whatever was opened inside the quote is over with it.
- `<!--` opens a comment until `-->`, over many lines; its own dashes may be the end's (`<!-->`, `<!--->`).

It does not know indented code, backslash escapes, lazy continuation, or where a list's item ends. A line ends
with a newline, not with a carriage return alone.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import ClassVar

__all__ = ["Quotes"]


class Mode(Enum):
    """Where in Markdown the stream is."""

    LIVE = auto()
    INLINE = auto()
    INFO = auto()  # on a fence's opening line, which may yet turn out to be inline code
    FENCE = auto()
    CLOSING = auto()  # after a closing run, while its line stays blank
    QUOTE = auto()
    COMMENT = auto()


_COMMENT = ("<!--", "-->")
_ITEM = r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)"  # a list's marker; no blanks before it: one way to match only
_FENCE_LEAD = re.compile(rf"[ \t]*{_ITEM}*\Z")
_CLOSING_LEAD = re.compile(r"[ \t]*\Z")  # a list marker here would be text in the fence
_QUOTE_LEAD = re.compile(rf"[ \t]*(?:{_ITEM}+)?\Z")
_LONGEST_LEAD = 100  # characters before a fence or a quote on its line; deeper is neither
_BLANKS = re.compile(r"[ \t\r]*")
_INLINE = re.compile(r"`+|\n")
_RUNS = {"`": re.compile(r"`+"), "~": re.compile(r"~+")}


class Quotes:
    """The state of one stream. `live` is True where calls may stand."""

    # Where the reader must hand over. It holds back what may become one, so that `skip` sees it whole.
    MARKERS: ClassVar[tuple[str, ...]] = ("`", "~", ">", _COMMENT[0])

    __slots__ = ("_fence", "_line", "_mode", "_run", "_size", "_tail")

    def __init__(self) -> None:
        self._mode = Mode.LIVE
        self._line: str | None = ""  # the current line so far; None once nothing can begin with its lead
        self._run: tuple[str, int, bool] | None = None  # a run that may go on: character, length, fence-able
        self._fence, self._size = "", 0
        self._tail = ""  # the last two characters of the comment so far: its end may be cut

    @property
    def live(self) -> bool:
        """True if the next character is in neither code nor quotation (a run that may still go on counts as
        code)."""
        return self._mode is Mode.LIVE and self._run is None

    @property
    def inline(self) -> bool:
        """True in inline code, from the first character after the run that opened it. What may yet be a fence's
        opening line does not count."""
        return self._mode is Mode.INLINE

    @property
    def at_line_start(self) -> bool:
        """True in live text if only blanks stand on the line so far (a hundred at most)."""
        return self.live and self._line is not None and not self._line.strip(" \t")

    def passed(self, text: str) -> None:
        """Live `text` without any marker has gone by."""
        if "\n" in text:
            self._line = text[text.rfind("\n") + 1 :]
        elif self._line is not None:
            self._line += text
        else:
            return
        if len(self._line) > _LONGEST_LEAD:
            self._line = None

    def begins(self, text: str, start: int, sign: int) -> bool:
        """True if the `>` at `sign` begins a quotation; what stands before it from `start` on is live, and was not
        told of yet."""
        newline = text.rfind("\n", start, sign)
        before = text[newline + 1 : sign] if newline >= 0 else None
        if before is None:
            before = None if self._line is None else self._line + text[start:sign]
        return before is not None and len(before) <= _LONGEST_LEAD and _QUOTE_LEAD.match(before) is not None

    def skip(self, text: str, start: int) -> int:
        """From `start`, where code or quotation is or a marker stands, the index where live text begins
        again, or `len(text)`. Right behind the marker if it meant nothing there."""
        position, inside = start, self.inline
        while position < len(text):
            if self._mode is Mode.QUOTE:
                position = self._quote(text, position)
            elif self._mode is Mode.COMMENT:
                position = self._comment(text, position)
            elif self._run is not None or text[position] in "`~":
                position = self._runs(text, position)
            elif self._mode is Mode.LIVE:
                position = self._open(text, position)
            else:
                position = self._code(text, position)
            if self._run is None and (self._mode is Mode.LIVE or (self.inline and not inside)):
                break
        return position

    def _open(self, text: str, position: int) -> int:
        """At a `>` or a `<!--` in live text."""
        if text[position] == ">":
            if self._line is not None and _QUOTE_LEAD.match(self._line):
                self._mode = Mode.QUOTE
            position += 1
        elif text.startswith(_COMMENT[0], position):
            self._mode = Mode.COMMENT
            position += len(_COMMENT[0])
            self._tail = text[position - 2 : position]
        self._line = None
        return position

    def _quote(self, text: str, position: int) -> int:
        """In a block quote nothing but the line's end matters: what it holds cannot outlast it."""
        newline = text.find("\n", position)
        if newline < 0:
            return len(text)
        self._mode, self._line = Mode.LIVE, ""
        return newline + 1

    def _comment(self, text: str, position: int) -> int:
        """In a comment: on to its end, which may have begun in the last two characters of what came before."""
        seam = (self._tail + text[position : position + 2]).find(_COMMENT[1])
        begin = position - len(self._tail) + seam if seam >= 0 else text.find(_COMMENT[1], position)
        if seam < 0 and begin < 0:
            self._tail = (self._tail + text[-2:])[-2:]
            return len(text)
        self._mode = Mode.LIVE
        return begin + len(_COMMENT[1])

    def _runs(self, text: str, position: int) -> int:
        """Take a run in, or more of one; once its end is seen, decide what it was."""
        if self._run is None:
            wanted = _FENCE_LEAD if self._mode is Mode.LIVE else _CLOSING_LEAD
            lead = self._line is not None and wanted.match(self._line) is not None
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
            case Mode.INLINE | Mode.INFO if mark == self._fence == "`":
                self._mode = Mode.LIVE if size == self._size else Mode.INLINE
            case Mode.FENCE if mark == self._fence and size >= self._size and lead:
                self._mode = Mode.CLOSING
            case Mode.CLOSING:
                self._mode = Mode.FENCE
            case _:
                pass

    def _code(self, text: str, position: int) -> int:
        """Inside code: on to the next run or newline that may matter."""
        if self._mode is Mode.CLOSING:
            blanks = _BLANKS.match(text, position)
            position = blanks.end() if blanks else position
            if position == len(text):
                return position
            if text[position] == "\n":
                self._mode, self._line = Mode.LIVE, ""
                return position + 1
            self._mode = Mode.FENCE
        if self._mode is Mode.FENCE:
            found = _RUNS[self._fence].search(text, position)
            end = found.start() if found else len(text)
            self.passed(text[position:end])
            return end
        found = _INLINE.search(text, position)
        if found is None:
            return len(text)
        if found[0] != "\n":
            return found.start()
        self._mode = Mode.FENCE if self._mode is Mode.INFO else Mode.LIVE
        self._line = ""
        return found.end()
