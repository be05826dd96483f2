"""A request → the JSON body of Ollama's own API (`/api/chat`). Pure: no I/O, no clock.

Promises: the same request gives the same bytes, tools in the order of their names; arguments go back as objects,
results under the name of their tool (and the call's id where one is known); what the caller puts in `extra_body` has
the last word (None there removes a field), and what it says of `options` is joined with what stands there, so that
`{"options": {"num_ctx": 16384}}` leaves the rest. It checks nothing that the service checks better.

Thinking is a switch, except for gpt-oss, which has the levels low, medium and high and cannot be without: there
`off` and `minimal` are `low`, elsewhere `off` is false and every level true. Without a setting nothing is sent, and
the model does what it does by itself. Reasoning goes back with the calls it led to, where a model that goes on with
its results wants it; the reasoning of other answers is not sent.

The service takes text and images. A text file is told as text; an image must be given with its bytes, for the service
fetches none; what cannot be sent is a UsageError if a person said it, and a note in its place if a tool did. It has no
choice of tools: `none` sends no tools, a name that tool alone, and `required` is not told.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidestream.dialects.render import rendered
from sidestream.errors import UsageError
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from sidestream.providers.provider import Request, Settings

__all__ = ["body_of", "messages_of"]

_LEVELS = {"off": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_LEVELLED = "gpt-oss"  # in the names of the models that have levels
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def body_of(request: Request, model: str, *, stream: bool = True) -> dict[str, Any]:
    """The body for `model`. Raises UsageError for what the service cannot be told."""
    settings = request.settings
    said = rendered(request.messages, request.system, request.tools, request.dialect)
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages_of(said.system, said.messages)),
        "tools": [_tool(spec) for spec in _offered(said.tools, settings.tool_choice)] or None,
        "stream": stream,
        "think": _think(settings.thinking, model) if settings.thinking else None,
        "format": dict(settings.response) if isinstance(settings.response, Mapping) else _format(settings.response),
        "options": _options(settings) or None,
    }
    extra = dict(settings.extra_body)
    if isinstance(extra.get("options"), Mapping):
        joined = (body["options"] or {}) | dict(extra["options"])
        extra["options"] = {name: value for name, value in joined.items() if value is not None}
    body |= extra
    return {name: value for name, value in body.items() if value is not None}


def _think(level: str, model: str) -> bool | str:
    return _LEVELS[level] if _LEVELLED in model else level != "off"


def _format(response: Any) -> str | None:
    return "json" if response == "json" else None


def _options(settings: Settings) -> dict[str, Any]:
    options = {
        "temperature": settings.temperature,
        "num_predict": settings.max_tokens,
        "stop": list(settings.stop) or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _offered(specs: Sequence[ToolSpec], choice: str | None) -> list[ToolSpec]:
    ordered = sorted(specs, key=lambda spec: spec.name)
    if choice == "none":
        return []
    return [spec for spec in ordered if spec.name == choice] or ordered


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": _EMPTY | spec.schema}
    return {"type": "function", "function": function}


# ---- messages


def messages_of(system: str, messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """The `messages` of a body, from messages that are `rendered` already."""
    calls: dict[str, ToolCall] = {}  # by our id
    if system:
        yield {"role": "system", "content": system}
    for message in messages:
        match message.role:
            case "assistant":
                said = _assistant(message)
                if said["content"] or "tool_calls" in said:  # an empty one says nothing
                    yield said
                calls |= {call.id: call for call in message.calls}
            case "tool":
                yield from _results(message, calls)
            case role:
                yield {"role": role} | _content(list(_pieces(message.parts)))


def _assistant(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.calls:
        thought = "".join([part.text for part in message.parts if isinstance(part, ThinkPart)])
        if thought:
            said["thinking"] = thought
        said["tool_calls"] = [
            ({"id": call.wire} if call.wire else {}) | {"function": {"name": call.name, "arguments": call.args}}
            for call in message.calls
        ]
    return said


def _results(message: Message, calls: Mapping[str, ToolCall]) -> Iterator[dict[str, Any]]:
    """The images of a result follow it as a user's, for no model looks for them in a result."""
    beside: list[tuple[str, bytes | str]] = []
    for result in message.parts:
        if not isinstance(result, ToolResult):
            beside.append(_piece(result))
            continue
        call = calls.get(result.call)
        pieces = [_shown(part) for part in result.parts]
        said: dict[str, Any] = {"role": "tool", "content": "\n".join([text for text, _ in pieces if text])}
        if call:
            said["tool_name"] = call.name
            if call.wire:
                said["tool_call_id"] = call.wire
        yield said
        if images := [("", image) for _, image in pieces if image]:
            beside += [(f"Belongs to the result of {call.name if call else result.call}:", ""), *images]
    if beside:
        yield {"role": "user"} | _content(beside)


def _content(pieces: Sequence[tuple[str, bytes | str]]) -> dict[str, Any]:
    """A text and the images beside it: the service has no order among them."""
    images = [image if isinstance(image, str) else b64encode(image).decode() for _, image in pieces if image]
    content: dict[str, Any] = {"content": "\n\n".join([text for text, _ in pieces if text])}
    return content | ({"images": images} if images else {})


def _pieces(parts: Sequence[Part]) -> Iterator[tuple[str, bytes | str]]:
    """What each part becomes; texts next to each other are one."""
    for kind, group in itertools.groupby(parts, type):
        pieces = [_piece(part) for part in group]
        if kind is TextPart:
            yield "".join([text for text, _ in pieces]), b""
        else:
            yield from pieces


def _shown(part: Part) -> tuple[str, bytes | str]:
    """`_piece`, of what a tool gave: the caller did nothing wrong if it cannot be sent."""
    try:
        return _piece(part)
    except UsageError:
        where = getattr(part, "url", "") or getattr(part, "name", "") or getattr(part, "mime", "")
        return f"(something that cannot be shown here: {where})", b""


def _piece(part: Part) -> tuple[str, bytes | str]:
    """The text or the image (bytes, or base64) that a part becomes. Raises UsageError."""
    match part:
        case TextPart(text):
            return text, b""
        case DataPart(_, value):
            return json.dumps(value, ensure_ascii=False, default=repr), b""
        case FilePart(name, mime, data, _) if data and mime.startswith("text/"):
            return f"{name}:\n{data.decode('utf-8', 'replace')}", b""
        case ImagePart(_, data, url):
            return "", data or _inline(url)
        case FilePart(_, mime, data, url) if mime.startswith("image/"):
            return "", data or _inline(url)
        case FilePart(name, mime):
            raise UsageError(f"Ollama reads no {mime} ({name}): send its text, or its pages as images")
        case AudioPart():
            raise UsageError("Ollama reads no sound: send what is said in it as text, or ask another provider")
        case _:
            return "", b""


def _inline(url: str) -> str:
    """The base64 in a data URL; other addresses the service does not fetch."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return data
    raise UsageError(f"Ollama fetches no image ({url}): send its bytes, ImagePart(mime, data=…)")
