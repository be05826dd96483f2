"""A dialect made of text formats (the first of them writes), of providers' own calls (`native`), or of both.

`Language` is what `dialects.get` returns: the protocol `Dialect` over one or several formats. It promises that
everything enabled is read in one pass, and that what it writes its own parser reads back as the same call. With
`native` in front, calls are asked for and told as providers have them, and text is searched for calls as well:
models whose server does not know their format then still call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sidestream.dialects.block import Options
from sidestream.dialects.evidence import EVIDENCE_CHARS, evidence, rejection, shares, told, words
from sidestream.dialects.format import Format
from sidestream.dialects.inert import escape, neutralise
from sidestream.dialects.lessons import LESSONS, closers, teach, told_as
from sidestream.dialects.marks import patterns_of
from sidestream.dialects.reader import Reader
from sidestream.dialects.sample import sample
from sidestream.dialects.specs import specs_of
from sidestream.dialects.tag_writer import teach as teach_tags
from sidestream.dialects.values import dumps
from sidestream.errors import UsageError
from sidestream.events import CallRejected
from sidestream.messages import Message, TextPart, ToolCall, ToolResult, ToolSpec, user

__all__ = ["Language"]


class Language:
    """One dialect with its settings. `native`: providers' own calls come first. `evidence_chars` bounds all results
    of one continuation."""

    def __init__(
        self,
        formats: Sequence[Format],
        options: Mapping[str, Any],
        evidence_chars: int = EVIDENCE_CHARS,
        *,
        native: bool = False,
        nonce: str = "",
    ) -> None:
        formats = [item.version(options.get("dialect", "")) for item in formats]
        formats = [_signed(item, nonce) for item in formats] if nonce else formats
        if nonce and (native or not formats):
            raise UsageError("nonce=True needs a text format; providers' native calls have no place for a nonce")
        self._nonce = nonce
        self._formats = tuple(formats)
        self._writer = None if native or not formats else formats[0]
        self._lesson = LESSONS.get(self._writer.name) if self._writer else None
        self._given = dict(options)
        self._evidence_chars = evidence_chars
        self.name = self._writer.name if self._writer else "native"
        self.markers = tuple(dict.fromkeys(marker for item in formats for marker in item.markers))
        self._firsts = frozenset(marker[0] for marker in self.markers)
        self._options({})

    def __repr__(self) -> str:
        read = [item.name for item in self._formats]
        return f"<dialect {'+'.join(read if self._writer else ['native', *read])}>"

    @property
    def formats(self) -> tuple[str, ...]:
        """The names of the text formats that are read."""
        return tuple(item.name for item in self._formats)

    def _options(self, options: Mapping[str, Any]) -> Options:
        values = {**self._given, **options, "firsts": "".join(sorted(self._firsts))}
        try:
            return msgspec.convert(values, Options)
        except msgspec.ValidationError as error:
            known = ", ".join(field for field in Options.__struct_fields__ if field != "firsts")
            raise UsageError(f"a bad parser option: {error}; the options are {known}") from error

    def _escape(self, text: str, guard: Sequence[str] = ()) -> str:
        return escape(text, self._firsts, guard)

    def parser(self, specs: Sequence[Any] = (), **options: Any) -> Reader:
        """A reader of one stream: `feed(text)`, then `close(stop)`. Raises UsageError."""
        return Reader(self._formats, specs_of(specs), self._options(options))

    def openers(self, specs: Sequence[Any] = ()) -> tuple[str, ...]:
        """The literal texts at which a block may begin, with these tools."""
        named = {spec.name: spec for spec in specs_of(specs)}
        grammars = [grammar for item in self._formats for grammar in item.grammars]
        return tuple(dict.fromkeys(opener for grammar in grammars for opener in grammar.openers(named)))

    def patterns(self, specs: Sequence[Any] = ()) -> tuple[str, ...]:
        """The literal texts whose beginnings a reader may hold back (law 3)."""
        return patterns_of(self._formats, {spec.name: spec for spec in specs_of(specs)})

    def teach(self, specs: Sequence[ToolSpec], /) -> str:
        """The system text that teaches the first format; `""` for `native`."""
        if not specs or self._writer is None:
            return ""
        if self._lesson is None:
            return teach_tags(specs, tag="tool", nonce=self._nonce)
        taught = teach(self._lesson, specs, self._writer.write(sample(specs[0]), self._escape))
        return f'{taught} Every block must have nonce="{self._nonce}", as shown.' if self._nonce else taught

    def write(self, call: ToolCall, /) -> str:
        """The call as text; for `native`, its arguments as JSON."""
        return self._writer.write(call, self._escape) if self._writer else dumps(call.args)

    def tell(
        self,
        results: Sequence[ToolResult],
        rejected: Sequence[CallRejected],
        names: Mapping[str, str] = {},
        /,
    ) -> Message:
        """The continuation: a user's message of text, or for `native` a `tool` message whose results hold
        what the model may read, and texts for the rejected."""
        if self._lesson is not None:
            return user(self._told(results, rejected, names))
        if self._writer is not None:
            return user(evidence(results, rejected, names, self.markers, self._evidence_chars))
        sizes = shares([len(result.text) for result in results], self._evidence_chars)
        readable = [self._readable(result, size) for result, size in zip(results, sizes, strict=True)]
        lost = [TextPart(rejection(item, names.get(item.id, ""))) for item in rejected]
        return Message("tool", (*readable, *lost))

    def _told(self, results: Sequence[ToolResult], rejected: Sequence[CallRejected], names: Mapping[str, str]) -> str:
        """Results in the form that the format's model knows, then what was rejected."""
        assert self._lesson is not None
        inert = (*self.markers, *closers(self._lesson))
        texts = [words(result.parts) for result in results]
        sizes = shares([len(text) for text in texts], self._evidence_chars)
        contents = []
        for result, text, size in zip(results, texts, sizes, strict=True):
            name = names.get(result.call, "")
            wire = self._writer.wire(name, result.call) if self._writer else result.call
            contents.append((name, wire, neutralise(told(result, text, size), inert)))
        lines = [told_as(self._lesson, contents)] if contents else []
        return "\n\n".join([*lines, *(rejection(item, names.get(item.id, "")) for item in rejected)])

    def _readable(self, result: ToolResult, size: int) -> ToolResult:
        others = tuple(part for part in result.parts if not isinstance(part, TextPart))
        text = TextPart(neutralise(told(result, result.text, size), self.markers))
        return ToolResult(result.call, result.status, (text, *others), result.seconds)


def _signed(item: Format, nonce: str) -> Format:
    signed = item.signed(nonce)
    if signed is None:
        raise UsageError(f"nonce=True: the format {item.name!r} has no place for a nonce; use one with attributes")
    return signed
