"""The JSON family: a call is a JSON object, or a name followed by one.

`JsonObject` is `{"name": …, "arguments": …}` in one of the shapes that models write, `JsonArgs` the arguments
alone, behind a head that gave the name. Promises: the call is certain at the root's last character, brackets
inside strings not counted; a newline may stand raw in a string, as models write them; nothing else is
forgiven: a broken root is `invalid_json` at the first character that no JSON has there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from sidestream.dialects.body import BLANKS, Body, Head, Read, UnreadableError
from sidestream.dialects.inert import Escape
from sidestream.dialects.scan import Balance
from sidestream.dialects.values import as_arguments, dumps, each_text, loads
from sidestream.messages import ToolCall, ToolSpec, clean

__all__ = ["JsonArgs", "JsonObject"]

HOLD = 256  # characters of a bare object that may be held back until it is known to be a call
_WORD = re.compile(r"[\w.+-]*")
_VALUE = re.compile(r"[\[{\"0-9tfn-]")
_AFTER_WORD = re.compile(r"[\s,\]}]")
_KEY_BEGUN = re.compile(r'\{\s*(?:"[^"]*)?\Z')
_FIRST_KEY = re.compile(r'\{\s*"([^"\\]*)"')


class JsonArgs(msgspec.Struct, frozen=True):
    """The arguments alone: `{…}`; `null` and nothing are `{}`, also where only `ends` tells that nothing comes."""

    ends: str = ""
    lists: bool = False
    why: str = "invalid_json"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the object that begins here."""
        return _Arguments(head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """An object must follow, or what stands for one."""
        start = _start(text, position)
        if start == len(text):
            return None
        empty = [word for word in ("null", self.ends) if word]
        if text.startswith(("{", *empty), start):
            return True
        return None if any(word.startswith(text[start:]) for word in empty) else False

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The arguments as JSON."""
        return dumps(each_text(call.args, escape))


class JsonObject(msgspec.Struct, frozen=True):
    """The whole call as an object. `names`, `arguments` and `ids` are the keys it may use, the first of each is
    written; `keyed`: the one key is the name and its value the arguments; `known`: only with the name of a tool
    offered and with arguments is it a call, for it stands where prose may."""

    names: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments", "parameters")
    ids: tuple[str, ...] = ("id", "tool_call_id")
    keyed: bool = False
    known: bool = False
    numbered: bool = False  # an id is written
    lists: bool = True
    why: str = "invalid_json"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the object that begins here."""
        return _Object(self)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """An object must follow; where only known tools count, one that is certain to name one."""
        start = _start(text, position)
        if start == len(text):
            return None
        if text[start] != "{":
            return False
        return self._decided(text, start, specs) if self.known else True

    def _decided(self, text: str, start: int, specs: Mapping[str, ToolSpec]) -> bool | None:
        beginning = text[start : start + HOLD]
        first = _FIRST_KEY.match(beginning)
        if first is None:
            return None if _KEY_BEGUN.match(beginning) and len(beginning) < HOLD else False
        if first[1] not in (*self.names, *self.arguments, *self.ids, "type"):
            return False
        if (named := _prefix(self).match(beginning)) and named[1] not in specs:
            return False
        if (found := _certain(self).match(beginning)) is not None:
            return found["key"] in self.arguments
        balance = Balance(lax=True)
        end = balance.feed(beginning)
        if not balance.whole:
            return None if len(beginning) < HOLD and not balance.broken else False
        try:
            whole = loads(beginning[:end], lax=True)
        except ValueError:
            return False
        name = next((whole[key] for key in self.names if key in whole), None)
        return isinstance(name, str) and name in specs and any(key in whole for key in self.arguments)

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """The object."""
        args = each_text(call.args, escape)
        if self.keyed:
            return dumps({call.name: args})
        wire = {self.ids[0]: call.id} if self.numbered else {}
        return dumps({**wire, self.names[0]: call.name, self.arguments[0]: args})


def _start(text: str, position: int) -> int:
    found = BLANKS.match(text, position)
    return found.end() if found else position


def _words(keys: Sequence[str]) -> str:
    return "|".join(re.escape(key) for key in keys)


@cache
def _prefix(row: JsonObject) -> re.Pattern[str]:
    """The beginning of an object up to its name."""
    if row.keyed:
        return re.compile(r'\{\s*"([^"\\]+)"\s*:')
    before = r'(?:"\w+"\s*:\s*"[^"\\]*"\s*,\s*){0,3}?'
    return re.compile(rf'\{{\s*{before}"(?:{_words(row.names)})"\s*:\s*"([^"\\]*)"')


@cache
def _certain(row: JsonObject) -> re.Pattern[str]:
    """The beginning of an object up to the key behind its name."""
    return re.compile(rf'{_prefix(row).pattern}\s*,\s*"(?P<key>[^"\\]*)"')


class _Root:
    """A JSON root while it is read."""

    def __init__(self) -> None:
        self.name = self.broken = ""
        self.whole, self.size = False, 0
        self._balance = Balance(lax=True)

    @property
    def plain(self) -> re.Pattern[str] | None:
        return self._balance.plain

    def step(self, text: str, position: int) -> int:
        if not self._balance.root:
            position = _start(text, position)
            if position == len(text):
                return position
            if not _VALUE.match(text, position):
                self.broken, self.whole = "invalid_json", True
                return position
        end = self._balance.feed(text, position)
        if end < 0 and self._balance.root not in '{["':
            found = _AFTER_WORD.search(text, position)
            self.whole = found is not None
            return found.start() if found else len(text)
        if end < 0:
            return len(text)
        if self._balance.broken:
            self.broken = "invalid_json"
        self.whole = True
        return end

    def rescued(self, text: str) -> bool:
        return False


class _Arguments(_Root):
    """The arguments of one call."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.name, self._wire = head.name, head.wire

    def step(self, text: str, position: int) -> int:
        if self._balance.root in ("{", "["):
            return super().step(text, position)
        start = position if self._balance.root else _start(text, position)
        if start == len(text):
            return start
        if not self._balance.root and text[start] in '{["':
            return super().step(text, start)
        if self._balance.root == '"':
            return super().step(text, position)
        self._balance.root = "w"  # a word has no end of its own: it ends before whatever else comes
        word = _WORD.match(text, start)
        end = word.end() if word else start
        self.whole = end < len(text)
        return end

    def finish(self, text: str) -> Read:
        return Read(self.name, self._wire, _arguments_of(text))

    def rescued(self, text: str) -> bool:
        return self._balance.root == "w"


def _arguments_of(text: str) -> dict[str, Any]:
    try:
        value = loads(text, lax=True) if text and not text.isspace() else None
        args: dict[str, Any] = _cleaned(text, as_arguments(value, lax=True))
        return args
    except ValueError:
        raise UnreadableError("invalid_json") from None


def _cleaned(text: str, value: Any) -> Any:
    return each_text(value, clean) if "\\u" in text else value


class _Object(_Root):
    """A call that is one object."""

    def __init__(self, row: JsonObject) -> None:
        super().__init__()
        self._row = row
        self._probe = ""  # the beginning, while the name may stand in it

    def step(self, text: str, position: int) -> int:
        end = super().step(text, position)
        if not self.name and len(self._probe) < HOLD:
            self._probe = (self._probe + text[position:end])[:HOLD]
            if found := _prefix(self._row).match(self._probe):
                self.name = found[1].strip()
        return end

    def finish(self, text: str) -> Read:
        row = self._row
        try:
            whole = loads(text, lax=True)
        except ValueError:
            raise UnreadableError("invalid_json") from None
        if not isinstance(whole, dict):
            raise UnreadableError("invalid_json")
        whole = _cleaned(text, whole)
        if row.keyed:
            if len(whole) != 1:
                raise UnreadableError("malformed" if whole else "missing_name")
            (name, value), wire = next(iter(whole.items())), ""
        else:
            name = next((whole[key] for key in row.names if key in whole), "")
            given = [key for key in row.arguments if key in whole]
            value = whole[given[0]] if given else None
            wire = next((whole[key] for key in row.ids if isinstance(whole.get(key), str)), "")
            if len(given) > 1 or (not given and set(whole) - {*row.names, *row.ids, "type"}):
                raise UnreadableError("malformed")  # its arguments stand somewhere else: they must not be lost
        if not isinstance(name, str) or not name.strip():
            raise UnreadableError("missing_name")
        try:
            return Read(name.strip(), wire, as_arguments(value, lax=True))
        except ValueError:
            raise UnreadableError("invalid_json") from None
