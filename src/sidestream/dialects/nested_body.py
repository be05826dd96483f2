"""Elements in elements, every tag behind a prefix: `]<]minimax[>[<tags>]<]minimax[>[<item>x…`. MiniMax M3's.

A tag without the prefix is data, so nothing needs escaping. An element of `item`s is a list, one of other elements
an object, any other a text typed by its schema. Promises: a call is whole at its own closing tag; tags that do not
match, or text between elements, are `malformed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sidestream.dialects.body import BLANKS, Body, Head, Read, UnreadableError
from sidestream.dialects.inert import Escape
from sidestream.dialects.scan import Markers
from sidestream.dialects.values import decode_entities, dumps, typed_by
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["Nested"]

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]{0,127})>")
_TAG_BEGUN = re.compile(r"(?:<(?:/?(?:[A-Za-z_][\w.:-]{0,127})?)?)?\Z")
_DEEPEST = 32


class Nested(msgspec.Struct, frozen=True):
    """Elements up to and with the closing tag of `ends`; `prefix` stands before every tag, `item` is an element of
    a list."""

    prefix: str
    ends: str
    item: str = "item"
    lists: bool = False
    why: str = "malformed"

    @property
    def waits(self) -> tuple[str, ...]:
        """What stands before every tag."""
        return (self.prefix,)

    def read(self, head: Head, /) -> Body:
        """A machine for the elements that begin here."""
        return _Elements(self, head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """Another tag must follow."""
        found = BLANKS.match(text, position)
        start = found.end() if found else position
        if text.startswith(self.prefix, start):
            return True
        return None if self.prefix.startswith(text[start:]) else False

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The elements and the closing tag."""
        elements = [self._element(key, value, escape) for key, value in call.args.items()]
        return "\n".join([*elements, f"{self.prefix}</{self.ends}>"])

    def _element(self, key: str, value: Any, escape: Escape) -> str:
        match value:
            case dict() if value and self.item not in value:
                inside = "".join(self._element(name, item, escape) for name, item in value.items())
            case list() if value:
                inside = "".join(self._element(self.item, item, escape) for item in value)
            case str():
                inside = escape(value, (self.prefix,))
            case _:
                inside = dumps(value)
        return f"{self.prefix}<{key}>{inside}{self.prefix}</{key}>"


class _Elements:
    """The elements of one call: each tag and where it stands."""

    def __init__(self, row: Nested, head: Head) -> None:
        self.name, self.whole, self.broken = head.name, False, ""
        self._row, self._head = row, head
        self._markers = Markers((row.prefix,))
        self._tags: list[tuple[bool, str, int, int]] = []  # closes, name, from, to
        self.size = 0

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        return self._markers.begins

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        start, base = position, self.size - position
        while not self.whole:
            found = self._markers.find(text, position)
            if found is None:
                position = self._markers.held(text, position)
                break
            tag = _TAG.match(text, found.end())
            if tag is None and _TAG_BEGUN.match(text, found.end()):
                position = found.start()
                break
            if tag is None:
                position = found.end()
                continue
            position = tag.end()
            self._tags.append((bool(tag[1]), tag[2], found.start() + base, position + base))
            self.whole = bool(tag[1]) and tag[2] == self._row.ends
        self.size += position - start
        return position

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        self._next, self._text = 0, text
        args: dict[str, Any] = {}
        at = 0
        properties = self._head.spec.properties if self._head.spec else {}
        while True:
            closes, name, start, end = self._tags[self._next]
            if text[at:start].strip():
                raise UnreadableError("malformed")
            self._next += 1
            if closes:
                if name != self._row.ends:
                    raise UnreadableError("malformed")
                return Read(self.name, self._head.wire, args)
            if name in args:
                raise UnreadableError("malformed")
            args[name], at = self._element(name, end, properties.get(name), 0)

    def _element(self, name: str, at: int, schema: Any, depth: int) -> tuple[Any, int]:
        """The value of the element whose opening tag ends at `at`, and where its closing tag ends."""
        if depth > _DEEPEST:
            raise UnreadableError("malformed")
        begin, place = at, at
        children: list[tuple[str, Any]] = []
        while self._next < len(self._tags):
            closes, tag, start, end = self._tags[self._next]
            self._next += 1
            if closes:
                if tag != name:
                    raise UnreadableError("malformed")
                if children and self._text[place:start].strip():
                    raise UnreadableError("malformed")
                return self._value(children, self._text[begin:start], schema), end
            if self._text[place:start].strip():
                raise UnreadableError("malformed")
            value, place = self._element(tag, end, _inside(schema, tag, self._row.item), depth + 1)
            children.append((tag, value))
        raise UnreadableError("malformed")

    def _value(self, children: list[tuple[str, Any]], text: str, schema: Any) -> Any:
        if not children:
            whole = self._head.spec.schema if self._head.spec else {}
            if not text.strip():  # an element without any in it
                text = next((empty for empty in ("[]", "{}") if typed_by(empty, schema, whole) != empty), text)
            text = decode_entities(text) if self._head.options.entities == "decode" else text
            return typed_by(text, schema, whole)
        if all(tag == self._row.item for tag, _ in children):
            return [value for _, value in children]
        if len({tag for tag, _ in children}) != len(children):
            raise UnreadableError("malformed")
        return dict(children)

    def rescued(self, text: str) -> bool:
        """Its closing tag is its only end; see Body.rescued."""
        return False


def _inside(schema: Any, tag: str, item: str) -> Any:
    """The schema of a child element."""
    if not isinstance(schema, Mapping):
        return None
    if tag == item and "items" in schema:
        return schema["items"]
    return (schema.get("properties") or {}).get(tag)
