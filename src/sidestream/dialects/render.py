"""From the dialect-neutral transcript to what one request says.

`rendered` gives the system text, the messages and the tools as a provider sends them. For a text dialect
every call has become text, every round's results one message written by `dialect.tell`, and the tools a part
of the system text; for `native` calls and results stay parts, each result with the text a model may read,
and a rejected call is told as text and never replayed. Untrusted text is inert for the dialect's markers.
It changes nothing in the transcript itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from sidestream.dialects.dialect import Dialect
from sidestream.dialects.inert import neutralise
from sidestream.dialects.values import each_text
from sidestream.events import CallRejected
from sidestream.messages import DataPart, FilePart, Message, Part, TextPart, ToolCall, ToolResult, ToolSpec

__all__ = ["Rendered", "rejected_part", "rendered"]

REJECTED = "rejected"


class Rendered(msgspec.Struct, frozen=True):
    """What goes over the wire; `tools` is empty where the system text teaches them."""

    system: str
    messages: list[Message]
    tools: tuple[ToolSpec, ...]


def rejected_part(rejected: CallRejected, name: str) -> DataPart:
    """How a rejected call that the model must hear about stands in a transcript."""
    return DataPart(REJECTED, {"id": rejected.id, "name": name, "raw": rejected.raw, "why": rejected.why})


def rendered(messages: Sequence[Message], system: str, tools: Sequence[ToolSpec], dialect: Dialect) -> Rendered:
    """What a request with these words says in this dialect."""
    native = dialect.name == "native"
    names: dict[str, str] = {}  # a call's id → its tool; the next run of a session uses the same ids again
    said: list[Message] = []
    for message in messages:
        names |= {call.id: call.name for call in message.calls}
        said += _native(message, names, dialect) if native else (_as_text(message, names, dialect),)
    if native:
        return Rendered(system, said, tuple(tools))
    teaching = dialect.teach(tools) if tools else ""
    return Rendered("\n\n".join(part for part in (system, teaching) if part), said, ())


def _inert(message: Message, dialect: Dialect) -> Message:
    """A user's words, in which no block may stand."""
    return Message(message.role, tuple(_inert_part(part, dialect) for part in message.parts))


def _inert_part(part: Part, dialect: Dialect) -> Part:
    def inert(text: str) -> str:
        return neutralise(text, dialect.markers)

    match part:
        case TextPart():
            return TextPart(inert(part.text))
        case FilePart() if part.mime.startswith("text/"):
            text = inert(part.data.decode("utf-8", "replace"))
            return FilePart(inert(part.name), part.mime, text.encode(), part.url)
        case FilePart():
            return FilePart(inert(part.name), part.mime, part.data, part.url)
        case DataPart():
            return DataPart(part.name, each_text(part.data, inert))
        case _:
            return part


def _continuation(message: Message, names: dict[str, str], dialect: Dialect) -> Message:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    lost = [part.data for part in message.parts if isinstance(part, DataPart) and part.name == REJECTED]
    names = names | {data["id"]: data["name"] for data in lost}
    return dialect.tell(results, [CallRejected(data["id"], data["raw"], data["why"]) for data in lost], names)


def _native(message: Message, names: dict[str, str], dialect: Dialect) -> Iterator[Message]:
    """A `tool` message holds results only: what else there is to tell is said by the user."""
    if message.role == "user":
        yield _inert(message, dialect)
    elif message.role == "tool":
        told = _continuation(message, names, dialect)
        if results := tuple(part for part in told.parts if isinstance(part, ToolResult)):
            yield Message("tool", results)
        if texts := [part.text for part in told.parts if isinstance(part, TextPart)]:
            yield Message("user", (TextPart("\n\n".join(texts)),))
    else:
        yield message


def _as_text(message: Message, names: dict[str, str], dialect: Dialect) -> Message:
    match message.role:
        case "tool":
            return _continuation(message, names, dialect)
        case "user":
            return _inert(message, dialect)
        case _:
            return Message(message.role, tuple(_merged(message.parts, dialect)))


def _merged(parts: Sequence[Part], dialect: Dialect) -> Iterator[Part]:
    """Calls become text, and joins the text around it."""
    text: list[str] = []
    for part in parts:
        match part:
            case TextPart():
                text.append(part.text)
            case ToolCall():
                text.append(dialect.write(part))
            case _:
                if text:
                    yield TextPart("".join(text))
                    text = []
                yield part
    if text:
        yield TextPart("".join(text))
