"""Bodies of formats whose markers hold the tool's name: `[/bash]…[bash/]` and `<bash k="v">…</bash>`.

`Bracket` holds lines `@@key=value` and then free text, `Element` attributes and then free text; the free text is
the tool's main argument. Promises: only the same name's closer ends a body, so openers and other closers in it
are data; attributes that cannot be read are `malformed`, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from sidestream.dialects.body import Body, Head, Read, UnreadableError
from sidestream.dialects.inert import Escape
from sidestream.dialects.scan import Markers
from sidestream.dialects.values import decode_entities, dumps, typed
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["Bracket", "Element"]

_MAIN = {
    "bash": "command",
    "shell": "command",
    "python": "code",
    "write": "content",
    "edit": "diff",
    "think": "thought",
}
"""KohakuTerrarium's map from a tool to the argument its body goes to, as far as FORMATS tells it."""

_LINE = re.compile(r"@@[ \t]*([^\s=]{1,128})[ \t]*(?:=([^\r\n]*))?(?:\r?\n|\Z)")
_QUOTE = re.compile(r"[\"'>]")
_QUOTES = {quote: re.compile(quote) for quote in "\"'"}
_ATTRIBUTE = re.compile(r"\s+([A-Za-z_][\w:.-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>/=]+))")


def _main(head: Head, given: Mapping[str, object]) -> str:
    """Where free text goes: to the tool's main argument, or to the one required argument that is left. Raises
    UnreadableError where that is given already, or cannot be told."""
    spec = head.spec
    properties = spec.properties if spec else {}
    known = [key for key in (spec.main if spec else "", _MAIN.get(head.name, "")) if key]
    wanted = [key for key in known if not properties or key in properties][:1]
    if not wanted and spec:
        required = [key for key in spec.schema.get("required") or () if key not in given]
        wanted = required if len(required) == 1 else [spec.bare]
    key = (wanted or ["content"])[0] or "content"
    if key in given:
        raise UnreadableError("malformed")
    return key


class Bracket(msgspec.Struct, frozen=True):
    """`@@key=value` lines and a body, up to and with `[name/]`."""

    closer: str = "[{name}/]"
    lists: bool = False
    why: str = "malformed"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the lines that begin here."""
        return _Lines(self, head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """The opener says it all."""
        return True

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """Lines for what fits on one, the body for one text that does not."""
        closer = self.closer.replace("{name}", call.name)
        texts = {key: escape(_text(value), (closer,)) for key, value in call.args.items()}
        fits = {key: "\n" not in text for key, text in texts.items()}
        body = next((key for key in reversed(texts) if not fits[key]), None)
        lines = [f"@@{key}={text}" for key, text in texts.items() if key != body]
        return "\n".join(["", *lines, *([texts[body]] if body is not None else []), closer])


def _text(value: object) -> str:
    """A value as text; what is written as JSON holds no single quote, so that it fits into one pair of them."""
    return value if isinstance(value, str) else dumps(value).replace("'", "\\u0027")


class _Closed:
    """Free text up to a closer while it is read."""

    def __init__(self, head: Head, closer: str) -> None:
        self.name, self.whole, self.broken = head.name, False, ""
        self.size = 0
        self._head, self._closer = head, closer
        self._markers = Markers((closer,))

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        return self._markers.begins

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        found = self._markers.find(text, position)
        self.whole = found is not None
        return found.end() if found else self._markers.held(text, position)

    def rescued(self, text: str) -> bool:
        """Its closer is its only end; see Body.rescued."""
        return False


class _Lines(_Closed):
    """One `[/name]` block."""

    def __init__(self, row: Bracket, head: Head) -> None:
        super().__init__(head, row.closer.replace("{name}", head.name))

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        body = text.removesuffix(self._closer).removeprefix("\r").removeprefix("\n")
        args: dict[str, object] = {}
        while found := _LINE.match(body):
            if found[1] in args:
                raise UnreadableError("malformed")
            args[found[1]] = typed(found[2] or "", found[1], self._head.spec)
            body = body[found.end() :]
        body = body.removesuffix("\n")
        if body.strip():
            key = _main(self._head, args)
            args[key] = typed(body, key, self._head.spec)
        return Read(self.name, "", args)


class Element(msgspec.Struct, frozen=True):
    """Attributes, `>` and a body up to and with `</name>`; or attributes and `/>`."""

    lists: bool = False
    why: str = "malformed"
    waits: tuple[str, ...] = ()

    def read(self, head: Head, /) -> Body:
        """A machine for the attributes that begin here."""
        return _Element(head)

    def claims(self, text: str, position: int, name: str, specs: Mapping[str, ToolSpec], /) -> bool | None:
        """A name of a tool must end here."""
        return None if position == len(text) else text[position] in " \t\r\n>/"

    def write(self, call: ToolCall, escape: Escape, guard: Sequence[str], /) -> str:
        """Attributes for what they can hold, the body for one text that they cannot."""
        texts = {key: escape(_text(value)) for key, value in call.args.items()}
        body = next((key for key in reversed(texts) if '"' in texts[key] and "'" in texts[key]), None)
        given = "".join(f" {key}={_attribute(text)}" for key, text in texts.items() if key != body)
        closer = f"</{call.name}>"
        inside = f"\n{escape(_text(call.args[body]), (closer,))}\n" if body is not None else ""
        return f"{given}>{inside}{closer}"


def _attribute(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


class _Element(_Closed):
    """One `<name …>` block: quotes hold, until `>` ends the attributes."""

    def __init__(self, head: Head) -> None:
        super().__init__(head, f"</{head.name}>")
        self._quote = ""
        self._last = ""
        self._head_end = -1  # where the attributes end, once they do

    @property
    def plain(self) -> re.Pattern[str] | None:
        """See Body.plain."""
        if self._head_end >= 0:
            return self._markers.begins
        return _QUOTES.get(self._quote)

    def step(self, text: str, position: int) -> int:
        """Read on; see Body.step."""
        start = position
        while self._head_end < 0:
            found = _QUOTES.get(self._quote, _QUOTE).search(text, position)
            if found is None:
                self._last, position = text[-1:], len(text)
                break
            before = text[found.start() - 1] if found.start() > position else self._last
            position, self._last = found.end(), found[0]
            if found[0] != ">":
                self._quote = "" if self._quote else found[0]
            elif not self._quote:
                self._head_end = self.size + position - start
                self.whole = before == "/"
        if self._head_end >= 0 and not self.whole:
            position = super().step(text, position)
        self.size += position - start
        return position

    def finish(self, text: str) -> Read:
        """The call; see Body.finish."""
        head, body = text[: self._head_end].removesuffix(">").removesuffix("/"), text[self._head_end :]
        args: dict[str, object] = {}
        position = 0
        while found := _ATTRIBUTE.match(head, position):
            key, *values = found.groups()
            if key in args:
                raise UnreadableError("malformed")
            value = next(value for value in values if value is not None)
            args[key] = typed(self._decoded(value), key, self._head.spec)
            position = found.end()
        if head[position:].strip():
            raise UnreadableError("malformed")
        body = body.removesuffix(self._closer)
        if body.strip():
            key = _main(self._head, args)
            args[key] = typed(self._decoded(body.removeprefix("\n").removesuffix("\n")), key, self._head.spec)
        return Read(self.name, "", args)

    def _decoded(self, text: str) -> str:
        return decode_entities(text) if self._head.options.entities == "decode" else text
