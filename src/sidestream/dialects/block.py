"""What every text format's block shares: its raw text, its bound, and how it ends.

A family subclasses `Block` with one `_step` per state. It promises: what a step has taken is never looked at
again, what it has not taken stays with the reader, and a block that grows past `block_chars` is rejected at
exactly that character. (The one base class in the house: it holds data, and knows nobody.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from sidestream.dialects.inert import restore
from sidestream.dialects.values import each_text
from sidestream.events import AnyEvent, CallArgs, CallRejected, Text

__all__ = ["NATURAL", "Block", "Options", "Pieces"]

NATURAL = frozenset(("end", "tools", "stop", "tool_calls", "end_turn", "tool_use", "stop_sequence", "eos"))
"""Ends at which a model has said all it wanted: ours, and the words of OpenAI, Anthropic and engines for them."""

_PACK = 4_096  # pieces joined at once


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a stream is read.

    `fences`: are calls in Markdown code and quotations shown (`inert`) or run (`live`). `in_think`: is a block in
    reasoning a draft (`inert`), or does it end the reasoning (`implicit_end`). `starts_in_think`: the stream
    begins inside reasoning. `complete_at_eos`: a call that lacks nothing but closers counts at a natural end.
    `truncated`: the text of a block that broke off is shown, or `Hidden`. `react_after_call`: what ReAct models
    make up behind a call is dropped (`discard`) or shown. `entities`: `decode` XML entities in values or leave
    them `verbatim`; by default as the format says.
    `dialect`: which of a format's versions is written (all are read).
    `block_chars` and `args_chars` bound one text block and one native call's arguments, in characters.
    """

    fences: Literal["inert", "live"] = "inert"
    in_think: Literal["inert", "implicit_end"] = "inert"
    starts_in_think: bool = False
    complete_at_eos: bool = True
    truncated: Literal["show", "hide"] = "show"
    react_after_call: Literal["discard", "text"] = "discard"
    entities: Literal["", "decode", "verbatim"] = ""
    dialect: Literal["", "v32", "v4", "v41"] = ""
    block_chars: Annotated[int, msgspec.Meta(ge=1)] = 65_536
    args_chars: Annotated[int, msgspec.Meta(ge=0)] = 1_048_576
    prefix: str = ""  # of every call's id
    firsts: str = ""  # the first characters of all enabled markers, where a joiner may stand

    def restored(self, value: Any) -> Any:
        """`value` with every string in it as it was before it was made inert."""
        return each_text(value, lambda text: restore(text, self.firsts)) if self.firsts else value


class Pieces:
    """A text that grows by pieces. Many small ones are joined on the way, so that no single step has to join
    them all: the last fragment of a long block is as cheap as the first."""

    __slots__ = ("_joined", "_small")

    def __init__(self) -> None:
        self._joined: list[str] = []
        self._small: list[str] = []

    def append(self, text: str) -> None:
        """Go on with `text`."""
        self._small.append(text)
        if len(self._small) >= _PACK:
            self._joined.append("".join(self._small))
            self._small = []

    def __bool__(self) -> bool:
        return bool(self._joined or self._small)

    def __str__(self) -> str:
        return "".join([*self._joined, *self._small])


class Block:
    """One block while it is read; `done` once it is over. Text in which `plain` finds nothing may be given to `add`
    (None: all text has to be fed)."""

    plain: re.Pattern[str] | None = None

    def __init__(self, new_id: Callable[[], str], options: Options) -> None:
        self._new_id, self._id = new_id, ""
        self.options = options
        self.name = ""
        self.done = self.refuted = self.rejected = False
        self.spoke = True  # the message has begun: what comes next does not stand at its start
        self.reasons: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # reasoning follows, until one of these
        self._raw = Pieces()
        self._size = 0

    @property
    def id(self) -> str:
        """Our id of the call; taken when it is first told of, so that what was no call takes none."""
        if not self._id:
            self._id = self._new_id()
        return self._id

    def feed(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Read on from `position`. Gives the index of the first character not taken: where text goes on if
        `done`, where to hold from if not."""
        end = position + self.options.block_chars - self._size
        cut = end < len(text) and not self.rejected
        whole = text
        if cut:
            text = text[:end]
        while position < len(text) and not self.done:
            after = self._step(text, position, out)
            if after < 0:
                break
            position = after
        if not cut or self.done:
            return position
        if self.rejected:  # as nested: what is skimmed has no bound, for none of it is kept
            return self.feed(whole, position, out)
        after = self.overflow(text[position:], len(text), out)
        return after if self.done else self.feed(whole, after, out)

    def add(self, text: str) -> list[AnyEvent] | None:
        """Take `text`, in which nothing is marked, into what the call carries; None if there is no room for it."""
        if self._size + len(text) > self.options.block_chars:
            return None
        self._raw.append(text)
        self._size += len(text)
        return [CallArgs(self._id, text)]

    def overflow(self, held: str, end: int, out: list[AnyEvent]) -> int:
        """It is longer than it may be; `held` is what was not taken of what it may be."""
        self.take(held)
        return self.reject("too_long", end, out)

    def _step(self, text: str, position: int, out: list[AnyEvent]) -> int:
        raise AssertionError("a family gives its own")

    def close(self, held: str, out: list[AnyEvent], *, natural: bool = True) -> None:
        """The stream ends inside the block; `natural`: the model had said all it wanted."""
        if self.rejected or not self._raw:
            if held:
                out.append(Text(held))
            return
        self.take(held)
        self.reject("truncated", 0, out)

    def renew(self) -> None:
        """Another call of the same block begins."""
        self._id = self.name = ""
        self._raw, self._size = Pieces(), 0

    def take(self, text: str) -> None:
        """`text` belongs to the block."""
        self._raw.append(text)
        self._size += len(text)

    def body(self, text: str, out: list[AnyEvent]) -> None:
        """`text` belongs to the block and is part of what it carries."""
        self._raw.append(text)
        self._size += len(text)
        out.append(CallArgs(self.id, text))

    def raw(self) -> str:
        """All the text of the block so far."""
        return str(self._raw)

    def reject(self, why: str, end: int, out: list[AnyEvent]) -> int:
        """It is not a call; text goes on at `end`."""
        out.append(CallRejected(self.id, self.raw(), why))
        self.rejected = True
        return self.finish(end)

    def refute(self, position: int) -> int:
        """It never was a block: its opener at `position` is text."""
        self.refuted = True
        return self.finish(position)

    def finish(self, end: int) -> int:
        """It is over; text goes on at `end`."""
        self.done = True
        return end
