"""A request → the JSON body of OpenAI's Responses API. Pure: no I/O, no clock.

Promises: the same request gives the same bytes, tools in the order of their names, and the input last, so that the
next round's body begins with this one's; calls go back under the service's own ids with the arguments that ran;
what came as `Vendor("openai-responses", item)` goes back where it was said, reasoning of anyone else not at all;
what the caller puts in `extra_body` has the last word (None there removes a field), where its `tools` and `include`
come behind ours, and its `reasoning` and `text` are joined with ours. It checks nothing that the service checks
better, except `stop`: the API has no stop texts, and an answer that goes on is not what was asked for.

Nothing is stored with the service (`store` is false): reasoning comes encrypted and goes back so. It goes back only
with what it led to, and only if it holds something; a text goes back without its id, which would bind it to
reasoning that may be gone. Models that do not reason refuse to be asked for reasoning, so the name decides.

A tool is never `strict`: that would refuse every schema with an optional argument or an open object, arguments are
checked before a tool runs anyway, and the API's default (it rewrites the schema) is not what was asked for.
"""

from __future__ import annotations

import itertools
import json
import re
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
    ToolCall,
    ToolResult,
    ToolSpec,
    Vendor,
)
from sidestream.providers.provider import Request, Settings

__all__ = ["body_of", "input_of"]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_CHOICES = frozenset(("auto", "none", "required"))
_ENCRYPTED = "reasoning.encrypted_content"
_UNREASONING = re.compile(r"gpt-(3|4|5(\.\d+)?-chat)|chatgpt-")  # in names of models that do not reason
_NOT_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_LONGEST = 64  # characters of an id or of a schema's name
_JOINED = ("reasoning", "text")  # objects and
_ADDED = ("tools", "include")  # lists to which `extra_body` adds
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
_Item = dict[str, Any]


def body_of(request: Request, model: str) -> dict[str, Any]:
    """The body for `model`. Raises UsageError for stop texts."""
    settings = request.settings
    if settings.stop:
        raise UsageError("the Responses API has no stop texts: leave Settings.stop out, or ask through openai:NAME")
    said = rendered(request.messages, request.system, request.tools, request.dialect)
    body: dict[str, Any] = {
        "model": model,
        "stream": True,
        "store": False,
        "include": None if _UNREASONING.search(model) else [_ENCRYPTED],
        "instructions": said.system or None,
        "tools": [_tool(spec) for spec in sorted(said.tools, key=lambda spec: spec.name)] or None,
        "tool_choice": _choice(settings.tool_choice) if said.tools else None,
        "reasoning": _reasoning(settings),
        "max_output_tokens": settings.max_tokens,
        "temperature": settings.temperature,
        "text": _form(settings.response),
    }
    body |= {name: _joined(name, body.get(name), value) for name, value in settings.extra_body.items()}
    body.setdefault("input", input_of(said.messages, stored=body["store"] is not False))
    return {name: value for name, value in body.items() if value is not None}


def _joined(name: str, ours: Any, theirs: Any) -> Any:
    if name in _JOINED and isinstance(ours, dict) and isinstance(theirs, Mapping):
        return ours | dict(theirs)
    if name in _ADDED and isinstance(ours, list) and isinstance(theirs, list | tuple):
        return ours + [item for item in theirs if item not in ours]
    return theirs


# ---- tools, reasoning, the answer's form


def _tool(spec: ToolSpec) -> _Item:
    parameters = _EMPTY | spec.schema
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": parameters,
        "strict": False,
    }


def _choice(choice: str | None) -> Any:
    return {"type": "function", "name": choice} if choice and choice not in _CHOICES else choice


def _reasoning(settings: Settings) -> _Item | None:
    match settings.thinking:
        case None:
            return None
        case "off":
            return {"effort": "none"}
        case effort:
            return {"effort": effort, "summary": "auto"}


def _form(response: Any) -> _Item | None:
    match response:
        case None | "text":
            return None
        case "json":
            return {"format": {"type": "json_object"}}
        case _:
            name = _NOT_NAME.sub("_", str(response.get("title") or ""))[:_LONGEST] or "answer"
            return {"format": {"type": "json_schema", "name": name, "schema": dict(response)}}


# ---- input


