"""One call of a section while it is read: its head, its body, and what becomes of both.

`CallBlock` promises: a call's raw text is all that was taken for it and nothing else; a call is closed, or rejected,
once; a body that has outgrown its bound goes on over the rest of itself, which is shown. Where calls may stand and
what lies between them is `section_block.py`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum, auto

from sidestream.dialects.block import Block, Options, Pieces
from sidestream.dialects.body import Body, Head, UnreadableError
from sidestream.dialects.pattern import MORE, Found
from sidestream.dialects.section import Shape, named
from sidestream.events import AnyEvent, CallArgs, CallClosed, CallOpened, CallRejected, Hidden, Text
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["CallBlock", "State"]

_VALUE = re.compile(r"[\[\"0-9tfn-]")
_NUMBERED = re.compile(r"(?:functions\.)?(.*?)(?::\d+)?\Z", re.S)


class State(Enum):
    """Where in a block the stream is."""

    OPEN = auto()
    FIRST = auto()  # in the wrapper: nothing is certain
    BODY = auto()
    AFTER = auto()  # behind a call
    SKIP = auto()  # in the rest of a broken block
    CLOSED = auto()
    LAST = auto()  # behind the closer of a block whose calls count only now
    MADE_UP = auto()


class CallBlock(Block):
    """A block of calls, as far as one of them goes."""

    def __init__(
        self, grammar: Shape, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options
    ) -> None:
        super().__init__(new_id, options)
        self._grammar, self._row, self._specs = grammar, grammar.row, specs
        self._state = State.OPEN
        self._inside = self._listed = self._opened = self._shown = False
        self._body: Body | None = None
        self._broken = False
        self._why = ""  # why the last call was none, until what closes it is known
        self._body_at = 0  # where in the call's text the body begins
        self._told = 0  # characters ahead that a rejection has given out
        self._waiting: list[AnyEvent] = []  # calls that count only once the wrapper is closed
        self._kept: list[AnyEvent] = []  # what such a block says, while it may yet turn out to be prose
        self._total = 0

    def add(self, text: str) -> list[AnyEvent] | None:
        """See Block.add; the body is only told how much went by."""
        added = super().add(text)
        if added is not None and self._body is not None:
            self._body.size += len(text)
        return added

    def _begin(self, text: str, start: int, out: list[AnyEvent], position: int) -> int:
        """A call begins at `start`, or what stands there is none; from `position` on it is not taken yet."""
        found = self._head_at(text, start)
        if found is MORE:
            return -1
        if found is None:
            if not self._inside and not self._listed and self._state is State.OPEN:
                return self.refute(position)
            self.take(text[position:start])
            return self._reject(self._row.body.why, start, out, over=True)
        name = named(found)
        wire = found.values.get("id", "")
        if self._row.numbered and (parts := _NUMBERED.match(wire)):
            name = "" if parts[1].isdigit() else parts[1]
        self.take(self._untold(text[position : found.end]))
        if name:
            self._tell_open(name, out)
        head = Head(name, wire, self._specs, self.options, self._grammar.closing, found.values)
        self._body, self._body_at, self._state = self._row.body.read(head), self._size, State.BODY
        return found.end

    def _head_at(self, text: str, start: int) -> Found | None:
        """What the head at `start` says; without heads, a body's own beginning counts."""
        if self._grammar.heads:
            found = self._grammar.head(text, start)
            known = found is None or found is MORE or not self._row.known or named(found) in self._specs
            return found if known else None
        if self._listed and _VALUE.match(text, start):
            return Found(start, {})  # no call, but a whole value: it fails alone
        claimed = self._row.body.claims(text, start, "", self._specs)
        return MORE if claimed is None else Found(start, {}) if claimed else None

    def _tell_open(self, name: str, out: list[AnyEvent]) -> None:
        self.name, self._opened = name, True
        out.append(CallOpened(self.id, name))

    def _in_body(self, text: str, position: int, out: list[AnyEvent]) -> int:
        body = self._body
        assert body is not None
        room = max(position, position + self.options.block_chars - self._size)
        cut = room < len(text) and not self.rejected
        end = body.step(text[:room] if cut else text, position)
        if end > position:
            self._more(text[position:end], out)
        if body.name and not self._opened and not self.rejected:
            self._tell_open(body.name, out)
            if piece := self.raw()[self._body_at :]:
                out.append(CallArgs(self.id, piece))
        if body.broken and not self._broken:
            self._broken = True  # from here on it skips
            return end if self.rejected else self._reject(body.broken, end, out, over=body.whole)
        if body.whole:
            return self._close(end, out)
        if end > position:
            return end
        if cut:  # the body goes on where it stood, over characters that are told of already
            self.take(text[position:room])
            self._told = room - position
            return self._reject("too_long", position, out, over=False)
        return -1

    def _untold(self, text: str) -> str:
        """`text` without what a rejection has given out already."""
        told = min(self._told, len(text))
        self._told -= told
        return text[told:]

    def finish(self, end: int) -> int:
        """See Block.finish."""
        end, self._told = end + self._told, 0
        return super().finish(end)

    def _more(self, piece: str, out: list[AnyEvent]) -> None:
        if self.rejected:
            if piece := self._untold(piece):
                out.append(Text(piece))
            return
        self._raw.append(piece)
        self._size += len(piece)
        if self._opened:
            out.append(CallArgs(self._id, piece))

    def _close(self, end: int, out: list[AnyEvent]) -> int:
        """The body is whole at `end`: it is a call, or it was one that had been rejected."""
        body, self._state = self._body, State.AFTER
        assert body is not None
        if self.rejected:
            self._next(shown=True)
            return end
        raw = self.raw()
        try:
            name, wire, args = body.finish(raw[self._body_at :])
            if not name:
                raise UnreadableError("missing_name")
        except UnreadableError as error:
            return self._reject(error.why, end, out, over=True)
        if not self._opened:
            self._tell_open(name, out)
            out.append(CallArgs(self.id, raw[self._body_at :]))
        closed = CallClosed(ToolCall(self.id, name, self.options.restored(args), raw, wire))
        (self._waiting if self._row.late else out).append(closed)
        self._next(shown=False)
        return end

    def _next(self, *, shown: bool) -> None:
        """A call is over; another may follow. `shown`: it was none, and what closes it is text too."""
        self._body, self._shown, self.rejected, self._broken = None, shown, False, False
        self.renew()
        self._opened = False

    def _reject(self, why: str, end: int, out: list[AnyEvent], *, over: bool) -> int:
        """It is no call. `over`: nothing is left of it but what closes it, which is part of what is shown."""
        self._release(why, out)
        if over and self._body is not None and (self._inside or self._listed or self._row.tails):
            self._state, self._body, self._why = State.AFTER, None, why
            return end
        out.append(CallRejected(self.id, self.raw(), why))
        self.rejected = not over
        return self.finish(end) if over else end

    def _settle(self, out: list[AnyEvent]) -> None:
        """What was rejected, and the closers behind it, are whole."""
        if self._why:
            out.append(CallRejected(self.id, self.raw(), self._why))
            self._why = ""
            self._next(shown=False)

    def _release(self, why: str, out: list[AnyEvent]) -> None:
        """What waited for the wrapper's closer counts now, or (`why`) does not."""
        for event in self._waiting:
            match event:
                case CallClosed() if why:
                    out.append(CallRejected(event.call.id, event.call.raw, why))
                case Hidden() if why:
                    out.append(Text(event.raw))
                case _:
                    out.append(event)
        self._waiting = []

    def _hide(self, text: str, out: list[AnyEvent]) -> None:
        if text := self._untold(text):
            event = Text(text) if self._shown else Hidden(text)
            if self._why:
                self._raw.append(text)
            else:
                (self._waiting if self._row.late else out).append(event)

    def _close_body(self, held: str, natural: bool, out: list[AnyEvent]) -> None:
        body = self._body
        assert body is not None
        if held:
            self._more(held, out)
        raw = self.raw()
        self._raw = Pieces()  # one text instead of many, before parts of it are made
        self._raw.append(raw)
        if natural and self.options.complete_at_eos and body.rescued(raw[self._body_at :]):
            self._close(len(held), out)
            return
        self._release("truncated", out)
        out.append(CallRejected(self.id, raw, "truncated"))
