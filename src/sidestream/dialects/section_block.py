"""The machine of the sections: it reads one block after its row. See `section.py` for what a row may say.

`section_call.py` reads one call; here is what holds calls together: the wrapper, lists, what stands between two calls
and behind the last. Promises: what is taken is never looked at again; of what follows a call only a few blanks and
the beginning of a closer are held back; a block that broke off in the middle is skipped to its closer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec

from sidestream.dialects.block import Block, Options
from sidestream.dialects.body import BLANKS
from sidestream.dialects.pattern import MORE, Pattern, first_of, pattern
from sidestream.dialects.section import LONGEST_GAP, Shape
from sidestream.dialects.section_call import CallBlock, State
from sidestream.events import AnyEvent, CallClosed, CallRejected, Hidden, Text
from sidestream.messages import ToolSpec

__all__ = ["Grammar"]

LATE_HOLD = 256  # characters of a block that may be a link's text which may be held back
_JUNK = re.compile(r"[}\]]{1,4}\s{0,16}")


def said(events: Sequence[AnyEvent]) -> str:
    """The text that calls, structure and what was rejected were read from."""
    out = []
    for event in events:
        match event:
            case CallClosed():
                out.append(event.call.raw)
            case Hidden() | CallRejected():
                out.append(event.raw)
            case _:
                pass
    return "".join(out)


class _SectionBlock(CallBlock):
    """One block while it is read. A method a state; each gives the index it came to, or -1 for "more"."""

    def feed(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Read on; see Block.feed."""
        if not self._row.late:
            return self._read(text, position, out)
        start, kept = position, self._kept
        position = self._read(text, position, kept)
        self._total += position - start
        if self.done or self._total > LATE_HOLD:
            out += kept
            kept.clear()
        return position

    def _read(self, text: str, position: int, out: list[AnyEvent]) -> int:
        while position < len(text) and not self.done:
            if self._state is State.BODY:
                after = self._in_body(text, position, out)
            else:
                after = self._steps[self._state](self, text, position, out)
            if after < 0:
                break
            position = after
        told = self._opened and not self.rejected and (not self._row.late or self._total > LATE_HOLD)
        self.plain = self._body.plain if told and self._body is not None else None
        return position

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
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        room = max(0, self.options.block_chars - self._size)
        if start - position > room:
            self.take(text[position : position + room])
            return self._reject("too_long", position + room, out, over=True)
        if start == len(text):
            self.take(text[position:])
            return start
        if start < len(text) and text[start] == "[" and self._row.body.lists and not self._listed:
            self._listed = True
            self.take(text[position : start + 1])
            return start + 1
        if not self._listed:
            found = first_of(self._grammar.closers, text, start)
            if found is MORE:
                return -1
            if found is not None:  # an empty wrapper, or an empty call
                self.take(text[position : found.end])
                single = self._row.single
                out.append(CallRejected(self.id, self.raw(), self._row.body.why) if single else Hidden(self.raw()))
                return self.finish(found.end)
        return self._begin(text, start, out, position)

    def _after(self, text: str, position: int, out: list[AnyEvent]) -> int:
        grammar = self._grammar
        gap = grammar.gap.match(text, position)
        start = gap.end() if gap else position
        if start == len(text):
            return -1 if start - position < LONGEST_GAP else self._leave(text, position, out)
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
            self._state = State.CLOSED
            return found.end
        return self._another(text, position, start, out)

    def _another(self, text: str, position: int, start: int, out: list[AnyEvent]) -> int:
        """One more call in the same wrapper, or the end of the block."""
        if self._listed or (self._row.between in text[position:start] if self._row.between else self._inside):
            found = self._head_at(text, start)
            if found is MORE:
                return -1
            if found is not None:
                self._hide(text[position:start], out)
                self._settle(out)
                return self._begin(text, start, out, start)
        return self._leave(text, position, out)

    def _leave(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The block ends without its closer; calls that needed it are none. What broke off in the middle may quote
        a whole block: it is skipped, up to its closer, unless it broke off where another begins."""
        skips = self._broken and self._why and self._enders()
        again = first_of([pattern(opener) for opener in self._grammar.openers(self._specs)], text, position)
        if skips and again is MORE:
            return -1
        self._settle(out)
        if skips and again is None:
            self._state = State.SKIP
            return position
        self._release("malformed" if self._row.late else "", out)
        return self.finish(position)

    def _skip(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """The rest of a broken block is text, and nothing in it runs."""
        found = self._grammar.ends.find(text, position)
        end = found.end() if found else self._grammar.ends.held(text, position)
        if end > position:
            out.append(Text(text[position:end]))
        if found is None:
            return end if end > position else -1
        self._shown, self._state = True, State.CLOSED
        return end

    def _closed(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """One more closer right behind the last is nobody's, and no text."""
        found = first_of(self._enders(), text, position)
        if found is MORE:
            return -1
        if found is None:
            self._settle(out)
            return self.finish(position)
        self._hide(text[position : found.end], out)
        return found.end

    def _last(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Behind a list whose calls count only now: they do, unless it was a link's text."""
        self._settle(out)
        if not text.startswith(self._row.late, position):
            self._release("", out)
        elif self._total <= LATE_HOLD and len(link := said([*out, *self._waiting])) <= LATE_HOLD:
            out[:], self._waiting = [Text(link)], []  # `out` is what was kept: all of the block
        else:
            self._release("malformed", out)
        return self.finish(position)

    def _made_up(self, text: str, position: int, out: list[AnyEvent]) -> int:
        self._settle(out)
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

    def close(self, held: str, out: list[AnyEvent], *, natural: bool = True) -> None:
        """The stream ends inside the block."""
        out += self._kept
        match self._state:
            case State.BODY if not self.rejected:
                self._close_body(held, natural, out)
                self._settle(out)
                return
            case State.OPEN | State.FIRST if self._row.sure or self._state is State.FIRST:
                self.take(held)
                out.append(CallRejected(self.id, self.raw(), "truncated"))
                return
            case State.LAST:
                self._release("", out)
            case State.AFTER:
                held = self._close_after(held, out)
        self._settle(out)
        if held := held[self._told :]:
            out.append(Text(held))

    def _close_after(self, held: str, out: list[AnyEvent]) -> str:
        """The stream ends behind a call; what is left of `held` is text."""
        self._release("truncated" if self._row.late else "", out)
        start = len(held) - len(held.lstrip(" \t\r\n,;"))
        rest = held[start:]
        if rest and any(item.prefix.startswith(rest) for item in self._enders()):
            self._hide(held, out)  # the beginning of a closer, or of a stop word that the server has cut
            return ""
        more = self._listed or self._inside or (self._row.between and self._row.between in held[:start])
        if rest and more and self._head_at(held, start) is MORE:
            self._hide(held[:start], out)
            self._settle(out)
            out.append(CallRejected(self.id, rest, "truncated"))
            return ""
        return held

    def _enders(self) -> Sequence[Pattern]:
        return [*self._grammar.tails, *self._grammar.closers]

    _steps: ClassVar = {
        State.OPEN: _open,
        State.FIRST: _first,
        State.AFTER: _after,
        State.LAST: _last,
        State.CLOSED: _closed,
        State.SKIP: _skip,
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
