"""The one thing the engine feeds: deltas in, events out, for every enabled format at once.

The reader owns what formats share: reasoning, Markdown code and quotations, the union of all openers, what is
held back, and the ids of calls. It routes text that begins an opener to that format's block and fragments of
native calls to `native.Calls`. Promises: the laws in `sidestream.testing`; it never raises on what a model may
write. Without an enabled text format, text is never searched for calls; reasoning still is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import ClassVar

import msgspec

from sidestream.dialects.block import NATURAL, Block, Options
from sidestream.dialects.format import Format, Grammatical
from sidestream.dialects.inert import JOINER
from sidestream.dialects.marks import Marks, Role, marks_of
from sidestream.dialects.native import Calls
from sidestream.dialects.quotes import Quotes
from sidestream.dialects.scan import Markers
from sidestream.events import (
    AnyDelta,
    AnyEvent,
    CallClosed,
    CallDelta,
    CallRejected,
    Hidden,
    ModelChosen,
    Retrying,
    Stop,
    Text,
    TextDelta,
    ThinkDelta,
    Thinking,
)
from sidestream.messages import ToolSpec, Vendor, clean

__all__ = ["Reader"]


class State(Enum):
    """What the text is now."""

    TEXT = auto()
    CODE = auto()
    THINK = auto()
    BLOCK = auto()


class Reader:
    """Reads one response. `formats` are the enabled text formats, `specs` the tools offered."""

    def __init__(self, formats: Sequence[Format], specs: Sequence[ToolSpec], options: Options) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._options = options
        self._count = 0
        self._held = ""
        self._state = State.TEXT
        self._block: Block | None = None
        self._formats = tuple(formats)
        self._quotations = 0  # whole blocks in the inline code so far
        self._shadow: Reader | None = None  # the shadow reads what inline code holds
        self._quotes = Quotes() if formats and options.fences == "inert" else None
        self._marks: Marks = marks_of(self._formats, tuple(self._specs), self._specs, quotes=self._quotes is not None)
        self._joined = self._marks.joined
        self._after_first = False  # the last text ended where a word joiner would be ours
        self._blank, self._last = True, "\n"  # nothing but blanks was said so far; the last character said
        self._eats = False  # a newline that comes now belongs to the marker before it
        self._closing = Markers(self._marks.closers)
        self._until: frozenset[str] = frozenset()  # openers that end reasoning, and are not taken with it
        if options.starts_in_think:
            self._think_until(self._marks.closers)
        self._calls = Calls(
            self._specs,
            self._new_id,
            limit=options.args_chars,
            restored=options.restored if formats else None,
        )

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._options.prefix}{self._count}"

    def feed(self, delta: str | AnyDelta, /) -> list[AnyEvent]:
        """The events that everything so far makes certain."""
        if isinstance(delta, str):  # the parser on its own
            return self._read(delta if delta.isascii() else clean(delta))
        match delta:
            case TextDelta():
                return self._read(clean(delta.text))
            case CallDelta():
                return [*self._release(), *self._calls.feed(delta)]
            case ThinkDelta():
                return [*self._release(), Thinking(clean(delta.text))] if delta.text else []
            case Vendor():
                return [*self._release(), delta]
            case Retrying() | ModelChosen():
                return [delta]
            case Stop():
                return []  # its reason comes with `close`

    def close(self, stop: str = "end", /) -> list[AnyEvent]:
        """The rest. `stop` is the reason the stream ended with."""
        out: list[AnyEvent] = []
        if self._block is None and self._held and self._state is State.TEXT:
            self._begun_block(out)
        if self._block is not None:
            held, self._held = self._held, ""
            self._block.close(held, out, natural=stop in NATURAL)
            self._block = None
            if self._options.truncated == "hide":
                out = list(_without_cut(out))
        self._tell_quoted(out)
        return [*out, *self._release(), *self._calls.close(stop)]

    def _begun_block(self, out: list[AnyEvent]) -> None:
        """The stream ended before it was clear which format's block had begun: the first's that is sure of it."""
        for grammar in self._marks.openers.get(self._marks.find_at(self._held), ()):
            if grammar.sure and self._may_stand(grammar):
                self._block = grammar.open(self._specs, self._new_id, self._options)
                held, self._held = self._held, ""
                self._held = held[self._block.feed(held, 0, out) :]
                return

    def _release(self) -> list[AnyEvent]:
        """What was held back as the possible beginning of a marker turned out not to be one."""
        out: list[AnyEvent] = []
        if self._held and self._block is None:
            held, self._held = self._held, ""
            self._say(Thinking if self._state is State.THINK else Text, held, out)
        return out

    def _read(self, text: str) -> list[AnyEvent]:
        if not text:
            return []
        if self._held:
            text, self._held = self._held + text, ""
        elif self._state is State.TEXT and self._marks.special.search(text) is None and not self._eats:
            self._after_first = False
            self._passed(text)
            return [Text(text)]
        elif self._block is not None and (plain := self._block.plain) is not None and plain.search(text) is None:
            added = self._block.add(text)
            if added is not None:
                return added
        out: list[AnyEvent] = []
        position = 0
        while position < len(text):
            if self._eats:
                position = self._eat(text, position, out)
            else:
                position = self._steps[self._state](self, text, position, out)
        return out

    def _eat(self, text: str, position: int, out: list[AnyEvent]) -> int:
        self._eats = False
        if text[position] != "\n":
            return position
        out.append(Hidden("\n"))
        return position + 1

    def _passed(self, text: str) -> None:
        """`text`, in which nothing is marked, is said."""
        if self._quotes is not None:
            self._quotes.passed(text)
        if self._marks.placed:
            self._blank = self._blank and text.isspace()
            self._last = text[-1]

    def _say(self, kind: type[Text] | type[Thinking], text: str, out: list[AnyEvent]) -> None:
        """Show `text`, less the joiners that made untrusted text inert for the model."""
        if not text:
            return
        if self._joined is not None:
            if JOINER in text:
                text = self._without_joiners(kind, text, out)
            if not text:
                return
            self._after_first = text[-1] in self._marks.firsts
        out.append(kind(text))

    def _without_joiners(self, kind: type[Text] | type[Thinking], text: str, out: list[AnyEvent]) -> str:
        if self._after_first and text[0] == JOINER:
            out.append(Hidden(JOINER))
            self._after_first, text = False, text[1:]
        *before, last = self._joined.split(text) if self._joined else [text]
        for piece in before:
            out += (kind(piece), Hidden(JOINER))
        return last

    # ---- one method a state; each gives the index it came to

    def _text(self, text: str, position: int, out: list[AnyEvent]) -> int:
        found = self._marks.find(text, position)
        while found is not None and found[0] == ">" and self._quotes is not None:
            if self._quotes.begins(text, position, found.start()):
                break
            found = self._marks.find(text, found.end())
        end = found.start() if found else self._marks.held(text, position)
        if end > position:
            self._say(Text, text[position:end], out)
            self._passed(text[position:end])
        if found is None:
            self._held = text[end:]
            return len(text)
        marker = found[0]
        match self._marks.roles[marker]:
            case Role.QUOTE:
                self._state = State.CODE
                return end
            case Role.THINK:
                self._hide(marker, out)
                self._think_until(self._marks.closing[marker])
                return found.end()
            case Role.HIDDEN:
                self._hide(marker, out)
                return found.end()
            case Role.OPENER:
                return self._opening(marker, text, end, out)

    def _hide(self, marker: str, out: list[AnyEvent]) -> None:
        out.append(Hidden(marker))
        self._last = "\n"  # what comes behind a marker counts as the beginning of a line
        self._eats = self._marks.pads and not marker.endswith("\n")
        self._after_first = False

    def _opening(self, marker: str, text: str, position: int, out: list[AnyEvent]) -> int:
        """An opener: a format's block begins, or it is text, or that is not clear yet."""
        chosen = self._choose(marker, text, position)
        if chosen is None:
            self._held = text[position:]
            return len(text)
        if not chosen:
            return self._no_opener(text, position, out)
        self._block, self._state = chosen[0].open(self._specs, self._new_id, self._options), State.BLOCK
        return position

    def _no_opener(self, text: str, position: int, out: list[AnyEvent]) -> int:
        self._say(Text, text[position], out)
        self._passed(text[position])
        return position + 1

    def _may_stand(self, grammar: Grammatical) -> bool:
        match grammar.place:
            case "start":
                return self._blank
            case "line":
                return self._last == "\n"
            case _:
                return True

    def _choose(self, marker: str, text: str, position: int) -> Sequence[Grammatical] | None:
        """The grammar whose block begins there, in a list; an empty one if there is none; None if that is not clear
        yet."""
        rows = [item for item in self._marks.openers[marker] if self._may_stand(item)]
        if len(rows) == 1 and rows[0].sure:
            return rows
        for row in rows:
            claimed = row.claims(text, position, self._specs)
            if claimed is None:
                return None
            if claimed:
                return [row]
        return [row for row in rows if row.sure][:1]

    def _code(self, text: str, position: int, out: list[AnyEvent]) -> int:
        quotes = self._quotes
        inline = quotes is not None and quotes.inline
        end = quotes.skip(text, position) if quotes else position
        self._say(Text, text[position:end], out)
        if inline and quotes is not None:
            self._quoted(text[position:end])
            if not quotes.inline:
                self._tell_quoted(out)
        if self._marks.placed and end > position:
            self._blank, self._last = False, text[end - 1]
        if quotes is None or quotes.live:
            self._state = State.TEXT
        return end

    def _quoted(self, text: str) -> None:
        """`text` in inline code is said already; blocks that are whole in it are counted."""
        if self._shadow is None:
            found = self._marks.opening.search(text)
            if found is None:
                return
            text = text[found.start() :]
            options = msgspec.structs.replace(self._options, fences="live")
            self._shadow = Reader(self._formats, list(self._specs.values()), options)
            self._shadow._blank, self._shadow._last = False, "."
        self._quotations += sum(isinstance(event, CallClosed) for event in self._shadow.feed(text))

    def _tell_quoted(self, out: list[AnyEvent]) -> None:
        """Inline code is over: the blocks in it are no calls, for good."""
        out += [CallRejected(self._new_id(), "", "quoted") for _ in range(self._quotations)]
        self._shadow, self._quotations = None, 0

    def _think_until(self, closers: Sequence[str], until: Sequence[str] = ()) -> None:
        """Reasoning begins; it ends with one of `closers`, or before one of `until`."""
        drafts = self._options.in_think == "inert"
        self._until = frozenset(until if drafts else (*until, *self._marks.openers))
        self._closing = Markers([*closers, *self._until])
        self._state = State.THINK

    def _think(self, text: str, position: int, out: list[AnyEvent]) -> int:
        found = self._closing.find(text, position)
        end = found.start() if found else self._closing.held(text, position)
        self._say(Thinking, text[position:end], out)
        if self._marks.placed and end > position:
            self._last = text[end - 1]
        if found is None:
            self._held = text[end:]
            return len(text)
        if found[0] not in self._until:
            self._hide(found[0], out)
            self._state = State.TEXT
            return found.end()
        chosen = self._choose(found[0], text, end)
        if chosen is None:
            self._held = text[end:]
            return len(text)
        if not chosen:
            self._say(Thinking, text[end], out)
            return end + 1
        self._state = State.TEXT
        return end

    def _in_block(self, text: str, position: int, out: list[AnyEvent]) -> int:
        block = self._block
        assert block is not None
        end = block.feed(text, position, out)
        if not block.done:
            self._held = text[end:]
            return len(text)
        self._block, self._state = None, State.TEXT
        self._after_first = False
        if block.refuted:
            return self._no_opener(text, end, out)
        if self._quotes is not None:
            self._quotes.passed(".")  # whatever follows on this line opens no fence
        if block.reasons is not None:
            self._think_until(*block.reasons)
        elif block.spoke:
            self._blank, self._last = False, "."
        return end

    _steps: ClassVar = {State.TEXT: _text, State.CODE: _code, State.THINK: _think, State.BLOCK: _in_block}


def _without_cut(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The same, with the text of a block that broke off as structure."""
    for event in events:
        match event:
            case CallRejected(call, raw, "truncated"):
                yield from (CallRejected(call, "", "truncated"), Hidden(raw))
            case _:
                yield event