class _Calls:
    """The calls of one request: the id each goes by, which stands for one call only, and who called it."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}  # by our id
        self.beside: dict[str, _Item] = {}  # by the wire's id: what its item holds that a call does not
        self._used: set[str] = set()

    def item(self, call: ToolCall) -> _Item:
        """The item of a call."""
        ours = (call.id if number == 1 else f"{call.id}.{number}" for number in itertools.count(1))
        wires = itertools.chain([call.wire if len(call.wire) <= _LONGEST else ""], ours)
        wire = self.ids[call.id] = next(one for one in wires if one and one not in self._used)
        self._used.add(wire)
        args = json.dumps(call.args, ensure_ascii=False)
        item = {"type": "function_call", "call_id": wire, "name": call.name, "arguments": args}
        return self.beside.get(wire, {}) | item

    def output(self, result: ToolResult) -> _Item:
        """The item of a result."""
        wire = self.ids.get(result.call, result.call)
        content = [item for part in result.parts for item in _content(part, hears=False)]
        if all(item["type"] == "input_text" for item in content):
            output: Any = "\n".join([item["text"] for item in content])
        else:
            output = content
        caller = self.beside.get(wire, {}).get("caller")
        item = {"type": "function_call_output", "call_id": wire, "output": output}
        return item | {"caller": caller} if caller else item


def input_of(messages: Sequence[Message], *, stored: bool = False) -> list[_Item]:
    """The `input` of a body, from messages that are `rendered` already. `stored`: the service keeps its answers,
    so that reasoning is known to it by its id."""
    calls = _Calls()
    items: list[_Item] = []
    for message in messages:
        if message.role == "assistant":
            items += _assistant(message, calls, stored)
            continue
        items += [calls.output(part) for part in message.parts if isinstance(part, ToolResult)]
        items += _spoken("user" if message.role == "tool" else message.role, message.parts)
    return items


def _spoken(role: str, parts: Sequence[Part]) -> Iterator[_Item]:
    """What anyone but the assistant says; the service's own items (an approval, say) stand between."""
    content: list[_Item] = []
    for part in parts:
        match part:
            case Vendor(provider="openai-responses", data={"type": str()} as item):
                if content:
                    yield {"type": "message", "role": role, "content": content}
                    content = []
                yield item
            case _:
                content += _content(part)
    if content:
        yield {"type": "message", "role": role, "content": content}


def _assistant(message: Message, calls: _Calls, stored: bool) -> list[_Item]:
    items: list[_Item] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text:
                items.append(_answer(text))
            case ToolCall():
                items.append(calls.item(part))
            case Vendor(provider="openai-responses", data={"type": "function_call", "call_id": str(wire)} as item):
                calls.beside[wire] = item
            case Vendor(provider="openai-responses", data={"type": "message"} as item):
                _label(items, item)
            case Vendor(provider="openai-responses", data={"type": "reasoning"} as item):
                items += _thought(item, stored)
            case Vendor(provider="openai-responses", data={"type": str()} as item):
                items.append(item)
            case ImagePart() | FilePart() | AudioPart() | DataPart():
                said = list(_content(part))
                items += [_answer(one["text"]) for one in said if one["type"] == "input_text"]
                items += _spoken("user", [part]) if any(one["type"] != "input_text" for one in said) else ()
            case _:
                pass  # reasoning of anyone else, and other vendors' own
    while items and items[-1].get("type") == "reasoning":  # what it led to is not there: refused as a last item
        items.pop()
    return items


def _answer(text: str) -> _Item:
    return {"role": "assistant", "content": text}  # with `output_text` the API wants an id and a state


def _label(items: list[_Item], said: _Item) -> None:
    """A message with a phase: it was said already, at the end of the text before it."""
    before, phase, content = items[-1] if items else {}, said.get("phase"), said.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = "".join([str(part.get("text") or part.get("refusal") or "") for part in parts])
    if phase and text and before.keys() == {"role", "content"} and before["content"].endswith(text):
        items.pop()
        items += [_answer(rest)] if (rest := before["content"].removesuffix(text)) else []
        items.append(_answer(text) | {"phase": phase})


def _thought(item: _Item, stored: bool) -> Iterator[_Item]:
    """Reasoning, if the service can read it: encrypted, or plain from a server that does not encrypt."""
    kept = {name: value for name, value in item.items() if value is not None}
    if kept.get("encrypted_content"):
        kept.pop("content", None)  # OpenAI refuses both
        yield kept
    elif stored or kept.get("content"):
        yield kept


def _content(part: Part, *, hears: bool = True) -> Iterator[_Item]:
    """What one part of anyone but the assistant becomes. `hears`: sound may stand there."""
    match part:
        case TextPart(text) if text:
            yield {"type": "input_text", "text": text}
        case ImagePart(mime, data, url):
            yield {"type": "input_image", "image_url": url or _data_url(mime, data), "detail": "auto"}
        case FilePart(_, mime, data, url) if mime.startswith("image/"):
            yield {"type": "input_image", "image_url": url or _data_url(mime, data), "detail": "auto"}
        case AudioPart(mime, data, _) | FilePart(_, mime, data, _) if hears and data and mime in _AUDIO:
            audio = {"data": b64encode(data).decode(), "format": _AUDIO[mime]}
            yield {"type": "input_audio", "input_audio": audio}
        case AudioPart(mime, data, url):
            text = f"(sound, {mime}: {url or f'{len(data)} bytes'}; it cannot be heard here)"
            yield {"type": "input_text", "text": text}
        case FilePart(name, mime, data, _) if data and mime.startswith("text/"):  # as text it costs least
            yield {"type": "input_text", "text": f"{name}:\n{data.decode('utf-8', 'replace')}"}
        case FilePart(_, _, _, url) if url:
            yield {"type": "input_file", "file_url": url}
        case FilePart(name, mime, data, _):
            yield {"type": "input_file", "filename": name or "file", "file_data": _data_url(mime, data)}
        case DataPart(_, value):
            yield {"type": "input_text", "text": json.dumps(value, ensure_ascii=False, default=repr)}
        case _:
            pass


def _data_url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{b64encode(data).decode()}"
