"""A request → the JSON body of Anthropic's Messages API. Pure: no I/O, no clock.

Promises: the same request gives the same bytes, tools in the order of their names; up to four places are marked
for the service's cache (tools, system text, the last two messages of the user), unless the cache is off; users
and assistant alternate, and results stand first in the message that answers their calls; what came as
`Vendor("anthropic", …)` goes back exactly as it came, reasoning of anyone else not at all; what the caller puts
in `extra_body` has the last word (None there removes a field). It checks nothing that the service checks better.

Thinking has two forms: from Claude 4.6 on, and for names without a version, the model decides (`adaptive`) and
`effort` says how hard it tries; older models take a budget in tokens. The newer form is refused by the older
models and the older one by the newest, so the name decides. A temperature is not sent with thinking on, nor to
Claude 4.7 and later, which refuse one.

The API wants tools declared as soon as a call stands in the conversation: where tools are off, those that were
called are named, without parameters, and may not be called. A system message in the middle of a conversation,
which only the newest models take, is said by the user.
"""

from __future__ import annotations

import itertools
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidestream.dialects.render import Rendered, rendered
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    Status,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Vendor,
)
from sidestream.providers.provider import Request, Settings

__all__ = ["MAX_TOKENS", "body_of", "messages_of"]

MAX_TOKENS = 32_000  # the API wants a number; every Claude since version 4 can do this one

_CHOICES = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
_EFFORT = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}  # there is none below low
_BUDGET = {"minimal": 1024, "low": 4096, "medium": 10_240, "high": 24_576}
_LEAST = 1024  # tokens a budget must have
_VERSION = re.compile(r"claude-(?:[a-z]+-)*(\d+)(?:[-.](\d{1,2})(?!\d))?")
_ADAPTIVE = (4, 6)  # the first version that decides by itself how much to think
_COOL = (4, 7)  # the first version that refuses a temperature
_FAILED: frozenset[Status] = frozenset(("error", "timeout", "refused", "cancelled", "unknown"))
_NOT_ID = re.compile(r"[^a-zA-Z0-9_-]")
_MARK = {"type": "ephemeral"}
_THOUGHT = frozenset(("thinking", "redacted_thinking"))
_UNSENT = frozenset(("stop_details",))  # what an answer said that is no block
_JSON = "Answer with one JSON object and nothing else."
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def body_of(request: Request, model: str, *, max_tokens: int = MAX_TOKENS, eager: bool = True) -> dict[str, Any]:
    """The body for `model`. `max_tokens`: where the request names none. `eager`: ask for arguments as they are
    generated, not value by value (a server that only resembles the service may refuse the field)."""
    settings = request.settings
    said = rendered(request.messages, request.system, request.tools, request.dialect)
    system, messages = _opened(said)
    sent = messages_of(messages)
    tools, choice = _tools(said.tools, messages, settings, eager)
    if settings.response == "json":
        system = f"{system}\n\n{_JSON}".strip()
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": max_tokens if settings.max_tokens is None else settings.max_tokens,
        "system": [{"type": "text", "text": system}] if system else None,
        "tools": tools or None,
        "tool_choice": choice,
        "messages": sent,
        "stop_sequences": list(settings.stop) or None,
        "stream": True,
    }
    body |= _thinking(settings, model, body["max_tokens"], sent)
    if settings.cache != "off":
        _mark(body)
    body |= settings.extra_body
    return {name: value for name, value in body.items() if value is not None}


def _opened(said: Rendered) -> tuple[str, list[Message]]:
    """The system text, with the system messages that open the conversation, and the messages after them."""
    opening = list(itertools.takewhile(lambda message: message.role == "system", said.messages))
    texts = [said.system, *[message.text for message in opening]]
    return "\n\n".join([text for text in texts if text]), said.messages[len(opening) :]


# ---- tools, thinking, the answer's form, the cache


