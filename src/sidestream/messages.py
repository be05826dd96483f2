"""What was said: messages and their parts, tools' descriptions, calls, results, usage.

Every record is a frozen `msgspec.Struct`; a message part carries its class name in snake_case as
`type` in JSON. Promises: values only, no behaviour beyond reading them; nothing here knows a
vendor or a format. It will not decide what a transcript is: that is `fold`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "AudioPart",
    "DataPart",
    "Delta",
    "Event",
    "FilePart",
    "ImagePart",
    "Message",
    "Part",
    "Role",
    "Status",
    "TextPart",
    "ThinkPart",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "Vendor",
    "Word",
    "assistant",
    "clean",
    "cleaned",
    "system",
    "user",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Status: TypeAlias = Literal["ok", "error", "timeout", "refused", "duplicate", "cancelled", "running", "unknown"]

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with every lone surrogate as U+FFFD: what can be encoded as UTF-8, one for one."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _tag(name: str) -> str:
    return _WORD.sub("_", name).lower()


class Word(msgspec.Struct, frozen=True, tag=_tag, tag_field="type"):
    """The root of everything with a `type` in JSON: deltas, events, message parts."""


class Delta(Word, frozen=True):
    """The root of what a model says; the closed union is `events.AnyDelta`."""


class Event(Word, frozen=True):
    """The root of what happens; the closed union is `events.AnyEvent`."""


class TextPart(Word, frozen=True):
    """Visible text."""

    text: str


class ThinkPart(Word, frozen=True):
    """Reasoning the model showed; not part of its answer."""

    text: str


class ImagePart(Word, frozen=True):
    """An image: `data` (its bytes; base64 in JSON) or `url`, one of the two; `mime` as in RFC 6838."""

    mime: str = "image/png"
    data: bytes = b""
    url: str = ""


class AudioPart(Word, frozen=True):
    """Sound: `data` (its bytes; base64 in JSON) or `url`, one of the two; `mime` as in RFC 6838."""

    mime: str = "audio/wav"
    data: bytes = b""
    url: str = ""


class FilePart(Word, frozen=True):
    """A file: `data` (its bytes; base64 in JSON) or `url`, one of the two."""

    name: str
    mime: str = "application/octet-stream"
    data: bytes = b""
    url: str = ""


class DataPart(Word, frozen=True):
    """A value of the application's own, or of ours (`name="rejected"`: a call the model must hear about)."""

    name: str
    data: Any


class Vendor(Delta, Event, frozen=True):
    """What only one provider understands (a signature, a tool it ran itself): a delta, an event and a
    message part in one; sent back only to that `provider`."""

    provider: str
    data: Any


class ToolCall(Word, frozen=True):
    """A whole call. `id` is ours: deterministic, unique in the run tree (`"2.1"`: second round, first
    call). `args` is what the tool gets, `raw` the exact text it was read from, `wire` the provider's own
    id (empty where the format carries none), sent back unchanged."""

    id: str
    name: str
    args: dict[str, Any]
    raw: str
    wire: str = ""


class ToolResult(Word, frozen=True):
    """The one answer to a call. `call` is the call's `id`, `seconds` how long the tool ran."""

    call: str
    status: Status
    parts: tuple[TextPart | ImagePart | AudioPart | FilePart | DataPart, ...] = ()
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join([part.text for part in self.parts if isinstance(part, TextPart)])


Part: TypeAlias = TextPart | ThinkPart | ImagePart | AudioPart | FilePart | DataPart | Vendor | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True):
    """Who said what. A `tool` message holds the results of one round, in the order they were asked for."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined as they stand."""
        return "".join([part.text for part in self.parts if isinstance(part, TextPart)])

    @property
    def calls(self) -> list[ToolCall]:
        """The calls in it, in order."""
        return [part for part in self.parts if isinstance(part, ToolCall)]


def user(text: str) -> Message:
    """A user's message of one text."""
    return Message("user", (TextPart(text),))


def assistant(text: str) -> Message:
    """An assistant's message of one text."""
    return Message("assistant", (TextPart(text),))


def system(text: str) -> Message:
    """A system message of one text."""
    return Message("system", (TextPart(text),))


def cleaned(message: Message) -> Message:
    """`message` with every lone surrogate in its text as U+FFFD."""
    if message.text.isascii():
        return message
    parts = tuple(
        msgspec.structs.replace(part, text=clean(part.text)) if isinstance(part, TextPart | ThinkPart) else part
        for part in message.parts
    )
    return Message(message.role, parts)


class ToolSpec(msgspec.Struct, frozen=True):
    """What a model is told of a tool. `schema` is the JSON Schema of its arguments object, `main` the
    argument a bare body goes to, `examples` utterances that should lead to it (for routers)."""

    name: str
    description: str
    schema: dict[str, Any]
    main: str = ""
    examples: tuple[str, ...] = ()

    @property
    def properties(self) -> dict[str, Any]:
        """The schema's properties: argument name → its schema."""
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def bare(self) -> str:
        """Where a bare body goes: `main`, else the first required argument, else the first, else `""`."""
        required: Sequence[str] = self.schema.get("required") or ()
        return self.main or next(iter(required), "") or next(iter(self.properties), "")

    @property
    def takes_nothing(self) -> bool:
        """True if the tool has no parameters at all."""
        return not self.properties and not self.schema.get("additionalProperties")


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider counted them; `cached` of the input, `reasoning` of the output."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )
