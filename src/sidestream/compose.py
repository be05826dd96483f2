"""What one request says: from a run's transcript, through what the application changes, to what a model can read.

`system` may be a function of the run's context, `transform` may change the messages (leave old ones out, add what was
looked up), `convert` drops or rewrites what the model cannot read (`readable` unless the application has its own). All
three change what is sent, never the transcript. Whatever they leave, calls and results are sent in pairs: a call that
lost its result gets one that says so, a result that lost its call is left out.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from sidestream.errors import UsageError
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCall,
    ToolResult,
)

__all__ = ["Convert", "RunContext", "System", "Transform", "composed", "paired", "readable"]

_MEDIA: dict[type, str] = {ImagePart: "image", AudioPart: "audio", FilePart: "file"}
_LOST = TextPart("The result of this call is not known any more.")


class RunContext(msgspec.Struct, frozen=True):
    """What a function of the application's own may know of the run that asks it. `round`: the number of the request
    from 1; `messages`: the transcript; `deps`: the caller's own objects; `accepts`: which of `image`, `audio` and
    `file` the model can read (None: all, as far as is known)."""

    run: str
    session: str
    round: int
    messages: tuple[Message, ...]
    deps: Any
    accepts: frozenset[str] | None = None


System: TypeAlias = str | Callable[[RunContext], str | Awaitable[str]]
"""The system text, or an (async) function that gives it for each request."""
Transform: TypeAlias = Callable[[Sequence[Message], RunContext], Awaitable[Sequence[Message]]]
"""An async function from the messages to those that are sent."""
Convert: TypeAlias = Callable[[Sequence[Message], RunContext], Sequence[Message]]
"""A function that leaves only what the model can read."""


async def composed(
    context: RunContext, system: System, transform: Transform | None, convert: Convert | None
) -> tuple[str, tuple[Message, ...], list[Message]]:
    """The system text, the messages that are sent, and those of them that the functions made. Raises UsageError for
    what is no text or no messages, and what the functions raise."""
    text = system if isinstance(system, str) else await _text(system(context))
    messages: Sequence[Message] = context.messages
    if transform is not None:
        messages = _checked("transform", await transform(messages, context))
    messages = readable(messages, context) if convert is None else _checked("convert", convert(messages, context))
    known = set(map(id, context.messages))
    return text, tuple(paired(messages)), [message for message in messages if id(message) not in known]


async def _text(given: str | Awaitable[str]) -> str:
    text = await given if inspect.isawaitable(given) else given
    if not isinstance(text, str):
        raise UsageError(f"the function `system` must give a text, got {text!r:.80}")
    return text


def _checked(name: str, messages: Any) -> Sequence[Message]:
    if not isinstance(messages, Sequence) or not all(isinstance(message, Message) for message in messages):
        raise UsageError(f"the function `{name}` must give a list of Messages, got {messages!r:.80}")
    return messages


def readable(messages: Sequence[Message], context: RunContext) -> list[Message]:
    """What a model can read of `messages`: without the application's own `DataPart`s in what was said, and with a
    note in the place of images, sound and files that it does not accept."""
    return [said for message in messages for said in _readable(message, context.accepts)]


def _readable(message: Message, accepts: frozenset[str] | None) -> Iterator[Message]:
    own = message.role != "tool"
    if not any(isinstance(part, ImagePart | AudioPart | FilePart | DataPart | ToolResult) for part in message.parts):
        yield message
        return
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            kept = tuple(_accepted(inner, accepts) for inner in part.parts)
            parts.append(part if kept == part.parts else msgspec.structs.replace(part, parts=kept))
        elif not (own and isinstance(part, DataPart)):
            parts.append(_accepted(part, accepts))
    if parts:
        yield message if tuple(parts) == message.parts else Message(message.role, tuple(parts))


def _accepted(part: Any, accepts: frozenset[str] | None) -> Any:
    kind = _MEDIA.get(type(part), "")
    if accepts is None or not kind or kind in accepts:
        return part
    if isinstance(part, FilePart) and part.data and part.mime.startswith("text/"):
        return TextPart(f"{part.name}:\n{part.data.decode('utf-8', 'replace')}")
    return TextPart(f"[{kind} left out: this model cannot read it]")


def paired(messages: Sequence[Message]) -> Iterator[Message]:
    """`messages` with the results of a message's calls right behind it, one each."""
    asked: list[ToolCall] = []
    for is_tool, group in itertools.groupby(messages, lambda message: message.role == "tool"):
        if is_tool:
            parts = [part for message in group for part in message.parts]
            results = {part.call: part for part in parts if isinstance(part, ToolResult)}
            others = [part for part in parts if not isinstance(part, ToolResult)]
            told = (*(results.get(call.id) or _lost(call) for call in asked), *others)
            asked = []
            if told:
                yield Message("tool", told)
            continue
        for message in group:
            if asked:
                yield Message("tool", tuple(map(_lost, asked)))
            asked = message.calls if message.role == "assistant" else []
            yield message
    if asked:
        yield Message("tool", tuple(map(_lost, asked)))


def _lost(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, "unknown", (_LOST,))