def _tools(
    specs: Sequence[ToolSpec], messages: Sequence[Message], settings: Settings, eager: bool
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The tools and the choice among them."""
    if not specs:
        called = sorted({call.name for message in messages for call in message.calls})
        return [{"name": name, "input_schema": _EMPTY} for name in called], _CHOICES["none"] if called else None
    chosen = settings.tool_choice
    choice = _CHOICES.get(chosen, {"type": "tool", "name": chosen}) if chosen else None
    return [_tool(spec, eager) for spec in sorted(specs, key=lambda spec: spec.name)], choice


def _tool(spec: ToolSpec, eager: bool) -> dict[str, Any]:
    tool = {"name": spec.name, "description": spec.description, "input_schema": _EMPTY | spec.schema}
    return tool | {"eager_input_streaming": True} if eager else tool


def _thinking(settings: Settings, model: str, most: int, sent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How much to think, the form of the answer, and the temperature, which depends on the first."""
    level, found = settings.thinking, _VERSION.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else None
    adaptive = version is None or version >= _ADAPTIVE
    thinking: dict[str, Any] | None = None
    form: dict[str, Any] = {}
    if level == "off":
        thinking = {"type": "disabled"}
    elif level and adaptive:
        thinking = {"type": "adaptive", "display": "summarized"}  # else the newest models keep it to themselves
        form["effort"] = _EFFORT[level]
    elif level and most > _LEAST and _may_think(sent):
        budget = max(_LEAST, min(_BUDGET[level], most // 2))  # what is thought counts as said
        thinking = {"type": "enabled", "budget_tokens": min(budget, most - 1)}
    if isinstance(settings.response, Mapping):
        form["format"] = {"type": "json_schema", "schema": _closed(settings.response)}
    warm = (thinking is None or level == "off") and (version is None or version < _COOL)
    return {
        "thinking": thinking,
        "output_config": form or None,
        "temperature": settings.temperature if warm else None,
    }


def _may_think(sent: Sequence[Mapping[str, Any]]) -> bool:
    """With a budget, an answer that is continued after its calls must begin with its thinking: one that was
    given without cannot be continued with."""
    for message in reversed(sent):
        if message["role"] == "assistant":
            called = any(block["type"] == "tool_use" for block in message["content"])
            return not called or message["content"][0]["type"] in _THOUGHT
    return True


def _closed(schema: Any) -> Any:
    """The schema as the service wants it: no object in it has members it does not name."""
    match schema:
        case Mapping():
            closed = {name: _closed(value) for name, value in schema.items()}
            if closed.get("type") == "object" and not isinstance(closed.get("additionalProperties"), dict):
                closed["additionalProperties"] = False
            return closed
        case list() | tuple():
            return [_closed(item) for item in schema]
        case _:
            return schema


def _mark(body: dict[str, Any]) -> None:
    """Mark what the service may keep: it keeps all that stands before a mark, and takes four at most. Two messages
    are marked so that the next request still finds the mark of this one."""
    ends = [body["tools"], body["system"]]
    ends += [message["content"] for message in body["messages"] if message["role"] == "user"][-2:]
    for blocks in ends:
        if blocks:
            blocks[-1] = blocks[-1] | {"cache_control": _MARK}


# ---- messages


def messages_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The `messages` of a body, from messages that are `rendered` already."""
    wires: dict[str, str] = {}  # our id of a call → the id it goes by on the wire
    used: set[str] = set()
    open_tools = _unanswered(messages)
    sent: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if role == "assistant":
            blocks = _assistant(message, wires, used, open_tools)
        else:
            blocks = [block for part in message.parts for block in _blocks(part, wires)]
        if not blocks:
            continue  # an empty message is refused, and says nothing
        if sent and sent[-1]["role"] == role:
            blocks = sent.pop()["content"] + blocks
        blocks = sorted(blocks, key=lambda block: block["type"] != "tool_result") if role == "user" else blocks
        sent.append({"role": role, "content": blocks})
    return sent


def _unanswered(messages: Sequence[Message]) -> frozenset[str]:
    """Ids of tools that the service began and never finished, in answers it can no longer go on with."""
    begun: dict[str, int] = {}
    done: set[str] = set()
    for place, message in enumerate(messages):
        for part in message.parts:
            match part:
                case Vendor(provider="anthropic", data={"type": "server_tool_use", "id": str(name)}):
                    begun[name] = place
                case Vendor(provider="anthropic", data={"tool_use_id": str(name)}):
                    done.add(name)
    last = len(messages) - 1
    while last >= 0 and messages[last].role == "tool":
        last -= 1
    return frozenset(name for name, place in begun.items() if name not in done and place < last)


def _assistant(
    message: Message, wires: dict[str, str], used: set[str], open_tools: frozenset[str]
) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    callers: dict[str, dict[str, Any]] = {}  # by the wire's id: what the call must carry beside itself
    for part in message.parts:
        match part:
            case TextPart(text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolCall():
                wire = wires[part.id] = _wire(part, used)
                block = {"type": "tool_use", "id": wire, "name": part.name, "input": part.args}
                blocks.append(callers.pop(part.wire, {}) | block)
            case Vendor(provider="anthropic", data={"type": "tool_use", "id": str(wire)}):
                callers[wire] = part.data
            case Vendor(provider="anthropic", data={"type": "text"}):
                _cite(blocks, part.data)
            case Vendor(provider="anthropic", data={"type": str(kind)}) if kind not in _UNSENT:
                if part.data.get("id") not in open_tools:
                    blocks.append(part.data)
            case ImagePart() | FilePart() | AudioPart() | DataPart():
                blocks += _blocks(part, wires)
            case _:
                pass  # reasoning without a signature, and other vendors' own
    while blocks and blocks[-1]["type"] in _THOUGHT:  # what it led to is not there: refused as a last block
        blocks.pop()
    return blocks


def _cite(blocks: list[dict[str, Any]], cited: dict[str, Any]) -> None:
    """A text with citations: it was said already, at the end of the text before it."""
    before = blocks[-1] if blocks else {}
    text = cited.get("text") or ""
    if before.get("type") == "text" and text and before["text"].endswith(text):
        blocks.pop()
        if (rest := before["text"].removesuffix(text)).strip():
            blocks.append(before | {"text": rest})
        blocks.append(cited)


def _wire(call: ToolCall, used: set[str]) -> str:
    """An id that the service takes and that stands for one call of the whole request."""
    own = "call_" + _NOT_ID.sub("_", call.id)
    ours = (own if number == 1 else f"{own}_{number}" for number in itertools.count(1))
    wire = next(one for one in itertools.chain([_NOT_ID.sub("_", call.wire)], ours) if one and one not in used)
    used.add(wire)
    return wire


def _blocks(part: Part, wires: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What one part of anyone but the assistant becomes."""
    match part:
        case TextPart(text):
            yield from _text(text)
        case ToolResult():
            content = [block for inner in part.parts for block in _blocks(inner, wires)]
            wire = wires.get(part.call) or "call_" + _NOT_ID.sub("_", part.call)
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire}
            result |= {"content": content} if content else {}
            yield result | {"is_error": True} if part.status in _FAILED else result
        case ImagePart(mime, data, url):
            yield {"type": "image", "source": _source(mime, data, url)}
        case FilePart(_, mime, data, url) if mime.startswith("image/"):
            yield {"type": "image", "source": _source(mime, data, url)}
        case FilePart(name, "application/pdf" as mime, data, url):
            document = {"type": "document", "source": _source(mime, data, url)}
            yield document | {"title": name} if name else document
        case FilePart(name, mime, data, _) if data and mime.startswith("text/"):
            yield from _text(f"{name}:\n{data.decode('utf-8', 'replace')}")
        case FilePart(name, mime, data, url):
            yield from _text(f"({name}, {mime}: {url or f'{len(data)} bytes'}; its content cannot be shown here)")
        case AudioPart(mime, data, url):
            yield from _text(f"(sound, {mime}: {url or f'{len(data)} bytes'}; it cannot be heard here)")
        case DataPart(_, value):
            yield from _text(json.dumps(value, ensure_ascii=False, default=repr))
        case _:
            pass


def _text(text: str) -> Iterator[dict[str, Any]]:
    if text.strip():  # the service refuses a block of nothing
        yield {"type": "text", "text": text}


def _source(mime: str, data: bytes, url: str) -> dict[str, Any]:
    if url:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": mime, "data": b64encode(data).decode()}
