"""Blocks with wrappers, heads, bodies and tails: one machine for most formats; a format is a row.

A block is `wrapper call between call … wrapper's closer`, a call `head body tail`, and each of these but the body
may be missing. Promises: a call is closed at its body's last certain character; what follows it (its tail, what
stands between, the wrapper's closer) is `Hidden`; a block that begins and cannot be read is rejected at the
first character that cannot be right; a call that is longer than it may be is rejected at that character and the
rest of it read by the same rules, and shown. What the body is, is a `BodyRow`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from sidestream.dialects.body import BodyRow
from sidestream.dialects.channels import Header
from sidestream.dialects.inert import Escape
from sidestream.dialects.pattern import MORE, Found, Pattern, first_of, lenient, pattern
from sidestream.dialects.scan import Markers
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["LONGEST_GAP", "Section", "Shape", "gap", "named"]

LONGEST_GAP = 64  # blanks and separators before a call or a closer that may be held back
_NAME = re.compile(r"\{name(?::[^{}]*)?\}")
_GAP = re.compile(rf"\s{{0,{LONGEST_GAP}}}")


class Section(msgspec.Struct, frozen=True):
    """A row. Texts are templates of `pattern.py`; `wrappers` are pairs of opener and closer (`""`: it has none).

    `single`: the wrapper is that of one call, so an empty one is a broken call. `bare`: heads may stand without a
    wrapper. `sure`: an opener never stands in prose, so what follows it and is no call is rejected, not shown as
    text. `known`: only calls of tools on offer count. `named`: an opener is the head with a tool's name in it.
    `late`: calls count only once the wrapper is closed, and what must not follow it. `form`: how a call is
    written; `{body}`, `{name}` and `{id}` stand for its parts.
    """

    body: BodyRow
    form: str
    wrappers: tuple[tuple[str | Header, str], ...] = ()
    heads: tuple[str | Header, ...] = ()
    tails: tuple[str, ...] = ()
    between: str = ""
    single: bool = False
    bare: bool = False
    sure: bool = True
    known: bool = False
    named: bool = False
    late: str = ""
    place: Literal["", "line", "start"] = ""
    discards: bool = False  # what follows a tail is made up by the model
    numbered: bool = False  # the head's id holds the name
    nonce: str = ""  # the attribute that only our own text can ask for

    @property
    def signable(self) -> bool:
        """True if its heads have a place for a nonce."""
        return '="{name}"' in self.form and all(isinstance(head, str) and "{@}" in head for head in self.heads)

    def wire(self, name: str, call_id: str) -> str:
        """The id that a call is written with, and its result told with; Kimi's hold the name and a number."""
        return f"functions.{name}:{call_id.replace('.', '0') or 0}" if self.numbered else call_id

    def write(self, call: ToolCall, escape: Escape) -> str:
        """The call as text; a closer in a value is made inert, which reading undoes."""
        guard = [
            pattern(text).prefix or text for text in (*self.tails, *(closer for _, closer in self.wrappers)) if text
        ]
        body = self.body.write(call, escape, guard)
        wire = self.wire(call.name, call.id)
        name = f'{call.name}" nonce="{self.nonce}' if self.nonce else call.name
        parts = {"{body}": body, "{name}": name, "{id}": wire}
        return re.sub(r"\{(?:body|name|id)\}", lambda found: parts[found[0]], self.form)


def _ready(template: str | Header) -> Pattern | Header:
    return pattern(lenient(template)) if isinstance(template, str) else template


class Shape:
    """A row made ready to read: what the reader asks when it finds one of its openers."""

    def __init__(self, row: Section) -> None:
        self.row = row
        self.sure = row.sure
        self.place: Literal["", "line", "start"] = row.place
        self.wrappers = [(_ready(opener), closer) for opener, closer in row.wrappers]
        self.heads = [_ready(head) for head in row.heads]
        self.closers = [pattern(lenient(closer)) for _, closer in row.wrappers if closer]
        self.tails = [pattern(lenient(tail)) for tail in row.tails]
        self.gap = re.compile(rf"[\s{',' if row.body.lists else ''}{re.escape(row.between)}]{{0,{LONGEST_GAP}}}")
        self.closing = tuple(dict.fromkeys([*row.tails, *(closer for _, closer in row.wrappers if closer)]))
        self.ends = Markers(pattern(text).prefix for text in self.closing) if self.closing else Markers(("\0",))
        self.enders = (*(pattern(text).prefix for text in self.closing), *row.body.waits)
        self.markers = self._markers()

    def openers(self, specs: Mapping[str, ToolSpec]) -> tuple[str, ...]:
        """The literal texts at which a block may begin."""
        if self.row.named:
            return tuple(_NAME.sub(name.replace("\\", ""), str(head)) for head in self.row.heads for name in specs)
        heads = self.heads if self.row.bare or not self.wrappers else []
        found = [item.prefix for item in (*(opener for opener, _ in self.wrappers), *heads)]
        return tuple(dict.fromkeys(found)) or ("{",)

    def _markers(self) -> tuple[str, ...]:
        """What untrusted text must not hold, so that no block can begin in it."""
        if self.row.named:
            return tuple(f"{head.prefix}{letter}" for head in self.heads for letter in _LETTERS)
        if self.row.known and self.wrappers:
            return tuple(f"{opener.prefix}{more}" for opener, _ in self.wrappers for more in (*_LETTERS, *_MORE))
        if self.row.known:
            return tuple(f"{{{more}" for more in _MORE)
        return self.openers({})

    def head(self, text: str, start: int) -> Found | None:
        """The head at `start`; only one with the nonce counts, where there is one."""
        found = first_of(self.heads, text, start)
        if found is None or found is MORE or found.values.get("@nonce", "") == self.row.nonce or not self.row.nonce:
            return found
        return None

    def claims(self, text: str, position: int, specs: Mapping[str, ToolSpec]) -> bool | None:
        """True if a block of this row begins at an opener's place, None if it may yet, False if none does."""
        found = first_of([opener for opener, _ in self.wrappers], text, position)
        if found is MORE:
            return None
        start = position if found is None else found.end
        if found is None and self.wrappers and not self.row.bare:
            return False
        return self._call_at(text, start, specs, inside=found is not None)

    def _call_at(self, text: str, start: int, specs: Mapping[str, ToolSpec], *, inside: bool) -> bool | None:
        if inside:
            start = gap(text, start)
            if start < len(text) and text[start] == "[" and self.row.body.lists:
                start = gap(text, start + 1)
            if start == len(text):
                return None
        name = ""
        if self.heads:
            found = self.head(text, start)
            if found is None or found is MORE:
                return None if found is MORE else False
            name, start = named(found), found.end
            if self.row.known and name not in specs:
                return False
            if any(isinstance(head, Header) for head in self.heads):
                return True  # a header says for itself that a call follows
        return self.row.body.claims(text, start, name, specs)

    def write(self, call: ToolCall, escape: Escape) -> str:
        """The call as text."""
        return self.row.write(call, escape)

    def wire(self, name: str, call_id: str) -> str:
        """The id that stands in that text."""
        return self.row.wire(name, call_id)


def named(found: Found) -> str:
    """The name that a head gave, as a word of its own or as an attribute."""
    return found.values.get("name") or found.values.get("@name") or found.values.get("@tool") or ""


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_MORE = ('"', "{", " ", "\n", "\t")


def gap(text: str, position: int) -> int:
    found = _GAP.match(text, position)
    return found.end() if found else position
