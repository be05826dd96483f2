"""The one thing the engine feeds: deltas in, events out, for every enabled format at once.

The reader owns what formats share: reasoning, Markdown code, the union of all openers, what is held back,
and the ids of calls. It routes text that begins an opener to that format's block and fragments of native
calls to `native.Calls`. Promises: the laws in `sidestream.testing`; it never raises on what a model may
write. Without an enabled text format, text is never searched for calls; reasoning still is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import ClassVar, Protocol

from sidestream.dialects.block import Block, Options
from sidestream.dialects.inert import JOINER
from sidestream.dialects.native import Calls
from sidestream.dialects.quotes import Quotes
from sidestream.dialects.scan import Markers
from sidestream.events import (
    AnyDelta,
    AnyEvent,
    CallDelta,
    Hidden,
    Stop,
    Text,
    TextDelta,
    ThinkDelta,
    Thinking,
)
from sidestream.messages import ToolSpec, Vendor, clean

__all__ = ["Format", "Reader"]

THINK = ("<think>", "</think>")
_RUNS = ("`", "~")


class Format(Protocol):
    """A text format, as the reader needs it: a row over its family's machine."""

    @property
    def name(self) -> str: ...

    def openers(self) -> Sequence[str]:
        """The markers that may begin a block."""
        ...

    def open(self, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options, /) -> Block:
        """A reader for the block that begins at one of them."""
        ...


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
        self._state = State.THINK if options.starts_in_think else State.TEXT
        self._block: Block | None = None
        self._opener = ""
        self._formats = {opener: item for item in formats for opener in item.openers()}
        self._firsts = frozenset(opener[0] for opener in self._formats)
        self._joined = re.compile(f"(?<=[{re.escape(''.join(self._firsts))}]){JOINER}") if formats else None
        self._after_first = False  # the last text ended where a word joiner would be ours
        self._quotes = Quotes() if formats and options.fences == "inert" else None
        self._markers = Markers([*self._formats, THINK[0], *(_RUNS if self._quotes else ())])
        self._closing = Markers([THINK[1]])
        self._special = re.compile(f"[{re.escape(''.join(self._markers.first))}{JOINER}]")
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
        match delta:
            case TextDelta():
                return self._read(clean(delta.text))
            case str():
                return self._read(clean(delta))
            case CallDelta():
                return [*self._release(), *self._calls.feed(delta)]
            case ThinkDelta():
                return [*self._release(), Thinking(clean(delta.text))] if delta.text else []
            case Vendor():
                return [delta]
            case Stop():
                return []  # its reason comes with `close`

    def close(self, stop: str = "end", /) -> list[AnyEvent]:
        """The rest. `stop` is the reason the stream ended with."""
        out: list[AnyEvent] = []
        if self._block is not None:
            self._block.close(self._held, out)
            self._block, self._held = None, ""
        return [*out, *self._release(), *self._calls.close(stop)]

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
        elif self._state is State.TEXT and self._special.search(text) is None:
            self._after_first = False
            if self._quotes is not None:
                self._quotes.passed(text)
            return [Text(text)]
        out: list[AnyEvent] = []
        position = 0
        while position < len(text):
            position = self._steps[self._state](self, text, position, out)
        return out

    def _say(self, kind: type[Text] | type[Thinking], text: str, out: list[AnyEvent]) -> None:
        """Show `text`, less the joiners that made untrusted text inert for the model."""
        if not text:
            return
        if self._joined is not None:
            if JOINER in text:
                text = self._without_joiners(kind, text, out)
            if not text:
                return
            self._after_first = text[-1] in self._firsts
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
        found = self._markers.find(text, position)
        end = found.start() if found else self._markers.held(text, position)
        if end > position:
            self._say(Text, text[position:end], out)
            if self._quotes is not None:
                self._quotes.passed(text[position:end])
        if found is None:
            self._held = text[end:]
            return len(text)
        marker = found[0]
        if marker in _RUNS:
            self._state = State.CODE
            return end
        if marker == THINK[0]:
            out.append(Hidden(marker))
            self._state = State.THINK
            return found.end()
        self._opener, self._state = marker, State.BLOCK
        self._block = self._formats[marker].open(self._specs, self._new_id, self._options)
        return end

    def _code(self, text: str, position: int, out: list[AnyEvent]) -> int:
        quotes = self._quotes
        end = quotes.skip(text, position) if quotes else position
        self._say(Text, text[position:end], out)
        if quotes is None or quotes.live:
            self._state = State.TEXT
        return end

    def _think(self, text: str, position: int, out: list[AnyEvent]) -> int:
        found = self._closing.find(text, position)
        end = found.start() if found else self._closing.held(text, position)
        self._say(Thinking, text[position:end], out)
        if found is None:
            self._held = text[end:]
            return len(text)
        out.append(Hidden(found[0]))
        self._state = State.TEXT
        return found.end()

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
            self._say(Text, self._opener, out)
            end += len(self._opener)
        if self._quotes is not None:
            self._quotes.passed(".")  # whatever follows on this line opens no fence
        return end

    _steps: ClassVar = {State.TEXT: _text, State.CODE: _code, State.THINK: _think, State.BLOCK: _in_block}
