"""A format: a name over the grammars it is made of, and what its model's streams hold besides calls.

A grammar (a row of a family) says where blocks may begin and reads them; most formats have one. `think` are the
pairs of markers around reasoning, `hidden` markers that are neither text nor call, `pads`: one newline beside
such a marker belongs to it; `versions`: names of the first grammars, of which one may be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from sidestream.dialects.block import Block, Options
from sidestream.dialects.inert import Escape
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["Format", "Grammatical"]


class Grammatical(Protocol):
    """A grammar, as the reader needs it."""

    @property
    def sure(self) -> bool:
        """True if its openers never stand in prose."""
        ...

    @property
    def place(self) -> Literal["", "line", "start"]:
        """Where its openers count: anywhere, at a line's start, at the message's."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """What untrusted text must not hold."""
        ...

    @property
    def enders(self) -> tuple[str, ...]:
        """What may close a call or its block, as literal text."""
        ...

    def openers(self, specs: Mapping[str, ToolSpec], /) -> Sequence[str]:
        """The literal texts at which a block may begin."""
        ...

    def claims(self, text: str, position: int, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """True if a block begins at an opener's place, None if it may yet, False if none does."""
        ...

    def open(self, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options, /) -> Block:
        """A reader for the block that begins at an opener."""
        ...

    def signed(self, nonce: str, /) -> Grammatical | None:
        """The same with a nonce that every block must have; None if it has no place for one."""
        ...

    def wire(self, name: str, call_id: str, /) -> str:
        """The id that a call is written with."""
        ...

    def write(self, call: ToolCall, escape: Escape, /) -> str:
        """The call as text, which reads back as the same call."""
        ...


class Format:
    """A text format, ready to read. The first of its grammars writes."""

    def __init__(
        self,
        name: str,
        *grammars: Grammatical,
        think: Sequence[tuple[str, str]] = (),
        hidden: Sequence[str] = (),
        pads: bool = False,
        versions: Sequence[str] = (),
    ) -> None:
        self.name, self.grammars = name, grammars
        self._versions = tuple(versions)
        self.think, self.hidden, self.pads = tuple(think), tuple(hidden), pads
        self.markers = tuple(dict.fromkeys(marker for grammar in grammars for marker in grammar.markers))

    def __repr__(self) -> str:
        return f"<format {self.name}>"

    def version(self, name: str) -> Format:
        """The same, but the grammar of this version writes; itself if it has no such version."""
        if name not in self._versions:
            return self
        at = self._versions.index(name)
        order = [self.grammars[at], *self.grammars[:at], *self.grammars[at + 1 :]]
        return Format(self.name, *order, think=self.think, hidden=self.hidden, pads=self.pads)

    def signed(self, nonce: str) -> Format | None:
        """The same with a nonce that every block must have; None if it has no place for one."""
        grammars = [grammar.signed(nonce) for grammar in self.grammars]
        found = [grammar for grammar in grammars if grammar is not None]
        if len(found) < len(grammars):
            return None
        return Format(self.name, *found, think=self.think, hidden=self.hidden, pads=self.pads)

    def wire(self, name: str, call_id: str) -> str:
        """The id that a call of this name is written with."""
        return self.grammars[0].wire(name, call_id)

    def write(self, call: ToolCall, escape: Escape) -> str:
        """The call as text."""
        return self.grammars[0].write(call, escape)
