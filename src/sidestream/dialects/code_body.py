"""The code-like families: calls as Python writes them, and Gemma's `{key:value}`.

`PythonArgs` is what stands between the parentheses of `name(key="value")`: keyword arguments whose values are
literals; they are read, never evaluated. `GemmaArgs` is `{key:<|"|>text<|"|>,n:1}`, whole only at its closer, since
a delimiter inside a text looks like its end. Promises: brackets and closers inside texts are data; an argument
without a name, or a value that is no literal, is `malformed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from sidestream.dialects.body import BLANKS, Body, Head, Read, UnreadableError
from sidestream.dialects.inert import Escape
from sidestream.dialects.literals import Quoted, python
from sidestream.dialects.scan import Markers
from sidestream.dialects.values import each_text, typed
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["GemmaArgs", "PythonArgs"]

_OUTSIDE = re.compile(r"[\"'()\[\]{},]")
_INSIDE = {quote: re.compile(rf"[\\{quote}]") for quote in "\"'"}
_KEY = re.compile(r"\s*([^\W\d]\w*)\s*=")


class PythonArgs(msgspec.Struct, frozen=True):
    """The arguments behind `name(`, up to and with the `)`."""

    lists: bool = False
    why: str = "malformed"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the arguments that begin here."""
        return _Arguments(head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """Whatever follows `name(` is judged when it is whole."""
        return True

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The arguments, and the `)`."""
        values = each_text(call.args, escape)
        return ", ".join(f"{key}={_literal(value)}" for key, value in values.items()) + ")"


def _literal(value: object) -> str:
    """As Python writes it; a `<` as its escape, so that no marker can stand in it."""
    return repr(value).replace("<", "\\x3c")


class _Arguments:
    """Keyword arguments while they are read: where each ends."""

    def __init__(self, head: Head) -> None:
        self.name, self.whole, self.broken = head.name, False, ""
        self._head = head
        self.size = 0
        self._depth = 0
        self._quote = ""  # of the text we are in: one character, or three
        self._escaped = False
        self._commas: list[int] = []

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        if self._escaped:
            return None
        return _INSIDE[self._quote[0]] if self._quote else _OUTSIDE

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        start, base = position, self.size - position
        if self._escaped and position < len(text):
            self._escaped, position = False, position + 1
        while not self.whole:
            found = (_INSIDE[self._quote[0]] if self._quote else _OUTSIDE).search(text, position)
            if found is None:
                position = len(text)
                break
            after = self._mark(found[0], text, found.start(), base)
            if after < 0:
                position = found.start()
                break
            position = after
        self.size += position - start
        return position

    def _mark(self, mark: str, text: str, position: int, base: int) -> int:
        if mark == "\\":
            self._escaped = position + 1 == len(text)
            return min(position + 2, len(text))
        if mark in "\"'":
            return self._quoted(mark, text, position)
        if mark == ",":
            if not self._depth:
                self._commas.append(position + base)
        elif mark in "([{":
            self._depth += 1
        elif self._depth:
            self._depth -= 1
        elif mark == ")":
            self.whole = True
        else:
            self.broken = "malformed"
            self.whole = True
            return position
        return position + 1

    def _quoted(self, mark: str, text: str, position: int) -> int:
        """A quote opens a text, or closes the one that is open; three in a row are one quote."""
        three = mark * 3
        if self._quote:
            if len(self._quote) == 1:
                self._quote = ""
                return position + 1
            if text.startswith(three, position):
                self._quote = ""
                return position + 3
            return -1 if three.startswith(text[position : position + 3]) else position + 1
        if text.startswith(three, position):
            self._quote = three
            return position + 3
        if three.startswith(text[position : position + 3]):
            return -1  # it may yet be the third
        if text[position + 1] == mark:
            return position + 2
        self._quote = mark
        return position + 1

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        inside, args = text[:-1], {}
        for start, end in zip([0, *(comma + 1 for comma in self._commas)], [*self._commas, len(inside)], strict=True):
            piece = inside[start:end]
            if not piece.strip() and end == len(inside):
                break  # a comma behind the last, or no arguments at all
            key = _KEY.match(piece)
            if key is None or key[1] in args:
                raise UnreadableError("malformed")
            try:
                args[key[1]] = python(piece[key.end() :])
            except ValueError:
                raise UnreadableError("malformed") from None
        return Read(self.name, self._head.wire, args)

    def rescued(self, text: str) -> bool:
        """Its end is its last character; see Body.rescued."""
        return False


class GemmaArgs(msgspec.Struct, frozen=True):
    """The object behind `call:name`, with its closer. `delimiter` stands on either side of a text."""

    delimiter: str
    closer: str
    texts: bool = False  # all values are texts on the wire: their types are the schema's
    lists: bool = False
    why: str = "malformed"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the object that begins here."""
        return _Object(self, head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """An object must follow."""
        found = BLANKS.match(text, position)
        start = found.end() if found else position
        return None if start == len(text) else text[start] == "{"

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The object and its closer."""
        return self._written(call.args, escape) + self.closer

    def _written(self, value: object, escape: Escape) -> str:
        match value:
            case str():
                return self.delimiter + escape(value, (self.delimiter,)) + self.delimiter
            case dict():
                pairs = [f"{self._name(key, escape)}:{self._written(item, escape)}" for key, item in value.items()]
                return "{" + ",".join(pairs) + "}"
            case list():
                return "[" + ",".join(self._written(item, escape) for item in value) + "]"
            case None | bool():
                return {None: "null", True: "true", False: "false"}[value]
            case _:
                return repr(value)

    def _name(self, key: str, escape: Escape) -> str:
        return key if re.fullmatch(r"\w[\w -]*\w|\w", key) else self._written(key, escape)


@cache
def _literals(delimiter: str) -> Quoted:
    return Quoted(delimiter)


class _Object:
    """One object while it is read: in a text, or outside."""

    def __init__(self, row: GemmaArgs, head: Head) -> None:
        self.name, self.whole, self.broken = head.name, False, ""
        self._row, self._head = row, head
        self.size = 0
        self._inside = False
        self._outer = Markers((row.delimiter, row.closer))
        self._inner = Markers((row.delimiter,))
        self._ending = re.compile(r"\s{0,16}([,:}\]])?")

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        return (self._inner if self._inside else self._outer).begins

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        while not self.whole:
            markers = self._inner if self._inside else self._outer
            found = markers.find(text, position)
            if found is None:
                return markers.held(text, position)
            if found[0] == self._row.closer:
                self.whole = True
                return found.end()
            if self._inside:
                after = self._ending.match(text, found.end())
                ends = after is not None and after[1] is not None
                if after is not None and not ends and after.end() == len(text):
                    return found.start()  # a delimiter ends a text only before a comma or a bracket
                self._inside = not ends
            else:
                self._inside = True
            position = found.end()
        return position

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        try:
            values = _literals(self._row.delimiter).pairs(text.removesuffix(self._row.closer))
        except ValueError:
            raise UnreadableError("malformed") from None
        spec = self._head.spec
        if self._row.texts:
            texts = {key: value for key, value in values.items() if isinstance(value, str)}
            values |= {key: typed(text, key, spec) for key, text in texts.items()}
        return Read(self.name, self._head.wire, values)

    def rescued(self, text: str) -> bool:
        """True if only the closer is missing; see Body.rescued."""
        try:
            _literals(self._row.delimiter).pairs(text)
        except ValueError:
            return False
        return True
