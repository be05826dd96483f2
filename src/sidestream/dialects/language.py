"""A dialect made of text formats (the first of them writes), or of none: `native`.

`Language` is what `dialects.get` returns: the protocol `Dialect` over one or several rows. It promises that
everything enabled is read in one pass, and that what it writes its own parser reads back as the same call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from sidestream.dialects.block import Options
from sidestream.dialects.evidence import EVIDENCE_CHARS, evidence, rejection, shares, told
from sidestream.dialects.inert import escape, neutralise
from sidestream.dialects.reader import Format, Reader
from sidestream.dialects.specs import specs_of
from sidestream.dialects.values import dumps
from sidestream.errors import UsageError
from sidestream.events import CallRejected
from sidestream.messages import Message, TextPart, ToolCall, ToolResult, ToolSpec, user

__all__ = ["Language", "WrittenFormat"]


class WrittenFormat(Format, Protocol):
    """A format with its writer."""

    def write(self, call: ToolCall, escape: Any, /) -> str: ...

    def teach(self, specs: Sequence[ToolSpec], /) -> str: ...


class Language:
    """One dialect with its settings. `evidence_chars` bounds all results of one continuation."""

    def __init__(
        self,
        formats: Sequence[WrittenFormat],
        options: Mapping[str, Any],
        evidence_chars: int = EVIDENCE_CHARS,
    ) -> None:
        self._formats = tuple(formats)
        self._given = dict(options)
        self._evidence_chars = evidence_chars
        self.name = formats[0].name if formats else "native"
        self.markers = tuple(marker for item in formats for marker in item.openers())
        self._firsts = frozenset(marker[0] for marker in self.markers)
        self._options({})

    def __repr__(self) -> str:
        return f"<dialect {'+'.join(item.name for item in self._formats) or 'native'}>"

    def _options(self, options: Mapping[str, Any]) -> Options:
        values = {**self._given, **options, "firsts": "".join(sorted(self._firsts))}
        try:
            return msgspec.convert(values, Options)
        except msgspec.ValidationError as error:
            known = ", ".join(field for field in Options.__struct_fields__ if field != "firsts")
            raise UsageError(f"a bad parser option: {error}; the options are {known}") from error

    def _escape(self, text: str) -> str:
        return escape(text, self._firsts)

    def parser(self, specs: Sequence[Any] = (), **options: Any) -> Reader:
        """A reader of one stream: `feed(text)`, then `close(stop)`. Raises UsageError."""
        return Reader(self._formats, specs_of(specs), self._options(options))

    def teach(self, specs: Sequence[ToolSpec], /) -> str:
        """The system text that teaches the first format; `""` for `native`."""
        return self._formats[0].teach(specs) if self._formats and specs else ""

    def write(self, call: ToolCall, /) -> str:
        """The call as text; for `native`, its arguments as JSON."""
        return self._formats[0].write(call, self._escape) if self._formats else dumps(call.args)

    def tell(
        self,
        results: Sequence[ToolResult],
        rejected: Sequence[CallRejected],
        names: Mapping[str, str] = {},
        /,
    ) -> Message:
        """The continuation: a user's message of text, or for `native` a `tool` message whose results hold
        what the model may read, and texts for the rejected."""
        if self._formats:
            return user(evidence(results, rejected, names, self.markers, self._evidence_chars))
        sizes = shares([len(result.text) for result in results], self._evidence_chars)
        readable = [self._readable(result, size) for result, size in zip(results, sizes, strict=True)]
        lost = [TextPart(rejection(item, names.get(item.id, ""))) for item in rejected]
        return Message("tool", (*readable, *lost))

    def _readable(self, result: ToolResult, size: int) -> ToolResult:
        others = tuple(part for part in result.parts if not isinstance(part, TextPart))
        text = TextPart(neutralise(told(result, result.text, size), self.markers))
        return ToolResult(result.call, result.status, (text, *others), result.seconds)
