"""The machine of the sections: it reads one block after its row. See `section.py` for what a row may say.

Promises: what is taken is never looked at again; a body keeps its own bound, and when it has outgrown it, or cannot
be right, the rest of it is read by the same rules, and shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import ClassVar

import msgspec

from sidestream.dialects.block import Block, Options
from sidestream.dialects.body import BLANKS, Body, Head, UnreadableError
from sidestream.dialects.pattern import MORE, Found, Pattern, first_of
from sidestream.dialects.section import LONGEST_GAP, Shape, gap, named
from sidestream.events import AnyEvent, CallArgs, CallClosed, CallOpened, CallRejected, Hidden, Text
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["Grammar"]

_JUNK = re.compile(r"[}\]]{1,4}\s{0,16}")
_NUMBERED = re.compile(r"(?:functions\.)?(.*?)(?::\d+)?\Z", re.S)


class State(Enum):
    """Where in a block the stream is."""

    OPEN = auto()
    FIRST = auto()  # in the wrapper: nothing is certain
    BODY = auto()
    AFTER = auto()  # behind a call
    LAST = auto()  # behind the closer of a block whose calls count only now
    MADE_UP = auto()


class _SectionBlock(Block):
    """One block while it is read. A method a state; each gives the index it came to, or -1 for "more"."""

    def __init__(
        self, grammar: Shape, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options
    ) -> None:
        super().__init__(new_id, options)
        self._grammar, self._row, self._specs = grammar, grammar.row, specs
        self._state = State.OPEN
        self._inside = self._listed = self._opened = self._shown = False
        self._body: Body | None = None
        self._broken = False
        self._body_at = 0  # where in the call's text the body begins
        self._told = 0  # characters ahead that a rejection has given out
        self._waiting: list[AnyEvent] = []  # calls that count only once the wrapper is closed

    def feed(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Read on; see Block.feed. A body is the common case, and taken without ado."""
        while position < len(text) and not self.done:
            if self._state is State.BODY:
                after = self._in_body(text, position, out)
            else:
                after = self._steps[self._state](self, text, position, out)
            if after < 0:
                break
            position = after
        told = self._opened and not self.rejected
        self.plain = self._body.plain if told and self._body is not None else None
        return position

    def add(self, text: str) -> list[AnyEvent] | None:
        """See Block.add; the body is only told how much went by."""
        added = super().add(text)
        if added is not None and self._body is not None:
            self._body.size += len(text)
        return added

    # ---- the beginning

    def _open(self, text: str, position: int, out: list[AnyEvent]) -> int:
        for opener, closer in self._grammar.wrappers:
            found = opener.at(text, position)
            if found is MORE:
                return -1
            if found is not None:
                self.take(text[position : found.end])
                self._inside, self._state = bool(closer), State.FIRST
                return found.end
        if self._row.bare or not self._row.wrappers:
            return self._begin(text, position, out, position)
        return self.refute(position)

    def _first(self, text: str, position: int, out: list[AnyEvent]) -> int:
        start = gap(text, position)
        if start == len(text) and start - position < LONGEST_GAP:
            return -1
        if start < len(text) and text[start] == "[" and self._row.body.lists and not self._listed:
            self._listed = True
            self.take(text[position : start + 1])
            return start + 1
        if not self._listed:
            found = first_of(self._grammar.closers, text, start)
            if found is MORE:
                return -1
            if found is not None:  # an empty wrapper
                out.append(Hidden(self.raw() + text[position : found.end]))
                return self.finish(found.end)
        return self._begin(text, start, out, position)

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
        self.take(text[position : found.end])
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
        claimed = self._row.body.claims(text, start, "", self._specs)
        return MORE if claimed is None else Found(start, {}) if claimed else None

    def _tell_open(self, name: str, out: list[AnyEvent]) -> None:
        self.name, self._opened = name, True
        out.append(CallOpened(self.id, name))

    # ---- a body

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

    def _more(self, piece: str, out: list[AnyEvent]) -> None:
        if self.rejected:
            told = min(self._told, len(piece))
            self._told -= told
            if told < len(piece):
                out.append(Text(piece[told:]))
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
        """It is no call. `over`: nothing is left of it but what closes it."""
        self._release(why, out)
        out.append(CallRejected(self.id, self.raw(), why))
        if not over:
            self.rejected = True
        elif self._body is not None and (self._inside or self._listed or self._row.tails):
            self._state = State.AFTER
            self._next(shown=True)
        else:
            return self.finish(end)
        return end

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

    # ---- behind a call

    def _after(self, text: str, position: int, out: list[AnyEvent]) -> int:
        grammar = self._grammar
        gap = grammar.gap.match(text, position)
        start = gap.end() if gap else position
        if start == len(text):
            return -1 if start - position < LONGEST_GAP else self._leave(position, out)
        if self._listed and text[start] == "]":
            self._listed = False
            self._hide(text[position : start + 1], out)
            return start + 1
        tail = first_of(grammar.tails, text, start)
        found = first_of(grammar.closers, text, start) if tail is None else tail
        if found is None and (junk := _JUNK.match(text, start)):
            found = first_of([*grammar.tails, *grammar.closers], text, junk.end())
            if found is None and junk.end() == len(text):
                return -1
        if found is MORE:
            return -1
        if found is not None:
            self._hide(text[position : found.end], out)
            if tail is not None:
                self._state = State.MADE_UP if self._row.discards else State.AFTER
                return found.end
            if self._row.late:
                self._state = State.LAST
                return found.end
            return self.finish(found.end)
        return self._another(text, position, start, out)

    def _another(self, text: str, position: int, start: int, out: list[AnyEvent]) -> int:
        """One more call in the same wrapper, or the end of the block."""
        if self._listed or (self._row.between in text[position:start] if self._row.between else self._inside):
            found = self._head_at(text, start)
            if found is MORE:
                return -1
            if found is not None:
                self._hide(text[position:start], out)
                return self._begin(text, start, out, start)
        return self._leave(position, out)

    def _leave(self, position: int, out: list[AnyEvent]) -> int:
        """The block ends without its closer; calls that needed it are none."""
        self._release("malformed" if self._row.late else "", out)
        return self.finish(position)

    def _hide(self, text: str, out: list[AnyEvent]) -> None:
        if text:
            event = Text(text) if self._shown else Hidden(text)
            (self._waiting if self._row.late else out).append(event)

    def _last(self, text: str, position: int, out: list[AnyEvent]) -> int:
        self._release("malformed" if text.startswith(self._row.late, position) else "", out)
        return self.finish(position)

    def _made_up(self, text: str, position: int, out: list[AnyEvent]) -> int:
        if self.options.react_after_call == "text":
            return self.finish(position)
        if self._shown:
            out.append(Hidden(text[position:]))
            return len(text)
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            out.append(Hidden(text[position:start]))
        if start < len(text):
            self._shown = True
            out.append(CallRejected(self.id, "", "hallucinated_observation"))
        return start

    # ---- the end of the stream

    def close(self, held: str, out: list[AnyEvent], *, natural: bool = True) -> None:
        """The stream ends inside the block."""
        match self._state:
            case State.BODY if not self.rejected:
                self._close_body(held, natural, out)
                return
            case State.OPEN | State.FIRST if self._row.sure or self._state is State.FIRST:
                self.take(held)
                out.append(CallRejected(self.id, self.raw(), "truncated"))
                return
            case State.LAST:
                self._release("", out)
            case State.AFTER:
                self._release("truncated" if self._row.late else "", out)
                stop_word = held.strip() and any(item.prefix.startswith(held.strip()) for item in self._enders())
                if held and stop_word:  # the beginning of a closer, or of a stop word that the server has cut
                    out.append(Hidden(held))
                    return
        if held := held[self._told :]:
            out.append(Text(held))

    def _enders(self) -> Sequence[Pattern]:
        return [*self._grammar.tails, *self._grammar.closers]

    def _close_body(self, held: str, natural: bool, out: list[AnyEvent]) -> None:
        body = self._body
        assert body is not None
        if held:
            self._more(held, out)
        raw = self.raw()
        if natural and self.options.complete_at_eos and body.rescued(raw[self._body_at :]):
            self._close(len(held), out)
            return
        self._release("truncated", out)
        out.append(CallRejected(self.id, raw, "truncated"))

    _steps: ClassVar = {
        State.OPEN: _open,
        State.FIRST: _first,
        State.BODY: _in_body,
        State.AFTER: _after,
        State.LAST: _last,
        State.MADE_UP: _made_up,
    }


class Grammar(Shape):
    """A section's row with its machine: what the reader needs."""

    def open(self, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options) -> Block:
        """A reader for the block that begins at an opener."""
        return _SectionBlock(self, specs, new_id, options)

    def signed(self, nonce: str) -> Grammar | None:
        """The same, with a nonce that every head must have; None if its heads have no place for one."""
        return Grammar(msgspec.structs.replace(self.row, nonce=nonce)) if self.row.signable else None
