"""Tagged arguments: `<parameter=city>Paris</parameter>` … `</function>`. One machine; a format is a row.

Values are raw text: nothing is escaped, so any closer may be data. The rule (docs/reference/formats.md): a closing
tag ends a value only if blanks and another tag of the call follow; a new argument's tag at a line's start ends
it too. Promises: a call is whole at its own closing tag while no value is open; tags that are no argument make
it `malformed`, never a call without arguments, and what is left of it is skipped up to its closing tag; at a
natural end of the stream missing closers may be inferred, a missing value never.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import Any

import msgspec

from sidestream.dialects.body import BLANKS, Body, Head, Read
from sidestream.dialects.inert import Escape
from sidestream.dialects.pattern import MORE, Found, Pattern, first_of, lenient, pattern
from sidestream.dialects.scan import Markers
from sidestream.dialects.values import decode_entities, dumps, loads, typed
from sidestream.messages import ToolCall, ToolSpec, clean

__all__ = ["Tagged"]

_CDATA = ("<![CDATA[", "]]>")
_KINDS = ("boolean", "number", "integer", "array", "object", "null")


class Tagged(msgspec.Struct, frozen=True):
    """A row. `opens` are an argument's opening tags, `closes` its closing one and `ends` the call's, as templates
    in which `{key}` and `{name}` stand for what was captured; `strip`: one newline on either side of a value is
    not part of it; `wire`: the attribute that gives a value's type; `cdata`: values may hold it; `known`: only
    the tool's own arguments are tags; `form`: how an argument is written."""

    opens: tuple[str, ...]
    closes: str
    ends: str
    form: str
    strip: bool = False
    wire: str = ""
    attributes_escaped: bool = False
    cdata: bool = False
    known: bool = False
    glue: str = ""
    lists: bool = False
    why: str = "malformed"

    @property
    def waits(self) -> tuple[str, ...]:
        """The closing tags."""
        return self.ends.partition("{")[0], self.closes.partition("{")[0]

    def read(self, head: Head, /) -> Body:
        """A machine for the arguments that begin here."""
        return _Arguments(self, _tags(self, head), head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """An argument or the call's end must follow."""
        start = _skip(text, position)
        tags = _Tags(self, name, (), specs.get(name))
        if start == len(text):
            return None
        found = tags.ahead(text, start)
        return None if found is MORE else found is not None

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The arguments and the call's closing tag."""
        inner = [pattern(text).prefix for text in (*self.opens, self.ends.replace("{name}", call.name))]
        taboo = [*inner, *guard, *(_CDATA[:1] if self.cdata else ())]
        out = [self._written(key, value, escape, taboo) for key, value in call.args.items()]
        return self.glue.join([*out, self.ends.replace("{name}", call.name)])

    def _written(self, key: str, value: Any, escape: Escape, taboo: Sequence[str]) -> str:
        text = value if isinstance(value, str) else dumps(value)
        parts = {
            "{key}": escape(key),
            "{value}": escape(text, [self.closes.replace("{key}", key), *taboo]),
            "{string}": "true" if isinstance(value, str) else "false",
            "{type}": _kind(value),
        }
        return re.sub(r"\{(?:key|value|string|type)\}", lambda found: parts[found[0]], self.form)


def _kind(value: Any) -> str:
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case list():
            return "array"
        case None:
            return "null"
        case _:
            return "object"


def _skip(text: str, position: int) -> int:
    found = BLANKS.match(text, position)
    return found.end() if found else position


class _Tags:
    """The tags of one call."""

    def __init__(self, row: Tagged, name: str, closers: Sequence[str], spec: ToolSpec | None) -> None:
        self.opens = [pattern(lenient(item)) for item in row.opens]
        self.end = pattern(lenient(row.ends.replace("{name}", name)))
        self.closers = [pattern(lenient(item)) for item in closers if item]
        self._row, self._spec = row, spec

    @cached_property
    def structural(self) -> list[Pattern]:
        """What shows that a closing tag before it was one."""
        return [self.end, *self.closers, *self.opens]

    def argument(self, text: str, position: int) -> Found | None:
        """An argument's opening tag there."""
        found = first_of(self.opens, text, position)
        if found is None or found is MORE or not self._row.known or self._spec is None:
            return found
        return found if found.values["key"] in self._spec.properties else None

    def ahead(self, text: str, position: int) -> Found | None:
        """A tag of the call there, whichever."""
        found = first_of([self.end, *self.closers], text, position)
        return self.argument(text, position) if found is None else found

    def close(self, key: str) -> Pattern:
        """The closing tag of an argument."""
        return pattern(lenient(self._row.closes.replace("{key}", key)))

    def stops(self, key: str) -> Markers:
        """What may end a value, or must not."""
        close = self.close(key).prefix
        lines = [f"\n{item.prefix}" for item in self.opens if item.prefix not in ("<", "")]
        return _markers((close, *lines, *(_CDATA[:1] if self._row.cdata else ())))


_cached: dict[tuple[str, ...], Markers] = {}


def _markers(texts: tuple[str, ...]) -> Markers:
    if len(_cached) > 256:
        _cached.clear()
    if texts not in _cached:
        _cached[texts] = Markers(texts)
    return _cached[texts]


def _tags(row: Tagged, head: Head) -> _Tags:
    return _Tags(row, head.name, head.closers, head.spec)


class State(Enum):
    """Where in the arguments the stream is."""

    BETWEEN = auto()
    VALUE = auto()
    CDATA = auto()
    AFTER = auto()  # behind a closing tag that counts only if another tag follows
    SKIP = auto()


class _Arguments:
    """The arguments of one call: keys and the places of their values."""

    def __init__(self, row: Tagged, tags: _Tags, head: Head) -> None:
        self.name, self.whole, self.broken = head.name, False, ""
        self._row, self._tags, self._head = row, tags, head
        self._state = State.BETWEEN
        self.size = 0  # characters taken
        self._found: list[tuple[str, str, list[tuple[int, int, bool]]]] = []  # key, wire type, spans of the value
        self._key = self._wire = ""
        self._spans: list[tuple[int, int, bool]] = []  # of the open value: from, to, verbatim
        self._from = self._to = 0
        self._stops = self._markers = tags.stops("")
        self._ender = _markers((tags.end.prefix, *(item.prefix for item in tags.closers)))

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        return self._stops.begins if self._state is State.VALUE else None

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        start = position
        base = self.size - position  # an index of `text` plus this is a place in the call
        while position < len(text) and not self.whole:
            match self._state:
                case State.VALUE:
                    after = self._value(text, position, base)
                case State.BETWEEN:
                    after = self._between(text, position, base)
                case State.AFTER:
                    after = self._after(text, position, base)
                case State.CDATA:
                    after = self._cdata(text, position, base)
                case State.SKIP:
                    after = self._skip(text, position)
            if after < 0:
                break
            position = after
            if self.broken and self._state is not State.SKIP:
                self._state = State.SKIP
                break
        self.size += position - start
        return position

    def _between(self, text: str, position: int, base: int) -> int:
        start = _skip(text, position)
        if start > position or start == len(text):
            return start
        found = first_of([self._tags.end], text, start)
        if found is None:
            found = self._tags.argument(text, start)
            if found is not None and found is not MORE:
                return self._open_value(found, base)
        if found is None and (closed := first_of(self._tags.closers, text, start)) is not None:
            self.whole = closed is not MORE  # the wrapper's closer, which is not ours to take
            return -1 if closed is MORE else start
        if found is MORE:
            return -1
        if found is None:
            self.broken = "malformed"
            return start
        self.whole = True
        return found.end

    def _open_value(self, found: Found, base: int) -> int:
        values = found.values
        key = values.get("key") or values.get("@name") or values.get("@key") or ""
        self._wire = values.get("type") or (values.get(f"@{self._row.wire}", "") if self._row.wire else "")
        self._key = decode_entities(key) if self._row.attributes_escaped else key
        if not self._key or any(self._key == other for other, _, _ in self._found):
            self.broken = "malformed"
        self._stops = self._tags.stops(self._key)
        self._from, self._spans, self._state = found.end + base, [], State.VALUE
        return found.end

    def _value(self, text: str, position: int, base: int) -> int:
        found = self._stops.find(text, position)
        if found is None:
            end = self._stops.held(text, position)
            return end if end > position else -1
        if found[0] == _CDATA[0]:
            self._spans.append((self._from, found.start() + base, False))
            self._from, self._state = found.end() + base, State.CDATA
            return found.end()
        self._to = found.start() + base
        if found[0][0] == "\n":  # an argument's tag at a line's start
            opened = self._tags.argument(text, found.start() + 1)
            if opened is MORE:
                return found.start() if found.start() > position else -1
            if opened is None:
                return found.start() + 1
            self._close_value()
            return found.start() + 1
        closed = self._tags.close(self._key).at(text, found.start())
        if closed is MORE:
            return found.start() if found.start() > position else -1
        if closed is None:
            return found.end()
        self._state = State.AFTER
        return closed.end

    def _cdata(self, text: str, position: int, base: int) -> int:
        markers = _markers(_CDATA[1:])
        found = markers.find(text, position)
        if found is None:
            end = markers.held(text, position)
            return end if end > position else -1
        self._spans.append((self._from, found.start() + base, True))
        self._from, self._state = found.end() + base, State.VALUE
        return found.end()

    def _after(self, text: str, position: int, base: int) -> int:
        start = _skip(text, position)
        if start > position or start == len(text):
            return start
        found = self._tags.ahead(text, start)
        if found is MORE:
            return -1
        if found is None:
            self._state = State.VALUE
        else:
            self._close_value()
        return start

    def _close_value(self) -> None:
        self._spans.append((self._from, self._to, False))
        self._found.append((self._key, self._wire, self._spans))
        self._state = State.BETWEEN

    def _skip(self, text: str, position: int) -> int:
        """It is no call; on to its closing tag, or its wrapper's."""
        found = self._ender.find(text, position)
        if found is None:
            end = self._ender.held(text, position)
            return end if end > position else -1
        closed = self._tags.end.at(text, found.start())
        if closed is MORE:
            return found.start() if found.start() > position else -1
        self.whole = True
        return found.start() if closed is None else closed.end

    # ---- what it says

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        args = {key: self._typed(key, wire, self._text(spans, text)) for key, wire, spans in self._found}
        return Read(self.name, self._head.wire, args)

    def _text(self, spans: list[tuple[int, int, bool]], text: str) -> str:
        parts = [text[start:end] for start, end, _ in spans]
        if len(parts) > 1 and not parts[0].strip() and not parts[-1].strip():
            return "".join(parts[1:-1])  # CDATA and nothing but blanks around it
        decodes = self._head.options.entities == "decode"
        value = "".join(
            decode_entities(part) if decodes and not verbatim else part
            for part, (_, _, verbatim) in zip(parts, spans, strict=True)
        )
        if self._row.strip:
            value = value.removeprefix("\n").removesuffix("\n")
        return value

    def _typed(self, key: str, wire: str, text: str) -> Any:
        if wire in ("true", "string"):
            return text
        if wire == "false" or wire in _KINDS:
            try:
                value = loads(text.strip(), lax=True)
            except ValueError:
                return text
            return clean(value) if isinstance(value, str) else value
        return typed(text, key, self._head.spec)

    def rescued(self, text: str) -> bool:
        """True if nothing but closers is missing; see Body.rescued."""
        match self._state:
            case State.BETWEEN:
                return bool(self._found) and not text[self.size :].strip()
            case State.AFTER if self._only_closers(text[self.size :].strip()):
                self._close_value()
                return True
            case State.VALUE:
                return self._rescued_value(text)
            case _:
                return False

    def _only_closers(self, rest: str) -> bool:
        """True if what came behind the last closing tag begins no further argument, which would then be missing."""
        closers = [self._tags.end, *self._tags.closers]
        return not rest or (
            any(item.prefix.startswith(rest) for item in closers)
            and not any(item.prefix.startswith(rest) for item in self._tags.opens)
        )

    def _rescued_value(self, text: str) -> bool:
        """The last value runs into closers of what holds it, and into nothing else: its end is certain."""
        closers = [self._tags.close(self._key), self._tags.end, *self._tags.closers]
        first = min((at for item in closers if (at := text.find(item.prefix, self._from)) >= 0), default=-1)
        if first < 0:
            return False
        position = first
        while position < len(text):
            found = first_of(closers[1:], f"{text} ", position)
            if found is None or found is MORE:
                return False
            position = _skip(text, found.end)
        self._to = first
        self._close_value()
        return True
