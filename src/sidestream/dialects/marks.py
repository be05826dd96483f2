"""All that a reader looks for in live text, for a set of formats and tools: each marker and what it means there.

Made once for each set and kept, since a run makes one reader a round. Pure data; what to do at a marker is
`reader.py`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto

from sidestream.dialects.format import Format, Grammatical
from sidestream.dialects.inert import JOINER
from sidestream.dialects.quotes import Quotes
from sidestream.dialects.scan import Markers
from sidestream.messages import ToolSpec

__all__ = ["Marks", "Role", "marks_of", "patterns_of"]

THINK = ("<think>", "</think>")
_KEPT = 64  # sets of formats and tools


class Role(Enum):
    """What a marker is."""

    QUOTE = auto()  # code or a quotation may begin
    THINK = auto()
    HIDDEN = auto()
    OPENER = auto()


class Marks:
    """The markers of `formats` with the tools `specs`. `quotes`: code and quotations are told apart."""

    def __init__(self, formats: tuple[Format, ...], specs: Mapping[str, ToolSpec], *, quotes: bool) -> None:
        self.openers: dict[str, list[Grammatical]] = {}
        for item in formats:
            for grammar in item.grammars:
                for opener in grammar.openers(specs):
                    self.openers.setdefault(opener, []).append(grammar)
        self.pads = any(item.pads for item in formats)
        self.closing: dict[str, tuple[str, ...]] = {}  # a marker that begins reasoning → those that end it
        for opener, closer in dict.fromkeys((THINK, *(pair for item in formats for pair in item.think))):
            self.closing[opener] = (*self.closing.get(opener, ()), *self._padded(closer))
        self.closers = tuple(dict.fromkeys(closer for closers in self.closing.values() for closer in closers))
        hidden = [self._padded(marker) for item in formats for marker in item.hidden]
        self.roles: dict[str, Role] = {
            **(dict.fromkeys(Quotes.MARKERS, Role.QUOTE) if quotes else {}),
            **{marker: Role.HIDDEN for markers in hidden for marker in markers},
            **dict.fromkeys(self.closing, Role.THINK),
            **dict.fromkeys(self.openers, Role.OPENER),
        }
        self._markers = Markers(self.roles)
        self.firsts = frozenset(marker[0] for item in formats for marker in item.markers)
        self.joined = re.compile(f"(?<=[{re.escape(''.join(self.firsts))}]){JOINER}") if self.firsts else None
        begun = "".join(sorted({opener[0] for opener in self.openers}))
        self.opening = re.compile(f"[{re.escape(begun)}]" if begun else "(?!)")
        self.placed = any(grammar.place for found in self.openers.values() for grammar in found)
        self.special = re.compile(f"[{re.escape(''.join(sorted(self._markers.first)))}{JOINER}]")
        self.find, self.held = self._markers.find, self._markers.held

    def _padded(self, marker: str) -> tuple[str, ...]:
        return (f"\n{marker}", marker) if self.pads else (marker,)

    def find_at(self, text: str) -> str:
        """The marker that `text` begins with, or `""`."""
        found = self._markers.find(text)
        return found[0] if found is not None and found.start() == 0 else ""


_made: dict[object, Marks] = {}


def marks_of(
    formats: tuple[Format, ...], names: tuple[str, ...], specs: Mapping[str, ToolSpec], *, quotes: bool
) -> Marks:
    """The marks of these formats with tools of these names."""
    key = (formats, names, quotes)
    if key not in _made:
        if len(_made) >= _KEPT:
            _made.clear()
        _made[key] = Marks(formats, specs, quotes=quotes)
    return _made[key]


def patterns_of(formats: tuple[Format, ...], specs: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """All literal texts that a reader of these may wait for: openers and other markers, and what closes a call."""
    marks = marks_of(formats, tuple(specs), specs, quotes=True)
    enders = [ender for item in formats for grammar in item.grammars for ender in grammar.enders]
    return tuple(dict.fromkeys((*marks.roles, *marks.closers, *enders)))
