"""Two searches that every reader is built on, both linear however the text is cut.

`Markers.find` finds the first of several literal markers, `Markers.held` says how much of a text's end
may still become one: the only text a reader may hold back. `Balance` finds the character at which a
JSON root is whole, brackets inside strings not counted. Neither looks at single characters, neither
looks at the same text twice, and neither decides what a find means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["Balance", "Markers"]


class Markers:
    """A set of literal markers to look for in a stream; longer ones win over their own beginnings."""

    __slots__ = ("_find", "_held", "_inner", "_reach", "begins", "first")

    def __init__(self, markers: Iterable[str]) -> None:
        ordered = sorted(set(markers), key=lambda marker: (-len(marker), marker))
        if not ordered or not all(ordered):
            raise ValueError("markers must be one or more texts, none of them empty")
        beginnings = {marker[:size] for marker in ordered for size in range(1, len(marker))}
        longest_first = sorted(beginnings, key=lambda text: (-len(text), text))
        self.first = frozenset(marker[0] for marker in ordered)
        self.begins = re.compile(f"[{re.escape(''.join(sorted(self.first)))}]")
        self._find = re.compile("|".join(map(re.escape, ordered)))
        self._held = re.compile(f"(?:{'|'.join(map(re.escape, longest_first))})\\Z") if beginnings else None
        self._reach = len(ordered[0]) - 1
        self._inner = frozenset(
            marker for marker in ordered if any(marker in other[:-1] for other in ordered if other != marker)
        )

    def find(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first marker at or after `start`; None also where a longer one may yet stand around it: `held` then
        says from where on."""
        found = self._find.search(text, start)
        if found is not None and found[0] in self._inner and self.held(text, start) <= found.start():
            return None
        return found

    def held(self, text: str, start: int = 0) -> int:
        """Where the longest end of `text` (not before `start`) that begins a marker starts; `len(text)`
        if there is none. It looks at the last `longest marker - 1` characters only."""
        if self._held is None:
            return len(text)
        found = self._held.search(text, max(start, len(text) - self._reach))
        return found.start() if found else len(text)


_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\\n]')
_OUTSIDE_LAX = re.compile(r"[^\s\w:,.+-]")  # all but what a JSON root may hold outside strings and brackets
_INSIDE_LAX = re.compile(r'["\\]')
_ROOT = re.compile(r"\S")


class Balance:
    """Finds where a JSON root that is an object, a list or a string ends.

    Any other root (`null`, a number) has no end of its own: `feed` then always says `-1`. `broken` is set, and
    the index behind it given, at a newline in a string (which JSON has no room for) and at the character
    `stop` outside one. With `lax`, newlines in strings are taken, and any character that no JSON has outside
    strings breaks it.
    """

    __slots__ = ("_depth", "_escaped", "_inside", "_lax", "_outside", "_stop", "_string", "broken", "root", "whole")

    def __init__(self, stop: str = "", *, lax: bool = False) -> None:
        self._outside = re.compile(rf'["{{}}\[\]{re.escape(stop)}]') if stop else _OUTSIDE
        self._inside, self._lax = _INSIDE, lax
        if lax:
            self._outside, self._inside = _OUTSIDE_LAX, _INSIDE_LAX
        self._stop = stop
        self.broken = False
        self.root = ""  # the root's first character, once it was seen
        self.whole = False
        self._depth = 0
        self._string = False
        self._escaped = False

    @property
    def plain(self) -> re.Pattern[str] | None:
        """Text in which this finds nothing goes by without any effect; None: all text has to be fed."""
        if self.whole or self._escaped or not self.root or self.root not in '{["':
            return None
        return self._inside if self._string else self._outside

    def feed(self, text: str, start: int = 0) -> int:
        """The index just after the root's last character, or -1 while it is not whole."""
        position = start
        if not self.root:
            found = _ROOT.search(text, position)
            if found is None:
                return -1
            self.root, position = found[0], found.start()
        if self.root not in '{["':
            return -1
        if self._escaped:
            self._escaped, position = False, position + 1
        while True:
            found = (self._inside if self._string else self._outside).search(text, position)
            if found is None:
                return -1
            position = found.end()
            mark = found[0]
            if mark == "\\":
                if position == len(text):
                    self._escaped = True
                    return -1
                position += 1
            elif mark == '"':
                self._string = not self._string
                if not self._string and not self._depth:
                    self.whole = True
                    return position
            elif mark == "\n" or mark == self._stop:
                self.broken = True
                return position - (mark == self._stop)
            elif mark in "{[":
                self._depth += 1
            elif mark not in "}]":
                self.broken = True
                return position - 1
            else:
                self._depth -= 1
                if not self._depth:
                    self.whole = True
                    return position
