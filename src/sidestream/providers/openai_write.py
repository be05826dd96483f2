"""A request → the JSON body of a chat completion. Pure: no I/O, no clock.

Promises: the same request gives the same bytes, tools in the order of their names, the system text first
and messages in order, so that a service can cache the beginning; calls go back under the provider's own
ids with the arguments that ran; what the caller puts in `extra_body` has the last word (None there removes
a field). A tool's images, which a `tool` message cannot hold, follow as a user's message. It checks nothing
that the service checks better.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sidestream.codec import scrub
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
    Vendor,
)
from sidestream.providers.openai_read import NAME
from sidestream.providers.provider import Request, Settings
from sidestream.providers.vendors import OWN_SERVER, Quirks, thinking_fields, wire_id

__all__ = ["body_of", "bytes_of", "messages_of"]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_CHOICES = frozenset(("auto", "none", "required"))


def bytes_of(body: dict[str, Any]) -> bytes:
    """The body as JSON bytes; a lone surrogate becomes U+FFFD. Raises UsageError for what is not JSON."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub(body))
    except (TypeError, OverflowError, RecursionError) as error:
        raise UsageError(f"the request (a schema, or extra_body) holds what JSON cannot: {error}") from error


def body_of(request: Request, model: str, quirks: Quirks = OWN_SERVER) -> dict[str, Any]:
    """The body for `model`, as the service with these quirks takes it."""
    said = rendered(request.messages, request.system, request.tools, request.dialect)
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages_of(said.system, said.messages, quirks)),
    }
    if said.tools:
        body["tools"] = [_tool(spec) for spec in sorted(said.tools, key=lambda spec: spec.name)]
    body |= _settings(request.settings, bool(said.tools), quirks)
    body |= {"stream": True, "stream_options": {"include_usage": True} if quirks.stream_usage else None}
    body |= request.settings.extra_body
    return {name: value for name, value in body.items() if value is not None}


def _settings(settings: Settings, tools: bool, quirks: Quirks) -> dict[str, Any]:
    choice: Any = settings.tool_choice
    if choice and choice not in _CHOICES:
        choice = {"type": "function", "function": {"name": choice}}
    elif choice == "required":
        choice = quirks.required
    return {
        "tool_choice": choice if tools else None,
        "temperature": settings.temperature,
        quirks.max_tokens: settings.max_tokens,
        "stop": list(settings.stop) or None,
        "response_format": _format(settings.response),
        **thinking_fields(quirks, settings.thinking),
    }


def _format(response: Any) -> dict[str, Any] | None:
    match response:
        case None | "text":
            return None
        case "json":
            return {"type": "json_object"}
        case _:
            name = str(response.get("title") or "answer")
            return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(response)}}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}} | spec.schema
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": schema},
    }


def messages_of(system: str, messages: Sequence[Message], quirks: Quirks = OWN_SERVER) -> Iterator[dict[str, Any]]:
    """The `messages` of a body, from messages that are `rendered` already."""
    wires: dict[str, str] = {}  # our id of a call → the id it goes by on the wire
    used: set[str] = set()  # on the wire an id stands for one call of the whole request
    if system:
        yield {"role": quirks.system_role, "content": system}
    for message in messages:
        match message.role:
            case "assistant":
                said = _assistant(message, wires, used, quirks)
                if len(said) > 2 or said["content"]:  # an empty one is refused by some servers, and says nothing
                    yield said
            case "tool":
                yield from _results(message, wires)
            case role:
                yield {"role": quirks.system_role if role == "system" else role, "content": _content(message.parts)}


def _assistant(message: Message, wires: dict[str, str], used: set[str], quirks: Quirks) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text}
    calls = []
    for call in message.calls:
        ours = (call.id if number == 1 else f"{call.id}.{number}" for number in itertools.count(1))
        ids = (wire_id(quirks, one) for one in itertools.chain([call.wire], ours) if one)
        wire = next(one for one in ids if one not in used)
        used.add(wire)
        wires[call.id] = wire
        calls.append(_call(call, wire))
    if calls:
        said["tool_calls"] = calls
        said["content"] = said["content"] or None
    thought = "".join([part.text for part in message.parts if isinstance(part, ThinkPart)])
    if quirks.think_field and thought and calls:
        said[quirks.think_field] = thought
    for part in message.parts:
        if isinstance(part, Vendor) and part.provider == NAME and isinstance(part.data, dict):
            for name, value in part.data.items():
                said[name] = said[name] + value if isinstance(said.get(name), list) else value
    return said


def _call(call: ToolCall, wire: str) -> dict[str, Any]:
    args = json.dumps(call.args, ensure_ascii=False)
    return {"id": wire, "type": "function", "function": {"name": call.name, "arguments": args}}


def _results(message: Message, wires: dict[str, str]) -> Iterator[dict[str, Any]]:
    beside: list[Part] = []
    for result in message.parts:
        if isinstance(result, ToolResult):
            wire = wires.get(result.call, result.call)
            texts = [one["text"] for part in result.parts if (one := _part(part))["type"] == "text"]
            yield {"role": "tool", "tool_call_id": wire, "content": "\n".join(texts)}
            pictures = [part for part in result.parts if _part(part)["type"] != "text"]
            if pictures:
                beside += [TextPart(f"Belongs to the result of call {wire}:"), *pictures]
        else:
            beside.append(result)
    if beside:
        yield {"role": "user", "content": _content(beside)}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """One text where there is nothing but text (every server reads that), else a list of parts."""
    if all(isinstance(part, TextPart) for part in parts):
        return "".join([part.text for part in parts if isinstance(part, TextPart)])
    return [_part(part) for part in parts if not isinstance(part, (ThinkPart, Vendor))]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text) | ThinkPart(text):
            return {"type": "text", "text": text}
        case ImagePart(mime, data, url):
            return {"type": "image_url", "image_url": {"url": url or _data_url(mime, data)}}
        case AudioPart(mime, data, url):
            audio = {"data": b64encode(data).decode(), "format": _AUDIO.get(mime, mime.rpartition("/")[2])}
            return {"type": "input_audio", "input_audio": audio if data else {"url": url}}
        case FilePart(name, mime, data, url):
            if data and mime in _AUDIO:
                audio = {"data": b64encode(data).decode(), "format": _AUDIO[mime]}
                return {"type": "input_audio", "input_audio": audio}
            if data and mime.startswith("text/"):  # most servers take no files, all take text
                return {"type": "text", "text": f"{name}:\n{data.decode('utf-8', 'replace')}"}
            return {"type": "file", "file": {"filename": name, "file_data": url or _data_url(mime, data)}}
        case DataPart(_, value):
            return {"type": "text", "text": json.dumps(value, ensure_ascii=False, default=repr)}
        case _:
            return {"type": "text", "text": ""}


def _data_url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{b64encode(data).decode()}"
